/* The shared library in a plug-in: loaded, used, unloaded, again and again; the code stays for whoever is on his way out. */
#include "guest.h"

#include <dlfcn.h>

/* What the program calls of the library, which it is not linked with for this. */
typedef mcplink_status_t (*open_fn)(const mcplink_client_options_t *, mcplink_client_t **, mcplink_error_t **);

#define TAKE(name) (*(void **)&name = dlsym(library, "mcplink_" #name))

static void load_use_unload(const char *path)
{
    const char *argv[3];
    mcplink_client_options_t *(*client_options_new)(void);
    mcplink_status_t (*client_options_set_command)(mcplink_client_options_t *, const char *const *);
    void (*client_options_free)(mcplink_client_options_t *);
    open_fn client_open;
    mcplink_status_t (*client_ping)(mcplink_client_t *, const mcplink_call_options_t *, mcplink_error_t **);
    void (*client_free)(mcplink_client_t *);
    const char *(*version)(void);
    mcplink_client_options_t *o;
    mcplink_client_t *client = NULL;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) fprintf(stderr, "%s\n", dlerror());
    CHECK(library != NULL);
    TAKE(client_options_new), TAKE(client_options_set_command), TAKE(client_options_free), TAKE(client_open);
    TAKE(client_ping), TAKE(client_free), TAKE(version);
    /* It is another copy than the one in this program. */
    CHECK(version != NULL && version != mcplink_version && strcmp(version(), mcplink_version()) == 0);
    argv[0] = self(), argv[1] = "serve", argv[2] = NULL;
    o = client_options_new();
    CHECK(client_options_set_command(o, argv) == MCPLINK_OK);
    CHECK(client_open(o, &client, NULL) == MCPLINK_OK);
    client_options_free(o);
    CHECK(client_ping(client, NULL, NULL) == MCPLINK_OK);
    client_free(client);
    CHECK(dlclose(library) == 0);
}

int main(int argc, char **argv)
{
    char path[4096];
    void *still;
    state_t before;
    int i;
    (void)argv;
    if (argc > 1) return serve();
    CHECK(getenv("MCPLINK_TEST_FOLDER") != NULL);
    snprintf(path, sizeof path, "%s/guests/libmcplink.so", getenv("MCPLINK_TEST_FOLDER"));
    state_take(&before);
    for (i = 0; i < 20; i++) load_use_unload(path);
    state_same(&before);
    still = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    CHECK(still != NULL);
    dlclose(still);
    return 0;
}
