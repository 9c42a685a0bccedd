/* Stores of the host: for request states that count once, and for the events of streams. */
#include "talk.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int ended;
static void count_end(void *user) { ended += *(int *)user; }
static int one = 1, ten = 10;

#define ENDED(number) CHECK(atomic_exchange(&ended, 0) == (number))

#define AT(json, pointer) mcplink_json_pointer((json), (pointer))
#define TEXT_AT(json, pointer, expected) CHECK_TEXT(mcplink_json_str(AT(json, pointer)), expected)
#define JSON_AT(json, pointer, expected) CHECK_TEXT(mcplink_json_text(AT(json, pointer)), expected)

static mcplink_server_t *built(mcplink_server_options_t *options)
{
    mcplink_server_t *server = NULL;
    mcplink_error_t *err = NULL;
    CHECK_STATUS(mcplink_server_new_with(options, &server, &err), MCPLINK_OK, err);
    mcplink_server_options_free(options);
    return server;
}

/* --- request states ------------------------------------------------------------------------------------------------------------------------ */

/* What the store does with a state. */
enum deed { HONEST, SAYS_YES, LEAVES_IT, FAILS, IS_PENDING, ODD_STATUS, ODD_BYTE, DEEDS };

static struct {
    enum deed deed;
    atomic_int claims;
    char seen[64];
} states;

static mcplink_status_t claim(void *user, mcplink_str_t client, mcplink_str_t id, uint64_t lifetime_ms, bool *is_first)
{
    CHECK(*(int *)user == 10 && !*is_first);
    CHECK(client.len > 0 && client.ptr[client.len] == 0 && id.len == 32 && strlen(id.ptr) == 32);
    CHECK(lifetime_ms > 0 && lifetime_ms <= 600000);
    states.claims++;
    switch (states.deed) {
    case HONEST:
        *is_first = strcmp(states.seen, id.ptr) != 0;
        snprintf(states.seen, sizeof states.seen, "%s", id.ptr);
        return MCPLINK_OK;
    case LEAVES_IT: return MCPLINK_OK;
    case ODD_BYTE: memset(is_first, 7, 1); return MCPLINK_OK;
    default: *is_first = true;
    }
    return states.deed == FAILS ? MCPLINK_E_USER : states.deed == IS_PENDING ? MCPLINK_PENDING : states.deed == ODD_STATUS ? 4711 : MCPLINK_OK;
}

static void pays(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    static const char form[] = "{\"message\":\"Pay?\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}";
    const mcplink_json_t *answer = NULL;
    (void)req;
    if (mcplink_responder_ask(resp, "pay", "elicitation/create", form, MCPLINK_NUL, &answer, NULL) != MCPLINK_OK) return;
    ++*(int *)user;
    CHECK(mcplink_responder_text(resp, "paid", MCPLINK_NUL) == MCPLINK_OK);
}

/* Calls the tool in the way of the modern era. What comes back is the caller's to free. */
static mcplink_json_t *ask(talk_t *talk, const char *more)
{
    static int id;
    char line[8192];
    mcplink_json_t *answer = NULL;
    const char *got;
    int len = snprintf(line, sizeof line,
                       "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"pay\",\"arguments\":{},%s\"_meta\":{"
                       "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{}}}}}",
                       ++id, more);
    CHECK(len < (int)sizeof line);
    talk_send(talk, line);
    got = talk_line(talk);
    CHECK(got != NULL && mcplink_json_parse(got, MCPLINK_NUL, &answer, NULL) == MCPLINK_OK);
    return answer;
}

/* Presents one state twice; how often it had an effect. */
static int pays_twice(mcplink_server_t *server, int *paid)
{
    mcplink_json_t *asked, *answer;
    char more[4096];
    talk_t talk = talk_begin(server);
    int round;
    *paid = 0;
    asked = ask(&talk, "");
    TEXT_AT(asked, "/result/resultType", "input_required");
    snprintf(more, sizeof more, "\"requestState\":%s,\"inputResponses\":{\"pay\":{\"action\":\"accept\",\"content\":{}}},",
             mcplink_json_text(AT(asked, "/result/requestState")).ptr);
    mcplink_json_free(asked);
    for (round = 0; round < 2; round++) {
        int before = *paid;
        answer = ask(&talk, more);
        if (*paid > before) {
            TEXT_AT(answer, "/result/content/0/text", "paid");
        } else {
            JSON_AT(answer, "/error/code", "-32602");
            CHECK(strstr(mcplink_json_str(AT(answer, "/error/message")).ptr, "requestState") != NULL);
        }
        mcplink_json_free(answer);
    }
    talk_end(&talk);
    return *paid;
}

