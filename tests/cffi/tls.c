/* A company's own certificate authority: whom clients, authorizations and servers trust over HTTPS. */
#include "issuer.h"

static char root[8192], other_root[8192], own[8192];

static void read_file(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "re");
    size_t len;
    CHECK(file != NULL);
    len = fread(text, 1, size - 1, file);
    CHECK(len > 0 && len < size - 1);
    text[len] = 0;
    fclose(file);
}

/* What speaks TLS in front of a port of this program. */
struct front {
    pid_t process;
    int in;
    unsigned port;
};

/* authority: whose certificates clients need; NULL if they need none. */
static struct front front_begin(uint16_t port, const char *authority)
{
    struct front front;
    int in[2], out[2];
    char number[16], said[16] = "";
    size_t len = 0;
    snprintf(number, sizeof number, "%u", port);
    CHECK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
    front.process = fork();
    CHECK(front.process >= 0);
    if (front.process == 0) {
        dup2(in[0], 0), dup2(out[1], 1);
        execlp("python3", "python3", "tests/cffi/tls_front.py", "tests/data/tls/server.pem", number, authority, (char *)NULL);
        _exit(127);
    }
    close(in[0]), close(out[1]);
    front.in = in[1];
    while (strchr(said, '\n') == NULL) {
        struct pollfd readable = { out[0], POLLIN, 0 };
        ssize_t got;
        CHECK(poll(&readable, 1, PATIENCE) == 1);
        got = read(out[0], said + len, sizeof said - 1 - len);
        CHECK(got > 0);
        len += (size_t)got, said[len] = 0;
    }
    close(out[0]);
    front.port = (unsigned)atoi(said);
    return front;
}

static void front_end(struct front front)
{
    close(front.in);
    CHECK(waitpid(front.process, NULL, 0) == front.process);
}

/* Opening a client says this; NULL when it is to be opened. */
static void opens(const char *url, const char *pem, const mcplink_oauth_t *oauth, mcplink_status_t expected, const char *says)
{
    mcplink_client_options_t *o = mcplink_client_options_new();
    mcplink_client_t *c = NULL;
    mcplink_error_t *err = NULL;
    mcplink_status_t st;
    CHECK(mcplink_client_options_set_url(o, url) == MCPLINK_OK && mcplink_client_options_set_timeout_ms(o, PATIENCE) == MCPLINK_OK);
    if (pem != NULL) (void)mcplink_client_options_set_root_certificates(o, pem, MCPLINK_NUL);
    if (oauth != NULL) CHECK(mcplink_client_options_set_oauth(o, oauth) == MCPLINK_OK);
    st = mcplink_client_open(o, &c, &err);
    if (st != expected || (says != NULL && strstr(mcplink_error_message(err), says) == NULL)) {
        fprintf(stderr, "%s: %s\n", mcplink_status_name(st), mcplink_error_message(err));
        CHECK(0);
    }
    mcplink_client_free(c);
    mcplink_error_free(err);
    mcplink_client_options_free(o);
}

/* Opens a client with a certificate of its own. */
static void presents(const char *url, const char *pem, mcplink_status_t expected)
{
    mcplink_client_options_t *o = mcplink_client_options_new();
    mcplink_client_t *c = NULL;
    mcplink_error_t *err = NULL;
    CHECK(mcplink_client_options_set_url(o, url) == MCPLINK_OK && mcplink_client_options_set_root_certificates(o, root, MCPLINK_NUL) == MCPLINK_OK);
    (void)mcplink_client_options_set_client_certificate(o, pem, MCPLINK_NUL);
    CHECK_STATUS(mcplink_client_open(o, &c, &err), expected, err);
    mcplink_client_free(c);
    mcplink_client_options_free(o);
}

