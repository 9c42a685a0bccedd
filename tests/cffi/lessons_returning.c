/* Every call returns, whatever the peer does. Calls that never return are the most reported fault of other SDKs. */
#include "lessons.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdatomic.h>

/* Every function that waits for an answer. */

#define RESULT(call)                                                                      \
    mcplink_result_t *result = NULL;                                                      \
    mcplink_status_t status = call;                                                       \
    CHECK((status >= 0) == (result != NULL));                                             \
    mcplink_result_free(result);                                                          \
    return status

typedef mcplink_status_t (*waiting_fn)(mcplink_client_t *c, const mcplink_call_options_t *o, mcplink_error_t **err);

static mcplink_status_t tool(mcplink_client_t *c, const mcplink_call_options_t *o, mcplink_error_t **err) { RESULT(mcplink_client_call_tool(c, "t", NULL, 0, o, &result, err)); }
static mcplink_status_t resource(mcplink_client_t *c, const mcplink_call_options_t *o, mcplink_error_t **err) { RESULT(mcplink_client_read_resource(c, "file:///x", o, &result, err)); }
static mcplink_status_t prompt(mcplink_client_t *c, const mcplink_call_options_t *o, mcplink_error_t **err) { RESULT(mcplink_client_get_prompt(c, "p", NULL, 0, o, &result, err)); }
static mcplink_status_t completion(mcplink_client_t *c, const mcplink_call_options_t *o, mcplink_error_t **err) { RESULT(mcplink_client_complete(c, MCPLINK_PRIMITIVE_PROMPT, "p", "a", "", NULL, 0, o, &result, err)); }
static mcplink_status_t list_tools(mcplink_client_t *c, const mcplink_call_options_t *o, mcplink_error_t **err) { RESULT(mcplink_client_list_tools(c, o, &result, err)); }
static mcplink_status_t list_resources(mcplink_client_t *c, const mcplink_call_options_t *o, mcplink_error_t **err) { RESULT(mcplink_client_list_resources(c, o, &result, err)); }
static mcplink_status_t list_templates(mcplink_client_t *c, const mcplink_call_options_t *o, mcplink_error_t **err) { RESULT(mcplink_client_list_templates(c, o, &result, err)); }
static mcplink_status_t list_prompts(mcplink_client_t *c, const mcplink_call_options_t *o, mcplink_error_t **err) { RESULT(mcplink_client_list_prompts(c, o, &result, err)); }
static mcplink_status_t request(mcplink_client_t *c, const mcplink_call_options_t *o, mcplink_error_t **err) { RESULT(mcplink_client_request(c, "com.example/x", NULL, 0, o, &result, err)); }
static mcplink_status_t ping(mcplink_client_t *c, const mcplink_call_options_t *o, mcplink_error_t **err) { return mcplink_client_ping(c, o, err); }
static mcplink_status_t subscribe(mcplink_client_t *c, const mcplink_call_options_t *o, mcplink_error_t **err) { return mcplink_client_subscribe(c, "file:///x", o, err); }
static mcplink_status_t set_log_level(mcplink_client_t *c, const mcplink_call_options_t *o, mcplink_error_t **err) { return mcplink_client_set_log_level(c, MCPLINK_LOG_ERROR, o, err); }

static const struct {
    const char *name;
    waiting_fn wait;
} waiting[] = {
    { "tool", tool }, { "resource", resource }, { "prompt", prompt }, { "completion", completion }, { "list_tools", list_tools },
    { "list_resources", list_resources }, { "list_templates", list_templates }, { "list_prompts", list_prompts }, { "request", request },
    { "ping", ping }, { "subscribe", subscribe }, { "set_log_level", set_log_level },
};

enum { DEADLINE = 100 };

