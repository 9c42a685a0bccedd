/* Describing tools, resources, templates, prompts and completers; having them on a server; taking them away while it serves. */
#include "talk.h"

static int destroyed;
static void ended(void *user) { destroyed += *(int *)user; }

static void say_name(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    mcplink_str_t name = mcplink_request_name(req);
    (void)user;
    CHECK(mcplink_responder_text(resp, name.ptr, name.len) == MCPLINK_OK);
}

static void read_user(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    mcplink_str_t id = mcplink_json_str(mcplink_json_get(mcplink_request_args(req), "id"));
    (void)user;
    CHECK_TEXT(mcplink_request_method(req), "resources/read");
    if (strcmp(id.ptr, "none") == 0) {
        CHECK(mcplink_responder_tool_error(resp, "x", 1) == MCPLINK_E_UNSUPPORTED);
        CHECK(mcplink_responder_structured(resp, "1", 1) == MCPLINK_E_UNSUPPORTED);
        CHECK(mcplink_responder_not_found(resp) == MCPLINK_OK);
    } else if (strcmp(id.ptr, "bytes") == 0) {
        CHECK(mcplink_responder_bytes(resp, (const uint8_t *)"abcd", 4, NULL) == MCPLINK_OK);
    } else if (strcmp(id.ptr, "html") == 0) {
        CHECK(mcplink_responder_typed_text(resp, "<p>", MCPLINK_NUL, "text/html") == MCPLINK_OK);
    } else {
        CHECK(mcplink_responder_text(resp, id.ptr, id.len) == MCPLINK_OK);
    }
}

static void prompt(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)user;
    CHECK_TEXT(mcplink_json_str(mcplink_json_get(mcplink_request_args(req), "code")), "x = 1");
    CHECK(mcplink_responder_not_found(resp) == MCPLINK_E_UNSUPPORTED);
    CHECK(mcplink_responder_text(resp, "Please review.", MCPLINK_NUL) == MCPLINK_OK);
}

static void complete(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    static const char *const values[] = { "rust", "c", "c++" };
    (void)user;
    CHECK_TEXT(mcplink_request_name(req), "language");
    CHECK_TEXT(mcplink_request_value(req), "c");
    CHECK_TEXT(mcplink_json_text(mcplink_request_args(req)), "{\"code\":\"x\"}");
    CHECK(mcplink_responder_text(resp, "x", 1) == MCPLINK_E_UNSUPPORTED);
    CHECK(mcplink_responder_values(resp, NULL, 1, true) == MCPLINK_E_INVALID);
    CHECK(mcplink_responder_values(resp, values, 3, true) == MCPLINK_OK);
}

static void own(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)user;
    CHECK_TEXT(mcplink_json_text(mcplink_request_args(req)), "{\"deep\":true}");
    CHECK_TEXT(mcplink_request_principal(req), "somebody");
    CHECK_TEXT(mcplink_request_revision(req), "");
    CHECK(mcplink_request_session(req) > 0);
    CHECK(mcplink_responder_progress(resp, 1, 2, NULL) == MCPLINK_E_UNSUPPORTED);
    CHECK(mcplink_responder_ask(resp, "k", "roots/list", NULL, 0, NULL, NULL) == MCPLINK_E_UNSUPPORTED);
    CHECK(mcplink_responder_text(resp, "x", 1) == MCPLINK_E_UNSUPPORTED);
    CHECK(mcplink_responder_json(resp, "{\"done\":true}", MCPLINK_NUL) == MCPLINK_OK);
}

static mcplink_tool_t *with_width(void)
{
    mcplink_tool_t *tool = mcplink_tool_new("refuses", NULL);
    CHECK(mcplink_tool_add_param(tool, "width", MCPLINK_PARAM_INTEGER, MCPLINK_PARAM_OPTIONAL, NULL) == MCPLINK_OK);
    return tool;
}

