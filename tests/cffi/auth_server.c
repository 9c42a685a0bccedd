/* Servers that take access tokens: signed ones, and what a function of the host's says of requests; with a pump, too. */
#include "issuer.h"

static atomic_int ended;
static void count_end(void *user) { ended += *(int *)user; }
static int one = 1, ten = 10;

#define ENDED(number) CHECK(atomic_exchange(&ended, 0) == (number))

/* Made for tests only: the key set of an issuer, and what it signed: for this server and for another one, good until 2100. */
static const char keys[] = "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"7Cp-pC_dmc91klIK0TfnwIyx5fCsToPNdPNldQfX2VA\","
                           "\"y\":\"KzWbownAp7rR4FnckdoeZQa3DmxT2TV-L5KOzgntD_0\",\"kid\":\"test\",\"alg\":\"ES256\",\"use\":\"sig\"}]}";
#define HEADER "eyJhbGciOiJFUzI1NiIsImtpZCI6InRlc3QiLCJ0eXAiOiJhdCtqd3QifQ."
static const char good[] =
    HEADER "eyJpc3MiOiJodHRwczovL2xvZ2luLmV4YW1wbGUiLCJzdWIiOiJhZGEiLCJhdWQiOiJodHRwczovL2ZpbGVzLmV4YW1wbGUvbWNwIiwiZXhwIjo0MTAyNDQ0ODAwLCJzY29w"
           "ZSI6ImZpbGVzOnJlYWQifQ.bVJex_xnH9qpEacGfUwMeMTsOpNluKUGQ7fG7wq2w9lOOhB6UsRlPIh1SxSoTar2AAEnMOjHxpkZYJtl0B_3rw";
static const char of_another[] =
    HEADER "eyJpc3MiOiJodHRwczovL2xvZ2luLmV4YW1wbGUiLCJzdWIiOiJhZGEiLCJhdWQiOiJodHRwczovL290aGVyLmV4YW1wbGUvbWNwIiwiZXhwIjo0MTAyNDQ0ODAwLCJzY29w"
           "ZSI6ImZpbGVzOnJlYWQifQ.N8dRSKsTd4oSEIA44kO92NnY4gqKTk4rabfi-UH8NBvg6J-uJXYJcV4XnZdXFrh4gJ4jyRTFEgJ0wlCPbHEGjg";

static mcplink_listener_t *listener;

/* The whole answer to a call of a tool with this token, which comes in this way; NULL for none. */
static const char *call_as(const char *scheme, const char *token, const char *tool)
{
    static char answer[16384];
    char body[512], head[2048];
    int fd = call_port(mcplink_listener_port(listener));
    snprintf(body, sizeof body,
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\",\"arguments\":{},\"_meta\":{"
             "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
             tool);
    snprintf(head, sizeof head,
             "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nAccept: application/json, "
             "text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: %s\r\nContent-Length: %zu\r\n%s%s%s%s%s\r\n",
             tool, strlen(body), token ? "Authorization: " : "", token ? scheme : "", token ? " " : "", token ? token : "", token ? "\r\n" : "");
    send_all(fd, head), send_all(fd, body);
    CHECK(read_message(fd, answer, sizeof answer));
    close(fd);
    return answer;
}

static const char *call(const char *token, const char *tool) { return call_as("Bearer", token, tool); }

static void has(const char *answer, const char *status, const char *text)
{
    if (strncmp(answer + strlen("HTTP/1.1 "), status, 3) != 0 || strstr(answer, text) == NULL) {
        fprintf(stderr, "not %s with %s: %s\n", status, text, answer);
        exit(1);
    }
}

static mcplink_resource_server_t *files(void)
{
    mcplink_resource_server_t *tokens = mcplink_resource_server_new("https://files.example/mcp", "https://login.example");
    CHECK(tokens != NULL && mcplink_resource_server_new(NULL, "x") == NULL && mcplink_resource_server_new("x", NULL) == NULL);
    return tokens;
}

static mcplink_status_t serve_with(mcplink_server_t *server, mcplink_resource_server_t *tokens, mcplink_error_t **err)
{
    mcplink_http_options_t *options = mcplink_http_options_new();
    mcplink_status_t st;
    CHECK(mcplink_http_options_set_resource_server(options, tokens) == MCPLINK_OK);
    mcplink_resource_server_free(tokens);
    st = mcplink_server_listen_http(server, options, "0", &listener, err);
    mcplink_http_options_free(options);
    return st;
}

