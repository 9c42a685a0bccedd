/* What was started ends once, whatever kind of call it is; what waits for a cancellation ends once; and handles that are freed by functions that
   answer questions, take log messages or are dispatched by a pump. */
#include "guests/guest.h"
#include "peer.h"

#include <stdatomic.h>

static atomic_int ended, dones, last, freed;
static int one = 1, ten = 10;

static void count_end(void *user) { ended += *(int *)user; }

#define ENDED(number) CHECK(atomic_exchange(&ended, 0) == (number))

static void on_done(void *user, mcplink_call_t *call, mcplink_status_t status, const mcplink_result_t *result, const mcplink_error_t *err)
{
    (void)call;
    CHECK(*(int *)user == 1 && (status >= 0) == (result != NULL) && (status < 0) == (err != NULL));
    last = status;
    dones++;
}

/* Starts a call of each kind. */
enum { KINDS = 10 };

static mcplink_status_t start(int kind, mcplink_client_t *c, const mcplink_call_options_t *o, mcplink_call_t **call)
{
#define END on_done, &one, count_end, call, NULL
    switch (kind) {
    case 0: return mcplink_client_call_tool_start(c, "t", NULL, 0, o, END);
    case 1: return mcplink_client_list_tools_start(c, o, END);
    case 2: return mcplink_client_list_resources_start(c, o, END);
    case 3: return mcplink_client_list_templates_start(c, o, END);
    case 4: return mcplink_client_list_prompts_start(c, o, END);
    case 5: return mcplink_client_read_resource_start(c, "file:///x", o, END);
    case 6: return mcplink_client_get_prompt_start(c, "p", NULL, 0, o, END);
    case 7: return mcplink_client_complete_start(c, MCPLINK_PRIMITIVE_PROMPT, "p", "a", "", NULL, 0, o, END);
    case 8: return mcplink_client_ping_start(c, o, END);
    default: return mcplink_client_request_start(c, "com.example/x", NULL, 0, o, END);
    }
#undef END
}

static atomic_int requests, answering;

/* Answers everything, or nothing. */
static void server_of_everything(struct peer *p, const char *method, const mcplink_json_t *message)
{
    static const char *const results[][2] = {
        { "tools/call", "{\"content\":[]}" },
        { "tools/list", "{\"tools\":[]}" },
        { "resources/list", "{\"resources\":[]}" },
        { "resources/templates/list", "{\"resourceTemplates\":[]}" },
        { "prompts/list", "{\"prompts\":[]}" },
        { "resources/read", "{\"contents\":[]}" },
        { "prompts/get", "{\"messages\":[]}" },
        { "completion/complete", "{\"completion\":{\"values\":[]}}" },
    };
    size_t i;
    if (mcplink_json_is_missing(mcplink_json_get(message, "id"))) return;
    requests++;
    if (!answering) return;
    for (i = 0; i < sizeof results / sizeof *results; i++) {
        if (strcmp(results[i][0], method) == 0) {
            peer_respond(p, message, results[i][1]);
            return;
        }
    }
    peer_respond(p, message, "{}");
}

static mcplink_client_t *open_everything(struct peer *p)
{
    peer_begin(p, server_of_everything);
    p->capabilities = "{\"tools\":{},\"resources\":{},\"prompts\":{},\"completions\":{}}";
    requests = 0;
    return peer_open(p);
}

