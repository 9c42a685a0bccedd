/* Closing and freeing: with threads inside, within callbacks of the client, before anything happened; what belongs to callbacks is ended once. */
#include "peer.h"

static struct counter called = COUNTER;

/* Answers no tool. */
static void silent(struct peer *p, const char *method, const mcplink_json_t *message)
{
    (void)p, (void)message;
    if (strcmp(method, "tools/call") == 0) counter_add(&called);
}

static void echo(struct peer *p, const char *method, const mcplink_json_t *message)
{
    if (strcmp(method, "tools/call") == 0) peer_respond(p, message, "{\"content\":[]}");
}

static void *call_and_wait(void *client)
{
    mcplink_result_t *r = NULL;
    mcplink_error_t *err = NULL;
    CHECK(mcplink_client_call_tool(client, "t", NULL, 0, NULL, &r, &err) == MCPLINK_E_CLOSED && r == NULL);
    CHECK(mcplink_error_status(err) == MCPLINK_E_CLOSED);
    mcplink_error_free(err);
    return NULL;
}

static struct counter done = COUNTER, destroyed = COUNTER;

static void on_done(void *user, mcplink_call_t *call, mcplink_status_t status, const mcplink_result_t *result, const mcplink_error_t *err)
{
    (void)user, (void)call, (void)result, (void)err;
    CHECK(status == MCPLINK_E_CLOSED);
    counter_add(&done);
}

static void with_a_hundred_inside(void)
{
    enum { THREADS = 100, STARTED = 20 };
    pthread_t threads[THREADS];
    mcplink_call_t *calls[STARTED];
    struct peer p;
    mcplink_client_t *c;
    int i;

    peer_begin(&p, silent);
    c = peer_open(&p);
    for (i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, call_and_wait, c) == 0);
    for (i = 0; i < STARTED; i++)
        CHECK(mcplink_client_call_tool_start(c, "t", NULL, 0, NULL, on_done, &destroyed, count_one, &calls[i], NULL) == MCPLINK_OK);
    CHECK(counter_wait(&called, THREADS + STARTED));
    mcplink_client_free(c);
    CHECK(done.count == STARTED && destroyed.count == STARTED);
    for (i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    /* A handle of a call may outlive its client. */
    for (i = 0; i < STARTED; i++) {
        CHECK(mcplink_call_is_done(calls[i]) && mcplink_call_wait(calls[i], 0, NULL, NULL) == MCPLINK_E_CLOSED);
        mcplink_call_free(calls[i]);
    }
    mcplink_transport_free(p.transport);
    CHECK(p.destroyed.count == 1 && p.closed.count == 1);
}

/* Freed within its own callbacks. */

static mcplink_client_t *own;
static struct counter freed = COUNTER;

static void free_when_done(void *user, mcplink_call_t *call, mcplink_status_t status, const mcplink_result_t *result, const mcplink_error_t *err)
{
    (void)user, (void)call, (void)result, (void)err;
    CHECK(status == MCPLINK_OK);
    mcplink_client_free(own);
}

static void free_at_progress(void *user, double progress, double total, mcplink_str_t message)
{
    (void)user, (void)total, (void)message;
    if (progress == 1) mcplink_client_free(own);
}

static void free_at_question(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    (void)user, (void)request;
    mcplink_client_free(own);
    CHECK(mcplink_responder_json(responder, "{\"action\":\"cancel\"}", MCPLINK_NUL) != MCPLINK_E_STATE);
}

static void free_at_event(void *user, mcplink_event event, const mcplink_json_t *params)
{
    (void)user, (void)params;
    if (event == MCPLINK_EVENT_CONNECTED) mcplink_client_free(own);
}

static void free_at_line(void *user, mcplink_str_t line)
{
    (void)user;
    CHECK_TEXT(line, "a line");
    mcplink_client_free(own);
}

static void progressing(struct peer *p, const char *method, const mcplink_json_t *message)
{
    if (strcmp(method, "tools/call") == 0) {
        char text[512];
        snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%s,\"progress\":1}}\n",
                 mcplink_json_text(mcplink_json_pointer(message, "/params/_meta/progressToken")).ptr);
        mcplink_transport_feed(p->transport, text, strlen(text));
    }
}

