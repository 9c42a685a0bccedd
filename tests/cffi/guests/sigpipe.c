/* A host that leaves SIGPIPE as it is lives on when the other side is gone: no write of ours kills it. */
#include "guest.h"

static void child_that_dies(bool pipes)
{
    mcplink_client_options_t *o = guest_options();
    mcplink_client_t *client = NULL;
    mcplink_result_t *result = NULL;
    mcplink_error_t *err = NULL;
    int i;

    CHECK(mcplink_client_options_set_pipes(o, pipes) == MCPLINK_OK);
    CHECK_STATUS(mcplink_client_open(o, &client, &err), MCPLINK_OK, err);
    mcplink_client_options_free(o);
    guest_greets(client);
    CHECK(mcplink_client_call_tool(client, "die", NULL, 0, NULL, &result, &err) == MCPLINK_E_CLOSED && result == NULL);
    mcplink_error_free(err);
    for (i = 0; i < 100; i++) {
        CHECK_STATUS(mcplink_client_notify(client, "notifications/x", NULL, 0, &err), MCPLINK_E_CLOSED, err);
        CHECK(mcplink_client_call_tool(client, "greet", NULL, 0, NULL, &result, NULL) == MCPLINK_E_CLOSED);
    }
    mcplink_client_free(client);
}

/* The host's own pipes, whose reader goes without a word: what is written from its thread raises nothing either. */
static void pipes_of_the_host(void)
{
    mcplink_client_options_t *o = mcplink_client_options_new();
    mcplink_client_t *client = NULL;
    mcplink_error_t *err = NULL;
    int to[2], from[2];

    CHECK(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
    CHECK(mcplink_client_options_set_fds(o, from[0], to[1]) == MCPLINK_OK);
    close(to[0]);
    CHECK(mcplink_client_open(o, &client, &err) < 0 && client == NULL);
    CHECK(mcplink_error_status(err) == MCPLINK_E_CLOSED || mcplink_error_status(err) == MCPLINK_E_IO);
    mcplink_error_free(err);
    mcplink_client_options_free(o);
    close(to[1]), close(from[0]), close(from[1]);
}

/* A client that asks for a lot and goes: over a pair of sockets, and over pipes. */
static void server_whose_client_goes(bool sockets)
{
    static const char asks[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
        "\"clientInfo\":{\"name\":\"x\",\"version\":\"1\"}}}\n"
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"large\"}}\n"
        "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"large\"}}\n";
    mcplink_server_t *server = guest_server();
    mcplink_session_t *session = NULL;
    mcplink_error_t *err = NULL;
    int to[2], from[2];
    char some[16];

    if (sockets) {
        CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, to) == 0);
        from[0] = fcntl(to[1], F_DUPFD_CLOEXEC, 3);
        from[1] = fcntl(to[0], F_DUPFD_CLOEXEC, 3);
    } else {
        CHECK(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
    }
    CHECK_STATUS(mcplink_server_serve_fds_start(server, to[0], from[1], NULL, &session, &err), MCPLINK_OK, err);
    close(to[0]), close(from[1]);
    CHECK(write(to[1], asks, sizeof asks - 1) == (ssize_t)(sizeof asks - 1));
    CHECK(read(from[0], some, sizeof some) > 0);
    close(from[0]), close(to[1]);
    UNTIL(mcplink_session_is_closed(session));
    mcplink_session_free(session);
    mcplink_server_free(server);
}

int main(int argc, char **argv)
{
    state_t before;
    (void)argv;
    if (argc > 1) return serve();
    signal(SIGPIPE, SIG_DFL);
    state_take(&before);
    child_that_dies(false);
    child_that_dies(true);
    pipes_of_the_host();
    server_whose_client_goes(true);
    server_whose_client_goes(false);
    state_same(&before);
    return 0;
}
