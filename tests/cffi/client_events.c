/* What happens beside calls: a server that is lost, with and without a restart; lines of standard error; notifications and requests of one's own
   methods; how far tasks are; the log; descriptors of the host. */
#include "peer.h"

#include <sys/socket.h>
#include <unistd.h>

struct seen {
    struct counter lost, restored, closed, other;
    char last[400];
};

#define SAW_NOTHING { COUNTER, COUNTER, COUNTER, COUNTER, "" }

static void on_event(void *user, mcplink_event event, const mcplink_json_t *params)
{
    struct seen *s = user;
    snprintf(s->last, sizeof s->last, "%s", mcplink_json_text(params).ptr);
    switch (event) {
    case MCPLINK_EVENT_LOST: counter_add(&s->lost); break;
    case MCPLINK_EVENT_RESTORED: counter_add(&s->restored); break;
    case MCPLINK_EVENT_CLOSED: counter_add(&s->closed); break;
    default: counter_add(&s->other); break;
    }
}

static mcplink_status_t ping(mcplink_client_t *c) { return mcplink_client_ping(c, NULL, NULL); }

/* A server that ends when it is told, by a shell around it. */
static mcplink_client_options_t *mortal(struct seen *s)
{
    static const char *const argv[] = { "/bin/sh", "-c",
                                        "while read line; do case $line in"
                                        " *initialize\\\"*) echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"2025-11-25\","
                                        "\"capabilities\":{},\"serverInfo\":{\"name\":\"mortal\",\"version\":\"1\"}}}';;"
                                        " *die*) echo farewell >&2; exit 3;; esac; done", NULL };
    mcplink_client_options_t *o = mcplink_client_options_new();
    CHECK(mcplink_client_options_set_command(o, argv) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_revisions(o, "2025-11-25") == MCPLINK_OK);
    CHECK(mcplink_client_options_on_event(o, on_event, s, NULL) == MCPLINK_OK);
    return o;
}

static void lost(void)
{
    struct seen s = SAW_NOTHING;
    mcplink_client_t *c = open_with(mortal(&s), NULL);
    mcplink_json_t *params = NULL;

    CHECK(mcplink_client_notify(c, "die", NULL, 0, NULL) == MCPLINK_OK);
    CHECK(counter_wait(&s.closed, 1));
    CHECK(mcplink_json_parse(s.last, MCPLINK_NUL, &params, NULL) == MCPLINK_OK);
    CHECK_TEXT(mcplink_json_text(mcplink_json_get(params, "status")), "-3");
    CHECK(strstr(mcplink_json_str(mcplink_json_get(params, "message")).ptr, "3") != NULL);
    mcplink_json_free(params);
    CHECK(mcplink_client_state(c) == MCPLINK_CLIENT_CLOSED && ping(c) == MCPLINK_E_CLOSED);
    mcplink_client_free(c);
    CHECK(s.closed.count == 1 && s.lost.count == 0 && s.other.count == 0);
}

static void restarted(void)
{
    struct seen s = SAW_NOTHING;
    mcplink_client_options_t *o = mortal(&s);
    mcplink_client_t *c;

    CHECK(mcplink_client_options_set_restart(o, 5, 1, 10) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_retry_idempotent_calls(o, true) == MCPLINK_OK);
    c = open_with(o, NULL);
    CHECK(mcplink_client_notify(c, "die", NULL, 0, NULL) == MCPLINK_OK);
    CHECK(counter_wait(&s.restored, 1) && s.lost.count == 1 && s.closed.count == 0);
    CHECK(strcmp(s.last, "{\"attempt\":1}") == 0);
    CHECK(mcplink_client_state(c) == MCPLINK_CLIENT_READY);
    CHECK(mcplink_client_notify(c, "die", NULL, 0, NULL) == MCPLINK_OK);
    CHECK(counter_wait(&s.restored, 2) && s.lost.count == 2);
    mcplink_client_free(c);
    CHECK(s.closed.count == 1);
}

/* Standard error by the line. */

static struct counter lines = COUNTER;
static char all[200];

