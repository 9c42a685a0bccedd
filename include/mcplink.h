/*
 * mcplink: the Model Context Protocol for programs without an async runtime.
 *
 * This header is generated from src/cffi; change it there. Every function is safe to call from any thread.
 */

#ifndef MCPLINK_H
#define MCPLINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MCPLINK_VERSION_MAJOR 0
#define MCPLINK_VERSION_MINOR 1
#define MCPLINK_VERSION_PATCH 0
/* major << 24 | minor << 16 | patch << 8 */
#define MCPLINK_VERSION_NUMBER 0x00010000u

#ifndef MCPLINK_API
#define MCPLINK_API extern
#endif

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The version of this library as text, for example "0.1.0".
 *
 * Returns: a static string that ends in NUL; never NULL. Since 0.1.
 */
MCPLINK_API const char *mcplink_version(void);

/**
 * The version of this library as a number: major << 24 | minor << 16 | patch << 8.
 *
 * Returns: the number; compare it with MCPLINK_VERSION_NUMBER. Since 0.1.
 */
MCPLINK_API uint32_t mcplink_version_number(void);

/**
 * Whether this library serves a program that was compiled against a header of the given version.
 *
 * header_version: MCPLINK_VERSION_NUMBER. Before 1.0 a library serves its own minor version; from 1.0 every header of the same major
 * version that is not newer than the library.
 * Returns: true if it does. Since 0.1.
 */
MCPLINK_API
bool mcplink_check_version(uint32_t header_version);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* MCPLINK_H */
