/* What the function that is told of the end of a transport may do: free and close whatever ends there, whoever ends it. */
#include "peer.h"
#include "guests/guest.h"

#include <stdatomic.h>

/* Closing takes so long at most, in milliseconds; who waited for himself would take much longer. */
#define SOON 5000

enum action { FREE_SERVER, FREE_SESSION, CLOSE_SESSION, WAIT_FOR_SESSION, FREE_BOTH, FREE_TRANSPORT, ACTIONS };
enum cause { SESSION_CLOSED, SESSION_FREED, SERVER_STOPPED, SERVER_FREED, PEER_GONE, TRANSPORT_FREED, CAUSES };

static struct {
    mcplink_server_t *server;
    mcplink_session_t *session;
    mcplink_transport_t *transport;
    enum action action;
    struct counter told, tool_ended;
} it;

static mcplink_status_t swallow(void *user, const void *bytes, size_t len)
{
    (void)user, (void)bytes, (void)len;
    return MCPLINK_OK;
}

static void close_within(void *user)
{
    (void)user;
    switch (it.action) {
    case FREE_SERVER: mcplink_server_free(it.server); break;
    case FREE_SESSION: mcplink_session_free(it.session); break;
    case CLOSE_SESSION: CHECK(mcplink_session_close(it.session) == MCPLINK_OK); break;
    case WAIT_FOR_SESSION: CHECK(mcplink_session_wait(it.session, NULL) == MCPLINK_OK); break;
    case FREE_BOTH: mcplink_session_free(it.session), mcplink_server_free(it.server); break;
    case FREE_TRANSPORT: mcplink_transport_free(it.transport); break;
    case ACTIONS: break;
    }
    counter_add(&it.told);
}

static int frees_server(void) { return it.action == FREE_SERVER || it.action == FREE_BOTH; }
static int frees_session(void) { return it.action == FREE_SESSION || it.action == FREE_BOTH; }

/* Whether the cause would use what the function frees, which nobody may. */
static int makes_no_sense(enum cause cause)
{
    return (cause == SERVER_FREED && frees_server()) || (cause == SESSION_FREED && frees_session()) ||
           (cause == TRANSPORT_FREED && it.action == FREE_TRANSPORT) || (cause == SESSION_FREED && it.action == WAIT_FOR_SESSION) ||
           (cause == SESSION_FREED && it.action == CLOSE_SESSION);
}

static void *wait_for_peer(void *unused)
{
    CHECK(mcplink_session_wait(it.session, NULL) == MCPLINK_OK);
    return unused;
}

static void one(enum action action, enum cause cause)
{
    static const struct counter none = COUNTER;
    struct counter ended = COUNTER;
    mcplink_tool_t *tool = mcplink_tool_new("greet", "x");
    mcplink_error_t *err = NULL;
    pthread_t thread;
    int64_t begun;

    it.action = action;
    it.told = none;
    if (makes_no_sense(cause)) {
        mcplink_tool_free(tool);
        return;
    }
    it.server = mcplink_server_new("x", "1");
    CHECK_STATUS(mcplink_server_add_tool(it.server, tool, tool_greet, &ended, count_one, &err), MCPLINK_OK, err);
    mcplink_tool_free(tool);
    it.transport = mcplink_transport_new(&ended, count_one);
    CHECK(mcplink_transport_set_send(it.transport, swallow) == MCPLINK_OK);
    CHECK(mcplink_transport_set_close(it.transport, close_within) == MCPLINK_OK);
    CHECK_STATUS(mcplink_server_attach(it.server, it.transport, NULL, &it.session, &err), MCPLINK_OK, err);

    begun = now_ms();
    switch (cause) {
    case SESSION_CLOSED: CHECK(mcplink_session_close(it.session) == MCPLINK_OK); break;
    case SESSION_FREED: mcplink_session_free(it.session); break;
    case SERVER_STOPPED: CHECK(mcplink_server_stop(it.server) == MCPLINK_OK); break;
    case SERVER_FREED: mcplink_server_free(it.server); break;
    case PEER_GONE:
        CHECK(pthread_create(&thread, NULL, wait_for_peer, NULL) == 0);
        CHECK(mcplink_transport_feed_end(it.transport, NULL) == MCPLINK_OK);
        CHECK(pthread_join(thread, NULL) == 0);
        break;
    case TRANSPORT_FREED: mcplink_transport_free(it.transport); break;
    case CAUSES: break;
    }
    CHECK(counter_wait(&it.told, 1));
    if (cause != SERVER_FREED && !frees_server()) mcplink_server_free(it.server);
    if (cause != SESSION_FREED && !frees_session()) mcplink_session_free(it.session);
    if (cause != TRANSPORT_FREED && action != FREE_TRANSPORT) mcplink_transport_free(it.transport);
    /* What was left to another thread ends as soon. */
    CHECK(counter_wait(&ended, 2));
    if (now_ms() - begun > SOON) {
        fprintf(stderr, "action %d, cause %d: took %lld ms\n", action, cause, (long long)(now_ms() - begun));
        exit(1);
    }
    CHECK(counter_get(&it.told) == 1 && counter_get(&ended) == 2);
}

