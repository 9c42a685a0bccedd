/* One handler serves both eras, and rounds of questions are bounded. With other SDKs authors branch on the protocol revision. */
#include "lessons.h"
#include "talk.h"

#include <stdatomic.h>

static const char *const revisions[] = { "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28" };
enum { ALL = 5, FIRST_WITH_FORMS = 2 };

/* What a form asks for. */
#define FORM(message) \
    "{\"message\":\"" message "\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"answer\":{\"type\":\"string\"}}}}"

/* What the user was shown, in order; and whether the answers are kept back. */
static pthread_mutex_t shown_lock = PTHREAD_MUTEX_INITIALIZER;
static char shown[4096];
static int shown_count;
static bool holds_back;
static mcplink_responder_t *kept[16];

/* Answers a form with "ANSWER to MESSAGE", or keeps it. */
static void on_form(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    mcplink_str_t message = mcplink_json_str(mcplink_json_get(mcplink_request_params(request), "message"));
    char answer[512];
    (void)user;
    pthread_mutex_lock(&shown_lock);
    CHECK(strlen(shown) + message.len + 2 < sizeof shown);
    strcat(strcat(shown, message.ptr), "|");
    if (holds_back) {
        CHECK(shown_count < 16);
        kept[shown_count] = mcplink_responder_keep(responder);
    }
    shown_count++;
    pthread_mutex_unlock(&shown_lock);
    if (holds_back) return;
    snprintf(answer, sizeof answer, "{\"action\":\"accept\",\"content\":{\"answer\":\"%s yes\"}}", message.ptr);
    CHECK(mcplink_responder_json(responder, answer, MCPLINK_NUL) == MCPLINK_OK);
}

static void on_model(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    char result[512];
    (void)user;
    snprintf(result, sizeof result, "{\"role\":\"assistant\",\"model\":\"m\",\"content\":{\"type\":\"text\",\"text\":\"model: %s\"}}",
             mcplink_json_str(mcplink_json_pointer(mcplink_request_params(request), "/messages/0/content/text")).ptr);
    pthread_mutex_lock(&shown_lock);
    strcat(shown, "model|");
    pthread_mutex_unlock(&shown_lock);
    CHECK(mcplink_responder_json(responder, result, MCPLINK_NUL) == MCPLINK_OK);
}

static void on_roots(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    (void)user, (void)request;
    pthread_mutex_lock(&shown_lock);
    strcat(shown, "roots|");
    pthread_mutex_unlock(&shown_lock);
    CHECK(mcplink_responder_json(responder, "{\"roots\":[{\"uri\":\"file:///home/ada\"}]}", MCPLINK_NUL) == MCPLINK_OK);
}

static int shown_so_far(void)
{
    int count;
    pthread_mutex_lock(&shown_lock);
    count = shown_count;
    pthread_mutex_unlock(&shown_lock);
    return count;
}

static void show_nothing(bool hold)
{
    pthread_mutex_lock(&shown_lock);
    shown[0] = 0, shown_count = 0, holds_back = hold;
    pthread_mutex_unlock(&shown_lock);
}

/* Options of a client that answers all there is to ask. */
static mcplink_client_options_t *answering(void)
{
    mcplink_client_options_t *o = mcplink_client_options_new();
    CHECK(mcplink_client_options_on_elicit(o, on_form, NULL, NULL) == MCPLINK_OK);
    CHECK(mcplink_client_options_on_sample(o, on_model, NULL, NULL) == MCPLINK_OK);
    CHECK(mcplink_client_options_on_list_roots(o, on_roots, NULL, NULL) == MCPLINK_OK);
    return o;
}

/* Handlers of the server. */

static atomic_int effects, runs;

