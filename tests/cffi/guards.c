/* Which requests a server handles: guards, rate limits, and the files of a folder. */
#include "client.h"

#include <sys/stat.h>
#include <unistd.h>

/* A client of the server in memory, for a principal. */
struct connection {
    mcplink_session_t *session;
    mcplink_client_t *client;
};

static struct connection connect_as(mcplink_server_t *server, const char *principal, const char *revision)
{
    struct connection it = { NULL, NULL };
    mcplink_transport_t *here = NULL, *there = NULL;
    mcplink_client_options_t *o = mcplink_client_options_new();
    mcplink_error_t *err = NULL;
    CHECK_STATUS(mcplink_transport_pair(&here, &there, &err), MCPLINK_OK, err);
    CHECK_STATUS(mcplink_server_attach(server, there, principal, &it.session, &err), MCPLINK_OK, err);
    CHECK(mcplink_client_options_set_transport(o, here) == MCPLINK_OK);
    it.client = open_with(o, revision);
    mcplink_transport_free(here);
    mcplink_transport_free(there);
    return it;
}

static void disconnect(struct connection *it)
{
    mcplink_client_free(it->client);
    mcplink_session_free(it->session);
}

/* Calls a tool; a failure has this text. */
static void call(mcplink_client_t *c, const char *tool, const char *failure)
{
    mcplink_result_t *r = NULL;
    mcplink_error_t *err = NULL;
    mcplink_status_t status = mcplink_client_call_tool(c, tool, "{\"path\":\"/etc\"}", MCPLINK_NUL, NULL, &r, &err);
    if ((status == MCPLINK_OK) != (failure == NULL) || (failure && strstr(mcplink_error_message(err), failure) == NULL)) {
        fprintf(stderr, "%s: %s: %s\n", tool, mcplink_status_name(status), mcplink_error_message(err));
        exit(1);
    }
    mcplink_result_free(r);
    mcplink_error_free(err);
}

/* Whether the list of tools has this one. */
static int lists(mcplink_client_t *c, const char *tool)
{
    mcplink_result_t *r = NULL;
    mcplink_error_t *err = NULL;
    char part[100];
    int found;
    CHECK_STATUS(mcplink_client_list_tools(c, NULL, &r, &err), MCPLINK_OK, err);
    snprintf(part, sizeof part, "\"name\":\"%s\"", tool);
    found = strstr(mcplink_result_raw(r).ptr, part) != NULL;
    mcplink_result_free(r);
    return found;
}

static int handled;

static void greet(void *user, const mcplink_request_t *req, mcplink_responder_t *resp)
{
    (void)user, (void)req;
    __atomic_add_fetch(&handled, 1, __ATOMIC_SEQ_CST);
    CHECK(mcplink_responder_text(resp, "done", MCPLINK_NUL) == MCPLINK_OK);
}

static void add_tools(mcplink_server_t *server)
{
    static const char *const names[] = { "open", "secret", "write", "odd", "broken", "scoped", "refused" };
    size_t i;
    for (i = 0; i < sizeof names / sizeof *names; i++) {
        mcplink_tool_t *tool = mcplink_tool_new(names[i], "for tests");
        mcplink_error_t *err = NULL;
        CHECK_STATUS(mcplink_server_add_tool(server, tool, greet, NULL, NULL, &err), MCPLINK_OK, err);
        mcplink_tool_free(tool);
    }
}

