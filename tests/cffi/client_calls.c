/* Calls that are started, progress, what a server asks, and changes that are told. */
#include "peer.h"

#define MODERN "2026-07-28"
#define LEGACY "2025-11-25"

struct outcome {
    struct counter done;
    struct counter destroyed;
    mcplink_status_t status;
    char text[512];
    mcplink_call_t *call;
    pthread_t thread;
    int progress;
};

static void fresh(struct outcome *o)
{
    static const struct counter none = COUNTER;
    memset(o, 0, sizeof *o);
    o->done = o->destroyed = none;
}

static void on_done(void *user, mcplink_call_t *call, mcplink_status_t status, const mcplink_result_t *result, const mcplink_error_t *err)
{
    struct outcome *o = user;
    o->status = status;
    o->call = call;
    o->thread = pthread_self();
    CHECK((result != NULL) == (status >= 0) && (err != NULL) == (status < 0) && mcplink_error_status(err) == (status < 0 ? status : 0));
    snprintf(o->text, sizeof o->text, "%s", result ? mcplink_result_text(result).ptr : mcplink_error_message(err));
    counter_add(&o->done);
}

static void on_destroyed(void *user) { counter_add(&((struct outcome *)user)->destroyed); }

static void started(mcplink_client_t *c)
{
    struct outcome o;
    mcplink_call_t *call = NULL;
    mcplink_error_t *err = NULL;
    mcplink_result_t *r = NULL, *again = NULL;

    fresh(&o);
    CHECK_STATUS(mcplink_client_call_tool_start(c, "greet", "{\"name\":\"C\"}", MCPLINK_NUL, NULL, on_done, &o, on_destroyed, &call, &err),
                 MCPLINK_OK, err);
    CHECK(call != NULL && mcplink_call_id(call) > 0);
    CHECK(counter_wait(&o.destroyed, 1) && o.done.count == 1 && o.status == MCPLINK_OK && o.call == call);
    CHECK(strcmp(o.text, "Hello, C!") == 0 && !pthread_equal(o.thread, pthread_self()));
    CHECK(mcplink_call_is_done(call));
    CHECK_STATUS(mcplink_call_wait(call, MCPLINK_FOREVER, &r, &err), MCPLINK_OK, err);
    CHECK_STATUS(mcplink_call_wait(call, 0, &again, &err), MCPLINK_OK, err);
    mcplink_call_free(call);
    CHECK_TEXT(mcplink_result_text(r), "Hello, C!");
    mcplink_result_free(r);
    CHECK_TEXT(mcplink_result_text(again), "Hello, C!");
    mcplink_result_free(again);

    /* Without a handle, without a function, with neither. */
    fresh(&o);
    CHECK(mcplink_client_call_tool_start(c, "fail", NULL, 0, NULL, on_done, &o, on_destroyed, NULL, NULL) == MCPLINK_OK);
    CHECK(counter_wait(&o.destroyed, 1) && o.status == MCPLINK_TOOL_ERROR && o.call == NULL);
    CHECK(mcplink_client_list_tools_start(c, NULL, NULL, NULL, NULL, &call, NULL) == MCPLINK_OK);
    CHECK(mcplink_call_wait(call, 60000, &r, NULL) == MCPLINK_OK);
    CHECK(mcplink_json_len(mcplink_json_get(mcplink_result_json(r), "tools")) > 0);
    mcplink_result_free(r);
    mcplink_call_free(call);
    CHECK(mcplink_client_ping_start(c, NULL, NULL, NULL, NULL, NULL, NULL) == MCPLINK_OK);

    /* Failures are told as they are returned. */
    fresh(&o);
    CHECK(mcplink_client_call_tool_start(c, "no such tool", NULL, 0, NULL, on_done, &o, on_destroyed, &call, NULL) == MCPLINK_OK);
    CHECK(counter_wait(&o.destroyed, 1) && o.status == MCPLINK_E_PEER);
    CHECK(mcplink_call_wait(call, 0, NULL, &err) == MCPLINK_E_PEER && mcplink_error_rpc_code(err) == -32602);
    mcplink_error_free(err);
    mcplink_call_free(call);

    /* What can't be started ends what belongs to it, and calls nothing. */
    fresh(&o);
    CHECK(mcplink_client_call_tool_start(c, "greet", "{", 1, NULL, on_done, &o, on_destroyed, &call, NULL) == MCPLINK_E_INVALID);
    CHECK(call == NULL && o.destroyed.count == 1 && o.done.count == 0);

    /* Each kind can be started. */
    fresh(&o);
    CHECK(mcplink_client_read_resource_start(c, "fixture://hello", NULL, on_done, &o, NULL, NULL, NULL) == MCPLINK_OK);
    CHECK(counter_wait(&o.done, 1) && strcmp(o.text, "hello, resource") == 0);
    CHECK(mcplink_client_get_prompt_start(c, "hello", NULL, 0, NULL, on_done, &o, NULL, NULL, NULL) == MCPLINK_OK);
    CHECK(counter_wait(&o.done, 2) && strcmp(o.text, "Say hello.") == 0);
    CHECK(mcplink_client_complete_start(c, MCPLINK_PRIMITIVE_PROMPT, "greet", "name", "A", NULL, 0, NULL, on_done, &o, NULL, NULL, NULL) == MCPLINK_OK);
    CHECK(counter_wait(&o.done, 3) && o.status == MCPLINK_OK);
    CHECK(mcplink_client_request_start(c, "tools/list", NULL, 0, NULL, on_done, &o, NULL, NULL, NULL) == MCPLINK_OK);
    CHECK(counter_wait(&o.done, 4) && o.status == MCPLINK_OK);
    CHECK(mcplink_client_list_resources_start(c, NULL, on_done, &o, NULL, NULL, NULL) == MCPLINK_OK);
    CHECK(mcplink_client_list_templates_start(c, NULL, on_done, &o, NULL, NULL, NULL) == MCPLINK_OK);
    CHECK(mcplink_client_list_prompts_start(c, NULL, on_done, &o, NULL, NULL, NULL) == MCPLINK_OK);
    CHECK(counter_wait(&o.done, 7) && o.status == MCPLINK_OK);
}

