/* fork: handles belong to the process that made them. In the other one they say so, and freeing them disturbs nobody. */
#include "guest.h"

static mcplink_client_t *client;
static mcplink_server_t *server;
static mcplink_session_t *session;
static mcplink_pump_t *pump;
static mcplink_cancel_t *cancel;
static mcplink_call_t *call;
static mcplink_responder_t *kept;
static volatile int done;

static void on_done(void *user, mcplink_call_t *c, mcplink_status_t st, const mcplink_result_t *r, const mcplink_error_t *e)
{
    (void)user, (void)c, (void)st, (void)r, (void)e;
    done++;
}

static void ignore(void *user) { (void)user; }
static void count(void *user) { ++*(int *)user; }

/* Its request is answered when this program wants, or not at all. */
static void tool_keep(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    (void)user, (void)request;
    __atomic_store_n(&kept, mcplink_responder_keep(responder), __ATOMIC_RELEASE);
}

static void ask_to_keep(int fd)
{
    static const char request[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"keep\",\"arguments\":{},\"_meta\":{"
        "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}}}\n";
    CHECK(write(fd, request, sizeof request - 1) == (ssize_t)sizeof request - 1);
    UNTIL(__atomic_load_n(&kept, __ATOMIC_ACQUIRE) != NULL);
}

/* What has come for the one who asked, without waiting for it. */
static size_t lines_of(int fd, char *text, size_t size)
{
    ssize_t got = recv(fd, text, size - 1, MSG_DONTWAIT);
    size_t lines = 0;
    text[got > 0 ? got : 0] = 0;
    for (; *text != 0; text++) lines += *text == '\n';
    return lines;
}

static void free_all(void)
{
    mcplink_call_free(call);
    mcplink_session_free(session);
    mcplink_client_free(client);
    mcplink_server_free(server);
    mcplink_pump_free(pump);
    mcplink_cancel_free(cancel);
    mcplink_responder_free(kept);
}

static void in_the_child(void)
{
    mcplink_result_t *result = NULL;
    mcplink_json_t *doc = NULL;
    mcplink_call_t *another = NULL;
    mcplink_error_t *err = NULL;
    mcplink_client_t *own;
    mcplink_tool_t *tool = mcplink_tool_new("late", "");
    int64_t begin = now_ms();
    int ended = 0;

    CHECK(mcplink_client_call_tool(client, "greet", NULL, 0, NULL, &result, &err) == MCPLINK_E_FORKED && result == NULL);
    CHECK(strstr(mcplink_error_message(err), "fork") != NULL);
    mcplink_error_free(err);
    CHECK(mcplink_client_call_tool_start(client, "greet", NULL, 0, NULL, on_done, NULL, NULL, &another, NULL) == MCPLINK_E_FORKED);
    CHECK(mcplink_client_ping(client, NULL, NULL) == MCPLINK_E_FORKED);
    CHECK(mcplink_client_notify(client, "notifications/x", NULL, 0, NULL) == MCPLINK_E_FORKED);
    CHECK(mcplink_client_stats(client, &doc, NULL) == MCPLINK_E_FORKED && doc == NULL);
    CHECK(mcplink_client_close(client, 10, NULL) == MCPLINK_E_FORKED);
    CHECK(!mcplink_client_has(client, "tools"));
    CHECK(mcplink_call_wait(call, 10, &result, NULL) == MCPLINK_E_FORKED);
    CHECK(mcplink_call_cancel(call, NULL) == MCPLINK_E_FORKED);
    CHECK(mcplink_server_add_tool(server, tool, tool_greet, NULL, NULL, NULL) == MCPLINK_E_FORKED);
    mcplink_tool_free(tool);
    CHECK(mcplink_server_remove_tool(server, "greet") == MCPLINK_E_FORKED);
    CHECK(mcplink_server_serve_stdio(server, NULL) == MCPLINK_E_FORKED);
    CHECK(mcplink_session_wait(session, NULL) == MCPLINK_E_FORKED);
    CHECK(mcplink_session_close(session) == MCPLINK_E_FORKED);
    CHECK(mcplink_pump_wait(pump, 10) == MCPLINK_E_FORKED);
    CHECK(mcplink_pump_dispatch(pump, 1) == MCPLINK_E_FORKED);
    CHECK(mcplink_pump_set_notify(pump, ignore, NULL, NULL) == MCPLINK_E_FORKED);
    CHECK(mcplink_cancel_trigger(cancel) == MCPLINK_E_FORKED);
    CHECK(mcplink_responder_progress(kept, 1, 2, NULL) == MCPLINK_E_FORKED);
    CHECK(mcplink_responder_ask(kept, "k", "roots/list", NULL, 0, NULL, NULL) == MCPLINK_E_FORKED);
    CHECK(mcplink_responder_on_cancel(kept, ignore, &ended, count) == MCPLINK_E_FORKED && ended == 1);
    CHECK(mcplink_responder_text(kept, "from the child", MCPLINK_NUL) == MCPLINK_E_FORKED);
    CHECK(mcplink_responder_fail(kept, 1, "from the child", NULL) == MCPLINK_E_FORKED);
    CHECK(mcplink_responder_recall(kept, "k") == NULL && !mcplink_responder_is_cancelled(kept));
    CHECK_TEXT(mcplink_request_name(mcplink_responder_request(kept)), "keep");
    /* What belongs to no process works, and so does a handle of this process's own. */
    CHECK(mcplink_json_parse("[1]", MCPLINK_NUL, &doc, NULL) == MCPLINK_OK);
    mcplink_json_free(doc);
    own = guest_client();
    guest_greets(own);
    mcplink_client_free(own);

    free_all();
    CHECK(now_ms() - begin < PATIENCE && !has_children());
}

/* As a daemon goes on: everything is closed, and the numbers are those of other files soon, which freeing must not touch. */
static void with_other_descriptors(void)
{
    enum { COUNT = 64 };
    mcplink_client_t *own;
    char path[] = "/tmp/mcplink-forking-XXXXXX", byte;
    int file, fd, first, i;
    for (fd = 3; fd < 1024; fd++) close(fd);
    file = mkstemp(path);
    CHECK(file >= 3 && unlink(path) == 0);
    first = file;
    for (i = 1; i < COUNT; i++) CHECK(dup(file) == first + i);
    /* A signal handler is the child's too, and may call what a signal handler may. */
    CHECK(mcplink_pump_wakeup(pump) == MCPLINK_E_FORKED);
    CHECK(mcplink_server_stop(server) == MCPLINK_E_FORKED);
    free_all();
    CHECK(lseek(file, 0, SEEK_END) == 0);
    for (i = 0; i < COUNT; i++) {
        CHECK(pwrite(first + i, "x", 1, i) == 1);
        CHECK(pread(file, &byte, 1, i) == 1 && byte == 'x');
        CHECK(fcntl(first + i, F_GETFD) == 0);
    }
    own = guest_client();
    guest_greets(own);
    mcplink_client_free(own);
}

/* Each way of going: after freeing all, at once, by the ordinary end of a program, and after another life. */
static int child_that(int way)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        if (way == 0) in_the_child();
        if (way == 1) _exit(0);
        if (way == 3) with_other_descriptors();
        exit(0);
    }
    return status_of_child(child);
}

