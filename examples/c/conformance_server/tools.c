/* Tools that ask no questions. */
#include "server.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static mcplink_status_t add_tool_row(mcplink_server_t *srv, const struct tool *row, void *user, mcplink_error_t **err)
{
    mcplink_tool_t *tool = mcplink_tool_new(row->name, row->description);
    mcplink_status_t st;
    size_t i;
    for (i = 0; i < COUNT(row->params) && row->params[i].name != NULL; i++) {
        const struct param *param = &row->params[i];
        mcplink_tool_add_param(tool, param->name, param->type, param->flags, param->description);
    }
    if (row->task_support) mcplink_tool_set_task_support(tool, row->task_support);
    st = mcplink_server_add_tool(srv, tool, row->run, user, NULL, err);
    mcplink_tool_free(tool);
    return st;
}

mcplink_status_t add_tool_table(mcplink_server_t *srv, const struct tool *tools, size_t count, void *user, mcplink_error_t **err)
{
    mcplink_status_t st = MCPLINK_OK;
    size_t i;
    for (i = 0; i < count && st == MCPLINK_OK; i++) st = add_tool_row(srv, &tools[i], user, err);
    return st;
}

bool text_argument(const mcplink_request_t *req, mcplink_responder_t *resp, const char *name, mcplink_str_t *text)
{
    const mcplink_json_t *node = mcplink_json_get(mcplink_request_args(req), name);
    char line[128];
    *text = mcplink_json_str(node);
    if (mcplink_json_type_of(node) == MCPLINK_JSON_STRING) return true;
    snprintf(line, sizeof line, "the argument '%s' is missing, or is no text", name);
    mcplink_responder_tool_error(resp, line, MCPLINK_NUL);
    return false;
}

void answer_format(mcplink_responder_t *resp, const char *format, ...)
{
    va_list args;
    char *text;
    int len;
    va_start(args, format);
    len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    text = len < 0 ? NULL : malloc((size_t)len + 1);
    if (text == NULL) {
        mcplink_responder_fail(resp, MCPLINK_RPC_INTERNAL_ERROR, "out of memory", NULL);
        return;
    }
    va_start(args, format);
    vsnprintf(text, (size_t)len + 1, format, args);
    va_end(args);
    mcplink_responder_text(resp, text, (size_t)len);
    free(text);
}

bool rest(mcplink_responder_t *resp, double milliseconds)
{
    const double step = 10;
    for (; milliseconds > 0; milliseconds -= step) {
        struct timespec some = { 0, (long)(fmin(step, milliseconds) * 1e6) };
        if (mcplink_responder_is_cancelled(resp)) return true;
        nanosleep(&some, NULL);
    }
    return mcplink_responder_is_cancelled(resp);
}

static void simple_text(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)user;
    (void)req;
    mcplink_responder_text(resp, "This is a simple text response for testing.", MCPLINK_NUL);
}

static void echo(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    mcplink_str_t message;
    (void)user;
    if (text_argument(req, resp, "message", &message)) mcplink_responder_text(resp, message.ptr, message.len);
}

static void greet(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    mcplink_str_t name;
    (void)user;
    if (text_argument(req, resp, "name", &name)) answer_format(resp, "Hello, %s!", name.ptr);
}

static void add_numbers(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    const mcplink_json_t *args = mcplink_request_args(req);
    (void)user;
    answer_format(resp, "%.15g", mcplink_json_f64(mcplink_json_get(args, "a")) + mcplink_json_f64(mcplink_json_get(args, "b")));
}

static void fail(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)user;
    (void)req;
    mcplink_responder_tool_error(resp, "it failed on purpose", MCPLINK_NUL);
}

static void slow(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    const mcplink_json_t *args = mcplink_request_args(req);
    int64_t steps, delay, step;
    (void)user;
    if (!mcplink_json_i64(mcplink_json_get(args, "steps"), &steps)) steps = 5;
    if (!mcplink_json_i64(mcplink_json_get(args, "delay_ms"), &delay)) delay = 100;
    for (step = 1; step <= steps; step++) {
        char line[80];
        if (rest(resp, (double)delay)) return;
        snprintf(line, sizeof line, "step %lld of %lld", (long long)step, (long long)steps);
        mcplink_responder_progress(resp, (double)step, (double)steps, line);
    }
    answer_format(resp, "done %lld", (long long)steps);
}

static void structured(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)user;
    (void)req;
    mcplink_responder_structured(resp, "{\"temperature\":22.5,\"ok\":true}", MCPLINK_NUL);
}

