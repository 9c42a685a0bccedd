/* Serving over HTTP: a listener of the library's, and the endpoint in a web server of the host's. */
#include "talk.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

static int destroyed;
static void ended(void *user) { destroyed += *(int *)user; }

static void greet(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    char line[128];
    mcplink_str_t who = mcplink_request_principal(req);
    (void)user;
    snprintf(line, sizeof line, "hello %.*s", (int)who.len, who.ptr);
    mcplink_responder_text(resp, line, MCPLINK_NUL);
}

static mcplink_responder_t *kept;
static void keep(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)user;
    (void)req;
    kept = mcplink_responder_keep(resp);
}

static void check(void *user, mcplink_http_request_t *request)
{
    mcplink_str_t token = mcplink_http_request_header(request, "authorization");
    CHECK(*(int *)user == 1);
    CHECK_TEXT(mcplink_http_request_method(request), "POST");
    CHECK_TEXT(mcplink_http_request_target(request), "/tools");
    CHECK_TEXT(mcplink_http_request_header(request, "X-Nothing"), "");
    if (strcmp(token.ptr, "Bearer good") == 0) {
        CHECK(mcplink_http_request_admit(request, "alice") == MCPLINK_OK);
    } else if (token.len == 0) {
        CHECK(mcplink_http_request_challenge(request, "Bearer") == MCPLINK_OK);
    }
}

#define META "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define FIELDS "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n"

/* Sends a request on a connection of its own, and gives the whole response. */
static const char *sent(uint16_t port, const char *head, const char *body)
{
    static char response[1 << 14];
    struct sockaddr_in address;
    size_t len = 0;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    CHECK(send(fd, head, strlen(head), MSG_NOSIGNAL) == (ssize_t)strlen(head) && send(fd, body, strlen(body), MSG_NOSIGNAL) == (ssize_t)strlen(body));
    for (;;) {
        struct pollfd p;
        ssize_t got;
        p.fd = fd;
        p.events = POLLIN;
        CHECK(poll(&p, 1, PATIENCE) == 1);
        got = read(fd, response + len, sizeof response - 1 - len);
        if (got <= 0) break;
        len += (size_t)got;
    }
    response[len] = 0;
    close(fd);
    return response;
}

/* Posts a call of a tool. */
static const char *post(uint16_t port, const char *path, const char *fields, const char *tool)
{
    char body[512], head[1024];
    snprintf(body, sizeof body, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\",\"arguments\":{}," META "}}", tool);
    snprintf(head, sizeof head,
             "POST %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n" FIELDS
             "Mcp-Name: %s\r\nContent-Length: %zu\r\n%s\r\n",
             path, tool, strlen(body), fields);
    return sent(port, head, body);
}

/* Gets a page. */
static const char *get(uint16_t port, const char *path)
{
    char head[256];
    snprintf(head, sizeof head, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path);
    return sent(port, head, "");
}

