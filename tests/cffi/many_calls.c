/* Calls that have no thread while they are under way: their number, their ends, and their limits. */
#include "peer.h"
#include "talk.h"

#include <pthread.h>
#include <stdatomic.h>

enum { MANY = 1000, OVER_HTTP = 200, LONG = 1 << 20 };

/* The threads that a client starts. */
static atomic_int threads;

static void on_start(void *user, mcplink_str_t name)
{
    (void)user, (void)name;
    threads++;
}

static void on_stop(void *user, mcplink_str_t name) { (void)user, (void)name; }

static mcplink_client_t *open_counted(mcplink_client_options_t *o)
{
    threads = 0;
    CHECK(mcplink_client_options_on_thread(o, on_start, on_stop, NULL, NULL) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_max_started(o, MANY) == MCPLINK_OK);
    return open_with(o, NULL);
}

/* The outcomes of the calls, by their statuses. */
static struct counter done = COUNTER, failed = COUNTER, cancelled = COUNTER, late = COUNTER, closed = COUNTER;

static void reset(void)
{
    done.count = failed.count = cancelled.count = late.count = closed.count = 0;
}

static void on_done(void *user, mcplink_call_t *call, mcplink_status_t status, const mcplink_result_t *result, const mcplink_error_t *err)
{
    (void)user, (void)call, (void)err;
    CHECK((status >= 0) == (result != NULL));
    counter_add(status == MCPLINK_OK            ? &done
                : status == MCPLINK_E_CANCELLED ? &cancelled
                : status == MCPLINK_E_TIMEOUT   ? &late
                : status == MCPLINK_E_CLOSED    ? &closed
                                                : &failed);
}

/* A server that answers nothing by itself. */
static char ids[MANY + 16][32];
static struct counter asked = COUNTER, told = COUNTER;

static void hold(struct peer *p, const char *method, const mcplink_json_t *message)
{
    (void)p;
    if (strcmp(method, "notifications/cancelled") == 0) counter_add(&told);
    if (strcmp(method, "tools/call") != 0) return;
    snprintf(ids[asked.count], sizeof *ids, "%s", mcplink_json_text(mcplink_json_get(message, "id")).ptr);
    counter_add(&asked);
}

/* Answers a call with a text of this length. */
static void answer(struct peer *p, int call, size_t len)
{
    char *text = malloc(len + 200);
    int at;
    CHECK(text != NULL);
    at = sprintf(text, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"", ids[call]);
    memset(text + at, 'x', len);
    strcpy(text + at + len, "\"}]}}\n");
    peer_feed(p, text);
    free(text);
}

/* 1,000 calls under way need no more threads than one; each has one outcome, whatever it is. */
static void over_a_stream(void)
{
    struct peer p;
    mcplink_call_options_t *options = mcplink_call_options_new();
    mcplink_cancel_t *cancel = mcplink_cancel_new();
    mcplink_call_t *call = NULL, *large = NULL, *by_token = NULL;
    mcplink_client_t *c;
    mcplink_result_t *r = NULL;
    mcplink_error_t *err = NULL;
    int before, i;

    asked.count = told.count = 0;
    reset();
    peer_begin(&p, hold);
    c = open_counted(peer_options(&p));
    CHECK(mcplink_client_call_tool_start(c, "wait", NULL, 0, NULL, on_done, NULL, NULL, &large, &err) == MCPLINK_OK);
    CHECK(counter_wait(&asked, 1));
    before = threads;
    for (i = 1; i < MANY - 2; i++) CHECK(mcplink_client_call_tool_start(c, "wait", NULL, 0, NULL, on_done, NULL, NULL, NULL, &err) == MCPLINK_OK);
    CHECK(mcplink_client_call_tool_start(c, "wait", NULL, 0, NULL, on_done, NULL, NULL, &call, &err) == MCPLINK_OK);
    CHECK(mcplink_call_options_set_cancel(options, cancel) == MCPLINK_OK);
    CHECK(mcplink_client_call_tool_start(c, "wait", NULL, 0, options, on_done, NULL, NULL, &by_token, &err) == MCPLINK_OK);
    CHECK(counter_wait(&asked, MANY));
    CHECK(threads <= before + 3);
    /* No more of them than was allowed. */
    CHECK_STATUS(mcplink_client_ping_start(c, NULL, NULL, NULL, NULL, NULL, &err), MCPLINK_E_BUSY, err);

    /* Cancelled by the handle, and by a token; the server is told. */
    CHECK(mcplink_call_cancel(call, "not needed") == MCPLINK_OK);
    CHECK_STATUS(mcplink_call_wait(call, PATIENCE, NULL, &err), MCPLINK_E_CANCELLED, err);
    CHECK(mcplink_cancel_trigger(cancel) == MCPLINK_OK);
    CHECK_STATUS(mcplink_call_wait(by_token, PATIENCE, NULL, &err), MCPLINK_E_CANCELLED, err);
    CHECK(counter_wait(&cancelled, 2) && counter_wait(&told, 2));

    /* A call whose time is over, though nobody waits for it. Its place was one of the two. */
    CHECK(mcplink_call_options_set_cancel(options, NULL) == MCPLINK_OK);
    CHECK(mcplink_call_options_set_timeout_ms(options, 1) == MCPLINK_OK);
    CHECK(mcplink_client_call_tool_start(c, "wait", NULL, 0, options, on_done, NULL, NULL, NULL, &err) == MCPLINK_OK);
    CHECK(counter_wait(&late, 1));

    /* A long result, and an error. */
    answer(&p, 0, LONG);
    CHECK_STATUS(mcplink_call_wait(large, PATIENCE, &r, &err), MCPLINK_OK, err);
    CHECK(mcplink_result_text(r).len == LONG);
    mcplink_result_free(r);
    {
        char text[200];
        snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":-32602,\"message\":\"no\"}}\n", ids[1]);
        peer_feed(&p, text);
    }
    CHECK(counter_wait(&failed, 1));
    for (i = 2; i < 500; i++) answer(&p, i, 10);
    CHECK(counter_wait(&done, 499));

    /* The others end with the client. */
    mcplink_client_free(c);
    CHECK(closed.count == MANY - 502 && done.count == 499 && failed.count == 1 && cancelled.count == 2 && late.count == 1);
    mcplink_call_free(call);
    mcplink_call_free(large);
    mcplink_call_free(by_token);
    mcplink_call_options_free(options);
    mcplink_cancel_free(cancel);
    mcplink_transport_free(p.transport);
}

