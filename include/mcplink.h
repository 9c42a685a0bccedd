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

/* As a time in milliseconds: no end. */
#define MCPLINK_FOREVER ((uint32_t)-1)

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
enum mcplink_json_type
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
typedef enum mcplink_json_type mcplink_json_type;
#else
typedef int32_t mcplink_json_type;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * An upper bound of each connection of a client or server. What happens when it is hit is said of each.
 */
enum mcplink_limit
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * Longest message, in bytes: 16 MiB. A longer one is dropped: a request is answered with an error, a call fails.
     */
    MCPLINK_LIMIT_MESSAGE_BYTES = 1,
    /**
     * How deep arrays and objects may be nested in a message: 128. A deeper one is answered with an error.
     */
    MCPLINK_LIMIT_DEPTH = 2,
    /**
     * How many bytes may wait for a peer that does not read: 16 MiB. Who would exceed it waits.
     */
    MCPLINK_LIMIT_QUEUED_BYTES = 3,
    /**
     * How many calls may be in flight: 10000. The next one fails with MCPLINK_E_BUSY.
     */
    MCPLINK_LIMIT_CALLS = 4,
    /**
     * How many requests of the peer may be in hand: 256. The next one is answered with a "busy" error.
     */
    MCPLINK_LIMIT_REQUESTS = 5,
    /**
     * How many calls may wait for what they ask a client of revisions before 2026-07-28: 1024. The next one fails.
     */
    MCPLINK_LIMIT_QUESTIONS = 6,
    /**
     * How many handlers may run at once: 64. The next ones wait.
     */
    MCPLINK_LIMIT_WORKERS = 7,
    /**
     * How many notifications of the peer may wait for the thread that hands them out: 1024. The next one is dropped.
     */
    MCPLINK_LIMIT_NOTIFICATIONS = 8,
    /**
     * How many subscriptions one client may have: 1024. The next one is refused.
     */
    MCPLINK_LIMIT_SUBSCRIPTIONS = 9,
    /**
     * How many change notifications may wait for a subscriber that does not read: 1024. The next one ends the subscription.
     */
    MCPLINK_LIMIT_BACKLOG = 10,
    /**
     * How many progress and log messages of one call may wait for its callback: 1024. Past it progress is merged.
     */
    MCPLINK_LIMIT_CALL_EVENTS = 11,
    /**
     * How many responses a client keeps, of those that servers let be kept: 1024.
     */
    MCPLINK_LIMIT_CACHED_RESPONSES = 12,
    /**
     * How many bytes the kept responses may have: 16 MiB.
     */
    MCPLINK_LIMIT_CACHED_BYTES = 13,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mcplink_limit mcplink_limit;
#else
typedef int32_t mcplink_limit;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * What a content block is.
 */
enum mcplink_content_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * There is no such block.
     */
    MCPLINK_CONTENT_NONE = 0,
    /**
     * Text, in the member "text".
     */
    MCPLINK_CONTENT_TEXT = 1,
    /**
     * An image: see mcplink_result_content_bytes and the member "mimeType".
     */
    MCPLINK_CONTENT_IMAGE = 2,
    /**
     * Sound: as an image.
     */
    MCPLINK_CONTENT_AUDIO = 3,
    /**
     * A link to a resource, in the member "uri".
     */
    MCPLINK_CONTENT_RESOURCE_LINK = 4,
    /**
     * A resource, in the member "resource".
     */
    MCPLINK_CONTENT_RESOURCE = 5,
    /**
     * What a resource that was read holds, as bytes.
     */
    MCPLINK_CONTENT_BLOB = 6,
    /**
     * Something that this library does not know: look at the member "type".
     */
    MCPLINK_CONTENT_OTHER = 7,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mcplink_content_kind mcplink_content_kind;
#else
typedef int32_t mcplink_content_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * The era of a server, which is a matter of the revisions that it speaks.
 */
enum mcplink_era
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * It is to be found out, or not known yet.
     */
    MCPLINK_ERA_UNKNOWN = 0,
    /**
     * Revisions up to 2025-11-25.
     */
    MCPLINK_ERA_LEGACY = 1,
    /**
     * 2026-07-28 and later.
     */
    MCPLINK_ERA_MODERN = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mcplink_era mcplink_era;
#else
typedef int32_t mcplink_era;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * What becomes of a child's standard error.
 */
enum mcplink_stderr
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * It is read, and the last 64 KiB kept: see mcplink_client_stderr_tail and mcplink_error_peer_stderr. The default.
     */
    MCPLINK_STDERR_CAPTURE = 0,
    /**
     * It goes where this process's standard error goes.
     */
    MCPLINK_STDERR_INHERIT = 1,
    /**
     * It goes nowhere.
     */
    MCPLINK_STDERR_DISCARD = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mcplink_stderr mcplink_stderr;
#else
typedef int32_t mcplink_stderr;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * How it stands with a client.
 */
enum mcplink_client_state
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * There is no client: NULL was passed.
     */
    MCPLINK_CLIENT_NONE = 0,
    /**
     * It is being connected: see mcplink_client_start.
     */
    MCPLINK_CLIENT_CONNECTING = 1,
    /**
     * It is connected.
     */
    MCPLINK_CLIENT_READY = 2,
    /**
     * Its server was lost and will be started again: see mcplink_client_options_set_restart.
     */
    MCPLINK_CLIENT_LOST = 3,
    /**
     * It was closed, or its server has gone for good.
     */
    MCPLINK_CLIENT_CLOSED = 4,
    /**
     * It could not be connected.
     */
    MCPLINK_CLIENT_FAILED = 5,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mcplink_client_state mcplink_client_state;
#else
typedef int32_t mcplink_client_state;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * What an event tells. Ignore those that you don't know: there will be more.
 */
enum mcplink_event
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * A client that was started is connected. No params.
     */
    MCPLINK_EVENT_CONNECTED = 1,
    /**
     * A client that was started could not be connected: {"status":-9,"message":"..."}. Free it.
     */
    MCPLINK_EVENT_FAILED = 2,
    /**
     * The server was lost and will be started again: {"status":-3,"message":"...","attempt":1,"delayMs":250}.
     */
    MCPLINK_EVENT_LOST = 3,
    /**
     * The server is there again, and knows nothing of what was before: {"attempt":1}.
     */
    MCPLINK_EVENT_RESTORED = 4,
    /**
     * The connection has ended for good. {"status":-3,"message":"..."} when it was lost, no params when it was closed here.
     */
    MCPLINK_EVENT_CLOSED = 5,
    /**
     * The list of tools is another one; see mcplink_client_listen. No params.
     */
    MCPLINK_EVENT_TOOLS_CHANGED = 6,
    /**
     * The list of prompts is another one; see mcplink_client_listen. No params.
     */
    MCPLINK_EVENT_PROMPTS_CHANGED = 7,
    /**
     * The list of resources is another one; see mcplink_client_listen. No params.
     */
    MCPLINK_EVENT_RESOURCES_CHANGED = 8,
    /**
     * A resource holds something else: {"uri":"..."}; see mcplink_client_subscribe.
     */
    MCPLINK_EVENT_RESOURCE_UPDATED = 9,
    /**
     * The server was away, changes may have been missed: take everything for changed. No params.
     */
    MCPLINK_EVENT_EVERYTHING_CHANGED = 10,
    /**
     * No more changes are told, though the connection lives: {"clean":true} when the server ended that in order.
     */
    MCPLINK_EVENT_CHANGES_ENDED = 11,
    /**
     * The server logs: {"level":"info","logger":"...","data":...}.
     */
    MCPLINK_EVENT_LOG_MESSAGE = 12,
    /**
     * The user has done what was to be done on a page: {"elicitationId":"..."} (2025-11-25 only).
     */
    MCPLINK_EVENT_ELICITATION_COMPLETE = 13,
    /**
     * A notification that a function was registered for; its params.
     */
    MCPLINK_EVENT_NOTIFICATION = 14,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mcplink_event mcplink_event;
#else
typedef int32_t mcplink_event;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * Whose argument is completed.
 */
enum mcplink_completion
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * A prompt, by its name.
     */
    MCPLINK_COMPLETION_PROMPT = 1,
    /**
     * A resource template, by its URI template.
     */
    MCPLINK_COMPLETION_RESOURCE = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mcplink_completion mcplink_completion;
#else
typedef int32_t mcplink_completion;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * Says how a call waits. NULL does wherever it is asked for. It is copied by the call, and stays the caller's.
 */
typedef struct mcplink_call_options_t mcplink_call_options_t;

/**
 * A call that was started. The handle may be freed at any time; the call goes on.
 */
typedef struct mcplink_call_t mcplink_call_t;

/**
 * Ends calls that were given it, from any thread: "the user pressed Escape". One token may serve many calls.
 */
typedef struct mcplink_cancel_t mcplink_cancel_t;

/**
 * Describes a client. It is copied by the call that opens one, stays the caller's, and may open several.
 */
typedef struct mcplink_client_options_t mcplink_client_options_t;

/**
 * A client: a connection to one server.
 *
 * Any thread may use it at any time. Its callbacks run on a thread of its own, one at a time and in order, or, with a pump, where that is
 * dispatched. They may call any function of this library, on this client too.
 */
typedef struct mcplink_client_t mcplink_client_t;

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
 * What a call came to: the result of a request. The caller's to free.
 *
 * It does not change, so that many threads may read it at once; what its functions show is valid as long as it.
 */
typedef struct mcplink_result_t mcplink_result_t;

/**
 * Where a function of the host puts a token: see mcplink_client_options_set_bearer_hook.
 */
typedef struct mcplink_token_t mcplink_token_t;

/**
 * A way to a peer that the host has itself: own sockets, a web view, a serial line.
 *
 * Messages are lines; the library makes lines of what it sends, and finds the lines in what it is fed, however it is cut. One transport serves
 * one connection: it is given to mcplink_client_options_set_transport or mcplink_server_attach, once.
 */
typedef struct mcplink_transport_t mcplink_transport_t;

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

/**
 * Takes bytes that go to the peer: all of them, in order. One call at a time, on any thread that sends; it should not wait for long. Returns
 * MCPLINK_OK, or anything else to end the connection.
 */
typedef mcplink_status_t (*mcplink_send_fn)(void *user, const char *bytes, size_t len);

/**
 * Tells something of a transport: that nothing more is sent, or that there is room again. On any thread.
 */
typedef void (*mcplink_transport_fn)(void *user);

/**
 * Takes something that happened: one of enum mcplink_event, and what is known of it. params is valid until the callback returns; NULL when
 * there is nothing to know. Ignore events that you don't know.
 */
typedef void (*mcplink_event_fn)(void *user, int32_t event, const mcplink_json_t *params);

/**
 * Takes what the library has to say to its host, a line at a time: level is one of enum mcplink_log_level, target the part of the library
 * that speaks. The views are valid until it returns. It runs on any thread, and has to be quick.
 */
typedef void (*mcplink_log_fn)(void *user, int32_t level, mcplink_str_t target, mcplink_str_t text);

/**
 * Takes a line that a child wrote to its standard error, without its newline; valid until it returns.
 */
typedef void (*mcplink_line_fn)(void *user, mcplink_str_t line);

/**
 * Gives the token for one request, with mcplink_token_set, and returns MCPLINK_OK; anything else fails the request with MCPLINK_E_AUTH, and it
 * is not sent. Runs on the thread that sends, several at once, and should not wait for the server.
 */
typedef mcplink_status_t (*mcplink_bearer_fn)(void *user, mcplink_token_t *token);

/**
 * Takes what a call tells of its progress. total is 0 when it is not known; message is empty when there is none, and valid until this returns.
 */
typedef void (*mcplink_progress_fn)(void *user, double progress, double total, mcplink_str_t message);

/**
 * Takes the outcome of a started call, once: with a result, when status is MCPLINK_OK or MCPLINK_TOOL_ERROR, or with an error.
 *
 * call is the handle, NULL when it was freed or never asked for. result and err are valid until this returns; one of them is NULL.
 */
typedef void (*mcplink_done_fn)(void *user,
                                mcplink_call_t *call,
                                mcplink_status_t status,
                                const mcplink_result_t *result,
                                const mcplink_error_t *err);

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
 * Returns: one of enum mcplink_json_type. Threads: any. Since 0.1.
 */
