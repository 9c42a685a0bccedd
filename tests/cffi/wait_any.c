/* One wait for calls of several clients. */
#include "peer.h"

/* The request that a server has not answered yet. */
static char held[2][64];
static struct counter asked = COUNTER;

static void hold(int at, const mcplink_json_t *message)
{
    snprintf(held[at], sizeof held[at], "%s", mcplink_json_text(mcplink_json_get(message, "id")).ptr);
    counter_add(&asked);
}

static void first_server(struct peer *p, const char *method, const mcplink_json_t *message)
{
    (void)p;
    if (strcmp(method, "tools/call") == 0) hold(0, message);
}

static void second_server(struct peer *p, const char *method, const mcplink_json_t *message)
{
    (void)p;
    if (strcmp(method, "tools/call") == 0) hold(1, message);
}

static void respond(struct peer *p, int at)
{
    char text[200];
    snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"%d\"}]}}\n", held[at], at);
    peer_feed(p, text);
}

static mcplink_call_t *begin(mcplink_client_t *c, mcplink_done_fn callback, void *user)
{
    mcplink_call_t *call = NULL;
    mcplink_error_t *err = NULL;
    CHECK_STATUS(mcplink_client_call_tool_start(c, "slow", NULL, 0, NULL, callback, user, NULL, &call, &err), MCPLINK_OK, err);
    return call;
}

static mcplink_call_t *calls[2];
static struct counter refused = COUNTER;

/* The thread that runs the callbacks of a client would keep them from running. */
static void on_done(void *user, mcplink_call_t *call, mcplink_status_t status, const mcplink_result_t *result, const mcplink_error_t *err)
{
    mcplink_error_t *why = NULL;
    size_t index = 7;
    (void)call, (void)status, (void)result, (void)err;
    CHECK_STATUS(mcplink_call_wait_any(calls, 2, 1000, &index, &why), MCPLINK_E_STATE, why);
    CHECK(index == 2);
    counter_add(user);
}

static void *cancel_second(void *unused)
{
    CHECK(mcplink_call_cancel(calls[1], "enough") == MCPLINK_OK);
    return unused;
}

int main(void)
{
    struct peer first, second;
    mcplink_client_t *a, *b;
    mcplink_result_t *r = NULL;
    mcplink_error_t *err = NULL;
    mcplink_call_t *none[1] = { NULL };
    pthread_t thread;
    size_t index = 9;

    peer_begin(&first, first_server);
    peer_begin(&second, second_server);
    a = peer_open(&first);
    b = peer_open(&second);
    calls[0] = begin(a, NULL, NULL);
    calls[1] = begin(b, NULL, NULL);
    CHECK(counter_wait(&asked, 2));

    CHECK_STATUS(mcplink_call_wait_any(calls, 2, 0, &index, &err), MCPLINK_PENDING, err);
    CHECK_STATUS(mcplink_call_wait_any(calls, 2, 20, &index, &err), MCPLINK_PENDING, err);
    CHECK(index == 2);
    CHECK_STATUS(mcplink_call_wait_any(calls, 0, 0, &index, &err), MCPLINK_E_INVALID, err);
    CHECK_STATUS(mcplink_call_wait_any(NULL, 2, 0, &index, &err), MCPLINK_E_INVALID, err);
    CHECK_STATUS(mcplink_call_wait_any(calls, 2, 0, NULL, &err), MCPLINK_E_INVALID, err);
    CHECK_STATUS(mcplink_call_wait_any(none, 1, 0, &index, &err), MCPLINK_E_INVALID, err);

    respond(&second, 1);
    CHECK_STATUS(mcplink_call_wait_any(calls, 2, LONG_SECONDS * 1000, &index, &err), MCPLINK_OK, err);
    CHECK(index == 1);
    CHECK_STATUS(mcplink_call_wait(calls[1], 0, &r, &err), MCPLINK_OK, err);
    CHECK_TEXT(mcplink_result_text(r), "1");
    mcplink_result_free(r);
    mcplink_call_free(calls[1]);

    /* One that another thread cancels, while the first one goes on. */
    calls[1] = begin(b, NULL, NULL);
    CHECK(counter_wait(&asked, 3));
    CHECK(pthread_create(&thread, NULL, cancel_second, NULL) == 0);
    CHECK_STATUS(mcplink_call_wait_any(calls, 2, MCPLINK_FOREVER, &index, &err), MCPLINK_OK, err);
    CHECK(index == 1);
    CHECK_STATUS(mcplink_call_wait(calls[1], 0, &r, &err), MCPLINK_E_CANCELLED, err);
    CHECK(pthread_join(thread, NULL) == 0);

    mcplink_call_free(calls[1]);
    calls[1] = begin(b, on_done, &refused);
    CHECK(counter_wait(&asked, 4));
    respond(&second, 1);
    CHECK(counter_wait(&refused, 1));

    /* Closing ends what is still waited for. */
    mcplink_client_free(a);
    CHECK_STATUS(mcplink_call_wait_any(calls, 1, LONG_SECONDS * 1000, &index, &err), MCPLINK_OK, err);
    CHECK(index == 0);
    CHECK_STATUS(mcplink_call_wait(calls[0], 0, &r, &err), MCPLINK_E_CLOSED, err);
    mcplink_call_free(calls[0]);
    mcplink_call_free(calls[1]);
    mcplink_client_free(b);
    mcplink_transport_free(first.transport);
    mcplink_transport_free(second.transport);
    return 0;
}
