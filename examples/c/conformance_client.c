/* The client for the protocol's conformance suite (tests/conformance/run client --c):
 * conformance_client URL
 *
 * The suite sets these environment variables: MCP_CONFORMANCE_SCENARIO is the name of the scenario,
 * MCP_CONFORMANCE_PROTOCOL_VERSION the revision, and MCP_CONFORMANCE_CONTEXT the data of the
 * scenario. */
#include <mcplink.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

/* The program ends itself after this time, because the suite does not end a client that hangs. */
#define PATIENCE_SECONDS 25

struct run {
    const char *url;
    mcplink_handler_fn on_elicit;
    bool assume;
    /* The scenario about authorization, without its prefix. */
    const char *auth;
    mcplink_client_t *client;
    mcplink_error_t *err;
};

/* The URL of this client's metadata document, which it does not serve; and the redirect URI, which
 * it reads without following it. */
#define DOCUMENT "https://conformance-test.local/client-metadata.json"
#define REDIRECT "http://127.0.0.1:33418/callback"

/* Requests the page of a login. The suite's authorization server needs no person: it answers with a
 * redirect at once. */
static void visit(void *user, mcplink_login_t *login)
{
    static const char begin[] = "http://";
    char request[8192], answer[16384], *line;
    const char *url = mcplink_login_url(login).ptr, *path;
    struct sockaddr_in place = { .sin_family = AF_INET };
    size_t len = 0;
    ssize_t got = 0;
    int fd;
    (void)user;
    if (strncmp(url, begin, strlen(begin)) != 0 || (path = strchr(url + strlen(begin), '/')) == NULL) return;
    url = strchr(url + strlen(begin), ':');
    if (url == NULL || url > path) return;
    place.sin_port = htons((uint16_t)atoi(url + 1));
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: localhost%.*s\r\nConnection: close\r\n\r\n", path, (int)(path - url), url);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&place, sizeof place) == 0
        && send(fd, request, strlen(request), MSG_NOSIGNAL) == (ssize_t)strlen(request))
        while (len + 1 < sizeof answer && (got = read(fd, answer + len, sizeof answer - 1 - len)) > 0) len += (size_t)got;
    if (fd >= 0) close(fd);
    answer[len] = 0;
    for (line = answer; line != NULL; line = strstr(line, "\r\n")) {
        line += line == answer ? 0 : 2;
        if (strncasecmp(line, "location: ", 10) == 0) {
            if (mcplink_login_answer(login, line + 10, strcspn(line + 10, "\r")) < 0) fputs("not the answer\n", stderr);
            return;
        }
    }
    mcplink_login_refuse(login, "the page leads nowhere");
}

static mcplink_status_t give(void *text, mcplink_output_t *token)
{
    return mcplink_output_set(token, text, MCPLINK_NUL);
}

static mcplink_status_t state_it(void *text, mcplink_str_t audience, mcplink_output_t *token)
{
    (void)audience;
    return give(text, token);
}

/* Returns a value of the scenario's data, or NULL. A setter that requires it refuses NULL. */
static const char *given(const mcplink_json_t *context, const char *name)
{
    const mcplink_json_t *it = mcplink_json_get(context, name);
    return mcplink_json_is_missing(it) ? NULL : mcplink_json_str(it).ptr;
}

static char *copy_of(const char *text) { return text != NULL ? strdup(text) : NULL; }

