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

/* Before each function: define it when the library is a DLL. */
#ifndef MCPLINK_API
#  if defined(_WIN32) && defined(MCPLINK_SHARED)
#    define MCPLINK_API __declspec(dllimport) extern
#  else
#    define MCPLINK_API extern
#  endif
#endif

/* The result tells whether it worked: not to be ignored. */
#if defined(__GNUC__) || defined(__clang__)
#  define MCPLINK_NODISCARD __attribute__((warn_unused_result))
#elif defined(_MSC_VER)
#  define MCPLINK_NODISCARD _Check_return_
#else
#  define MCPLINK_NODISCARD
#endif

#if defined(__GNUC__) || defined(__clang__)
#  define MCPLINK_DEPRECATED(text) __attribute__((deprecated(text)))
#elif defined(_MSC_VER)
#  define MCPLINK_DEPRECATED(text) __declspec(deprecated(text))
#else
#  define MCPLINK_DEPRECATED(text)
#endif

/* As the length of text: measure it, it ends in NUL. */
#define MCPLINK_NUL ((size_t)-1)

/**
 * How a call went: 0 is done, negative is failure, positive is "worked, but look".
 *
 * Codes are never given another number, and never used again. Treat a negative one that you don't know as failure.
 */
enum mcplink_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * Done.
     */
    MCPLINK_OK = 0,
    /**
     * The tool ran and failed: the result says why, for the model to read.
     */
    MCPLINK_TOOL_ERROR = 1,
    /**
     * The answer is not there yet.
     */
    MCPLINK_PENDING = 2,
    /**
     * An argument is wrong. The same value fails again.
     */
    MCPLINK_E_INVALID = -1,
    /**
     * The right call at the wrong moment.
     */
    MCPLINK_E_STATE = -2,
    /**
     * The connection or the handle is closed, or the peer has gone.
     */
    MCPLINK_E_CLOSED = -3,
    /**
     * No answer came in time.
     */
    MCPLINK_E_TIMEOUT = -4,
    /**
     * The call was cancelled.
     */
    MCPLINK_E_CANCELLED = -5,
    /**
     * The peer answered with an error: see mcplink_error_rpc_code.
     */
    MCPLINK_E_PEER = -6,
    /**
     * The peer broke the protocol.
     */
    MCPLINK_E_PROTOCOL = -7,
    /**
     * The operating system refused: see mcplink_error_os_code.
     */
    MCPLINK_E_IO = -8,
    /**
     * The child process could not be started.
     */
    MCPLINK_E_SPAWN = -9,
    /**
     * An HTTP status that stands for no JSON-RPC error: see mcplink_error_http_status.
     */
    MCPLINK_E_HTTP = -10,
    /**
     * The server wants other credentials, or refuses these.
     */
    MCPLINK_E_AUTH = -11,
    /**
     * The peer, its revision or this build can't do it.
     */
    MCPLINK_E_UNSUPPORTED = -12,
    /**
     * A size or count limit was hit.
     */
    MCPLINK_E_LIMIT = -13,
    /**
     * Too many requests are in flight. Nothing was sent.
     */
    MCPLINK_E_BUSY = -14,
    /**
     * The handle was made before a fork, by the other process.
     */
    MCPLINK_E_FORKED = -15,
    /**
     * A bug of this library.
     */
    MCPLINK_E_PANIC = -16,
    /**
     * Never this library's own: for callbacks of the host, passed through.
     */
    MCPLINK_E_USER = -17,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mcplink_status mcplink_status;
#else
typedef int32_t mcplink_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * What a JSON value is.
 */
enum mcplink_json_type_t
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * There is no value: NULL was passed.
     */
    MCPLINK_JSON_MISSING = 0,
    /**
     * null.
     */
    MCPLINK_JSON_NULL = 1,
    /**
     * true or false.
     */
    MCPLINK_JSON_BOOLEAN = 2,
    /**
     * A number.
     */
    MCPLINK_JSON_NUMBER = 3,
    /**
     * A string.
     */
    MCPLINK_JSON_STRING = 4,
    /**
     * An array.
     */
    MCPLINK_JSON_ARRAY = 5,
    /**
     * An object.
     */
    MCPLINK_JSON_OBJECT = 6,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mcplink_json_type_t mcplink_json_type_t;
