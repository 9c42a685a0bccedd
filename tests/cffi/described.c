/* What a server and what it has say about themselves, and what has an effect on calls that ask. */
#include "talk.h"

#define ICONS "[{\"src\":\"https://example.com/i.png\"}]"
#define META "{\"example.com/a\":1}"
#define ANNOTATIONS "{\"audience\":[\"user\"],\"priority\":0.5}"

static void any(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)user, (void)req;
    CHECK(mcplink_responder_text(resp, "done", MCPLINK_NUL) == MCPLINK_OK);
}

/* A request of a client of the modern era; `more` are further members of its parameters. What comes back is the caller's to free. */
static mcplink_json_t *ask(talk_t *talk, const char *method, const char *more)
{
    static int id;
    char line[8192];
    mcplink_json_t *answer = NULL;
    const char *got;
    int len = snprintf(line, sizeof line,
                       "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",\"params\":{%s\"_meta\":{"
                       "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{}}}}}",
                       ++id, method, more);
    CHECK(len < (int)sizeof line);
    talk_send(talk, line);
    got = talk_line(talk);
    CHECK(got != NULL && mcplink_json_parse(got, MCPLINK_NUL, &answer, NULL) == MCPLINK_OK);
    return answer;
}

#define AT(json, pointer) mcplink_json_pointer((json), (pointer))
#define TEXT_AT(json, pointer, expected) CHECK_TEXT(mcplink_json_str(AT(json, pointer)), expected)
#define JSON_AT(json, pointer, expected) CHECK_TEXT(mcplink_json_text(AT(json, pointer)), expected)
#define IS_MISSING(json, pointer) CHECK(mcplink_json_is_missing(AT(json, pointer)))

static mcplink_server_t *built(mcplink_server_options_t *options)
{
    mcplink_server_t *server = NULL;
    mcplink_error_t *err = NULL;
    CHECK_STATUS(mcplink_server_new_with(options, &server, &err), MCPLINK_OK, err);
    mcplink_server_options_free(options);
    return server;
}

static void introduces_itself(void)
{
    static const char *const own[] = { "", "/result/_meta/io.modelcontextprotocol~1serverInfo" };
    int named;
    for (named = 0; named < 2; named++) {
        mcplink_server_options_t *options = mcplink_server_options_new("n", "1");
        mcplink_server_t *server;
        mcplink_json_t *answer;
        talk_t talk;
        CHECK(mcplink_server_options_set_title(options, "T") == MCPLINK_OK && mcplink_server_options_set_description(options, "D") == MCPLINK_OK);
        CHECK(mcplink_server_options_set_website(options, "https://example.com/") == MCPLINK_OK);
        CHECK(mcplink_server_options_set_icons(options, ICONS, MCPLINK_NUL) == MCPLINK_OK);
        REFUSES(server_options, mcplink_server_options_new("refuses", "1"), mcplink_server_options_set_icons(it, "{}", 2));
        REFUSES(server_options, mcplink_server_options_new("refuses", "1"), mcplink_server_options_set_icons(it, "[{\"src\":7}]", MCPLINK_NUL));
        CHECK(mcplink_server_options_set_instructions(options, "I") == MCPLINK_OK);
        CHECK(mcplink_server_options_set_send_server_info(options, named) == MCPLINK_OK);
        CHECK(mcplink_server_options_set_page_size(options, 1) == MCPLINK_OK);
        CHECK(mcplink_server_options_set_cache(options, MCPLINK_LIST_TOOLS, 5000, true) == MCPLINK_OK);
        CHECK(mcplink_server_options_clear_validation(options) == MCPLINK_OK);
        server = built(options);
        add_tool(server, "one", any, NULL, NULL);
        add_tool(server, "two", any, NULL, NULL);

        talk = talk_begin(server);
        answer = ask(&talk, "server/discover", "");
        TEXT_AT(answer, "/result/instructions", "I");
        mcplink_json_free(answer);
        answer = ask(&talk, "tools/list", "");
        CHECK(mcplink_json_len(AT(answer, "/result/tools")) == 1 && !mcplink_json_is_missing(AT(answer, "/result/nextCursor")));
        JSON_AT(answer, "/result/ttlMs", "5000");
        TEXT_AT(answer, "/result/cacheScope", "public");
        if (named) {
            const mcplink_json_t *self = AT(answer, own[named]);
            TEXT_AT(self, "/name", "n");
            TEXT_AT(self, "/title", "T");
            TEXT_AT(self, "/description", "D");
            TEXT_AT(self, "/websiteUrl", "https://example.com/");
            JSON_AT(self, "/icons", ICONS);
        } else {
            IS_MISSING(answer, "/result/_meta/io.modelcontextprotocol~1serverInfo");
        }
        mcplink_json_free(answer);
        talk_end(&talk);
        mcplink_server_free(server);
    }
}

