/* An authorization server and a server that takes its tokens, both in this program: what they are asked is counted and checked. */
#ifndef ISSUER_H
#define ISSUER_H

#include "guests/guest.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdatomic.h>

/* Where logins lead; nobody listens there. */
#define REDIRECT "http://127.0.0.1:33418/callback"

enum { MOST_TOKENS = 64 };

static struct {
    int fd;
    uint16_t port;
    pthread_t thread;
    char url[64];
    /* How it behaves: the code with which it refuses logins or tokens; no answer of the token endpoint before this is 0. */
    const char *refuses_login, *refuses_token;
    /* What came. */
    atomic_int logins, registrations, tokens, refreshes, secrets, assertions, proofs;
    /* What was granted, by the number of the code or token. */
    char scopes[MOST_TOKENS][128];
    atomic_int granted;
    /* What the last token request was. */
    char grant[128], assertion[2048];
    /* By what its client and its key were proved. */
    char client_assertion[2048], proof[2048];
    /* Where the last login was to lead. */
    char redirect[512];
} issuer;

/* A connection to a port of this machine. */
static inline int call_port(uint16_t port)
{
    struct sockaddr_in address;
    struct timeval patience = { PATIENCE / 1000, 0 };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0);
    CHECK(connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    return fd;
}

/* A listening socket at a port that the system chooses. */
static inline int any_port(uint16_t *port)
{
    struct sockaddr_in address;
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 64) == 0);
    CHECK(getsockname(fd, (struct sockaddr *)&address, &len) == 0);
    *port = ntohs(address.sin_port);
    return fd;
}

static inline void send_all(int fd, const char *text)
{
    size_t len = strlen(text);
    while (len > 0) {
        ssize_t sent = send(fd, text, len, MSG_NOSIGNAL);
        if (sent <= 0) return;
        text += sent, len -= (size_t)sent;
    }
}

/* Reads a message of HTTP: all of its head, and as much of a body as its length says. 0 when there is none. */
static inline int read_message(int fd, char *text, size_t size)
{
    size_t len = 0, whole = 0;
    for (;;) {
        const char *end, *length;
        ssize_t got = read(fd, text + len, size - 1 - len);
        if (got <= 0) return whole == 0 && len > 0 && strstr(text, "\r\n\r\n") != NULL;
        len += (size_t)got;
        text[len] = 0;
        end = strstr(text, "\r\n\r\n");
        if (end == NULL) continue;
        length = strcasestr(text, "\r\ncontent-length:");
        whole = (size_t)(end - text) + 4 + (length && length < end ? strtoul(length + 17, NULL, 10) : 0);
        if (len >= whole) return 1;
    }
}

/* Asks for a page of a URL on this machine; gives the whole answer. */
static inline void get_page(const char *url, char *answer, size_t size)
{
    char request[4096];
    const char *place = url + strlen("http://127.0.0.1:"), *path;
    int fd;
    /* Names of the same length. */
    CHECK(strncmp(url, "http://127.0.0.1:", strlen("http://127.0.0.1:")) == 0 ||
          strncmp(url, "http://localhost:", strlen("http://localhost:")) == 0);
    path = strchr(place, '/');
    CHECK(path != NULL);
    fd = call_port((uint16_t)atoi(place));
    snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", path);
    send_all(fd, request);
    CHECK(read_message(fd, answer, size));
    close(fd);
}

/* What a browser does with the URL of a login: gives where it is sent. */
static inline void follow(const char *url, char *target, size_t size)
{
    char answer[8192];
    char *at;
    get_page(url, answer, sizeof answer);
    at = strstr(answer, "Location: ");
    CHECK(at != NULL);
    at += strlen("Location: ");
    at[strcspn(at, "\r\n")] = 0;
    snprintf(target, size, "%s", at);
}

