/* A hand-made client: a server behind a pair of sockets, and lines of JSON on the other end. */
#ifndef TALK_H
#define TALK_H

#include "check.h"

#include <dirent.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* How long a test waits for anything, in milliseconds. */
#define PATIENCE 60000

/* How many threads ("task") or descriptors ("fd") the process has. */
static inline int count_of(const char *what)
{
    char path[64];
    DIR *folder;
    int count = 0;
    snprintf(path, sizeof path, "/proc/self/%s", what);
    folder = opendir(path);
    CHECK(folder != NULL);
    while (readdir(folder) != NULL) count++;
    closedir(folder);
    return count;
}

/* The library is a good guest: in the end the process has the threads and descriptors that it had before. A server that was freed by one of its
   own callbacks may need a moment. */
static inline void talk_clean(int fds)
{
    struct timespec moment = { 0, 1000000 };
    int i;
    for (i = 0; count_of("task") != 3 && i < PATIENCE; i++) nanosleep(&moment, NULL);
    CHECK(i < PATIENCE);
    CHECK(count_of("fd") == fds);
}

typedef struct {
    int fd;
    mcplink_session_t *session;
    char *text;
    size_t len;
} talk_t;

/* Serves a client over a pair of sockets, whose other end the talk has. */
static inline talk_t talk_begin_for(mcplink_server_t *server, const char *principal)
{
    mcplink_error_t *err = NULL;
    talk_t talk;
    int ends[2];
    memset(&talk, 0, sizeof talk);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    CHECK_STATUS(mcplink_server_serve_fds_start(server, ends[0], ends[0], principal, &talk.session, &err), MCPLINK_OK, err);
    close(ends[0]);
    talk.fd = ends[1];
    return talk;
}

static inline talk_t talk_begin(mcplink_server_t *server)
{
    return talk_begin_for(server, NULL);
}

static inline void talk_send(talk_t *talk, const char *line)
{
    size_t len = strlen(line);
    CHECK(send(talk->fd, line, len, MSG_NOSIGNAL) == (ssize_t)len && send(talk->fd, "\n", 1, MSG_NOSIGNAL) == 1);
}

/* The next line; NULL when there are no more. Valid until the next one is asked for. */
static inline const char *talk_line(talk_t *talk)
{
    static char line[1 << 16];
    for (;;) {
        char *end = talk->text == NULL ? NULL : memchr(talk->text, '\n', talk->len);
        struct pollfd p;
        char some[4096];
        ssize_t got;
        if (end != NULL) {
            size_t len = (size_t)(end - talk->text);
            CHECK(len < sizeof line);
            memcpy(line, talk->text, len);
            line[len] = 0;
            talk->len -= len + 1;
            memmove(talk->text, end + 1, talk->len);
            return line;
        }
        p.fd = talk->fd;
        p.events = POLLIN;
        CHECK(poll(&p, 1, PATIENCE) == 1);
        got = read(talk->fd, some, sizeof some);
        if (got <= 0) return NULL;
        talk->text = realloc(talk->text, talk->len + (size_t)got);
        CHECK(talk->text != NULL);
        memcpy(talk->text + talk->len, some, (size_t)got);
        talk->len += (size_t)got;
    }
}

/* The next line, which has to hold this text. */
#define TALK_HOLDS(talk, part) talk_holds(__FILE__, __LINE__, (talk), (part))

static inline const char *talk_holds(const char *file, int at, talk_t *talk, const char *part)
{
    const char *line = talk_line(talk);
    if (line == NULL || strstr(line, part) == NULL) {
        fprintf(stderr, "%s:%d: no \"%s\" in: %s\n", file, at, part, line == NULL ? "(the end)" : line);
        exit(1);
    }
    return line;
}

/* Opens the conversation in the way of the revisions before 2026-07-28. */
static inline void talk_open(talk_t *talk, const char *capabilities)
{
    char line[512];
    snprintf(line, sizeof line,
             "{\"jsonrpc\":\"2.0\",\"id\":\"open\",\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\","
             "\"capabilities\":%s,\"clientInfo\":{\"name\":\"talk\",\"version\":\"1\"}}}",
             capabilities);
    talk_send(talk, line);
    TALK_HOLDS(talk, "\"protocolVersion\":\"2025-11-25\"");
    talk_send(talk, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
}

/* Calls a tool. */
static inline void talk_call(talk_t *talk, const char *id, const char *tool, const char *args)
{
    char line[4096];
    snprintf(line, sizeof line,
             "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\",\"arguments\":%s,"
             "\"_meta\":{\"progressToken\":\"p\"}}}",
             id, tool, args);
    talk_send(talk, line);
}

static inline void talk_end(talk_t *talk)
{
    if (talk->fd >= 0) close(talk->fd);
    mcplink_session_free(talk->session);
    free(talk->text);
    memset(talk, 0, sizeof *talk);
    talk->fd = -1;
}

/* Adds a tool without arguments of its own. */
static inline void add_tool(mcplink_server_t *server, const char *name, mcplink_handler_fn handler, void *user,
                            mcplink_destroy_fn destroy)
{
    mcplink_error_t *err = NULL;
    mcplink_tool_t *tool = mcplink_tool_new(name, "for tests");
    CHECK_STATUS(mcplink_server_add_tool(server, tool, handler, user, destroy, &err), MCPLINK_OK, err);
    mcplink_tool_free(tool);
}

#endif
