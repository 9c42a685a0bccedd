/* What the programs in this folder share: checks that say where they failed. */
#ifndef CHECK_H
#define CHECK_H

#include <mcplink.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);       \
            exit(1);                                                                      \
        }                                                                                 \
    } while (0)

/* A setter that refuses what it is given, called on an object `it` of its own: the first refusal of an object stays. */
#define REFUSES(kind, made, call)                \
    do {                                         \
        mcplink_##kind##_t *it = (made);         \
        CHECK((call) == MCPLINK_E_INVALID);      \
        mcplink_##kind##_free(it);               \
    } while (0)

/* A status that has to be exactly this one; on another one the error says why. Takes the error and sets it to NULL. */
#define CHECK_STATUS(status, expected, err) check_status(__FILE__, __LINE__, (status), (expected), &(err))

static inline void check_status(const char *file, int line, mcplink_status_t status, mcplink_status_t expected, mcplink_error_t **err)
{
    if (status != expected) {
        fprintf(stderr, "%s:%d: %s instead of %s: %s\n", file, line, mcplink_status_name(status), mcplink_status_name(expected),
                mcplink_error_message(*err));
        exit(1);
    }
    mcplink_error_free(*err);
    *err = NULL;
}

/* Text that has to be exactly this one. */
#define CHECK_TEXT(view, expected) check_text(__FILE__, __LINE__, (view), (expected))

static inline void check_text(const char *file, int line, mcplink_str_t view, const char *expected)
{
    if (view.ptr == NULL || view.len != strlen(expected) || memcmp(view.ptr, expected, view.len) != 0 || view.ptr[view.len] != 0) {
        fprintf(stderr, "%s:%d: \"%s\" instead of \"%s\"\n", file, line, view.ptr ? view.ptr : "(NULL)", expected);
        exit(1);
    }
}

#endif