/* Each of them ends in time, and no sooner. */
static void all_time_out(mcplink_client_t *client)
{
    mcplink_call_options_t *o = mcplink_call_options_new();
    size_t i;
    CHECK(mcplink_call_options_set_timeout_ms(o, DEADLINE) == MCPLINK_OK);
    for (i = 0; i < sizeof waiting / sizeof waiting[0]; i++) {
        IN_TIME(DEADLINE + LATE, {
            mcplink_error_t *err = NULL;
            int64_t start = now_ms();
            mcplink_status_t status = waiting[i].wait(client, o, &err);
            if (status != MCPLINK_E_TIMEOUT) fprintf(stderr, "%s: %s\n", waiting[i].name, mcplink_error_message(err));
            CHECK(status == MCPLINK_E_TIMEOUT && now_ms() - start >= DEADLINE - 1);
            mcplink_error_free(err);
        });
    }
    mcplink_call_options_free(o);
}

static void *subscribes(void *raw)
{
    raw_respond(raw, raw_id(raw_find(raw, "resources/subscribe")), "{}");
    return NULL;
}

/* The server is silent. */
static void a_silent_server(void)
{
    raw_t raw;
    mcplink_client_options_t *o = mcplink_client_options_new();
    mcplink_call_options_t *patient = mcplink_call_options_new();
    mcplink_error_t *err = NULL;
    mcplink_client_t *client;
    pthread_t thread;
    int64_t begin;
    CHECK(mcplink_client_options_set_timeout_ms(o, DEADLINE) == MCPLINK_OK);
    CHECK(mcplink_call_options_set_timeout_ms(patient, PATIENCE) == MCPLINK_OK);
    client = raw_open(&raw, o, "2025-11-25");
    CHECK(pthread_create(&thread, NULL, subscribes, &raw) == 0);
    CHECK_STATUS(mcplink_client_subscribe(client, "file:///begun", patient, &err), MCPLINK_OK, err);
    mcplink_call_options_free(patient);
    pthread_join(thread, NULL);
    /* What ends something does not wait for the answer. */
    begin = now_ms();
    CHECK_STATUS(mcplink_client_unsubscribe(client, "file:///begun", &err), MCPLINK_OK, err);
    CHECK(now_ms() - begin <= VERY_LATE);
    all_time_out(client);
    raw_leave(&raw);
    mcplink_client_free(client);
}

/* Whether all threads of a process have stopped. */
static bool has_stopped(pid_t pid)
{
    char path[300], line[512], *state;
    struct dirent *entry;
    bool stopped = true;
    DIR *tasks;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    tasks = opendir(path);
    CHECK(tasks != NULL);
    while ((entry = readdir(tasks)) != NULL) {
        FILE *file;
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "/proc/%d/task/%.32s/stat", (int)pid, entry->d_name);
        file = fopen(path, "re");
        if (file == NULL) continue;
        state = fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
        stopped = stopped && state != NULL && state[2] == 'T';
        fclose(file);
    }
    closedir(tasks);
    return stopped;
}

/* The server was stopped by a signal. */
static void a_stopped_server(void)
{
    static const char *const argv[] = { "/bin/sh", "-c", "echo $$ >&2; exec \"$SERVER\" stdio", NULL };
    mcplink_client_options_t *o = mcplink_client_options_new();
    mcplink_client_t *client;
    mcplink_json_t *tail = NULL;
    pid_t server = 0;
    CHECK(mcplink_client_options_set_command(o, argv) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_env(o, "SERVER", everything_server()) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_timeout_ms(o, DEADLINE) == MCPLINK_OK);
    client = open_with(o, "2025-11-25");
    while (server == 0) {
        CHECK(mcplink_client_stderr_tail(client, &tail, NULL) == MCPLINK_OK);
        server = atoi(mcplink_json_str(tail).ptr);
        mcplink_json_free(tail);
    }
    CHECK(kill(server, SIGSTOP) == 0);
    UNTIL(has_stopped(server));
    all_time_out(client);
    CHECK(kill(server, SIGCONT) == 0);
    mcplink_client_free(client);
}