static void listens(mcplink_server_t *server)
{
    mcplink_error_t *err = NULL;
    mcplink_http_options_t *options = mcplink_http_options_new();
    mcplink_listener_t *listener = NULL, *second = (mcplink_listener_t *)1;
    mcplink_json_t *doc = NULL;
    char address[64];
    uint16_t port;
    int one = 1, ten = 10;

    REFUSES(http_options, mcplink_http_options_new(), mcplink_http_options_set_path(it, "no slash"));
    CHECK(mcplink_http_options_set_path(options, "/tools") == MCPLINK_OK);
    CHECK(mcplink_http_options_set_limit(options, MCPLINK_HTTP_LIMIT_WORKERS, 4) == MCPLINK_OK && mcplink_http_options_set_limit(options, MCPLINK_HTTP_LIMIT_KEPT_BYTES, 1 << 20) == MCPLINK_OK && mcplink_http_options_set_limit(options, MCPLINK_HTTP_LIMIT_UNSENT_BYTES, 1 << 24) == MCPLINK_OK);
    REFUSES(http_options, mcplink_http_options_new(), mcplink_http_options_set_limit(it, 99, 1));
    CHECK(mcplink_http_options_set_limit(options, MCPLINK_HTTP_LIMIT_FIRST_BYTE_MS, 5000) == MCPLINK_OK && mcplink_http_options_set_limit(options, MCPLINK_HTTP_LIMIT_PART_PERCENT, 40) == MCPLINK_OK && mcplink_http_options_set_limit(options, MCPLINK_HTTP_LIMIT_RESERVE_PERCENT, 20) == MCPLINK_OK);
    CHECK(mcplink_http_options_add_trusted_proxy(options, "10.0.0.0/8") == MCPLINK_OK && mcplink_http_options_add_trusted_proxy(options, "::1") == MCPLINK_OK);
    REFUSES(http_options, mcplink_http_options_new(), mcplink_http_options_add_trusted_proxy(it, "10.0.0.0/33"));
    REFUSES(http_options, mcplink_http_options_new(), mcplink_http_options_add_trusted_proxy(it, NULL));
    CHECK(mcplink_http_options_add_host(options, "localhost") == MCPLINK_OK && mcplink_http_options_add_origin(options, "https://example.com") == MCPLINK_OK);
    CHECK(mcplink_http_options_set_sessions(options, true) == MCPLINK_OK && mcplink_http_options_set_session_idle_ms(options, 60000) == MCPLINK_OK);
    CHECK(mcplink_http_options_set_old_paths(options, "/sse", "/post") == MCPLINK_OK && mcplink_http_options_set_kept_events(options, 8, 4096) == MCPLINK_OK);
    CHECK(mcplink_http_options_set_keep_alive_ms(options, 5000) == MCPLINK_OK);
    CHECK(mcplink_http_options_set_health(options, "/healthz") == MCPLINK_OK);
    CHECK(mcplink_http_options_add_page(options, "/page", "text/plain", "a page", MCPLINK_NUL, "no-store") == MCPLINK_OK);
    CHECK(mcplink_http_options_add_page(options, "/empty", "text/plain", NULL, 0, NULL) == MCPLINK_OK);
    REFUSES(http_options, mcplink_http_options_new(), mcplink_http_options_set_health(it, NULL));
    REFUSES(http_options, mcplink_http_options_new(), mcplink_http_options_add_page(it, "/p", NULL, "", 0, NULL));
    REFUSES(http_options, mcplink_http_options_new(), mcplink_http_options_add_page(it, "/p", "text/plain", NULL, 1, NULL));
    CHECK(mcplink_http_options_on_authenticate(options, check, &ten, ended) == MCPLINK_OK);
    CHECK(mcplink_http_options_on_authenticate(options, check, &one, ended) == MCPLINK_OK && destroyed == 10);
    CHECK_STATUS(mcplink_server_listen_http(server, options, "0", &listener, &err), MCPLINK_OK, err);
    mcplink_http_options_free(options);
    port = mcplink_listener_port(listener);
    CHECK(port > 0 && destroyed == 10);
    snprintf(address, sizeof address, "http://127.0.0.1:%u/tools", port);
    CHECK_TEXT(mcplink_listener_url(listener), address);
    /* A page can't have the path of the endpoint. */
    options = mcplink_http_options_new();
    CHECK(mcplink_http_options_add_page(options, "/mcp", "text/plain", "", 0, NULL) == MCPLINK_OK);
    CHECK(mcplink_server_listen_http(server, options, "0", &second, &err) == MCPLINK_E_INVALID && second == NULL);
    CHECK(strstr(mcplink_error_message(err), "'/mcp'") != NULL);
    mcplink_error_free(err);
    mcplink_http_options_free(options);
    snprintf(address, sizeof address, "%u", port);
    CHECK(mcplink_server_listen_http(server, NULL, address, &second, &err) == MCPLINK_E_IO && second == NULL);
    mcplink_error_free(err);

    CHECK(strstr(post(port, "/tools", "Authorization: Bearer good\r\n", "greet"), "hello alice") != NULL);
    CHECK(strstr(post(port, "/tools", "", "greet"), "HTTP/1.1 401") != NULL);
    CHECK(strstr(post(port, "/tools", "", "greet"), "Bearer") != NULL);
    CHECK(strstr(post(port, "/tools", "Authorization: Bearer bad\r\n", "greet"), "HTTP/1.1 403") != NULL);
    CHECK(strstr(post(port, "/elsewhere", "", "greet"), "HTTP/1.1 404") != NULL);
    CHECK(strstr(get(port, "/page"), "\r\nCache-Control: no-store\r\n") != NULL && strstr(get(port, "/page"), "\r\n\r\na page") != NULL);
    CHECK(strstr(get(port, "/empty"), "\r\nCache-Control: no-cache\r\n") != NULL);
    CHECK(strstr(get(port, "/healthz"), "HTTP/1.1 200") != NULL);
    CHECK(mcplink_listener_drain(listener, 0) == MCPLINK_OK && mcplink_listener_drain(NULL, 0) == MCPLINK_E_INVALID);
    CHECK(strstr(get(port, "/healthz"), "HTTP/1.1 503") != NULL);
    CHECK(mcplink_listener_sessions(listener) == 0);
    CHECK_STATUS(mcplink_server_stats(server, &doc, &err), MCPLINK_OK, err);
    CHECK_TEXT(mcplink_json_str(mcplink_json_pointer(doc, "/0/kind")), "listener");
    mcplink_json_free(doc);
    CHECK(mcplink_listener_close(listener) == MCPLINK_OK && mcplink_listener_close(listener) == MCPLINK_OK);
    mcplink_listener_free(listener);
    CHECK(destroyed == 11);
}