MCPLINK_API int32_t mcplink_json_kind(const mcplink_json_t *node);

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

/**
 * Makes a token that is not triggered.
 *
 * Returns: the token, the caller's to free; it may be freed while calls that were given it go on. NULL when there is no memory for it.
 * Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_cancel_t *mcplink_cancel_new(void);

/**
 * Triggers a token, once and for all: calls that were given it end with MCPLINK_E_CANCELLED, and those that are given it later are not sent.
 * Their servers are told.
 *
 * cancel: the token.
 * Returns: MCPLINK_OK, when it was triggered before too. Threads: any, but no signal handler. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_cancel_trigger(mcplink_cancel_t *cancel);

/**
 * Whether a token was triggered.
 *
 * cancel: NULL for false.
 * Returns: true if so. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API bool mcplink_cancel_is_triggered(const mcplink_cancel_t *cancel);

/**
 * Frees a token. Calls that were given it go on, and can't be ended by it any more unless it was triggered.
 *
 * cancel: NULL is fine. Since 0.1.
 */
MCPLINK_API void mcplink_cancel_free(mcplink_cancel_t *cancel);

/**
 * Frees a result. All that was shown of it ends here.
 *
 * result: NULL is fine. Never one that a callback was given. Since 0.1.
 */
MCPLINK_API void mcplink_result_free(mcplink_result_t *result);

/**
 * The result as a JSON value. It is read when it is first asked for.
 *
 * result: NULL for none.
 * Returns: a node that is valid as long as the result; NULL for none. Threads: any. Since 0.1.
 */
MCPLINK_API const mcplink_json_t *mcplink_result_json(const mcplink_result_t *result);

/**
 * The result as JSON text, as it was received; of a list that came in pages, all of it.
 *
 * result: NULL for none.
 * Returns: valid as long as the result. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_result_raw(const mcplink_result_t *result);

/**
 * The text of all content blocks that are text, a newline between two of them.
 *
 * result: of a tool, a resource that was read, or a prompt; NULL for none.
 * Returns: valid as long as the result; empty when there is none. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_result_text(const mcplink_result_t *result);

/**
 * Whether it is the result of a tool that ran and failed: then it says why, for the model to read.
 *
 * result: NULL for false.
 * Returns: true if so. Threads: any. Since 0.1.
 */
MCPLINK_API bool mcplink_result_is_tool_error(const mcplink_result_t *result);

/**
 * What a tool answered beside its content: the member "structuredContent".
 *
 * result: NULL for none.
 * Returns: a node that is valid as long as the result; NULL when there is none. Threads: any. Since 0.1.
 */
MCPLINK_API const mcplink_json_t *mcplink_result_structured(const mcplink_result_t *result);

/**
 * What travels beside the result: the member "_meta".
 *
 * result: NULL for none.
 * Returns: a node that is valid as long as the result; NULL when there is none. Threads: any. Since 0.1.
 */
MCPLINK_API const mcplink_json_t *mcplink_result_meta(const mcplink_result_t *result);

/**
 * How many content blocks there are: of a tool's result, of a resource that was read, or messages of a prompt.
 *
 * result: NULL for 0.
 * Returns: the number. Threads: any. Since 0.1.
 */
MCPLINK_API size_t mcplink_result_content_count(const mcplink_result_t *result);

/**
 * One content block. Of a prompt, what one message holds; who speaks is at "/messages/INDEX/role" of mcplink_result_json.
 *
 * result: NULL for none.
 * index: from 0.
 * Returns: a node that is valid as long as the result; NULL when there is none. Threads: any. Since 0.1.
 */
MCPLINK_API const mcplink_json_t *mcplink_result_content(const mcplink_result_t *result, size_t index);

/**
 * What a content block is.
 *
 * result: NULL for MCPLINK_CONTENT_NONE.
 * index: from 0.
 * Returns: one of enum mcplink_content_kind. Threads: any. Since 0.1.
 */
MCPLINK_API int32_t mcplink_result_content_kind(const mcplink_result_t *result, size_t index);

/**
 * The bytes of an image, of sound, or of a resource that is no text: decoded from base64 when they are first asked for.
 *
 * result: NULL for none.
 * index: of the content block, from 0.
 * len: receives how many bytes there are, 0 when there are none; NULL is fine.
 * Returns: the bytes, and a 0 behind them, valid as long as the result; NULL when the block has none or they are no base64. Threads: any.
 * Since 0.1.
 */
MCPLINK_API const void *mcplink_result_content_bytes(const mcplink_result_t *result, size_t index, size_t *len);

/**
 * Makes a transport. It needs a send function: see mcplink_transport_set_send.
 *
 * user, destroy: passed to the functions of the transport, and ended when it is freed.
 * Returns: the transport, the caller's to free. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_transport_t *mcplink_transport_new(void *user, mcplink_destroy_fn destroy);

/**
 * Sets what takes the bytes that go to the peer.
 *
 * transport: the transport.
 * callback: see mcplink_send_fn. What it does when the peer can't be reached any more: return MCPLINK_E_USER.
 * Returns: MCPLINK_OK. Threads: any, before the connection is made. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_transport_set_send(mcplink_transport_t *transport, mcplink_send_fn callback);

/**
 * Sets what is told that the connection has ended on this side: nothing more is sent, and nothing read.
 *
 * transport: the transport.
 * callback: called once, by the thread that ends the connection, or by mcplink_transport_free. NULL for none.
 * Returns: MCPLINK_OK. Threads: any, before the connection is made. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_transport_set_close(mcplink_transport_t *transport, mcplink_transport_fn callback);

/**
 * Sets what is told that there is room again after mcplink_transport_feed returned MCPLINK_E_LIMIT.
 *
 * transport: the transport.
 * callback: called once after each such refusal, on the thread that reads; it may feed. NULL for none.
 * Returns: MCPLINK_OK. Threads: any, before the connection is made. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_transport_set_room(mcplink_transport_t *transport, mcplink_transport_fn callback);

/**
 * Brings bytes that came from the peer, cut as they may be: they wait until they are read.
 *
 * transport: the transport.
 * bytes, len: they are copied.
 * Returns: MCPLINK_OK; MCPLINK_E_LIMIT when 16 MiB wait already, and then none of these bytes was taken: feed them again later, see
 * mcplink_transport_set_room; MCPLINK_E_CLOSED after mcplink_transport_feed_end and after the connection has ended. Threads: any, before and after
 * the connection is made; the caller sees to the order. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_transport_feed(mcplink_transport_t *transport,
                                        const char *bytes,
                                        size_t len);

/**
 * Says that nothing more comes from the peer. What was fed before is still read.
 *
 * transport: the transport.
 * reason: what went wrong, for the error of calls that wait; NULL when the peer has just closed the connection.
 * Returns: MCPLINK_OK. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_transport_feed_end(mcplink_transport_t *transport, const char *reason);

/**
 * Frees a transport, and ends its connection. No function of it runs after this. Called within one of them it returns at once, and the rest
 * happens when that returns.
 *
 * transport: NULL is fine. Threads: any. Blocks: until the functions of the transport that run have returned. Since 0.1.
 */
MCPLINK_API void mcplink_transport_free(mcplink_transport_t *transport);

/**
 * Makes options with the defaults. They need to be told what to connect to: a command, a URL, two descriptors or a transport.
 *
 * Returns: options, the caller's to free. Threads: any; one at a time uses them. Since 0.1.
 */
MCPLINK_API mcplink_client_options_t *mcplink_client_options_new(void);

/**
 * Frees options. Clients that were opened with them stay.
 *
 * options: NULL is fine. Since 0.1.
 */
MCPLINK_API void mcplink_client_options_free(mcplink_client_options_t *options);

