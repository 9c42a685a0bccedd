/* Calls that are made while the client is being connected wait for it. */
#include "peer.h"

#include <pthread.h>

/* A server that answers nothing until it is let. */
struct slow {
    struct peer peer;
    struct counter asked, let, ended;
    mcplink_client_t *client;
    mcplink_client_options_t *options;
    mcplink_status_t inside;
};

static void answer(struct peer *p, const char *method, const mcplink_json_t *message)
{
    if (strcmp(method, "tools/call") == 0) peer_respond(p, message, "{\"content\":[{\"type\":\"text\",\"text\":\"here\"}]}");
    else peer_respond(p, message, "{}");
}

/* Runs on the thread that connects: a call there would wait for itself. */
static mcplink_status_t send_slowly(void *user, const void *bytes, size_t len)
{
    struct slow *s = user;
    if (s->asked.count == 0) {
        counter_add(&s->asked);
        CHECK(counter_wait(&s->let, 1));
        s->inside = mcplink_client_ping(s->client, NULL, NULL);
    }
    return peer_send(&s->peer, bytes, len);
}

/* timeout_ms: the timeout of the client's calls; 0 for the default. */
static void begin(struct slow *s, uint32_t timeout_ms)
{
    static const struct counter none = COUNTER;
    mcplink_error_t *err = NULL;
    memset(s, 0, sizeof *s);
    peer_begin(&s->peer, answer);
    s->asked = s->let = s->ended = none;
    CHECK(mcplink_transport_set_send(s->peer.transport, send_slowly) == MCPLINK_OK);
    s->options = peer_options(&s->peer);
    if (timeout_ms != 0) CHECK(mcplink_client_options_set_timeout_ms(s->options, timeout_ms) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_connect_timeout_ms(s->options, MCPLINK_FOREVER) == MCPLINK_OK);
    CHECK_STATUS(mcplink_client_start(s->options, &s->client, &err), MCPLINK_OK, err);
    CHECK(counter_wait(&s->asked, 1) && mcplink_client_state(s->client) == MCPLINK_CLIENT_CONNECTING);
}

static void end(struct slow *s)
{
    mcplink_client_free(s->client);
    mcplink_client_options_free(s->options);
    mcplink_transport_free(s->peer.transport);
    CHECK(s->peer.destroyed.count == 1);
}

static void *call(void *user)
{
    struct slow *s = user;
    mcplink_result_t *r = NULL;
    mcplink_error_t *err = NULL;
    CHECK_STATUS(mcplink_client_call_tool(s->client, "a", NULL, 0, NULL, &r, &err), MCPLINK_OK, err);
    CHECK_TEXT(mcplink_result_text(r), "here");
    mcplink_result_free(r);
    return NULL;
}

static void on_done(void *user, mcplink_call_t *call, mcplink_status_t status, const mcplink_result_t *result, const mcplink_error_t *err)
{
    struct slow *s = user;
    (void)call, (void)result, (void)err;
    CHECK(status == MCPLINK_OK && mcplink_client_state(s->client) == MCPLINK_CLIENT_READY);
    counter_add(&s->ended);
}

static void calls_wait(void)
{
    struct slow s;
    pthread_t thread;
    mcplink_error_t *err = NULL;
    mcplink_call_t *started = NULL;
    mcplink_call_options_t *options = mcplink_call_options_new();
    mcplink_cancel_t *cancel = mcplink_cancel_new();
    begin(&s, 0);

    /* No longer than their own timeout, and not once they are cancelled: before, and while they wait. */
    mcplink_call_options_set_timeout_ms(options, 10);
    CHECK_STATUS(mcplink_client_ping(s.client, options, &err), MCPLINK_E_TIMEOUT, err);
    mcplink_call_options_set_timeout_ms(options, MCPLINK_FOREVER);
    mcplink_call_options_set_max_timeout_ms(options, 10);
    CHECK_STATUS(mcplink_client_ping(s.client, options, &err), MCPLINK_E_TIMEOUT, err);
    mcplink_call_options_free(options);
    options = mcplink_call_options_new();
    mcplink_call_options_set_cancel(options, cancel);
    CHECK_STATUS(mcplink_client_ping_start(s.client, options, NULL, NULL, NULL, &started, &err), MCPLINK_OK, err);
    CHECK_STATUS(mcplink_call_wait(started, 10, NULL, &err), MCPLINK_PENDING, err);
    CHECK(mcplink_cancel_trigger(cancel) == MCPLINK_OK);
    CHECK_STATUS(mcplink_call_wait(started, MCPLINK_FOREVER, NULL, &err), MCPLINK_E_CANCELLED, err);
    CHECK_STATUS(mcplink_client_ping(s.client, options, &err), MCPLINK_E_CANCELLED, err);
    mcplink_call_free(started);
    mcplink_call_options_free(options);
    mcplink_cancel_free(cancel);

    CHECK(pthread_create(&thread, NULL, call, &s) == 0);
    CHECK_STATUS(mcplink_client_list_tools_start(s.client, NULL, NULL, NULL, NULL, NULL, &err), MCPLINK_OK, err);
    CHECK_STATUS(mcplink_client_ping_start(s.client, NULL, on_done, &s, NULL, NULL, &err), MCPLINK_OK, err);
    counter_add(&s.let);
    CHECK(pthread_join(thread, NULL) == 0 && counter_wait(&s.ended, 1));
    CHECK(s.inside == MCPLINK_E_STATE);
    end(&s);
}

