/* Every request gets exactly one response, and late answers do no harm. In other SDKs a handler that fails leaves its caller waiting.
   tests/suite/engine_answers.rs has the case of a panic, cpp/wrapper.cpp that of a C++ exception. */
#include "lessons.h"
#include "talk.h"

#include <stdatomic.h>

/* How many lines of the log hold a text. */
struct told {
    const char *part;
    struct counter lines;
};

static void on_log(void *user, mcplink_log_level level, mcplink_str_t target, mcplink_str_t text)
{
    struct told *told = user;
    (void)level, (void)target;
    if (strstr(text.ptr, told->part) != NULL) counter_add(&told->lines);
}

/* Handlers. */

static void tool_nothing(void *user, const mcplink_request_t *call, mcplink_responder_t *responder) { (void)user, (void)call, (void)responder; }

static void tool_twice(void *user, const mcplink_request_t *call, mcplink_responder_t *responder)
{
    (void)user, (void)call;
    CHECK(mcplink_responder_text(responder, "once", MCPLINK_NUL) == MCPLINK_OK);
    CHECK(mcplink_responder_text(responder, "twice", MCPLINK_NUL) == MCPLINK_E_STATE);
    CHECK(mcplink_responder_fail(responder, 1, "twice", NULL) == MCPLINK_E_STATE);
}

/* What can't be an answer leaves the request unanswered, and then it is answered. */
static void tool_wrong(void *user, const mcplink_request_t *call, mcplink_responder_t *responder)
{
    (void)user, (void)call;
    CHECK(mcplink_responder_json(responder, "{\"content\":\"/home/secret\"}", MCPLINK_NUL) == MCPLINK_E_INVALID);
}

static void *answers_elsewhere(void *responder)
{
    CHECK(mcplink_responder_text(responder, "elsewhere", MCPLINK_NUL) == MCPLINK_OK);
    mcplink_responder_free(responder);
    return NULL;
}

static void tool_elsewhere(void *user, const mcplink_request_t *call, mcplink_responder_t *responder)
{
    pthread_t thread;
    (void)user, (void)call;
    CHECK(pthread_create(&thread, NULL, answers_elsewhere, mcplink_responder_keep(responder)) == 0);
    CHECK(pthread_detach(thread) == 0);
}

/* Keeps it and lets go of it. */
static void tool_dropped(void *user, const mcplink_request_t *call, mcplink_responder_t *responder)
{
    (void)user, (void)call;
    mcplink_responder_free(mcplink_responder_keep(responder));
}

static void tool_plain(void *user, const mcplink_request_t *call, mcplink_responder_t *responder)
{
    (void)user, (void)call;
    CHECK(mcplink_responder_text(responder, "plain", MCPLINK_NUL) == MCPLINK_OK);
}

/* Kept by the number in the argument. */
enum { AT_ONCE = 64 };
static _Atomic(mcplink_responder_t *) kept[AT_ONCE];
static struct counter keeping = COUNTER;

static void tool_keep(void *user, const mcplink_request_t *call, mcplink_responder_t *responder)
{
    int at = (int)mcplink_json_f64(mcplink_json_get(mcplink_request_args(call), "at"));
    (void)user;
    CHECK(at >= 0 && at < AT_ONCE && kept[at] == NULL);
    kept[at] = mcplink_responder_keep(responder);
    counter_add(&keeping);
}

static mcplink_server_t *new_server(struct told *told)
{
    mcplink_server_options_t *o = mcplink_server_options_new("answers", "1");
    mcplink_server_t *server = NULL;
    mcplink_error_t *err = NULL;
    CHECK(mcplink_server_options_on_log(o, MCPLINK_LOG_DEBUG, on_log, told, NULL) == MCPLINK_OK);
    CHECK_STATUS(mcplink_server_new_with(o, &server, &err), MCPLINK_OK, err);
    mcplink_server_options_free(o);
    add(server, "nothing", tool_nothing, NULL);
    add(server, "twice", tool_twice, NULL);
    add(server, "wrong", tool_wrong, NULL);
    add(server, "elsewhere", tool_elsewhere, NULL);
    add(server, "dropped", tool_dropped, NULL);
    add(server, "plain", tool_plain, NULL);
    add(server, "keep", tool_keep, NULL);
    return server;
}

