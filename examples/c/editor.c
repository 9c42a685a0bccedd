/* A program with its own event loop, like an editor: one thread and one poll, which also receives
 * all messages of a server.
 *
 *     ./editor ./conformance_server stdio
 *
 * Type the name of a tool, and its arguments as JSON if it has any: slow {"steps":3}. Calls continue
 * while you type. When the server asks a question, the next line is the answer. "quit", or the end of
 * the input, ends the program. */
#include <mcplink.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct editor {
    mcplink_client_t *client;
    bool is_running;
    int calls;                     /* started, and not finished */
    mcplink_responder_t *question; /* the next line answers it */
    char line[1024];               /* typed so far */
    size_t len;
};

static void say(const char *what, mcplink_str_t text)
{
    printf("%s: %.*s\n", what, (int)text.len, text.ptr);
    fflush(stdout);
}

/* All callbacks run in mcplink_pump_dispatch, on the only thread, so they need no locks. */

static void on_progress(void *user, double progress, double total, mcplink_str_t message)
{
    (void)user;
    printf("  %g of %g  %.*s\n", progress, total, (int)message.len, message.ptr);
    fflush(stdout);
}

static void on_done(void *user, mcplink_call_t *call, mcplink_status_t status, const mcplink_result_t *result, const mcplink_error_t *err)
{
    struct editor *editor = user;
    (void)call;
    editor->calls--;
    if (status == MCPLINK_OK) {
        say("result", mcplink_result_text(result));
    } else if (status == MCPLINK_TOOL_ERROR) {
        say("the tool failed", mcplink_result_text(result));
    } else {
        printf("%s: %s\n", mcplink_status_name(status), mcplink_error_message(err));
        fflush(stdout);
    }
}

static void on_listed(void *user, mcplink_call_t *call, mcplink_status_t status, const mcplink_result_t *result, const mcplink_error_t *err)
{
    (void)user;
    (void)call;
    if (status != MCPLINK_OK) {
        printf("no tools: %s\n", mcplink_error_message(err));
    } else {
        const mcplink_json_t *tools = mcplink_json_get(mcplink_result_json(result), "tools");
        printf("%zu tools, the first is %s\n", mcplink_json_len(tools),
               mcplink_json_str(mcplink_json_get(mcplink_json_at(tools, 0), "name")).ptr);
    }
    fflush(stdout);
}

static void on_listening(void *user, mcplink_call_t *call, mcplink_status_t status, const mcplink_result_t *result, const mcplink_error_t *err)
{
    (void)user; (void)call; (void)result;
    if (status < 0) printf("changes are not reported: %s\n", mcplink_error_message(err));
}

static void on_connected(struct editor *editor)
{
    mcplink_json_t *info = NULL;
    if (mcplink_client_server_info(editor->client, &info, NULL) < 0) puts("no information about the server");
    say("connected to", mcplink_json_str(mcplink_json_pointer(info, "/serverInfo/name")));
    mcplink_json_free(info);
    if (mcplink_client_listen_start(editor->client, "{\"toolsListChanged\":true}", MCPLINK_NUL, NULL, on_listening, NULL, NULL, NULL, NULL) < 0) puts("changes are not reported");
    if (mcplink_client_list_tools_start(editor->client, NULL, on_listed, editor, NULL, NULL, NULL) < 0) puts("the tools can't be listed");
}

static void on_event(void *user, mcplink_event event, const mcplink_json_t *params)
{
    struct editor *editor = user;
    switch (event) {
    case MCPLINK_EVENT_CONNECTED:
        on_connected(editor);
        break;
    case MCPLINK_EVENT_TOOLS_CHANGED:
        printf("the tools are others now\n");
        fflush(stdout);
        break;
    case MCPLINK_EVENT_FAILED:
    case MCPLINK_EVENT_CLOSED:
        if (params != NULL) say("no server", mcplink_json_str(mcplink_json_get(params, "message")));
        editor->is_running = false;
        break;
    default: /* A later version may have more kinds. */
        break;
    }
}

/* The server has withdrawn its question. */
static void on_question_over(void *user)
{
    struct editor *editor = user;
    mcplink_responder_free(editor->question);
    editor->question = NULL;
}

/* Keeps the question until the user has typed the answer. */
static void on_elicit(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    struct editor *editor = user;
    if (editor->question != NULL) { /* One at a time. */
        mcplink_responder_json(resp, "{\"action\":\"cancel\"}", MCPLINK_NUL);
        return;
    }
    editor->question = mcplink_responder_keep(resp);
    if (mcplink_responder_on_cancel(resp, on_question_over, editor, NULL) < 0) puts("a cancelled question stays open");
    say("the server asks", mcplink_json_str(mcplink_json_get(mcplink_request_params(req), "message")));
}

