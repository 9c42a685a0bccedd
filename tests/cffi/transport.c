/* Transports of the host's own: feeding however it is cut, ends, limits, freeing, misuse. */
#include "peer.h"
#include "process.h"

static void greet(struct peer *p, const char *method, const mcplink_json_t *message)
{
    if (strcmp(method, "tools/call") == 0) peer_respond(p, message, "{\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]}");
}

static mcplink_status_t call(mcplink_client_t *c, mcplink_error_t **err)
{
    mcplink_result_t *r = NULL;
    mcplink_status_t st = mcplink_client_call_tool(c, "t", NULL, 0, NULL, &r, err);
    if (st == MCPLINK_OK) CHECK_TEXT(mcplink_result_text(r), "hi");
    mcplink_result_free(r);
    return st;
}

static void a_conversation(void)
{
    struct peer p;
    mcplink_client_t *c, *second = NULL;
    mcplink_client_options_t *o;
    mcplink_error_t *err = NULL;
    int i;

    peer_begin(&p, greet);
    c = peer_open(&p);
    for (i = 0; i < 100; i++) CHECK_STATUS(call(c, &err), MCPLINK_OK, err);

    /* One transport serves one client, and its functions stay. */
    o = peer_options(&p);
    CHECK(mcplink_client_open(o, &second, &err) == MCPLINK_E_STATE && second == NULL);
    CHECK(strstr(mcplink_error_message(err), "another connection") != NULL);
    mcplink_error_free(err);
    err = NULL;
    mcplink_client_options_free(o);
    CHECK(mcplink_transport_set_send(p.transport, peer_send) == MCPLINK_E_STATE);

    CHECK(p.closed.count == 0);
    mcplink_client_free(c);
    CHECK(p.closed.count == 1 && p.destroyed.count == 0);
    CHECK(mcplink_transport_feed(p.transport, "\n", 1) == MCPLINK_E_CLOSED);
    mcplink_transport_free(p.transport);
    CHECK(p.closed.count == 1 && p.destroyed.count == 1);
}

/* Each byte by itself, from another thread than the one that sends. */
static struct peer slow;
static char to_feed[4096];
static size_t to_feed_len;
static struct counter fed = COUNTER;

static void late(struct peer *p, const char *method, const mcplink_json_t *message)
{
    (void)p;
    if (strcmp(method, "tools/call") == 0) {
        to_feed_len = (size_t)snprintf(to_feed, sizeof to_feed,
                                       "\n  {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]}}\r\n",
                                       mcplink_json_text(mcplink_json_get(message, "id")).ptr);
        counter_add(&fed);
    }
}

static void *feed_slowly(void *unused)
{
    size_t i;
    CHECK(counter_wait(&fed, 1));
    for (i = 0; i < to_feed_len; i++) CHECK(mcplink_transport_feed(slow.transport, to_feed + i, 1) == MCPLINK_OK);
    return unused;
}

static void byte_by_byte(void)
{
    pthread_t thread;
    mcplink_client_t *c;
    mcplink_error_t *err = NULL;
    peer_begin(&slow, late);
    c = peer_open(&slow);
    CHECK(pthread_create(&thread, NULL, feed_slowly, NULL) == 0);
    CHECK_STATUS(call(c, &err), MCPLINK_OK, err);
    pthread_join(thread, NULL);
    mcplink_client_free(c);
    mcplink_transport_free(slow.transport);
}

static void end_at_call(struct peer *p, const char *method, const mcplink_json_t *message)
{
    (void)message;
    if (strcmp(method, "tools/call") == 0) CHECK(mcplink_transport_feed_end(p->transport, "the line was cut") == MCPLINK_OK);
}

static void end_quietly(struct peer *p, const char *method, const mcplink_json_t *message)
{
    (void)message;
    if (strcmp(method, "tools/call") == 0) CHECK(mcplink_transport_feed_end(p->transport, NULL) == MCPLINK_OK);
}

/* Whether bytes hold a text. */
static int holds(const char *bytes, size_t len, const char *text)
{
    size_t at, part = strlen(text);
    for (at = 0; at + part <= len; at++) {
        if (memcmp(bytes + at, text, part) == 0) return 1;
    }
    return 0;
}

static mcplink_status_t refuse(void *user, const void *bytes, size_t len)
{
    struct peer *p = user;
    /* It goes well until a tool is called. */
    if (holds(bytes, len, "tools/call")) return MCPLINK_E_USER;
    return peer_send(p, bytes, len);
}

