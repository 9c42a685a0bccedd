/* A hand-made client: a server behind a pair of sockets, and lines of JSON on the other end. */
#ifndef TALK_H
#define TALK_H

#include "system.h"

/* The library is a good guest: in the end the process has the threads and descriptors that it had before. A server that was freed by one of its
   own callbacks may need a moment. */
static inline void talk_clean(int open)
{
#ifdef _WIN32
    /* A process has other threads and handles there, which come and go. */
    (void)open;
#else
    struct timespec moment = { 0, 1000000 };
    int i;
    for (i = 0; count_of("task") != 3 && i < PATIENCE; i++) nanosleep(&moment, NULL);
    CHECK(i < PATIENCE);
    CHECK(open_count() == open);
#endif
}

typedef struct {
    end_t fd;
    mcplink_session_t *session;
    char *text;
    size_t len;
} talk_t;

/* Serves a client over a pair of sockets, whose other end the talk has. */
static inline talk_t talk_begin_for(mcplink_server_t *server, const char *principal)
{
    mcplink_error_t *err = NULL;
    talk_t talk;
    end_t ends[2];
    memset(&talk, 0, sizeof talk);
    make_ends(ends);
    CHECK_STATUS(mcplink_server_serve_fds_start(server, END_NUMBER(ends[0]), END_NUMBER(ends[0]), principal, &talk.session, &err), MCPLINK_OK, err);
    close_end(ends[0]);
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
    CHECK(write_end(talk->fd, line, len) && write_end(talk->fd, "\n", 1));
}

/* The next line; NULL when there are no more. Valid until the next one is asked for. */
static inline const char *talk_line(talk_t *talk)
{
    static char line[1 << 16];
    for (;;) {
        char *end = talk->text == NULL ? NULL : memchr(talk->text, '\n', talk->len);
        char some[4096];
        size_t got;
        if (end != NULL) {
            size_t len = (size_t)(end - talk->text);
            CHECK(len < sizeof line);
            memcpy(line, talk->text, len);
            line[len] = 0;
            talk->len -= len + 1;
            memmove(talk->text, end + 1, talk->len);
            return line;
        }
        got = read_end(talk->fd, some, sizeof some);
        if (got == 0) return NULL;
        talk->text = realloc(talk->text, talk->len + got);
        CHECK(talk->text != NULL);
        memcpy(talk->text + talk->len, some, got);
        talk->len += got;
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
    if (talk->fd != NO_END) close_end(talk->fd);
    mcplink_session_free(talk->session);
    free(talk->text);
    memset(talk, 0, sizeof *talk);
    talk->fd = NO_END;
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
