/* What a host is told of those whom its server serves: who comes and goes, and what goes wrong with them; on a thread of the server's and with a pump. */
#include "talk.h"

#include <pthread.h>
#include <stdatomic.h>
#ifndef _WIN32
#include <sys/wait.h>
#endif
#include <unistd.h>

/* What was told, one line each. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char lines[64][1024];
    int count, read;
} told = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static atomic_int ended, one = 1;
static void end(void *user) { ended += *(atomic_int *)user; }

static pthread_t home;
static int has_home;

static void on_event(void *user, mcplink_server_event event, const mcplink_json_t *params)
{
    mcplink_str_t text = mcplink_json_text(params);
    CHECK(user == &one && (!has_home || pthread_equal(pthread_self(), home)));
    pthread_mutex_lock(&told.lock);
    CHECK(told.count < 64 && text.len < 1000);
    snprintf(told.lines[told.count++], sizeof told.lines[0], "%d %s", (int)event, text.ptr);
    pthread_cond_broadcast(&told.changed);
    pthread_mutex_unlock(&told.lock);
}

/* The next thing that is told: this event, with these words. */
static void next(mcplink_pump_t *pump, int event, const char *const *words)
{
    char number[16];
    const char *line = NULL;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE / 1000;
    while (pump != NULL && told.count == told.read) {
        CHECK(mcplink_pump_wait(pump, PATIENCE) > 0);
        CHECK(mcplink_pump_dispatch(pump, 1) >= 0);
    }
    pthread_mutex_lock(&told.lock);
    while (told.count == told.read) CHECK(pthread_cond_timedwait(&told.changed, &told.lock, &until) == 0);
    line = told.lines[told.read++];
    pthread_mutex_unlock(&told.lock);
    snprintf(number, sizeof number, "%d ", event);
    if (strncmp(line, number, strlen(number)) != 0) fprintf(stderr, "instead of %s: %s\n", number, line);
    CHECK(strncmp(line, number, strlen(number)) == 0);
    for (; *words != NULL; words++) {
        if (strstr(line, *words) == NULL) fprintf(stderr, "no %s in: %s\n", *words, line);
        CHECK(strstr(line, *words) != NULL);
    }
}

#define NEXT(pump, event, ...)                                       \
    do {                                                             \
        static const char *const words[] = { __VA_ARGS__, NULL };    \
        next((pump), (event), words);                                \
    } while (0)

static void silent(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)user, (void)req, (void)resp;
}

/* Fails for a reason that is the host's own. */
static void broken(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)user, (void)req;
    CHECK(mcplink_responder_internal_error(resp, "db.internal is away", MCPLINK_NUL) == MCPLINK_OK);
    CHECK(mcplink_responder_internal_error(resp, "again", MCPLINK_NUL) == MCPLINK_E_STATE);
}

/* Windows has no fork. */
#ifndef _WIN32
/* Another process: its standard error is what this one reads. */
static void the_first_error_that_nobody_hears_is_written_to_standard_error(void)
{
    char text[4096];
    size_t length = 0;
    ssize_t got;
    int ends[2], status;
    pid_t child;
    CHECK(pipe(ends) == 0 && (child = fork()) >= 0);
    if (child == 0) {
        mcplink_server_t *server = mcplink_server_new("unheard", "1");
        talk_t talk;
        CHECK(dup2(ends[1], 2) == 2);
        add_tool(server, "broken", broken, NULL, NULL);
        talk = talk_begin(server);
        talk_open(&talk, "{}");
        talk_call(&talk, "1", "broken", "{}");
        TALK_HOLDS(&talk, "\"internal error\"");
        talk_call(&talk, "2", "broken", "{}");
        TALK_HOLDS(&talk, "\"id\":2");
        talk_end(&talk);
        mcplink_server_free(server);
        _exit(0);
    }
    CHECK(close(ends[1]) == 0);
    while ((got = read(ends[0], text + length, sizeof text - 1 - length)) > 0) length += (size_t)got;
    text[length] = 0;
    CHECK(waitpid(child, &status, 0) == child && status == 0 && close(ends[0]) == 0);
    CHECK(strstr(text, "tool 'broken' failed: db.internal is away") != NULL && strchr(text, '\n') == text + length - 1);
}
#endif

static mcplink_server_t *make(mcplink_pump_t *pump)
{
    mcplink_server_options_t *o = mcplink_server_options_new("events", "1");
    mcplink_server_t *server = NULL;
    mcplink_error_t *err = NULL;
    CHECK(mcplink_server_options_set_limit(o, MCPLINK_LIMIT_MESSAGE_BYTES, 2000) == MCPLINK_OK);
    CHECK(mcplink_server_options_set_pump(o, pump) == MCPLINK_OK);
    /* The second one replaces the first. */
    CHECK(mcplink_server_options_on_session(o, on_event, &one, end) == MCPLINK_OK && ended == 0);
    CHECK(mcplink_server_options_on_session(o, on_event, &one, end) == MCPLINK_OK && ended == 1);
    CHECK(mcplink_server_options_on_event(o, on_event, &one, end) == MCPLINK_OK && ended == 1);
    CHECK_STATUS(mcplink_server_new_with(o, &server, &err), MCPLINK_OK, err);
    mcplink_server_options_free(o);
    add_tool(server, "silent", silent, NULL, NULL);
    add_tool(server, "broken", broken, NULL, NULL);
    CHECK(ended == 1);
    return server;
}