int main(int argc, char **argv)
{
    mcplink_client_options_t *o;
    mcplink_result_t *result = NULL;
    mcplink_error_t *err = NULL;
    state_t before;
    char said[4096];
    int ends[2], way;
    (void)argv;
    if (argc > 1) return serve();

    state_take(&before);
    CHECK_STATUS(mcplink_pump_new(&pump, &err), MCPLINK_OK, err);
    cancel = mcplink_cancel_new();
    CHECK(cancel != NULL);
    o = guest_options();
    CHECK(mcplink_client_options_set_pump(o, pump) == MCPLINK_OK);
    CHECK_STATUS(mcplink_client_open(o, &client, &err), MCPLINK_OK, err);
    mcplink_client_options_free(o);
    server = guest_server();
    add(server, "keep", tool_keep, NULL);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    CHECK_STATUS(mcplink_server_serve_fds_start(server, ends[0], ends[0], NULL, &session, &err), MCPLINK_OK, err);
    ask_to_keep(ends[1]);
    CHECK_STATUS(mcplink_client_call_tool_start(client, "wait", NULL, 0, NULL, on_done, NULL, NULL, &call, &err), MCPLINK_OK, err);

    for (way = 0; way < 4; way++) CHECK(child_that(way) == 0);

    /* The parent goes on as if nothing had been. */
    guest_greets(client);
    CHECK(!mcplink_session_is_closed(session) && !mcplink_call_is_done(call));
    CHECK(lines_of(ends[1], said, sizeof said) == 0);
    CHECK(mcplink_responder_text(kept, "from the parent", MCPLINK_NUL) == MCPLINK_OK);
    UNTIL(lines_of(ends[1], said, sizeof said) == 1);
    CHECK(strstr(said, "from the parent") != NULL);
    CHECK(mcplink_call_cancel(call, "enough") == MCPLINK_OK);
    UNTIL(mcplink_pump_dispatch(pump, 64) >= 0 && done == 1);
    CHECK(mcplink_call_wait(call, PATIENCE, &result, NULL) == MCPLINK_E_CANCELLED);
    free_all();
    close(ends[0]), close(ends[1]);
    state_same(&before);
    return 0;
}
