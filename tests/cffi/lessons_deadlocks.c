/* The library never deadlocks a host, and shows which call waits for which peer. Several other SDKs deadlock by themselves. */
#include "lessons.h"
#include "talk.h"

#include <stdatomic.h>

#define FORM "{\"message\":\"m\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}"
#define ACCEPTED "{\"action\":\"accept\",\"content\":{}}"

/* Says how far it is, logs, and asks: what a first message did not live through elsewhere. */
static void tool_everything(void *user, const mcplink_request_t *call, mcplink_responder_t *responder)
{
    mcplink_status_t status;
    (void)user, (void)call;
    CHECK(mcplink_responder_progress(responder, 1, 2, "half") == MCPLINK_OK);
    CHECK(mcplink_responder_log(responder, MCPLINK_LOG_ERROR, "logged", MCPLINK_NUL) == MCPLINK_OK);
    status = mcplink_responder_ask(responder, "k", "elicitation/create", FORM, MCPLINK_NUL, NULL, NULL);
    if (status == MCPLINK_PENDING) return;
    CHECK(status == MCPLINK_OK && mcplink_responder_text(responder, "everything", MCPLINK_NUL) == MCPLINK_OK);
}

static void tool_echo(void *user, const mcplink_request_t *call, mcplink_responder_t *responder)
{
    mcplink_str_t text = mcplink_json_str(mcplink_json_get(mcplink_request_args(call), "text"));
    mcplink_status_t status = mcplink_responder_text(responder, text.ptr, text.len);
    (void)user;
    /* Some calls are cancelled meanwhile, or their client is closed. */
    CHECK(status == MCPLINK_OK || status == MCPLINK_E_CANCELLED || status == MCPLINK_E_CLOSED);
}

static mcplink_server_t *new_server(mcplink_server_options_t *o)
{
    mcplink_server_t *server = NULL;
    mcplink_error_t *err = NULL;
    CHECK(mcplink_server_options_set_logging(o, true) == MCPLINK_OK);
    CHECK_STATUS(mcplink_server_new_with(o, &server, &err), MCPLINK_OK, err);
    mcplink_server_options_free(o);
    add(server, "everything", tool_everything, NULL);
    add(server, "echo", tool_echo, NULL);
    return server;
}

static mcplink_server_options_t *server_options(void) { return mcplink_server_options_new("deadlocks", "1"); }

/* The first message is served like every other. */

static struct counter asked = COUNTER, progressed = COUNTER;

static void on_form(void *user, const mcplink_request_t *question, mcplink_responder_t *responder)
{
    (void)user, (void)question;
    counter_add(&asked);
    CHECK(mcplink_responder_json(responder, ACCEPTED, MCPLINK_NUL) == MCPLINK_OK);
}

static void on_progress(void *user, double done, double total, mcplink_str_t message)
{
    (void)user;
    CHECK(done == 1 && total == 2);
    CHECK_TEXT(message, "half");
    counter_add(&progressed);
}

static void the_first_message(void)
{
    static const char *const revisions[] = { "2025-11-25", "2026-07-28" };
    mcplink_server_t *server = new_server(server_options());
    talk_t talk = talk_begin(server);
    size_t i;
    /* Really the first one: nothing has to come before it in the modern era. */
    talk_send(&talk, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"everything\",\"arguments\":{},\"_meta\":{"
                     "\"progressToken\":\"p\",\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                     "\"io.modelcontextprotocol/logLevel\":\"info\",\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{}}}}}");
    TALK_HOLDS(&talk, "notifications/progress");
    TALK_HOLDS(&talk, "notifications/message");
    TALK_HOLDS(&talk, "\"resultType\":\"input_required\"");
    talk_end(&talk);
    for (i = 0; i < 2; i++) {
        mcplink_client_options_t *o = mcplink_client_options_new();
        mcplink_call_options_t *options = mcplink_call_options_new();
        mcplink_result_t *result = NULL;
        mcplink_error_t *err = NULL;
        int questions = counter_get(&asked), steps = counter_get(&progressed);
        pair_t pair;
        CHECK(mcplink_client_options_on_elicit(o, on_form, NULL, NULL) == MCPLINK_OK);
        CHECK(mcplink_call_options_on_progress(options, on_progress, NULL, NULL) == MCPLINK_OK);
        pair = pair_open(server, o, revisions[i]);
        CHECK_STATUS(mcplink_client_call_tool(pair.client, "everything", NULL, 0, options, &result, &err), MCPLINK_OK, err);
        CHECK_TEXT(mcplink_result_text(result), "everything");
        CHECK(counter_get(&asked) == questions + 1 && counter_get(&progressed) > steps);
        mcplink_result_free(result);
        mcplink_call_options_free(options);
        pair_close(&pair);
    }
    mcplink_server_free(server);
}

