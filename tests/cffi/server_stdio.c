/* Serving over standard streams and descriptors: until the client goes, until the server is stopped or freed, and how it refuses. */
#include "talk.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

static mcplink_server_t *server;

static void echo(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    mcplink_str_t args = mcplink_json_text(mcplink_request_args(req));
    (void)user;
    /* It must not reach the client. */
    printf("a stray print\n");
    fflush(stdout);
    mcplink_responder_text(resp, args.ptr, args.len);
}

static void on_signal(int signal)
{
    (void)signal;
    mcplink_server_stop(server);
}

/* A child whose standard input and output are one end of a pair of sockets. */
static talk_t child_begin(void (*run)(void), const char *program, pid_t *pid)
{
    talk_t talk;
    int ends[2];
    memset(&talk, 0, sizeof talk);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    *pid = fork();
    CHECK(*pid >= 0);
    if (*pid == 0) {
        dup2(ends[0], 0);
        dup2(ends[0], 1);
        close(ends[0]);
        close(ends[1]);
        if (program != NULL) execl(program, program, (char *)NULL);
        run();
        _exit(99);
    }
    close(ends[0]);
    talk.fd = ends[1];
    return talk;
}

static void child_end(talk_t *talk, pid_t pid, int expected)
{
    int status = 0;
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == expected);
    free(talk->text);
    close(talk->fd);
}

/* Serves standard streams; a second one at once is refused; afterwards they are back. */
static void serve(void)
{
    mcplink_error_t *err = NULL;
    mcplink_server_t *other = mcplink_server_new("other", "1");
    mcplink_session_t *session = NULL, *second = NULL;
    server = mcplink_server_new("stdio", "1");
    add_tool(server, "echo", echo, NULL, NULL);
    signal(SIGTERM, on_signal);
    CHECK_STATUS(mcplink_server_serve_stdio_start(server, &session, &err), MCPLINK_OK, err);
    CHECK(mcplink_server_serve_stdio_start(other, &second, &err) == MCPLINK_E_STATE && second == NULL);
    mcplink_error_free(err);
    CHECK(mcplink_server_serve_stdio(other, NULL) == MCPLINK_E_STATE);
    CHECK_STATUS(mcplink_session_wait(session, &err), MCPLINK_OK, err);
    CHECK(mcplink_session_is_closed(session));
    mcplink_session_free(session);
    mcplink_server_free(other);
    mcplink_server_free(server);
    exit(7);
}

static void serve_until_signal(void)
{
    mcplink_error_t *err = NULL;
    server = mcplink_server_new("stdio", "1");
    add_tool(server, "echo", echo, NULL, NULL);
    signal(SIGTERM, on_signal);
    CHECK_STATUS(mcplink_server_serve_stdio(server, &err), MCPLINK_OK, err);
    /* Nothing is served any more. */
    CHECK_STATUS(mcplink_server_serve_stdio(server, &err), MCPLINK_OK, err);
    mcplink_server_free(server);
    exit(8);
}

/* Standard output as it is: whoever else writes there is seen by the client. */
static void serve_unclaimed(void)
{
    mcplink_server_options_t *options = mcplink_server_options_new("stdio", "1");
    mcplink_error_t *err = NULL;
    CHECK(mcplink_server_options_set_claim_stdio(options, false) == MCPLINK_OK);
    CHECK_STATUS(mcplink_server_new_with(options, &server, &err), MCPLINK_OK, err);
    mcplink_server_options_free(options);
    add_tool(server, "echo", echo, NULL, NULL);
    CHECK_STATUS(mcplink_server_serve_stdio(server, &err), MCPLINK_OK, err);
    mcplink_server_free(server);
    exit(9);
}

