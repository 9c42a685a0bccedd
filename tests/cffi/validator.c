/* Validators of the host: for the tools of a server, and for the results that a client gets. */
#include "peer.h"
#include "talk.h"

#include <stdatomic.h>

static atomic_int ended;
static void count_end(void *user) { ended += *(int *)user; }
static int one = 1, ten = 10;

#define ENDED(number) CHECK(atomic_exchange(&ended, 0) == (number))

/* Waits until something is so: a thread that has answered may take a moment to come to its end. */
#define UNTIL(condition)                                    \
    do {                                                    \
        struct timespec moment = { 0, 1000000 };            \
        int times;                                          \
        for (times = 0; !(condition) && times < PATIENCE; times++) nanosleep(&moment, NULL); \
        CHECK(condition);                                   \
    } while (0)

/* A schema of this validator: its text. */
struct compiled {
    char text[256];
};

/* What the validator does, and how many of its schemas there are. */
static struct {
    mcplink_status_t compiles, checks;
    /* Why a schema or a value is refused; NULL to say nothing. */
    const char *reason, *fault;
    atomic_int made, freed, checked;
    /* Whether results of handlers do not fit. */
    int refuses;
    char last[256];
} rules;

static mcplink_status_t compile(void *user, mcplink_str_t schema, void **compiled, mcplink_output_t *reason)
{
    struct compiled *one_more;
    CHECK(*(int *)user == 1 || *(int *)user == 10);
    CHECK(schema.ptr[schema.len] == 0 && *compiled == NULL);
    if (rules.reason) {
        CHECK(mcplink_output_set(reason, "another text", 7) == MCPLINK_OK);
        CHECK(mcplink_output_set(reason, rules.reason, MCPLINK_NUL) == MCPLINK_OK);
    }
    /* What is not compiled is nobody's to free. */
    *compiled = &rules;
    if (rules.compiles != MCPLINK_OK || rules.reason) return rules.compiles;
    one_more = malloc(sizeof *one_more);
    CHECK(one_more != NULL);
    snprintf(one_more->text, sizeof one_more->text, "%s", schema.ptr);
    *compiled = one_more;
    rules.made++;
    return MCPLINK_OK;
}

static mcplink_status_t check(void *user, void *compiled, mcplink_str_t json, mcplink_output_t *fault)
{
    CHECK(*(int *)user == 1 || *(int *)user == 10);
    CHECK(strstr(((struct compiled *)compiled)->text, "\"type\"") != NULL);
    CHECK(json.ptr[json.len] == 0);
    snprintf(rules.last, sizeof rules.last, "%s", json.ptr);
    rules.checked++;
    /* Wrong calls change nothing, text that is not UTF-8 neither. */
    CHECK(mcplink_output_set(fault, "\xff!", 2) == MCPLINK_E_INVALID);
    CHECK(mcplink_output_set(fault, NULL, 1) == MCPLINK_E_INVALID && mcplink_output_set(NULL, "x", 1) == MCPLINK_E_INVALID);
    CHECK(mcplink_replay_send((mcplink_replay_t *)fault, 1, "x", 1) == MCPLINK_E_INVALID);
    if (rules.fault) CHECK(mcplink_output_set(fault, rules.fault, strlen(rules.fault)) == MCPLINK_OK);
    return rules.checks;
}

static void release(void *user, void *compiled)
{
    CHECK(*(int *)user == 1 || *(int *)user == 10);
    CHECK(ended == 0);
    rules.freed++;
    free(compiled);
}

static void begin(mcplink_status_t compiles, const char *reason, mcplink_status_t checks, const char *fault)
{
    rules.compiles = compiles, rules.reason = reason, rules.checks = checks, rules.fault = fault;
    rules.made = rules.freed = rules.checked = 0;
}

static mcplink_server_t *built(mcplink_server_options_t *options)
{
    mcplink_server_t *server = NULL;
    mcplink_error_t *err = NULL;
    CHECK_STATUS(mcplink_server_new_with(options, &server, &err), MCPLINK_OK, err);
    mcplink_server_options_free(options);
    return server;
}

