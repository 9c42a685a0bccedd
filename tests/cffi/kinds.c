/* Objects of the wrong kind, and stale ones: each function refuses them, and reads nothing of them. */
#include "talk.h"

#include "kinds.h"

#include <semaphore.h>
#include <stdatomic.h>

#define COUNT(all) (sizeof(all) / sizeof *(all))

/* An object of each kind; NULL for those that are made elsewhere. */
static void *objects[KINDS];
/* How many mistakes the log told. */
static atomic_int told;
static char last[512];

static void on_log(void *user, mcplink_log_level level, mcplink_str_t target, mcplink_str_t text)
{
    (void)user;
    if (level == MCPLINK_LOG_ERROR && strcmp(target.ptr, "handle") == 0) told++;
    snprintf(last, sizeof last, "%s", text.ptr);
}

/* Passes an object to each function that takes another kind of object. */
static void misuse(int kind)
{
    size_t at;
    for (at = 0; at < COUNT(CALLS); at++) {
        mcplink_error_t *err = NULL;
        mcplink_status_t status;
        int before = told;
        if (CALLS[at].kind == kind) continue;
        status = CALLS[at].call(objects[kind], &err);
        if (CALLS[at].gives_status && status != MCPLINK_E_INVALID && status != MCPLINK_E_UNSUPPORTED) {
            fprintf(stderr, "%s of a %s: %s\n", CALLS[at].name, KIND_NAMES[kind], mcplink_status_name(status));
            exit(1);
        }
        if (!CALLS[at].gives_status && (told == before || strncmp(last, CALLS[at].name, strlen(CALLS[at].name)) != 0)) {
            fprintf(stderr, "%s of a %s: the log has: %s\n", CALLS[at].name, KIND_NAMES[kind], last);
            exit(1);
        }
        if (CALLS[at].has_error && (strstr(mcplink_error_message(err), KIND_NAMES[kind]) == NULL ||
                                    strstr(mcplink_error_message(err), KIND_NAMES[CALLS[at].kind]) == NULL)) {
            fprintf(stderr, "%s of a %s: %s\n", CALLS[at].name, KIND_NAMES[kind], mcplink_error_message(err));
            exit(1);
        }
        mcplink_error_free(err);
    }
}

/* Passes a stale object to each function that takes its kind. */
static void use_stale(int kind, void *object)
{
    size_t at;
    for (at = 0; at < COUNT(CALLS); at++) {
        mcplink_error_t *err = NULL;
        mcplink_status_t status;
        int before = told;
        if (CALLS[at].kind != kind) continue;
        status = CALLS[at].call(object, &err);
        if (CALLS[at].is_first && status != MCPLINK_E_STATE && status != MCPLINK_E_UNSUPPORTED) {
            /* Some functions look at another argument first. */
            if (status != MCPLINK_E_INVALID || CALLS[at].has_error) {
                fprintf(stderr, "%s of a stale %s: %s: %s\n", CALLS[at].name, KIND_NAMES[kind], mcplink_status_name(status), mcplink_error_message(err));
                exit(1);
            }
        }
        CHECK(CALLS[at].gives_status || (told > before && strncmp(last, CALLS[at].name, strlen(CALLS[at].name)) == 0));
        mcplink_error_free(err);
    }
}

/* What a handler borrows: it is misused inside, and kept without mcplink_responder_keep. */
static mcplink_responder_t *responder;
static const mcplink_request_t *request;

static void greet(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)user;
    responder = resp;
    request = req;
    objects[KIND_responder] = resp;
    objects[KIND_request] = (void *)req;
    misuse(KIND_responder);
    misuse(KIND_request);
    objects[KIND_responder] = objects[KIND_request] = NULL;
    CHECK(mcplink_responder_text(resp, "hello", MCPLINK_NUL) == MCPLINK_OK);
}

static mcplink_http_request_t *http_request;

static void authenticate(void *user, mcplink_http_request_t *req)
{
    (void)user;
    http_request = req;
    objects[KIND_http_request] = req;
    misuse(KIND_http_request);
    objects[KIND_http_request] = NULL;
    CHECK(mcplink_http_request_challenge(req, "Bearer") == MCPLINK_OK);
}

static mcplink_guarded_request_t *guarded;

static mcplink_decision guard(void *user, mcplink_guarded_request_t *req)
{
    (void)user;
    if (guarded == NULL) {
        guarded = req;
        objects[KIND_guarded_request] = req;
        misuse(KIND_guarded_request);
        objects[KIND_guarded_request] = NULL;
    }
    return MCPLINK_DECISION_ADMIT;
}

