/* A client and a server in one process, over mcplink_transport_pair: what each sees of the messages, notifications of the server's own,
   extensions, caches that clients share, and eras that they remember. */
#include "client.h"

struct connection {
    mcplink_session_t *session;
    mcplink_client_t *client;
};

/* Connects a client with a server in memory; options are freed. */
static struct connection connect_pair(mcplink_server_t *server, mcplink_client_options_t *o, const char *revision)
{
    struct connection it = { NULL, NULL };
    mcplink_transport_t *here = NULL, *there = NULL;
    mcplink_error_t *err = NULL;
    CHECK_STATUS(mcplink_transport_pair(&here, &there, &err), MCPLINK_OK, err);
    CHECK_STATUS(mcplink_server_attach(server, there, NULL, &it.session, &err), MCPLINK_OK, err);
    CHECK(mcplink_client_options_set_transport(o, here) == MCPLINK_OK);
    it.client = open_with(o, revision);
    /* The connection has both ends now. */
    mcplink_transport_free(here);
    mcplink_transport_free(there);
    return it;
}

static void disconnect(struct connection *it)
{
    mcplink_client_free(it->client);
    mcplink_session_free(it->session);
}

static void call(mcplink_client_t *c, const char *tool, mcplink_status_t expected)
{
    mcplink_result_t *r = NULL;
    mcplink_error_t *err = NULL;
    CHECK_STATUS(mcplink_client_call_tool(c, tool, NULL, 0, NULL, &r, &err), expected, err);
    if (expected == MCPLINK_OK) CHECK_TEXT(mcplink_result_text(r), "done");
    mcplink_result_free(r);
}

/* What a tap saw. */
struct seen {
    pthread_mutex_t lock;
    int incoming, outgoing, calls;
    struct counter destroyed;
};

static void on_message(void *user, mcplink_direction direction, const char *text, size_t len)
{
    struct seen *seen = user;
    char copy[4096];
    CHECK(len > 0 && len < sizeof copy && text[0] == '{');
    memcpy(copy, text, len);
    copy[len] = 0;
    pthread_mutex_lock(&seen->lock);
    if (direction == MCPLINK_DIRECTION_INCOMING) seen->incoming++;
    if (direction == MCPLINK_DIRECTION_OUTGOING) seen->outgoing++;
    if (strstr(copy, "\"tools/call\"")) seen->calls++;
    pthread_mutex_unlock(&seen->lock);
}

static void seen_end(void *user) { counter_add(&((struct seen *)user)->destroyed); }

static void greet(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)user, (void)req;
    CHECK(mcplink_responder_text(resp, "done", MCPLINK_NUL) == MCPLINK_OK);
}

static void add(mcplink_server_t *server, const char *name, mcplink_handler_fn handler)
{
    mcplink_tool_t *tool = mcplink_tool_new(name, "for tests");
    mcplink_error_t *err = NULL;
    CHECK_STATUS(mcplink_server_add_tool(server, tool, handler, NULL, NULL, &err), MCPLINK_OK, err);
    mcplink_tool_free(tool);
}

/* Both sides see each message, and the user data ends once. */
static void taps(const char *revision)
{
    struct seen of_client = { PTHREAD_MUTEX_INITIALIZER, 0, 0, 0, COUNTER }, of_server = { PTHREAD_MUTEX_INITIALIZER, 0, 0, 0, COUNTER };
    struct seen former = { PTHREAD_MUTEX_INITIALIZER, 0, 0, 0, COUNTER };
    mcplink_server_options_t *so = mcplink_server_options_new("pair", "1");
    mcplink_client_options_t *co = mcplink_client_options_new();
    mcplink_server_t *server = NULL;
    mcplink_error_t *err = NULL;
    struct connection it;
    CHECK(mcplink_server_options_on_message(so, on_message, &former, seen_end) == MCPLINK_OK);
    CHECK(mcplink_server_options_on_message(so, on_message, &of_server, seen_end) == MCPLINK_OK);
    CHECK(former.destroyed.count == 1);
    CHECK_STATUS(mcplink_server_new_with(so, &server, &err), MCPLINK_OK, err);
    mcplink_server_options_free(so);
    add(server, "greet", greet);
    CHECK(mcplink_client_options_on_message(co, on_message, &of_client, seen_end) == MCPLINK_OK);
    it = connect_pair(server, co, revision);
    call(it.client, "greet", MCPLINK_OK);
    disconnect(&it);
    mcplink_server_free(server);
    CHECK(of_client.calls == 1 && of_server.calls == 1 && former.outgoing == 0);
    CHECK(of_client.outgoing >= 2 && of_client.incoming >= 2 && of_server.incoming >= 2 && of_server.outgoing >= 2);
    CHECK(counter_wait(&of_client.destroyed, 1) && counter_wait(&of_server.destroyed, 1));
}