static void image(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)user;
    (void)req;
    mcplink_responder_bytes(resp, pixel_png, sizeof pixel_png, "image/png");
}

static void audio(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)user;
    (void)req;
    mcplink_responder_bytes(resp, silence_wav, sizeof silence_wav, "audio/wav");
}

static void embedded(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)user;
    (void)req;
    mcplink_responder_json(resp,
                           "{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"test://embedded-resource\","
                           "\"mimeType\":\"text/plain\",\"text\":\"This is an embedded resource content.\"}}]}",
                           MCPLINK_NUL);
}

/* Answers with several kinds of content: a text, an image, a resource. */
static void mixed(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    mcplink_writer_t *w = mcplink_writer_new();
    mcplink_str_t result;
    (void)user;
    (void)req;
    mcplink_writer_begin_object(w);
    mcplink_writer_key(w, "content");
    mcplink_writer_begin_array(w);
    mcplink_writer_raw(w, "{\"type\":\"text\",\"text\":\"Multiple content types test:\"}", MCPLINK_NUL);
    mcplink_writer_begin_object(w);
    mcplink_writer_key(w, "type");
    mcplink_writer_str(w, "image", MCPLINK_NUL);
    mcplink_writer_key(w, "mimeType");
    mcplink_writer_str(w, "image/png", MCPLINK_NUL);
    mcplink_writer_key(w, "data");
    mcplink_writer_bytes(w, pixel_png, sizeof pixel_png);
    mcplink_writer_end(w);
    mcplink_writer_raw(w,
                       "{\"type\":\"resource\",\"resource\":{\"uri\":\"test://mixed-content-resource\",\"mimeType\":\"application/json\","
                       "\"text\":\"{\\\"test\\\":\\\"data\\\",\\\"value\\\":123}\"}}",
                       MCPLINK_NUL);
    mcplink_writer_end(w);
    mcplink_writer_end(w);
    if (mcplink_writer_finish(w, &result, NULL) == MCPLINK_OK) mcplink_responder_json(resp, result.ptr, result.len);
    mcplink_writer_free(w);
}

static void logs(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    static const char *const lines[] = { "Tool execution started", "Tool processing data", "Tool execution completed" };
    size_t i;
    (void)user;
    (void)req;
    for (i = 0; i < COUNT(lines); i++) {
        mcplink_responder_log(resp, MCPLINK_LOG_INFO, lines[i], MCPLINK_NUL);
        rest(resp, 50);
    }
    mcplink_responder_text(resp, "Logged three messages.", MCPLINK_NUL);
}

static void logs_once(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)user;
    (void)req;
    mcplink_responder_log(resp, MCPLINK_LOG_INFO, "One message", MCPLINK_NUL);
    mcplink_responder_text(resp, "Logged one message, if you want to know.", MCPLINK_NUL);
}

static void progresses(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    int done;
    (void)user;
    (void)req;
    for (done = 0; done <= 100; done += 50) {
        mcplink_responder_progress(resp, done, 100, NULL);
        rest(resp, 50);
    }
    mcplink_responder_text(resp, "Three steps of progress.", MCPLINK_NUL);
}

static void reconnects(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)user;
    (void)req;
    if (mcplink_responder_close_stream_and_retry(resp, 500) != MCPLINK_OK) return;
    rest(resp, 50);
    mcplink_responder_text(resp, "You came back.", MCPLINK_NUL);
}

static void person(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)user;
    (void)req;
    mcplink_responder_text(resp, "A person.", MCPLINK_NUL);
}

static void mirrored(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    mcplink_str_t value;
    (void)user;
    if (text_argument(req, resp, "value", &value)) mcplink_responder_text(resp, value.ptr, value.len);
}