static void tools(void)
{
    static const char schema[] = "{ \"type\": \"object\",\"x\":1}";
    /* What some hosts refuse a schema without is added. */
    const char *listed = "{ \"type\": \"object\",\"x\":1,\"properties\":{}}";
    mcplink_error_t *err = NULL;
    mcplink_server_t *server = mcplink_server_new("tools", "1");
    mcplink_tool_t *tool = mcplink_tool_new("paint", "Paints");
    talk_t talk;
    const char *line;
    int one = 1;
    CHECK(mcplink_tool_add_param(tool, "width", MCPLINK_PARAM_INTEGER, MCPLINK_PARAM_REQUIRED, "in pixels") == MCPLINK_OK);
    REFUSES(tool, with_width(), mcplink_tool_add_param(it, "width", MCPLINK_PARAM_INTEGER, MCPLINK_PARAM_REQUIRED, NULL));
    REFUSES(tool, mcplink_tool_new("refuses", NULL), mcplink_tool_add_param(it, "x", 99, 0, NULL));
    REFUSES(tool, mcplink_tool_new("refuses", NULL), mcplink_tool_add_param(it, "x", 1, 2, NULL));
    CHECK(mcplink_tool_add_param_schema(tool, "colour", 0, "{\"enum\":[\"red\"]}", MCPLINK_NUL) == MCPLINK_OK);
    REFUSES(tool, mcplink_tool_new("refuses", NULL), mcplink_tool_add_param_schema(it, "bad", 0, "7", MCPLINK_NUL));
    CHECK(mcplink_tool_set_title(tool, "Painter") == MCPLINK_OK && mcplink_tool_set_hint(tool, MCPLINK_HINT_READ_ONLY, true) == MCPLINK_OK);
    REFUSES(tool, mcplink_tool_new("refuses", NULL), mcplink_tool_set_hint(it, 9, true));
    CHECK(mcplink_tool_set_meta(tool, "{\"com.example/a\":1}", MCPLINK_NUL) == MCPLINK_OK);
    REFUSES(tool, mcplink_tool_new("refuses", NULL), mcplink_tool_set_meta(it, "[]", 2));
    CHECK(mcplink_tool_set_icons(tool, "[{\"src\":\"https://example.com/i.png\"}]", MCPLINK_NUL) == MCPLINK_OK);
    REFUSES(tool, mcplink_tool_new("refuses", NULL), mcplink_tool_set_task_support(it, 7));
    REFUSES(tool, mcplink_tool_new("refuses", NULL), mcplink_tool_set_output_schema(it, "7", 1));
    CHECK_STATUS(mcplink_server_add_tool(server, tool, say_name, &one, ended, &err), MCPLINK_OK, err);
    /* It was copied, is still the caller's, and its name is taken. */
    CHECK(mcplink_server_add_tool(server, tool, say_name, &one, ended, &err) == MCPLINK_E_INVALID && destroyed == 1);
    CHECK(strstr(mcplink_error_message(err), "paint") != NULL);
    mcplink_error_free(err);
    mcplink_tool_free(tool);

    talk = talk_begin(server);
    talk_open(&talk, "{}");
    talk_send(&talk, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
    line = TALK_HOLDS(&talk, "\"name\":\"paint\"");
    CHECK(strstr(line, "\"width\":{\"description\":\"in pixels\",\"type\":\"integer\"}") || strstr(line, "\"width\":{\"type\":\"integer\",\"description\":\"in pixels\"}"));
    CHECK(strstr(line, "\"colour\":{\"enum\":[\"red\"]}") && strstr(line, "\"required\":[\"width\"]"));
    CHECK(strstr(line, "\"readOnlyHint\":true") && strstr(line, "com.example/a") && strstr(line, "i.png") && strstr(line, "Painter"));

    /* Changes are told by themselves. */
    tool = mcplink_tool_new("verbatim", NULL);
    REFUSES(tool, mcplink_tool_new("refuses", NULL), mcplink_tool_set_input_schema(it, "{\"type\":\"string\"}", MCPLINK_NUL));
    CHECK(mcplink_tool_set_input_schema(tool, schema, MCPLINK_NUL) == MCPLINK_OK);
    CHECK_STATUS(mcplink_server_add_tool(server, tool, say_name, NULL, NULL, &err), MCPLINK_OK, err);
    mcplink_tool_free(tool);
    TALK_HOLDS(&talk, "notifications/tools/list_changed");
    talk_send(&talk, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}");
    TALK_HOLDS(&talk, listed);
    CHECK(mcplink_server_remove_tool(server, "paint") == MCPLINK_OK && destroyed == 2);
    TALK_HOLDS(&talk, "notifications/tools/list_changed");
    CHECK(mcplink_server_remove_tool(server, "paint") == MCPLINK_E_INVALID);
    talk_end(&talk);
    mcplink_server_free(server);
}

static void others(void)
{
    mcplink_error_t *err = NULL;
    mcplink_server_options_t *options = mcplink_server_options_new("others", "2");
    mcplink_server_t *server = NULL, *refused = NULL;
    mcplink_resource_t *resource = mcplink_resource_new("note:///a", "a");
    mcplink_template_t *template = mcplink_template_new("users://{id}", "user");
    mcplink_prompt_t *review = mcplink_prompt_new("review", "Reviews code");
    const char *line;
    talk_t talk;
    int hundred = 100;

    destroyed = 0;
    CHECK(mcplink_server_options_on_method(options, "com.example/own", own, &hundred, ended) == MCPLINK_OK);
    CHECK(mcplink_server_options_on_method(options, "com.example/own", own, &hundred, ended) == MCPLINK_OK && destroyed == 100);
    CHECK(mcplink_server_options_set_instructions(options, "Use it.") == MCPLINK_OK && mcplink_server_options_set_title(options, "Others") == MCPLINK_OK);
    CHECK(mcplink_server_options_set_logging(options, true) == MCPLINK_OK && mcplink_server_options_set_page_size(options, 50) == MCPLINK_OK);
    CHECK(mcplink_server_options_set_revisions(options, "2025-11-25 2026-07-28") == MCPLINK_OK);
    CHECK(mcplink_server_options_set_replica(options, "r1") == MCPLINK_OK);
    CHECK(mcplink_server_options_set_replica(options, NULL) == MCPLINK_OK);
    CHECK(mcplink_server_options_set_limit(options, MCPLINK_LIMIT_DEPTH, 64) == MCPLINK_OK);
    REFUSES(server_options, mcplink_server_options_new("refuses", "1"), mcplink_server_options_set_limit(it, 99, 1));
    REFUSES(server_options, mcplink_server_options_new("refuses", "1"), mcplink_server_options_add_state_key(it, (const uint8_t *)"short", 5));
    REFUSES(server_options, mcplink_server_options_new("refuses", "1"), mcplink_server_options_add_state_key(it, (const uint8_t *)"thirty-two secret, random bytes.", MCPLINK_NUL));
    CHECK(mcplink_server_options_declare_capability(options, MCPLINK_LIST_TOOLS) == MCPLINK_OK);
    REFUSES(server_options, mcplink_server_options_new("refuses", "1"), mcplink_server_options_declare_capability(it, 9));
    CHECK(mcplink_server_options_set_cache(options, MCPLINK_LIST_PROMPTS, 1000, false) == MCPLINK_OK);
    CHECK(mcplink_server_options_add_extension(options, "com.example/e", "{\"a\":1}", MCPLINK_NUL) == MCPLINK_OK);
    CHECK(mcplink_server_options_set_keep_alive(options, 60000, 1000, 3) == MCPLINK_OK && mcplink_server_options_set_drain_ms(options, 1000) == MCPLINK_OK);
    CHECK_STATUS(mcplink_server_new_with(options, &server, &err), MCPLINK_OK, err);
    mcplink_server_options_free(options);
    CHECK(destroyed == 100);
    options = mcplink_server_options_new("others", "1");
    CHECK(mcplink_server_options_add_capability(options, "events", "[]", MCPLINK_NUL) == MCPLINK_E_INVALID);
    CHECK(mcplink_server_options_add_capability(options, "tools", NULL, 0) == MCPLINK_OK);
    CHECK_STATUS(mcplink_server_new_with(options, &refused, &err), MCPLINK_E_INVALID, err);
    CHECK(refused == NULL);
    mcplink_server_options_free(options);

    CHECK(mcplink_resource_set_title(resource, "A note") == MCPLINK_OK && mcplink_resource_set_mime_type(resource, "text/plain") == MCPLINK_OK);
    CHECK(mcplink_resource_set_size(resource, 9) == MCPLINK_OK && mcplink_resource_set_description(resource, "d") == MCPLINK_OK);
    CHECK(mcplink_resource_set_annotations(resource, "{\"priority\":0.5}", MCPLINK_NUL) == MCPLINK_OK);
    CHECK(mcplink_template_set_mime_type(template, "text/markdown") == MCPLINK_OK);
    CHECK(mcplink_prompt_add_argument(review, "code", MCPLINK_PARAM_REQUIRED, "what to review") == MCPLINK_OK);
    CHECK(mcplink_prompt_add_argument(review, "language", MCPLINK_PARAM_OPTIONAL, NULL) == MCPLINK_OK);
    CHECK_STATUS(mcplink_server_add_resource(server, resource, say_name, NULL, NULL, &err), MCPLINK_OK, err);
    CHECK_STATUS(mcplink_server_add_template(server, template, read_user, NULL, NULL, &err), MCPLINK_OK, err);
    CHECK_STATUS(mcplink_server_add_prompt(server, review, prompt, NULL, NULL, &err), MCPLINK_OK, err);
    CHECK_STATUS(mcplink_server_add_completer(server, MCPLINK_PRIMITIVE_PROMPT, "review", "language", complete, &hundred, ended, &err), MCPLINK_OK, err);
    CHECK(mcplink_server_add_completer(server, MCPLINK_PRIMITIVE_PROMPT, "review", "language", complete, &hundred, ended, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_server_add_completer(server, 3, "review", "x", complete, &hundred, ended, NULL) == MCPLINK_E_INVALID && destroyed == 300);
    mcplink_resource_free(resource);
    mcplink_template_free(template);
    mcplink_prompt_free(review);

    talk = talk_begin_for(server, "somebody");
    talk_open(&talk, "{}");
    talk_send(&talk, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{\"uri\":\"note:///a\"}}");
    TALK_HOLDS(&talk, "\"mimeType\":\"text/plain\",\"text\":\"note:///a\"");
    talk_send(&talk, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"resources/read\",\"params\":{\"uri\":\"users://7\"}}");
    TALK_HOLDS(&talk, "\"mimeType\":\"text/markdown\",\"text\":\"7\"");
    talk_send(&talk, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"resources/read\",\"params\":{\"uri\":\"users://bytes\"}}");
    TALK_HOLDS(&talk, "\"blob\":\"YWJjZA==\"");
    talk_send(&talk, "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"resources/read\",\"params\":{\"uri\":\"users://html\"}}");
    TALK_HOLDS(&talk, "\"mimeType\":\"text/html\",\"text\":\"<p>\"");
    talk_send(&talk, "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"resources/read\",\"params\":{\"uri\":\"users://none\"}}");
    TALK_HOLDS(&talk, "\"code\":-32002");
    talk_send(&talk, "{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"prompts/get\",\"params\":{\"name\":\"review\",\"arguments\":{\"code\":\"x = 1\"}}}");
    line = TALK_HOLDS(&talk, "Please review.");
    CHECK(strstr(line, "\"role\":\"user\"") && strstr(line, "Reviews code"));
    talk_send(&talk, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"completion/complete\",\"params\":{\"ref\":{\"type\":\"ref/prompt\",\"name\":\"review\"},"
                     "\"argument\":{\"name\":\"language\",\"value\":\"c\"},\"context\":{\"arguments\":{\"code\":\"x\"}}}}");
    TALK_HOLDS(&talk, "\"values\":[\"c\",\"c++\"]");
    talk_send(&talk, "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"com.example/own\",\"params\":{\"deep\":true}}");
    TALK_HOLDS(&talk, "\"result\":{\"done\":true}");

    talk_send(&talk, "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"resources/subscribe\",\"params\":{\"uri\":\"note:///a\"}}");
    TALK_HOLDS(&talk, "\"id\":9");
    CHECK(mcplink_server_resource_updated(server, "note:///a") == MCPLINK_OK && mcplink_server_resource_updated(server, NULL) == MCPLINK_E_INVALID);
    TALK_HOLDS(&talk, "notifications/resources/updated");
    CHECK(mcplink_server_log(server, MCPLINK_LOG_DEBUG, "t", "\"too quiet\"", MCPLINK_NUL) == MCPLINK_OK);
    CHECK(mcplink_server_log(server, MCPLINK_LOG_ERROR, "t", "{\"disk\":\"full\"}", MCPLINK_NUL) == MCPLINK_OK);
    line = TALK_HOLDS(&talk, "\"level\":\"error\"");
    CHECK(strstr(line, "\"logger\":\"t\"") && strstr(line, "\"data\":{\"disk\":\"full\"}"));
    CHECK(mcplink_server_log(server, 9, NULL, "1", 1) == MCPLINK_E_INVALID && mcplink_server_log(server, 1, NULL, "{", 1) == MCPLINK_E_INVALID);
    CHECK(mcplink_server_remove_resource(server, "note:///a") == MCPLINK_OK);
    TALK_HOLDS(&talk, "notifications/resources/list_changed");
    CHECK(mcplink_server_remove_template(server, "users://{id}") == MCPLINK_OK);
    TALK_HOLDS(&talk, "notifications/resources/list_changed");
    CHECK(mcplink_server_remove_prompt(server, "review") == MCPLINK_OK);
    TALK_HOLDS(&talk, "notifications/prompts/list_changed");
    CHECK(mcplink_server_remove_prompt(server, "review") == MCPLINK_E_INVALID);
    talk_end(&talk);
    mcplink_server_free(server);
    CHECK(destroyed == 500);
}

static int said;
static void log_line(void *user, mcplink_log_level level, mcplink_str_t target, mcplink_str_t text)
{
    CHECK(*(int *)user == 1000 && level >= MCPLINK_LOG_WARNING && target.len > 0 && text.len > 0);
    said++;
}

static void silent(void *user, const mcplink_request_t *req, mcplink_responder_t *resp) { (void)user; (void)req; (void)resp; }

/* What the library says goes to the hook of the handle, or to that of the process. */
static void logs(void)
{
    int thousand = 1000, own_hook;
    destroyed = 0;
    CHECK(mcplink_set_log(99, log_line, &thousand, ended) == MCPLINK_E_INVALID && destroyed == 1000);
    CHECK(mcplink_set_log(MCPLINK_LOG_WARNING, log_line, &thousand, ended) == MCPLINK_OK && destroyed == 1000);
    for (own_hook = 0; own_hook < 2; own_hook++) {
        mcplink_server_options_t *options = mcplink_server_options_new("log", "1");
        mcplink_server_t *server = NULL;
        talk_t talk;
        if (own_hook) CHECK(mcplink_server_options_on_log(options, MCPLINK_LOG_WARNING, log_line, &thousand, ended) == MCPLINK_OK);
        CHECK(mcplink_server_new_with(options, &server, NULL) == MCPLINK_OK);
        mcplink_server_options_free(options);
        add_tool(server, "silent", silent, NULL, NULL);
        talk = talk_begin(server);
        talk_open(&talk, "{}");
        talk_call(&talk, "1", "silent", "{}");
        TALK_HOLDS(&talk, "internal error");
        CHECK(said == own_hook + 1);
        talk_end(&talk);
        mcplink_server_free(server);
        if (own_hook) CHECK(mcplink_set_log(MCPLINK_LOG_DEBUG, NULL, NULL, NULL) == MCPLINK_OK);
    }
    CHECK(destroyed == 3000);
}

static void takes_null(void)
{
    int one = 1;
    destroyed = 0;
    CHECK(mcplink_tool_new(NULL, NULL) == NULL && mcplink_resource_new("a:b", NULL) == NULL && mcplink_template_new(NULL, "a") == NULL);
    CHECK(mcplink_prompt_new(NULL, "d") == NULL && mcplink_server_options_new(NULL, NULL) == NULL);
    CHECK(mcplink_tool_add_param(NULL, "a", 1, 0, NULL) == MCPLINK_E_INVALID && mcplink_tool_set_title(NULL, "a") == MCPLINK_E_INVALID);
    CHECK(mcplink_tool_set_input_schema(NULL, "{}", 2) == MCPLINK_E_INVALID && mcplink_tool_set_output_schema(NULL, NULL, 0) == MCPLINK_E_INVALID);
    CHECK(mcplink_tool_add_param_schema(NULL, NULL, 0, NULL, 0) == MCPLINK_E_INVALID && mcplink_tool_set_hint(NULL, 1, true) == MCPLINK_E_INVALID);
    CHECK(mcplink_resource_set_size(NULL, 1) == MCPLINK_E_INVALID && mcplink_template_set_title(NULL, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_prompt_add_argument(NULL, NULL, 0, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_server_add_tool(NULL, NULL, say_name, &one, ended, NULL) == MCPLINK_E_INVALID && destroyed == 1);
    CHECK(mcplink_server_add_resource(NULL, NULL, say_name, &one, ended, NULL) == MCPLINK_E_INVALID && destroyed == 2);
    CHECK(mcplink_server_add_template(NULL, NULL, say_name, &one, ended, NULL) == MCPLINK_E_INVALID && destroyed == 3);
    CHECK(mcplink_server_add_prompt(NULL, NULL, NULL, &one, ended, NULL) == MCPLINK_E_INVALID && destroyed == 4);
    CHECK(mcplink_server_add_completer(NULL, 1, NULL, NULL, NULL, &one, ended, NULL) == MCPLINK_E_INVALID && destroyed == 5);
    CHECK(mcplink_server_options_on_method(NULL, NULL, NULL, &one, ended) == MCPLINK_E_INVALID && destroyed == 6);
    CHECK(mcplink_server_options_on_log(NULL, 0, NULL, &one, ended) == MCPLINK_E_INVALID && destroyed == 7);
    CHECK(mcplink_server_remove_tool(NULL, "a") == MCPLINK_E_INVALID && mcplink_server_remove_prompt(NULL, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_server_log(NULL, 0, NULL, "1", 1) == MCPLINK_E_INVALID);
    mcplink_tool_free(NULL);
    mcplink_resource_free(NULL);
    mcplink_template_free(NULL);
    mcplink_prompt_free(NULL);
    mcplink_server_options_free(NULL);
    CHECK(mcplink_has_feature("http") && !mcplink_has_feature("teleport") && !mcplink_has_feature(NULL));
    CHECK(strncmp(mcplink_revisions(), "2026-07-28 2025-11-25", 21) == 0);
}

int main(void)
{
    int fds = open_count();
    tools();
    others();
    logs();
    takes_null();
    talk_clean(fds);
    return 0;
}