/**
 * Says who the client is. Defaults to the name and version of this library.
 *
 * options: the options.
 * client_name: for programs.
 * version: any text.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_info(mcplink_client_options_t *options,
                                                 const char *client_name,
                                                 const char *version);

/**
 * Says all of who the client is: {"name":"...","version":"...","title":"...","description":"...","websiteUrl":"...","icons":[...]}.
 *
 * options: the options.
 * json, len: the description; MCPLINK_NUL measures it.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when name or version is missing. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_info_json(mcplink_client_options_t *options, const char *json, size_t len);

/**
 * Says which revisions of the protocol may be spoken. Defaults to all; the newest that the server knows too is chosen.
 *
 * options: the options.
 * revisions: their dates, a space between two: "2025-11-25 2026-07-28".
 * Returns: MCPLINK_OK; MCPLINK_E_INVALID for none, MCPLINK_E_UNSUPPORTED for one that this library does not know. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_revisions(mcplink_client_options_t *options, const char *revisions);

/**
 * Says of which era the server is known to be, from mcplink_client_era of an earlier connection: it saves asking. It is no pin: a server that
 * proves to be of the other era is spoken to in that.
 *
 * options: the options.
 * era: one of enum mcplink_era; MCPLINK_ERA_UNKNOWN changes nothing.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_era(mcplink_client_options_t *options,
                                                int32_t era);

/**
 * Says how long connecting may take in all. Defaults to 60 s.
 *
 * options: the options.
 * milliseconds: MCPLINK_FOREVER for no end.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_connect_timeout_ms(mcplink_client_options_t *options, uint32_t milliseconds);

/**
 * Says how long a server may take to answer the first question before it is taken for a legacy one. Defaults to 5 s.
 *
 * options: the options.
 * milliseconds: not over HTTP, where silence says nothing.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_probe_timeout_ms(mcplink_client_options_t *options, uint32_t milliseconds);

/**
 * Says how long a call waits by default for its result, or for progress, which starts the time anew. Defaults to 60 s.
 *
 * options: the options.
 * milliseconds: MCPLINK_FOREVER for no end.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_timeout_ms(mcplink_client_options_t *options, uint32_t milliseconds);

/**
 * Says how long a call waits by default in all, however much progress there is. Defaults to 10 minutes.
 *
 * options: the options.
 * milliseconds: MCPLINK_FOREVER for no end.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_max_timeout_ms(mcplink_client_options_t *options, uint32_t milliseconds);

/**
 * Says how long a message may be that is accepted. Defaults to 16 MiB. The same as MCPLINK_LIMIT_MESSAGE_BYTES.
 *
 * options: the options.
 * bytes: how many.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_max_message(mcplink_client_options_t *options, size_t bytes);

/**
 * Sets an upper bound of the connection.
 *
 * options: the options.
 * number: one of enum mcplink_limit.
 * limit_value: the bound.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when there is no such limit. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_limit(mcplink_client_options_t *options, int32_t number, size_t limit_value);

/**
 * Says how many started calls may go on at once, each of which has a thread. Defaults to 256; the next one fails with MCPLINK_E_BUSY.
 *
 * options: the options.
 * count: at least 1.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID for 0. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_max_started(mcplink_client_options_t *options, size_t count);

/**
 * Has the callbacks of the client run where a pump is dispatched, instead of on a thread of its own.
 *
 * options: the options.
 * pump: has to live until the client is freed; NULL for none.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_pump(mcplink_client_options_t *options, mcplink_pump_t *pump);

/**
 * Lets a token end the connecting, from another thread: it fails then with MCPLINK_E_CANCELLED.
 *
 * options: the options.
 * cancel: may be freed before the options; NULL for none.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_cancel(mcplink_client_options_t *options, mcplink_cancel_t *cancel);

/**
 * Has the server started again when it was lost. Defaults to not at all. Needs a command or another way that can be made again.
 *
 * Calls that are in flight then fail with MCPLINK_E_CLOSED; calls that were not sent yet wait for the new server, within their deadline.
 *
 * options: the options.
 * max_attempts: how often to try in a row, for example 10; 0 for not at all.
 * first_delay_ms, max_delay_ms: how long to wait before the first attempt, and at most; in between the time doubles. For example 250 and 30000.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_restart(mcplink_client_options_t *options,
                                                    uint32_t max_attempts,
                                                    uint32_t first_delay_ms,
                                                    uint32_t max_delay_ms);

/**
 * Has calls that a lost server may have begun sent again by themselves, when doing them twice does no harm: reading, listing, and tools that
 * say so of themselves, as far as they were listed. Defaults to no. Only with mcplink_client_options_set_restart.
 *
 * options: the options.
 * resends: whether.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_resend_harmless(mcplink_client_options_t *options,
                                                            bool resends);

/**
 * Has a server pinged that has said nothing for a while, and given up when it does not answer. Defaults to no pings.
 *
 * options: the options.
 * interval_ms: after so much silence.
 * timeout_ms: how long it may take to answer, for example 30000.
 * max_failures: after how many unanswered pings in a row the connection ends, for example 3.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when a time is 0. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_keep_alive(mcplink_client_options_t *options,
                                                       uint32_t interval_ms,
                                                       uint32_t timeout_ms,
                                                       uint32_t max_failures);

/**
 * Has servers answer calls of tools with tasks, which are followed to their results by themselves. Declares the extension for it. Can't be
 * taken back.
 *
 * options: the options.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_take_tasks(mcplink_client_options_t *options);

/**
 * Declares an extension of the protocol.
 *
 * options: the options.
 * id: for example "com.example/thing".
 * settings, len: a JSON object; empty for none. MCPLINK_NUL measures it.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. An id that is none is found out when the client is opened. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_add_extension(mcplink_client_options_t *options,
                                                      const char *id,
                                                      const char *settings,
                                                      size_t len);

/**
 * Sets what takes the events of the client: what becomes of the connection, what changes on the server, what it logs.
 *
 * options: the options.
 * callback: NULL for none. Runs one at a time and in order, where the callbacks of the client run. Of changes and log messages 1024 wait at most.
 * user, destroy: passed to callback, and ended when another function is set, or when options and clients that have it are freed.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_on_event(mcplink_client_options_t *options,
                                                 mcplink_event_fn callback,
                                                 void *user,
                                                 mcplink_destroy_fn destroy);

/**
 * Sets what takes the notifications of one method, for extensions of the protocol.
 *
 * options: the options.
 * notification: the method, for example "notifications/com.example/thing".
 * callback: gets MCPLINK_EVENT_NOTIFICATION and the params. NULL for none. Where and how it runs: see mcplink_client_options_on_event.
 * user, destroy: as there.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_on_notification(mcplink_client_options_t *options,
                                                        const char *notification,
                                                        mcplink_event_fn callback,
                                                        void *user,
                                                        mcplink_destroy_fn destroy);

/**
 * Sets what takes what the library has to say to its host about this client.
 *
 * options: the options.
 * callback: NULL for none. Runs on any thread, and has to be quick.
 * user, destroy: passed to callback, and ended when another function is set, or when options and clients that have it are freed.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_log(mcplink_client_options_t *options,
                                                mcplink_log_fn callback,
                                                void *user,
                                                mcplink_destroy_fn destroy);

/**
 * Gives a token to the function that was asked for one: see mcplink_client_options_set_bearer_hook.
 *
 * token: what the function was given; valid until it returns.
 * text, len: the token, copied; MCPLINK_NUL measures it.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: that of the function. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_token_set(mcplink_token_t *token, const char *text, size_t len);

/**
 * Connects to a server that is started as a child process, and ended with the client: messages on its standard input and output.
 *
 * options: the options.
 * argv: the program and its arguments, NULL behind the last one, copied. No shell is involved. A name without a slash is looked for in PATH.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when there is no program. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_command(mcplink_client_options_t *options,
                                                    const char *const *argv);

/**
 * Sets an environment variable of the child. The others are inherited: see mcplink_client_options_clear_env.
 *
 * options: the options.
 * variable: its name.
 * variable_value: NULL keeps it from being inherited.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_env(mcplink_client_options_t *options,
                                                const char *variable,
                                                const char *variable_value);

/**
 * Has the child inherit no environment variable; those that are set, before or after, it gets.
 *
 * options: the options.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_clear_env(mcplink_client_options_t *options);

/**
 * Starts the child in a directory. Defaults to the working directory of this process.
 *
 * options: the options.
 * directory: a path; NULL for the default.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_cwd(mcplink_client_options_t *options, const char *directory);

/**
 * Says whether the child's standard input and output are pipes. Defaults to no: they are sockets. Only a program that opens /dev/stdin or
 * /dev/stdout by name needs pipes.
 *
 * options: the options.
 * pipes: whether.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_pipes(mcplink_client_options_t *options, bool pipes);

/**
 * Says what becomes of the child's standard error.
 *
 * options: the options.
 * mode: one of enum mcplink_stderr.
 * callback: with MCPLINK_STDERR_CAPTURE, takes each line; NULL for none. Runs where the callbacks of the client run. When 1024 lines wait, more
 * of them are only in mcplink_client_stderr_tail.
 * user, destroy: passed to callback, and ended when another one is set, or when options and clients that have it are freed.
 * Returns: MCPLINK_OK; MCPLINK_E_INVALID when there is no such mode, or a callback with another one. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_stderr(mcplink_client_options_t *options,
                                                   int32_t mode,
                                                   mcplink_line_fn callback,
                                                   void *user,
                                                   mcplink_destroy_fn destroy);

/**
 * Says how long closing may take: how long a child may take to leave after its standard input was closed, and once more after SIGTERM, before
 * it is killed (2 s); how long a server over HTTP may take to hear that the session has ended (1 s).
 *
 * options: the options.
 * milliseconds: at most an hour.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_close_ms(mcplink_client_options_t *options,
                                                     uint32_t milliseconds);

/**
 * Connects to a server over HTTP.
 *
 * options: the options.
 * url: http://host:port/path, or https. What is wrong with it is found out when the client is opened.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_url(mcplink_client_options_t *options, const char *url);

/**
 * Sends a header field with every request over HTTP. Its value appears in no error and no log.
 *
 * options: the options.
 * field: its name. What the library writes itself is refused when the client is opened.
 * field_value: its value.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_header(mcplink_client_options_t *options,
                                                   const char *field,
                                                   const char *field_value);

/**
 * Sends a token with every request over HTTP (Authorization: Bearer). It appears in no error and no log.
 *
 * options: the options.
 * token: NULL for none.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_bearer(mcplink_client_options_t *options, const char *token);

/**
 * Asks for a token before every request over HTTP, instead of one that stays the same.
 *
 * options: the options.
 * callback: see mcplink_bearer_fn; NULL for none.
 * user, destroy: passed to callback, and ended when another one is set, or when options and clients that have it are freed.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_bearer_hook(mcplink_client_options_t *options,
                                                        mcplink_bearer_fn callback,
                                                        void *user,
                                                        mcplink_destroy_fn destroy);

/**
 * Goes through a proxy. Defaults to none, whatever the environment says.
 *
 * options: the options.
 * url: http://, https://, socks4:// or socks5:// with host and port; "environment" for what HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY
 * say; NULL for none. What is wrong with it is found out when the client is opened.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_proxy(mcplink_client_options_t *options, const char *url);

/**
 * Follows redirects over HTTP to the same origin. Defaults to no. One to another origin is an error that names it, always.
 *
 * options: the options.
 * follows: whether.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_follow_redirects(mcplink_client_options_t *options, bool follows);

/**
 * Connects over two descriptors: pipes, sockets, terminals. Messages are lines.
 *
 * options: the options.
 * input, output: read from and written to; the same one for a socket. They have to stay open until the client is opened, which duplicates them;
 * they stay the caller's, and a peer sees the end of the connection only when the caller has closed them too.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID for a number that is no descriptor. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_fds(mcplink_client_options_t *options,
                                                ptrdiff_t input,
                                                ptrdiff_t output);

/**
 * Connects over a way of the host's own: see mcplink_transport_new.
 *
 * options: the options.
 * transport: serves one client; it stays the caller's, to be freed when the client is. NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_transport(mcplink_client_options_t *options, mcplink_transport_t *transport);

/**
 * Ends a call: it fails with MCPLINK_E_CANCELLED, unless its outcome is there already. The server is told.
 *
 * call: the call.
 * reason: for the server, one sentence; NULL for none.
 * Returns: MCPLINK_OK. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_call_cancel(mcplink_call_t *call, const char *reason);

/**
 * Waits for the outcome of a call. Its done function may run before or after this returns. May be called again, by several threads too.
 *
 * call: the call.
 * timeout_ms: for how long at most, in milliseconds; MCPLINK_FOREVER for no end of its own: a call has its own deadline.
 * out: receives the result, NULL without one. The caller's to free. NULL is fine.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK or MCPLINK_TOOL_ERROR with a result, MCPLINK_PENDING when the time is over, or the status of the call's failure.
 * MCPLINK_E_CLOSED also when another thread frees the handle. Threads: any; on the one that runs the callbacks of the client it answers what the
 * server asks meanwhile. Blocks: yes. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_call_wait(mcplink_call_t *call,
                                   uint32_t timeout_ms,
                                   mcplink_result_t **out,
                                   mcplink_error_t **err);

/**
 * Whether the outcome of a call is there.
 *
 * call: NULL for false.
 * Returns: true if so; its done function may still have to run. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API bool mcplink_call_is_done(const mcplink_call_t *call);

/**
 * Tells a call from all others of this process.
 *
 * call: NULL for 0.
 * Returns: a number of this library's own, from 1. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API uint64_t mcplink_call_id(const mcplink_call_t *call);

/**
 * Frees the handle of a call. The call goes on, and its done function will run; to end it, cancel it before.
 *
 * call: NULL is fine. Threads: any, in callbacks too. Blocks: no. Since 0.1.
 */
MCPLINK_API void mcplink_call_free(mcplink_call_t *call);

/**
 * Makes options with the defaults.
 *
 * Returns: options, the caller's to free; they may be used for many calls. Threads: any; one at a time changes them. Since 0.1.
 */
MCPLINK_API mcplink_call_options_t *mcplink_call_options_new(void);

/**
 * Frees options. Calls that were made with them go on.
 *
 * options: NULL is fine. Since 0.1.
 */
MCPLINK_API void mcplink_call_options_free(mcplink_call_options_t *options);