/* Several sessions, which a stop ends side by side: each one is freed where its end is told, and the last one frees the server too. */
#define SEVERAL 4

static struct guest_of {
    mcplink_session_t *session;
    mcplink_transport_t *transport;
} guests[SEVERAL];
static atomic_int left;

static void close_and_leave(void *user)
{
    struct guest_of *guest = user;
    mcplink_session_free(guest->session);
    if (--left == 0) mcplink_server_free(it.server);
    mcplink_transport_free(guest->transport);
}

static void destroyed(void *user) { (void)user, counter_add(&it.told); }

static void several(void)
{
    static const struct counter none = COUNTER;
    mcplink_error_t *err = NULL;
    int64_t begun;
    int i;
    it.told = none;
    it.server = mcplink_server_new("x", "1");
    left = SEVERAL;
    for (i = 0; i < SEVERAL; i++) {
        guests[i].transport = mcplink_transport_new(&guests[i], destroyed);
        CHECK(mcplink_transport_set_send(guests[i].transport, swallow) == MCPLINK_OK);
        CHECK(mcplink_transport_set_close(guests[i].transport, close_and_leave) == MCPLINK_OK);
        CHECK_STATUS(mcplink_server_attach(it.server, guests[i].transport, NULL, &guests[i].session, &err), MCPLINK_OK, err);
    }
    begun = now_ms();
    CHECK(mcplink_server_stop(it.server) == MCPLINK_OK);
    CHECK(counter_wait(&it.told, SEVERAL));
    CHECK(now_ms() - begun < SOON);
}

/* A client, closed for as long as it takes by the function that is told of that. */
static mcplink_client_t *client;

static void close_client(void *user)
{
    CHECK(mcplink_client_close(client, MCPLINK_FOREVER, NULL) == MCPLINK_E_TIMEOUT);
    peer_close(user);
}

static void of_a_client(void)
{
    struct peer p;
    mcplink_error_t *err = NULL;
    peer_begin(&p, NULL);
    CHECK(mcplink_transport_set_close(p.transport, close_client) == MCPLINK_OK);
    client = peer_open(&p);
    CHECK_STATUS(mcplink_client_close(client, LONG_SECONDS * 1000, &err), MCPLINK_OK, err);
    CHECK(p.closed.count == 1);
    mcplink_client_free(client);
    mcplink_transport_free(p.transport);
}

int main(void)
{
    state_t before;
    int action, cause;
    state_take(&before);
    for (action = 0; action < ACTIONS; action++) {
        for (cause = 0; cause < CAUSES; cause++) one((enum action)action, (enum cause)cause);
    }
    several();
    of_a_client();
    state_same(&before);
    return 0;
}
