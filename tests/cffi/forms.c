/* Questions to the user: confirmations, and forms that are built of fields. */
#include "talk.h"

#include <math.h>
#include <stdint.h>

static void confirming(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    bool agreed = true;
    mcplink_error_t *err = NULL;
    mcplink_status_t st = mcplink_responder_confirm(resp, "sure", "Really?", &agreed, &err);
    (void)user, (void)req;
    CHECK((st < 0) == (err != NULL) && (st == MCPLINK_OK || !agreed));
    mcplink_error_free(err);
    if (st != MCPLINK_OK) return;
    mcplink_responder_text(resp, agreed ? "agreed" : "not agreed", MCPLINK_NUL);
}

static void booking(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    const mcplink_json_t *content = (const mcplink_json_t *)1;
    mcplink_status_t st = mcplink_responder_elicit(resp, "seats", user, &content, NULL);
    (void)req;
    CHECK(st == MCPLINK_OK || content == NULL);
    if (st != MCPLINK_OK) return;
    mcplink_responder_text(resp, content ? mcplink_json_text(content).ptr : "nothing", MCPLINK_NUL);
}

static mcplink_form_t *seats(void)
{
    static const char *const meals[] = { "soup", "salad" };
    mcplink_form_t *form = mcplink_form_new("Which seats?");
    CHECK(mcplink_form_add_integer(form, "seats", MCPLINK_PARAM_REQUIRED, 1, 8, "How many") == MCPLINK_OK);
    CHECK(mcplink_form_add_field(form, "name", MCPLINK_PARAM_STRING, MCPLINK_PARAM_REQUIRED, NULL) == MCPLINK_OK);
    CHECK(mcplink_form_add_number(form, "budget", MCPLINK_PARAM_OPTIONAL, 0.5, INFINITY, NULL) == MCPLINK_OK);
    CHECK(mcplink_form_add_choice(form, "meal", MCPLINK_PARAM_OPTIONAL, meals, 2, "What to eat") == MCPLINK_OK);
    CHECK(mcplink_form_add_choices(form, "extras", MCPLINK_PARAM_OPTIONAL, meals, 2, 1, SIZE_MAX, NULL) == MCPLINK_OK);
    CHECK(mcplink_form_add_field_schema(form, "mail", MCPLINK_PARAM_OPTIONAL, "{\"type\":\"string\",\"format\":\"email\",\"title\":\"Mail\"}", MCPLINK_NUL) == MCPLINK_OK);
    CHECK(mcplink_form_add_field(form, "aisle", MCPLINK_PARAM_BOOLEAN, MCPLINK_PARAM_OPTIONAL, NULL) == MCPLINK_OK);
    CHECK(mcplink_form_set_default_value(form, "seats", "2", MCPLINK_NUL) == MCPLINK_OK);
    CHECK(mcplink_form_set_default_value(form, "extras", "[\"soup\"]", MCPLINK_NUL) == MCPLINK_OK);
    return form;
}

/* The fields in the order in which they were added, with what was said of them. */
static const char asked[] = "\"message\":\"Which seats?\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{"
    "\"seats\":{\"type\":\"integer\",\"description\":\"How many\",\"minimum\":1,\"maximum\":8,\"default\":2},"
    "\"name\":{\"type\":\"string\"},"
    "\"budget\":{\"type\":\"number\",\"minimum\":0.5},"
    "\"meal\":{\"type\":\"string\",\"description\":\"What to eat\",\"enum\":[\"soup\",\"salad\"]},"
    "\"extras\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"enum\":[\"soup\",\"salad\"]},\"minItems\":1,\"default\":[\"soup\"]},"
    "\"mail\":{\"type\":\"string\",\"title\":\"Mail\",\"format\":\"email\"},"
    "\"aisle\":{\"type\":\"boolean\"}},\"required\":[\"seats\",\"name\"]}";

/* Calls a tool, and answers its question with `reply`: the members of a response. Returns the answer of the call. */
static const char *call(talk_t *talk, const char *tool, const char *question, const char *reply)
{
    static int calls;
    char text[512], id[16];
    long number;
    const char *line;
    snprintf(id, sizeof id, "\"c%d\"", ++calls);
    talk_call(talk, id, tool, "{}");
    line = TALK_HOLDS(talk, "\"method\":\"elicitation/create\"");
    CHECK(strstr(line, question) != NULL && sscanf(strstr(line, "\"id\":"), "\"id\":%ld", &number) == 1);
    snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%ld,%s}", number, reply);
    talk_send(talk, text);
    snprintf(text, sizeof text, "\"id\":%s", id);
    return TALK_HOLDS(talk, text);
}

#define SAYS(line, part) CHECK(strstr(line, part) != NULL)