#else
typedef int32_t mcplink_json_type_t;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * What went wrong: who failed, and what to do. Made by a function that fails; the caller's to free.
 */
typedef struct mcplink_error_t mcplink_error_t;

/**
 * A JSON value: a document of the caller's, or a node in one.
 *
 * Every function that looks at a node takes NULL and a node of another type too, and gives the neutral value then, so that chains of calls
 * need no checks in between. A node is valid as long as its document; a document may be read by many threads at once.
 */
typedef struct mcplink_json_t mcplink_json_t;

/**
 * Brings callbacks to a thread of the host's choice. One pump serves any number of clients and servers.
 *
 * Reading and writing stay on the threads of the library; only callbacks of the host wait in the pump, until the host dispatches it.
 */
typedef struct mcplink_pump_t mcplink_pump_t;

/**
 * Writes one JSON value, piece by piece.
 *
 * Errors stick: what follows the first one is ignored, and mcplink_writer_finish tells it. So the pieces need no checks.
 */
typedef struct mcplink_writer_t mcplink_writer_t;

/**
 * A value of enum mcplink_status, or one that a newer library has added.
 */
typedef int32_t mcplink_status_t;

/**
 * A view of text that belongs to somebody else: UTF-8, with its length in bytes.
 *
 * ptr is never NULL, and ptr[len] is always 0, so that printf("%s") works for text without a NUL in it. How long a view is valid is said
 * by the function that gives it.
 */
typedef struct {
    /**
     * The first byte.
     */
    const char *ptr;
    /**
     * How many bytes there are, without the NUL behind them.
     */
    size_t len;
} mcplink_str_t;

/**
 * Ends what a callback was given: runs exactly once, when the callback is replaced, when its owner is freed, and when it can't be
 * registered.
 */
typedef void (*mcplink_destroy_fn)(void *user);

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
MCPLINK_API bool mcplink_check_version(uint32_t header_version);

/**
 * The name of a status, for example "MCPLINK_E_TIMEOUT".
 *
 * status: any number.
 * Returns: a static string that ends in NUL; "unknown status" for a number that this library does not know. Never NULL. Since 0.1.
 */
MCPLINK_API const char *mcplink_status_name(mcplink_status_t status);

/**
 * Frees an error.
 *
 * error: NULL is fine. Views of it end here. Since 0.1.
 */
MCPLINK_API void mcplink_error_free(mcplink_error_t *error);

/**
 * The status that the failed call returned.
 *
 * error: NULL for MCPLINK_OK.
 * Returns: one of MCPLINK_E_*. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_error_status(const mcplink_error_t *error);

/**
 * What went wrong, in one sentence that says what to do; behind it, on lines of their own, the last words of a child that died.
 *
 * error: NULL for "".
 * Returns: text that ends in NUL, valid as long as the error; never NULL. It is for people: tell failures apart by their status. Threads:
 * any. Since 0.1.
 */
MCPLINK_API const char *mcplink_error_message(const mcplink_error_t *error);

/**
 * The method of the request that failed, for example "tools/call".
 *
 * error: NULL for none.
 * Returns: valid as long as the error; empty when it was no request. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_error_method(const mcplink_error_t *error);

/**
 * The code of the peer's error (JSON-RPC), for example -32602.
 *
 * error: NULL for 0.
 * Returns: 0 when it is not the peer that refused. Threads: any. Since 0.1.
 */
MCPLINK_API int64_t mcplink_error_rpc_code(const mcplink_error_t *error);

/**
 * The data of the peer's error, as JSON text.
 *
 * error: NULL for none.
 * Returns: valid as long as the error; empty when there is none. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_error_data(const mcplink_error_t *error);

/**
 * The operating system's error number (errno).
 *
 * error: NULL for 0.
 * Returns: 0 when it is not the system that refused. Threads: any. Since 0.1.
 */