static mcplink_server_t *validated(void)
{
    mcplink_server_options_t *options = mcplink_server_options_new("validated", "1");
    CHECK(mcplink_server_options_set_validator(options, compile, check, release, &one, count_end) == MCPLINK_OK);
    CHECK(mcplink_server_options_set_validator(options, compile, check, release, &ten, count_end) == MCPLINK_OK);
    ENDED(1);
    return built(options);
}

static void counts(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    /* Once it has answered, the test goes on. */
    const mcplink_status_t expected = rules.refuses ? MCPLINK_E_INVALID : MCPLINK_OK;
    (void)req;
    ++*(int *)user;
    CHECK(mcplink_responder_structured(resp, "{\"n\":2}", MCPLINK_NUL) == expected);
}

static int runs;

/* Adds a tool, with an output schema too. */
static mcplink_status_t add(mcplink_server_t *server, mcplink_error_t **err)
{
    static const char schema[] = "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}}}";
    mcplink_tool_t *tool = mcplink_tool_new("count", "Counts");
    mcplink_status_t st;
    CHECK(mcplink_tool_set_input_schema(tool, schema, MCPLINK_NUL) == MCPLINK_OK);
    CHECK(mcplink_tool_set_output_schema(tool, schema, MCPLINK_NUL) == MCPLINK_OK);
    st = mcplink_server_add_tool(server, tool, counts, &runs, NULL, err);
    mcplink_tool_free(tool);
    return st;
}

/* Calls the tool; what it answers. Notifications of the server may come before. */
static const char *answer_of(talk_t *talk)
{
    const char *line;
    talk_call(talk, "1", "count", "{\"n\":1}");
    do {
        line = talk_line(talk);
        CHECK(line != NULL);
    } while (strstr(line, "\"id\":1") == NULL);
    return line;
}

/* A tool whose schema can't be used is not there, and says why. */
static void schemas_of_tools(void)
{
    static const struct {
        mcplink_status_t compiles, expected;
        const char *why, *said;
    } cases[] = {
        { MCPLINK_E_INVALID, MCPLINK_E_INVALID, "no such keyword", "no such keyword" },
        { MCPLINK_E_UNSUPPORTED, MCPLINK_E_UNSUPPORTED, "no such dialect", "no such dialect" },
        { MCPLINK_E_USER, MCPLINK_E_INVALID, NULL, "the schema can't be used" },
        { MCPLINK_PENDING, MCPLINK_E_INVALID, " ", "the schema can't be used" },
        { 4711, MCPLINK_E_INVALID, NULL, "the schema can't be used" },
        { MCPLINK_OK, MCPLINK_E_INVALID, "no such keyword", "no such keyword" },
    };
    mcplink_server_t *server = validated();
    size_t i;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        mcplink_error_t *err = NULL;
        begin(cases[i].compiles, cases[i].why, MCPLINK_OK, NULL);
        CHECK(add(server, &err) == cases[i].expected);
        CHECK(strstr(mcplink_error_message(err), "count") != NULL && strstr(mcplink_error_message(err), cases[i].said) != NULL);
        mcplink_error_free(err);
        CHECK(rules.made == 0 && rules.freed == 0);
    }
    mcplink_server_free(server);
    ENDED(10);
}

