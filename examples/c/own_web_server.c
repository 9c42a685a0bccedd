/* A small web server with MCP at one of its paths: ./own_web_server 8080, and a client at
 * http://127.0.0.1:8080/mcp. Port 0 means that the system chooses the port; the first line of the
 * output has its number. It ends on SIGTERM or SIGINT.
 *
 * A single thread does all the work: sockets, signals, and the handlers and responses of the
 * library, which run there through a pump. */
#include <mcplink.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_CONNECTIONS 64
#define MAX_REQUEST (1024 * 1024)

struct connection {
    int fd; /* -1 for none */
    char *in, *out;
    size_t in_len, out_len;
    mcplink_exchange_t *exchange; /* set when the request is complete */
    bool has_ended;               /* the whole response is in `out` */
    char quiet[16];               /* the text to write after each silent quiet_ms */
    int64_t quiet_ms, last_ms;
};

static mcplink_pump_t *pump;
static volatile sig_atomic_t is_stopping;

static void on_signal(int number)
{
    (void)number;
    is_stopping = 1;
    mcplink_pump_wakeup(pump); /* One of two functions that a signal handler may call. */
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Appends to the output. Returns false when there is no memory. */
static bool put(struct connection *c, const char *bytes, size_t len)
{
    char *longer = realloc(c->out, c->out_len + len + 1);
    if (longer == NULL) return false;
    memcpy(longer + c->out_len, bytes, len);
    c->out = longer;
    c->out_len += len;
    c->last_ms = now_ms();
    return true;
}

static bool put_text(struct connection *c, const char *text)
{
    return put(c, text, strlen(text));
}

/* The library's response: a head, pieces of the body, the end. */

static mcplink_status_t on_begin(void *user, const mcplink_http_head_t *head, int64_t length)
{
    struct connection *c = user;
    char line[64];
    bool fits;
    size_t i;
    snprintf(line, sizeof line, "HTTP/1.1 %d \r\nConnection: close\r\n", (int)mcplink_http_head_status(head));
    fits = put_text(c, line);
    for (i = 0; i < mcplink_http_head_count(head) && fits; i++)
        fits = put_text(c, mcplink_http_head_name(head, i).ptr) && put_text(c, ": ") && put_text(c, mcplink_http_head_value(head, i).ptr) &&
               put_text(c, "\r\n");
    if (length >= 0) {
        snprintf(line, sizeof line, "Content-Length: %lld\r\n", (long long)length);
        fits = fits && put_text(c, line);
    } else {
        /* The length is unknown: the end of the connection ends the body. */
        c->quiet_ms = mcplink_http_head_keep_alive_ms(head);
        snprintf(c->quiet, sizeof c->quiet, "%s", mcplink_http_head_keep_alive_text(head).ptr);
    }
    return fits && put_text(c, "\r\n") ? MCPLINK_OK : MCPLINK_E_USER;
}

static mcplink_status_t on_write(void *user, const void *bytes, size_t len)
{
    return put(user, bytes, len) ? MCPLINK_OK : MCPLINK_E_USER;
}

static void on_end(void *user, bool complete)
{
    struct connection *c = user;
    struct linger at_once = { 1, 0 };
    c->has_ended = true;
    if (!complete) { /* Reset the connection, so that the client detects the incomplete response. */
        c->out_len = 0;
        setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }
}

static void close_connection(struct connection *c)
{
    mcplink_exchange_free(c->exchange); /* Ends the response, if it has not ended yet. */
    close(c->fd);
    free(c->in);
    free(c->out);
    memset(c, 0, sizeof *c);
    c->fd = -1;
}

static void answer_plainly(struct connection *c, const char *status, const char *body)
{
    char head[128];
    snprintf(head, sizeof head, "HTTP/1.1 %s\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n\r\n", status,
             strlen(body));
    put_text(c, head);
    put_text(c, body);
    c->has_ended = true;
}

static void add_headers(mcplink_exchange_t *exchange, char *line)
{
    char *next, *value;
    for (; *line != 0; line = next + 2) {
        next = strstr(line, "\r\n");
        *next = 0;
        value = strchr(line, ':');
        if (value == NULL) continue;
        *value++ = 0;
        value += strspn(value, " \t");
        mcplink_exchange_add_header(exchange, line, value, MCPLINK_NUL);
    }
}

/* Writes address and port of one side of a connection; "" if the system does not know them. */
static void name_address(int (*of)(int, struct sockaddr *, socklen_t *), int fd, char *text, size_t size)
{
    struct sockaddr_in at = { 0 };
    socklen_t len = sizeof at;
    char host[INET_ADDRSTRLEN];
    text[0] = 0;
    if (of(fd, (struct sockaddr *)&at, &len) == 0 && inet_ntop(AF_INET, &at.sin_addr, host, sizeof host) != NULL)
        snprintf(text, size, "%s:%d", host, ntohs(at.sin_port));
}

/* Serves a complete request. Its head ends after the line end of the last header line; the empty
 * line was cut off. */
static void serve(struct connection *c, mcplink_http_t *http, char *body, size_t body_len)
{
    char *method = c->in, *target = strchr(method, ' ');
    char *version = target == NULL ? NULL : strchr(target + 1, ' ');
    char *line = strstr(c->in, "\r\n") + 2;
    char local[64], remote[64];
    if (version == NULL || version > line) {
        answer_plainly(c, "400 Bad Request", "this is no HTTP\n");
        return;
    }
    *target++ = 0;
    *version = 0;
    if (strncmp(target, "/mcp", 4) != 0) {
        answer_plainly(c, strcmp(target, "/") == 0 ? "200 OK" : "404 Not Found", "MCP is at /mcp\n");
        return;
    }
    c->exchange = mcplink_exchange_new(method, target, on_begin, on_write, on_end, c, NULL);
    add_headers(c->exchange, line);
    mcplink_exchange_set_body(c->exchange, body, body_len);
    name_address(getsockname, c->fd, local, sizeof local);
    name_address(getpeername, c->fd, remote, sizeof remote);
    /* An unknown local address is refused, because it determines the allowed host names. */
    mcplink_exchange_set_addresses(c->exchange, local, *remote ? remote : NULL);
    if (mcplink_http_serve(http, c->exchange, NULL) != MCPLINK_OK) answer_plainly(c, "500 Internal Server Error", "");
}

/* Returns the content length in the head, or 0. */
static size_t body_length(const char *head)
{
    const char *line;
    for (line = strstr(head, "\r\n"); line != NULL; line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, "Content-Length:", 15) == 0) return strtoul(line + 15, NULL, 10);
    }
    return 0;
}

