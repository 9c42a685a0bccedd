/* The HTTP client of the host: both eras, event streams, answers from other threads, cancelled requests, faults, and logins. */
#include "everything_http.h"
#include "issuer.h"

#include <signal.h>
#include <strings.h>
#include <sys/wait.h>

static pid_t child;
static char url[256];

/* A client of HTTP/1.1 with a connection for each request. */
struct connection {
    int fd;
};

static void shut(void *user) { shutdown(((struct connection *)user)->fd, SHUT_RDWR); }

static atomic_int connections;

static void let_go(void *user)
{
    close(((struct connection *)user)->fd);
    free(user);
    connections--;
}

/* Connects to what the URL names; the path. */
static const char *reach(mcplink_fetch_t *fetch, int *fd)
{
    mcplink_str_t at = mcplink_fetch_url(fetch);
    unsigned port;
    const char *path;
    CHECK(sscanf(at.ptr, "http://127.0.0.1:%u/", &port) == 1);
    CHECK(mcplink_fetch_allows_address(fetch, "127.0.0.1"));
    *fd = call_port((uint16_t)port);
    path = strchr(at.ptr + strlen("http://"), '/');
    CHECK(path != NULL);
    return path;
}

static void send_request(mcplink_fetch_t *fetch, FILE *out, const char *path)
{
    mcplink_str_t body = mcplink_fetch_body(fetch);
    size_t i;
    fprintf(out, "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: %zu\r\n", mcplink_fetch_method(fetch).ptr, path, body.len);
    for (i = 0; i < mcplink_fetch_header_count(fetch); i++)
        fprintf(out, "%s: %s\r\n", mcplink_fetch_header_name(fetch, i).ptr, mcplink_fetch_header_value(fetch, i).ptr);
    fprintf(out, "\r\n");
    fwrite(body.ptr, 1, body.len, out);
    fflush(out);
    CHECK(mcplink_fetch_header_name(fetch, i).len == 0 && mcplink_fetch_header_value(fetch, i).len == 0);
}

/* Passes on `len` bytes; 0 when they do not come or nobody needs them. */
static int pass_on(mcplink_fetch_t *fetch, FILE *in, size_t len)
{
    char bytes[4096];
    while (len > 0) {
        size_t come = fread(bytes, 1, len < sizeof bytes ? len : sizeof bytes, in);
        if (come == 0 || mcplink_fetch_write(fetch, bytes, come) != MCPLINK_OK) return 0;
        len -= come;
    }
    return 1;
}

static void pass_response(mcplink_fetch_t *fetch, FILE *in)
{
    char line[8192];
    int status, is_chunked = 0;
    size_t len = 0;
    if (!fgets(line, sizeof line, in) || sscanf(line, "HTTP/1.1 %d", &status) != 1) {
        CHECK(mcplink_fetch_fail(fetch, "no answer", true) == MCPLINK_OK);
        return;
    }
    while (fgets(line, sizeof line, in) && strcmp(line, "\r\n") != 0) {
        char *value = strchr(line, ':');
        CHECK(value != NULL);
        *value++ = 0;
        value += strspn(value, " ");
        value[strcspn(value, "\r\n")] = 0;
        if (strcasecmp(line, "content-length") == 0) len = strtoul(value, NULL, 10);
        if (strcasecmp(line, "transfer-encoding") == 0) {
            is_chunked = 1;
        } else if (mcplink_fetch_add_header(fetch, line, value, MCPLINK_NUL) != MCPLINK_OK) {
            CHECK(mcplink_fetch_is_cancelled(fetch));
        }
    }
    if (mcplink_fetch_begin(fetch, status) != MCPLINK_OK) return;
    if (!is_chunked) {
        if (pass_on(fetch, in, len)) (void)mcplink_fetch_end(fetch);
        return;
    }
    while (fgets(line, sizeof line, in)) {
        len = strtoul(line, NULL, 16);
        if (len == 0) {
            (void)mcplink_fetch_end(fetch);
            return;
        }
        if (!pass_on(fetch, in, len) || !fgets(line, sizeof line, in)) break;
    }
    (void)mcplink_fetch_fail(fetch, "it breaks off", true);
}

static struct counter fetches = COUNTER;