/* Asks for a form; the answer, or NULL while there is none. */
static const char *form(mcplink_responder_t *responder, const char *key, const char *message)
{
    const mcplink_json_t *answer = NULL;
    mcplink_error_t *err = NULL;
    char params[512];
    mcplink_status_t st;
    snprintf(params, sizeof params, FORM("%s"), message);
    st = mcplink_responder_ask(responder, key, "elicitation/create", params, MCPLINK_NUL, &answer, &err);
    if (st == MCPLINK_PENDING) return NULL;
    CHECK_STATUS(st, MCPLINK_OK, err);
    return mcplink_json_str(mcplink_json_pointer(answer, "/content/answer")).ptr;
}

/* Pays once, whatever is asked afterwards. */
static void pay(mcplink_responder_t *responder)
{
    if (mcplink_json_is_missing(mcplink_responder_recall(responder, "paid"))) {
        effects++;
        CHECK(mcplink_responder_remember(responder, "paid", "true", MCPLINK_NUL) == MCPLINK_OK);
    }
}

/* The second question depends on the answer to the first. */
static void tool_two(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    const char *name, *age;
    char line[512];
    (void)user, (void)request;
    pay(responder);
    if ((name = form(responder, "name", "name")) == NULL) return;
    snprintf(line, sizeof line, "age of %s", name);
    if ((age = form(responder, "age", line)) == NULL) return;
    snprintf(line, sizeof line, "%s, %s", name, age);
    CHECK(mcplink_responder_text(responder, line, MCPLINK_NUL) == MCPLINK_OK);
}

/* The same with what every revision knows: what the model is asked depends on the roots. */
static void tool_model(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    const mcplink_json_t *answer = NULL;
    mcplink_error_t *err = NULL;
    char params[512];
    mcplink_status_t st;
    (void)user, (void)request;
    pay(responder);
    st = mcplink_responder_ask(responder, "roots", "roots/list", NULL, 0, &answer, &err);
    if (st == MCPLINK_PENDING) return;
    CHECK_STATUS(st, MCPLINK_OK, err);
    snprintf(params, sizeof params, "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"%s\"}}],\"maxTokens\":10}",
             mcplink_json_str(mcplink_json_pointer(answer, "/roots/0/uri")).ptr);
    st = mcplink_responder_ask(responder, "model", "sampling/createMessage", params, MCPLINK_NUL, &answer, &err);
    if (st == MCPLINK_PENDING) return;
    CHECK_STATUS(st, MCPLINK_OK, err);
    CHECK(mcplink_responder_text(responder, mcplink_json_str(mcplink_json_pointer(answer, "/content/text")).ptr, MCPLINK_NUL) == MCPLINK_OK);
}

/* Answers though it is told that there is no answer yet: in the ways there are. */
static void tool_heedless(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    const char *name = form(responder, "name", "name");
    (void)request;
    if (name != NULL) CHECK(mcplink_responder_text(responder, name, MCPLINK_NUL) == MCPLINK_OK);
    else if (*(int *)user == 0) mcplink_responder_text(responder, "nobody", MCPLINK_NUL);
    else if (*(int *)user == 1) mcplink_responder_tool_error(responder, "it went wrong", MCPLINK_NUL);
    else mcplink_responder_fail(responder, MCPLINK_RPC_INTERNAL_ERROR, "it went wrong", NULL);
}

/* Two questions in one round. */
static void tool_both(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    const char *first = form(responder, "a", "first"), *second = form(responder, "b", "second");
    char line[512];
    (void)user, (void)request;
    runs++;
    if (first == NULL || second == NULL) return;
    snprintf(line, sizeof line, "%s, %s", first, second);
    CHECK(mcplink_responder_text(responder, line, MCPLINK_NUL) == MCPLINK_OK);
}

/* A form, and the model, in one round. */
static void tool_mixed(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    (void)user, (void)request;
    form(responder, "a", "never shown");
    mcplink_responder_ask(responder, "b", "sampling/createMessage",
                          "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"x\"}}],\"maxTokens\":1}", MCPLINK_NUL, NULL, NULL);
}

