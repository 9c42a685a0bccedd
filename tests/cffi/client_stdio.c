/* A client of a child process: opening, what is known of the server, every call, failures, misuse. */
#include <poll.h>
#include "client.h"

static mcplink_result_t *call(mcplink_client_t *c, const char *tool, const char *arguments, mcplink_status_t expected)
{
    mcplink_result_t *r = NULL;
    mcplink_error_t *err = NULL;
    CHECK_STATUS(mcplink_client_call_tool(c, tool, arguments, MCPLINK_NUL, NULL, &r, &err), expected, err);
    CHECK((r != NULL) == (expected >= 0));
    return r;
}

static void known_of_the_server(mcplink_client_t *c, const char *revision)
{
    mcplink_error_t *err = NULL;
    mcplink_json_t *doc = NULL;

    CHECK(mcplink_client_state(c) == MCPLINK_CLIENT_READY);
    CHECK_TEXT(mcplink_client_revision(c), revision);
    CHECK(mcplink_client_era(c) == (strcmp(revision, "2026-07-28") == 0 ? MCPLINK_ERA_MODERN : MCPLINK_ERA_LEGACY));
    CHECK(mcplink_client_has(c, "tools") && mcplink_client_has(c, "resources.subscribe"));
    CHECK(!mcplink_client_has(c, "tools.nothing") && !mcplink_client_has(c, "") && !mcplink_client_has(c, "extensions.no/such"));
    CHECK(!mcplink_client_has(c, NULL));

    CHECK_STATUS(mcplink_client_server_info(c, &doc, &err), MCPLINK_OK, err);
    CHECK_TEXT(mcplink_json_str(mcplink_json_pointer(doc, "/serverInfo/name")), "everything");
    CHECK_TEXT(mcplink_json_str(mcplink_json_get(doc, "protocolVersion")), revision);
    CHECK_TEXT(mcplink_json_str(mcplink_json_get(doc, "instructions")), "Everything here is for trying out clients.");
    CHECK(!mcplink_json_is_missing(mcplink_json_pointer(doc, "/capabilities/tools")));
    mcplink_json_free(doc);

    CHECK_STATUS(mcplink_client_stats(c, &doc, &err), MCPLINK_OK, err);
    CHECK(mcplink_json_f64(mcplink_json_get(doc, "callsInFlight")) == 0);
    mcplink_json_free(doc);
    CHECK_STATUS(mcplink_client_activity(c, &doc, &err), MCPLINK_OK, err);
    CHECK(mcplink_json_str(doc).len > 0);
    mcplink_json_free(doc);
    CHECK_STATUS(mcplink_client_stderr_tail(c, &doc, &err), MCPLINK_OK, err);
    CHECK_TEXT(mcplink_json_str(doc), "");
    mcplink_json_free(doc);
}

