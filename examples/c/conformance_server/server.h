/* What the files of the conformance server share. */
#ifndef SERVER_H
#define SERVER_H

#include <mcplink.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Each adds its part. They return the first status that is not MCPLINK_OK. */
mcplink_status_t add_tools(mcplink_server_t *srv, mcplink_error_t **err);
mcplink_status_t add_asking(mcplink_server_t *srv, mcplink_error_t **err);
mcplink_status_t add_jobs(mcplink_server_t *srv, mcplink_error_t **err);
mcplink_status_t add_changes(mcplink_server_t *srv, mcplink_error_t **err);
mcplink_status_t add_resources(mcplink_server_t *srv, mcplink_error_t **err);
mcplink_status_t add_prompts(mcplink_server_t *srv, mcplink_error_t **err);

/* An argument of a tool; one without a name ends them. */
struct param {
    const char *name;
    int32_t type;
    const char *description;
    uint32_t flags;
};

struct tool {
    const char *name;
    const char *description;
    mcplink_handler_fn run;
    struct param params[2];
    int32_t task_support;
};

/* Adds tools; user is passed to their handlers. */
mcplink_status_t add_tool_table(mcplink_server_t *srv, const struct tool *tools, size_t count, void *user, mcplink_error_t **err);

/* An argument that is text; answers, and returns false, when it is missing. */
bool text_argument(const mcplink_request_t *req, mcplink_responder_t *resp, const char *name, mcplink_str_t *text);

/* Answers with text, as printf would print it. */
void answer_format(mcplink_responder_t *resp, const char *format, ...);

/* Waits; true when nobody waits for the answer any more. */
bool rest(mcplink_responder_t *resp, double milliseconds);

/* Questions to the client. Where they return false there is no answer (yet), and the handler has to return: it is run again when the
 * answer is there. To ask several questions in one round, ask them all before returning. */
bool ask_form(mcplink_responder_t *resp, const char *key, const char *message, const char *schema, const mcplink_json_t **answer);
bool ask_text(mcplink_responder_t *resp, const char *key, const char *message, const char *field, mcplink_str_t *text);
bool ask_yes(mcplink_responder_t *resp, const char *key, const char *message, const char *field, bool *yes);
bool ask_model(mcplink_responder_t *resp, const char *key, const char *question, size_t len, mcplink_str_t *text);
bool ask_roots(mcplink_responder_t *resp, const char *key, char *list, size_t size);

/* Media: one red pixel, a thousandth of a second of silence. */
extern const uint8_t pixel_png[69];
extern const uint8_t silence_wav[52];

#endif