/**
 * Says how long to wait for the result, or for progress, which starts the time anew. It does not run while a person answers a question of the
 * server. Defaults to that of the client.
 *
 * options: the options.
 * milliseconds: MCPLINK_FOREVER for no end.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_call_options_set_timeout_ms(mcplink_call_options_t *options,
                                                     uint32_t milliseconds);

/**
 * Says how long to wait in all, however much progress there is. Defaults to that of the client.
 *
 * options: the options.
 * milliseconds: MCPLINK_FOREVER for no end.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_call_options_set_max_timeout_ms(mcplink_call_options_t *options, uint32_t milliseconds);

/**
 * Lets a token end the call.
 *
 * options: the options.
 * cancel: may be freed before the options; NULL for none.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_call_options_set_cancel(mcplink_call_options_t *options, mcplink_cancel_t *cancel);

/**
 * Sets what takes the progress of the call.
 *
 * options: the options.
 * callback: NULL for none. Of a blocking call it runs on the thread that calls, in order, before the call returns; of a started one where the
 * callbacks of the client run, where progress that waits gives way to newer one.
 * user, destroy: passed to callback, and ended when another one is set, or when options and calls that have it are over.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_call_options_on_progress(mcplink_call_options_t *options,
                                                  mcplink_progress_fn callback,
                                                  void *user,
                                                  mcplink_destroy_fn destroy);

/**
 * Sends a member of "_meta" along, for example a trace context.
 *
 * options: the options.
 * key: its name.
 * json, len: its value; MCPLINK_NUL measures it.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_call_options_set_meta(mcplink_call_options_t *options, const char *key, const char *json, size_t len);

/**
 * Asks a modern server for log messages while the call runs; they come as MCPLINK_EVENT_LOG_MESSAGE. Servers of the legacy era are told with
 * mcplink_client_set_log_level.
 *
 * options: the options.
 * log_level: the least severe one, 0 for debug, 1 info, 2 notice, 3 warning, 4 error, 5 critical, 6 alert, 7 emergency.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_call_options_set_log_level(mcplink_call_options_t *options,
                                                    int32_t log_level);

/**
 * Asks the server even if a result is kept that is still fresh. Defaults to no.
 *
 * options: the options.
 * bypasses: whether.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_call_options_set_bypass_cache(mcplink_call_options_t *options, bool bypasses);

/**
 * Calls a tool, and waits for its result.
 *
 * That the tool ran and failed is no failure of the call: the status is MCPLINK_TOOL_ERROR then, and the result says why.
 *
 * client: the client.
 * tool_name: the name of the tool.
 * arguments, len: a JSON object, copied; MCPLINK_NUL measures it. NULL for none.
 * options: how to wait; NULL for the defaults.
 * out: receives the result, NULL without one. The caller's to free.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK or MCPLINK_TOOL_ERROR with a result; MCPLINK_E_INVALID for wrong arguments of this function, MCPLINK_E_UNSUPPORTED when the
 * server has no tools, MCPLINK_E_PEER when it refuses, MCPLINK_E_TIMEOUT and MCPLINK_E_CANCELLED (the server is told), MCPLINK_E_CLOSED when it has
 * gone, MCPLINK_E_PROTOCOL when its answer is none. Threads: any; in callbacks too. Blocks: until there is an outcome. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_call_tool(mcplink_client_t *client,
                                          const char *tool_name,
                                          const char *arguments,
                                          size_t len,
                                          const mcplink_call_options_t *options,
                                          mcplink_result_t **out,
                                          mcplink_error_t **err);

/**
 * Starts to call a tool: as mcplink_client_call_tool, without waiting.
 *
 * All functions whose names end in _start are alike in this:
 *
 * callback: gets the outcome, exactly once, where the callbacks of the client run, behind the progress of the call. NULL is fine.
 * user, destroy: passed to callback, and ended behind it, or at once when the call can't be started.
 * out: receives a handle to wait with or to cancel with, the caller's to free. NULL is fine.
 * Returns: MCPLINK_OK when the call was started; MCPLINK_E_INVALID for wrong arguments, MCPLINK_E_STATE while the client is being connected,
 * MCPLINK_E_BUSY when as many calls go on as may (mcplink_client_options_set_max_started). All else comes as the outcome. Threads: any. Blocks:
 * no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_call_tool_start(mcplink_client_t *client,
                                                const char *tool_name,
                                                const char *arguments,
                                                size_t len,
                                                const mcplink_call_options_t *options,
                                                mcplink_done_fn callback,
                                                void *user,
                                                mcplink_destroy_fn destroy,
                                                mcplink_call_t **out,
                                                mcplink_error_t **err);

/**
 * Reads a resource.
 *
 * client: the client.
 * uri: of the resource.
 * options, out, err: as mcplink_client_call_tool. The result is {"contents":[...]}: see mcplink_result_text and mcplink_result_content_bytes.
 * Returns: as mcplink_client_call_tool; MCPLINK_E_PEER too when there is no such resource. Threads: any. Blocks: until there is an outcome. Since
 * 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_read_resource(mcplink_client_t *client,
                                              const char *uri,
                                              const mcplink_call_options_t *options,
                                              mcplink_result_t **out,
                                              mcplink_error_t **err);

/**
 * Starts to read a resource: as mcplink_client_read_resource, without waiting.
 *
 * callback, user, destroy, out: as mcplink_client_call_tool_start.
 * Returns: as mcplink_client_call_tool_start. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_read_resource_start(mcplink_client_t *client,
                                                    const char *uri,
                                                    const mcplink_call_options_t *options,
                                                    mcplink_done_fn callback,
                                                    void *user,
                                                    mcplink_destroy_fn destroy,
                                                    mcplink_call_t **out,
                                                    mcplink_error_t **err);

/**
 * Gets a prompt, with the values of its arguments.
 *
 * client: the client.
 * prompt_name: the name of the prompt.
 * arguments, len: a JSON object of strings, copied; MCPLINK_NUL measures it. NULL for none.
 * options, out, err: as mcplink_client_call_tool. The result is {"messages":[...]}.
 * Returns: as mcplink_client_call_tool. Threads: any. Blocks: until there is an outcome. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_get_prompt(mcplink_client_t *client,
                                           const char *prompt_name,
                                           const char *arguments,
                                           size_t len,
                                           const mcplink_call_options_t *options,
                                           mcplink_result_t **out,
                                           mcplink_error_t **err);

/**
 * Starts to get a prompt: as mcplink_client_get_prompt, without waiting.
 *
 * callback, user, destroy, out: as mcplink_client_call_tool_start.
 * Returns: as mcplink_client_call_tool_start. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_get_prompt_start(mcplink_client_t *client,
                                                 const char *prompt_name,
                                                 const char *arguments,
                                                 size_t len,
                                                 const mcplink_call_options_t *options,
                                                 mcplink_done_fn callback,
                                                 void *user,
                                                 mcplink_destroy_fn destroy,
                                                 mcplink_call_t **out,
                                                 mcplink_error_t **err);

/**
 * Asks how an argument of a prompt or of a resource template can be completed.
 *
 * client: the client.
 * kind: one of enum mcplink_completion.
 * target: the name of the prompt, or the URI template.
 * argument: which argument.
 * typed: what is typed so far; "" for nothing.
 * known, len: the other arguments that are known, a JSON object of strings; NULL for none. MCPLINK_NUL measures it.
 * options, out, err: as mcplink_client_call_tool. The result is {"completion":{"values":[...]}}.
 * Returns: as mcplink_client_call_tool. Threads: any. Blocks: until there is an outcome. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_complete(mcplink_client_t *client,
                                         int32_t kind,
                                         const char *target,
                                         const char *argument,
                                         const char *typed,
                                         const char *known,
                                         size_t len,
                                         const mcplink_call_options_t *options,
                                         mcplink_result_t **out,
                                         mcplink_error_t **err);

/**
 * Starts to ask how an argument can be completed: as mcplink_client_complete, without waiting.
 *
 * callback, user, destroy, out: as mcplink_client_call_tool_start.
 * Returns: as mcplink_client_call_tool_start. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_complete_start(mcplink_client_t *client,
                                               int32_t kind,
                                               const char *target,
                                               const char *argument,
                                               const char *typed,
                                               const char *known,
                                               size_t len,
                                               const mcplink_call_options_t *options,
                                               mcplink_done_fn callback,
                                               void *user,
                                               mcplink_destroy_fn destroy,
                                               mcplink_call_t **out,
                                               mcplink_error_t **err);

/**
 * Asks whether the server is there.
 *
 * client: the client.
 * options, err: as mcplink_client_call_tool.
 * Returns: MCPLINK_OK if it is, else as mcplink_client_call_tool. Threads: any. Blocks: until there is an outcome. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_ping(mcplink_client_t *client, const mcplink_call_options_t *options, mcplink_error_t **err);

/**
 * Starts to ask whether the server is there: as mcplink_client_ping, without waiting. The result is {}.
 *
 * callback, user, destroy, out: as mcplink_client_call_tool_start.
 * Returns: as mcplink_client_call_tool_start. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_ping_start(mcplink_client_t *client,
                                           const mcplink_call_options_t *options,
                                           mcplink_done_fn callback,
                                           void *user,
                                           mcplink_destroy_fn destroy,
                                           mcplink_call_t **out,
                                           mcplink_error_t **err);

/**
 * Sends a request of any method, for extensions of the protocol. What a modern server asks first is not answered: the result says so then.
 *
 * client: the client.
 * request: the method.
 * params, len: a JSON object, copied; MCPLINK_NUL measures it. NULL for none.
 * options, out, err: as mcplink_client_call_tool. The result is never MCPLINK_TOOL_ERROR.
 * Returns: as mcplink_client_call_tool. Threads: any. Blocks: until there is an outcome. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_request(mcplink_client_t *client,
                                        const char *request,
                                        const char *params,
                                        size_t len,
                                        const mcplink_call_options_t *options,
                                        mcplink_result_t **out,
                                        mcplink_error_t **err);

/**
 * Starts to send a request of any method: as mcplink_client_request, without waiting.
 *
 * callback, user, destroy, out: as mcplink_client_call_tool_start.
 * Returns: as mcplink_client_call_tool_start. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_request_start(mcplink_client_t *client,
                                              const char *request,
                                              const char *params,
                                              size_t len,
                                              const mcplink_call_options_t *options,
                                              mcplink_done_fn callback,
                                              void *user,
                                              mcplink_destroy_fn destroy,
                                              mcplink_call_t **out,
                                              mcplink_error_t **err);

/**
 * How it stands with a client.
 *
 * client: NULL for MCPLINK_CLIENT_NONE.
 * Returns: one of enum mcplink_client_state. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API int32_t mcplink_client_get_state(const mcplink_client_t *client);

/**
 * The revision of the protocol that is spoken, for example "2025-11-25".
 *
 * client: NULL for none.
 * Returns: text that is valid for ever; empty before the client is connected. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_client_revision(const mcplink_client_t *client);

/**
 * The era of the server, to be given to mcplink_client_options_set_era next time.
 *
 * client: NULL for MCPLINK_ERA_UNKNOWN.
 * Returns: one of enum mcplink_era. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API int32_t mcplink_client_get_era(const mcplink_client_t *client);

/**
 * Whether the server can do something.
 *
 * client: NULL for false.
 * capability: a path into what it declared: "tools", "tools.listChanged", "extensions.com.example/thing".
 * Returns: true if it declared it. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API bool mcplink_client_has(const mcplink_client_t *client, const char *capability);

/**
 * What the server said of itself.
 *
 * client: the client.
 * out: receives {"protocolVersion":"...","serverInfo":{"name":"...","version":"..."},"capabilities":{...},"instructions":"..."}, of which
 * serverInfo and instructions may be missing; NULL after a failure. The caller's to free, with mcplink_json_free.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK; MCPLINK_E_STATE before the client is connected. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_server_info(const mcplink_client_t *client, mcplink_json_t **out, mcplink_error_t **err);

/**
 * What a child wrote to its standard error of late: the last 64 KiB.
 *
 * client: the client.
 * out: receives a JSON string, empty when there is nothing or no child; NULL after a failure. See mcplink_json_str. The caller's to free, with
 * mcplink_json_free.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_stderr_tail(const mcplink_client_t *client,
                                            mcplink_json_t **out,
                                            mcplink_error_t **err);

/**
 * What happened on the connection so far, counted; after a restart on the new one.
 *
 * client: the client.
 * out: receives an object of numbers: callsInFlight, requestsInHand, queuedBytes, threads, lateResponses, unknownResponses, noise, malformed,
 * tooLong, refusedBusy, droppedNotifications, mergedProgress, cachedResponses, cachedBytes, cacheHits, cacheMisses; NULL after a failure. The
 * caller's to free, with mcplink_json_free.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK; MCPLINK_E_STATE before the client is connected. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_stats(const mcplink_client_t *client,
                                      mcplink_json_t **out,
                                      mcplink_error_t **err);

/**
 * Who waits for whom at the moment: calls that wait, what of the server's is in hand, who writes. For people; print it when something hangs.
 *
 * client: the client.
 * out: receives a JSON string; NULL after a failure. See mcplink_json_str. The caller's to free, with mcplink_json_free.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK; MCPLINK_E_STATE before the client is connected. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_activity(const mcplink_client_t *client,
                                         mcplink_json_t **out,
                                         mcplink_error_t **err);

/**
 * Lists the tools, all pages of them.
 *
 * A result that the server let be kept, and that is still fresh, is not asked for again: see mcplink_call_options_set_bypass_cache.
 *
 * client: the client.
 * options: hold for each page; NULL for the defaults.
 * out, err: as mcplink_client_call_tool. The result is {"tools":[...]}.
 * Returns: as mcplink_client_call_tool; MCPLINK_E_LIMIT when the list has too many pages or items. Threads: any. Blocks: until there is an
 * outcome. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_list_tools(mcplink_client_t *client,
                                           const mcplink_call_options_t *options,
                                           mcplink_result_t **out,
                                           mcplink_error_t **err);

/**
 * Starts to list the tools: as mcplink_client_list_tools, without waiting.
 *
 * callback, user, destroy, out: as mcplink_client_call_tool_start.
 * Returns: as mcplink_client_call_tool_start. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_list_tools_start(mcplink_client_t *client,
                                                 const mcplink_call_options_t *options,
                                                 mcplink_done_fn callback,
                                                 void *user,
                                                 mcplink_destroy_fn destroy,
                                                 mcplink_call_t **out,
                                                 mcplink_error_t **err);

/**
 * Lists the resources, all pages of them.
 *
 * client: the client.
 * options: hold for each page; NULL for the defaults.
 * out, err: as mcplink_client_call_tool. The result is {"resources":[...]}.
 * Returns: as mcplink_client_call_tool; MCPLINK_E_LIMIT when the list has too many pages or items. Threads: any. Blocks: until there is an
 * outcome. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_list_resources(mcplink_client_t *client,
                                               const mcplink_call_options_t *options,
                                               mcplink_result_t **out,
                                               mcplink_error_t **err);

/**
 * Starts to list the resources: as mcplink_client_list_resources, without waiting.
 *
 * callback, user, destroy, out: as mcplink_client_call_tool_start.
 * Returns: as mcplink_client_call_tool_start. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_list_resources_start(mcplink_client_t *client,
                                                     const mcplink_call_options_t *options,
                                                     mcplink_done_fn callback,
                                                     void *user,
                                                     mcplink_destroy_fn destroy,
                                                     mcplink_call_t **out,
                                                     mcplink_error_t **err);

/**
 * Lists the resource templates, all pages of them.
 *
 * client: the client.
 * options: hold for each page; NULL for the defaults.
 * out, err: as mcplink_client_call_tool. The result is {"resourceTemplates":[...]}.
 * Returns: as mcplink_client_call_tool; MCPLINK_E_LIMIT when the list has too many pages or items. Threads: any. Blocks: until there is an
 * outcome. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_list_templates(mcplink_client_t *client,
                                               const mcplink_call_options_t *options,
                                               mcplink_result_t **out,
                                               mcplink_error_t **err);

/**
 * Starts to list the resource templates: as mcplink_client_list_templates, without waiting.
 *
 * callback, user, destroy, out: as mcplink_client_call_tool_start.
 * Returns: as mcplink_client_call_tool_start. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_list_templates_start(mcplink_client_t *client,
                                                     const mcplink_call_options_t *options,
                                                     mcplink_done_fn callback,
                                                     void *user,
                                                     mcplink_destroy_fn destroy,
                                                     mcplink_call_t **out,
                                                     mcplink_error_t **err);

/**
 * Lists the prompts, all pages of them.
 *
 * client: the client.
 * options: hold for each page; NULL for the defaults.
 * out, err: as mcplink_client_call_tool. The result is {"prompts":[...]}.
 * Returns: as mcplink_client_call_tool; MCPLINK_E_LIMIT when the list has too many pages or items. Threads: any. Blocks: until there is an
 * outcome. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_list_prompts(mcplink_client_t *client,
                                             const mcplink_call_options_t *options,
                                             mcplink_result_t **out,
                                             mcplink_error_t **err);

/**
 * Starts to list the prompts: as mcplink_client_list_prompts, without waiting.
 *
 * callback, user, destroy, out: as mcplink_client_call_tool_start.
 * Returns: as mcplink_client_call_tool_start. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_list_prompts_start(mcplink_client_t *client,
                                                   const mcplink_call_options_t *options,
                                                   mcplink_done_fn callback,
                                                   void *user,
                                                   mcplink_destroy_fn destroy,
                                                   mcplink_call_t **out,
                                                   mcplink_error_t **err);

/**
 * Sends a notification of any method.
 *
 * client: the client.
 * notification: the method.
 * params, len: a JSON object; MCPLINK_NUL measures it. NULL for none.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK when it is on its way; MCPLINK_E_CLOSED when the server has gone, MCPLINK_E_UNSUPPORTED for a modern server over HTTP, which
 * takes requests only. Threads: any. Blocks: only while the server does not read. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_notify(mcplink_client_t *client,
                                       const char *notification,
                                       const char *params,
                                       size_t len,
                                       mcplink_error_t **err);

/**
 * Tells the server that the places which it may work in are others now: it asks for them again. Nothing is sent to a modern server, which asks
 * for each call that needs them.
 *
 * client: has to have a function for them: see mcplink_client_options_on_roots.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK; MCPLINK_E_UNSUPPORTED without such a function; else as mcplink_client_notify. Threads: any. Blocks: only while the server
 * does not read. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_roots_changed(mcplink_client_t *client,
                                              mcplink_error_t **err);

/**
 * Sets the least severe level of log messages that a server of the legacy era sends; they come as MCPLINK_EVENT_LOG_MESSAGE. A modern one is
 * asked with each call: see mcplink_call_options_set_log_level.
 *
 * client: the client.
 * log_level: as there.
 * options, err: as mcplink_client_call_tool.
 * Returns: MCPLINK_OK; MCPLINK_E_UNSUPPORTED for a modern server, and for one that does not log; else as mcplink_client_call_tool. Threads: any.
 * Blocks: until there is an outcome. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_set_log_level(mcplink_client_t *client,
                                              int32_t log_level,
                                              const mcplink_call_options_t *options,
                                              mcplink_error_t **err);

/**
 * Has changes of lists told as events, MCPLINK_EVENT_TOOLS_CHANGED and its like, from now on: in place of what was asked for before. It means
 * the same in both eras. With mcplink_client_options_set_restart it is asked anew of each server.
 *
 * client: the client.
 * filter, len: a JSON object of what is wanted: {"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,
 * "resourceSubscriptions":["uri"]}; MCPLINK_NUL measures it. NULL, or an object without any of them, for none.
 * options, err: as mcplink_client_call_tool.
 * out: receives what the server agreed to, an object like the filter, NULL after a failure. The caller's to free.
 * Returns: MCPLINK_OK; MCPLINK_E_INVALID when it is no filter; else as mcplink_client_call_tool. What was told before is still told after a
 * failure. Threads: any. Blocks: until the server has agreed. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_listen(mcplink_client_t *client,
                                       const char *filter,
                                       size_t len,
                                       const mcplink_call_options_t *options,
                                       mcplink_result_t **out,
                                       mcplink_error_t **err);

/**
 * Has changes of one resource told as MCPLINK_EVENT_RESOURCE_UPDATED, until mcplink_client_unsubscribe. It means the same in both eras.
 *
 * client: the client.
 * uri: of the resource.
 * options, err: as mcplink_client_call_tool.
 * Returns: MCPLINK_OK, when it was subscribed to already too; MCPLINK_E_UNSUPPORTED when the server does not agree to it; else as
 * mcplink_client_call_tool. Threads: any. Blocks: until the server has agreed. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_subscribe(mcplink_client_t *client,
                                          const char *uri,
                                          const mcplink_call_options_t *options,
                                          mcplink_error_t **err);

/**
 * Ends what mcplink_client_subscribe began.
 *
 * client: the client.
 * uri: of the resource.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK, when it was not subscribed to too. Threads: any. Blocks: only while the server does not read. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_unsubscribe(mcplink_client_t *client, const char *uri, mcplink_error_t **err);

/**
 * Drops the results of the server that are kept: all will be asked for again.
 *
 * client: the client.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_clear_cache(mcplink_client_t *client, mcplink_error_t **err);

/**
 * Opens a client: starts or reaches its server, and agrees on a revision of the protocol with it.
 *
 * options: copied; they stay the caller's. Exactly one of command, url, fds and transport is set.
 * out: receives the client, NULL after a failure. The caller's to free.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK; MCPLINK_E_INVALID when options are missing or contradict each other, MCPLINK_E_SPAWN when the child can't be started,
 * MCPLINK_E_CLOSED when the server left (see mcplink_error_peer_stderr), MCPLINK_E_TIMEOUT when it said nothing, MCPLINK_E_UNSUPPORTED when there
 * is no common revision, MCPLINK_E_PEER or MCPLINK_E_PROTOCOL when it refuses or answers nonsense, MCPLINK_E_CANCELLED when the token of the
 * options was triggered; over HTTP MCPLINK_E_IO, MCPLINK_E_AUTH and MCPLINK_E_HTTP. Threads: any. Blocks: until there is an outcome, at most
 * for the time of mcplink_client_options_set_connect_timeout_ms. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_open(const mcplink_client_options_t *options,
                                     mcplink_client_t **out,
                                     mcplink_error_t **err);

/**
 * Starts to open a client: as mcplink_client_open, without waiting. The outcome is an event: MCPLINK_EVENT_CONNECTED or MCPLINK_EVENT_FAILED. Calls
 * fail with MCPLINK_E_STATE before.
 *
 * options: copied; they stay the caller's. See mcplink_client_options_on_event.
 * out: receives the client, NULL after a failure. The caller's to free, at any time: that ends the connecting.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK when connecting was started; MCPLINK_E_INVALID when options are missing or contradict each other. Threads: any. Blocks: no.
 * Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_start(const mcplink_client_options_t *options,
                                      mcplink_client_t **out,
                                      mcplink_error_t **err);

/**
 * Closes the connection, and ends the server if it is a child process. Calls that wait fail with MCPLINK_E_CLOSED. What is known of the server
 * stays readable. Freeing closes too.
 *
 * client: the client.
 * timeout_ms: for how long to wait at most, in milliseconds; MCPLINK_FOREVER for no end of its own: closing has its own, see
 * mcplink_client_options_set_close_ms.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK, when it was closed before too; MCPLINK_E_TIMEOUT when it is still being closed, which goes on. Threads: any, in callbacks
 * too. Blocks: for that long. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_close(mcplink_client_t *client,
                                      uint32_t timeout_ms,
                                      mcplink_error_t **err);

/**
 * Closes a client and frees it. Started calls get their outcome before this returns, and no callback of the client runs after it. Within a callback
 * of the client it returns at once, and the rest happens when that returns.
 *
 * client: NULL is fine. Other threads may be in functions of it: they return MCPLINK_E_CLOSED. None may begin to use it. Threads: any. Blocks:
 * until the connection is closed, see mcplink_client_options_set_close_ms, and callbacks that run have returned. Since 0.1.
 */