/* Sets the way in which a scenario obtains tokens. */
static mcplink_status_t set_oauth(const char *scenario, const mcplink_json_t *context, mcplink_oauth_t *oauth)
{
    const char *issuer = given(context, "issuer"), *id = given(context, "client_id");
    mcplink_oauth_client_t *me = issuer != NULL ? mcplink_oauth_client_new(issuer, id) : mcplink_oauth_client_new_for_any(id);
    mcplink_oauth_client_t *at_provider = mcplink_oauth_client_new(given(context, "idp_issuer"), given(context, "idp_client_id"));
    mcplink_status_t st;
    if (strcmp(scenario, "auth/client-credentials-jwt") == 0)
        mcplink_oauth_client_set_key(me, given(context, "private_key_pem"), MCPLINK_NUL, NULL, false);
    else if (given(context, "client_secret") != NULL)
        mcplink_oauth_client_set_secret(me, given(context, "client_secret"));
    mcplink_oauth_set_client_name(oauth, "mcplink-conformance", NULL);
    st = mcplink_oauth_set_user_agent(oauth, REDIRECT, visit, NULL, NULL);
    if (strncmp(scenario, "auth/client-credentials-", 24) == 0) {
        mcplink_oauth_set_client_credentials(oauth);
        st = mcplink_oauth_add_client(oauth, me);
    } else if (strcmp(scenario, "auth/pre-registration") == 0) {
        st = mcplink_oauth_add_client(oauth, me);
    } else if (strcmp(scenario, "auth/wif-jwt-bearer") == 0) {
        st = mcplink_oauth_set_workload(oauth, given(context, "client_id"), state_it, copy_of(given(context, "valid_jwt")), free);
    } else if (strcmp(scenario, "auth/enterprise-managed-authorization") == 0) {
        mcplink_oauth_add_client(oauth, me);
        st = mcplink_oauth_set_enterprise(oauth, given(context, "idp_token_endpoint"), at_provider, MCPLINK_SUBJECT_ID_TOKEN, give,
                                          copy_of(given(context, "idp_id_token")), free);
    } else {
        mcplink_oauth_set_client_document(oauth, DOCUMENT);
    }
    mcplink_oauth_client_free(me);
    mcplink_oauth_client_free(at_provider);
    return st;
}

static mcplink_status_t authorize(struct run *run, mcplink_client_options_t *o)
{
    const char *text = getenv("MCP_CONFORMANCE_CONTEXT");
    mcplink_json_t *context = NULL;
    mcplink_oauth_t *oauth = mcplink_oauth_new();
    mcplink_status_t st = MCPLINK_OK;
    if (text != NULL) st = mcplink_json_parse(text, MCPLINK_NUL, &context, &run->err);
    if (st == MCPLINK_OK) st = set_oauth(run->auth, context, oauth);
    if (st == MCPLINK_OK) st = mcplink_client_options_set_oauth(o, oauth);
    mcplink_oauth_free(oauth);
    mcplink_json_free(context);
    return st;
}

static mcplink_status_t connect_to_server(struct run *run)
{
    mcplink_client_options_t *o = mcplink_client_options_new();
    mcplink_status_t st = mcplink_client_options_set_revisions(o, getenv("MCP_CONFORMANCE_PROTOCOL_VERSION"));
    mcplink_client_options_set_info(o, "mcplink-conformance", mcplink_version());
    mcplink_client_options_set_url(o, run->url);
    mcplink_client_options_set_assume_capabilities(o, run->assume);
    if (run->on_elicit != NULL) mcplink_client_options_on_elicit(o, run->on_elicit, run, NULL);
    if (st == MCPLINK_OK && run->auth != NULL) st = authorize(run, o);
    if (st == MCPLINK_OK) st = mcplink_client_open(o, &run->client, &run->err);
    mcplink_client_options_free(o);
    return st;
}

/* Calls a tool. A tool that ran and failed counts as success. */
static mcplink_status_t call(struct run *run, const char *tool, mcplink_str_t args)
{
    mcplink_result_t *result = NULL;
    mcplink_status_t st = mcplink_client_call_tool(run->client, tool, args.len == 0 ? NULL : args.ptr, args.len, NULL, &result, &run->err);
    mcplink_result_free(result);
    return st < 0 ? st : MCPLINK_OK;
}

static mcplink_status_t call_with(struct run *run, const char *tool, const char *args)
{
    mcplink_str_t text = { args, strlen(args) };
    return call(run, tool, text);
}

static mcplink_status_t list_tools(struct run *run, mcplink_result_t **tools)
{
    return mcplink_client_list_tools(run->client, NULL, tools, &run->err);
}