/* Always has one more question. */
static void tool_endless(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    char key[16];
    int number = 0;
    (void)user, (void)request;
    do snprintf(key, sizeof key, "%d", number++);
    while (form(responder, key, "more") != NULL);
}

static void tool_plain(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    (void)user, (void)request;
    CHECK(mcplink_responder_text(responder, "plain", MCPLINK_NUL) == MCPLINK_OK);
}

static mcplink_server_t *new_server(void)
{
    static const uint8_t key[32] = "every replica has the same key.";
    static int ways[] = { 0, 1, 2 };
    mcplink_server_options_t *o = mcplink_server_options_new("eras", "1");
    mcplink_server_t *server = NULL;
    mcplink_error_t *err = NULL;
    CHECK(mcplink_server_options_set_limit(o, MCPLINK_LIMIT_WORKERS, 2) == MCPLINK_OK);
    CHECK(mcplink_server_options_add_state_key(o, key, sizeof key) == MCPLINK_OK);
    CHECK_STATUS(mcplink_server_new_with(o, &server, &err), MCPLINK_OK, err);
    mcplink_server_options_free(o);
    add(server, "two", tool_two, NULL);
    add(server, "model", tool_model, NULL);
    add(server, "heedless_text", tool_heedless, &ways[0]);
    add(server, "heedless_error", tool_heedless, &ways[1]);
    add(server, "heedless_failure", tool_heedless, &ways[2]);
    add(server, "both", tool_both, NULL);
    add(server, "mixed", tool_mixed, NULL);
    add(server, "endless", tool_endless, NULL);
    add(server, "plain", tool_plain, NULL);
    return server;
}

/* Every revision shows the same questions, gives the same result and has the same number of side effects. */
static void one_handler_on_every_revision(mcplink_server_t *server)
{
    size_t i;
    for (i = 0; i < ALL; i++) {
        pair_t pair = pair_open(server, answering(), revisions[i]);
        show_nothing(false);
        effects = 0;
        says(pair.client, "model", "model: file:///home/ada");
        CHECK(strcmp(shown, "roots|model|") == 0 && effects == 1);
        if (i >= FIRST_WITH_FORMS) {
            show_nothing(false);
            effects = 0;
            says(pair.client, "two", "name yes, age of name yes yes");
            CHECK(strcmp(shown, "name|age of name yes|") == 0 && effects == 1);
        }
        pair_close(&pair);
    }
}

static struct counter done = COUNTER;

static void on_done(void *user, mcplink_call_t *call, mcplink_status_t status, const mcplink_result_t *result, const mcplink_error_t *err)
{
    (void)user, (void)call, (void)err;
    CHECK(status == MCPLINK_OK);
    CHECK_TEXT(mcplink_result_text(result), user);
    counter_add(&done);
}

static void start(mcplink_client_t *client, const char *tool, char *expected)
{
    mcplink_error_t *err = NULL;
    CHECK_STATUS(mcplink_client_call_tool_start(client, tool, NULL, 0, NULL, on_done, expected, NULL, NULL, &err), MCPLINK_OK, err);
}

static void answer_kept(int at)
{
    CHECK(mcplink_responder_json(kept[at], "{\"action\":\"accept\",\"content\":{\"answer\":\"at last\"}}", MCPLINK_NUL) == MCPLINK_OK);
    mcplink_responder_free(kept[at]);
}

/* Ten handlers wait for people, and two workers serve on. */
static void waiting_takes_no_worker(mcplink_server_t *server)
{
    static char expected[] = "at last";
    pair_t pair = pair_open(server, answering(), "2025-11-25");
    int i, before = counter_get(&done);
    show_nothing(true);
    for (i = 0; i < 10; i++) start(pair.client, "heedless_text", expected);
    UNTIL(shown_so_far() == 10);
    for (i = 0; i < 10; i++) says(pair.client, "plain", "plain");
    CHECK(counter_get(&done) == before);
    for (i = 0; i < 10; i++) answer_kept(i);
    CHECK(counter_wait(&done, before + 10));
    show_nothing(false);
    pair_close(&pair);
}

