/* Whatever the host does about ended children, ours end in order, and the host's are its own. */
#include "guest.h"

static void open_call_close(void)
{
    mcplink_client_t *client = guest_client();
    mcplink_error_t *err = NULL;
    guest_greets(client);
    CHECK_STATUS(mcplink_client_close(client, PATIENCE, &err), MCPLINK_OK, err);
    mcplink_client_free(client);
}

static void open_and_lose(void)
{
    mcplink_client_t *client = guest_client();
    mcplink_result_t *result = NULL;
    CHECK(mcplink_client_call_tool(client, "die", NULL, 0, NULL, &result, NULL) == MCPLINK_E_CLOSED);
    mcplink_client_free(client);
}

static void reap(int number)
{
    int saved = errno;
    (void)number;
    while (waitpid(-1, NULL, WNOHANG) > 0) {
    }
    errno = saved;
}

/* A thread that reaps whatever ends, as some daemons have. */
static volatile int reaping;

static void *reaper(void *unused)
{
    (void)unused;
    while (reaping) {
        while (waitpid(-1, NULL, WNOHANG) > 0) {
        }
        poll(NULL, 0, 1);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    state_t before;
    pthread_t thread;
    pid_t child;
    int i;
    (void)argv;
    if (argc > 1) return serve();

    state_take(&before);
    /* A child of the host that has ended is not reaped by us. */
    child = fork();
    if (child == 0) _exit(7);
    CHECK(child > 0);
    for (i = 0; i < 3; i++) {
        open_call_close();
        open_and_lose();
    }
    CHECK(status_of_child(child) == 7);
    state_same(&before);

    signal(SIGCHLD, SIG_IGN);
    for (i = 0; i < 3; i++) {
        open_call_close();
        open_and_lose();
    }
    signal(SIGCHLD, reap);
    for (i = 0; i < 3; i++) {
        open_call_close();
        open_and_lose();
    }
    signal(SIGCHLD, SIG_DFL);
    state_take(&before);

    reaping = 1;
    CHECK(pthread_create(&thread, NULL, reaper, NULL) == 0);
    for (i = 0; i < 3; i++) {
        open_call_close();
        open_and_lose();
    }
    reaping = 0;
    pthread_join(thread, NULL);
    state_same(&before);
    return 0;
}
