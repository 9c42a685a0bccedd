/* Arguments of tools: what add_param and add_param_schema require is checked in every build, and the model is told what is wrong with which. */
#include "client.h"

#include <sys/socket.h>
#include <unistd.h>

static int runs;

static void runs_once(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)user, (void)req;
    runs++;
    CHECK(mcplink_responder_text(resp, "it ran", MCPLINK_NUL) == MCPLINK_OK);
}

static const struct {
    const char *arguments, *refusal;
} cases[] = {
    { "{\"name\":\"Ada\"}", NULL },
    { "{\"name\":\"Ada\",\"count\":3,\"ratio\":0.5,\"loud\":true,\"tags\":[],\"more\":{},\"colour\":\"red\",\"size\":10,\"others\":[\"a\"]}", NULL },
    /* An integer may be written with a fraction of nothing, and an unknown argument means nothing. */
    { "{\"name\":\"\",\"count\":3.0,\"unknown\":1}", NULL },
    { NULL, "invalid arguments: property \"name\" is missing" },
    { "{}", "invalid arguments: property \"name\" is missing" },
    { "{\"name\":7}", "invalid arguments: /name: expected string, got 7" },
    { "{\"name\":null}", "invalid arguments: /name: expected string, got null" },
    { "{\"name\":\"a\",\"count\":1.5}", "invalid arguments: /count: expected integer, got 1.5" },
    { "{\"name\":\"a\",\"count\":\"1\"}", "invalid arguments: /count: expected integer, got \"1\"" },
    { "{\"name\":\"a\",\"ratio\":[1]}", "invalid arguments: /ratio: expected number, got [1]" },
    { "{\"name\":\"a\",\"loud\":\"true\"}", "invalid arguments: /loud: expected boolean, got \"true\"" },
    { "{\"name\":\"a\",\"tags\":{}}", "invalid arguments: /tags: expected array, got {}" },
    { "{\"name\":\"a\",\"more\":[]}", "invalid arguments: /more: expected object, got []" },
    { "{\"name\":\"a\",\"colour\":\"blue\"}", "invalid arguments: /colour: expected one of [\"red\",\"green\"], got \"blue\"" },
    { "{\"name\":\"a\",\"size\":0}", "invalid arguments: /size: expected at least 1, got 0" },
    { "{\"name\":\"a\",\"size\":11}", "invalid arguments: /size: expected at most 10, got 11" },
    { "{\"name\":\"a\",\"others\":[\"a\",2]}", "invalid arguments: /others/1: expected string, got 2" },
};

static mcplink_tool_t *tool_of(void)
{
    mcplink_tool_t *tool = mcplink_tool_new("t", NULL);
    CHECK(mcplink_tool_add_param(tool, "name", MCPLINK_PARAM_STRING, MCPLINK_PARAM_REQUIRED, "who") == MCPLINK_OK);
    CHECK(mcplink_tool_add_param(tool, "count", MCPLINK_PARAM_INTEGER, MCPLINK_PARAM_OPTIONAL, NULL) == MCPLINK_OK);
    CHECK(mcplink_tool_add_param(tool, "ratio", MCPLINK_PARAM_NUMBER, MCPLINK_PARAM_OPTIONAL, NULL) == MCPLINK_OK);
    CHECK(mcplink_tool_add_param(tool, "loud", MCPLINK_PARAM_BOOLEAN, MCPLINK_PARAM_OPTIONAL, NULL) == MCPLINK_OK);
    CHECK(mcplink_tool_add_param(tool, "tags", MCPLINK_PARAM_ARRAY, MCPLINK_PARAM_OPTIONAL, NULL) == MCPLINK_OK);
    CHECK(mcplink_tool_add_param(tool, "more", MCPLINK_PARAM_OBJECT, MCPLINK_PARAM_OPTIONAL, NULL) == MCPLINK_OK);
    CHECK(mcplink_tool_add_param_schema(tool, "colour", 0, "{\"enum\":[\"red\",\"green\"],\"default\":\"red\"}", MCPLINK_NUL) == MCPLINK_OK);
    CHECK(mcplink_tool_add_param_schema(tool, "size", 0, "{\"type\":\"integer\",\"minimum\":1,\"maximum\":10,\"default\":5}", MCPLINK_NUL) == MCPLINK_OK);
    CHECK(mcplink_tool_add_param_schema(tool, "others", 0, "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}", MCPLINK_NUL) == MCPLINK_OK);
    return tool;
}