/* A parameter of a query or form; empty when it is not there. */
static inline const char *param(const char *pairs, const char *name, char *value, size_t size)
{
    size_t len = strlen(name), at = 0;
    value[0] = 0;
    while (pairs != NULL && *pairs != 0) {
        if (strncmp(pairs, name, len) == 0 && pairs[len] == '=') {
            const char *from = pairs + len + 1;
            while (*from != 0 && *from != '&' && *from != ' ' && at + 1 < size) {
                unsigned byte = (unsigned char)*from;
                if (byte == '%') CHECK(sscanf(from + 1, "%2x", &byte) == 1);
                from += *from == '%' ? 3 : 1;
                value[at++] = byte == '+' ? ' ' : (char)byte;
            }
            value[at] = 0;
            return value;
        }
        pairs = strchr(pairs, '&');
        if (pairs != NULL) pairs++;
    }
    return value;
}

static inline void respond(int fd, const char *status, const char *fields, const char *body)
{
    char text[8192];
    snprintf(text, sizeof text, "HTTP/1.1 %s\r\n%sContent-Type: application/json\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s", status, fields,
             strlen(body), body);
    send_all(fd, text);
}

static inline int grant(const char *scopes)
{
    int number = ++issuer.granted;
    CHECK(number < MOST_TOKENS);
    snprintf(issuer.scopes[number], sizeof issuer.scopes[number], "%s", scopes);
    return number;
}

static inline void authorize(int fd, const char *query)
{
    char redirect[512], state[256], challenge[256], resource[256], scope[128], fields[2048];
    param(query, "redirect_uri", redirect, sizeof redirect);
    snprintf(issuer.redirect, sizeof issuer.redirect, "%s", redirect);
    param(query, "state", state, sizeof state);
    CHECK(*param(query, "code_challenge", challenge, sizeof challenge) != 0 && *param(query, "resource", resource, sizeof resource) != 0);
    param(query, "scope", scope, sizeof scope);
    issuer.logins++;
    if (issuer.refuses_login != NULL) {
        snprintf(fields, sizeof fields, "Location: %s?error=%s&error_description=no&state=%s\r\n", redirect, issuer.refuses_login, state);
    } else {
        snprintf(fields, sizeof fields, "Location: %s?code=code-%d&state=%s\r\n", redirect, grant(scope), state);
    }
    respond(fd, "302 Found", fields, "");
}

static inline void give_token(int fd, const char *head, const char *form)
{
    char code[64], scope[128], text[1024], verifier[256];
    const char *proof = strcasestr(head, "\r\ndpop:");
    int number;
    issuer.tokens++;
    param(form, "grant_type", issuer.grant, sizeof issuer.grant);
    param(form, "scope", scope, sizeof scope);
    param(form, "assertion", issuer.assertion, sizeof issuer.assertion);
    issuer.secrets += strcasestr(head, "\r\nauthorization: Basic bWU6czNjcmV0") != NULL; /* me:s3cret */
    issuer.assertions += *param(form, "client_assertion", issuer.client_assertion, sizeof issuer.client_assertion) != 0;
    issuer.proofs += proof != NULL && sscanf(proof, "%*s %2047s", issuer.proof) == 1;
    if (issuer.refuses_token != NULL) {
        snprintf(text, sizeof text, "{\"error\":\"%s\"}", issuer.refuses_token);
        respond(fd, "400 Bad Request", "", text);
        return;
    }
    if (strcmp(issuer.grant, "urn:ietf:params:oauth:grant-type:token-exchange") == 0) {
        param(form, "subject_token", issuer.assertion, sizeof issuer.assertion);
        respond(fd, "200 OK", "",
                "{\"access_token\":\"jag\",\"token_type\":\"N_A\",\"issued_token_type\":\"urn:ietf:params:oauth:token-type:id-jag\",\"expires_in\":60}");
        return;
    }
    if (strcmp(issuer.grant, "authorization_code") == 0) {
        param(form, "code", code, sizeof code);
        number = atoi(code + strlen("code-"));
        CHECK(number > 0 && number < MOST_TOKENS && strlen(param(form, "code_verifier", verifier, sizeof verifier)) >= 43);
    } else if (strcmp(issuer.grant, "refresh_token") == 0) {
        param(form, "refresh_token", code, sizeof code);
        number = atoi(code + strlen("refresh-"));
        CHECK(number > 0 && number < MOST_TOKENS);
        issuer.refreshes++;
        number = grant(issuer.scopes[number]);
    } else {
        /* What the organisation vouched for is in its statement. */
        number = grant(strcmp(issuer.assertion, "jag") == 0 ? "files:read" : scope);
    }
    snprintf(text, sizeof text,
             "{\"access_token\":\"token-%d\",\"token_type\":\"%s\",\"expires_in\":3600,\"refresh_token\":\"refresh-%d\",\"scope\":\"%s\"}", number,
             proof ? "DPoP" : "Bearer", number, issuer.scopes[number]);
    respond(fd, "200 OK", "", text);
}

