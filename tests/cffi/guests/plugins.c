/* Two plug-ins with two versions of the library, each in its own static copy: neither calls the other's. */
#include "guest.h"

#include <dlfcn.h>

typedef const char *(*version_fn)(void);
typedef int (*greets_fn)(const char *const *argv);

static void *load(const char *name)
{
    char path[4096];
    void *plugin;
    snprintf(path, sizeof path, "%s/guests/%s", getenv("MCPLINK_TEST_FOLDER"), name);
    /* The way that shares the most: names of the first are there for the second. */
    plugin = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (plugin == NULL) fprintf(stderr, "%s\n", dlerror());
    CHECK(plugin != NULL && dlsym(plugin, "mcplink_version") == NULL);
    return plugin;
}

static void *symbol(void *plugin, const char *name)
{
    void *found = dlsym(plugin, name);
    CHECK(found != NULL);
    return found;
}

int main(int argc, char **argv)
{
    const char *command[3];
    version_fn first_version, second_version;
    greets_fn first_greets, second_greets;
    void *first, *second;
    state_t before;
    int i;
    (void)argv;
    if (argc > 1) return serve();
    CHECK(getenv("MCPLINK_TEST_FOLDER") != NULL);
    command[0] = self(), command[1] = "serve", command[2] = NULL;
    state_take(&before);
    first = load("plugin_one.so");
    second = load("plugin_two.so");
    *(void **)&first_version = symbol(first, "plugin_version");
    *(void **)&second_version = symbol(second, "plugin_version");
    *(void **)&first_greets = symbol(first, "plugin_greets");
    *(void **)&second_greets = symbol(second, "plugin_greets");
    CHECK(strcmp(first_version(), mcplink_version()) == 0);
    CHECK(strcmp(second_version(), "9.8.7") == 0);
    for (i = 0; i < 3; i++) CHECK(first_greets(command) == 0 && second_greets(command) == 0);
    CHECK(dlclose(first) == 0);
    CHECK(second_greets(command) == 0);
    CHECK(dlclose(second) == 0);
    state_same(&before);
    return 0;
}
