/* Answering: once, in every way, by nobody, too late, from elsewhere, beyond the end of the server. */
#include "talk.h"

#include <pthread.h>
#include <semaphore.h>
#include <time.h>

static int destroyed;
static void ended(void *user) { destroyed += *(int *)user; }

static void wait_for(sem_t *sem)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE / 1000;
    CHECK(sem_timedwait(sem, &until) == 0);
}

/* Answers twice, and tries everything that is not for tools. */
static void twice(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    const char *values[] = { "a" };
    (void)user;
    CHECK_TEXT(mcplink_request_method(req), "tools/call");
    CHECK_TEXT(mcplink_request_name(req), "twice");
    CHECK_TEXT(mcplink_json_text(mcplink_request_args(req)), "{\"n\":9007199254740993}");
    CHECK_TEXT(mcplink_json_str(mcplink_json_get(mcplink_request_params(req), "name")), "twice");
    CHECK_TEXT(mcplink_json_str(mcplink_json_get(mcplink_request_meta(req), "progressToken")), "p");
    CHECK_TEXT(mcplink_request_principal(req), "");
    CHECK_TEXT(mcplink_request_revision(req), "2025-11-25");
    CHECK_TEXT(mcplink_json_str(mcplink_json_get(mcplink_request_client_info(req), "name")), "talk");
    CHECK(!mcplink_json_is_missing(mcplink_json_get(mcplink_request_capabilities(req), "elicitation")));
    CHECK(mcplink_request_session(req) > 0 && mcplink_responder_request(resp) == req);
    CHECK_TEXT(mcplink_request_value(req), "");

    CHECK(mcplink_responder_values(resp, values, 1, false) == MCPLINK_E_UNSUPPORTED);
    CHECK(mcplink_responder_not_found(resp) == MCPLINK_E_UNSUPPORTED);
    CHECK(mcplink_responder_typed_text(resp, "x", 1, "text/plain") == MCPLINK_E_UNSUPPORTED);
    CHECK(mcplink_responder_bytes(resp, (const uint8_t *)"x", 1, "text/plain") == MCPLINK_E_INVALID);
    CHECK(mcplink_responder_bytes(resp, (const uint8_t *)"x", MCPLINK_NUL, "image/png") == MCPLINK_E_INVALID);
    CHECK(mcplink_responder_json(resp, "{\"content\":7}", MCPLINK_NUL) == MCPLINK_E_INVALID);
    CHECK(mcplink_responder_json(resp, "{", MCPLINK_NUL) == MCPLINK_E_INVALID);
    CHECK(mcplink_responder_text(resp, "\xff", 1) == MCPLINK_E_INVALID);
    CHECK(mcplink_responder_text(resp, NULL, 1) == MCPLINK_E_INVALID);
    CHECK(mcplink_responder_fail(resp, -32050, "reserved", NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_responder_fail(resp, 1, NULL, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_responder_fail(resp, 1, "x", "{") == MCPLINK_E_INVALID);
    CHECK(mcplink_responder_progress(resp, 0.0 / 0.0, 0, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_responder_log(resp, 8, "x", 1) == MCPLINK_E_INVALID && mcplink_responder_log(resp, -1, "x", 1) == MCPLINK_E_INVALID);

    CHECK(mcplink_responder_text(resp, "once", MCPLINK_NUL) == MCPLINK_OK);
    CHECK(mcplink_responder_text(resp, "twice", MCPLINK_NUL) == MCPLINK_E_STATE);
    CHECK(mcplink_responder_fail(resp, MCPLINK_RPC_INTERNAL_ERROR, "no", NULL) == MCPLINK_E_STATE);
    CHECK(mcplink_responder_progress(resp, 1, 2, NULL) == MCPLINK_E_STATE);
    CHECK(mcplink_responder_log(resp, MCPLINK_LOG_ERROR, "x", 1) == MCPLINK_E_STATE);
    CHECK(mcplink_responder_remember(resp, "k", "1", 1) == MCPLINK_E_STATE && mcplink_responder_recall(resp, "k") == NULL);
    CHECK(!mcplink_responder_is_cancelled(resp));
}

static void silent(void *user, const mcplink_request_t *req, mcplink_responder_t *resp) { (void)user; (void)req; (void)resp; }

static void by_kind(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    mcplink_str_t kind = mcplink_json_str(mcplink_json_get(mcplink_request_args(req), "kind"));
    (void)user;
    if (strcmp(kind.ptr, "json") == 0) {
        CHECK(mcplink_responder_json(resp, "{\"content\":[{\"type\":\"text\",\"text\":\"whole\"}],\"x\":1}", MCPLINK_NUL) == MCPLINK_OK);
    } else if (strcmp(kind.ptr, "structured") == 0) {
        CHECK(mcplink_responder_structured(resp, "{\"a\": 1}", MCPLINK_NUL) == MCPLINK_OK);
    } else if (strcmp(kind.ptr, "error") == 0) {
        CHECK(mcplink_responder_tool_error(resp, "no such file", MCPLINK_NUL) == MCPLINK_OK);
    } else if (strcmp(kind.ptr, "image") == 0) {
        CHECK(mcplink_responder_bytes(resp, (const uint8_t *)"abcd", 4, "image/png") == MCPLINK_OK);
    } else if (strcmp(kind.ptr, "fail") == 0) {
        CHECK(mcplink_responder_fail(resp, MCPLINK_RPC_INVALID_PARAMS, "bad", "{\"why\":1}") == MCPLINK_OK);
    } else if (strcmp(kind.ptr, "own") == 0) {
        CHECK(mcplink_responder_fail(resp, 42, "mine", NULL) == MCPLINK_OK);
    } else {
        CHECK(mcplink_responder_progress(resp, 1, 2, "half") == MCPLINK_OK);
        CHECK(mcplink_responder_log(resp, MCPLINK_LOG_WARNING, "hm", MCPLINK_NUL) == MCPLINK_OK);
        CHECK(mcplink_responder_text(resp, "a\0b", 3) == MCPLINK_OK);
    }
}

/* Keeps the request for another thread. */
static mcplink_responder_t *kept;
static sem_t has_kept;
static void keeping(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)user;
    (void)req;
    kept = mcplink_responder_keep(resp);
    CHECK(kept == resp);
    sem_post(&has_kept);
}

static sem_t was_cancelled, was_ended;
static void ended_and_tell(void *user)
{
    CHECK(*(int *)user == 100);
    sem_post(&was_ended);
}
static void on_cancel(void *user)
{
    CHECK(*(int *)user == 100);
    sem_post(&was_cancelled);
}

static void *answer_elsewhere(void *user)
{
    CHECK(mcplink_responder_text(user, "from elsewhere", MCPLINK_NUL) == MCPLINK_OK);
    mcplink_responder_free(user);
    return NULL;
}

static void *answer_first(void *user)
{
    mcplink_status_t st = mcplink_responder_text(user, "raced", MCPLINK_NUL);
    CHECK(st == MCPLINK_OK || st == MCPLINK_E_STATE);
    mcplink_responder_free(user);
    return (void *)(intptr_t)(st == MCPLINK_OK);
}

/* Asks twice, in two rounds, and remembers in between. */
static int effects;
static void asking(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    static const char form[] = "{\"message\":\"Name?\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"}}}}";
    const mcplink_json_t *answer = (const mcplink_json_t *)1, *again = NULL;
    mcplink_error_t *err = NULL;
    mcplink_status_t st;
    char line[128];
    (void)user;
    (void)req;
    CHECK(mcplink_responder_ask(resp, "who", "elicitation/create", "{\"message\":1}", MCPLINK_NUL, &answer, &err) == MCPLINK_E_INVALID);
    CHECK(answer == NULL && err != NULL);
    mcplink_error_free(err);
    if (mcplink_json_is_missing(mcplink_responder_recall(resp, "paid"))) {
        effects++;
        CHECK(mcplink_responder_remember(resp, "paid", "{\"id\":7}", MCPLINK_NUL) == MCPLINK_OK);
        CHECK(mcplink_responder_remember(resp, "bad", "{", MCPLINK_NUL) == MCPLINK_E_INVALID);
    }
    CHECK_TEXT(mcplink_json_text(mcplink_responder_recall(resp, "paid")), "{\"id\":7}");
    st = mcplink_responder_ask(resp, "who", "elicitation/create", form, MCPLINK_NUL, &answer, &err);
    if (st == MCPLINK_PENDING) {
        CHECK(answer == NULL && err == NULL);
        return;
    }
    if (st == MCPLINK_E_PEER) {
        CHECK(mcplink_error_rpc_code(err) == -1);
        CHECK_TEXT(mcplink_error_method(err), "elicitation/create");
        mcplink_error_free(err);
        mcplink_responder_text(resp, "refused", MCPLINK_NUL);
        return;
    }
    CHECK_STATUS(st, MCPLINK_OK, err);
    CHECK(mcplink_responder_ask(resp, "who", "elicitation/create", form, MCPLINK_NUL, &again, NULL) == MCPLINK_OK && again == answer);
    CHECK(mcplink_responder_ask(resp, "who", "elicitation/create", form, MCPLINK_NUL, NULL, NULL) == MCPLINK_OK);
    snprintf(line, sizeof line, "hello %s", mcplink_json_str(mcplink_json_pointer(answer, "/content/name")).ptr);
    mcplink_responder_text(resp, line, MCPLINK_NUL);
}