static inline void answer_request(int fd, char *request)
{
    char text[2048], *body = strstr(request, "\r\n\r\n") + 4, *target = strchr(request, ' ') + 1;
    const char *query = strchr(target, '?');
    if (strncmp(target, "/.well-known/oauth-authorization-server ", 40) == 0) {
        snprintf(text, sizeof text,
                 "{\"issuer\":\"%s\",\"authorization_endpoint\":\"%s/authorize\",\"token_endpoint\":\"%s/token\",\"registration_endpoint\":\"%s/register\","
                 "\"code_challenge_methods_supported\":[\"S256\"],\"grant_types_supported\":[\"authorization_code\",\"refresh_token\","
                 "\"client_credentials\",\"urn:ietf:params:oauth:grant-type:jwt-bearer\"],"
                 "\"authorization_grant_profiles_supported\":[\"urn:ietf:params:oauth:grant-profile:id-jag\"],"
                 "\"token_endpoint_auth_methods_supported\":[\"none\",\"client_secret_basic\",\"private_key_jwt\"]}",
                 issuer.url, issuer.url, issuer.url, issuer.url);
        respond(fd, "200 OK", "", text);
    } else if (strncmp(target, "/authorize?", 11) == 0) {
        authorize(fd, query + 1);
    } else if (strncmp(target, "/register ", 10) == 0) {
        snprintf(text, sizeof text, "{\"client_id\":\"client-%d\"}", ++issuer.registrations);
        respond(fd, "201 Created", "", text);
    } else if (strncmp(target, "/token ", 7) == 0) {
        body[-2] = 0;
        give_token(fd, request, body);
    } else {
        respond(fd, "404 Not Found", "", "");
    }
}