static void children(void)
{
    const char *folder = getenv("MCPLINK_TEST_FOLDER");
    char path[4096];
    pid_t pid;
    talk_t talk = child_begin(serve, NULL, &pid);
    talk_open(&talk, "{}");
    talk_call(&talk, "1", "echo", "{\"a\":1}");
    TALK_HOLDS(&talk, "\"text\":\"{\\\"a\\\":1}\"");
    CHECK(shutdown(talk.fd, SHUT_WR) == 0);
    CHECK(talk_line(&talk) == NULL);
    child_end(&talk, pid, 7);

    talk = child_begin(serve_until_signal, NULL, &pid);
    talk_open(&talk, "{}");
    talk_call(&talk, "1", "echo", "{}");
    TALK_HOLDS(&talk, "\"id\":1");
    CHECK(kill(pid, SIGTERM) == 0);
    child_end(&talk, pid, 8);

    talk = child_begin(serve_unclaimed, NULL, &pid);
    talk_open(&talk, "{}");
    talk_call(&talk, "1", "echo", "{}");
    TALK_HOLDS(&talk, "a stray print");
    TALK_HOLDS(&talk, "\"id\":1");
    CHECK(shutdown(talk.fd, SHUT_WR) == 0);
    child_end(&talk, pid, 9);

    CHECK(folder != NULL);
    snprintf(path, sizeof path, "%s/hello_server", folder);
    talk = child_begin(NULL, path, &pid);
    talk_open(&talk, "{}");
    talk_call(&talk, "1", "greet", "{\"name\":\"C\"}");
    TALK_HOLDS(&talk, "Hello, C!");
    CHECK(shutdown(talk.fd, SHUT_WR) == 0);
    CHECK(talk_line(&talk) == NULL);
    child_end(&talk, pid, 0);
}

/* The two smallest programs talk to each other. */
static void hello(void)
{
    char command[4096], line[64] = "";
    FILE *client;
    snprintf(command, sizeof command, "cd '%s' && ./hello_client", getenv("MCPLINK_TEST_FOLDER"));
    client = popen(command, "r");
    CHECK(client != NULL && fgets(line, sizeof line, client) != NULL && strcmp(line, "Hello, C!\n") == 0);
    CHECK(pclose(client) == 0);
}

typedef struct {
    int fd;
    mcplink_status_t status;
} serving_t;

static void *serve_fds(void *user)
{
    serving_t *serving = user;
    serving->status = mcplink_server_serve_fds(server, serving->fd, serving->fd, NULL, NULL);
    return NULL;
}

/* Ends what another thread serves, in three ways. */
static void ends_elsewhere(int how)
{
    talk_t talk;
    serving_t serving;
    pthread_t thread;
    int ends[2];
    memset(&talk, 0, sizeof talk);
    server = mcplink_server_new("fds", "1");
    add_tool(server, "echo", echo, NULL, NULL);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    serving.fd = ends[0];
    talk.fd = ends[1];
    CHECK(pthread_create(&thread, NULL, serve_fds, &serving) == 0);
    talk_open(&talk, "{}");
    switch (how) {
    case 0: CHECK(shutdown(talk.fd, SHUT_WR) == 0); break;
    case 1: CHECK(mcplink_server_stop(server) == MCPLINK_OK); break;
    default: mcplink_server_free(server); break;
    }
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(serving.status == (how == 2 ? MCPLINK_E_CLOSED : MCPLINK_OK));
    /* The descriptor is still the caller's. */
    CHECK(fcntl(ends[0], F_GETFD) >= 0 && close(ends[0]) == 0);
    close(talk.fd);
    free(talk.text);
    if (how != 2) mcplink_server_free(server);
}