/* A call with an argument of so many bytes, and this deadline. */
static mcplink_status_t large(mcplink_client_t *client, size_t size, uint32_t deadline)
{
    mcplink_call_options_t *o = mcplink_call_options_new();
    mcplink_result_t *result = NULL;
    mcplink_status_t status;
    char *text = malloc(size + 16);
    CHECK(text != NULL);
    memcpy(text, "{\"a\":\"", 6);
    memset(text + 6, 'x', size);
    memcpy(text + 6 + size, "\"}", 3);
    CHECK(mcplink_call_options_set_timeout_ms(o, deadline) == MCPLINK_OK);
    status = mcplink_client_call_tool(client, "t", text, MCPLINK_NUL, o, &result, NULL);
    mcplink_result_free(result);
    mcplink_call_options_free(o);
    free(text);
    return status;
}

/* The server does not read. Writing has a deadline too, also for an argument of 50 MB. */
static void a_server_that_does_not_read(void)
{
    raw_t raw;
    mcplink_client_options_t *o = mcplink_client_options_new();
    mcplink_client_t *client;
    mcplink_error_t *err = NULL;
    mcplink_status_t status;
    int64_t begin;
    CHECK(mcplink_client_options_set_limit(o, MCPLINK_LIMIT_MESSAGE_BYTES, 64 << 20) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_timeout_ms(o, DEADLINE) == MCPLINK_OK);
    client = raw_open(&raw, o, "2025-11-25");
    /* How long it takes to look at the argument is not waiting. */
    begin = now_ms();
    CHECK(large(client, slowly() ? 5 << 20 : 50 << 20, DEADLINE) == MCPLINK_E_TIMEOUT);
    CHECK(now_ms() - begin <= DEADLINE + VERY_LATE);
    all_time_out(client);
    IN_TIME(DEADLINE + LATE, CHECK(large(client, 1000, DEADLINE) == MCPLINK_E_TIMEOUT));
    status = mcplink_client_close(client, PATIENCE, &err);
    CHECK_STATUS(status, MCPLINK_OK, err);
    mcplink_client_free(client);
    raw_leave(&raw);
}

/* A thousand calls wait and a callback of the client is busy when the server exits: every call fails at once. */

static struct counter busy = COUNTER, release = COUNTER, woken = COUNTER, left = COUNTER;

static void stays_busy(void *user, const mcplink_request_t *question, mcplink_responder_t *responder)
{
    (void)user, (void)question;
    counter_add(&busy);
    CHECK(counter_wait(&release, counter_get(&busy)));
    mcplink_responder_json(responder, "{\"action\":\"cancel\"}", MCPLINK_NUL);
}

static void *waits(void *client)
{
    mcplink_result_t *result = NULL;
    mcplink_error_t *err = NULL;
    CHECK_STATUS(mcplink_client_call_tool(client, "t", NULL, 0, NULL, &result, &err), MCPLINK_E_CLOSED, err);
    counter_add(&woken);
    return NULL;
}

static pthread_t crowd[1000];

static int64_t leave_a_crowd(int count)
{
    const char *given = getenv("MCPLINK_TEST_STACK_KB");
    raw_t raw;
    mcplink_client_options_t *o = mcplink_client_options_new();
    mcplink_client_t *client;
    pthread_attr_t small;
    int64_t begin, took;
    int i, before = counter_get(&busy), awake = counter_get(&woken);
    CHECK(mcplink_client_options_on_elicit(o, stays_busy, NULL, NULL) == MCPLINK_OK);
    client = raw_open(&raw, o, "2025-11-25");
    raw_send(&raw, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"elicitation/create\",\"params\":{\"message\":\"m\",\"requestedSchema\":"
                   "{\"type\":\"object\",\"properties\":{}}}}");
    CHECK(counter_wait(&busy, before + 1));
    CHECK(pthread_attr_init(&small) == 0);
    CHECK(pthread_attr_setstacksize(&small, (size_t)(given ? atoi(given) : 64) << 10) == 0);
    for (i = 0; i < count; i++) CHECK(pthread_create(&crowd[i], &small, waits, client) == 0);
    for (i = 0; i < count; i++) raw_find(&raw, "tools/call");
    CHECK(counter_get(&woken) == awake);
    begin = now_ms();
    raw_leave(&raw);
    CHECK(counter_wait(&woken, awake + count));
    took = now_ms() - begin;
    for (i = 0; i < count; i++) pthread_join(crowd[i], NULL);
    pthread_attr_destroy(&small);
    counter_add(&release);
    mcplink_client_free(client);
    return took;
}

