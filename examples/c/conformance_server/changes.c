/* Tools that change the server's lists, or report a change. The library notifies the clients. */
#include "server.h"

static void nothing(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)user;
    (void)req;
    mcplink_responder_text(resp, "Too late.", MCPLINK_NUL);
}

/* Adds and removes a tool. */
static void change_tools(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    mcplink_server_t *srv = user;
    mcplink_tool_t *tool = mcplink_tool_new("fleeting", "Is gone in a moment");
    int changed = mcplink_server_add_tool(srv, tool, nothing, NULL, NULL, NULL) == MCPLINK_OK
               && mcplink_server_remove_tool(srv, "fleeting") == MCPLINK_OK;
    (void)req;
    mcplink_tool_free(tool);
    if (changed) mcplink_responder_text(resp, "The list of tools changed, and changed back.", MCPLINK_NUL);
    else mcplink_responder_tool_error(resp, "the list can't be changed", MCPLINK_NUL);
}

static void change_prompts(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    mcplink_server_t *srv = user;
    mcplink_prompt_t *prompt = mcplink_prompt_new("fleeting", "Is gone in a moment");
    int changed = mcplink_server_add_prompt(srv, prompt, nothing, NULL, NULL, NULL) == MCPLINK_OK
               && mcplink_server_remove_prompt(srv, "fleeting") == MCPLINK_OK;
    (void)req;
    mcplink_prompt_free(prompt);
    if (changed) mcplink_responder_text(resp, "The list of prompts changed, and changed back.", MCPLINK_NUL);
    else mcplink_responder_tool_error(resp, "the list can't be changed", MCPLINK_NUL);
}

static void touch(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    mcplink_str_t uri;
    if (!text_argument(req, resp, "uri", &uri)) return;
    if (mcplink_server_resource_updated(user, uri.ptr) == MCPLINK_OK) answer_format(resp, "touched %s", uri.ptr);
    else mcplink_responder_tool_error(resp, "it can't be touched", MCPLINK_NUL);
}

static const struct tool table[] = {
    { "test_trigger_tool_change", "Changes the list of tools", change_tools, { { 0 } }, 0 },
    { "test_trigger_prompt_change", "Changes the list of prompts", change_prompts, { { 0 } }, 0 },
    { "touch", "Tells who subscribed to a resource that it changed", touch,
      { { "uri", MCPLINK_PARAM_STRING, "The address of the resource.", MCPLINK_PARAM_REQUIRED } }, 0 },
};

mcplink_status_t add_changes(mcplink_server_t *srv, mcplink_error_t **err)
{
    return add_tool_table(srv, table, COUNT(table), srv, err);
}