/* Sessions without waiting: closed by the host, by the client, by the end of the server. */
static void sessions(void)
{
    mcplink_error_t *err = NULL;
    mcplink_json_t *doc = NULL;
    mcplink_session_t *session = (mcplink_session_t *)1;
    talk_t one, two;
    server = mcplink_server_new("sessions", "1");
    add_tool(server, "echo", echo, NULL, NULL);
    one = talk_begin(server);
    two = talk_begin_for(server, "somebody");
    talk_open(&one, "{}");
    talk_open(&two, "{}");
    CHECK_TEXT(mcplink_session_principal(one.session), "");
    CHECK_TEXT(mcplink_session_principal(two.session), "somebody");
    CHECK_STATUS(mcplink_server_stats(server, &doc, &err), MCPLINK_OK, err);
    CHECK(mcplink_json_len(doc) == 2);
    CHECK_TEXT(mcplink_json_str(mcplink_json_pointer(doc, "/0/kind")), "session");
    mcplink_json_free(doc);
    CHECK_STATUS(mcplink_server_activity(server, &doc, &err), MCPLINK_OK, err);
    CHECK(mcplink_json_str(doc).len > 0);
    mcplink_json_free(doc);
    CHECK(mcplink_session_close(one.session) == MCPLINK_OK && mcplink_session_close(one.session) == MCPLINK_OK);
    CHECK(mcplink_session_is_closed(one.session) && !mcplink_session_is_closed(two.session));
    CHECK(talk_line(&one) == NULL);
    talk_end(&one);
    /* What the last session leaves behind does not hinder the next one. */
    talk_end(&two);
    one = talk_begin(server);
    talk_open(&one, "{}");
    CHECK(mcplink_server_stop(server) == MCPLINK_OK);
    CHECK(talk_line(&one) == NULL);
    CHECK(mcplink_server_serve_fds_start(server, one.fd, one.fd, NULL, &session, &err) == MCPLINK_E_CLOSED && session == NULL);
    mcplink_error_free(err);
    mcplink_server_free(server);
    /* A session outlives its server, and is of no use any more. */
    CHECK(mcplink_session_is_closed(one.session));
    CHECK_STATUS(mcplink_session_wait(one.session, &err), MCPLINK_OK, err);
    talk_end(&one);
}

/* Stopped before it began. */
static void stopped_early(void)
{
    mcplink_server_t *early = mcplink_server_new("early", "1");
    int ends[2];
    CHECK(pipe(ends) == 0);
    CHECK(mcplink_server_stop(early) == MCPLINK_OK);
    CHECK(mcplink_server_serve_fds(early, ends[0], ends[1], NULL, NULL) == MCPLINK_OK);
    close(ends[0]);
    close(ends[1]);
    mcplink_server_free(early);
}

/* Arguments that no text or number can be made of are refused, and do not seem to be left out. */
static void unreadable(void)
{
    static const char *const bad[] = { "{\"all\":false,\"a\":\"\\ud83d\"}", "{\"all\":false,\"a\":1e400}" };
    mcplink_server_t *some = mcplink_server_new("unreadable", "1");
    mcplink_prompt_t *prompt = mcplink_prompt_new("echo", "");
    talk_t talk = talk_begin(some);
    char line[512];
    size_t i;
    add_tool(some, "echo", echo, NULL, NULL);
    CHECK(mcplink_server_add_prompt(some, prompt, echo, NULL, NULL, NULL) == MCPLINK_OK);
    mcplink_prompt_free(prompt);
    talk_open(&talk, "{}");
    for (i = 0; i < 2; i++) {
        const char *answer;
        talk_call(&talk, "1", "echo", bad[i]);
        answer = TALK_HOLDS(&talk, "\"isError\":true");
        CHECK(strstr(answer, "invalid arguments") != NULL && strstr(answer, "can't be read") != NULL);
    }
    snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"prompts/get\",\"params\":{\"name\":\"echo\",\"arguments\":%s}}", "{\"a\":\"\\ud83d\"}");
    talk_send(&talk, line);
    TALK_HOLDS(&talk, "-32602");
    talk_call(&talk, "3", "echo", "{\"a\":\"\\ud83d\\ude00\"}");
    TALK_HOLDS(&talk, "\xf0\x9f\x98\x80");
    talk_end(&talk);
    mcplink_server_free(some);
}

static void send_nothing(void *user) { (void)user; }

static mcplink_status_t to_fd(void *user, const void *bytes, size_t len)
{
    return send(*(int *)user, bytes, len, MSG_NOSIGNAL) == (ssize_t)len ? MCPLINK_OK : MCPLINK_E_USER;
}