static void a_thousand_are_woken(void)
{
    int64_t took = 0;
    int tries;
    for (tries = 0; tries < 5; tries++) {
        took = leave_a_crowd(slowly() ? 100 : 1000);
        if (took <= 1000 || slowly()) return;
    }
    fprintf(stderr, "a thousand were woken in %d ms\n", (int)took);
    exit(1);
}

/* A callback waits for a server that has exited. Closing fails the pending call first, and only then waits for the callback. */

static mcplink_client_t *own;

static void calls_itself(void *user, const mcplink_request_t *question, mcplink_responder_t *responder)
{
    mcplink_call_options_t *o = mcplink_call_options_new();
    mcplink_result_t *result = NULL;
    (void)user, (void)question, (void)responder;
    counter_add(&busy);
    CHECK(mcplink_call_options_set_timeout_ms(o, MCPLINK_FOREVER) == MCPLINK_OK);
    CHECK(mcplink_client_call_tool(own, "t", NULL, 0, o, &result, NULL) == MCPLINK_E_CLOSED && result == NULL);
    mcplink_call_options_free(o);
    counter_add(&left);
}

static void a_waiting_callback_ends_with_its_client(void)
{
    int way;
    for (way = 0; way < 2; way++) {
        raw_t raw;
        mcplink_client_options_t *o = mcplink_client_options_new();
        mcplink_error_t *err = NULL;
        int before = counter_get(&busy), gone = counter_get(&left);
        CHECK(mcplink_client_options_on_elicit(o, calls_itself, NULL, NULL) == MCPLINK_OK);
        own = raw_open(&raw, o, "2025-11-25");
        raw_send(&raw, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"elicitation/create\",\"params\":{\"message\":\"m\",\"requestedSchema\":"
                       "{\"type\":\"object\",\"properties\":{}}}}");
        CHECK(counter_wait(&busy, before + 1));
        raw_find(&raw, "tools/call");
        if (way == 0) CHECK_STATUS(mcplink_client_close(own, PATIENCE, &err), MCPLINK_OK, err);
        else raw_leave(&raw);
        CHECK(counter_wait(&left, gone + 1));
        mcplink_client_free(own);
        if (way == 0) raw_leave(&raw);
    }
}

/* A handler of a server waits for the answer of a client that leaves: it is told that its caller is gone. */

static void on_gone(void *user) { counter_add(user); }

static mcplink_responder_t *asking;

static void asks(void *user, const mcplink_request_t *call, mcplink_responder_t *responder)
{
    (void)call;
    CHECK(mcplink_responder_on_cancel(responder, on_gone, user, NULL) == MCPLINK_OK);
    CHECK(mcplink_responder_ask(responder, "k", "elicitation/create", "{\"message\":\"m\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}",
                                MCPLINK_NUL, NULL, NULL) == MCPLINK_PENDING);
    asking = mcplink_responder_keep(responder);
    counter_add(&busy);
}

static void a_question_ends_with_its_client(void)
{
    struct counter gone = COUNTER;
    mcplink_server_t *server = mcplink_server_new("asks", "1");
    mcplink_client_options_t *o = mcplink_client_options_new();
    mcplink_error_t *err = NULL;
    int before = counter_get(&busy);
    pair_t pair;
    add(server, "asks", asks, &gone);
    CHECK(mcplink_client_options_on_elicit(o, stays_busy, NULL, NULL) == MCPLINK_OK);
    pair = pair_open(server, o, "2025-11-25");
    CHECK_STATUS(mcplink_client_call_tool_start(pair.client, "asks", NULL, 0, NULL, NULL, NULL, NULL, NULL, &err), MCPLINK_OK, err);
    CHECK(counter_wait(&busy, before + 1));
    mcplink_client_free(pair.client);
    CHECK(counter_wait(&gone, 1) && mcplink_responder_is_cancelled(asking));
    mcplink_responder_free(asking);
    pair.client = NULL;
    pair_close(&pair);
    mcplink_server_free(server);
}

