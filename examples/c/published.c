/* A program with an event loop and no threads of its own, such as an editor, which publishes a server while it runs.
 *
 *     ./published notes.txt        each line that is typed opens another document; an empty line ends the program
 *     mcplink attach editor        is what stands in the configuration of a host of MCP servers
 */
#include <mcplink.h>

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char document[256];

/* Runs in the event loop, so it may use everything that belongs to the main thread. */
static void open_document(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    (void)user;
    (void)request;
    mcplink_responder_text(responder, document, MCPLINK_NUL);
}

static int failed(mcplink_error_t *err)
{
    fprintf(stderr, "%s\n", mcplink_error_message(err));
    mcplink_error_free(err);
    return 1;
}

/* The main loop: the window of a real program would be one more source of events. */
static int run(mcplink_pump_t *pump, mcplink_publication_t *publication)
{
    mcplink_error_t *err = NULL;
    struct pollfd sources[2] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = (int)mcplink_pump_fd(pump), .events = POLLIN}};
    for (;;) {
        if (poll(sources, 2, -1) < 0) return 1;
        if (sources[1].revents != 0) mcplink_pump_dispatch(pump, 16);
        if (sources[0].revents == 0) continue;
        if (fgets(document, sizeof document, stdin) == NULL) return 0;
        document[strcspn(document, "\n")] = '\0';
        if (document[0] == '\0') return 0;
        if (mcplink_publication_set_title(publication, document, &err) != MCPLINK_OK) return failed(err);
        printf("%s is open\n", document);
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    mcplink_error_t *err = NULL;
    mcplink_pump_t *pump = NULL;
    mcplink_server_options_t *options = mcplink_server_options_new("editor", "4.2");
    mcplink_tool_t *tool = mcplink_tool_new("open_document", "Returns the name of the open document");
    mcplink_server_t *server = NULL;
    mcplink_publication_t *publication = NULL;
    int status;

    snprintf(document, sizeof document, "%s", argc > 1 ? argv[1] : "untitled");
    if (mcplink_pump_new(&pump, &err) != MCPLINK_OK) return failed(err);
    mcplink_server_options_set_pump(options, pump);
    if (mcplink_server_new_with(options, &server, &err) != MCPLINK_OK) return failed(err);
    mcplink_server_options_free(options);
    if (mcplink_server_add_tool(server, tool, open_document, NULL, NULL, &err) != MCPLINK_OK) return failed(err);
    mcplink_tool_free(tool);
    if (mcplink_server_publish(server, "editor", document, NULL, &publication, &err) != MCPLINK_OK) return failed(err);
    printf("%s is open\n", document);
    fflush(stdout);
    status = run(pump, publication);
    mcplink_publication_free(publication);
    mcplink_server_free(server);
    mcplink_pump_free(pump);
    return status;
}