static void on_progress(void *user, double progress, double total, mcplink_str_t message)
{
    struct outcome *o = user;
    CHECK(progress > o->progress && total == 3 && message.len > 0);
    o->progress = (int)progress;
    o->thread = pthread_self();
    CHECK(o->done.count == 0);
}

static void progress(mcplink_client_t *c)
{
    struct outcome o;
    mcplink_call_options_t *options = mcplink_call_options_new();
    mcplink_result_t *r = NULL;
    mcplink_error_t *err = NULL;

    fresh(&o);
    CHECK(mcplink_call_options_on_progress(options, on_progress, &o, on_destroyed) == MCPLINK_OK);
    CHECK_STATUS(mcplink_client_call_tool(c, "slow", "{\"steps\":3,\"delay_ms\":5}", MCPLINK_NUL, options, &r, &err), MCPLINK_OK, err);
    CHECK(o.progress == 3 && pthread_equal(o.thread, pthread_self()) && o.destroyed.count == 0);
    mcplink_result_free(r);

    o.progress = 0;
    CHECK(mcplink_client_call_tool_start(c, "slow", "{\"steps\":3,\"delay_ms\":5}", MCPLINK_NUL, options, on_done, &o, NULL, NULL, NULL) == MCPLINK_OK);
    /* The call has its own copy. */
    mcplink_call_options_free(options);
    CHECK(counter_wait(&o.done, 1) && o.progress == 3 && counter_wait(&o.destroyed, 1));
}

/* The calls that a server has not answered yet, by their ids. */
static char held[16][64];
static struct counter holding = COUNTER;

static void hold(struct peer *p, const char *method, const mcplink_json_t *message)
{
    (void)p;
    if (strcmp(method, "tools/call") != 0) return;
    CHECK(holding.count < 16);
    snprintf(held[holding.count], sizeof *held, "%s", mcplink_json_text(mcplink_json_get(message, "id")).ptr);
    counter_add(&holding);
}

