/* A server that a test plays itself, over a transport of its own: the last revision of the legacy era. */
#ifndef PEER_H
#define PEER_H

#include "client.h"

struct peer {
    mcplink_transport_t *transport;
    /* Answers a message; method is "" for a response. Runs on the thread that sends. */
    void (*answer)(struct peer *peer, const char *method, const mcplink_json_t *message);
    struct counter closed;
    struct counter destroyed;
    char line[1 << 16];
    size_t len;
    /* What the server says of itself. */
    const char *capabilities;
};

static inline void peer_feed(struct peer *p, const char *text)
{
    CHECK(mcplink_transport_feed(p->transport, text, strlen(text)) == MCPLINK_OK);
}

/* Answers the request in a message with a result. */
static inline void peer_respond(struct peer *p, const mcplink_json_t *request, const char *result)
{
    static const char format[] = "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n";
    size_t room = strlen(result) + 200;
    char *text = malloc(room);
    CHECK(text != NULL);
    snprintf(text, room, format, mcplink_json_text(mcplink_json_get(request, "id")).ptr, result);
    /* It may be closed meanwhile. */
    mcplink_transport_feed(p->transport, text, strlen(text));
    free(text);
}

static inline void peer_message(struct peer *p, const char *line, size_t len)
{
    mcplink_json_t *message = NULL;
    const char *method;
    char result[1024];
    CHECK(mcplink_json_parse(line, len, &message, NULL) == MCPLINK_OK);
    method = mcplink_json_str(mcplink_json_get(message, "method")).ptr;
    if (strcmp(method, "initialize") == 0) {
        snprintf(result, sizeof result,
                 "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":%s,\"serverInfo\":{\"name\":\"peer\",\"version\":\"1\"}}",
                 p->capabilities ? p->capabilities : "{\"tools\":{\"listChanged\":true},\"resources\":{\"subscribe\":true}}");
        peer_respond(p, message, result);
    } else if (strcmp(method, "notifications/initialized") != 0 && p->answer) {
        p->answer(p, method, message);
    }
    mcplink_json_free(message);
}

static inline mcplink_status_t peer_send(void *user, const void *bytes, size_t len)
{
    struct peer *p = user;
    const char *text = bytes;
    size_t i;
    for (i = 0; i < len; i++) {
        if (text[i] == '\n') {
            peer_message(p, p->line, p->len);
            p->len = 0;
        } else {
            CHECK(p->len < sizeof p->line);
            p->line[p->len++] = text[i];
        }
    }
    return MCPLINK_OK;
}

static inline void peer_close(void *user) { counter_add(&((struct peer *)user)->closed); }
static inline void peer_destroy(void *user) { counter_add(&((struct peer *)user)->destroyed); }

/* Begins to play: the transport is to be freed. */
static inline void peer_begin(struct peer *p, void (*answer)(struct peer *, const char *, const mcplink_json_t *))
{
    static const struct counter none = COUNTER;
    memset(p, 0, sizeof *p);
    p->closed = p->destroyed = none;
    p->answer = answer;
    p->transport = mcplink_transport_new(p, peer_destroy);
    CHECK(mcplink_transport_set_send(p->transport, peer_send) == MCPLINK_OK);
    CHECK(mcplink_transport_set_close(p->transport, peer_close) == MCPLINK_OK);
}

/* Options for a client of it. */
static inline mcplink_client_options_t *peer_options(struct peer *p)
{
    mcplink_client_options_t *o = mcplink_client_options_new();
    CHECK(mcplink_client_options_set_transport(o, p->transport) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_revisions(o, "2025-11-25") == MCPLINK_OK);
    return o;
}

static inline mcplink_client_t *peer_open(struct peer *p)
{
    return open_with(peer_options(p), NULL);
}

#endif