MCPLINK_API int32_t mcplink_error_os_code(const mcplink_error_t *error);

/**
 * The HTTP status that a server answered with, if it was another one than success.
 *
 * error: NULL for 0.
 * Returns: 0 when there was none. Threads: any. Since 0.1.
 */
MCPLINK_API int32_t mcplink_error_http_status(const mcplink_error_t *error);

/**
 * What an HTTP server asks for before it lets anybody in: the field WWW-Authenticate of its answer.
 *
 * error: NULL for none.
 * Returns: valid as long as the error; empty when there is none. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_error_http_challenge(const mcplink_error_t *error);

/**
 * The last lines that a child process wrote to its standard error before it ended.
 *
 * error: NULL for none.
 * Returns: valid as long as the error; empty when there are none. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_error_peer_stderr(const mcplink_error_t *error);

/**
 * Whether the same call may work later, and can't have had an effect yet: nothing was sent, or the peer said that it has no time.
 *
 * error: NULL for false.
 * Returns: true if so. Threads: any. Since 0.1.
 */
MCPLINK_API bool mcplink_error_is_retryable(const mcplink_error_t *error);

/**
 * Reads a JSON document.
 *
 * text, len: the text; MCPLINK_NUL measures it. It is copied.
 * out: receives the document, NULL after a failure. The caller's to free, with mcplink_json_free.
 * err: receives what went wrong, with line and column; NULL is fine.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Integers from -2^63 to 2^64-1 stay exact; documents may be nested 127 levels deep. Threads: any.
 * Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_json_parse(const char *text,
                                    size_t len,
                                    mcplink_json_t **out,
                                    mcplink_error_t **err);

/**
 * Frees a document that mcplink_json_parse made. All its nodes end here.
 *
 * document: NULL is fine. Never a node that another function showed. Since 0.1.
 */
MCPLINK_API void mcplink_json_free(mcplink_json_t *document);

/**
 * What a value is.
 *
 * node: NULL for MCPLINK_JSON_MISSING.
 * Returns: one of enum mcplink_json_type_t. Threads: any. Since 0.1.
 */
MCPLINK_API int32_t mcplink_json_type(const mcplink_json_t *node);

/**
 * Whether there is no value, which is something else than null.
 *
 * node: a node or NULL.
 * Returns: true for NULL. Threads: any. Since 0.1.
 */
MCPLINK_API bool mcplink_json_is_missing(const mcplink_json_t *node);

/**
 * A member of an object.
 *
 * object: a node or NULL.
 * key: the name of the member. Of several with this name the last one counts.
 * Returns: a node of the same document; NULL when there is none. Threads: any. Since 0.1.
 */
MCPLINK_API const mcplink_json_t *mcplink_json_get(const mcplink_json_t *object, const char *key);

/**
 * An item of an array, or the value of a member of an object.
 *
 * array: a node or NULL.
 * index: from 0.
 * Returns: a node of the same document; NULL when there is none. Threads: any. Since 0.1.
 */
MCPLINK_API const mcplink_json_t *mcplink_json_at(const mcplink_json_t *array, size_t index);

/**
 * The name of a member of an object, in the order in which they came.
 *
 * object: a node or NULL.
 * index: from 0.
 * Returns: valid as long as the document; empty when there is none. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_json_key_at(const mcplink_json_t *object, size_t index);

/**
 * How many items an array has, members an object, or bytes a string.
 *
 * node: a node or NULL.
 * Returns: 0 for other values. Threads: any. Since 0.1.
 */
MCPLINK_API size_t mcplink_json_len(const mcplink_json_t *node);

/**
 * The value at a JSON pointer (RFC 6901), for example "/content/0/text".
 *
 * node: a node or NULL: the pointer begins there.
 * pointer: "" for the node itself.
 * Returns: a node of the same document; NULL when there is none. Threads: any. Since 0.1.
 */
MCPLINK_API const mcplink_json_t *mcplink_json_pointer(const mcplink_json_t *node, const char *pointer);

