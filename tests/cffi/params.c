/* Short forms for tools: arguments with bounds and defaults, functions that read one argument, and
 * answers of several content blocks. */
#include "client.h"

#include <math.h>
#include <sys/socket.h>
#include <unistd.h>

static mcplink_status_t last;
/* A handler has returned: its answer may be here before. */
static struct counter ran = COUNTER;
static struct counter logged = COUNTER;

static void read_all(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    mcplink_str_t name = { "nobody", 6 }, sort = { "", 0 };
    int64_t limit = -1, none = 7;
    double ratio = -1;
    bool loud = true;
    char text[256];
    (void)user;
    if ((last = mcplink_request_string(req, resp, "name", &name)) < 0) return;
    if ((last = mcplink_request_integer(req, resp, "limit", &limit)) < 0) return;
    if ((last = mcplink_request_integer(req, resp, "none", &none)) < 0) return;
    if ((last = mcplink_request_string(req, resp, "sort", &sort)) < 0) return;
    if ((last = mcplink_request_number(req, resp, "ratio", &ratio)) < 0) return;
    if ((last = mcplink_request_boolean(req, resp, "loud", &loud)) < 0) return;
    snprintf(text, sizeof text, "%s %d %d %s %.2f %d", name.ptr, (int)limit, (int)none, sort.ptr, ratio, loud);
    CHECK(mcplink_responder_text(resp, text, MCPLINK_NUL) == MCPLINK_OK);
    /* It is answered. */
    CHECK(mcplink_request_string(req, resp, "name", &name) == MCPLINK_OK);
    CHECK(mcplink_request_integer(req, resp, "name", &limit) == MCPLINK_E_STATE);
}

static void reads(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    read_all(user, req, resp);
    counter_add(&ran);
}

static void misreads(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    mcplink_str_t text;
    int which = *(int *)user;
    if (which == 0) last = mcplink_request_string(req, resp, "nmae", &text);
    if (which == 1) last = mcplink_request_string(req, resp, "name", NULL);
    if (which == 2) last = mcplink_request_string(NULL, resp, "name", &text);
    if (which == 3) last = mcplink_request_string(req, resp, NULL, &text);
    CHECK(mcplink_request_string(req, NULL, "name", &text) == MCPLINK_E_INVALID);
    CHECK(mcplink_responder_text(resp, "late", MCPLINK_NUL) == MCPLINK_E_STATE);
    counter_add(&ran);
}

static void blocks(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    static const uint8_t pixel[] = { 1, 2, 3 };
    (void)user, (void)req;
    CHECK(mcplink_responder_add_text(resp, "a pixel", MCPLINK_NUL) == MCPLINK_OK);
    CHECK(mcplink_responder_add_bytes(resp, pixel, sizeof pixel, "image/png") == MCPLINK_OK);
    CHECK(mcplink_responder_add_json(resp, "{\"type\":\"resource_link\",\"uri\":\"test://a\",\"name\":\"a\"}", MCPLINK_NUL) == MCPLINK_OK);
    CHECK(mcplink_responder_send(resp) == MCPLINK_OK);
    CHECK(mcplink_responder_send(resp) == MCPLINK_E_STATE && mcplink_responder_add_text(resp, "b", 1) == MCPLINK_E_STATE);
}

/* An answer that lacks a block is not sent. */
static void lacks_a_block(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    static const uint8_t pixel[] = { 1 };
    (void)user, (void)req;
    CHECK(mcplink_responder_add_bytes(resp, pixel, 1, "text/plain") == MCPLINK_E_INVALID);
    CHECK(mcplink_responder_add_json(resp, "{\"type\":", MCPLINK_NUL) == MCPLINK_E_INVALID);
    CHECK(mcplink_responder_add_text(resp, "\xff", 1) == MCPLINK_E_INVALID);
    CHECK(mcplink_responder_add_text(resp, "the rest", MCPLINK_NUL) == MCPLINK_OK);
    CHECK(mcplink_responder_send(resp) == MCPLINK_E_INVALID);
    CHECK(mcplink_responder_tool_error(resp, "no picture", MCPLINK_NUL) == MCPLINK_OK);
}

