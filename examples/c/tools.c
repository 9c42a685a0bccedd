/* examples/c/tools.c: a server of seven tools, a resource, a template, a prompt and completers.
 * It serves standard input and output, or HTTP: TOKEN=secret ./tools 127.0.0.1:8080 */
#include <mcplink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const titles[] = { "cat", "milk", "tax" };
static const char *const texts[] = { "feed the cat", "buy milk", "pay the tax" };
enum { NOTES = 3 };

#define HANDLER(name) /* few use all parameters */ \
    static void name(__attribute__((unused)) void *user, __attribute__((unused)) const mcplink_request_t *req, mcplink_responder_t *resp)

static void answer_number(mcplink_responder_t *resp, double number)
{
    char text[64];
    snprintf(text, sizeof text, "%g", number);
    mcplink_responder_text(resp, text, MCPLINK_NUL);
}

HANDLER(add)
{
    double a = 0, b = 0;
    if (mcplink_request_number(req, resp, "a", &a) < 0 || mcplink_request_number(req, resp, "b", &b) < 0) return;
    answer_number(resp, a + b);
}

HANDLER(search)
{
    mcplink_str_t query = { "", 0 }, order = { "", 0 };
    int64_t limit = 0;
    if (mcplink_request_string(req, resp, "query", &query) < 0 || mcplink_request_integer(req, resp, "limit", &limit) < 0 ||
        mcplink_request_string(req, resp, "order", &order) < 0) return;
    for (int i = 0; i < NOTES && limit > 0; i++) {
        int at = strcmp(order.ptr, "descending") == 0 ? NOTES - 1 - i : i;
        if (strstr(texts[at], query.ptr)) mcplink_responder_add_text(resp, texts[at], MCPLINK_NUL), limit--;
    }
    mcplink_responder_send(resp);
}

HANDLER(total)
{
    const mcplink_json_t *numbers = mcplink_json_get(mcplink_request_args(req), "numbers");
    double sum = 0;
    for (size_t i = 0; i < mcplink_json_len(numbers); i++) sum += mcplink_json_f64(mcplink_json_at(numbers, i));
    answer_number(resp, sum);
}

HANDLER(picture)
{
    static const uint8_t gif[] = "GIF89a\1\0\1\0\200\0\0\0\0\0\377\377\377,\0\0\0\0\1\0\1\0\0\2\2D\1";
    mcplink_responder_add_text(resp, "one pixel", MCPLINK_NUL);
    mcplink_responder_add_bytes(resp, gif, sizeof gif, "image/gif");
    mcplink_responder_send(resp);
}

HANDLER(count)
{
    int64_t to = 0;
    if (mcplink_request_integer(req, resp, "to", &to) < 0) return;
    for (int64_t i = 1; i <= to && !mcplink_responder_is_cancelled(resp); i++) mcplink_responder_progress(resp, (double)i, (double)to, NULL);
    mcplink_responder_text(resp, "done", MCPLINK_NUL);
}

/* While the question is pending, a handler returns: it runs again when the answer has come. */
HANDLER(erase)
{
    bool agreed;
    if (mcplink_responder_confirm(resp, "sure", "Really?", &agreed, NULL) != MCPLINK_OK) return;
    mcplink_responder_text(resp, agreed ? "erased" : "the user did not agree", MCPLINK_NUL);
}

HANDLER(summarize)
{
    const mcplink_json_t *answer;
    if (mcplink_responder_ask(resp, "summary", "sampling/createMessage", user, MCPLINK_NUL, &answer, NULL) != MCPLINK_OK) return;
    mcplink_responder_text(resp, mcplink_json_str(mcplink_json_pointer(answer, "/content/text")).ptr, MCPLINK_NUL);
}

/* The list for the resource, and a note for the template and the prompt. */
HANDLER(note)
{
    mcplink_str_t title = { "", 0 };
    if (mcplink_request_string(req, resp, "title", &title) < 0) return;
    const char *text = title.len == 0 ? "cat, milk, tax" : NULL;
    for (int i = 0; i < NOTES; i++) if (strcmp(titles[i], title.ptr) == 0) text = texts[i];
    if (text) mcplink_responder_text(resp, text, MCPLINK_NUL);
    else mcplink_responder_fail(resp, MCPLINK_RPC_INVALID_PARAMS, "there is no such note", NULL);
}

HANDLER(complete) { mcplink_responder_values(resp, titles, NOTES, true); }

static mcplink_server_t *server;
static mcplink_error_t *err;
static mcplink_status_t failed;

