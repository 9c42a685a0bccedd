/* Tasks as clients see them: a call becomes one, and it is looked at, waited for and cancelled by its id, also by another client. */
#include "peer.h"

#include <pthread.h>

/* The calls that go on until they are let go. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static mcplink_responder_t *kept;

static void work(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    mcplink_error_t *err = NULL;
    mcplink_status_t status = mcplink_responder_become_task(resp, &err);
    (void)req;
    CHECK(err == NULL);
    if (status == MCPLINK_PENDING) return;
    pthread_mutex_lock(&lock);
    kept = mcplink_responder_keep(resp);
    pthread_mutex_unlock(&lock);
    counter_add(user);
}

static void quick(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)user, (void)req;
    CHECK(mcplink_responder_text(resp, "quick", MCPLINK_NUL) == MCPLINK_OK);
}

struct connection {
    mcplink_session_t *session;
    mcplink_client_t *client;
};

static struct connection connect_pair(mcplink_server_t *server, bool takes_tasks)
{
    struct connection it = { NULL, NULL };
    mcplink_transport_t *here = NULL, *there = NULL;
    mcplink_client_options_t *o = mcplink_client_options_new();
    mcplink_error_t *err = NULL;
    CHECK_STATUS(mcplink_transport_pair(&here, &there, &err), MCPLINK_OK, err);
    CHECK_STATUS(mcplink_server_attach(server, there, "ada", &it.session, &err), MCPLINK_OK, err);
    CHECK(mcplink_client_options_set_transport(o, here) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_tasks(o, takes_tasks) == MCPLINK_OK);
    it.client = open_with(o, "2026-07-28");
    mcplink_transport_free(here);
    mcplink_transport_free(there);
    return it;
}

static void disconnect(struct connection *it)
{
    mcplink_client_free(it->client);
    mcplink_session_free(it->session);
}

static void add(mcplink_server_t *server, const char *name, mcplink_handler_fn handler, void *user, mcplink_task_support support)
{
    mcplink_tool_t *tool = mcplink_tool_new(name, "for tests");
    mcplink_error_t *err = NULL;
    CHECK(mcplink_tool_set_task_support(tool, support) == MCPLINK_OK);
    CHECK_STATUS(mcplink_server_add_tool(server, tool, handler, user, NULL, &err), MCPLINK_OK, err);
    mcplink_tool_free(tool);
}

static void has_status(mcplink_client_t *c, const char *id, const char *expected)
{
    mcplink_result_t *r = NULL;
    mcplink_error_t *err = NULL;
    CHECK_STATUS(mcplink_client_task_status(c, id, NULL, &r, &err), MCPLINK_OK, err);
    CHECK_TEXT(mcplink_json_str(mcplink_json_get(mcplink_result_json(r), "status")), expected);
    CHECK_TEXT(mcplink_json_str(mcplink_json_get(mcplink_result_json(r), "taskId")), id);
    CHECK_TEXT(mcplink_result_task_id(r), "");
    mcplink_result_free(r);
}

static void on_done(void *user, mcplink_call_t *call, mcplink_status_t status, const mcplink_result_t *result, const mcplink_error_t *err)
{
    (void)call, (void)result, (void)err;
    CHECK(status == MCPLINK_OK);
    counter_add(user);
}

static void modern(void)
{
    struct counter working = COUNTER, done = COUNTER;
    mcplink_server_options_t *o = mcplink_server_options_new("tasks", "1");
    mcplink_server_t *server = NULL;
    mcplink_call_options_t *options = mcplink_call_options_new();
    mcplink_result_t *r = NULL;
    mcplink_error_t *err = NULL;
    mcplink_call_t *call = NULL;
    struct connection first, second, plain;
    char id[300];

    CHECK(mcplink_server_options_set_tasks(o, 10, 600000) == MCPLINK_OK);
    CHECK_STATUS(mcplink_server_new_with(o, &server, &err), MCPLINK_OK, err);
    mcplink_server_options_free(o);
    add(server, "work", work, &working, MCPLINK_TASK_OPTIONAL);
    add(server, "quick", quick, NULL, MCPLINK_TASK_FORBIDDEN);
    first = connect_pair(server, true);
    plain = connect_pair(server, false);

    /* A client that takes no tasks gets none. */
    CHECK_STATUS(mcplink_client_call_tool_as_task(plain.client, "quick", NULL, 0, 0, NULL, &r, &err), MCPLINK_OK, err);
    CHECK_TEXT(mcplink_result_text(r), "quick");
    mcplink_result_free(r);
    CHECK_STATUS(mcplink_client_call_tool_as_task(first.client, NULL, NULL, 0, 0, NULL, &r, &err), MCPLINK_E_INVALID, err);
    /* The server decides: this one is over at once. */
    CHECK_STATUS(mcplink_client_call_tool_as_task(first.client, "quick", NULL, 0, 0, NULL, &r, &err), MCPLINK_OK, err);
    CHECK_TEXT(mcplink_result_task_id(r), "");
    CHECK_TEXT(mcplink_result_text(r), "quick");
    mcplink_result_free(r);

    CHECK_STATUS(mcplink_client_call_tool_as_task(first.client, "work", "{}", MCPLINK_NUL, 1000, NULL, &r, &err), MCPLINK_OK, err);
    CHECK(mcplink_result_task_id(r).len > 0 && mcplink_result_task_id(r).len < sizeof id);
    memcpy(id, mcplink_result_task_id(r).ptr, mcplink_result_task_id(r).len + 1);
    CHECK_TEXT(mcplink_json_str(mcplink_json_get(mcplink_result_json(r), "taskId")), id);
    mcplink_result_free(r);
    CHECK(counter_wait(&working, 1));
    has_status(first.client, id, "working");

    /* A wait that is too long leaves the task alone. */
    CHECK(mcplink_call_options_set_max_timeout_ms(options, 30) == MCPLINK_OK);
    CHECK_STATUS(mcplink_client_task_wait(first.client, id, "work", options, &r, &err), MCPLINK_E_TIMEOUT, err);
    has_status(first.client, id, "working");

    /* Another client of the same principal takes it up again by its id. */
    second = connect_pair(server, true);
    has_status(second.client, id, "working");
    CHECK_STATUS(mcplink_client_task_wait_start(second.client, id, NULL, NULL, on_done, &done, NULL, &call, &err), MCPLINK_OK, err);
    pthread_mutex_lock(&lock);
    CHECK(mcplink_responder_text(kept, "finished", MCPLINK_NUL) == MCPLINK_OK);
    mcplink_responder_free(kept);
    kept = NULL;
    pthread_mutex_unlock(&lock);
    CHECK_STATUS(mcplink_call_wait(call, 60000, &r, &err), MCPLINK_OK, err);
    CHECK_TEXT(mcplink_result_text(r), "finished");
    mcplink_result_free(r);
    mcplink_call_free(call);
    CHECK(counter_wait(&done, 1));
    disconnect(&first);
    has_status(second.client, id, "completed");
    CHECK_STATUS(mcplink_client_task_wait(second.client, id, "work", NULL, &r, &err), MCPLINK_OK, err);
    CHECK_TEXT(mcplink_result_text(r), "finished");
    mcplink_result_free(r);

    /* One that is cancelled. */
    CHECK_STATUS(mcplink_client_call_tool_as_task_start(second.client, "work", NULL, 0, 0, NULL, NULL, NULL, NULL, &call, &err), MCPLINK_OK, err);
    CHECK_STATUS(mcplink_call_wait(call, 60000, &r, &err), MCPLINK_OK, err);
    CHECK(mcplink_result_task_id(r).len > 0 && mcplink_result_task_id(r).len < sizeof id);
    memcpy(id, mcplink_result_task_id(r).ptr, mcplink_result_task_id(r).len + 1);
    mcplink_result_free(r);
    mcplink_call_free(call);
    CHECK(counter_wait(&working, 2));
    CHECK_STATUS(mcplink_client_task_cancel(second.client, id, NULL, &err), MCPLINK_OK, err);
    CHECK_STATUS(mcplink_client_task_cancel_start(second.client, id, NULL, on_done, &done, NULL, NULL, &err), MCPLINK_OK, err);
    CHECK(counter_wait(&done, 2));
    pthread_mutex_lock(&lock);
    mcplink_responder_free(kept);
    kept = NULL;
    pthread_mutex_unlock(&lock);
    CHECK_STATUS(mcplink_client_task_wait(second.client, id, NULL, NULL, &r, &err), MCPLINK_E_CANCELLED, err);
    CHECK_STATUS(mcplink_client_task_status(second.client, "unknown", NULL, &r, &err), MCPLINK_E_PEER, err);
    CHECK_STATUS(mcplink_client_task_status(second.client, " ", NULL, &r, &err), MCPLINK_E_INVALID, err);
    CHECK_STATUS(mcplink_client_task_status_start(second.client, id, NULL, on_done, &done, NULL, NULL, &err), MCPLINK_OK, err);
    CHECK(counter_wait(&done, 3));
    disconnect(&second);
    disconnect(&plain);
    mcplink_call_options_free(options);
    mcplink_server_free(server);
}