/* A callback may use, close and free the client or server that called it: see within_callbacks in close.c, in_own_callbacks in lifetimes.c
   and handlers_threads.c. The library holds no lock while a callback runs, so every function may be called in it. */

/* The client is there for log hooks while they hold this. */
static pthread_rwlock_t using = PTHREAD_RWLOCK_INITIALIZER;
static mcplink_client_t *used_client;
static mcplink_server_t *used_server;
enum { IN_PROGRESS, IN_DONE, IN_FORM, IN_EVENT, IN_LOG, IN_TOOL, IN_SERVER_LOG, IN_CANCELLED, IN_DESTROY, PLACES };
static struct counter ran[PLACES] = { COUNTER, COUNTER, COUNTER, COUNTER, COUNTER, COUNTER, COUNTER, COUNTER, COUNTER };
static __thread bool is_inside;

/* Everything that does not wait for the peer. */
static void looks_at_client(mcplink_client_t *c)
{
    mcplink_json_t *doc = NULL;
    mcplink_call_t *call = NULL;
    mcplink_error_t *err = NULL;
    CHECK(mcplink_client_state(c) >= MCPLINK_CLIENT_READY);
    CHECK(mcplink_client_revision(c).len == 10 && mcplink_client_era(c) != MCPLINK_ERA_UNKNOWN && mcplink_client_has(c, "tools"));
    CHECK_STATUS(mcplink_client_server_info(c, &doc, &err), MCPLINK_OK, err);
    mcplink_json_free(doc);
    CHECK_STATUS(mcplink_client_stats(c, &doc, &err), MCPLINK_OK, err);
    mcplink_json_free(doc);
    CHECK_STATUS(mcplink_client_activity(c, &doc, &err), MCPLINK_OK, err);
    mcplink_json_free(doc);
    CHECK(mcplink_client_stderr_tail(c, &doc, NULL) <= MCPLINK_OK);
    mcplink_json_free(doc);
    CHECK_STATUS(mcplink_client_clear_cache(c, &err), MCPLINK_OK, err);
    CHECK_STATUS(mcplink_client_notify(c, "notifications/none", NULL, 0, &err), MCPLINK_OK, err);
    CHECK_STATUS(mcplink_client_call_tool_start(c, "echo", "{\"text\":\"x\"}", MCPLINK_NUL, NULL, NULL, NULL, NULL, &call, &err), MCPLINK_OK, err);
    CHECK(mcplink_call_id(call) != 0);
    mcplink_call_is_done(call);
    CHECK(mcplink_call_cancel(call, "enough") == MCPLINK_OK);
    mcplink_call_free(call);
}

/* What waits for the peer, too. */
static void uses_client(mcplink_client_t *c)
{
    mcplink_result_t *result = NULL;
    mcplink_error_t *err = NULL;
    looks_at_client(c);
    CHECK_STATUS(mcplink_client_ping(c, NULL, &err), MCPLINK_OK, err);
    CHECK_STATUS(mcplink_client_list_tools(c, NULL, &result, &err), MCPLINK_OK, err);
    mcplink_result_free(result);
    CHECK_STATUS(mcplink_client_call_tool(c, "echo", "{\"text\":\"x\"}", MCPLINK_NUL, NULL, &result, &err), MCPLINK_OK, err);
    mcplink_result_free(result);
    CHECK_STATUS(mcplink_client_request(c, "tools/list", NULL, 0, NULL, &result, &err), MCPLINK_OK, err);
    mcplink_result_free(result);
}

