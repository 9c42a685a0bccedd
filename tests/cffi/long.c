/* Long work: calls that become tasks, and clients that are sent away meanwhile. */
#include "talk.h"

#include <semaphore.h>
#include <time.h>

static sem_t has_run;

/* Waits until the handler has run once more. */
static void wait_for_run(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE / 1000;
    CHECK(sem_timedwait(&has_run, &until) == 0);
}

/* Becomes a task where it can, and tries what comes too late. */
static void work(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    mcplink_error_t *err = NULL;
    mcplink_status_t st = mcplink_responder_become_task(resp, &err);
    (void)user;
    (void)req;
    CHECK(err == NULL);
    if (st == MCPLINK_PENDING) {
        sem_post(&has_run);
        return;
    }
    CHECK(st == MCPLINK_OK);
    CHECK(mcplink_responder_close_stream_and_retry(resp, 500) == MCPLINK_OK);
    CHECK(mcplink_responder_text(resp, "done", MCPLINK_NUL) == MCPLINK_OK);
    CHECK(mcplink_responder_close_stream_and_retry(resp, 500) == MCPLINK_E_STATE);
    CHECK_STATUS(mcplink_responder_become_task(resp, &err), MCPLINK_E_STATE, err);
    sem_post(&has_run);
}

static void own_method(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    mcplink_error_t *err = NULL;
    (void)user;
    (void)req;
    CHECK(mcplink_responder_close_stream_and_retry(resp, 1) == MCPLINK_E_UNSUPPORTED);
    CHECK_STATUS(mcplink_responder_become_task(resp, &err), MCPLINK_E_UNSUPPORTED, err);
    CHECK(mcplink_responder_json(resp, "{\"resultType\":\"complete\"}", MCPLINK_NUL) == MCPLINK_OK);
}

#define META(capabilities)                                                                                              \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                                          \
    "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"talk\",\"version\":\"1\"},"                                \
    "\"io.modelcontextprotocol/clientCapabilities\":" capabilities "}"

int main(void)
{
    mcplink_error_t *err = NULL;
    mcplink_server_t *server = NULL;
    mcplink_server_options_t *o = mcplink_server_options_new("long", "1");
    talk_t talk;

    CHECK(sem_init(&has_run, 0, 0) == 0);
    CHECK(mcplink_responder_close_stream_and_retry(NULL, 1) == MCPLINK_E_INVALID);
    CHECK_STATUS(mcplink_responder_become_task(NULL, &err), MCPLINK_E_INVALID, err);
    CHECK(mcplink_responder_become_task(NULL, NULL) == MCPLINK_E_INVALID);

    CHECK(mcplink_server_options_set_tasks(o, 8, 60000) == MCPLINK_OK);
    CHECK(mcplink_server_options_on_method(o, "example/own", own_method, NULL, NULL) == MCPLINK_OK);
    CHECK_STATUS(mcplink_server_new_with(o, &server, &err), MCPLINK_OK, err);
    mcplink_server_options_free(o);
    add_tool(server, "work", work, NULL, NULL);

    /* A client that takes no tasks, and one that can't come back: nothing becomes of it. */
    talk = talk_begin(server);
    talk_open(&talk, "{}");
    talk_call(&talk, "1", "work", "{}");
    TALK_HOLDS(&talk, "\"text\":\"done\"");
    talk_send(&talk, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"example/own\"}");
    TALK_HOLDS(&talk, "\"id\":2,\"result\"");
    wait_for_run();
    talk_end(&talk);

    /* One that takes them gets one, and the handler is run again. */
    talk = talk_begin(server);
    talk_send(&talk, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"work\",\"arguments\":{},"
                     META("{\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}") "}}");
    TALK_HOLDS(&talk, "\"resultType\":\"task\"");
    wait_for_run();
    wait_for_run();
    talk_end(&talk);
    mcplink_server_free(server);
    CHECK(sem_trywait(&has_run) != 0);
    return 0;
}