/* A server of revision 2025-11-25: the client asks for the task, and for its result. */
static int looks;

static void legacy_server(struct peer *p, const char *method, const mcplink_json_t *message)
{
    static const char task[] = "{\"taskId\":\"t-1\",\"status\":\"%s\",\"createdAt\":\"2025-11-25T10:00:00Z\","
                               "\"lastUpdatedAt\":\"2025-11-25T10:00:00Z\",\"ttl\":60000,\"pollInterval\":10}";
    char text[400], whole[500];
    if (strcmp(method, "tools/list") == 0) {
        peer_respond(p, message, "{\"tools\":[{\"name\":\"work\",\"inputSchema\":{\"type\":\"object\"},\"execution\":{\"taskSupport\":\"optional\"}}]}");
    } else if (strcmp(method, "tools/call") == 0) {
        CHECK_TEXT(mcplink_json_text(mcplink_json_pointer(message, "/params/task")), "{\"ttl\":5000}");
        snprintf(text, sizeof text, task, "working");
        snprintf(whole, sizeof whole, "{\"task\":%s}", text);
        peer_respond(p, message, whole);
    } else if (strcmp(method, "tasks/get") == 0) {
        snprintf(text, sizeof text, task, ++looks < 3 ? "working" : "completed");
        peer_respond(p, message, text);
    } else if (strcmp(method, "tasks/result") == 0) {
        peer_respond(p, message, "{\"content\":[{\"type\":\"text\",\"text\":\"old\"}],\"isError\":true}");
    } else if (strcmp(method, "tasks/cancel") == 0) {
        CHECK_TEXT(mcplink_json_str(mcplink_json_pointer(message, "/params/taskId")), "t-1");
        snprintf(text, sizeof text, task, "cancelled");
        peer_respond(p, message, text);
    }
}

