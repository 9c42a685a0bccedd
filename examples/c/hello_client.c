/* The smallest client: it starts hello_server and calls its tool. In the folder of both:
 * ./hello_client */
#include <mcplink.h>
#include <stdio.h>

int main(void)
{
    static const char *const argv[] = { "./hello_server", NULL };
    mcplink_client_options_t *o = mcplink_client_options_new();
    mcplink_client_t *c = NULL; mcplink_result_t *r = NULL; mcplink_error_t *err = NULL;
    mcplink_client_options_set_command(o, argv);
    mcplink_status_t st = mcplink_client_open(o, &c, &err);
    if (st == MCPLINK_OK)
        st = mcplink_client_call_tool(c, "greet", "{\"name\":\"C\"}", MCPLINK_NUL, NULL, &r, &err);
    if (st >= 0) { mcplink_str_t t = mcplink_result_text(r); printf("%.*s\n", (int)t.len, t.ptr); }
    else fprintf(stderr, "%s\n", mcplink_error_message(err));
    mcplink_result_free(r); mcplink_error_free(err); mcplink_client_free(c); mcplink_client_options_free(o);
    return st != MCPLINK_OK;
}