/* Answers with the typed text in the first field of the form. */
static void answer(struct editor *editor, const char *typed)
{
    mcplink_responder_t *question = editor->question;
    const mcplink_request_t *req = mcplink_responder_request(question);
    const mcplink_json_t *fields = mcplink_json_pointer(mcplink_request_params(req), "/requestedSchema/properties");
    mcplink_str_t type = mcplink_json_str(mcplink_json_get(mcplink_json_at(fields, 0), "type"));
    mcplink_writer_t *w = mcplink_writer_new();
    mcplink_str_t text;
    mcplink_writer_begin_object(w);
    mcplink_writer_key(w, "action");
    mcplink_writer_str(w, "accept", MCPLINK_NUL);
    mcplink_writer_key(w, "content");
    mcplink_writer_begin_object(w);
    mcplink_writer_key(w, mcplink_json_key_at(fields, 0).ptr);
    if (strcmp(type.ptr, "string") == 0) mcplink_writer_str(w, typed, MCPLINK_NUL);
    else mcplink_writer_raw(w, typed, MCPLINK_NUL);
    mcplink_writer_end(w);
    mcplink_writer_end(w);
    editor->question = NULL;
    if (mcplink_writer_finish(w, &text, NULL) != MCPLINK_OK || mcplink_responder_json(question, text.ptr, text.len) != MCPLINK_OK)
        mcplink_responder_json(question, "{\"action\":\"cancel\"}", MCPLINK_NUL);
    mcplink_writer_free(w);
    mcplink_responder_free(question);
}

static void call(struct editor *editor, char *line)
{
    mcplink_call_options_t *o = mcplink_call_options_new();
    mcplink_error_t *err = NULL;
    char *args = strchr(line, ' ');
    if (args != NULL) *args++ = 0;
    mcplink_call_options_on_progress(o, on_progress, NULL, NULL);
    if (mcplink_client_call_tool_start(editor->client, line, args, MCPLINK_NUL, o, on_done, editor, NULL, NULL, &err) == MCPLINK_OK)
        editor->calls++;
    else
        printf("%s\n", mcplink_error_message(err));
    fflush(stdout);
    mcplink_error_free(err);
    mcplink_call_options_free(o);
}

static void take_line(struct editor *editor, char *line)
{
    if (strcmp(line, "quit") == 0) editor->is_running = false;
    else if (editor->question != NULL) answer(editor, line);
    else if (*line != 0) call(editor, line);
}

/* Reads input, and splits it into lines. */
static void take_input(struct editor *editor)
{
    ssize_t got = read(STDIN_FILENO, editor->line + editor->len, sizeof editor->line - editor->len);
    char *end;
    if (got <= 0) {
        editor->is_running = false;
        return;
    }
    editor->len += (size_t)got;
    while ((end = memchr(editor->line, '\n', editor->len)) != NULL) {
        size_t rest = editor->len - (size_t)(end + 1 - editor->line);
        *end = 0;
        take_line(editor, editor->line);
        memmove(editor->line, end + 1, rest);
        editor->len = rest;
    }
    if (editor->len == sizeof editor->line) editor->len = 0; /* Too long for a line: drop it. */
}

int main(int argc, char **argv)
{
    struct editor editor = { 0 };
    mcplink_client_options_t *o = mcplink_client_options_new();
    mcplink_pump_t *pump = NULL;
    mcplink_error_t *err = NULL;
    mcplink_status_t st;
    if (argc < 2) {
        fprintf(stderr, "usage: editor PROGRAM [ARGUMENT ...]\n");
        return 2;
    }
    st = mcplink_pump_new(&pump, &err);
    mcplink_client_options_set_command(o, (const char *const *)(argv + 1));
    mcplink_client_options_set_pump(o, pump);
    mcplink_client_options_on_event(o, on_event, &editor, NULL);
    mcplink_client_options_on_elicit(o, on_elicit, &editor, NULL);
    if (st == MCPLINK_OK) st = mcplink_client_start(o, &editor.client, &err);
    mcplink_client_options_free(o);
    editor.is_running = st == MCPLINK_OK;
    while (editor.is_running) {
        struct pollfd polled[2] = { { STDIN_FILENO, POLLIN, 0 }, { (int)mcplink_pump_fd(pump), POLLIN, 0 } };
        poll(polled, 2, -1);
        if (polled[1].revents != 0) mcplink_pump_dispatch(pump, 64);
        if (polled[0].revents != 0) take_input(&editor);
    }
    if (st < 0) fprintf(stderr, "editor: %s\n", mcplink_error_message(err));
    mcplink_error_free(err);
    mcplink_client_free(editor.client);      /* Active calls get their outcome here. */
    /* Only after that: freeing a question answers it, and its call would continue. */
    mcplink_responder_free(editor.question);
    mcplink_pump_free(pump);
    printf("bye, %d calls left\n", editor.calls);
    return st < 0;
}