static void on_line(void *user, mcplink_str_t line)
{
    (void)user;
    strncat(all, line.ptr, sizeof all - strlen(all) - 1);
    strncat(all, "|", sizeof all - strlen(all) - 1);
    counter_add(&lines);
}

static void standard_error(void)
{
    static const char *const argv[] = { "/bin/sh", "-c", "echo one >&2; echo >&2; printf 'three\\r\\n' >&2; exec \"$SERVER\" stdio", NULL };
    mcplink_client_options_t *o = mcplink_client_options_new();
    mcplink_client_t *c;
    CHECK(mcplink_client_options_set_command(o, argv) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_env(o, "SERVER", everything_server()) == MCPLINK_OK);
    REFUSES(client_options, mcplink_client_options_new(), mcplink_client_options_set_stderr(it, MCPLINK_STDERR_DISCARD, on_line, NULL, NULL));
    CHECK(mcplink_client_options_set_stderr(o, MCPLINK_STDERR_CAPTURE, on_line, NULL, NULL) == MCPLINK_OK);
    c = open_with(o, NULL);
    CHECK(counter_wait(&lines, 3) && strcmp(all, "one||three|") == 0);
    mcplink_client_free(c);
}

/* Methods of one's own. */

static struct counter answered = COUNTER, noticed = COUNTER, logged = COUNTER;
static char answer[400];

static void on_notice(void *user, mcplink_event event, const mcplink_json_t *params)
{
    CHECK(event == MCPLINK_EVENT_NOTIFICATION && strcmp(user, "user") == 0);
    CHECK_TEXT(mcplink_json_text(params), "{\"a\":[1]}");
    counter_add(&noticed);
}

static void on_request(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    (void)user;
    CHECK_TEXT(mcplink_request_method(request), "com.example/ask");
    CHECK_TEXT(mcplink_json_text(mcplink_json_get(mcplink_request_params(request), "q")), "7");
    CHECK(mcplink_responder_text(responder, "no", MCPLINK_NUL) == MCPLINK_E_UNSUPPORTED);
    CHECK(mcplink_responder_json(responder, "{\"answer\":8}", MCPLINK_NUL) == MCPLINK_OK);
}

static void on_log(void *user, mcplink_log_level level, mcplink_str_t target, mcplink_str_t text)
{
    (void)user;
    CHECK(level >= MCPLINK_LOG_WARNING && target.len > 0 && text.len > 0);
    counter_add(&logged);
}

static void hear(struct peer *p, const char *method, const mcplink_json_t *message)
{
    (void)p;
    if (*method == 0) {
        snprintf(answer, sizeof answer, "%s", mcplink_json_text(mcplink_json_get(message, "result")).ptr);
        counter_add(&answered);
    }
}

static void own_methods(void)
{
    static char user[] = "user";
    struct peer p;
    mcplink_client_options_t *o;
    mcplink_client_t *c;

    peer_begin(&p, hear);
    o = peer_options(&p);
    CHECK(mcplink_client_options_on_notification(o, "notifications/com.example", on_notice, user, NULL) == MCPLINK_OK);
    CHECK(mcplink_client_options_on_request(o, "com.example/ask", on_request, NULL, NULL) == MCPLINK_OK);
    REFUSES(client_options, mcplink_client_options_new(), mcplink_client_options_on_log(it, 99, on_log, NULL, NULL));
    CHECK(mcplink_client_options_on_log(o, MCPLINK_LOG_WARNING, on_log, NULL, NULL) == MCPLINK_OK);
    c = open_with(o, NULL);
    peer_feed(&p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/com.example\",\"params\":{\"a\":[1]}}\n");
    CHECK(counter_wait(&noticed, 1));
    peer_feed(&p, "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"com.example/ask\",\"params\":{\"q\":7}}\n");
    CHECK(counter_wait(&answered, 1) && strcmp(answer, "{\"answer\":8}") == 0);
    peer_feed(&p, "{\"jsonrpc\":\"2.0\"}\n");
    CHECK(counter_wait(&logged, 1));
    mcplink_client_free(c);
    mcplink_transport_free(p.transport);
}

