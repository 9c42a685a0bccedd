/* What ends, ends exactly once: user data, calls, handles that are freed in their own callbacks or with many threads inside. */
#include "guests/guest.h"
#include "stubs.h"

#include <stdatomic.h>

static atomic_int ended;

static void count_end(void *user) { ended += *(int *)user; }

static int one = 1, hundred = 100;

#define ENDED(number) CHECK(atomic_exchange(&ended, 0) == (number))

static void on_handler(void *user, const mcplink_request_t *request, mcplink_responder_t *responder) { (void)user, (void)request, (void)responder; }
static void on_event(void *user, mcplink_event event, const mcplink_json_t *params) { (void)user, (void)event, (void)params; }
static void on_server_event(void *user, mcplink_server_event event, const mcplink_json_t *params) { (void)user, (void)event, (void)params; }
static void on_log(void *user, mcplink_log_level level, mcplink_str_t target, mcplink_str_t text) { (void)user, (void)level, (void)target, (void)text; }
static void on_line(void *user, mcplink_str_t line) { (void)user, (void)line; }
static void on_progress(void *user, double done, double total, mcplink_str_t message) { (void)user, (void)done, (void)total, (void)message; }
static void on_thread(void *user, mcplink_str_t name) { (void)user, (void)name; }
static void on_notify(void *user) { (void)user; }
static mcplink_status_t on_bearer(void *user, mcplink_output_t *token) { (void)user, (void)token; return MCPLINK_OK; }
static void on_login(void *user, mcplink_login_t *login) { (void)user, (void)login; }
static mcplink_status_t on_statement(void *user, mcplink_str_t audience, mcplink_output_t *token) { (void)user, (void)audience, (void)token; return MCPLINK_OK; }
static mcplink_status_t on_load(void *user, mcplink_str_t name, mcplink_output_t *token) { return on_statement(user, name, token); }
static mcplink_status_t on_save(void *user, mcplink_str_t name, mcplink_str_t content) { (void)user, (void)name, (void)content; return MCPLINK_OK; }
static mcplink_status_t on_remove(void *user, mcplink_str_t name) { (void)user, (void)name; return MCPLINK_OK; }
static void on_authenticate(void *user, mcplink_http_request_t *request) { (void)user, (void)request; }
static mcplink_status_t on_begin(void *user, const mcplink_http_head_t *head, int64_t length) { (void)user, (void)head, (void)length; return MCPLINK_OK; }
static mcplink_status_t on_write(void *user, const void *bytes, size_t len) { (void)user, (void)bytes, (void)len; return MCPLINK_OK; }
static void on_end(void *user, bool complete) { (void)user, (void)complete; }

/* Registered; registered anew, which ends the first; then the owner goes, which ends the second. A function that is not built in ends it too. */
#define REPLACED(set, owner_free)                                                         \
    do {                                                                                  \
        mcplink_status_t st_first, st_second;                                             \
        int *user = &one;                                                                 \
        st_first = set;                                                                   \
        CHECK(st_first == MCPLINK_OK || st_first == MCPLINK_E_UNSUPPORTED);               \
        ENDED(st_first == MCPLINK_OK ? 0 : 1);                                            \
        user = &hundred;                                                                  \
        st_second = set;                                                                  \
        CHECK(st_second == st_first);                                                     \
        ENDED(st_first == MCPLINK_OK ? 1 : 100);                                          \
        owner_free;                                                                       \
        ENDED(st_first == MCPLINK_OK ? 100 : 0);                                          \
    } while (0)

