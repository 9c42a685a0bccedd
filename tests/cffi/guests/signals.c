/* The host's signal handlers run on its own threads only; what it blocks and ignores is not handed down to servers that it starts. */
#include "guest.h"

static pthread_t home;
static volatile sig_atomic_t here, elsewhere;

static void on_signal(int number)
{
    (void)number;
    if (pthread_equal(pthread_self(), home)) here++;
    else elsewhere++;
}

static const int host_signals[] = { SIGUSR1, SIGUSR2, SIGALRM, SIGTERM, SIGINT, SIGHUP, SIGPROF, SIGWINCH };
#define COUNT (int)(sizeof host_signals / sizeof *host_signals)

/* Whether a thread has the library's name, or has ended. One that has just begun names itself in a moment. */
static int is_named(const char *task)
{
    char path[512], name[32] = "mcplink-";
    FILE *file;
    snprintf(path, sizeof path, "/proc/self/task/%s/comm", task);
    file = fopen(path, "re");
    if (file == NULL) return 1;
    if (fgets(name, sizeof name, file) == NULL) strcpy(name, "mcplink-");
    fclose(file);
    return strncmp(name, "mcplink-", 8) == 0;
}

/* Whether a thread has all signals blocked, apart from those for faults of its own, or has ended. One that begins has all of them blocked. */
static int is_masked(const char *task)
{
    static const int free[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGKILL, SIGSTOP };
    unsigned long long blocked = status_of(task, "SigBlk:"), wanted = 0x7fffffffULL;
    size_t i;
    for (i = 0; i < sizeof free / sizeof *free; i++) wanted &= ~(1ULL << (free[i] - 1));
    return blocked == ~0ULL || (blocked & 0x7fffffffULL) == wanted;
}

static void threads_are_masked(int at_least)
{
    DIR *dir = opendir("/proc/self/task");
    struct dirent *entry;
    int seen = 0;
    char me[32];
    CHECK(dir != NULL);
    snprintf(me, sizeof me, "%d", (int)getpid());
    while ((entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.' || strcmp(entry->d_name, me) == 0) continue;
        UNTIL(is_named(entry->d_name));
        UNTIL(is_masked(entry->d_name));
        seen++;
    }
    closedir(dir);
    CHECK(seen >= at_least);
}

static void what_a_child_is_born_with(mcplink_client_t *client)
{
    mcplink_result_t *result = NULL;
    mcplink_error_t *err = NULL;
    const char *text, *line;
    unsigned long long blocked, ignored, caught;
    CHECK_STATUS(mcplink_client_call_tool(client, "born_with", NULL, 0, NULL, &result, &err), MCPLINK_OK, err);
    text = mcplink_result_text(result).ptr;
    /* 32 and 33 are the own ones of the C library, which ignores them in whatever it spawns. */
    CHECK(sscanf(text, "blocked %llx ignored %llx caught %llx", &blocked, &ignored, &caught) == 3);
    CHECK(blocked == 0 && (ignored & ~0x180000000ULL) == 0 && caught == 0);
    /* It has its three standard streams and nothing else of ours or of the host. */
    line = strchr(text, '\n') + 1;
    CHECK(strncmp(line, "0 ", 2) == 0);
    line = strchr(line, '\n') + 1;
    CHECK(strncmp(line, "1 ", 2) == 0);
    line = strchr(line, '\n') + 1;
    CHECK(strncmp(line, "2 ", 2) == 0);
    line = strchr(line, '\n') + 1;
    CHECK(*line == 0);
    mcplink_result_free(result);
}

int main(int argc, char **argv)
{
    mcplink_client_t *client;
    mcplink_server_t *server;
    mcplink_session_t *session = NULL;
    mcplink_error_t *err = NULL;
    struct sigaction action;
    sigset_t all, pending;
    state_t before;
    int i, ends[2], leaky;
    (void)argv;
    if (argc > 1) return serve();

    home = pthread_self();
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    sigemptyset(&all);
    for (i = 0; i < COUNT; i++) {
        sigaction(host_signals[i], &action, NULL);
        sigaddset(&all, host_signals[i]);
    }
    signal(SIGQUIT, SIG_IGN);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    /* A descriptor that a careless host left open for its children. */
    leaky = open("/dev/null", O_RDONLY);
    CHECK(leaky >= 3);
    state_take(&before);

    client = guest_client();
    guest_greets(client);
    what_a_child_is_born_with(client);
    server = guest_server();
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    CHECK_STATUS(mcplink_server_serve_fds_start(server, ends[0], ends[0], NULL, &session, &err), MCPLINK_OK, err);
    threads_are_masked(3);

    /* Sent to the process, each waits for the one thread that may take it. */
    for (i = 0; i < COUNT; i++) kill(getpid(), host_signals[i]);
    guest_greets(client);
    sigpending(&pending);
    for (i = 0; i < COUNT; i++) CHECK(sigismember(&pending, host_signals[i]) == 1);
    CHECK(here == 0 && elsewhere == 0);
    pthread_sigmask(SIG_UNBLOCK, &all, NULL);
    CHECK(here == COUNT && elsewhere == 0);
    pthread_sigmask(SIG_BLOCK, &all, NULL);

    mcplink_session_free(session);
    mcplink_server_free(server);
    close(ends[0]), close(ends[1]);
    mcplink_client_free(client);
    state_same(&before);
    return 0;
}