/* Many at once: each gets its outcome, in bounds. */
static void many(void)
{
    struct outcome o;
    struct peer p;
    mcplink_client_options_t *options;
    mcplink_client_t *c;
    char text[200];
    int started = 0, busy = 0, i;

    peer_begin(&p, hold);
    options = peer_options(&p);
    CHECK(mcplink_client_options_set_max_started(options, 8) == MCPLINK_OK);
    c = open_with(options, NULL);
    fresh(&o);
    while (busy == 0) {
        mcplink_status_t st = mcplink_client_call_tool_start(c, "slow", NULL, 0, NULL, on_done, &o, NULL, NULL, NULL);
        CHECK(st == MCPLINK_OK || st == MCPLINK_E_BUSY);
        if (st == MCPLINK_OK) started++;
        else busy++;
    }
    CHECK(started == 8 && counter_wait(&holding, started));
    for (i = 0; i < started; i++) {
        snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[]}}\n", held[i]);
        peer_feed(&p, text);
    }
    CHECK(counter_wait(&o.done, started) && o.status == MCPLINK_OK);
    mcplink_client_free(c);
    mcplink_transport_free(p.transport);
    CHECK(o.done.count == started);
}

/* What the server asks. */

struct host {
    struct counter asked;
    pthread_t thread;
    mcplink_responder_t *kept;
    const char *answer;
    uint64_t tag;
};

static void on_question(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    struct host *h = user;
    h->thread = pthread_self();
    h->tag = mcplink_request_tag(request);
    if (h->answer) CHECK(mcplink_responder_json(responder, h->answer, MCPLINK_NUL) == MCPLINK_OK);
    else h->kept = mcplink_responder_keep(responder);
    if (h->answer) CHECK(mcplink_responder_json(responder, h->answer, MCPLINK_NUL) == MCPLINK_E_STATE);
    counter_add(&h->asked);
}

static void on_refusal(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    (void)request;
    CHECK(mcplink_responder_fail(responder, MCPLINK_RPC_USER_REJECTED, "the user said no", NULL) == MCPLINK_OK);
    counter_add(&((struct host *)user)->asked);
}

static void on_failure(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    (void)user;
    (void)request;
    CHECK(mcplink_responder_internal_error(responder, "db.internal is away", MCPLINK_NUL) == MCPLINK_OK);
}

static void on_log(void *user, mcplink_log_level level, mcplink_str_t target, mcplink_str_t text)
{
    (void)level;
    (void)target;
    if (strstr(text.ptr, "sampling/createMessage: its handler failed: db.internal is away")) counter_add(&((struct host *)user)->asked);
}

static void *answer_kept(void *user)
{
    struct host *h = user;
    CHECK(counter_wait(&h->asked, 1));
    CHECK(mcplink_responder_json(h->kept, "{\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}", MCPLINK_NUL) == MCPLINK_OK);
    mcplink_responder_free(h->kept);
    return NULL;
}

static mcplink_client_t *open_asked(struct host *elicit, struct host *sample, struct host *roots, const char *revision)
{
    mcplink_client_options_t *o = everything_options();
    if (elicit) CHECK(mcplink_client_options_on_elicit(o, on_question, elicit, NULL) == MCPLINK_OK);
    if (sample) CHECK(mcplink_client_options_on_sample(o, sample->answer ? on_question : on_refusal, sample, NULL) == MCPLINK_OK);
    if (roots) CHECK(mcplink_client_options_on_list_roots(o, on_question, roots, NULL) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_sampling(o, false, false) == MCPLINK_OK);
    return open_with(o, revision);
}

#define ASKED_NOTHING { COUNTER, 0, NULL, NULL, 0 }

