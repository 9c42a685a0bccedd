/* What the programs share that show the library as a guest in a process: a server in the same file, and what must stay as it was. */
#ifndef GUEST_H
#define GUEST_H

#include "../check.h"
#include "../process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* How long anything may take, in milliseconds. */
#define PATIENCE 60000

static inline int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Looks again and again until it is so; ends the program when it never is. */
#define UNTIL(condition)                                                                  \
    do {                                                                                  \
        int64_t until_end = now_ms() + PATIENCE;                                          \
        while (!(condition)) {                                                            \
            if (now_ms() > until_end) {                                                   \
                fprintf(stderr, "%s:%d: never so: %s\n", __FILE__, __LINE__, #condition); \
                exit(1);                                                                  \
            }                                                                             \
            poll(NULL, 0, 1);                                                             \
        }                                                                                 \
    } while (0)

/* This program's file. */
static inline const char *self(void)
{
    static char path[4096];
    ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);
    CHECK(len > 0);
    path[len] = 0;
    return path;
}

/* A line of /proc/self/status, for example "SigBlk:". */
static inline unsigned long long status_of(const char *task, const char *field)
{
    char path[64], line[256];
    unsigned long long number = 0;
    int found = 0;
    FILE *file;
    snprintf(path, sizeof path, "/proc/self/%s%s/status", *task ? "task/" : "", task);
    file = fopen(*task ? path : "/proc/self/status", "re");
    if (file == NULL) return ~0ULL;
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, field, strlen(field)) == 0) {
            number = strtoull(line + strlen(field), NULL, 16);
            found = 1;
        }
    }
    fclose(file);
    return found ? number : ~0ULL;
}

/* The open descriptors, as text: number and what it is. */
static inline void descriptors(char *text, size_t size)
{
    int fd;
    size_t len = 0;
    text[0] = 0;
    for (fd = 0; fd < 1024; fd++) {
        char path[64], target[256];
        ssize_t got;
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        got = readlink(path, target, sizeof target - 1);
        if (got < 0) continue;
        target[got] = 0;
        len += (size_t)snprintf(text + len, size - len, "%d %s\n", fd, target);
        CHECK(len < size);
    }
}

/* What belongs to the process, and so to the host. */
typedef struct {
    struct sigaction actions[64];
    sigset_t mask, pending;
    stack_t stack;
    mode_t mask_of_files;
    char locale[1024], folder[4096], descriptors[16384];
    struct rlimit files;
    unsigned long environment;
    int threads;
} state_t;

/* Of the parts that nobody but us writes, in the mirrored structure. */
static inline int same_action(const struct sigaction *a, const struct sigaction *b)
{
    return a->sa_handler == b->sa_handler && a->sa_flags == b->sa_flags;
}

static inline void state_take(state_t *s)
{
    int number;
    char **entry;
    memset(s, 0, sizeof *s);
    for (number = 1; number < 64; number++) sigaction(number, NULL, &s->actions[number]);
    pthread_sigmask(SIG_BLOCK, NULL, &s->mask);
    sigpending(&s->pending);
    sigaltstack(NULL, &s->stack);
    s->mask_of_files = umask(0);
    umask(s->mask_of_files);
    snprintf(s->locale, sizeof s->locale, "%s", setlocale(LC_ALL, NULL));
    CHECK(getcwd(s->folder, sizeof s->folder) != NULL);
    getrlimit(RLIMIT_NOFILE, &s->files);
    for (entry = environ; *entry != NULL; entry++) {
        const char *c;
        for (c = *entry; *c != 0; c++) s->environment = s->environment * 31 + (unsigned char)*c;
        s->environment = s->environment * 31 + 7;
    }
    s->threads = threads();
    descriptors(s->descriptors, sizeof s->descriptors);
}

/* What does not depend on when it is looked at. */
static inline void state_same_settings(const state_t *before, const state_t *after)
{
    int number;
    for (number = 1; number < 64; number++) {
        if (!same_action(&before->actions[number], &after->actions[number])) {
            fprintf(stderr, "the disposition of signal %d changed\n", number);
            exit(1);
        }
        CHECK(sigismember(&before->mask, number) == sigismember(&after->mask, number));
        CHECK(sigismember(&before->pending, number) == sigismember(&after->pending, number));
    }
    CHECK(before->stack.ss_sp == after->stack.ss_sp && before->stack.ss_flags == after->stack.ss_flags);
    CHECK(before->mask_of_files == after->mask_of_files);
    CHECK(strcmp(before->locale, after->locale) == 0);
    CHECK(strcmp(before->folder, after->folder) == 0);
    CHECK(before->files.rlim_cur == after->files.rlim_cur && before->files.rlim_max == after->files.rlim_max);
    CHECK(before->environment == after->environment);
}

