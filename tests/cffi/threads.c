/* What the host says of the threads of a client or server: their stack, their names, and what runs on each of them first and last. */
#include "client.h"
#include "process.h"
#include "talk.h"

#include <sched.h>
#include <stdatomic.h>
#ifndef _WIN32
#include <sys/prctl.h>
#endif
#include <time.h>

/* What there was of the threads of one handle. */
struct seen {
    const char *prefix;
    atomic_int started, stopped, ended;
    pthread_mutex_t lock;
    char names[4096];
};

#define SEEN(prefix) { prefix, 0, 0, 0, PTHREAD_MUTEX_INITIALIZER, " " }

static _Thread_local struct seen *here;

/* The name that the system shows. */
static void check_shown(mcplink_str_t name)
{
#ifdef _WIN32
    /* The headers of mingw don't have the function that tells it. */
    (void)name;
#else
    char shown[17] = "";
    CHECK(prctl(PR_GET_NAME, shown) == 0);
    CHECK(strlen(shown) == (name.len < 15 ? name.len : 15) && strncmp(shown, name.ptr, strlen(shown)) == 0);
#endif
}

/* The first thing on a thread: under its name, which begins as it was asked for. */
static void start(void *user, mcplink_str_t name)
{
    struct seen *seen = user;
    char word[64];
    CHECK(here == NULL);
    here = seen;
    CHECK(strlen(name.ptr) == name.len && strncmp(name.ptr, seen->prefix, strlen(seen->prefix)) == 0);
    check_shown(name);
    snprintf(word, sizeof word, " %s ", name.ptr);
    pthread_mutex_lock(&seen->lock);
    if (strstr(seen->names, word) == NULL) strcat(seen->names, word + 1);
    pthread_mutex_unlock(&seen->lock);
    seen->started++;
}

static void stop(void *user, mcplink_str_t name)
{
    CHECK(here == user && name.len > 0);
    here = NULL;
    ((struct seen *)user)->stopped++;
}

static void ended(void *user) { ((struct seen *)user)->ended++; }

static int has(const struct seen *seen, const char *role)
{
    char word[64];
    snprintf(word, sizeof word, " %s-%s ", seen->prefix, role);
    if (strstr(seen->names, word) == NULL) fprintf(stderr, "no%sin%s\n", word, seen->names);
    return strstr(seen->names, word) != NULL;
}

/* Every thread that came has gone, and nobody else is told of anything. */
static void check_over(struct seen *seen)
{
    CHECK(here == NULL);
    CHECK(seen->started > 0);
    CHECK(seen->started == seen->stopped);
    CHECK(seen->ended == 1);
}

/* Uses so many bytes of stack. */
static size_t dig(const char *top, size_t bytes)
{
    volatile char room[4096];
    size_t depth = (size_t)(top - (const char *)room);
    room[0] = 1;
    if (depth < bytes) depth = dig(top, bytes);
    return depth * (size_t)room[0];
}

static void deep(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    char top = 0;
    (void)req;
    CHECK(here == user);
    CHECK(dig(&top, 24u << 20) >= 24u << 20);
    CHECK(mcplink_responder_text(resp, "deep", MCPLINK_NUL) == MCPLINK_OK);
}

static void of_a_server(void)
{
    static struct seen seen = SEEN("srv");
    mcplink_server_options_t *o = mcplink_server_options_new("threads", "1");
    mcplink_server_t *server = NULL;
    mcplink_error_t *err = NULL;
    talk_t talk;

    CHECK(mcplink_server_options_set_thread_stack_size(o, 32u << 20) == MCPLINK_OK);
    CHECK(mcplink_server_options_set_thread_prefix(o, "srv") == MCPLINK_OK);
    CHECK(mcplink_server_options_on_thread(o, start, stop, &seen, ended) == MCPLINK_OK);
    CHECK_STATUS(mcplink_server_new_with(o, &server, &err), MCPLINK_OK, err);
    mcplink_server_options_free(o);
    add_tool(server, "deep", deep, &seen, NULL);
    CHECK(seen.started == 0);
    talk = talk_begin(server);
    talk_open(&talk, "{}");
    talk_call(&talk, "1", "deep", "{}");
    TALK_HOLDS(&talk, "deep");
    CHECK(seen.ended == 0);
    mcplink_server_free(server);
    talk_end(&talk);
    CHECK(has(&seen, "worker") && has(&seen, "stop"));
    check_over(&seen);
}

static struct counter done = COUNTER;
/* What still waits then runs on the thread that frees. */
static atomic_int freeing;

static void on_event(void *user, mcplink_event event, const mcplink_json_t *params)
{
    (void)event, (void)params;
    CHECK(here == user || (freeing && here == NULL));
    counter_add(&done);
}

static void on_line(void *user, mcplink_str_t line)
{
    (void)line;
    CHECK(here == user);
    counter_add(&done);
}

static void on_done(void *user, mcplink_call_t *call, mcplink_status_t status, const mcplink_result_t *result, const mcplink_error_t *err)
{
    (void)call, (void)status, (void)result, (void)err;
    CHECK(here == user);
    counter_add(&done);
}

