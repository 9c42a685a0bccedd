/* A program that is an HTTP server and its own client, to measure the size of HTTP in both
 * directions. */
#include <mcplink.h>
#include <stdio.h>

static void greet(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)user; (void)req;
    mcplink_responder_text(resp, "Hello!", MCPLINK_NUL);
}

int main(void)
{
    mcplink_error_t *err = NULL;
    mcplink_listener_t *listener = NULL;
    mcplink_client_t *c = NULL;
    mcplink_result_t *r = NULL;
    mcplink_server_t *srv = mcplink_server_new("hello", "1.0");
    mcplink_tool_t *tool = mcplink_tool_new("greet", "Greets");
    mcplink_client_options_t *o = mcplink_client_options_new();
    mcplink_status_t st = mcplink_server_add_tool(srv, tool, greet, NULL, NULL, &err);
    mcplink_tool_free(tool);
    if (st == MCPLINK_OK) st = mcplink_server_listen_http(srv, NULL, "0", &listener, &err);
    if (st == MCPLINK_OK) {
        char url[256];
        mcplink_str_t it = mcplink_listener_url(listener);
        snprintf(url, sizeof url, "%.*s", (int)it.len, it.ptr);
        mcplink_client_options_set_url(o, url);
        st = mcplink_client_open(o, &c, &err);
    }
    if (st == MCPLINK_OK) st = mcplink_client_call_tool(c, "greet", "{}", MCPLINK_NUL, NULL, &r, &err);
    if (st == MCPLINK_OK) { mcplink_str_t t = mcplink_result_text(r); printf("%.*s\n", (int)t.len, t.ptr); }
    else fprintf(stderr, "%s\n", mcplink_error_message(err));
    mcplink_result_free(r); mcplink_error_free(err);
    mcplink_client_free(c); mcplink_client_options_free(o);
    mcplink_listener_free(listener); mcplink_server_free(srv);
    return st != MCPLINK_OK;
}
