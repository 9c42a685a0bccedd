/* Clients over HTTP: header fields, tokens, both eras, and what goes wrong. */
#include "everything_http.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t server;
static char url[256];

static mcplink_client_options_t *options(void)
{
    mcplink_client_options_t *o = mcplink_client_options_new();
    CHECK(mcplink_client_options_set_url(o, url) == MCPLINK_OK);
    return o;
}

static struct counter tokens = COUNTER;

static mcplink_status_t give_token(void *user, mcplink_output_t *token)
{
    counter_add(&tokens);
    if (user == NULL) return MCPLINK_E_USER;
    if (*(char *)user == 0) return MCPLINK_OK;
    return mcplink_output_set(token, user, MCPLINK_NUL);
}

static struct counter events = COUNTER;

static void on_event(void *user, mcplink_event event, const mcplink_json_t *params)
{
    (void)user, (void)params;
    if (event == MCPLINK_EVENT_TOOLS_CHANGED) counter_add(&events);
}

static void on_question(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    (void)user, (void)request;
    CHECK(mcplink_responder_json(responder, "{\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}", MCPLINK_NUL) == MCPLINK_OK);
}

static void conversation(const char *revision)
{
    static char secret[] = "secret";
    mcplink_client_options_t *o = options();
    mcplink_client_t *c;
    mcplink_result_t *r = NULL;
    mcplink_error_t *err = NULL;
    int before;

    CHECK(mcplink_client_options_set_header(o, "X-Test", "1") == MCPLINK_OK);
    CHECK(mcplink_client_options_set_header(o, "x-test", "2") == MCPLINK_OK);
    CHECK(mcplink_client_options_set_follow_redirects(o, true) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_bearer(o, "other") == MCPLINK_OK);
    CHECK(mcplink_client_options_set_bearer_hook(o, give_token, secret, NULL) == MCPLINK_OK);
    CHECK(mcplink_client_options_on_event(o, on_event, NULL, NULL) == MCPLINK_OK);
    CHECK(mcplink_client_options_on_elicit(o, on_question, NULL, NULL) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_close_timeout_ms(o, 1000) == MCPLINK_OK);
    c = open_with(o, revision);
    before = counter_get(&tokens);
    CHECK(before > 0);
    CHECK_STATUS(mcplink_client_call_tool(c, "greet", "{\"name\":\"C\"}", MCPLINK_NUL, NULL, &r, &err), MCPLINK_OK, err);
    CHECK_TEXT(mcplink_result_text(r), "Hello, C!");
    mcplink_result_free(r);
    CHECK(counter_get(&tokens) > before);
    CHECK_STATUS(mcplink_client_call_tool(c, "test_input_required_result_elicitation", "{}", 2, NULL, &r, &err), MCPLINK_OK, err);
    mcplink_result_free(r);
    CHECK_STATUS(mcplink_client_listen(c, "{\"toolsListChanged\":true}", MCPLINK_NUL, NULL, &r, &err), MCPLINK_OK, err);
    mcplink_result_free(r);
    before = counter_get(&events);
    CHECK_STATUS(mcplink_client_call_tool(c, "test_trigger_tool_change", "{}", 2, NULL, &r, &err), MCPLINK_OK, err);
    mcplink_result_free(r);
    CHECK(counter_wait(&events, before + 1));
    mcplink_client_free(c);
}

static void fails(mcplink_client_options_t *o, mcplink_status_t expected, const char *says)
{
    mcplink_client_t *c = NULL;
    mcplink_error_t *err = NULL;
    mcplink_status_t st = mcplink_client_open(o, &c, &err);
    if (st != expected || c != NULL || strstr(mcplink_error_message(err), says) == NULL) {
        fprintf(stderr, "%s: %s\n", mcplink_status_name(st), mcplink_error_message(err));
        CHECK(0);
    }
    mcplink_error_free(err);
    mcplink_client_options_free(o);
}

static void failures(void)
{
    static char empty[] = "";
    mcplink_client_options_t *o = options();
    CHECK(mcplink_client_options_set_header(o, "Mcp-Session-Id", "x") == MCPLINK_OK);
    fails(o, MCPLINK_E_INVALID, "Mcp-Session-Id");
    o = options();
    CHECK(mcplink_client_options_set_bearer_hook(o, give_token, NULL, NULL) == MCPLINK_OK);
    fails(o, MCPLINK_E_AUTH, "-17");
    o = options();
    CHECK(mcplink_client_options_set_bearer_hook(o, give_token, empty, NULL) == MCPLINK_OK);
    fails(o, MCPLINK_E_AUTH, "mcplink_output_set");
    o = options();
    CHECK(mcplink_client_options_set_proxy(o, "nonsense://") == MCPLINK_OK);
    fails(o, MCPLINK_E_INVALID, "proxy");
    o = options();
    CHECK(mcplink_client_options_set_url(o, "ftp://x/") == MCPLINK_OK);
    fails(o, MCPLINK_E_INVALID, "http://");
    o = options();
    CHECK(mcplink_client_options_set_restart(o, 3, 1, 1) == MCPLINK_OK);
    /* Over HTTP there is no process to start: a server that comes back is reached again. */
    mcplink_client_free(open_with(o, "2026-07-28"));
    /* Nobody listens. */
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    fails(options(), MCPLINK_E_IO, "127.0.0.1");
    CHECK(mcplink_output_set(NULL, "x", 1) == MCPLINK_E_INVALID);
}

int main(void)
{
    server = everything_http(url, sizeof url);
    conversation("2026-07-28");
    conversation("2025-11-25");
    failures();
    return 0;
}