/**
 * The text of a string.
 *
 * node: a node or NULL.
 * Returns: valid as long as the document; empty for other values. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_json_str(const mcplink_json_t *node);

/**
 * The value of an integer.
 *
 * node: a node or NULL.
 * out: receives it, 0 when there is none; NULL is fine.
 * Returns: whether it is an integer from -2^63 to 2^63-1; 1.0 counts as one, and so does -0.0. Threads: any. Since 0.1.
 */
MCPLINK_API bool mcplink_json_i64(const mcplink_json_t *node, int64_t *out);

/**
 * The value of a number, rounded to what a double can hold.
 *
 * node: a node or NULL.
 * Returns: 0 for other values. Threads: any. Since 0.1.
 */
MCPLINK_API double mcplink_json_f64(const mcplink_json_t *node);

/**
 * Whether a value is true.
 *
 * node: a node or NULL.
 * Returns: false for false and for other values. Threads: any. Since 0.1.
 */
MCPLINK_API bool mcplink_json_boolean(const mcplink_json_t *node);

/**
 * A value as JSON text, without white space.
 *
 * node: a node or NULL.
 * Returns: valid as long as the document; empty for NULL. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_json_text(const mcplink_json_t *node);

/**
 * Makes a writer.
 *
 * Returns: a writer without text, the caller's to free. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_writer_t *mcplink_writer_new(void);

/**
 * Frees a writer, and what mcplink_writer_finish showed of it.
 *
 * writer: NULL is fine. Since 0.1.
 */
MCPLINK_API void mcplink_writer_free(mcplink_writer_t *writer);

/**
 * Begins anew, with the memory that is there: text and errors are forgotten.
 *
 * writer: the writer.
 * Returns: MCPLINK_OK. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_writer_reset(mcplink_writer_t *writer);

/**
 * Begins an object: mcplink_writer_key and a value for each member, then mcplink_writer_end.
 *
 * writer: the writer.
 * Returns: MCPLINK_OK, or the status of the first error. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_writer_begin_object(mcplink_writer_t *writer);

/**
 * Begins an array: values, then mcplink_writer_end.
 *
 * writer: the writer.
 * Returns: MCPLINK_OK, or the status of the first error. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_writer_begin_array(mcplink_writer_t *writer);

/**
 * Ends the object or array that was begun last.
 *
 * writer: the writer.
 * Returns: MCPLINK_OK, or the status of the first error. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_writer_end(mcplink_writer_t *writer);

/**
 * Writes the name of a member; its value comes next.
 *
 * writer: the writer, in an object.
 * key: the name.
 * Returns: MCPLINK_OK, or the status of the first error. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_writer_key(mcplink_writer_t *writer, const char *key);

/**
 * Writes a string.
 *
 * writer: the writer.
 * text, len: UTF-8; MCPLINK_NUL measures it.
 * Returns: MCPLINK_OK, or the status of the first error. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_writer_str(mcplink_writer_t *writer, const char *text, size_t len);

/**
 * Writes an integer.
 *
 * writer: the writer.
 * number: the integer.
 * Returns: MCPLINK_OK, or the status of the first error. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_writer_i64(mcplink_writer_t *writer, int64_t number);

/**
 * Writes an integer that is not negative.
 *
 * writer: the writer.
 * number: the integer.
 * Returns: MCPLINK_OK, or the status of the first error. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_writer_u64(mcplink_writer_t *writer, uint64_t number);

/**
 * Writes a number, so that it is read as the same double again. Whatever the locale, its point is a point.
 *
 * writer: the writer.
 * number: the number; NaN and infinities are errors, since JSON has none.
 * Returns: MCPLINK_OK, or the status of the first error. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_writer_f64(mcplink_writer_t *writer, double number);

/**
 * Writes true or false.
 *
 * writer: the writer.
 * boolean: which of them.
 * Returns: MCPLINK_OK, or the status of the first error. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_writer_boolean(mcplink_writer_t *writer, bool boolean);

/**
 * Writes null.
 *
 * writer: the writer.
 * Returns: MCPLINK_OK, or the status of the first error. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_writer_null(mcplink_writer_t *writer);

/**
 * Writes a value that is JSON text already.
 *
 * writer: the writer.
 * json, len: one JSON value; MCPLINK_NUL measures it. What is no JSON is an error.
 * Returns: MCPLINK_OK, or the status of the first error. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_writer_raw(mcplink_writer_t *writer, const char *json, size_t len);

/**
 * Writes bytes as a string in base64 (RFC 4648, section 4).
 *
 * writer: the writer.
 * data, len: the bytes.
 * Returns: MCPLINK_OK, or the status of the first error. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_writer_bytes(mcplink_writer_t *writer, const uint8_t *data, size_t len);

/**
 * Ends the value and shows it.
 *
 * writer: the writer.
 * out: receives the text, which ends in NUL; valid until the writer is used again or freed. Empty after a failure.
 * err: receives what went wrong first, and at which byte; NULL is fine.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID: objects that have not ended, a key without a value, NaN, text that is not UTF-8. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_writer_finish(mcplink_writer_t *writer, mcplink_str_t *out, mcplink_error_t **err);

/**
 * Makes a pump.
 *
 * out: receives the pump, NULL after a failure. The caller's to free, after the handles that use it.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK, or MCPLINK_E_IO when the system has no descriptor to spare. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_pump_new(mcplink_pump_t **out, mcplink_error_t **err);

/**
 * Frees a pump. Free the clients and servers that use it before: a callback that waits in it is run when its handle is freed.
 *
 * pump: NULL is fine. Threads: any; not while another thread uses it. Since 0.1.
 */
