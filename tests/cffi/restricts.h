/* What the programs of tests/cffi/restricts.py call: objects of each kind, and what takes them. */
#ifndef RESTRICTS_H
#define RESTRICTS_H

#include "check.h"
#include "stubs.h"

#include <stdatomic.h>

typedef enum {
    KIND_client_options, KIND_call_options, KIND_server_options, KIND_http_options, KIND_resource_server, KIND_oauth, KIND_oauth_client, KIND_tool,
    KIND_form, KIND_prompt, KIND_resource, KIND_template, KIND_exchange, KIND_server
} kind_t;

/* A setter with arguments that it may not take; the same with good ones; whether it has to refuse the first ones by itself. */
typedef struct {
    const char *what, *setter;
    kind_t kind;
    mcplink_status_t (*set)(void *it), (*heal)(void *it);
    int must;
} object_case_t;

typedef struct {
    const char *what;
    mcplink_status_t (*set)(mcplink_http_request_t *it);
    int must;
} request_case_t;

typedef struct {
    const char *what;
    mcplink_status_t (*set)(mcplink_responder_t *it);
    int must;
} responder_case_t;

static const char certificate[] = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
static const char signing_key[] = "-----BEGIN PRIVATE KEY-----\n"
                                  "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
                                  "-----END PRIVATE KEY-----\n";
static const uint8_t secret[32] = { 7 };
static const char *const words[] = { "true", NULL };

static mcplink_resource_server_t *good_tokens, *bad_resource_server;
static mcplink_oauth_t *good_oauth, *bad_oauth;
static mcplink_oauth_client_t *good_client, *bad_oauth_client;
static mcplink_server_t *server;
static mcplink_client_t *client;
static mcplink_transport_t *nowhere;

static void on_authenticate(void *user, mcplink_http_request_t *request) { (void)user, (void)mcplink_http_request_admit(request, "ada"); }
static mcplink_status_t on_bearer(void *user, mcplink_output_t *token) { return (void)user, mcplink_output_set(token, "token", MCPLINK_NUL); }
static mcplink_status_t on_statement(void *user, mcplink_str_t audience, mcplink_output_t *token)
{
    (void)user, (void)audience;
    return mcplink_output_set(token, "token", MCPLINK_NUL);
}
static mcplink_decision on_guard(void *user, mcplink_guarded_request_t *request) { return (void)user, (void)request, MCPLINK_DECISION_ADMIT; }
static void on_message(void *user, mcplink_direction direction, const char *text, size_t len) { (void)user, (void)direction, (void)text, (void)len; }
static void on_login(void *user, mcplink_login_t *login) { (void)user, (void)login; }
static void on_handler(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    (void)user, (void)request;
    (void)!mcplink_responder_text(responder, "text", MCPLINK_NUL);
}
static void on_event(void *user, mcplink_event event, const mcplink_json_t *params) { (void)user, (void)event, (void)params; }
static void on_progress(void *user, double progress, double total, mcplink_str_t message) { (void)user, (void)progress, (void)total, (void)message; }
static void on_thread(void *user, mcplink_str_t name) { (void)user, (void)name; }
static void on_server_event(void *user, mcplink_server_event event, const mcplink_json_t *params) { (void)user, (void)event, (void)params; }
static void on_line(void *user, mcplink_str_t line) { (void)user, (void)line; }
static void on_log(void *user, mcplink_log_level level, mcplink_str_t target, mcplink_str_t text) { (void)user, (void)level, (void)target, (void)text; }
static mcplink_status_t on_store_load(void *user, mcplink_str_t name, mcplink_output_t *content) { return (void)user, (void)name, (void)content, MCPLINK_OK; }
static mcplink_status_t on_store_save(void *user, mcplink_str_t name, mcplink_str_t content) { return (void)user, (void)name, (void)content, MCPLINK_OK; }
static mcplink_status_t on_store_remove(void *user, mcplink_str_t name) { return (void)user, (void)name, MCPLINK_OK; }
static mcplink_status_t send_nowhere(void *user, const void *bytes, size_t len) { return (void)user, (void)bytes, (void)len, MCPLINK_OK; }

/* What the log was told last, and how often. */
static char logged[1024];
static int warnings;

