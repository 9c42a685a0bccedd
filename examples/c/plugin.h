/* The interface between plugin_host and its plug-ins. */
#ifndef PLUGIN_H
#define PLUGIN_H

#include <stddef.h>

struct host {
    void (*print)(const char *line);
    /* Returns the text of the document; valid until the next call. */
    const char *(*document)(void);
    void (*append)(const char *text);
};

/* A plug-in exports both functions. Starting returns 0, or -1 after printing the reason of a
 * failure. */
typedef int (*plugin_start_fn)(const struct host *host);
typedef void (*plugin_stop_fn)(void);

#endif
