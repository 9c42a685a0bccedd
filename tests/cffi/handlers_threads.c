/* Handlers on threads of the library: several at once, changes meanwhile, and a server that is freed under them, or by them. */
#include "talk.h"

#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#define AT_ONCE 8

static pthread_barrier_t all_there;
static sem_t inside, go_on;
static mcplink_server_t *server;
static int destroyed;
static void ended(void *user) { destroyed += *(int *)user; }

static void wait_for(sem_t *sem)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE / 1000;
    CHECK(sem_timedwait(sem, &until) == 0);
}

/* Returns only when so many run at once. */
static void meet(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)user;
    (void)req;
    pthread_barrier_wait(&all_there);
    CHECK(mcplink_responder_text(resp, "met", MCPLINK_NUL) == MCPLINK_OK);
}

/* Calls back into the library, as a handler may: it changes what the server has. */
static void change(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)user;
    (void)req;
    add_tool(server, "another", meet, NULL, NULL);
    CHECK(mcplink_server_remove_tool(server, "another") == MCPLINK_OK);
    CHECK(mcplink_server_remove_tool(server, "change") == MCPLINK_OK);
    CHECK(mcplink_responder_text(resp, "changed", MCPLINK_NUL) == MCPLINK_OK);
}

/* Works until nobody waits any more. */
static void work(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    struct timespec moment = { 0, 1000000 };
    (void)user;
    (void)req;
    sem_post(&inside);
    while (!mcplink_responder_is_cancelled(resp)) nanosleep(&moment, NULL);
    CHECK(mcplink_responder_text(resp, "late", MCPLINK_NUL) < 0);
}

static void free_server(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)user;
    (void)req;
    mcplink_server_free(server);
    CHECK(destroyed == 0);
    mcplink_responder_text(resp, "gone", MCPLINK_NUL);
    sem_post(&inside);
}

static void ended_last(void *user)
{
    destroyed += *(int *)user;
    sem_post(&go_on);
}

static void *use_server(void *user)
{
    int i;
    (void)user;
    for (i = 0; i < 200; i++) {
        char name[64];
        mcplink_json_t *doc = NULL;
        snprintf(name, sizeof name, "tool-%lx-%d", (unsigned long)pthread_self(), i);
        add_tool(server, name, meet, NULL, NULL);
        CHECK(mcplink_server_stats(server, &doc, NULL) == MCPLINK_OK);
        mcplink_json_free(doc);
        CHECK(mcplink_server_resource_updated(server, "a:b") == MCPLINK_OK);
        CHECK(mcplink_server_remove_tool(server, name) == MCPLINK_OK);
    }
    return NULL;
}

int main(void)
{
    int fds = open_count();
    pthread_t threads[AT_ONCE];
    int told = 0;
    talk_t talk, other;
    int i, one = 1;
    FILE *dump = tmpfile();
    char text[4096];
    size_t len;

    CHECK(pthread_barrier_init(&all_there, NULL, AT_ONCE) == 0 && sem_init(&inside, 0, 0) == 0 && sem_init(&go_on, 0, 0) == 0);
    server = mcplink_server_new("threads", "1");
    add_tool(server, "meet", meet, NULL, NULL);
    add_tool(server, "change", change, &one, ended);
    add_tool(server, "work", work, &one, ended);
    talk = talk_begin(server);
    other = talk_begin(server);
    talk_open(&talk, "{}");
    talk_open(&other, "{}");

    for (i = 0; i < AT_ONCE; i++) {
        char id[8];
        snprintf(id, sizeof id, "%d", i);
        talk_call(i % 2 ? &talk : &other, id, "meet", "{}");
    }
    for (i = 0; i < AT_ONCE; i++) TALK_HOLDS(i % 2 ? &talk : &other, "met");

    talk_call(&talk, "\"change\"", "change", "{}");
    /* Changes that wait merge: the client is told of the list at least once, and gets its answer. */
    for (i = 0; i < 4 && told != 3; i++) {
        const char *line = talk_line(&talk);
        CHECK(line != NULL);
        told |= strstr(line, "list_changed") != NULL ? 1 : 2;
    }
    CHECK(told == 3);
    /* The call that was in hand has ended, so what belonged to its handler has. */
    mcplink_session_close(other.session);
    talk_end(&other);
    CHECK(destroyed <= 1);

    for (i = 0; i < AT_ONCE; i++) CHECK(pthread_create(&threads[i], NULL, use_server, NULL) == 0);
    for (i = 0; i < AT_ONCE; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    talk_end(&talk);

    /* Freed while handlers run: they are told, and their end is waited for. */
    talk = talk_begin(server);
    talk_open(&talk, "{}");
    for (i = 0; i < AT_ONCE; i++) {
        char id[8];
        snprintf(id, sizeof id, "%d", i);
        talk_call(&talk, id, "work", "{}");
    }
    for (i = 0; i < AT_ONCE; i++) wait_for(&inside);
    CHECK(dump != NULL && mcplink_debug_dump(FILE_NUMBER(dump)) == MCPLINK_OK);
    rewind(dump);
    len = fread(text, 1, sizeof text - 1, dump);
    text[len] = 0;
    CHECK(strstr(text, "tools/call") != NULL);
    fclose(dump);
    mcplink_server_free(server);
    CHECK(destroyed == 2);
    talk_end(&talk);

    /* Freed by one of its own handlers. */
    destroyed = 0;
    while (sem_trywait(&inside) == 0) { }
    server = mcplink_server_new("own", "1");
    add_tool(server, "free", free_server, &one, ended_last);
    talk = talk_begin(server);
    talk_open(&talk, "{}");
    talk_call(&talk, "4", "free", "{}");
    wait_for(&inside);
    wait_for(&go_on);
    CHECK(destroyed == 1);
    while (talk_line(&talk) != NULL) { }
    talk_end(&talk);
    talk_clean(fds);
    return 0;
}