static void uses_server(mcplink_server_t *s)
{
    /* Others may be at it, too. */
    static atomic_int number;
    char name[32], uri[64], of_template[64];
    mcplink_resource_t *resource;
    mcplink_template_t *template;
    mcplink_prompt_t *prompt;
    mcplink_json_t *doc = NULL;
    mcplink_error_t *err = NULL;
    snprintf(name, sizeof name, "used%d", atomic_fetch_add(&number, 1));
    snprintf(uri, sizeof uri, "file:///%s", name);
    snprintf(of_template, sizeof of_template, "file:///%s/{x}", name);
    resource = mcplink_resource_new(uri, name);
    template = mcplink_template_new(of_template, name);
    prompt = mcplink_prompt_new(name, "used");
    CHECK_STATUS(mcplink_server_stats(s, &doc, &err), MCPLINK_OK, err);
    mcplink_json_free(doc);
    CHECK_STATUS(mcplink_server_activity(s, &doc, &err), MCPLINK_OK, err);
    mcplink_json_free(doc);
    add(s, name, tool_echo, NULL);
    CHECK_STATUS(mcplink_server_add_resource(s, resource, tool_echo, NULL, NULL, &err), MCPLINK_OK, err);
    CHECK_STATUS(mcplink_server_add_template(s, template, tool_echo, NULL, NULL, &err), MCPLINK_OK, err);
    CHECK_STATUS(mcplink_server_add_prompt(s, prompt, tool_echo, NULL, NULL, &err), MCPLINK_OK, err);
    CHECK(mcplink_server_resource_updated(s, uri) == MCPLINK_OK);
    CHECK(mcplink_server_log(s, MCPLINK_LOG_ERROR, "used", "1", 1) == MCPLINK_OK);
    CHECK(mcplink_server_remove_tool(s, name) == MCPLINK_OK && mcplink_server_remove_prompt(s, name) == MCPLINK_OK);
    CHECK(mcplink_server_remove_resource(s, uri) == MCPLINK_OK && mcplink_server_remove_template(s, of_template) == MCPLINK_OK);
    mcplink_resource_free(resource), mcplink_template_free(template), mcplink_prompt_free(prompt);
}

static void use_in_progress(void *user, double done, double total, mcplink_str_t message)
{
    (void)user, (void)done, (void)total, (void)message;
    uses_client(used_client);
    uses_server(used_server);
    counter_add(&ran[IN_PROGRESS]);
}

static void use_in_done(void *user, mcplink_call_t *call, mcplink_status_t status, const mcplink_result_t *result, const mcplink_error_t *err)
{
    (void)user, (void)result, (void)err;
    CHECK(status == MCPLINK_OK && (call == NULL || mcplink_call_is_done(call)));
    uses_client(used_client);
    uses_server(used_server);
    counter_add(&ran[IN_DONE]);
}

static void use_in_destroy(void *user)
{
    (void)user;
    uses_client(used_client);
    uses_server(used_server);
    counter_add(&ran[IN_DESTROY]);
}

static void use_in_form(void *user, const mcplink_request_t *question, mcplink_responder_t *responder)
{
    (void)user, (void)question;
    uses_client(used_client);
    uses_server(used_server);
    counter_add(&ran[IN_FORM]);
    CHECK(mcplink_responder_json(responder, ACCEPTED, MCPLINK_NUL) == MCPLINK_OK);
}

static void use_in_event(void *user, mcplink_event event, const mcplink_json_t *params)
{
    static atomic_int events;
    (void)user, (void)params;
    /* What it does brings more of them about. */
    if (event != MCPLINK_EVENT_TOOLS_CHANGED || events++ > 0) return;
    uses_client(used_client);
    uses_server(used_server);
    counter_add(&ran[IN_EVENT]);
}

static void use_in_log(void *user, mcplink_log_level level, mcplink_str_t target, mcplink_str_t text)
{
    struct counter *here = user;
    (void)level, (void)target, (void)text;
    /* What it does may be logged again. */
    if (is_inside) return;
    pthread_rwlock_rdlock(&using);
    is_inside = true;
    if (used_client != NULL) {
        looks_at_client(used_client);
        if (here == &ran[IN_SERVER_LOG]) uses_server(used_server);
        counter_add(here);
    }
    is_inside = false;
    pthread_rwlock_unlock(&using);
}

static void use_in_cancelled(void *user)
{
    (void)user;
    uses_server(used_server);
    counter_add(&ran[IN_CANCELLED]);
}

static mcplink_responder_t *kept;
static struct counter has_kept = COUNTER;