/* A state counts only if the store says so, whatever else it does. */
static void states_count_once(void)
{
    enum deed deed;
    for (deed = 0; deed < DEEDS; deed++) {
        mcplink_server_options_t *options = mcplink_server_options_new("shop", "1");
        mcplink_server_t *server;
        int paid;
        states.deed = deed, states.claims = 0;
        CHECK(mcplink_server_options_set_state_store(options, claim, &one, count_end) == MCPLINK_OK);
        CHECK(mcplink_server_options_set_state_store(options, claim, &ten, count_end) == MCPLINK_OK);
        ENDED(1);
        server = built(options);
        add_tool(server, "pay", pays, &paid, NULL);
        CHECK(pays_twice(server, &paid) == (deed == HONEST ? 1 : deed == SAYS_YES ? 2 : 0));
        CHECK(states.claims == 2);
        ENDED(0);
        mcplink_server_free(server);
        ENDED(10);
    }
}

/* One store replaces the other, and a store that is none is refused. */
static void one_store_of_states(void)
{
    enum { MEMORY, NONE, HOSTS, STORES } way;
    REFUSES(server_options, mcplink_server_options_new("a", "1"), mcplink_server_options_set_state_store(it, NULL, &one, count_end));
    ENDED(1);
    CHECK(mcplink_server_options_set_state_store(NULL, claim, &one, count_end) == MCPLINK_E_INVALID);
    ENDED(1);
    for (way = MEMORY; way < STORES; way++) {
        mcplink_server_options_t *options = mcplink_server_options_new("shop", "1");
        mcplink_server_t *server;
        int paid;
        states.deed = SAYS_YES, states.claims = 0;
        if (way == HOSTS) CHECK(mcplink_server_options_set_single_use_state(options, true) == MCPLINK_OK);
        CHECK(mcplink_server_options_set_state_store(options, claim, &ten, count_end) == MCPLINK_OK);
        if (way != HOSTS) {
            CHECK(mcplink_server_options_set_single_use_state(options, way == MEMORY) == MCPLINK_OK);
            ENDED(10);
        }
        server = built(options);
        add_tool(server, "pay", pays, &paid, NULL);
        CHECK(pays_twice(server, &paid) == (way == MEMORY ? 1 : 2));
        CHECK(states.claims == (way == HOSTS ? 2 : 0));
        mcplink_server_free(server);
        ENDED(way == HOSTS ? 10 : 0);
    }
}

/* --- events of streams --------------------------------------------------------------------------------------------------------------------- */

/* What the store does with events. */
enum way { KEEPS, FAILS_TO_KEEP, FAILS_TO_READ, LEAVES_A_GAP, GOES_ON, WAYS };

struct stored {
    char session[32], text[512];
    uint64_t stream, number;
    size_t len;
};

static struct {
    pthread_mutex_t lock;
    enum way way;
    struct stored events[64];
    int count;
    /* How often a stream began, and was forgotten. */
    int begun, forgotten;
} store = { .lock = PTHREAD_MUTEX_INITIALIZER };

static mcplink_status_t append(void *user, mcplink_str_t session, uint64_t stream, uint64_t number, const void *event, size_t len)
{
    struct stored *one_more;
    CHECK(*(int *)user == 10 && session.len == 22 && strlen(session.ptr) == 22);
    pthread_mutex_lock(&store.lock);
    store.begun += number == 1;
    if (store.way == FAILS_TO_KEEP && number == 1) {
        pthread_mutex_unlock(&store.lock);
        return MCPLINK_E_USER;
    }
    CHECK(store.count < 64 && len > 0 && len < sizeof one_more->text);
    one_more = &store.events[store.count++];
    snprintf(one_more->session, sizeof one_more->session, "%s", session.ptr);
    one_more->stream = stream, one_more->number = number, one_more->len = len;
    memcpy(one_more->text, event, len);
    one_more->text[len] = 0;
    pthread_mutex_unlock(&store.lock);
    return MCPLINK_OK;
}