/* How far a task is, as the server tells it to who follows it. */
static void modern(struct peer *p, const char *method, const mcplink_json_t *message)
{
    static const char format[] = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/%s\",\"params\":{%s,"
                                 "\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":%s}}}\n";
    const char *id = mcplink_json_text(mcplink_json_get(message, "id")).ptr;
    char text[400];
    if (strcmp(method, "server/discover") == 0) {
        peer_respond(p, message, "{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{}}");
    } else if (strcmp(method, "subscriptions/listen") == 0) {
        const mcplink_json_t *filter = mcplink_json_get(mcplink_json_get(message, "params"), "notifications");
        CHECK_TEXT(mcplink_json_text(filter), "{\"taskIds\":[\"a\"]}");
        snprintf(text, sizeof text, format, "subscriptions/acknowledged", "\"notifications\":{\"taskIds\":[\"a\"]}", id);
        peer_feed(p, text);
        snprintf(text, sizeof text, format, "tasks", "\"taskId\":\"a\",\"status\":\"completed\",\"result\":{\"x\":1}", id);
        peer_feed(p, text);
    }
}

static struct counter tasks = COUNTER;

static void on_task(void *user, mcplink_event event, const mcplink_json_t *params)
{
    (void)user;
    if (event != MCPLINK_EVENT_TASK_CHANGED) return;
    CHECK_TEXT(mcplink_json_str(mcplink_json_get(params, "status")), "completed");
    CHECK_TEXT(mcplink_json_text(mcplink_json_get(params, "result")), "{\"x\":1}");
    counter_add(&tasks);
}

static void task_told(void)
{
    struct peer p;
    mcplink_client_options_t *o;
    mcplink_client_t *c;
    mcplink_result_t *r = NULL;
    mcplink_error_t *err = NULL;

    peer_begin(&p, modern);
    o = peer_options(&p);
    CHECK(mcplink_client_options_set_tasks(o, true) == MCPLINK_OK);
    CHECK(mcplink_client_options_on_event(o, on_task, NULL, NULL) == MCPLINK_OK);
    c = open_with(o, "2026-07-28");
    CHECK_STATUS(mcplink_client_listen(c, "{\"taskIds\":[\"a\"]}", MCPLINK_NUL, NULL, &r, &err), MCPLINK_OK, err);
    CHECK_TEXT(mcplink_json_text(mcplink_result_json(r)), "{\"taskIds\":[\"a\"]}");
    CHECK(counter_wait(&tasks, 1));
    mcplink_result_free(r);
    mcplink_client_free(c);
    mcplink_transport_free(p.transport);
}

/* Over a socket of the host, which plays the server on the other end. */
static void *serve(void *fd)
{
    static const char hello[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
                                "\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}}\n";
    char buffer[4096];
    CHECK(read(*(int *)fd, buffer, sizeof buffer) > 0);
    CHECK(write(*(int *)fd, hello, strlen(hello)) == (ssize_t)strlen(hello));
    while (read(*(int *)fd, buffer, sizeof buffer) > 0) {
    }
    return NULL;
}

static void descriptors(void)
{
    int ends[2];
    pthread_t thread;
    mcplink_client_options_t *o = mcplink_client_options_new();
    mcplink_client_t *c;

    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    CHECK(pthread_create(&thread, NULL, serve, &ends[1]) == 0);
    CHECK(mcplink_client_options_set_fds(o, ends[0], ends[0]) == MCPLINK_OK);
    c = open_with(o, "2025-11-25");
    /* Ours is another one by now. */
    CHECK(close(ends[0]) == 0);
    CHECK(mcplink_client_notify(c, "notifications/x", NULL, 0, NULL) == MCPLINK_OK);
    mcplink_client_free(c);
    pthread_join(thread, NULL);
    close(ends[1]);

    o = mcplink_client_options_new();
    CHECK(mcplink_client_options_set_fds(o, 999, 999) == MCPLINK_OK);
    CHECK(mcplink_client_open(o, &c, NULL) == MCPLINK_E_IO && c == NULL);
    mcplink_client_options_free(o);
}

int main(void)
{
    lost();
    restarted();
    standard_error();
    own_methods();
    task_told();
    descriptors();
    return 0;
}