/* A handler that swallows the error of a question still asks it: its other answer is dropped. */
static void a_need_is_remembered(mcplink_server_t *server)
{
    static const char *const tools[] = { "heedless_text", "heedless_error", "heedless_failure" };
    size_t i, tool;
    for (i = FIRST_WITH_FORMS; i < ALL; i++) {
        pair_t pair = pair_open(server, answering(), revisions[i]);
        for (tool = 0; tool < 3; tool++) says(pair.client, tools[tool], "name yes");
        pair_close(&pair);
    }
}

/* What a client of the modern era says of itself in each request. */
#define META(capabilities)                                                                \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientInfo\":{\"name\":\"c\",\"version\":\"1\"}," \
    "\"io.modelcontextprotocol/clientCapabilities\":" capabilities "}"

/* A round of a call, by a client that is played: what comes back is the caller's to free. responses and state are NULL in the first round. */
static mcplink_json_t *round_of(talk_t *talk, const char *tool, const char *responses, const mcplink_json_t *before)
{
    static int id;
    char line[16384];
    mcplink_json_t *answer = NULL;
    const char *got;
    mcplink_str_t state = mcplink_json_text(mcplink_json_pointer(before, "/result/requestState"));
    int len = snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\",\"arguments\":{}," META("{\"elicitation\":{}}"), ++id, tool);
    if (before) len += snprintf(line + len, sizeof line - (size_t)len, ",\"requestState\":%s,\"inputResponses\":%s", state.ptr, responses);
    CHECK(len + 3 < (int)sizeof line);
    strcat(line, "}}");
    talk_send(talk, line);
    got = talk_line(talk);
    CHECK(got != NULL && mcplink_json_parse(got, MCPLINK_NUL, &answer, NULL) == MCPLINK_OK);
    return answer;
}

static bool wants_input(const mcplink_json_t *answer)
{
    return strcmp(mcplink_json_str(mcplink_json_pointer(answer, "/result/resultType")).ptr, "input_required") == 0;
}

/* A client sends only the answers of the last round; the state carries the earlier ones. A side effect in `once` happens once, even if each
   round reaches another replica. */
static void answers_are_carried(mcplink_server_t *server)
{
    mcplink_server_t *replica = new_server();
    talk_t first = talk_begin(server), second = talk_begin(replica);
    mcplink_json_t *asked, *again, *last;
    effects = 0;
    asked = round_of(&first, "two", NULL, NULL);
    CHECK(wants_input(asked));
    CHECK_TEXT(mcplink_json_str(mcplink_json_pointer(asked, "/result/inputRequests/name/params/message")), "name");
    again = round_of(&second, "two", "{\"name\":{\"action\":\"accept\",\"content\":{\"answer\":\"Ada\"}}}", asked);
    CHECK(wants_input(again) && mcplink_json_is_missing(mcplink_json_pointer(again, "/result/inputRequests/name")));
    CHECK_TEXT(mcplink_json_str(mcplink_json_pointer(again, "/result/inputRequests/age/params/message")), "age of Ada");
    last = round_of(&first, "two", "{\"age\":{\"action\":\"accept\",\"content\":{\"answer\":\"36\"}}}", again);
    CHECK_TEXT(mcplink_json_str(mcplink_json_pointer(last, "/result/content/0/text")), "Ada, 36");
    CHECK(effects == 1);
    mcplink_json_free(asked), mcplink_json_free(again), mcplink_json_free(last);
    talk_end(&first), talk_end(&second);
    mcplink_server_free(replica);
}

