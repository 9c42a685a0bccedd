/* Clients whose callbacks run where a pump is dispatched: which thread, in order, questions during blocking calls, freeing. */
#include "client.h"

#include <poll.h>

static mcplink_pump_t *pump;
static pthread_t main_thread;
static int connected, done, progressed, asked, lines, destroyed;
static mcplink_status_t last;
static mcplink_client_t *client;

static int here(void) { return pthread_equal(pthread_self(), main_thread); }

static void on_event(void *user, mcplink_event event, const mcplink_json_t *params)
{
    (void)user, (void)params;
    CHECK(here());
    if (event == MCPLINK_EVENT_CONNECTED) connected++;
}

static void on_done(void *user, mcplink_call_t *call, mcplink_status_t status, const mcplink_result_t *result, const mcplink_error_t *err)
{
    (void)user, (void)call, (void)result, (void)err;
    CHECK(here());
    last = status;
    done++;
}

static void on_progress(void *user, double progress, double total, mcplink_str_t message)
{
    int *before = user;
    (void)total, (void)message;
    CHECK(here() && progress > *before);
    *before = (int)progress;
    progressed++;
}

static void on_question(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    (void)user, (void)request;
    CHECK(here());
    asked++;
    CHECK(mcplink_responder_json(responder, "{\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}", MCPLINK_NUL) == MCPLINK_OK);
}

/* Within a question, another call, which asks too. */
static void on_nested(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    mcplink_result_t *r = NULL;
    (void)user, (void)request;
    CHECK(here());
    if (asked++ == 0) {
        CHECK(mcplink_client_call_tool(client, "test_input_required_result_elicitation", "{}", 2, NULL, &r, NULL) == MCPLINK_OK);
        mcplink_result_free(r);
    }
    CHECK(mcplink_responder_json(responder, "{\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}", MCPLINK_NUL) == MCPLINK_OK);
}

static void on_line(void *user, mcplink_str_t line)
{
    (void)user, (void)line;
    CHECK(here());
    lines++;
}

static void on_destroy(void *user) { (void)user; destroyed++; }

/* The loop of a host: until a counter has reached a number. */
static void run_until(const int *count, int number)
{
    struct pollfd p;
    while (*count < number) {
        p.fd = (int)mcplink_pump_fd(pump);
        p.events = POLLIN;
        CHECK(poll(&p, 1, LONG_SECONDS * 1000) == 1);
        CHECK(mcplink_pump_dispatch(pump, 2) >= 0);
    }
}

static mcplink_client_t *open_pumped(const char *revision, mcplink_handler_fn handler)
{
    mcplink_client_options_t *o = everything_options();
    CHECK(mcplink_client_options_set_pump(o, pump) == MCPLINK_OK);
    CHECK(mcplink_client_options_on_event(o, on_event, NULL, on_destroy) == MCPLINK_OK);
    if (handler) CHECK(mcplink_client_options_on_elicit(o, handler, NULL, NULL) == MCPLINK_OK);
    return client = open_with(o, revision);
}

static void started(void)
{
    static const char *const argv[] = { "/bin/sh", "-c", "echo one >&2; echo two >&2; exec \"$SERVER\" stdio", NULL };
    mcplink_client_options_t *o = mcplink_client_options_new();
    mcplink_call_options_t *options = mcplink_call_options_new();
    mcplink_client_t *c = NULL;
    int before = 0, i;

    CHECK(mcplink_client_options_set_command(o, argv) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_env(o, "SERVER", everything_server()) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_pump(o, pump) == MCPLINK_OK);
    CHECK(mcplink_client_options_on_event(o, on_event, NULL, on_destroy) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_stderr(o, MCPLINK_STDERR_CAPTURE, on_line, NULL, on_destroy) == MCPLINK_OK);
    CHECK(mcplink_client_start(o, &c, NULL) == MCPLINK_OK);
    mcplink_client_options_free(o);
    CHECK(destroyed == 0 && connected == 0);
    run_until(&connected, 1);
    run_until(&lines, 2);

    CHECK(mcplink_call_options_on_progress(options, on_progress, &before, on_destroy) == MCPLINK_OK);
    CHECK(mcplink_client_call_tool_start(c, "slow", "{\"steps\":3,\"delay_ms\":5}", MCPLINK_NUL, options, on_done, NULL, on_destroy, NULL, NULL) == MCPLINK_OK);
    mcplink_call_options_free(options);
    run_until(&done, 1);
    CHECK(last == MCPLINK_OK && before == 3 && progressed >= 1 && destroyed == 2);

    /* What waits when the client is freed runs then, here. */
    for (i = 0; i < 5; i++) CHECK(mcplink_client_call_tool_start(c, "slow", "{\"steps\":9,\"delay_ms\":1000}", MCPLINK_NUL, NULL, on_done, NULL, on_destroy, NULL, NULL) == MCPLINK_OK);
    mcplink_client_free(c);
    CHECK(done == 6 && last == MCPLINK_E_CLOSED && destroyed == 9);
}