static void log_it(void *user, mcplink_log_level level, mcplink_str_t target, mcplink_str_t text)
{
    (void)user, (void)target;
    if (level != MCPLINK_LOG_WARNING) return;
    warnings++;
    snprintf(logged, sizeof logged, "%s", text.ptr);
}

#define FAIL(what, ...) (fprintf(stderr, "%s: ", what), fprintf(stderr, __VA_ARGS__), fputc('\n', stderr), exit(1))

/* What takes an object fails as the setter did, and says which one that was. */
static void told(const object_case_t *it, mcplink_status_t refused, mcplink_status_t taken, mcplink_error_t *err)
{
    if (refused < 0 && taken != refused) FAIL(it->what, "refused with %s, taken with %s", mcplink_status_name(refused), mcplink_status_name(taken));
    if (refused < 0 && strstr(mcplink_error_message(err), it->setter) == NULL) FAIL(it->what, "the reason is \"%s\"", mcplink_error_message(err));
    if (it->must && taken >= 0) FAIL(it->what, "what takes it gives %s", mcplink_status_name(taken));
    mcplink_error_free(err);
}

/* Of a refused setter only: what might work with good settings goes somewhere. */
static void served(const object_case_t *it, mcplink_status_t refused, const mcplink_http_options_t *options)
{
    mcplink_error_t *err = NULL;
    mcplink_listener_t *listener = NULL;
    mcplink_http_t *http = NULL;
    mcplink_status_t st = mcplink_server_listen_http(server, options, "0", &listener, &err);
    told(it, refused, st, err);
    mcplink_listener_free(listener);
    st = mcplink_server_http(server, options, &http, &err);
    told(it, refused, st, err);
    mcplink_http_free(http);
}

static void opened(const object_case_t *it, mcplink_status_t refused, mcplink_client_options_t *options)
{
    mcplink_error_t *err = NULL;
    mcplink_client_t *made = NULL;
    mcplink_status_t st = mcplink_client_open(options, &made, &err);
    told(it, refused, st, err);
    mcplink_client_free(made);
    if (refused >= 0) return;
    st = mcplink_client_start(options, &made, &err);
    told(it, refused, st, err);
    CHECK(made == NULL);
}

static void authorized(const object_case_t *it, mcplink_status_t refused, const mcplink_oauth_t *oauth)
{
    mcplink_client_options_t *o = mcplink_client_options_new();
    (void)mcplink_client_options_set_url(o, "http://127.0.0.1:1/mcp");
    (void)mcplink_client_options_set_oauth(o, oauth);
    opened(it, refused, o);
    mcplink_client_options_free(o);
}

static void nothing_begins(void *user, bool complete) { (void)user, (void)complete; }
static mcplink_status_t no_head(void *user, const mcplink_http_head_t *head, int64_t length) { return (void)user, (void)head, (void)length, MCPLINK_OK; }

/* Says whether a setter did what it must, makes up for it with good arguments, and passes the object on. */
static void taken(const object_case_t *it, void *object, mcplink_status_t *refused)
{
    warnings = 0;
    *refused = it->set(object);
    if (it->must && *refused >= 0) FAIL(it->what, "gives %s", mcplink_status_name(*refused));
    if (*refused < 0 && (warnings != 1 || strstr(logged, it->setter) == NULL)) FAIL(it->what, "%d warnings, \"%s\"", warnings, logged);
    if (*refused < 0) (void)it->heal(object);
}

static mcplink_status_t show(const mcplink_form_t *form, mcplink_error_t **err);