/* What a web server of the host's keeps of a response. */
typedef struct {
    int status, begun, done, complete, refuse;
    int64_t length;
    char type[64], body[4096];
    size_t len;
} response_t;

static mcplink_status_t begin(void *user, const mcplink_http_head_t *head, int64_t length)
{
    response_t *response = user;
    size_t i;
    CHECK(!response->begun++ && !response->done);
    response->status = mcplink_http_head_status(head);
    response->length = length;
    for (i = 0; i < mcplink_http_head_count(head); i++) {
        if (strcmp(mcplink_http_head_name(head, i).ptr, "Content-Type") == 0)
            snprintf(response->type, sizeof response->type, "%s", mcplink_http_head_value(head, i).ptr);
    }
    CHECK_TEXT(mcplink_http_head_name(head, i), "");
    if (length < 0) CHECK(mcplink_http_head_keep_alive_ms(head) > 0 && mcplink_http_head_keep_alive_text(head).len > 0);
    return response->refuse ? MCPLINK_E_USER : MCPLINK_OK;
}

static mcplink_status_t write_some(void *user, const void *bytes, size_t len)
{
    response_t *response = user;
    CHECK(response->begun && !response->done && response->len + len < sizeof response->body);
    memcpy(response->body + response->len, bytes, len);
    response->len += len;
    return MCPLINK_OK;
}

static void finish(void *user, bool complete)
{
    response_t *response = user;
    CHECK(!response->done++);
    response->complete = complete;
}