static void called(const char *revision, int validates)
{
    mcplink_server_options_t *so = mcplink_server_options_new("s", "1");
    mcplink_client_options_t *co = mcplink_client_options_new();
    mcplink_server_t *server = NULL;
    mcplink_client_t *client;
    mcplink_session_t *session = NULL;
    mcplink_error_t *err = NULL;
    mcplink_tool_t *tool = tool_of();
    int ends[2];
    size_t i;

    if (!validates) CHECK(mcplink_server_options_clear_validation(so) == MCPLINK_OK);
    CHECK_STATUS(mcplink_server_new_with(so, &server, &err), MCPLINK_OK, err);
    mcplink_server_options_free(so);
    CHECK_STATUS(mcplink_server_add_tool(server, tool, runs_once, NULL, NULL, &err), MCPLINK_OK, err);
    mcplink_tool_free(tool);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    CHECK_STATUS(mcplink_server_serve_fds_start(server, ends[0], ends[0], NULL, &session, &err), MCPLINK_OK, err);
    CHECK(mcplink_client_options_set_fds(co, ends[1], ends[1]) == MCPLINK_OK);
    client = open_with(co, revision);
    close(ends[0]), close(ends[1]);

    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *refusal = validates ? cases[i].refusal : NULL;
        mcplink_result_t *r = NULL;
        runs = 0;
        CHECK_STATUS(mcplink_client_call_tool(client, "t", cases[i].arguments, MCPLINK_NUL, NULL, &r, &err), refusal ? MCPLINK_TOOL_ERROR : MCPLINK_OK, err);
        CHECK_TEXT(mcplink_result_text(r), refusal ? refusal : "it ran");
        CHECK(runs == !refusal);
        mcplink_result_free(r);
    }
    mcplink_client_free(client);
    mcplink_session_free(session);
    mcplink_server_free(server);
}

/* A schema that means nothing is refused where it is given, and what takes the tool says why. */
static void refused(const char *schema, const char *why)
{
    mcplink_error_t *err = NULL;
    mcplink_server_t *server = mcplink_server_new("s", "1");
    mcplink_tool_t *tool = mcplink_tool_new("t", NULL);
    CHECK(mcplink_tool_add_param_schema(tool, "p", 0, schema, MCPLINK_NUL) == MCPLINK_E_INVALID);
    CHECK(mcplink_server_add_tool(server, tool, runs_once, NULL, NULL, &err) == MCPLINK_E_INVALID);
    if (strstr(mcplink_error_message(err), why) == NULL) {
        fprintf(stderr, "%s: %s\n", schema, mcplink_error_message(err));
        exit(1);
    }
    mcplink_error_free(err);
    mcplink_tool_free(tool);
    mcplink_server_free(server);
}

int main(void)
{
    called("2025-11-25", 1);
    called("2026-07-28", 1);
    called("2026-07-28", 0);
    refused("{\"type\":\"strng\"}", "tool 't': mcplink_tool_add_param_schema: argument 'p': \"type\": expected one of array,");
    refused("{\"type\":\"integer\",\"minimum\":\"1\"}", "argument 'p': \"minimum\": expected a number, got \"1\"");
    refused("{\"enum\":[\"red\"],\"default\":\"blue\"}", "argument 'p': its default does not fit: expected one of [\"red\"], got \"blue\"");
    refused("{\"type\":\"integer\",\"maximum\":10,\"default\":11}", "its default does not fit: expected at most 10, got 11");
    refused("{\"type\":\"string\",}", "line 1 column 18");
    return 0;
}