/* A transport of the host's own. */
static void attaches(void)
{
    static const char ping[] = "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}\n";
    mcplink_error_t *err = NULL;
    mcplink_session_t *second = NULL;
    mcplink_transport_t *transport;
    talk_t talk;
    int ends[2];
    memset(&talk, 0, sizeof talk);
    server = mcplink_server_new("attached", "1");
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    talk.fd = ends[1];
    transport = mcplink_transport_new(&ends[0], send_nothing);
    CHECK(mcplink_server_attach(server, transport, NULL, &talk.session, NULL) == MCPLINK_E_STATE);
    CHECK(mcplink_transport_set_send(transport, to_fd) == MCPLINK_OK);
    CHECK_STATUS(mcplink_server_attach(server, transport, "host", &talk.session, &err), MCPLINK_OK, err);
    CHECK(mcplink_server_attach(server, transport, NULL, &second, NULL) == MCPLINK_E_STATE && second == NULL);
    CHECK(mcplink_transport_feed(transport, ping, 10) == MCPLINK_OK);
    CHECK(mcplink_transport_feed(transport, ping + 10, sizeof ping - 1 - 10) == MCPLINK_OK);
    TALK_HOLDS(&talk, "\"id\":\"p\"");
    CHECK(mcplink_transport_feed_end(transport, NULL) == MCPLINK_OK);
    CHECK_STATUS(mcplink_session_wait(talk.session, &err), MCPLINK_OK, err);
    mcplink_server_free(server);
    close(ends[0]);
    talk_end(&talk);
    mcplink_transport_free(transport);
}

static void takes_null(void)
{
    mcplink_error_t *err = NULL;
    mcplink_session_t *session = (mcplink_session_t *)1;
    mcplink_json_t *doc = (mcplink_json_t *)1;
    mcplink_server_t *some = mcplink_server_new("some", "1");
    CHECK(mcplink_server_new(NULL, "1") == NULL && mcplink_server_new("a", NULL) == NULL && mcplink_server_new("\xff", "1") == NULL);
    CHECK(mcplink_server_new_with(NULL, NULL, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_server_serve_stdio(NULL, &err) == MCPLINK_E_INVALID);
    CHECK(strcmp(mcplink_error_message(err), "server must not be NULL") == 0);
    mcplink_error_free(err);
    CHECK(mcplink_server_serve_stdio_start(NULL, &session, NULL) == MCPLINK_E_INVALID && session == NULL);
    CHECK(mcplink_server_serve_fds(NULL, 0, 1, NULL, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_server_serve_fds(some, -1, 1, NULL, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_server_serve_fds(some, 12345, 1, NULL, &err) == MCPLINK_E_IO && mcplink_error_os_code(err) == EBADF);
    mcplink_error_free(err);
    CHECK(mcplink_server_serve_fds_start(some, 0, 1, NULL, NULL, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_server_attach(some, NULL, NULL, &session, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_server_stop(NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_server_stats(NULL, &doc, NULL) == MCPLINK_E_INVALID && doc == NULL);
    CHECK(mcplink_server_activity(NULL, &doc, NULL) == MCPLINK_E_INVALID && mcplink_server_activity(some, NULL, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_session_wait(NULL, NULL) == MCPLINK_E_INVALID && mcplink_session_close(NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_session_is_closed(NULL));
    CHECK_TEXT(mcplink_session_principal(NULL), "");
    mcplink_session_free(NULL);
    mcplink_server_free(NULL);
    CHECK(mcplink_debug_dump(-1) == MCPLINK_E_INVALID);
    mcplink_server_free(some);
}

int main(void)
{
    int fds = open_count();
    int how;
    children();
    hello();
    for (how = 0; how < 3; how++) ends_elsewhere(how);
    sessions();
    stopped_early();
    attaches();
    unreadable();
    takes_null();
    talk_clean(fds);
    return 0;
}
