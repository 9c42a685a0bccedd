/* A server whose callbacks all run where the host dispatches: one thread, several clients, and no worker that waits. */
#include "talk.h"

#include <pthread.h>

static pthread_t home;
static int runs;
static mcplink_responder_t *kept;
static mcplink_server_t *server;

static void echo(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    mcplink_str_t args = mcplink_json_text(mcplink_request_args(req));
    (void)user;
    CHECK(pthread_equal(pthread_self(), home));
    runs++;
    CHECK(mcplink_responder_text(resp, args.ptr, args.len) == MCPLINK_OK);
}

static void keep(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)user;
    (void)req;
    CHECK(pthread_equal(pthread_self(), home));
    kept = mcplink_responder_keep(resp);
}

static int cancels;
static void cancelled(void *user)
{
    (void)user;
    CHECK(pthread_equal(pthread_self(), home));
    cancels++;
}

static void free_server(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)user;
    (void)req;
    (void)resp;
    mcplink_server_free(server);
}

static int destroyed;
static void ended(void *user) { destroyed += *(int *)user; }

/* Dispatches until so many callbacks have run. */
static void dispatch(mcplink_pump_t *pump, int count)
{
    while (count > 0) {
        int32_t ran;
        CHECK(mcplink_pump_wait(pump, PATIENCE) > 0);
        ran = mcplink_pump_dispatch(pump, 1);
        CHECK(ran >= 0);
        count -= ran;
    }
}

static mcplink_server_t *pumped(mcplink_pump_t *pump)
{
    mcplink_error_t *err = NULL;
    mcplink_server_options_t *options = mcplink_server_options_new("pumped", "1");
    mcplink_server_t *made = NULL;
    CHECK(mcplink_server_options_set_pump(options, pump) == MCPLINK_OK);
    CHECK(mcplink_server_options_set_limit(options, MCPLINK_LIMIT_WORKERS, 1) == MCPLINK_OK);
    CHECK_STATUS(mcplink_server_new_with(options, &made, &err), MCPLINK_OK, err);
    mcplink_server_options_free(options);
    return made;
}

int main(void)
{
    int fds = open_count();
    mcplink_error_t *err = NULL;
    mcplink_pump_t *pump = NULL;
    talk_t one, two;
    int i, ten = 10;

    home = pthread_self();
    CHECK_STATUS(mcplink_pump_new(&pump, &err), MCPLINK_OK, err);
    server = pumped(pump);
    add_tool(server, "echo", echo, &ten, ended);
    add_tool(server, "keep", keep, NULL, NULL);
    one = talk_begin(server);
    two = talk_begin(server);
    talk_open(&one, "{}");
    talk_open(&two, "{}");

    /* Many calls wait, and with one worker a ping is answered meanwhile. */
    for (i = 0; i < 50; i++) {
        talk_call(&one, "1", "echo", "{\"from\":1}");
        talk_call(&two, "\"x\"", "echo", "{\"from\":2}");
        talk_send(&one, "{\"jsonrpc\":\"2.0\",\"id\":\"ping\",\"method\":\"ping\"}");
        TALK_HOLDS(&one, "\"id\":\"ping\"");
        dispatch(pump, 2);
        TALK_HOLDS(&one, "from\\\":1");
        TALK_HOLDS(&two, "from\\\":2");
    }
    CHECK(runs == 100);

    /* A blocking call would wait for this very thread. */
    CHECK(mcplink_server_serve_fds(server, END_NUMBER(one.fd), END_NUMBER(one.fd), NULL, &err) == MCPLINK_E_STATE);
    CHECK(strstr(mcplink_error_message(err), "_start") != NULL);
    mcplink_error_free(err);

    /* Cancelling is told where everything else is. */
    talk_call(&one, "2", "keep", "{}");
    dispatch(pump, 1);
    CHECK(mcplink_responder_on_cancel(kept, cancelled, &ten, ended) == MCPLINK_OK);
    talk_send(&one, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":2}}");
    dispatch(pump, 1);
    CHECK(cancels == 1 && destroyed == 10 && mcplink_responder_is_cancelled(kept));
    mcplink_responder_free(kept);

    /* A call that was cancelled before its turn is not run. */
    talk_call(&one, "3", "echo", "{}");
    talk_send(&one, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":3}}");
    talk_send(&one, "{\"jsonrpc\":\"2.0\",\"id\":\"ping\",\"method\":\"ping\"}");
    TALK_HOLDS(&one, "\"id\":\"ping\"");
    talk_call(&one, "4", "keep", "{}");
    dispatch(pump, 2);
    CHECK(runs <= 101);
    mcplink_responder_text(kept, "kept", MCPLINK_NUL);
    mcplink_responder_free(kept);
    while (strstr(talk_line(&one), "kept") == NULL) { }

    /* Freed with calls that wait: they are not run any more, and what belonged to the handlers is ended. */
    talk_call(&one, "5", "echo", "{}");
    CHECK(mcplink_pump_wait(pump, PATIENCE) > 0);
    runs = 0;
    mcplink_server_free(server);
    CHECK(runs == 0 && destroyed == 20);
    CHECK(talk_line(&one) == NULL || talk_line(&one) == NULL);
    talk_end(&one);
    talk_end(&two);
    CHECK(mcplink_pump_dispatch(pump, 64) == 0);

    /* Freed by one of its own handlers. */
    server = pumped(pump);
    destroyed = 0;
    add_tool(server, "free", free_server, &ten, ended);
    one = talk_begin(server);
    talk_open(&one, "{}");
    talk_call(&one, "1", "free", "{}");
    dispatch(pump, 1);
    while (talk_line(&one) != NULL) { }
    talk_end(&one);
    mcplink_pump_free(pump);
    talk_clean(fds);
    return 0;
}