static mcplink_decision guard(void *user, mcplink_guarded_request_t *req)
{
    const char *target = mcplink_guarded_request_target(req).ptr, *method = mcplink_guarded_request_method(req).ptr;
    int is_ada = strcmp(mcplink_guarded_request_principal(req).ptr, "ada") == 0;
    counter_add(user);
    CHECK(!mcplink_guarded_request_has_scope(req, "files"));
    CHECK(mcplink_guarded_request_session(req) > 0);
    if (mcplink_guarded_request_primitive(req) != MCPLINK_PRIMITIVE_TOOL) {
        CHECK(mcplink_guarded_request_primitive(req) == 0 && target[0] == 0);
        return MCPLINK_DECISION_ADMIT;
    }
    if (strcmp(method, "tools/call") == 0) {
        const mcplink_json_t *arguments = mcplink_json_get(mcplink_guarded_request_params(req), "arguments");
        CHECK_TEXT(mcplink_json_str(mcplink_json_get(arguments, "path")), "/etc");
    }
    if (strcmp(target, "secret") == 0) return is_ada ? MCPLINK_DECISION_ADMIT : MCPLINK_DECISION_HIDE;
    if (strcmp(target, "write") == 0 && !is_ada) {
        CHECK(mcplink_guarded_request_refuse(req, MCPLINK_RPC_INVALID_REQUEST, "sign in to write") == MCPLINK_OK);
        return MCPLINK_DECISION_REFUSE;
    }
    if (strcmp(target, "odd") == 0) return (mcplink_decision)4711;
    /* Scopes that could not be read close the door, though the request is admitted afterwards. */
    if (strcmp(target, "broken") == 0) CHECK(mcplink_guarded_request_require_scopes(req, NULL) == MCPLINK_E_INVALID);
    /* A refusal counts, though the request is admitted afterwards. */
    if (strcmp(target, "refused") == 0)
        CHECK(mcplink_guarded_request_refuse(req, MCPLINK_RPC_INVALID_REQUEST, "refused before") == MCPLINK_OK);
    /* Without HTTP the scopes of a principal are not known, and nobody is refused. */
    if (strcmp(target, "scoped") == 0) CHECK(mcplink_guarded_request_require_scopes(req, "files admin") == MCPLINK_OK);
    return MCPLINK_DECISION_ADMIT;
}

static mcplink_decision everybody(void *user, mcplink_guarded_request_t *req)
{
    (void)user, (void)req;
    return MCPLINK_DECISION_ADMIT;
}

static void guards(const char *revision)
{
    struct counter asked = COUNTER, destroyed = COUNTER;
    mcplink_server_options_t *o = mcplink_server_options_new("guards", "1");
    mcplink_server_t *server = NULL, *second = NULL;
    mcplink_error_t *err = NULL;
    struct connection ada, somebody;
    CHECK(mcplink_server_options_add_guard(o, guard, &asked, count_one) == MCPLINK_OK);
    /* Whoever lets in everybody does not overrule another guard. */
    CHECK(mcplink_server_options_add_guard(o, everybody, &destroyed, count_one) == MCPLINK_OK);
    CHECK_STATUS(mcplink_server_new_with(o, &server, &err), MCPLINK_OK, err);
    CHECK_STATUS(mcplink_server_new_with(o, &second, &err), MCPLINK_OK, err);
    mcplink_server_options_free(o);
    mcplink_server_free(second);
    CHECK(destroyed.count == 0);
    add_tools(server);
    ada = connect_as(server, "ada", revision);
    somebody = connect_as(server, NULL, revision);
    handled = 0;
    call(ada.client, "open", NULL);
    call(ada.client, "secret", NULL);
    call(ada.client, "write", NULL);
    call(ada.client, "scoped", NULL);
    call(somebody.client, "open", NULL);
    CHECK(handled == 5);
    call(somebody.client, "secret", "unknown tool: secret");
    call(somebody.client, "write", "sign in to write");
    call(ada.client, "odd", "this is not allowed");
    call(ada.client, "broken", "could not find out");
    call(ada.client, "refused", "refused before");
    CHECK(handled == 5);
    CHECK(lists(ada.client, "secret") && !lists(somebody.client, "secret") && lists(somebody.client, "write"));
    CHECK(counter_get(&asked) > 9);
    disconnect(&ada);
    disconnect(&somebody);
    mcplink_server_free(server);
    CHECK(counter_wait(&destroyed, 1));

    o = mcplink_server_options_new("guards", "1");
    destroyed.count = 0;
    CHECK(mcplink_server_options_add_guard(o, NULL, &destroyed, count_one) == MCPLINK_E_INVALID);
    CHECK(destroyed.count == 1);
    CHECK(mcplink_server_new_with(o, &server, &err) == MCPLINK_E_INVALID);
    CHECK(strstr(mcplink_error_message(err), "mcplink_server_options_add_guard") != NULL);
    mcplink_error_free(err);
    mcplink_server_options_free(o);
}