static mcplink_exchange_t *ask_by(mcplink_http_begin_fn first, response_t *response, const char *tool, mcplink_http_end_fn end)
{
    char body[512];
    mcplink_exchange_t *exchange = mcplink_exchange_new("POST", "/mcp", first, write_some, end, response, NULL);
    memset(response, 0, sizeof *response);
    snprintf(body, sizeof body,
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\",\"arguments\":{},"
             "\"_meta\":{\"progressToken\":1,\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
             tool);
    CHECK(mcplink_exchange_add_header(exchange, "Host", "localhost", MCPLINK_NUL) == MCPLINK_OK);
    CHECK(mcplink_exchange_add_header(exchange, "content-type", "application/json", MCPLINK_NUL) == MCPLINK_OK);
    CHECK(mcplink_exchange_add_header(exchange, "Accept", "application/json, text/event-stream", MCPLINK_NUL) == MCPLINK_OK);
    CHECK(mcplink_exchange_add_header(exchange, "MCP-Protocol-Version", "2026-07-28", MCPLINK_NUL) == MCPLINK_OK);
    CHECK(mcplink_exchange_add_header(exchange, "Mcp-Method", "tools/call", MCPLINK_NUL) == MCPLINK_OK);
    CHECK(mcplink_exchange_add_header(exchange, "Mcp-Name", tool, MCPLINK_NUL) == MCPLINK_OK);
    CHECK(mcplink_exchange_set_body(exchange, body, MCPLINK_NUL) == MCPLINK_OK);
    CHECK(mcplink_exchange_set_addresses(exchange, "127.0.0.1:80", "127.0.0.1:4711") == MCPLINK_OK);
    return exchange;
}

static mcplink_exchange_t *ask(response_t *response, const char *tool, mcplink_http_end_fn end)
{
    return ask_by(begin, response, tool, end);
}

static void mounts(mcplink_server_t *server)
{
    mcplink_error_t *err = NULL;
    mcplink_http_t *http = NULL;
    mcplink_exchange_t *exchange;
    response_t response;

    CHECK_STATUS(mcplink_server_http(server, NULL, &http, &err), MCPLINK_OK, err);
    exchange = ask(&response, "greet", finish);
    CHECK_STATUS(mcplink_http_serve(http, exchange, &err), MCPLINK_OK, err);
    CHECK(response.done && response.complete && response.status == 200 && response.length == (int64_t)response.len);
    CHECK(strstr(response.body, "hello ") != NULL && strstr(response.type, "application/json") != NULL);
    CHECK(mcplink_http_serve(http, exchange, NULL) == MCPLINK_E_STATE);
    CHECK(mcplink_exchange_set_body(exchange, "x", 1) == MCPLINK_E_STATE);
    mcplink_exchange_free(exchange);

    /* In pieces, answered later. */
    exchange = ask(&response, "keep", finish);
    CHECK_STATUS(mcplink_http_serve(http, exchange, &err), MCPLINK_OK, err);
    CHECK(!response.done && kept != NULL);
    CHECK(mcplink_responder_progress(kept, 1, 2, NULL) == MCPLINK_OK);
    CHECK(response.begun && response.length == -1 && !response.done);
    CHECK(mcplink_responder_text(kept, "late", MCPLINK_NUL) == MCPLINK_OK);
    CHECK(response.done && response.complete && strstr(response.body, "\"progress\":1") && strstr(response.body, "late"));
    CHECK(strstr(response.type, "text/event-stream") != NULL);
    mcplink_responder_free(kept);
    mcplink_exchange_free(exchange);

    /* Nothing is said for long: the response begins as a stream, once. */
    exchange = ask(&response, "keep", finish);
    CHECK_STATUS(mcplink_http_serve(http, exchange, &err), MCPLINK_OK, err);
    CHECK(!response.begun && mcplink_exchange_begin_stream(exchange) == MCPLINK_OK);
    CHECK(response.begun && response.status == 200 && response.length == -1 && !response.done && response.len == 0);
    CHECK(strstr(response.type, "text/event-stream") != NULL && mcplink_exchange_begin_stream(exchange) == MCPLINK_OK && response.len == 0);
    CHECK(mcplink_responder_text(kept, "late", MCPLINK_NUL) == MCPLINK_OK);
    CHECK(response.done && response.complete && strstr(response.body, "late"));
    CHECK(mcplink_exchange_begin_stream(exchange) == MCPLINK_OK && mcplink_exchange_begin_stream(NULL) == MCPLINK_E_INVALID);
    mcplink_responder_free(kept);
    mcplink_exchange_free(exchange);

    /* The client goes: the call is cancelled, and the response broken off. */
    exchange = ask(&response, "keep", finish);
    CHECK_STATUS(mcplink_http_serve(http, exchange, &err), MCPLINK_OK, err);
    CHECK(!mcplink_responder_is_cancelled(kept));
    CHECK(mcplink_exchange_disconnected(exchange) == MCPLINK_OK);
    CHECK(mcplink_responder_is_cancelled(kept));
    CHECK(mcplink_responder_text(kept, "late", MCPLINK_NUL) < 0);
    mcplink_responder_free(kept);
    mcplink_exchange_free(exchange);
    CHECK(!response.complete && response.len == 0);

    /* Freed before the answer: nothing of it is called any more. */
    exchange = ask(&response, "keep", finish);
    CHECK_STATUS(mcplink_http_serve(http, exchange, &err), MCPLINK_OK, err);
    mcplink_exchange_free(exchange);
    CHECK(mcplink_responder_is_cancelled(kept));
    mcplink_responder_free(kept);
    CHECK(!response.begun && !response.done);

    /* The host can't send. */
    exchange = ask(&response, "greet", finish);
    response.refuse = 1;
    CHECK_STATUS(mcplink_http_serve(http, exchange, &err), MCPLINK_OK, err);
    CHECK(response.begun && response.len == 0 && response.done && !response.complete);
    mcplink_exchange_free(exchange);

    /* After its end an endpoint refuses. */
    CHECK(mcplink_http_close(http) == MCPLINK_OK);
    exchange = ask(&response, "greet", finish);
    CHECK_STATUS(mcplink_http_serve(http, exchange, &err), MCPLINK_OK, err);
    CHECK(response.done && response.status == 503);
    mcplink_exchange_free(exchange);
    mcplink_http_free(http);
}

