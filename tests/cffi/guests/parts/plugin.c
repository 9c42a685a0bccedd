/* A plug-in with its own copy of the library: what it says comes from its own copy. */
#include <mcplink.h>

#include <stddef.h>

const char *plugin_version(void);
int plugin_greets(const char *const *argv);

const char *plugin_version(void) { return mcplink_version(); }

/* 0 when a server was opened, called and closed. */
int plugin_greets(const char *const *argv)
{
    mcplink_client_options_t *o = mcplink_client_options_new();
    mcplink_client_t *client = NULL;
    mcplink_status_t st;
    mcplink_client_options_set_command(o, argv);
    st = mcplink_client_open(o, &client, NULL);
    if (st == MCPLINK_OK) st = mcplink_client_ping(client, NULL, NULL);
    mcplink_client_free(client);
    mcplink_client_options_free(o);
    return st;
}