static mcplink_status_t only_list(struct run *run)
{
    mcplink_result_t *tools = NULL;
    mcplink_status_t st = list_tools(run, &tools);
    mcplink_result_free(tools);
    return st;
}

static mcplink_status_t only_open(struct run *run)
{
    return mcplink_client_close(run->client, MCPLINK_FOREVER, &run->err);
}

static mcplink_status_t tools_call(struct run *run)
{
    mcplink_status_t st = only_list(run);
    return st == MCPLINK_OK ? call_with(run, "add_numbers", "{\"a\":5,\"b\":3}") : st;
}

static mcplink_status_t sse_retry(struct run *run)
{
    mcplink_status_t st = only_list(run);
    return st == MCPLINK_OK ? call_with(run, "test_reconnection", "{}") : st;
}

/* Accepts a form with its default values. */
static void accept_defaults(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    const mcplink_json_t *fields = mcplink_json_pointer(mcplink_request_params(req), "/requestedSchema/properties");
    mcplink_writer_t *w = mcplink_writer_new();
    mcplink_str_t answer;
    size_t i;
    (void)user;
    mcplink_writer_begin_object(w);
    mcplink_writer_key(w, "action");
    mcplink_writer_str(w, "accept", MCPLINK_NUL);
    mcplink_writer_key(w, "content");
    mcplink_writer_begin_object(w);
    for (i = 0; i < mcplink_json_len(fields); i++) {
        mcplink_str_t value = mcplink_json_text(mcplink_json_get(mcplink_json_at(fields, i), "default"));
        if (value.len == 0) continue;
        mcplink_writer_key(w, mcplink_json_key_at(fields, i).ptr);
        mcplink_writer_raw(w, value.ptr, value.len);
    }
    mcplink_writer_end(w);
    mcplink_writer_end(w);
    if (mcplink_writer_finish(w, &answer, NULL) == MCPLINK_OK) mcplink_responder_json(resp, answer.ptr, answer.len);
    mcplink_writer_free(w);
}

static mcplink_status_t client_defaults(struct run *run)
{
    return call_with(run, "test_client_elicitation_defaults", "{}");
}

/* Makes another call while the first one is between its rounds. */
static void call_between(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    struct run *run = user;
    bool called = call_with(run, "test_mrtr_unrelated", "{}") == MCPLINK_OK;
    (void)req;
    mcplink_error_free(run->err);
    run->err = NULL;
    mcplink_responder_json(resp, called ? "{\"action\":\"accept\",\"content\":{\"confirmed\":true}}" : "{\"action\":\"cancel\"}", MCPLINK_NUL);
}

static mcplink_status_t request_state(struct run *run)
{
    static const char *const names[] = { "test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_no_result_type" };
    mcplink_status_t st = only_list(run);
    size_t i;
    for (i = 0; i < sizeof names / sizeof *names && st == MCPLINK_OK; i++) st = call_with(run, names[i], "{}");
    return st;
}

/* Returns a sample value of a type, as JSON. */
static const char *sample_of(mcplink_str_t type)
{
    if (strcmp(type.ptr, "integer") == 0 || strcmp(type.ptr, "number") == 0) return "1";
    if (strcmp(type.ptr, "boolean") == 0) return "true";
    if (strcmp(type.ptr, "array") == 0) return "[]";
    if (strcmp(type.ptr, "object") == 0) return "{}";
    return "\"sample\"";
}