static void of_options(void)
{
    mcplink_client_options_t *o;
    mcplink_server_options_t *s;
    mcplink_call_options_t *c;
    mcplink_http_options_t *h;
    mcplink_oauth_t *a;
    mcplink_oauth_client_t *registered = mcplink_oauth_client_new_for_any("x");
    mcplink_resource_server_t *tokens;
#define CLIENT(set) o = mcplink_client_options_new(); REPLACED(set, mcplink_client_options_free(o))
    CLIENT(mcplink_client_options_on_elicit(o, on_handler, user, count_end));
    CLIENT(mcplink_client_options_on_elicit_url(o, on_handler, user, count_end));
    CLIENT(mcplink_client_options_on_sample(o, on_handler, user, count_end));
    CLIENT(mcplink_client_options_on_list_roots(o, on_handler, user, count_end));
    CLIENT(mcplink_client_options_on_request(o, "com.example/x", on_handler, user, count_end));
    CLIENT(mcplink_client_options_on_notification(o, "notifications/x", on_event, user, count_end));
    CLIENT(mcplink_client_options_on_event(o, on_event, user, count_end));
    CLIENT(mcplink_client_options_on_log(o, MCPLINK_LOG_DEBUG, on_log, user, count_end));
    CLIENT(mcplink_client_options_set_stderr(o, MCPLINK_STDERR_CAPTURE, on_line, user, count_end));
    CLIENT(mcplink_client_options_set_bearer_hook(o, on_bearer, user, count_end));
    CLIENT(mcplink_client_options_set_http_client(o, on_fetch, user, count_end));
    CLIENT(mcplink_client_options_set_validator(o, on_schema_compile, on_schema_check, on_schema_free, user, count_end));
    CLIENT(mcplink_client_options_on_thread(o, on_thread, on_thread, user, count_end));
    s = mcplink_server_options_new("x", "1");
    REPLACED(mcplink_server_options_on_session(s, on_server_event, user, count_end), mcplink_server_options_free(s));
    s = mcplink_server_options_new("x", "1");
    REPLACED(mcplink_server_options_on_event(s, on_server_event, user, count_end), mcplink_server_options_free(s));
    s = mcplink_server_options_new("x", "1");
    REPLACED(mcplink_server_options_on_thread(s, on_thread, on_thread, user, count_end), mcplink_server_options_free(s));
#define OAUTH(set) a = mcplink_oauth_new(); REPLACED(set, mcplink_oauth_free(a))
    OAUTH(mcplink_oauth_set_browser(a, 0, "", NULL, on_login, user, count_end));
    OAUTH(mcplink_oauth_set_user_agent(a, "http://127.0.0.1/x", on_login, user, count_end));
    OAUTH(mcplink_oauth_set_workload(a, NULL, on_statement, user, count_end));
    OAUTH(mcplink_oauth_set_enterprise(a, "https://x", registered, MCPLINK_SUBJECT_SAML2, on_bearer, user, count_end));
    OAUTH(mcplink_oauth_set_store(a, on_load, on_save, on_remove, user, count_end));
    OAUTH(mcplink_oauth_set_http_client(a, on_fetch, user, count_end));
    OAUTH(mcplink_oauth_set_dpop_signer(a, "ES256", "{\"kty\":\"EC\"}", MCPLINK_NUL, on_sign, user, count_end));
    REPLACED(mcplink_oauth_client_set_signer(registered, "ES256", NULL, on_sign, user, count_end), mcplink_oauth_client_free(registered));
    registered = mcplink_oauth_client_new_for_any("x");
    OAUTH(mcplink_oauth_on_log(a, MCPLINK_LOG_DEBUG, on_log, user, count_end));
    mcplink_oauth_client_free(registered);
    tokens = mcplink_resource_server_new("https://x", "https://x");
    REPLACED(mcplink_resource_server_set_verifier(tokens, on_authenticate, user, count_end), mcplink_resource_server_free(tokens));
    s = mcplink_server_options_new("x", "1");
    REPLACED(mcplink_server_options_on_log(s, MCPLINK_LOG_DEBUG, on_log, user, count_end), mcplink_server_options_free(s));
    s = mcplink_server_options_new("x", "1");
    REPLACED(mcplink_server_options_set_state_store(s, on_state_claim, user, count_end), mcplink_server_options_free(s));
    s = mcplink_server_options_new("x", "1");
    REPLACED(mcplink_server_options_set_event_bus(s, on_event_publish, user, count_end), mcplink_server_options_free(s));
    s = mcplink_server_options_new("x", "1");
    REPLACED(mcplink_server_options_set_record_store(s, on_record_read, on_record_write, on_record_remove, user, count_end),
             mcplink_server_options_free(s));
    s = mcplink_server_options_new("x", "1");
    REPLACED(mcplink_server_options_set_validator(s, on_schema_compile, on_schema_check, on_schema_free, user, count_end), mcplink_server_options_free(s));
    s = mcplink_server_options_new("x", "1");
    REPLACED(mcplink_server_options_on_method(s, "com.example/x", on_handler, user, count_end), mcplink_server_options_free(s));
    c = mcplink_call_options_new();
    REPLACED(mcplink_call_options_on_progress(c, on_progress, user, count_end), mcplink_call_options_free(c));
    h = mcplink_http_options_new();
    REPLACED(mcplink_http_options_set_event_store(h, on_event_append, on_event_replay, on_event_forget, user, count_end), mcplink_http_options_free(h));
    h = mcplink_http_options_new();
    REPLACED(mcplink_http_options_on_authenticate(h, on_authenticate, user, count_end), mcplink_http_options_free(h));
    REPLACED(mcplink_set_log(MCPLINK_LOG_DEBUG, on_log, user, count_end), mcplink_set_log(0, NULL, NULL, NULL));
    mcplink_transport_free(mcplink_transport_new(&one, count_end));
    ENDED(1);
    mcplink_exchange_free(mcplink_exchange_new("GET", "/mcp", on_begin, on_write, on_end, &one, count_end));
    ENDED(1);
}