/* An HTTP stream ends without its response. */

static int listening;
static atomic_int resumed;

/* Reads a request, head and body. */
static char *http_read(int fd)
{
    static char text[1 << 16];
    size_t len = 0, whole = 0;
    for (;;) {
        ssize_t got = recv(fd, text + len, sizeof text - len - 1, 0);
        char *end, *length;
        if (got <= 0) return NULL;
        len += (size_t)got;
        text[len] = 0;
        end = strstr(text, "\r\n\r\n");
        if (end == NULL) continue;
        length = strcasestr(text, "\r\ncontent-length:");
        whole = (size_t)(end + 4 - text) + (length && length < end ? (size_t)atoi(length + 17) : 0);
        if (len >= whole) return text;
    }
}

static void http_write(int fd, const char *status, const char *type, const char *length, const char *body)
{
    char text[4096];
    int len = snprintf(text, sizeof text, "HTTP/1.1 %s\r\nConnection: close\r\n%s%s\r\n\r\n%s", status, type, length, body);
    CHECK(send(fd, text, (size_t)len, MSG_NOSIGNAL) == len);
}

#define JSON "Content-Type: application/json\r\n"
#define EVENTS "Content-Type: text/event-stream"

static void *http_plays(void *unused)
{
    long broken_off = -1;
    int fd;
    while ((fd = accept(listening, NULL, NULL)) >= 0) {
        struct timeval patience = { PATIENCE / 1000, 0 };
        char body[1024], length[64];
        const char *text;
        long id = -1;
        CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0);
        text = http_read(fd);
        if (text != NULL && strstr(text, "\"id\":")) id = raw_id(text);
        if (text == NULL) {
            /* A connection that was not needed. */
        } else if (strncmp(text, "GET", 3) == 0 && strcasestr(text, "last-event-id: 7")) {
            resumed++;
            snprintf(body, sizeof body, "data: {\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"resumed\"}]}}\n\n", broken_off);
            http_write(fd, "200 OK", EVENTS, "", body);
        } else if (strncmp(text, "POST", 4) != 0) {
            http_write(fd, "405 Method Not Allowed", "", "Content-Length: 0", "");
        } else if (strstr(text, "server/discover") || strstr(text, "\"initialize\"")) {
            snprintf(body, sizeof body, strstr(text, "server/discover") ?
                     "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":{}},\"ttlMs\":0,\"cacheScope\":\"private\"}}" :
                     "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"h\",\"version\":\"1\"}}}", id);
            snprintf(length, sizeof length, "Content-Length: %d", (int)strlen(body));
            http_write(fd, "200 OK", JSON, length, body);
        } else if (strstr(text, "\"nothing\"")) {
            http_write(fd, "200 OK", EVENTS, "", "");
        } else if (strstr(text, "\"comment\"")) {
            http_write(fd, "200 OK", EVENTS, "", ": nothing yet\n\n");
        } else if (strstr(text, "\"half\"")) {
            http_write(fd, "200 OK", EVENTS, "", "data: {\"jsonrpc\":\"2.0\",");
        } else if (strstr(text, "\"short\"")) {
            http_write(fd, "200 OK", JSON, "Content-Length: 1000", "{\"jsonrpc\":\"2.0\",");
        } else if (strstr(text, "\"resumes\"")) {
            broken_off = id;
            http_write(fd, "200 OK", EVENTS, "", "retry: 1\nid: 7\ndata:\n\n");
        } else {
            http_write(fd, "202 Accepted", "", "Content-Length: 0", "");
        }
        close(fd);
    }
    return unused;
}