/* Calls a tool with a sample value for each required parameter. */
static mcplink_status_t call_sample(struct run *run, const mcplink_json_t *tool)
{
    const mcplink_json_t *schema = mcplink_json_get(tool, "inputSchema");
    const mcplink_json_t *required = mcplink_json_get(schema, "required");
    const mcplink_json_t *fields = mcplink_json_get(schema, "properties");
    mcplink_writer_t *w = mcplink_writer_new();
    mcplink_status_t st;
    mcplink_str_t args;
    size_t i;
    mcplink_writer_begin_object(w);
    for (i = 0; i < mcplink_json_len(required); i++) {
        const char *name = mcplink_json_str(mcplink_json_at(required, i)).ptr;
        mcplink_writer_key(w, name);
        mcplink_writer_raw(w, sample_of(mcplink_json_str(mcplink_json_get(mcplink_json_get(fields, name), "type"))), MCPLINK_NUL);
    }
    mcplink_writer_end(w);
    st = mcplink_writer_finish(w, &args, &run->err);
    if (st == MCPLINK_OK) st = call(run, mcplink_json_str(mcplink_json_get(tool, "name")).ptr, args);
    mcplink_writer_free(w);
    return st;
}

static mcplink_status_t call_all(struct run *run)
{
    mcplink_result_t *listed = NULL;
    mcplink_status_t st = list_tools(run, &listed);
    const mcplink_json_t *tools = mcplink_json_get(mcplink_result_json(listed), "tools");
    size_t i;
    for (i = 0; i < mcplink_json_len(tools) && st == MCPLINK_OK; i++) st = call_sample(run, mcplink_json_at(tools, i));
    mcplink_result_free(listed);
    return st;
}

static mcplink_status_t read_all(struct run *run)
{
    mcplink_result_t *listed = NULL;
    mcplink_status_t st = mcplink_client_list_resources(run->client, NULL, &listed, &run->err);
    const mcplink_json_t *resources = mcplink_json_get(mcplink_result_json(listed), "resources");
    size_t i;
    for (i = 0; i < mcplink_json_len(resources) && st == MCPLINK_OK; i++) {
        mcplink_result_t *result = NULL;
        const char *uri = mcplink_json_str(mcplink_json_get(mcplink_json_at(resources, i), "uri")).ptr;
        st = mcplink_client_read_resource(run->client, uri, NULL, &result, &run->err);
        mcplink_result_free(result);
    }
    mcplink_result_free(listed);
    return st;
}

static mcplink_status_t get_all(struct run *run)
{
    mcplink_result_t *listed = NULL;
    mcplink_status_t st = mcplink_client_list_prompts(run->client, NULL, &listed, &run->err);
    const mcplink_json_t *prompts = mcplink_json_get(mcplink_result_json(listed), "prompts");
    size_t i;
    for (i = 0; i < mcplink_json_len(prompts) && st == MCPLINK_OK; i++) {
        mcplink_result_t *result = NULL;
        const char *name = mcplink_json_str(mcplink_json_get(mcplink_json_at(prompts, i), "name")).ptr;
        st = mcplink_client_get_prompt(run->client, name, NULL, 0, NULL, &result, &run->err);
        mcplink_result_free(result);
    }
    mcplink_result_free(listed);
    return st;
}

static mcplink_status_t standard_headers(struct run *run)
{
    mcplink_status_t st = call_all(run);
    if (st == MCPLINK_OK) st = read_all(run);
    if (st == MCPLINK_OK) st = get_all(run);
    return st;
}

/* Makes the calls that the scenario's data list. */
static mcplink_status_t custom_headers(struct run *run)
{
    mcplink_json_t *context = NULL;
    const mcplink_json_t *calls;
    size_t i;
    mcplink_status_t st = mcplink_json_parse(getenv("MCP_CONFORMANCE_CONTEXT"), MCPLINK_NUL, &context, &run->err);
    if (st == MCPLINK_OK) st = only_list(run);
    calls = mcplink_json_get(context, "toolCalls");
    for (i = 0; i < mcplink_json_len(calls) && st == MCPLINK_OK; i++) {
        const mcplink_json_t *it = mcplink_json_at(calls, i);
        st = call(run, mcplink_json_str(mcplink_json_get(it, "name")).ptr, mcplink_json_text(mcplink_json_get(it, "arguments")));
    }
    mcplink_json_free(context);
    return st;
}

