/* Prompts. */
#include "server.h"

static mcplink_str_t argument(const mcplink_request_t *req, const char *name)
{
    return mcplink_json_str(mcplink_json_get(mcplink_request_args(req), name));
}

/* Answers with the text in `user`. */
static void text(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)req;
    mcplink_responder_text(resp, user, MCPLINK_NUL);
}

static void greet(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)user;
    answer_format(resp, "Please greet %s.", argument(req, "name").ptr);
}

static void complete_name(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    static const char *const known[] = { "alice", "albert", "bob" };
    (void)user;
    (void)req;
    mcplink_responder_values(resp, known, COUNT(known), true);
}

static void with_arguments(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)user;
    answer_format(resp, "Prompt with arguments: arg1='%s', arg2='%s'", argument(req, "arg1").ptr, argument(req, "arg2").ptr);
}

/* Begins a message with the role "user", up to its content. */
static void begin_message(mcplink_writer_t *w)
{
    mcplink_writer_begin_object(w);
    mcplink_writer_key(w, "role");
    mcplink_writer_str(w, "user", MCPLINK_NUL);
    mcplink_writer_key(w, "content");
    mcplink_writer_begin_object(w);
    mcplink_writer_key(w, "type");
}

/* Ends the first message, adds a second one with text, and answers with both. */
static void answer_messages(mcplink_responder_t *resp, mcplink_writer_t *w, const char *text)
{
    mcplink_str_t result;
    mcplink_writer_end(w);
    mcplink_writer_end(w);
    begin_message(w);
    mcplink_writer_str(w, "text", MCPLINK_NUL);
    mcplink_writer_key(w, "text");
    mcplink_writer_str(w, text, MCPLINK_NUL);
    mcplink_writer_end(w);
    mcplink_writer_end(w);
    mcplink_writer_end(w);
    mcplink_writer_end(w);
    if (mcplink_writer_finish(w, &result, NULL) == MCPLINK_OK) mcplink_responder_json(resp, result.ptr, result.len);
    mcplink_writer_free(w);
}

static mcplink_writer_t *begin_messages(void)
{
    mcplink_writer_t *w = mcplink_writer_new();
    mcplink_writer_begin_object(w);
    mcplink_writer_key(w, "messages");
    mcplink_writer_begin_array(w);
    begin_message(w);
    return w;
}

static void with_resource(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    mcplink_str_t uri = argument(req, "resourceUri");
    mcplink_writer_t *w = begin_messages();
    (void)user;
    mcplink_writer_str(w, "resource", MCPLINK_NUL);
    mcplink_writer_key(w, "resource");
    mcplink_writer_begin_object(w);
    mcplink_writer_key(w, "uri");
    mcplink_writer_str(w, uri.ptr, uri.len);
    mcplink_writer_key(w, "mimeType");
    mcplink_writer_str(w, "text/plain", MCPLINK_NUL);
    mcplink_writer_key(w, "text");
    mcplink_writer_str(w, "Embedded resource content.", MCPLINK_NUL);
    mcplink_writer_end(w);
    answer_messages(resp, w, "Please process the resource above.");
}

static void with_image(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    mcplink_writer_t *w = begin_messages();
    (void)user;
    (void)req;
    mcplink_writer_str(w, "image", MCPLINK_NUL);
    mcplink_writer_key(w, "mimeType");
    mcplink_writer_str(w, "image/png", MCPLINK_NUL);
    mcplink_writer_key(w, "data");
    mcplink_writer_bytes(w, pixel_png, sizeof pixel_png);
    answer_messages(resp, w, "Please look at the image above.");
}

static void with_question(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    mcplink_str_t topic;
    (void)user;
    (void)req;
    if (ask_text(resp, "user_context", "What is it about?", "context", &topic)) answer_format(resp, "Write about %s.", topic.ptr);
}

static const struct {
    const char *name, *description;
    mcplink_handler_fn get;
    const char *text;
    const char *arguments[2];
} table[] = {
    { "hello", "Says hello", text, "Say hello.", { NULL } },
    { "greet", "Greets someone", greet, NULL, { "name" } },
    { "third", "The third one", text, "This is the third prompt.", { NULL } },
    { "test_simple_prompt", "Has no arguments", text, "This is a simple prompt for testing.", { NULL } },
    { "test_prompt_with_arguments", "Has two arguments", with_arguments, NULL, { "arg1", "arg2" } },
    { "test_prompt_with_embedded_resource", "Holds a resource", with_resource, NULL, { "resourceUri" } },
    { "test_prompt_with_image", "Holds an image", with_image, NULL, { NULL } },
    { "test_input_required_result_prompt", "Asks the user", with_question, NULL, { NULL } },
};

mcplink_status_t add_prompts(mcplink_server_t *srv, mcplink_error_t **err)
{
    mcplink_status_t st = MCPLINK_OK;
    size_t i, k;
    for (i = 0; i < COUNT(table) && st == MCPLINK_OK; i++) {
        mcplink_prompt_t *prompt = mcplink_prompt_new(table[i].name, table[i].description);
        for (k = 0; k < COUNT(table[i].arguments) && table[i].arguments[k] != NULL; k++)
            mcplink_prompt_add_argument(prompt, table[i].arguments[k], MCPLINK_PARAM_REQUIRED, NULL);
        st = mcplink_server_add_prompt(srv, prompt, table[i].get, (void *)table[i].text, NULL, err);
        mcplink_prompt_free(prompt);
    }
    if (st == MCPLINK_OK)
        st = mcplink_server_add_completer(srv, MCPLINK_PRIMITIVE_PROMPT, "greet", "name", complete_name, NULL, NULL, err);
    return st;
}
