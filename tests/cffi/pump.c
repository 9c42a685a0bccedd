/* The pump by itself: waiting, waking, its descriptor, its notify hook, misuse. */
#include "check.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

static int destroyed;
static mcplink_pump_t *pump;

static void ring(void *user) { (void)user; }
static void ended(void *user) { destroyed += *(int *)user; }
static void on_alarm(int signal) { (void)signal; mcplink_pump_wakeup(pump); }

static int readable(void)
{
    struct pollfd p;
    p.fd = (int)mcplink_pump_fd(pump);
    p.events = POLLIN;
    return poll(&p, 1, 0);
}

int main(void)
{
    mcplink_error_t *err = NULL;
    int one = 1, ten = 10;

    CHECK_STATUS(mcplink_pump_new(&pump, &err), MCPLINK_OK, err);
    CHECK(mcplink_pump_fd(pump) >= 3 && readable() == 0);
    CHECK(mcplink_pump_wait(pump, 1) == 0 && mcplink_pump_dispatch(pump, 64) == 0);

    CHECK(mcplink_pump_wakeup(pump) == MCPLINK_OK && readable() == 1);
    CHECK(mcplink_pump_dispatch(pump, 64) == 0 && readable() == 0);

    signal(SIGUSR1, on_alarm);
    raise(SIGUSR1);
    CHECK(mcplink_pump_wait(pump, 60000) == 0);

    /* What was registered is ended when it is replaced, when it is taken away and when it can't be registered. */
    CHECK(mcplink_pump_set_notify(pump, ring, &one, ended) == MCPLINK_OK && destroyed == 0);
    CHECK(mcplink_pump_set_notify(pump, ring, &ten, ended) == MCPLINK_OK && destroyed == 1);
    CHECK(mcplink_pump_set_notify(NULL, ring, &one, ended) == MCPLINK_E_INVALID && destroyed == 2);
    CHECK(mcplink_pump_set_notify(pump, NULL, &one, ended) == MCPLINK_OK && destroyed == 13);
    CHECK(mcplink_pump_set_notify(pump, ring, &one, ended) == MCPLINK_OK);
    mcplink_pump_free(pump);
    CHECK(destroyed == 14);

    CHECK(mcplink_pump_new(NULL, NULL) == MCPLINK_E_INVALID);
    mcplink_pump_free(NULL);
    CHECK(mcplink_pump_fd(NULL) == -1 && mcplink_pump_wait(NULL, 0) == MCPLINK_E_INVALID);
    CHECK(mcplink_pump_dispatch(NULL, 1) == MCPLINK_E_INVALID && mcplink_pump_wakeup(NULL) == MCPLINK_E_INVALID);
    return 0;
}
