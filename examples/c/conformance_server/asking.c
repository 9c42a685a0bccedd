/* Tools that ask the user, the client's model or the client itself before they answer.
 *
 * Each handler is written as if the answers were there at once. If an answer is missing, the handler
 * returns, and the library runs it again when the answers have come. */
#include "server.h"

#include <stdio.h>
#include <string.h>

/* Sends a question. If the client refused to answer, the model gets an error text; the library
 * answers other failures. */
static bool ask(mcplink_responder_t *resp, const char *key, const char *method, mcplink_writer_t *params, const mcplink_json_t **answer)
{
    mcplink_error_t *err = NULL;
    mcplink_str_t text;
    mcplink_status_t st = mcplink_writer_finish(params, &text, &err);
    if (st == MCPLINK_OK) st = mcplink_responder_ask(resp, key, method, text.ptr, text.len, answer, &err);
    if (st == MCPLINK_E_PEER) mcplink_responder_tool_error(resp, mcplink_error_message(err), MCPLINK_NUL);
    mcplink_error_free(err);
    mcplink_writer_free(params);
    return st == MCPLINK_OK;
}

bool ask_form(mcplink_responder_t *resp, const char *key, const char *message, const char *schema, const mcplink_json_t **answer)
{
    mcplink_writer_t *w = mcplink_writer_new();
    mcplink_writer_begin_object(w);
    mcplink_writer_key(w, "message");
    mcplink_writer_str(w, message, MCPLINK_NUL);
    mcplink_writer_key(w, "requestedSchema");
    mcplink_writer_raw(w, schema, MCPLINK_NUL);
    mcplink_writer_end(w);
    return ask(resp, key, "elicitation/create", w, answer);
}

/* Shows a form with one required field. */
static bool ask_field(mcplink_responder_t *resp, const char *key, const char *message, const char *field, const char *type,
                      const mcplink_json_t **answer)
{
    char schema[256];
    snprintf(schema, sizeof schema, "{\"type\":\"object\",\"properties\":{\"%s\":{\"type\":\"%s\"}},\"required\":[\"%s\"]}", field, type,
             field);
    return ask_form(resp, key, message, schema, answer);
}

bool ask_text(mcplink_responder_t *resp, const char *key, const char *message, const char *field, mcplink_str_t *text)
{
    const mcplink_json_t *answer, *filled;
    if (!ask_field(resp, key, message, field, "string", &answer)) return false;
    filled = mcplink_json_get(mcplink_json_get(answer, "content"), field);
    /* Without the field, the text is the user's action: "decline" or "cancel". */
    *text = mcplink_json_str(filled != NULL ? filled : mcplink_json_get(answer, "action"));
    return true;
}

bool ask_yes(mcplink_responder_t *resp, const char *key, const char *message, const char *field, bool *yes)
{
    const mcplink_json_t *answer;
    if (!ask_field(resp, key, message, field, "boolean", &answer)) return false;
    *yes = mcplink_json_boolean(mcplink_json_get(mcplink_json_get(answer, "content"), field));
    return true;
}

bool ask_model(mcplink_responder_t *resp, const char *key, const char *question, size_t len, mcplink_str_t *text)
{
    const mcplink_json_t *answer, *content;
    mcplink_writer_t *w = mcplink_writer_new();
    mcplink_writer_begin_object(w);
    mcplink_writer_key(w, "messages");
    mcplink_writer_begin_array(w);
    mcplink_writer_begin_object(w);
    mcplink_writer_key(w, "role");
    mcplink_writer_str(w, "user", MCPLINK_NUL);
    mcplink_writer_key(w, "content");
    mcplink_writer_begin_object(w);
    mcplink_writer_key(w, "type");
    mcplink_writer_str(w, "text", MCPLINK_NUL);
    mcplink_writer_key(w, "text");
    mcplink_writer_str(w, question, len);
    mcplink_writer_end(w);
    mcplink_writer_end(w);
    mcplink_writer_end(w);
    mcplink_writer_key(w, "maxTokens");
    mcplink_writer_i64(w, 100);
    mcplink_writer_end(w);
    if (!ask(resp, key, "sampling/createMessage", w, &answer)) return false;
    /* The content is one block, or an array of blocks. */
    content = mcplink_json_get(answer, "content");
    if (mcplink_json_type_of(content) == MCPLINK_JSON_ARRAY) content = mcplink_json_at(content, 0);
    *text = mcplink_json_str(mcplink_json_get(content, "text"));
    return true;
}