/* A handler asks two questions in one round, so it runs twice in all. */
static void several_in_one_round(mcplink_server_t *server)
{
    static char expected[] = "at last, at last";
    pair_t pair = pair_open(server, answering(), "2025-11-25");
    talk_t talk = talk_begin(server);
    mcplink_json_t *asked, *last;
    int before = counter_get(&done);
    show_nothing(true);
    runs = 0;
    start(pair.client, "both", expected);
    UNTIL(shown_so_far() == 2);
    answer_kept(0), answer_kept(1);
    CHECK(counter_wait(&done, before + 1) && runs == 2);
    show_nothing(false);
    pair_close(&pair);

    runs = 0;
    asked = round_of(&talk, "both", NULL, NULL);
    CHECK(wants_input(asked) && mcplink_json_len(mcplink_json_pointer(asked, "/result/inputRequests")) == 2);
    last = round_of(&talk, "both", "{\"a\":{\"action\":\"accept\",\"content\":{\"answer\":\"A\"}},\"b\":{\"action\":\"accept\",\"content\":{\"answer\":\"B\"}}}", asked);
    CHECK_TEXT(mcplink_json_str(mcplink_json_pointer(last, "/result/content/0/text")), "A, B");
    CHECK(runs == 2);
    mcplink_json_free(asked), mcplink_json_free(last);
    talk_end(&talk);
    /* A client in C shows all of a round, too. */
    pair = pair_open(server, answering(), "2026-07-28");
    says(pair.client, "both", "first yes, second yes");
    pair_close(&pair);
}

/* A client sees no question of a round if it lacks the capability for one of them. */
static void a_round_needs_all_its_capabilities(mcplink_server_t *server)
{
    size_t i;
    for (i = FIRST_WITH_FORMS; i < ALL; i++) {
        mcplink_client_options_t *o = mcplink_client_options_new();
        mcplink_result_t *result = NULL;
        mcplink_error_t *err = NULL;
        mcplink_status_t st;
        pair_t pair;
        CHECK(mcplink_client_options_on_elicit(o, on_form, NULL, NULL) == MCPLINK_OK);
        pair = pair_open(server, o, revisions[i]);
        show_nothing(false);
        st = mcplink_client_call_tool(pair.client, "mixed", NULL, 0, NULL, &result, &err);
        if (i == ALL - 1) {
            CHECK(st == MCPLINK_E_PEER && mcplink_error_rpc_code(err) == -32021);
            mcplink_error_free(err);
        } else {
            CHECK_STATUS(st, MCPLINK_TOOL_ERROR, err);
            CHECK(strstr(mcplink_result_text(result).ptr, "sampling") != NULL);
            mcplink_result_free(result);
        }
        CHECK(shown_so_far() == 0);
        pair_close(&pair);
    }
}

/* A client without a session can't be asked; the error explains why. */
static void without_a_session(mcplink_server_t *server)
{
    mcplink_http_options_t *http = mcplink_http_options_new();
    mcplink_client_options_t *o = answering();
    mcplink_listener_t *listener = NULL;
    mcplink_result_t *result = NULL;
    mcplink_error_t *err = NULL;
    mcplink_client_t *client;
    CHECK(mcplink_http_options_set_sessions(http, false) == MCPLINK_OK);
    CHECK_STATUS(mcplink_server_listen_http(server, http, "127.0.0.1:0", &listener, &err), MCPLINK_OK, err);
    mcplink_http_options_free(http);
    CHECK(mcplink_client_options_set_url(o, mcplink_listener_url(listener).ptr) == MCPLINK_OK);
    client = open_with(o, "2025-11-25");
    show_nothing(false);
    CHECK_STATUS(mcplink_client_call_tool(client, "two", NULL, 0, NULL, &result, &err), MCPLINK_TOOL_ERROR, err);
    CHECK(strstr(mcplink_result_text(result).ptr, "session") != NULL && strstr(mcplink_result_text(result).ptr, "2026-07-28") != NULL);
    CHECK(shown_so_far() == 0);
    mcplink_result_free(result);
    mcplink_client_free(client);
    mcplink_listener_free(listener);
}

