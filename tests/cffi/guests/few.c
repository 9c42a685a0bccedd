/* Few descriptors: whatever can't be had is an error that says so, and nothing leaks on the way. */
#include "guest.h"

static int opens(rlim_t files)
{
    struct rlimit limit;
    mcplink_client_options_t *o = guest_options();
    mcplink_client_t *client = NULL;
    mcplink_error_t *err = NULL;
    mcplink_pump_t *pump = NULL;
    mcplink_server_t *server = guest_server();
    mcplink_session_t *session = NULL;
    mcplink_status_t st;
    state_t before;
    int ends[2], works;

    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    getrlimit(RLIMIT_NOFILE, &limit);
    state_take(&before);
    limit.rlim_cur = files;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);

    st = mcplink_pump_new(&pump, &err);
    CHECK(st == MCPLINK_OK || (st == MCPLINK_E_IO && mcplink_error_os_code(err) == EMFILE && pump == NULL));
    works = st == MCPLINK_OK;
    mcplink_error_free(err);
    st = mcplink_client_open(o, &client, &err);
    if (st == MCPLINK_OK) {
        guest_greets(client);
    } else {
        works = 0;
        CHECK(client == NULL && (st == MCPLINK_E_IO || st == MCPLINK_E_SPAWN) && mcplink_error_message(err)[0] != 0);
        mcplink_error_free(err);
    }
    st = mcplink_server_serve_fds_start(server, ends[0], ends[0], NULL, &session, &err);
    if (st == MCPLINK_OK) {
        CHECK(!mcplink_session_is_closed(session));
    } else {
        works = 0;
        CHECK(session == NULL && st == MCPLINK_E_IO && mcplink_error_message(err)[0] != 0);
        mcplink_error_free(err);
    }
    mcplink_session_free(session);
    mcplink_client_free(client);
    mcplink_pump_free(pump);
    mcplink_client_options_free(o);
    mcplink_server_free(server);
    limit.rlim_cur = before.files.rlim_cur;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    state_same(&before);
    close(ends[0]), close(ends[1]);
    return works;
}

int main(int argc, char **argv)
{
    rlim_t first, files;
    int highest = 2, fd, worked = 0;
    (void)argv;
    if (argc > 1) return serve();
    for (fd = 3; fd < 1024; fd++) {
        if (fcntl(fd, F_GETFD) != -1) highest = fd;
    }
    /* One for the pair of sockets, then as many more as everything needs. */
    first = (rlim_t)highest + 3;
    for (files = first; files < first + 64; files++) {
        int works = opens(files);
        CHECK(works || !worked);
        worked = works;
        if (worked && files > first + 40) break;
    }
    CHECK(worked);
    return 0;
}
