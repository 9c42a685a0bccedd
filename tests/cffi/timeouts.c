/* Deadlines: of calls, in all, started anew by progress; of connecting; and none. */
#include "peer.h"

/* Answers tools by their names: with nothing, or with progress for ever. */
static struct counter stop = COUNTER, beating = COUNTER;
static struct peer peer;
static char token[64];

static void answer(struct peer *p, const char *method, const mcplink_json_t *message)
{
    const char *tool = mcplink_json_str(mcplink_json_pointer(message, "/params/name")).ptr;
    (void)p;
    if (strcmp(method, "tools/call") == 0 && strcmp(tool, "beats") == 0) {
        snprintf(token, sizeof token, "%s", mcplink_json_text(mcplink_json_pointer(message, "/params/_meta/progressToken")).ptr);
        counter_add(&beating);
    }
}

/* Progress every few milliseconds, until it is stopped. */
static void *beat(void *unused)
{
    int number = 0;
    struct timespec pause = { 0, 5000000 };
    CHECK(counter_wait(&beating, 1));
    while (counter_get(&stop) == 0) {
        char text[256];
        snprintf(text, sizeof text,
                 "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%s,\"progress\":%d}}\n", token, ++number);
        mcplink_transport_feed(peer.transport, text, strlen(text));
        nanosleep(&pause, NULL);
    }
    return unused;
}

static double now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

static mcplink_status_t call(mcplink_client_t *c, const char *tool, uint32_t timeout, uint32_t max, const char *setting)
{
    mcplink_call_options_t *o = mcplink_call_options_new();
    mcplink_result_t *r = NULL;
    mcplink_error_t *err = NULL;
    mcplink_status_t st;
    if (timeout) CHECK(mcplink_call_options_set_timeout_ms(o, timeout) == MCPLINK_OK);
    if (max) CHECK(mcplink_call_options_set_max_timeout_ms(o, max) == MCPLINK_OK);
    st = mcplink_client_call_tool(c, tool, NULL, 0, o, &r, &err);
    CHECK(r == NULL && strstr(mcplink_error_message(err), setting) != NULL);
    mcplink_error_free(err);
    mcplink_call_options_free(o);
    return st;
}

static void calls(void)
{
    pthread_t thread;
    mcplink_client_options_t *o;
    mcplink_client_t *c;
    double begin;

    peer_begin(&peer, answer);
    o = peer_options(&peer);
    CHECK(mcplink_client_options_set_timeout_ms(o, 120) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_max_timeout_ms(o, 300000) == MCPLINK_OK);
    c = open_with(o, NULL);

    /* By default, by the client's own setting, by the call's. */
    begin = now();
    CHECK(call(c, "silent", 0, 0, "timeout is 120 ms") == MCPLINK_E_TIMEOUT && now() - begin >= 0.119);
    begin = now();
    CHECK(call(c, "silent", 30, 0, "timeout is 30 ms") == MCPLINK_E_TIMEOUT && now() - begin >= 0.029);
    CHECK(call(c, "silent", MCPLINK_FOREVER, 50, "max_timeout is 50 ms") == MCPLINK_E_TIMEOUT);

    /* Progress starts the time anew, but not without end. */
    CHECK(pthread_create(&thread, NULL, beat, NULL) == 0);
    begin = now();
    CHECK(call(c, "beats", 20000, 400, "max_timeout is 400 ms") == MCPLINK_E_TIMEOUT && now() - begin >= 0.399);
    counter_add(&stop);
    pthread_join(thread, NULL);
    mcplink_client_free(c);
    mcplink_transport_free(peer.transport);
}

/* A server that says nothing at all. */
static void connecting(void)
{
    static const char *const argv[] = { "sleep", "600", NULL };
    mcplink_client_options_t *o = mcplink_client_options_new();
    mcplink_client_t *c = NULL;
    mcplink_error_t *err = NULL;

    CHECK(mcplink_client_options_set_command(o, argv) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_probe_timeout_ms(o, 20) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_connect_timeout_ms(o, 100) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_close_timeout_ms(o, 50) == MCPLINK_OK);
    CHECK(mcplink_client_open(o, &c, &err) == MCPLINK_E_TIMEOUT && c == NULL);
    mcplink_error_free(err);
    mcplink_client_options_free(o);
}

int main(void)
{
    calls();
    connecting();
    return 0;
}