static void of_a_resource(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    mcplink_str_t text = { "unchanged", 9 };
    (void)user;
    CHECK(mcplink_responder_add_text(resp, "a", 1) == MCPLINK_E_UNSUPPORTED && mcplink_responder_send(resp) == MCPLINK_E_UNSUPPORTED);
    CHECK(mcplink_request_string(req, resp, "x", &text) == MCPLINK_OK);
    CHECK_TEXT(text, "unchanged");
    CHECK(mcplink_responder_text(resp, "contents", MCPLINK_NUL) == MCPLINK_OK);
}

static const char *const sorts[] = { "name", "date" };

static mcplink_tool_t *tool_of(void)
{
    mcplink_tool_t *tool = mcplink_tool_new("t", NULL);
    CHECK(mcplink_tool_add_param(tool, "name", MCPLINK_PARAM_STRING, MCPLINK_PARAM_REQUIRED, NULL) == MCPLINK_OK);
    CHECK(mcplink_tool_add_integer(tool, "limit", MCPLINK_PARAM_OPTIONAL, 1, 50, "how many") == MCPLINK_OK);
    CHECK(mcplink_tool_add_integer(tool, "none", MCPLINK_PARAM_OPTIONAL, INT64_MIN, INT64_MAX, NULL) == MCPLINK_OK);
    CHECK(mcplink_tool_add_choice(tool, "sort", MCPLINK_PARAM_OPTIONAL, sorts, 2, NULL) == MCPLINK_OK);
    CHECK(mcplink_tool_add_number(tool, "ratio", MCPLINK_PARAM_OPTIONAL, 0, INFINITY, NULL) == MCPLINK_OK);
    CHECK(mcplink_tool_add_param(tool, "loud", MCPLINK_PARAM_BOOLEAN, MCPLINK_PARAM_OPTIONAL, NULL) == MCPLINK_OK);
    CHECK(mcplink_tool_add_array(tool, "tags", MCPLINK_PARAM_OPTIONAL, MCPLINK_PARAM_STRING, 1, 2, NULL) == MCPLINK_OK);
    CHECK(mcplink_tool_set_default_value(tool, "limit", "10", MCPLINK_NUL) == MCPLINK_OK);
    CHECK(mcplink_tool_set_default_value(tool, "sort", "\"name\"", MCPLINK_NUL) == MCPLINK_OK);
    CHECK(mcplink_tool_set_default_value(tool, "loud", "false", MCPLINK_NUL) == MCPLINK_OK);
    return tool;
}

static const struct {
    const char *arguments, *text;
    /* Whether only a check of the schema finds it. */
    int is_checked;
} cases[] = {
    { "{\"name\":\"Ada\"}", "Ada 10 7 name -1.00 0", 0 },
    { "{\"name\":\"Ada\",\"limit\":3.0,\"none\":-1,\"sort\":\"date\",\"ratio\":2,\"loud\":true}", "Ada 3 -1 date 2.00 1", 0 },
    { "{}", "invalid arguments: property \"name\" is missing", 0 },
    { "{\"name\":1}", "invalid arguments: /name: expected string, got 1", 0 },
    { "{\"name\":\"a\",\"limit\":1.5}", "invalid arguments: /limit: expected integer, got 1.5", 0 },
    { "{\"name\":\"a\",\"ratio\":\"2\"}", "invalid arguments: /ratio: expected number, got \"2\"", 0 },
    { "{\"name\":\"a\",\"loud\":null}", "invalid arguments: /loud: expected boolean, got null", 0 },
    { "{\"name\":\"a\",\"limit\":51}", "invalid arguments: /limit: expected at most 50, got 51", 1 },
    { "{\"name\":\"a\",\"limit\":0}", "invalid arguments: /limit: expected at least 1, got 0", 1 },
    { "{\"name\":\"a\",\"ratio\":-1}", "invalid arguments: /ratio: expected at least 0, got -1", 1 },
    { "{\"name\":\"a\",\"sort\":\"size\"}", "invalid arguments: /sort: expected one of [\"name\",\"date\"], got \"size\"", 1 },
    { "{\"name\":\"a\",\"tags\":[]}", "invalid arguments: /tags: expected at least 1 items, got []", 1 },
    { "{\"name\":\"a\",\"tags\":[\"a\",1]}", "invalid arguments: /tags/1: expected string, got 1", 1 },
};

