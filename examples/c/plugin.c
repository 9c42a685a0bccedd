/* A plug-in that serves the document of its host to MCP clients, over HTTP on a port that the
 * system chooses. See plugin_host.c.
 *
 * It contains the library, whose symbols are hidden from the host and from other plug-ins. All
 * threads have ended when plugin_stop returns, so the host may then unload the plug-in. */
#include "plugin.h"

#include <mcplink.h>

#include <stdio.h>

static const struct host *host;
static mcplink_server_t *server;
static mcplink_listener_t *listener;

static void get_document(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)user;
    (void)req;
    mcplink_responder_text(resp, host->document(), MCPLINK_NUL);
}

static void append(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)user;
    host->append(mcplink_json_str(mcplink_json_get(mcplink_request_args(req), "text")).ptr);
    if (mcplink_server_resource_updated(server, "host://document") < 0) fputs("the server is closed\n", stderr);
    mcplink_responder_text(resp, "appended", MCPLINK_NUL);
}

static mcplink_status_t make_server(mcplink_error_t **err)
{
    mcplink_server_options_t *o = mcplink_server_options_new("plugin", "1.0");
    mcplink_resource_t *document = mcplink_resource_new("host://document", "document");
    mcplink_tool_t *tool = mcplink_tool_new("append", "Appends text to the document");
    mcplink_status_t st;
    /* One worker, because the host's functions may be called by one thread at a time. */
    mcplink_server_options_set_limit(o, MCPLINK_LIMIT_WORKERS, 1);
    st = mcplink_server_new_with(o, &server, err);
    mcplink_tool_add_param(tool, "text", MCPLINK_PARAM_STRING, MCPLINK_PARAM_REQUIRED, NULL);
    mcplink_resource_set_mime_type(document, "text/plain");
    if (st == MCPLINK_OK) st = mcplink_server_add_resource(server, document, get_document, NULL, NULL, err);
    if (st == MCPLINK_OK) st = mcplink_server_add_tool(server, tool, append, NULL, NULL, err);
    if (st == MCPLINK_OK) st = mcplink_server_listen_http(server, NULL, "0", &listener, err);
    mcplink_tool_free(tool);
    mcplink_resource_free(document);
    mcplink_server_options_free(o);
    return st;
}

void plugin_stop(void)
{
    mcplink_listener_free(listener);
    mcplink_server_free(server);
    listener = NULL;
    server = NULL;
}

int plugin_start(const struct host *of)
{
    mcplink_error_t *err = NULL;
    host = of;
    if (make_server(&err) == MCPLINK_OK) {
        host->print(mcplink_listener_url(listener).ptr);
        return 0;
    }
    host->print(mcplink_error_message(err));
    mcplink_error_free(err);
    plugin_stop();
    return -1;
}