static void started_calls(void)
{
    struct peer p;
    mcplink_client_t *c;
    mcplink_call_t *call = NULL;
    mcplink_cancel_t *cancel;
    mcplink_call_options_t *o = mcplink_call_options_new();
    int kind;

    /* Answered. */
    answering = 1;
    c = open_everything(&p);
    for (kind = 0; kind < KINDS; kind++) {
        CHECK(start(kind, c, NULL, kind % 2 ? &call : NULL) == MCPLINK_OK);
        UNTIL(dones == kind + 1 && ended == kind + 1);
        if (last != MCPLINK_OK) fprintf(stderr, "kind %d: %s\n", kind, mcplink_status_name(last));
        CHECK(last == MCPLINK_OK);
        if (kind % 2) mcplink_call_free(call);
    }
    ENDED(KINDS);
    /* Given up, by themselves and by a token. */
    answering = 0;
    dones = 0;
    requests = 0;
    for (kind = 0; kind < KINDS; kind++) {
        CHECK(start(kind, c, NULL, &call) == MCPLINK_OK);
        UNTIL(requests == kind + 1);
        CHECK(dones == kind && mcplink_call_cancel(call, NULL) == MCPLINK_OK);
        UNTIL(dones == kind + 1 && ended == kind + 1);
        CHECK(last == MCPLINK_E_CANCELLED);
        mcplink_call_free(call);
    }
    ENDED(KINDS);
    cancel = mcplink_cancel_new();
    CHECK(mcplink_call_options_set_cancel(o, cancel) == MCPLINK_OK && mcplink_cancel_trigger(cancel) == MCPLINK_OK);
    dones = 0;
    for (kind = 0; kind < KINDS; kind++) {
        CHECK(start(kind, c, o, NULL) == MCPLINK_OK);
        UNTIL(dones == kind + 1 && ended == kind + 1);
        CHECK(last == MCPLINK_E_CANCELLED);
    }
    ENDED(KINDS);
    mcplink_cancel_free(cancel);
    /* In flight when their client goes. */
    dones = 0;
    requests = 0;
    for (kind = 0; kind < KINDS; kind++) CHECK(start(kind, c, NULL, NULL) == MCPLINK_OK);
    UNTIL(requests == KINDS);
    CHECK(dones == 0);
    mcplink_client_free(c);
    CHECK(dones == KINDS && last == MCPLINK_E_CLOSED);
    ENDED(KINDS);
    mcplink_transport_free(p.transport);
    /* Without a function, and on a client that has been closed. */
    c = open_everything(&p);
    CHECK(mcplink_client_list_tools_start(c, NULL, NULL, &one, count_end, NULL, NULL) <= 0);
    CHECK(mcplink_client_close(c, PATIENCE, NULL) == MCPLINK_OK);
    UNTIL(ended == 1);
    ENDED(1);
    dones = 0;
    for (kind = 0; kind < KINDS; kind++) {
        mcplink_status_t st = start(kind, c, NULL, NULL);
        CHECK(st == MCPLINK_OK || st == MCPLINK_E_CLOSED);
        UNTIL(ended == kind + 1);
        CHECK(st != MCPLINK_OK || last == MCPLINK_E_CLOSED);
    }
    mcplink_client_free(c);
    ENDED(KINDS);
    mcplink_transport_free(p.transport);
    mcplink_call_options_free(o);
    dones = 0;
}

/* A client and a server in this program. */
static struct {
    mcplink_server_t *server;
    mcplink_session_t *session;
    mcplink_client_t *client;
    mcplink_pump_t *pump;
} both;

static mcplink_responder_t *kept;
static atomic_int has_kept, cancels;
static int register_first;

static void on_cancel(void *user)
{
    CHECK(*(int *)user == 1 || *(int *)user == 10);
    cancels++;
}

static void tool_keep(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    (void)user, (void)request;
    if (register_first) CHECK(mcplink_responder_on_cancel(responder, on_cancel, &one, count_end) == MCPLINK_OK);
    kept = mcplink_responder_keep(responder);
    has_kept = 1;
}

/* Registers, and answers at once: what waits for a cancellation ends with the responder. */
static void tool_answers(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    (void)user, (void)request;
    CHECK(mcplink_responder_on_cancel(responder, on_cancel, &one, count_end) == MCPLINK_OK);
    CHECK(mcplink_responder_text(responder, "done", MCPLINK_NUL) == MCPLINK_OK);
}

static void tool_asks(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    static const char form[] = "{\"mode\":\"form\",\"message\":\"?\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}";
    const mcplink_json_t *answer = NULL;
    (void)user, (void)request;
    if (mcplink_responder_ask(responder, "q", "elicitation/create", form, MCPLINK_NUL, &answer, NULL) == MCPLINK_PENDING) return;
    mcplink_responder_text(responder, "asked", MCPLINK_NUL);
}

static void open_both(mcplink_client_options_t *o, const char *revision)
{
    mcplink_error_t *err = NULL;
    int ends[2];
    both.server = guest_server();
    add(both.server, "keep", tool_keep, NULL);
    add(both.server, "answers", tool_answers, NULL);
    add(both.server, "asks", tool_asks, NULL);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    CHECK_STATUS(mcplink_server_serve_fds_start(both.server, ends[0], ends[0], NULL, &both.session, &err), MCPLINK_OK, err);
    if (o == NULL) o = mcplink_client_options_new();
    CHECK(mcplink_client_options_set_fds(o, ends[1], ends[1]) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_timeout_ms(o, PATIENCE) == MCPLINK_OK);
    both.client = open_with(o, revision);
    close(ends[0]), close(ends[1]);
}