/* Tokens that are JWTs, and what else is said of a server. */
static void signed_tokens(void)
{
    char url[128], page[4096];
    mcplink_error_t *err = NULL;
    mcplink_server_t *server = files_server();
    mcplink_resource_server_t *tokens = files();
    mcplink_http_options_t *options;
    CHECK(mcplink_resource_server_set_keys_url(tokens, "https://login.example/keys") == MCPLINK_OK);
    CHECK(mcplink_resource_server_set_keys(tokens, keys, MCPLINK_NUL) == MCPLINK_OK);
    CHECK(mcplink_resource_server_set_proxy(tokens, "environment") == MCPLINK_OK && mcplink_resource_server_clear_proxy(tokens) == MCPLINK_OK);
    CHECK(mcplink_resource_server_set_required_scopes(tokens, "files:read") == MCPLINK_OK);
    CHECK(mcplink_resource_server_set_scopes_supported(tokens, "files:read files:write") == MCPLINK_OK);
    CHECK(mcplink_resource_server_add_implied(tokens, "files:read", "files:list files:stat") == MCPLINK_OK);
    CHECK(mcplink_resource_server_add_issuer(tokens, "https://second.example") == MCPLINK_OK);
    CHECK(mcplink_resource_server_set_info(tokens, "Files", "https://files.example/docs") == MCPLINK_OK);
    CHECK_STATUS(serve_with(server, tokens, &err), MCPLINK_OK, err);

    has(call(good, "who"), "200", "ada|files:list files:read files:stat|4102444800");
    has(call(NULL, "who"), "401", "WWW-Authenticate: Bearer scope=\"files:read\", resource_metadata=\"https://files.example/.well-known/");
    has(call("x.y.z", "who"), "401", "error=\"invalid_token\"");
    has(call(of_another, "who"), "401", "it was not issued for this server");
    has(call(good, "write"), "403", "error=\"insufficient_scope\", scope=\"files:read files:write\"");
    has(call(good, "picky"), "403", "scope=\"files:any files:read\"");
    snprintf(url, sizeof url, "http://127.0.0.1:%u/.well-known/oauth-protected-resource/mcp", mcplink_listener_port(listener));
    get_page(url, page, sizeof page);
    has(page, "200", "\"authorization_servers\":[\"https://login.example\",\"https://second.example\"],\"scopes_supported\":[\"files:read\",\"files:write\"]");
    has(page, "200", "\"resource_name\":\"Files\",\"resource_documentation\":\"https://files.example/docs\"");
    mcplink_listener_free(listener);

    /* Another name in the audience, metadata at another place. */
    tokens = files();
    CHECK(mcplink_resource_server_set_keys(tokens, keys, MCPLINK_NUL) == MCPLINK_OK);
    CHECK(mcplink_resource_server_add_audience(tokens, "https://other.example/mcp") == MCPLINK_OK);
    CHECK(mcplink_resource_server_set_metadata_url(tokens, "https://files.example/about") == MCPLINK_OK);
    CHECK_STATUS(serve_with(server, tokens, &err), MCPLINK_OK, err);
    has(call(of_another, "who"), "200", "ada|files:read|");
    has(call(NULL, "who"), "401", "resource_metadata=\"https://files.example/about\"");
    mcplink_listener_free(listener);

    /* What is wrong with a description is told to who serves with it. */
    CHECK(serve_with(server, mcplink_resource_server_new("http://files.example", "https://login.example"), &err) == MCPLINK_E_INVALID);
    CHECK(listener == NULL && strstr(mcplink_error_message(err), "https") != NULL);
    mcplink_error_free(err);
    /* Taken away again, by that name only, everybody is let in. */
    options = mcplink_http_options_new(), tokens = files();
    CHECK(mcplink_http_options_set_resource_server(options, tokens) == MCPLINK_OK && mcplink_http_options_clear_resource_server(options) == MCPLINK_OK);
    mcplink_resource_server_free(tokens);
    CHECK_STATUS(mcplink_server_listen_http(server, options, "0", &listener, &err), MCPLINK_OK, err);
    mcplink_http_options_free(options);
    has(call(NULL, "who"), "200", "||0");
    has(call(NULL, "write"), "403", "insufficient_scope");
    mcplink_listener_free(listener);
    mcplink_server_free(server);
}

/* Knows two tokens, of which one is bound to a key. */
static void verify(void *user, mcplink_http_request_t *request)
{
    (void)user;
    CHECK(mcplink_http_request_admit(request, "ada") == MCPLINK_OK);
    CHECK(mcplink_http_request_add_audience(request, "https://files.example/mcp") == MCPLINK_OK);
    if (strcmp(mcplink_http_request_token(request).ptr, "bound") == 0)
        CHECK(mcplink_http_request_bind_key(request, "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I") == MCPLINK_OK);
}