static void questions(const char *revision)
{
    struct host elicit = ASKED_NOTHING, sample = ASKED_NOTHING, roots = ASKED_NOTHING;
    int modern = strcmp(revision, MODERN) == 0;
    mcplink_client_t *c;
    mcplink_call_options_t *tagged = mcplink_call_options_new();
    mcplink_result_t *r = NULL;
    mcplink_error_t *err = NULL;
    struct outcome o;
    CHECK(mcplink_call_options_set_tag(tagged, 7) == MCPLINK_OK);

    elicit.answer = "{\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}";
    sample.answer = "{\"role\":\"assistant\",\"content\":{\"type\":\"text\",\"text\":\"42\"},\"model\":\"m\"}";
    roots.answer = "{\"roots\":[{\"uri\":\"file:///home/ada\"}]}";
    c = open_asked(&elicit, &sample, &roots, revision);
    CHECK_STATUS(mcplink_client_call_tool(c, "test_input_required_result_elicitation", "{}", MCPLINK_NUL, tagged, &r, &err), MCPLINK_OK, err);
    mcplink_call_options_free(tagged);
    CHECK(strstr(mcplink_result_text(r).ptr, "Ada") != NULL && counter_wait(&elicit.asked, 1));
    /* A modern server says which call asks. */
    CHECK(elicit.tag == (modern ? 7 : 0));
    CHECK(pthread_equal(elicit.thread, pthread_self()) == modern);
    mcplink_result_free(r);
    CHECK_STATUS(mcplink_client_call_tool(c, "test_input_required_result_sampling", "{}", MCPLINK_NUL, NULL, &r, &err), MCPLINK_OK, err);
    CHECK(strstr(mcplink_result_text(r).ptr, "42") != NULL && counter_wait(&sample.asked, 1));
    mcplink_result_free(r);
    CHECK_STATUS(mcplink_client_call_tool(c, "test_input_required_result_list_roots", "{}", MCPLINK_NUL, NULL, &r, &err), MCPLINK_OK, err);
    CHECK(strstr(mcplink_result_text(r).ptr, "file:///home/ada") != NULL && counter_wait(&roots.asked, 1));
    mcplink_result_free(r);
    CHECK(mcplink_client_roots_changed(c, NULL) == MCPLINK_OK);

    /* A started call asks where callbacks run. */
    fresh(&o);
    CHECK(mcplink_client_call_tool_start(c, "test_input_required_result_elicitation", "{}", 2, NULL, on_done, &o, NULL, NULL, NULL) == MCPLINK_OK);
    CHECK(counter_wait(&o.done, 1) && o.status == MCPLINK_OK && pthread_equal(elicit.thread, o.thread));
    mcplink_client_free(c);

    /* Answered later, by another thread. */
    elicit.answer = NULL;
    elicit.asked.count = 0;
    c = open_asked(&elicit, NULL, NULL, revision);
    {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, answer_kept, &elicit) == 0);
        CHECK_STATUS(mcplink_client_call_tool(c, "test_input_required_result_elicitation", "{}", MCPLINK_NUL, NULL, &r, &err), MCPLINK_OK, err);
        CHECK(strstr(mcplink_result_text(r).ptr, "Ada") != NULL);
        mcplink_result_free(r);
        pthread_join(thread, NULL);
    }
    mcplink_client_free(c);

    /* The handler failed: the log hook of the client gets the reason, the server does not. */
    {
        struct host log = ASKED_NOTHING;
        mcplink_client_options_t *failing = everything_options();
        CHECK(mcplink_client_options_on_sample(failing, on_failure, &sample, NULL) == MCPLINK_OK);
        CHECK(mcplink_client_options_on_log(failing, MCPLINK_LOG_ERROR, on_log, &log, NULL) == MCPLINK_OK);
        c = open_with(failing, revision);
        CHECK(mcplink_client_call_tool(c, "test_input_required_result_sampling", "{}", MCPLINK_NUL, NULL, &r, &err) != MCPLINK_OK);
        /* Of the reason, neither an error nor the text of a tool that failed has anything. */
        CHECK(counter_wait(&log.asked, 1) && strstr(mcplink_error_message(err), "db.internal") == NULL);
        CHECK(r == NULL || strstr(mcplink_result_text(r).ptr, "db.internal") == NULL);
        mcplink_result_free(r);
        mcplink_error_free(err);
        err = NULL;
        mcplink_client_free(c);
    }

    /* Refused. */
    sample.answer = NULL;
    sample.asked.count = 0;
    c = open_asked(NULL, &sample, NULL, revision);
    {
        mcplink_status_t st = mcplink_client_call_tool(c, "test_input_required_result_sampling", "{}", MCPLINK_NUL, NULL, &r, &err);
        CHECK(modern ? st == MCPLINK_E_CANCELLED : st != MCPLINK_OK);
        CHECK(counter_wait(&sample.asked, 1));
        mcplink_result_free(r);
        mcplink_error_free(err);
        err = NULL;
    }
    mcplink_client_free(c);

    /* A question that is kept while its client is freed: nobody waits for it any more. */
    elicit.asked.count = 0;
    c = open_asked(&elicit, NULL, NULL, revision);
    fresh(&o);
    CHECK(mcplink_client_call_tool_start(c, "test_input_required_result_elicitation", "{}", 2, NULL, on_done, &o, NULL, NULL, NULL) == MCPLINK_OK);
    CHECK(counter_wait(&elicit.asked, 1));
    CHECK(!mcplink_responder_is_cancelled(elicit.kept));
    mcplink_client_free(c);
    /* The question counts as left without a choice; the server may have had time to answer that. */
    CHECK(o.done.count == 1 && (o.status == MCPLINK_E_CLOSED || o.status >= 0));
    CHECK(mcplink_responder_is_cancelled(elicit.kept));
    CHECK(mcplink_responder_json(elicit.kept, "{\"action\":\"cancel\"}", MCPLINK_NUL) == MCPLINK_E_CLOSED);
    mcplink_responder_free(elicit.kept);
}