/* Each kind of call waits for its first response without a thread; a list of several pages goes on with one. */
static void pages(struct peer *p, const char *method, const mcplink_json_t *message)
{
    const char *cursor = mcplink_json_str(mcplink_json_get(mcplink_json_get(message, "params"), "cursor")).ptr;
    (void)method;
    if (cursor[0]) {
        peer_respond(p, message, "{\"tools\":[{\"name\":\"b\",\"inputSchema\":{\"type\":\"object\"}}]}");
        return;
    }
    snprintf(ids[asked.count], sizeof *ids, "%s", mcplink_json_text(mcplink_json_get(message, "id")).ptr);
    counter_add(&asked);
}

static void each_kind(void)
{
    static const char list[] = "{\"tools\":[{\"name\":\"a\",\"inputSchema\":{\"type\":\"object\"}}],\"nextCursor\":\"2\"}";
    struct peer p;
    mcplink_client_t *c;
    mcplink_call_t *tools = NULL;
    mcplink_result_t *r = NULL;
    mcplink_error_t *err = NULL;
    char text[300];
    int before;

    asked.count = 0;
    reset();
    peer_begin(&p, pages);
    p.capabilities = "{\"tools\":{},\"resources\":{},\"prompts\":{},\"completions\":{},\"tasks\":{}}";
    c = open_counted(peer_options(&p));
    CHECK(mcplink_client_list_tools_start(c, NULL, NULL, NULL, NULL, &tools, &err) == MCPLINK_OK);
    CHECK(counter_wait(&asked, 1));
    before = threads;
    CHECK(mcplink_client_list_resources_start(c, NULL, on_done, NULL, NULL, NULL, &err) == MCPLINK_OK);
    CHECK(mcplink_client_list_templates_start(c, NULL, on_done, NULL, NULL, NULL, &err) == MCPLINK_OK);
    CHECK(mcplink_client_list_prompts_start(c, NULL, on_done, NULL, NULL, NULL, &err) == MCPLINK_OK);
    CHECK(mcplink_client_read_resource_start(c, "x:1", NULL, on_done, NULL, NULL, NULL, &err) == MCPLINK_OK);
    CHECK(mcplink_client_get_prompt_start(c, "p", NULL, 0, NULL, on_done, NULL, NULL, NULL, &err) == MCPLINK_OK);
    CHECK(mcplink_client_complete_start(c, MCPLINK_PRIMITIVE_PROMPT, "p", "a", "", NULL, 0, NULL, on_done, NULL, NULL, NULL, &err) == MCPLINK_OK);
    CHECK(mcplink_client_task_status_start(c, "t", NULL, on_done, NULL, NULL, NULL, &err) == MCPLINK_OK);
    CHECK(mcplink_client_task_cancel_start(c, "t", NULL, on_done, NULL, NULL, NULL, &err) == MCPLINK_OK);
    CHECK(mcplink_client_request_start(c, "x/y", NULL, 0, NULL, on_done, NULL, NULL, NULL, &err) == MCPLINK_OK);
    CHECK(mcplink_client_ping_start(c, NULL, on_done, NULL, NULL, NULL, &err) == MCPLINK_OK);
    CHECK(counter_wait(&asked, 11));
    CHECK(threads <= before + 1);
    snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n", ids[0], list);
    peer_feed(&p, text);
    CHECK_STATUS(mcplink_call_wait(tools, PATIENCE, &r, &err), MCPLINK_OK, err);
    CHECK(mcplink_json_len(mcplink_json_get(mcplink_result_json(r), "tools")) == 2);
    mcplink_result_free(r);
    mcplink_call_free(tools);
    /* What the server has not declared is an outcome. */
    CHECK(mcplink_client_list_skills_start(c, NULL, on_done, NULL, NULL, NULL, &err) == MCPLINK_OK);
    CHECK(counter_wait(&failed, 1));
    mcplink_client_free(c);
    CHECK(closed.count == 10);
    mcplink_transport_free(p.transport);
}