static mcplink_status_t replay(void *user, mcplink_str_t session, uint64_t stream, uint64_t after, mcplink_replay_t *to)
{
    mcplink_status_t st = MCPLINK_OK;
    int i;
    CHECK(*(int *)user == 10);
    CHECK(mcplink_replay_send(NULL, 1, "x", 1) == MCPLINK_E_INVALID && mcplink_replay_send(to, after + 1, NULL, 1) == MCPLINK_E_INVALID);
    CHECK(mcplink_output_set((mcplink_output_t *)to, "x", 1) == MCPLINK_E_INVALID);
    if (store.way == FAILS_TO_READ) return MCPLINK_E_USER;
    if (store.way == LEAVES_A_GAP) {
        CHECK(mcplink_replay_send(to, after + 2, "{}", 2) == MCPLINK_E_CLOSED);
        /* What comes then is not sent. */
        return mcplink_replay_send(to, after + 1, "{}", 2);
    }
    pthread_mutex_lock(&store.lock);
    for (i = 0; i < store.count && (st == MCPLINK_OK || store.way == GOES_ON); i++) {
        struct stored *it = &store.events[i];
        if (strcmp(it->session, session.ptr) != 0 || it->stream != stream || it->number <= after) continue;
        st = mcplink_replay_send(to, it->number, it->text, i % 2 ? it->len : MCPLINK_NUL);
    }
    if (store.way == GOES_ON) {
        /* More than there was is not wanted. */
        CHECK(mcplink_replay_send(to, 4711, "{}", 2) == MCPLINK_E_CLOSED);
        st = MCPLINK_OK;
    }
    pthread_mutex_unlock(&store.lock);
    return st;
}

static void forget(void *user, mcplink_str_t session, uint64_t stream)
{
    (void)stream;
    CHECK(*(int *)user == 10 && session.len == 22 && ended == 0);
    pthread_mutex_lock(&store.lock);
    store.forgotten++;
    pthread_mutex_unlock(&store.lock);
}

static int forgotten(void)
{
    int count;
    pthread_mutex_lock(&store.lock);
    count = store.forgotten;
    pthread_mutex_unlock(&store.lock);
    return count;
}

static void steps(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    int i;
    (void)user, (void)req;
    for (i = 1; i <= 3; i++) CHECK(mcplink_responder_progress(resp, i, 3, NULL) == MCPLINK_OK);
    CHECK(mcplink_responder_text(resp, "all done", MCPLINK_NUL) == MCPLINK_OK);
}

/* Sends a request on a connection of its own, and gives the whole response. */
static const char *sent(uint16_t port, const char *method, const char *fields, const char *body)
{
    static char response[1 << 14];
    struct sockaddr_in address;
    char head[1024];
    size_t len = 0;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(head, sizeof head,
             "%s /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nAccept: %s\r\n%sContent-Length: %zu\r\n\r\n",
             method, *method == 'G' ? "text/event-stream" : "application/json, text/event-stream", fields, strlen(body));
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    CHECK(write_end(fd, head, strlen(head)) && (*body == 0 || write_end(fd, body, strlen(body))));
    for (;;) {
        size_t got = read_end(fd, response + len, sizeof response - 1 - len);
        if (got == 0) break;
        len += got;
    }
    response[len] = 0;
    close(fd);
    return response;
}

/* The ids of the events in a response: how many, and the stream. */
static int ids(const char *response, unsigned *stream, unsigned *first)
{
    const char *at = response;
    unsigned number;
    int count = 0;
    while ((at = strstr(at, "id: ")) != NULL) {
        if (sscanf(at, "id: %u-%u", stream, &number) == 2 && count++ == 0) *first = number;
        at += 4;
    }
    return count;
}

