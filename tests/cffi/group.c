/* Several servers used as one: joined lists, and the client of a name. */
#include "peer.h"

#include <stdint.h>

#define LIST(g, kind, out) CHECK_STATUS(mcplink_group_list(g, kind, NULL, out, &err), MCPLINK_OK, err)

struct side {
    mcplink_server_t *server;
    mcplink_session_t *session;
    mcplink_client_t *client;
    mcplink_group_t *group;
    mcplink_status_t inside;
};

static void say(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)req;
    mcplink_responder_text(resp, user, MCPLINK_NUL);
}

/* Lists the group on the thread that runs the handlers of its client. */
static void on_roots(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    struct side *side = user;
    mcplink_json_t *list = NULL;
    mcplink_client_t *client;
    const char *own;
    (void)req;
    side->inside = mcplink_group_list(side->group, MCPLINK_LIST_TOOLS, NULL, &list, NULL);
    CHECK(list == NULL && mcplink_group_find(side->group, MCPLINK_PRIMITIVE_RESOURCE, "none://", &client, &own, NULL) == MCPLINK_E_STATE);
    mcplink_responder_json(resp, "{\"roots\":[]}", MCPLINK_NUL);
}

static void ask_roots(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)user, (void)req;
    if (mcplink_responder_ask(resp, "roots", "roots/list", NULL, 0, NULL, NULL) == MCPLINK_OK) mcplink_responder_text(resp, "asked", MCPLINK_NUL);
}

static void begin(struct side *side, const char *name, const char *uri)
{
    mcplink_transport_t *here = NULL, *there = NULL;
    mcplink_client_options_t *options = mcplink_client_options_new();
    mcplink_tool_t *tool = mcplink_tool_new("read", NULL), *asking = mcplink_tool_new("ask", NULL);
    mcplink_prompt_t *prompt = mcplink_prompt_new("read", NULL);
    mcplink_resource_t *resource = mcplink_resource_new(uri, "a");
    mcplink_template_t *more = mcplink_template_new("more://{a}", "b");
    mcplink_error_t *err = NULL;
    void *text = (void *)(intptr_t)name;
    memset(side, 0, sizeof *side);
    side->server = mcplink_server_new(name, "1");
    CHECK_STATUS(mcplink_server_add_tool(side->server, tool, say, text, NULL, &err), MCPLINK_OK, err);
    CHECK_STATUS(mcplink_server_add_tool(side->server, asking, ask_roots, NULL, NULL, &err), MCPLINK_OK, err);
    CHECK_STATUS(mcplink_server_add_prompt(side->server, prompt, say, text, NULL, &err), MCPLINK_OK, err);
    CHECK_STATUS(mcplink_server_add_resource(side->server, resource, say, text, NULL, &err), MCPLINK_OK, err);
    CHECK_STATUS(mcplink_server_add_template(side->server, more, say, text, NULL, &err), MCPLINK_OK, err);
    mcplink_tool_free(tool), mcplink_tool_free(asking), mcplink_prompt_free(prompt), mcplink_resource_free(resource), mcplink_template_free(more);
    CHECK_STATUS(mcplink_transport_pair(&here, &there, &err), MCPLINK_OK, err);
    CHECK_STATUS(mcplink_server_attach(side->server, here, NULL, &side->session, &err), MCPLINK_OK, err);
    CHECK(mcplink_client_options_set_transport(options, there) == MCPLINK_OK);
    /* Of this era, all handlers run on the thread of the callbacks. */
    CHECK(mcplink_client_options_set_revisions(options, "2025-11-25") == MCPLINK_OK);
    CHECK(mcplink_client_options_on_list_roots(options, on_roots, side, NULL) == MCPLINK_OK);
    CHECK_STATUS(mcplink_client_open(options, &side->client, &err), MCPLINK_OK, err);
    mcplink_client_options_free(options);
    mcplink_transport_free(here), mcplink_transport_free(there);
}

static void end(struct side *side)
{
    mcplink_client_free(side->client);
    mcplink_session_free(side->session);
    mcplink_server_free(side->server);
}

