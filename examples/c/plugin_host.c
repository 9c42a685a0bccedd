/* A program without MCP that loads a plug-in with it.
 *
 *     ./plugin_host ./plugin.so
 *
 * It prints the URL of the plug-in, and runs until its input ends. Then it unloads the plug-in and
 * prints its document. */
#include "plugin.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char document[4096] = "begin";

static void print(const char *line)
{
    printf("plugin: %s\n", line);
    fflush(stdout);
}

static const char *get_document(void)
{
    static char shown[sizeof document];
    pthread_mutex_lock(&lock);
    memcpy(shown, document, sizeof shown);
    pthread_mutex_unlock(&lock);
    return shown;
}

static void append(const char *text)
{
    size_t len;
    pthread_mutex_lock(&lock);
    len = strlen(document);
    snprintf(document + len, sizeof document - len, " %s", text);
    pthread_mutex_unlock(&lock);
}

int main(int argc, char **argv)
{
    static const struct host host = { print, get_document, append };
    plugin_start_fn start = NULL;
    plugin_stop_fn stop = NULL;
    void *plugin = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (plugin != NULL) {
        /* The conversion from an object pointer to a function pointer that POSIX recommends. */
        *(void **)&start = dlsym(plugin, "plugin_start");
        *(void **)&stop = dlsym(plugin, "plugin_stop");
    }
    if (start == NULL || stop == NULL) {
        fprintf(stderr, "plugin_host: %s\n", argc == 2 ? dlerror() : "usage: plugin_host PLUGIN");
        return 1;
    }
    if (start(&host) != 0) return 1;
    while (getchar() != EOF) {
    }
    stop();
    dlclose(plugin);
    printf("unloaded; the document: %s\n", document);
    return 0;
}