static inline void *run_issuer(void *unused)
{
    static char request[16384];
    int fd;
    (void)unused;
    while ((fd = accept4(issuer.fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        if (read_message(fd, request, sizeof request)) answer_request(fd, request);
        close(fd);
    }
    return NULL;
}

static inline void issuer_begin(void)
{
    issuer.fd = any_port(&issuer.port);
    snprintf(issuer.url, sizeof issuer.url, "http://127.0.0.1:%u", issuer.port);
    CHECK(pthread_create(&issuer.thread, NULL, run_issuer, NULL) == 0);
}

static inline void issuer_end(void)
{
    shutdown(issuer.fd, SHUT_RDWR);
    pthread_join(issuer.thread, NULL);
    close(issuer.fd);
}

/* Forgets what came. */
static inline void issuer_forget(void)
{
    issuer.refuses_login = issuer.refuses_token = NULL;
    issuer.logins = issuer.registrations = issuer.tokens = issuer.refreshes = issuer.secrets = issuer.assertions = issuer.proofs = 0;
    issuer.grant[0] = issuer.assertion[0] = issuer.redirect[0] = issuer.client_assertion[0] = issuer.proof[0] = 0;
}

/* The server that takes the tokens. */
static struct {
    mcplink_server_t *server;
    mcplink_listener_t *listener;
    char url[64];
    atomic_int verified, revoked;
} resource;

/* Says who asks, what that one may do, and until when. */
static inline void tool_who(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    char line[256];
    mcplink_str_t who = mcplink_request_principal(request), scopes = mcplink_request_scopes(request);
    (void)user;
    CHECK(mcplink_request_has_scope(request, "files:read") == (strstr(scopes.ptr, "files:read") != NULL));
    snprintf(line, sizeof line, "%.*s|%.*s|%lld", (int)who.len, who.ptr, (int)scopes.len, scopes.ptr, (long long)mcplink_request_expiry(request));
    mcplink_responder_text(responder, line, MCPLINK_NUL);
}

static inline void tool_done(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    (void)user, (void)request;
    mcplink_responder_text(responder, "done", MCPLINK_NUL);
}

/* Finds out what it needs when it runs. */
static inline void tool_picky(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    (void)user, (void)request;
    switch (mcplink_responder_require_scopes(responder, "files:any")) {
    case MCPLINK_OK: mcplink_responder_text(responder, "picked", MCPLINK_NUL); break;
    case MCPLINK_E_AUTH: CHECK(mcplink_responder_text(responder, "no", MCPLINK_NUL) == MCPLINK_E_STATE); break;
    default: CHECK(0);
    }
}

/* The year 2100. */
#define FAR INT64_C(4102444800)

static inline void verify_token(void *user, mcplink_http_request_t *request)
{
    const char *token = mcplink_http_request_token(request).ptr;
    int number = strncmp(token, "token-", 6) == 0 ? atoi(token + 6) : 0;
    (void)user;
    resource.verified++;
    CHECK_TEXT(mcplink_http_request_method(request), "");
    if (number < 1 || number > issuer.granted || number <= resource.revoked) {
        CHECK(mcplink_http_request_invalid_token(request, "nobody knows it") == MCPLINK_OK);
        return;
    }
    CHECK(mcplink_http_request_set_expiry(request, FAR) == MCPLINK_OK);
    CHECK(mcplink_http_request_set_scopes(request, issuer.scopes[number]) == MCPLINK_OK);
    CHECK(mcplink_http_request_add_audience(request, "https://other.example") == MCPLINK_OK);
    CHECK(mcplink_http_request_add_audience(request, resource.url) == MCPLINK_OK);
    CHECK(mcplink_http_request_admit(request, "ada") == MCPLINK_OK);
}

static inline mcplink_server_t *files_server(void)
{
    mcplink_error_t *err = NULL;
    mcplink_server_t *server = mcplink_server_new("files", "1");
    add(server, "who", tool_who, NULL);
    add(server, "write", tool_done, NULL);
    add(server, "picky", tool_picky, NULL);
    CHECK_STATUS(mcplink_server_require_scopes(server, MCPLINK_PRIMITIVE_TOOL, "write", "files:write", &err), MCPLINK_OK, err);
    return server;
}

/* A free port has to be known before something listens at it: its number is in what is said of the server. */
static inline void resource_begin(mcplink_destroy_fn destroy, void *user)
{
    mcplink_status_t st;
    mcplink_error_t *err = NULL;
    resource.server = files_server();
    do {
        char port[16];
        uint16_t number;
        mcplink_http_options_t *options = mcplink_http_options_new();
        mcplink_resource_server_t *tokens;
        close(any_port(&number));
        snprintf(port, sizeof port, "%u", number);
        snprintf(resource.url, sizeof resource.url, "http://127.0.0.1:%u/mcp", number);
        tokens = mcplink_resource_server_new(resource.url, issuer.url);
        CHECK(mcplink_resource_server_set_verifier(tokens, verify_token, user, destroy) == MCPLINK_OK);
        CHECK(mcplink_resource_server_set_required_scopes(tokens, "files:read") == MCPLINK_OK);
        CHECK(mcplink_http_options_set_resource_server(options, tokens) == MCPLINK_OK);
        mcplink_resource_server_free(tokens);
        mcplink_error_free(err);
        st = mcplink_server_listen_http(resource.server, options, port, &resource.listener, &err);
        mcplink_http_options_free(options);
        /* Somebody else may have been quicker. */
    } while (st == MCPLINK_E_IO);
    CHECK_STATUS(st, MCPLINK_OK, err);
}

static inline void resource_end(void)
{
    mcplink_listener_free(resource.listener);
    mcplink_server_free(resource.server);
}

#endif