/* Returns a received schema unchanged. */
static mcplink_status_t echo_schema(struct run *run)
{
    mcplink_result_t *listed = NULL;
    mcplink_writer_t *w = mcplink_writer_new();
    mcplink_status_t st = list_tools(run, &listed);
    const mcplink_json_t *tools = mcplink_json_get(mcplink_result_json(listed), "tools");
    mcplink_str_t schema = { "", 0 }, args;
    size_t i;
    for (i = 0; i < mcplink_json_len(tools); i++) {
        const mcplink_json_t *tool = mcplink_json_at(tools, i);
        if (strcmp(mcplink_json_str(mcplink_json_get(tool, "name")).ptr, "json_schema_2020_12_tool") == 0)
            schema = mcplink_json_text(mcplink_json_get(tool, "inputSchema"));
    }
    mcplink_writer_begin_object(w);
    mcplink_writer_key(w, "schema");
    mcplink_writer_raw(w, schema.ptr, schema.len);
    mcplink_writer_end(w);
    if (st == MCPLINK_OK) st = mcplink_writer_finish(w, &args, &run->err);
    if (st == MCPLINK_OK) st = call(run, "json_schema_echo", args);
    mcplink_writer_free(w);
    mcplink_result_free(listed);
    return st;
}

/* The prefix of the scenarios about authorization, which differ only in how they obtain tokens. */
#define AUTH "auth/"

static mcplink_status_t behind_a_login(struct run *run)
{
    mcplink_status_t st = only_list(run);
    return st == MCPLINK_OK ? call_with(run, "test-tool", "{}") : st;
}

static const struct scenario {
    const char *name;
    mcplink_status_t (*run)(struct run *run);
    mcplink_handler_fn on_elicit;
} scenarios[] = {
    { "initialize", only_open, NULL },
    { "request-metadata", only_list, NULL },
    { "json-schema-ref-no-deref", only_list, NULL },
    { "tools_call", tools_call, NULL },
    { "elicitation-sep1034-client-defaults", client_defaults, accept_defaults },
    { "sse-retry", sse_retry, NULL },
    { "sep-2322-client-request-state", request_state, call_between },
    { "http-standard-headers", standard_headers, NULL },
    { "http-custom-headers", custom_headers, NULL },
    { "http-invalid-tool-headers", call_all, NULL },
    { "json-schema-2020-12-preservation", echo_schema, NULL },
    { AUTH, behind_a_login, NULL },
};

static bool is_auth(const char *name) { return strncmp(name, AUTH, strlen(AUTH)) == 0; }

static const struct scenario *find_scenario(const char *name)
{
    size_t i;
    for (i = 0; name != NULL && i < sizeof scenarios / sizeof *scenarios; i++)
        if (strncmp(scenarios[i].name, name, is_auth(name) ? strlen(AUTH) : strlen(name) + 1) == 0) return &scenarios[i];
    return NULL;
}

int main(int argc, char **argv)
{
    const struct scenario *scenario = find_scenario(getenv("MCP_CONFORMANCE_SCENARIO"));
    struct run run = { 0 };
    mcplink_status_t st;
    if (argc != 2 || scenario == NULL) {
        fprintf(stderr, "usage: MCP_CONFORMANCE_SCENARIO=NAME conformance_client URL\n");
        return 2;
    }
    alarm(PATIENCE_SECONDS);
    run.url = argv[1];
    run.on_elicit = scenario->on_elicit;
    /* This scenario's server declares no capabilities, and answers tools/list all the same. */
    run.assume = strcmp(scenario->name, "request-metadata") == 0;
    if (strcmp(scenario->name, AUTH) == 0) run.auth = getenv("MCP_CONFORMANCE_SCENARIO");
    st = connect_to_server(&run);
    if (st == MCPLINK_OK) st = scenario->run(&run);
    if (st < 0) fprintf(stderr, "conformance_client: %s: %s\n", mcplink_status_name(st), mcplink_error_message(run.err));
    mcplink_error_free(run.err);
    mcplink_client_free(run.client);
    return st < 0;
}
