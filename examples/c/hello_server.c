/* The smallest server: one tool, over standard input and output. Start it with ./hello_client, or
 * with any other client. */
#include <mcplink.h>
#include <stdio.h>

static void greet(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    char line[128];
    mcplink_str_t who = mcplink_json_str(mcplink_json_get(mcplink_request_args(req), "name"));
    (void)user;
    snprintf(line, sizeof line, "Hello, %.*s!", (int)who.len, who.ptr);
    mcplink_responder_text(resp, line, MCPLINK_NUL);
}

int main(void)
{
    mcplink_error_t *err = NULL;
    mcplink_server_t *srv = mcplink_server_new("hello", "1.0");
    mcplink_tool_t *tool = mcplink_tool_new("greet", "Greets someone");
    mcplink_tool_add_param(tool, "name", MCPLINK_PARAM_STRING, MCPLINK_PARAM_REQUIRED, "who");
    mcplink_status_t st = mcplink_server_add_tool(srv, tool, greet, NULL, NULL, &err);
    mcplink_tool_free(tool);
    if (st == MCPLINK_OK) st = mcplink_server_serve_stdio(srv, &err);   /* until end of file */
    if (st < 0) fprintf(stderr, "hello: %s\n", mcplink_error_message(err));
    mcplink_error_free(err);
    mcplink_server_free(srv);
    return st < 0;
}
