/* Every child process ends, with its own children, in time, and holds no descriptor of others. Other SDKs leave orphans behind. */
#include "lessons.h"

/* Whether a process is there and was not ended yet; who reaps it is somebody else's business, unless it is a child of ours. */
static bool lives(pid_t pid)
{
    char path[64], line[512], *state;
    FILE *file;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    if (file == NULL) return false;
    if (fgets(line, sizeof line, file) == NULL) line[0] = 0;
    fclose(file);
    state = strrchr(line, ')');
    return state != NULL && state[2] != 'Z' && state[2] != 'X';
}

/* CPU time of a process so far, in clock ticks. */
static long ticks(pid_t pid)
{
    char path[64], line[1024], *rest;
    unsigned long user = 0, system = 0;
    FILE *file;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    CHECK(file != NULL && fgets(line, sizeof line, file) != NULL);
    fclose(file);
    rest = strrchr(line, ')');
    CHECK(rest != NULL && sscanf(rest + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) == 2);
    return (long)(user + system);
}

/* The server that this program is when it is started with an argument. */

/* Of itself, of who started it, and of a process that was started beside it. */
static void tool_pids(void *user, const mcplink_request_t *call, mcplink_responder_t *responder)
{
    char text[64];
    const char *beside = getenv("BESIDE");
    (void)user, (void)call;
    snprintf(text, sizeof text, "%d %d %s", (int)getpid(), (int)getppid(), beside ? beside : "0");
    mcplink_responder_text(responder, text, MCPLINK_NUL);
}

/* Never ends. */
static void tool_hang(void *user, const mcplink_request_t *call, mcplink_responder_t *responder)
{
    (void)user, (void)call, (void)responder;
    for (;;) pause();
}

/* Takes its time, also when nobody waits any more. */
static void tool_slow(void *user, const mcplink_request_t *call, mcplink_responder_t *responder)
{
    (void)user, (void)call;
    poll(NULL, 0, 300);
    mcplink_responder_text(responder, "slow", MCPLINK_NUL);
}

static int serves(void)
{
    const char *drain = getenv("DRAIN");
    char open[8192];
    mcplink_server_options_t *o = mcplink_server_options_new("processes", "1");
    mcplink_server_t *server = NULL;
    mcplink_error_t *err = NULL;
    descriptors(open, sizeof open);
    snprintf(born_with, sizeof born_with, "%s", open);
    if (drain) CHECK(mcplink_server_options_set_drain_ms(o, (uint32_t)atoi(drain)) == MCPLINK_OK);
    CHECK_STATUS(mcplink_server_new_with(o, &server, &err), MCPLINK_OK, err);
    mcplink_server_options_free(o);
    add(server, "greet", tool_greet, NULL);
    add(server, "die", tool_die, NULL);
    add(server, "born_with", tool_born_with, NULL);
    add(server, "pids", tool_pids, NULL);
    add(server, "hang", tool_hang, NULL);
    add(server, "slow", tool_slow, NULL);
    CHECK_STATUS(mcplink_server_serve_stdio(server, &err), MCPLINK_OK, err);
    /* A handler that never ends keeps its thread, and the process may end. */
    if (drain) _exit(0);
    mcplink_server_free(server);
    return 0;
}

/* A client of this program, started by a script. */
static mcplink_client_t *open_script(const char *script, uint32_t close_ms)
{
    const char *argv[4];
    mcplink_client_options_t *o = mcplink_client_options_new();
    argv[0] = "/bin/sh", argv[1] = "-c", argv[2] = script, argv[3] = NULL;
    CHECK(mcplink_client_options_set_command(o, argv) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_env(o, "SELF", self()) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_timeout_ms(o, PATIENCE) == MCPLINK_OK);
    if (close_ms) CHECK(mcplink_client_options_set_close_timeout_ms(o, close_ms) == MCPLINK_OK);
    return open_with(o, "2025-11-25");
}

static mcplink_client_t *open_self(void) { return open_script("exec \"$SELF\" serve", 0); }

static void text_of(mcplink_client_t *client, const char *tool, char *text, size_t size)
{
    mcplink_result_t *result = NULL;
    mcplink_error_t *err = NULL;
    CHECK_STATUS(mcplink_client_call_tool(client, tool, NULL, 0, NULL, &result, &err), MCPLINK_OK, err);
    snprintf(text, size, "%s", mcplink_result_text(result).ptr);
    mcplink_result_free(result);
}

/* The pids of the server, of who started it, and of a process beside it. */
static void pids_of(mcplink_client_t *client, pid_t pids[3])
{
    char text[64];
    text_of(client, "pids", text, sizeof text);
    CHECK(sscanf(text, "%d %d %d", &pids[0], &pids[1], &pids[2]) == 3);
}

enum { CLOSED, FREED, WAYS };