static void rates(const char *revision)
{
    mcplink_server_options_t *o = mcplink_server_options_new("guards", "1");
    mcplink_server_t *server = NULL;
    mcplink_error_t *err = NULL;
    struct connection first, other;
    REFUSES(server_options, mcplink_server_options_new("a", "1"), mcplink_server_options_add_rate_limit(it, 0, 1, NULL));
    REFUSES(server_options, mcplink_server_options_new("a", "1"), mcplink_server_options_add_rate_limit(it, 1, 0, NULL));
    REFUSES(server_options, mcplink_server_options_new("a", "1"), mcplink_server_options_add_rate_limit(it, 1, 1, " "));
    REFUSES(server_options, mcplink_server_options_new("a", "1"), mcplink_server_options_add_rate_limit(it, 1, 1, "tool/call"));
    REFUSES(server_options, mcplink_server_options_new("a", "1"), mcplink_server_options_add_rate_limit(it, 1, 1, "tools/call,prompts/get"));
    CHECK(mcplink_server_options_add_rate_limit(o, 2, 3600000, "tools/call completion/complete") == MCPLINK_OK);
    CHECK_STATUS(mcplink_server_new_with(o, &server, &err), MCPLINK_OK, err);
    mcplink_server_options_free(o);
    add_tools(server);
    first = connect_as(server, "ada", revision);
    other = connect_as(server, "bob", revision);
    call(first.client, "open", NULL);
    call(first.client, "open", NULL);
    call(first.client, "open", "too many requests");
    CHECK(lists(first.client, "open"));
    call(other.client, "open", NULL);
    disconnect(&first);
    disconnect(&other);
    mcplink_server_free(server);
}

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[4200];
    FILE *file;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "w");
    CHECK(file != NULL);
    CHECK(fputs(text, file) >= 0 && fclose(file) == 0);
}

/* Reads a file of the folder; NULL for one that is refused. */
static void reads(mcplink_client_t *c, const char *folder, const char *name, const char *text)
{
    mcplink_result_t *r = NULL;
    mcplink_error_t *err = NULL;
    mcplink_status_t status;
    char uri[4200];
    snprintf(uri, sizeof uri, "file://%s/%s", folder, name);
    status = mcplink_client_read_resource(c, uri, NULL, &r, &err);
    CHECK((status == MCPLINK_OK) == (text != NULL) && (text != NULL || status == MCPLINK_E_PEER));
    if (text) CHECK_TEXT(mcplink_result_text(r), text);
    mcplink_result_free(r);
    mcplink_error_free(err);
}

static void folders(const char *revision)
{
    char root[] = "/tmp/mcplink-folder-XXXXXX", path[100];
    static const char *const made[] = { "a.txt", "inner/b.txt", "big.txt", "out", "inner" };
    mcplink_server_t *server = mcplink_server_new("guards", "1");
    mcplink_error_t *err = NULL;
    struct connection it;
    size_t i;
    CHECK(mkdtemp(root) != NULL);
    snprintf(path, sizeof path, "%s/inner", root);
    CHECK(mkdir(path, 0700) == 0);
    write_file(root, "a.txt", "first");
    write_file(root, "inner/b.txt", "second");
    write_file(root, "big.txt", "this one is longer than allowed");
    snprintf(path, sizeof path, "%s/out", root);
    CHECK(symlink("/etc/passwd", path) == 0);

    CHECK_STATUS(mcplink_server_add_folder(server, "", "files", 0, &err), MCPLINK_E_INVALID, err);
    CHECK_STATUS(mcplink_server_add_folder(server, NULL, "files", 0, &err), MCPLINK_E_INVALID, err);
    CHECK_STATUS(mcplink_server_add_folder(server, "/nowhere/at/all", "files", 0, &err), MCPLINK_E_IO, err);
    CHECK_STATUS(mcplink_server_add_folder(server, root, "files", 10, &err), MCPLINK_OK, err);
    CHECK_STATUS(mcplink_server_add_folder(server, root, "files", 10, &err), MCPLINK_E_INVALID, err);
    it = connect_as(server, NULL, revision);
    reads(it.client, root, "a.txt", "first");
    reads(it.client, root, "inner/b.txt", "second");
    reads(it.client, root, "big.txt", NULL);
    reads(it.client, root, "out", NULL);
    reads(it.client, root, "inner", NULL);
    reads(it.client, root, "../../etc/passwd", NULL);
    reads(it.client, root, "none.txt", NULL);
    disconnect(&it);
    mcplink_server_free(server);
    for (i = 0; i < sizeof made / sizeof *made; i++) {
        snprintf(path, sizeof path, "%s/%s", root, made[i]);
        CHECK(remove(path) == 0);
    }
    CHECK(rmdir(root) == 0);
}

int main(void)
{
    static const char *const revisions[] = { "2025-11-25", "2026-07-28" };
    int i;
    for (i = 0; i < 2; i++) {
        guards(revisions[i]);
        rates(revisions[i]);
        folders(revisions[i]);
    }
    return 0;
}
