/* The processes of one server share tasks: here, two servers in one process, and a store of the host. */
#include "talk.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

static atomic_int ended;
static void count_end(void *user) { ended += *(int *)user; }
static int one = 1, ten = 10;

/* What the store does. */
enum deed { HONEST, FAILS, ODD_STATUS, ODD_BYTE, LEAVES_IT };

static struct {
    pthread_mutex_t lock;
    _Atomic enum deed deed;
    atomic_int removed;
    struct {
        char key[65];
        uint64_t version;
        char bytes[4096];
        size_t len;
    } records[16];
    int count;
} store = { .lock = PTHREAD_MUTEX_INITIALIZER };

static mcplink_status_t failure(void)
{
    return store.deed == FAILS ? MCPLINK_E_USER : store.deed == ODD_STATUS ? 4711 : MCPLINK_OK;
}

/* The index of a record, which is made if there is none. */
static int find(mcplink_str_t key)
{
    int at = 0;
    CHECK(key.len > 0 && key.len <= 64 && strlen(key.ptr) == key.len);
    while (at < store.count && strcmp(store.records[at].key, key.ptr) != 0) at++;
    if (at == store.count) {
        CHECK(at < (int)(sizeof store.records / sizeof *store.records));
        snprintf(store.records[at].key, sizeof store.records[at].key, "%s", key.ptr);
        store.records[at].version = 0;
        store.count++;
    }
    return at;
}

static mcplink_status_t read_record(void *user, mcplink_str_t key, mcplink_record_t *record)
{
    int at;
    CHECK(*(int *)user == 10);
    if (failure() != MCPLINK_OK) return failure();
    pthread_mutex_lock(&store.lock);
    at = find(key);
    if (store.records[at].version > 0) {
        CHECK(mcplink_record_set(record, store.records[at].version, NULL, 1) == MCPLINK_E_INVALID);
        CHECK(mcplink_record_set(NULL, 1, "", 0) == MCPLINK_E_INVALID);
        CHECK(mcplink_record_set(record, 4711, "replaced", MCPLINK_NUL) == MCPLINK_OK);
        CHECK(mcplink_record_set(record, store.records[at].version, store.records[at].bytes, store.records[at].len) == MCPLINK_OK);
    }
    pthread_mutex_unlock(&store.lock);
    return MCPLINK_OK;
}

static mcplink_status_t write_record(void *user, mcplink_str_t key, uint64_t version, const void *bytes, size_t len, uint64_t lifetime_ms,
                                     bool *is_written)
{
    int at;
    CHECK(*(int *)user == 10 && !*is_written && version > 0 && lifetime_ms <= 600000);
    if (failure() != MCPLINK_OK) return failure();
    if (store.deed == LEAVES_IT) return MCPLINK_OK;
    if (store.deed == ODD_BYTE) return memset(is_written, 7, 1), MCPLINK_OK;
    pthread_mutex_lock(&store.lock);
    at = find(key);
    if (store.records[at].version + 1 == version) {
        CHECK(len <= sizeof store.records[at].bytes);
        memcpy(store.records[at].bytes, bytes, len);
        store.records[at].len = len;
        store.records[at].version = version;
        *is_written = true;
    }
    pthread_mutex_unlock(&store.lock);
    return MCPLINK_OK;
}

static mcplink_status_t remove_record(void *user, mcplink_str_t key)
{
    CHECK(*(int *)user == 10);
    if (failure() != MCPLINK_OK) return failure();
    pthread_mutex_lock(&store.lock);
    store.records[find(key)].version = 0;
    store.removed++;
    pthread_mutex_unlock(&store.lock);
    return MCPLINK_OK;
}

static sem_t go_on;

static void work(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    (void)user, (void)request;
    while (sem_wait(&go_on) != 0) {}
    /* A task ends with the connection of its client. */
    (void)mcplink_responder_text(responder, "done", MCPLINK_NUL);
}