static void describes_what_it_has(void)
{
    mcplink_server_t *server = mcplink_server_new("n", "1");
    mcplink_prompt_t *prompt = mcplink_prompt_new("p", "d");
    mcplink_resource_t *resource = mcplink_resource_new("x://r", "r");
    mcplink_template_t *template = mcplink_template_new("x://t/{v}", "t");
    mcplink_error_t *err = NULL;
    mcplink_json_t *answer;
    talk_t talk;
    CHECK(mcplink_prompt_set_title(prompt, "PT") == MCPLINK_OK && mcplink_prompt_set_icons(prompt, ICONS, MCPLINK_NUL) == MCPLINK_OK);
    CHECK(mcplink_prompt_set_meta(prompt, META, MCPLINK_NUL) == MCPLINK_OK);
    REFUSES(prompt, mcplink_prompt_new("refuses", NULL), mcplink_prompt_set_meta(it, "7", 1));
    CHECK(mcplink_resource_set_icons(resource, ICONS, MCPLINK_NUL) == MCPLINK_OK);
    REFUSES(resource, mcplink_resource_new("a://b", "refuses"), mcplink_resource_set_icons(it, "7", 1));
    CHECK(mcplink_resource_set_meta(resource, META, MCPLINK_NUL) == MCPLINK_OK);
    REFUSES(resource, mcplink_resource_new("a://b", "refuses"), mcplink_resource_set_meta(it, "[]", 2));
    CHECK(mcplink_template_set_title(template, "TT") == MCPLINK_OK && mcplink_template_set_description(template, "TD") == MCPLINK_OK);
    CHECK(mcplink_template_set_icons(template, ICONS, MCPLINK_NUL) == MCPLINK_OK);
    REFUSES(template, mcplink_template_new("a://{b}", "refuses"), mcplink_template_set_icons(it, "{", 1));
    CHECK(mcplink_template_set_meta(template, META, MCPLINK_NUL) == MCPLINK_OK);
    CHECK(mcplink_template_set_annotations(template, ANNOTATIONS, MCPLINK_NUL) == MCPLINK_OK);
    REFUSES(template, mcplink_template_new("a://{b}", "refuses"), mcplink_template_set_annotations(it, "7", 1));
    CHECK_STATUS(mcplink_server_add_prompt(server, prompt, any, NULL, NULL, &err), MCPLINK_OK, err);
    CHECK_STATUS(mcplink_server_add_resource(server, resource, any, NULL, NULL, &err), MCPLINK_OK, err);
    CHECK_STATUS(mcplink_server_add_template(server, template, any, NULL, NULL, &err), MCPLINK_OK, err);
    mcplink_prompt_free(prompt);
    mcplink_resource_free(resource);
    mcplink_template_free(template);

    talk = talk_begin(server);
    answer = ask(&talk, "prompts/list", "");
    TEXT_AT(answer, "/result/prompts/0/title", "PT");
    JSON_AT(answer, "/result/prompts/0/icons", ICONS);
    JSON_AT(answer, "/result/prompts/0/_meta", META);
    mcplink_json_free(answer);
    answer = ask(&talk, "resources/list", "");
    JSON_AT(answer, "/result/resources/0/icons", ICONS);
    JSON_AT(answer, "/result/resources/0/_meta", META);
    mcplink_json_free(answer);
    answer = ask(&talk, "resources/templates/list", "");
    TEXT_AT(answer, "/result/resourceTemplates/0/title", "TT");
    TEXT_AT(answer, "/result/resourceTemplates/0/description", "TD");
    JSON_AT(answer, "/result/resourceTemplates/0/icons", ICONS);
    JSON_AT(answer, "/result/resourceTemplates/0/_meta", META);
    JSON_AT(answer, "/result/resourceTemplates/0/annotations", ANNOTATIONS);
    mcplink_json_free(answer);
    talk_end(&talk);
    mcplink_server_free(server);
}