/* The first tool must be callable without arguments. */
static const struct tool table[] = {
    { "test_simple_text", "Gives a text", simple_text, { { 0 } }, 0 },
    { "echo", "Says back what you say", echo, { { "message", MCPLINK_PARAM_STRING, "What is said back.", MCPLINK_PARAM_REQUIRED } }, 0 },
    { "greet", "Greets someone by name", greet, { { "name", MCPLINK_PARAM_STRING, "Who is greeted.", MCPLINK_PARAM_REQUIRED } }, 0 },
    { "add", "Adds two numbers", add_numbers,
      { { "a", MCPLINK_PARAM_NUMBER, NULL, MCPLINK_PARAM_REQUIRED }, { "b", MCPLINK_PARAM_NUMBER, NULL, MCPLINK_PARAM_REQUIRED } }, 0 },
    { "fail", "Fails on purpose", fail, { { 0 } }, 0 },
    { "slow", "Takes its time and tells how far it is", slow,
      { { "steps", MCPLINK_PARAM_INTEGER, "How many steps to take: 5 without this.", MCPLINK_PARAM_OPTIONAL },
        { "delay_ms", MCPLINK_PARAM_INTEGER, "How long each of them takes, in milliseconds: 100 without this.", MCPLINK_PARAM_OPTIONAL } }, 0 },
    { "image", "Gives an image", image, { { 0 } }, 0 },
    { "test_image_content", "Gives an image", image, { { 0 } }, 0 },
    { "test_audio_content", "Gives a sound", audio, { { 0 } }, 0 },
    { "test_embedded_resource", "Gives a resource", embedded, { { 0 } }, 0 },
    { "test_multiple_content_types", "Gives some of each", mixed, { { 0 } }, 0 },
    { "test_tool_with_logging", "Logs while it works", logs, { { 0 } }, 0 },
    { "test_logging_tool", "Logs one message", logs_once, { { 0 } }, 0 },
    { "test_tool_with_progress", "Tells how far it is", progresses, { { 0 } }, 0 },
    { "test_reconnection", "Has the client come back for the answer", reconnects, { { 0 } }, 0 },
    { "test_error_handling", "Fails on purpose", fail, { { 0 } }, 0 },
};

/* A schema with more than parameters and their types. */
static const char person_schema[] =
    "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"type\":\"object\","
    "\"$defs\":{\"address\":{\"$anchor\":\"addressDef\",\"type\":\"object\","
    "\"properties\":{\"street\":{\"type\":\"string\"},\"city\":{\"type\":\"string\"}}}},"
    "\"properties\":{\"name\":{\"type\":\"string\"},\"address\":{\"$ref\":\"#/$defs/address\"},"
    "\"contactMethod\":{\"type\":\"string\",\"enum\":[\"phone\",\"email\"]},"
    "\"phone\":{\"type\":\"string\"},\"email\":{\"type\":\"string\"}},"
    "\"allOf\":[{\"anyOf\":[{\"required\":[\"phone\"]},{\"required\":[\"email\"]}]}],"
    "\"if\":{\"properties\":{\"contactMethod\":{\"const\":\"phone\"}},\"required\":[\"contactMethod\"]},"
    "\"then\":{\"required\":[\"phone\"]},\"else\":{\"required\":[\"email\"]},\"additionalProperties\":false}";

/* Over HTTP, clients repeat the argument in the header field Mcp-Param-Value. */
static const char mirrored_schema[] = "{\"type\":\"object\",\"properties\":{\"value\":{\"type\":\"string\",\"x-mcp-header\":\"Value\"}},"
                                      "\"required\":[\"value\"]}";

static const char weather_schema[] = "{\"type\":\"object\",\"properties\":{\"temperature\":{\"type\":\"number\"},\"ok\":{\"type\":\"boolean\"}},"
                                     "\"required\":[\"temperature\",\"ok\"]}";

static mcplink_status_t add_tool_with(mcplink_server_t *srv, const char *name, const char *description, const char *input,
                                      const char *output, mcplink_handler_fn run, mcplink_error_t **err)
{
    mcplink_tool_t *tool = mcplink_tool_new(name, description);
    mcplink_status_t st;
    if (input != NULL) mcplink_tool_set_input_schema(tool, input, MCPLINK_NUL);
    mcplink_tool_set_output_schema(tool, output, MCPLINK_NUL);
    st = mcplink_server_add_tool(srv, tool, run, NULL, NULL, err);
    mcplink_tool_free(tool);
    return st;
}

mcplink_status_t add_tools(mcplink_server_t *srv, mcplink_error_t **err)
{
    mcplink_status_t st = add_tool_table(srv, table, COUNT(table), NULL, err);
    if (st == MCPLINK_OK)
        st = add_tool_with(srv, "structured", "Gives a value with a schema", NULL, weather_schema, structured, err);
    if (st == MCPLINK_OK)
        st = add_tool_with(srv, "json_schema_2020_12_tool", "Has an input schema with many keywords", person_schema, NULL, person, err);
    if (st == MCPLINK_OK)
        st = add_tool_with(srv, "test_custom_header", "Says back its argument, which travels as a header too", mirrored_schema, NULL,
                           mirrored, err);
    return st;
}