static void close_both(void)
{
    mcplink_client_free(both.client);
    mcplink_session_free(both.session);
    mcplink_server_free(both.server);
    memset(&both, 0, sizeof both);
}

static void call_and_keep(mcplink_call_t **call)
{
    mcplink_error_t *err = NULL;
    has_kept = 0;
    CHECK_STATUS(mcplink_client_call_tool_start(both.client, "keep", NULL, 0, NULL, on_done, &one, NULL, call, &err), MCPLINK_OK, err);
    UNTIL(has_kept == 1);
}

/* What is registered for a cancellation ends once: replaced, taken away, answered, cancelled, too late, and with what it belongs to. */
static void for_cancellations(void)
{
    mcplink_call_t *call = NULL;
    mcplink_result_t *result = NULL;
    mcplink_error_t *err = NULL;
    int first;
    for (first = 0; first < 2; first++) {
        register_first = first;
        open_both(NULL, NULL);
        CHECK_STATUS(mcplink_client_call_tool(both.client, "answers", NULL, 0, NULL, &result, &err), MCPLINK_OK, err);
        mcplink_result_free(result);
        UNTIL(ended == 1);
        ENDED(1);
        /* Replaced and taken away; then answered. */
        call_and_keep(NULL);
        CHECK(mcplink_responder_on_cancel(kept, on_cancel, &ten, count_end) == MCPLINK_OK);
        ENDED(first);
        CHECK(mcplink_responder_on_cancel(kept, NULL, &one, count_end) == MCPLINK_OK);
        ENDED(11);
        CHECK(mcplink_responder_on_cancel(kept, on_cancel, &ten, count_end) == MCPLINK_OK);
        CHECK(mcplink_responder_text(kept, "done", MCPLINK_NUL) == MCPLINK_OK);
        mcplink_responder_free(kept);
        UNTIL(ended == 10);
        ENDED(10);
        CHECK(cancels == 0);
        /* Cancelled: it runs and ends; registered again it runs at once. */
        call_and_keep(&call);
        if (!first) CHECK(mcplink_responder_on_cancel(kept, on_cancel, &one, count_end) == MCPLINK_OK);
        CHECK(mcplink_call_cancel(call, NULL) == MCPLINK_OK);
        UNTIL(cancels == 1 && ended == 1);
        ENDED(1);
        CHECK(mcplink_responder_on_cancel(kept, on_cancel, &ten, count_end) == MCPLINK_OK && cancels == 2);
        ENDED(10);
        mcplink_responder_free(kept);
        mcplink_call_free(call);
        ENDED(0);
        /* The session is closed. */
        cancels = 0;
        call_and_keep(NULL);
        if (!first) CHECK(mcplink_responder_on_cancel(kept, on_cancel, &one, count_end) == MCPLINK_OK);
        CHECK(mcplink_session_close(both.session) == MCPLINK_OK);
        UNTIL(cancels == 1 && ended == 1);
        ENDED(1);
        mcplink_responder_free(kept);
        close_both();
        /* The server goes; the responder stays. */
        open_both(NULL, NULL);
        call_and_keep(NULL);
        if (!first) CHECK(mcplink_responder_on_cancel(kept, on_cancel, &one, count_end) == MCPLINK_OK);
        close_both();
        UNTIL(cancels == 2 && ended == 1);
        ENDED(1);
        mcplink_responder_free(kept);
        ENDED(0);
        cancels = 0;
    }
    register_first = 0;
    dones = 0;
}

static void free_client_when_asked(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    (void)request, (void)responder;
    if (*(int *)user == 10) CHECK(mcplink_responder_json(responder, "{\"action\":\"decline\"}", MCPLINK_NUL) == MCPLINK_OK);
    mcplink_client_free(both.client);
    freed++;
}

