/* The processes of one server tell each other of changes: here, two servers in one process. */
#include "talk.h"

#include <stdatomic.h>

static atomic_int ended;
static void count_end(void *user) { ended += *(int *)user; }
static int one = 1, ten = 10;

/* The events that the first server has published, for the second one. */
static struct {
    mcplink_server_t *other;
    mcplink_status_t status;
    char last[128];
    int count;
} bus;

static mcplink_status_t publish(void *user, mcplink_str_t event)
{
    CHECK(*(int *)user == 10 && strlen(event.ptr) == event.len && event.len < sizeof bus.last);
    memcpy(bus.last, event.ptr, event.len + 1);
    bus.count++;
    if (bus.status != MCPLINK_OK) return bus.status;
    return mcplink_server_deliver(bus.other, event.ptr);
}

static void run_tool(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    (void)user, (void)request;
    mcplink_responder_text(responder, "done", MCPLINK_NUL);
}

static mcplink_server_t *serve(mcplink_server_options_t *options)
{
    mcplink_server_t *server = NULL;
    mcplink_error_t *err = NULL;
    CHECK(mcplink_server_options_set_resource_updates(options, true) == MCPLINK_OK);
    CHECK_STATUS(mcplink_server_new_with(options, &server, &err), MCPLINK_OK, err);
    mcplink_server_options_free(options);
    add_tool(server, "first", run_tool, NULL, NULL);
    return server;
}

int main(void)
{
    int open = open_count();
    mcplink_server_options_t *options = mcplink_server_options_new("shop", "1");
    mcplink_server_t *server;
    talk_t talk;

    CHECK(mcplink_server_options_set_event_bus(options, publish, &one, count_end) == MCPLINK_OK);
    CHECK(mcplink_server_options_set_event_bus(options, publish, &ten, count_end) == MCPLINK_OK && ended == 1);
    bus.other = serve(mcplink_server_options_new("shop", "1"));
    server = serve(options);
    CHECK(mcplink_server_deliver(NULL, "x") == MCPLINK_E_INVALID);

    talk = talk_begin(bus.other);
    talk_open(&talk, "{}");
    talk_send(&talk, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
    TALK_HOLDS(&talk, "\"id\":1");
    bus.count = 0;
    add_tool(server, "second", run_tool, NULL, NULL);
    CHECK(bus.count == 1);
    TALK_HOLDS(&talk, "notifications/tools/list_changed");
    CHECK(mcplink_server_resource_updated(server, "stock://\"apples\"") == MCPLINK_OK);
    CHECK(bus.count == 2 && strstr(bus.last, "stock://\\\"apples\\\"") != NULL);

    /* Events that may have been lost, and one of another version. */
    CHECK(mcplink_server_deliver(bus.other, NULL) == MCPLINK_OK);
    TALK_HOLDS(&talk, "notifications/tools/list_changed");
    CHECK(mcplink_server_deliver(bus.other, "?") == MCPLINK_OK);
    TALK_HOLDS(&talk, "notifications/tools/list_changed");

    /* A bus that fails keeps nobody from the change. */
    bus.status = MCPLINK_E_USER;
    add_tool(server, "third", run_tool, NULL, NULL);
    CHECK(bus.count == 3);
    talk_end(&talk);
    mcplink_server_free(server);
    mcplink_server_free(bus.other);
    CHECK(ended == 11);
    talk_clean(open);
    return 0;
}