static void pays(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    static const char form[] = "{\"message\":\"Pay?\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}";
    const mcplink_json_t *answer = NULL;
    (void)req;
    switch (mcplink_responder_ask(resp, "pay", "elicitation/create", form, MCPLINK_NUL, &answer, NULL)) {
    case MCPLINK_OK:
        ++*(int *)user;
        CHECK(mcplink_responder_text(resp, "paid", MCPLINK_NUL) == MCPLINK_OK);
        break;
    case MCPLINK_PENDING: break;
    default: CHECK(mcplink_responder_text(resp, "not paid", MCPLINK_NUL) == MCPLINK_OK);
    }
}

/* How often the same answer can be presented, and for how long. */
static void states_of_calls(void)
{
    enum { AGAIN, ONCE, LATE, WAYS } way;
    for (way = AGAIN; way < WAYS; way++) {
        mcplink_server_options_t *options = mcplink_server_options_new("shop", "1");
        mcplink_server_t *server;
        mcplink_json_t *asked, *answer;
        char more[4096];
        int paid = 0, round;
        talk_t talk;
        REFUSES(server_options, mcplink_server_options_new("refuses", "1"), mcplink_server_options_set_state_lifetime_ms(it, 0));
        CHECK(mcplink_server_options_set_state_lifetime_ms(options, way == LATE ? 1 : 600000) == MCPLINK_OK);
        CHECK(mcplink_server_options_set_single_use_state(options, way == ONCE) == MCPLINK_OK);
        server = built(options);
        add_tool(server, "pay", pays, &paid, NULL);
        talk = talk_begin(server);
        asked = ask(&talk, "tools/call", "\"name\":\"pay\",\"arguments\":{},");
        TEXT_AT(asked, "/result/resultType", "input_required");
        snprintf(more, sizeof more, "\"name\":\"pay\",\"arguments\":{},\"requestState\":%s,\"inputResponses\":{\"pay\":{\"action\":\"accept\",\"content\":{}}},",
                 mcplink_json_text(AT(asked, "/result/requestState")).ptr);
        mcplink_json_free(asked);
        if (way == LATE) nanosleep(&(struct timespec){ 0, 2000000 }, NULL);
        for (round = 0; round < 2; round++) {
            answer = ask(&talk, "tools/call", more);
            if (way == LATE || (way == ONCE && round == 1)) {
                JSON_AT(answer, "/error/code", "-32602");
                CHECK(strstr(mcplink_json_str(AT(answer, "/error/message")).ptr, "requestState") != NULL);
            } else {
                TEXT_AT(answer, "/result/content/0/text", "paid");
            }
            mcplink_json_free(answer);
        }
        CHECK(paid == (way == AGAIN ? 2 : way == ONCE ? 1 : 0));
        talk_end(&talk);
        mcplink_server_free(server);
    }
}

int main(void)
{
    int fds = open_count();
    introduces_itself();
    describes_what_it_has();
    states_of_calls();
    talk_clean(fds);
    return 0;
}