/* The endpoint, by the response that it gives: a host that serves one request has no use for it behind that. */
static mcplink_http_t *used_http;
static mcplink_exchange_t *used_exchange;

static void finish_all(void *user, bool complete)
{
    response_t *response = user;
    response->complete = complete;
    mcplink_exchange_free(used_exchange);
    mcplink_http_free(used_http);
    response->done++;
}

/* The exchange, by one of its own functions: none of them begins behind that. */
static mcplink_status_t begin_and_free(void *user, const mcplink_http_head_t *head, int64_t length)
{
    CHECK(begin(user, head, length) == MCPLINK_OK);
    mcplink_exchange_free(used_exchange);
    return MCPLINK_OK;
}

static void free_exchange(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)user, (void)req, (void)resp;
    mcplink_exchange_free(used_exchange);
}

static void frees_within(mcplink_server_t *server)
{
    mcplink_error_t *err = NULL;
    response_t response;
    CHECK_STATUS(mcplink_server_http(server, NULL, &used_http, &err), MCPLINK_OK, err);
    used_exchange = ask(&response, "free_exchange", finish);
    CHECK_STATUS(mcplink_http_serve(used_http, used_exchange, &err), MCPLINK_OK, err);
    CHECK(!response.begun);
    used_exchange = ask_by(begin_and_free, &response, "greet", finish);
    CHECK_STATUS(mcplink_http_serve(used_http, used_exchange, &err), MCPLINK_OK, err);
    CHECK(response.begun == 1 && response.len == 0 && !response.done);
    used_exchange = ask(&response, "greet", finish_all);
    CHECK_STATUS(mcplink_http_serve(used_http, used_exchange, &err), MCPLINK_OK, err);
    CHECK(response.done == 1 && response.complete);
}

/* A listener that is freed by a handler of its own, which can still answer: it is not waited for where it waits. */
static mcplink_listener_t *used_listener;

static void free_listener(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)user;
    (void)req;
    mcplink_listener_free(used_listener);
    mcplink_responder_text(resp, "freed", MCPLINK_NUL);
}

