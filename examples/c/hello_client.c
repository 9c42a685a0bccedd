/* A client with one call: starts ./hello_server, or the program that it is told, and has it greet. */
#include <mcplink.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    const char *command[2];
    mcplink_client_options_t *o = mcplink_client_options_new();
    mcplink_client_t *c = NULL;
    mcplink_result_t *r = NULL;
    mcplink_error_t *err = NULL;
    mcplink_status_t st;

    command[0] = argc > 1 ? argv[1] : "./hello_server";
    command[1] = NULL;
    mcplink_client_options_set_command(o, command);
    st = mcplink_client_open(o, &c, &err);
    if (st == MCPLINK_OK)
        st = mcplink_client_call_tool(c, "greet", "{\"name\":\"C\"}", MCPLINK_NUL, NULL, &r, &err);
    if (st >= 0) {
        mcplink_str_t text = mcplink_result_text(r);
        printf("%.*s\n", (int)text.len, text.ptr);
    } else {
        fprintf(stderr, "%s\n", mcplink_error_message(err));
    }
    mcplink_result_free(r);
    mcplink_error_free(err);
    mcplink_client_free(c);
    mcplink_client_options_free(o);
    return st != MCPLINK_OK;
}