/* Reads input, and serves the request when it is complete. */
static void take_input(struct connection *c, mcplink_http_t *http)
{
    char some[16384], *end;
    ssize_t got = recv(c->fd, some, sizeof some, 0);
    char *longer;
    size_t body_at, len;
    if (got <= 0) { /* The client has closed the connection. */
        close_connection(c);
        return;
    }
    /* Ignore a second request: this server accepts one per connection. */
    if (c->exchange != NULL || c->has_ended) return;
    longer = c->in_len + (size_t)got > MAX_REQUEST ? NULL : realloc(c->in, c->in_len + (size_t)got + 1);
    if (longer == NULL) {
        answer_plainly(c, "413 Content Too Large", "");
        return;
    }
    c->in = longer;
    memcpy(c->in + c->in_len, some, (size_t)got);
    c->in_len += (size_t)got;
    c->in[c->in_len] = 0;
    end = strstr(c->in, "\r\n\r\n");
    if (end == NULL) return;
    body_at = (size_t)(end - c->in) + 4;
    len = body_length(c->in);
    if (len > MAX_REQUEST) answer_plainly(c, "413 Content Too Large", "");
    else if (c->in_len - body_at >= len) {
        end[2] = 0;
        serve(c, http, c->in + body_at, len);
    }
}

static void give_output(struct connection *c)
{
    ssize_t sent = send(c->fd, c->out, c->out_len, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
        c->out_len -= (size_t)sent;
        memmove(c->out, c->out + sent, c->out_len);
    }
}

static void accept_connection(int listener, struct connection *all)
{
    int fd = accept(listener, NULL, NULL);
    size_t i;
    for (i = 0; i < MAX_CONNECTIONS && fd >= 0; i++) {
        if (all[i].fd >= 0) continue;
        fcntl(fd, F_SETFD, FD_CLOEXEC);
        all[i].fd = fd;
        return;
    }
    if (fd >= 0) close(fd);
}

/* Listens on the loopback address, and prints the URL. Returns -1 on failure. */
static int listen_on(uint16_t port)
{
    struct sockaddr_in at = { 0 };
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) != 0 || listen(fd, 64) != 0 ||
        getsockname(fd, (struct sockaddr *)&at, &size) != 0)
        return -1;
    fprintf(stderr, "own_web_server: http://127.0.0.1:%d/mcp\n", ntohs(at.sin_port));
    return fd;
}