static mcplink_status_t fetch_it(void *user, mcplink_fetch_t *fetch)
{
    struct connection *one = malloc(sizeof *one);
    struct timeval no_end = { 0, 0 };
    const char *path;
    FILE *in, *out;
    CHECK(one != NULL && *(int *)user == 7);
    counter_add(&fetches);
    connections++;
    path = reach(fetch, &one->fd);
    /* A stream may be silent for long. */
    CHECK(setsockopt(one->fd, SOL_SOCKET, SO_RCVTIMEO, &no_end, sizeof no_end) == 0);
    in = fdopen(dup(one->fd), "r"), out = fdopen(dup(one->fd), "w");
    CHECK(in != NULL && out != NULL);
    CHECK(mcplink_fetch_on_cancel(fetch, shut, one, let_go) == MCPLINK_OK);
    send_request(fetch, out, path);
    pass_response(fetch, in);
    fclose(in), fclose(out);
    return MCPLINK_OK;
}

static atomic_int begun_threads;
static struct counter ended_threads = COUNTER;

/* The same, on a thread of the host's own. */
static void *fetch_on_thread(void *kept)
{
    int seven = 7;
    CHECK(fetch_it(&seven, kept) == MCPLINK_OK);
    mcplink_fetch_free(kept);
    counter_add(&ended_threads);
    return NULL;
}

static mcplink_status_t fetch_later(void *user, mcplink_fetch_t *fetch)
{
    pthread_t thread;
    pthread_attr_t detached;
    (void)user;
    CHECK(pthread_attr_init(&detached) == 0 && pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED) == 0);
    begun_threads++;
    CHECK(pthread_create(&thread, &detached, fetch_on_thread, mcplink_fetch_keep(fetch)) == 0);
    CHECK(pthread_attr_destroy(&detached) == 0);
    return MCPLINK_OK;
}

static atomic_int ended;
static void count_end(void *user) { (void)user, ended++; }

static mcplink_client_options_t *options_with(const char *at, mcplink_fetch_fn callback, void *user)
{
    mcplink_client_options_t *o = mcplink_client_options_new();
    CHECK(mcplink_client_options_set_url(o, at) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_close_timeout_ms(o, 1000) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_http_client(o, callback, user, count_end) == MCPLINK_OK);
    return o;
}

static struct counter progresses = COUNTER, events = COUNTER;

static void on_progress(void *user, double progress, double total, mcplink_str_t message)
{
    (void)user, (void)progress, (void)total, (void)message;
    counter_add(&progresses);
}

static void on_event(void *user, mcplink_event event, const mcplink_json_t *params)
{
    (void)user, (void)params;
    if (event == MCPLINK_EVENT_TOOLS_CHANGED) counter_add(&events);
}

static void conversation(const char *revision, mcplink_fetch_fn callback)
{
    static int seven = 7;
    static char large[1 << 20];
    mcplink_client_options_t *o = options_with(url, callback, &seven);
    mcplink_call_options_t *with_progress = mcplink_call_options_new();
    mcplink_client_t *c;
    mcplink_result_t *r = NULL;
    mcplink_error_t *err = NULL;
    int before = counter_get(&fetches);
    CHECK(mcplink_client_options_on_event(o, on_event, NULL, NULL) == MCPLINK_OK);
    c = open_with(o, revision);
    CHECK_STATUS(mcplink_client_call_tool(c, "greet", "{\"name\":\"C\"}", MCPLINK_NUL, NULL, &r, &err), MCPLINK_OK, err);
    CHECK_TEXT(mcplink_result_text(r), "Hello, C!");
    mcplink_result_free(r);
    CHECK(counter_get(&fetches) >= before + 2);
    /* More than is kept unread. */
    memset(large, 'x', sizeof large);
    memcpy(large, "{\"name\":\"", 9), memcpy(large + sizeof large - 2, "\"}", 2);
    CHECK_STATUS(mcplink_client_call_tool(c, "greet", large, sizeof large, NULL, &r, &err), MCPLINK_OK, err);
    CHECK(mcplink_result_text(r).len == sizeof large - 11 + strlen("Hello, !"));
    mcplink_result_free(r);
    /* An event stream is read while it goes on. */
    before = counter_get(&progresses);
    CHECK(mcplink_call_options_on_progress(with_progress, on_progress, NULL, NULL) == MCPLINK_OK);
    CHECK_STATUS(mcplink_client_call_tool(c, "test_tool_with_progress", "{}", 2, with_progress, &r, &err), MCPLINK_OK, err);
    mcplink_result_free(r);
    mcplink_call_options_free(with_progress);
    CHECK(counter_wait(&progresses, before + 1));
    /* A stream without an end; it ends with the client. */
    CHECK_STATUS(mcplink_client_listen(c, "{\"toolsListChanged\":true}", MCPLINK_NUL, NULL, &r, &err), MCPLINK_OK, err);
    mcplink_result_free(r);
    before = counter_get(&events);
    CHECK_STATUS(mcplink_client_call_tool(c, "test_trigger_tool_change", "{}", 2, NULL, &r, &err), MCPLINK_OK, err);
    mcplink_result_free(r);
    CHECK(counter_wait(&events, before + 1));
    CHECK(ended == 0);
    mcplink_client_free(c);
    CHECK(atomic_exchange(&ended, 0) == 1);
}