static const char *http_listen(pthread_t *thread)
{
    static char url[64];
    struct sockaddr_in at;
    socklen_t size = sizeof at;
    memset(&at, 0, sizeof at);
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(listening >= 0 && bind(listening, (struct sockaddr *)&at, sizeof at) == 0 && listen(listening, 16) == 0);
    CHECK(getsockname(listening, (struct sockaddr *)&at, &size) == 0);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/mcp", ntohs(at.sin_port));
    CHECK(pthread_create(thread, NULL, http_plays, NULL) == 0);
    return url;
}

static void a_stream_that_ends(void)
{
    static const char *const tools[] = { "nothing", "comment", "half", "short" };
    static const char *const revisions[] = { "2025-11-25", "2026-07-28" };
    pthread_t thread;
    const char *url = http_listen(&thread);
    size_t i, t;
    for (i = 0; i < 2; i++) {
        mcplink_client_options_t *o = mcplink_client_options_new();
        mcplink_client_t *client;
        mcplink_result_t *result = NULL;
        CHECK(mcplink_client_options_set_url(o, url) == MCPLINK_OK);
        CHECK(mcplink_client_options_set_timeout_ms(o, PATIENCE) == MCPLINK_OK);
        client = open_with(o, revisions[i]);
        for (t = 0; t < 4; t++) {
            mcplink_error_t *err = NULL;
            int64_t begin = now_ms();
            mcplink_status_t status = mcplink_client_call_tool(client, tools[t], NULL, 0, NULL, &result, &err);
            if (status >= 0 || status == MCPLINK_E_TIMEOUT) fprintf(stderr, "%s: %s\n", tools[t], mcplink_status_name(status));
            CHECK(status < 0 && status != MCPLINK_E_TIMEOUT && result == NULL && now_ms() - begin < VERY_LATE);
            mcplink_error_free(err);
        }
        /* Where the stream says how, it is taken up again. */
        if (i == 0) says(client, "resumes", "resumed");
        mcplink_client_free(client);
    }
    CHECK(resumed == 1);
    shutdown(listening, SHUT_RDWR);
    pthread_join(thread, NULL);
    close(listening);
}

/* Opening and probing have deadlines (see connecting in timeouts.c), closing too (see stubborn in close.c). A call that waits for a slow token
   fails at its deadline. */

static struct counter asked = COUNTER, given = COUNTER;

static mcplink_status_t token_late(void *user, mcplink_output_t *token)
{
    (void)user;
    counter_add(&asked);
    CHECK(counter_wait(&given, 1));
    return mcplink_output_set(token, "late", MCPLINK_NUL);
}

static void *gives_late(void *unused)
{
    CHECK(counter_wait(&asked, 1));
    poll(NULL, 0, 2 * DEADLINE);
    counter_add(&given);
    return unused;
}

static void a_token_that_is_late(void)
{
    pthread_t thread, giver;
    const char *url = http_listen(&thread);
    mcplink_client_options_t *o = mcplink_client_options_new();
    mcplink_client_t *client = NULL;
    mcplink_error_t *err = NULL;
    int64_t begin = now_ms();
    CHECK(mcplink_client_options_set_url(o, url) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_revisions(o, "2025-11-25") == MCPLINK_OK);
    CHECK(mcplink_client_options_set_connect_timeout_ms(o, DEADLINE) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_bearer_hook(o, token_late, NULL, NULL) == MCPLINK_OK);
    CHECK(pthread_create(&giver, NULL, gives_late, NULL) == 0);
    CHECK_STATUS(mcplink_client_open(o, &client, &err), MCPLINK_E_TIMEOUT, err);
    CHECK(client == NULL && now_ms() - begin <= DEADLINE + VERY_LATE);
    mcplink_client_options_free(o);
    pthread_join(giver, NULL);
    shutdown(listening, SHUT_RDWR);
    pthread_join(thread, NULL);
    close(listening);
}

int main(void)
{
    state_t before;
    state_take(&before);
    a_silent_server();
    a_stopped_server();
    a_server_that_does_not_read();
    a_thousand_are_woken();
    a_waiting_callback_ends_with_its_client();
    a_question_ends_with_its_client();
    a_stream_that_ends();
    a_token_that_is_late();
    state_same(&before);
    return 0;
}