static void answers(mcplink_server_t *server)
{
    talk_t talk = talk_begin(server);
    talk_open(&talk, "{\"elicitation\":{}}");
    talk_call(&talk, "1", "twice", "{\"n\":9007199254740993}");
    TALK_HOLDS(&talk, "\"text\":\"once\"");
    talk_call(&talk, "2", "silent", "{}");
    TALK_HOLDS(&talk, "\"id\":2,\"error\":{\"code\":-32603");
    talk_call(&talk, "3", "kinds", "{\"kind\":\"json\"}");
    TALK_HOLDS(&talk, "\"text\":\"whole\"");
    talk_call(&talk, "4", "kinds", "{\"kind\":\"structured\"}");
    TALK_HOLDS(&talk, "\"structuredContent\":{\"a\": 1}");
    talk_call(&talk, "5", "kinds", "{\"kind\":\"error\"}");
    CHECK(strstr(TALK_HOLDS(&talk, "no such file"), "\"isError\":true") != NULL);
    talk_call(&talk, "6", "kinds", "{\"kind\":\"image\"}");
    TALK_HOLDS(&talk, "\"data\":\"YWJjZA==\",\"mimeType\":\"image/png\"");
    talk_call(&talk, "7", "kinds", "{\"kind\":\"fail\"}");
    TALK_HOLDS(&talk, "\"error\":{\"code\":-32602,\"message\":\"bad\",\"data\":{\"why\":1}}");
    talk_call(&talk, "8", "kinds", "{\"kind\":\"own\"}");
    TALK_HOLDS(&talk, "\"error\":{\"code\":42,\"message\":\"mine\"}");
    talk_call(&talk, "9", "kinds", "{\"kind\":\"\"}");
    TALK_HOLDS(&talk, "\"progress\":1");
    TALK_HOLDS(&talk, "\"level\":\"warning\"");
    TALK_HOLDS(&talk, "\"text\":\"a\\u0000b\"");
    talk_end(&talk);
}

