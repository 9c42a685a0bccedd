/* Every function, with arguments that are picked at random from live objects and odd values: nothing crashes, hangs or leaks.
 *
 *   MCPLINK_FUZZ_CALLS   how many calls (3000)
 *   MCPLINK_FUZZ_SEED    where to begin (1)
 *   MCPLINK_FUZZ_TRACE   set: prints each call
 */
#include "guests/guest.h"

#include "cases.h"

#include <limits.h>
#include <stdatomic.h>

static const char *last = "";
static atomic_int begun, ended;

/* Random numbers. Callbacks, which run on many threads, have their own. */
static uint64_t seed;
static atomic_uint elsewhere;

static unsigned below(unsigned bound)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)(seed >> 33) % bound;
}

/* In all but one of so many cases. */
static int any(unsigned of) { return below(of) != 0; }

/* What callbacks are given: a byte of the heap, so that a second end of it is seen, and a missing one too. */
static void *registered(void)
{
    void *cell = malloc(1);
    CHECK(cell != NULL);
    begun++;
    return cell;
}

static void destroyed(void *user)
{
    ended++;
    free(user);
}

/* Live objects of each kind. Handlers add to them too. */
static pthread_mutex_t pools = PTHREAD_MUTEX_INITIALIZER;
enum { MOST = 24 };
static void *objects[COUNT_OF_KINDS][MOST];
static int counts[COUNT_OF_KINDS];

static void free_one(int kind, void *object)
{
    FREE_ALL_OF(kind, object)
}

static void keep(int kind, void *object)
{
    int full;
    if (object == NULL) return;
    if (kind == KIND_client_options) {
        mcplink_client_options_set_connect_timeout_ms(object, 300);
        mcplink_client_options_set_timeout_ms(object, 100);
        mcplink_client_options_set_max_timeout_ms(object, 300);
        mcplink_client_options_set_close_timeout_ms(object, 100);
    }
    pthread_mutex_lock(&pools);
    full = counts[kind] == MOST;
    if (!full) objects[kind][counts[kind]++] = object;
    pthread_mutex_unlock(&pools);
    if (full) free_one(kind, object);
}

static void *pick_at(int kind, int taking)
{
    void *object = NULL;
    int at;
    pthread_mutex_lock(&pools);
    if (counts[kind] > 0 && any(16)) {
        at = (int)below((unsigned)counts[kind]);
        object = objects[kind][at];
        if (taking) objects[kind][at] = objects[kind][--counts[kind]];
    }
    pthread_mutex_unlock(&pools);
    return object;
}

static const void *request_of(const mcplink_responder_t *responder) { return mcplink_responder_request(responder); }

static void *pick(int kind)
{
    /* Now and then an object of another kind: every function has to find out. */
    if (!any(24)) kind = (int)below(COUNT_OF_KINDS);
    if (kind == KIND_request) return (void *)(uintptr_t)request_of(pick_at(KIND_responder, 0));
    return pick_at(kind, 0);
}

static void *take(int kind) { return pick_at(kind, 1); }