/* Notifications of the server's own. */
static struct counter moved = COUNTER, tired = COUNTER;

static void on_moved(void *user, mcplink_event event, const mcplink_json_t *params)
{
    (void)event;
    CHECK(mcplink_json_get(params, "x") != NULL || user == &tired);
    counter_add(user);
}

static void wander(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)user, (void)req;
    CHECK(mcplink_responder_notify(resp, NULL, NULL, 0) == MCPLINK_E_INVALID);
    CHECK(mcplink_responder_notify(resp, "notifications/com.example/moved", "[]", MCPLINK_NUL) == MCPLINK_E_INVALID);
    CHECK(mcplink_responder_notify(resp, "notifications/com.example/moved", "{\"x\":1}", MCPLINK_NUL) == MCPLINK_OK);
    CHECK(mcplink_responder_text(resp, "done", MCPLINK_NUL) == MCPLINK_OK);
    CHECK(mcplink_responder_notify(resp, "notifications/com.example/moved", NULL, 0) == MCPLINK_E_STATE);
}

static void notifications(const char *revision)
{
    mcplink_server_t *server = mcplink_server_new("pair", "1");
    mcplink_client_options_t *co = mcplink_client_options_new();
    mcplink_error_t *err = NULL;
    struct connection it;
    bool sent = true;
    moved.count = tired.count = 0;
    add(server, "wander", wander);
    CHECK(mcplink_client_options_on_notification(co, "notifications/com.example/moved", on_moved, &moved, NULL) == MCPLINK_OK);
    CHECK(mcplink_client_options_on_notification(co, "notifications/com.example/tired", on_moved, &tired, NULL) == MCPLINK_OK);
    it = connect_pair(server, co, revision);
    call(it.client, "wander", MCPLINK_OK);
    CHECK(counter_wait(&moved, 1));
    CHECK_STATUS(mcplink_session_notify(it.session, "notifications/com.example/tired", NULL, 0, &err), MCPLINK_OK, err);
    CHECK(counter_wait(&tired, 1));
    CHECK_STATUS(mcplink_session_notify(it.session, "", NULL, 0, &err), MCPLINK_E_INVALID, err);
    CHECK_STATUS(mcplink_session_notify(it.session, "a", "1", 1, &err), MCPLINK_E_INVALID, err);
    CHECK_STATUS(mcplink_server_elicitation_complete(server, "unknown", &sent, &err), MCPLINK_OK, err);
    CHECK(!sent);
    CHECK(mcplink_server_end_subscriptions(server) == MCPLINK_OK);
    CHECK(mcplink_session_close(it.session) == MCPLINK_OK);
    CHECK_STATUS(mcplink_session_notify(it.session, "a", NULL, 0, &err), MCPLINK_E_CLOSED, err);
    disconnect(&it);
    mcplink_server_free(server);
}

/* Extensions that one side needs of the other. */
static void report(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    mcplink_status_t status;
    (void)user, (void)req;
    CHECK(mcplink_responder_require_extension(resp, NULL) == MCPLINK_E_INVALID);
    status = mcplink_responder_require_extension(resp, "com.example/reports");
    if (status != MCPLINK_OK) {
        CHECK(status == MCPLINK_E_UNSUPPORTED);
        CHECK(mcplink_responder_require_extension(resp, "com.example/reports") == MCPLINK_E_STATE);
        return;
    }
    CHECK(mcplink_responder_text(resp, "done", MCPLINK_NUL) == MCPLINK_OK);
}

static void extensions(const char *revision)
{
    mcplink_server_options_t *so = mcplink_server_options_new("pair", "1");
    mcplink_server_t *server = NULL;
    mcplink_client_options_t *co;
    mcplink_error_t *err = NULL;
    struct connection it;
    CHECK(mcplink_server_options_add_extension(so, "com.example/maps", "{}", MCPLINK_NUL) == MCPLINK_OK);
    CHECK(mcplink_server_options_add_capability(so, "events", "{\"listChanged\":true}", MCPLINK_NUL) == MCPLINK_OK);
    CHECK(mcplink_server_options_add_capability(so, "drafts", NULL, 0) == MCPLINK_OK);
    CHECK_STATUS(mcplink_server_new_with(so, &server, &err), MCPLINK_OK, err);
    mcplink_server_options_free(so);
    add(server, "report", report);

    it = connect_pair(server, mcplink_client_options_new(), revision);
    call(it.client, "report", MCPLINK_E_PEER);
    CHECK_STATUS(mcplink_client_require_extension(it.client, "com.example/maps", &err), MCPLINK_OK, err);
    CHECK(mcplink_client_require_extension(it.client, "com.example/none", &err) == MCPLINK_E_UNSUPPORTED);
    CHECK(strstr(mcplink_error_message(err), "com.example/none") != NULL);
    mcplink_error_free(err);
    CHECK_STATUS(mcplink_client_require_extension(it.client, " ", &err), MCPLINK_E_INVALID, err);
    CHECK(mcplink_client_has(it.client, "events.listChanged") && mcplink_client_has(it.client, "drafts"));
    CHECK(!mcplink_client_has(it.client, "others"));
    disconnect(&it);

    co = mcplink_client_options_new();
    CHECK(mcplink_client_options_add_extension(co, "com.example/reports", "{}", MCPLINK_NUL) == MCPLINK_OK);
    it = connect_pair(server, co, revision);
    call(it.client, "report", MCPLINK_OK);
    disconnect(&it);
    mcplink_server_free(server);
}