MCPLINK_API
void mcplink_client_free(mcplink_client_t *client);

/**
 * Makes options with the defaults. They need to be told what to connect to: a command, a URL, two descriptors or a transport.
 *
 * Returns: options, the caller's to free. Threads: any; one at a time uses them. Since 0.1.
 */
MCPLINK_API mcplink_client_options_t *mcplink_client_options_new(void);

/**
 * Frees options. Clients that were opened with them stay.
 *
 * options: NULL is fine. Since 0.1.
 */
MCPLINK_API void mcplink_client_options_free(mcplink_client_options_t *options);

/**
 * Says who the client is. Defaults to the name and version of this library.
 *
 * options: the options.
 * client_name: for programs.
 * version: any text.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_info(mcplink_client_options_t *options,
                                                 const char *client_name,
                                                 const char *version);

/**
 * Says all of who the client is: {"name":"...","version":"...","title":"...","description":"...","websiteUrl":"...","icons":[...]}.
 *
 * options: the options.
 * json, len: the description; MCPLINK_NUL measures it.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when name or version is missing. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_info_json(mcplink_client_options_t *options, const char *json, size_t len);

/**
 * Says which revisions of the protocol may be spoken. Defaults to all; the newest that the server knows too is chosen.
 *
 * options: the options.
 * revisions: their dates, a space between two: "2025-11-25 2026-07-28".
 * Returns: MCPLINK_OK; MCPLINK_E_INVALID for none, MCPLINK_E_UNSUPPORTED for one that this library does not know. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_revisions(mcplink_client_options_t *options, const char *revisions);

/**
 * Says of which era the server is known to be, from mcplink_client_era of an earlier connection: it saves asking. It is no pin: a server that
 * proves to be of the other era is spoken to in that.
 *
 * options: the options.
 * era: one of enum mcplink_era; MCPLINK_ERA_UNKNOWN changes nothing.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_era(mcplink_client_options_t *options,
                                                int32_t era);

/**
 * Says how long connecting may take in all. Defaults to 60 s.
 *
 * options: the options.
 * milliseconds: MCPLINK_FOREVER for no end.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_connect_timeout_ms(mcplink_client_options_t *options, uint32_t milliseconds);

/**
 * Says how long a server may take to answer the first question before it is taken for a legacy one. Defaults to 5 s.
 *
 * options: the options.
 * milliseconds: not over HTTP, where silence says nothing.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_probe_timeout_ms(mcplink_client_options_t *options, uint32_t milliseconds);

/**
 * Says how long a call waits by default for its result, or for progress, which starts the time anew. Defaults to 60 s.
 *
 * options: the options.
 * milliseconds: MCPLINK_FOREVER for no end.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_timeout_ms(mcplink_client_options_t *options, uint32_t milliseconds);

/**
 * Says how long a call waits by default in all, however much progress there is. Defaults to 10 minutes.
 *
 * options: the options.
 * milliseconds: MCPLINK_FOREVER for no end.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_max_timeout_ms(mcplink_client_options_t *options, uint32_t milliseconds);

/**
 * Says how long a message may be that is accepted. Defaults to 16 MiB. The same as MCPLINK_LIMIT_MESSAGE_BYTES.
 *
 * options: the options.
 * bytes: how many.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_max_message(mcplink_client_options_t *options, size_t bytes);

/**
 * Sets an upper bound of the connection.
 *
 * options: the options.
 * number: one of enum mcplink_limit.
 * limit_value: the bound.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when there is no such limit. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_limit(mcplink_client_options_t *options, int32_t number, size_t limit_value);

/**
 * Says how many started calls may go on at once, each of which has a thread. Defaults to 256; the next one fails with MCPLINK_E_BUSY.
 *
 * options: the options.
 * count: at least 1.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID for 0. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_max_started(mcplink_client_options_t *options, size_t count);

/**
 * Has the callbacks of the client run where a pump is dispatched, instead of on a thread of its own.
 *
 * options: the options.
 * pump: has to live until the client is freed; NULL for none.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_pump(mcplink_client_options_t *options, mcplink_pump_t *pump);

/**
 * Lets a token end the connecting, from another thread: it fails then with MCPLINK_E_CANCELLED.
 *
 * options: the options.
 * cancel: may be freed before the options; NULL for none.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_cancel(mcplink_client_options_t *options, mcplink_cancel_t *cancel);

/**
 * Has the server started again when it was lost. Defaults to not at all. Needs a command or another way that can be made again.
 *
 * Calls that are in flight then fail with MCPLINK_E_CLOSED; calls that were not sent yet wait for the new server, within their deadline.
 *
 * options: the options.
 * max_attempts: how often to try in a row, for example 10; 0 for not at all.
 * first_delay_ms, max_delay_ms: how long to wait before the first attempt, and at most; in between the time doubles. For example 250 and 30000.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_restart(mcplink_client_options_t *options,
                                                    uint32_t max_attempts,
                                                    uint32_t first_delay_ms,
                                                    uint32_t max_delay_ms);

/**
 * Has calls that a lost server may have begun sent again by themselves, when doing them twice does no harm: reading, listing, and tools that
 * say so of themselves, as far as they were listed. Defaults to no. Only with mcplink_client_options_set_restart.
 *
 * options: the options.
 * resends: whether.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_resend_harmless(mcplink_client_options_t *options,
                                                            bool resends);

/**
 * Has a server pinged that has said nothing for a while, and given up when it does not answer. Defaults to no pings.
 *
 * options: the options.
 * interval_ms: after so much silence.
 * timeout_ms: how long it may take to answer, for example 30000.
 * max_failures: after how many unanswered pings in a row the connection ends, for example 3.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when a time is 0. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_keep_alive(mcplink_client_options_t *options,
                                                       uint32_t interval_ms,
                                                       uint32_t timeout_ms,
                                                       uint32_t max_failures);

/**
 * Has servers answer calls of tools with tasks, which are followed to their results by themselves. Declares the extension for it. Can't be
 * taken back.
 *
 * options: the options.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_take_tasks(mcplink_client_options_t *options);

/**
 * Declares an extension of the protocol.
 *
 * options: the options.
 * id: for example "com.example/thing".
 * settings, len: a JSON object; empty for none. MCPLINK_NUL measures it.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. An id that is none is found out when the client is opened. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_add_extension(mcplink_client_options_t *options,
                                                      const char *id,
                                                      const char *settings,
                                                      size_t len);

/**
 * Sets what takes the events of the client: what becomes of the connection, what changes on the server, what it logs.
 *
 * options: the options.
 * callback: NULL for none. Runs one at a time and in order, where the callbacks of the client run. Of changes and log messages 1024 wait at most.
 * user, destroy: passed to callback, and ended when another function is set, or when options and clients that have it are freed.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_on_event(mcplink_client_options_t *options,
                                                 mcplink_event_fn callback,
                                                 void *user,
                                                 mcplink_destroy_fn destroy);

/**
 * Sets what takes the notifications of one method, for extensions of the protocol.
 *
 * options: the options.
 * notification: the method, for example "notifications/com.example/thing".
 * callback: gets MCPLINK_EVENT_NOTIFICATION and the params. NULL for none. Where and how it runs: see mcplink_client_options_on_event.
 * user, destroy: as there.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_on_notification(mcplink_client_options_t *options,
                                                        const char *notification,
                                                        mcplink_event_fn callback,
                                                        void *user,
                                                        mcplink_destroy_fn destroy);

/**
 * Sets what takes what the library has to say to its host about this client.
 *
 * options: the options.
 * callback: NULL for none. Runs on any thread, and has to be quick.
 * user, destroy: passed to callback, and ended when another function is set, or when options and clients that have it are freed.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_log(mcplink_client_options_t *options,
                                                mcplink_log_fn callback,
                                                void *user,
                                                mcplink_destroy_fn destroy);

/**
 * Gives a token to the function that was asked for one: see mcplink_client_options_set_bearer_hook.
 *
 * token: what the function was given; valid until it returns.
 * text, len: the token, copied; MCPLINK_NUL measures it.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: that of the function. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_token_set(mcplink_token_t *token, const char *text, size_t len);

/**
 * Connects to a server that is started as a child process, and ended with the client: messages on its standard input and output.
 *
 * options: the options.
 * argv: the program and its arguments, NULL behind the last one, copied. No shell is involved. A name without a slash is looked for in PATH.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when there is no program. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_command(mcplink_client_options_t *options,
                                                    const char *const *argv);

/**
 * Sets an environment variable of the child. The others are inherited: see mcplink_client_options_clear_env.
 *
 * options: the options.
 * variable: its name.
 * variable_value: NULL keeps it from being inherited.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_env(mcplink_client_options_t *options,
                                                const char *variable,
                                                const char *variable_value);

/**
 * Has the child inherit no environment variable; those that are set, before or after, it gets.
 *
 * options: the options.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_clear_env(mcplink_client_options_t *options);

/**
 * Starts the child in a directory. Defaults to the working directory of this process.
 *
 * options: the options.
 * directory: a path; NULL for the default.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_cwd(mcplink_client_options_t *options, const char *directory);

/**
 * Says whether the child's standard input and output are pipes. Defaults to no: they are sockets. Only a program that opens /dev/stdin or
 * /dev/stdout by name needs pipes.
 *
 * options: the options.
 * pipes: whether.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_pipes(mcplink_client_options_t *options, bool pipes);

/**
 * Says what becomes of the child's standard error.
 *
 * options: the options.
 * mode: one of enum mcplink_stderr.
 * callback: with MCPLINK_STDERR_CAPTURE, takes each line; NULL for none. Runs where the callbacks of the client run. When 1024 lines wait, more
 * of them are only in mcplink_client_stderr_tail.
 * user, destroy: passed to callback, and ended when another one is set, or when options and clients that have it are freed.
 * Returns: MCPLINK_OK; MCPLINK_E_INVALID when there is no such mode, or a callback with another one. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_stderr(mcplink_client_options_t *options,
                                                   int32_t mode,
                                                   mcplink_line_fn callback,
                                                   void *user,
                                                   mcplink_destroy_fn destroy);

/**
 * Says how long closing may take: how long a child may take to leave after its standard input was closed, and once more after SIGTERM, before
 * it is killed (2 s); how long a server over HTTP may take to hear that the session has ended (1 s).
 *
 * options: the options.
 * milliseconds: at most an hour.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_close_ms(mcplink_client_options_t *options,
                                                     uint32_t milliseconds);

/**
 * Connects to a server over HTTP.
 *
 * options: the options.
 * url: http://host:port/path, or https. What is wrong with it is found out when the client is opened.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_url(mcplink_client_options_t *options, const char *url);

/**
 * Sends a header field with every request over HTTP. Its value appears in no error and no log.
 *
 * options: the options.
 * field: its name. What the library writes itself is refused when the client is opened.
 * field_value: its value.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_header(mcplink_client_options_t *options,
                                                   const char *field,
                                                   const char *field_value);

/**
 * Sends a token with every request over HTTP (Authorization: Bearer). It appears in no error and no log.
 *
 * options: the options.
 * token: NULL for none.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_bearer(mcplink_client_options_t *options, const char *token);

/**
 * Asks for a token before every request over HTTP, instead of one that stays the same.
 *
 * options: the options.
 * callback: see mcplink_bearer_fn; NULL for none.
 * user, destroy: passed to callback, and ended when another one is set, or when options and clients that have it are freed.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_bearer_hook(mcplink_client_options_t *options,
                                                        mcplink_bearer_fn callback,
                                                        void *user,
                                                        mcplink_destroy_fn destroy);

/**
 * Goes through a proxy. Defaults to none, whatever the environment says.
 *
 * options: the options.
 * url: http://, https://, socks4:// or socks5:// with host and port; "environment" for what HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY
 * say; NULL for none. What is wrong with it is found out when the client is opened.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_proxy(mcplink_client_options_t *options, const char *url);

/**
 * Follows redirects over HTTP to the same origin. Defaults to no. One to another origin is an error that names it, always.
 *
 * options: the options.
 * follows: whether.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_follow_redirects(mcplink_client_options_t *options, bool follows);

/**
 * Connects over two descriptors: pipes, sockets, terminals. Messages are lines.
 *
 * options: the options.
 * input, output: read from and written to; the same one for a socket. They have to stay open until the client is opened, which duplicates them;
 * they stay the caller's, and a peer sees the end of the connection only when the caller has closed them too.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID for a number that is no descriptor. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_fds(mcplink_client_options_t *options,
                                                ptrdiff_t input,
                                                ptrdiff_t output);

/**
 * Connects over a way of the host's own: see mcplink_transport_new.
 *
 * options: the options.
 * transport: serves one client; it stays the caller's, to be freed when the client is. NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_transport(mcplink_client_options_t *options, mcplink_transport_t *transport);

/**
 * Opens a client: starts or reaches its server, and agrees on a revision of the protocol with it.
 *
 * options: copied; they stay the caller's. Exactly one of command, url, fds and transport is set.
 * out: receives the client, NULL after a failure. The caller's to free.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK; MCPLINK_E_INVALID when options are missing or contradict each other, MCPLINK_E_SPAWN when the child can't be started,
 * MCPLINK_E_CLOSED when the server left (see mcplink_error_peer_stderr), MCPLINK_E_TIMEOUT when it said nothing, MCPLINK_E_UNSUPPORTED when there
 * is no common revision, MCPLINK_E_PEER or MCPLINK_E_PROTOCOL when it refuses or answers nonsense, MCPLINK_E_CANCELLED when the token of the
 * options was triggered; over HTTP MCPLINK_E_IO, MCPLINK_E_AUTH and MCPLINK_E_HTTP. Threads: any. Blocks: until there is an outcome, at most
 * for the time of mcplink_client_options_set_connect_timeout_ms. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_open(const mcplink_client_options_t *options,
                                     mcplink_client_t **out,
                                     mcplink_error_t **err);

/**
 * Starts to open a client: as mcplink_client_open, without waiting. The outcome is an event: MCPLINK_EVENT_CONNECTED or MCPLINK_EVENT_FAILED. Calls
 * fail with MCPLINK_E_STATE before.
 *
 * options: copied; they stay the caller's. See mcplink_client_options_on_event.
 * out: receives the client, NULL after a failure. The caller's to free, at any time: that ends the connecting.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK when connecting was started; MCPLINK_E_INVALID when options are missing or contradict each other. Threads: any. Blocks: no.
 * Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_start(const mcplink_client_options_t *options,
                                      mcplink_client_t **out,
                                      mcplink_error_t **err);

/**
 * Closes the connection, and ends the server if it is a child process. Calls that wait fail with MCPLINK_E_CLOSED. What is known of the server
 * stays readable. Freeing closes too.
 *
 * client: the client.
 * timeout_ms: for how long to wait at most, in milliseconds; MCPLINK_FOREVER for no end of its own: closing has its own, see
 * mcplink_client_options_set_close_ms.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK, when it was closed before too; MCPLINK_E_TIMEOUT when it is still being closed, which goes on. Threads: any, in callbacks
 * too. Blocks: for that long. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_close(mcplink_client_t *client,
                                      uint32_t timeout_ms,
                                      mcplink_error_t **err);

/**
 * Closes a client and frees it. Started calls get their outcome before this returns, and no callback of the client runs after it. Within a callback
 * of the client it returns at once, and the rest happens when that returns.
 *
 * client: NULL is fine. Other threads may be in functions of it: they return MCPLINK_E_CLOSED. None may begin to use it. Threads: any. Blocks:
 * until the connection is closed, see mcplink_client_options_set_close_ms, and callbacks that run have returned. Since 0.1.
 */