/* The handler runs only for arguments that fit; the model reads why they don't. */
static void values_of_tools(void)
{
    static const struct {
        mcplink_status_t checks;
        const char *why, *said;
    } cases[] = {
        { MCPLINK_OK, NULL, NULL },
        { MCPLINK_OK, "/n: expected less", "/n: expected less" },
        { MCPLINK_OK, "", "expected a value" },
        { MCPLINK_E_INVALID, "/n: expected less", "/n: expected less" },
        { MCPLINK_E_INVALID, NULL, "expected a value that fits the schema" },
        { MCPLINK_E_UNSUPPORTED, NULL, "expected a value" },
        { MCPLINK_E_USER, "the library is not there", "the library is not there" },
        { MCPLINK_PENDING, NULL, "expected a value" },
        { MCPLINK_TOOL_ERROR, NULL, "expected a value" },
        { 4711, "", "expected a value" },
    };
    mcplink_server_t *server = validated();
    mcplink_error_t *err = NULL;
    talk_t talk;
    size_t i;
    begin(MCPLINK_OK, NULL, MCPLINK_OK, NULL);
    CHECK_STATUS(add(server, &err), MCPLINK_OK, err);
    CHECK(rules.made == 2 && rules.freed == 0);
    talk = talk_begin(server);
    talk_open(&talk, "{}");
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *line;
        rules.checks = cases[i].checks, rules.fault = cases[i].why;
        runs = rules.checked = 0;
        line = answer_of(&talk);
        if (cases[i].said == NULL) {
            CHECK(runs == 1 && rules.checked == 2 && strstr(line, "\"structuredContent\":{\"n\":2}") != NULL);
            CHECK(strcmp(rules.last, "{\"n\":2}") == 0);
        } else {
            CHECK(runs == 0 && rules.checked == 1 && strcmp(rules.last, "{\"n\":1}") == 0);
            CHECK(strstr(line, "\"isError\":true") != NULL && strstr(line, cases[i].said) != NULL);
        }
    }
    /* A schema goes with its tool. */
    CHECK(mcplink_server_remove_tool(server, "count") == MCPLINK_OK);
    UNTIL(rules.freed == 2);
    rules.checks = MCPLINK_OK, rules.fault = NULL;
    CHECK_STATUS(add(server, &err), MCPLINK_OK, err);
    CHECK(rules.made == 4);
    talk_end(&talk);
    mcplink_server_free(server);
    CHECK(rules.freed == 4);
    ENDED(10);
}

/* A result that does not fit is not sent. */
static mcplink_status_t refuses_results(void *user, void *compiled, mcplink_str_t json, mcplink_output_t *fault)
{
    (void)user, (void)compiled, (void)fault;
    return strstr(json.ptr, "2") ? MCPLINK_E_INVALID : MCPLINK_OK;
}

static void results_of_tools(void)
{
    mcplink_server_options_t *options = mcplink_server_options_new("validated", "1");
    mcplink_server_t *server;
    mcplink_error_t *err = NULL;
    talk_t talk;
    CHECK(mcplink_server_options_set_validator(options, compile, refuses_results, release, &one, count_end) == MCPLINK_OK);
    server = built(options);
    begin(MCPLINK_OK, NULL, MCPLINK_OK, NULL);
    CHECK_STATUS(add(server, &err), MCPLINK_OK, err);
    talk = talk_begin(server);
    talk_open(&talk, "{}");
    runs = 0, rules.refuses = 1;
    CHECK(strstr(answer_of(&talk), "-32603") != NULL);
    rules.refuses = 0;
    CHECK(runs == 1);
    talk_end(&talk);
    mcplink_server_free(server);
    CHECK(rules.freed == 2);
    ENDED(1);
}

/* A validator without one of its functions is none, and is refused; to have none is a setter of its own. */
static void validators_that_are_none(void)
{
    enum { CLEARED, SET_AGAIN, WAYS } way;
    REFUSES(server_options, mcplink_server_options_new("a", "1"), mcplink_server_options_set_validator(it, NULL, check, release, &one, count_end));
    ENDED(1);
    REFUSES(server_options, mcplink_server_options_new("a", "1"), mcplink_server_options_set_validator(it, compile, NULL, release, &one, count_end));
    ENDED(1);
    REFUSES(client_options, mcplink_client_options_new(), mcplink_client_options_set_validator(it, compile, check, NULL, &one, count_end));
    ENDED(1);
    CHECK(mcplink_client_options_set_validator(NULL, compile, check, release, &one, count_end) == MCPLINK_E_INVALID);
    ENDED(1);
    for (way = CLEARED; way < WAYS; way++) {
        mcplink_server_options_t *options = mcplink_server_options_new("validated", "1");
        mcplink_server_t *server;
        mcplink_error_t *err = NULL;
        begin(MCPLINK_OK, NULL, MCPLINK_OK, NULL);
        CHECK(mcplink_server_options_set_validator(options, compile, check, release, &one, count_end) == MCPLINK_OK);
        CHECK(mcplink_server_options_clear_validation(options) == MCPLINK_OK);
        ENDED(1);
        if (way == SET_AGAIN) CHECK(mcplink_server_options_set_validator(options, compile, check, release, &ten, count_end) == MCPLINK_OK);
        server = built(options);
        CHECK_STATUS(add(server, &err), MCPLINK_OK, err);
        CHECK(rules.made == (way == SET_AGAIN ? 2 : 0));
        mcplink_server_free(server);
        CHECK(rules.freed == rules.made);
        ENDED(way == SET_AGAIN ? 10 : 0);
    }
}