static void tools(mcplink_client_t *c, int has_structured)
{
    mcplink_error_t *err = NULL;
    mcplink_result_t *r = call(c, "greet", "{\"name\":\"C\"}", MCPLINK_OK);
    size_t len = 7;

    CHECK_TEXT(mcplink_result_text(r), "Hello, C!");
    CHECK(!mcplink_result_is_tool_error(r) && mcplink_result_content_count(r) == 1);
    CHECK(mcplink_result_content_kind(r, 0) == MCPLINK_CONTENT_TEXT && mcplink_result_content_kind(r, 1) == MCPLINK_CONTENT_NONE);
    CHECK_TEXT(mcplink_json_str(mcplink_json_pointer(mcplink_result_json(r), "/content/0/text")), "Hello, C!");
    CHECK(strstr(mcplink_result_raw(r).ptr, "\"Hello, C!\"") != NULL);
    CHECK(mcplink_result_content_bytes(r, 0, &len) == NULL && len == 0);
    CHECK(mcplink_result_structured(r) == NULL);
    mcplink_result_free(r);

    r = call(c, "fail", NULL, MCPLINK_TOOL_ERROR);
    CHECK(mcplink_result_is_tool_error(r));
    CHECK_TEXT(mcplink_result_text(r), "it failed on purpose");
    mcplink_result_free(r);

    r = call(c, "structured", "{}", MCPLINK_OK);
    CHECK(mcplink_json_is_missing(mcplink_result_structured(r)) == !has_structured);
    if (has_structured) CHECK(mcplink_json_f64(mcplink_json_get(mcplink_result_structured(r), "temperature")) == 22.5);
    mcplink_result_free(r);

    r = call(c, "test_multiple_content_types", "{}", MCPLINK_OK);
    CHECK(mcplink_result_content_count(r) == 3);
    CHECK(mcplink_result_content_kind(r, 1) == MCPLINK_CONTENT_IMAGE);
    CHECK(mcplink_result_content_kind(r, 2) == MCPLINK_CONTENT_RESOURCE);
    CHECK(memcmp(mcplink_result_content_bytes(r, 1, &len), "\x89PNG", 4) == 0 && len > 60);
    CHECK_TEXT(mcplink_result_text(r), "Multiple content types test:");
    mcplink_result_free(r);

    /* What the caller does wrong, and what the server refuses, are different failures. */
    r = NULL;
    CHECK(mcplink_client_call_tool(c, "greet", "{\"name\":", MCPLINK_NUL, NULL, &r, &err) == MCPLINK_E_INVALID && r == NULL);
    CHECK(mcplink_error_status(err) == MCPLINK_E_INVALID && strstr(mcplink_error_message(err), "arguments") != NULL);
    mcplink_error_free(err);
    err = NULL;
    CHECK(mcplink_client_call_tool(c, "greet", "[1]", MCPLINK_NUL, NULL, &r, &err) == MCPLINK_E_INVALID);
    CHECK_TEXT(mcplink_error_method(err), "tools/call");
    mcplink_error_free(err);
    err = NULL;
    CHECK(mcplink_client_call_tool(c, "no such tool", NULL, 0, NULL, &r, &err) == MCPLINK_E_PEER && r == NULL);
    CHECK(mcplink_error_rpc_code(err) == -32602);
    CHECK_TEXT(mcplink_error_method(err), "tools/call");
    mcplink_error_free(err);
    err = NULL;
    /* A result does not end with the error that NULL would have received. */
    CHECK(mcplink_client_call_tool(c, "no such tool", NULL, 0, NULL, &r, NULL) == MCPLINK_E_PEER);
}

static void lists(mcplink_client_t *c)
{
    mcplink_error_t *err = NULL;
    mcplink_result_t *r = NULL;

    CHECK_STATUS(mcplink_client_list_tools(c, NULL, &r, &err), MCPLINK_OK, err);
    CHECK(mcplink_json_len(mcplink_json_get(mcplink_result_json(r), "tools")) > 20);
    mcplink_result_free(r);
    CHECK_STATUS(mcplink_client_list_resources(c, NULL, &r, &err), MCPLINK_OK, err);
    CHECK(mcplink_json_len(mcplink_json_get(mcplink_result_json(r), "resources")) > 3);
    mcplink_result_free(r);
    CHECK_STATUS(mcplink_client_list_templates(c, NULL, &r, &err), MCPLINK_OK, err);
    CHECK(mcplink_json_len(mcplink_json_get(mcplink_result_json(r), "resourceTemplates")) == 2);
    mcplink_result_free(r);
    CHECK_STATUS(mcplink_client_list_prompts(c, NULL, &r, &err), MCPLINK_OK, err);
    CHECK(mcplink_json_len(mcplink_json_get(mcplink_result_json(r), "prompts")) > 3);
    mcplink_result_free(r);
}