/* Tokens that are bound to a key; that a proof is good is a matter of the tests in Rust. */
static void bound_tokens(void)
{
    char url[128], page[4096];
    unsigned char secrets[64] = { 7 };
    mcplink_error_t *err = NULL;
    mcplink_server_t *server = files_server();
    mcplink_resource_server_t *tokens = files();
    REFUSES(resource_server, files(), mcplink_resource_server_set_nonces(it, secrets, 33, 1000));
    CHECK(mcplink_resource_server_set_nonces(tokens, secrets, sizeof secrets, 60000) == MCPLINK_OK);
    CHECK(mcplink_resource_server_set_dpop(tokens, MCPLINK_DPOP_ALWAYS) == MCPLINK_OK);
    CHECK(mcplink_resource_server_set_keys(tokens, keys, MCPLINK_NUL) == MCPLINK_OK);
    CHECK_STATUS(serve_with(server, tokens, &err), MCPLINK_OK, err);
    has(call(NULL, "who"), "401", "WWW-Authenticate: DPoP resource_metadata=\"https://files.example/.well-known/oauth-protected-resource/mcp\", algs=\"ES256 ");
    has(call(good, "who"), "401", "WWW-Authenticate: DPoP ");
    has(call_as("DPoP", good, "who"), "401", "error=\"invalid_");
    snprintf(url, sizeof url, "http://127.0.0.1:%u/.well-known/oauth-protected-resource/mcp", mcplink_listener_port(listener));
    get_page(url, page, sizeof page);
    has(page, "200", "\"dpop_bound_access_tokens_required\":true");
    mcplink_listener_free(listener);

    /* One that is not bound is good where that is left open. */
    tokens = files();
    CHECK(mcplink_resource_server_set_dpop(tokens, MCPLINK_DPOP_WHEN_ASKED) == MCPLINK_OK);
    CHECK(mcplink_resource_server_set_keys(tokens, keys, MCPLINK_NUL) == MCPLINK_OK);
    CHECK_STATUS(serve_with(server, tokens, &err), MCPLINK_OK, err);
    has(call(good, "who"), "200", "ada|files:read|");
    mcplink_listener_free(listener);

    /* What the host's function says is bound needs a proof, and is refused where none are taken. */
    tokens = files();
    CHECK(mcplink_resource_server_set_dpop(tokens, MCPLINK_DPOP_WHEN_ASKED) == MCPLINK_OK);
    CHECK(mcplink_resource_server_set_verifier(tokens, verify, NULL, NULL) == MCPLINK_OK);
    CHECK_STATUS(serve_with(server, tokens, &err), MCPLINK_OK, err);
    has(call("free", "who"), "200", "ada|");
    has(call("bound", "who"), "401", "error=\"invalid_token\"");
    has(call_as("DPoP", "bound", "who"), "401", "error=\"invalid_dpop_proof\"");
    mcplink_listener_free(listener);
    tokens = files();
    CHECK(mcplink_resource_server_set_verifier(tokens, verify, NULL, NULL) == MCPLINK_OK);
    CHECK_STATUS(serve_with(server, tokens, &err), MCPLINK_OK, err);
    has(call("bound", "who"), "401", "error=\"invalid_token\"");
    mcplink_listener_free(listener);
    mcplink_server_free(server);
}

static atomic_int asked;
static pthread_t home;

/* Says what the token says. */
static void judge(void *user, mcplink_http_request_t *request)
{
    const char *token = mcplink_http_request_token(request).ptr;
    CHECK(*(int *)user == 1);
    CHECK(home == 0 || pthread_equal(home, pthread_self()));
    asked++;
    /* The last word counts. */
    CHECK(mcplink_http_request_invalid_token(request, "of the first word") == MCPLINK_OK);
    CHECK(mcplink_http_request_admit(request, "bob") == MCPLINK_OK && mcplink_http_request_set_expiry(request, 7258118400) == MCPLINK_OK);
    CHECK(mcplink_http_request_set_scopes(request, "files:read files:write") == MCPLINK_OK);
    if (strcmp(token, "plain") == 0) CHECK(mcplink_http_request_set_scopes(request, NULL) == MCPLINK_OK);
    else if (strcmp(token, "stale") == 0) CHECK(mcplink_http_request_invalid_token(request, "it was revoked") == MCPLINK_OK);
    else if (strcmp(token, "poor") == 0) CHECK(mcplink_http_request_insufficient_scope(request, "files:gold files:read") == MCPLINK_OK);
    else if (strcmp(token, "down") == 0) CHECK(mcplink_http_request_unavailable(request, "the directory is down") == MCPLINK_OK);
    else if (*token == 0) CHECK(mcplink_http_request_challenge(request, "Key realm=\"x\"") == MCPLINK_OK);
}