bool ask_roots(mcplink_responder_t *resp, const char *key, char *list, size_t size)
{
    const mcplink_json_t *answer, *roots;
    size_t i, len = 0;
    if (mcplink_responder_ask(resp, key, "roots/list", NULL, 0, &answer, NULL) != MCPLINK_OK) return false;
    roots = mcplink_json_get(answer, "roots");
    list[0] = 0;
    for (i = 0; i < mcplink_json_len(roots) && len < size; i++) {
        mcplink_str_t uri = mcplink_json_str(mcplink_json_get(mcplink_json_at(roots, i), "uri"));
        len += (size_t)snprintf(list + len, size - len, "%s%s", i == 0 ? "" : ", ", uri.ptr);
    }
    return true;
}

static void sampling(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    mcplink_str_t prompt, answer;
    (void)user;
    if (text_argument(req, resp, "prompt", &prompt) && ask_model(resp, "answer", prompt.ptr, prompt.len, &answer))
        answer_format(resp, "LLM response: %s", answer.ptr);
}

/* Shows a form, and answers with the user's action. */
static void show_form(mcplink_responder_t *resp, const char *key, const char *message, const char *schema, const char *label)
{
    const mcplink_json_t *answer;
    if (ask_form(resp, key, message, schema, &answer))
        answer_format(resp, "%s: %s %s", label, mcplink_json_str(mcplink_json_get(answer, "action")).ptr,
                      mcplink_json_text(mcplink_json_get(answer, "content")).ptr);
}

static void elicitation(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    mcplink_str_t message;
    (void)user;
    if (text_argument(req, resp, "message", &message))
        show_form(resp, "user", message.ptr,
                  "{\"type\":\"object\",\"properties\":{\"username\":{\"type\":\"string\",\"description\":\"Your user name\"},"
                  "\"email\":{\"type\":\"string\",\"description\":\"Your address\"}},\"required\":[\"username\",\"email\"]}",
                  "User response");
}

static void elicitation_defaults(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)user;
    (void)req;
    show_form(resp, "user", "Is this right?",
              "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\",\"default\":\"John Doe\"},"
              "\"age\":{\"type\":\"integer\",\"default\":30},\"score\":{\"type\":\"number\",\"default\":95.5},"
              "\"status\":{\"type\":\"string\",\"enum\":[\"active\",\"inactive\",\"pending\"],\"default\":\"active\"},"
              "\"verified\":{\"type\":\"boolean\",\"default\":true}}}",
              "Elicitation completed");
}

#define OPTIONS "[\"option1\",\"option2\",\"option3\"]"
#define TITLED                                                                                                                    \
    "[{\"const\":\"option1\",\"title\":\"The option1\"},{\"const\":\"option2\",\"title\":\"The option2\"}," \
    "{\"const\":\"option3\",\"title\":\"The option3\"}]"

static void elicitation_enums(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)user;
    (void)req;
    show_form(resp, "choice", "Which ones?",
              "{\"type\":\"object\",\"properties\":{\"untitledSingle\":{\"type\":\"string\",\"enum\":" OPTIONS "},"
              "\"titledSingle\":{\"type\":\"string\",\"oneOf\":" TITLED "},"
              "\"legacyEnum\":{\"type\":\"string\",\"enum\":" OPTIONS
              ",\"enumNames\":[\"The option1\",\"The option2\",\"The option3\"]},"
              "\"untitledMulti\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"enum\":" OPTIONS "}},"
              "\"titledMulti\":{\"type\":\"array\",\"items\":{\"anyOf\":" TITLED "}}}}",
              "Elicitation completed");
}

/* If the client did not declare sampling, the library's error names the missing capability. */
static void needs_sampling(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    mcplink_str_t answer;
    (void)user;
    (void)req;
    if (ask_model(resp, "answer", "Are you there?", MCPLINK_NUL, &answer)) mcplink_responder_text(resp, answer.ptr, answer.len);
}

static void asks_name(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    mcplink_str_t name;
    (void)user;
    (void)req;
    if (ask_text(resp, "user_name", "What is your name?", "name", &name)) answer_format(resp, "Hello, %s!", name.ptr);
}