static void resources_and_prompts(mcplink_client_t *c, int modern)
{
    mcplink_error_t *err = NULL;
    mcplink_result_t *r = NULL;
    mcplink_call_options_t *o = mcplink_call_options_new();
    size_t len;

    CHECK_STATUS(mcplink_client_read_resource(c, "fixture://hello", NULL, &r, &err), MCPLINK_OK, err);
    CHECK_TEXT(mcplink_result_text(r), "hello, resource");
    CHECK(mcplink_result_content_kind(r, 0) == MCPLINK_CONTENT_TEXT);
    mcplink_result_free(r);
    CHECK_STATUS(mcplink_client_read_resource(c, "fixture://blob", NULL, &r, &err), MCPLINK_OK, err);
    CHECK(mcplink_result_content_kind(r, 0) == MCPLINK_CONTENT_BLOB);
    CHECK(mcplink_result_content_bytes(r, 0, &len) != NULL && len > 0);
    CHECK(mcplink_result_content_bytes(r, 0, NULL) == mcplink_result_content_bytes(r, 0, &len));
    mcplink_result_free(r);
    CHECK(mcplink_client_read_resource(c, "fixture://nothing", NULL, &r, &err) == MCPLINK_E_PEER);
    CHECK(mcplink_error_rpc_code(err) == (modern ? -32602 : -32002));
    mcplink_error_free(err);
    err = NULL;

    CHECK_STATUS(mcplink_client_get_prompt(c, "greet", "{\"name\":\"Ada\"}", MCPLINK_NUL, NULL, &r, &err), MCPLINK_OK, err);
    CHECK(mcplink_result_content_count(r) == 1 && strstr(mcplink_result_text(r).ptr, "Ada") != NULL);
    CHECK_TEXT(mcplink_json_str(mcplink_json_pointer(mcplink_result_json(r), "/messages/0/role")), "user");
    mcplink_result_free(r);
    CHECK(mcplink_client_get_prompt(c, "greet", "{\"name\":1}", MCPLINK_NUL, NULL, &r, NULL) == MCPLINK_E_INVALID);

    CHECK(mcplink_call_options_set_bypass_cache(o, true) == MCPLINK_OK);
    CHECK(mcplink_call_options_set_meta(o, "com.example/key", "[1]", MCPLINK_NUL) == MCPLINK_OK);
    REFUSES(call_options, mcplink_call_options_new(), mcplink_call_options_set_meta(it, "com.example/key", "[", MCPLINK_NUL));
    CHECK_STATUS(mcplink_client_complete(c, MCPLINK_PRIMITIVE_PROMPT, "greet", "name", "", NULL, 0, o, &r, &err), MCPLINK_OK, err);
    CHECK(mcplink_json_len(mcplink_json_pointer(mcplink_result_json(r), "/completion/values")) > 0);
    mcplink_result_free(r);
    CHECK(mcplink_client_complete(c, 7, "greet", "name", "", NULL, 0, NULL, &r, NULL) == MCPLINK_E_INVALID);
    mcplink_call_options_free(o);

    CHECK_STATUS(mcplink_client_ping(c, NULL, &err), MCPLINK_OK, err);
    CHECK_STATUS(mcplink_client_request(c, "tools/list", "{}", MCPLINK_NUL, NULL, &r, &err), MCPLINK_OK, err);
    CHECK(mcplink_json_len(mcplink_json_get(mcplink_result_json(r), "tools")) > 0);
    mcplink_result_free(r);
    CHECK(mcplink_client_request(c, "no/such", NULL, 0, NULL, &r, &err) == MCPLINK_E_PEER && mcplink_error_rpc_code(err) == -32601);
    mcplink_error_free(err);
    err = NULL;
    CHECK_STATUS(mcplink_client_notify(c, "notifications/com.example", "{\"a\":1}", MCPLINK_NUL, &err), MCPLINK_OK, err);
    CHECK(mcplink_client_notify(c, "notifications/com.example", "3", MCPLINK_NUL, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_client_roots_changed(c, NULL) == MCPLINK_E_UNSUPPORTED);
    CHECK(mcplink_client_set_log_level(c, MCPLINK_LOG_WARNING, NULL, NULL) == (modern ? MCPLINK_E_UNSUPPORTED : MCPLINK_OK));
    CHECK(mcplink_client_set_log_level(c, 8, NULL, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_client_clear_cache(c, NULL) == MCPLINK_OK);
}

static void what_cannot_be_opened(void)
{
    static const char *const missing[] = { "/no/such/program", NULL };
    static const char *const dying[] = { "/bin/sh", "-c", "echo last words >&2; exit 3", NULL };
    static const char *const none[] = { NULL };
    mcplink_client_options_t *o = mcplink_client_options_new();
    mcplink_client_t *c = (mcplink_client_t *)o;
    mcplink_error_t *err = NULL;

    CHECK(mcplink_client_open(o, &c, &err) == MCPLINK_E_INVALID && c == NULL);
    CHECK(strstr(mcplink_error_message(err), "exactly one of command, url, fds, transport, configured and instance") != NULL);
    mcplink_error_free(err);
    REFUSES(client_options, mcplink_client_options_new(), mcplink_client_options_set_command(it, none));
    CHECK(mcplink_client_options_set_command(o, missing) == MCPLINK_OK);
    /* valgrind starts children in a way that does not tell that there is no such program. */
    if (getenv("MCPLINK_VALGRIND")) CHECK(mcplink_client_open(o, &c, &err) < 0 && c == NULL);
    else CHECK(mcplink_client_open(o, &c, &err) == MCPLINK_E_SPAWN && c == NULL && mcplink_error_os_code(err) == 2);
    mcplink_error_free(err);
    CHECK(mcplink_client_options_set_url(o, "http://127.0.0.1:1/mcp") == MCPLINK_OK);
    CHECK(mcplink_client_open(o, &c, &err) == MCPLINK_E_INVALID);
    CHECK(strstr(mcplink_error_message(err), "command and url") != NULL);
    mcplink_error_free(err);
    mcplink_client_options_free(o);

    o = mcplink_client_options_new();
    CHECK(mcplink_client_options_set_command(o, dying) == MCPLINK_OK);
    CHECK(mcplink_client_open(o, &c, &err) == MCPLINK_E_CLOSED);
    CHECK_TEXT(mcplink_error_peer_stderr(err), "last words");
    CHECK(strchr(mcplink_error_message(err), '\n') == NULL && strstr(mcplink_error_message(err), "last words") == NULL);
    mcplink_error_free(err);
    mcplink_client_options_free(o);

    o = everything_options();
    REFUSES(client_options, mcplink_client_options_new(), mcplink_client_options_set_revisions(it, ""));
    /* What a setter was refused with is what opening fails with. */
    CHECK(mcplink_client_options_set_revisions(o, "1999-01-01") == MCPLINK_E_UNSUPPORTED);
    CHECK(mcplink_client_open(o, &c, &err) == MCPLINK_E_UNSUPPORTED && strstr(mcplink_error_message(err), "set_revisions: ") != NULL);
    mcplink_error_free(err);
    mcplink_client_options_free(o);
    o = everything_options();
    REFUSES(client_options, mcplink_client_options_new(), mcplink_client_options_set_stderr(it, 9, NULL, NULL, NULL));
    REFUSES(client_options, mcplink_client_options_new(), mcplink_client_options_set_env(it, "A=B", "x"));
    REFUSES(client_options, mcplink_client_options_new(), mcplink_client_options_pass_env(it, "A=B"));
    REFUSES(client_options, mcplink_client_options_new(), mcplink_client_options_pass_env(it, NULL));
    REFUSES(client_options, mcplink_client_options_new(), mcplink_client_options_set_limit(it, 99, 1));
    REFUSES(client_options, mcplink_client_options_new(), mcplink_client_options_set_fds(it, -1, 1));
    REFUSES(client_options, mcplink_client_options_new(), mcplink_client_options_set_era(it, 9));
    REFUSES(client_options, mcplink_client_options_new(), mcplink_client_options_set_max_started(it, 0));
    REFUSES(client_options, mcplink_client_options_new(), mcplink_client_options_set_keep_alive(it, 0, 1, 1));
    REFUSES(client_options, mcplink_client_options_new(), mcplink_client_options_set_info(it, "\xff", "1"));
    REFUSES(client_options, mcplink_client_options_new(), mcplink_client_options_set_icons(it, "{}", MCPLINK_NUL));
    CHECK(mcplink_client_options_add_extension(o, "no id", NULL, 0) == MCPLINK_OK);
    CHECK(mcplink_client_open(o, &c, NULL) == MCPLINK_E_INVALID);
    mcplink_client_options_free(o);
}

/* Every setter that takes effect on a child does. */
static void a_child_with_everything_set(void)
{
    static const char *const argv[] = { "/bin/sh", "-c",
                                        "echo \"$PWD $GIVEN $LANG\" >&2; exec \"$SERVER\" stdio", NULL };
    mcplink_client_options_t *o = mcplink_client_options_new();
    mcplink_client_t *c;
    mcplink_result_t *r = NULL;
    mcplink_json_t *doc = NULL;

    setenv("LANG", "C", 1);
    CHECK(mcplink_client_options_set_command(o, argv) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_env(o, "GIVEN", "given") == MCPLINK_OK);
    CHECK(mcplink_client_options_set_env(o, "SERVER", everything_server()) == MCPLINK_OK);
    CHECK(mcplink_client_options_clear_env(o) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_cwd(o, "/") == MCPLINK_OK);
    CHECK(mcplink_client_options_set_pipes(o, true) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_info(o, "tester", "2") == MCPLINK_OK);
    CHECK(mcplink_client_options_set_era(o, MCPLINK_ERA_MODERN) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_limit(o, MCPLINK_LIMIT_CALLS, 2) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_keep_alive(o, 60000, 60000, 3) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_connect_timeout_ms(o, MCPLINK_FOREVER) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_timeout_ms(o, MCPLINK_FOREVER) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_max_timeout_ms(o, MCPLINK_FOREVER) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_probe_timeout_ms(o, 60000) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_slow_handler_ms(o, MCPLINK_FOREVER) == MCPLINK_OK);
    CHECK(mcplink_client_options_clear_validation(o) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_tasks(o, true) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_max_list(o, 1, 3) == MCPLINK_OK);
    c = open_with(o, NULL);
    mcplink_result_free(call(c, "greet", "{\"name\":\"C\"}", MCPLINK_OK));
    CHECK(mcplink_client_list_tools(c, NULL, &r, NULL) == MCPLINK_E_LIMIT && r == NULL);
    CHECK(mcplink_client_stderr_tail(c, &doc, NULL) == MCPLINK_OK);
    CHECK_TEXT(mcplink_json_str(doc), "/ given \n");
    mcplink_json_free(doc);
    mcplink_client_free(c);
}

/* A child gets few of this process's environment variables, and those that it is given. */
static void what_a_child_inherits(void)
{
    static const char *const argv[] = { "/bin/sh", "-c",
                                        "echo \"${KEY-none} ${OTHER-none} ${UNSET-none} ${HOME:+home}\" >&2; exec \"$SERVER\" stdio", NULL };
    static const char *const expected[] = { "none none none home\n", "secret none none home\n", "secret other none home\n", "none none none \n" };
    size_t way;
    setenv("KEY", "secret", 1);
    setenv("OTHER", "other", 1);
    setenv("HOME", "/", 1);
    unsetenv("UNSET");
    for (way = 0; way < sizeof expected / sizeof *expected; way++) {
        mcplink_client_options_t *o = mcplink_client_options_new();
        mcplink_client_t *c;
        mcplink_json_t *doc = NULL;
        int tries;
        CHECK(mcplink_client_options_set_command(o, argv) == MCPLINK_OK);
        CHECK(mcplink_client_options_set_env(o, "SERVER", everything_server()) == MCPLINK_OK);
        if (way == 1) {
            CHECK(mcplink_client_options_pass_env(o, "KEY") == MCPLINK_OK);
            CHECK(mcplink_client_options_pass_env(o, "UNSET") == MCPLINK_OK);
        }
        if (way == 2 || way == 3) CHECK(mcplink_client_options_inherit_env(o) == MCPLINK_OK);
        if (way == 3) CHECK(mcplink_client_options_clear_env(o) == MCPLINK_OK);
#ifdef __linux__
        /* It goes with the rest. */
        CHECK(mcplink_client_options_set_die_with_parent(o, way == 0) == MCPLINK_OK);
#endif
        c = open_with(o, NULL);
        /* The line comes on a pipe of its own, so it may be read after the answer that opens the client. */
        for (tries = 0; tries < 30000; tries++) {
            CHECK(mcplink_client_stderr_tail(c, &doc, NULL) == MCPLINK_OK);
            if (mcplink_json_str(doc).len > 0) break;
            mcplink_json_free(doc);
            doc = NULL;
            poll(NULL, 0, 1);
        }
        CHECK_TEXT(mcplink_json_str(doc), expected[way]);
        mcplink_json_free(doc);
        mcplink_client_free(c);
    }
    unsetenv("KEY");
    unsetenv("OTHER");
}

static void null_everywhere(void)
{
    mcplink_client_t *c = NULL;
    mcplink_result_t *r = NULL;
    mcplink_json_t *doc = NULL;
    mcplink_call_options_t *o = mcplink_call_options_new();

    CHECK(mcplink_client_open(NULL, &c, NULL) == MCPLINK_E_INVALID && mcplink_client_start(NULL, &c, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_client_close(NULL, 0, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_client_state(NULL) == MCPLINK_CLIENT_NONE && mcplink_client_era(NULL) == MCPLINK_ERA_UNKNOWN);
    CHECK_TEXT(mcplink_client_revision(NULL), "");
    CHECK(!mcplink_client_has(NULL, "tools") && mcplink_client_stats(NULL, &doc, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_client_server_info(NULL, NULL, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_client_activity(NULL, &doc, NULL) == MCPLINK_E_INVALID && mcplink_client_stderr_tail(NULL, &doc, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_client_call_tool(NULL, "a", NULL, 0, NULL, &r, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_client_call_tool(NULL, "a", NULL, 0, NULL, NULL, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_client_read_resource(NULL, NULL, NULL, &r, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_client_get_prompt(NULL, NULL, NULL, 0, NULL, &r, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_client_complete(NULL, 1, NULL, NULL, NULL, NULL, 0, NULL, &r, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_client_list_tools(NULL, NULL, &r, NULL) == MCPLINK_E_INVALID && mcplink_client_list_prompts(NULL, NULL, &r, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_client_list_resources(NULL, NULL, &r, NULL) == MCPLINK_E_INVALID && mcplink_client_list_templates(NULL, NULL, &r, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_client_ping(NULL, NULL, NULL) == MCPLINK_E_INVALID && mcplink_client_request(NULL, NULL, NULL, 0, NULL, &r, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_client_notify(NULL, NULL, NULL, 0, NULL) == MCPLINK_E_INVALID && mcplink_client_roots_changed(NULL, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_client_subscribe(NULL, NULL, NULL, NULL) == MCPLINK_E_INVALID && mcplink_client_unsubscribe(NULL, NULL, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_client_listen(NULL, NULL, 0, NULL, &r, NULL) == MCPLINK_E_INVALID && mcplink_client_set_log_level(NULL, 0, NULL, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_client_clear_cache(NULL, NULL) == MCPLINK_E_INVALID && r == NULL && doc == NULL);
    mcplink_client_free(NULL);

    CHECK(mcplink_client_options_set_command(NULL, NULL) == MCPLINK_E_INVALID && mcplink_client_options_set_env(NULL, NULL, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_client_options_clear_env(NULL) == MCPLINK_E_INVALID && mcplink_client_options_set_cwd(NULL, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_client_options_set_url(NULL, NULL) == MCPLINK_E_INVALID && mcplink_client_options_set_header(NULL, NULL, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_client_options_set_info(NULL, NULL, NULL) == MCPLINK_E_INVALID && mcplink_client_options_set_pump(NULL, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_client_options_set_transport(NULL, NULL) == MCPLINK_E_INVALID && mcplink_client_options_set_cancel(NULL, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_client_options_set_tasks(NULL, true) == MCPLINK_E_INVALID && mcplink_client_options_set_proxy(NULL, NULL) == MCPLINK_E_INVALID);
    mcplink_client_options_free(NULL);

    CHECK(mcplink_call_options_set_timeout_ms(NULL, 1) == MCPLINK_E_INVALID && mcplink_call_options_set_cancel(NULL, NULL) == MCPLINK_E_INVALID);
    REFUSES(call_options, mcplink_call_options_new(), mcplink_call_options_set_meta(it, NULL, NULL, 0));
    REFUSES(call_options, mcplink_call_options_new(), mcplink_call_options_set_log_level(it, -1));
    mcplink_call_options_free(o);
    mcplink_call_options_free(NULL);

    CHECK(mcplink_call_cancel(NULL, NULL) == MCPLINK_E_INVALID && mcplink_call_wait(NULL, 0, &r, NULL) == MCPLINK_E_INVALID);
    CHECK(!mcplink_call_is_done(NULL) && mcplink_call_id(NULL) == 0);
    mcplink_call_free(NULL);

    CHECK(mcplink_result_json(NULL) == NULL && mcplink_result_content_count(NULL) == 0 && mcplink_result_content(NULL, 0) == NULL);
    CHECK(mcplink_result_content_kind(NULL, 0) == MCPLINK_CONTENT_NONE && mcplink_result_content_bytes(NULL, 0, NULL) == NULL);
    CHECK(!mcplink_result_is_tool_error(NULL) && mcplink_result_structured(NULL) == NULL && mcplink_result_meta(NULL) == NULL);
    CHECK_TEXT(mcplink_result_raw(NULL), "");
    CHECK_TEXT(mcplink_result_text(NULL), "");
    mcplink_result_free(NULL);

    CHECK(mcplink_cancel_trigger(NULL) == MCPLINK_E_INVALID && !mcplink_cancel_is_triggered(NULL));
    mcplink_cancel_free(NULL);
}

/* What is registered is ended once, whatever comes of the registration. */
static void destroyed_once(void)
{
    struct counter destroyed = COUNTER;
    mcplink_client_options_t *o = everything_options();
    mcplink_client_t *c = NULL;

    CHECK(mcplink_client_options_on_event(o, NULL, &destroyed, count_one) == MCPLINK_OK && destroyed.count == 1);
    CHECK(mcplink_client_options_on_event(NULL, NULL, &destroyed, count_one) == MCPLINK_E_INVALID && destroyed.count == 2);
    CHECK(mcplink_client_options_on_log(NULL, 0, NULL, &destroyed, count_one) == MCPLINK_E_INVALID && destroyed.count == 3);
    REFUSES(client_options, mcplink_client_options_new(), mcplink_client_options_set_stderr(it, 9, NULL, &destroyed, count_one));
    CHECK(destroyed.count == 4);
    REFUSES(client_options, mcplink_client_options_new(), mcplink_client_options_on_notification(it, NULL, NULL, &destroyed, count_one));
    CHECK(destroyed.count == 5);
    CHECK(mcplink_client_options_set_bearer_hook(NULL, NULL, &destroyed, count_one) == MCPLINK_E_INVALID && destroyed.count == 6);
    CHECK(mcplink_call_options_on_progress(NULL, NULL, &destroyed, count_one) == MCPLINK_E_INVALID && destroyed.count == 7);
    CHECK(mcplink_client_call_tool_start(NULL, "a", NULL, 0, NULL, NULL, &destroyed, count_one, NULL, NULL) == MCPLINK_E_INVALID && destroyed.count == 8);
    CHECK(mcplink_client_open(o, &c, NULL) == MCPLINK_OK);
    mcplink_client_options_free(o);
    mcplink_client_free(c);
    CHECK(destroyed.count == 8);
}

int main(void)
{
    static const char *const revisions[] = { "2026-07-28", "2025-11-25", "2024-11-05" };
    size_t i;
    for (i = 0; i < sizeof revisions / sizeof revisions[0]; i++) {
        mcplink_client_t *c = open_with(everything_options(), revisions[i]);
        known_of_the_server(c, revisions[i]);
        tools(c, i < 2);
        lists(c);
        resources_and_prompts(c, i == 0);
        mcplink_client_free(c);
    }
    what_cannot_be_opened();
    a_child_with_everything_set();
    what_a_child_inherits();
    null_everywhere();
    destroyed_once();
    return 0;
}