MCPLINK_API
void mcplink_client_free(mcplink_client_t *client);

/**
 * How it stands with a client.
 *
 * client: NULL for MCPLINK_CLIENT_NONE.
 * Returns: one of enum mcplink_client_state. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API int32_t mcplink_client_get_state(const mcplink_client_t *client);

/**
 * The revision of the protocol that is spoken, for example "2025-11-25".
 *
 * client: NULL for none.
 * Returns: text that is valid for ever; empty before the client is connected. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_client_revision(const mcplink_client_t *client);

/**
 * The era of the server, to be given to mcplink_client_options_set_era next time.
 *
 * client: NULL for MCPLINK_ERA_UNKNOWN.
 * Returns: one of enum mcplink_era. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API int32_t mcplink_client_get_era(const mcplink_client_t *client);

/**
 * Whether the server can do something.
 *
 * client: NULL for false.
 * capability: a path into what it declared: "tools", "tools.listChanged", "extensions.com.example/thing".
 * Returns: true if it declared it. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API bool mcplink_client_has(const mcplink_client_t *client, const char *capability);

/**
 * What the server said of itself.
 *
 * client: the client.
 * out: receives {"protocolVersion":"...","serverInfo":{"name":"...","version":"..."},"capabilities":{...},"instructions":"..."}, of which
 * serverInfo and instructions may be missing; NULL after a failure. The caller's to free, with mcplink_json_free.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK; MCPLINK_E_STATE before the client is connected. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_server_info(const mcplink_client_t *client, mcplink_json_t **out, mcplink_error_t **err);

/**
 * What a child wrote to its standard error of late: the last 64 KiB.
 *
 * client: the client.
 * out: receives a JSON string, empty when there is nothing or no child; NULL after a failure. See mcplink_json_str. The caller's to free, with
 * mcplink_json_free.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_stderr_tail(const mcplink_client_t *client,
                                            mcplink_json_t **out,
                                            mcplink_error_t **err);

/**
 * What happened on the connection so far, counted; after a restart on the new one.
 *
 * client: the client.
 * out: receives an object of numbers: callsInFlight, requestsInHand, queuedBytes, threads, lateResponses, unknownResponses, noise, malformed,
 * tooLong, refusedBusy, droppedNotifications, mergedProgress, cachedResponses, cachedBytes, cacheHits, cacheMisses; NULL after a failure. The
 * caller's to free, with mcplink_json_free.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK; MCPLINK_E_STATE before the client is connected. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_stats(const mcplink_client_t *client,
                                      mcplink_json_t **out,
                                      mcplink_error_t **err);

/**
 * Who waits for whom at the moment: calls that wait, what of the server's is in hand, who writes. For people; print it when something hangs.
 *
 * client: the client.
 * out: receives a JSON string; NULL after a failure. See mcplink_json_str. The caller's to free, with mcplink_json_free.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK; MCPLINK_E_STATE before the client is connected. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_activity(const mcplink_client_t *client,
                                         mcplink_json_t **out,
                                         mcplink_error_t **err);

/**
 * Makes options with the defaults.
 *
 * Returns: options, the caller's to free; they may be used for many calls. Threads: any; one at a time changes them. Since 0.1.
 */