/* Ends a client; how long it took. */
static int64_t end(mcplink_client_t *client, int way)
{
    mcplink_error_t *err = NULL;
    int64_t begin = now_ms();
    if (way == CLOSED) CHECK_STATUS(mcplink_client_close(client, MCPLINK_FOREVER, &err), MCPLINK_OK, err);
    mcplink_client_free(client);
    return now_ms() - begin;
}

/* No process is left after closing, nor after freeing alone, however stubborn it is. Each of the two steps before the kill takes as long as
   it was set to. */
static void nothing_is_left(void)
{
    static const struct {
        const char *script;
        /* Whether it ends of itself. */
        bool is_good;
    } scripts[] = {
        { "exec \"$SELF\" serve", true },
        /* Behind a shell. */
        { "\"$SELF\" serve; exit 0", true },
        /* With a process beside it, which is in nobody's way, and one that holds its streams. */
        { "sleep 600 </dev/null >/dev/null 2>&1 & BESIDE=$! exec \"$SELF\" serve", true },
        { "sleep 600 & BESIDE=$!; export BESIDE; \"$SELF\" serve; exit 0", true },
        /* That ignores being told to end: the server, a shell around it, a process beside it. */
        { "trap '' TERM; \"$SELF\" serve; while :; do sleep 1; done", false },
        { "trap '' TERM; sleep 600 & BESIDE=$!; export BESIDE; \"$SELF\" serve; while :; do sleep 1; done", false },
    };
    size_t i;
    int way;
    for (i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        for (way = 0; way < WAYS; way++) {
            mcplink_client_t *client = open_script(scripts[i].script, scripts[i].is_good ? 0 : 150);
            pid_t pids[3];
            int64_t took;
            int p;
            pids_of(client, pids);
            took = end(client, way);
            CHECK(!has_children());
            for (p = 0; p < 3; p++) {
                if (pids[p] == 0 || pids[p] == getpid()) continue;
                UNTIL(!lives(pids[p]));
            }
            CHECK(took < VERY_LATE && (scripts[i].is_good || took >= 299));
        }
    }
}

/* A stopped child hears no request to end, so it is killed. */
static void a_stopped_one_is_killed(void)
{
    int way;
    for (way = 0; way < WAYS; way++) {
        mcplink_client_t *client = open_script("exec \"$SELF\" serve", 150);
        pid_t pids[3];
        pids_of(client, pids);
        CHECK(kill(pids[0], SIGSTOP) == 0);
        CHECK(end(client, way) < VERY_LATE);
        CHECK(!lives(pids[0]) && !has_children());
    }
}

/* By default, ending a child takes less than 7 s at worst, and less than 100 ms for a well-behaved child. */
static void the_end_is_bounded(void)
{
    mcplink_client_t *client = open_script("trap '' TERM; \"$SELF\" serve; while :; do sleep 1; done", 0);
    int64_t took = end(client, CLOSED), best = VERY_LATE;
    int tries;
    CHECK(took >= 3999 && took < 7000 + VERY_LATE);
    for (tries = 0; tries < TRIES && best >= 100; tries++) {
        took = end(open_self(), tries % WAYS);
        if (took < best) best = took;
    }
    CHECK(best < 100 || slowly());
}

/* A child that ended by itself is reaped while its client still exists. */
static void a_dead_one_is_reaped(void)
{
    mcplink_client_t *client = open_self();
    mcplink_result_t *result = NULL;
    CHECK(mcplink_client_call_tool(client, "die", NULL, 0, NULL, &result, NULL) == MCPLINK_E_CLOSED);
    UNTIL(!has_children());
    mcplink_client_free(client);
}

/* A server of this program that is started by hand, over pipes, and opened. */
typedef struct {
    pid_t pid;
    int in, out;
} child_t;

static child_t child_begin(const char *drain)
{
    static const char opening[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
        "\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
    int in[2], out[2];
    const char *program = self();
    char byte = 0;
    child_t child;
    CHECK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
    child.pid = fork();
    CHECK(child.pid >= 0);
    if (child.pid == 0) {
        if (drain) setenv("DRAIN", drain, 1);
        dup2(in[0], 0), dup2(out[1], 1);
        execl(program, program, "serve", (char *)NULL);
        _exit(127);
    }
    close(in[0]), close(out[1]);
    child.in = in[1], child.out = out[0];
    CHECK(write(child.in, opening, strlen(opening)) == (ssize_t)strlen(opening));
    while (byte != '\n') CHECK(read(child.out, &byte, 1) == 1);
    return child;
}

/* What a call of a tool is answered with is what is read till the end. */
static void child_call(const child_t *child, const char *tool)
{
    char line[256];
    int len = snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\",\"arguments\":{}}}\n", tool);
    CHECK(write(child->in, line, (size_t)len) == len);
}