static void run_object(const object_case_t *it)
{
    mcplink_error_t *err = NULL;
    mcplink_status_t refused = 0, st;
    switch (it->kind) {
    case KIND_client_options: {
        mcplink_client_options_t *o = mcplink_client_options_new();
        (void)mcplink_client_options_set_url(o, "http://127.0.0.1:1/mcp");
        taken(it, o, &refused);
        if (refused < 0) opened(it, refused, o);
        mcplink_client_options_free(o);
        break;
    }
    case KIND_call_options: {
        mcplink_call_options_t *o = mcplink_call_options_new();
        taken(it, o, &refused);
        if (refused < 0) {
            mcplink_call_t *call = NULL;
            st = mcplink_client_ping(client, o, &err);
            told(it, refused, st, err);
            st = mcplink_client_ping_start(client, o, NULL, NULL, NULL, &call, &err);
            told(it, refused, st, err);
        }
        mcplink_call_options_free(o);
        break;
    }
    case KIND_server_options: {
        mcplink_server_options_t *o = mcplink_server_options_new("restricts", "1");
        mcplink_server_t *made = NULL;
        taken(it, o, &refused);
        st = mcplink_server_new_with(o, &made, &err);
        told(it, refused, st, err);
        mcplink_server_free(made);
        mcplink_server_options_free(o);
        break;
    }
    case KIND_http_options: {
        mcplink_http_options_t *o = mcplink_http_options_new();
        taken(it, o, &refused);
        if (refused < 0) served(it, refused, o);
        mcplink_http_options_free(o);
        break;
    }
    case KIND_resource_server: {
        mcplink_resource_server_t *tokens = mcplink_resource_server_new("https://files.example/mcp", "https://login.example");
        mcplink_http_options_t *o = mcplink_http_options_new();
        taken(it, tokens, &refused);
        (void)mcplink_http_options_set_resource_server(o, tokens);
        mcplink_resource_server_free(tokens);
        if (refused < 0) served(it, refused, o);
        mcplink_http_options_free(o);
        break;
    }
    case KIND_oauth: {
        mcplink_oauth_t *oauth = mcplink_oauth_new();
        taken(it, oauth, &refused);
        if (refused < 0) {
            st = mcplink_oauth_forget(oauth, "http://127.0.0.1:1/mcp", &err);
            told(it, refused, st, err);
            authorized(it, refused, oauth);
        }
        mcplink_oauth_free(oauth);
        break;
    }
    case KIND_oauth_client: {
        mcplink_oauth_client_t *known = mcplink_oauth_client_new("https://login.example", "me");
        mcplink_oauth_t *oauth = mcplink_oauth_new();
        taken(it, known, &refused);
        (void)mcplink_oauth_add_client(oauth, known);
        mcplink_oauth_client_free(known);
        if (refused < 0) authorized(it, refused, oauth);
        mcplink_oauth_free(oauth);
        break;
    }
#define DEFINITION(kind, ...)                                                                                              \
    case KIND_##kind: {                                                                                                    \
        mcplink_##kind##_t *definition = mcplink_##kind##_new(__VA_ARGS__);                                                \
        taken(it, definition, &refused);                                                                                   \
        if (refused < 0) {                                                                                                 \
            st = mcplink_server_add_##kind(server, definition, on_handler, NULL, NULL, &err);                              \
            told(it, refused, st, err);                                                                                    \
        }                                                                                                                  \
        mcplink_##kind##_free(definition);                                                                                 \
        break;                                                                                                             \
    }
    DEFINITION(tool, "a_tool", NULL)
    DEFINITION(prompt, "a_prompt", NULL)
    DEFINITION(resource, "a://resource", "name")
    DEFINITION(template, "a://{template}", "name")
    case KIND_form: {
        mcplink_form_t *form = mcplink_form_new("Which?");
        taken(it, form, &refused);
        st = show(form, &err);
        told(it, refused, st, err);
        mcplink_form_free(form);
        break;
    }
    case KIND_exchange: {
        mcplink_exchange_t *exchange = mcplink_exchange_new("POST", "/mcp", no_head, send_nowhere, nothing_begins, NULL, NULL);
        mcplink_http_t *http = NULL;
        taken(it, exchange, &refused);
        if (refused < 0) {
            CHECK_STATUS(mcplink_server_http(server, NULL, &http, &err), MCPLINK_OK, err);
            st = mcplink_http_serve(http, exchange, &err);
            told(it, refused, st, err);
            mcplink_http_free(http);
        }
        mcplink_exchange_free(exchange);
        break;
    }
    case KIND_server: {
        mcplink_server_t *kept = server;
        mcplink_tool_t *tool = mcplink_tool_new("t", NULL);
        server = mcplink_server_new("restricts", "1");
        CHECK_STATUS(mcplink_server_add_tool(server, tool, on_handler, NULL, NULL, &err), MCPLINK_OK, err);
        taken(it, server, &refused);
        if (refused < 0) served(it, refused, NULL);
        mcplink_tool_free(tool);
        mcplink_server_free(server);
        server = kept;
        break;
    }
    }
}