/* Changes. */

struct seen {
    struct counter tools, updated, logged, connected, closed;
    char uri[100];
    char level[20];
};

static void on_event(void *user, mcplink_event event, const mcplink_json_t *params)
{
    struct seen *s = user;
    switch (event) {
    case MCPLINK_EVENT_TOOLS_CHANGED: counter_add(&s->tools); break;
    case MCPLINK_EVENT_RESOURCE_UPDATED:
        snprintf(s->uri, sizeof s->uri, "%s", mcplink_json_str(mcplink_json_get(params, "uri")).ptr);
        counter_add(&s->updated);
        break;
    case MCPLINK_EVENT_LOG_MESSAGE:
        snprintf(s->level, sizeof s->level, "%s", mcplink_json_str(mcplink_json_get(params, "level")).ptr);
        counter_add(&s->logged);
        break;
    case MCPLINK_EVENT_CONNECTED: counter_add(&s->connected); break;
    case MCPLINK_EVENT_CLOSED: CHECK(params == NULL); counter_add(&s->closed); break;
    default: break;
    }
}

static void call(mcplink_client_t *c, const char *tool, const mcplink_call_options_t *options)
{
    mcplink_result_t *r = NULL;
    mcplink_error_t *err = NULL;
    CHECK_STATUS(mcplink_client_call_tool(c, tool, "{}", MCPLINK_NUL, options, &r, &err), MCPLINK_OK, err);
    mcplink_result_free(r);
}

static void changes(const char *revision)
{
    static struct seen fresh_seen = { COUNTER, COUNTER, COUNTER, COUNTER, COUNTER, "", "" };
    struct seen s = fresh_seen;
    int modern = strcmp(revision, MODERN) == 0;
    mcplink_client_options_t *o = everything_options();
    mcplink_call_options_t *options = mcplink_call_options_new();
    mcplink_client_t *c;
    mcplink_result_t *r = NULL;
    mcplink_error_t *err = NULL;

    CHECK(mcplink_client_options_on_event(o, on_event, &s, NULL) == MCPLINK_OK);
    c = open_with(o, revision);
    CHECK_STATUS(mcplink_client_listen(c, "{\"toolsListChanged\":true}", MCPLINK_NUL, NULL, &r, &err), MCPLINK_OK, err);
    CHECK(mcplink_json_boolean(mcplink_json_get(mcplink_result_json(r), "toolsListChanged")));
    mcplink_result_free(r);
    CHECK(mcplink_client_listen(c, "[]", MCPLINK_NUL, NULL, &r, NULL) == MCPLINK_E_INVALID && r == NULL);
    call(c, "test_trigger_tool_change", NULL);
    CHECK(counter_wait(&s.tools, 1));
    CHECK_STATUS(mcplink_client_listen(c, NULL, 0, NULL, &r, &err), MCPLINK_OK, err);
    mcplink_result_free(r);

    CHECK_STATUS(mcplink_client_subscribe(c, "test://watched-resource", NULL, &err), MCPLINK_OK, err);
    CHECK_STATUS(mcplink_client_subscribe(c, "test://watched-resource", NULL, &err), MCPLINK_OK, err);
    CHECK_STATUS(mcplink_client_call_tool(c, "touch", "{\"uri\":\"test://watched-resource\"}", MCPLINK_NUL, NULL, &r, &err), MCPLINK_OK, err);
    mcplink_result_free(r);
    CHECK(counter_wait(&s.updated, 1) && strcmp(s.uri, "test://watched-resource") == 0);
    CHECK_STATUS(mcplink_client_unsubscribe(c, "test://watched-resource", &err), MCPLINK_OK, err);
    CHECK_STATUS(mcplink_client_unsubscribe(c, "test://watched-resource", &err), MCPLINK_OK, err);

    if (modern) CHECK(mcplink_call_options_set_log_level(options, MCPLINK_LOG_INFO) == MCPLINK_OK);
    else CHECK_STATUS(mcplink_client_set_log_level(c, MCPLINK_LOG_INFO, NULL, &err), MCPLINK_OK, err);
    call(c, "test_logging_tool", options);
    CHECK(counter_wait(&s.logged, 1) && strcmp(s.level, "info") == 0);
    mcplink_call_options_free(options);

    CHECK(s.connected.count == 0 && s.closed.count == 0);
    CHECK_STATUS(mcplink_client_close(c, MCPLINK_FOREVER, &err), MCPLINK_OK, err);
    CHECK(counter_wait(&s.closed, 1) && mcplink_client_state(c) == MCPLINK_CLIENT_CLOSED);
    CHECK_TEXT(mcplink_client_revision(c), revision);
    CHECK(mcplink_client_ping(c, NULL, NULL) == MCPLINK_E_CLOSED);
    mcplink_client_free(c);
    CHECK(s.closed.count == 1);
}