/* The ends of a pair: one connection each, and nothing of the host's. */
static void ends(void)
{
    mcplink_transport_t *a = NULL, *b = NULL, *c = NULL;
    mcplink_client_options_t *o = mcplink_client_options_new();
    mcplink_server_t *server = mcplink_server_new("pair", "1");
    mcplink_session_t *session = NULL, *none = NULL;
    mcplink_client_t *client = NULL;
    mcplink_error_t *err = NULL;
    CHECK_STATUS(mcplink_transport_pair(&a, NULL, &err), MCPLINK_E_INVALID, err);
    CHECK(a == NULL);
    CHECK_STATUS(mcplink_transport_pair(&a, &b, &err), MCPLINK_OK, err);
    CHECK(mcplink_transport_feed(a, "x", 1) == MCPLINK_E_STATE);
    CHECK(mcplink_transport_feed_end(a, NULL) == MCPLINK_E_STATE);
    CHECK(mcplink_transport_set_close(a, NULL) == MCPLINK_E_STATE);
    CHECK_STATUS(mcplink_server_attach(server, a, "ada", &session, &err), MCPLINK_OK, err);
    CHECK_STATUS(mcplink_server_attach(server, a, NULL, &none, &err), MCPLINK_E_STATE, err);
    CHECK_TEXT(mcplink_session_principal(session), "ada");
    /* The other side is told that nobody comes. */
    mcplink_transport_free(b);
    CHECK_STATUS(mcplink_session_wait(session, &err), MCPLINK_OK, err);
    mcplink_session_free(session);
    mcplink_transport_free(a);
    a = b = NULL;
    CHECK_STATUS(mcplink_transport_pair(&a, &c, &err), MCPLINK_OK, err);
    mcplink_transport_free(c);
    CHECK(mcplink_client_options_set_transport(o, a) == MCPLINK_OK);
    CHECK_STATUS(mcplink_client_open(o, &client, &err), MCPLINK_E_CLOSED, err);
    mcplink_transport_free(a);
    CHECK_STATUS(mcplink_client_open(o, &client, &err), MCPLINK_E_STATE, err);
    mcplink_client_options_free(o);
    mcplink_server_free(server);
}

/* How often a client sent a request. */
struct asked {
    const char *method;
    struct counter count;
};

static void on_asked(void *user, mcplink_direction direction, const char *text, size_t len)
{
    struct asked *asked = user;
    char copy[8192];
    if (direction != MCPLINK_DIRECTION_OUTGOING) return;
    CHECK(len < sizeof copy);
    memcpy(copy, text, len);
    copy[len] = 0;
    if (strstr(copy, asked->method)) counter_add(&asked->count);
}

/* The server of the next test, as a child process: clients of one command line share what is public. */
static int serve(void)
{
    mcplink_server_options_t *o = mcplink_server_options_new("pair", "1");
    mcplink_server_t *server = NULL;
    mcplink_error_t *err = NULL;
    CHECK(mcplink_server_options_set_cache(o, MCPLINK_LIST_TOOLS, 60000, true) == MCPLINK_OK);
    CHECK(mcplink_server_options_set_cache(o, MCPLINK_LIST_PROMPTS, 60000, false) == MCPLINK_OK);
    CHECK_STATUS(mcplink_server_new_with(o, &server, &err), MCPLINK_OK, err);
    mcplink_server_options_free(o);
    add(server, "greet", greet);
    CHECK_STATUS(mcplink_server_serve_stdio(server, &err), MCPLINK_OK, err);
    mcplink_server_free(server);
    return 0;
}