static void frees_its_listener(mcplink_server_t *server)
{
    mcplink_error_t *err = NULL;
    struct timespec begun, ended;
    CHECK_STATUS(mcplink_server_listen_http(server, NULL, "0", &used_listener, &err), MCPLINK_OK, err);
    clock_gettime(CLOCK_MONOTONIC, &begun);
    CHECK(strstr(post(mcplink_listener_port(used_listener), "/mcp", "", "free_listener"), "freed") != NULL);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    /* Calls in hand get five seconds. */
    CHECK(ended.tv_sec - begun.tv_sec < 4);
}

/* A listener that one thread closes while another one frees the server: the ends of all sessions are told by then, and nothing is behind that. */
enum { SESSIONS = 20, RACES = 20 };
static atomic_int sessions_ended, server_gone;

static void on_session(void *user, mcplink_server_event event, const mcplink_json_t *params)
{
    (void)user;
    (void)params;
    CHECK(!server_gone);
    sessions_ended += event == MCPLINK_SERVER_SESSION_ENDED;
}

static void *close_listener(void *user)
{
    CHECK(mcplink_listener_close(user) == MCPLINK_OK);
    return NULL;
}

static void closed_and_freed_at_once(void)
{
    mcplink_error_t *err = NULL;
    mcplink_server_options_t *options = mcplink_server_options_new("ends", "1");
    int race, i;
    CHECK(mcplink_server_options_on_session(options, on_session, NULL, NULL) == MCPLINK_OK);
    for (race = 0; race < RACES; race++) {
        mcplink_client_options_t *o = mcplink_client_options_new();
        mcplink_client_t *clients[SESSIONS];
        mcplink_server_t *server = NULL;
        mcplink_listener_t *listener = NULL;
        pthread_t closer;
        sessions_ended = server_gone = 0;
        CHECK_STATUS(mcplink_server_new_with(options, &server, &err), MCPLINK_OK, err);
        CHECK_STATUS(mcplink_server_listen_http(server, NULL, "0", &listener, &err), MCPLINK_OK, err);
        CHECK(mcplink_client_options_set_url(o, mcplink_listener_url(listener).ptr) == MCPLINK_OK);
        CHECK(mcplink_client_options_set_revisions(o, "2025-06-18") == MCPLINK_OK);
        for (i = 0; i < SESSIONS; i++) CHECK_STATUS(mcplink_client_open(o, &clients[i], &err), MCPLINK_OK, err);
        mcplink_client_options_free(o);
        CHECK(pthread_create(&closer, NULL, close_listener, listener) == 0);
        mcplink_server_free(server);
        CHECK(sessions_ended == SESSIONS);
        server_gone = 1;
        CHECK(pthread_join(closer, NULL) == 0);
        mcplink_listener_free(listener);
        for (i = 0; i < SESSIONS; i++) mcplink_client_free(clients[i]);
    }
    mcplink_server_options_free(options);
}

/* All of it where the host dispatches: who asks, the handler, the response. */
static void pumps(void)
{
    mcplink_error_t *err = NULL;
    mcplink_pump_t *pump = NULL;
    mcplink_server_options_t *options = mcplink_server_options_new("pumped", "1");
    mcplink_server_t *server = NULL;
    mcplink_http_t *http = NULL;
    mcplink_exchange_t *exchange;
    response_t response;
    CHECK_STATUS(mcplink_pump_new(&pump, &err), MCPLINK_OK, err);
    CHECK(mcplink_server_options_set_pump(options, pump) == MCPLINK_OK);
    CHECK_STATUS(mcplink_server_new_with(options, &server, &err), MCPLINK_OK, err);
    mcplink_server_options_free(options);
    add_tool(server, "greet", greet, NULL, NULL);
    CHECK_STATUS(mcplink_server_http(server, NULL, &http, &err), MCPLINK_OK, err);
    exchange = ask(&response, "greet", finish);
    /* Nothing blocks: the handler's turn comes with the pump. */
    CHECK_STATUS(mcplink_http_serve(http, exchange, &err), MCPLINK_OK, err);
    CHECK(!response.begun);
    while (!response.done) {
        CHECK(mcplink_pump_wait(pump, PATIENCE) > 0);
        CHECK(mcplink_pump_dispatch(pump, 1) >= 0);
    }
    CHECK(response.complete && strstr(response.body, "hello ") != NULL);
    mcplink_exchange_free(exchange);
    mcplink_http_free(http);
    mcplink_server_free(server);
    mcplink_pump_free(pump);
}