static void legacy(void)
{
    struct peer p;
    mcplink_client_t *c;
    mcplink_result_t *r = NULL;
    mcplink_error_t *err = NULL;
    peer_begin(&p, legacy_server);
    p.capabilities = "{\"tools\":{},\"tasks\":{\"list\":{},\"cancel\":{},\"requests\":{\"tools\":{\"call\":{}}}}}";
    c = peer_open(&p);
    CHECK_STATUS(mcplink_client_call_tool_as_task(c, "unknown", NULL, 0, 5000, NULL, &r, &err), MCPLINK_E_UNSUPPORTED, err);
    CHECK_STATUS(mcplink_client_call_tool_as_task(c, "work", NULL, 0, 5000, NULL, &r, &err), MCPLINK_OK, err);
    CHECK_TEXT(mcplink_result_task_id(r), "t-1");
    mcplink_result_free(r);
    has_status(c, "t-1", "working");
    CHECK_STATUS(mcplink_client_task_wait(c, "t-1", "work", NULL, &r, &err), MCPLINK_TOOL_ERROR, err);
    CHECK_TEXT(mcplink_result_text(r), "old");
    mcplink_result_free(r);
    CHECK_STATUS(mcplink_client_task_cancel(c, "t-1", NULL, &err), MCPLINK_OK, err);
    mcplink_client_free(c);
    mcplink_transport_free(p.transport);
}

int main(void)
{
    modern();
    legacy();
    return 0;
}
