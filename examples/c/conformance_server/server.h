/* Declarations that the files of the conformance server share. */
#ifndef SERVER_H
#define SERVER_H

#include <mcplink.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Each function adds its part of the server. It returns the first status that is not MCPLINK_OK. */
mcplink_status_t add_tools(mcplink_server_t *srv, mcplink_error_t **err);
mcplink_status_t add_asking(mcplink_server_t *srv, mcplink_error_t **err);
mcplink_status_t add_jobs(mcplink_server_t *srv, mcplink_error_t **err);
mcplink_status_t add_changes(mcplink_server_t *srv, mcplink_error_t **err);
mcplink_status_t add_resources(mcplink_server_t *srv, mcplink_error_t **err);
mcplink_status_t add_prompts(mcplink_server_t *srv, mcplink_error_t **err);

/* A parameter of a tool; one without a name ends the list. */
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
    mcplink_task_support task_support; /* 0: the default */
};

/* Adds tools; `user` is passed to their handlers. */
mcplink_status_t add_tool_table(mcplink_server_t *srv, const struct tool *tools, size_t count, void *user, mcplink_error_t **err);

/* Gets a string argument. If it is missing, answers with an error and returns false. */
bool text_argument(const mcplink_request_t *req, mcplink_responder_t *resp, const char *name, mcplink_str_t *text);

/* Answers with text that is formatted like printf's. */
void answer_format(mcplink_responder_t *resp, const char *format, ...);

/* Sleeps; returns true when the request was cancelled. */
bool rest(mcplink_responder_t *resp, double milliseconds);

/* Questions to the client. They return false if there is no answer (yet), and then the handler must
 * return: the library runs it again when the answer has come. To ask several questions in one
 * round, ask all of them before you return. */
bool ask_form(mcplink_responder_t *resp, const char *key, const char *message, const char *schema, const mcplink_json_t **answer);
bool ask_text(mcplink_responder_t *resp, const char *key, const char *message, const char *field, mcplink_str_t *text);
bool ask_yes(mcplink_responder_t *resp, const char *key, const char *message, const char *field, bool *yes);
bool ask_model(mcplink_responder_t *resp, const char *key, const char *question, size_t len, mcplink_str_t *text);
bool ask_roots(mcplink_responder_t *resp, const char *key, char *list, size_t size);

/* Media: one red pixel, and a thousandth of a second of silence. */
extern const uint8_t pixel_png[69];
extern const uint8_t silence_wav[52];

#endif