static void on_log(void *user, mcplink_log_level level, mcplink_str_t target, mcplink_str_t text)
{
    (void)user, (void)level, (void)target;
    if (strstr(text.ptr, "mcplink_request_string") || strstr(text.ptr, "mcplink_responder_add")) counter_add(&logged);
}

static void add(mcplink_server_t *server, mcplink_tool_t *tool, mcplink_handler_fn handler, void *user)
{
    mcplink_error_t *err = NULL;
    CHECK_STATUS(mcplink_server_add_tool(server, tool, handler, user, NULL, &err), MCPLINK_OK, err);
    mcplink_tool_free(tool);
}

static void add_misreads(mcplink_server_t *server, const char *name, int *which)
{
    mcplink_tool_t *tool = mcplink_tool_new(name, NULL);
    CHECK(mcplink_tool_add_param(tool, "name", MCPLINK_PARAM_STRING, MCPLINK_PARAM_OPTIONAL, NULL) == MCPLINK_OK);
    add(server, tool, misreads, which);
}

static void called(const char *revision, int validates)
{
    static int which[] = { 0, 1, 2, 3 };
    static const char *const names[] = { "m0", "m1", "m2", "m3" };
    mcplink_server_options_t *so = mcplink_server_options_new("s", "1");
    mcplink_client_options_t *co = mcplink_client_options_new();
    mcplink_server_t *server = NULL;
    mcplink_client_t *client;
    mcplink_session_t *session = NULL;
    mcplink_resource_t *resource = mcplink_resource_new("test://r", "r");
    mcplink_result_t *r = NULL;
    mcplink_error_t *err = NULL;
    int ends[2];
    size_t i;

    if (!validates) CHECK(mcplink_server_options_clear_validation(so) == MCPLINK_OK);
    CHECK(mcplink_server_options_on_log(so, MCPLINK_LOG_WARNING, on_log, NULL, NULL) == MCPLINK_OK);
    CHECK_STATUS(mcplink_server_new_with(so, &server, &err), MCPLINK_OK, err);
    mcplink_server_options_free(so);
    add(server, tool_of(), reads, NULL);
    add(server, mcplink_tool_new("blocks", NULL), blocks, NULL);
    add(server, mcplink_tool_new("lacks", NULL), lacks_a_block, NULL);
    for (i = 0; i < 4; i++) add_misreads(server, names[i], &which[i]);
    CHECK_STATUS(mcplink_server_add_resource(server, resource, of_a_resource, NULL, NULL, &err), MCPLINK_OK, err);
    mcplink_resource_free(resource);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    CHECK_STATUS(mcplink_server_serve_fds_start(server, ends[0], ends[0], NULL, &session, &err), MCPLINK_OK, err);
    CHECK(mcplink_client_options_set_fds(co, ends[1], ends[1]) == MCPLINK_OK);
    client = open_with(co, revision);
    close(ends[0]), close(ends[1]);

    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        int refused = strncmp(cases[i].text, "invalid", 7) == 0;
        if (cases[i].is_checked && !validates) continue;
        ran.count = 0;
        CHECK_STATUS(mcplink_client_call_tool(client, "t", cases[i].arguments, MCPLINK_NUL, NULL, &r, &err), refused ? MCPLINK_TOOL_ERROR : MCPLINK_OK, err);
        CHECK_TEXT(mcplink_result_text(r), cases[i].text);
        if (!validates || !refused) CHECK(counter_wait(&ran, 1) && last == (refused ? MCPLINK_E_INVALID : MCPLINK_OK));
        mcplink_result_free(r);
    }
    logged.count = 0;
    for (i = 0; i < 4; i++) {
        ran.count = 0;
        CHECK(mcplink_client_call_tool(client, names[i], "{}", MCPLINK_NUL, NULL, &r, &err) == MCPLINK_E_PEER);
        CHECK(counter_wait(&ran, 1) && last == MCPLINK_E_INVALID);
        CHECK(mcplink_error_rpc_code(err) == MCPLINK_RPC_INTERNAL_ERROR && strstr(mcplink_error_message(err), "nmae") == NULL);
        mcplink_error_free(err);
        err = NULL;
        CHECK(counter_get(&logged) == (int)i + 1);
    }
    CHECK_STATUS(mcplink_client_call_tool(client, "blocks", NULL, 0, NULL, &r, &err), MCPLINK_OK, err);
    CHECK(mcplink_result_content_count(r) == 3 && mcplink_result_content_kind(r, 1) == MCPLINK_CONTENT_IMAGE);
    CHECK_TEXT(mcplink_result_text(r), "a pixel");
    CHECK_TEXT(mcplink_json_str(mcplink_json_get(mcplink_result_content(r, 2), "uri")), "test://a");
    mcplink_result_free(r);
    CHECK_STATUS(mcplink_client_call_tool(client, "lacks", NULL, 0, NULL, &r, &err), MCPLINK_TOOL_ERROR, err);
    CHECK_TEXT(mcplink_result_text(r), "no picture");
    mcplink_result_free(r);
    CHECK_STATUS(mcplink_client_read_resource(client, "test://r", NULL, &r, &err), MCPLINK_OK, err);
    mcplink_result_free(r);
    mcplink_client_free(client);
    mcplink_session_free(session);
    mcplink_server_free(server);
}

