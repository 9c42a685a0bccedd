/* The order of started calls, a client that is freed while another thread closes it, the C names in
 * the texts of events, and the log of each mistake, which must appear once. */
#include "peer.h"

#include <stdatomic.h>

enum { CALLS = 8, ROUNDS = 25 };

/* What the server was sent, one letter each. */
static char sent[CALLS * 8];
static atomic_int sent_len;
static struct counter arrived = COUNTER;

static void answer(struct peer *p, const char *method, const mcplink_json_t *message)
{
    const mcplink_json_t *params = mcplink_json_get(message, "params");
    const char *level = mcplink_json_str(mcplink_json_get(params, "level")).ptr;
    char letter = 0;
    if (strcmp(method, "logging/setLevel") == 0) letter = level[0];
    if (strcmp(method, "resources/subscribe") == 0) letter = 'S';
    if (strcmp(method, "resources/unsubscribe") == 0) letter = 'U';
    if (strcmp(method, "notifications/roots/list_changed") == 0) letter = 'R';
    if (letter) sent[sent_len++] = letter, counter_add(&arrived);
    if (mcplink_json_get(message, "id")) peer_respond(p, message, "{}");
}

static void on_done(void *user, mcplink_call_t *call, mcplink_status_t status, const mcplink_result_t *result, const mcplink_error_t *err)
{
    (void)call, (void)result, (void)err;
    CHECK(status == MCPLINK_OK);
    counter_add(user);
}

static void on_roots(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    (void)user, (void)request;
    CHECK(mcplink_responder_json(responder, "{\"roots\":[]}", MCPLINK_NUL) == MCPLINK_OK);
}

/* What changes the state of the connection arrives in the order of the calls. */
static void ordered(void)
{
    struct peer p;
    struct counter done = COUNTER;
    mcplink_client_options_t *o;
    mcplink_client_t *c;
    int round;

    peer_begin(&p, answer);
    p.capabilities = "{\"logging\":{},\"resources\":{\"subscribe\":true}}";
    o = peer_options(&p);
    CHECK(mcplink_client_options_on_list_roots(o, on_roots, NULL, NULL) == MCPLINK_OK);
    c = open_with(o, NULL);
    for (round = 1; round <= ROUNDS; round++) {
        sent_len = 0;
        CHECK(mcplink_client_subscribe_start(c, "test://a", NULL, on_done, &done, NULL, NULL, NULL) == MCPLINK_OK);
        CHECK(mcplink_client_unsubscribe_start(c, "test://a", on_done, &done, NULL, NULL, NULL) == MCPLINK_OK);
        CHECK(mcplink_client_set_log_level_start(c, MCPLINK_LOG_DEBUG, NULL, on_done, &done, NULL, NULL, NULL) == MCPLINK_OK);
        CHECK(mcplink_client_set_log_level_start(c, MCPLINK_LOG_INFO, NULL, on_done, &done, NULL, NULL, NULL) == MCPLINK_OK);
        CHECK(mcplink_client_roots_changed_start(c, on_done, &done, NULL, NULL, NULL) == MCPLINK_OK);
        CHECK(mcplink_client_subscribe_start(c, "test://a", NULL, on_done, &done, NULL, NULL, NULL) == MCPLINK_OK);
        CHECK(mcplink_client_set_log_level_start(c, MCPLINK_LOG_NOTICE, NULL, on_done, &done, NULL, NULL, NULL) == MCPLINK_OK);
        CHECK(mcplink_client_unsubscribe_start(c, "test://a", on_done, &done, NULL, NULL, NULL) == MCPLINK_OK);
        CHECK(counter_wait(&done, round * CALLS) && counter_wait(&arrived, round * CALLS));
        sent[sent_len] = 0;
        if (strcmp(sent, "SUdiRSnU") != 0) {
            fprintf(stderr, "round %d: %s\n", round, sent);
            exit(1);
        }
    }
    mcplink_client_free(c);
    mcplink_transport_free(p.transport);
}

/* Calls that wait for their turn end with the client, and count as started calls. */
static void silent(struct peer *p, const char *method, const mcplink_json_t *message)
{
    (void)message;
    if (strcmp(method, "logging/setLevel") == 0) counter_add(&p->closed);
}

static void on_closed(void *user, mcplink_call_t *call, mcplink_status_t status, const mcplink_result_t *result, const mcplink_error_t *err)
{
    (void)call, (void)result, (void)err;
    CHECK(status == MCPLINK_E_CLOSED);
    counter_add(user);
}