static void asks_model(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    mcplink_str_t capital;
    (void)user;
    (void)req;
    if (ask_model(resp, "capital_question", "What is the capital of France?", MCPLINK_NUL, &capital))
        answer_format(resp, "The capital: %s", capital.ptr);
}

static void asks_roots(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    char roots[1024];
    (void)user;
    (void)req;
    if (ask_roots(resp, "client_roots", roots, sizeof roots)) answer_format(resp, "Roots: %s", roots);
}

static void confirms(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    bool ok;
    (void)user;
    (void)req;
    if (ask_yes(resp, "confirm", "Go on?", "ok", &ok)) answer_format(resp, "state-ok: %s", ok ? "yes" : "no");
}

/* Asks three questions before it returns, so they go out together. */
static void asks_everything(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    mcplink_str_t name, greeting;
    char roots[1024];
    bool has_name = ask_text(resp, "user_name", "What is your name?", "name", &name);
    bool has_greeting = ask_model(resp, "greeting", "Write a greeting.", MCPLINK_NUL, &greeting);
    bool has_roots = ask_roots(resp, "client_roots", roots, sizeof roots);
    (void)user;
    (void)req;
    if (has_name && has_greeting && has_roots) answer_format(resp, "%s: %s (%s)", name.ptr, greeting.ptr, roots);
}

static void asks_twice(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    mcplink_str_t name, colour;
    char question[256];
    (void)user;
    (void)req;
    if (!ask_text(resp, "step1", "What is your name?", "name", &name)) return;
    snprintf(question, sizeof question, "%.*s, what is your favourite colour?", (int)(name.len < 200 ? name.len : 0), name.ptr);
    if (ask_text(resp, "step2", question, "color", &colour)) answer_format(resp, "%s likes %s.", name.ptr, colour.ptr);
}

/* Asks only questions for which the client has declared a capability. */
static void asks_what_it_can(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    const mcplink_json_t *can = mcplink_request_capabilities(req);
    mcplink_str_t text;
    if (mcplink_json_get(can, "sampling") != NULL) {
        if (ask_model(resp, "greeting", "Write a greeting.", MCPLINK_NUL, &text)) mcplink_responder_text(resp, text.ptr, text.len);
    } else if (mcplink_json_get(can, "roots") != NULL) {
        asks_roots(user, req, resp);
    } else {
        asks_name(user, req, resp);
    }
}

static const struct tool table[] = {
    { "test_sampling", "Asks the model", sampling,
      { { "prompt", MCPLINK_PARAM_STRING, "What the model is asked.", MCPLINK_PARAM_REQUIRED } }, 0 },
    { "test_elicitation", "Asks the user", elicitation,
      { { "message", MCPLINK_PARAM_STRING, "What the user is told.", MCPLINK_PARAM_REQUIRED } }, 0 },
    { "test_elicitation_sep1034_defaults", "Asks the user with a form that is filled in", elicitation_defaults, { { 0 } }, 0 },
    { "test_elicitation_sep1330_enums", "Has the user choose", elicitation_enums, { { 0 } }, 0 },
    { "test_missing_capability", "Needs a model", needs_sampling, { { 0 } }, 0 },
    { "test_streaming_elicitation", "Asks the user", asks_name, { { 0 } }, 0 },
    { "test_input_required_result_elicitation", "Asks the user", asks_name, { { 0 } }, 0 },
    { "test_input_required_result_sampling", "Asks the model", asks_model, { { 0 } }, 0 },
    { "test_input_required_result_list_roots", "Asks for the roots", asks_roots, { { 0 } }, 0 },
    { "test_input_required_result_request_state", "Asks whether to go on", confirms, { { 0 } }, 0 },
    { "test_input_required_result_tampered_state", "Asks whether to go on", confirms, { { 0 } }, 0 },
    { "test_input_required_result_multiple_inputs", "Asks it all", asks_everything, { { 0 } }, 0 },
    { "test_input_required_result_multi_round", "Asks twice", asks_twice, { { 0 } }, 0 },
    { "test_input_required_result_capabilities", "Asks whoever can be asked", asks_what_it_can, { { 0 } }, 0 },
};

mcplink_status_t add_asking(mcplink_server_t *srv, mcplink_error_t **err)
{
    return add_tool_table(srv, table, COUNT(table), NULL, err);
}
