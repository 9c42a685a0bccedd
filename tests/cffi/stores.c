/* Stores of the host: for request states that count once. */
#include "talk.h"

#include <stdatomic.h>

static atomic_int ended;
static void count_end(void *user) { ended += *(int *)user; }
static int one = 1, ten = 10;

#define ENDED(number) CHECK(atomic_exchange(&ended, 0) == (number))

#define AT(json, pointer) mcplink_json_pointer((json), (pointer))
#define TEXT_AT(json, pointer, expected) CHECK_TEXT(mcplink_json_str(AT(json, pointer)), expected)
#define JSON_AT(json, pointer, expected) CHECK_TEXT(mcplink_json_text(AT(json, pointer)), expected)

static mcplink_server_t *built(mcplink_server_options_t *options)
{
    mcplink_server_t *server = NULL;
    mcplink_error_t *err = NULL;
    CHECK_STATUS(mcplink_server_new_with(options, &server, &err), MCPLINK_OK, err);
    mcplink_server_options_free(options);
    return server;
}

/* --- request states ------------------------------------------------------------------------------------------------------------------------ */

/* What the store does with a state. */
enum deed { HONEST, SAYS_YES, LEAVES_IT, FAILS, IS_PENDING, ODD_STATUS, ODD_BYTE, DEEDS };

static struct {
    enum deed deed;
    atomic_int claims;
    char seen[64];
} states;

static mcplink_status_t claim(void *user, mcplink_str_t client, mcplink_str_t id, uint64_t lifetime_ms, bool *is_first)
{
    CHECK(*(int *)user == 10 && !*is_first);
    CHECK(client.len > 0 && client.ptr[client.len] == 0 && id.len == 32 && strlen(id.ptr) == 32);
    CHECK(lifetime_ms > 0 && lifetime_ms <= 600000);
    states.claims++;
    switch (states.deed) {
    case HONEST:
        *is_first = strcmp(states.seen, id.ptr) != 0;
        snprintf(states.seen, sizeof states.seen, "%s", id.ptr);
        return MCPLINK_OK;
    case LEAVES_IT: return MCPLINK_OK;
    case ODD_BYTE: memset(is_first, 7, 1); return MCPLINK_OK;
    default: *is_first = true;
    }
    return states.deed == FAILS ? MCPLINK_E_USER : states.deed == IS_PENDING ? MCPLINK_PENDING : states.deed == ODD_STATUS ? 4711 : MCPLINK_OK;
}

static void pays(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    static const char form[] = "{\"message\":\"Pay?\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}";
    const mcplink_json_t *answer = NULL;
    (void)req;
    if (mcplink_responder_ask(resp, "pay", "elicitation/create", form, MCPLINK_NUL, &answer, NULL) != MCPLINK_OK) return;
    ++*(int *)user;
    CHECK(mcplink_responder_text(resp, "paid", MCPLINK_NUL) == MCPLINK_OK);
}

/* Calls the tool in the way of the modern era. What comes back is the caller's to free. */
static mcplink_json_t *ask(talk_t *talk, const char *more)
{
    static int id;
    char line[8192];
    mcplink_json_t *answer = NULL;
    const char *got;
    int len = snprintf(line, sizeof line,
                       "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"pay\",\"arguments\":{},%s\"_meta\":{"
                       "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{}}}}}",
                       ++id, more);
    CHECK(len < (int)sizeof line);
    talk_send(talk, line);
    got = talk_line(talk);
    CHECK(got != NULL && mcplink_json_parse(got, MCPLINK_NUL, &answer, NULL) == MCPLINK_OK);
    return answer;
}

/* Presents one state twice; how often it had an effect. */
static int pays_twice(mcplink_server_t *server, int *paid)
{
    mcplink_json_t *asked, *answer;
    char more[4096];
    talk_t talk = talk_begin(server);
    int round;
    *paid = 0;
    asked = ask(&talk, "");
    TEXT_AT(asked, "/result/resultType", "input_required");
    snprintf(more, sizeof more, "\"requestState\":%s,\"inputResponses\":{\"pay\":{\"action\":\"accept\",\"content\":{}}},",
             mcplink_json_text(AT(asked, "/result/requestState")).ptr);
    mcplink_json_free(asked);
    for (round = 0; round < 2; round++) {
        int before = *paid;
        answer = ask(&talk, more);
        if (*paid > before) {
            TEXT_AT(answer, "/result/content/0/text", "paid");
        } else {
            JSON_AT(answer, "/error/code", "-32602");
            CHECK(strstr(mcplink_json_str(AT(answer, "/error/message")).ptr, "requestState") != NULL);
        }
        mcplink_json_free(answer);
    }
    talk_end(&talk);
    return *paid;
}

/* A state counts only if the store says so, whatever else it does. */
static void states_count_once(void)
{
    enum deed deed;
    for (deed = 0; deed < DEEDS; deed++) {
        mcplink_server_options_t *options = mcplink_server_options_new("shop", "1");
        mcplink_server_t *server;
        int paid;
        states.deed = deed, states.claims = 0;
        CHECK(mcplink_server_options_set_state_store(options, claim, &one, count_end) == MCPLINK_OK);
        CHECK(mcplink_server_options_set_state_store(options, claim, &ten, count_end) == MCPLINK_OK);
        ENDED(1);
        server = built(options);
        add_tool(server, "pay", pays, &paid, NULL);
        CHECK(pays_twice(server, &paid) == (deed == HONEST ? 1 : deed == SAYS_YES ? 2 : 0));
        CHECK(states.claims == 2);
        ENDED(0);
        mcplink_server_free(server);
        ENDED(10);
    }
}

/* One store replaces the other, and a store that is none is refused. */
static void one_store_of_states(void)
{
    enum { MEMORY, NONE, HOSTS, WAYS } way;
    REFUSES(server_options, mcplink_server_options_new("a", "1"), mcplink_server_options_set_state_store(it, NULL, &one, count_end));
    ENDED(1);
    CHECK(mcplink_server_options_set_state_store(NULL, claim, &one, count_end) == MCPLINK_E_INVALID);
    ENDED(1);
    for (way = MEMORY; way < WAYS; way++) {
        mcplink_server_options_t *options = mcplink_server_options_new("shop", "1");
        mcplink_server_t *server;
        int paid;
        states.deed = SAYS_YES, states.claims = 0;
        if (way == HOSTS) CHECK(mcplink_server_options_set_single_use_state(options, true) == MCPLINK_OK);
        CHECK(mcplink_server_options_set_state_store(options, claim, &ten, count_end) == MCPLINK_OK);
        if (way != HOSTS) {
            CHECK(mcplink_server_options_set_single_use_state(options, way == MEMORY) == MCPLINK_OK);
            ENDED(10);
        }
        server = built(options);
        add_tool(server, "pay", pays, &paid, NULL);
        CHECK(pays_twice(server, &paid) == (way == MEMORY ? 1 : 2));
        CHECK(states.claims == (way == HOSTS ? 2 : 0));
        mcplink_server_free(server);
        ENDED(way == HOSTS ? 10 : 0);
    }
}

int main(void)
{
    int fds = open_count();
    states_count_once();
    one_store_of_states();
    talk_clean(fds);
    return 0;
}