static void queued(void)
{
    struct peer p;
    struct counter done = COUNTER, destroyed = COUNTER;
    mcplink_client_options_t *o;
    mcplink_client_t *c;
    mcplink_error_t *err = NULL;
    int i;

    peer_begin(&p, silent);
    p.capabilities = "{\"logging\":{}}";
    o = peer_options(&p);
    CHECK(mcplink_client_options_set_max_started(o, 3) == MCPLINK_OK);
    c = open_with(o, NULL);
    CHECK(mcplink_client_set_log_level_start(c, MCPLINK_LOG_DEBUG, NULL, on_closed, &done, NULL, NULL, NULL) == MCPLINK_OK);
    CHECK(counter_wait(&p.closed, 1));
    for (i = 0; i < 2; i++) CHECK(mcplink_client_set_log_level_start(c, MCPLINK_LOG_INFO, NULL, on_closed, &done, NULL, NULL, NULL) == MCPLINK_OK);
    CHECK(mcplink_client_set_log_level_start(c, MCPLINK_LOG_INFO, NULL, on_closed, &destroyed, count_one, NULL, &err) == MCPLINK_E_BUSY);
    mcplink_error_free(err);
    CHECK(destroyed.count == 1 && counter_get(&p.closed) == 1);
    mcplink_client_free(c);
    CHECK(done.count == 3);
    mcplink_transport_free(p.transport);
}

/* A call that is cancelled before its turn is over at once, and nothing of it is sent. */
static void on_withdrawn(void *user, mcplink_call_t *call, mcplink_status_t status, const mcplink_result_t *result, const mcplink_error_t *err)
{
    (void)call, (void)result;
    CHECK(status == MCPLINK_E_CANCELLED);
    CHECK(strstr(mcplink_error_message(err), "before its turn") != NULL);
    counter_add(user);
}

static void withdrawn(void)
{
    struct peer p;
    struct counter first = COUNTER, done = COUNTER;
    mcplink_client_options_t *o;
    mcplink_call_options_t *options = mcplink_call_options_new();
    mcplink_cancel_t *cancel = mcplink_cancel_new();
    mcplink_call_t *call = NULL;
    mcplink_client_t *c;
    mcplink_error_t *err = NULL;

    peer_begin(&p, silent);
    p.capabilities = "{\"logging\":{}}";
    o = peer_options(&p);
    c = open_with(o, NULL);
    CHECK(mcplink_client_set_log_level_start(c, MCPLINK_LOG_DEBUG, NULL, on_closed, &first, NULL, NULL, NULL) == MCPLINK_OK);
    CHECK(counter_wait(&p.closed, 1));
    /* By its handle. */
    CHECK(mcplink_client_set_log_level_start(c, MCPLINK_LOG_INFO, NULL, on_withdrawn, &done, NULL, &call, &err) == MCPLINK_OK);
    CHECK_STATUS(mcplink_call_wait(call, 0, NULL, &err), MCPLINK_PENDING, err);
    CHECK(mcplink_call_cancel(call, NULL) == MCPLINK_OK && mcplink_call_is_done(call));
    CHECK_STATUS(mcplink_call_wait(call, 0, NULL, &err), MCPLINK_E_CANCELLED, err);
    CHECK(counter_wait(&done, 1));
    mcplink_call_free(call);
    /* By a token, triggered afterwards and before. */
    CHECK(mcplink_call_options_set_cancel(options, cancel) == MCPLINK_OK);
    CHECK(mcplink_client_set_log_level_start(c, MCPLINK_LOG_INFO, options, on_withdrawn, &done, NULL, NULL, &err) == MCPLINK_OK);
    CHECK(mcplink_cancel_trigger(cancel) == MCPLINK_OK);
    CHECK(counter_wait(&done, 2));
    CHECK(mcplink_client_set_log_level_start(c, MCPLINK_LOG_INFO, options, on_withdrawn, &done, NULL, NULL, &err) == MCPLINK_OK);
    CHECK(counter_wait(&done, 3));
    CHECK(counter_get(&first) == 0 && counter_get(&p.closed) == 1);
    mcplink_client_free(c);
    CHECK(first.count == 1 && done.count == 3);
    mcplink_call_options_free(options);
    mcplink_cancel_free(cancel);
    mcplink_transport_free(p.transport);
}

/* Closed by one thread and freed by another: no callback runs once it is freed. */
static mcplink_client_t *shared;
static atomic_bool go, is_freed;
static struct counter told = COUNTER, destroyed = COUNTER;

static void on_close(void *user, mcplink_call_t *call, mcplink_status_t status, const mcplink_result_t *result, const mcplink_error_t *err)
{
    (void)user, (void)call, (void)result, (void)err;
    CHECK(status == MCPLINK_OK && !is_freed);
    counter_add(&told);
}

