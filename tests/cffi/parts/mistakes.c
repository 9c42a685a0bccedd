/* Mistakes that compilers warn of: CASE is the number of one. 0 has none. */
#include <mcplink.h>

static void on_server_event(void *user, mcplink_server_event event, const mcplink_json_t *params)
{
    (void)user, (void)event, (void)params;
}

void use(mcplink_tool_t *tool, mcplink_server_t *server, mcplink_responder_t *resp, mcplink_client_options_t *options, mcplink_transport_t *transport);

void use(mcplink_tool_t *tool, mcplink_server_t *server, mcplink_responder_t *resp, mcplink_client_options_t *options, mcplink_transport_t *transport)
{
#if CASE == 0
    if (mcplink_server_add_tool(server, tool, NULL, NULL, NULL, NULL) < 0) return;
    mcplink_client_options_set_era(options, MCPLINK_ERA_MODERN);
    mcplink_tool_add_param(tool, "a", MCPLINK_PARAM_STRING, MCPLINK_PARAM_REQUIRED, NULL);
    mcplink_responder_text(resp, "a", MCPLINK_NUL);
    mcplink_server_remove_tool(server, "a");
    mcplink_server_resource_updated(server, "a");
#elif CASE == 1
    mcplink_server_add_tool(server, tool, NULL, NULL, NULL, NULL);
#elif CASE == 2
    mcplink_server_serve_stdio(server, NULL);
#elif CASE == 3
    mcplink_responder_keep(resp);
#elif CASE == 4
    mcplink_tool_new("a", NULL);
#elif CASE == 5
    mcplink_server_require_scopes(server, MCPLINK_PRIMITIVE_TOOL, "a", "b", NULL);
#elif CASE == 6
    mcplink_responder_require_scopes(resp, "a");
#elif CASE == 7
    mcplink_client_options_set_era(options, MCPLINK_LOG_DEBUG);
#elif CASE == 8
    mcplink_tool_add_param(tool, "a", MCPLINK_PARAM_REQUIRED, MCPLINK_PARAM_OPTIONAL, NULL);
#elif CASE == 9
    if (mcplink_server_require_scopes(server, MCPLINK_LIST_TEMPLATES, "a", "b", NULL) < 0) return;
#elif CASE == 10
    mcplink_client_options_set_limit(options, MCPLINK_HTTP_LIMIT_SESSIONS, 1);
#elif CASE == 11
    mcplink_transport_feed(transport, "a", 1);
#elif CASE == 12
    mcplink_client_options_on_event(options, on_server_event, NULL, NULL);
#elif CASE == 13
    mcplink_prompt_add_argument(NULL, "a", MCPLINK_PARAM_STRING, NULL);
#endif
    (void)transport, (void)on_server_event;
    (void)tool, (void)server, (void)resp, (void)options;
}
