/* Cancelling: one call, many by one token, before they are sent, connecting; and what the server is told. */
#include "peer.h"

struct told {
    struct counter called;
    struct counter cancelled;
    char reason[100];
} told = { COUNTER, COUNTER, "" };

/* Answers no tool. */
static void silent(struct peer *p, const char *method, const mcplink_json_t *message)
{
    (void)p;
    if (strcmp(method, "tools/call") == 0) counter_add(&told.called);
    if (strcmp(method, "notifications/cancelled") == 0) {
        snprintf(told.reason, sizeof told.reason, "%s", mcplink_json_str(mcplink_json_pointer(message, "/params/reason")).ptr);
        counter_add(&told.cancelled);
    }
}

static struct counter done = COUNTER;
static mcplink_status_t last;

static void on_done(void *user, mcplink_call_t *call, mcplink_status_t status, const mcplink_result_t *result, const mcplink_error_t *err)
{
    (void)user, (void)call, (void)result, (void)err;
    last = status;
    counter_add(&done);
}

static void *trigger(void *cancel)
{
    CHECK(counter_wait(&told.called, 2));
    CHECK(mcplink_cancel_trigger(cancel) == MCPLINK_OK);
    return NULL;
}

static void calls(void)
{
    struct peer p;
    mcplink_client_t *c;
    mcplink_call_t *call = NULL;
    mcplink_cancel_t *cancel = mcplink_cancel_new();
    mcplink_call_options_t *o = mcplink_call_options_new();
    mcplink_result_t *r = NULL;
    mcplink_error_t *err = NULL;
    pthread_t thread;
    int i;

    peer_begin(&p, silent);
    c = peer_open(&p);

    /* One that was started, with a reason that the server is told. */
    CHECK(mcplink_client_call_tool_start(c, "t", NULL, 0, NULL, on_done, NULL, NULL, &call, NULL) == MCPLINK_OK);
    CHECK(counter_wait(&told.called, 1) && mcplink_call_wait(call, 1, &r, NULL) == MCPLINK_PENDING && r == NULL);
    CHECK(!mcplink_call_is_done(call));
    CHECK(mcplink_call_cancel(call, "the user pressed Escape") == MCPLINK_OK && mcplink_call_cancel(call, NULL) == MCPLINK_OK);
    CHECK(mcplink_call_wait(call, MCPLINK_FOREVER, &r, &err) == MCPLINK_E_CANCELLED && r == NULL);
    CHECK_TEXT(mcplink_error_method(err), "tools/call");
    mcplink_error_free(err);
    err = NULL;
    CHECK(counter_wait(&done, 1) && last == MCPLINK_E_CANCELLED);
    CHECK(counter_wait(&told.cancelled, 1) && strcmp(told.reason, "the user pressed Escape") == 0);
    mcplink_call_free(call);

    /* A blocking one, by another thread. */
    CHECK(mcplink_call_options_set_cancel(o, cancel) == MCPLINK_OK);
    CHECK(pthread_create(&thread, NULL, trigger, cancel) == 0);
    CHECK(mcplink_client_call_tool(c, "t", NULL, 0, o, &r, &err) == MCPLINK_E_CANCELLED && r == NULL);
    mcplink_error_free(err);
    err = NULL;
    pthread_join(thread, NULL);
    CHECK(counter_wait(&told.cancelled, 2) && mcplink_cancel_is_triggered(cancel));

    /* Triggered before: nothing is sent. The token may be gone by then. */
    mcplink_cancel_free(cancel);
    i = told.called.count;
    CHECK(mcplink_client_call_tool(c, "t", NULL, 0, o, &r, NULL) == MCPLINK_E_CANCELLED);
    CHECK(mcplink_client_call_tool_start(c, "t", NULL, 0, o, on_done, NULL, NULL, NULL, NULL) == MCPLINK_OK);
    CHECK(counter_wait(&done, 2) && last == MCPLINK_E_CANCELLED && told.called.count == i);

    /* Many by one. */
    cancel = mcplink_cancel_new();
    CHECK(mcplink_call_options_set_cancel(o, cancel) == MCPLINK_OK);
    for (i = 0; i < 10; i++) CHECK(mcplink_client_call_tool_start(c, "t", NULL, 0, o, on_done, NULL, NULL, NULL, NULL) == MCPLINK_OK);
    CHECK(!mcplink_cancel_is_triggered(cancel) && mcplink_cancel_trigger(cancel) == MCPLINK_OK);
    CHECK(counter_wait(&done, 12) && last == MCPLINK_E_CANCELLED);
    mcplink_cancel_free(cancel);
    mcplink_call_options_free(o);
    mcplink_client_free(c);
    CHECK(done.count == 12);
    mcplink_transport_free(p.transport);
}

static void *trigger_soon(void *cancel)
{
    CHECK(mcplink_cancel_trigger(cancel) == MCPLINK_OK);
    return NULL;
}

static struct counter failed = COUNTER;

static void on_event(void *user, mcplink_event event, const mcplink_json_t *params)
{
    (void)user;
    CHECK(event == MCPLINK_EVENT_FAILED);
    CHECK_TEXT(mcplink_json_text(mcplink_json_get(params, "status")), "-5");
    counter_add(&failed);
}

/* A server that says nothing, and ends by itself after long. */
static void connecting(void)
{
    static const char *const argv[] = { "sleep", "600", NULL };
    mcplink_client_options_t *o = mcplink_client_options_new();
    mcplink_cancel_t *cancel = mcplink_cancel_new();
    mcplink_client_t *c = NULL;
    mcplink_error_t *err = NULL;
    pthread_t thread;

    CHECK(mcplink_client_options_set_command(o, argv) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_cancel(o, cancel) == MCPLINK_OK);
    CHECK(pthread_create(&thread, NULL, trigger_soon, cancel) == 0);
    CHECK(mcplink_client_open(o, &c, &err) == MCPLINK_E_CANCELLED && c == NULL);
    mcplink_error_free(err);
    err = NULL;
    pthread_join(thread, NULL);
    mcplink_cancel_free(cancel);

    /* Started, then cancelled by its token. */
    cancel = mcplink_cancel_new();
    CHECK(mcplink_client_options_set_cancel(o, cancel) == MCPLINK_OK);
    CHECK(mcplink_client_options_on_event(o, on_event, NULL, NULL) == MCPLINK_OK);
    CHECK(mcplink_client_start(o, &c, &err) == MCPLINK_OK);
    CHECK(mcplink_client_state(c) == MCPLINK_CLIENT_CONNECTING);
    CHECK(mcplink_cancel_trigger(cancel) == MCPLINK_OK);
    CHECK(counter_wait(&failed, 1) && mcplink_client_state(c) == MCPLINK_CLIENT_FAILED);
    CHECK(mcplink_client_ping(c, NULL, &err) == MCPLINK_E_CANCELLED);
    mcplink_error_free(err);
    mcplink_client_free(c);
    mcplink_cancel_free(cancel);

    /* Started, then freed. */
    CHECK(mcplink_client_options_set_cancel(o, NULL) == MCPLINK_OK);
    CHECK(mcplink_client_start(o, &c, NULL) == MCPLINK_OK);
    mcplink_client_free(c);
    CHECK(failed.count == 2);
    mcplink_client_options_free(o);
}

int main(void)
{
    calls();
    connecting();
    return 0;
}