static void reads_topci(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    mcplink_str_t text = { "unchanged", 9 };
    (void)user;
    last = mcplink_request_string(req, resp, "topci", &text);
    CHECK_TEXT(text, "unchanged");
    if (last == MCPLINK_OK) CHECK(mcplink_responder_json(resp, "{\"messages\":[],\"content\":[]}", MCPLINK_NUL) == MCPLINK_OK);
    else CHECK(mcplink_responder_text(resp, "late", MCPLINK_NUL) == MCPLINK_E_STATE);
    counter_add(&ran);
}

/* An argument that a tool or prompt does not declare is a mistake of the host, also where nothing is declared. */
static void undeclared(void)
{
    static const struct {
        const char *schema;
        int is_declared;
    } schemas[] = {
        { NULL, 0 },
        { "{\"type\":\"object\"}", 0 },
        { "{\"type\":\"object\",\"properties\":{}}", 0 },
        { "{\"type\":\"object\",\"properties\":{\"topic\":{}},\"additionalProperties\":false}", 0 },
        { "{\"type\":\"object\",\"additionalProperties\":true}", 1 },
        { "{\"type\":\"object\",\"properties\":{\"topic\":{}},\"additionalProperties\":{\"type\":\"string\"}}", 1 },
        { "{\"type\":\"object\",\"patternProperties\":{\"^t\":{}}}", 1 },
        { "{\"type\":\"object\",\"allOf\":[{\"properties\":{\"topci\":{}}}]}", 1 },
    };
    mcplink_server_options_t *so = mcplink_server_options_new("s", "1");
    mcplink_client_options_t *co = mcplink_client_options_new();
    mcplink_prompt_t *prompt = mcplink_prompt_new("p", NULL);
    mcplink_server_t *server = NULL;
    mcplink_client_t *client;
    mcplink_session_t *session = NULL;
    mcplink_result_t *r = NULL;
    mcplink_error_t *err = NULL;
    char name[16];
    int ends[2], expected = 0;
    size_t i;

    CHECK(mcplink_server_options_on_log(so, MCPLINK_LOG_WARNING, on_log, NULL, NULL) == MCPLINK_OK);
    CHECK_STATUS(mcplink_server_new_with(so, &server, &err), MCPLINK_OK, err);
    mcplink_server_options_free(so);
    for (i = 0; i < sizeof schemas / sizeof *schemas; i++) {
        mcplink_tool_t *tool;
        snprintf(name, sizeof name, "t%zu", i);
        tool = mcplink_tool_new(name, NULL);
        if (schemas[i].schema) CHECK(mcplink_tool_set_input_schema(tool, schemas[i].schema, MCPLINK_NUL) == MCPLINK_OK);
        add(server, tool, reads_topci, NULL);
    }
    CHECK(mcplink_prompt_add_argument(prompt, "topic", MCPLINK_PARAM_OPTIONAL, NULL) == MCPLINK_OK);
    CHECK_STATUS(mcplink_server_add_prompt(server, prompt, reads_topci, NULL, NULL, &err), MCPLINK_OK, err);
    mcplink_prompt_free(prompt);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    CHECK_STATUS(mcplink_server_serve_fds_start(server, ends[0], ends[0], NULL, &session, &err), MCPLINK_OK, err);
    CHECK(mcplink_client_options_set_fds(co, ends[1], ends[1]) == MCPLINK_OK);
    client = open_with(co, NULL);
    close(ends[0]), close(ends[1]);

    logged.count = 0;
    for (i = 0; i <= sizeof schemas / sizeof *schemas; i++) {
        int is_prompt = i == sizeof schemas / sizeof *schemas, is_declared = !is_prompt && schemas[i].is_declared;
        mcplink_status_t status;
        ran.count = 0;
        snprintf(name, sizeof name, "t%zu", i);
        status = is_prompt ? mcplink_client_get_prompt(client, "p", NULL, 0, NULL, &r, &err) : mcplink_client_call_tool(client, name, NULL, 0, NULL, &r, &err);
        CHECK(counter_wait(&ran, 1) && last == (is_declared ? MCPLINK_OK : MCPLINK_E_INVALID));
        CHECK_STATUS(status, is_declared ? MCPLINK_OK : MCPLINK_E_PEER, err);
        mcplink_result_free(r);
        r = NULL;
        expected += !is_declared;
        CHECK(counter_get(&logged) == expected);
    }
    mcplink_client_free(client);
    mcplink_session_free(session);
    mcplink_server_free(server);
}