/* A blocking call on the thread of the pump: its server may ask meanwhile, and is answered. */
static void blocking(const char *revision)
{
    mcplink_client_t *c;
    mcplink_result_t *r = NULL;
    mcplink_error_t *err = NULL;
    mcplink_call_options_t *options = mcplink_call_options_new();
    mcplink_call_t *call = NULL;
    int before = 0;

    asked = done = 0;
    c = open_pumped(revision, on_question);
    CHECK_STATUS(mcplink_client_call_tool(c, "test_input_required_result_elicitation", "{}", 2, NULL, &r, &err), MCPLINK_OK, err);
    CHECK(asked == 1 && strstr(mcplink_result_text(r).ptr, "Ada") != NULL);
    mcplink_result_free(r);

    /* The progress of such a call comes on this thread too, before it returns. */
    CHECK(mcplink_call_options_on_progress(options, on_progress, &before, NULL) == MCPLINK_OK);
    CHECK_STATUS(mcplink_client_call_tool(c, "slow", "{\"steps\":3,\"delay_ms\":5}", MCPLINK_NUL, options, &r, &err), MCPLINK_OK, err);
    CHECK(before == 3);
    mcplink_result_free(r);
    mcplink_call_options_free(options);

    /* Waiting for one that was started serves them as well; its function runs when the pump is dispatched. */
    CHECK(mcplink_client_call_tool_start(c, "test_input_required_result_elicitation", "{}", 2, NULL, on_done, NULL, NULL, &call, NULL) == MCPLINK_OK);
    CHECK_STATUS(mcplink_call_wait(call, MCPLINK_FOREVER, &r, &err), MCPLINK_OK, err);
    CHECK(asked == 2 && done == 0);
    mcplink_result_free(r);
    run_until(&done, 1);
    CHECK(mcplink_client_call_tool_start(c, "slow", "{\"steps\":1,\"delay_ms\":60000}", MCPLINK_NUL, NULL, NULL, NULL, NULL, NULL, NULL) == MCPLINK_OK);
    mcplink_call_free(call);
    CHECK(mcplink_client_call_tool_start(c, "slow", "{\"steps\":1,\"delay_ms\":60000}", MCPLINK_NUL, NULL, NULL, NULL, NULL, &call, NULL) == MCPLINK_OK);
    CHECK(mcplink_call_wait(call, 10, &r, NULL) == MCPLINK_PENDING);
    mcplink_call_free(call);
    mcplink_client_free(c);

    asked = 0;
    c = open_pumped(revision, on_nested);
    CHECK_STATUS(mcplink_client_call_tool(c, "test_input_required_result_elicitation", "{}", 2, NULL, &r, &err), MCPLINK_OK, err);
    CHECK(asked == 2);
    mcplink_result_free(r);
    mcplink_client_free(c);
}

/* Every kind of question, asked for often enough by several threads at once: where the handlers run. */
#define ROUNDS 12
static const char *const asking[] = {
    "test_input_required_result_elicitation", "test_input_required_result_sampling", "test_input_required_result_list_roots",
};
#define KINDS (int)(sizeof asking / sizeof *asking)

/* The threads that handlers may run on: the one of the pump, the caller's, or one of the library. */
enum where { ON_PUMP, ON_CALLER, ON_LIBRARY };
static enum where expected;
static pthread_t loop_thread;
static _Thread_local int is_caller;
static int per_kind[KINDS], running;

static void answered(int kind, mcplink_responder_t *responder, const char *answer)
{
    if (expected == ON_PUMP) CHECK(pthread_equal(pthread_self(), loop_thread));
    if (expected == ON_CALLER) CHECK(is_caller);
    if (expected == ON_LIBRARY) CHECK(!is_caller && !here());
    __atomic_add_fetch(&per_kind[kind], 1, __ATOMIC_SEQ_CST);
    CHECK(mcplink_responder_json(responder, answer, MCPLINK_NUL) == MCPLINK_OK);
}

static void on_form(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    (void)user, (void)request;
    answered(0, responder, "{\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}");
}

static void on_model(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    (void)user, (void)request;
    answered(1, responder, "{\"role\":\"assistant\",\"content\":{\"type\":\"text\",\"text\":\"Hi\"},\"model\":\"m\"}");
}

static void on_roots(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    (void)user, (void)request;
    answered(2, responder, "{\"roots\":[{\"uri\":\"file:///ada\"}]}");
}