static void clients(void)
{
    char url[64], both[2 * sizeof root];
    mcplink_server_t *server = files_server();
    mcplink_listener_t *listener = NULL;
    mcplink_client_options_t *o = mcplink_client_options_new();
    mcplink_client_t *c = NULL;
    mcplink_error_t *err = NULL;
    struct front front;
    CHECK_STATUS(mcplink_server_listen_http(server, NULL, "0", &listener, &err), MCPLINK_OK, err);
    front = front_begin((uint16_t)mcplink_listener_port(listener), NULL);
    snprintf(url, sizeof url, "https://127.0.0.1:%u/mcp", front.port);
    snprintf(both, sizeof both, "%s%s", other_root, root);

    opens(url, root, NULL, MCPLINK_OK, NULL);
    opens(url, both, NULL, MCPLINK_OK, NULL);
    opens(url, NULL, NULL, MCPLINK_E_IO, "root_certificates");
    opens(url, other_root, NULL, MCPLINK_E_IO, "root_certificates");
    opens(url, "", NULL, MCPLINK_E_INVALID, "mcplink_client_options_set_root_certificates: the PEM text must not be empty");
    opens(url, "/etc/ca.pem", NULL, MCPLINK_E_INVALID, "expected PEM");
    opens(url, "-----BEGIN CERTIFICATE-----\n!", NULL, MCPLINK_E_INVALID, "PEM");

    /* The last text counts, as far as its length. */
    CHECK(mcplink_client_options_set_root_certificates(NULL, root, MCPLINK_NUL) == MCPLINK_E_INVALID);
    CHECK(mcplink_client_options_set_url(o, url) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_root_certificates(o, root, MCPLINK_NUL) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_root_certificates(o, other_root, strlen(other_root)) == MCPLINK_OK);
    CHECK(mcplink_client_open(o, &c, NULL) == MCPLINK_E_IO);
    CHECK(mcplink_client_options_use_default_roots(o) == MCPLINK_OK && mcplink_client_open(o, &c, NULL) == MCPLINK_E_IO);
    CHECK(mcplink_client_options_set_root_certificates(o, both, strlen(both)) == MCPLINK_OK);
    CHECK_STATUS(mcplink_client_open(o, &c, &err), MCPLINK_OK, err);
    mcplink_client_free(c);
    front_end(front);

    /* A server that asks who its clients are. */
    front = front_begin((uint16_t)mcplink_listener_port(listener), "tests/data/tls/root.pem");
    snprintf(url, sizeof url, "https://127.0.0.1:%u/mcp", front.port);
    presents(url, own, MCPLINK_OK);
    presents(url, root, MCPLINK_E_INVALID);
    presents(url, "", MCPLINK_E_INVALID);
    presents(url, NULL, MCPLINK_E_INVALID);
    CHECK(mcplink_client_options_set_url(o, url) == MCPLINK_OK && mcplink_client_open(o, &c, NULL) < 0);
    mcplink_client_options_free(o);
    front_end(front);

    mcplink_listener_free(listener);
    mcplink_server_free(server);
}

/* The server is reached without TLS here, who authorizes it with. */
static void authorizations(void)
{
    mcplink_oauth_t *oauth = mcplink_oauth_new();
    mcplink_oauth_client_t *me;
    struct front front;
    issuer_begin();
    front = front_begin(issuer.port, NULL);
    snprintf(issuer.url, sizeof issuer.url, "https://127.0.0.1:%u", front.port);
    resource_begin(NULL, NULL);
    me = mcplink_oauth_client_new(issuer.url, "me");
    CHECK(mcplink_oauth_client_set_secret(me, "s3cret") == MCPLINK_OK);
    CHECK(mcplink_oauth_set_client_credentials(oauth) == MCPLINK_OK && mcplink_oauth_add_client(oauth, me) == MCPLINK_OK);

    CHECK(mcplink_oauth_set_root_certificates(NULL, root, MCPLINK_NUL) == MCPLINK_E_INVALID);
    /* What the client trusts is its own affair. */
    opens(resource.url, root, oauth, MCPLINK_E_IO, "mcplink_oauth_set_root_certificates");
    CHECK(mcplink_oauth_set_root_certificates(oauth, other_root, MCPLINK_NUL) == MCPLINK_OK);
    opens(resource.url, NULL, oauth, MCPLINK_E_IO, "mcplink_oauth_set_root_certificates");
    CHECK(mcplink_oauth_set_root_certificates(oauth, "/etc/ca.pem", MCPLINK_NUL) == MCPLINK_OK);
    opens(resource.url, NULL, oauth, MCPLINK_E_INVALID, "expected PEM");
    CHECK(issuer.tokens == 0);
    CHECK(mcplink_oauth_set_root_certificates(oauth, root, strlen(root)) == MCPLINK_OK);
    opens(resource.url, NULL, oauth, MCPLINK_OK, NULL);
    CHECK(issuer.tokens == 1);
    CHECK(mcplink_oauth_use_default_roots(oauth) == MCPLINK_OK);
    opens(resource.url, NULL, oauth, MCPLINK_E_IO, "mcplink_oauth_set_root_certificates");

    mcplink_oauth_client_free(me);
    mcplink_oauth_free(oauth);
    resource_end();
    front_end(front);
    issuer_end();
}

/* The keys of an issuer, and a token that it signed: see auth_server.c. */
static const char keys[] = "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"7Cp-pC_dmc91klIK0TfnwIyx5fCsToPNdPNldQfX2VA\","
                           "\"y\":\"KzWbownAp7rR4FnckdoeZQa3DmxT2TV-L5KOzgntD_0\",\"kid\":\"test\",\"alg\":\"ES256\",\"use\":\"sig\"}]}";
