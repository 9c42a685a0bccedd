/* A program with an event loop and no threads of its own publishes its server. Another program finds it, and calls it. */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "check.h"

/* The other program. */
struct other {
    const char *name;
    mcplink_pump_t *pump;
    atomic_bool done;
    int changes, destroyed;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

static void on_change(void *user)
{
    struct other *other = user;
    pthread_mutex_lock(&other->lock);
    other->changes++;
    pthread_cond_broadcast(&other->changed);
    pthread_mutex_unlock(&other->lock);
}

static void on_destroy(void *user)
{
    ((struct other *)user)->destroyed++;
}

/* The instances with the name of this test. */
static mcplink_json_t *instances(const char *name)
{
    mcplink_json_t *found = NULL;
    mcplink_error_t *err = NULL;
    CHECK_STATUS(mcplink_instances(name, &found, &err), MCPLINK_OK, err);
    return found;
}

static mcplink_client_t *open_first(const char *name)
{
    mcplink_json_t *found = instances(name);
    mcplink_client_options_t *options = mcplink_client_options_new();
    mcplink_client_t *client = NULL;
    mcplink_error_t *err = NULL;
    CHECK(mcplink_client_options_set_instance(options, mcplink_json_str(mcplink_json_pointer(found, "/0/id")).ptr) == MCPLINK_OK);
    CHECK_STATUS(mcplink_client_open(options, &client, &err), MCPLINK_OK, err);
    mcplink_client_options_free(options);
    mcplink_json_free(found);
    return client;
}

static void *run_other(void *user)
{
    struct other *other = user;
    mcplink_client_t *client = open_first(other->name);
    mcplink_result_t *result = NULL;
    mcplink_error_t *err = NULL;
    CHECK_STATUS(mcplink_client_call_tool(client, "thread", NULL, 0, NULL, &result, &err), MCPLINK_OK, err);
    CHECK_TEXT(mcplink_result_text(result), "main");
    mcplink_result_free(result);
    mcplink_client_free(client);
    atomic_store(&other->done, true);
    CHECK(mcplink_pump_wakeup(other->pump) == MCPLINK_OK);
    return NULL;
}

static pthread_t main_thread;

static void thread(void *user, const mcplink_request_t *request, mcplink_responder_t *responder)
{
    (void)user;
    (void)request;
    CHECK(mcplink_responder_text(responder, pthread_equal(pthread_self(), main_thread) ? "main" : "another", MCPLINK_NUL) == MCPLINK_OK);
}

static atomic_int messages;

static void on_message(void *user, mcplink_direction direction, const char *text, size_t len)
{
    (void)user;
    (void)direction;
    (void)text;
    if (len > 0) atomic_fetch_add(&messages, 1);
}

static mcplink_server_t *serve(mcplink_pump_t *pump)
{
    mcplink_server_options_t *options = mcplink_server_options_new("editor", "4.2");
    mcplink_tool_t *tool = mcplink_tool_new("thread", "Says whether it runs on the main thread.");
    mcplink_server_t *server = NULL;
    mcplink_error_t *err = NULL;
    CHECK(mcplink_server_options_on_message(options, on_message, NULL, NULL) == MCPLINK_OK);
    if (pump != NULL) CHECK(mcplink_server_options_set_pump(options, pump) == MCPLINK_OK);
    CHECK_STATUS(mcplink_server_new_with(options, &server, &err), MCPLINK_OK, err);
    CHECK_STATUS(mcplink_server_add_tool(server, tool, thread, NULL, NULL, &err), MCPLINK_OK, err);
    mcplink_tool_free(tool);
    mcplink_server_options_free(options);
    return server;
}

/* Handlers run on the main thread, which serves until the other program is done. */
static void serves_from_an_event_loop(const char *name)
{
    mcplink_pump_t *pump = NULL;
    mcplink_publication_t *publication = NULL;
    mcplink_watcher_t *watcher = NULL;
    mcplink_json_t *doc;
    mcplink_error_t *err = NULL;
    mcplink_server_t *server;
    struct other other = {.name = name, .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    pthread_t client;

    CHECK_STATUS(mcplink_pump_new(&pump, &err), MCPLINK_OK, err);
    other.pump = pump;
    server = serve(pump);
    CHECK_STATUS(mcplink_watcher_new(name, on_change, &other, on_destroy, &watcher, &err), MCPLINK_OK, err);
    CHECK_STATUS(mcplink_server_publish(server, name, "scene", "/home/ada", &publication, &err), MCPLINK_OK, err);
    doc = instances(name);
    CHECK(mcplink_json_len(doc) == 1);
    CHECK_TEXT(mcplink_json_str(mcplink_json_pointer(doc, "/0/name")), name);
    CHECK_TEXT(mcplink_json_str(mcplink_json_pointer(doc, "/0/title")), "scene");
    CHECK_TEXT(mcplink_json_str(mcplink_json_pointer(doc, "/0/folder")), "/home/ada");
    CHECK_TEXT(mcplink_json_str(mcplink_json_pointer(doc, "/0/version")), "4.2");
    CHECK(mcplink_json_f64(mcplink_json_pointer(doc, "/0/pid")) == getpid());
    mcplink_json_free(doc);
    CHECK_STATUS(mcplink_publication_set_title(publication, "other", &err), MCPLINK_OK, err);
    doc = instances(NULL);
    CHECK(mcplink_json_len(doc) >= 1);
    mcplink_json_free(doc);
    CHECK_STATUS(mcplink_server_stats(server, &doc, &err), MCPLINK_OK, err);
    CHECK_TEXT(mcplink_json_str(mcplink_json_pointer(doc, "/0/kind")), "publication");
    CHECK_TEXT(mcplink_json_str(mcplink_json_pointer(doc, "/0/title")), "other");
    mcplink_json_free(doc);
    CHECK_STATUS(mcplink_server_state(server, &doc, &err), MCPLINK_OK, err);
    CHECK_TEXT(mcplink_json_str(mcplink_json_pointer(doc, "/endpoints/0/kind")), "publication");
    CHECK_TEXT(mcplink_json_str(mcplink_json_pointer(doc, "/endpoints/0/name")), name);
    CHECK_TEXT(mcplink_json_str(mcplink_json_pointer(doc, "/endpoints/0/title")), "other");
    CHECK(mcplink_json_f64(mcplink_json_pointer(doc, "/endpoints/0/clients")) == 0);
    CHECK(mcplink_json_len(mcplink_json_pointer(doc, "/failures")) == 0);
    mcplink_json_free(doc);

    CHECK(pthread_create(&client, NULL, run_other, &other) == 0);
    while (!atomic_load(&other.done)) {
        CHECK(mcplink_pump_wait(pump, 30000) >= 0);
        CHECK(mcplink_pump_dispatch(pump, 16) >= 0);
    }
    CHECK(pthread_join(client, NULL) == 0);
    CHECK(mcplink_publication_close(publication) == MCPLINK_OK && mcplink_publication_close(publication) == MCPLINK_OK);
    CHECK(mcplink_publication_clients(publication) == 0);
    CHECK_STATUS(mcplink_publication_set_title(publication, "x", &err), MCPLINK_E_CLOSED, err);
    mcplink_publication_free(publication);
    doc = instances(name);
    CHECK(mcplink_json_len(doc) == 0);
    mcplink_json_free(doc);
    /* At the beginning, and for the server at least; the other changes may have been told as one. */
    pthread_mutex_lock(&other.lock);
    while (other.changes < 2) pthread_cond_wait(&other.changed, &other.lock);
    pthread_mutex_unlock(&other.lock);
    CHECK(other.destroyed == 0);
    mcplink_watcher_free(watcher);
    CHECK(other.destroyed == 1);
    mcplink_server_free(server);
    mcplink_pump_free(pump);
}

/* A publication may be left to the server, which ends it. */
static void goes_with_its_server(const char *name)
{
    mcplink_server_t *server = serve(NULL);
    mcplink_publication_t *publication = NULL, *second = (mcplink_publication_t *)1;
    mcplink_client_t *client;
    mcplink_json_t *doc;
    mcplink_result_t *result = NULL;
    mcplink_error_t *err = NULL;

    atomic_store(&messages, 0);
    CHECK_STATUS(mcplink_server_publish(server, name, NULL, NULL, &publication, &err), MCPLINK_OK, err);
    client = open_first(name);
    CHECK_STATUS(mcplink_client_call_tool(client, "thread", NULL, 0, NULL, &result, &err), MCPLINK_OK, err);
    CHECK_TEXT(mcplink_result_text(result), "another");
    /* The call and its answer, at least. */
    CHECK(atomic_load(&messages) >= 2);
    mcplink_result_free(result);
    CHECK(mcplink_publication_clients(publication) == 1);
    mcplink_server_free(server);
    doc = instances(name);
    CHECK(mcplink_json_len(doc) == 0);
    mcplink_json_free(doc);
    CHECK(mcplink_client_call_tool(client, "thread", NULL, 0, NULL, &result, &err) < 0);
    mcplink_error_free(err);
    err = NULL;
    mcplink_client_free(client);
    mcplink_publication_free(publication);

    server = serve(NULL);
    mcplink_server_stop(server);
    CHECK_STATUS(mcplink_server_publish(server, name, NULL, NULL, &second, &err), MCPLINK_E_CLOSED, err);
    CHECK(second == NULL);
    mcplink_server_free(server);
}

static void refuses(const char *name)
{
    mcplink_server_t *server = serve(NULL);
    mcplink_publication_t *publication = NULL;
    mcplink_client_options_t *options = mcplink_client_options_new();
    mcplink_client_t *client = NULL;
    mcplink_watcher_t *watcher = (mcplink_watcher_t *)1;
    mcplink_json_t *doc = NULL;
    mcplink_error_t *err = NULL;
    struct other other = {0};

    CHECK(mcplink_server_publish(NULL, name, NULL, NULL, &publication, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_server_publish(server, NULL, NULL, NULL, &publication, NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_server_publish(server, name, NULL, NULL, NULL, NULL) == MCPLINK_E_INVALID);
    CHECK_STATUS(mcplink_server_publish(server, "../up", NULL, NULL, &publication, &err), MCPLINK_E_INVALID, err);
    CHECK(publication == NULL);
    CHECK(mcplink_publication_set_title(NULL, "x", NULL) == MCPLINK_E_INVALID && mcplink_publication_close(NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_publication_clients(NULL) == 0);
    mcplink_publication_free(NULL);
    CHECK_STATUS(mcplink_instances("../up", &doc, &err), MCPLINK_E_INVALID, err);
    CHECK(mcplink_watcher_new(name, NULL, &other, on_destroy, &watcher, NULL) == MCPLINK_E_INVALID && watcher == NULL);
    CHECK(mcplink_watcher_new("a b", on_change, &other, on_destroy, &watcher, NULL) == MCPLINK_E_INVALID && watcher == NULL);
    CHECK(other.destroyed == 2);
    mcplink_watcher_free(NULL);
    CHECK(mcplink_client_options_set_instance(options, "1-00000000") == MCPLINK_OK);
    CHECK_STATUS(mcplink_client_open(options, &client, &err), MCPLINK_E_IO, err);
    mcplink_client_options_free(options);
    mcplink_server_free(server);
}

int main(void)
{
    char name[64];
    snprintf(name, sizeof name, "c-published-%ld", (long)getpid());
    main_thread = pthread_self();
    serves_from_an_event_loop(name);
    goes_with_its_server(name);
    refuses(name);
    return 0;
}