/* Answers like a server, without one; what it does is said by `part`. */
static struct {
    const char *part;
    struct counter cancelled, called;
} act = { "", COUNTER, COUNTER };

static void on_cancelled(void *user) { counter_add(user); }

static mcplink_status_t act_it(void *user, mcplink_fetch_t *fetch)
{
    (void)user;
    counter_add(&act.called);
    CHECK(!mcplink_fetch_allows_address(fetch, "localhost") && !mcplink_fetch_allows_address(fetch, NULL));
    CHECK(mcplink_fetch_allows_address(fetch, "10.0.0.1") && mcplink_fetch_allows_address(fetch, "::1"));
    CHECK_TEXT(mcplink_fetch_method(fetch), "POST");
    CHECK_TEXT(mcplink_fetch_url(fetch), "http://nowhere.example/mcp");
    CHECK(strstr(mcplink_fetch_body(fetch).ptr, "\"jsonrpc\"") != NULL && mcplink_fetch_timeout_ms(fetch) > 0);
    if (strcmp(act.part, "nothing") == 0) return MCPLINK_OK;
    if (strcmp(act.part, "status") == 0) return MCPLINK_E_USER;
    if (strcmp(act.part, "fail") == 0) return mcplink_fetch_fail(fetch, "the cable is out", false);
    if (strcmp(act.part, "silent") == 0) {
        CHECK(mcplink_fetch_on_cancel(fetch, on_cancelled, &act.cancelled, NULL) == MCPLINK_OK);
        CHECK(counter_wait(&act.cancelled, 1) && mcplink_fetch_is_cancelled(fetch));
        /* Late is not wrong. */
        CHECK(mcplink_fetch_begin(fetch, 200) == MCPLINK_E_CLOSED && mcplink_fetch_write(fetch, "{}", 2) == MCPLINK_E_CLOSED);
        CHECK(mcplink_fetch_add_header(fetch, "a", "b", 1) == MCPLINK_E_CLOSED && mcplink_fetch_end(fetch) == MCPLINK_E_CLOSED);
        return MCPLINK_OK;
    }
    /* Out of order. */
    CHECK(mcplink_fetch_write(fetch, "{}", 2) == MCPLINK_E_STATE && mcplink_fetch_end(fetch) == MCPLINK_E_STATE);
    CHECK(mcplink_fetch_begin(fetch, 99) == MCPLINK_E_INVALID && mcplink_fetch_begin(fetch, 70000) == MCPLINK_E_INVALID);
    CHECK(mcplink_fetch_begin(fetch, -1) == MCPLINK_E_INVALID && mcplink_fetch_add_header(fetch, NULL, "x", 1) == MCPLINK_E_INVALID);
    if (strcmp(act.part, "header") == 0) CHECK(mcplink_fetch_add_header(fetch, "a b", "x", 1) == MCPLINK_OK);
    CHECK(mcplink_fetch_add_header(fetch, "Content-Type", "application/json", MCPLINK_NUL) == MCPLINK_OK);
    CHECK(mcplink_fetch_begin(fetch, strcmp(act.part, "refusal") == 0 ? 418 : 200) == MCPLINK_OK);
    if (strcmp(act.part, "header") == 0) return MCPLINK_OK;
    CHECK(mcplink_fetch_begin(fetch, 200) == MCPLINK_E_STATE && mcplink_fetch_add_header(fetch, "a", "b", 1) == MCPLINK_E_STATE);
    CHECK(mcplink_fetch_write(fetch, NULL, 1) == MCPLINK_E_INVALID && mcplink_fetch_write(fetch, NULL, 0) == MCPLINK_OK);
    CHECK(mcplink_fetch_write(fetch, "{\"jsonrpc\"", MCPLINK_NUL) == MCPLINK_OK);
    if (strcmp(act.part, "broken") == 0) return mcplink_fetch_fail(fetch, "the cable is out", true);
    if (strcmp(act.part, "unended") == 0) return MCPLINK_OK;
    CHECK(mcplink_fetch_end(fetch) == MCPLINK_OK && mcplink_fetch_end(fetch) == MCPLINK_E_STATE);
    CHECK(mcplink_fetch_fail(fetch, NULL, true) == MCPLINK_E_STATE && mcplink_fetch_write(fetch, "x", 1) == MCPLINK_E_STATE);
    return MCPLINK_OK;
}