/* Whether this process has children, ended ones too. */
static inline int has_children(void)
{
    siginfo_t info;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* After the last handle was freed everything is as it was: nothing of ours runs, is open or waits to be reaped. */
static inline void state_same(const state_t *before)
{
    state_t after;
    /* A thread that was joined may be seen for a moment yet. */
    UNTIL(threads() <= before->threads);
    state_take(&after);
    state_same_settings(before, &after);
    if (strcmp(before->descriptors, after.descriptors) != 0) {
        fprintf(stderr, "open before:\n%sopen after:\n%s", before->descriptors, after.descriptors);
        exit(1);
    }
    CHECK(after.threads == before->threads);
    CHECK(!has_children());
}

/* The server that this program is when it is started with an argument. */

static inline void tool_greet(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    char line[128];
    mcplink_str_t who = mcplink_json_str(mcplink_json_get(mcplink_request_args(request), "name"));
    (void)user;
    snprintf(line, sizeof line, "Hello, %.*s!", (int)who.len, who.ptr);
    mcplink_responder_text(responder, line, MCPLINK_NUL);
}

static inline void tool_die(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    (void)user, (void)request, (void)responder;
    _exit(3);
}

/* What the process was started with: filled in before anything of the library was called. */
static char born_with[16384];

static inline void tool_born_with(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    (void)user, (void)request;
    mcplink_responder_text(responder, born_with, MCPLINK_NUL);
}

static inline void tool_large(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    size_t len = 1 << 20;
    char *text = malloc(len);
    (void)user, (void)request;
    CHECK(text != NULL);
    memset(text, 'x', len);
    mcplink_responder_text(responder, text, len);
    free(text);
}

/* Is answered when it is cancelled, or not at all. */
static inline void tool_wait(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    (void)user, (void)request;
    UNTIL(mcplink_responder_is_cancelled(responder));
}

static inline void add(mcplink_server_t *server, const char *name, mcplink_handler_fn handler, void *user)
{
    mcplink_error_t *err = NULL;
    mcplink_tool_t *tool = mcplink_tool_new(name, "for tests");
    CHECK_STATUS(mcplink_server_add_tool(server, tool, handler, user, NULL, &err), MCPLINK_OK, err);
    mcplink_tool_free(tool);
}

static inline mcplink_server_t *guest_server(void)
{
    mcplink_server_t *server = mcplink_server_new("guest", "1");
    CHECK(server != NULL);
    add(server, "greet", tool_greet, NULL);
    add(server, "die", tool_die, NULL);
    add(server, "born_with", tool_born_with, NULL);
    add(server, "large", tool_large, NULL);
    add(server, "wait", tool_wait, NULL);
    return server;
}

static inline int serve(void)
{
    char open[8192];
    mcplink_error_t *err = NULL;
    mcplink_server_t *server;
    int len = snprintf(born_with, sizeof born_with, "blocked %llx ignored %llx caught %llx\n", status_of("", "SigBlk:"),
                       status_of("", "SigIgn:"), status_of("", "SigCgt:"));
    descriptors(open, sizeof open);
    snprintf(born_with + len, sizeof born_with - (size_t)len, "%s", open);
    server = guest_server();
    CHECK_STATUS(mcplink_server_serve_stdio(server, &err), MCPLINK_OK, err);
    mcplink_server_free(server);
    return 0;
}

static inline mcplink_client_options_t *guest_options(void)
{
    const char *argv[3];
    mcplink_client_options_t *o = mcplink_client_options_new();
    argv[0] = self();
    argv[1] = "serve";
    argv[2] = NULL;
    CHECK(mcplink_client_options_set_command(o, argv) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_timeout_ms(o, PATIENCE) == MCPLINK_OK);
    return o;
}

static inline mcplink_client_t *guest_client(void)
{
    mcplink_client_t *client = NULL;
    mcplink_error_t *err = NULL;
    mcplink_client_options_t *o = guest_options();
    CHECK_STATUS(mcplink_client_open(o, &client, &err), MCPLINK_OK, err);
    mcplink_client_options_free(o);
    return client;
}

static inline void guest_greets(mcplink_client_t *client)
{
    mcplink_result_t *result = NULL;
    mcplink_error_t *err = NULL;
    CHECK_STATUS(mcplink_client_call_tool(client, "greet", "{\"name\":\"guest\"}", MCPLINK_NUL, NULL, &result, &err), MCPLINK_OK, err);
    CHECK_TEXT(mcplink_result_text(result), "Hello, guest!");
    mcplink_result_free(result);
}

/* Waits for a process and gives its exit status; a signal that killed it fails. */
static inline int status_of_child(pid_t child)
{
    int status;
    UNTIL(waitpid(child, &status, WNOHANG) == child);
    if (WIFSIGNALED(status)) fprintf(stderr, "killed by signal %d\n", WTERMSIG(status));
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

#endif