static void ends(void)
{
    struct peer p;
    mcplink_client_t *c;
    mcplink_error_t *err = NULL;

    peer_begin(&p, end_at_call);
    c = peer_open(&p);
    CHECK(call(c, &err) == MCPLINK_E_CLOSED && strstr(mcplink_error_message(err), "the line was cut") != NULL);
    mcplink_error_free(err);
    err = NULL;
    CHECK(mcplink_transport_feed(p.transport, "\n", 1) == MCPLINK_E_CLOSED);
    CHECK(call(c, NULL) == MCPLINK_E_CLOSED);
    CHECK(mcplink_client_state(c) == MCPLINK_CLIENT_CLOSED);
    mcplink_client_free(c);
    mcplink_transport_free(p.transport);

    peer_begin(&p, end_quietly);
    c = peer_open(&p);
    CHECK(call(c, NULL) == MCPLINK_E_CLOSED);
    mcplink_client_free(c);
    mcplink_transport_free(p.transport);

    peer_begin(&p, greet);
    CHECK(mcplink_transport_set_send(p.transport, refuse) == MCPLINK_OK);
    c = peer_open(&p);
    CHECK(call(c, &err) == MCPLINK_E_IO && strstr(mcplink_error_message(err), "-17") != NULL);
    mcplink_error_free(err);
    /* That is the end, which nobody has to see to. */
    CHECK(counter_wait(&p.closed, 1));
    CHECK(mcplink_transport_feed(p.transport, "\n", 1) == MCPLINK_E_CLOSED);
    CHECK(mcplink_client_state(c) == MCPLINK_CLIENT_CLOSED);
    mcplink_client_free(c);
    mcplink_transport_free(p.transport);

    /* Freed first: that ends the connection. */
    peer_begin(&p, greet);
    c = peer_open(&p);
    mcplink_transport_free(p.transport);
    CHECK(p.closed.count == 1 && p.destroyed.count == 1);
    CHECK(call(c, NULL) == MCPLINK_E_CLOSED);
    mcplink_client_free(c);
}

/* A session whose client can't be reached any more: the host, which waits for nothing, is told. */
static mcplink_status_t unreachable(void *user, const void *bytes, size_t len)
{
    (void)user, (void)bytes, (void)len;
    return MCPLINK_E_USER;
}