static void faults(void)
{
    static const struct {
        const char *part;
        mcplink_status_t expected;
        const char *says;
    } cases[] = {
        { "nothing", MCPLINK_E_IO, "released the fetch before its response had ended" },
        { "status", MCPLINK_E_IO, "-17" },
        { "fail", MCPLINK_E_IO, "the cable is out" },
        { "header", MCPLINK_E_PROTOCOL, "header field" },
        { "refusal", MCPLINK_E_HTTP, "418" },
        { "broken", MCPLINK_E_IO, "the cable is out" },
        { "unended", MCPLINK_E_IO, "released the fetch before its response had ended" },
        { "garbage", MCPLINK_E_PROTOCOL, "" },
        { "silent", MCPLINK_E_TIMEOUT, "" },
    };
    size_t i;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        mcplink_client_options_t *o = options_with("http://nowhere.example/mcp", act_it, NULL);
        mcplink_client_t *c = NULL;
        mcplink_error_t *err = NULL;
        mcplink_status_t st;
        act.part = cases[i].part;
        CHECK(mcplink_client_options_set_revisions(o, "2025-06-18") == MCPLINK_OK);
        CHECK(mcplink_client_options_set_connect_timeout_ms(o, strcmp(act.part, "silent") == 0 ? 100 : 30000) == MCPLINK_OK);
        st = mcplink_client_open(o, &c, &err);
        if (st != cases[i].expected || strstr(mcplink_error_message(err), cases[i].says) == NULL) {
            fprintf(stderr, "%s: %s: %s\n", act.part, mcplink_status_name(st), mcplink_error_message(err));
            CHECK(0);
        }
        CHECK(c == NULL && counter_get(&act.called) > (int)i);
        mcplink_error_free(err);
        CHECK(ended == 0);
        mcplink_client_options_free(o);
        CHECK(atomic_exchange(&ended, 0) == 1);
    }
}

/* The function may close and free its client: neither waits for the function itself. */
static struct {
    struct counter begun, closed, freed;
    mcplink_client_t *client;
    int frees;
} inside = { COUNTER, COUNTER, COUNTER, NULL, 0 };

static mcplink_status_t close_it(void *user, mcplink_fetch_t *fetch)
{
    mcplink_result_t *none = NULL;
    mcplink_error_t *err = NULL;
    (void)user;
    CHECK(counter_wait(&inside.begun, 1));
    if (inside.frees) {
        mcplink_client_free(inside.client);
    } else {
        CHECK_STATUS(mcplink_client_close(inside.client, MCPLINK_FOREVER, &err), MCPLINK_OK, err);
        CHECK(mcplink_client_call_tool(inside.client, "x", "{}", 2, NULL, &none, &err) == MCPLINK_E_CLOSED);
        mcplink_error_free(err);
    }
    (void)mcplink_fetch_fail(fetch, NULL, false);
    counter_add(&inside.closed);
    return MCPLINK_OK;
}

static void count_freed(void *user) { counter_add(user); }

static void closing_inside(void)
{
    for (inside.frees = 0; inside.frees < 2; inside.frees++) {
        mcplink_client_options_t *o = mcplink_client_options_new();
        mcplink_error_t *err = NULL;
        int before = counter_get(&inside.freed);
        inside.begun.count = inside.closed.count = 0;
        CHECK(mcplink_client_options_set_url(o, "http://nowhere.example/mcp") == MCPLINK_OK);
        CHECK(mcplink_client_options_set_http_client(o, close_it, &inside.freed, count_freed) == MCPLINK_OK);
        CHECK_STATUS(mcplink_client_start(o, &inside.client, &err), MCPLINK_OK, err);
        mcplink_client_options_free(o);
        counter_add(&inside.begun);
        CHECK(counter_wait(&inside.closed, 1));
        if (!inside.frees) mcplink_client_free(inside.client);
        CHECK(counter_wait(&inside.freed, before + 1));
    }
}

