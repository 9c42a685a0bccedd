/* A server whose tool asks the user twice, and takes the payment once. Start it with any client
 * that supports forms: ./ask
 *
 * The library runs a handler that asks again from its start when the answers have come. A step that
 * must happen only once is remembered: here the payment. It is made after the first answer, and not
 * repeated after the second one. */
#include <mcplink.h>

#include <stdatomic.h>
#include <stdio.h>

/* Takes the payment, and returns its number. */
static int pay(void)
{
    static atomic_int last_number = 1000;
    return atomic_fetch_add(&last_number, 1) + 1;
}

static void book(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    mcplink_form_t *form = mcplink_form_new("On which name?");
    const mcplink_json_t *content;
    mcplink_status_t st;
    bool receipt;
    char line[256];
    int64_t number;
    (void)user;
    (void)req;
    mcplink_form_add_field(form, "name", MCPLINK_PARAM_STRING, MCPLINK_PARAM_REQUIRED, NULL);
    st = mcplink_responder_elicit(resp, "name", form, &content, NULL);
    mcplink_form_free(form);
    /* Without an answer the handler returns: it is run again, or nobody can be asked. */
    if (st != MCPLINK_OK) return;
    if (content == NULL) {
        mcplink_responder_tool_error(resp, "the user did not want to", MCPLINK_NUL);
        return;
    }
    if (!mcplink_json_i64(mcplink_responder_recall(resp, "payment"), &number)) {
        number = pay();
        snprintf(line, sizeof line, "%lld", (long long)number);
        if (mcplink_responder_remember(resp, "payment", line, MCPLINK_NUL) < 0) return;
    }
    if (mcplink_responder_confirm(resp, "receipt", "Do you want a receipt?", &receipt, NULL) != MCPLINK_OK) return;
    snprintf(line, sizeof line, "Booked for %.100s, payment %lld%s.", mcplink_json_str(mcplink_json_get(content, "name")).ptr, (long long)number,
             receipt ? ", with a receipt" : "");
    mcplink_responder_text(resp, line, MCPLINK_NUL);
}

int main(void)
{
    mcplink_server_t *srv = mcplink_server_new("ask", "1.0");
    mcplink_tool_t *tool = mcplink_tool_new("book", "Books a seat, and asks what it has to know");
    mcplink_error_t *err = NULL;
    mcplink_status_t st = mcplink_server_add_tool(srv, tool, book, NULL, NULL, &err);
    mcplink_tool_free(tool);
    if (st == MCPLINK_OK) st = mcplink_server_serve_stdio(srv, &err);
    if (st < 0) fprintf(stderr, "ask: %s\n", mcplink_error_message(err));
    mcplink_error_free(err);
    mcplink_server_free(srv);
    return st < 0;
}