static void tool_keep(void *user, const mcplink_request_t *call, mcplink_responder_t *responder)
{
    (void)user, (void)call;
    CHECK(mcplink_responder_on_cancel(responder, use_in_cancelled, NULL, NULL) == MCPLINK_OK);
    kept = mcplink_responder_keep(responder);
    counter_add(&has_kept);
}

static void tool_use(void *user, const mcplink_request_t *call, mcplink_responder_t *responder)
{
    mcplink_str_t text;
    (void)user;
    uses_server(used_server);
    uses_client(used_client);
    text = mcplink_request_method(call);
    counter_add(&ran[IN_TOOL]);
    CHECK(mcplink_responder_text(responder, text.ptr, text.len) == MCPLINK_OK);
}

/* Brings a line of the log about: a result that a tool can't have. */
static void tool_wrong(void *user, const mcplink_request_t *call, mcplink_responder_t *responder)
{
    (void)user, (void)call, (void)responder;
}

static void callbacks_may_use_everything(void)
{
    static const char *const revisions[] = { "2025-11-25", "2026-07-28" };
    size_t i;
    for (i = 0; i < 2; i++) {
        mcplink_server_options_t *so = server_options();
        mcplink_client_options_t *o = mcplink_client_options_new();
        mcplink_call_options_t *options = mcplink_call_options_new();
        mcplink_result_t *result = NULL;
        mcplink_call_t *call = NULL;
        mcplink_error_t *err = NULL;
        pair_t pair;
        int before[PLACES], place;
        for (place = 0; place < PLACES; place++) before[place] = counter_get(&ran[place]);
        CHECK(mcplink_server_options_on_log(so, MCPLINK_LOG_DEBUG, use_in_log, &ran[IN_SERVER_LOG], NULL) == MCPLINK_OK);
        CHECK(mcplink_server_options_set_resource_updates(so, true) == MCPLINK_OK);
        CHECK(mcplink_server_options_declare_capability(so, MCPLINK_LIST_RESOURCES) == MCPLINK_OK);
        CHECK(mcplink_server_options_declare_capability(so, MCPLINK_LIST_PROMPTS) == MCPLINK_OK);
        used_server = new_server(so);
        add(used_server, "keep", tool_keep, NULL);
        add(used_server, "use", tool_use, NULL);
        add(used_server, "wrong", tool_wrong, NULL);
        CHECK(mcplink_client_options_on_elicit(o, use_in_form, NULL, NULL) == MCPLINK_OK);
        CHECK(mcplink_client_options_on_event(o, use_in_event, NULL, NULL) == MCPLINK_OK);
        CHECK(mcplink_client_options_on_log(o, MCPLINK_LOG_DEBUG, use_in_log, &ran[IN_LOG], NULL) == MCPLINK_OK);
        pair = pair_open(used_server, o, revisions[i]);
        pthread_rwlock_wrlock(&using);
        used_client = pair.client;
        pthread_rwlock_unlock(&using);

        CHECK(mcplink_call_options_on_progress(options, use_in_progress, NULL, NULL) == MCPLINK_OK);
        CHECK_STATUS(mcplink_client_call_tool(pair.client, "everything", NULL, 0, options, &result, &err), MCPLINK_OK, err);
        mcplink_result_free(result);
        says(pair.client, "use", "tools/call");
        CHECK(mcplink_client_call_tool(pair.client, "wrong", NULL, 0, NULL, &result, NULL) == MCPLINK_E_PEER);
        CHECK_STATUS(mcplink_client_call_tool_start(pair.client, "echo", "{\"text\":\"x\"}", MCPLINK_NUL, NULL, use_in_done, NULL, use_in_destroy, &call, &err), MCPLINK_OK, err);
        CHECK(counter_wait(&ran[IN_DONE], before[IN_DONE] + 1) && counter_wait(&ran[IN_DESTROY], before[IN_DESTROY] + 1));
        mcplink_call_free(call);
        CHECK_STATUS(mcplink_client_call_tool_start(pair.client, "keep", NULL, 0, NULL, NULL, NULL, NULL, &call, &err), MCPLINK_OK, err);
        CHECK(counter_wait(&has_kept, (int)i + 1));
        CHECK(mcplink_call_cancel(call, NULL) == MCPLINK_OK);
        CHECK(counter_wait(&ran[IN_CANCELLED], before[IN_CANCELLED] + 1));
        mcplink_call_free(call);
        mcplink_responder_free(kept);
        if (i == 0) {
            CHECK_STATUS(mcplink_client_listen(pair.client, "{\"toolsListChanged\":true}", MCPLINK_NUL, NULL, &result, &err), MCPLINK_OK, err);
            mcplink_result_free(result);
            add(used_server, "changed", tool_echo, NULL);
            CHECK(counter_wait(&ran[IN_EVENT], 1));
        }
        CHECK(counter_get(&ran[IN_PROGRESS]) > before[IN_PROGRESS] && counter_get(&ran[IN_FORM]) > before[IN_FORM]);
        CHECK(counter_get(&ran[IN_TOOL]) > before[IN_TOOL] && counter_wait(&ran[IN_SERVER_LOG], before[IN_SERVER_LOG] + 1));
        mcplink_call_options_free(options);
        pthread_rwlock_wrlock(&using);
        used_client = NULL;
        pthread_rwlock_unlock(&using);
        pair_close(&pair);
        mcplink_server_free(used_server);
    }
}