/* A client of the host decides how servers are reached: other settings for that are refused, not ignored. */
static void contradictions(void)
{
    static int seven = 7;
    int which;
    for (which = 0; which < 2; which++) {
        mcplink_client_options_t *o = options_with("http://nowhere.example/mcp", fetch_it, &seven);
        mcplink_client_t *c = NULL;
        mcplink_error_t *err = NULL;
        CHECK((which ? mcplink_client_options_set_proxy(o, "environment") : mcplink_client_options_set_proxy(o, "http://127.0.0.1:1")) == MCPLINK_OK);
        CHECK(mcplink_client_open(o, &c, &err) == MCPLINK_E_INVALID);
        CHECK(strstr(mcplink_error_message(err), "mcplink_client_options_set_proxy") != NULL);
        CHECK(strstr(mcplink_error_message(err), "mcplink_client_options_set_http_client") != NULL);
        mcplink_error_free(err);
        mcplink_client_options_free(o);
        CHECK(atomic_exchange(&ended, 0) == 1);
    }
}

/* A login sends its requests in the same way, to where it is allowed to. */
static void logins(void)
{
    static int seven = 7;
    static atomic_int one;
    mcplink_oauth_client_t *me;
    mcplink_oauth_t *oauth = mcplink_oauth_new();
    mcplink_client_options_t *o;
    mcplink_client_t *c = NULL;
    mcplink_error_t *err = NULL;
    int before = counter_get(&fetches);
    issuer_begin();
    resource_begin(NULL, &one);
    me = mcplink_oauth_client_new(issuer.url, "me");
    CHECK(mcplink_oauth_client_set_secret(me, "s3cret") == MCPLINK_OK);
    CHECK(mcplink_oauth_set_client_credentials(oauth) == MCPLINK_OK && mcplink_oauth_add_client(oauth, me) == MCPLINK_OK);
    CHECK(mcplink_oauth_set_http_client(oauth, NULL, &seven, count_end) == MCPLINK_E_INVALID && atomic_exchange(&ended, 0) == 1);
    mcplink_oauth_free(oauth);
    oauth = mcplink_oauth_new();
    CHECK(mcplink_oauth_set_client_credentials(oauth) == MCPLINK_OK && mcplink_oauth_add_client(oauth, me) == MCPLINK_OK);
    CHECK(mcplink_oauth_set_http_client(oauth, fetch_it, &seven, count_end) == MCPLINK_OK);
    o = options_with(resource.url, fetch_later, NULL);
    CHECK(mcplink_client_options_set_oauth(o, oauth) == MCPLINK_OK);
    mcplink_oauth_free(oauth);
    CHECK_STATUS(mcplink_client_open(o, &c, &err), MCPLINK_OK, err);
    CHECK(issuer.secrets == 1 && issuer.tokens == 1 && counter_get(&fetches) > before + 4);
    mcplink_client_free(c);
    CHECK(ended == 0);
    mcplink_client_options_free(o);
    CHECK(atomic_exchange(&ended, 0) == 2);

    /* A proxy that would be ignored is refused. */
    oauth = mcplink_oauth_new();
    CHECK(mcplink_oauth_set_client_credentials(oauth) == MCPLINK_OK && mcplink_oauth_add_client(oauth, me) == MCPLINK_OK);
    CHECK(mcplink_oauth_set_http_client(oauth, fetch_it, &seven, count_end) == MCPLINK_OK);
    CHECK(mcplink_oauth_set_proxy(oauth, "http://127.0.0.1:1") == MCPLINK_OK);
    o = options_with(resource.url, fetch_it, &seven);
    CHECK(mcplink_client_options_set_oauth(o, oauth) == MCPLINK_OK);
    CHECK(mcplink_client_open(o, &c, &err) == MCPLINK_E_INVALID);
    CHECK(strstr(mcplink_error_message(err), "mcplink_oauth_set_proxy") != NULL);
    CHECK(strstr(mcplink_error_message(err), "mcplink_oauth_set_http_client") != NULL);
    mcplink_error_free(err);
    mcplink_client_options_free(o);
    mcplink_oauth_free(oauth), mcplink_oauth_client_free(me);
    CHECK(atomic_exchange(&ended, 0) == 2);
    resource_end();
    issuer_end();
}

int main(void)
{
    int fds;
    signal(SIGPIPE, SIG_IGN);
    child = everything_http(url, sizeof url);
    fds = open_count();
    conversation("2026-07-28", fetch_it);
    conversation("2025-11-25", fetch_it);
    conversation("2026-07-28", fetch_later);
    conversation("2025-11-25", fetch_later);
    faults();
    closing_inside();
    contradictions();
    logins();
    /* The threads of the host close their files after the library has let go of them. */
    CHECK(counter_wait(&ended_threads, begun_threads));
    CHECK(connections == 0 && open_count() == fds);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return 0;
}