/* Closes its standard input; what it says till it ends, and how long that takes. */
static int64_t child_end(const child_t *child, char *said, size_t size)
{
    int64_t begin = now_ms(), took;
    size_t len = 0;
    ssize_t got;
    close(child->in);
    while ((got = read(child->out, said + len, size - 1 - len)) > 0) len += (size_t)got;
    said[len] = 0;
    close(child->out);
    CHECK(status_of_child(child->pid) == 0);
    took = now_ms() - begin;
    CHECK(took < VERY_LATE);
    return took;
}

/* A server ends at the end of its standard input: at once if it is idle, else after its running handlers, and within a deadline. */
static void a_server_ends_with_its_input(void)
{
    char said[4096];
    int64_t took = VERY_LATE;
    int tries;
    child_t child;
    for (tries = 0; tries < TRIES && took >= 1000; tries++) {
        child = child_begin(NULL);
        took = child_end(&child, said, sizeof said);
        CHECK(said[0] == 0);
    }
    CHECK(took < 1000);

    child = child_begin(NULL);
    child_call(&child, "slow");
    child_end(&child, said, sizeof said);
    CHECK(strstr(said, "\"text\":\"slow\"") != NULL);

    child = child_begin("300");
    child_call(&child, "hang");
    took = child_end(&child, said, sizeof said);
    CHECK(took >= 299 && strstr(said, "\"result\"") == NULL);
}

/* CPU time of this process, in microseconds. */
static int64_t cpu(void)
{
    struct rusage usage;
    CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
    return (int64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}

/* Waiting uses no CPU: for a server, for a client, and after the end of either. */
static void waiting_is_free(void)
{
    mcplink_server_t *server = mcplink_server_new("idle", "1");
    mcplink_client_t *idle = open_self(), *lost = open_self();
    mcplink_result_t *result = NULL;
    pair_t pair = pair_open(server, NULL, NULL), gone = pair_open(server, NULL, NULL);
    pid_t pids[3];
    int64_t best = INT64_MAX;
    long of_child = 0;
    int tries;
    pids_of(idle, pids);
    CHECK(mcplink_client_call_tool(lost, "die", NULL, 0, NULL, &result, NULL) == MCPLINK_E_CLOSED);
    mcplink_client_free(gone.client);
    gone.client = NULL;
    UNTIL(mcplink_session_is_closed(gone.session));
    /* Threads that were needed a moment ago may end meanwhile. */
    for (tries = 0; tries < 3 && (best >= 20000 || of_child > 2); tries++) {
        int64_t before = cpu(), used;
        of_child = ticks(pids[0]);
        poll(NULL, 0, 2000);
        used = cpu() - before;
        of_child = ticks(pids[0]) - of_child;
        if (used < best) best = used;
    }
    if (best >= (slowly() ? 200000 : 20000) || of_child > 2) fprintf(stderr, "%d us, and %ld ticks of the child\n", (int)best, of_child);
    CHECK(best < (slowly() ? 200000 : 20000) && of_child <= 2);
    mcplink_client_free(idle), mcplink_client_free(lost);
    pair_close(&pair), pair_close(&gone);
    mcplink_server_free(server);
}

/* A child inherits its three streams and no other descriptor. A later child, ours or the host's, holds no descriptor of an earlier one. */
static void nothing_is_inherited(void)
{
    static const char *const streams[] = { "0 ", "1 ", "2 " };
    char text[16384], *line, *rest;
    mcplink_client_t *first = open_script("exec \"$SELF\" serve", 30000), *second = open_self();
    int64_t took;
    int i, fd;
    pid_t child;
    for (fd = 3; fd < 1024; fd++) {
        int flags = fcntl(fd, F_GETFD);
        if (flags >= 0 && !(flags & FD_CLOEXEC)) {
            char path[64], target[256];
            ssize_t len;
            snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
            len = readlink(path, target, sizeof target - 1);
            target[len > 0 ? len : 0] = 0;
            /* What this program was started with is not ours. */
            CHECK(strstr(born_with, target) != NULL);
        }
    }
    text_of(second, "born_with", text, sizeof text);
    for (i = 0, line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest), i++) {
        if (i < 3) CHECK(strncmp(line, streams[i], 2) == 0);
        else CHECK(strstr(born_with, strchr(line, ' ') + 1) != NULL);
    }
    CHECK(i >= 3);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        execlp("sleep", "sleep", "600", (char *)NULL);
        _exit(127);
    }
    /* It sees the end of its input, long before it would be told to end: nobody else holds the other end. */
    took = end(first, CLOSED);
    CHECK(took < 30000);
    mcplink_client_free(second);
    CHECK(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
}

int main(int argc, char **argv)
{
    state_t before;
    (void)argv;
    if (argc > 1) return serves();
    /* Here: what this program was started with. */
    descriptors(born_with, sizeof born_with);
    state_take(&before);
    nothing_is_left();
    a_stopped_one_is_killed();
    the_end_is_bounded();
    a_dead_one_is_reaped();
    a_server_ends_with_its_input();
    waiting_is_free();
    nothing_is_inherited();
    state_same(&before);
    return 0;
}