/* Both peers write ten megabytes at once, through pipes that hold four kilobytes. */

static size_t size_of_large;

static void *calls_large(void *client)
{
    mcplink_result_t *result = NULL;
    mcplink_error_t *err = NULL;
    char *text = malloc(size_of_large + 32);
    CHECK(text != NULL);
    memcpy(text, "{\"text\":\"", 9);
    memset(text + 9, 'x', size_of_large);
    memcpy(text + 9 + size_of_large, "\"}", 3);
    CHECK_STATUS(mcplink_client_call_tool(client, "echo", text, MCPLINK_NUL, NULL, &result, &err), MCPLINK_OK, err);
    CHECK(mcplink_result_text(result).len == size_of_large);
    mcplink_result_free(result);
    free(text);
    return NULL;
}

static void both_write_at_once(void)
{
    mcplink_server_t *server = new_server(server_options());
    mcplink_client_options_t *o = mcplink_client_options_new();
    mcplink_session_t *session = NULL;
    mcplink_client_t *client;
    mcplink_error_t *err = NULL;
    pthread_t threads[4];
    int there[2], back[2], i;
    size_of_large = slowly() ? 1 << 18 : 5 << 20;
    CHECK(pipe2(there, O_CLOEXEC) == 0 && pipe2(back, O_CLOEXEC) == 0);
    CHECK(fcntl(there[1], F_SETPIPE_SZ, 4096) == 4096 && fcntl(back[1], F_SETPIPE_SZ, 4096) == 4096);
    CHECK_STATUS(mcplink_server_serve_fds_start(server, there[0], back[1], NULL, &session, &err), MCPLINK_OK, err);
    CHECK(mcplink_client_options_set_fds(o, back[0], there[1]) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_timeout_ms(o, 4 * PATIENCE) == MCPLINK_OK);
    client = open_with(o, NULL);
    close(there[0]), close(there[1]), close(back[0]), close(back[1]);
    for (i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, calls_large, client) == 0);
    for (i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    mcplink_client_free(client);
    mcplink_session_free(session);
    mcplink_server_free(server);
}

/* A tool calls its own server: each handler waits for an answer that only the next handler can give, deeper than there are workers. */

enum { WORKERS = 3, DEPTH = WORKERS + 1 };
static mcplink_client_t *nested;

static void tool_nest(void *user, const mcplink_request_t *call, mcplink_responder_t *responder)
{
    int depth = (int)mcplink_json_f64(mcplink_json_get(mcplink_request_args(call), "depth"));
    char text[64];
    (void)user;
    if (depth > 0) {
        mcplink_result_t *result = NULL;
        mcplink_error_t *err = NULL;
        snprintf(text, sizeof text, "{\"depth\":%d}", depth - 1);
        CHECK_STATUS(mcplink_client_call_tool(nested, "nest", text, MCPLINK_NUL, NULL, &result, &err), MCPLINK_OK, err);
        snprintf(text, sizeof text, "%d", atoi(mcplink_result_text(result).ptr) + 1);
        mcplink_result_free(result);
    } else {
        snprintf(text, sizeof text, "0");
    }
    CHECK(mcplink_responder_text(responder, text, MCPLINK_NUL) == MCPLINK_OK);
}