/* Writes to streams that were silent for long. Returns the time until the next write is due. */
static int keep_alive(struct connection *all)
{
    int64_t now = now_ms(), wait = 60000;
    size_t i;
    for (i = 0; i < MAX_CONNECTIONS; i++) {
        struct connection *c = &all[i];
        int64_t left;
        if (c->fd < 0 || c->quiet_ms == 0 || c->has_ended) continue;
        if (now >= c->last_ms + c->quiet_ms && !put_text(c, c->quiet)) c->quiet_ms = 0;
        left = c->last_ms + c->quiet_ms - now;
        if (left < wait) wait = left < 0 ? 0 : left;
    }
    return (int)wait;
}

static void run(int listener, mcplink_http_t *http)
{
    static struct connection all[MAX_CONNECTIONS];
    struct pollfd polled[MAX_CONNECTIONS + 2];
    size_t i;
    for (i = 0; i < MAX_CONNECTIONS; i++) all[i].fd = -1;
    while (!is_stopping) {
        int timeout = keep_alive(all);
        for (i = 0; i < MAX_CONNECTIONS; i++) {
            polled[i].fd = all[i].fd;
            polled[i].events = (short)(POLLIN | (all[i].out_len > 0 ? POLLOUT : 0));
        }
        polled[i].fd = listener;
        polled[i + 1].fd = (int)mcplink_pump_fd(pump);
        polled[i].events = polled[i + 1].events = POLLIN;
        if (poll(polled, MAX_CONNECTIONS + 2, timeout) < 0) continue; /* Interrupted by a signal. */
        for (i = 0; i < MAX_CONNECTIONS; i++) {
            struct connection *c = &all[i];
            if (polled[i].fd < 0) continue;
            if (polled[i].revents & POLLOUT) give_output(c);
            if (polled[i].revents & (POLLIN | POLLERR | POLLHUP)) take_input(c, http);
            if (c->fd >= 0 && c->has_ended && c->out_len == 0) close_connection(c);
        }
        if (polled[i].revents != 0) accept_connection(listener, all);
        if (polled[i + 1].revents != 0) mcplink_pump_dispatch(pump, 64);
    }
    for (i = 0; i < MAX_CONNECTIONS; i++)
        if (all[i].fd >= 0) close_connection(&all[i]);
}

/* The handler of the server's tool: it reports progress, so its response is a stream. */
static void count(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    int i;
    (void)user;
    (void)req;
    for (i = 1; i <= 3; i++) mcplink_responder_progress(resp, i, 3, NULL);
    mcplink_responder_text(resp, "counted to three", MCPLINK_NUL);
}

static mcplink_status_t make_endpoint(mcplink_server_t **srv, mcplink_http_t **http, mcplink_error_t **err)
{
    mcplink_server_options_t *o = mcplink_server_options_new("own_web_server", "1.0");
    mcplink_tool_t *tool = mcplink_tool_new("count", "Counts to three");
    mcplink_status_t st;
    mcplink_server_options_set_pump(o, pump);
    st = mcplink_server_new_with(o, srv, err);
    if (st == MCPLINK_OK) st = mcplink_server_add_tool(*srv, tool, count, NULL, NULL, err);
    if (st == MCPLINK_OK) st = mcplink_server_http(*srv, NULL, http, err);
    mcplink_tool_free(tool);
    mcplink_server_options_free(o);
    return st;
}

int main(int argc, char **argv)
{
    mcplink_server_t *srv = NULL;
    mcplink_http_t *http = NULL;
    mcplink_error_t *err = NULL;
    struct sigaction action = { 0 };
    int listener = -1;
    mcplink_status_t st = mcplink_pump_new(&pump, &err);
    if (st == MCPLINK_OK) st = make_endpoint(&srv, &http, &err);
    action.sa_handler = on_signal;
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    if (st == MCPLINK_OK) listener = listen_on((uint16_t)(argc > 1 ? atoi(argv[1]) : 8080));
    if (listener >= 0) run(listener, http);
    else fprintf(stderr, "own_web_server: %s\n", st < 0 ? mcplink_error_message(err) : "the port can't be had");
    if (listener >= 0) close(listener);
    mcplink_error_free(err);
    mcplink_http_free(http);
    mcplink_server_free(srv);
    mcplink_pump_free(pump);
    return listener < 0;
}