static void judged_requests(void)
{
    has(call("rich", "who"), "200", "bob|files:read files:write|7258118400");
    has(call("rich", "write"), "200", "done");
    has(call("plain", "who"), "200", "bob||7258118400");
    has(call("plain", "write"), "403", "scope=\"files:write\"");
    has(call("stale", "who"), "401", "error_description=\"it was revoked\"");
    has(call("poor", "who"), "403", "scope=\"files:gold files:read\"");
    has(call("down", "who"), "503", "Retry-After");
    has(call(NULL, "who"), "401", "WWW-Authenticate: Key realm=\"x\"");
    CHECK(atomic_exchange(&asked, 0) == 8);
}

static void judging_hooks(void)
{
    mcplink_error_t *err = NULL;
    mcplink_server_t *server = files_server();
    mcplink_http_options_t *options = mcplink_http_options_new();
    mcplink_resource_server_t *tokens = files();
    CHECK(mcplink_http_options_on_authenticate(options, judge, &ten, count_end) == MCPLINK_OK);
    /* Of the two ways of letting requests in one has to go before the other one comes. */
    CHECK(mcplink_http_options_clear_authenticate(options) == MCPLINK_OK);
    ENDED(10);
    CHECK(mcplink_http_options_set_resource_server(options, tokens) == MCPLINK_OK && mcplink_http_options_clear_resource_server(options) == MCPLINK_OK);
    mcplink_resource_server_free(tokens);
    CHECK(mcplink_http_options_on_authenticate(options, judge, &one, count_end) == MCPLINK_OK);
    CHECK_STATUS(mcplink_server_listen_http(server, options, "0", &listener, &err), MCPLINK_OK, err);
    mcplink_http_options_free(options);
    ENDED(0);
    judged_requests();
    mcplink_listener_free(listener);
    ENDED(1);
    mcplink_server_free(server);
}

static atomic_int calling;

static void *calls(void *pump)
{
    judged_requests();
    calling = 0;
    mcplink_pump_wakeup(pump);
    return NULL;
}

/* Where the host dispatches a pump, its functions run there. */
static void pumped(void)
{
    mcplink_error_t *err = NULL;
    mcplink_pump_t *pump = NULL;
    mcplink_server_options_t *s = mcplink_server_options_new("files", "1");
    mcplink_http_options_t *options = mcplink_http_options_new();
    mcplink_server_t *server = NULL;
    mcplink_tool_t *tool = mcplink_tool_new("who", "x"), *write = mcplink_tool_new("write", "x");
    pthread_t thread;
    CHECK_STATUS(mcplink_pump_new(&pump, &err), MCPLINK_OK, err);
    CHECK(mcplink_server_options_set_pump(s, pump) == MCPLINK_OK);
    CHECK_STATUS(mcplink_server_new_with(s, &server, &err), MCPLINK_OK, err);
    mcplink_server_options_free(s);
    CHECK_STATUS(mcplink_server_add_tool(server, tool, tool_who, NULL, NULL, &err), MCPLINK_OK, err);
    CHECK_STATUS(mcplink_server_add_tool(server, write, tool_done, NULL, NULL, &err), MCPLINK_OK, err);
    CHECK_STATUS(mcplink_server_require_scopes(server, MCPLINK_PRIMITIVE_TOOL, "write", "files:write", &err), MCPLINK_OK, err);
    CHECK(mcplink_http_options_on_authenticate(options, judge, &one, count_end) == MCPLINK_OK);
    CHECK_STATUS(mcplink_server_listen_http(server, options, "0", &listener, &err), MCPLINK_OK, err);
    home = pthread_self();
    calling = 1;
    CHECK(pthread_create(&thread, NULL, calls, pump) == 0);
    while (calling) {
        CHECK(mcplink_pump_wait(pump, PATIENCE) >= 0);
        CHECK(mcplink_pump_dispatch(pump, 1) >= 0);
    }
    pthread_join(thread, NULL);
    home = 0;
    mcplink_http_options_free(options);
    mcplink_listener_free(listener);
    mcplink_server_free(server);
    mcplink_pump_free(pump);
    ENDED(1);
    mcplink_tool_free(tool), mcplink_tool_free(write);
}

int main(void)
{
    state_t before;
    state_take(&before);
    signed_tokens();
    bound_tokens();
    judging_hooks();
    pumped();
    state_same(&before);
    return 0;
}