/* Half of a surrogate pair costs one character. Results that no number can be made of are no results, and do not seem to be empty. */
#define HALF "{\"content\":[{\"type\":\"text\",\"text\":\"cut \\ud83d\"}]}"

static void answer_badly(struct peer *p, const char *method, const mcplink_json_t *message)
{
    if (strcmp(method, "tools/list") == 0) peer_respond(p, message, "{\"tools\":[{\"name\":\"a\",\"inputSchema\":{\"type\":\"object\",\"maxProperties\":1e400}}]}");
    else if (strcmp(method, "resources/read") == 0) peer_respond(p, message, "{\"contents\":[{\"uri\":\"file:///a\",\"text\":\"cut \\ud83d\"}]}");
    else peer_respond(p, message, HALF);
}

static void unreadable(void)
{
    struct peer p;
    mcplink_client_t *c;
    mcplink_result_t *r = NULL;
    mcplink_error_t *err = NULL;
    peer_begin(&p, answer_badly);
    c = peer_open(&p);
    CHECK_STATUS(mcplink_client_call_tool(c, "a", NULL, 0, NULL, &r, &err), MCPLINK_OK, err);
    CHECK_TEXT(mcplink_result_text(r), "cut \xef\xbf\xbd");
    CHECK_TEXT(mcplink_result_raw(r), HALF);
    CHECK(mcplink_json_len(mcplink_result_misfits(r)) == 1);
    mcplink_result_free(r);
    CHECK_STATUS(mcplink_client_read_resource(c, "file:///a", NULL, &r, &err), MCPLINK_OK, err);
    CHECK_TEXT(mcplink_result_text(r), "cut \xef\xbf\xbd");
    mcplink_result_free(r);
    r = NULL;
    CHECK(mcplink_client_list_tools(c, NULL, &r, &err) == MCPLINK_E_PROTOCOL && r == NULL);
    CHECK(strstr(mcplink_error_message(err), "the result of tools/list can't be read") != NULL && !mcplink_error_is_retryable(err));
    mcplink_error_free(err);
    err = NULL;
    /* Who passes it on gets it as it came. */
    CHECK_STATUS(mcplink_client_request(c, "tools/call", "{\"name\":\"a\"}", MCPLINK_NUL, NULL, &r, &err), MCPLINK_OK, err);
    CHECK_TEXT(mcplink_result_raw(r), HALF);
    CHECK(mcplink_result_json(r) == NULL);
    mcplink_result_free(r);
    mcplink_client_free(c);
    mcplink_transport_free(p.transport);
}

int main(void)
{
    mcplink_client_t *c = open_with(everything_options(), MODERN);
    started(c);
    progress(c);
    mcplink_client_free(c);
    c = open_with(everything_options(), LEGACY);
    started(c);
    progress(c);
    mcplink_client_free(c);
    many();
    questions(MODERN);
    questions(LEGACY);
    changes(MODERN);
    changes(LEGACY);
    unreadable();
    return 0;
}