static void of_pumps(void)
{
    mcplink_pump_t *pump = NULL;
    CHECK(mcplink_pump_new(&pump, NULL) == MCPLINK_OK);
    REPLACED(mcplink_pump_set_notify(pump, on_notify, user, count_end), mcplink_pump_free(pump));
}

/* Added; the same again, which is an error or replaces, and ends one of the two either way; removed; added and left to the server. */
#define ADDED(add, remove)                                                                \
    do {                                                                                  \
        mcplink_server_t *server = mcplink_server_new("x", "1");                          \
        int *user = &one, first;                                                          \
        CHECK(add == MCPLINK_OK);                                                         \
        ENDED(0);                                                                         \
        user = &hundred;                                                                  \
        first = add == MCPLINK_OK ? 1 : 100;                                              \
        ENDED(first);                                                                     \
        if (remove == MCPLINK_OK) {                                                       \
            ENDED(101 - first);                                                           \
            user = &one;                                                                  \
            CHECK(add == MCPLINK_OK);                                                     \
            first = 100;                                                                  \
        }                                                                                 \
        mcplink_server_free(server);                                                      \
        ENDED(101 - first);                                                               \
    } while (0)

static void of_servers(void)
{
    mcplink_tool_t *tool = mcplink_tool_new("x", "x"), *nameless = mcplink_tool_new("x", "x");
    mcplink_resource_t *resource = mcplink_resource_new("file:///x", "x");
    mcplink_template_t *template = mcplink_template_new("file:///{x}", "x");
    mcplink_prompt_t *prompt = mcplink_prompt_new("x", "x");
    mcplink_server_t *refusing = mcplink_server_new("x", "1");
    ADDED(mcplink_server_add_tool(server, tool, on_handler, user, count_end, NULL), mcplink_server_remove_tool(server, "x"));
    ADDED(mcplink_server_add_resource(server, resource, on_handler, user, count_end, NULL), mcplink_server_remove_resource(server, "file:///x"));
    ADDED(mcplink_server_add_template(server, template, on_handler, user, count_end, NULL), mcplink_server_remove_template(server, "file:///{x}"));
    ADDED(mcplink_server_add_prompt(server, prompt, on_handler, user, count_end, NULL), mcplink_server_remove_prompt(server, "x"));
    ADDED(mcplink_server_add_completer(server, MCPLINK_PRIMITIVE_PROMPT, "x", "y", on_handler, user, count_end, NULL), MCPLINK_E_STATE);
    /* Wrong arguments beside a good server. */
    CHECK(mcplink_server_add_tool(refusing, NULL, on_handler, &one, count_end, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_server_add_tool(refusing, nameless, NULL, &one, count_end, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_server_add_completer(refusing, 99, "x", "y", on_handler, &one, count_end, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_server_add_completer(refusing, MCPLINK_PRIMITIVE_PROMPT, "\xff", "y", on_handler, &one, count_end, NULL) == MCPLINK_E_INVALID);
    ENDED(4);
    mcplink_server_free(refusing);
    ENDED(0);
    mcplink_tool_free(tool), mcplink_tool_free(nameless), mcplink_resource_free(resource), mcplink_template_free(template);
    mcplink_prompt_free(prompt);
}

/* A client and a server in this program, and the responders that its tool "keep" keeps. */
static mcplink_server_t *server;
static mcplink_session_t *session;
static mcplink_client_t *client;
static mcplink_responder_t *kept[128];
/* How many elements of "kept" handlers have reserved, and how many of these are filled. */
static atomic_int reserved, keeping;

static void tool_keep(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    int at = atomic_fetch_add(&reserved, 1);
    (void)user, (void)request;
    CHECK(at < 128);
    kept[at] = mcplink_responder_keep(responder);
    CHECK(kept[at] != NULL);
    /* Counted last: whoever waits for the count finds the responder. */
    atomic_fetch_add(&keeping, 1);
}

static void tool_progress(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    (void)user, (void)request;
    mcplink_responder_progress(responder, 1, 2, "half");
    mcplink_responder_text(responder, "done", MCPLINK_NUL);
}

static void open_both(mcplink_client_options_t *o)
{
    mcplink_error_t *err = NULL;
    int ends[2];
    server = guest_server();
    add(server, "keep", tool_keep, NULL);
    add(server, "progress", tool_progress, NULL);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    CHECK_STATUS(mcplink_server_serve_fds_start(server, ends[0], ends[0], NULL, &session, &err), MCPLINK_OK, err);
    if (o == NULL) o = mcplink_client_options_new();
    CHECK(mcplink_client_options_set_fds(o, ends[1], ends[1]) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_timeout_ms(o, PATIENCE) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_max_started(o, 128) == MCPLINK_OK);
    CHECK_STATUS(mcplink_client_open(o, &client, &err), MCPLINK_OK, err);
    mcplink_client_options_free(o);
    close(ends[0]), close(ends[1]);
}

static void close_both(void)
{
    int at;
    mcplink_client_free(client);
    mcplink_session_free(session);
    mcplink_server_free(server);
    for (at = 0; at < keeping; at++) mcplink_responder_free(kept[at]);
    reserved = keeping = 0;
    client = NULL, session = NULL, server = NULL;
}

/* What a client and a server were given ends with them, and not with the options. */
static void of_open_handles(void)
{
    mcplink_client_options_t *o = mcplink_client_options_new();
    CHECK(mcplink_client_options_on_event(o, on_event, &one, count_end) == MCPLINK_OK);
    CHECK(mcplink_client_options_on_elicit(o, on_handler, &one, count_end) == MCPLINK_OK);
    CHECK(mcplink_client_options_on_notification(o, "notifications/x", on_event, &one, count_end) == MCPLINK_OK);
    open_both(o);
    ENDED(0);
    mcplink_client_free(client);
    client = NULL;
    ENDED(3);
    close_both();
    ENDED(0);
}

static atomic_int dones;

static void on_done(void *user, mcplink_call_t *call, mcplink_status_t status, const mcplink_result_t *result, const mcplink_error_t *err)
{
    (void)user, (void)call;
    CHECK((status >= 0) == (result != NULL) && (status < 0) == (err != NULL));
    dones++;
}

static void start(const char *tool, mcplink_done_fn done, mcplink_call_t **call)
{
    mcplink_error_t *err = NULL;
    CHECK_STATUS(mcplink_client_call_tool_start(client, tool, NULL, 0, NULL, done, &one, count_end, call, &err), MCPLINK_OK, err);
}

/* A started call: wrong arguments, an answer, cancelling, and the end of its client. */
static void of_calls(void)
{
    mcplink_call_t *call = NULL;
    open_both(NULL);
    CHECK(mcplink_client_call_tool_start(client, NULL, NULL, 0, NULL, on_done, &one, count_end, &call, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_client_call_tool_start(client, "x", "{", MCPLINK_NUL, NULL, on_done, &one, count_end, &call, NULL) == MCPLINK_E_INVALID);
    CHECK(call == NULL && dones == 0);
    ENDED(2);
    start("greet", on_done, NULL);
    UNTIL(ended == 1);
    CHECK(dones == 1);
    ENDED(1);
    start("keep", on_done, &call);
    CHECK(mcplink_call_cancel(call, NULL) == MCPLINK_OK);
    UNTIL(ended == 1);
    CHECK(dones == 2 && mcplink_call_wait(call, PATIENCE, NULL, NULL) < 0);
    ENDED(1);
    mcplink_call_free(call);
    start("keep", on_done, &call);
    mcplink_call_free(call);
    CHECK(dones == 2);
    mcplink_client_free(client);
    client = NULL;
    CHECK(dones == 3);
    ENDED(1);
    close_both();
    dones = 0;
}

/* Handles that are freed in callbacks of their own. */
static atomic_int freed;

static void free_client_when_done(void *user, mcplink_call_t *call, mcplink_status_t status, const mcplink_result_t *result, const mcplink_error_t *err)
{
    (void)user, (void)call, (void)status, (void)result, (void)err;
    mcplink_client_free(client);
    freed++;
}

static void free_client_on_event(void *user, mcplink_event event, const mcplink_json_t *params)
{
    (void)user, (void)params;
    if (event != MCPLINK_EVENT_TOOLS_CHANGED || freed > 0) return;
    mcplink_client_free(client);
    freed++;
}

static void free_client_on_progress(void *user, double done, double total, mcplink_str_t message)
{
    (void)user, (void)done, (void)total, (void)message;
    mcplink_client_free(client);
    freed++;
}

static void tool_free_server(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    (void)user, (void)request, (void)responder;
    mcplink_server_free(server);
    freed++;
}

static void tool_free_session(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    (void)user, (void)request, (void)responder;
    mcplink_session_free(session);
    freed++;
}

static void free_call_when_done(void *user, mcplink_call_t *call, mcplink_status_t status, const mcplink_result_t *result, const mcplink_error_t *err)
{
    (void)user, (void)status, (void)result, (void)err;
    CHECK(call == NULL || mcplink_call_is_done(call));
    freed++;
}

static void in_own_callbacks(void)
{
    mcplink_client_options_t *o;
    mcplink_call_options_t *c;
    mcplink_call_t *call = NULL;
    mcplink_tool_t *tool = mcplink_tool_new("new", "x");
    mcplink_error_t *err = NULL;
    mcplink_result_t *result = NULL;
    int i;

    open_both(NULL);
    start("greet", free_client_when_done, NULL);
    UNTIL(freed == 1 && ended == 1);
    client = NULL;
    close_both();
    ENDED(1);
    freed = 0;

    /* With another call going on, which ends as closed. */
    open_both(NULL);
    start("keep", on_done, &call);
    UNTIL(keeping == 1);
    start("greet", free_client_when_done, NULL);
    UNTIL(freed == 1 && dones == 1 && ended == 2);
    mcplink_call_free(call);
    client = NULL;
    close_both();
    ENDED(2);
    freed = 0;
    dones = 0;

    o = mcplink_client_options_new();
    CHECK(mcplink_client_options_on_event(o, free_client_on_event, &one, count_end) == MCPLINK_OK);
    open_both(o);
    CHECK_STATUS(mcplink_client_listen(client, "{\"toolsListChanged\":true}", MCPLINK_NUL, NULL, &result, &err), MCPLINK_OK, err);
    mcplink_result_free(result);
    result = NULL;
    CHECK_STATUS(mcplink_server_add_tool(server, tool, on_handler, &one, count_end, &err), MCPLINK_OK, err);
    UNTIL(freed == 1 && ended == 1);
    client = NULL;
    close_both();
    ENDED(2);
    freed = 0;

    open_both(NULL);
    c = mcplink_call_options_new();
    CHECK(mcplink_call_options_on_progress(c, free_client_on_progress, &one, count_end) == MCPLINK_OK);
    CHECK(mcplink_client_call_tool(client, "progress", NULL, 0, c, &result, NULL) <= MCPLINK_OK);
    mcplink_result_free(result);
    mcplink_call_options_free(c);
    UNTIL(freed == 1 && ended == 1);
    client = NULL;
    close_both();
    ENDED(1);
    freed = 0;

    for (i = 0; i < 2; i++) {
        open_both(NULL);
        add(server, "free", i == 0 ? tool_free_server : tool_free_session, NULL);
        /* It may be answered or ended by the closing: it is not left waiting. */
        CHECK(mcplink_client_call_tool(client, "free", NULL, 0, NULL, &result, NULL) < 0 && result == NULL);
        UNTIL(freed == 1);
        if (i == 0) server = NULL;
        else session = NULL;
        close_both();
        freed = 0;
    }

    open_both(NULL);
    start("greet", free_call_when_done, &call);
    UNTIL(ended == 1);
    mcplink_call_free(call);
    close_both();
    ENDED(1);
    freed = 0;
    mcplink_tool_free(tool);
}

/* Handles that are freed while their own thread is in the middle of a function of theirs, by what that function has called back. */
static mcplink_pump_t *used_pump;
static mcplink_call_t *used_call;

static void free_all_when_done(void *user, mcplink_call_t *call, mcplink_status_t status, const mcplink_result_t *result, const mcplink_error_t *err)
{
    (void)user, (void)call, (void)status, (void)result, (void)err;
    mcplink_client_free(client);
    mcplink_pump_free(used_pump);
    freed++;
}

static void free_pump(void *user)
{
    count_end(user);
    mcplink_pump_free(used_pump);
    freed++;
}

static void free_call_when_asked(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    (void)user, (void)request;
    mcplink_call_free(used_call);
    freed++;
    CHECK(mcplink_responder_json(responder, "{\"action\":\"decline\"}", MCPLINK_NUL) == MCPLINK_OK);
}

static void tool_ask(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    static const char form[] = "{\"message\":\"m\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}";
    (void)user, (void)request;
    if (mcplink_responder_ask(responder, "k", "elicitation/create", form, MCPLINK_NUL, NULL, NULL) == MCPLINK_PENDING) return;
    mcplink_responder_text(responder, "asked", MCPLINK_NUL);
}

static void open_pumped(mcplink_client_options_t *o)
{
    CHECK(mcplink_pump_new(&used_pump, NULL) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_pump(o, used_pump) == MCPLINK_OK);
    open_both(o);
}

static void in_functions_of_theirs(void)
{
    mcplink_client_options_t *o;
    mcplink_result_t *result = NULL;

    /* The pump, by what it dispatches. */
    open_pumped(mcplink_client_options_new());
    CHECK(mcplink_pump_set_notify(used_pump, on_notify, &one, count_end) == MCPLINK_OK);
    start("greet", free_all_when_done, NULL);
    UNTIL((mcplink_pump_dispatch(used_pump, 64), freed == 1));
    UNTIL(ended == 2);
    client = NULL;
    close_both();
    ENDED(2);
    freed = 0;

    /* The pump, by the end of what it was given. */
    CHECK(mcplink_pump_new(&used_pump, NULL) == MCPLINK_OK);
    CHECK(mcplink_pump_set_notify(used_pump, on_notify, &one, free_pump) == MCPLINK_OK);
    CHECK(mcplink_pump_set_notify(used_pump, NULL, NULL, NULL) == MCPLINK_OK);
    CHECK(freed == 1);
    ENDED(1);
    freed = 0;

    /* A call that is waited for, by what its server asks meanwhile. */
    o = mcplink_client_options_new();
    CHECK(mcplink_client_options_on_elicit(o, free_call_when_asked, &one, count_end) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_revisions(o, "2025-11-25") == MCPLINK_OK);
    open_pumped(o);
    add(server, "ask", tool_ask, NULL);
    start("ask", on_done, &used_call);
    CHECK(mcplink_call_wait(used_call, MCPLINK_FOREVER, &result, NULL) <= MCPLINK_OK);
    CHECK(freed == 1);
    mcplink_result_free(result);
    close_both();
    mcplink_pump_free(used_pump);
    CHECK(dones == 1);
    ENDED(2);
    freed = 0;
    dones = 0;
}

/* A session that was closed is over for its client, also while somebody still holds the handle of it. */
static void closed_but_held(void)
{
    open_both(NULL);
    CHECK(mcplink_session_close(session) == MCPLINK_OK);
    UNTIL(mcplink_client_state(client) == MCPLINK_CLIENT_CLOSED);
    close_both();
}

/* Many threads wait inside of a client when it is freed: each is told. */
enum { CROWD = 100 };
static atomic_int told;

static void *waits_inside(void *unused)
{
    mcplink_result_t *result = NULL;
    mcplink_error_t *err = NULL;
    (void)unused;
    CHECK_STATUS(mcplink_client_call_tool(client, "keep", NULL, 0, NULL, &result, &err), MCPLINK_E_CLOSED, err);
    CHECK(result == NULL);
    told++;
    return NULL;
}

static void with_a_crowd_inside(void)
{
    pthread_t threads[CROWD];
    int i;
    open_both(NULL);
    for (i = 0; i < CROWD; i++) CHECK(pthread_create(&threads[i], NULL, waits_inside, NULL) == 0);
    UNTIL(keeping == CROWD);
    mcplink_client_free(client);
    for (i = 0; i < CROWD; i++) pthread_join(threads[i], NULL);
    CHECK(told == CROWD);
    client = NULL;
    close_both();
    told = 0;
}

/* A responder outlives everything that it belonged to. */
static void a_responder_alone(void)
{
    open_both(NULL);
    start("keep", on_done, NULL);
    UNTIL(keeping == 1);
    mcplink_session_free(session);
    mcplink_server_free(server);
    session = NULL, server = NULL;
    CHECK_TEXT(mcplink_request_name(mcplink_responder_request(kept[0])), "keep");
    CHECK(mcplink_responder_is_cancelled(kept[0]));
    CHECK(mcplink_responder_text(kept[0], "late", MCPLINK_NUL) == MCPLINK_E_CLOSED);
    close_both();
    CHECK(dones == 1);
    ENDED(1);
    dones = 0;
}

/* An answer, a cancellation and the end of the handle race: the call ends once. */
static pthread_barrier_t begin, over;
static mcplink_call_t *raced;
static volatile int racing = 1;

static void *cancels(void *unused)
{
    (void)unused;
    for (;;) {
        pthread_barrier_wait(&begin);
        if (!racing) return NULL;
        mcplink_call_cancel(raced, "race");
        pthread_barrier_wait(&over);
    }
}

static void *answers(void *unused)
{
    (void)unused;
    for (;;) {
        pthread_barrier_wait(&begin);
        if (!racing) return NULL;
        if (keeping == 1) mcplink_responder_text(kept[0], "race", MCPLINK_NUL);
        pthread_barrier_wait(&over);
    }
}

static void races(void)
{
    const char *given = getenv("MCPLINK_RACES");
    int rounds = given ? atoi(given) : 10000, round;
    pthread_t first, second;
    pthread_barrier_init(&begin, NULL, 3);
    pthread_barrier_init(&over, NULL, 3);
    CHECK(pthread_create(&first, NULL, cancels, NULL) == 0 && pthread_create(&second, NULL, answers, NULL) == 0);
    open_both(NULL);
    for (round = 0; round < rounds; round++) {
        start("keep", on_done, &raced);
        UNTIL(keeping == 1);
        pthread_barrier_wait(&begin);
        /* Now and then the client goes at the same time, or only the waiting does. */
        if (round % 16 == 5) mcplink_client_free(client);
        else if (round % 16 == 6) mcplink_client_close(client, PATIENCE, NULL);
        else mcplink_call_wait(raced, (uint32_t)(round % 3), NULL, NULL);
        pthread_barrier_wait(&over);
        UNTIL(dones == 1 && ended == 1);
        mcplink_call_free(raced);
        ENDED(1);
        dones = 0;
        if (round % 16 == 5) client = NULL;
        if (round % 16 == 5 || round % 16 == 6) {
            close_both();
            open_both(NULL);
        } else {
            mcplink_responder_free(kept[0]);
            reserved = keeping = 0;
        }
    }
    racing = 0;
    pthread_barrier_wait(&begin);
    pthread_join(first, NULL), pthread_join(second, NULL);
    close_both();
    CHECK(dones == 0);
    ENDED(0);
    pthread_barrier_destroy(&begin), pthread_barrier_destroy(&over);
}

int main(void)
{
    state_t before;
    state_take(&before);
    of_options();
    of_pumps();
    of_servers();
    of_open_handles();
    of_calls();
    in_own_callbacks();
    in_functions_of_theirs();
    closed_but_held();
    with_a_crowd_inside();
    a_responder_alone();
    races();
    state_same(&before);
    return 0;
}