static void a_session_ends(void)
{
    static const char ping[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
    struct peer p;
    mcplink_server_t *s = mcplink_server_new("x", "1");
    mcplink_session_t *session = NULL;

    peer_begin(&p, NULL);
    CHECK(mcplink_transport_set_send(p.transport, unreachable) == MCPLINK_OK);
    CHECK(mcplink_server_attach(s, p.transport, NULL, &session, NULL) == MCPLINK_OK);
    peer_feed(&p, ping);
    CHECK(counter_wait(&p.closed, 1) && mcplink_session_is_closed(session));
    CHECK(mcplink_transport_feed(p.transport, ping, strlen(ping)) == MCPLINK_E_CLOSED);
    mcplink_session_free(session);
    mcplink_server_free(s);
    mcplink_transport_free(p.transport);
    CHECK(p.closed.count == 1 && p.destroyed.count == 1);
}

/* Freed by its own function, which returns; the rest happens then. No other one begins behind it. */
static volatile int is_freed;

static void free_at_call(struct peer *p, const char *method, const mcplink_json_t *message)
{
    (void)message;
    CHECK(!is_freed);
    if (strcmp(method, "tools/call") != 0) return;
    mcplink_transport_free(p->transport);
    is_freed = 1;
}

static void close_before_freed(void *user)
{
    CHECK(!is_freed);
    peer_close(user);
}

static void freed_within(void)
{
    struct peer p;
    mcplink_client_t *c;
    peer_begin(&p, free_at_call);
    CHECK(mcplink_transport_set_close(p.transport, close_before_freed) == MCPLINK_OK);
    c = peer_open(&p);
    CHECK(call(c, NULL) == MCPLINK_E_CLOSED);
    CHECK(counter_wait(&p.destroyed, 1));
    mcplink_client_free(c);
    CHECK(p.destroyed.count == 1 && p.closed.count == 1);
}

/* The client, freed by a function of its transport, which runs on a thread of the client's: nothing of it is left. */
static mcplink_client_t *to_free;
static struct counter done = COUNTER, gone = COUNTER;
static mcplink_status_t told;

static mcplink_status_t free_client_at_call(void *user, const void *bytes, size_t len)
{
    if (!holds(bytes, len, "tools/call")) return peer_send(user, bytes, len);
    mcplink_client_free(to_free);
    return MCPLINK_E_USER;
}

static void free_client_at_close(void *user)
{
    mcplink_client_free(to_free);
    peer_close(user);
}

static void on_done(void *user, mcplink_call_t *c, mcplink_status_t status, const mcplink_result_t *r, const mcplink_error_t *e)
{
    (void)user, (void)c, (void)r, (void)e;
    told = status;
    counter_add(&done);
}

static void on_event(void *user, mcplink_event event, const mcplink_json_t *params) { (void)user, (void)event, (void)params; }

static void open_to_free(struct peer *p)
{
    mcplink_client_options_t *o = peer_options(p);
    CHECK(mcplink_client_options_on_event(o, on_event, &gone, count_one) == MCPLINK_OK);
    to_free = open_with(o, NULL);
}

static void its_client_freed_within(void)
{
    struct peer p;
    struct timespec moment = { 0, 1000000 };
    int before = threads(), i;

    peer_begin(&p, greet);
    CHECK(mcplink_transport_set_send(p.transport, free_client_at_call) == MCPLINK_OK);
    open_to_free(&p);
    CHECK(mcplink_client_call_tool_start(to_free, "t", NULL, 0, NULL, on_done, NULL, NULL, NULL, NULL) == MCPLINK_OK);
    CHECK(counter_wait(&done, 1) && told < 0 && counter_wait(&gone, 1));
    mcplink_transport_free(p.transport);

    peer_begin(&p, greet);
    CHECK(mcplink_transport_set_close(p.transport, free_client_at_close) == MCPLINK_OK);
    open_to_free(&p);
    CHECK(mcplink_client_close(to_free, MCPLINK_FOREVER, NULL) == MCPLINK_OK);
    CHECK(counter_wait(&gone, 2));
    mcplink_transport_free(p.transport);
    for (i = 0; threads() > before && i < LONG_SECONDS * 1000; i++) nanosleep(&moment, NULL);
    CHECK(threads() == before);
}

static struct counter room = COUNTER;
static void on_room(void *user) { (void)user; counter_add(&room); }

static void bounds(void)
{
    struct peer p;
    mcplink_client_t *c;
    mcplink_error_t *err = NULL;
    size_t most = 16u << 20;
    char *blank = malloc(most);
    size_t at;

    /* Lines that are long and empty. */
    CHECK(blank != NULL);
    memset(blank, ' ', most);
    for (at = 0; at < most; at += 65536) blank[at] = '\n';
    peer_begin(&p, greet);
    CHECK(mcplink_transport_set_ready(p.transport, on_room) == MCPLINK_OK);
    /* Nobody reads yet. */
    CHECK(mcplink_transport_feed(p.transport, blank, most - 65536) == MCPLINK_OK);
    CHECK(mcplink_transport_feed(p.transport, blank, 65537) == MCPLINK_E_LIMIT);
    CHECK(mcplink_transport_feed(p.transport, blank, 0) == MCPLINK_OK && room.count == 0);
    c = peer_open(&p);
    CHECK(counter_wait(&room, 1));
    CHECK(mcplink_transport_feed(p.transport, blank, most / 2) == MCPLINK_OK);
    CHECK_STATUS(call(c, &err), MCPLINK_OK, err);
    CHECK(counter_get(&room) == 1);
    mcplink_client_free(c);
    mcplink_transport_free(p.transport);
    free(blank);
}

static void misuse(void)
{
    struct counter destroyed = COUNTER;
    mcplink_client_options_t *o = mcplink_client_options_new();
    mcplink_client_t *c = NULL;
    mcplink_error_t *err = NULL;
    mcplink_transport_t *t = mcplink_transport_new(&destroyed, count_one);

    CHECK(mcplink_client_options_set_transport(o, t) == MCPLINK_OK);
    CHECK(mcplink_client_open(o, &c, &err) == MCPLINK_E_STATE && strstr(mcplink_error_message(err), "set_send") != NULL);
    mcplink_error_free(err);
    CHECK(mcplink_transport_set_send(t, peer_send) == MCPLINK_OK);
    mcplink_transport_free(t);
    CHECK(destroyed.count == 1);
    CHECK(mcplink_client_open(o, &c, NULL) == MCPLINK_E_STATE && c == NULL);
    mcplink_client_options_free(o);

    CHECK(mcplink_transport_set_send(NULL, NULL) == MCPLINK_E_INVALID && mcplink_transport_set_close(NULL, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_transport_set_ready(NULL, NULL) == MCPLINK_E_INVALID && mcplink_transport_feed(NULL, NULL, 0) == MCPLINK_E_INVALID);
    CHECK(mcplink_transport_feed_end(NULL, NULL) == MCPLINK_E_INVALID);
    t = mcplink_transport_new(NULL, NULL);
    /* What recv says when it fails is no length, nor something to be measured. */
    CHECK(mcplink_transport_feed(t, "x", (size_t)-1) == MCPLINK_E_INVALID);
    CHECK(mcplink_transport_feed(t, NULL, 1) == MCPLINK_E_INVALID && mcplink_transport_feed_end(t, "\xff") == MCPLINK_E_INVALID);
    mcplink_transport_free(t);
    mcplink_transport_free(NULL);
}

int main(void)
{
    a_conversation();
    byte_by_byte();
    ends();
    a_session_ends();
    freed_within();
    its_client_freed_within();
    bounds();
    misuse();
    return 0;
}
