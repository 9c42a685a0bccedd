/* A program that was started without standard streams: its 0, 1 and 2 stay closed, and nothing of ours is taken for one of them. */
#include "guest.h"

static int say = 9;

/* With nobody to print to, what failed is told by descriptor 9. */
#define HOLDS(condition)                                                          \
    do {                                                                          \
        if (!(condition)) {                                                       \
            static const char text[] = "not so: " #condition "\n";                \
            return (int)write(say, text, sizeof text - 1) > 0 ? 1 : 2;            \
        }                                                                         \
    } while (0)

static int are_closed(void)
{
    int fd;
    for (fd = 0; fd < 3; fd++) {
        if (fcntl(fd, F_GETFD) != -1 || errno != EBADF) return 0;
    }
    return 1;
}

static int without_streams(void)
{
    mcplink_client_t *client = NULL;
    mcplink_result_t *result = NULL;
    mcplink_server_t *server;
    mcplink_session_t *session = NULL;
    mcplink_pump_t *pump = NULL;
    mcplink_client_options_t *o = guest_options();
    static const char ping[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
    struct pollfd answer = { 1, POLLIN, 0 };
    char line[256];
    int ends[2], low[3];

    HOLDS(are_closed());
    HOLDS(mcplink_pump_new(&pump, NULL) == MCPLINK_OK && mcplink_pump_fd(pump) >= 3 && are_closed());
    HOLDS(mcplink_client_options_set_pump(o, pump) == MCPLINK_OK);
    HOLDS(mcplink_client_open(o, &client, NULL) == MCPLINK_OK && are_closed());
    mcplink_client_options_free(o);
    HOLDS(mcplink_client_call_tool(client, "greet", "{\"name\":\"x\"}", MCPLINK_NUL, NULL, &result, NULL) == MCPLINK_OK);
    mcplink_result_free(result);
    HOLDS(mcplink_client_call_tool(client, "born_with", NULL, 0, NULL, &result, NULL) == MCPLINK_OK);
    HOLDS(strstr(mcplink_result_text(result).ptr, "\n0 ") && strstr(mcplink_result_text(result).ptr, "\n1 "));
    mcplink_result_free(result);
    HOLDS(are_closed());

    server = guest_server();
    HOLDS(mcplink_server_serve_stdio(server, NULL) == MCPLINK_E_STATE && are_closed());
    /* The host's own sockets land on the free numbers, and are served as any other. */
    HOLDS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0 && ends[0] == 0 && ends[1] == 1);
    HOLDS(mcplink_server_serve_fds_start(server, ends[0], ends[0], NULL, &session, NULL) == MCPLINK_OK);
    close(ends[0]);
    HOLDS(write(ends[1], ping, sizeof ping - 1) == (ssize_t)(sizeof ping - 1));
    HOLDS(poll(&answer, 1, PATIENCE) == 1 && read(ends[1], line, sizeof line) > 0 && line[0] == '{');
    mcplink_session_free(session);
    mcplink_server_free(server);
    close(ends[1]);
    mcplink_client_free(client);
    mcplink_pump_free(pump);
    HOLDS(are_closed());
    low[0] = open("/dev/null", O_RDWR), low[1] = dup(low[0]), low[2] = dup(low[0]);
    HOLDS(low[0] == 0 && low[1] == 1 && low[2] == 2);
    return 0;
}

int main(int argc, char **argv)
{
    char text[256];
    int said[2];
    ssize_t len;
    pid_t child;
    if (argc > 1) return strcmp(argv[1], "without") == 0 ? without_streams() : serve();

    CHECK(pipe2(said, O_CLOEXEC) == 0);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        dup2(said[1], say);
        close(0), close(1), close(2);
        execl(self(), self(), "without", (char *)NULL);
        _exit(9);
    }
    close(said[1]);
    while ((len = read(said[0], text, sizeof text)) > 0) fwrite(text, 1, (size_t)len, stderr);
    close(said[0]);
    CHECK(status_of_child(child) == 0);
    return 0;
}