static void *start_close(void *unused)
{
    mcplink_status_t status;
    while (!go) {
    }
    status = mcplink_client_close_start(shared, on_close, &destroyed, count_one, NULL);
    /* The handle is stale once it is freed, and closed while it is freed. */
    CHECK(status == MCPLINK_OK || status == MCPLINK_E_STATE || status == MCPLINK_E_CLOSED);
    return unused;
}

static void freed(int races)
{
    enum { THREADS = 3 };
    pthread_t threads[THREADS];
    mcplink_pump_t *pump = NULL;
    int i, race;

    CHECK(mcplink_pump_new(&pump, NULL) == MCPLINK_OK);
    for (race = 0; race < races; race++) {
        struct peer p;
        mcplink_client_options_t *o;
        peer_begin(&p, answer);
        o = peer_options(&p);
        CHECK(mcplink_client_options_set_pump(o, pump) == MCPLINK_OK);
        shared = open_with(o, NULL);
        go = is_freed = false;
        told.count = destroyed.count = 0;
        for (i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, start_close, NULL) == 0);
        go = true;
        mcplink_client_free(shared);
        is_freed = true;
        for (i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
        /* Nothing was left for the pump. */
        CHECK(mcplink_pump_dispatch(pump, 100) == 0);
        CHECK(destroyed.count == THREADS);
        mcplink_transport_free(p.transport);
    }
    mcplink_pump_free(pump);
}

/* Events have names of C in their texts. */
static void on_event(void *user, mcplink_event event, const mcplink_json_t *params)
{
    const char *text = mcplink_json_str(mcplink_json_get(params, "message")).ptr;
    CHECK(event == MCPLINK_EVENT_FAILED);
    if (strstr(text, "::") || !strstr(text, "mcplink_client_options_set_command")) {
        fprintf(stderr, "%s\n", text);
        exit(1);
    }
    counter_add(user);
}

static void event_text(void)
{
    struct peer p;
    struct counter events = COUNTER;
    mcplink_client_options_t *o;
    mcplink_client_t *c = NULL;
    peer_begin(&p, answer);
    o = peer_options(&p);
    CHECK(mcplink_client_options_set_restart(o, 1, 1, 1) == MCPLINK_OK);
    CHECK(mcplink_client_options_on_event(o, on_event, &events, NULL) == MCPLINK_OK);
    CHECK(mcplink_client_start(o, &c, NULL) == MCPLINK_OK);
    CHECK(counter_wait(&events, 1));
    mcplink_client_free(c);
    mcplink_client_options_free(o);
    mcplink_transport_free(p.transport);
}

/* Each refusal is logged once, whatever takes the handle. */
static void on_log(void *user, mcplink_log_level level, mcplink_str_t target, mcplink_str_t text)
{
    (void)level, (void)text;
    CHECK_TEXT(target, "handle");
    counter_add(user);
}

static void logged_once(void)
{
    struct counter lines = COUNTER;
    mcplink_cancel_t *stale = mcplink_cancel_new();
    mcplink_pump_t *pump = NULL;
    mcplink_cancel_free(stale);
    CHECK(mcplink_pump_new(&pump, NULL) == MCPLINK_OK);
    CHECK(mcplink_set_log(MCPLINK_LOG_DEBUG, on_log, &lines, NULL) == MCPLINK_OK);
    CHECK(mcplink_cancel_trigger(stale) == MCPLINK_E_STATE && lines.count == 1);
    CHECK(mcplink_cancel_trigger(NULL) == MCPLINK_E_INVALID && lines.count == 2);
    CHECK(mcplink_session_close((mcplink_session_t *)pump) == MCPLINK_E_INVALID && lines.count == 3);
    CHECK(mcplink_pump_dispatch((mcplink_pump_t *)stale, 1) < 0 && lines.count == 4);
    CHECK(!mcplink_cancel_is_triggered(stale) && lines.count == 5);
    CHECK(mcplink_client_state((mcplink_client_t *)pump) == MCPLINK_CLIENT_NONE && lines.count == 6);
    CHECK(mcplink_set_log(MCPLINK_LOG_DEBUG, NULL, NULL, NULL) == MCPLINK_OK);
    mcplink_pump_free(pump);
}

int main(void)
{
    const char *given = getenv("MCPLINK_RACES");
    ordered();
    queued();
    withdrawn();
    freed(given ? atoi(given) : 1000);
    event_text();
    logged_once();
    return 0;
}