static const char *const texts[] = {
    "", "greet", "x", "{}", "[]", "{\"name\":\"x\"}", "{\"a\":[1,2,{\"b\":null}]}", "null", "{", "\"text\"", "{\"type\":\"object\"}", "\xff\xfe",
    "http://127.0.0.1:1/mcp", "127.0.0.1:0", "file:///x", "file:///{x}", "tools/call", "notifications/message", "initialize", "ping",
    "2025-11-25", "2026-07-28 2025-06-18", "greet wait", "/content/0/text", "a\nb", "GET", "POST", "/mcp", "localhost", "PATH", "text/plain",
    "\xc3\xa4\xe2\x82\xac", "{\"toolsListChanged\":true}", "1e999", "com.example/x",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n", "{\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"x\"}}\n",
    /* Half a surrogate, as an escape and as bytes; beyond Unicode; an escaped NUL; numbers that nothing holds; a long name. */
    "\"\\ud800\"", "{\"name\":\"\\udc00x\"}", "\xed\xa0\x80", "\xf4\x90\x80\x80", "{\"name\":\"a\\u0000b\"}", "-0", "1e-999",
    "123456789012345678901234567890", "[-9223372036854775809,18446744073709551616]",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "{\"a\":1,\"a\":2}", "{\"__proto__\":null,\"\":0}", "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
};

static const char *pick_name(void)
{
    return any(12) ? texts[below(sizeof texts / sizeof *texts)] : NULL;
}

static const void *pick_text(size_t *len)
{
    const char *text = pick_name();
    if (!any(24)) return *len = sizeof "{\"a\0b\":\"\0\"}" - 1, "{\"a\0b\":\"\0\"}";
    if (!any(24)) return *len = 3, "a\0b";
    /* More than any memory has is refused before it is looked at. */
    if (!any(24)) return *len = any(2) ? (size_t)PTRDIFF_MAX + 1 : SIZE_MAX - 1, text;
    *len = text == NULL ? (any(4) ? 0 : 5) : any(2) ? MCPLINK_NUL : below((unsigned)strlen(text) + 1);
    return text;
}

static const char *const *pick_list(void)
{
    static const char *own[3];
    static const char *const lists[][3] = { { "/bin/true", NULL, NULL }, { "/bin/cat", "/dev/null", NULL }, { "x", "", NULL } };
    own[0] = self(), own[1] = "serve", own[2] = NULL;
    if (any(2)) return own;
    return any(8) ? lists[below(3)] : NULL;
}

static mcplink_call_t *const *pick_calls(void)
{
    static mcplink_call_t *own[3];
    int i;
    for (i = 0; i < 3; i++) own[i] = pick(KIND_call);
    return any(8) ? own : NULL;
}

static int32_t pick_int(void)
{
    static const int32_t numbers[] = { 0, 1, 2, 3, 4, 5, 7, 100, -1, -32602, INT32_MIN, INT32_MAX };
    return numbers[below(sizeof numbers / sizeof *numbers)];
}

static size_t pick_size(void)
{
    static const size_t numbers[] = { 0, 1, 2, 5, 64, 4096, 1 << 20, PTRDIFF_MAX, SIZE_MAX - 1, SIZE_MAX };
    return numbers[below(sizeof numbers / sizeof *numbers)];
}

/* No longer than a test may wait. */
static uint32_t pick_time(void)
{
    static const uint32_t numbers[] = { 0, 1, 2, 5, 20, 100 };
    return numbers[below(sizeof numbers / sizeof *numbers)];
}

static double pick_double(void)
{
    static const double numbers[] = { 0, 1, -1, 0.5, 1e300, -1e-300 };
    return any(8) ? numbers[below(sizeof numbers / sizeof *numbers)] : strtod(any(2) ? "nan" : "inf", NULL);
}

static int null_fd;

static int pick_fd(void)
{
    return any(3) ? null_fd : any(2) ? -1 : 99999;
}

static void use_text(mcplink_str_t text) { CHECK(text.ptr != NULL && text.ptr[text.len] == 0); }
static void use_name(const char *text) { CHECK(text != NULL && strlen(text) < SIZE_MAX); }
static void use_json(const mcplink_json_t *node) { use_text(mcplink_json_text(node)); }

static void on_handler(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    (void)user;
    use_text(mcplink_request_method(request));
    use_json(mcplink_request_params(request));
    switch (elsewhere++ % 5) {
    case 0: mcplink_responder_text(responder, "text", MCPLINK_NUL); break;
    case 1: keep(KIND_responder, mcplink_responder_keep(responder)); break;
    case 2: mcplink_responder_fail(responder, -32602, "no", NULL); break;
    case 3: mcplink_responder_json(responder, "{}", MCPLINK_NUL); break;
    default: break;
    }
}

static void on_done(void *user, mcplink_call_t *call, mcplink_status_t status, const mcplink_result_t *result, const mcplink_error_t *err)
{
    (void)user, (void)call;
    CHECK((status >= 0) == (result != NULL) && (status < 0) == (err != NULL));
    use_name(mcplink_error_message(err));
}

static void on_event(void *user, mcplink_event event, const mcplink_json_t *params)
{
    (void)user, (void)event;
    if (params) use_json(params);
}

static void on_server_event(void *user, mcplink_server_event event, const mcplink_json_t *params) { on_event(user, (mcplink_event)event, params); }

static void on_notify(void *user) { (void)user; }
static void on_line(void *user, mcplink_str_t line) { (void)user, use_text(line); }
static void on_thread(void *user, mcplink_str_t name) { (void)user, use_text(name); }
static void on_log(void *user, mcplink_log_level level, mcplink_str_t target, mcplink_str_t text) { (void)user, (void)level, use_text(target), use_text(text); }
static void on_progress(void *user, double a, double b, mcplink_str_t text) { (void)user, (void)a, (void)b, use_text(text); }
static mcplink_status_t on_bearer(void *user, mcplink_output_t *token) { (void)user; return mcplink_output_set(token, "token", MCPLINK_NUL); }
static void on_login(void *user, mcplink_login_t *login) { (void)user, use_text(mcplink_login_url(login)), keep(KIND_login, mcplink_login_keep(login)); }
static mcplink_status_t on_store_load(void *user, mcplink_str_t name, mcplink_output_t *content) { (void)user, (void)content, use_text(name); return MCPLINK_OK; }
static mcplink_status_t on_store_save(void *user, mcplink_str_t name, mcplink_str_t content) { (void)user, use_text(name), use_text(content); return MCPLINK_OK; }
static mcplink_status_t on_store_remove(void *user, mcplink_str_t name) { (void)user, use_text(name); return MCPLINK_OK; }
static mcplink_status_t on_state_claim(void *user, mcplink_str_t client, mcplink_str_t id, uint64_t lifetime_ms, bool *is_first)
{
    (void)user, (void)lifetime_ms, use_text(client), use_text(id), *is_first = elsewhere++ % 2;
    return MCPLINK_OK;
}

static mcplink_status_t on_event_publish(void *user, mcplink_str_t event)
{
    (void)user, use_text(event);
    return elsewhere++ % 3 ? MCPLINK_OK : MCPLINK_E_USER;
}

static mcplink_status_t on_record_read(void *user, mcplink_str_t key, mcplink_record_t *record)
{
    (void)user, use_text(key);
    return elsewhere++ % 3 ? mcplink_record_set(record, elsewhere % 5, "\xff", 1) : MCPLINK_E_USER;
}

static mcplink_status_t on_record_write(void *user, mcplink_str_t key, uint64_t version, const void *bytes, size_t len, uint64_t lifetime_ms,
                                        bool *is_written)
{
    (void)user, (void)lifetime_ms, use_text(key), *is_written = elsewhere++ % 2;
    CHECK(version > 0 && (len == 0 || bytes != NULL));
    return elsewhere % 3 ? MCPLINK_OK : MCPLINK_E_USER;
}

static mcplink_status_t on_record_remove(void *user, mcplink_str_t key) { return (void)user, use_text(key), MCPLINK_OK; }

static mcplink_status_t on_event_append(void *user, mcplink_str_t session, uint64_t stream, uint64_t number, const void *event, size_t len)
{
    (void)user, (void)stream, (void)event, use_text(session);
    CHECK(number > 0 && (len == 0 || event != NULL));
    return elsewhere++ % 3 ? MCPLINK_OK : MCPLINK_E_USER;
}

static mcplink_status_t on_event_replay(void *user, mcplink_str_t session, uint64_t stream, uint64_t after, mcplink_replay_t *replay)
{
    (void)user, (void)stream, use_text(session);
    return mcplink_replay_send(replay, after + elsewhere++ % 3, "{}", MCPLINK_NUL);
}

static void on_event_forget(void *user, mcplink_str_t session, uint64_t stream) { (void)user, (void)stream, use_text(session); }

static mcplink_status_t on_fetch(void *user, mcplink_fetch_t *fetch)
{
    (void)user, use_text(mcplink_fetch_url(fetch)), use_text(mcplink_fetch_body(fetch));
    if (elsewhere++ % 4 == 0) return keep(KIND_fetch, mcplink_fetch_keep(fetch)), MCPLINK_OK;
    (void)mcplink_fetch_add_header(fetch, "content-type", "application/json", MCPLINK_NUL);
    (void)mcplink_fetch_begin(fetch, 200 + elsewhere++ % 3 * 202);
    (void)mcplink_fetch_write(fetch, "{}", MCPLINK_NUL);
    return elsewhere++ % 2 ? mcplink_fetch_end(fetch) : mcplink_fetch_fail(fetch, "\xff", true);
}

static mcplink_status_t on_sign(void *user, const void *data, size_t len, mcplink_output_t *signature)
{
    return (void)user, (void)data, (void)len, mcplink_output_set(signature, "\xff signed", elsewhere++ % 9);
}

static mcplink_status_t on_schema_compile(void *user, mcplink_str_t schema, void **compiled, mcplink_output_t *reason)
{
    (void)user, use_text(schema), *compiled = malloc(1);
    if (elsewhere++ % 8) return MCPLINK_OK;
    free(*compiled);
    (void)mcplink_output_set(reason, "no", MCPLINK_NUL);
    return elsewhere % 3 ? MCPLINK_E_INVALID : MCPLINK_E_UNSUPPORTED;
}

static mcplink_status_t on_schema_check(void *user, void *compiled, mcplink_str_t json, mcplink_output_t *fault)
{
    (void)user, use_text(json);
    CHECK(compiled != NULL);
    (void)mcplink_output_set(fault, "\xff no", MCPLINK_NUL);
    return (mcplink_status_t)(elsewhere++ % 8) / 4 * -17;
}

static void on_schema_free(void *user, void *compiled) { (void)user, free(compiled); }

static mcplink_status_t on_statement(void *user, mcplink_str_t audience, mcplink_output_t *token)
{
    (void)user, use_text(audience);
    return mcplink_output_set(token, "a.b.c", MCPLINK_NUL);
}

static void on_message(void *user, mcplink_direction direction, const char *text, size_t len)
{
    (void)user;
    CHECK(direction == MCPLINK_DIRECTION_INCOMING || direction == MCPLINK_DIRECTION_OUTGOING);
    CHECK(len == 0 || text[len - 1] == '}' || text[0] != 0);
}

static mcplink_decision on_guard(void *user, mcplink_guarded_request_t *request)
{
    (void)user;
    use_text(mcplink_guarded_request_method(request));
    use_text(mcplink_guarded_request_target(request));
    use_text(mcplink_guarded_request_principal(request));
    use_json(mcplink_guarded_request_params(request));
    if (elsewhere % 3 == 0) mcplink_guarded_request_require_scopes(request, "a");
    return elsewhere % 7 == 0 ? MCPLINK_DECISION_HIDE : MCPLINK_DECISION_ADMIT;
}

static mcplink_status_t on_send(void *user, const void *bytes, size_t len) { (void)user, (void)bytes, (void)len; return MCPLINK_OK; }
static mcplink_status_t on_http_write(void *user, const void *bytes, size_t len) { (void)user, (void)bytes, (void)len; return MCPLINK_OK; }
static void on_http_end(void *user, bool complete) { (void)user, (void)complete; }
static void on_authenticate(void *user, mcplink_http_request_t *request) { (void)user, (void)mcplink_http_request_admit(request, "somebody"); }

static mcplink_status_t on_http_begin(void *user, const mcplink_http_head_t *head, int64_t length)
{
    (void)user, (void)length;
    return mcplink_http_head_status(head) == 0 ? MCPLINK_E_USER : MCPLINK_OK;
}

static void one_call(void)
{
    size_t len = 0, some_size = 0;
    int64_t some_int = 0;
    double some_double = 0;
    bool some_bool = false;
    mcplink_str_t some_text = { "", 0 };
    const mcplink_json_t *some_node = NULL;
    const char *some_chars = NULL;
    mcplink_client_t *some_client = NULL;
    (void)len, (void)some_size, (void)some_int, (void)some_double, (void)some_bool, (void)some_text, (void)some_node, (void)some_chars, (void)some_client;
    switch (below(COUNT_OF_CASES)) {
        CASES
    }
}

/* What is worth having more often than luck brings it: a server with a tool, and a client of it. */
static void new_pair(void)
{
    mcplink_server_t *server = mcplink_server_new("fuzz", "1");
    mcplink_tool_t *tool = mcplink_tool_new("greet", "for tests");
    mcplink_client_options_t *o = mcplink_client_options_new();
    mcplink_session_t *session = NULL;
    mcplink_client_t *client = NULL;
    mcplink_result_t *result = NULL;
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    CHECK(mcplink_server_add_tool(server, tool, on_handler, registered(), destroyed, NULL) == MCPLINK_OK);
    CHECK(mcplink_server_serve_fds_start(server, ends[0], ends[0], NULL, &session, NULL) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_fds(o, ends[1], ends[1]) == MCPLINK_OK);
    CHECK(mcplink_client_options_set_timeout_ms(o, 100) == MCPLINK_OK);
    CHECK(mcplink_client_open(o, &client, NULL) == MCPLINK_OK);
    close(ends[0]), close(ends[1]);
    mcplink_client_call_tool(client, "greet", NULL, 0, NULL, &result, NULL);
    mcplink_result_free(result);
    mcplink_tool_free(tool);
    keep(KIND_client_options, o);
    keep(KIND_server, server), keep(KIND_session, session), keep(KIND_client, client);
}

/* Pumps come behind what uses them, responders before the servers they may outlive. */
static void free_all(void)
{
    int kind;
    for (kind = 0; kind < COUNT_OF_KINDS; kind++) {
        while (kind != KIND_pump && counts[kind] > 0) free_one(kind, objects[kind][--counts[kind]]);
    }
    while (counts[KIND_responder] > 0) free_one(KIND_responder, objects[KIND_responder][--counts[KIND_responder]]);
    while (counts[KIND_pump] > 0) free_one(KIND_pump, objects[KIND_pump][--counts[KIND_pump]]);
    mcplink_set_log(0, NULL, NULL, NULL);
}

int main(int argc, char **argv)
{
    const char *calls = getenv("MCPLINK_FUZZ_CALLS"), *first = getenv("MCPLINK_FUZZ_SEED");
    int trace = getenv("MCPLINK_FUZZ_TRACE") != NULL;
    long count = calls ? atol(calls) : 3000, i;
    state_t before;
    (void)argv;
    if (argc > 1) return serve();
    seed = first ? strtoull(first, NULL, 10) : 1;
    fprintf(stderr, "MCPLINK_FUZZ_SEED=%llu, %ld calls\n", (unsigned long long)seed, count);
    seed = seed * 0x9e3779b97f4a7c15ULL + 1;
    null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    state_take(&before);
    for (i = 0; i < count; i++) {
        int64_t begin = now_ms();
        if (i % 100 == 0) new_pair();
        one_call();
        if (trace) fprintf(stderr, "%ld %s %dms\n", i, last, (int)(now_ms() - begin));
        if (now_ms() - begin > PATIENCE) {
            fprintf(stderr, "%s took %d ms\n", last, (int)(now_ms() - begin));
            return 1;
        }
    }
    free_all();
    CHECK(count < 2000 || elsewhere > 0);
    UNTIL(begun == ended);
    state_same(&before);
    return 0;
}