static mcplink_server_t *serve(void)
{
    static const unsigned char key[32] = "all processes have the same key";
    mcplink_server_options_t *options = mcplink_server_options_new("shop", "1");
    mcplink_server_t *server = NULL;
    mcplink_tool_t *tool = mcplink_tool_new("work", "for tests");
    mcplink_error_t *err = NULL;
    CHECK(mcplink_server_options_set_tasks(options, 8, 600000) == MCPLINK_OK);
    CHECK(mcplink_server_options_set_record_store(options, read_record, write_record, remove_record, &one, count_end) == MCPLINK_OK);
    CHECK(mcplink_server_options_set_record_store(options, read_record, write_record, remove_record, &ten, count_end) == MCPLINK_OK);
    CHECK(atomic_exchange(&ended, 0) == 1);
    CHECK(mcplink_server_options_set_lease_ms(options, 60000) == MCPLINK_OK);
    /* Without a key that all processes have, no server is made. */
    CHECK_STATUS(mcplink_server_new_with(options, &server, &err), MCPLINK_E_INVALID, err);
    CHECK(mcplink_server_options_add_state_key(options, key, sizeof key) == MCPLINK_OK);
    CHECK_STATUS(mcplink_server_new_with(options, &server, &err), MCPLINK_OK, err);
    mcplink_server_options_free(options);
    CHECK(mcplink_tool_set_task_support(tool, MCPLINK_TASK_REQUIRED) == MCPLINK_OK);
    CHECK_STATUS(mcplink_server_add_tool(server, tool, work, NULL, NULL, &err), MCPLINK_OK, err);
    mcplink_tool_free(tool);
    return server;
}

/* Sends a request in the way of the modern era, and returns the answer. */
static const char *ask(talk_t *talk, const char *method, const char *params)
{
    char line[4096];
    snprintf(line, sizeof line,
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{%s,\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
             "\"io.modelcontextprotocol/clientCapabilities\":{\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}}}}",
             method, params);
    talk_send(talk, line);
    return TALK_HOLDS(talk, "\"id\":1");
}

#define HAS(answer, part) CHECK(strstr((answer), (part)) != NULL)

int main(void)
{
    static const char call[] = "\"name\":\"work\",\"arguments\":{}";
    int open = open_count();
    mcplink_server_t *here, *there;
    mcplink_json_t *created = NULL;
    enum deed deed;
    char about[256];
    talk_t talk, other;

    CHECK(sem_init(&go_on, 0, 0) == 0);
    REFUSES(server_options, mcplink_server_options_new("a", "1"),
            mcplink_server_options_set_record_store(it, read_record, NULL, remove_record, &one, count_end));
    CHECK(atomic_exchange(&ended, 0) == 1);
    CHECK(mcplink_server_options_set_record_store(NULL, read_record, write_record, remove_record, &one, count_end) == MCPLINK_E_INVALID);
    CHECK(atomic_exchange(&ended, 0) == 1);
    here = serve(), there = serve();
    talk = talk_begin(here), other = talk_begin(there);

    CHECK(mcplink_json_parse(ask(&talk, "tools/call", call), MCPLINK_NUL, &created, NULL) == MCPLINK_OK);
    snprintf(about, sizeof about, "\"taskId\":\"%s\"", mcplink_json_str(mcplink_json_pointer(created, "/result/taskId")).ptr);
    mcplink_json_free(created);
    HAS(ask(&other, "tasks/get", about), "\"status\":\"working\"");
    CHECK(sem_post(&go_on) == 0);
    while (strstr(ask(&talk, "tasks/get", about), "\"status\":\"completed\"") == NULL) {}
    HAS(ask(&other, "tasks/get", about), "\"text\":\"done\"");

    /* A task that the store does not take is not begun, and nothing waits for it. */
    for (deed = FAILS; deed <= LEAVES_IT; deed++) {
        store.deed = deed;
        HAS(ask(&talk, "tools/call", call), "\"busy\":true");
        if (deed == FAILS || deed == ODD_STATUS) HAS(ask(&other, "tasks/get", about), "\"busy\":true");
    }
    store.deed = HONEST;
    HAS(ask(&talk, "tools/call", call), "\"resultType\":\"task\"");

    talk_end(&talk), talk_end(&other);
    CHECK(sem_post(&go_on) == 0);
    mcplink_server_free(here);
    mcplink_server_free(there);
    talk_clean(open);
    CHECK(ended == 20 && store.removed > 0);
    CHECK(sem_destroy(&go_on) == 0);
    return 0;
}
