/* Tools that run as tasks for clients that support tasks, and as plain calls for others. */
#include "server.h"

/* Stops when it is cancelled, as a task or as a call. */
static void slow_compute(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    double seconds = mcplink_json_f64(mcplink_json_get(mcplink_request_args(req), "seconds"));
    mcplink_str_t label;
    (void)user;
    if (text_argument(req, resp, "label", &label) && !rest(resp, seconds * 1000))
        answer_format(resp, "Computed %s in %g s.", label.ptr, seconds);
}

static void failing_job(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)user;
    (void)req;
    if (!rest(resp, 1000)) mcplink_responder_tool_error(resp, "The job failed.", MCPLINK_NUL);
}

static void protocol_error_job(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)user;
    (void)req;
    mcplink_responder_fail(resp, MCPLINK_RPC_INTERNAL_ERROR, "the job can't be done here", NULL);
}

static void confirm_delete(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    mcplink_str_t filename;
    bool yes;
    (void)user;
    if (text_argument(req, resp, "filename", &filename) && ask_yes(resp, "confirm", "Delete the file?", "confirm", &yes))
        answer_format(resp, "%s %s.", yes ? "Deleted" : "Kept", filename.ptr);
}

/* Asks two questions before it returns, so they go out together. */
static void multi_input(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    bool first, second;
    bool has_first = ask_yes(resp, "first", "Do the first thing?", "confirm", &first);
    bool has_second = ask_yes(resp, "second", "Do the second thing?", "confirm", &second);
    (void)user;
    (void)req;
    if (has_first && has_second) answer_format(resp, "first: %s, second: %s", first ? "yes" : "no", second ? "yes" : "no");
}

/* Becomes a task after the question is answered. */
static void with_task(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    mcplink_str_t name;
    (void)user;
    (void)req;
    if (ask_text(resp, "user_name", "What is your name?", "name", &name) && mcplink_responder_become_task(resp, NULL) == MCPLINK_OK)
        answer_format(resp, "Hello from a task, %s!", name.ptr);
}

static const struct tool table[] = {
    { "test_tool_with_task", "Asks, and becomes a task then", with_task, { { 0 } }, MCPLINK_TASK_FORBIDDEN },
    { "slow_compute", "Takes its time", slow_compute,
      { { "seconds", MCPLINK_PARAM_NUMBER, "How long it takes.", MCPLINK_PARAM_REQUIRED },
        { "label", MCPLINK_PARAM_STRING, "What is computed.", MCPLINK_PARAM_REQUIRED } }, MCPLINK_TASK_OPTIONAL },
    { "failing_job", "Fails", failing_job, { { 0 } }, MCPLINK_TASK_REQUIRED },
    { "protocol_error_job", "Is answered with an error", protocol_error_job, { { 0 } }, MCPLINK_TASK_OPTIONAL },
    { "confirm_delete", "Asks whether to delete", confirm_delete,
      { { "filename", MCPLINK_PARAM_STRING, "What is deleted.", MCPLINK_PARAM_REQUIRED } }, MCPLINK_TASK_OPTIONAL },
    { "multi_input", "Asks twice at once", multi_input, { { 0 } }, MCPLINK_TASK_OPTIONAL },
};

mcplink_status_t add_jobs(mcplink_server_t *srv, mcplink_error_t **err)
{
    return add_tool_table(srv, table, COUNT(table), NULL, err);
}
