/* What the programs share that are clients: the example server, and events that can be waited for. */
#ifndef CLIENT_H
#define CLIENT_H

#include "check.h"

#include <pthread.h>
#include <time.h>

/* How long a test waits for what has to come. */
#define LONG_SECONDS 60

/* The path of the example `everything_server`, beside the folder of the tests. */
static inline const char *everything_server(void)
{
    static char path[4096];
    const char *folder = getenv("MCPLINK_TEST_FOLDER");
    CHECK(folder != NULL);
    snprintf(path, sizeof path, "%s/../examples/everything_server", folder);
    return path;
}

/* Options for a client that starts it. */
static inline mcplink_client_options_t *everything_options(void)
{
    const char *argv[3];
    mcplink_client_options_t *o = mcplink_client_options_new();
    argv[0] = everything_server();
    argv[1] = "stdio";
    argv[2] = NULL;
    CHECK(mcplink_client_options_set_command(o, argv) == MCPLINK_OK);
    return o;
}

/* A client of it that speaks one revision; options are freed. NULL for any revision. */
static inline mcplink_client_t *open_with(mcplink_client_options_t *o, const char *revision)
{
    mcplink_client_t *c = NULL;
    mcplink_error_t *err = NULL;
    if (revision) CHECK(mcplink_client_options_set_revisions(o, revision) == MCPLINK_OK);
    CHECK_STATUS(mcplink_client_open(o, &c, &err), MCPLINK_OK, err);
    mcplink_client_options_free(o);
    return c;
}

/* Something that happened so many times: waited for with a deadline. */
struct counter {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int count;
};

#define COUNTER { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 }

static inline void counter_add(struct counter *c)
{
    pthread_mutex_lock(&c->lock);
    c->count++;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

static inline int counter_get(struct counter *c)
{
    int count;
    pthread_mutex_lock(&c->lock);
    count = c->count;
    pthread_mutex_unlock(&c->lock);
    return count;
}

/* Waits until it happened so often; whether it did. */
static inline int counter_wait(struct counter *c, int count)
{
    struct timespec until;
    int reached;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LONG_SECONDS;
    pthread_mutex_lock(&c->lock);
    while (c->count < count && pthread_cond_timedwait(&c->changed, &c->lock, &until) == 0) {
    }
    reached = c->count >= count;
    pthread_mutex_unlock(&c->lock);
    return reached;
}

/* As a destroy function. */
static inline void count_one(void *user) { counter_add(user); }

#endif
