/* A server with every feature, to try clients on: conformance_server stdio, or
 * conformance_server http 127.0.0.1:PORT
 *
 * The protocol's conformance suite requires the tools, resources and prompts whose names begin with
 * "test". Over HTTP the server runs until SIGTERM or SIGINT; the first line on standard error is
 * its URL. */
#include "server.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static mcplink_status_t make_server(mcplink_server_t **srv, mcplink_error_t **err)
{
    mcplink_status_t st;
    mcplink_server_options_t *o = mcplink_server_options_new("everything", "1.0");
    mcplink_server_options_set_instructions(o, "Everything here is for trying out clients.");
    mcplink_server_options_set_logging(o, true);
    mcplink_server_options_set_tasks(o, 1024, 3600 * 1000);
    st = mcplink_server_new_with(o, srv, err);
    mcplink_server_options_free(o);
    if (st == MCPLINK_OK) st = add_tools(*srv, err);
    if (st == MCPLINK_OK) st = add_asking(*srv, err);
    if (st == MCPLINK_OK) st = add_jobs(*srv, err);
    if (st == MCPLINK_OK) st = add_changes(*srv, err);
    if (st == MCPLINK_OK) st = add_resources(*srv, err);
    if (st == MCPLINK_OK) st = add_prompts(*srv, err);
    return st;
}

static mcplink_status_t serve_http(mcplink_server_t *srv, const char *address, mcplink_error_t **err)
{
    mcplink_listener_t *listener = NULL;
    mcplink_status_t st;
    sigset_t ending;
    int got;
    sigemptyset(&ending);
    sigaddset(&ending, SIGTERM);
    sigaddset(&ending, SIGINT);
    sigprocmask(SIG_BLOCK, &ending, NULL);
    st = mcplink_server_listen_http(srv, NULL, address, &listener, err);
    if (st == MCPLINK_OK) {
        fprintf(stderr, "conformance_server: %s\n", mcplink_listener_url(listener).ptr);
        sigwait(&ending, &got);
    }
    mcplink_listener_free(listener);
    return st;
}

int main(int argc, char **argv)
{
    mcplink_server_t *srv = NULL;
    mcplink_error_t *err = NULL;
    bool stdio = argc == 2 && strcmp(argv[1], "stdio") == 0;
    bool http = argc == 3 && strcmp(argv[1], "http") == 0;
    mcplink_status_t st;
    if (!stdio && !http) {
        fprintf(stderr, "usage: conformance_server stdio | http ADDRESS:PORT\n");
        return 2;
    }
    st = make_server(&srv, &err);
    if (st == MCPLINK_OK) st = stdio ? mcplink_server_serve_stdio(srv, &err) : serve_http(srv, argv[2], &err);
    if (st < 0) fprintf(stderr, "conformance_server: %s\n", mcplink_error_message(err));
    mcplink_error_free(err);
    mcplink_server_free(srv);
    return st < 0;
}