static void *ask_all(void *unused)
{
    int i;
    is_caller = 1;
    for (i = 0; i < ROUNDS * KINDS; i++) {
        mcplink_result_t *r = NULL;
        mcplink_error_t *err = NULL;
        CHECK_STATUS(mcplink_client_call_tool(client, asking[i % KINDS], "{}", 2, NULL, &r, &err), MCPLINK_OK, err);
        mcplink_result_free(r);
    }
    is_caller = 0;
    return unused;
}

static void asked_from_everywhere(const char *revision, mcplink_pump_t *p, enum where where)
{
    pthread_t callers[2];
    mcplink_client_options_t *o = everything_options();
    int i;
    memset(per_kind, 0, sizeof per_kind);
    expected = where;
    if (p) CHECK(mcplink_client_options_set_pump(o, p) == MCPLINK_OK);
    CHECK(mcplink_client_options_on_elicit(o, on_form, NULL, NULL) == MCPLINK_OK);
    CHECK(mcplink_client_options_on_sample(o, on_model, NULL, NULL) == MCPLINK_OK);
    CHECK(mcplink_client_options_on_list_roots(o, on_roots, NULL, NULL) == MCPLINK_OK);
    client = open_with(o, revision);
    for (i = 0; i < 2; i++) CHECK(pthread_create(&callers[i], NULL, ask_all, NULL) == 0);
    ask_all(NULL);
    for (i = 0; i < 2; i++) pthread_join(callers[i], NULL);
    mcplink_client_free(client);
    for (i = 0; i < KINDS; i++) CHECK(__atomic_load_n(&per_kind[i], __ATOMIC_SEQ_CST) == 3 * ROUNDS);
}

/* The loop of a host on a thread of its own, which did not make the pump. */
struct loop {
    mcplink_pump_t *pump;
    struct counter began;
};

static void *run_loop(void *argument)
{
    struct loop *loop = argument;
    struct pollfd p;
    p.fd = (int)mcplink_pump_fd(loop->pump);
    p.events = POLLIN;
    counter_add(&loop->began);
    while (__atomic_load_n(&running, __ATOMIC_SEQ_CST)) {
        CHECK(poll(&p, 1, LONG_SECONDS * 1000) == 1);
        CHECK(mcplink_pump_dispatch(loop->pump, 2) >= 0);
    }
    return NULL;
}

static void elsewhere(const char *revision)
{
    int i;
    /* A new pump each time: who dispatches it is known at its first callback too. */
    for (i = 0; i < 5; i++) {
        struct loop loop = { NULL, COUNTER };
        CHECK(mcplink_pump_new(&loop.pump, NULL) == MCPLINK_OK);
        running = 1;
        CHECK(pthread_create(&loop_thread, NULL, run_loop, &loop) == 0);
        CHECK(counter_wait(&loop.began, 1));
        asked_from_everywhere(revision, loop.pump, ON_PUMP);
        __atomic_store_n(&running, 0, __ATOMIC_SEQ_CST);
        CHECK(mcplink_pump_wakeup(loop.pump) == MCPLINK_OK);
        pthread_join(loop_thread, NULL);
        mcplink_pump_free(loop.pump);
    }
}

/* A loop that takes messages: it dispatches when it is told to, one callback at a time, and misses none. */
static void notified(void)
{
    static struct counter rung = COUNTER;
    mcplink_client_t *c = open_pumped(NULL, NULL);
    int handled;
    int i;

    done = 0;
    CHECK(mcplink_pump_set_notify(pump, count_one, &rung, NULL) == MCPLINK_OK);
    for (i = 0; i < 5; i++) CHECK(mcplink_client_call_tool_start(c, "slow", "{\"steps\":1,\"delay_ms\":1}", MCPLINK_NUL, NULL, on_done, NULL, NULL, NULL, NULL) == MCPLINK_OK);
    while (mcplink_pump_wait(pump, 1) < 5) {
    }
    for (handled = 0; done < 5; handled++) {
        CHECK(counter_wait(&rung, handled + 1));
        CHECK(mcplink_pump_dispatch(pump, 1) >= 0);
    }
    CHECK(mcplink_pump_set_notify(pump, NULL, NULL, NULL) == MCPLINK_OK);
    mcplink_client_free(c);
}

int main(void)
{
    main_thread = pthread_self();
    CHECK(mcplink_pump_new(&pump, NULL) == MCPLINK_OK);
    /* A pump that was never dispatched belongs to who made it. */
    blocking("2025-11-25");
    blocking("2026-07-28");
    destroyed = done = 0;
    started();
    elsewhere("2025-11-25");
    elsewhere("2026-07-28");
    asked_from_everywhere("2025-11-25", NULL, ON_LIBRARY);
    asked_from_everywhere("2026-07-28", NULL, ON_CALLER);
    notified();
    mcplink_pump_free(pump);
    return 0;
}