/* Counts the answers to requests 0 … count - 1 up to that to the ping that is sent last. Each line is looked at by a function. */
static void count_answers(talk_t *talk, int *answers, int count, void (*look)(int id, const char *line))
{
    const char *line;
    memset(answers, 0, (size_t)count * sizeof *answers);
    talk_send(talk, "{\"jsonrpc\":\"2.0\",\"id\":\"last\",\"method\":\"ping\"}");
    while ((line = talk_line(talk)) != NULL && strstr(line, "\"id\":\"last\"") == NULL) {
        long id = raw_id(line);
        CHECK(id >= 0 && id < count);
        answers[id]++;
        if (look) look((int)id, line);
    }
    CHECK(line != NULL);
}

static const struct {
    const char *tool, *answer;
} once[] = {
    { "nothing", "\"code\":-32603" }, { "twice", "\"text\":\"once\"" }, { "wrong", "\"code\":-32603" },
    { "elsewhere", "\"text\":\"elsewhere\"" }, { "dropped", "\"code\":-32603" }, { "plain", "\"text\":\"plain\"" },
};
enum { TOOLS = sizeof once / sizeof once[0] };

/* The client reads no inner error text, such as a panic message or a path. */
static void looks_right(int id, const char *line)
{
    CHECK(strstr(line, once[id % TOOLS].answer) != NULL);
    CHECK(strstr(line, "secret") == NULL && strstr(line, "handler") == NULL && strstr(line, ".rs") == NULL);
}

/* Each call gets exactly one response, and the next call is served. */
static void each_is_answered_once(void)
{
    enum { CALLS = TOOLS * 10 };
    struct told told = { "gave no answer", COUNTER };
    mcplink_server_t *server = new_server(&told);
    talk_t talk = talk_begin(server);
    int answers[CALLS], i, missing;
    talk_open(&talk, "{}");
    for (i = 0; i < CALLS; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", i);
        talk_call(&talk, id, once[i % TOOLS].tool, "{}");
    }
    /* Those that are answered on threads may be answered after the ping: it is asked again until all are there, and once more then. */
    {
        int all[CALLS] = { 0 }, rounds = 0;
        do {
            count_answers(&talk, answers, CALLS, looks_right);
            for (i = 0, missing = 0; i < CALLS; i++) missing += (all[i] += answers[i]) == 0;
            CHECK(++rounds < PATIENCE);
        } while (missing > 0);
        count_answers(&talk, answers, CALLS, NULL);
        for (i = 0; i < CALLS; i++) CHECK(all[i] == 1 && answers[i] == 0);
    }
    /* The log of the server has the inner error text. */
    CHECK(counter_wait(&told.lines, 2 * 10));
    talk_end(&talk);
    mcplink_server_free(server);
}

/* A cancellation and an answer race. An answer in time is sent once; the responder of a late one returns an error. */

static pthread_barrier_t begin, over;
static mcplink_status_t outcomes[AT_ONCE];
static volatile int racing = 1;

static void *answers_all(void *unused)
{
    (void)unused;
    for (;;) {
        int i;
        pthread_barrier_wait(&begin);
        if (!racing) return NULL;
        for (i = 0; i < AT_ONCE; i++) {
            outcomes[i] = mcplink_responder_text(kept[i], "raced", MCPLINK_NUL);
            mcplink_responder_free(kept[i]);
            kept[i] = NULL;
        }
        pthread_barrier_wait(&over);
    }
}

static void cancelling_races_with_answering(void)
{
    const char *given = getenv("MCPLINK_RACES");
    long races = given ? atol(given) : slowly() ? 500 : 100000, heard = 0, withdrawn = 0, batch;
    struct told told = { "no such text", COUNTER };
    mcplink_server_t *server = new_server(&told);
    talk_t talk = talk_begin(server);
    pthread_t thread;
    talk_open(&talk, "{}");
    pthread_barrier_init(&begin, NULL, 2), pthread_barrier_init(&over, NULL, 2);
    CHECK(pthread_create(&thread, NULL, answers_all, NULL) == 0);
    for (batch = 0; batch * AT_ONCE < races; batch++) {
        static char cancels[AT_ONCE * 128];
        int answers[AT_ONCE], i, before = counter_get(&keeping);
        size_t len = 0;
        for (i = 0; i < AT_ONCE; i++) {
            char id[16], at[32];
            snprintf(id, sizeof id, "%d", i);
            snprintf(at, sizeof at, "{\"at\":%d}", i);
            talk_call(&talk, id, "keep", at);
            /* From the end of the answers on, so that both meet wherever they are. */
            len += (size_t)snprintf(cancels + len, sizeof cancels - len,
                                    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":%d}}%s",
                                    batch % 2 ? i : AT_ONCE - 1 - i, i + 1 < AT_ONCE ? "\n" : "");
        }
        CHECK(counter_wait(&keeping, before + AT_ONCE));
        pthread_barrier_wait(&begin);
        talk_send(&talk, cancels);
        pthread_barrier_wait(&over);
        count_answers(&talk, answers, AT_ONCE, NULL);
        for (i = 0; i < AT_ONCE; i++) {
            CHECK(outcomes[i] == MCPLINK_OK || outcomes[i] == MCPLINK_E_CANCELLED);
            CHECK(answers[i] == (outcomes[i] == MCPLINK_OK));
            if (answers[i]) heard++;
            else withdrawn++;
        }
    }
    racing = 0;
    pthread_barrier_wait(&begin);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&begin), pthread_barrier_destroy(&over);
    /* They did meet. */
    CHECK(slowly() || (heard > 0 && withdrawn > 0));
    talk_end(&talk);
    mcplink_server_free(server);
}