static void within_callbacks(void)
{
    static const char *const shouting[] = { "/bin/sh", "-c", "echo a line >&2; exec \"$SERVER\" stdio", NULL };
    struct peer p;
    mcplink_client_options_t *o;
    mcplink_call_options_t *options = mcplink_call_options_new();
    mcplink_result_t *r = NULL;
    mcplink_client_t *c;
    int i;

    peer_begin(&p, echo);
    o = peer_options(&p);
    CHECK(mcplink_client_options_on_event(o, free_at_event, &freed, count_one) == MCPLINK_OK);
    CHECK(mcplink_client_options_on_event(o, NULL, NULL, NULL) == MCPLINK_OK && freed.count == 1);
    own = open_with(o, NULL);
    CHECK(mcplink_client_call_tool_start(own, "t", NULL, 0, NULL, free_when_done, &freed, count_one, NULL, NULL) == MCPLINK_OK);
    CHECK(counter_wait(&freed, 2) && counter_wait(&p.closed, 1));
    mcplink_transport_free(p.transport);

    /* In the progress of a blocking call: it ends as closed. */
    peer_begin(&p, progressing);
    own = c = peer_open(&p);
    CHECK(mcplink_call_options_on_progress(options, free_at_progress, NULL, NULL) == MCPLINK_OK);
    CHECK(mcplink_client_call_tool(c, "t", NULL, 0, options, &r, NULL) == MCPLINK_E_CLOSED);
    CHECK(counter_wait(&p.closed, 1));
    mcplink_transport_free(p.transport);
    mcplink_call_options_free(options);

    /* In a question, of both eras: on the thread that calls, and on the client's own. */
    for (i = 0; i < 2; i++) {
        o = everything_options();
        CHECK(mcplink_client_options_on_elicit(o, free_at_question, &freed, count_one) == MCPLINK_OK);
        own = c = open_with(o, i ? "2025-11-25" : "2026-07-28");
        CHECK(mcplink_client_call_tool(c, "test_input_required_result_elicitation", "{}", 2, NULL, &r, NULL) == MCPLINK_E_CLOSED);
        CHECK(counter_wait(&freed, 3 + i));
    }

    o = everything_options();
    CHECK(mcplink_client_options_on_event(o, free_at_event, &freed, count_one) == MCPLINK_OK);
    CHECK(mcplink_client_start(o, &own, NULL) == MCPLINK_OK);
    mcplink_client_options_free(o);
    CHECK(counter_wait(&freed, 5));

    o = mcplink_client_options_new();
    CHECK(mcplink_client_options_set_command(o, shouting) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_env(o, "SERVER", everything_server()) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_stderr(o, MCPLINK_STDERR_CAPTURE, free_at_line, &freed, count_one) == MCPLINK_OK);
    CHECK(mcplink_client_start(o, &own, NULL) == MCPLINK_OK);
    mcplink_client_options_free(o);
    CHECK(counter_wait(&freed, 6));
}

/* Closing waits for as long as it is told, and goes on. */
static void stubborn(void)
{
    static const char *const argv[] = { "/bin/sh", "-c",
                                        "trap '' TERM; while read line; do case $line in *initialize*) echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":"
                                        "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}}';; esac;"
                                        " done; while true; do sleep 1; done", NULL };
    mcplink_client_options_t *o = mcplink_client_options_new();
    mcplink_client_t *c;
    mcplink_error_t *err = NULL;

    CHECK(mcplink_client_options_set_command(o, argv) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_close_timeout_ms(o, 300) == MCPLINK_OK);
    c = open_with(o, "2025-11-25");
    CHECK(mcplink_client_close(c, 1, &err) == MCPLINK_E_TIMEOUT);
    mcplink_error_free(err);
    err = NULL;
    CHECK(mcplink_client_ping(c, NULL, NULL) == MCPLINK_E_CLOSED);
    CHECK_STATUS(mcplink_client_close(c, MCPLINK_FOREVER, &err), MCPLINK_OK, err);
    CHECK(mcplink_client_close(c, 0, NULL) == MCPLINK_OK);
    mcplink_client_free(c);
}

/* A host that uses a variable again without freeing its error is told. */
static struct counter leaks = COUNTER;

static void on_log(void *user, mcplink_log_level level, mcplink_str_t target, mcplink_str_t text)
{
    (void)user, (void)target;
    if (level == MCPLINK_LOG_WARNING && strstr(text.ptr, "1000 errors are not freed") != NULL) counter_add(&leaks);
}

static void reused(void)
{
    enum { MANY = 1000 };
    static mcplink_error_t *errors[MANY];
    int i;
    CHECK(mcplink_set_log(MCPLINK_LOG_WARNING, on_log, NULL, NULL) == MCPLINK_OK);
    for (i = 0; i < MANY; i++) {
        CHECK(counter_get(&leaks) == 0);
        CHECK(mcplink_client_ping(NULL, NULL, &errors[i]) == MCPLINK_E_INVALID);
    }
    CHECK(counter_get(&leaks) == 1);
    for (i = 0; i < MANY; i++) mcplink_error_free(errors[i]);
    CHECK(mcplink_set_log(MCPLINK_LOG_WARNING, NULL, NULL, NULL) == MCPLINK_OK);
}

int main(void)
{
    with_a_hundred_inside();
    within_callbacks();
    stubborn();
    reused();
    return 0;
}
