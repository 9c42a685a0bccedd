/* A daemon with its own signals and children, which serves over HTTP until SIGTERM or SIGINT.
 *
 *     ./daemon 127.0.0.1:0
 *
 * Its tool runs a shell command, and answers when the daemon's own reaper has reaped that child. The
 * library installs no signal handler, its threads block all signals, and it waits for no child that
 * it did not start. So signals and children belong to the daemon. */
#include <mcplink.h>

#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct job {
    struct job *next;
    pid_t pid;
    mcplink_responder_t *resp;
};

/* The commands that run. The lock guards the list; it is also held from the start of a child until
 * its job is in the list, so that the reaper never finds a child without a job. */
static struct {
    pthread_mutex_t lock;
    struct job *first;
} jobs = { PTHREAD_MUTEX_INITIALIZER, NULL };

/* Starts a command with no signal blocked; by default a child inherits its parent's signal mask. */
static int start(const char *command, pid_t *pid)
{
    char *argv[] = { "sh", "-c", (char *)command, NULL };
    posix_spawnattr_t attr;
    sigset_t none;
    int failed;
    sigemptyset(&none);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
    failed = posix_spawn(pid, "/bin/sh", NULL, &attr, argv, environ);
    posix_spawnattr_destroy(&attr);
    return failed;
}

/* Runs on a thread of the library. It holds the lock until the job is in the list: the reaper waits
 * for it, even if the child ends at once. */
static void run(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    struct job *job = malloc(sizeof *job);
    (void)user;
    if (job == NULL) return; /* The library answers with an error. */
    pthread_mutex_lock(&jobs.lock);
    if (start(mcplink_json_str(mcplink_json_get(mcplink_request_args(req), "command")).ptr, &job->pid) == 0) {
        job->resp = mcplink_responder_keep(resp);
        job->next = jobs.first;
        jobs.first = job;
    } else {
        mcplink_responder_tool_error(resp, "it can't be started", MCPLINK_NUL);
        free(job);
    }
    pthread_mutex_unlock(&jobs.lock);
}

/* Removes a job from the list, and returns it. */
static struct job *take_job(pid_t pid)
{
    struct job **at, *job;
    pthread_mutex_lock(&jobs.lock);
    for (at = &jobs.first; *at != NULL && (*at)->pid != pid;) at = &(*at)->next;
    job = *at;
    if (job != NULL) *at = job->next;
    pthread_mutex_unlock(&jobs.lock);
    return job;
}

/* Reaps every child that has ended, also those that other code started. */
static void reap(void)
{
    pid_t pid;
    int status;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        struct job *job = take_job(pid);
        char line[64];
        if (job == NULL) continue;
        if (WIFEXITED(status)) snprintf(line, sizeof line, "ended with status %d", WEXITSTATUS(status));
        else snprintf(line, sizeof line, "ended by signal %d", WTERMSIG(status));
        mcplink_responder_text(job->resp, line, MCPLINK_NUL);
        mcplink_responder_free(job->resp);
        free(job);
    }
}

/* The daemon's loop: handles one signal after the other. */
static void wait_for_end(const sigset_t *mine)
{
    int got = 0;
    while (got != SIGTERM && got != SIGINT)
        if (sigwait(mine, &got) == 0 && got == SIGCHLD) reap();
}

int main(int argc, char **argv)
{
    mcplink_server_t *srv = mcplink_server_new("daemon", "1.0");
    mcplink_tool_t *tool = mcplink_tool_new("run", "Runs a shell command, and says how it ended");
    mcplink_listener_t *listener = NULL;
    mcplink_error_t *err = NULL;
    mcplink_status_t st;
    struct job *job;
    sigset_t mine;
    if (argc != 2) {
        fprintf(stderr, "usage: daemon ADDRESS:PORT\n");
        return 2;
    }
    /* Block the signals before any thread starts, so that all threads inherit the mask. */
    sigemptyset(&mine);
    sigaddset(&mine, SIGTERM);
    sigaddset(&mine, SIGINT);
    sigaddset(&mine, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &mine, NULL);

    mcplink_tool_add_param(tool, "command", MCPLINK_PARAM_STRING, MCPLINK_PARAM_REQUIRED, "For /bin/sh");
    st = mcplink_server_add_tool(srv, tool, run, NULL, NULL, &err);
    mcplink_tool_free(tool);
    if (st == MCPLINK_OK) st = mcplink_server_listen_http(srv, NULL, argv[1], &listener, &err);
    if (st == MCPLINK_OK) {
        fprintf(stderr, "daemon: %s\n", mcplink_listener_url(listener).ptr);
        wait_for_end(&mine);
    } else {
        fprintf(stderr, "daemon: %s\n", mcplink_error_message(err));
    }
    mcplink_error_free(err);
    mcplink_listener_free(listener);
    mcplink_server_free(srv);
    /* A kept responder may outlive its server. */
    while ((job = jobs.first) != NULL) {
        jobs.first = job->next;
        mcplink_responder_free(job->resp);
        free(job);
    }
    fprintf(stderr, "daemon: stopped\n");
    return st < 0;
}