MCPLINK_API void mcplink_pump_free(mcplink_pump_t *pump);

/**
 * What to poll: readable while a callback waits.
 *
 * pump: the pump.
 * Returns: a descriptor that stays the pump's: poll it for reading, never read or close it. It is readable for as long as anything waits, so
 * that a program may dispatch some of it and come back; now and then it is readable for nothing. -1 for NULL. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API
ptrdiff_t mcplink_pump_fd(const mcplink_pump_t *pump);

/**
 * Runs the callbacks that wait, in order, on this thread.
 *
 * pump: the pump.
 * max_events: how many at most, at least 1.
 * Returns: how many ran, or a negative status: MCPLINK_E_STATE when the pump is being dispatched already, by another thread or by one of its
 * own callbacks. Threads: any, one at a time; best always the same one. Blocks: as long as the callbacks do. Since 0.1.
 */
MCPLINK_API
int32_t mcplink_pump_dispatch(mcplink_pump_t *pump,
                              int32_t max_events);

/**
 * Waits until a callback waits to be dispatched: for programs without a loop of their own.
 *
 * pump: the pump.
 * timeout_ms: for how long at most, in milliseconds.
 * Returns: how many callbacks wait; 0 when the time is over, and after mcplink_pump_wakeup; or a negative status. Threads: any. Blocks: yes,
 * for that long. Since 0.1.
 */
MCPLINK_API
int32_t mcplink_pump_wait(mcplink_pump_t *pump,
                          uint32_t timeout_ms);

/**
 * Has the descriptor become readable, and mcplink_pump_wait return, though nothing waits.
 *
 * pump: the pump.
 * Returns: MCPLINK_OK. Threads: any, and signal handlers too. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_pump_wakeup(mcplink_pump_t *pump);

/**
 * Has a function called whenever the first callback begins to wait: for loops that take messages instead of descriptors.
 *
 * pump: the pump.
 * callback: called on a thread of the library, once for each change from nothing waiting to something waiting; it has to be quick, and to have
 * the loop call mcplink_pump_dispatch. NULL for none.
 * user, destroy: passed to callback, and ended when another function is set or the pump is freed.
 * Returns: MCPLINK_OK. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_pump_set_notify(mcplink_pump_t *pump,
                                         void (*callback)(void *user),
                                         void *user,
                                         mcplink_destroy_fn destroy);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* MCPLINK_H */