/* What no call could meet, and a default that does not fit, is refused by the definition. */
static void refused(void)
{
    static const char *const none[] = { NULL };
    REFUSES(tool, tool_of(), mcplink_tool_add_integer(it, "x", 0, 2, 1, NULL));
    REFUSES(tool, tool_of(), mcplink_tool_add_integer(it, "limit", 0, 1, 2, NULL));
    REFUSES(tool, tool_of(), mcplink_tool_add_integer(it, NULL, 0, 1, 2, NULL));
    REFUSES(tool, tool_of(), mcplink_tool_add_integer(it, "x", 1, 1, 2, NULL));
    REFUSES(tool, tool_of(), mcplink_tool_add_number(it, "x", 0, 2, 1, NULL));
    REFUSES(tool, tool_of(), mcplink_tool_add_number(it, "x", 0, NAN, 1, NULL));
    REFUSES(tool, tool_of(), mcplink_tool_add_number(it, "x", 0, INFINITY, INFINITY, NULL));
    REFUSES(tool, tool_of(), mcplink_tool_add_choice(it, "x", 0, NULL, 0, NULL));
    REFUSES(tool, tool_of(), mcplink_tool_add_choice(it, "x", 0, sorts, 0, NULL));
    REFUSES(tool, tool_of(), mcplink_tool_add_choice(it, "x", 0, none, 1, NULL));
    REFUSES(tool, tool_of(), mcplink_tool_add_array(it, "x", 0, MCPLINK_PARAM_STRING, 2, 1, NULL));
    REFUSES(tool, tool_of(), mcplink_tool_add_array(it, "x", 0, (enum mcplink_param_type)7, 0, SIZE_MAX, NULL));
    REFUSES(tool, tool_of(), mcplink_tool_set_default_value(it, "name", "\"x\"", MCPLINK_NUL));
    REFUSES(tool, tool_of(), mcplink_tool_set_default_value(it, "limti", "1", MCPLINK_NUL));
    REFUSES(tool, tool_of(), mcplink_tool_set_default_value(it, "limit", "51", MCPLINK_NUL));
    REFUSES(tool, tool_of(), mcplink_tool_set_default_value(it, "sort", "name", MCPLINK_NUL));
    CHECK(mcplink_tool_add_integer(NULL, "x", 0, 1, 2, NULL) == MCPLINK_E_INVALID);
}

int main(void)
{
    int validates;
    for (validates = 0; validates < 2; validates++) {
        called("2025-11-25", validates);
        called("2026-07-28", validates);
    }
    undeclared();
    refused();
    return 0;
}