static void add_tool(mcplink_tool_t *tool, mcplink_handler_fn handler, void *user)
{
    if (!failed) failed = mcplink_server_add_tool(server, tool, handler, user, NULL, &err);
    mcplink_tool_free(tool);
}

static void add_notes(void)
{
    mcplink_resource_t *list = mcplink_resource_new("notes://", "all notes");
    mcplink_template_t *one = mcplink_template_new("notes://{title}", "a note");
    mcplink_prompt_t *remind = mcplink_prompt_new("remind", "Reminds of a note");
    mcplink_prompt_add_argument(remind, "title", MCPLINK_PARAM_REQUIRED, "which note");
    if (!failed) failed = mcplink_server_add_resource(server, list, note, NULL, NULL, &err);
    if (!failed) failed = mcplink_server_add_template(server, one, note, NULL, NULL, &err);
    if (!failed) failed = mcplink_server_add_prompt(server, remind, note, NULL, NULL, &err);
    if (!failed) failed = mcplink_server_add_completer(server, MCPLINK_PRIMITIVE_TEMPLATE, "notes://{title}", "title", complete, NULL, NULL, &err);
    if (!failed) failed = mcplink_server_add_completer(server, MCPLINK_PRIMITIVE_PROMPT, "remind", "title", complete, NULL, NULL, &err);
    mcplink_resource_free(list), mcplink_template_free(one), mcplink_prompt_free(remind);
}

static void serve_http(const char *address)
{
    mcplink_http_options_t *options = mcplink_http_options_new();
    mcplink_listener_t *listener = NULL;
    mcplink_http_options_add_token(options, getenv("TOKEN"), "friend");   /* without it, listening fails */
    failed = mcplink_server_listen_http(server, options, address, &listener, &err);
    mcplink_http_options_free(options);
    if (!failed) fprintf(stderr, "%s\n", mcplink_listener_url(listener).ptr);
    while (!failed && getchar() != EOF) {}                               /* until end of input */
    mcplink_listener_free(listener);
}

int main(int argc, char **argv)
{
    static const char *const orders[] = { "ascending", "descending" };
    static char sampling[] = "{\"maxTokens\":50,\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"Summarize my notes\"}}]}";
    server = mcplink_server_new("tools", "1.0");
    mcplink_tool_t *tool = mcplink_tool_new("add", "Adds two numbers");
    mcplink_tool_add_param(tool, "a", MCPLINK_PARAM_NUMBER, MCPLINK_PARAM_REQUIRED, NULL);
    mcplink_tool_add_param(tool, "b", MCPLINK_PARAM_NUMBER, MCPLINK_PARAM_REQUIRED, NULL);
    add_tool(tool, add, NULL);
    tool = mcplink_tool_new("search", "Searches the notes");
    mcplink_tool_add_param(tool, "query", MCPLINK_PARAM_STRING, MCPLINK_PARAM_REQUIRED, "a part of the text");
    mcplink_tool_add_integer(tool, "limit", MCPLINK_PARAM_OPTIONAL, 1, 50, "how many notes");
    mcplink_tool_set_default_value(tool, "limit", "10", MCPLINK_NUL);
    mcplink_tool_add_choice(tool, "order", MCPLINK_PARAM_OPTIONAL, orders, 2, NULL);
    mcplink_tool_set_default_value(tool, "order", "\"ascending\"", MCPLINK_NUL);
    add_tool(tool, search, NULL);
    tool = mcplink_tool_new("total", "Adds numbers");
    mcplink_tool_add_array(tool, "numbers", MCPLINK_PARAM_REQUIRED, MCPLINK_PARAM_NUMBER, 1, 100, NULL);
    add_tool(tool, total, NULL);
    tool = mcplink_tool_new("count", "Counts, with progress");
    mcplink_tool_add_integer(tool, "to", MCPLINK_PARAM_REQUIRED, 1, 1000, NULL);
    add_tool(tool, count, NULL);
    add_tool(mcplink_tool_new("picture", "Shows a picture"), picture, NULL);
    add_tool(mcplink_tool_new("erase", "Erases the notes, if the user agrees"), erase, NULL);
    add_tool(mcplink_tool_new("summarize", "Summarizes the notes with the model of the client"), summarize, sampling);
    if (!failed) add_notes();
    if (!failed && argc > 1) serve_http(argv[1]);
    else if (!failed) failed = mcplink_server_serve_stdio(server, &err);
    if (err) fprintf(stderr, "tools: %s\n", mcplink_error_message(err));
    mcplink_error_free(err), mcplink_server_free(server);
    return failed < 0;
}
