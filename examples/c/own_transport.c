/* MCP over an existing connection of the program: packets of its own protocol, of which one kind
 * carries MCP. Both ends are in this program, on a pair of sockets: ./own_transport
 *
 * A packet is one byte for the kind, four bytes for the length, and the data. The library never
 * sees a socket: it passes outgoing bytes to a function, and the program feeds it incoming bytes,
 * in pieces of any size. */
#include <mcplink.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { KIND_MCP = 'M', KIND_NOTE = 'N' };

/* One end of the connection. `lock` guards has_room; `changed` is signalled when it changes. */
struct end {
    const char *name;
    int fd;
    pthread_mutex_t write_lock; /* held while a packet is written, so that packets don't mix */
    mcplink_transport_t *transport;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool has_room; /* the transport accepts more input */
};

static bool send_all(int fd, const void *bytes, size_t len)
{
    const char *at = bytes;
    while (len > 0) {
        ssize_t sent = send(fd, at, len, MSG_NOSIGNAL);
        if (sent <= 0) return false;
        at += sent;
        len -= (size_t)sent;
    }
    return true;
}

static bool receive_all(int fd, void *bytes, size_t len)
{
    char *at = bytes;
    while (len > 0) {
        ssize_t got = recv(fd, at, len, 0);
        if (got <= 0) return false;
        at += got;
        len -= (size_t)got;
    }
    return true;
}

static bool send_packet(struct end *end, char kind, const char *bytes, size_t len)
{
    unsigned char head[5] = { (unsigned char)kind, (unsigned char)(len >> 24), (unsigned char)(len >> 16), (unsigned char)(len >> 8),
                              (unsigned char)len };
    bool sent;
    pthread_mutex_lock(&end->write_lock);
    sent = send_all(end->fd, head, sizeof head) && send_all(end->fd, bytes, len);
    pthread_mutex_unlock(&end->write_lock);
    return sent;
}

/* Sends outgoing bytes of the library. */
static mcplink_status_t on_send(void *user, const void *bytes, size_t len)
{
    return send_packet(user, KIND_MCP, bytes, len) ? MCPLINK_OK : MCPLINK_E_USER;
}

static void set_room(struct end *end, bool has_room)
{
    pthread_mutex_lock(&end->lock);
    end->has_room = has_room;
    pthread_cond_signal(&end->changed);
    pthread_mutex_unlock(&end->lock);
}

static void on_room(void *user)
{
    set_room(user, true);
}

/* The library has closed its connection. In this program that ends the socket connection too. */
static void on_close(void *user)
{
    struct end *end = user;
    shutdown(end->fd, SHUT_RDWR);
    set_room(end, true);
}

/* Feeds incoming bytes to the library; waits while it has no room.
 *
 * has_room is cleared before each attempt. So a report of room after the attempt is never lost: it
 * sets has_room, and the wait ends at once. */
static void feed(struct end *end, const char *bytes, size_t len)
{
    for (;;) {
        set_room(end, false);
        if (mcplink_transport_feed(end->transport, bytes, len) != MCPLINK_E_LIMIT) return;
        pthread_mutex_lock(&end->lock);
        while (!end->has_room) pthread_cond_wait(&end->changed, &end->lock);
        pthread_mutex_unlock(&end->lock);
    }
}

static void *read_packets(void *user)
{
    struct end *end = user;
    unsigned char head[5];
    while (receive_all(end->fd, head, sizeof head)) {
        size_t len = (size_t)head[1] << 24 | (size_t)head[2] << 16 | (size_t)head[3] << 8 | head[4];
        char bytes[4096];
        while (len > 0) {
            size_t some = len < sizeof bytes ? len : sizeof bytes;
            if (!receive_all(end->fd, bytes, some)) break;
            if (head[0] == KIND_MCP) feed(end, bytes, some);
            else printf("%s was told: %.*s\n", end->name, (int)some, bytes);
            len -= some;
        }
    }
    if (mcplink_transport_feed_end(end->transport, NULL) < 0) fputs("the transport is closed\n", stderr);
    return NULL;
}