/* How a request was answered. */
typedef struct {
    atomic_int status;
    char body[4096];
    size_t len;
} answer_t;

static mcplink_status_t begin_answer(void *user, const mcplink_http_head_t *head, int64_t length)
{
    (void)length;
    atomic_store(&((answer_t *)user)->status, mcplink_http_head_status(head));
    return MCPLINK_OK;
}

static mcplink_status_t write_answer(void *user, const void *bytes, size_t len)
{
    answer_t *answer = user;
    CHECK(answer->len + len < sizeof answer->body);
    memcpy(answer->body + answer->len, bytes, len);
    answer->len += len;
    return MCPLINK_OK;
}

/* Calls the tool t of a server with these settings; everything happens within this call. */
static void ask(mcplink_server_t *asked, const mcplink_http_options_t *options, answer_t *answer)
{
    static const char body[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\",\"arguments\":{},\"_meta\":{"
                               "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}}}";
    static const char *const fields[][2] = { { "Host", "localhost" }, { "Content-Type", "application/json" },
                                             { "Accept", "application/json, text/event-stream" }, { "MCP-Protocol-Version", "2026-07-28" },
                                             { "Mcp-Method", "tools/call" }, { "Mcp-Name", "t" }, { "Authorization", "Bearer token" } };
    mcplink_error_t *err = NULL;
    mcplink_http_t *http = NULL;
    mcplink_exchange_t *exchange = mcplink_exchange_new("POST", "/mcp", begin_answer, write_answer, nothing_begins, answer, NULL);
    memset(answer, 0, sizeof *answer);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        CHECK(mcplink_exchange_add_header(exchange, fields[i][0], fields[i][1], MCPLINK_NUL) == MCPLINK_OK);
    CHECK(mcplink_exchange_set_body(exchange, body, MCPLINK_NUL) == MCPLINK_OK);
    CHECK_STATUS(mcplink_server_http(asked, options, &http, &err), MCPLINK_OK, err);
    CHECK_STATUS(mcplink_http_serve(http, exchange, &err), MCPLINK_OK, err);
    mcplink_exchange_free(exchange);
    mcplink_http_free(http);
}

static const request_case_t *request_case;
static mcplink_status_t request_status;
static int is_verifier;

/* Lets in, before and after something that is refused. */
static void admit_anyway(void *user, mcplink_http_request_t *request)
{
    (void)user;
    (void)mcplink_http_request_admit(request, "ada");
    if (is_verifier) (void)mcplink_http_request_add_audience(request, "https://files.example/mcp");
    request_status = request_case != NULL ? request_case->set(request) : MCPLINK_OK;
    (void)mcplink_http_request_admit(request, "ada");
}

static void run_request(const request_case_t *it)
{
    answer_t answer;
    for (is_verifier = 0; is_verifier < 2; is_verifier++) {
        mcplink_http_options_t *o = mcplink_http_options_new();
        mcplink_resource_server_t *tokens = mcplink_resource_server_new("https://files.example/mcp", "https://login.example");
        if (is_verifier) {
            CHECK(mcplink_resource_server_set_verifier(tokens, admit_anyway, NULL, NULL) == MCPLINK_OK);
            CHECK(mcplink_http_options_set_resource_server(o, tokens) == MCPLINK_OK);
        } else {
            CHECK(mcplink_http_options_on_authenticate(o, admit_anyway, NULL, NULL) == MCPLINK_OK);
        }
        request_case = it, warnings = 0;
        ask(server, o, &answer);
        if (it == NULL && answer.status != 200) FAIL("a request that is let in", "status %d: %s", answer.status, answer.body);
        if (it != NULL && it->must && request_status >= 0) FAIL(it->what, "gives %s", mcplink_status_name(request_status));
        if (it != NULL && request_status < 0 && (answer.status != 403 || warnings != 1 || strstr(logged, "mcplink_http_request_") == NULL))
            FAIL(it->what, "status %d, %d warnings, \"%s\"", answer.status, warnings, logged);
        mcplink_resource_server_free(tokens);
        mcplink_http_options_free(o);
    }
}

static const responder_case_t *responder_case;
static const mcplink_form_t *shown_form;
static mcplink_error_t **form_error;
static mcplink_status_t responder_status;

static void answer_anyway(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    const mcplink_json_t *content = NULL;
    (void)user, (void)request;
    responder_status = responder_case != NULL ? responder_case->set(responder) : MCPLINK_OK;
    if (shown_form) responder_status = mcplink_responder_elicit(responder, "key", shown_form, &content, form_error);
    (void)mcplink_responder_text(responder, "what was asked for", MCPLINK_NUL);
}

/* A handler shows a form to its user. */
static mcplink_status_t show(const mcplink_form_t *form, mcplink_error_t **err)
{
    answer_t answer;
    responder_case = NULL, shown_form = form, form_error = err;
    ask(server, NULL, &answer);
    shown_form = NULL;
    return responder_status;
}

static void run_responder(const responder_case_t *it)
{
    answer_t answer;
    responder_case = it, warnings = 0;
    ask(server, NULL, &answer);
    if ((strstr(answer.body, "what was asked for") != NULL) != (it == NULL)) FAIL(it ? it->what : "a call", "status %d: %s", answer.status, answer.body);
    /* The second warning is about the answer that comes too late. */
    if (it != NULL && (responder_status >= 0 || warnings != 2)) FAIL(it->what, "gives %s, %d warnings", mcplink_status_name(responder_status), warnings);
}

/* One check does not take the place of another one, and only what is called so takes one away. */
static void one_check_does_not_undo_another(void)
{
    mcplink_http_options_t *o = mcplink_http_options_new();
    mcplink_error_t *err = NULL;
    mcplink_listener_t *listener = NULL;
    answer_t answer;
    CHECK(mcplink_http_options_set_resource_server(o, good_tokens) == MCPLINK_OK);
    CHECK(mcplink_http_options_clear_authenticate(o) == MCPLINK_OK);
    ask(server, o, &answer);
    CHECK(answer.status == 401);
    CHECK(mcplink_http_options_clear_resource_server(o) == MCPLINK_OK && mcplink_http_options_on_authenticate(o, on_authenticate, NULL, NULL) == MCPLINK_OK);
    CHECK(mcplink_http_options_clear_resource_server(o) == MCPLINK_OK);
    ask(server, o, &answer);
    CHECK(answer.status == 200);
    CHECK(mcplink_http_options_set_resource_server(o, good_tokens) == MCPLINK_E_INVALID);
    CHECK(mcplink_server_listen_http(server, o, "0", &listener, &err) == MCPLINK_E_INVALID && listener == NULL);
    CHECK(strstr(mcplink_error_message(err), "on_authenticate already") != NULL);
    mcplink_error_free(err);
    mcplink_http_options_free(o);
    o = mcplink_http_options_new();
    CHECK(mcplink_http_options_set_resource_server(o, good_tokens) == MCPLINK_OK);
    CHECK(mcplink_http_options_on_authenticate(o, on_authenticate, NULL, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_server_listen_http(server, o, "0", &listener, &err) == MCPLINK_E_INVALID && listener == NULL);
    CHECK(strstr(mcplink_error_message(err), "set_resource_server already") != NULL);
    mcplink_error_free(err);
    mcplink_http_options_free(o);
    /* Keys, and a function in their place. */
    for (int function_first = 0; function_first < 2; function_first++) {
        mcplink_resource_server_t *tokens = mcplink_resource_server_new("https://files.example/mcp", "https://login.example");
        if (function_first) CHECK(mcplink_resource_server_set_verifier(tokens, on_authenticate, NULL, NULL) == MCPLINK_OK);
        CHECK(mcplink_resource_server_set_keys(tokens, "{\"keys\":[]}", MCPLINK_NUL) == (function_first ? MCPLINK_E_INVALID : MCPLINK_OK));
        if (!function_first) CHECK(mcplink_resource_server_set_verifier(tokens, on_authenticate, NULL, NULL) == MCPLINK_E_INVALID);
        mcplink_resource_server_free(tokens);
    }
}

/* The server whose description could not be made: what it would have been checked by is not there, so nobody is served. */
static void an_open_door_stays_shut(void)
{
    mcplink_resource_server_t *tokens = mcplink_resource_server_new(NULL, "https://login.example");
    mcplink_http_options_t *o = mcplink_http_options_new();
    mcplink_error_t *err = NULL;
    mcplink_listener_t *listener = NULL;
    CHECK(tokens == NULL && strstr(logged, "mcplink_resource_server_new: resource must not be NULL") != NULL);
    (void)mcplink_resource_server_set_required_scopes(tokens, "files:read");
    (void)mcplink_http_options_set_resource_server(o, tokens);
    (void)mcplink_http_options_add_host(o, "files.example");
    CHECK(mcplink_server_listen_http(server, o, "0", &listener, &err) == MCPLINK_E_INVALID && listener == NULL);
    CHECK(strstr(mcplink_error_message(err), "mcplink_http_options_set_resource_server: server must not be NULL; mcplink_resource_server_new") != NULL);
    mcplink_error_free(err);
    mcplink_http_options_free(o);
}

static void begin_all(void)
{
    mcplink_error_t *err = NULL;
    mcplink_tool_t *tool = mcplink_tool_new("t", NULL);
    mcplink_client_options_t *o = mcplink_client_options_new();
    CHECK(mcplink_set_log(MCPLINK_LOG_WARNING, log_it, NULL, NULL) == MCPLINK_OK);
    server = mcplink_server_new("restricts", "1");
    CHECK_STATUS(mcplink_server_add_tool(server, tool, answer_anyway, NULL, NULL, &err), MCPLINK_OK, err);
    mcplink_tool_free(tool);
    nowhere = mcplink_transport_new(NULL, NULL);
    CHECK(mcplink_transport_set_send(nowhere, send_nowhere) == MCPLINK_OK && mcplink_client_options_set_transport(o, nowhere) == MCPLINK_OK);
    CHECK_STATUS(mcplink_client_start(o, &client, &err), MCPLINK_OK, err);
    mcplink_client_options_free(o);
    good_tokens = mcplink_resource_server_new("https://files.example/mcp", "https://login.example");
    bad_resource_server = mcplink_resource_server_new("https://files.example/mcp", "https://login.example");
    CHECK(mcplink_resource_server_set_verifier(good_tokens, on_authenticate, NULL, NULL) == MCPLINK_OK);
    CHECK(mcplink_resource_server_set_dpop(bad_resource_server, 4711) == MCPLINK_E_INVALID);
    good_oauth = mcplink_oauth_new(), bad_oauth = mcplink_oauth_new();
    CHECK(mcplink_oauth_set_dpop(bad_oauth, 4711) == MCPLINK_E_INVALID);
    good_client = mcplink_oauth_client_new("https://login.example", "me"), bad_oauth_client = mcplink_oauth_client_new("https://login.example", "me");
    CHECK(mcplink_oauth_client_set_secret(bad_oauth_client, NULL) == MCPLINK_E_INVALID);
    CHECK(good_tokens != NULL && bad_resource_server != NULL && good_client != NULL && bad_oauth_client != NULL);
    CHECK(mcplink_resource_server_new("", "https://login.example") == NULL && mcplink_resource_server_new("https://files.example/mcp", " ") == NULL);
    CHECK(mcplink_oauth_client_new(NULL, "me") == NULL && mcplink_oauth_client_new("", "me") == NULL && mcplink_oauth_client_new_for_any("") == NULL);
    one_check_does_not_undo_another();
    an_open_door_stays_shut();
    run_request(NULL);
    run_responder(NULL);
}

static void end_all(void)
{
    mcplink_client_free(client);
    mcplink_transport_free(nowhere);
    mcplink_server_free(server);
    mcplink_resource_server_free(good_tokens);
    mcplink_resource_server_free(bad_resource_server);
    mcplink_oauth_free(good_oauth);
    mcplink_oauth_free(bad_oauth);
    mcplink_oauth_client_free(good_client);
    mcplink_oauth_client_free(bad_oauth_client);
    (void)mcplink_set_log(MCPLINK_LOG_WARNING, NULL, NULL, NULL);
}

#endif