static void keeps(mcplink_server_t *server)
{
    talk_t talk = talk_begin(server);
    pthread_t threads[8];
    intptr_t winners = 0;
    void *won;
    int i, hundred = 100, thousand = 1000;

    talk_open(&talk, "{}");
    talk_call(&talk, "1", "keep", "{\"a\":1}");
    wait_for(&has_kept);
    /* A kept request stays readable, and keeps nobody else waiting. */
    CHECK_TEXT(mcplink_json_text(mcplink_request_args(mcplink_responder_request(kept))), "{\"a\":1}");
    talk_call(&talk, "2", "kinds", "{\"kind\":\"error\"}");
    TALK_HOLDS(&talk, "\"id\":2");
    CHECK(pthread_create(&threads[0], NULL, answer_elsewhere, kept) == 0);
    TALK_HOLDS(&talk, "from elsewhere");
    CHECK(pthread_join(threads[0], NULL) == 0);

    /* Of many only one answers. */
    talk_call(&talk, "3", "keep", "{}");
    wait_for(&has_kept);
    for (i = 0; i < 8; i++) CHECK(pthread_create(&threads[i], NULL, answer_first, mcplink_responder_keep(kept)) == 0);
    for (i = 0; i < 8; i++) {
        CHECK(pthread_join(threads[i], &won) == 0);
        winners += (intptr_t)won;
    }
    CHECK(winners == 1);
    mcplink_responder_free(kept);
    TALK_HOLDS(&talk, "raced");

    /* The last to let go of an unanswered one answers it. */
    talk_call(&talk, "4", "keep", "{}");
    wait_for(&has_kept);
    CHECK(mcplink_responder_keep(kept) == kept);
    mcplink_responder_free(kept);
    CHECK(mcplink_responder_progress(kept, 1, 0, NULL) == MCPLINK_OK);
    TALK_HOLDS(&talk, "\"progress\":1");
    mcplink_responder_free(kept);
    TALK_HOLDS(&talk, "\"id\":4,\"error\":{\"code\":-32603");

    /* Cancelled: the hook is told, an answer is harmless, and nothing is sent. */
    destroyed = 0;
    talk_call(&talk, "5", "keep", "{}");
    wait_for(&has_kept);
    CHECK(mcplink_responder_on_cancel(kept, on_cancel, &thousand, ended) == MCPLINK_OK && destroyed == 0);
    CHECK(mcplink_responder_on_cancel(kept, on_cancel, &hundred, ended_and_tell) == MCPLINK_OK && destroyed == 1000);
    talk_send(&talk, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":5}}");
    wait_for(&was_cancelled);
    CHECK(mcplink_responder_is_cancelled(kept));
    CHECK(mcplink_responder_progress(kept, 1, 2, NULL) == MCPLINK_E_CANCELLED);
    CHECK(mcplink_responder_log(kept, MCPLINK_LOG_ERROR, "x", 1) == MCPLINK_E_CANCELLED);
    wait_for(&was_ended);
    /* A hook that comes too late is told at once. */
    CHECK(mcplink_responder_on_cancel(kept, on_cancel, &hundred, ended) == MCPLINK_OK && destroyed == 1100);
    wait_for(&was_cancelled);
    CHECK(mcplink_responder_text(kept, "late", MCPLINK_NUL) == MCPLINK_E_CANCELLED);
    CHECK(mcplink_responder_text(kept, "late", MCPLINK_NUL) == MCPLINK_E_CANCELLED);
    mcplink_responder_free(kept);
    CHECK(destroyed == 1100);
    talk_send(&talk, "{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"ping\"}");
    TALK_HOLDS(&talk, "\"id\":6");
    talk_end(&talk);
}