static void end_init(struct end *end, const char *name, int fd)
{
    end->name = name;
    end->fd = fd;
    end->has_room = true;
    pthread_mutex_init(&end->write_lock, NULL);
    pthread_mutex_init(&end->lock, NULL);
    pthread_cond_init(&end->changed, NULL);
    end->transport = mcplink_transport_new(end, NULL);
    mcplink_transport_set_send(end->transport, on_send);
    mcplink_transport_set_close(end->transport, on_close);
    mcplink_transport_set_ready(end->transport, on_room);
}

static void end_free(struct end *end)
{
    mcplink_transport_free(end->transport);
    close(end->fd);
    pthread_mutex_destroy(&end->write_lock);
    pthread_mutex_destroy(&end->lock);
    pthread_cond_destroy(&end->changed);
}

/* The handler of the server's tool. */
static void shout(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    mcplink_str_t text = mcplink_json_str(mcplink_json_get(mcplink_request_args(req), "text"));
    char line[256];
    size_t i;
    (void)user;
    for (i = 0; i < text.len && i < sizeof line; i++)
        line[i] = text.ptr[i] >= 'a' && text.ptr[i] <= 'z' ? (char)(text.ptr[i] - 'a' + 'A') : text.ptr[i];
    mcplink_responder_text(resp, line, i);
}

static mcplink_status_t serve(mcplink_server_t *srv, struct end *end, mcplink_session_t **session, mcplink_error_t **err)
{
    mcplink_tool_t *tool = mcplink_tool_new("shout", "Says it in capitals");
    mcplink_status_t st;
    mcplink_tool_add_param(tool, "text", MCPLINK_PARAM_STRING, MCPLINK_PARAM_REQUIRED, NULL);
    st = mcplink_server_add_tool(srv, tool, shout, NULL, NULL, err);
    mcplink_tool_free(tool);
    return st == MCPLINK_OK ? mcplink_server_attach(srv, end->transport, NULL, session, err) : st;
}

static mcplink_status_t use(struct end *end, mcplink_client_t **client, mcplink_error_t **err)
{
    mcplink_client_options_t *o = mcplink_client_options_new();
    mcplink_result_t *result = NULL;
    mcplink_status_t st;
    mcplink_client_options_set_transport(o, end->transport);
    st = mcplink_client_open(o, client, err);
    mcplink_client_options_free(o);
    if (st == MCPLINK_OK) {
        send_packet(end, KIND_NOTE, "a call comes next", 17);
        st = mcplink_client_call_tool(*client, "shout", "{\"text\":\"over packets\"}", MCPLINK_NUL, NULL, &result, err);
    }
    if (st >= 0) printf("the answer: %s\n", mcplink_result_text(result).ptr);
    mcplink_result_free(result);
    return st;
}

int main(void)
{
    struct end ends[2];
    int fds[2];
    pthread_t readers[2];
    mcplink_server_t *srv = mcplink_server_new("own_transport", "1.0");
    mcplink_session_t *session = NULL;
    mcplink_client_t *client = NULL;
    mcplink_error_t *err = NULL;
    mcplink_status_t st;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) return 1;
    end_init(&ends[0], "the server", fds[0]);
    end_init(&ends[1], "the client", fds[1]);
    if (pthread_create(&readers[0], NULL, read_packets, &ends[0]) != 0 || pthread_create(&readers[1], NULL, read_packets, &ends[1]) != 0)
        return 1;
    st = serve(srv, &ends[0], &session, &err);
    if (st == MCPLINK_OK) st = use(&ends[1], &client, &err);
    if (st < 0) fprintf(stderr, "own_transport: %s\n", mcplink_error_message(err));
    mcplink_error_free(err);
    mcplink_client_free(client);
    /* Ends the readers, also if no client was opened that could close the connection. */
    shutdown(ends[1].fd, SHUT_RDWR);
    pthread_join(readers[0], NULL);
    pthread_join(readers[1], NULL);
    mcplink_session_free(session);
    mcplink_server_free(srv);
    end_free(&ends[0]);
    end_free(&ends[1]);
    return st != MCPLINK_OK;
}