static void asks(void)
{
    static const char sure[] = "\"message\":\"Really?\"";
    mcplink_server_t *server = mcplink_server_new("t", "1");
    mcplink_form_t *form = seats();
    talk_t talk;
    const char *line;
    add_tool(server, "erase", confirming, NULL, NULL);
    add_tool(server, "book", booking, form, NULL);
    talk = talk_begin(server);
    talk_open(&talk, "{\"elicitation\":{\"form\":{}}}");

    SAYS(call(&talk, "erase", sure, "\"result\":{\"action\":\"accept\",\"content\":{}}"), "\"agreed\"");
    SAYS(call(&talk, "erase", sure, "\"result\":{\"action\":\"decline\"}"), "not agreed");
    SAYS(call(&talk, "erase", sure, "\"result\":{\"action\":\"cancel\"}"), "not agreed");
    /* The handler returns without an answer: the model reads the reason. */
    line = call(&talk, "erase", sure, "\"error\":{\"code\":-1,\"message\":\"no one here\"}");
    SAYS(line, "\"isError\":true");
    SAYS(line, "no one here");

    SAYS(call(&talk, "book", asked, "\"result\":{\"action\":\"accept\",\"content\":{\"seats\":3,\"name\":\"C\"}}"), "{\\\"seats\\\":3,\\\"name\\\":\\\"C\\\"}");
    SAYS(call(&talk, "book", asked, "\"result\":{\"action\":\"decline\"}"), "nothing");
    SAYS(call(&talk, "book", asked, "\"error\":{\"code\":-1,\"message\":\"no one here\"}"), "no one here");
    talk_end(&talk);
    mcplink_server_free(server);
    mcplink_form_free(form);
}

/* A form that lacks a field is not shown: the reason stays with the form. */
static void broken(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    const mcplink_json_t *content = NULL;
    mcplink_error_t *err = NULL;
    (void)req;
    CHECK(mcplink_responder_elicit(resp, "a", user, &content, &err) == MCPLINK_E_INVALID);
    CHECK(strstr(mcplink_error_message(err), "mcplink_form_add_choice") != NULL && strstr(mcplink_error_message(err), "form 'Which?'") != NULL);
    mcplink_error_free(err);
    CHECK(mcplink_responder_elicit(resp, "a", NULL, &content, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_responder_elicit(resp, "a", user, NULL, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_responder_confirm(resp, "a", NULL, &(bool){ false }, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_responder_confirm(resp, "a", "?", NULL, NULL) == MCPLINK_E_INVALID);
    mcplink_responder_text(resp, "refused", MCPLINK_NUL);
}

/* M-ELIC-S-14, M-ELIC-S-15 */
static void refuses(void)
{
    static const char *const none[] = { NULL };
    mcplink_server_t *server = mcplink_server_new("t", "1");
    mcplink_form_t *form = mcplink_form_new("Which?");
    talk_t talk;
    CHECK(mcplink_form_new(NULL) == NULL);
    mcplink_form_free(NULL);
    CHECK(mcplink_form_add_choice(form, "a", MCPLINK_PARAM_OPTIONAL, none, 0, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_form_add_choice(form, "a", MCPLINK_PARAM_OPTIONAL, none, 1, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_form_add_choices(form, "a", MCPLINK_PARAM_OPTIONAL, (const char *const[]){ "x" }, 1, 2, 1, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_form_add_field(form, "a", MCPLINK_PARAM_OBJECT, MCPLINK_PARAM_OPTIONAL, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_form_add_field(form, "a", MCPLINK_PARAM_ARRAY, MCPLINK_PARAM_OPTIONAL, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_form_add_field(form, NULL, MCPLINK_PARAM_STRING, MCPLINK_PARAM_OPTIONAL, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_form_add_integer(form, "a", MCPLINK_PARAM_OPTIONAL, 2, 1, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_form_add_number(form, "a", MCPLINK_PARAM_OPTIONAL, NAN, 1, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_form_add_field_schema(form, "a", MCPLINK_PARAM_OPTIONAL, "{\"type\":\"string\",\"format\":\"colour\"}", MCPLINK_NUL) == MCPLINK_E_INVALID);
    CHECK(mcplink_form_add_field_schema(form, "a", MCPLINK_PARAM_OPTIONAL, "{\"type\":\"integer\",\"maximum\":1,\"default\":2}", MCPLINK_NUL) == MCPLINK_E_INVALID);
    CHECK(mcplink_form_add_field_schema(form, "a", MCPLINK_PARAM_OPTIONAL, "{", MCPLINK_NUL) == MCPLINK_E_INVALID);
    CHECK(mcplink_form_set_default_value(form, "a", "1", MCPLINK_NUL) == MCPLINK_E_INVALID);
    CHECK(mcplink_form_add_field(form, "b", MCPLINK_PARAM_INTEGER, MCPLINK_PARAM_OPTIONAL, NULL) == MCPLINK_OK);
    CHECK(mcplink_form_add_field(form, "b", MCPLINK_PARAM_INTEGER, MCPLINK_PARAM_OPTIONAL, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_form_set_default_value(form, "b", "\"1\"", MCPLINK_NUL) == MCPLINK_E_INVALID);
    add_tool(server, "broken", broken, form, NULL);
    talk = talk_begin(server);
    talk_open(&talk, "{\"elicitation\":{}}");
    talk_call(&talk, "1", "broken", "{}");
    TALK_HOLDS(&talk, "refused");
    talk_end(&talk);
    mcplink_server_free(server);
    mcplink_form_free(form);
}

int main(void)
{
    asks();
    refuses();
    puts("forms are shown as they were built");
    return 0;
}