static void handlers_wait_for_handlers(void)
{
    mcplink_server_options_t *so = server_options();
    mcplink_server_t *server;
    mcplink_result_t *result = NULL;
    mcplink_error_t *err = NULL;
    char args[64], depth[16];
    pair_t pair;
    CHECK(mcplink_server_options_set_limit(so, MCPLINK_LIMIT_WORKERS, WORKERS) == MCPLINK_OK);
    server = new_server(so);
    add(server, "nest", tool_nest, NULL);
    pair = pair_open(server, NULL, NULL);
    nested = pair.client;
    snprintf(args, sizeof args, "{\"depth\":%d}", DEPTH);
    snprintf(depth, sizeof depth, "%d", DEPTH);
    CHECK_STATUS(mcplink_client_call_tool(pair.client, "nest", args, MCPLINK_NUL, NULL, &result, &err), MCPLINK_OK, err);
    CHECK_TEXT(mcplink_result_text(result), depth);
    mcplink_result_free(result);
    pair_close(&pair);
    mcplink_server_free(server);
}

/* The activity shows which call waits for which peer, and the log names a slow handler. */

static struct counter slow = COUNTER, blocked = COUNTER, unblocked = COUNTER;

static void on_slow(void *user, mcplink_log_level level, mcplink_str_t target, mcplink_str_t text)
{
    (void)user, (void)target;
    if (level == MCPLINK_LOG_WARNING && strstr(text.ptr, "tools/call") != NULL) counter_add(&slow);
}

static void tool_block(void *user, const mcplink_request_t *call, mcplink_responder_t *responder)
{
    (void)user, (void)call;
    counter_add(&blocked);
    CHECK(counter_wait(&unblocked, 1));
    CHECK(mcplink_responder_text(responder, "unblocked", MCPLINK_NUL) == MCPLINK_OK);
}

static void who_waits_is_shown(void)
{
    mcplink_server_options_t *so = server_options();
    mcplink_server_t *server;
    mcplink_call_t *call = NULL;
    mcplink_json_t *text = NULL;
    mcplink_error_t *err = NULL;
    char dump[16384];
    ssize_t len;
    int ends[2];
    pair_t pair;
    CHECK(mcplink_server_options_set_slow_handler_ms(so, 20) == MCPLINK_OK);
    CHECK(mcplink_server_options_on_log(so, MCPLINK_LOG_WARNING, on_slow, NULL, NULL) == MCPLINK_OK);
    server = new_server(so);
    add(server, "block", tool_block, NULL);
    pair = pair_open(server, NULL, NULL);
    CHECK_STATUS(mcplink_client_call_tool_start(pair.client, "block", NULL, 0, NULL, NULL, NULL, NULL, &call, &err), MCPLINK_OK, err);
    CHECK(counter_wait(&blocked, 1) && counter_wait(&slow, 1));
    CHECK_STATUS(mcplink_client_activity(pair.client, &text, &err), MCPLINK_OK, err);
    CHECK(strstr(mcplink_json_str(text).ptr, "tools/call") != NULL);
    mcplink_json_free(text);
    CHECK_STATUS(mcplink_server_activity(server, &text, &err), MCPLINK_OK, err);
    CHECK(strstr(mcplink_json_str(text).ptr, "tools/call") != NULL);
    mcplink_json_free(text);
    CHECK(pipe2(ends, O_CLOEXEC) == 0 && mcplink_debug_dump(ends[1]) == MCPLINK_OK);
    len = read(ends[0], dump, sizeof dump - 1);
    CHECK(len > 0);
    dump[len] = 0;
    CHECK(strstr(dump, "the peer has been waiting for tools/call") != NULL);
    close(ends[0]), close(ends[1]);
    counter_add(&unblocked);
    CHECK(mcplink_call_wait(call, PATIENCE, NULL, &err) == MCPLINK_OK);
    mcplink_call_free(call);
    pair_close(&pair);
    mcplink_server_free(server);
}

int main(void)
{
    state_t before;
    state_take(&before);
    the_first_message();
    callbacks_may_use_everything();
    both_write_at_once();
    handlers_wait_for_handlers();
    who_waits_is_shown();
    state_same(&before);
    return 0;
}