MCPLINK_API mcplink_call_options_t *mcplink_call_options_new(void);

/**
 * Frees options. Calls that were made with them go on.
 *
 * options: NULL is fine. Since 0.1.
 */
MCPLINK_API void mcplink_call_options_free(mcplink_call_options_t *options);

/**
 * Says how long to wait for the result, or for progress, which starts the time anew. It does not run while a person answers a question of the
 * server. Defaults to that of the client.
 *
 * options: the options.
 * milliseconds: MCPLINK_FOREVER for no end.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_call_options_set_timeout_ms(mcplink_call_options_t *options,
                                                     uint32_t milliseconds);

/**
 * Says how long to wait in all, however much progress there is. Defaults to that of the client.
 *
 * options: the options.
 * milliseconds: MCPLINK_FOREVER for no end.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_call_options_set_max_timeout_ms(mcplink_call_options_t *options, uint32_t milliseconds);

/**
 * Lets a token end the call.
 *
 * options: the options.
 * cancel: may be freed before the options; NULL for none.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_call_options_set_cancel(mcplink_call_options_t *options, mcplink_cancel_t *cancel);

/**
 * Sets what takes the progress of the call.
 *
 * options: the options.
 * callback: NULL for none. Of a blocking call it runs on the thread that calls, in order, before the call returns; of a started one where the
 * callbacks of the client run, where progress that waits gives way to newer one.
 * user, destroy: passed to callback, and ended when another one is set, or when options and calls that have it are over.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_call_options_on_progress(mcplink_call_options_t *options,
                                                  mcplink_progress_fn callback,
                                                  void *user,
                                                  mcplink_destroy_fn destroy);

/**
 * Sends a member of "_meta" along, for example a trace context.
 *
 * options: the options.
 * key: its name.
 * json, len: its value; MCPLINK_NUL measures it.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_call_options_set_meta(mcplink_call_options_t *options, const char *key, const char *json, size_t len);

/**
 * Asks a modern server for log messages while the call runs; they come as MCPLINK_EVENT_LOG_MESSAGE. Servers of the legacy era are told with
 * mcplink_client_set_log_level.
 *
 * options: the options.
 * log_level: the least severe one, 0 for debug, 1 info, 2 notice, 3 warning, 4 error, 5 critical, 6 alert, 7 emergency.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_call_options_set_log_level(mcplink_call_options_t *options,
                                                    int32_t log_level);

/**
 * Asks the server even if a result is kept that is still fresh. Defaults to no.
 *
 * options: the options.
 * bypasses: whether.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_call_options_set_bypass_cache(mcplink_call_options_t *options, bool bypasses);

/**
 * Ends a call: it fails with MCPLINK_E_CANCELLED, unless its outcome is there already. The server is told.
 *
 * call: the call.
 * reason: for the server, one sentence; NULL for none.
 * Returns: MCPLINK_OK. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_call_cancel(mcplink_call_t *call, const char *reason);

/**
 * Waits for the outcome of a call. Its done function may run before or after this returns. May be called again, by several threads too.
 *
 * call: the call.
 * timeout_ms: for how long at most, in milliseconds; MCPLINK_FOREVER for no end of its own: a call has its own deadline.
 * out: receives the result, NULL without one. The caller's to free. NULL is fine.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK or MCPLINK_TOOL_ERROR with a result, MCPLINK_PENDING when the time is over, or the status of the call's failure.
 * MCPLINK_E_CLOSED also when another thread frees the handle. Threads: any; on the one that runs the callbacks of the client it answers what the
 * server asks meanwhile. Blocks: yes. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_call_wait(mcplink_call_t *call,
                                   uint32_t timeout_ms,
                                   mcplink_result_t **out,
                                   mcplink_error_t **err);

/**
 * Whether the outcome of a call is there.
 *
 * call: NULL for false.
 * Returns: true if so; its done function may still have to run. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API bool mcplink_call_is_done(const mcplink_call_t *call);

/**
 * Tells a call from all others of this process.
 *
 * call: NULL for 0.
 * Returns: a number of this library's own, from 1. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API uint64_t mcplink_call_id(const mcplink_call_t *call);

/**
 * Frees the handle of a call. The call goes on, and its done function will run; to end it, cancel it before.
 *
 * call: NULL is fine. Threads: any, in callbacks too. Blocks: no. Since 0.1.
 */
MCPLINK_API void mcplink_call_free(mcplink_call_t *call);