static void asks(mcplink_server_t *server)
{
    talk_t talk = talk_begin(server);
    const char *line;
    char reply[256];
    long id;

    talk_open(&talk, "{\"elicitation\":{\"form\":{}}}");
    effects = 0;
    talk_call(&talk, "\"q\"", "ask", "{}");
    line = TALK_HOLDS(&talk, "\"method\":\"elicitation/create\"");
    CHECK(sscanf(strstr(line, "\"id\":"), "\"id\":%ld", &id) == 1);
    snprintf(reply, sizeof reply, "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":{\"action\":\"accept\",\"content\":{\"name\":\"C\"}}}", id);
    talk_send(&talk, reply);
    TALK_HOLDS(&talk, "hello C");
    CHECK(effects == 1);
    talk_call(&talk, "\"r\"", "ask", "{}");
    line = TALK_HOLDS(&talk, "\"method\":\"elicitation/create\"");
    CHECK(sscanf(strstr(line, "\"id\":"), "\"id\":%ld", &id) == 1);
    snprintf(reply, sizeof reply, "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"error\":{\"code\":-1,\"message\":\"no\"}}", id);
    talk_send(&talk, reply);
    TALK_HOLDS(&talk, "refused");
    talk_end(&talk);
}

static void beyond_the_server(void)
{
    mcplink_server_t *server = mcplink_server_new("t", "1");
    talk_t talk;
    int one = 1;
    destroyed = 0;
    add_tool(server, "keep", keeping, &one, ended);
    talk = talk_begin(server);
    talk_open(&talk, "{}");
    talk_call(&talk, "1", "keep", "{\"b\":2}");
    wait_for(&has_kept);
    mcplink_server_free(server);
    CHECK(destroyed == 1);
    CHECK(mcplink_responder_is_cancelled(kept));
    CHECK_TEXT(mcplink_json_text(mcplink_request_args(mcplink_responder_request(kept))), "{\"b\":2}");
    CHECK(mcplink_responder_progress(kept, 1, 2, NULL) == MCPLINK_E_CLOSED);
    CHECK(mcplink_responder_log(kept, MCPLINK_LOG_ERROR, "x", 1) == MCPLINK_E_CLOSED);
    CHECK(mcplink_responder_text(kept, "x", 1) == MCPLINK_E_CLOSED);
    CHECK(mcplink_responder_text(kept, "x", 1) == MCPLINK_E_CLOSED);
    mcplink_responder_free(kept);
    talk_end(&talk);
}

static void takes_null(void)
{
    int ten = 10;
    destroyed = 0;
    CHECK(mcplink_request_args(NULL) == NULL && mcplink_request_params(NULL) == NULL && mcplink_request_meta(NULL) == NULL);
    CHECK(mcplink_request_client_info(NULL) == NULL && mcplink_request_capabilities(NULL) == NULL && mcplink_request_session(NULL) == 0);
    CHECK_TEXT(mcplink_request_name(NULL), "");
    CHECK_TEXT(mcplink_request_method(NULL), "");
    CHECK_TEXT(mcplink_request_principal(NULL), "");
    CHECK_TEXT(mcplink_request_revision(NULL), "");
    CHECK_TEXT(mcplink_request_value(NULL), "");
    CHECK(mcplink_responder_keep(NULL) == NULL && mcplink_responder_request(NULL) == NULL && !mcplink_responder_is_cancelled(NULL));
    mcplink_responder_free(NULL);
    CHECK(mcplink_responder_on_cancel(NULL, NULL, &ten, ended) == MCPLINK_E_INVALID && destroyed == 10);
    CHECK(mcplink_responder_progress(NULL, 1, 1, NULL) == MCPLINK_E_INVALID && mcplink_responder_log(NULL, 1, "x", 1) == MCPLINK_E_INVALID);
    CHECK(mcplink_responder_ask(NULL, NULL, NULL, NULL, 0, NULL, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_responder_remember(NULL, NULL, NULL, 0) == MCPLINK_E_INVALID && mcplink_responder_recall(NULL, NULL) == NULL);
    CHECK(mcplink_responder_text(NULL, "x", 1) == MCPLINK_E_INVALID && mcplink_responder_typed_text(NULL, "x", 1, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_responder_bytes(NULL, NULL, 0, NULL) == MCPLINK_E_INVALID && mcplink_responder_json(NULL, NULL, 0) == MCPLINK_E_INVALID);
    CHECK(mcplink_responder_structured(NULL, NULL, 0) == MCPLINK_E_INVALID && mcplink_responder_tool_error(NULL, NULL, 0) == MCPLINK_E_INVALID);
    CHECK(mcplink_responder_values(NULL, NULL, 0, true) == MCPLINK_E_INVALID && mcplink_responder_not_found(NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_responder_fail(NULL, 1, NULL, NULL) == MCPLINK_E_INVALID);
}

int main(void)
{
    int fds = open_count();
    mcplink_server_options_t *options = mcplink_server_options_new("t", "1");
    mcplink_server_t *server = NULL;
    mcplink_error_t *err = NULL;
    CHECK(sem_init(&has_kept, 0, 0) == 0 && sem_init(&was_cancelled, 0, 0) == 0 && sem_init(&was_ended, 0, 0) == 0);
    CHECK(mcplink_server_options_set_logging(options, true) == MCPLINK_OK);
    CHECK_STATUS(mcplink_server_new_with(options, &server, &err), MCPLINK_OK, err);
    mcplink_server_options_free(options);
    add_tool(server, "twice", twice, NULL, NULL);
    add_tool(server, "silent", silent, NULL, NULL);
    add_tool(server, "kinds", by_kind, NULL, NULL);
    add_tool(server, "keep", keeping, NULL, NULL);
    add_tool(server, "ask", asking, NULL, NULL);
    answers(server);
    keeps(server);
    asks(server);
    mcplink_server_free(server);
    beyond_the_server();
    takes_null();
    talk_clean(fds);
    return 0;
}