/* The server refuses the id of a request in flight, and the first request goes on. */
static void an_id_in_use(void)
{
    struct told told = { "no such text", COUNTER };
    mcplink_server_t *server = new_server(&told);
    talk_t talk = talk_begin(server);
    int before = counter_get(&keeping);
    talk_open(&talk, "{}");
    talk_call(&talk, "1", "keep", "{\"at\":0}");
    CHECK(counter_wait(&keeping, before + 1));
    talk_call(&talk, "1", "plain", "{}");
    TALK_HOLDS(&talk, "\"code\":-32600");
    CHECK(!mcplink_responder_is_cancelled(kept[0]));
    CHECK(mcplink_responder_text(kept[0], "the first", MCPLINK_NUL) == MCPLINK_OK);
    CHECK(strstr(TALK_HOLDS(&talk, "\"id\":1,"), "the first") != NULL);
    mcplink_responder_free(kept[0]);
    kept[0] = NULL;
    /* Then it is free again. */
    talk_call(&talk, "1", "plain", "{}");
    TALK_HOLDS(&talk, "\"text\":\"plain\"");
    talk_end(&talk);
    mcplink_server_free(server);
}

static int stat_of(mcplink_client_t *client, const char *name)
{
    mcplink_json_t *stats = NULL;
    int number;
    CHECK(mcplink_client_stats(client, &stats, NULL) == MCPLINK_OK);
    CHECK(!mcplink_json_is_missing(mcplink_json_get(stats, name)));
    number = (int)mcplink_json_f64(mcplink_json_get(stats, name));
    mcplink_json_free(stats);
    return number;
}

static void *answers_plain(void *raw)
{
    raw_respond(raw, raw_id(raw_find(raw, "\"plain\"")), "{\"content\":[{\"type\":\"text\",\"text\":\"plain\"}]}");
    return NULL;
}

/* The client drops and counts a late answer. It also logs an answer to an unknown id. The connection goes on in both cases. */
static void answers_that_come_too_late(void)
{
    struct told told = { "4711", COUNTER };
    raw_t raw;
    mcplink_client_options_t *o = mcplink_client_options_new();
    mcplink_call_options_t *soon = mcplink_call_options_new();
    mcplink_client_t *client;
    mcplink_result_t *result = NULL;
    pthread_t thread;
    int i;
    CHECK(mcplink_client_options_on_log(o, MCPLINK_LOG_DEBUG, on_log, &told, NULL) == MCPLINK_OK);
    client = raw_open(&raw, o, "2025-11-25");
    CHECK(mcplink_call_options_set_timeout_ms(soon, 20) == MCPLINK_OK);
    for (i = 1; i <= 3; i++) {
        CHECK(mcplink_client_call_tool(client, "late", NULL, 0, soon, &result, NULL) == MCPLINK_E_TIMEOUT && result == NULL);
        raw_respond(&raw, raw_id(raw_find(&raw, "\"late\"")), "{\"content\":[]}");
        UNTIL(stat_of(client, "lateResponses") == i);
    }
    CHECK(stat_of(client, "unknownResponses") == 0);
    raw_respond(&raw, 4711, "{\"content\":[]}");
    UNTIL(stat_of(client, "unknownResponses") == 1);
    CHECK(counter_wait(&told.lines, 1));
    CHECK(pthread_create(&thread, NULL, answers_plain, &raw) == 0);
    says(client, "plain", "plain");
    pthread_join(thread, NULL);
    mcplink_call_options_free(soon);
    mcplink_client_free(client);
    raw_leave(&raw);
}

/* Answers after the end of the server are harmless: see beyond_the_server in responder.c and a_responder_alone in lifetimes.c. */

int main(void)
{
    state_t before;
    state_take(&before);
    each_is_answered_once();
    cancelling_races_with_answering();
    an_id_in_use();
    answers_that_come_too_late();
    state_same(&before);
    return 0;
}