/* What no request can have is refused by the setter, and an address without a port by the listener. */
static void refuses(mcplink_server_t *server)
{
    static const char *const hosts[] = { "", "*", "*.example.com", "http://", "http://example.com", "example.com:80", "a b", "::1" };
    static const char *const origins[] = { "", "*", "example.com", "http://", "https://example.com/", "https://example.com:443", "https://a b" };
    static const char *const tokens[] = { "", " ", "x\r\ny", "x y", "\303\244", "a\177" };
    static const char *const addresses[] = { "nonsense", "", "70000", "127.0.0.1", "127.0.0.1:", "127.0.0.1:http" };
    mcplink_listener_t *listener = NULL;
    mcplink_error_t *err = NULL;
    size_t at;
    for (at = 0; at < sizeof hosts / sizeof *hosts; at++) REFUSES(http_options, mcplink_http_options_new(), mcplink_http_options_add_host(it, hosts[at]));
    for (at = 0; at < sizeof origins / sizeof *origins; at++)
        REFUSES(http_options, mcplink_http_options_new(), mcplink_http_options_add_origin(it, origins[at]));
    for (at = 0; at < sizeof tokens / sizeof *tokens; at++)
        REFUSES(http_options, mcplink_http_options_new(), mcplink_http_options_add_token(it, tokens[at], "ada"));
    for (at = 0; at < sizeof addresses / sizeof *addresses; at++)
        CHECK_STATUS(mcplink_server_listen_http(server, NULL, addresses[at], &listener, &err), MCPLINK_E_INVALID, err);
}