/* A list that one client got is not asked for again by another client. */
static void caches(const char *self)
{
    struct asked tools = { "\"tools/list\"", COUNTER };
    const char *argv[3];
    mcplink_cache_t *cache = mcplink_cache_new(0, 1 << 20);
    mcplink_error_t *err = NULL;
    mcplink_client_options_t *refused = mcplink_client_options_new();
    mcplink_client_t *client = NULL;
    mcplink_result_t *r = NULL;
    int i;
    argv[0] = self, argv[1] = "serve", argv[2] = NULL;
    for (i = 0; i < 3; i++) {
        mcplink_client_options_t *o = mcplink_client_options_new();
        CHECK(mcplink_client_options_set_command(o, argv) == MCPLINK_OK);
        CHECK(mcplink_client_options_on_message(o, on_asked, &tools, NULL) == MCPLINK_OK);
        CHECK(mcplink_client_options_set_cache(o, cache, i == 0 ? NULL : "ada") == MCPLINK_OK);
        client = open_with(o, "2026-07-28");
        CHECK_STATUS(mcplink_client_list_tools(client, NULL, &r, &err), MCPLINK_OK, err);
        CHECK(mcplink_json_len(mcplink_json_get(mcplink_result_json(r), "tools")) == 1);
        mcplink_result_free(r);
        /* The first client asks, the second one does not, and the third one after the cache was cleared. */
        CHECK(counter_get(&tools.count) == (i < 2 ? 1 : 2));
        if (i == 1) CHECK(mcplink_cache_clear(cache) == MCPLINK_OK);
        mcplink_client_free(client);
    }
    /* A blank principal would be shared by all who are not known. */
    CHECK(mcplink_client_options_set_cache(refused, cache, " ") == MCPLINK_E_INVALID);
    CHECK_STATUS(mcplink_client_open(refused, &client, &err), MCPLINK_E_INVALID, err);
    mcplink_client_options_free(refused);
    mcplink_cache_free(cache);
}

/* The era of a server is found out once. */
static void eras(void)
{
    struct asked probes = { "\"server/discover\"", COUNTER };
    mcplink_era_memory_t *memory = mcplink_era_memory_new();
    mcplink_json_t *entries = NULL;
    mcplink_error_t *err = NULL;
    mcplink_str_t address;
    char key[5000];
    int i;
    for (i = 0; i < 2; i++) {
        mcplink_client_options_t *o = everything_options();
        mcplink_client_t *c;
        CHECK(mcplink_client_options_set_era_memory(o, memory) == MCPLINK_OK);
        CHECK(mcplink_client_options_on_message(o, on_asked, &probes, NULL) == MCPLINK_OK);
        c = open_with(o, NULL);
        CHECK(mcplink_client_era(c) == (i == 0 ? MCPLINK_ERA_MODERN : MCPLINK_ERA_LEGACY));
        mcplink_client_free(c);
        CHECK_STATUS(mcplink_era_memory_entries(memory, &entries, &err), MCPLINK_OK, err);
        CHECK(mcplink_json_len(entries) == 1);
        address = mcplink_json_key_at(entries, 0);
        CHECK(strstr(address.ptr, "everything_server") != NULL && address.len < sizeof key);
        memcpy(key, address.ptr, address.len + 1);
        CHECK_TEXT(mcplink_json_str(mcplink_json_get(entries, key)), i == 0 ? "modern" : "legacy");
        mcplink_json_free(entries);
        CHECK(mcplink_era_memory_recall(memory, key) == (i == 0 ? MCPLINK_ERA_MODERN : MCPLINK_ERA_LEGACY));
        CHECK(counter_get(&probes.count) == 1);
        /* A server that speaks both eras is taken in the remembered one. */
        CHECK(mcplink_era_memory_remember(memory, key, MCPLINK_ERA_LEGACY) == MCPLINK_OK);
    }
    CHECK(mcplink_era_memory_remember(memory, key, MCPLINK_ERA_UNKNOWN) == MCPLINK_OK);
    CHECK(mcplink_era_memory_recall(memory, key) == MCPLINK_ERA_UNKNOWN);
    CHECK(mcplink_era_memory_remember(memory, key, (mcplink_era)7) == MCPLINK_E_INVALID);
    CHECK(mcplink_era_memory_recall(memory, NULL) == MCPLINK_ERA_UNKNOWN);
    mcplink_era_memory_free(memory);
}

int main(int argc, char **argv)
{
    static const char *const revisions[] = { "2025-11-25", "2026-07-28" };
    int i;
    if (argc > 1) return serve();
    for (i = 0; i < 2; i++) {
        taps(revisions[i]);
        notifications(revisions[i]);
        extensions(revisions[i]);
    }
    ends();
    caches(argv[0]);
    eras();
    return 0;
}