/**
 * Calls a tool, and waits for its result.
 *
 * That the tool ran and failed is no failure of the call: the status is MCPLINK_TOOL_ERROR then, and the result says why.
 *
 * client: the client.
 * tool_name: the name of the tool.
 * arguments, len: a JSON object, copied; MCPLINK_NUL measures it. NULL for none.
 * options: how to wait; NULL for the defaults.
 * out: receives the result, NULL without one. The caller's to free.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK or MCPLINK_TOOL_ERROR with a result; MCPLINK_E_INVALID for wrong arguments of this function, MCPLINK_E_UNSUPPORTED when the
 * server has no tools, MCPLINK_E_PEER when it refuses, MCPLINK_E_TIMEOUT and MCPLINK_E_CANCELLED (the server is told), MCPLINK_E_CLOSED when it has
 * gone, MCPLINK_E_PROTOCOL when its answer is none. Threads: any; in callbacks too. Blocks: until there is an outcome. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_call_tool(mcplink_client_t *client,
                                          const char *tool_name,
                                          const char *arguments,
                                          size_t len,
                                          const mcplink_call_options_t *options,
                                          mcplink_result_t **out,
                                          mcplink_error_t **err);

/**
 * Starts to call a tool: as mcplink_client_call_tool, without waiting.
 *
 * All functions whose names end in _start are alike in this:
 *
 * callback: gets the outcome, exactly once, where the callbacks of the client run, behind the progress of the call. NULL is fine.
 * user, destroy: passed to callback, and ended behind it, or at once when the call can't be started.
 * out: receives a handle to wait with or to cancel with, the caller's to free. NULL is fine.
 * Returns: MCPLINK_OK when the call was started; MCPLINK_E_INVALID for wrong arguments, MCPLINK_E_STATE while the client is being connected,
 * MCPLINK_E_BUSY when as many calls go on as may (mcplink_client_options_set_max_started). All else comes as the outcome. Threads: any. Blocks:
 * no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_call_tool_start(mcplink_client_t *client,
                                                const char *tool_name,
                                                const char *arguments,
                                                size_t len,
                                                const mcplink_call_options_t *options,
                                                mcplink_done_fn callback,
                                                void *user,
                                                mcplink_destroy_fn destroy,
                                                mcplink_call_t **out,
                                                mcplink_error_t **err);

/**
 * Reads a resource.
 *
 * client: the client.
 * uri: of the resource.
 * options, out, err: as mcplink_client_call_tool. The result is {"contents":[...]}: see mcplink_result_text and mcplink_result_content_bytes.
 * Returns: as mcplink_client_call_tool; MCPLINK_E_PEER too when there is no such resource. Threads: any. Blocks: until there is an outcome. Since
 * 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_read_resource(mcplink_client_t *client,
                                              const char *uri,
                                              const mcplink_call_options_t *options,
                                              mcplink_result_t **out,
                                              mcplink_error_t **err);

/**
 * Starts to read a resource: as mcplink_client_read_resource, without waiting.
 *
 * callback, user, destroy, out: as mcplink_client_call_tool_start.
 * Returns: as mcplink_client_call_tool_start. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_read_resource_start(mcplink_client_t *client,
                                                    const char *uri,
                                                    const mcplink_call_options_t *options,
                                                    mcplink_done_fn callback,
                                                    void *user,
                                                    mcplink_destroy_fn destroy,
                                                    mcplink_call_t **out,
                                                    mcplink_error_t **err);

/**
 * Gets a prompt, with the values of its arguments.
 *
 * client: the client.
 * prompt_name: the name of the prompt.
 * arguments, len: a JSON object of strings, copied; MCPLINK_NUL measures it. NULL for none.
 * options, out, err: as mcplink_client_call_tool. The result is {"messages":[...]}.
 * Returns: as mcplink_client_call_tool. Threads: any. Blocks: until there is an outcome. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_get_prompt(mcplink_client_t *client,
                                           const char *prompt_name,
                                           const char *arguments,
                                           size_t len,
                                           const mcplink_call_options_t *options,
                                           mcplink_result_t **out,
                                           mcplink_error_t **err);

/**
 * Starts to get a prompt: as mcplink_client_get_prompt, without waiting.
 *
 * callback, user, destroy, out: as mcplink_client_call_tool_start.
 * Returns: as mcplink_client_call_tool_start. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_get_prompt_start(mcplink_client_t *client,
                                                 const char *prompt_name,
                                                 const char *arguments,
                                                 size_t len,
                                                 const mcplink_call_options_t *options,
                                                 mcplink_done_fn callback,
                                                 void *user,
                                                 mcplink_destroy_fn destroy,
                                                 mcplink_call_t **out,
                                                 mcplink_error_t **err);

/**
 * Asks how an argument of a prompt or of a resource template can be completed.
 *
 * client: the client.
 * kind: one of enum mcplink_completion.
 * target: the name of the prompt, or the URI template.
 * argument: which argument.
 * typed: what is typed so far; "" for nothing.
 * known, len: the other arguments that are known, a JSON object of strings; NULL for none. MCPLINK_NUL measures it.
 * options, out, err: as mcplink_client_call_tool. The result is {"completion":{"values":[...]}}.
 * Returns: as mcplink_client_call_tool. Threads: any. Blocks: until there is an outcome. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_complete(mcplink_client_t *client,
                                         int32_t kind,
                                         const char *target,
                                         const char *argument,
                                         const char *typed,
                                         const char *known,
                                         size_t len,
                                         const mcplink_call_options_t *options,
                                         mcplink_result_t **out,
                                         mcplink_error_t **err);

/**
 * Starts to ask how an argument can be completed: as mcplink_client_complete, without waiting.
 *
 * callback, user, destroy, out: as mcplink_client_call_tool_start.
 * Returns: as mcplink_client_call_tool_start. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_complete_start(mcplink_client_t *client,
                                               int32_t kind,
                                               const char *target,
                                               const char *argument,
                                               const char *typed,
                                               const char *known,
                                               size_t len,
                                               const mcplink_call_options_t *options,
                                               mcplink_done_fn callback,
                                               void *user,
                                               mcplink_destroy_fn destroy,
                                               mcplink_call_t **out,
                                               mcplink_error_t **err);

/**
 * Asks whether the server is there.
 *
 * client: the client.
 * options, err: as mcplink_client_call_tool.
 * Returns: MCPLINK_OK if it is, else as mcplink_client_call_tool. Threads: any. Blocks: until there is an outcome. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_ping(mcplink_client_t *client, const mcplink_call_options_t *options, mcplink_error_t **err);

/**
 * Starts to ask whether the server is there: as mcplink_client_ping, without waiting. The result is {}.
 *
 * callback, user, destroy, out: as mcplink_client_call_tool_start.
 * Returns: as mcplink_client_call_tool_start. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_ping_start(mcplink_client_t *client,
                                           const mcplink_call_options_t *options,
                                           mcplink_done_fn callback,
                                           void *user,
                                           mcplink_destroy_fn destroy,
                                           mcplink_call_t **out,
                                           mcplink_error_t **err);

/**
 * Sends a request of any method, for extensions of the protocol. What a modern server asks first is not answered: the result says so then.
 *
 * client: the client.
 * request: the method.
 * params, len: a JSON object, copied; MCPLINK_NUL measures it. NULL for none.
 * options, out, err: as mcplink_client_call_tool. The result is never MCPLINK_TOOL_ERROR.
 * Returns: as mcplink_client_call_tool. Threads: any. Blocks: until there is an outcome. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_request(mcplink_client_t *client,
                                        const char *request,
                                        const char *params,
                                        size_t len,
                                        const mcplink_call_options_t *options,
                                        mcplink_result_t **out,
                                        mcplink_error_t **err);

/**
 * Starts to send a request of any method: as mcplink_client_request, without waiting.
 *
 * callback, user, destroy, out: as mcplink_client_call_tool_start.
 * Returns: as mcplink_client_call_tool_start. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_request_start(mcplink_client_t *client,
                                              const char *request,
                                              const char *params,
                                              size_t len,
                                              const mcplink_call_options_t *options,
                                              mcplink_done_fn callback,
                                              void *user,
                                              mcplink_destroy_fn destroy,
                                              mcplink_call_t **out,
                                              mcplink_error_t **err);

/**
 * Lists the tools, all pages of them.
 *
 * A result that the server let be kept, and that is still fresh, is not asked for again: see mcplink_call_options_set_bypass_cache.
 *
 * client: the client.
 * options: hold for each page; NULL for the defaults.
 * out, err: as mcplink_client_call_tool. The result is {"tools":[...]}.
 * Returns: as mcplink_client_call_tool; MCPLINK_E_LIMIT when the list has too many pages or items. Threads: any. Blocks: until there is an
 * outcome. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_list_tools(mcplink_client_t *client,
                                           const mcplink_call_options_t *options,
                                           mcplink_result_t **out,
                                           mcplink_error_t **err);

/**
 * Starts to list the tools: as mcplink_client_list_tools, without waiting.
 *
 * callback, user, destroy, out: as mcplink_client_call_tool_start.
 * Returns: as mcplink_client_call_tool_start. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_list_tools_start(mcplink_client_t *client,
                                                 const mcplink_call_options_t *options,
                                                 mcplink_done_fn callback,
                                                 void *user,
                                                 mcplink_destroy_fn destroy,
                                                 mcplink_call_t **out,
                                                 mcplink_error_t **err);

/**
 * Lists the resources, all pages of them.
 *
 * client: the client.
 * options: hold for each page; NULL for the defaults.
 * out, err: as mcplink_client_call_tool. The result is {"resources":[...]}.
 * Returns: as mcplink_client_call_tool; MCPLINK_E_LIMIT when the list has too many pages or items. Threads: any. Blocks: until there is an
 * outcome. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_list_resources(mcplink_client_t *client,
                                               const mcplink_call_options_t *options,
                                               mcplink_result_t **out,
                                               mcplink_error_t **err);

/**
 * Starts to list the resources: as mcplink_client_list_resources, without waiting.
 *
 * callback, user, destroy, out: as mcplink_client_call_tool_start.
 * Returns: as mcplink_client_call_tool_start. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_list_resources_start(mcplink_client_t *client,
                                                     const mcplink_call_options_t *options,
                                                     mcplink_done_fn callback,
                                                     void *user,
                                                     mcplink_destroy_fn destroy,
                                                     mcplink_call_t **out,
                                                     mcplink_error_t **err);

/**
 * Lists the resource templates, all pages of them.
 *
 * client: the client.
 * options: hold for each page; NULL for the defaults.
 * out, err: as mcplink_client_call_tool. The result is {"resourceTemplates":[...]}.
 * Returns: as mcplink_client_call_tool; MCPLINK_E_LIMIT when the list has too many pages or items. Threads: any. Blocks: until there is an
 * outcome. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_list_templates(mcplink_client_t *client,
                                               const mcplink_call_options_t *options,
                                               mcplink_result_t **out,
                                               mcplink_error_t **err);

/**
 * Starts to list the resource templates: as mcplink_client_list_templates, without waiting.
 *
 * callback, user, destroy, out: as mcplink_client_call_tool_start.
 * Returns: as mcplink_client_call_tool_start. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_list_templates_start(mcplink_client_t *client,
                                                     const mcplink_call_options_t *options,
                                                     mcplink_done_fn callback,
                                                     void *user,
                                                     mcplink_destroy_fn destroy,
                                                     mcplink_call_t **out,
                                                     mcplink_error_t **err);

/**
 * Lists the prompts, all pages of them.
 *
 * client: the client.
 * options: hold for each page; NULL for the defaults.
 * out, err: as mcplink_client_call_tool. The result is {"prompts":[...]}.
 * Returns: as mcplink_client_call_tool; MCPLINK_E_LIMIT when the list has too many pages or items. Threads: any. Blocks: until there is an
 * outcome. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_list_prompts(mcplink_client_t *client,
                                             const mcplink_call_options_t *options,
                                             mcplink_result_t **out,
                                             mcplink_error_t **err);

/**
 * Starts to list the prompts: as mcplink_client_list_prompts, without waiting.
 *
 * callback, user, destroy, out: as mcplink_client_call_tool_start.
 * Returns: as mcplink_client_call_tool_start. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_list_prompts_start(mcplink_client_t *client,
                                                   const mcplink_call_options_t *options,
                                                   mcplink_done_fn callback,
                                                   void *user,
                                                   mcplink_destroy_fn destroy,
                                                   mcplink_call_t **out,
                                                   mcplink_error_t **err);

/**
 * Sends a notification of any method.
 *
 * client: the client.
 * notification: the method.
 * params, len: a JSON object; MCPLINK_NUL measures it. NULL for none.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK when it is on its way; MCPLINK_E_CLOSED when the server has gone, MCPLINK_E_UNSUPPORTED for a modern server over HTTP, which
 * takes requests only. Threads: any. Blocks: only while the server does not read. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_notify(mcplink_client_t *client,
                                       const char *notification,
                                       const char *params,
                                       size_t len,
                                       mcplink_error_t **err);

/**
 * Tells the server that the places which it may work in are others now: it asks for them again. Nothing is sent to a modern server, which asks
 * for each call that needs them.
 *
 * client: has to have a function for them: see mcplink_client_options_on_roots.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK; MCPLINK_E_UNSUPPORTED without such a function; else as mcplink_client_notify. Threads: any. Blocks: only while the server
 * does not read. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_roots_changed(mcplink_client_t *client,
                                              mcplink_error_t **err);

/**
 * Sets the least severe level of log messages that a server of the legacy era sends; they come as MCPLINK_EVENT_LOG_MESSAGE. A modern one is
 * asked with each call: see mcplink_call_options_set_log_level.
 *
 * client: the client.
 * log_level: as there.
 * options, err: as mcplink_client_call_tool.
 * Returns: MCPLINK_OK; MCPLINK_E_UNSUPPORTED for a modern server, and for one that does not log; else as mcplink_client_call_tool. Threads: any.
 * Blocks: until there is an outcome. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_set_log_level(mcplink_client_t *client,
                                              int32_t log_level,
                                              const mcplink_call_options_t *options,
                                              mcplink_error_t **err);

/**
 * Has changes of lists told as events, MCPLINK_EVENT_TOOLS_CHANGED and its like, from now on: in place of what was asked for before. It means
 * the same in both eras. With mcplink_client_options_set_restart it is asked anew of each server.
 *
 * client: the client.
 * filter, len: a JSON object of what is wanted: {"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,
 * "resourceSubscriptions":["uri"]}; MCPLINK_NUL measures it. NULL, or an object without any of them, for none.
 * options, err: as mcplink_client_call_tool.
 * out: receives what the server agreed to, an object like the filter, NULL after a failure. The caller's to free.
 * Returns: MCPLINK_OK; MCPLINK_E_INVALID when it is no filter; else as mcplink_client_call_tool. What was told before is still told after a
 * failure. Threads: any. Blocks: until the server has agreed. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_listen(mcplink_client_t *client,
                                       const char *filter,
                                       size_t len,
                                       const mcplink_call_options_t *options,
                                       mcplink_result_t **out,
                                       mcplink_error_t **err);

/**
 * Has changes of one resource told as MCPLINK_EVENT_RESOURCE_UPDATED, until mcplink_client_unsubscribe. It means the same in both eras.
 *
 * client: the client.
 * uri: of the resource.
 * options, err: as mcplink_client_call_tool.
 * Returns: MCPLINK_OK, when it was subscribed to already too; MCPLINK_E_UNSUPPORTED when the server does not agree to it; else as
 * mcplink_client_call_tool. Threads: any. Blocks: until the server has agreed. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_subscribe(mcplink_client_t *client,
                                          const char *uri,
                                          const mcplink_call_options_t *options,
                                          mcplink_error_t **err);

/**
 * Ends what mcplink_client_subscribe began.
 *
 * client: the client.
 * uri: of the resource.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK, when it was not subscribed to too. Threads: any. Blocks: only while the server does not read. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_unsubscribe(mcplink_client_t *client, const char *uri, mcplink_error_t **err);

/**
 * Drops the results of the server that are kept: all will be asked for again.
 *
 * client: the client.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_clear_cache(mcplink_client_t *client, mcplink_error_t **err);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* MCPLINK_H */
