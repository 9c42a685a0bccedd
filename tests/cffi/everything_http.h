/* The example server over HTTP, as a process of its own. */
#ifndef EVERYTHING_HTTP_H
#define EVERYTHING_HTTP_H

#include "client.h"

#include <sys/types.h>
#include <unistd.h>

/* Starts the example server over HTTP; the URL is what it says first. */
static inline pid_t everything_http(char *url, size_t size)
{
    int out[2];
    FILE *lines;
    char line[512];
    char *at;
    pid_t child;
    CHECK(pipe(out) == 0);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        dup2(out[1], 2);
        execl(everything_server(), "everything_server", "http", "127.0.0.1:0", (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    lines = fdopen(out[0], "r");
    CHECK(lines != NULL && fgets(line, sizeof line, lines) != NULL);
    at = strstr(line, "http://");
    CHECK(at != NULL);
    at[strcspn(at, "\n")] = 0;
    snprintf(url, size, "%s", at);
    fclose(lines);
    return child;
}

#endif
