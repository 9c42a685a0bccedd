/* A thread with 64 KiB of stack may call anything. */
#include "guest.h"

static void deepest_json(void)
{
    enum { DEPTH = 100 };
    char text[DEPTH * 2 + 1];
    mcplink_json_t *doc = NULL;
    mcplink_error_t *err = NULL;
    const mcplink_json_t *node;
    int i;
    memset(text, '[', DEPTH);
    memset(text + DEPTH, ']', DEPTH);
    text[DEPTH * 2] = 0;
    CHECK_STATUS(mcplink_json_parse(text, MCPLINK_NUL, &doc, &err), MCPLINK_OK, err);
    for (node = doc, i = 1; mcplink_json_len(node) == 1; i++) node = mcplink_json_at(node, 0);
    CHECK(i == DEPTH);
    mcplink_json_free(doc);
    /* What is too deep is refused, not followed. */
    {
        size_t len = 1 << 20;
        char *much = malloc(len);
        CHECK(much != NULL);
        memset(much, '[', len);
        CHECK(mcplink_json_parse(much, len, &doc, NULL) < 0 && doc == NULL);
        free(much);
    }
}

static void *on_a_small_stack(void *unused)
{
    mcplink_client_t *client = guest_client();
    mcplink_server_t *server = guest_server();
    mcplink_session_t *session = NULL;
    mcplink_result_t *result = NULL;
    mcplink_error_t *err = NULL;
    mcplink_pump_t *pump = NULL;
    int ends[2];
    (void)unused;

    guest_greets(client);
    CHECK_STATUS(mcplink_client_list_tools(client, NULL, &result, &err), MCPLINK_OK, err);
    CHECK(mcplink_json_len(mcplink_json_get(mcplink_result_json(result), "tools")) == 5);
    mcplink_result_free(result);
    CHECK(mcplink_client_call_tool(client, "no such tool", NULL, 0, NULL, &result, &err) == MCPLINK_E_PEER);
    mcplink_error_free(err);
    CHECK_STATUS(mcplink_client_call_tool(client, "large", NULL, 0, NULL, &result, &err), MCPLINK_OK, err);
    CHECK(mcplink_result_text(result).len == 1 << 20);
    mcplink_result_free(result);
    CHECK_STATUS(mcplink_pump_new(&pump, &err), MCPLINK_OK, err);
    CHECK(mcplink_pump_wait(pump, 0) == 0);
    mcplink_pump_free(pump);
    deepest_json();
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    CHECK_STATUS(mcplink_server_serve_fds_start(server, ends[0], ends[0], NULL, &session, &err), MCPLINK_OK, err);
    mcplink_session_free(session);
    close(ends[0]), close(ends[1]);
    mcplink_server_free(server);
    mcplink_client_free(client);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_attr_t attributes;
    pthread_t thread;
    state_t before;
    /* Code that is not optimised takes several times as much. */
    const char *given = getenv("MCPLINK_TEST_STACK_KB");
    size_t stack = (given ? strtoul(given, NULL, 10) : 64) << 10;
    (void)argv;
    if (argc > 1) return serve();
    state_take(&before);
    pthread_attr_init(&attributes);
    CHECK(pthread_attr_setstacksize(&attributes, stack) == 0);
    CHECK(pthread_create(&thread, &attributes, on_a_small_stack, NULL) == 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    state_same(&before);
    return 0;
}