/* The name of an item of a list, and its server. */
static void item(const mcplink_json_t *list, size_t at, const char *server, const char *name)
{
    const mcplink_json_t *it = mcplink_json_at(mcplink_json_get(list, "items"), at);
    CHECK_TEXT(mcplink_json_str(mcplink_json_get(it, "server")), server);
    CHECK_TEXT(mcplink_json_str(mcplink_json_get(it, "name")), name);
}

static size_t count(const mcplink_json_t *list, const char *member) { return mcplink_json_len(mcplink_json_get(list, member)); }

static void joins(mcplink_group_t *g)
{
    mcplink_json_t *list = NULL;
    mcplink_error_t *err = NULL;
    LIST(g, MCPLINK_LIST_TOOLS, &list);
    CHECK(count(list, "items") == 4 && count(list, "failures") == 0);
    item(list, 0, "red", "red__read");
    item(list, 1, "red", "red__ask");
    item(list, 2, "green one", "green_one__read");
    CHECK_TEXT(mcplink_json_str(mcplink_json_pointer(list, "/items/2/item/name")), "read");
    mcplink_json_free(list);
    LIST(g, MCPLINK_LIST_PROMPTS, &list);
    item(list, 1, "green one", "green_one__read");
    mcplink_json_free(list);
    LIST(g, MCPLINK_LIST_RESOURCES, &list);
    item(list, 0, "red", "a://red");
    mcplink_json_free(list);
    LIST(g, MCPLINK_LIST_TEMPLATES, &list);
    CHECK(count(list, "items") == 2);
    item(list, 1, "green one", "more://{a}");
    mcplink_json_free(list);
    CHECK_STATUS(mcplink_group_list(g, (mcplink_list)7, NULL, &list, &err), MCPLINK_E_INVALID, err);
    CHECK(list == NULL);
}

static void routes(mcplink_group_t *g, struct side *red, struct side *green)
{
    mcplink_client_t *client = NULL;
    mcplink_result_t *r = NULL;
    mcplink_error_t *err = NULL;
    const char *own = NULL;
    CHECK_TEXT(mcplink_group_prefix(g, "green one"), "green_one__");
    CHECK_TEXT(mcplink_group_prefix(g, "blue"), "");
    CHECK_STATUS(mcplink_group_find(g, MCPLINK_PRIMITIVE_TOOL, "green_one__read", &client, &own, &err), MCPLINK_OK, err);
    CHECK(client == green->client && strcmp(own, "read") == 0);
    CHECK_STATUS(mcplink_client_call_tool(client, own, NULL, 0, NULL, &r, &err), MCPLINK_OK, err);
    CHECK_TEXT(mcplink_result_text(r), "green one");
    mcplink_result_free(r);
    CHECK_STATUS(mcplink_group_find(g, MCPLINK_PRIMITIVE_PROMPT, "red__read", &client, &own, &err), MCPLINK_OK, err);
    CHECK(client == red->client && strcmp(own, "read") == 0);
    CHECK_STATUS(mcplink_group_find(g, MCPLINK_PRIMITIVE_RESOURCE, "a://green", &client, &own, &err), MCPLINK_OK, err);
    CHECK(client == green->client && strcmp(own, "a://green") == 0);

    /* A name without a prefix, a resource in no list, a kind that has no calls. */
    CHECK_STATUS(mcplink_group_find(g, MCPLINK_PRIMITIVE_TOOL, "read", &client, &own, &err), MCPLINK_E_INVALID, err);
    CHECK(client == NULL && own == NULL);
    CHECK_STATUS(mcplink_group_find(g, MCPLINK_PRIMITIVE_RESOURCE, "a://blue", &client, &own, &err), MCPLINK_E_INVALID, err);
    CHECK_STATUS(mcplink_group_find(g, MCPLINK_PRIMITIVE_TEMPLATE, "more://{a}", &client, &own, &err), MCPLINK_E_INVALID, err);
    CHECK_STATUS(mcplink_group_find(g, MCPLINK_PRIMITIVE_TOOL, "red__read", NULL, &own, &err), MCPLINK_E_INVALID, err);
    CHECK_STATUS(mcplink_group_find(g, MCPLINK_PRIMITIVE_RESOURCE, "a://red", &client, NULL, &err), MCPLINK_OK, err);
    CHECK(client == red->client);

    /* Names that could be mistaken for others, and those of nobody. */
    CHECK_STATUS(mcplink_group_add(g, "green.one", red->client, &err), MCPLINK_E_INVALID, err);
    CHECK_STATUS(mcplink_group_add(g, "", red->client, &err), MCPLINK_E_INVALID, err);
    CHECK_STATUS(mcplink_group_add(g, "blue", NULL, &err), MCPLINK_E_INVALID, err);
    CHECK(mcplink_group_remove(g, "blue") == MCPLINK_E_INVALID);
}

