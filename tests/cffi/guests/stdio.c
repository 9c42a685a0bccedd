/* Serving standard streams in a noisy program: frames stay clean, and no child of a tool eats requests. */
#include "guest.h"

static mcplink_server_t *server;

/* Prints in every way there is, and starts children that print and read. */
static void tool_noisy(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    mcplink_error_t *err = NULL;
    (void)user, (void)request;
    printf("noise by printf\n");
    fflush(stdout);
    puts("noise that waits in a buffer");
    CHECK(write(1, "noise by write\n", 15) == 15);
    CHECK(system("echo noise of a child; cat; echo noise after reading") == 0);
    /* The streams are taken. */
    CHECK_STATUS(mcplink_server_serve_stdio(server, &err), MCPLINK_E_STATE, err);
    mcplink_responder_text(responder, "quiet", MCPLINK_NUL);
}

static int noisy_server(void)
{
    mcplink_error_t *err = NULL;
    char before[16384], after[16384], line[64] = "";
    server = mcplink_server_new("noisy", "1");
    add(server, "noisy", tool_noisy, NULL);
    /* What is printed before comes out before the first frame. */
    printf("printed before\n");
    descriptors(before, sizeof before);
    CHECK_STATUS(mcplink_server_serve_stdio(server, &err), MCPLINK_OK, err);
    mcplink_server_free(server);
    descriptors(after, sizeof after);
    CHECK(strcmp(before, after) == 0);
    /* The streams are the program's again. */
    CHECK(fgets(line, sizeof line, stdin) == NULL);
    printf("printed after\n");
    return fflush(stdout);
}

static char *read_all(int fd)
{
    size_t len = 0, got;
    char *text = malloc(1 << 20);
    CHECK(text != NULL);
    while ((got = (size_t)read(fd, text + len, (1 << 20) - 1 - len)) != 0) {
        CHECK(got != (size_t)-1);
        len += got;
    }
    text[len] = 0;
    return text;
}

int main(int argc, char **argv)
{
    static const char *const asks[] = {
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
        "\"clientInfo\":{\"name\":\"x\",\"version\":\"1\"}}}\n",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"noisy\"}}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}\n",
    };
    int to[2], from[2], noise[2], answers = 0;
    char *text, *line, *at, *errors;
    size_t i;
    pid_t child;
    if (argc > 1) return strcmp(argv[1], "noisy") == 0 ? noisy_server() : serve();

    CHECK(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0 && pipe2(noise, O_CLOEXEC) == 0);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        dup2(to[0], 0), dup2(from[1], 1), dup2(noise[1], 2);
        execl(self(), self(), "noisy", (char *)NULL);
        _exit(9);
    }
    close(to[0]), close(from[1]), close(noise[1]);
    for (i = 0; i < sizeof asks / sizeof *asks; i++) CHECK(write(to[1], asks[i], strlen(asks[i])) == (ssize_t)strlen(asks[i]));
    close(to[1]);
    text = read_all(from[0]);
    errors = read_all(noise[0]);
    if (status_of_child(child) != 0) {
        fprintf(stderr, "%s", errors);
        return 1;
    }
    at = text;
    for (line = strtok_r(at, "\n", &at); line != NULL; line = strtok_r(NULL, "\n", &at)) {
        mcplink_json_t *doc = NULL;
        mcplink_error_t *err = NULL;
        if (answers == 0 && strcmp(line, "printed before") == 0) continue;
        if (answers == 3 && strcmp(line, "printed after") == 0) {
            answers = 4;
            continue;
        }
        CHECK_STATUS(mcplink_json_parse(line, MCPLINK_NUL, &doc, &err), MCPLINK_OK, err);
        CHECK_TEXT(mcplink_json_str(mcplink_json_get(doc, "jsonrpc")), "2.0");
        CHECK(!mcplink_json_is_missing(mcplink_json_get(doc, "result")));
        mcplink_json_free(doc);
        answers++;
    }
    CHECK(answers == 4);
    CHECK(strncmp(text, "printed before", 14) == 0);
    CHECK(strstr(errors, "noise by printf\n") && strstr(errors, "noise that waits in a buffer\n") && strstr(errors, "noise by write\n"));
    CHECK(strstr(errors, "noise of a child\n") && strstr(errors, "noise after reading\n"));
    free(text), free(errors);
    close(from[0]), close(noise[0]);
    return 0;
}
