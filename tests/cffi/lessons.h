/* Shared by `lessons_*.c`, the programs that show through C that common faults of other SDKs do not happen here: calls that never return,
   orphaned processes, deadlocks, lost answers, handlers for one era only. It has a client and a server in one program, a server that is
   played line by line, and bounds on time. */
#ifndef LESSONS_H
#define LESSONS_H

#include "client.h"
#include "guests/guest.h"

/* How late a wait with a deadline may end, in milliseconds. */
#define LATE 250

/* How late it may end on a machine that is busy with other things. */
#define VERY_LATE 30000

/* How often something is tried that has to be in time once. */
#define TRIES 20

/* valgrind runs one thread at a time, and each slowly: what is about time is not looked at there, nor with as much. */
static inline int slowly(void) { return getenv("MCPLINK_VALGRIND") != NULL; }

/* Does something, again if need be, that takes no longer than so many milliseconds unless other programs are in its way. */
#define IN_TIME(limit, what)                                                              \
    do {                                                                                  \
        int tries_left = TRIES;                                                           \
        int64_t took, begun;                                                              \
        do {                                                                              \
            begun = now_ms();                                                             \
            what;                                                                         \
            took = now_ms() - begun;                                                      \
            CHECK(took <= (limit) + VERY_LATE);                                           \
        } while (took > (limit) && !slowly() && --tries_left > 0);                        \
        if (tries_left == 0) {                                                            \
            fprintf(stderr, "%s:%d: took %d ms at last: %s\n", __FILE__, __LINE__, (int)took, #what); \
            exit(1);                                                                      \
        }                                                                                 \
    } while (0)

/* A client and a server of this program, on the two ends of a pair of sockets. */
typedef struct {
    mcplink_session_t *session;
    mcplink_client_t *client;
} pair_t;

/* Options of the client are freed; NULL for none, and NULL for any revision. */
static inline pair_t pair_open(mcplink_server_t *server, mcplink_client_options_t *o, const char *revision)
{
    mcplink_error_t *err = NULL;
    pair_t pair;
    int ends[2];
    memset(&pair, 0, sizeof pair);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    CHECK_STATUS(mcplink_server_serve_fds_start(server, ends[0], ends[0], NULL, &pair.session, &err), MCPLINK_OK, err);
    if (o == NULL) o = mcplink_client_options_new();
    CHECK(mcplink_client_options_set_fds(o, ends[1], ends[1]) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_timeout_ms(o, PATIENCE) == MCPLINK_OK);
    pair.client = open_with(o, revision);
    close(ends[0]), close(ends[1]);
    return pair;
}

static inline void pair_close(pair_t *pair)
{
    mcplink_client_free(pair->client);
    mcplink_session_free(pair->session);
    memset(pair, 0, sizeof *pair);
}

/* Calls a tool without arguments, which has to answer with this text. */
static inline void says(mcplink_client_t *client, const char *tool, const char *text)
{
    mcplink_result_t *result = NULL;
    mcplink_error_t *err = NULL;
    CHECK_STATUS(mcplink_client_call_tool(client, tool, NULL, 0, NULL, &result, &err), MCPLINK_OK, err);
    CHECK_TEXT(mcplink_result_text(result), text);
    mcplink_result_free(result);
}

/* A server that is played line by line, at the other end of a client: a thread of its own answers the first request. */
typedef struct {
    int fd;
    FILE *in;
    char *line;
    size_t room;
} raw_t;

/* The next line; NULL at the end. Valid until the next one is asked for. */
static inline const char *raw_line(raw_t *raw)
{
    return getline(&raw->line, &raw->room, raw->in) > 0 ? raw->line : NULL;
}

/* The next line that holds this text; those before it are let go. */
static inline const char *raw_find(raw_t *raw, const char *part)
{
    const char *line;
    do {
        line = raw_line(raw);
        CHECK(line != NULL);
    } while (strstr(line, part) == NULL);
    return line;
}

static inline void raw_send(raw_t *raw, const char *text)
{
    size_t len = strlen(text);
    CHECK(send(raw->fd, text, len, MSG_NOSIGNAL) == (ssize_t)len && send(raw->fd, "\n", 1, MSG_NOSIGNAL) == 1);
}

/* The id of the request in a line. */
static inline long raw_id(const char *line)
{
    long id = -1;
    const char *at = strstr(line, "\"id\":");
    CHECK(at != NULL && sscanf(at, "\"id\":%ld", &id) == 1);
    return id;
}

static inline void raw_respond(raw_t *raw, long id, const char *result)
{
    char text[4096];
    CHECK(snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":%s}", id, result) < (int)sizeof text);
    raw_send(raw, text);
}

/* What a played server can do. */
#define RAW_CAPABILITIES                                                                  \
    "\"capabilities\":{\"tools\":{\"listChanged\":true},\"prompts\":{},\"resources\":{\"subscribe\":true},\"completions\":{},\"logging\":{}}"

static inline void *raw_opening(void *user)
{
    raw_t *raw = user;
    const char *line = raw_line(raw);
    CHECK(line != NULL);
    if (strstr(line, "server/discover")) {
        raw_respond(raw, raw_id(line),
                    "{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"]," RAW_CAPABILITIES ",\"ttlMs\":0,\"cacheScope\":\"private\"}");
    } else {
        raw_respond(raw, raw_id(line),
                    "{\"protocolVersion\":\"2025-11-25\"," RAW_CAPABILITIES ",\"serverInfo\":{\"name\":\"raw\",\"version\":\"1\"}}");
        raw_find(raw, "notifications/initialized");
    }
    return NULL;
}

/* Opens a client of a played server; options are freed. */
static inline mcplink_client_t *raw_open(raw_t *raw, mcplink_client_options_t *o, const char *revision)
{
    struct timeval patience = { PATIENCE / 1000, 0 };
    mcplink_client_t *client;
    pthread_t thread;
    int ends[2];
    memset(raw, 0, sizeof *raw);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    CHECK(setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0);
    raw->fd = ends[0];
    raw->in = fdopen(ends[0], "r");
    CHECK(raw->in != NULL);
    CHECK(pthread_create(&thread, NULL, raw_opening, raw) == 0);
    if (o == NULL) o = mcplink_client_options_new();
    CHECK(mcplink_client_options_set_fds(o, ends[1], ends[1]) == MCPLINK_OK);
    client = open_with(o, revision);
    close(ends[1]);
    CHECK(pthread_join(thread, NULL) == 0);
    return client;
}

/* The played server goes: the client sees the end. */
static inline void raw_leave(raw_t *raw)
{
    fclose(raw->in);
    free(raw->line);
    memset(raw, 0, sizeof *raw);
}

#endif