/* A handler of a client must not wait for servers. */
static void inside(mcplink_group_t *g, struct side *red)
{
    mcplink_error_t *err = NULL;
    mcplink_result_t *r = NULL;
    red->group = g;
    CHECK_STATUS(mcplink_client_call_tool(red->client, "ask", NULL, 0, NULL, &r, &err), MCPLINK_OK, err);
    mcplink_result_free(r);
    CHECK(red->inside == MCPLINK_E_STATE);
}

/* A server that answers nothing but the handshake: the timeout of its client ends the wait. */
static void silent(void)
{
    struct peer peer;
    mcplink_client_options_t *options;
    mcplink_client_t *client = NULL;
    mcplink_group_t *g = mcplink_group_new();
    mcplink_json_t *list = NULL;
    mcplink_error_t *err = NULL;
    peer_begin(&peer, NULL);
    options = peer_options(&peer);
    CHECK(mcplink_client_options_set_timeout_ms(options, 50) == MCPLINK_OK);
    CHECK_STATUS(mcplink_client_open(options, &client, &err), MCPLINK_OK, err);
    CHECK_STATUS(mcplink_group_add(g, "silent", client, &err), MCPLINK_OK, err);
    LIST(g, MCPLINK_LIST_TOOLS, &list);
    CHECK((int)mcplink_json_f64(mcplink_json_pointer(list, "/failures/0/status")) == MCPLINK_E_TIMEOUT);
    CHECK(strstr(mcplink_json_str(mcplink_json_pointer(list, "/failures/0/message")).ptr, "timeout is 50 ms") != NULL);
    mcplink_json_free(list);
    mcplink_group_free(g);
    mcplink_client_free(client);
    mcplink_client_options_free(options);
    mcplink_transport_free(peer.transport);
}

int main(void)
{
    struct side red, green;
    mcplink_group_t *g = mcplink_group_new();
    mcplink_json_t *list = NULL;
    mcplink_client_t *client = NULL;
    mcplink_error_t *err = NULL;
    const char *own;
    begin(&red, "red", "a://red");
    begin(&green, "green one", "a://green");
    CHECK_STATUS(mcplink_group_add(g, "red", red.client, &err), MCPLINK_OK, err);
    CHECK_STATUS(mcplink_group_add(g, "green one", green.client, &err), MCPLINK_OK, err);
    joins(g);
    routes(g, &red, &green);
    inside(g, &red);

    /* One that is gone is told apart from those that are there. */
    end(&green);
    LIST(g, MCPLINK_LIST_TOOLS, &list);
    CHECK(count(list, "items") == 2 && count(list, "failures") == 1);
    CHECK_TEXT(mcplink_json_str(mcplink_json_pointer(list, "/failures/0/server")), "green one");
    CHECK((int)mcplink_json_f64(mcplink_json_pointer(list, "/failures/0/status")) == MCPLINK_E_CLOSED);
    mcplink_json_free(list);
    CHECK_STATUS(mcplink_group_find(g, MCPLINK_PRIMITIVE_TOOL, "green_one__read", &client, &own, &err), MCPLINK_E_CLOSED, err);
    CHECK(mcplink_group_remove(g, "green one") == MCPLINK_OK);
    CHECK_STATUS(mcplink_group_find(g, MCPLINK_PRIMITIVE_TOOL, "green_one__read", &client, &own, &err), MCPLINK_E_INVALID, err);
    mcplink_group_free(g);
    mcplink_group_free(NULL);
    end(&red);
    silent();
    puts("a group finds the client of each name");
    return 0;
}
