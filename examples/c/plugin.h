/* What plugin_host gives its plug-ins, and what it wants of them. */
#ifndef PLUGIN_H
#define PLUGIN_H

#include <stddef.h>

struct host {
    void (*print)(const char *line);
    /* What is in the document; valid until the next call. */
    const char *(*document)(void);
    void (*append)(const char *text);
};

/* Both are exported by a plug-in. Starting gives 0, or -1 when it failed and has printed why. */
typedef int (*plugin_start_fn)(const struct host *host);
typedef void (*plugin_stop_fn)(void);

#endif
