/* What an event loop may call: subscriptions, the log level, roots and closing without waiting. */
#include "client.h"

#include <poll.h>

static mcplink_pump_t *pump;
static pthread_t main_thread;
static struct counter updated = COUNTER, changed = COUNTER, destroyed = COUNTER;

/* The outcomes, in the order in which they came. */
static struct counter done = COUNTER;
static mcplink_status_t outcomes[8];
static char texts[8][256];
static int at_close;

static void on_done(void *user, mcplink_call_t *call, mcplink_status_t status, const mcplink_result_t *result, const mcplink_error_t *err)
{
    int at = counter_get(&done);
    int *closes = user;
    if (pump) CHECK(pthread_equal(pthread_self(), main_thread));
    CHECK((status >= 0) == (result != NULL) && (status < 0) == (err != NULL));
    if (closes) {
        CHECK(call == NULL && status == MCPLINK_OK);
        *closes = at;
    }
    outcomes[at] = status;
    snprintf(texts[at], sizeof texts[at], "%s", result ? mcplink_json_text(mcplink_result_json(result)).ptr : mcplink_error_message(err));
    counter_add(&done);
}

static void on_event(void *user, mcplink_event event, const mcplink_json_t *params)
{
    (void)user, (void)params;
    if (event == MCPLINK_EVENT_RESOURCE_UPDATED) counter_add(&updated);
    if (event == MCPLINK_EVENT_TOOLS_CHANGED) counter_add(&changed);
}

static void on_roots(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    (void)user, (void)request;
    CHECK(mcplink_responder_json(responder, "{\"roots\":[]}", MCPLINK_NUL) == MCPLINK_OK);
}

/* Until a counter has reached a number. */
static void run_until(struct counter *counter, int count)
{
    struct pollfd p;
    if (pump == NULL) {
        CHECK(counter_wait(counter, count));
        return;
    }
    p.fd = (int)mcplink_pump_fd(pump), p.events = POLLIN;
    while (counter_get(counter) < count) {
        CHECK(poll(&p, 1, LONG_SECONDS * 1000) == 1);
        CHECK(mcplink_pump_dispatch(pump, 64) >= 0);
    }
}

static void outcome(mcplink_status_t status, const char *text)
{
    run_until(&done, 1);
    if (outcomes[0] != status || strstr(texts[0], text) == NULL) {
        fprintf(stderr, "%s: %s\n", mcplink_status_name(outcomes[0]), texts[0]);
        exit(1);
    }
    done.count = 0;
}

static mcplink_client_t *opened(const char *revision, int has_roots)
{
    mcplink_client_options_t *o = everything_options();
    if (pump) CHECK(mcplink_client_options_set_pump(o, pump) == MCPLINK_OK);
    CHECK(mcplink_client_options_on_event(o, on_event, NULL, NULL) == MCPLINK_OK);
    if (has_roots) CHECK(mcplink_client_options_on_list_roots(o, on_roots, NULL, NULL) == MCPLINK_OK);
    return open_with(o, revision);
}