static void answer_nothing(struct peer *p, const char *method, const mcplink_json_t *message) { (void)p, (void)method, (void)message; }

/* The time that a call waits for connecting is part of its timeouts, those of the client too. */
static void waiting_counts(void)
{
    enum { SPAN = 400, WAITED = 100 };
    struct slow s;
    mcplink_error_t *err = NULL;
    mcplink_call_t *started = NULL;
    const char *left;
    begin(&s, SPAN);
    s.peer.answer = answer_nothing;
    CHECK_STATUS(mcplink_client_notify(s.client, "notifications/a", NULL, 0, &err), MCPLINK_E_TIMEOUT, err);
    CHECK_STATUS(mcplink_client_call_tool_start(s.client, "a", NULL, 0, NULL, NULL, NULL, NULL, &started, &err), MCPLINK_OK, err);
    CHECK_STATUS(mcplink_call_wait(started, WAITED, NULL, &err), MCPLINK_PENDING, err);
    counter_add(&s.let);
    CHECK(mcplink_call_wait(started, MCPLINK_FOREVER, NULL, &err) == MCPLINK_E_TIMEOUT);
    /* On a busy machine the time was perhaps over before the client was connected. */
    left = strstr(mcplink_error_message(err), "(timeout is ");
    CHECK(left == NULL || strtol(left + 12, NULL, 10) <= SPAN - WAITED / 2);
    mcplink_error_free(err);
    mcplink_call_free(started);
    end(&s);
}

static void *call_in_vain(void *user)
{
    struct slow *s = user;
    mcplink_error_t *err = NULL;
    counter_add(&s->ended);
    CHECK_STATUS(mcplink_client_ping(s->client, NULL, &err), MCPLINK_E_CLOSED, err);
    return NULL;
}

/* A client that is closed before it is connected. */
static void closed(void)
{
    struct slow s;
    pthread_t thread;
    mcplink_error_t *err = NULL;
    mcplink_call_t *started = NULL;
    begin(&s, 0);
    CHECK_STATUS(mcplink_client_ping_start(s.client, NULL, NULL, NULL, NULL, &started, &err), MCPLINK_OK, err);
    CHECK(pthread_create(&thread, NULL, call_in_vain, &s) == 0 && counter_wait(&s.ended, 1));
    CHECK_STATUS(mcplink_client_close_start(s.client, NULL, NULL, NULL, &err), MCPLINK_OK, err);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_STATUS(mcplink_call_wait(started, MCPLINK_FOREVER, NULL, &err), MCPLINK_E_CLOSED, err);
    CHECK_STATUS(mcplink_client_ping_start(s.client, NULL, NULL, NULL, NULL, NULL, &err), MCPLINK_E_CLOSED, err);
    mcplink_call_free(started);
    counter_add(&s.let);
    end(&s);
}

static mcplink_status_t send_nothing(void *user, const void *bytes, size_t len)
{
    (void)user, (void)bytes, (void)len;
    return MCPLINK_E_USER;
}

/* A client that can't be connected: each call fails with the reason. */
static void failed(void)
{
    mcplink_transport_t *transport = mcplink_transport_new(NULL, NULL);
    mcplink_client_options_t *o = mcplink_client_options_new();
    mcplink_client_t *c = NULL;
    mcplink_error_t *err = NULL;
    CHECK(mcplink_transport_set_send(transport, send_nothing) == MCPLINK_OK);
    mcplink_client_options_set_transport(o, transport);
    CHECK_STATUS(mcplink_client_start(o, &c, &err), MCPLINK_OK, err);
    CHECK_STATUS(mcplink_client_ping(c, NULL, &err), MCPLINK_E_IO, err);
    CHECK_STATUS(mcplink_client_notify(c, "notifications/a", NULL, 0, &err), MCPLINK_E_IO, err);
    CHECK_STATUS(mcplink_client_ping_start(c, NULL, NULL, NULL, NULL, NULL, &err), MCPLINK_E_IO, err);
    mcplink_client_free(c);
    mcplink_client_options_free(o);
    mcplink_transport_free(transport);
}

int main(void)
{
    calls_wait();
    waiting_counts();
    closed();
    failed();
    puts("calls wait until a client is connected");
    return 0;
}