static void takes_null(mcplink_server_t *server)
{
    mcplink_listener_t *listener = (mcplink_listener_t *)1;
    mcplink_http_t *http = (mcplink_http_t *)1;
    int one = 1;
    destroyed = 0;
    CHECK(mcplink_server_listen_http(NULL, NULL, "0", &listener, NULL) == MCPLINK_E_INVALID && listener == NULL);
    CHECK(mcplink_server_listen_http(server, NULL, NULL, &listener, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_server_http(NULL, NULL, &http, NULL) == MCPLINK_E_INVALID && http == NULL && mcplink_http_serve(NULL, NULL, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_listener_port(NULL) == 0 && mcplink_listener_sessions(NULL) == 0 && mcplink_listener_close(NULL) == MCPLINK_E_INVALID);
    CHECK_TEXT(mcplink_listener_url(NULL), "");
    CHECK(mcplink_http_close(NULL) == MCPLINK_E_INVALID && mcplink_exchange_disconnected(NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_exchange_new(NULL, NULL, NULL, NULL, NULL, &one, ended) == NULL && destroyed == 1);
    CHECK(mcplink_exchange_new("GET", "/", begin, write_some, NULL, &one, ended) == NULL && destroyed == 2);
    CHECK(mcplink_exchange_add_header(NULL, "a", "b", 1) == MCPLINK_E_INVALID && mcplink_exchange_set_body(NULL, NULL, 0) == MCPLINK_E_INVALID);
    CHECK(mcplink_exchange_set_addresses(NULL, NULL, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_http_options_set_path(NULL, "/") == MCPLINK_E_INVALID && mcplink_http_options_add_host(NULL, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_http_options_on_authenticate(NULL, check, &one, ended) == MCPLINK_E_INVALID && destroyed == 3);
    CHECK(mcplink_http_request_admit(NULL, "a") == MCPLINK_E_INVALID && mcplink_http_request_challenge(NULL, "a") == MCPLINK_E_INVALID);
    CHECK_TEXT(mcplink_http_request_method(NULL), "");
    CHECK_TEXT(mcplink_http_request_target(NULL), "");
    CHECK_TEXT(mcplink_http_request_remote(NULL), "");
    CHECK_TEXT(mcplink_http_request_header(NULL, NULL), "");
    CHECK(mcplink_http_head_status(NULL) == 0 && mcplink_http_head_count(NULL) == 0 && mcplink_http_head_keep_alive_ms(NULL) == 0);
    CHECK_TEXT(mcplink_http_head_name(NULL, 0), "");
    CHECK_TEXT(mcplink_http_head_value(NULL, 0), "");
    CHECK_TEXT(mcplink_http_head_keep_alive_text(NULL), "");
    mcplink_exchange_free(NULL);
    mcplink_http_free(NULL);
    mcplink_listener_free(NULL);
    mcplink_http_options_free(NULL);
}

/* A Unix socket has no port. Its URL is for clients, and its file goes with the listener. */
static void listens_on_a_unix_socket(mcplink_server_t *server)
{
    mcplink_error_t *err = NULL;
    mcplink_listener_t *listener = NULL, *second = (mcplink_listener_t *)1;
    mcplink_client_options_t *options = mcplink_client_options_new();
    mcplink_client_t *client = NULL;
    mcplink_result_t *result = NULL;
    char path[64], bind[80], url[128];

    snprintf(path, sizeof path, "/tmp/mcplink-c-%ld.sock", (long)getpid());
    snprintf(bind, sizeof bind, "unix:%s", path);
    snprintf(url, sizeof url, "http+unix://%%2Ftmp%%2Fmcplink-c-%ld.sock/mcp", (long)getpid());
    CHECK_STATUS(mcplink_server_listen_http(server, NULL, bind, &listener, &err), MCPLINK_OK, err);
    CHECK_TEXT(mcplink_listener_url(listener), url);
    CHECK(mcplink_listener_port(listener) == 0);
    CHECK(mcplink_server_listen_http(server, NULL, bind, &second, &err) == MCPLINK_E_IO && second == NULL);
    CHECK(strstr(mcplink_error_message(err), path) != NULL);
    mcplink_error_free(err);
    err = NULL;
    CHECK(mcplink_client_options_set_url(options, url) == MCPLINK_OK);
    CHECK_STATUS(mcplink_client_open(options, &client, &err), MCPLINK_OK, err);
    mcplink_client_options_free(options);
    CHECK_STATUS(mcplink_client_call_tool(client, "greet", NULL, 0, NULL, &result, &err), MCPLINK_OK, err);
    mcplink_result_free(result);
    mcplink_client_free(client);
    mcplink_listener_free(listener);
    CHECK(access(path, F_OK) == -1);
}

int main(void)
{
    int fds = open_count();
    mcplink_server_t *server = mcplink_server_new("http", "1");
    mcplink_error_t *err = NULL;
    mcplink_listener_t *listener = NULL;
    add_tool(server, "greet", greet, NULL, NULL);
    add_tool(server, "keep", keep, NULL, NULL);
    add_tool(server, "free_exchange", free_exchange, NULL, NULL);
    add_tool(server, "free_listener", free_listener, NULL, NULL);
    listens(server);
    listens_on_a_unix_socket(server);
    mounts(server);
    frees_within(server);
    frees_its_listener(server);
    closed_and_freed_at_once();
    pumps();
    refuses(server);
    takes_null(server);
    /* A listener may be left to the server. */
    CHECK_STATUS(mcplink_server_listen_http(server, NULL, "0", &listener, &err), MCPLINK_OK, err);
    mcplink_server_free(server);
    CHECK(mcplink_listener_close(listener) == MCPLINK_OK);
    mcplink_listener_free(listener);
    talk_clean(fds);
    return 0;
}