/* A configuration of one server. */
static mcplink_config_t *a_config(void)
{
    char path[] = "/tmp/mcplink-config-XXXXXX";
    static const char text[] = "{\"mcpServers\":{\"a\":{\"command\":\"true\"}}}";
    mcplink_config_t *config = NULL;
    mcplink_error_t *err = NULL;
    int fd = mkstemp(path);
    CHECK(fd >= 0 && write(fd, text, sizeof text - 1) == (ssize_t)sizeof text - 1);
    close(fd);
    CHECK_STATUS(mcplink_config_read(path, NULL, &config, &err), MCPLINK_OK, err);
    unlink(path);
    return config;
}

static mcplink_publication_t *a_publication(mcplink_server_t *server)
{
    mcplink_publication_t *publication = NULL;
    mcplink_error_t *err = NULL;
    CHECK_STATUS(mcplink_server_publish(server, "kinds", NULL, NULL, &publication, &err), MCPLINK_OK, err);
    return publication;
}

static void on_notify(void *user)
{
    (void)user;
}

static mcplink_watcher_t *a_watcher(void)
{
    mcplink_watcher_t *watcher = NULL;
    mcplink_error_t *err = NULL;
    CHECK_STATUS(mcplink_watcher_new("kinds", on_notify, NULL, NULL, &watcher, &err), MCPLINK_OK, err);
    return watcher;
}

static sem_t done;

static void on_done(void *user, mcplink_call_t *call, mcplink_status_t status, const mcplink_result_t *result, const mcplink_error_t *err)
{
    int before;
    (void)user;
    CHECK(status == MCPLINK_OK && err == NULL);
    /* What is borrowed is not freed. */
    before = told;
    mcplink_result_free((mcplink_result_t *)result);
    CHECK(told == before + 1);
    CHECK_TEXT(mcplink_result_text(result), "hello");
    CHECK(mcplink_call_id(call) > 0);
    CHECK(sem_post(&done) == 0);
}

static mcplink_status_t no_head(void *user, const mcplink_http_head_t *head, int64_t length)
{
    (void)user; (void)length;
    objects[KIND_http_head] = (void *)head;
    misuse(KIND_http_head);
    objects[KIND_http_head] = NULL;
    return MCPLINK_OK;
}
static mcplink_status_t no_write(void *user, const void *bytes, size_t len) { (void)user; (void)bytes; (void)len; return MCPLINK_OK; }
static void no_end(void *user, bool complete) { (void)user; (void)complete; }