/* The response begins with this status. */
static int has_status(const char *response, const char *status) { return strncmp(response, "HTTP/1.1 ", 9) == 0 && strncmp(response + 9, status, 3) == 0; }

static void streams_are_resumed(void)
{
    static const char initialize[] = "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\","
                                     "\"capabilities\":{},\"clientInfo\":{\"name\":\"raw\",\"version\":\"1\"}}}";
    static const char initialized[] = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}";
    static const char call[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"steps\",\"arguments\":{},"
                               "\"_meta\":{\"progressToken\":\"p\"}}}";
    mcplink_server_t *server = mcplink_server_new("resumed", "1");
    mcplink_http_options_t *options = mcplink_http_options_new();
    mcplink_listener_t *listener = NULL;
    mcplink_error_t *err = NULL;
    char fields[256], resumes[512], session[128];
    const char *response, *at;
    uint16_t port;
    enum way way;
    int waits;

    REFUSES(http_options, mcplink_http_options_new(), mcplink_http_options_set_event_store(it, append, NULL, forget, &one, count_end));
    ENDED(1);
    CHECK(mcplink_http_options_set_event_store(options, append, replay, forget, &one, count_end) == MCPLINK_OK);
    CHECK(mcplink_http_options_set_event_store(options, NULL, NULL, NULL, &ten, count_end) == MCPLINK_OK);
    ENDED(11);
    CHECK(mcplink_http_options_set_event_store(options, append, replay, forget, &one, count_end) == MCPLINK_OK);
    CHECK(mcplink_http_options_set_event_store(options, append, replay, forget, &ten, count_end) == MCPLINK_OK);
    ENDED(1);
    add_tool(server, "steps", steps, NULL, NULL);
    CHECK_STATUS(mcplink_server_listen_http(server, options, "0", &listener, &err), MCPLINK_OK, err);
    mcplink_http_options_free(options);
    port = mcplink_listener_port(listener);

    response = sent(port, "POST", "", initialize);
    CHECK(has_status(response, "200"));
    at = strcasestr(response, "mcp-session-id: ");
    CHECK(at != NULL && sscanf(at + 16, "%100[^\r]", session) == 1);
    snprintf(fields, sizeof fields, "Mcp-Session-Id: %s\r\nMCP-Protocol-Version: 2025-06-18\r\n", session);
    CHECK(has_status(sent(port, "POST", fields, initialized), "202"));

    for (way = KEEPS; way < WAYS; way++) {
        unsigned stream = 0, first = 0, again = 0;
        int count;
        store.way = way, store.count = 0;
        /* Whatever the store does, nobody who listens misses anything. */
        response = sent(port, "POST", fields, call);
        count = ids(response, &stream, &first);
        CHECK(has_status(response, "200") && count >= 2 && first == 1 && strstr(response, "all done") != NULL);
        CHECK(store.count == (way == FAILS_TO_KEEP ? count - 1 : count));
        snprintf(resumes, sizeof resumes, "%sLast-Event-ID: %u-%u\r\n", fields, stream, way == FAILS_TO_KEEP ? 0 : 1);
        response = sent(port, "GET", resumes, "");
        switch (way) {
        case KEEPS:
        case GOES_ON:
            CHECK(has_status(response, "200") && strstr(response, "all done") != NULL && strstr(response, "4711") == NULL);
            CHECK(ids(response, &again, &first) == count - 1 && again == stream && first == 2);
            break;
        case FAILS_TO_READ: CHECK(has_status(response, "503")); break;
        default: CHECK(has_status(response, "400"));
        }
    }
    CHECK(store.begun == WAYS && ended == 0);
    /* The streams go with their session, each once. */
    sent(port, "DELETE", fields, "");
    for (waits = 0; waits < PATIENCE && forgotten() < WAYS; waits++) nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
    CHECK(forgotten() == WAYS);
    mcplink_listener_free(listener);
    mcplink_server_free(server);
    CHECK(store.forgotten == WAYS);
    ENDED(10);
}

int main(void)
{
    int fds = open_count();
    states_count_once();
    one_store_of_states();
    streams_are_resumed();
    talk_clean(fds);
    return 0;
}