/* A client that is freed by its function that answers a question, before the answer and after it; in both eras, waiting and not. */
static void in_questions(void)
{
    int round;
    for (round = 0; round < 8; round++) {
        mcplink_client_options_t *o = mcplink_client_options_new();
        mcplink_result_t *result = NULL;
        mcplink_error_t *err = NULL;
        int *user = round & 1 ? &ten : &one;
        CHECK(mcplink_client_options_on_elicit(o, free_client_when_asked, user, count_end) == MCPLINK_OK);
        open_both(o, round & 2 ? "2025-11-25" : "2026-07-28");
        dones = 0;
        if (round & 4) {
            mcplink_status_t st = mcplink_client_call_tool(both.client, "asks", NULL, 0, NULL, &result, &err);
            /* Whatever was answered before, nobody waits for what comes of it. */
            CHECK((st < 0) == (result == NULL) && (st < 0) == (err != NULL));
            mcplink_result_free(result);
            mcplink_error_free(err);
        } else {
            CHECK_STATUS(mcplink_client_call_tool_start(both.client, "asks", NULL, 0, NULL, on_done, &one, NULL, NULL, &err), MCPLINK_OK, err);
            UNTIL(dones == 1);
        }
        UNTIL(freed == 1 && ended == *user);
        both.client = NULL;
        close_both();
        ENDED(*user);
        freed = 0;
    }
    dones = 0;
}

static mcplink_client_t *logged;

static void free_client_on_log(void *user, mcplink_log_level level, mcplink_str_t target, mcplink_str_t text)
{
    mcplink_client_t *c = logged;
    (void)user, (void)level, (void)target, (void)text;
    if (c == NULL) return;
    logged = NULL;
    mcplink_client_free(c);
    freed++;
}

/* A client that is freed by its log hook: on the thread that reads, or on the one that feeds it. */
static void in_logs(void)
{
    struct peer p;
    mcplink_client_options_t *o;
    mcplink_error_t *err = NULL;
    peer_begin(&p, server_of_everything);
    o = peer_options(&p);
    CHECK(mcplink_client_options_on_log(o, MCPLINK_LOG_DEBUG, free_client_on_log, &one, count_end) == MCPLINK_OK);
    dones = 0;
    requests = 0;
    answering = 0;
    logged = NULL;
    both.client = open_with(o, NULL);
    CHECK_STATUS(mcplink_client_ping_start(both.client, NULL, on_done, &one, count_end, NULL, &err), MCPLINK_OK, err);
    UNTIL(requests == 1);
    logged = both.client;
    peer_feed(&p, "this is no message\n");
    UNTIL(freed == 1 && dones == 1 && ended == 2);
    CHECK(last == MCPLINK_E_CLOSED);
    ENDED(2);
    mcplink_transport_free(p.transport);
    both.client = NULL;
    freed = 0;
    dones = 0;
}

static void dispatch_until(atomic_int *what, int count)
{
    int64_t end = now_ms() + PATIENCE;
    while (*what < count) {
        CHECK(now_ms() < end);
        CHECK(mcplink_pump_wait(both.pump, 10) >= 0);
        CHECK(mcplink_pump_dispatch(both.pump, 1) >= 0);
    }
}

static void free_client_when_done(void *user, mcplink_call_t *call, mcplink_status_t status, const mcplink_result_t *result, const mcplink_error_t *err)
{
    on_done(user, call, status, result, err);
    mcplink_client_free(both.client);
    freed++;
}

static void tool_free_server(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    (void)user, (void)request, (void)responder;
    mcplink_server_free(both.server);
    freed++;
}

static void on_handler(void *user, const mcplink_request_t *request, mcplink_responder_t *responder) { (void)user, (void)request, (void)responder; }