static void told_of_a_conversation(mcplink_pump_t *pump)
{
    mcplink_server_t *server = make(pump);
    talk_t talk = talk_begin_for(server, "ada"), other;
    char line[4096];

    talk_open(&talk, "{}");
    NEXT(pump, MCPLINK_SERVER_SESSION_BEGAN, "\"session\":1", "\"transport\":\"stream\"", "\"revision\":\"2025-11-25\"",
         "\"client\":{\"name\":\"talk\",\"version\":\"1\"}", "\"principal\":\"ada\"", "\"peer\":\"");

    talk_send(&talk, "no JSON");
    TALK_HOLDS(&talk, "-32700");
    NEXT(pump, MCPLINK_SERVER_MALFORMED, "\"session\":1", "\"message\":\"", "\"peer\":\"");

    snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",\"params\":{\"x\":\"%02500d\"}}", 0);
    talk_send(&talk, line);
    TALK_HOLDS(&talk, "\"id\":7");
    NEXT(pump, MCPLINK_SERVER_TOO_LONG, "\"session\":1", "MCPLINK_LIMIT_MESSAGE_BYTES (2000)");

    talk_call(&talk, "8", "silent", "{}");
    NEXT(pump, MCPLINK_SERVER_HANDLER_FAILED, "\"session\":1", "\"method\":\"tools/call\"", "gave no answer");
    TALK_HOLDS(&talk, "\"id\":8");

    talk_call(&talk, "9", "broken", "{}");
    NEXT(pump, MCPLINK_SERVER_HANDLER_FAILED, "\"method\":\"tools/call\"", "db.internal is away");
    TALK_HOLDS(&talk, "\"message\":\"internal error\"");

    other = talk_begin(server);
    talk_open(&other, "{}");
    NEXT(pump, MCPLINK_SERVER_SESSION_BEGAN, "\"session\":2");
    CHECK(mcplink_session_number(talk.session) == 1 && mcplink_session_number(other.session) == 2 && mcplink_session_number(NULL) == 0);

    /* The client leaves. */
    close_end(talk.fd);
    talk.fd = NO_END;
    NEXT(pump, MCPLINK_SERVER_SESSION_ENDED, "\"session\":1", "\"status\":-3", "\"message\":\"", "\"principal\":\"ada\"");
    talk_end(&talk);

    /* The server is freed, which tells the end of the others before it returns. */
    mcplink_server_free(server);
    CHECK(told.count == told.read + 1 && ended == 3);
    CHECK(strstr(told.lines[told.read], "\"status\"") == NULL);
    NEXT(pump, MCPLINK_SERVER_SESSION_ENDED, "\"session\":2", "\"transport\":\"stream\"");
    talk_end(&other);
    CHECK(told.count == told.read);
}

static mcplink_status_t begin(void *user, const mcplink_http_head_t *head, int64_t length)
{
    (void)length;
    *(int *)user = mcplink_http_head_status(head);
    return MCPLINK_OK;
}

static mcplink_status_t write_some(void *user, const void *bytes, size_t len)
{
    (void)user, (void)bytes, (void)len;
    return MCPLINK_OK;
}

static void finish(void *user, bool complete) { (void)user, (void)complete; }

/* A page of another site that looks for servers on this machine. */
static void told_of_an_intruder(void)
{
    mcplink_server_t *server = make(NULL);
    mcplink_http_t *http = NULL;
    mcplink_error_t *err = NULL;
    int status = 0;
    mcplink_status_t made = mcplink_server_http(server, NULL, &http, &err);
    if (made == MCPLINK_OK) {
        mcplink_exchange_t *exchange = mcplink_exchange_new("POST", "/mcp", begin, write_some, finish, &status, NULL);
        CHECK(mcplink_exchange_add_header(exchange, "Host", "localhost", MCPLINK_NUL) == MCPLINK_OK);
        CHECK(mcplink_exchange_add_header(exchange, "Origin", "https://evil.example", MCPLINK_NUL) == MCPLINK_OK);
        CHECK(mcplink_exchange_set_addresses(exchange, "127.0.0.1:80", "127.0.0.1:4711") == MCPLINK_OK);
        CHECK_STATUS(mcplink_http_serve(http, exchange, &err), MCPLINK_OK, err);
        mcplink_exchange_free(exchange);
        CHECK(status == 403);
        NEXT(NULL, MCPLINK_SERVER_DENIED, "\"peer\":\"HTTP client at 127.0.0.1:4711\"", "\"message\":\"");
        CHECK(strstr(told.lines[told.read - 1], "\"session\"") == NULL);
        mcplink_http_free(http);
    } else {
        CHECK_STATUS(made, MCPLINK_E_UNSUPPORTED, err);
    }
    mcplink_server_free(server);
    CHECK(told.count == told.read && ended == 3);
}

int main(void)
{
    mcplink_pump_t *pump = NULL;
    int fds = open_count();

#ifndef _WIN32
    the_first_error_that_nobody_hears_is_written_to_standard_error();
#endif
    told_of_a_conversation(NULL);
    ended = 0;
    told_of_an_intruder();
    ended = 0;
    CHECK(mcplink_pump_new(&pump, NULL) == MCPLINK_OK);
    home = pthread_self(), has_home = 1;
    told_of_a_conversation(pump);
    mcplink_pump_free(pump);
    talk_clean(fds);
    return 0;
}