static int rounds_asked;

/* Asks for ever, or for a state to be given back three times. */
static void *plays_on(void *user)
{
    raw_t *raw = user;
    const char *line;
    while ((line = raw_line(raw)) != NULL) {
        if (strstr(line, "tools/call") == NULL) continue;
        rounds_asked++;
        if (strstr(line, "\"paced\"") == NULL) {
            raw_respond(raw, raw_id(line),
                        "{\"resultType\":\"input_required\",\"inputRequests\":{\"k\":{\"method\":\"elicitation/create\",\"params\":" FORM("more") "}}}");
        } else if (rounds_asked <= 3) {
            raw_respond(raw, raw_id(line), "{\"resultType\":\"input_required\",\"requestState\":\"later\"}");
        } else {
            raw_respond(raw, raw_id(line), "{\"resultType\":\"complete\",\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}");
        }
    }
    return NULL;
}

/* Both sides bound the number of rounds; rounds that carry only a state are paced. */
static void rounds_end(mcplink_server_t *server)
{
    mcplink_json_t *asked = NULL, *next;
    mcplink_result_t *result = NULL;
    mcplink_error_t *err = NULL;
    mcplink_client_t *client;
    pthread_t thread;
    talk_t talk;
    pair_t pair;
    raw_t raw;
    int64_t begin;
    size_t i;
    int rounds = 0;

    /* The server, by itself. */
    for (i = FIRST_WITH_FORMS; i + 1 < ALL; i++) {
        pair = pair_open(server, answering(), revisions[i]);
        show_nothing(false);
        CHECK_STATUS(mcplink_client_call_tool(pair.client, "endless", NULL, 0, NULL, &result, &err), MCPLINK_TOOL_ERROR, err);
        CHECK(strstr(mcplink_result_text(result).ptr, "10 rounds") != NULL && shown_so_far() == 10);
        mcplink_result_free(result);
        pair_close(&pair);
    }
    talk = talk_begin(server);
    asked = round_of(&talk, "endless", NULL, NULL);
    while (wants_input(asked)) {
        char responses[128];
        CHECK(rounds < 10);
        snprintf(responses, sizeof responses, "{\"%d\":{\"action\":\"accept\",\"content\":{\"answer\":\"A\"}}}", rounds++);
        next = round_of(&talk, "endless", responses, asked);
        mcplink_json_free(asked);
        asked = next;
    }
    CHECK(rounds == 10 && strstr(mcplink_json_text(asked).ptr, "10 rounds") != NULL);
    mcplink_json_free(asked);
    talk_end(&talk);

    /* The client, by itself. */
    client = raw_open(&raw, answering(), "2026-07-28");
    CHECK(pthread_create(&thread, NULL, plays_on, &raw) == 0);
    show_nothing(false);
    CHECK_STATUS(mcplink_client_call_tool(client, "endless", NULL, 0, NULL, &result, &err), MCPLINK_E_LIMIT, err);
    CHECK(shown_so_far() == 10 && rounds_asked <= 11);
    rounds_asked = 0;
    begin = now_ms();
    says(client, "paced", "done");
    /* 50, 100 and 200 ms. */
    CHECK(rounds_asked == 4 && now_ms() - begin >= 349);
    mcplink_client_free(client);
    pthread_join(thread, NULL);
    raw_leave(&raw);
}

int main(void)
{
    state_t before;
    mcplink_server_t *server;
    state_take(&before);
    server = new_server();
    one_handler_on_every_revision(server);
    waiting_takes_no_worker(server);
    a_need_is_remembered(server);
    answers_are_carried(server);
    several_in_one_round(server);
    a_round_needs_all_its_capabilities(server);
    without_a_session(server);
    rounds_end(server);
    mcplink_server_free(server);
    state_same(&before);
    return 0;
}