/* Handles that are freed by functions of theirs that a pump dispatches, with more of theirs waiting behind. */
static void in_pumps(void)
{
    int round;
    for (round = 0; round < 3; round++) {
        mcplink_client_options_t *o = mcplink_client_options_new();
        mcplink_pump_t *pump = NULL;
        mcplink_error_t *err = NULL;
        mcplink_done_fn first = round == 0 ? free_client_when_done : on_done;
        CHECK_STATUS(mcplink_pump_new(&pump, &err), MCPLINK_OK, err);
        CHECK(mcplink_client_options_set_pump(o, pump) == MCPLINK_OK);
        CHECK(mcplink_client_options_on_elicit(o, round == 1 ? free_client_when_asked : on_handler, &one, count_end) == MCPLINK_OK);
        open_both(o, round == 2 ? "2025-11-25" : "2026-07-28");
        both.pump = pump;
        dones = 0;
        CHECK_STATUS(mcplink_client_call_tool_start(both.client, round == 1 ? "asks" : "greet", NULL, 0, NULL, first, &one, count_end, NULL, &err),
                     MCPLINK_OK, err);
        CHECK_STATUS(mcplink_client_call_tool_start(both.client, "greet", NULL, 0, NULL, on_done, &one, count_end, NULL, &err), MCPLINK_OK, err);
        if (round == 2) {
            /* Freed beside the pump: what waits in it is run there and then. */
            UNTIL(mcplink_pump_wait(pump, PATIENCE) == 2);
            mcplink_client_free(both.client);
            CHECK(dones == 2 && mcplink_pump_dispatch(pump, 64) == 0);
            freed++;
        } else {
            dispatch_until(&freed, 1);
            UNTIL(dones == 2);
        }
        UNTIL(ended == 3);
        ENDED(3);
        both.client = NULL;
        mcplink_pump_free(pump);
        close_both();
        freed = 0;
    }
    /* A server. */
    {
        mcplink_server_options_t *s = mcplink_server_options_new("x", "1");
        mcplink_tool_t *tool = mcplink_tool_new("free", "x");
        mcplink_client_options_t *o = mcplink_client_options_new();
        mcplink_error_t *err = NULL;
        int ends[2];
        dones = 0;
        CHECK_STATUS(mcplink_pump_new(&both.pump, &err), MCPLINK_OK, err);
        CHECK(mcplink_server_options_set_pump(s, both.pump) == MCPLINK_OK);
        CHECK_STATUS(mcplink_server_new_with(s, &both.server, &err), MCPLINK_OK, err);
        CHECK_STATUS(mcplink_server_add_tool(both.server, tool, tool_free_server, &one, count_end, &err), MCPLINK_OK, err);
        CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
        CHECK_STATUS(mcplink_server_serve_fds_start(both.server, ends[0], ends[0], NULL, &both.session, &err), MCPLINK_OK, err);
        CHECK(mcplink_client_options_set_fds(o, ends[1], ends[1]) == MCPLINK_OK);
        both.client = open_with(o, NULL);
        close(ends[0]), close(ends[1]);
        CHECK_STATUS(mcplink_client_call_tool_start(both.client, "free", NULL, 0, NULL, on_done, &one, count_end, NULL, &err), MCPLINK_OK, err);
        dispatch_until(&freed, 1);
        both.server = NULL;
        UNTIL(dones == 1 && ended == 2);
        CHECK(last < 0);
        ENDED(2);
        mcplink_client_free(both.client), mcplink_session_free(both.session);
        mcplink_pump_free(both.pump);
        mcplink_server_options_free(s), mcplink_tool_free(tool);
        memset(&both, 0, sizeof both);
    }
    freed = 0;
    dones = 0;
}

static atomic_int is_server_free, is_handler_over;
static int frees_session;

/* Ends its own session, and returns only later. */
static void tool_end_session(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    int64_t until = now_ms() + 300;
    (void)user, (void)request, (void)responder;
    if (frees_session) mcplink_session_free(both.session), both.session = NULL;
    else CHECK(mcplink_session_close(both.session) == MCPLINK_OK);
    freed = 1;
    while (!is_server_free && now_ms() < until) poll(NULL, 0, 1);
    CHECK(!is_server_free);
    is_handler_over = 1;
}

/* A server is free when its handlers have returned, also those that have ended their own sessions: a plug-in may be unloaded then. */
static void in_own_sessions(void)
{
    for (frees_session = 0; frees_session < 2; frees_session++) {
        mcplink_call_t *call = NULL;
        mcplink_error_t *err = NULL;
        open_both(NULL, frees_session ? "2025-11-25" : "2026-07-28");
        add(both.server, "end_session", tool_end_session, NULL);
        freed = is_handler_over = is_server_free = dones = 0;
        CHECK_STATUS(mcplink_client_call_tool_start(both.client, "end_session", NULL, 0, NULL, on_done, &one, count_end, &call, &err), MCPLINK_OK, err);
        UNTIL(freed == 1);
        mcplink_server_free(both.server);
        is_server_free = 1;
        CHECK(is_handler_over == 1);
        UNTIL(dones == 1);
        mcplink_call_free(call);
        mcplink_client_free(both.client), mcplink_session_free(both.session);
        memset(&both, 0, sizeof both);
        ENDED(1);
    }
    freed = dones = 0;
}

int main(void)
{
    state_t before;
    state_take(&before);
    started_calls();
    for_cancellations();
    in_questions();
    in_logs();
    in_pumps();
    in_own_sessions();
    ENDED(0);
    state_same(&before);
    return 0;
}