static void of_a_client(void)
{
    static struct seen seen = SEEN("cli");
    static const char *const argv[] = { "/bin/sh", "-c", "echo line >&2; exec \"$SERVER\" stdio", NULL };
    mcplink_client_options_t *o = mcplink_client_options_new();
    mcplink_client_t *c = NULL;
    mcplink_error_t *err = NULL;

    CHECK(mcplink_client_options_set_command(o, argv) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_env(o, "SERVER", everything_server()) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_stderr(o, MCPLINK_STDERR_CAPTURE, on_line, &seen, NULL) == MCPLINK_OK);
    CHECK(mcplink_client_options_on_event(o, on_event, &seen, NULL) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_thread_prefix(o, "cli") == MCPLINK_OK);
    CHECK(mcplink_client_options_set_thread_stack_size(o, 1 << 20) == MCPLINK_OK);
    CHECK(mcplink_client_options_on_thread(o, start, stop, &seen, ended) == MCPLINK_OK);
    CHECK_STATUS(mcplink_client_start(o, &c, &err), MCPLINK_OK, err);
    mcplink_client_options_free(o);
    /* The line, and that it is connected. */
    CHECK(counter_wait(&done, 2));
    CHECK(mcplink_client_call_tool_start(c, "test_simple_text", NULL, 0, NULL, on_done, &seen, NULL, NULL, NULL) == MCPLINK_OK);
    CHECK(counter_wait(&done, 3));
    CHECK_STATUS(mcplink_client_close(c, MCPLINK_FOREVER, &err), MCPLINK_OK, err);
    CHECK(seen.ended == 0);
    freeing = 1;
    mcplink_client_free(c);
    CHECK(has(&seen, "call") && has(&seen, "stderr") && has(&seen, "dispatch") && has(&seen, "worker") && has(&seen, "close"));
    check_over(&seen);
}

static mcplink_client_t *freed;

static void free_at_event(void *user, mcplink_event event, const mcplink_json_t *params)
{
    (void)params;
    CHECK(here == user);
    if (event != MCPLINK_EVENT_CONNECTED) return;
    mcplink_client_free(freed);
    /* The thread that the callback is on has still to end. */
    CHECK(here == user);
    counter_add(&done);
}

static void ended_last(void *user)
{
    ended(user);
    counter_add(&done);
}

static void freed_within(void)
{
    static struct seen seen = SEEN("gone");
    mcplink_client_options_t *o = everything_options();
    int before = counter_get(&done), threads_before = threads();
    time_t until = time(NULL) + 30;

    CHECK(mcplink_client_options_on_event(o, free_at_event, &seen, NULL) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_thread_prefix(o, "gone") == MCPLINK_OK);
    CHECK(mcplink_client_options_on_thread(o, start, stop, &seen, ended_last) == MCPLINK_OK);
    CHECK(mcplink_client_start(o, &freed, NULL) == MCPLINK_OK);
    mcplink_client_options_free(o);
    /* What belongs to the callbacks is ended behind the last of them. */
    CHECK(counter_wait(&done, before + 2));
    CHECK(has(&seen, "free") && has(&seen, "dispatch"));
    check_over(&seen);
    /* Nobody can join the thread that the handle was freed on: it is gone a moment later, and then none is left. */
    while (threads() > threads_before) {
        CHECK(time(NULL) < until);
        sched_yield();
    }
}

static void of_options(void)
{
    static struct seen first = SEEN("a"), second = SEEN("b");
    mcplink_client_options_t *c = mcplink_client_options_new();
    mcplink_server_options_t *s = mcplink_server_options_new("x", "1");
    static const size_t sizes[] = { 0, (256u << 10) - 1, (1u << 30) + 1, SIZE_MAX };
    static const char *const prefixes[] = { NULL, "", "sixteen bytes ..", "a\nb", "\xff" };
    size_t i;

    for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        REFUSES(client_options, mcplink_client_options_new(), mcplink_client_options_set_thread_stack_size(it, sizes[i]));
        REFUSES(server_options, mcplink_server_options_new("refuses", "1"), mcplink_server_options_set_thread_stack_size(it, sizes[i]));
    }
    for (i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        REFUSES(client_options, mcplink_client_options_new(), mcplink_client_options_set_thread_prefix(it, prefixes[i]));
        REFUSES(server_options, mcplink_server_options_new("refuses", "1"), mcplink_server_options_set_thread_prefix(it, prefixes[i]));
    }
    /* One of the two is enough; none ends what belongs to them. */
    CHECK(mcplink_client_options_on_thread(c, start, NULL, &first, ended) == MCPLINK_OK && first.ended == 0);
    CHECK(mcplink_client_options_on_thread(c, NULL, stop, &second, ended) == MCPLINK_OK && first.ended == 1 && second.ended == 0);
    CHECK(mcplink_client_options_on_thread(c, NULL, NULL, &first, ended) == MCPLINK_OK && first.ended == 2 && second.ended == 1);
    CHECK(mcplink_server_options_on_thread(s, start, NULL, &first, ended) == MCPLINK_OK && first.ended == 2);
    mcplink_client_options_free(c);
    mcplink_server_options_free(s);
    CHECK(first.ended == 3 && second.ended == 1);
}

int main(void)
{
    of_options();
    of_a_server();
    of_a_client();
    freed_within();
    puts("threads: ok");
    return 0;
}