static void asked(const char *revision)
{
    int modern = strcmp(revision, "2026-07-28") == 0;
    mcplink_client_t *c = opened(revision, 1);
    mcplink_call_t *call = NULL;
    mcplink_result_t *r = NULL;
    mcplink_error_t *err = NULL;
    int before;

    destroyed.count = done.count = 0;
    CHECK(mcplink_client_listen_start(c, "{\"toolsListChanged\":true}", MCPLINK_NUL, NULL, on_done, NULL, NULL, NULL, NULL) == MCPLINK_OK);
    outcome(MCPLINK_OK, "\"toolsListChanged\":true");
    CHECK(mcplink_client_listen_start(c, "{", 1, NULL, on_done, &destroyed, count_one, NULL, NULL) == MCPLINK_E_INVALID && destroyed.count == 1);
    before = counter_get(&changed);
    CHECK_STATUS(mcplink_client_call_tool(c, "test_trigger_tool_change", "{}", 2, NULL, &r, &err), MCPLINK_OK, err);
    mcplink_result_free(r);
    run_until(&changed, before + 1);

    CHECK(mcplink_client_subscribe_start(c, "test://watched-resource", NULL, on_done, NULL, NULL, NULL, NULL) == MCPLINK_OK);
    outcome(MCPLINK_OK, "{}");
    CHECK(mcplink_client_unsubscribe_start(c, "test://watched-resource", on_done, NULL, NULL, &call, NULL) == MCPLINK_OK);
    CHECK_STATUS(mcplink_call_wait(call, MCPLINK_FOREVER, NULL, &err), MCPLINK_OK, err);
    mcplink_call_free(call);
    outcome(MCPLINK_OK, "{}");
    CHECK(mcplink_client_set_log_level_start(c, MCPLINK_LOG_INFO, NULL, on_done, NULL, NULL, NULL, NULL) == MCPLINK_OK);
    if (modern) outcome(MCPLINK_E_UNSUPPORTED, "mcplink_call_options_set_log_level");
    else outcome(MCPLINK_OK, "{}");
    CHECK(mcplink_client_roots_changed_start(c, on_done, NULL, NULL, NULL, NULL) == MCPLINK_OK);
    outcome(MCPLINK_OK, "{}");
    mcplink_client_free(c);

    c = opened(revision, 0);
    CHECK(mcplink_client_roots_changed_start(c, on_done, NULL, NULL, NULL, NULL) == MCPLINK_OK);
    outcome(MCPLINK_E_UNSUPPORTED, "");
    mcplink_client_free(c);
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A server that does not end by itself: closing takes two times this. */
#define STEP_MS 1000

static mcplink_client_t *stubborn(void)
{
    static const char *const argv[] = { "/bin/sh", "-c", "trap '' TERM; \"$SERVER\" stdio; while :; do sleep 1; done", NULL };
    mcplink_client_options_t *o = mcplink_client_options_new();
    CHECK(mcplink_client_options_set_command(o, argv) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_env(o, "SERVER", everything_server()) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_close_timeout_ms(o, STEP_MS) == MCPLINK_OK);
    if (pump) CHECK(mcplink_client_options_set_pump(o, pump) == MCPLINK_OK);
    return open_with(o, "2026-07-28");
}

static void closed(void)
{
    mcplink_client_t *c = stubborn();
    int64_t begin;

    done.count = destroyed.count = 0;
    CHECK(mcplink_client_call_tool_start(c, "slow", "{\"steps\":9,\"delay_ms\":60000}", MCPLINK_NUL, NULL, on_done, NULL, NULL, NULL, NULL) == MCPLINK_OK);
    begin = now_ms();
    CHECK(mcplink_client_close_start(c, on_done, &at_close, NULL, NULL) == MCPLINK_OK);
    /* A second one is told too. */
    CHECK(mcplink_client_close_start(c, NULL, &destroyed, count_one, NULL) == MCPLINK_OK);
    CHECK(now_ms() - begin < STEP_MS);
    run_until(&done, 2);
    CHECK(now_ms() - begin >= STEP_MS);
    CHECK(outcomes[0] == MCPLINK_E_CLOSED && outcomes[1] == MCPLINK_OK && at_close == 1);
    CHECK(mcplink_client_state(c) == MCPLINK_CLIENT_CLOSED);
    CHECK(mcplink_client_ping_start(c, NULL, on_done, NULL, NULL, NULL, NULL) == MCPLINK_E_CLOSED);
    begin = now_ms();
    mcplink_client_free(c);
    CHECK(now_ms() - begin < STEP_MS && destroyed.count == 1);
}

static mcplink_client_t *own;

static void free_own(void *user, mcplink_call_t *call, mcplink_status_t status, const mcplink_result_t *result, const mcplink_error_t *err)
{
    (void)call, (void)result, (void)err;
    CHECK(status == MCPLINK_OK);
    mcplink_client_free(own);
    counter_add(user);
}

/* Freed in its own callback, and before the callback came. */
static void freed(void)
{
    struct counter told = COUNTER;
    destroyed.count = done.count = 0;
    own = opened("2025-11-25", 0);
    CHECK(mcplink_client_close_start(own, free_own, &told, NULL, NULL) == MCPLINK_OK);
    run_until(&told, 1);
    own = opened("2026-07-28", 0);
    CHECK(mcplink_client_close_start(own, on_done, &at_close, NULL, NULL) == MCPLINK_OK);
    mcplink_client_free(own);
    CHECK(done.count == 1);
    CHECK(mcplink_client_close_start(own, NULL, &destroyed, count_one, NULL) == MCPLINK_E_STATE && destroyed.count == 1);
    CHECK(mcplink_client_close_start(NULL, NULL, NULL, NULL, NULL) == MCPLINK_E_INVALID);
}

int main(void)
{
    int pumped;
    main_thread = pthread_self();
    for (pumped = 0; pumped < 2; pumped++) {
        if (pumped) CHECK(mcplink_pump_new(&pump, NULL) == MCPLINK_OK);
        asked("2025-11-25");
        asked("2026-07-28");
        closed();
        freed();
    }
    mcplink_pump_free(pump);
    return 0;
}