static const char good[] =
    "eyJhbGciOiJFUzI1NiIsImtpZCI6InRlc3QiLCJ0eXAiOiJhdCtqd3QifQ."
    "eyJpc3MiOiJodHRwczovL2xvZ2luLmV4YW1wbGUiLCJzdWIiOiJhZGEiLCJhdWQiOiJodHRwczovL2ZpbGVzLmV4YW1wbGUvbWNwIiwiZXhwIjo0MTAyNDQ0ODAwLCJzY29w"
    "ZSI6ImZpbGVzOnJlYWQifQ.bVJex_xnH9qpEacGfUwMeMTsOpNluKUGQ7fG7wq2w9lOOhB6UsRlPIh1SxSoTar2AAEnMOjHxpkZYJtl0B_3rw";

static atomic_int asked;

static void *run_keys(void *listening)
{
    static char request[16384];
    int fd;
    while ((fd = accept4(*(int *)listening, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        if (read_message(fd, request, sizeof request)) {
            asked++;
            respond(fd, "200 OK", "", keys);
        }
        close(fd);
    }
    return NULL;
}

/* A server that trusts this when it fetches keys answers a client with a token so, "" for well; NULL: it does not begin to serve. */
static void serves(const char *keys_url, const char *pem, const char *says)
{
    mcplink_error_t *err = NULL;
    mcplink_client_t *c = NULL;
    mcplink_listener_t *listener = NULL;
    mcplink_server_t *server = files_server();
    mcplink_http_options_t *options = mcplink_http_options_new();
    mcplink_resource_server_t *tokens = mcplink_resource_server_new("https://files.example/mcp", "https://login.example");
    mcplink_client_options_t *o = mcplink_client_options_new();
    char url[64];
    CHECK(mcplink_resource_server_set_keys_url(tokens, keys_url) == MCPLINK_OK);
    CHECK(mcplink_resource_server_set_root_certificates(NULL, pem, MCPLINK_NUL) == MCPLINK_E_INVALID);
    if (pem != NULL) (void)mcplink_resource_server_set_root_certificates(tokens, pem, MCPLINK_NUL);
    (void)mcplink_http_options_set_resource_server(options, tokens);
    if (says == NULL) {
        CHECK(mcplink_server_listen_http(server, options, "0", &listener, &err) == MCPLINK_E_INVALID && listener == NULL);
        CHECK(strstr(mcplink_error_message(err), "PEM") != NULL && strstr(mcplink_error_message(err), "root_certificates") != NULL);
        mcplink_error_free(err);
    } else {
        mcplink_status_t st;
        CHECK_STATUS(mcplink_server_listen_http(server, options, "0", &listener, &err), MCPLINK_OK, err);
        snprintf(url, sizeof url, "http://127.0.0.1:%u/mcp", mcplink_listener_port(listener));
        CHECK(mcplink_client_options_set_url(o, url) == MCPLINK_OK && mcplink_client_options_set_bearer(o, good) == MCPLINK_OK);
        st = mcplink_client_open(o, &c, &err);
        if (*says != 0 ? st == MCPLINK_OK || strstr(mcplink_error_message(err), says) == NULL : st != MCPLINK_OK) {
            fprintf(stderr, "%s: %s\n", mcplink_status_name(st), mcplink_error_message(err));
            CHECK(0);
        }
        mcplink_error_free(err);
        mcplink_client_free(c);
    }
    mcplink_client_options_free(o);
    mcplink_resource_server_free(tokens);
    mcplink_http_options_free(options);
    mcplink_listener_free(listener);
    mcplink_server_free(server);
}

static void keys_of_an_issuer(void)
{
    char url[64];
    uint16_t port;
    int fd = any_port(&port);
    pthread_t thread;
    struct front front = front_begin(port, NULL);
    CHECK(pthread_create(&thread, NULL, run_keys, &fd) == 0);
    snprintf(url, sizeof url, "https://127.0.0.1:%u/keys", front.port);
    serves(url, "", NULL);
    serves(url, "-----BEGIN CERTIFICATE-----\n!", NULL);
    serves(url, NULL, "can't be checked");
    serves(url, other_root, "can't be checked");
    CHECK(asked == 0);
    serves(url, root, "");
    CHECK(asked == 1);
    front_end(front);
    shutdown(fd, SHUT_RDWR);
    pthread_join(thread, NULL);
    close(fd);
}

int main(void)
{
    state_t before;
    read_file("tests/data/tls/root.pem", root, sizeof root);
    read_file("tests/data/tls/client.pem", own, sizeof own);
    read_file("tests/data/tls/other-root.pem", other_root, sizeof other_root);
    state_take(&before);
    clients();
    authorizations();
    keys_of_an_issuer();
    state_same(&before);
    return 0;
}