int main(void)
{
    mcplink_error_t *err = NULL;
    mcplink_server_options_t *server_options = mcplink_server_options_new("kinds", "1");
    mcplink_server_t *server = NULL;
    mcplink_tool_t *tool = mcplink_tool_new("greet", "Greets");
    mcplink_client_options_t *options = mcplink_client_options_new();
    mcplink_http_options_t *http_options = mcplink_http_options_new();
    mcplink_client_t *client = NULL;
    mcplink_session_t *session = NULL;
    mcplink_result_t *result = NULL;
    mcplink_call_t *call = NULL;
    mcplink_pump_t *pump = NULL;
    mcplink_http_t *http = NULL;
    mcplink_json_t *doc = NULL;
    const mcplink_json_t *node;
    struct timespec until;
    end_t ends[2];
    int kind;

    CHECK(sem_init(&done, 0, 0) == 0);
    CHECK(mcplink_set_log(MCPLINK_LOG_ERROR, on_log, NULL, NULL) == MCPLINK_OK);
    CHECK(mcplink_server_options_add_guard(server_options, guard, NULL, NULL) == MCPLINK_OK);
    CHECK_STATUS(mcplink_server_new_with(server_options, &server, &err), MCPLINK_OK, err);
    mcplink_server_options_free(server_options);
    CHECK_STATUS(mcplink_server_add_tool(server, tool, greet, NULL, NULL, &err), MCPLINK_OK, err);
    make_ends(ends);
    CHECK_STATUS(mcplink_server_serve_fds_start(server, END_NUMBER(ends[0]), END_NUMBER(ends[0]), NULL, &session, &err), MCPLINK_OK, err);
    CHECK(mcplink_client_options_set_fds(options, END_NUMBER(ends[1]), END_NUMBER(ends[1])) == MCPLINK_OK);
    CHECK_STATUS(mcplink_client_open(options, &client, &err), MCPLINK_OK, err);
    close_end(ends[0]), close_end(ends[1]);
    CHECK_STATUS(mcplink_client_call_tool(client, "greet", NULL, 0, NULL, &result, &err), MCPLINK_OK, err);
    mcplink_result_free(result);
    CHECK_STATUS(mcplink_client_call_tool_start(client, "greet", NULL, 0, NULL, on_done, NULL, NULL, &call, &err), MCPLINK_OK, err);
    CHECK_STATUS(mcplink_call_wait(call, PATIENCE, NULL, &err), MCPLINK_OK, err);
    CHECK(clock_gettime(CLOCK_REALTIME, &until) == 0);
    until.tv_sec += PATIENCE / 1000;
    CHECK(sem_timedwait(&done, &until) == 0);
    CHECK_STATUS(mcplink_pump_new(&pump, &err), MCPLINK_OK, err);
    CHECK_STATUS(mcplink_json_parse("{\"a\":[1]}", MCPLINK_NUL, &doc, &err), MCPLINK_OK, err);
    CHECK(mcplink_client_list_tools(NULL, NULL, &result, &err) == MCPLINK_E_INVALID && err != NULL);
    CHECK_STATUS(mcplink_client_call_tool(client, "greet", NULL, 0, NULL, &result, NULL), MCPLINK_OK, err);

    /* A stale responder or request is told for certain: nothing of it is read. The answer may come before its handler has returned. */
    for (kind = 0; mcplink_responder_request(responder) != NULL && kind < PATIENCE; kind++) {
        struct timespec moment = { 0, 1000000 };
        nanosleep(&moment, NULL);
    }
    CHECK(kind < PATIENCE);
    told = 0;
    use_stale(KIND_responder, responder);
    use_stale(KIND_request, (void *)request);
    CHECK(guarded != NULL);
    use_stale(KIND_guarded_request, guarded);
    CHECK(mcplink_guarded_request_require_scopes(guarded, "a") == MCPLINK_E_STATE);
    CHECK(mcplink_responder_text(responder, "late", MCPLINK_NUL) == MCPLINK_E_STATE);
    CHECK(mcplink_responder_keep(responder) == NULL);
    CHECK_TEXT(mcplink_request_name(request), "");
    CHECK(mcplink_responder_request(responder) == NULL);

    objects[KIND_client] = client;
    objects[KIND_client_options] = options;
    objects[KIND_server] = server;
    objects[KIND_server_options] = mcplink_server_options_new("a", "1");
    objects[KIND_tool] = tool;
    objects[KIND_prompt] = mcplink_prompt_new("p", NULL);
    objects[KIND_resource] = mcplink_resource_new("x:y", "r");
    objects[KIND_template] = mcplink_template_new("x:{y}", "t");
    objects[KIND_call_options] = mcplink_call_options_new();
    objects[KIND_cancel] = mcplink_cancel_new();
    objects[KIND_writer] = mcplink_writer_new();
    objects[KIND_pump] = pump;
    objects[KIND_json] = doc;
    objects[KIND_result] = result;
    objects[KIND_error] = err;
    objects[KIND_session] = session;
    objects[KIND_call] = call;
    objects[KIND_transport] = mcplink_transport_new(NULL, NULL);
    objects[KIND_cache] = mcplink_cache_new(0, 0);
    objects[KIND_group] = mcplink_group_new();
    objects[KIND_form] = mcplink_form_new("Which?");
    objects[KIND_era_memory] = mcplink_era_memory_new();
    objects[KIND_publication] = a_publication(server);
    objects[KIND_watcher] = a_watcher();
    objects[KIND_config] = a_config();
    objects[KIND_oauth] = mcplink_oauth_new();
    objects[KIND_oauth_client] = mcplink_oauth_client_new("https://a.example", "id");
    objects[KIND_http_options] = http_options;
    if (mcplink_has_feature("http-server")) {
        mcplink_exchange_t *exchange = mcplink_exchange_new("POST", "/mcp", no_head, no_write, no_end, NULL, NULL);
        mcplink_listener_t *listener = NULL;
        mcplink_error_t *none = NULL;
        objects[KIND_exchange] = exchange;
        CHECK(mcplink_http_options_on_authenticate(http_options, authenticate, NULL, NULL) == MCPLINK_OK);
        CHECK_STATUS(mcplink_server_http(server, http_options, &http, &none), MCPLINK_OK, none);
        CHECK_STATUS(mcplink_server_listen_http(server, http_options, "127.0.0.1:0", &listener, &none), MCPLINK_OK, none);
        objects[KIND_http] = http;
        objects[KIND_listener] = listener;
        CHECK(mcplink_exchange_add_header(exchange, "host", "127.0.0.1", MCPLINK_NUL) == MCPLINK_OK);
        CHECK_STATUS(mcplink_http_serve(http, exchange, &none), MCPLINK_OK, none);
        CHECK(http_request != NULL);
        use_stale(KIND_http_request, http_request);
        /* A kept request is not admitted later. */
        CHECK(mcplink_http_request_admit(http_request, "ada") == MCPLINK_E_STATE);
        CHECK_TEXT(mcplink_http_request_method(http_request), "");
        objects[KIND_resource_server] = mcplink_resource_server_new("https://a.example/mcp", "https://b.example");
    }
    for (kind = 0; kind < KINDS; kind++) {
        if (objects[kind] != NULL) misuse(kind);
    }
    /* Whatever an object is for, if it is wrong it is not taken as none. */
    {
        mcplink_error_t *why = NULL;
        mcplink_result_t *none = NULL;
        CHECK(mcplink_client_call_tool(client, "greet", NULL, 0, (const mcplink_call_options_t *)tool, &none, &why) == MCPLINK_E_INVALID);
        CHECK(strstr(mcplink_error_message(why), "options must be a mcplink_call_options_t, but is a mcplink_tool_t") != NULL);
        mcplink_error_free(why);
    }
    /* A node of a document is not freed. */
    node = mcplink_json_get(doc, "a");
    told = 0;
    mcplink_json_free((mcplink_json_t *)node);
    CHECK(told == 1 && strstr(last, "borrowed") != NULL && mcplink_json_len(node) == 1);

    /* All objects still work, and are freed once. */
    CHECK_TEXT(mcplink_result_text(result), "hello");
    mcplink_error_free(err);
    err = NULL;
    mcplink_result_free(result);
    CHECK_STATUS(mcplink_client_call_tool(client, "greet", NULL, 0, NULL, &result, &err), MCPLINK_OK, err);
    mcplink_result_free(result);
    mcplink_json_free(doc);
    mcplink_call_free(call);
    use_stale(KIND_call, call);
    mcplink_client_free(client);
    use_stale(KIND_client, client);
    mcplink_session_free(session);
    use_stale(KIND_session, session);
    mcplink_publication_free(objects[KIND_publication]);
    use_stale(KIND_publication, objects[KIND_publication]);
    mcplink_watcher_free(objects[KIND_watcher]);
    mcplink_listener_free(objects[KIND_listener]);
    mcplink_http_free(http);
    mcplink_exchange_free(objects[KIND_exchange]);
    if (http != NULL) {
        use_stale(KIND_listener, objects[KIND_listener]);
        use_stale(KIND_http, http);
        use_stale(KIND_exchange, objects[KIND_exchange]);
    }
    mcplink_server_free(server);
    use_stale(KIND_server, server);
    mcplink_pump_free(pump);
    use_stale(KIND_pump, pump);
    mcplink_transport_free(objects[KIND_transport]);
    use_stale(KIND_transport, objects[KIND_transport]);
    mcplink_cancel_free(objects[KIND_cancel]);
    use_stale(KIND_cancel, objects[KIND_cancel]);
    mcplink_config_free(objects[KIND_config]);
    mcplink_cache_free(objects[KIND_cache]);
    mcplink_group_free(objects[KIND_group]);
    use_stale(KIND_group, objects[KIND_group]);
    mcplink_form_free(objects[KIND_form]);
    use_stale(KIND_cache, objects[KIND_cache]);
    mcplink_era_memory_free(objects[KIND_era_memory]);
    use_stale(KIND_era_memory, objects[KIND_era_memory]);
    mcplink_client_options_free(options);
    mcplink_server_options_free(objects[KIND_server_options]);
    mcplink_tool_free(tool);
    mcplink_prompt_free(objects[KIND_prompt]);
    mcplink_resource_free(objects[KIND_resource]);
    mcplink_template_free(objects[KIND_template]);
    mcplink_call_options_free(objects[KIND_call_options]);
    mcplink_writer_free(objects[KIND_writer]);
    mcplink_oauth_free(objects[KIND_oauth]);
    mcplink_oauth_client_free(objects[KIND_oauth_client]);
    mcplink_http_options_free(http_options);
    mcplink_resource_server_free(objects[KIND_resource_server]);
    CHECK(mcplink_set_log(MCPLINK_LOG_ERROR, NULL, NULL, NULL) == MCPLINK_OK);
    printf("%zu calls\n", COUNT(CALLS));
    return 0;
}