/* A client that is freed by the function for an outcome, and by the release of the data of a call. */
static mcplink_client_t *freed_here;

static void on_done_free(void *user, mcplink_call_t *call, mcplink_status_t status, const mcplink_result_t *result, const mcplink_error_t *err)
{
    on_done(user, call, status, result, err);
    if (status == MCPLINK_OK) mcplink_client_free(freed_here);
}

static void on_progress(void *user, double progress, double total, mcplink_str_t message)
{
    (void)user, (void)progress, (void)total, (void)message;
}

static void release_client(void *user)
{
    mcplink_client_free(freed_here);
    counter_add(user);
}

static void freed_inside(int by_release)
{
    struct peer p;
    struct counter released = COUNTER;
    mcplink_call_options_t *options = mcplink_call_options_new();
    mcplink_error_t *err = NULL;
    int i;

    asked.count = 0;
    reset();
    peer_begin(&p, hold);
    freed_here = open_counted(peer_options(&p));
    if (by_release) CHECK(mcplink_call_options_on_progress(options, on_progress, &released, release_client) == MCPLINK_OK);
    CHECK(mcplink_client_call_tool_start(freed_here, "wait", NULL, 0, options, by_release ? on_done : on_done_free, NULL, NULL, NULL, &err) ==
          MCPLINK_OK);
    CHECK(counter_wait(&asked, 1));
    /* The call has the last reference to the data. */
    mcplink_call_options_free(options);
    for (i = 0; i < 10; i++) CHECK(mcplink_client_call_tool_start(freed_here, "wait", NULL, 0, NULL, on_done, NULL, NULL, NULL, &err) == MCPLINK_OK);
    CHECK(counter_wait(&asked, 11));
    answer(&p, 0, 10);
    CHECK(counter_wait(&closed, 10) && counter_wait(&done, 1));
    /* Released before the outcome was told. */
    if (by_release) CHECK(counter_get(&released) == 1);
    CHECK(counter_wait(&p.closed, 1));
    mcplink_transport_free(p.transport);
    CHECK(counter_wait(&p.destroyed, 1));
}

/* Over HTTP too. */
static mcplink_responder_t *kept[OVER_HTTP];
static pthread_mutex_t keeping = PTHREAD_MUTEX_INITIALIZER;
static struct counter holding = COUNTER;

static void keep(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    (void)user, (void)request;
    pthread_mutex_lock(&keeping);
    kept[holding.count] = mcplink_responder_keep(responder);
    counter_add(&holding);
    pthread_mutex_unlock(&keeping);
}

static void over_http(void)
{
    mcplink_server_t *server = mcplink_server_new("held", "1");
    mcplink_listener_t *listener = NULL;
    mcplink_client_options_t *o = mcplink_client_options_new();
    mcplink_client_t *c;
    mcplink_error_t *err = NULL;
    int i;

    reset();
    add_tool(server, "keep", keep, NULL, NULL);
    CHECK_STATUS(mcplink_server_listen_http(server, NULL, "0", &listener, &err), MCPLINK_OK, err);
    CHECK(mcplink_client_options_set_url(o, mcplink_listener_url(listener).ptr) == MCPLINK_OK);
    c = open_counted(o);
    for (i = 0; i < OVER_HTTP; i++) {
        mcplink_status_t status = mcplink_client_call_tool_start(c, "keep", NULL, 0, NULL, on_done, NULL, NULL, NULL, &err);
        CHECK_STATUS(status, MCPLINK_OK, err);
    }
    CHECK(counter_wait(&holding, OVER_HTTP));
    CHECK(threads < OVER_HTTP / 2);
    for (i = 0; i < OVER_HTTP; i++) {
        CHECK(mcplink_responder_text(kept[i], "kept", MCPLINK_NUL) == MCPLINK_OK);
        mcplink_responder_free(kept[i]);
    }
    CHECK(counter_wait(&done, OVER_HTTP));
    mcplink_client_free(c);
    mcplink_listener_free(listener);
    mcplink_server_free(server);
    CHECK(done.count == OVER_HTTP);
}

int main(void)
{
    over_a_stream();
    each_kind();
    freed_inside(0);
    freed_inside(1);
    over_http();
    printf("many_calls: ok\n");
    return 0;
}