static void answers(struct peer *p, const char *method, const mcplink_json_t *message)
{
    static const char tools[] = "{\"tools\":[{\"name\":\"count\",\"inputSchema\":{\"type\":\"object\"},\"outputSchema\":{\"type\":\"object\"}}]}";
    if (strcmp(method, "tools/list") == 0) {
        peer_respond(p, message, tools);
    } else if (strcmp(method, "tools/call") == 0) {
        runs++;
        peer_respond(p, message, "{\"content\":[],\"structuredContent\":{\"n\":3}}");
    }
}

/* Results that do not fit are no results; without a schema that can be used nothing is called. */
static void results_of_servers(void)
{
    static const struct {
        mcplink_status_t compiles, checks, expected;
        int runs;
        const char *said;
    } cases[] = {
        { MCPLINK_OK, MCPLINK_OK, MCPLINK_OK, 1, "" },
        { MCPLINK_OK, MCPLINK_E_INVALID, MCPLINK_E_PROTOCOL, 1, "/n: expected less" },
        { MCPLINK_OK, 4711, MCPLINK_E_PROTOCOL, 1, "/n: expected less" },
        { MCPLINK_E_INVALID, MCPLINK_OK, MCPLINK_E_PROTOCOL, 0, "mcplink_client_options_clear_validation" },
        { MCPLINK_E_UNSUPPORTED, MCPLINK_OK, MCPLINK_E_UNSUPPORTED, 0, "mcplink_client_options_clear_validation" },
    };
    size_t i;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        static struct peer peer;
        mcplink_client_options_t *options;
        mcplink_client_t *client;
        mcplink_result_t *result = NULL;
        mcplink_error_t *err = NULL;
        mcplink_status_t st;
        peer_begin(&peer, answers);
        options = peer_options(&peer);
        begin(cases[i].compiles, NULL, cases[i].checks, cases[i].checks == MCPLINK_OK ? NULL : "/n: expected less");
        CHECK(mcplink_client_options_set_validator(options, compile, check, release, &one, count_end) == MCPLINK_OK);
        CHECK(mcplink_client_options_clear_validation(options) == MCPLINK_OK);
        ENDED(1);
        CHECK(mcplink_client_options_set_validator(options, compile, check, release, &ten, count_end) == MCPLINK_OK);
        client = open_with(options, NULL);
        CHECK_STATUS(mcplink_client_list_tools(client, NULL, &result, &err), MCPLINK_OK, err);
        mcplink_result_free(result);
        runs = 0;
        st = mcplink_client_call_tool(client, "count", "{}", MCPLINK_NUL, NULL, &result, &err);
        if (st != cases[i].expected) fprintf(stderr, "case %zu: %s: %s\n", i, mcplink_status_name(st), mcplink_error_message(err));
        CHECK(st == cases[i].expected && runs == cases[i].runs);
        CHECK(st == MCPLINK_OK || strstr(mcplink_error_message(err), cases[i].said) != NULL);
        mcplink_result_free(result);
        mcplink_error_free(err);
        ENDED(0);
        mcplink_client_free(client);
        CHECK(rules.freed == rules.made && rules.made == (cases[i].compiles == MCPLINK_OK));
        ENDED(10);
        mcplink_transport_free(peer.transport);
    }
}

int main(void)
{
    int fds = open_count();
    schemas_of_tools();
    values_of_tools();
    results_of_tools();
    validators_that_are_none();
    results_of_servers();
    talk_clean(fds);
    return 0;
}
