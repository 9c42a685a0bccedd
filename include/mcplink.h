/*
 * mcplink: the Model Context Protocol for programs without an async runtime.
 *
 * This header is generated from src/cffi; change it there. Every function is safe to call from any
 * thread, unless its comment says otherwise.
 *
 * Ownership. The caller owns an object that a function makes, and frees it with the _free function
 * of its type. Other functions copy or borrow their arguments. Text and JSON nodes that a function
 * returns are borrowed from an object, and valid as long as it.
 *
 * Callbacks. They are passed with user and destroy. user is passed to each call. destroy releases
 * user; it runs exactly once, also when the callback can't be registered.
 *
 * Setters. Objects that are configured by setters remember the first setter that was refused:
 * options, definitions of tools, prompts, resources and templates, OAuth settings and clients,
 * resource servers, exchanges. Every function that takes such an object then fails with that
 * status, and with the name of the setter and the reason in err. The refusal is also logged at
 * once, as a warning. So the status of a setter may be ignored. A later call does not clear the
 * refusal: free the object and make another one.
 *
 * Restrictions never fail open. Where a setting restricts access or trust, NULL and blank text are
 * refused: for example a token that is missing from the environment, or a file of certificates that
 * could not be read. "None" has a function of its own: ..._clear_..., ..._use_default_....
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
#define MCPLINK_NUL SIZE_MAX

/* As a time in milliseconds: no end. */
#define MCPLINK_FOREVER UINT32_MAX

/* In C an enumeration may share its name with the type that its values are passed as; in C++ there is the enumeration alone. */
#if defined(__GNUC__) && !defined(__cplusplus)
#  pragma GCC diagnostic push
#  pragma GCC diagnostic ignored "-Wc++-compat"
#endif

/**
 * The owner of a completed argument.
 */
enum mcplink_completion_of
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * A prompt, by its name.
     */
    MCPLINK_COMPLETION_OF_PROMPT = 1,
    /**
     * A resource template, as it was written: its arguments are its variables.
     */
    MCPLINK_COMPLETION_OF_TEMPLATE = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mcplink_completion_of mcplink_completion_of;
#else
typedef int32_t mcplink_completion_of;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * The state of a client.
 */
enum mcplink_connection_state
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * No client: NULL was passed.
     */
    MCPLINK_CLIENT_NONE = 0,
    /**
     * The client is being connected: see mcplink_client_start.
     */
    MCPLINK_CLIENT_CONNECTING = 1,
    /**
     * The client is connected.
     */
    MCPLINK_CLIENT_READY = 2,
    /**
     * The connection to the server was lost, and the server will be restarted: see
     * mcplink_client_options_set_restart.
     */
    MCPLINK_CLIENT_LOST = 3,
    /**
     * The client was closed, or its server has gone for good.
     */
    MCPLINK_CLIENT_CLOSED = 4,
    /**
     * The connection could not be made.
     */
    MCPLINK_CLIENT_FAILED = 5,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mcplink_connection_state mcplink_connection_state;
#else
typedef int32_t mcplink_connection_state;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * The kind of a content block.
 */
enum mcplink_content_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * No such block.
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
     * Audio: to be read like an image.
     */
    MCPLINK_CONTENT_AUDIO = 3,
    /**
     * A resource link, in the member "uri".
     */
    MCPLINK_CONTENT_RESOURCE_LINK = 4,
    /**
     * An embedded resource, in the member "resource".
     */
    MCPLINK_CONTENT_RESOURCE = 5,
    /**
     * The binary contents of a resource that was read.
     */
    MCPLINK_CONTENT_BLOB = 6,
    /**
     * A kind that this library does not know: see the member "type".
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
 * Whether tokens are bound to a key, so that a stolen token can't be used (DPoP, RFC 9449).
 */
enum mcplink_dpop
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * On request: a client binds tokens if the server requires it; a server accepts bound and
     * unbound tokens. The default of clients.
     */
    MCPLINK_DPOP_WHEN_ASKED = 0,
    /**
     * Never. The default of servers: they refuse bound tokens, which they could not check.
     */
    MCPLINK_DPOP_NEVER = 1,
    /**
     * Always: an unbound token is refused.
     */
    MCPLINK_DPOP_ALWAYS = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mcplink_dpop mcplink_dpop;
#else
typedef int32_t mcplink_dpop;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * The era of a server, which depends on the protocol revisions it supports.
 */
enum mcplink_era
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * Unknown, or to be detected.
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
 * The kind of an event. Ignore unknown kinds: later versions may add more.
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
     * A client that was started could not be connected: {"status":-9,"message":"..."}. Free the
     * client.
     */
    MCPLINK_EVENT_FAILED = 2,
    /**
     * The connection to the server was lost, and the server will be restarted:
     * {"status":-3,"message":"...","attempt":1,"delayMs":250}.
     */
    MCPLINK_EVENT_LOST = 3,
    /**
     * The server is connected again, without any state from before: {"attempt":1}.
     */
    MCPLINK_EVENT_RESTORED = 4,
    /**
     * The connection has ended for good. {"status":-3,"message":"..."} when it was lost, no params
     * when it was closed here.
     */
    MCPLINK_EVENT_CLOSED = 5,
    /**
     * The list of tools has changed; see mcplink_client_listen. No params.
     */
    MCPLINK_EVENT_TOOLS_CHANGED = 6,
    /**
     * The list of prompts has changed; see mcplink_client_listen. No params.
     */
    MCPLINK_EVENT_PROMPTS_CHANGED = 7,
    /**
     * The list of resources has changed; see mcplink_client_listen. No params.
     */
    MCPLINK_EVENT_RESOURCES_CHANGED = 8,
    /**
     * The contents of a resource have changed: {"uri":"..."}; see mcplink_client_subscribe.
     */
    MCPLINK_EVENT_RESOURCE_UPDATED = 9,
    /**
     * The server was unreachable, and changes may have been missed: assume that everything has
     * changed. No params.
     */
    MCPLINK_EVENT_EVERYTHING_CHANGED = 10,
    /**
     * Change notifications have ended, though the connection is open: {"clean":true} when the
     * server ended them regularly.
     */
    MCPLINK_EVENT_CHANGES_ENDED = 11,
    /**
     * A log message of the server: {"level":"info","logger":"...","data":...}.
     */
    MCPLINK_EVENT_LOG_MESSAGE = 12,
    /**
     * The user has completed a URL elicitation: {"elicitationId":"..."} (2025-11-25 only).
     */
    MCPLINK_EVENT_ELICITATION_COMPLETE = 13,
    /**
     * A notification for which a function was registered, with its params.
     */
    MCPLINK_EVENT_NOTIFICATION = 14,
    /**
     * The state of a task has changed; see mcplink_client_listen. The params are the complete
     * task, as returned by tasks/get: {"taskId":"...","status":"completed","result":{...}, and
     * more.
     */
    MCPLINK_EVENT_TASK_CHANGED = 15,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mcplink_event mcplink_event;
#else
typedef int32_t mcplink_event;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * A limit of a server over HTTP. Each constant says its default, and what happens when the limit
 * is reached.
 */
enum mcplink_http_limit
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * Sessions. Default: 10000. At the limit, an idle session of the client with the most sessions
     * ends to make room. If no session is idle, the next client is refused with status 503.
     */
    MCPLINK_HTTP_LIMIT_SESSIONS = 1,
    /**
     * Requests in flight of clients of revisions since 2026-07-28. Default: 1024. The next one is
     * answered with a "busy" error.
     */
    MCPLINK_HTTP_LIMIT_REQUESTS = 2,
    /**
     * Streams of change notifications of clients of revisions since 2026-07-28. Default: 10000.
     * The next one is answered with a "busy" error. Some are reserved for clients that have few:
     * see MCPLINK_LIMIT_RESERVE_PERCENT.
     */
    MCPLINK_HTTP_LIMIT_STREAMS = 3,
    /**
     * Open connections. Default: 24000, and never more than seven eighths of the process's
     * descriptor limit. At the limit, an idle connection of the client with the most connections
     * is closed to make room. If none is idle, the next connection is answered with status 503.
     */
    MCPLINK_HTTP_LIMIT_CONNECTIONS = 4,
    /**
     * Requests served at once, each on its own thread. Default: 64. Further requests wait, except
     * pings, cancellations and others that need no handler. The client with the fewest threads
     * gets the next one.
     */
    MCPLINK_HTTP_LIMIT_WORKERS = 5,
    /**
     * Requests that wait for a thread. Default: 256. Above the limit, the last request of the
     * client with the most waiting requests is answered with status 503.
     */
    MCPLINK_HTTP_LIMIT_WAITING = 6,
    /**
     * Longest request line with its header fields, in bytes. Default: 32 KiB. A longer one is
     * answered with status 431 or 414.
     */
    MCPLINK_HTTP_LIMIT_HEAD_BYTES = 7,
    /**
     * Header fields of a request. Default: 128; 256 at most. More are answered with status 431.
     */
    MCPLINK_HTTP_LIMIT_FIELDS = 8,
    /**
     * Bytes of a stream that may wait for a client that does not read. Default: 256 KiB.
     */
    MCPLINK_HTTP_LIMIT_STREAM_BYTES = 9,
    /**
     * Longest time to receive a request head, in milliseconds. Default: 10000. A slower one is
     * answered with status 408.
     */
    MCPLINK_HTTP_LIMIT_HEAD_MS = 10,
    /**
     * Longest time that a request body may be slower than MCPLINK_HTTP_LIMIT_BODY_RATE, in
     * milliseconds. Default: 10000. After that it is answered with status 408.
     */
    MCPLINK_HTTP_LIMIT_BODY_MS = 11,
    /**
     * Lowest rate of a request body, in bytes per second. Default: 1024. See
     * MCPLINK_HTTP_LIMIT_BODY_MS.
     */
    MCPLINK_HTTP_LIMIT_BODY_RATE = 12,
    /**
     * Longest time that a client may read nothing of the data that waits for it, in milliseconds.
     * Default: 30000. After that its connection is aborted.
     */
    MCPLINK_HTTP_LIMIT_WRITE_MS = 13,
    /**
     * Longest time that a connection may be idle, in milliseconds. Default: 75000. After that it
     * is closed.
     */
    MCPLINK_HTTP_LIMIT_IDLE_MS = 14,
    /**
     * Bytes of all stored events of all sessions. Default: 256 MiB. Above the limit, the oldest
     * events of the stream with the most are dropped.
     */
    MCPLINK_HTTP_LIMIT_KEPT_BYTES = 15,
    /**
     * Bytes that may wait for all clients that do not read. Default: 256 MiB. Above the limit, the
     * connections with the most waiting data, which have not read for the longest time, are
     * aborted.
     */
    MCPLINK_HTTP_LIMIT_UNSENT_BYTES = 16,
    /**
     * Longest time until the first byte of a new connection, in milliseconds. Default: 10000.
     * After that it is closed.
     */
    MCPLINK_HTTP_LIMIT_FIRST_BYTE_MS = 17,
    /**
     * The share of connections, threads and sessions that one client may hold while others want
     * some, in percent. Default: 50. A single client may hold all.
     */
    MCPLINK_HTTP_LIMIT_PART_PERCENT = 18,
    /**
     * Additional connections and threads for clients that hold few, in percent of the limits.
     * Default: 12. 0 for none.
     */
    MCPLINK_HTTP_LIMIT_RESERVE_PERCENT = 19,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mcplink_http_limit mcplink_http_limit;
#else
typedef int32_t mcplink_http_limit;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * The type of a JSON value.
 */
enum mcplink_json_type_t
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * No value: NULL was passed.
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
 * A limit of each connection of a client or server. Each constant says its default, and what
 * happens when the limit is reached.
 */
enum mcplink_limit
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * Longest message, in bytes. Default: 16 MiB. A longer message is dropped: a request is
     * answered with an error, and a response fails its call.
     */
    MCPLINK_LIMIT_MESSAGE_BYTES = 1,
    /**
     * Nesting depth of arrays and objects in a message. Default: 128. A deeper message is answered
     * with an error.
     */
    MCPLINK_LIMIT_DEPTH = 2,
    /**
     * Bytes that may wait for a peer that does not read. Default: 16 MiB. A caller that would
     * exceed it blocks until its deadline.
     */
    MCPLINK_LIMIT_QUEUED_BYTES = 3,
    /**
     * Calls in flight. Default: 10000. The next call fails with MCPLINK_E_BUSY.
     */
    MCPLINK_LIMIT_CALLS = 4,
    /**
     * Requests of the peer in flight. Default: 1024. The next request is answered with a "busy"
     * error. While the peer does not read its answers, requests are held back instead.
     */
    MCPLINK_LIMIT_REQUESTS = 5,
    /**
     * Calls that wait for input from a client of a revision before 2026-07-28. Default: 1024. The
     * next call that needs input fails.
     */
    MCPLINK_LIMIT_QUESTIONS = 6,
    /**
     * Handlers that run at once. Default: 64. Further requests wait. Clients over HTTP without a
     * session share these threads for tasks. The client with fewest running handlers gets the next
     * free thread. One client may use all threads; others then use the reserve beyond this limit:
     * see MCPLINK_LIMIT_RESERVE_PERCENT.
     */
    MCPLINK_LIMIT_WORKERS = 7,
    /**
     * Notifications of the peer that wait to be delivered. Default: 1024. The next one is dropped.
     */
    MCPLINK_LIMIT_NOTIFICATIONS = 8,
    /**
     * Subscriptions of one client. Default: 1024. The next one is refused.
     */
    MCPLINK_LIMIT_SUBSCRIPTIONS = 9,
    /**
     * Log messages outside of calls that wait for one client of a revision before 2026-07-28.
     * Default: 1024. The next one is dropped for that client. Change notifications need no limit,
     * because waiting ones are merged.
     */
    MCPLINK_LIMIT_BACKLOG = 10,
    /**
     * Progress and log messages of one call that wait for its callback. Default: 1024. Above the
     * limit, progress is merged.
     */
    MCPLINK_LIMIT_CALL_EVENTS = 11,
    /**
     * Responses in the cache of a client, of those that servers allow to be cached. Default: 1024.
     * The longest unused ones are evicted.
     */
    MCPLINK_LIMIT_CACHED_RESPONSES = 12,
    /**
     * Bytes in the cache of a client. Default: 16 MiB.
     */
    MCPLINK_LIMIT_CACHED_BYTES = 13,
    /**
     */
    MCPLINK_LIMIT_PART_PERCENT = 14,
    /**
     * The part of these tables that is reserved for clients that hold little, in percent. Default:
     * 12. 0 for none.
     */
    MCPLINK_LIMIT_RESERVE_PERCENT = 15,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mcplink_limit mcplink_limit;
#else
typedef int32_t mcplink_limit;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * A list of a server.
 */
enum mcplink_list
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * tools/list.
     */
    MCPLINK_LIST_TOOLS = 1,
    /**
     * prompts/list.
     */
    MCPLINK_LIST_PROMPTS = 2,
    /**
     * resources/list.
     */
    MCPLINK_LIST_RESOURCES = 3,
    /**
     * resources/templates/list.
     */
    MCPLINK_LIST_TEMPLATES = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mcplink_list mcplink_list;
#else
typedef int32_t mcplink_list;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * The severity of a log message, after RFC 5424.
 */
enum mcplink_log_level
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * Details for debugging.
     */
    MCPLINK_LOG_DEBUG = 0,
    /**
     * General information.
     */
    MCPLINK_LOG_INFO = 1,
    /**
     * Normal but significant.
     */
    MCPLINK_LOG_NOTICE = 2,
    /**
     * Warning conditions.
     */
    MCPLINK_LOG_WARNING = 3,
    /**
     * Error conditions.
     */
    MCPLINK_LOG_ERROR = 4,
    /**
     * Critical conditions.
     */
    MCPLINK_LOG_CRITICAL = 5,
    /**
     * Action must be taken at once.
     */
    MCPLINK_LOG_ALERT = 6,
    /**
     * The system is unusable.
     */
    MCPLINK_LOG_EMERGENCY = 7,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mcplink_log_level mcplink_log_level;
#else
typedef int32_t mcplink_log_level;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * The type of an argument of a tool.
 */
enum mcplink_param_type
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * Text.
     */
    MCPLINK_PARAM_STRING = 1,
    /**
     * An integer.
     */
    MCPLINK_PARAM_INTEGER = 2,
    /**
     * Any number.
     */
    MCPLINK_PARAM_NUMBER = 3,
    /**
     * true or false.
     */
    MCPLINK_PARAM_BOOLEAN = 4,
    /**
     * An array of anything.
     */
    MCPLINK_PARAM_ARRAY = 5,
    /**
     * An object of anything.
     */
    MCPLINK_PARAM_OBJECT = 6,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mcplink_param_type mcplink_param_type;
#else
typedef int32_t mcplink_param_type;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * The kind of an entry of a server.
 */
enum mcplink_primitive
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * A tool, by its name.
     */
    MCPLINK_PRIMITIVE_TOOL = 1,
    /**
     * A prompt, by its name.
     */
    MCPLINK_PRIMITIVE_PROMPT = 2,
    /**
     * A resource, by its URI.
     */
    MCPLINK_PRIMITIVE_RESOURCE = 3,
    /**
     * A resource template, as it was written. Its scopes apply to each resource that is read
     * through it.
     */
    MCPLINK_PRIMITIVE_TEMPLATE = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mcplink_primitive mcplink_primitive;
#else
typedef int32_t mcplink_primitive;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * Error codes that the protocol defines. Codes of your own are outside -32768 to -32000.
 */
enum mcplink_rpc_code
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * The user rejected the request.
     */
    MCPLINK_RPC_USER_REJECTED = -1,
    /**
     * The request is invalid in the current state.
     */
    MCPLINK_RPC_INVALID_REQUEST = -32600,
    /**
     * The method does not exist.
     */
    MCPLINK_RPC_METHOD_NOT_FOUND = -32601,
    /**
     * The params, or a name in them, are invalid.
     */
    MCPLINK_RPC_INVALID_PARAMS = -32602,
    /**
     * An internal error of the side that answers.
     */
    MCPLINK_RPC_INTERNAL_ERROR = -32603,
    /**
     * A resource does not exist. mcplink_responder_not_found sends the code of the client's
     * revision.
     */
    MCPLINK_RPC_RESOURCE_NOT_FOUND = -32002,
    /**
     * The user must visit web pages first (2025-11-25 only).
     */
    MCPLINK_RPC_URL_ELICITATION_REQUIRED = -32042,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mcplink_rpc_code mcplink_rpc_code;
#else
typedef int32_t mcplink_rpc_code;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * The kind of a server event. Ignore unknown kinds: later versions may add more.
 */
enum mcplink_server_event
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * A session began: a client has identified itself.
     * {"session":1,"transport":"stream","peer":"...","revision":"2025-11-25",
     * "client":{"name":"...","version":"..."},"principal":"..."}. The transport is "stream" or
     * "http"; client and principal are omitted if they are unknown. See mcplink_session_number.
     */
    MCPLINK_SERVER_SESSION_BEGAN = 1,
    /**
     * A session has ended. The params are those of MCPLINK_SERVER_SESSION_BEGAN, with
     * "status":-3,"message":"..." unless it was closed here.
     */
    MCPLINK_SERVER_SESSION_ENDED = 2,
    /**
     * A malformed message was refused: {"session":1,"peer":"...","message":"..."}. The session is
     * omitted for a malformed HTTP request.
     */
    MCPLINK_SERVER_MALFORMED = 3,
    /**
     * A message was longer than MCPLINK_LIMIT_MESSAGE_BYTES, or the system had no memory for it. It
     * was refused. Params as above. Not used over HTTP.
     */
    MCPLINK_SERVER_TOO_LONG = 4,
    /**
     * A request was refused because too many are in flight, or a session because too many are
     * open. Params as above, with "method":"tools/call" for a request.
     */
    MCPLINK_SERVER_BUSY = 5,
    /**
     * A handler gave no answer or an invalid one, and the client got an internal error. Params as
     * above, with "method" if it is known.
     */
    MCPLINK_SERVER_HANDLER_FAILED = 6,
    /**
     * A request over HTTP was denied because of its host, its origin or its credentials. Params as
     * above.
     */
    MCPLINK_SERVER_DENIED = 7,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mcplink_server_event mcplink_server_event;
#else
typedef int32_t mcplink_server_event;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * The result of a call: 0 is success, negative is failure, positive is "worked, but look".
 *
 * Codes are never renumbered and never reused. Treat an unknown negative code as failure.
 */
enum mcplink_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * Success.
     */
    MCPLINK_OK = 0,
    /**
     * The tool ran and failed: the result contains the reason, for the model to read.
     */
    MCPLINK_TOOL_ERROR = 1,
    /**
     * The answer is not available yet.
     */
    MCPLINK_PENDING = 2,
    /**
     * An argument is invalid. Another attempt with this value fails too.
     */
    MCPLINK_E_INVALID = -1,
    /**
     * The call is not allowed in the current state of the object.
     */
    MCPLINK_E_STATE = -2,
    /**
     * The connection or the handle is closed, or the peer has gone.
     */
    MCPLINK_E_CLOSED = -3,
    /**
     * No answer came before the deadline.
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
     * The server answered with an HTTP error status that carries no JSON-RPC error: see
     * mcplink_error_http_status.
     */
    MCPLINK_E_HTTP = -10,
    /**
     * The server requires other credentials, or rejected these.
     */
    MCPLINK_E_AUTH = -11,
    /**
     * The peer, its protocol revision or this build does not support it.
     */
    MCPLINK_E_UNSUPPORTED = -12,
    /**
     * A size or count limit was reached, or the system has no memory for data of a peer.
     */
    MCPLINK_E_LIMIT = -13,
    /**
     * Too many requests are in flight. Nothing was sent.
     */
    MCPLINK_E_BUSY = -14,
    /**
     * The handle was made before a fork, by the parent process. In the child it can't be used, and
     * freeing it does nothing.
     */
    MCPLINK_E_FORKED = -15,
    /**
     * A bug in this library: it panicked.
     */
    MCPLINK_E_PANIC = -16,
    /**
     * A failure of the host. The library never makes this status itself: a callback may return it,
     * and it is passed through unchanged.
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
 * What happens to the standard error of a child process.
 */
enum mcplink_stderr
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * It is captured, and the last 64 KiB are stored: see mcplink_client_stderr_tail and
     * mcplink_error_peer_stderr. The default.
     */
    MCPLINK_STDERR_CAPTURE = 0,
    /**
     * It is written to this process's standard error.
     */
    MCPLINK_STDERR_INHERIT = 1,
    /**
     * It is discarded.
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
 * The credential that an identity provider issued when the user signed on.
 */
enum mcplink_subject
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * An OpenID Connect ID token.
     */
    MCPLINK_SUBJECT_ID_TOKEN = 1,
    /**
     * A refresh token of the identity provider.
     */
    MCPLINK_SUBJECT_REFRESH_TOKEN = 2,
    /**
     * A SAML 2.0 assertion.
     */
    MCPLINK_SUBJECT_SAML2 = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mcplink_subject mcplink_subject;
#else
typedef int32_t mcplink_subject;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * Whether calls of a tool may become tasks.
 */
enum mcplink_task_support
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * Calls may not become tasks.
     */
    MCPLINK_TASK_FORBIDDEN = 0,
    /**
     * Calls may become tasks.
     */
    MCPLINK_TASK_OPTIONAL = 1,
    /**
     * Calls must become tasks.
     */
    MCPLINK_TASK_REQUIRED = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mcplink_task_support mcplink_task_support;
#else
typedef int32_t mcplink_task_support;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * Hints for the user about the effects of a tool. They are not guaranteed.
 */
enum mcplink_tool_hint
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * The tool changes nothing. Default: false.
     */
    MCPLINK_HINT_READ_ONLY = 1,
    /**
     * The tool may destroy something. Default: true.
     */
    MCPLINK_HINT_DESTRUCTIVE = 2,
    /**
     * The tool is idempotent: a repeated call has no further effect. Default: false.
     */
    MCPLINK_HINT_IDEMPOTENT = 3,
    /**
     * The tool interacts with an open world, such as the web. Default: true.
     */
    MCPLINK_HINT_OPEN_WORLD = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mcplink_tool_hint mcplink_tool_hint;
#else
typedef int32_t mcplink_tool_hint;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * Options of a call. NULL means the defaults. The call copies the options, which remain the
 * caller's.
 */
typedef struct mcplink_call_options_t mcplink_call_options_t;

/**
 * A started call. The handle may be freed at any time; the call continues.
 */
typedef struct mcplink_call_t mcplink_call_t;

/**
 * A cancel token: cancels the calls that use it, from any thread. For example: the user pressed
 * Escape. One token may serve many calls.
 */
typedef struct mcplink_cancel_t mcplink_cancel_t;

/**
 * Options of a client. The call that opens a client copies them. They remain the caller's, and may
 * open several clients.
 */
typedef struct mcplink_client_options_t mcplink_client_options_t;

/**
 * A client: a connection to one server. Thread-safe.
 *
 * Its callbacks run one at a time and in order: on a dispatcher thread of the client or, with a
 * pump, where the pump is dispatched. They may call any function of this library, also on this
 * client.
 */
typedef struct mcplink_client_t mcplink_client_t;

/**
 * An error: which part failed, and what to do about it. A function that fails makes one through
 * its parameter err. The caller owns it and frees it with mcplink_error_free.
 */
typedef struct mcplink_error_t mcplink_error_t;

/**
 * An HTTP exchange: a request that the host's own web server received, and the functions that send
 * its response.
 */
typedef struct mcplink_exchange_t mcplink_exchange_t;

/**
 * The status and header fields of a response. The host adds the fields for length, connection and
 * date. It is borrowed until the function that receives it returns.
 */
typedef struct mcplink_http_head_t mcplink_http_head_t;

/**
 * HTTP options of a server. The defaults suit a server for clients on this machine. One thread at
 * a time uses them; listeners and endpoints copy them.
 */
typedef struct mcplink_http_options_t mcplink_http_options_t;

/**
 * An HTTP request that has to be authenticated. It is borrowed until the callback that receives it
 * returns.
 */
typedef struct mcplink_http_request_t mcplink_http_request_t;

/**
 * The HTTP endpoint of a server, to be mounted in a web server of the host.
 */
typedef struct mcplink_http_t mcplink_http_t;

/**
 * A JSON value: a document that the caller owns, or a node in one.
 *
 * Every reading function accepts NULL and a node of another type, and returns a neutral value
 * then. So chains of calls need no checks in between. A node is valid as long as its document.
 * Many threads may read a document at once.
 */
typedef struct mcplink_json_t mcplink_json_t;

/**
 * A listener: accepts HTTP clients for a server.
 */
typedef struct mcplink_listener_t mcplink_listener_t;

/**
 * A pending login of a person, which a server requires.
 *
 * The function that receives it borrows it until it returns. To answer later, keep it with
 * mcplink_login_keep. If it is neither answered nor kept, it is refused. Any thread may use it.
 */
typedef struct mcplink_login_t mcplink_login_t;

/**
 * An OAuth client that was registered with an authorization server beforehand. One thread at a
 * time uses it.
 */
typedef struct mcplink_oauth_client_t mcplink_oauth_client_t;

/**
 * OAuth settings: how a client obtains and renews access tokens for servers over HTTP. By default
 * a person logs in, in the system's browser, and everything else is discovered from the server.
 *
 * Clients that use the same settings object, unchanged in between, share tokens and logins. One
 * thread at a time uses the settings; clients hold a reference to them.
 */
typedef struct mcplink_oauth_t mcplink_oauth_t;

/**
 * The definition of a prompt: messages that a user selects by name. One thread at a time uses it;
 * a server copies it.
 */
typedef struct mcplink_prompt_t mcplink_prompt_t;

/**
 * A queue that runs callbacks on a thread of the host's choice. One pump serves any number of
 * clients and servers.
 *
 * Reading and writing stay on the threads of the library. Only the host's callbacks wait in the
 * pump, until the host dispatches it.
 */
typedef struct mcplink_pump_t mcplink_pump_t;

/**
 * A request that a handler of the host answers. It is valid as long as its responder: until the
 * handler returns, or until the last mcplink_responder_free of a responder that was kept. Any
 * thread may read it.
 */
typedef struct mcplink_request_t mcplink_request_t;

/**
 * A resource server (OAuth): a server over HTTP that requires access tokens of an authorization
 * server. One thread at a time uses the description; HTTP options copy it.
 *
 * Each request needs a token in its field Authorization that is valid, was issued for this server
 * and has not expired. Other requests are answered with status 401 and a challenge that says where
 * to obtain tokens. A request that lacks a scope is answered with 403 and the required scopes. The
 * metadata to which the challenge refers is served without a token.
 */
typedef struct mcplink_resource_server_t mcplink_resource_server_t;

/**
 * The definition of a resource: contents that can be read at a URI. One thread at a time uses it;
 * a server copies it.
 */
typedef struct mcplink_resource_t mcplink_resource_t;

/**
 * The right to answer one request, exactly once, from any thread.
 *
 * A handler borrows it until it returns. To answer later, keep it with mcplink_responder_keep.
 * When the handler returns without answering or keeping it, the request is answered with an
 * internal error, unless the handler requested input from the client.
 */
typedef struct mcplink_responder_t mcplink_responder_t;

/**
 * The result of a call. The caller owns it and frees it with mcplink_result_free.
 *
 * A result is immutable, so many threads may read it at once. Views and nodes of it are valid as
 * long as the result.
 */
typedef struct mcplink_result_t mcplink_result_t;

/**
 * The options of a server. One thread at a time uses them; a server copies them.
 */
typedef struct mcplink_server_options_t mcplink_server_options_t;

/**
 * A server: tools, resources and prompts, served to any number of clients at once. Thread-safe.
 * They can be changed while it serves; clients are notified.
 *
 * Without a pump the handlers run on threads of the library, several at once. With a pump they run
 * where the host dispatches it, one at a time.
 */
typedef struct mcplink_server_t mcplink_server_t;

/**
 * A session: one client that is served.
 */
typedef struct mcplink_session_t mcplink_session_t;

/**
 * The definition of a resource template: resources whose URIs follow a pattern (RFC 6570).
 * Supported are {var}, {+path}, {/var}, {.ext} and, at the end, {?a,b}. One thread at a time uses
 * it; a server copies it.
 */
typedef struct mcplink_template_t mcplink_template_t;

/**
 * Receives a token or another secret from a function of the host: see
 * mcplink_client_options_set_bearer_hook.
 */
typedef struct mcplink_token_t mcplink_token_t;

/**
 * The definition of a tool that a model can call. One thread at a time uses it; a server copies
 * it.
 */
typedef struct mcplink_tool_t mcplink_tool_t;

/**
 * A transport of the host, for example its own sockets, a web view, or a serial line.
 *
 * Messages are lines. The library writes lines, and finds the lines in the bytes it is fed,
 * however they are split. One transport serves one connection: pass it once, to
 * mcplink_client_options_set_transport or mcplink_server_attach.
 */
typedef struct mcplink_transport_t mcplink_transport_t;

/**
 * A JSON writer: builds one JSON value step by step.
 *
 * Errors are remembered: after the first error further calls do nothing, and mcplink_writer_finish
 * returns it. So the single steps need no checks.
 */
typedef struct mcplink_writer_t mcplink_writer_t;

/**
 * A value of enum mcplink_status, or one that a newer library added.
 */
typedef int32_t mcplink_status_t;

/**
 * A borrowed view of text: UTF-8, with its length in bytes.
 *
 * ptr is never NULL, and ptr[len] is always 0, so printf("%s") works for text without an embedded
 * NUL. The function that returns a view says how long it is valid.
 */
typedef struct {
    /**
     * The first byte.
     */
    const char *ptr;
    /**
     * The number of bytes, without the terminating NUL.
     */
    size_t len;
} mcplink_str_t;

/**
 * Releases the user data of a callback. It runs exactly once: when the callback is replaced, when
 * its owner is freed, or at once when the callback can't be registered.
 */
typedef void (*mcplink_destroy_fn)(void *user);

/**
 * Sends bytes to the peer: all of them, in order. It is called by one thread at a time, on any
 * thread that sends, and should not block for long. Returns MCPLINK_OK, or anything else to end
 * the connection: see mcplink_transport_set_close.
 */
typedef mcplink_status_t (*mcplink_send_fn)(void *user, const char *bytes, size_t len);

/**
 * Called when the connection of a transport has ended, or when the transport accepts bytes again.
 * On any thread.
 */
typedef void (*mcplink_transport_fn)(void *user);

/**
 * Called when a request is cancelled, or its peer has gone.
 */
typedef void (*mcplink_cancelled_fn)(void *user);

/**
 * Receives a log record of the library, for example a protocol error of a peer or a failed
 * handler.
 *
 * level: one of enum mcplink_log_level. target: the part of the library that logs: "protocol",
 * "transport", "server", "client", "http" or "auth"; later versions may add more. text: usually
 * one line. Both texts are valid until the callback returns.
 * The callback runs on any thread, also on several at once, and must be quick.
 */
typedef void (*mcplink_log_fn)(void *user, int32_t level, mcplink_str_t target, mcplink_str_t text);

/**
 * Lets a person log in: opens mcplink_login_url, and passes the URL of the redirect to
 * mcplink_login_answer. That may happen before the callback returns or, if it keeps the login,
 * later. It runs on a thread of the library, also with a pump, and may block.
 */
typedef void (*mcplink_visit_fn)(void *user, mcplink_login_t *login);

/**
 * Provides a signed statement (JWT) about this workload for an audience, with mcplink_token_set.
 * audience: the URL of the token endpoint, valid until the callback returns. Returns: MCPLINK_OK;
 * any other status fails the waiting calls with MCPLINK_E_AUTH. It is called whenever a token is
 * needed, on a thread of the library.
 */
typedef mcplink_status_t (*mcplink_statement_fn)(void *user, mcplink_str_t audience, mcplink_token_t *token);

/**
 * Provides the token for one request: calls mcplink_token_set and returns MCPLINK_OK. Any other
 * status fails the request with MCPLINK_E_AUTH, and it is not sent. Runs on the thread that sends,
 * several at once, and should not wait for the server.
 */
typedef mcplink_status_t (*mcplink_bearer_fn)(void *user, mcplink_token_t *token);

/**
 * Loads what was saved last under a name, and returns it with mcplink_token_set. It does not call
 * that if nothing is saved. name: contains no secret; valid until the callback returns. Returns:
 * MCPLINK_OK; any other status if it can't be read, and the call that needs it fails with
 * MCPLINK_E_AUTH. Runs on threads that make calls and on threads that log in, possibly on several
 * at once.
 */
typedef mcplink_status_t (*mcplink_store_load_fn)(void *user, mcplink_str_t name, mcplink_token_t *content);

/**
 * Saves content under a name, atomically: it replaces the earlier content completely or not at
 * all. content: JSON text with secret tokens and keys. Both texts are valid until the callback
 * returns. Returns: MCPLINK_OK; any other status if it can't be saved: then it is only kept in
 * memory. For threads see mcplink_store_load_fn.
 */
typedef mcplink_status_t (*mcplink_store_save_fn)(void *user, mcplink_str_t name, mcplink_str_t content);

/**
 * Removes what is saved under a name. A missing entry is not an error. Returns: MCPLINK_OK; any
 * other status if it could not be removed. For threads see mcplink_store_load_fn.
 */
typedef mcplink_status_t (*mcplink_store_remove_fn)(void *user, mcplink_str_t name);

/**
 * Receives an event: one of enum mcplink_event, with details in params. params is valid until the
 * callback returns, and NULL for an event without details. Ignore unknown events.
 */
typedef void (*mcplink_event_fn)(void *user, int32_t event, const mcplink_json_t *params);

/**
 * Runs on a thread of the library: at its start, before any other code of the host, or at its end,
 * after all other code of the host.
 *
 * name: the thread's name, such as "mcplink-crew"; valid until the callback returns.
 * The callback should be quick. It may set up the thread, but must not wait for the client or
 * server that owns the thread.
 */
typedef void (*mcplink_thread_fn)(void *user, mcplink_str_t name);

/**
 * Receives a line that a child process wrote to its standard error, without the newline; valid
 * until the callback returns.
 */
typedef void (*mcplink_line_fn)(void *user, mcplink_str_t line);

/**
 * Receives progress of a call. total is 0 when it is unknown. message may be empty, and is valid
 * until the callback returns.
 */
typedef void (*mcplink_progress_fn)(void *user, double progress, double total, mcplink_str_t message);

/**
 * Receives the outcome of a started call, exactly once: a result, if status is MCPLINK_OK or
 * MCPLINK_TOOL_ERROR, otherwise an error.
 *
 * call is the handle; NULL when it was freed or not requested. result and err are valid until the
 * callback returns; one of them is NULL.
 */
typedef void (*mcplink_done_fn)(void *user,
                                mcplink_call_t *call,
                                mcplink_status_t status,
                                const mcplink_result_t *result,
                                const mcplink_error_t *err);

/**
 * Handles a request: of a client on a server, or of a server on a client. It answers before it
 * returns, or later from any thread, if it keeps the responder. Both arguments are borrowed until
 * it returns.
 */
typedef void (*mcplink_handler_fn)(void *user, const mcplink_request_t *request, mcplink_responder_t *responder);

/**
 * Authenticates a request. The callback calls mcplink_http_request_admit or one of the functions
 * that refuse; the last call counts. Without such a call the request is refused with status 403.
 *
 * It fails closed: if one of these functions fails, the request is refused with status 403
 * although mcplink_http_request_admit is called, before or after. So a restriction that could not
 * be stored never lets a request in. The log names the function.
 */
typedef void (*mcplink_authenticate_fn)(void *user, mcplink_http_request_t *request);

/**
 * Begins a response.
 *
 * head: status and header fields, valid until the callback returns. length: of the whole body in
 * bytes; -1 for a streamed body of unknown length. Returns: MCPLINK_OK, or anything else when the
 * client has gone.
 */
typedef mcplink_status_t (*mcplink_http_begin_fn)(void *user, const mcplink_http_head_t *head, int64_t length);

/**
 * Sends a part of the body. Flush it at once, because a client waits for it. bytes: valid until
 * the callback returns. Returns: MCPLINK_OK, or anything else when the client has gone.
 */
typedef mcplink_status_t (*mcplink_http_write_fn)(void *user, const char *bytes, size_t len);

/**
 * Ends a response; called exactly once. complete: true if the whole response was sent. If false,
 * abort the connection, so that the client notices that the response is incomplete.
 */
typedef void (*mcplink_http_end_fn)(void *user, bool complete);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Returns the version of this library as text, for example "0.1.0".
 *
 * Returns: a static string that ends in NUL; never NULL. Since 0.1.
 */
MCPLINK_API const char *mcplink_version(void);

/**
 * Returns the version of this library as a number: major << 24 | minor << 16 | patch << 8.
 *
 * Returns: the number; compare it with MCPLINK_VERSION_NUMBER. Since 0.1.
 */
MCPLINK_API uint32_t mcplink_version_number(void);

/**
 * Checks whether this library is compatible with a program that was compiled against a header of
 * the given version.
 *
 * header_version: MCPLINK_VERSION_NUMBER. Before 1.0 a library is compatible with headers of its
 * own minor version, and from 1.0 with those of its major version. The header must not be newer
 * than the library.
 * Returns: true if it is. Since 0.1.
 */
MCPLINK_API bool mcplink_check_version(uint32_t header_version);

/**
 * Checks whether this build of the library has a feature. Functions of a missing feature return
 * MCPLINK_E_UNSUPPORTED.
 *
 * feature: "http-client", "http-server", "tls", "auth" (OAuth for clients), "jwt" (signed tokens
 * on servers) or "validation"; "http" for both halves of HTTP.
 * Returns: false for NULL and unknown names. Threads: any. Since 0.1.
 */
MCPLINK_API bool mcplink_has_feature(const char *feature);

/**
 * Returns the protocol revisions that this library supports, the newest first.
 *
 * Returns: a static string that ends in NUL, with a space between two revisions, for example
 * "2026-07-28 2025-11-25"; never NULL. Threads: any. Since 0.1.
 */
MCPLINK_API const char *mcplink_revisions(void);

/**
 * Returns the name of a status, for example "MCPLINK_E_TIMEOUT".
 *
 * status: any number.
 * Returns: a static string that ends in NUL; "unknown status" for a number that this library does
 * not know. Never NULL. Since 0.1.
 */
MCPLINK_API const char *mcplink_status_name(mcplink_status_t status);

/**
 * Frees an error.
 *
 * error: the error; may be NULL. Views of it are invalid afterwards. Since 0.1.
 */
MCPLINK_API void mcplink_error_free(mcplink_error_t *error);

/**
 * Returns the status that the failed call returned.
 *
 * error: NULL for MCPLINK_OK.
 * Returns: one of MCPLINK_E_*. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_error_status(const mcplink_error_t *error);

/**
 * Returns the message: one line that says what failed and what to do. See
 * mcplink_error_peer_stderr for the last output of a child process.
 *
 * error: NULL for "".
 * Returns: text that ends in NUL, valid as long as the error; never NULL. It is for people: tell
 * failures apart by their status. Threads: any. Since 0.1.
 */
MCPLINK_API const char *mcplink_error_message(const mcplink_error_t *error);

/**
 * Returns the method of the request that failed, for example "tools/call".
 *
 * error: NULL for empty text.
 * Returns: valid as long as the error; empty when no request failed. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_error_method(const mcplink_error_t *error);

/**
 * Returns the JSON-RPC code of the peer's error, for example -32602.
 *
 * error: NULL for 0.
 * Returns: 0 when the error did not come from the peer. Threads: any. Since 0.1.
 */
MCPLINK_API int64_t mcplink_error_rpc_code(const mcplink_error_t *error);

/**
 * Returns the data of the peer's JSON-RPC error, as JSON text.
 *
 * error: NULL for empty text.
 * Returns: valid as long as the error; empty when the error has no data. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_error_data(const mcplink_error_t *error);

/**
 * Returns the operating system's error number (errno).
 *
 * error: NULL for 0.
 * Returns: 0 when the error did not come from the system. Threads: any. Since 0.1.
 */
MCPLINK_API int32_t mcplink_error_os_code(const mcplink_error_t *error);

/**
 * Returns the HTTP status of the server's answer, if it was not a success.
 *
 * error: NULL for 0.
 * Returns: 0 when the error has no HTTP status. Threads: any. Since 0.1.
 */
MCPLINK_API int32_t mcplink_error_http_status(const mcplink_error_t *error);

/**
 * Returns the authentication challenge of an HTTP server: the field WWW-Authenticate of its
 * answer.
 *
 * error: NULL for empty text.
 * Returns: valid as long as the error; empty when the answer has no challenge. Threads: any. Since
 * 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_error_http_challenge(const mcplink_error_t *error);

/**
 * Returns the OAuth error code with which an authorization server refused a login or a token, for
 * example "access_denied" or "invalid_grant".
 *
 * error: NULL for empty text.
 * Returns: valid as long as the error; empty when the error has no such code. Threads: any. Since
 * 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_error_oauth_code(const mcplink_error_t *error);

/**
 * Returns the last lines that a child process wrote to its standard error after its last answer.
 *
 * error: NULL for empty text.
 * Returns: valid as long as the error; empty when there are no such lines. Threads: any. Since
 * 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_error_peer_stderr(const mcplink_error_t *error);

/**
 * Checks whether the call can be retried: it may succeed later, and can't have had an effect yet.
 * Either nothing was sent, or the peer answered that it is busy.
 *
 * error: NULL for false.
 * Returns: true if it can. Threads: any. Since 0.1.
 */
MCPLINK_API bool mcplink_error_is_retryable(const mcplink_error_t *error);

/**
 * Parses a JSON document.
 *
 * text, len: the text, which is copied; MCPLINK_NUL measures it.
 * out: receives the document, NULL on failure. The caller owns it and frees it with
 * mcplink_json_free.
 * err: receives the error on failure, with line and column; the caller frees it. May be NULL.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Integers from -2^63 to 2^64-1 stay exact; documents
 * may be nested 127 levels deep. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_json_parse(const char *text, size_t len, mcplink_json_t **out, mcplink_error_t **err);

/**
 * Frees a document that mcplink_json_parse made. All its nodes are invalid afterwards.
 *
 * document: the document; may be NULL. Never a node that another function returned. Since 0.1.
 */
MCPLINK_API void mcplink_json_free(mcplink_json_t *document);

/**
 * Returns the type of a value.
 *
 * node: NULL for MCPLINK_JSON_MISSING.
 * Returns: one of enum mcplink_json_type_t. Threads: any. Since 0.1.
 */
MCPLINK_API int32_t mcplink_json_type(const mcplink_json_t *node);

/**
 * Checks whether a value is missing, which is not the same as the JSON value null.
 *
 * node: a node or NULL.
 * Returns: true for NULL. Threads: any. Since 0.1.
 */
MCPLINK_API bool mcplink_json_is_missing(const mcplink_json_t *node);

/**
 * Returns a member of an object.
 *
 * object: a node or NULL.
 * key: the name of the member. Of several members with this name the last one counts.
 * Returns: a node of the same document; NULL when the object has no such member. Threads: any.
 * Since 0.1.
 */
MCPLINK_API const mcplink_json_t *mcplink_json_get(const mcplink_json_t *object, const char *key);

/**
 * Returns an item of an array, or the value of a member of an object, by index.
 *
 * array: a node or NULL.
 * index: from 0.
 * Returns: a node of the same document; NULL when the index is out of range. Threads: any. Since
 * 0.1.
 */
MCPLINK_API const mcplink_json_t *mcplink_json_at(const mcplink_json_t *array, size_t index);

/**
 * Returns the name of a member of an object, by index. Members keep their original order.
 *
 * object: a node or NULL.
 * index: from 0.
 * Returns: valid as long as the document; empty when the index is out of range. Threads: any.
 * Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_json_key_at(const mcplink_json_t *object, size_t index);

/**
 * Returns the number of items of an array, members of an object, or bytes of a string.
 *
 * node: a node or NULL.
 * Returns: 0 for other values. Threads: any. Since 0.1.
 */
MCPLINK_API size_t mcplink_json_len(const mcplink_json_t *node);

/**
 * Returns the value at a JSON pointer (RFC 6901), for example "/content/0/text".
 *
 * node: a node or NULL; the pointer is relative to it.
 * pointer: "" for the node itself.
 * Returns: a node of the same document; NULL when there is no such value. Threads: any. Since 0.1.
 */
MCPLINK_API const mcplink_json_t *mcplink_json_pointer(const mcplink_json_t *node, const char *pointer);

/**
 * Returns the text of a string.
 *
 * node: a node or NULL.
 * Returns: valid as long as the document; empty for other values. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_json_str(const mcplink_json_t *node);

/**
 * Reads the value of an integer.
 *
 * node: a node or NULL.
 * out: receives the value, 0 if it is not such an integer; may be NULL.
 * Returns: true for an integer from -2^63 to 2^63-1; 1.0 counts as one, and so does -0.0. Threads:
 * any. Since 0.1.
 */
MCPLINK_API bool mcplink_json_i64(const mcplink_json_t *node, int64_t *out);

/**
 * Returns the value of a number, rounded to a double.
 *
 * node: a node or NULL.
 * Returns: 0 for other values. Threads: any. Since 0.1.
 */
MCPLINK_API double mcplink_json_f64(const mcplink_json_t *node);

/**
 * Checks whether a value is true.
 *
 * node: a node or NULL.
 * Returns: false for false and for other values. Threads: any. Since 0.1.
 */
MCPLINK_API bool mcplink_json_boolean(const mcplink_json_t *node);

/**
 * Returns a value as JSON text, without white space.
 *
 * node: a node or NULL.
 * Returns: valid as long as the document; empty for NULL. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_json_text(const mcplink_json_t *node);

/**
 * Makes a writer.
 *
 * Returns: an empty writer. The caller owns it and frees it with mcplink_writer_free. Threads: one
 * at a time. Since 0.1.
 */
MCPLINK_API mcplink_writer_t *mcplink_writer_new(void);

/**
 * Frees a writer and the text that mcplink_writer_finish returned.
 *
 * writer: the writer; may be NULL. Since 0.1.
 */
MCPLINK_API void mcplink_writer_free(mcplink_writer_t *writer);

/**
 * Clears text and errors, and keeps the memory for the next value.
 *
 * writer: the writer.
 * Returns: MCPLINK_OK. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_writer_reset(mcplink_writer_t *writer);

/**
 * Begins an object. Write each member with mcplink_writer_key and a value, then call
 * mcplink_writer_end.
 *
 * writer: the writer.
 * Returns: MCPLINK_OK, or the status of the first error. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_writer_begin_object(mcplink_writer_t *writer);

/**
 * Begins an array. Write its items, then call mcplink_writer_end.
 *
 * writer: the writer.
 * Returns: MCPLINK_OK, or the status of the first error. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_writer_begin_array(mcplink_writer_t *writer);

/**
 * Ends the innermost open object or array.
 *
 * writer: the writer.
 * Returns: MCPLINK_OK, or the status of the first error. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_writer_end(mcplink_writer_t *writer);

/**
 * Writes the key of a member; its value comes next.
 *
 * writer: the writer, inside an object.
 * key: the key.
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
 * Writes an unsigned integer.
 *
 * writer: the writer.
 * number: the integer.
 * Returns: MCPLINK_OK, or the status of the first error. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_writer_u64(mcplink_writer_t *writer, uint64_t number);

/**
 * Writes a double, so that reading it gives the same double again. The decimal separator is always
 * a point, whatever the locale.
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
 * boolean: the value.
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
 * json, len: one JSON value; MCPLINK_NUL measures it. Invalid JSON is an error.
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
 * Finishes the value and returns its text.
 *
 * writer: the writer.
 * out: receives the text, which ends in NUL; valid until the writer is used again or freed. Empty
 * on failure.
 * err: receives the first error, with the byte where it occurred; the caller frees it. May be
 * NULL.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID, for example for an open object, a key without a
 * value, NaN, or text that is not UTF-8. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_writer_finish(mcplink_writer_t *writer, mcplink_str_t *out, mcplink_error_t **err);

/**
 * Makes a pump.
 *
 * out: receives the pump, NULL on failure. The caller owns it and frees it with mcplink_pump_free,
 * after the handles that use it.
 * err: receives the error on failure; the caller frees it. May be NULL.
 * Returns: MCPLINK_OK, or MCPLINK_E_IO when the system has no free descriptor. Threads: any.
 * Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_pump_new(mcplink_pump_t **out, mcplink_error_t **err);

/**
 * Frees a pump. Free the clients and servers that use it first: a callback that waits in the pump
 * runs when its handle is freed. Called inside a callback that the pump runs, it returns at once,
 * and mcplink_pump_dispatch continues to its end.
 *
 * pump: the pump; may be NULL. Threads: any; not while another thread uses it. Since 0.1.
 */
MCPLINK_API void mcplink_pump_free(mcplink_pump_t *pump);

/**
 * Returns the descriptor to poll: it is readable while a callback waits.
 *
 * pump: the pump.
 * Returns: a descriptor that the pump owns: poll it for reading, never read or close it. It stays
 * readable until the pump is empty, so a program may dispatch in parts. It may be readable
 * although the pump is empty. -1 for NULL. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API ptrdiff_t mcplink_pump_fd(const mcplink_pump_t *pump);

/**
 * Runs the waiting callbacks, in order, on this thread.
 *
 * pump: the pump.
 * max_events: how many callbacks to run at most; values below 1 count as 1.
 * Returns: how many ran, or a negative status: MCPLINK_E_STATE when the pump is being dispatched
 * already, by another thread or by one of its own callbacks. Threads: any, one at a time; best
 * always the same one. Blocks: as long as the callbacks do. Since 0.1.
 */
MCPLINK_API int32_t mcplink_pump_dispatch(mcplink_pump_t *pump, int32_t max_events);

/**
 * Waits until a callback can be dispatched with mcplink_pump_dispatch. For programs without an
 * event loop.
 *
 * pump: the pump.
 * timeout_ms: how long to wait at most, in milliseconds.
 * Returns: how many callbacks wait; 0 after the timeout, and after mcplink_pump_wakeup; or a
 * negative status. Threads: any. Blocks: yes, until then. Since 0.1.
 */
MCPLINK_API int32_t mcplink_pump_wait(mcplink_pump_t *pump, uint32_t timeout_ms);

/**
 * Wakes the host's loop: makes the descriptor readable, and makes mcplink_pump_wait return,
 * although no callback waits.
 *
 * pump: the pump.
 * Returns: MCPLINK_OK; MCPLINK_E_FORKED in a forked process, where it does nothing. Threads: any,
 * also in signal handlers. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_pump_wakeup(mcplink_pump_t *pump);

/**
 * Sets a function that is called when the pump has to be dispatched. For event loops that take
 * messages instead of descriptors.
 *
 * pump: the pump.
 * callback: called when the pump becomes non-empty, and by each dispatch that leaves callbacks. It
 * must be quick, and make the loop call mcplink_pump_dispatch. It runs on any thread: one of the
 * library, or a host thread inside a function that queues a callback, such as this one,
 * mcplink_pump_dispatch or mcplink_http_serve. NULL removes it.
 * user, destroy: passed to callback; destroy runs when another function is set or the pump is
 * freed.
 * Returns: MCPLINK_OK. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_pump_set_notify(mcplink_pump_t *pump,
                                         void (*callback)(void *user),
                                         void *user,
                                         mcplink_destroy_fn destroy);

/**
 * Makes a cancel token that is not triggered.
 *
 * Returns: the token. The caller owns it and frees it with mcplink_cancel_free, also while calls
 * still use it. NULL after an internal error. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_cancel_t *mcplink_cancel_new(void);

/**
 * Triggers a token permanently: calls that use it end with MCPLINK_E_CANCELLED, and their servers
 * are notified. Calls that get the token later are not sent.
 *
 * cancel: the token.
 * Returns: MCPLINK_OK, also when it was triggered before. Threads: any, but no signal handler.
 * Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_cancel_trigger(mcplink_cancel_t *cancel);

/**
 * Checks whether a token was triggered.
 *
 * cancel: NULL for false.
 * Returns: true if it was. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API bool mcplink_cancel_is_triggered(const mcplink_cancel_t *cancel);

/**
 * Frees a token. Calls that use it continue. They can't be cancelled through it any more, unless
 * it was triggered before.
 *
 * cancel: the token; may be NULL. Since 0.1.
 */
MCPLINK_API void mcplink_cancel_free(mcplink_cancel_t *cancel);

/**
 * Frees a result. All its views and nodes are invalid afterwards.
 *
 * result: the result; may be NULL. Never one that was passed to a callback. Since 0.1.
 */
MCPLINK_API void mcplink_result_free(mcplink_result_t *result);

/**
 * Returns the result as a JSON value.
 *
 * result: NULL for NULL.
 * Returns: a node that is valid as long as the result. NULL for a result of mcplink_client_request
 * that contains text or a number without a C representation, such as a lone surrogate; other calls
 * fail with MCPLINK_E_PROTOCOL then. Threads: any. Since 0.1.
 */
MCPLINK_API const mcplink_json_t *mcplink_result_json(const mcplink_result_t *result);

/**
 * Returns the result as the JSON text that was received. For a list, the text contains all its
 * pages.
 *
 * result: NULL for empty text.
 * Returns: valid as long as the result. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_result_raw(const mcplink_result_t *result);

/**
 * Returns the text of all text blocks, joined with newlines.
 *
 * result: of a tool call, of reading a resource, or of getting a prompt; NULL for empty text.
 * Returns: valid as long as the result; empty when there is no text. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_result_text(const mcplink_result_t *result);

/**
 * Checks whether it is the result of a tool that ran and failed. The content then has the reason,
 * for the model to read.
 *
 * result: NULL for false.
 * Returns: true if it is. Threads: any. Since 0.1.
 */
MCPLINK_API bool mcplink_result_is_tool_error(const mcplink_result_t *result);

/**
 * Returns the structured content of a tool result: the member "structuredContent".
 *
 * result: NULL for NULL.
 * Returns: a node that is valid as long as the result; NULL when the member is missing. Threads:
 * any. Since 0.1.
 */
MCPLINK_API const mcplink_json_t *mcplink_result_structured(const mcplink_result_t *result);

/**
 * Returns the metadata of the result: the member "_meta".
 *
 * result: NULL for NULL.
 * Returns: a node that is valid as long as the result; NULL when the member is missing. Threads:
 * any. Since 0.1.
 */
MCPLINK_API const mcplink_json_t *mcplink_result_meta(const mcplink_result_t *result);

/**
 * Returns the parts of a result that violate the specification: list entries that were left out,
 * and invalid parts of other results. The rest of the result can be used.
 *
 * Invalid entries are removed from lists. Other results are shown as they were received, so an
 * invalid content block may lack a member.
 *
 * result: NULL for NULL.
 * Returns: an array, valid as long as the result; empty when all is valid, NULL for NULL. Each
 * entry is an object: "index" is the index of the entry in its list, or in its page of a list,
 * from 0, or null; "name" the name or URI of the entry, or null; "path" a JSON Pointer to the
 * invalid part; "reason" the reason. At most 1000 entries. Threads: any. Since 0.1.
 */
MCPLINK_API const mcplink_json_t *mcplink_result_misfits(const mcplink_result_t *result);

/**
 * Returns the number of content blocks of a tool or resource result, or of messages of a prompt.
 *
 * result: NULL for 0.
 * Returns: the number. Threads: any. Since 0.1.
 */
MCPLINK_API size_t mcplink_result_content_count(const mcplink_result_t *result);

/**
 * Returns one content block; for a prompt, the content of one message. The role of a message is at
 * "/messages/INDEX/role" of mcplink_result_json.
 *
 * result: NULL for NULL.
 * index: from 0.
 * Returns: a node that is valid as long as the result; NULL when there is no such block. Threads:
 * any. Since 0.1.
 */
MCPLINK_API const mcplink_json_t *mcplink_result_content(const mcplink_result_t *result, size_t index);

/**
 * Returns the kind of a content block.
 *
 * result: NULL for MCPLINK_CONTENT_NONE.
 * index: from 0.
 * Returns: one of enum mcplink_content_kind. Threads: any. Since 0.1.
 */
MCPLINK_API int32_t mcplink_result_content_kind(const mcplink_result_t *result, size_t index);

/**
 * Returns the bytes of an image, of audio, or of a binary resource. They are decoded from base64
 * on first use.
 *
 * result: NULL for NULL.
 * index: of the content block, from 0.
 * len: receives the number of bytes, 0 for none; may be NULL.
 * Returns: the bytes, followed by a 0, valid as long as the result. NULL when the block has no
 * bytes or they can't be decoded. Threads: any. Since 0.1.
 */
MCPLINK_API const void *mcplink_result_content_bytes(const mcplink_result_t *result, size_t index, size_t *len);

/**
 * Makes a transport. It needs a send function: see mcplink_transport_set_send.
 *
 * user, destroy: passed to the functions of the transport; destroy runs when it is freed.
 * Returns: the transport. The caller owns it and frees it with mcplink_transport_free. Threads:
 * any. Since 0.1.
 */
MCPLINK_API mcplink_transport_t *mcplink_transport_new(void *user, mcplink_destroy_fn destroy);

/**
 * Sets the function that sends bytes to the peer.
 *
 * transport: the transport.
 * callback: see mcplink_send_fn. It returns MCPLINK_E_USER when the peer can't be reached any
 * more.
 * Returns: MCPLINK_OK. Threads: any, before the connection is made. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_transport_set_send(mcplink_transport_t *transport, mcplink_send_fn callback);

/**
 * Sets a function that is called when the connection has ended on this side: nothing more is sent
 * or read. This happens when its client or session is closed, after mcplink_transport_feed_end,
 * and soon after mcplink_send_fn has failed.
 *
 * transport: the transport.
 * callback: called once, by the thread that ends the connection, or by mcplink_transport_free.
 * mcplink_send_fn may still run on another thread, and should return then. The callback may free
 * the session or client, the server and the transport. The shared user data is released by
 * destroy, not here. NULL for none.
 * Returns: MCPLINK_OK. Threads: any, before the connection is made. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_transport_set_close(mcplink_transport_t *transport, mcplink_transport_fn callback);

/**
 * Sets a function that is called when the transport accepts bytes again, after
 * mcplink_transport_feed returned MCPLINK_E_LIMIT.
 *
 * transport: the transport.
 * callback: called once after each such refusal, on the reader thread; it may feed. NULL for none.
 * Returns: MCPLINK_OK. Threads: any, before the connection is made. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_transport_set_room(mcplink_transport_t *transport, mcplink_transport_fn callback);

/**
 * Feeds bytes that came from the peer, split anywhere. They are queued until the connection reads
 * them.
 *
 * transport: the transport.
 * bytes, len: the bytes, which are copied.
 * Returns: MCPLINK_OK; MCPLINK_E_LIMIT when more than 16 MiB would wait: none of these bytes was
 * accepted, so feed them again later, see mcplink_transport_set_room; MCPLINK_E_CLOSED after
 * mcplink_transport_feed_end and after the connection has ended. Threads: any, before and after
 * the connection is made; the caller ensures the order. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_transport_feed(mcplink_transport_t *transport, const char *bytes, size_t len);

/**
 * Ends the input: nothing more comes from the peer. Bytes that were fed before are still read.
 * After that a client fails its pending calls, and a session ends.
 *
 * transport: the transport.
 * reason: the cause of a failure, for the error of pending calls; NULL when the peer closed the
 * connection normally.
 * Returns: MCPLINK_OK. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_transport_feed_end(mcplink_transport_t *transport, const char *reason);

/**
 * Frees a transport and ends its connection. No function of the transport runs after this. Called
 * inside one of them, it returns at once: no other function of the transport starts, and the rest
 * happens when that one returns.
 *
 * transport: the transport; may be NULL. Threads: any. Blocks: until running functions of the
 * transport have returned. Since 0.1.
 */
MCPLINK_API void mcplink_transport_free(mcplink_transport_t *transport);

/**
 * Returns the arguments of the request. For a tool or prompt these are its arguments, for a
 * resource the variables of its URI template. For a completion they are the known values of the
 * other arguments, for a custom method its params.
 *
 * request: NULL for NULL.
 * Returns: a node that is valid as long as the request; NULL when there are none. Threads: any.
 * Since 0.1.
 */
MCPLINK_API const mcplink_json_t *mcplink_request_args(const mcplink_request_t *request);

/**
 * Returns all params of the request, as received.
 *
 * request: NULL for NULL.
 * Returns: a node that is valid as long as the request. NULL when they have no C representation,
 * which is only possible for resources: other requests are refused then, without running the
 * handler. Threads: any. Since 0.1.
 */
MCPLINK_API const mcplink_json_t *mcplink_request_params(const mcplink_request_t *request);

/**
 * Returns the metadata of the request: the member "_meta" of its params.
 *
 * request: NULL for NULL.
 * Returns: a node that is valid as long as the request; NULL when the member is missing. Threads:
 * any. Since 0.1.
 */
MCPLINK_API const mcplink_json_t *mcplink_request_meta(const mcplink_request_t *request);

/**
 * Returns the target of the request: the name of the tool or prompt, the URI of the resource, or
 * the name of the completed argument.
 *
 * request: NULL for "".
 * Returns: valid as long as the request; empty for other requests. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_request_name(const mcplink_request_t *request);

/**
 * Returns the text typed so far for the completed argument.
 *
 * request: NULL for "".
 * Returns: valid as long as the request; empty for other requests. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_request_typed(const mcplink_request_t *request);

/**
 * Returns the method, for example "tools/call".
 *
 * request: NULL for "".
 * Returns: valid as long as the request. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_request_method(const mcplink_request_t *request);

/**
 * Returns a number that identifies the connection of the server on which the request came; see
 * mcplink_session_number. Over HTTP, all clients of revisions since 2026-07-28 share one.
 *
 * request: NULL for 0.
 * Returns: at least 1 on a server, 0 on a client. Threads: any. Since 0.1.
 */
MCPLINK_API uint64_t mcplink_request_session(const mcplink_request_t *request);

/**
 * Returns the authenticated principal on whose behalf the client acts. Over HTTP the host's check
 * of the request sets it; elsewhere it is set when the session is made.
 *
 * request: NULL for empty text.
 * Returns: valid as long as the request; empty when the principal is unknown. Threads: any. Since
 * 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_request_principal(const mcplink_request_t *request);

/**
 * Returns the scopes that were granted to the principal, including implied scopes. A space
 * separates two names.
 *
 * request: NULL for empty text.
 * Returns: valid as long as the request; empty when no scope was granted, or the scopes are
 * unknown. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_request_scopes(const mcplink_request_t *request);

/**
 * Checks whether a scope was granted to the principal, for a handler that does more or less with
 * it. To refuse the request, see mcplink_responder_need_scopes.
 *
 * request: NULL for false.
 * scope: its name.
 * Returns: true if it was granted; false also when the scopes are unknown. Threads: any. Since
 * 0.1.
 */
MCPLINK_API bool mcplink_request_has_scope(const mcplink_request_t *request, const char *scope);

/**
 * Returns when the authentication of the principal expires, for example the expiry of its access
 * token.
 *
 * request: NULL for 0.
 * Returns: seconds since 1970-01-01 UTC; 0 when no expiry is known. Threads: any. Since 0.1.
 */
MCPLINK_API int64_t mcplink_request_expiry(const mcplink_request_t *request);

/**
 * Returns the protocol revision of the request, for example "2026-07-28".
 *
 * request: NULL for empty text.
 * Returns: valid as long as the request; empty for custom methods, and on a client. Threads: any.
 * Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_request_revision(const mcplink_request_t *request);

/**
 * Returns the self-reported "name" and "version" of the client. For display and logging only: it
 * is not authenticated.
 *
 * request: NULL for NULL.
 * Returns: a node that is valid as long as the request; NULL when the client did not send it.
 * Threads: any. Since 0.1.
 */
MCPLINK_API const mcplink_json_t *mcplink_request_client_info(const mcplink_request_t *request);

/**
 * Returns the capabilities that the client declared, for example "elicitation".
 *
 * request: NULL for NULL.
 * Returns: a node that is valid as long as the request; NULL for custom methods, and on a client.
 * Threads: any. Since 0.1.
 */
MCPLINK_API const mcplink_json_t *mcplink_request_capabilities(const mcplink_request_t *request);

/**
 * Keeps a responder, so that the request can be answered after its handler has returned. No thread
 * waits meanwhile.
 *
 * responder: NULL for NULL.
 * Returns: the same responder. The caller owns a reference now and frees it with
 * mcplink_responder_free, once for each mcplink_responder_keep. It may outlive the server or
 * client. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_responder_t *mcplink_responder_keep(mcplink_responder_t *responder);

/**
 * Releases a responder that was kept. If the request is unanswered, releasing the last reference
 * answers it: with the input requests of the handler, or else with an internal error. In a forked
 * process it does nothing; see MCPLINK_E_FORKED.
 *
 * responder: the responder; may be NULL. Never one that was not kept. Threads: any. Since 0.1.
 */
MCPLINK_API void mcplink_responder_free(mcplink_responder_t *responder);

/**
 * Returns the request that a responder answers.
 *
 * responder: NULL for NULL.
 * Returns: valid as long as the responder. Threads: any. Since 0.1.
 */
MCPLINK_API const mcplink_request_t *mcplink_responder_request(const mcplink_responder_t *responder);

/**
 * Checks whether the request was cancelled, or the peer has gone. It is cheap: poll it in long
 * work.
 *
 * responder: NULL for false.
 * Returns: true if so; the handler should return then. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API bool mcplink_responder_is_cancelled(const mcplink_responder_t *responder);

/**
 * Sets a function that is called once when the peer cancels the request or goes.
 *
 * responder: the responder.
 * callback: called at once, on this thread, if the request is cancelled already. Otherwise it runs
 * where the pump is dispatched or, without a pump, on a thread of the library, where it should be
 * quick. It may run while the request is being answered. NULL removes it.
 * user, destroy: passed to callback; destroy runs after the callback, when another function is
 * set, or when the responder is freed.
 * Returns: MCPLINK_OK. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_responder_on_cancel(mcplink_responder_t *responder,
                                             mcplink_cancelled_fn callback,
                                             void *user,
                                             mcplink_destroy_fn destroy);

/**
 * Sends the client a progress notification, if it requested progress.
 *
 * responder: the responder.
 * done: the progress so far; it must increase from call to call. If calls come too fast, some are
 * skipped, but never the last one.
 * total: the value of done at the end; 0 when it is unknown.
 * message: for people; NULL for none.
 * Returns: MCPLINK_OK, also when the client did not request progress; MCPLINK_E_CANCELLED or
 * MCPLINK_E_CLOSED when the client no longer waits for the answer; MCPLINK_E_STATE after the
 * answer; MCPLINK_E_UNSUPPORTED for custom methods, and on a client. Threads: any. Blocks: only
 * while a client does not read. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_responder_progress(mcplink_responder_t *responder, double done, double total, const char *message);

/**
 * Refuses the request unless the principal has these scopes. For a handler that learns only at run
 * time which scopes it needs. Scopes that are known beforehand are set with
 * mcplink_server_require_scopes.
 *
 * If the scopes of the principal are unknown, the request is not refused, except over HTTP, where
 * unknown means none. Call it before sending anything: over HTTP the refusal is status 403, which
 * is not possible once the response has begun.
 *
 * responder: the responder.
 * scopes: all required scopes, separated by spaces.
 * Returns: MCPLINK_OK when they were granted. MCPLINK_E_AUTH when not: the request was answered
 * with the refusal, so return. MCPLINK_E_INVALID when scopes names none, and MCPLINK_E_UNSUPPORTED
 * for custom methods and on a client: the request was answered with an internal error.
 * MCPLINK_E_STATE after the answer. Threads: any. Blocks: only while a client does not read. Since
 * 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_responder_need_scopes(mcplink_responder_t *responder, const char *scopes);

/**
 * Sends the client a log message that belongs to the call. It is sent if logging is enabled on the
 * server and the client requested messages of this level.
 *
 * responder: the responder.
 * level: one of enum mcplink_log_level.
 * text, len: the message; MCPLINK_NUL measures it. It must not contain secrets that the client
 * must not know.
 * Returns: MCPLINK_OK, also when the client does not want it; MCPLINK_E_CANCELLED or
 * MCPLINK_E_CLOSED when the client no longer waits for the answer; MCPLINK_E_STATE after the
 * answer; MCPLINK_E_UNSUPPORTED for custom methods, and on a client. Threads: any. Blocks: only
 * while a client does not read. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_responder_log(mcplink_responder_t *responder, int32_t level, const char *text, size_t len);

/**
 * Requests input from the client: from its user (elicitation/create), its model
 * (sampling/createMessage), or its roots (roots/list).
 *
 * When the answers arrive, the handler is run again from its start, and this function returns
 * them. So the code before the last request runs once in each round. To request several inputs in
 * one round, request them all before returning.
 *
 * responder: the responder, of a call of a tool, resource or prompt.
 * key: identifies this input request within the call.
 * method: the method, for example "elicitation/create".
 * params, len: its params as JSON; MCPLINK_NUL measures them. NULL for none.
 * answer: receives the client's result, valid as long as the responder; NULL while it is pending.
 * May be NULL.
 * err: receives the error on failure; the caller frees it. May be NULL.
 * Returns: MCPLINK_OK with the answer; MCPLINK_PENDING when it has not arrived: return without
 * answering. MCPLINK_E_PEER when the client refused, MCPLINK_E_INVALID for an invalid input
 * request, MCPLINK_E_STATE after the answer. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_responder_ask(mcplink_responder_t *responder,
                                       const char *key,
                                       const char *method,
                                       const char *params,
                                       size_t len,
                                       const mcplink_json_t **answer,
                                       mcplink_error_t **err);

/**
 * Stores a value for later runs of the handler, so that a side effect happens only once: a
 * payment, or a generated id.
 *
 * responder: the responder, of a call of a tool, resource or prompt.
 * key: names the value.
 * json, len: the value; MCPLINK_NUL measures it. It may be sent through the client, encrypted and
 * authenticated.
 * Returns: MCPLINK_OK, MCPLINK_E_INVALID when it is not JSON, MCPLINK_E_STATE after the answer.
 * Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_responder_remember(mcplink_responder_t *responder, const char *key, const char *json, size_t len);

/**
 * Returns a value that mcplink_responder_remember stored, in this run of the handler or an earlier
 * one.
 *
 * responder: the responder.
 * key: names the value.
 * Returns: valid as long as the responder; NULL when no value is stored under this key, and after
 * the answer. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API const mcplink_json_t *mcplink_responder_recall(const mcplink_responder_t *responder, const char *key);

/**
 * Turns a tool call into a task, if the client supports tasks. The client gets the task at once,
 * and the handler is run again from its start, as after an answer. Call it after the questions
 * that must be answered first.
 *
 * Available since revision 2026-07-28, on a server with mcplink_server_options_set_tasks.
 * Otherwise, and in a call that is a task already, it does nothing.
 *
 * responder: the responder of a tool call.
 * err: receives the error on failure; the caller frees it. May be NULL.
 * Returns: MCPLINK_OK to continue; MCPLINK_PENDING when the call becomes a task: return without
 * answering. MCPLINK_E_STATE after the answer. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_responder_become_task(mcplink_responder_t *responder, mcplink_error_t **err);

/**
 * Closes the SSE stream on which the call is answered, and has the client reconnect for the rest.
 * So long work needs no open connection. Messages sent before the client reconnects are stored for
 * it, up to mcplink_http_options_set_kept_events.
 *
 * Does nothing where a client can't reconnect: on other transports, and in revisions other than
 * 2025-11-25.
 *
 * responder: the responder.
 * retry_ms: the delay after which the client should reconnect, in milliseconds.
 * Returns: MCPLINK_OK; MCPLINK_E_CLOSED or MCPLINK_E_CANCELLED when the client no longer waits for
 * the answer; MCPLINK_E_STATE after the answer; MCPLINK_E_UNSUPPORTED for custom methods, and on a
 * client. Threads: any. Blocks: only while a client does not read. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_responder_send_away(mcplink_responder_t *responder, uint32_t retry_ms);

/**
 * Answers with text: the output of a tool, the contents of a resource (with the MIME type it was
 * added with), or a prompt of one user message.
 *
 * All functions that answer return the same codes. MCPLINK_OK: the answer is on its way.
 * MCPLINK_E_STATE: the request was answered before. MCPLINK_E_CANCELLED or MCPLINK_E_CLOSED: the
 * peer no longer waits, and nothing is sent.
 *
 * MCPLINK_E_INVALID: the answer is invalid. MCPLINK_E_UNSUPPORTED: such a request can't be
 * answered with this function. In both cases the request can still be answered, and the reason is
 * logged. After a handler has requested input from the client, its answer is not sent: the handler
 * is run again first.
 *
 * responder: the responder.
 * text, len: the text; MCPLINK_NUL measures it.
 * Returns: see above. Threads: any. Blocks: only while a client does not read. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_responder_text(mcplink_responder_t *responder, const char *text, size_t len);

/**
 * Answers with text of a MIME type, for the contents of a resource.
 *
 * responder: the responder.
 * text, len: the text; MCPLINK_NUL measures it.
 * mime_type: for example "text/markdown"; NULL for the one that the resource was added with.
 * Returns: as mcplink_responder_text. Threads: any. Blocks: only while a client does not read.
 * Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_responder_typed_text(mcplink_responder_t *responder,
                                              const char *text,
                                              size_t len,
                                              const char *mime_type);

/**
 * Answers with bytes: the contents of a resource, or an image or audio of a tool.
 *
 * responder: the responder.
 * data, len: the bytes.
 * mime_type: their type; NULL for the one that the resource was added with. For a tool image/...
 * or audio/...
 * Returns: as mcplink_responder_text. Threads: any. Blocks: only while a client does not read.
 * Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_responder_bytes(mcplink_responder_t *responder,
                                         const uint8_t *data,
                                         size_t len,
                                         const char *mime_type);

/**
 * Answers with a complete result in the format of the protocol. A tool result is
 * {"content":[...]}, a resource {"contents":[...]}, a prompt {"messages":[...]}, a completion
 * {"completion":{"values":[...]}}. For a custom method, and for a request from a server, it may be
 * any JSON.
 *
 * responder: the responder.
 * result, len: the result as JSON; MCPLINK_NUL measures it.
 * Returns: as mcplink_responder_text. Threads: any. Blocks: only while a client does not read.
 * Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_responder_json(mcplink_responder_t *responder, const char *result, size_t len);

/**
 * Answers a tool call with structured content, and with its text for clients that only read text.
 *
 * responder: the responder.
 * json, len: the value, as the output schema of the tool describes it; MCPLINK_NUL measures it.
 * Returns: as mcplink_responder_text. Threads: any. Blocks: only while a client does not read.
 * Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_responder_structured(mcplink_responder_t *responder, const char *json, size_t len);

/**
 * Answers that the tool ran and failed, with a text for the model: for example a wrong argument,
 * or a missing file.
 *
 * responder: the responder.
 * text, len: what failed, and what to do; MCPLINK_NUL measures it.
 * Returns: as mcplink_responder_text. Threads: any. Blocks: only while a client does not read.
 * Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_responder_tool_error(mcplink_responder_t *responder, const char *text, size_t len);

/**
 * Answers a completion with values, the best first. Only the first 100 are sent.
 *
 * responder: the responder.
 * values, count: the values, texts that end in NUL.
 * fitting: true to leave out values that do not match the typed text, and to sort the others:
 * matches at the beginning first, then at the beginning of a word, then elsewhere.
 * Returns: as mcplink_responder_text. Threads: any. Blocks: only while a client does not read.
 * Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_responder_values(mcplink_responder_t *responder,
                                          const char *const *values,
                                          size_t count,
                                          bool fitting);

/**
 * Answers that the resource does not exist, with the error code of the client's revision.
 *
 * responder: the responder.
 * Returns: as mcplink_responder_text. Threads: any. Blocks: only while a client does not read.
 * Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_responder_not_found(mcplink_responder_t *responder);

/**
 * Answers with a JSON-RPC error. For a tool that failed, mcplink_responder_tool_error is better,
 * because models read it.
 *
 * responder: the responder.
 * code: one of enum mcplink_rpc_code, or a code of your own outside -32768 to -32000.
 * message: one sentence.
 * data: details as JSON; NULL for none.
 * Returns: as mcplink_responder_text. Threads: any. Blocks: only while a client does not read.
 * Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_responder_fail(mcplink_responder_t *responder, int32_t code, const char *message, const char *data);

/**
 * Sets the process-wide log hook. Clients and servers without a log hook of their own use it.
 *
 * level: the least severe level to report, one of enum mcplink_log_level.
 * callback: called on any thread, also on several at once; it must be quick. NULL removes the
 * hook.
 * user, destroy: passed to callback; destroy runs when another function is set.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_set_log(int32_t level, mcplink_log_fn callback, void *user, mcplink_destroy_fn destroy);

/**
 * Writes a debug dump: all clients and servers of the process, their requests in flight, and the
 * threads that run handlers or wait.
 *
 * fd: the file descriptor to write to; it remains the caller's.
 * Returns: MCPLINK_OK, MCPLINK_E_INVALID or MCPLINK_E_IO. Threads: any, but no signal handler.
 * Blocks: while fd accepts no data. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_debug_dump(int fd);

/**
 * Makes OAuth settings with the defaults, for mcplink_client_options_set_oauth.
 *
 * Returns: the settings. The caller owns them and frees them with mcplink_oauth_free. Threads:
 * any; one at a time uses them. Since 0.1.
 */
MCPLINK_API mcplink_oauth_t *mcplink_oauth_new(void);

/**
 * Frees settings. Clients and options that use them keep a reference. Releasing the last reference
 * blocks until host callbacks of an abandoned login have returned: see mcplink_login_is_over.
 *
 * oauth: the settings; may be NULL. Since 0.1.
 */
MCPLINK_API void mcplink_oauth_free(mcplink_oauth_t *oauth);

/**
 * Adds an OAuth client that was registered with an authorization server beforehand. It is used
 * with that server only. Once one is added, no other authorization server is used, and the client
 * does not register itself. The first client is also used by mcplink_oauth_set_client_credentials.
 *
 * oauth: the settings.
 * client: the client, which is copied and remains the caller's. A client with a refused setter is
 * refused.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_add_client(mcplink_oauth_t *oauth, const mcplink_oauth_client_t *client);

/**
 * Sets the client name for dynamic client registration, which the user sees during the login.
 *
 * oauth: the settings.
 * client_name: the name; NULL for the default, "mcplink".
 * page: the URL of a page about the client; NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_set_client_name(mcplink_oauth_t *oauth, const char *client_name, const char *page);

/**
 * Sets the URL of the client's metadata document (Client ID Metadata Document). Authorization
 * servers that support such documents use the URL as the client id.
 *
 * oauth: the settings.
 * url: https with a path; NULL for none. An invalid URL is reported when a client is opened.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_set_client_document(mcplink_oauth_t *oauth, const char *url);

/**
 * Sets the scopes to request. Default: the scopes that the server supports. Scopes that the server
 * requires at the time, and scopes requested before, are always included.
 *
 * oauth: the settings.
 * scopes: their names, separated by spaces; "" for none. NULL is refused: see
 * mcplink_oauth_use_default_scopes.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_set_scopes(mcplink_oauth_t *oauth, const char *scopes);

/**
 * Requests the scopes that the server supports: clears mcplink_oauth_set_scopes.
 *
 * oauth: the settings.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_use_default_scopes(mcplink_oauth_t *oauth);

/**
 * Sets whether to request offline access (offline_access), if the authorization server supports
 * it. With it, logins are rarer. Default: true.
 *
 * oauth: the settings.
 * asks: true to request it.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_set_offline_access(mcplink_oauth_t *oauth, bool asks);

/**
 * Sets whether tokens are bound to a key (DPoP). The key is generated when needed, and saved with
 * the tokens.
 *
 * oauth: the settings.
 * dpop: one of enum mcplink_dpop. Default: MCPLINK_DPOP_WHEN_ASKED.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_set_dpop(mcplink_oauth_t *oauth, int32_t dpop);

/**
 * Sets how long one request to an authorization server may take. Default: 10 s.
 *
 * oauth: the settings.
 * milliseconds: more than an hour counts as an hour.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_set_step_timeout_ms(mcplink_oauth_t *oauth, uint32_t milliseconds);

/**
 * Sets how long a complete login may take. Default: 5 minutes. While a person logs in, the timeout
 * of waiting calls does not run. Their total timeout does: see
 * mcplink_call_options_set_max_timeout_ms and mcplink_client_options_set_max_timeout_ms.
 *
 * oauth: the settings.
 * milliseconds: more than a day counts as a day.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_set_login_timeout_ms(mcplink_oauth_t *oauth, uint32_t milliseconds);

/**
 * Sets whether metadata and tokens may be requested from loopback and private addresses when the
 * server itself has a public address. Default: false, to prevent server-side request forgery
 * (SSRF): a server could make its clients send requests into their private networks.
 *
 * oauth: the settings.
 * allowed: true to allow it.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_set_private_addresses(mcplink_oauth_t *oauth, bool allowed);

/**
 * Connects to authorization servers through a proxy. Default: no proxy, regardless of the
 * environment.
 *
 * oauth: the settings.
 * url: as for mcplink_client_options_set_proxy, also "environment". NULL is refused: see
 * mcplink_oauth_clear_proxy.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_set_proxy(mcplink_oauth_t *oauth, const char *url);

/**
 * Connects to authorization servers without a proxy: clears mcplink_oauth_set_proxy.
 *
 * oauth: the settings.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_clear_proxy(mcplink_oauth_t *oauth);

/**
 * Sets the certificate authorities that are trusted for OAuth over HTTPS, for example those of a
 * company. No others are trusted. Default: Mozilla's list.
 *
 * It applies to all OAuth requests: metadata, also from the MCP server, and tokens. If the
 * authorization server has another authority than the company's, the text needs both, as the
 * certificate bundle of a system has them. mcplink_client_options_set_root_certificates applies
 * only to requests to the MCP server.
 *
 * oauth: the settings.
 * pem, len: PEM text with one or more certificates, which is copied; other contents are skipped.
 * MCPLINK_NUL measures it. It replaces an earlier one. NULL and blank text are refused: see
 * mcplink_oauth_use_default_roots. Text without a valid certificate is reported when a client is
 * opened, with MCPLINK_E_INVALID. In a build without OAuth (feature auth) opening fails with
 * MCPLINK_E_UNSUPPORTED.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_set_root_certificates(mcplink_oauth_t *oauth, const char *pem, size_t len);

/**
 * Trusts Mozilla's list of certificate authorities: clears mcplink_oauth_set_root_certificates.
 *
 * oauth: the settings.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_use_default_roots(mcplink_oauth_t *oauth);

/**
 * Sets the log hook of authorizations. It replaces that of mcplink_set_log for them. Records
 * contain no secrets.
 *
 * oauth: the settings.
 * level: the least severe level to report, one of enum mcplink_log_level.
 * callback: NULL for none. It runs on any thread, and must be quick.
 * user, destroy: passed to callback; destroy runs when another function is set, or when all
 * settings, options and clients that use it are freed.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_oauth_set_log(mcplink_oauth_t *oauth,
                                       int32_t level,
                                       mcplink_log_fn callback,
                                       void *user,
                                       mcplink_destroy_fn destroy);

/**
 * Removes the tokens for a server from memory and from the token store. The next request to it
 * must be authorized again. The tokens are not revoked.
 *
 * oauth: the settings, which clients may be using.
 * url: the URL of the server, as passed to mcplink_client_options_set_url.
 * err: receives the error on failure; the caller frees it. May be NULL.
 * Returns: MCPLINK_OK, also without tokens; MCPLINK_E_INVALID or MCPLINK_E_AUTH for an invalid
 * URL; MCPLINK_E_UNSUPPORTED in a build without OAuth; or the error of the store. Threads: any,
 * while no thread changes the settings. Blocks: as long as the store. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_forget(const mcplink_oauth_t *oauth, const char *url, mcplink_error_t **err);

/**
 * Lets a person log in, in a browser. The library listens at 127.0.0.1 for the redirect while
 * calls wait. This is the default, with 0 and NULL for all parameters.
 *
 * oauth: the settings.
 * port: the port to listen at, for clients that were registered with one; 0 for a free one.
 * program: the program that opens URLs. It gets the URL as its only argument, without a shell.
 * NULL for the system's (xdg-open, open), "" for none: then only callback runs.
 * page: the page that the person sees at the end: HTML without scripts. NULL for one sentence.
 * callback: called before the browser is opened, to tell the person about the login and its URL.
 * With it, failing to open a browser is not an error. It does not answer the login. NULL for none.
 * user, destroy: passed to callback; destroy runs when another grant type is set, or when all
 * settings, options and clients that use it are freed.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID, also without program and callback. Blocks: no. Since
 * 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_oauth_set_browser(mcplink_oauth_t *oauth,
                                           uint16_t port,
                                           const char *program,
                                           const char *page,
                                           mcplink_visit_fn callback,
                                           void *user,
                                           mcplink_destroy_fn destroy);

/**
 * Sets the host and the path of the redirect URI of a login in the browser: where the
 * authorization server sends the browser back to. Some authorization servers accept only one
 * spelling. The port is a parameter of mcplink_oauth_set_browser. Only this machine can reach the
 * redirect URI in any case.
 *
 * oauth: the settings.
 * host: "127.0.0.1", which is the default, or "localhost": then the library listens at 127.0.0.1
 * and, if the system has it, at ::1. NULL for the default.
 * path: begins with '/', or is empty; without a query. NULL for the default, "/callback". An
 * invalid host or path is reported when a client is opened, with MCPLINK_E_INVALID.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_set_redirect(mcplink_oauth_t *oauth, const char *host, const char *path);

/**
 * Lets a person log in through a function of the host, for hosts that can show a web page and
 * observe its redirects.
 *
 * oauth: the settings.
 * redirect_uri: the redirect URI: https, or on this machine.
 * callback: see mcplink_visit_fn.
 * user, destroy: passed to callback; destroy runs when another grant type is set, or when all
 * settings, options and clients that use it are freed.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_oauth_set_visitor(mcplink_oauth_t *oauth,
                                           const char *redirect_uri,
                                           mcplink_visit_fn callback,
                                           void *user,
                                           mcplink_destroy_fn destroy);

/**
 * Uses the client credentials grant: a machine acts on its own behalf, as the first client of
 * mcplink_oauth_add_client. It authenticates with a key or a secret.
 *
 * oauth: the settings.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. A missing client is reported when a client is opened.
 * Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_set_client_credentials(mcplink_oauth_t *oauth);

/**
 * Uses workload identity: the platform on which the workload runs vouches for it.
 *
 * oauth: the settings.
 * client_id: the client id, if the authorization server requires one; NULL for none.
 * callback: see mcplink_statement_fn.
 * user, destroy: passed to callback; destroy runs when another grant type is set, or when all
 * settings, options and clients that use it are freed.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_oauth_set_workload(mcplink_oauth_t *oauth,
                                            const char *client_id,
                                            mcplink_statement_fn callback,
                                            void *user,
                                            mcplink_destroy_fn destroy);

/**
 * Uses enterprise-managed authorization: the identity provider of an organisation vouches for the
 * user. The first client of mcplink_oauth_add_client is this client's registration with the
 * authorization server of the MCP server.
 *
 * oauth: the settings.
 * token_endpoint: the URL of the identity provider's token endpoint.
 * client: the registration of this client with the identity provider, which is copied and remains
 * the caller's.
 * subject: the kind of credential that callback provides, one of enum mcplink_subject.
 * callback: provides the credential of the user, in the way mcplink_bearer_fn provides tokens. It
 * runs on a thread of the library, each time it is needed. The host is responsible for the
 * sign-on, including its state, nonce and PKCE.
 * user, destroy: passed to callback; destroy runs when another grant type is set, or when all
 * settings, options and clients that use it are freed.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_oauth_set_enterprise(mcplink_oauth_t *oauth,
                                              const char *token_endpoint,
                                              const mcplink_oauth_client_t *client,
                                              int32_t subject,
                                              mcplink_bearer_fn callback,
                                              void *user,
                                              mcplink_destroy_fn destroy);

/**
 * Makes a registered OAuth client.
 *
 * issuer: the issuer identifier of the authorization server, for example "https://login.example".
 * NULL and blank text are refused: see mcplink_oauth_client_new_for_any.
 * client_id: the client id.
 * Returns: the client. The caller owns it and frees it with mcplink_oauth_client_free. NULL for a
 * bad argument. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_oauth_client_t *mcplink_oauth_client_new(const char *issuer, const char *client_id);

/**
 * Makes a registered OAuth client for the authorization server that the MCP server names first.
 * The MCP server then decides who receives the credentials, so use mcplink_oauth_client_new if the
 * issuer is known.
 *
 * client_id: the client id.
 * Returns: the client. The caller owns it and frees it with mcplink_oauth_client_free. NULL for a
 * bad argument. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_oauth_client_t *mcplink_oauth_client_new_for_any(const char *client_id);

/**
 * Sets a client secret, with which the client authenticates. It does not appear in errors or logs,
 * and is sent to the token endpoint only.
 *
 * client: the client.
 * secret: NULL and blank text are refused; a public client is one without this. It replaces a key.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_client_set_secret(mcplink_oauth_client_t *client, const char *secret);

/**
 * Sets a private key, with which the client authenticates (private_key_jwt). The key is never
 * sent, so it is safer than a secret.
 *
 * client: the client.
 * pem, len: PEM text with the key: PKCS #8 with P-256, P-384, Ed25519 or RSA, or "RSA PRIVATE
 * KEY". MCPLINK_NUL measures it. It is copied, and never quoted.
 * key_id: the key id that the authorization server knows (kid); NULL for none.
 * pss: true if an RSA key signs with PS256 instead of RS256.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID for text without such a key. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_oauth_client_set_key(mcplink_oauth_client_t *client,
                                              const char *pem,
                                              size_t len,
                                              const char *key_id,
                                              bool pss);

/**
 * Sets the audience (aud) of the signed authentication with a key. Default: the issuer. Some
 * authorization servers require the URL of their token endpoint.
 *
 * client: the client.
 * audience: NULL and blank text are refused.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_client_set_audience(mcplink_oauth_client_t *client, const char *audience);

/**
 * Frees a client. Settings to which it was added keep a copy.
 *
 * client: the client; may be NULL. Since 0.1.
 */
MCPLINK_API void mcplink_oauth_client_free(mcplink_oauth_client_t *client);

/**
 * Saves tokens and registrations in a folder, in files that only their owner may read. Processes
 * that share a folder take turns in renewing tokens. Default: in memory only.
 *
 * oauth: the settings.
 * folder: a path. It is created with mode 0700 when a client is opened. Opening fails if it
 * belongs to another user, or if others may write to it. NULL for memory.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_set_store_folder(mcplink_oauth_t *oauth, const char *folder);

/**
 * Saves tokens and registrations through functions of the host, for example in the key chain of
 * the system. Default: in memory only.
 *
 * oauth: the settings.
 * load, save, remove: all three functions, or NULL for all three: memory.
 * user, destroy: passed to them; destroy runs when the store is replaced, or when all settings,
 * options and clients that use it are freed.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when only some of the functions are set. Blocks: no.
 * Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_oauth_set_store(mcplink_oauth_t *oauth,
                                         mcplink_store_load_fn load,
                                         mcplink_store_save_fn save,
                                         mcplink_store_remove_fn remove,
                                         void *user,
                                         mcplink_destroy_fn destroy);

/**
 * Returns the URL to open in a browser: https, or on this machine. Pass it to the browser
 * unchanged, never through a shell.
 *
 * login: NULL for "".
 * Returns: valid as long as the login. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_login_url(const mcplink_login_t *login);

/**
 * Returns the URL of the server that requires the login, without its query.
 *
 * login: NULL for "".
 * Returns: valid as long as the login. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_login_server(const mcplink_login_t *login);

/**
 * Returns scheme, host and port of the authorization server. Show it to the person before a
 * browser is opened.
 *
 * login: NULL for "".
 * Returns: valid as long as the login. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_login_authorization_server(const mcplink_login_t *login);

/**
 * Returns the scopes that the person is asked to grant, separated by spaces.
 *
 * login: NULL for "".
 * Returns: valid as long as the login. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_login_scopes(const mcplink_login_t *login);

/**
 * Checks whether the login is over: it was answered, it timed out, or all calls that need it were
 * cancelled or closed. The host can then remove what it shows. It is cheap: a function that asks
 * the person itself polls it, and returns when it is true.
 *
 * login: NULL for false.
 * Returns: true if it is. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API bool mcplink_login_is_over(const mcplink_login_t *login);

/**
 * Sets a function that is called once when the login is over: see mcplink_login_is_over.
 *
 * login: the login.
 * callback: called at once, on this thread, if the login is over already. Otherwise it runs on a
 * thread of the library, or on one that ends a call, and must be quick. NULL for none.
 * user, destroy: passed to callback; destroy runs after the callback, when another function is
 * set, or when the login is freed.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: any. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_login_on_over(mcplink_login_t *login,
                                       mcplink_cancelled_fn callback,
                                       void *user,
                                       mcplink_destroy_fn destroy);

/**
 * Answers a login with the URL to which the authorization server redirected the browser, complete
 * with its query. Other URLs that the browser visits may be passed too: they are recognised and
 * refused.
 *
 * login: the login.
 * url, len: the URL; MCPLINK_NUL measures it.
 * Returns: MCPLINK_OK; MCPLINK_E_INVALID when it is not the answer to this login, which continues;
 * MCPLINK_E_STATE when it is over or was answered, or when the library listens for the answer
 * itself. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_login_answer(mcplink_login_t *login, const char *url, size_t len);

/**
 * Refuses a login: the person declined, or can't be asked. The calls that wait for it fail with
 * MCPLINK_E_AUTH.
 *
 * login: the login.
 * why: a reason for their error message; NULL for none.
 * Returns: MCPLINK_OK; MCPLINK_E_INVALID; MCPLINK_E_STATE when it is over or was answered, or when
 * the library listens for the answer itself. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_login_refuse(mcplink_login_t *login, const char *why);

/**
 * Keeps a login, so that it can be answered after the function that received it has returned. No
 * thread of the host waits meanwhile.
 *
 * login: NULL for NULL.
 * Returns: the same login. The caller owns a reference now and frees it with mcplink_login_free,
 * once for each mcplink_login_keep. It may outlive the client. Threads: any. Blocks: no. Since
 * 0.1.
 */
MCPLINK_API mcplink_login_t *mcplink_login_keep(mcplink_login_t *login);

/**
 * Releases a login that was kept. Releasing the last reference refuses an unanswered login. In a
 * forked process it does nothing; see MCPLINK_E_FORKED.
 *
 * login: the login; may be NULL. Never one that was not kept. Threads: any. Since 0.1.
 */
MCPLINK_API void mcplink_login_free(mcplink_login_t *login);

/**
 * Makes options with the defaults. An endpoint must be set: a command, a URL, two descriptors or a
 * transport.
 *
 * Returns: options. The caller owns them and frees them with mcplink_client_options_free. Threads:
 * any; one at a time uses them. Since 0.1.
 */
MCPLINK_API mcplink_client_options_t *mcplink_client_options_new(void);

/**
 * Frees options. Clients that were opened with them continue.
 *
 * options: the options; may be NULL. Since 0.1.
 */
MCPLINK_API void mcplink_client_options_free(mcplink_client_options_t *options);

/**
 * Sets the name and version of the client. Default: those of this library.
 *
 * options: the options.
 * client_name: the name, for programs.
 * version: any text.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_info(mcplink_client_options_t *options,
                                                 const char *client_name,
                                                 const char *version);

/**
 * Sets the complete description of the client: {"name":"...", "version":"...", "title":"...",
 * "description":"...", "websiteUrl":"...", "icons":[...]}.
 *
 * options: the options.
 * json, len: the description; MCPLINK_NUL measures it.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when name or version is missing. Blocks: no. Since
 * 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_info_json(mcplink_client_options_t *options, const char *json, size_t len);

/**
 * Sets the protocol revisions that may be used. Default: all. The newest one that the server
 * supports is chosen.
 *
 * options: the options.
 * revisions: their dates, separated by spaces: "2025-11-25 2026-07-28".
 * Returns: MCPLINK_OK; MCPLINK_E_INVALID for none, MCPLINK_E_UNSUPPORTED for one that this library
 * does not know. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_revisions(mcplink_client_options_t *options, const char *revisions);

/**
 * Sets the expected era of the server, from mcplink_client_era of an earlier connection, to skip
 * the detection. It does not pin the era: if the server proves to be of the other era, that one is
 * used.
 *
 * options: the options.
 * era: one of enum mcplink_era; MCPLINK_ERA_UNKNOWN changes nothing.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_era(mcplink_client_options_t *options, int32_t era);

/**
 * Runs the callbacks of the client where a pump is dispatched, instead of on a thread of the
 * client.
 *
 * options: the options.
 * pump: must not be freed before the client; NULL for none.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_pump(mcplink_client_options_t *options, mcplink_pump_t *pump);

/**
 * Sets a token that can cancel connecting from another thread. Opening then fails with
 * MCPLINK_E_CANCELLED.
 *
 * options: the options.
 * cancel: may be freed before the options; NULL for none.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_cancel(mcplink_client_options_t *options, mcplink_cancel_t *cancel);

/**
 * Sets whether servers may answer tool calls with tasks, and declares the extension. The client
 * follows each task to its result. Default: false.
 *
 * options: the options.
 * takes: true to accept tasks.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_tasks(mcplink_client_options_t *options, bool takes);

/**
 * Declares an extension of the protocol.
 *
 * options: the options.
 * id: for example "com.example/thing".
 * settings, len: a JSON object; empty for none. MCPLINK_NUL measures it.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. An invalid id is reported when the client is opened.
 * Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_add_extension(mcplink_client_options_t *options,
                                                      const char *id,
                                                      const char *settings,
                                                      size_t len);

/**
 * Sets the function that receives the events of the client: connection state, changes on the
 * server, and log messages of the server.
 *
 * options: the options.
 * callback: NULL for none. It runs where the client's callbacks run, one event at a time and in
 * order. At most 1024 changes and log messages wait; further ones are dropped.
 * user, destroy: passed to callback; destroy runs when another function is set, or when the
 * options and all clients that use it are freed.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_on_event(mcplink_client_options_t *options,
                                                 mcplink_event_fn callback,
                                                 void *user,
                                                 mcplink_destroy_fn destroy);

/**
 * Sets the function that receives the notifications of one method, for extensions of the protocol.
 *
 * options: the options.
 * notification: the method, for example "notifications/com.example/thing".
 * callback: receives MCPLINK_EVENT_NOTIFICATION and the params. NULL for none. Where and how
 * it runs: see mcplink_client_options_on_event.
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
 * Sets the log hook of the client. It replaces that of mcplink_set_log for this client.
 *
 * options: the options.
 * level: the least severe level to report, one of enum mcplink_log_level.
 * callback: NULL for none. It runs on any thread, also with a pump, and must be quick.
 * user, destroy: passed to callback; destroy runs when another function is set, or when the
 * options and all clients that use it are freed.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_log(mcplink_client_options_t *options,
                                                int32_t level,
                                                mcplink_log_fn callback,
                                                void *user,
                                                mcplink_destroy_fn destroy);

/**
 * Returns a token or another secret from a function of the host that has to provide one: see
 * mcplink_client_options_set_bearer_hook.
 *
 * token: the parameter of that function; valid until the function returns.
 * text, len: the token, which is copied; MCPLINK_NUL measures it.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: that of the function. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_token_set(mcplink_token_t *token, const char *text, size_t len);

/**
 * Sets how long connecting may take in total. Default: 60 s.
 *
 * options: the options.
 * milliseconds: MCPLINK_FOREVER for no timeout.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_connect_timeout_ms(mcplink_client_options_t *options, uint32_t milliseconds);

/**
 * Sets how long a server may take to answer the first request before it is treated as a legacy
 * server. Default: 5 s.
 *
 * options: the options.
 * milliseconds: not used over HTTP, where a missing answer does not indicate the era.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_probe_timeout_ms(mcplink_client_options_t *options, uint32_t milliseconds);

/**
 * Sets the default timeout of calls: how long a call waits for its result. Progress restarts it.
 * Default: 60 s.
 *
 * options: the options.
 * milliseconds: MCPLINK_FOREVER for no timeout.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_timeout_ms(mcplink_client_options_t *options, uint32_t milliseconds);

/**
 * Sets the default total timeout of calls, regardless of progress. Default: 10 minutes.
 *
 * options: the options.
 * milliseconds: MCPLINK_FOREVER for no timeout.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_max_timeout_ms(mcplink_client_options_t *options, uint32_t milliseconds);

/**
 * Limits the length of a received message. Default: 16 MiB. Equivalent to
 * MCPLINK_LIMIT_MESSAGE_BYTES.
 *
 * options: the options.
 * bytes: the limit.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_max_message(mcplink_client_options_t *options, size_t bytes);

/**
 * Sets a limit of the connection.
 *
 * options: the options.
 * number: one of enum mcplink_limit.
 * limit_value: the limit.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID for an unknown limit. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_limit(mcplink_client_options_t *options, int32_t number, size_t limit_value);

/**
 * Limits how many started calls may run at once; each uses a thread. Default: 256. The next one
 * fails with MCPLINK_E_BUSY.
 *
 * options: the options.
 * count: at least 1.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID for 0. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_max_started(mcplink_client_options_t *options, size_t count);

/**
 * Restarts the server automatically when the connection is lost. Default: no restart. It needs a
 * command, or another endpoint that can be connected again.
 *
 * Calls in flight then fail with MCPLINK_E_CLOSED. Calls that were not sent yet wait for the new
 * connection until their deadline.
 *
 * options: the options.
 * max_attempts: the number of attempts in a row, for example 10; 0 for no restart.
 * first_delay_ms, max_delay_ms: the delay before the first attempt, and the longest delay. The
 * delay doubles from attempt to attempt (back-off). For example 250 and 30000.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_restart(mcplink_client_options_t *options,
                                                    uint32_t max_attempts,
                                                    uint32_t first_delay_ms,
                                                    uint32_t max_delay_ms);

/**
 * Sets whether idempotent calls are retried after a restart, though the lost server may have
 * executed them. These are reads, lists, and listed tools that declare themselves idempotent or
 * read-only. Default: false. Only with mcplink_client_options_set_restart.
 *
 * options: the options.
 * resends: true to retry them.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_resend_harmless(mcplink_client_options_t *options, bool resends);

/**
 * Pings the server after a silence, and ends the connection when it does not answer. Default: no
 * pings.
 *
 * options: the options.
 * interval_ms: the length of the silence.
 * timeout_ms: how long an answer may take, for example 30000.
 * max_failures: the number of unanswered pings in a row after which the connection ends, for
 * example 3.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when a time is 0. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_keep_alive(mcplink_client_options_t *options,
                                                       uint32_t interval_ms,
                                                       uint32_t timeout_ms,
                                                       uint32_t max_failures);

/**
 * Limits the length of lists. Default: 10 000 pages and 100 000 items. A longer list fails with
 * MCPLINK_E_LIMIT.
 *
 * options: the options.
 * pages, items: the limits.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_max_list(mcplink_client_options_t *options, size_t pages, size_t items);

/**
 * Sets whether answers of the server that deviate from the specification are refused. By default
 * unambiguous deviations are accepted, and invalid entries are left out of lists
 * (mcplink_result_misfits).
 *
 * A request of the server (elicitation, sampling, roots) that deviates reaches no callback
 * then: it is refused, or the call that it belongs to fails. docs/compatibility.md lists the
 * accepted deviations.
 *
 * options: the options.
 * strict: true to make such calls fail with MCPLINK_E_PROTOCOL.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_strict(mcplink_client_options_t *options, bool strict);

/**
 * Sets whether calls are sent although the server did not declare the capability they need.
 * Default: false: they fail at once, with MCPLINK_E_UNSUPPORTED. Some servers have tools without
 * declaring them.
 *
 * options: the options.
 * assume: true to send them.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_assume_capabilities(mcplink_client_options_t *options, bool assume);

/**
 * Sets the time after which a running handler of the host is logged as slow. Default: 30 s.
 *
 * options: the options.
 * milliseconds: MCPLINK_FOREVER for never.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_slow_handler_ms(mcplink_client_options_t *options, uint32_t milliseconds);

/**
 * Disables the validation of structured tool results against the listed output schemas. Only a
 * library with the feature "validation" validates them.
 *
 * options: the options.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_clear_validation(mcplink_client_options_t *options);

/**
 * Sets the stack size of the client's threads that may run code of the host. Default: 8 MiB. The
 * stack is reserved, but uses no memory before it is written to.
 *
 * options: the options.
 * bytes: 262144 (256 KiB) to 1073741824 (1 GiB); the system rounds it up to whole pages. If the
 * system lacks the memory, starting a thread fails.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID for another size. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_thread_stack_size(mcplink_client_options_t *options, size_t bytes);

/**
 * Sets the prefix of the names of the client's threads. Default: "mcplink". A dash and the role of
 * the thread follow, such as "mcplink-crew"; Linux shows 15 bytes in total.
 *
 * options: the options.
 * prefix: 1 to 15 bytes, without control characters.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID for another prefix. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_thread_prefix(mcplink_client_options_t *options, const char *prefix);

/**
 * Sets hooks that run first and last on each thread that the library starts for the client. For
 * example for a profiler, or a virtual machine that must attach the threads that enter it.
 *
 * If start was called, stop is called before the thread ends. When mcplink_client_free has
 * returned, all threads have ended, except those whose callback does not return. Called in a
 * callback of the client, it ends them after that callback. A thread that connects or logs in may
 * end slightly later, where it can't be interrupted.
 *
 * Threads with these hooks have the stack size of threads that run code of the host. The hooks do
 * not run on threads of the host itself, such as those that dispatch a pump.
 *
 * options: the options.
 * start: called before any other callback on the thread; NULL for none.
 * stop: called after all other callbacks on the thread; NULL for none.
 * user, destroy: passed to both. destroy runs when other hooks are set. Otherwise it runs when the
 * options, all clients made with them and their kept responders are freed, and their threads have
 * ended.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_on_thread(mcplink_client_options_t *options,
                                                  mcplink_thread_fn start,
                                                  mcplink_thread_fn stop,
                                                  void *user,
                                                  mcplink_destroy_fn destroy);

/**
 * Connects to a server that is started as a child process. Messages use its standard input and
 * output. The child is ended when the client is closed.
 *
 * options: the options.
 * argv: the program and its arguments, terminated by NULL, copied. No shell is involved. A name
 * without a slash is searched in PATH.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when there is no program. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_command(mcplink_client_options_t *options, const char *const *argv);

/**
 * Sets an environment variable of the child, in addition to those that it inherits: see
 * mcplink_client_options_inherit_env.
 *
 * options: the options.
 * variable: its name.
 * variable_value: its value; NULL prevents it from being inherited.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_env(mcplink_client_options_t *options,
                                                const char *variable,
                                                const char *variable_value);

/**
 * Passes an environment variable of this process to the child, with its value when the child is
 * started. A variable that is not set then is left out.
 *
 * options: the options.
 * variable: its name.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_pass_env(mcplink_client_options_t *options, const char *variable);

/**
 * Makes the child inherit all environment variables of this process. By default it inherits only
 * HOME, LANG, LC_*, LOGNAME, PATH, SHELL, TERM, TMPDIR and USER. Others may contain secrets of
 * this process, such as keys. Replaces mcplink_client_options_clear_env.
 *
 * options: the options.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_inherit_env(mcplink_client_options_t *options);

/**
 * Sets whether the system kills the child (SIGKILL) when this process ends, even if this process
 * is killed. Default: false: the child gets the end of its standard input, and may continue.
 *
 * Only the child is killed; its own children get the end of their standard input. The system binds
 * the child to the thread that starts it. So a thread of the client starts it, and stays until the
 * child has ended. Linux only: elsewhere opening fails with MCPLINK_E_UNSUPPORTED.
 *
 * options: the options.
 * dies: true to kill it.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_die_with_parent(mcplink_client_options_t *options, bool dies);

/**
 * Makes the child inherit no environment variables. Variables that are set or passed, before or
 * after this call, are kept. Replaces mcplink_client_options_inherit_env.
 *
 * options: the options.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_clear_env(mcplink_client_options_t *options);

/**
 * Sets the working directory of the child. Default: that of this process.
 *
 * options: the options.
 * directory: a path; NULL for the default.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_cwd(mcplink_client_options_t *options, const char *directory);

/**
 * Sets whether the child's standard input and output are pipes. Default: false: they are sockets.
 * Only a program that opens /dev/stdin or /dev/stdout by name needs pipes.
 *
 * options: the options.
 * pipes: true for pipes.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_pipes(mcplink_client_options_t *options, bool pipes);

/**
 * Sets what happens to the child's standard error.
 *
 * options: the options.
 * mode: one of enum mcplink_stderr.
 * callback: with MCPLINK_STDERR_CAPTURE, receives each line; NULL for none. It runs where the
 * client's callbacks run. At most 1024 lines wait for it; further ones are only in
 * mcplink_client_stderr_tail.
 * user, destroy: passed to callback; destroy runs when another function is set, or when the
 * options and all clients that use it are freed.
 * Returns: MCPLINK_OK; MCPLINK_E_INVALID for an unknown mode, or a callback with another mode.
 * Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_stderr(mcplink_client_options_t *options,
                                                   int32_t mode,
                                                   mcplink_line_fn callback,
                                                   void *user,
                                                   mcplink_destroy_fn destroy);

/**
 * Sets how long closing may take. For a child process: how long it may take to exit after its
 * standard input was closed, and again after SIGTERM, before it is killed. Default: 2 s. Over
 * HTTP: how long ending the session may take. Default: 1 s.
 *
 * options: the options.
 * milliseconds: more than an hour counts as an hour.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_close_ms(mcplink_client_options_t *options, uint32_t milliseconds);

/**
 * Connects to a server over HTTP.
 *
 * options: the options.
 * url: http://host:port/path, or https. An invalid URL is reported when the client is opened.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_url(mcplink_client_options_t *options, const char *url);

/**
 * Adds a header field to every request over HTTP. Its value does not appear in errors or logs.
 *
 * options: the options.
 * field: its name. A field that the library writes itself is refused when the client is opened.
 * field_value: its value.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_header(mcplink_client_options_t *options,
                                                   const char *field,
                                                   const char *field_value);

/**
 * Sets the token for every request over HTTP (Authorization: Bearer). It does not appear in errors
 * or logs. Replaces mcplink_client_options_set_bearer_hook and mcplink_client_options_set_oauth.
 *
 * options: the options.
 * token: NULL and blank text are refused: see mcplink_client_options_clear_authorization.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_bearer(mcplink_client_options_t *options, const char *token);

/**
 * Sets a function that provides the token for each request over HTTP. Replaces
 * mcplink_client_options_set_bearer and mcplink_client_options_set_oauth.
 *
 * options: the options.
 * callback: see mcplink_bearer_fn. NULL is refused: see
 * mcplink_client_options_clear_authorization.
 * user, destroy: passed to callback; destroy runs when the function is replaced, refused or
 * cleared, or when the options and all clients that use it are freed.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_bearer_hook(mcplink_client_options_t *options,
                                                        mcplink_bearer_fn callback,
                                                        void *user,
                                                        mcplink_destroy_fn destroy);

/**
 * Obtains and renews access tokens for a server over HTTP with OAuth. Replaces
 * mcplink_client_options_set_bearer and mcplink_client_options_set_bearer_hook.
 *
 * A call that needs a login waits for it, also mcplink_client_open; see
 * mcplink_oauth_set_login_timeout_ms. Concurrent calls share one login, and each can be cancelled.
 * When no call waits any more, the login is abandoned. A failure is MCPLINK_E_AUTH: its message
 * has the step, the server and the reason. mcplink_error_oauth_code has the error code of the
 * authorization server.
 *
 * options: the options.
 * oauth: the settings, which remain the caller's. They may be passed to several options: clients
 * with the same settings object share tokens. NULL, and settings with a refused setter,
 * are refused: see mcplink_client_options_clear_authorization. Other faults are reported when the
 * client is opened, which fails with MCPLINK_E_UNSUPPORTED in a build without OAuth.
 * Returns: MCPLINK_OK, MCPLINK_E_INVALID, or the status with which the setter was refused. Blocks:
 * no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_oauth(mcplink_client_options_t *options, const mcplink_oauth_t *oauth);

/**
 * Sends no tokens. Clears what mcplink_client_options_set_bearer,
 * mcplink_client_options_set_bearer_hook and mcplink_client_options_set_oauth set.
 *
 * options: the options.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_clear_authorization(mcplink_client_options_t *options);

/**
 * Connects through a proxy. Default: no proxy, regardless of the environment.
 *
 * options: the options.
 * url: http://, https://, socks4://, socks4a://, socks5:// or socks5h:// with host and port;
 * "environment" for the proxy that the environment names. NULL is refused: see
 * mcplink_client_options_clear_proxy. With socks4 and socks5 the client resolves the server's
 * name, with the others the proxy does. In the environment, HTTP_PROXY is for http, HTTPS_PROXY
 * for https, ALL_PROXY for both. NO_PROXY lists hosts, domains and networks that are connected to
 * directly. Lower-case names take precedence. An invalid proxy is reported when the client is
 * opened, with MCPLINK_E_INVALID.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_proxy(mcplink_client_options_t *options, const char *url);

/**
 * Uses no proxy: clears mcplink_client_options_set_proxy.
 *
 * options: the options.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_clear_proxy(mcplink_client_options_t *options);

/**
 * Sets the certificate authorities that are trusted for servers over HTTPS, for example those of a
 * company. No others are trusted. Default: Mozilla's list. For authorization servers, which are
 * often run by others, see mcplink_oauth_set_root_certificates.
 *
 * options: the options.
 * pem, len: PEM text with one or more certificates, which is copied; other contents are skipped.
 * MCPLINK_NUL measures it. It replaces an earlier one. NULL and blank text are refused: see
 * mcplink_client_options_use_default_roots. Text without a valid certificate is reported when the
 * client is opened, with MCPLINK_E_INVALID. In a build without HTTPS (feature tls) opening fails
 * with MCPLINK_E_UNSUPPORTED.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_root_certificates(mcplink_client_options_t *options, const char *pem, size_t len);

/**
 * Trusts Mozilla's list of certificate authorities: clears
 * mcplink_client_options_set_root_certificates.
 *
 * options: the options.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_use_default_roots(mcplink_client_options_t *options);

/**
 * Sets whether HTTP redirects that keep the method (307, 308) are followed, at most five in a row,
 * and only to the same origin. Default: true. A redirect to another origin is always an error,
 * which names the origin.
 *
 * options: the options.
 * follows: true to follow them.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_follow_redirects(mcplink_client_options_t *options, bool follows);

/**
 * Connects over two file descriptors: pipes, sockets, terminals. Messages are lines.
 *
 * options: the options.
 * input, output: read from and written to; may be equal, for a socket. They must stay open until
 * the client is opened, which duplicates them. They remain the caller's. The peer sees the end of
 * the connection only when the caller has closed them too.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID for a number that is no descriptor. Blocks: no. Since
 * 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_fds(mcplink_client_options_t *options, ptrdiff_t input, ptrdiff_t output);

/**
 * Connects over a transport of the host: see mcplink_transport_new.
 *
 * options: the options.
 * transport: serves one client. It remains the caller's; free it when the client is freed. NULL
 * for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_transport(mcplink_client_options_t *options, mcplink_transport_t *transport);

/**
 * Opens a client: starts or connects to its server, and negotiates a protocol revision with it.
 *
 * options: the options, which are copied and remain the caller's. Exactly one of command, url, fds
 * and transport must be set.
 * out: receives the client, NULL on failure. The caller owns it and frees it with
 * mcplink_client_free.
 * err: receives the error on failure; the caller frees it. May be NULL.
 * Returns: MCPLINK_OK; MCPLINK_E_INVALID when options are missing or contradict each other,
 * MCPLINK_E_SPAWN when the child can't be started, MCPLINK_E_CLOSED when the server left (see
 * mcplink_error_peer_stderr), MCPLINK_E_TIMEOUT when it did not answer, MCPLINK_E_UNSUPPORTED when
 * there is no common revision, MCPLINK_E_PEER or MCPLINK_E_PROTOCOL when it refuses or its answer
 * is invalid, MCPLINK_E_CANCELLED when the token of the options was triggered; over HTTP also
 * MCPLINK_E_IO, MCPLINK_E_AUTH and MCPLINK_E_HTTP. Threads: any. Blocks: until the client is
 * connected or has failed, at most for the time of mcplink_client_options_set_connect_timeout_ms.
 * Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_open(const mcplink_client_options_t *options, mcplink_client_t **out, mcplink_error_t **err);

/**
 * Starts to open a client without waiting: the non-blocking form of mcplink_client_open. The
 * outcome is an event: MCPLINK_EVENT_CONNECTED or MCPLINK_EVENT_FAILED. Before that, calls fail
 * with MCPLINK_E_STATE.
 *
 * options: the options, which are copied and remain the caller's. See
 * mcplink_client_options_on_event.
 * out: receives the client, NULL on failure. The caller owns it and may free it with
 * mcplink_client_free at any time: that cancels connecting.
 * err: receives the error on failure; the caller frees it. May be NULL.
 * Returns: MCPLINK_OK when connecting was started; MCPLINK_E_INVALID when options are missing or
 * contradict each other. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_start(const mcplink_client_options_t *options, mcplink_client_t **out, mcplink_error_t **err);

/**
 * Closes the connection, and ends the server if it is a child process. Pending calls fail with
 * MCPLINK_E_CLOSED. Information about the server remains readable. mcplink_client_free closes too.
 *
 * client: the client.
 * timeout_ms: how long to wait at most, in milliseconds; MCPLINK_FOREVER to wait until it is
 * closed, which is bounded by mcplink_client_options_set_close_ms.
 * err: receives the error on failure; the caller frees it. May be NULL.
 * Returns: MCPLINK_OK, also when it was closed before; MCPLINK_E_TIMEOUT when closing takes
 * longer, and continues in the background. In the close function of the client's transport it
 * returns MCPLINK_E_TIMEOUT at once. Threads: any, also in callbacks. Blocks: for that long. Since
 * 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_close(mcplink_client_t *client, uint32_t timeout_ms, mcplink_error_t **err);

/**
 * Closes a client and frees it. Started calls get their outcome before this returns, and no
 * callback of the client runs after it. Called inside a callback of the client, it returns at
 * once, and the rest happens when the callback returns.
 *
 * In a forked process this does nothing: memory and descriptors, which are close-on-exec, remain
 * until the process exits or executes another program. See MCPLINK_E_FORKED.
 *
 * client: the client; may be NULL. Other threads may be inside functions of it: they return
 * MCPLINK_E_CLOSED. No thread may use it afterwards. Threads: any. Blocks: until the connection is
 * closed, see mcplink_client_options_set_close_ms, and running callbacks have returned. Since 0.1.
 */
MCPLINK_API void mcplink_client_free(mcplink_client_t *client);

/**
 * Returns the state of a client.
 *
 * client: NULL for MCPLINK_CLIENT_NONE.
 * Returns: one of enum mcplink_connection_state. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API int32_t mcplink_client_state(const mcplink_client_t *client);

/**
 * Returns the negotiated protocol revision, for example "2025-11-25".
 *
 * client: NULL for empty text.
 * Returns: static text; empty before the client is connected. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_client_revision(const mcplink_client_t *client);

/**
 * Returns the era of the server. Pass it to mcplink_client_options_set_era next time, to skip the
 * detection.
 *
 * client: NULL for MCPLINK_ERA_UNKNOWN.
 * Returns: one of enum mcplink_era. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API int32_t mcplink_client_era(const mcplink_client_t *client);

/**
 * Checks whether the server declared a capability.
 *
 * client: NULL for false.
 * capability: a path into the declared capabilities: "tools", "tools.listChanged",
 * "extensions.com.example/thing".
 * Returns: true if it declared it. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API bool mcplink_client_has(const mcplink_client_t *client, const char *capability);

/**
 * Returns what the server reported about itself.
 *
 * client: the client.
 * out: receives {"protocolVersion":"...", "serverInfo":{"name":"...","version":"..."},
 * "capabilities":{...}, "instructions":"..."}, of which serverInfo and instructions may be
 * missing; NULL on failure. The caller owns it and frees it with mcplink_json_free.
 * err: receives the error on failure; the caller frees it. May be NULL.
 * Returns: MCPLINK_OK; MCPLINK_E_STATE before the client is connected. Threads: any. Blocks: no.
 * Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_server_info(const mcplink_client_t *client, mcplink_json_t **out, mcplink_error_t **err);

/**
 * Returns the last 64 KiB that a child process wrote to its standard error.
 *
 * client: the client.
 * out: receives a JSON string, empty without output or without a child process; NULL on failure.
 * See mcplink_json_str. The caller owns it and frees it with mcplink_json_free.
 * err: receives the error on failure; the caller frees it. May be NULL.
 * Returns: MCPLINK_OK. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_stderr_tail(const mcplink_client_t *client, mcplink_json_t **out, mcplink_error_t **err);

/**
 * Returns statistics of the connection. After a restart they start again from 0.
 *
 * client: the client.
 * out: receives an object of numbers: callsInFlight, requestsInHand, queuedBytes, threads,
 * lateResponses, unknownResponses, noise, malformed, tooLong, refusedBusy, droppedNotifications,
 * mergedProgress, cachedResponses, cachedBytes, cacheHits, cacheMisses; NULL on failure. The
 * caller owns it and frees it with mcplink_json_free.
 * err: receives the error on failure; the caller frees it. May be NULL.
 * Returns: MCPLINK_OK; MCPLINK_E_STATE before the client is connected. Threads: any. Blocks: no.
 * Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_stats(const mcplink_client_t *client, mcplink_json_t **out, mcplink_error_t **err);

/**
 * Returns a text about the current activity, to find the cause of a hang: pending calls, requests
 * of the server in flight, and threads that write.
 *
 * client: the client.
 * out: receives a JSON string; NULL on failure. See mcplink_json_str. The caller owns it and frees
 * it with mcplink_json_free.
 * err: receives the error on failure; the caller frees it. May be NULL.
 * Returns: MCPLINK_OK; MCPLINK_E_STATE before the client is connected. Threads: any. Blocks: no.
 * Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_activity(const mcplink_client_t *client, mcplink_json_t **out, mcplink_error_t **err);

/**
 * Makes options with the defaults.
 *
 * Returns: options. The caller owns them and frees them with mcplink_call_options_free; they may
 * be used for many calls. Threads: any; one at a time changes them. Since 0.1.
 */
MCPLINK_API mcplink_call_options_t *mcplink_call_options_new(void);

/**
 * Frees options. Calls that were made with them continue.
 *
 * options: the options; may be NULL. Since 0.1.
 */
MCPLINK_API void mcplink_call_options_free(mcplink_call_options_t *options);

/**
 * Sets how long to wait for the result. Progress restarts the timeout. It does not run while a
 * person answers an input request of the server. Default: that of the client.
 *
 * options: the options.
 * milliseconds: MCPLINK_FOREVER for no timeout.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_call_options_set_timeout_ms(mcplink_call_options_t *options, uint32_t milliseconds);

/**
 * Sets how long to wait in total, regardless of progress. Default: that of the client.
 *
 * options: the options.
 * milliseconds: MCPLINK_FOREVER for no timeout.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_call_options_set_max_timeout_ms(mcplink_call_options_t *options, uint32_t milliseconds);

/**
 * Sets a token that can cancel the call.
 *
 * options: the options.
 * cancel: may be freed before the options; NULL for none.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_call_options_set_cancel(mcplink_call_options_t *options, mcplink_cancel_t *cancel);

/**
 * Sets the function that receives the progress of the call.
 *
 * options: the options.
 * callback: NULL for none. For a blocking call it runs on the calling thread, in order, before the
 * call returns. For a started call it runs where the client's callbacks run; newer progress
 * replaces older progress that still waits.
 * user, destroy: passed to callback; destroy runs when another function is set, or when the
 * options and all calls that use it have ended.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_call_options_on_progress(mcplink_call_options_t *options,
                                                  mcplink_progress_fn callback,
                                                  void *user,
                                                  mcplink_destroy_fn destroy);

/**
 * Adds a member of "_meta" to the request, for example a trace context.
 *
 * options: the options.
 * key: its name.
 * json, len: its value; MCPLINK_NUL measures it.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_call_options_set_meta(mcplink_call_options_t *options, const char *key, const char *json, size_t len);

/**
 * Requests log messages from a modern server during the call. They arrive as
 * MCPLINK_EVENT_LOG_MESSAGE. For servers of the legacy era use mcplink_client_set_log_level.
 *
 * options: the options.
 * level: the least severe level to receive, one of enum mcplink_log_level.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_call_options_set_log_level(mcplink_call_options_t *options, int32_t level);

/**
 * Sets whether the call bypasses the cache, and asks the server even if a fresh result is cached.
 * Default: false.
 *
 * options: the options.
 * bypasses: true to bypass it.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_call_options_set_bypass_cache(mcplink_call_options_t *options, bool bypasses);

/**
 * Cancels a call: it fails with MCPLINK_E_CANCELLED, unless it has ended already. The server is
 * notified.
 *
 * call: the call.
 * reason: one sentence for the server; NULL for none.
 * Returns: MCPLINK_OK. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_call_cancel(mcplink_call_t *call, const char *reason);

/**
 * Waits for the outcome of a call. Its done function may run before or after this returns. It may
 * be called again, also by several threads.
 *
 * call: the call.
 * timeout_ms: how long to wait at most, in milliseconds; MCPLINK_FOREVER to wait for the deadline
 * of the call itself.
 * out: receives the result, NULL if there is none; the caller frees it with mcplink_result_free.
 * May be NULL.
 * err: receives the error on failure; the caller frees it. May be NULL.
 * Returns: MCPLINK_OK or MCPLINK_TOOL_ERROR with a result, MCPLINK_PENDING after the timeout, or
 * the status of the call's failure. MCPLINK_E_CLOSED also when another thread frees the handle.
 * Threads: any; on the thread that runs the client's callbacks, it handles requests from the
 * server meanwhile. Blocks: yes. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_call_wait(mcplink_call_t *call, uint32_t timeout_ms, mcplink_result_t **out, mcplink_error_t **err);

/**
 * Checks whether a call has ended.
 *
 * call: NULL for false.
 * Returns: true if it has; its done function may still have to run. Threads: any. Blocks: no.
 * Since 0.1.
 */
MCPLINK_API bool mcplink_call_is_done(const mcplink_call_t *call);

/**
 * Returns a number that identifies the call in this process.
 *
 * call: NULL for 0.
 * Returns: a number that the library assigned, from 1. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API uint64_t mcplink_call_id(const mcplink_call_t *call);

/**
 * Frees the handle of a call. The call continues, and its done function will run. To stop the
 * call, cancel it first.
 *
 * call: the call; may be NULL. Threads: any, also in callbacks. Blocks: no. Since 0.1.
 */
MCPLINK_API void mcplink_call_free(mcplink_call_t *call);

/**
 * Calls a tool, and waits for its result.
 *
 * A tool that ran and failed is not a failure of the call: the status is MCPLINK_TOOL_ERROR then,
 * and the result contains the reason.
 *
 * client: the client.
 * tool_name: the name of the tool.
 * arguments, len: a JSON object, which is copied; MCPLINK_NUL measures it. NULL for none.
 * options: timeouts and other options of the call; NULL for the defaults.
 * out: receives the result, NULL if there is none. The caller owns it and frees it with
 * mcplink_result_free.
 * err: receives the error on failure; the caller frees it. May be NULL.
 * Returns: MCPLINK_OK or MCPLINK_TOOL_ERROR with a result; MCPLINK_E_INVALID for invalid arguments
 * of this function, MCPLINK_E_UNSUPPORTED when the server has no tools, MCPLINK_E_PEER when it
 * refuses, MCPLINK_E_TIMEOUT and MCPLINK_E_CANCELLED (the server is notified), MCPLINK_E_CLOSED
 * when it has gone, MCPLINK_E_PROTOCOL when its answer is invalid. Threads: any; also in
 * callbacks. Blocks: until the call has ended. Since 0.1.
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
 * Starts a tool call without waiting: the non-blocking form of mcplink_client_call_tool.
 *
 * All functions whose names end in _start have these parameters in common:
 *
 * callback: receives the outcome, exactly once, after the progress of the call, where the client's
 * callbacks run. May be NULL.
 * user, destroy: passed to callback; destroy runs after it, or at once when the call can't be
 * started.
 * out: receives a handle to wait for or cancel the call; the caller frees it with
 * mcplink_call_free. May be NULL.
 * Returns: MCPLINK_OK when the call was started; MCPLINK_E_INVALID for invalid arguments,
 * MCPLINK_E_STATE while the client is being connected, MCPLINK_E_BUSY when the limit of started
 * calls is reached (mcplink_client_options_set_max_started). Other errors are the outcome of the
 * call. Threads: any. Blocks: no. Since 0.1.
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
 * uri: the URI of the resource.
 * options, out, err: as mcplink_client_call_tool. The result is {"contents":[...]}: see
 * mcplink_result_text and mcplink_result_content_bytes.
 * Returns: as mcplink_client_call_tool; also MCPLINK_E_PEER when the resource does not exist.
 * Threads: any. Blocks: until the call has ended. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_read_resource(mcplink_client_t *client,
                                              const char *uri,
                                              const mcplink_call_options_t *options,
                                              mcplink_result_t **out,
                                              mcplink_error_t **err);

/**
 * Starts to read a resource without waiting: the non-blocking form of
 * mcplink_client_read_resource.
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
 * Gets a prompt, with the given arguments.
 *
 * client: the client.
 * prompt_name: the name of the prompt.
 * arguments, len: a JSON object of strings, which is copied; MCPLINK_NUL measures it. NULL for
 * none.
 * options, out, err: as mcplink_client_call_tool. The result is {"messages":[...]}.
 * Returns: as mcplink_client_call_tool. Threads: any. Blocks: until the call has ended. Since 0.1.
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
 * Starts to get a prompt without waiting: the non-blocking form of mcplink_client_get_prompt.
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
 * Requests completions for an argument of a prompt or of a resource template.
 *
 * client: the client.
 * of: one of enum mcplink_completion_of.
 * target: the name of the prompt, or the URI template.
 * argument: the name of the argument.
 * typed: the text typed so far; "" for none.
 * known, len: the known values of other arguments, a JSON object of strings; NULL for none.
 * MCPLINK_NUL measures it.
 * options, out, err: as mcplink_client_call_tool. The result is {"completion":{"values":[...]}}.
 * Returns: as mcplink_client_call_tool. Threads: any. Blocks: until the call has ended. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_complete(mcplink_client_t *client,
                                         int32_t of,
                                         const char *target,
                                         const char *argument,
                                         const char *typed,
                                         const char *known,
                                         size_t len,
                                         const mcplink_call_options_t *options,
                                         mcplink_result_t **out,
                                         mcplink_error_t **err);

/**
 * Starts to request completions without waiting: the non-blocking form of mcplink_client_complete.
 *
 * callback, user, destroy, out: as mcplink_client_call_tool_start.
 * Returns: as mcplink_client_call_tool_start. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_complete_start(mcplink_client_t *client,
                                               int32_t of,
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
 * Pings the server.
 *
 * client: the client.
 * options, err: as mcplink_client_call_tool.
 * Returns: MCPLINK_OK if the server answers, otherwise as mcplink_client_call_tool. Threads: any.
 * Blocks: until the call has ended. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_ping(mcplink_client_t *client, const mcplink_call_options_t *options, mcplink_error_t **err);

/**
 * Starts to ping the server without waiting: the non-blocking form of mcplink_client_ping. The
 * result is {}.
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
 * Sends a request of any method, for extensions of the protocol. Input requests of a modern server
 * are not handled: they are returned as the result.
 *
 * client: the client.
 * request: the method.
 * params, len: a JSON object, which is copied; MCPLINK_NUL measures it. NULL for none.
 * options, out, err: as mcplink_client_call_tool. The status is never MCPLINK_TOOL_ERROR.
 * Returns: as mcplink_client_call_tool. Threads: any. Blocks: until the call has ended. Since 0.1.
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
 * Starts a request of any method without waiting: the non-blocking form of mcplink_client_request.
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
 * A fresh result in the cache is returned without a request: see
 * mcplink_call_options_set_bypass_cache.
 *
 * client: the client.
 * options: apply to each page; NULL for the defaults.
 * out, err: as mcplink_client_call_tool. The result is {"tools":[...]}.
 * Returns: as mcplink_client_call_tool; MCPLINK_E_LIMIT when the list has too many pages or items.
 * Threads: any. Blocks: until the call has ended. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_list_tools(mcplink_client_t *client,
                                           const mcplink_call_options_t *options,
                                           mcplink_result_t **out,
                                           mcplink_error_t **err);

/**
 * Starts to list the tools without waiting: the non-blocking form of mcplink_client_list_tools.
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
 * options: apply to each page; NULL for the defaults.
 * out, err: as mcplink_client_call_tool. The result is {"resources":[...]}.
 * Returns: as mcplink_client_call_tool; MCPLINK_E_LIMIT when the list has too many pages or items.
 * Threads: any. Blocks: until the call has ended. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_list_resources(mcplink_client_t *client,
                                               const mcplink_call_options_t *options,
                                               mcplink_result_t **out,
                                               mcplink_error_t **err);

/**
 * Starts to list the resources without waiting: the non-blocking form of
 * mcplink_client_list_resources.
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
 * options: apply to each page; NULL for the defaults.
 * out, err: as mcplink_client_call_tool. The result is {"resourceTemplates":[...]}.
 * Returns: as mcplink_client_call_tool; MCPLINK_E_LIMIT when the list has too many pages or items.
 * Threads: any. Blocks: until the call has ended. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_list_templates(mcplink_client_t *client,
                                               const mcplink_call_options_t *options,
                                               mcplink_result_t **out,
                                               mcplink_error_t **err);

/**
 * Starts to list the resource templates without waiting: the non-blocking form of
 * mcplink_client_list_templates.
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
 * options: apply to each page; NULL for the defaults.
 * out, err: as mcplink_client_call_tool. The result is {"prompts":[...]}.
 * Returns: as mcplink_client_call_tool; MCPLINK_E_LIMIT when the list has too many pages or items.
 * Threads: any. Blocks: until the call has ended. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_list_prompts(mcplink_client_t *client,
                                             const mcplink_call_options_t *options,
                                             mcplink_result_t **out,
                                             mcplink_error_t **err);

/**
 * Starts to list the prompts without waiting: the non-blocking form of
 * mcplink_client_list_prompts.
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
 * err: receives the error on failure; the caller frees it. May be NULL.
 * Returns: MCPLINK_OK when it is on its way; MCPLINK_E_CLOSED when the server has gone,
 * MCPLINK_E_UNSUPPORTED for a modern server over HTTP, which accepts only requests. Threads: any.
 * Blocks: only while the server does not read. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_notify(mcplink_client_t *client,
                                       const char *notification,
                                       const char *params,
                                       size_t len,
                                       mcplink_error_t **err);

/**
 * Notifies the server that the roots have changed, so that it requests them again. Nothing is sent
 * to a modern server, which requests them with each call that needs them.
 *
 * client: a client with a roots function: see mcplink_client_options_on_roots.
 * err: receives the error on failure; the caller frees it. May be NULL.
 * Returns: MCPLINK_OK; MCPLINK_E_UNSUPPORTED without a roots function; otherwise as
 * mcplink_client_notify. Threads: any. Blocks: only while the server does not read. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_roots_changed(mcplink_client_t *client, mcplink_error_t **err);

/**
 * Sets the least severe level of log messages that a server of the legacy era sends. They arrive
 * as MCPLINK_EVENT_LOG_MESSAGE. For a modern server the level is set for each call: see
 * mcplink_call_options_set_log_level.
 *
 * client: the client.
 * level: as there.
 * options, err: as mcplink_client_call_tool.
 * Returns: MCPLINK_OK; MCPLINK_E_UNSUPPORTED for a modern server, and for one without logging;
 * otherwise as mcplink_client_call_tool. Threads: any. Blocks: until the call has ended. Since
 * 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_set_log_level(mcplink_client_t *client,
                                              int32_t level,
                                              const mcplink_call_options_t *options,
                                              mcplink_error_t **err);

/**
 * Subscribes to change notifications, which arrive as MCPLINK_EVENT_TOOLS_CHANGED and similar
 * events. It replaces an earlier subscription of this function, and works in both eras. With
 * mcplink_client_options_set_restart it is renewed on each new connection.
 *
 * client: the client.
 * filter, len: a JSON object with the wanted changes:
 * {"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,
 * "resourceSubscriptions":["uri"],"taskIds":["id"]}; MCPLINK_NUL measures it. NULL, or an object
 * without any of them, ends the subscription. For tasks, MCPLINK_EVENT_TASK_CHANGED reports the
 * state at once and after each change: since revision 2026-07-28, for clients with
 * mcplink_client_options_set_tasks.
 * options, err: as mcplink_client_call_tool.
 * out: receives what the server agreed to, an object like the filter, NULL on failure. The caller
 * frees it with mcplink_result_free.
 * Returns: MCPLINK_OK; MCPLINK_E_INVALID for an invalid filter; otherwise as
 * mcplink_client_call_tool. After a failure the earlier subscription remains. Threads: any.
 * Blocks: until the server has agreed. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_listen(mcplink_client_t *client,
                                       const char *filter,
                                       size_t len,
                                       const mcplink_call_options_t *options,
                                       mcplink_result_t **out,
                                       mcplink_error_t **err);

/**
 * Subscribes to changes of one resource, until mcplink_client_unsubscribe. They arrive as
 * MCPLINK_EVENT_RESOURCE_UPDATED, in both eras.
 *
 * client: the client.
 * uri: the URI of the resource.
 * options, err: as mcplink_client_call_tool.
 * Returns: MCPLINK_OK, also when it was subscribed already; MCPLINK_E_UNSUPPORTED when the server
 * does not agree; otherwise as mcplink_client_call_tool. Threads: any. Blocks: until the server
 * has agreed. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_subscribe(mcplink_client_t *client,
                                          const char *uri,
                                          const mcplink_call_options_t *options,
                                          mcplink_error_t **err);

/**
 * Ends a subscription that mcplink_client_subscribe made.
 *
 * client: the client.
 * uri: the URI of the resource.
 * err: receives the error on failure; the caller frees it. May be NULL.
 * Returns: MCPLINK_OK, also without a subscription. Threads: any. Blocks: only while the server
 * does not read. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_unsubscribe(mcplink_client_t *client, const char *uri, mcplink_error_t **err);

/**
 * Clears the client's cache of results, so that later calls ask the server again.
 *
 * client: the client.
 * err: receives the error on failure; the caller frees it. May be NULL.
 * Returns: MCPLINK_OK. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_clear_cache(mcplink_client_t *client, mcplink_error_t **err);

/**
 * Sets the handler for form elicitation (elicitation/create): the server asks the user with a
 * form. Declares the capability.
 *
 * The request's params are {"message":"...","requestedSchema":{...}}. Answer
 * with mcplink_responder_json: {"action":"accept","content":{...}}, {"action":"decline"} or
 * {"action":"cancel"}. A failure counts as cancel. The responder may be kept until the user
 * has answered: meanwhile no deadline of the call runs.
 *
 * All handlers for requests of the server run in this way. During a blocking call to a modern
 * server the callback runs on the calling thread. Otherwise it runs where the client's callbacks
 * run, one at a time, and a blocking call on that thread runs it while it waits. A request is no
 * longer waited for when the server cancels it or the client is closed: see
 * mcplink_responder_on_cancel.
 *
 * options: the options.
 * callback: NULL for none.
 * user, destroy: passed to callback; destroy runs when another function is set, or when the
 * options and all clients that use it are freed.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_on_elicit(mcplink_client_options_t *options,
                                                  mcplink_handler_fn callback,
                                                  void *user,
                                                  mcplink_destroy_fn destroy);

/**
 * Sets the handler for URL elicitation (elicitation/create with a URL): the server asks the user
 * to open a web page. Declares the capability.
 *
 * The request's params are {"mode":"url","message":"...","url":"...","elicitationId":"..."}. The
 * library does not open the page: show the whole URL, ask the user, and open it in a browser.
 * Answer as in mcplink_client_options_on_elicit, without content: accepting means that the user
 * agreed to open the page.
 *
 * options, callback, user, destroy: as mcplink_client_options_on_elicit.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_on_elicit_url(mcplink_client_options_t *options,
                                                      mcplink_handler_fn callback,
                                                      void *user,
                                                      mcplink_destroy_fn destroy);

/**
 * Sets the handler for sampling (sampling/createMessage): the server uses the client's model.
 * Declares the capability.
 *
 * The request's params are {"messages":[...],"maxTokens":100,...}. Answer with
 * mcplink_responder_json:
 * {"role":"assistant","content":{"type":"text","text":"..."},"model":"..."}, or refuse with
 * mcplink_responder_fail, for example with MCPLINK_RPC_USER_REJECTED.
 *
 * options, callback, user, destroy: as mcplink_client_options_on_elicit.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_on_sample(mcplink_client_options_t *options,
                                                  mcplink_handler_fn callback,
                                                  void *user,
                                                  mcplink_destroy_fn destroy);

/**
 * Sets which optional features of sampling the handler of mcplink_client_options_on_sample
 * supports, and declares them. Default: none.
 *
 * options: the options.
 * tools: true if the model may use tools that the server names.
 * context: true if the context that a server requests (includeContext) is added.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_sampling(mcplink_client_options_t *options, bool tools, bool context);

/**
 * Sets the handler for roots (roots/list): the server requests the locations it may work in.
 * Declares the capability.
 *
 * The request has no params. Answer with mcplink_responder_json:
 * {"roots":[{"uri":"file:///home/ada/project","name":"..."}]}. When the roots change, call
 * mcplink_client_roots_changed.
 *
 * options, callback, user, destroy: as mcplink_client_options_on_elicit.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_on_roots(mcplink_client_options_t *options,
                                                 mcplink_handler_fn callback,
                                                 void *user,
                                                 mcplink_destroy_fn destroy);

/**
 * Sets the handler for requests of one custom method that a server of the legacy era sends, for
 * extensions of the protocol.
 *
 * options: the options.
 * request: the method.
 * callback, user, destroy: as mcplink_client_options_on_elicit. The handler answers with any JSON,
 * or fails.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_on_request(mcplink_client_options_t *options,
                                                   const char *request,
                                                   mcplink_handler_fn callback,
                                                   void *user,
                                                   mcplink_destroy_fn destroy);

/**
 * Makes the definition of a tool.
 *
 * name: its name, for programs: letters, digits, "_", "-" and ".".
 * description: what it does, for models; NULL for none.
 * Returns: the definition. The caller owns it and frees it with mcplink_tool_free. NULL for a bad
 * argument; functions that take a definition refuse NULL. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_tool_t *mcplink_tool_new(const char *name, const char *description);

/**
 * Adds an argument. The input schema of the tool is made of all added arguments.
 *
 * A build with "validation" (mcplink_has_feature) refuses calls with invalid arguments before the
 * callback runs. In other builds the callback may run without a required argument, or with one of
 * another type.
 *
 * tool: the tool.
 * param: the name of the argument.
 * kind: one of enum mcplink_param_type.
 * flags: MCPLINK_PARAM_REQUIRED or MCPLINK_PARAM_OPTIONAL.
 * description: its meaning, for models; NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID, also when the name exists already. Threads: one at a
 * time. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_tool_add_param(mcplink_tool_t *tool,
                                        const char *param,
                                        int32_t kind,
                                        uint32_t flags,
                                        const char *description);

/**
 * Adds an argument with a JSON Schema of its own, for example with choices, bounds or items.
 *
 * tool: the tool.
 * param: the name of the argument.
 * flags: MCPLINK_PARAM_REQUIRED or MCPLINK_PARAM_OPTIONAL.
 * schema, len: its JSON Schema, for example {"enum":["red","green"]}; MCPLINK_NUL measures it.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_tool_add_param_schema(mcplink_tool_t *tool,
                                               const char *param,
                                               uint32_t flags,
                                               const char *schema,
                                               size_t len);

/**
 * Sets the complete input schema: a JSON Schema of an object, which is passed on unchanged. It
 * replaces the arguments of mcplink_tool_add_param, and adding another argument replaces it. A
 * schema without "properties" is listed with an empty object for it, which some models need.
 *
 * tool: the tool.
 * schema, len: the schema; MCPLINK_NUL measures it.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_tool_set_input_schema(mcplink_tool_t *tool, const char *schema, size_t len);

/**
 * Sets the output schema, which values of mcplink_responder_structured must match.
 *
 * tool: the tool.
 * schema, len: a JSON Schema, which is passed on unchanged; MCPLINK_NUL measures it. NULL for
 * none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_tool_set_output_schema(mcplink_tool_t *tool, const char *schema, size_t len);

/**
 * Sets a hint about the effects of the tool.
 *
 * tool: the tool.
 * hint: one of enum mcplink_tool_hint.
 * is_so: true if the hint applies.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_tool_set_annotation(mcplink_tool_t *tool, int32_t hint, bool is_so);

/**
 * Sets whether calls may become tasks, on a server with mcplink_server_options_set_tasks.
 *
 * tool: the tool.
 * support: one of enum mcplink_task_support. Default: MCPLINK_TASK_FORBIDDEN.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_tool_set_task_support(mcplink_tool_t *tool, int32_t support);

/**
 * Sets the display name of the tool.
 *
 * tool: the tool.
 * title: NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_tool_set_title(mcplink_tool_t *tool, const char *title);

/**
 * Sets the icons of the tool: an array of objects with "src".
 *
 * tool: the tool.
 * icons, len: as JSON; MCPLINK_NUL measures it. NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when it is invalid for the protocol. Threads: one at a
 * time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_tool_set_icons(mcplink_tool_t *tool, const char *icons, size_t len);

/**
 * Sets the metadata ("_meta") of the tool: an object.
 *
 * tool: the tool.
 * meta, len: as JSON; MCPLINK_NUL measures it. NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when it is invalid for the protocol. Threads: one at a
 * time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_tool_set_meta(mcplink_tool_t *tool, const char *meta, size_t len);

/**
 * Frees the definition of a tool. Servers to which it was added keep a copy.
 *
 * tool: the tool; may be NULL. Since 0.1.
 */
MCPLINK_API void mcplink_tool_free(mcplink_tool_t *tool);

/**
 * Makes the definition of a resource.
 *
 * uri: its URI (RFC 3986). The scheme names the kind of resource; use a custom scheme if no
 * standard one fits.
 * name: its name, for programs.
 * Returns: the definition. The caller owns it and frees it with mcplink_resource_free. NULL for a
 * bad argument; functions that take a definition refuse NULL. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_resource_t *mcplink_resource_new(const char *uri, const char *name);

/**
 * Sets the display name of the resource.
 *
 * resource: the resource.
 * title: NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_resource_set_title(mcplink_resource_t *resource, const char *title);

/**
 * Sets the description of the resource, for models.
 *
 * resource: the resource.
 * description: NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_resource_set_description(mcplink_resource_t *resource, const char *description);

/**
 * Sets the MIME type of the resource. It is also the default type of answers of the handler.
 *
 * resource: the resource.
 * mime_type: NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_resource_set_mime_type(mcplink_resource_t *resource, const char *mime_type);

/**
 * Sets the size of the resource.
 *
 * resource: the resource.
 * size: in bytes, before any encoding.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_resource_set_size(mcplink_resource_t *resource, uint64_t size);

/**
 * Sets the annotations of the resource: an object with "audience", "priority" and "lastModified".
 *
 * resource: the resource.
 * annotations, len: as JSON; MCPLINK_NUL measures it. NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when it is invalid for the protocol. Threads: one at a
 * time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_resource_set_annotations(mcplink_resource_t *resource, const char *annotations, size_t len);

/**
 * Sets the icons of the resource: an array of objects with "src".
 *
 * resource: the resource.
 * icons, len: as JSON; MCPLINK_NUL measures it. NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when it is invalid for the protocol. Threads: one at a
 * time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_resource_set_icons(mcplink_resource_t *resource, const char *icons, size_t len);

/**
 * Sets the metadata ("_meta") of the resource: an object.
 *
 * resource: the resource.
 * meta, len: as JSON; MCPLINK_NUL measures it. NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when it is invalid for the protocol. Threads: one at a
 * time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_resource_set_meta(mcplink_resource_t *resource, const char *meta, size_t len);

/**
 * Frees the definition of a resource. Servers to which it was added keep a copy.
 *
 * resource: the resource; may be NULL. Since 0.1.
 */
MCPLINK_API void mcplink_resource_free(mcplink_resource_t *resource);

/**
 * Makes the definition of a resource template.
 *
 * uri_template: the template, for example "users://{id}".
 * name: the name of such a resource, for programs.
 * Returns: the definition. The caller owns it and frees it with mcplink_template_free. NULL for a
 * bad argument; functions that take a definition refuse NULL. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_template_t *mcplink_template_new(const char *uri_template, const char *name);

/**
 * Sets the display name of the template.
 *
 * template: the resource template.
 * title: NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_template_set_title(mcplink_template_t *template_, const char *title);

/**
 * Sets the description of the template, for models.
 *
 * template: the resource template.
 * description: NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_template_set_description(mcplink_template_t *template_, const char *description);

/**
 * Sets the MIME type of the resources. It is also the default type of answers of the handler.
 *
 * template: the resource template.
 * mime_type: NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_template_set_mime_type(mcplink_template_t *template_, const char *mime_type);

/**
 * Sets the annotations of the template: an object with "audience", "priority" and "lastModified".
 *
 * template: the resource template.
 * annotations, len: as JSON; MCPLINK_NUL measures it. NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when it is invalid for the protocol. Threads: one at a
 * time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_template_set_annotations(mcplink_template_t *template_, const char *annotations, size_t len);

/**
 * Sets the icons of the template: an array of objects with "src".
 *
 * template: the resource template.
 * icons, len: as JSON; MCPLINK_NUL measures it. NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when it is invalid for the protocol. Threads: one at a
 * time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_template_set_icons(mcplink_template_t *template_, const char *icons, size_t len);

/**
 * Sets the metadata ("_meta") of the template: an object.
 *
 * template: the resource template.
 * meta, len: as JSON; MCPLINK_NUL measures it. NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when it is invalid for the protocol. Threads: one at a
 * time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_template_set_meta(mcplink_template_t *template_, const char *meta, size_t len);

/**
 * Frees the definition of a resource template. Servers to which it was added keep a copy.
 *
 * template: the resource template; may be NULL. Since 0.1.
 */
MCPLINK_API void mcplink_template_free(mcplink_template_t *template_);

/**
 * Makes the definition of a prompt.
 *
 * name: its name, for programs.
 * description: its purpose; NULL for none.
 * Returns: the definition. The caller owns it and frees it with mcplink_prompt_free. NULL for a
 * bad argument; functions that take a definition refuse NULL. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_prompt_t *mcplink_prompt_new(const char *name, const char *description);

/**
 * Adds an argument, which is always text. A prompt without declared arguments accepts any.
 *
 * prompt: the prompt.
 * argument: its name.
 * flags: MCPLINK_PARAM_REQUIRED or MCPLINK_PARAM_OPTIONAL.
 * description: its meaning; NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_prompt_add_argument(mcplink_prompt_t *prompt,
                                             const char *argument,
                                             uint32_t flags,
                                             const char *description);

/**
 * Sets the display name of the prompt.
 *
 * prompt: the prompt.
 * title: NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_prompt_set_title(mcplink_prompt_t *prompt, const char *title);

/**
 * Sets the icons of the prompt: an array of objects with "src".
 *
 * prompt: the prompt.
 * icons, len: as JSON; MCPLINK_NUL measures it. NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when it is invalid for the protocol. Threads: one at a
 * time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_prompt_set_icons(mcplink_prompt_t *prompt, const char *icons, size_t len);

/**
 * Sets the metadata ("_meta") of the prompt: an object.
 *
 * prompt: the prompt.
 * meta, len: as JSON; MCPLINK_NUL measures it. NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when it is invalid for the protocol. Threads: one at a
 * time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_prompt_set_meta(mcplink_prompt_t *prompt, const char *meta, size_t len);

/**
 * Frees the definition of a prompt. Servers to which it was added keep a copy.
 *
 * prompt: the prompt; may be NULL. Since 0.1.
 */
MCPLINK_API void mcplink_prompt_free(mcplink_prompt_t *prompt);

/**
 * Makes the options of a server with a name and a version. All options have defaults that suit
 * most servers.
 *
 * name: the name, for programs.
 * version: its version.
 * Returns: the options. The caller owns them and frees them with mcplink_server_options_free. NULL
 * for a bad argument; functions that take options refuse NULL. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_server_options_t *mcplink_server_options_new(const char *name, const char *version);

/**
 * Frees options. Servers that were made with them keep a copy.
 *
 * options: the options; may be NULL. Since 0.1.
 */
MCPLINK_API void mcplink_server_options_free(mcplink_server_options_t *options);

/**
 * Sets instructions for models: how to use the server.
 *
 * options: the options.
 * instructions: NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_instructions(mcplink_server_options_t *options, const char *instructions);

/**
 * Sets the display name of the server.
 *
 * options: the options.
 * title: NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_title(mcplink_server_options_t *options, const char *title);

/**
 * Sets the description of the server.
 *
 * options: the options.
 * description: NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_description(mcplink_server_options_t *options, const char *description);

/**
 * Sets the URL of the server's website.
 *
 * options: the options.
 * website: NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_website(mcplink_server_options_t *options, const char *website);

/**
 * Sets the icons of the server.
 *
 * options: the options.
 * icons, len: a JSON array of objects with "src"; MCPLINK_NUL measures it. NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_icons(mcplink_server_options_t *options, const char *icons, size_t len);

/**
 * Sets the protocol revisions that the server supports. Default: all.
 *
 * options: the options.
 * revisions: for example "2025-11-25 2026-07-28"; NULL for all.
 * Returns: MCPLINK_OK, MCPLINK_E_INVALID, or MCPLINK_E_UNSUPPORTED for one that this library does
 * not know. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_revisions(mcplink_server_options_t *options, const char *revisions);

/**
 * Runs all callbacks of the server where the host dispatches a pump.
 *
 * options: the options.
 * pump: the pump, which must outlive the server; NULL for threads of the library.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_pump(mcplink_server_options_t *options, mcplink_pump_t *pump);

/**
 * Sets the log hook of the server. It replaces that of mcplink_set_log for this server.
 *
 * options: the options.
 * level: the least severe level to report, one of enum mcplink_log_level.
 * callback: called on any thread, also with a pump; it must be quick. NULL for none.
 * user, destroy: passed to callback; destroy runs when another function is set, or when the
 * options and all servers made with them are freed.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_options_set_log(mcplink_server_options_t *options,
                                                int32_t level,
                                                mcplink_log_fn callback,
                                                void *user,
                                                mcplink_destroy_fn destroy);

/**
 * Sets the handler for a custom method. Methods that the protocol defines remain with the library.
 *
 * The JSON of mcplink_responder_json is sent unchanged: since revision 2026-07-28 the result must
 * contain its "resultType".
 *
 * options: the options.
 * method: the method, for example "com.example/reindex". An earlier handler is replaced.
 * callback: the handler; see mcplink_handler_fn. It runs where other handlers do.
 * user, destroy: passed to callback; destroy runs when it is replaced, or when the options and all
 * servers made with them are freed.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_options_on_method(mcplink_server_options_t *options,
                                                  const char *method,
                                                  mcplink_handler_fn callback,
                                                  void *user,
                                                  mcplink_destroy_fn destroy);

/**
 * Sets the function that is called when sessions begin and end. A session begins when a client
 * identifies itself: by "initialize", or by its first request since revision 2026-07-28. It ends
 * with its connection, or with its session over HTTP. Clients over HTTP without a session, as all
 * since 2026-07-28, cause no events.
 *
 * options: the options.
 * callback: receives MCPLINK_SERVER_SESSION_BEGAN and MCPLINK_SERVER_SESSION_ENDED. NULL for none.
 * It runs one at a time and in order, on a thread of the server or where its pump is dispatched.
 * The first requests may run in parallel. These events are never dropped; mcplink_server_free
 * delivers the last ones.
 * user, destroy: passed to callback; destroy runs when another function is set, or when the
 * options and all servers made with them are freed.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_options_on_session(mcplink_server_options_t *options,
                                                   mcplink_event_fn callback,
                                                   void *user,
                                                   mcplink_destroy_fn destroy);

/**
 * Sets the function that is called for incidents with clients, for hosts that count them, raise an
 * alarm or block a client. Incidents are messages that are malformed, too long, too many or
 * denied, and handlers that fail. Their kinds can be told apart without reading text. The log has
 * a record for most of them, and for much else.
 *
 * options: the options.
 * callback: receives the other events of enum mcplink_server_event. NULL for none. It runs one at
 * a time and in order, on a thread of the server or where its pump is dispatched. At most 1024
 * wait; further ones are dropped.
 * user, destroy: passed to callback; destroy runs when another function is set, or when the
 * options and all servers made with them are freed.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_options_on_event(mcplink_server_options_t *options,
                                                 mcplink_event_fn callback,
                                                 void *user,
                                                 mcplink_destroy_fn destroy);

/**
 * Sets a limit of each connection.
 *
 * options: the options.
 * which: one of enum mcplink_limit.
 * bound: the limit.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_limit(mcplink_server_options_t *options, int32_t which, size_t bound);

/**
 * Limits how many handlers may run at once on threads of the library. Default: 64. Equivalent to
 * MCPLINK_LIMIT_WORKERS.
 *
 * options: the options.
 * workers: at least 1.
 * Returns: MCPLINK_OK. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_workers(mcplink_server_options_t *options, size_t workers);

/**
 * Sets the number of items on each page of a list.
 *
 * options: the options.
 * items: 0, the default, for all items on one page.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_page_size(mcplink_server_options_t *options, size_t items);

/**
 * Sets the drain time: how long calls in flight may continue after a client has gone. Default: 5
 * s.
 *
 * options: the options.
 * drain_ms: in milliseconds.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_drain_ms(mcplink_server_options_t *options, uint32_t drain_ms);

/**
 * Sets the time after which a running handler is logged as slow. Default: 30 s.
 *
 * options: the options.
 * slow_handler_ms: in milliseconds.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_slow_handler_ms(mcplink_server_options_t *options, uint32_t slow_handler_ms);

/**
 * Pings clients of revisions before 2026-07-28 after a silence. A client that leaves three pings
 * unanswered is disconnected. Default: no pings.
 *
 * options: the options.
 * interval_ms: the length of the silence, in milliseconds; 0 for no pings.
 * timeout_ms: how long an answer may take, in milliseconds.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_options_set_keep_alive_ms(mcplink_server_options_t *options,
                                                          uint32_t interval_ms,
                                                          uint32_t timeout_ms);

/**
 * Adds a key for the request state: the state of a call between its rounds, which travels through
 * the client encrypted and authenticated. The first key encrypts, all keys decrypt. Replicas that
 * serve common clients need common keys. Default: each server generates a key.
 *
 * options: the options.
 * key, len: 32 secret random bytes.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_add_state_key(mcplink_server_options_t *options, const uint8_t *key, size_t len);

/**
 * Sets how long a client may take to answer an input request, since revision 2026-07-28. Default:
 * 10 minutes.
 *
 * options: the options.
 * lifetime_ms: in milliseconds, not 0.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_state_lifetime_ms(mcplink_server_options_t *options, uint32_t lifetime_ms);

/**
 * Sets whether each request state is accepted only once, so that a client that repeats a round
 * does not repeat its side effects (replay protection). Default: false.
 *
 * options: the options.
 * single_use: true to accept each only once. Used states are stored in the memory of this process,
 * so it does not work across replicas.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_single_use_state(mcplink_server_options_t *options, bool single_use);

/**
 * Sets whether handlers may send log messages to clients, and declares the capability. Default:
 * false.
 *
 * options: the options.
 * logging: true to enable it.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_logging(mcplink_server_options_t *options, bool logging);

/**
 * Sets whether clients may subscribe to changes of single resources. Default: true.
 *
 * options: the options.
 * updates: true to allow it.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_resource_updates(mcplink_server_options_t *options, bool updates);

/**
 * Sets whether clients are notified when the lists of tools, prompts and resources change
 * (listChanged). Default: true.
 *
 * options: the options.
 * changes: true to notify them. With false, entries that are added or removed later are still
 * effective.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_list_changes(mcplink_server_options_t *options, bool changes);

/**
 * Sets whether results contain the name and version of the server, since revision 2026-07-28.
 * Default: true.
 *
 * options: the options.
 * names_itself: true to include them.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_names_itself(mcplink_server_options_t *options, bool names_itself);

/**
 * Sets whether arguments and structured results of tools are validated against their JSON Schemas.
 * Default: true. It needs a build with mcplink_has_feature("validation").
 *
 * options: the options.
 * validation: true to validate them.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_validation(mcplink_server_options_t *options, bool validation);

/**
 * Sets whether standard output is reserved for the protocol while mcplink_server_serve_stdio runs.
 * Default: true.
 *
 * options: the options.
 * claim: with false, other output of this process to standard output corrupts the protocol.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_claim_stdio(mcplink_server_options_t *options, bool claim);

/**
 * Declares a capability although the server has no such entries yet, so that clients that connect
 * before the first one is added know about it.
 *
 * options: the options.
 * list: one of enum mcplink_list.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_add_offer(mcplink_server_options_t *options, int32_t list);

/**
 * Sets how long the pages of a list may be cached, since revision 2026-07-28. Default: not at all.
 *
 * options: the options.
 * list: one of enum mcplink_list.
 * ttl_ms: in milliseconds.
 * is_public: true if shared caches may store the pages and return them to other clients.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_options_set_cache(mcplink_server_options_t *options,
                                                  int32_t list,
                                                  uint64_t ttl_ms,
                                                  bool is_public);

/**
 * Lets tool calls become tasks, for tools with mcplink_tool_set_task_support. The client gets the
 * task at once, and fetches the result when it is ready.
 *
 * options: the options.
 * max_tasks: the number of stored tasks; 0, the default, for no tasks. Finished tasks are removed
 * to make room for new ones, so only running tasks count against new ones. No client can exclude
 * all others.
 * lifetime_ms: how long a task is stored if the client does not request a time, in milliseconds.
 * Returns: MCPLINK_OK. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_tasks(mcplink_server_options_t *options, size_t max_tasks, uint64_t lifetime_ms);

/**
 * Declares an extension of the protocol. Its methods are handled with
 * mcplink_server_options_on_method.
 *
 * options: the options.
 * id: its id, for example "com.example/maps".
 * settings, len: a JSON object; MCPLINK_NUL measures it. NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_options_add_extension(mcplink_server_options_t *options,
                                                      const char *id,
                                                      const char *settings,
                                                      size_t len);

/**
 * Sets the stack size of the server's threads that may run code of the host. Default: 8 MiB. The
 * stack is reserved, but uses no memory before it is written to.
 *
 * options: the options.
 * bytes: 262144 (256 KiB) to 1073741824 (1 GiB); the system rounds it up to whole pages. If the
 * system lacks the memory, starting a thread fails.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID for another size. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_thread_stack_size(mcplink_server_options_t *options, size_t bytes);

/**
 * Sets the prefix of the names of the server's threads. Default: "mcplink". A dash and the role of
 * the thread follow, such as "mcplink-crew"; Linux shows 15 bytes in total.
 *
 * options: the options.
 * prefix: 1 to 15 bytes, without control characters.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID for another prefix. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_thread_prefix(mcplink_server_options_t *options, const char *prefix);

/**
 * Sets hooks that run first and last on each thread that the library starts for the server. For
 * example for a profiler, or a virtual machine that must attach the threads that enter it.
 *
 * If start was called, stop is called before the thread ends. When mcplink_server_free has
 * returned, all threads have ended, except those whose callback does not return. Called in a
 * callback of the server, it ends them after that callback.
 *
 * Threads with these hooks have the stack size of threads that run code of the host. The hooks do
 * not run on threads of the host itself, such as those that dispatch a pump.
 *
 * options: the options.
 * start: called before any other callback on the thread; NULL for none.
 * stop: called after all other callbacks on the thread; NULL for none.
 * user, destroy: passed to both. destroy runs when other hooks are set. Otherwise it runs when the
 * options, all servers made with them and their kept responders are freed, and their threads have
 * ended.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_options_on_thread(mcplink_server_options_t *options,
                                                  mcplink_thread_fn start,
                                                  mcplink_thread_fn stop,
                                                  void *user,
                                                  mcplink_destroy_fn destroy);

/**
 * Makes a server with default options.
 *
 * name: its name, for programs.
 * version: its version.
 * Returns: the server. The caller owns it and frees it with mcplink_server_free. NULL for a bad
 * argument; functions that take a server refuse NULL. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_server_t *mcplink_server_new(const char *name, const char *version);

/**
 * Makes a server with options.
 *
 * options: the options, which are copied.
 * out: receives the server, NULL on failure. The caller owns it and frees it with
 * mcplink_server_free.
 * err: receives the error on failure; the caller frees it. May be NULL.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID for options that contradict each other. Threads: any.
 * Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_new_with(const mcplink_server_options_t *options,
                                         mcplink_server_t **out,
                                         mcplink_error_t **err);

/**
 * Stops a server, as mcplink_server_stop does, waits until it has ended, and frees it. After this
 * no callback of the server runs. In one of its own callbacks, or in the close function of a
 * session's transport, it returns at once. The rest happens when the callback returns.
 *
 * In a forked process this does nothing: memory and descriptors, which are close-on-exec, remain
 * until the process exits or executes another program. See MCPLINK_E_FORKED.
 *
 * server: the server; may be NULL. Other threads may be inside functions of it: they return
 * MCPLINK_E_CLOSED. No thread may use it afterwards. Threads: any. Blocks: until handlers have
 * returned, a few seconds at most. Since 0.1.
 */
MCPLINK_API void mcplink_server_free(mcplink_server_t *server);

/**
 * Stops a server: blocking calls such as mcplink_server_serve_stdio return MCPLINK_OK, sessions
 * and listeners close, and the server serves nothing any more. Its tools and other contents remain
 * until it is freed.
 *
 * server: the server; may be NULL.
 * Returns: MCPLINK_OK; MCPLINK_E_INVALID for NULL; MCPLINK_E_FORKED in a forked process, where it
 * does nothing. Threads: any, also in signal handlers. Blocks: no: a thread of the library does
 * the work. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_stop(mcplink_server_t *server);

/**
 * Adds a tool.
 *
 * server: the server.
 * tool: the definition, which is copied. A definition with a refused setter is refused, with the
 * reason in err.
 * callback: the handler; see mcplink_handler_fn. It runs on a thread of the library, several at
 * once, or where the pump of the server is dispatched.
 * user, destroy: passed to callback; destroy runs when the tool is removed and its last request
 * has ended, or with the server.
 * err: receives the error on failure; the caller frees it. May be NULL.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when the name is invalid or exists already, or a
 * schema is invalid. Threads: any, also while the server serves: clients are notified. Blocks: no.
 * Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_add_tool(mcplink_server_t *server,
                                         const mcplink_tool_t *tool,
                                         mcplink_handler_fn callback,
                                         void *user,
                                         mcplink_destroy_fn destroy,
                                         mcplink_error_t **err);

/**
 * Removes a tool. Requests for it that are in flight continue.
 *
 * server: the server.
 * tool: its name.
 * Returns: MCPLINK_OK; MCPLINK_E_INVALID when it does not exist. Threads: any, also while the
 * server serves: clients are notified. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_remove_tool(mcplink_server_t *server, const char *tool);

/**
 * Adds a resource.
 *
 * server: the server.
 * resource: the definition, which is copied. A definition with a refused setter is refused, with
 * the reason in err.
 * callback: the handler; see mcplink_handler_fn. It runs on a thread of the library, several at
 * once, or where the pump of the server is dispatched.
 * user, destroy: passed to callback; destroy runs when the resource is removed and its last
 * request has ended, or with the server.
 * err: receives the error on failure; the caller frees it. May be NULL.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when the URI is invalid or exists already. Threads:
 * any, also while the server serves: clients are notified. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_add_resource(mcplink_server_t *server,
                                             const mcplink_resource_t *resource,
                                             mcplink_handler_fn callback,
                                             void *user,
                                             mcplink_destroy_fn destroy,
                                             mcplink_error_t **err);

/**
 * Removes a resource. Requests for it that are in flight continue.
 *
 * server: the server.
 * uri: its URI.
 * Returns: MCPLINK_OK; MCPLINK_E_INVALID when it does not exist. Threads: any, also while the
 * server serves: clients are notified. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_remove_resource(mcplink_server_t *server, const char *uri);

/**
 * Adds a resource template: resources whose URIs follow a pattern. The handler gets the values of
 * the variables from mcplink_request_args.
 *
 * server: the server.
 * template: the definition, which is copied. A definition with a refused setter is refused, with
 * the reason in err.
 * callback: the handler; see mcplink_handler_fn. It runs on a thread of the library, several at
 * once, or where the pump of the server is dispatched.
 * user, destroy: passed to callback; destroy runs when the template is removed and its last
 * request has ended, or with the server.
 * err: receives the error on failure; the caller frees it. May be NULL.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when the template is invalid or exists already.
 * Threads: any, also while the server serves: clients are notified. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_add_template(mcplink_server_t *server,
                                             const mcplink_template_t *template_,
                                             mcplink_handler_fn callback,
                                             void *user,
                                             mcplink_destroy_fn destroy,
                                             mcplink_error_t **err);

/**
 * Removes a resource template. Requests for it that are in flight continue.
 *
 * server: the server.
 * uri_template: the template, as it was written.
 * Returns: MCPLINK_OK; MCPLINK_E_INVALID when it does not exist. Threads: any, also while the
 * server serves: clients are notified. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_remove_template(mcplink_server_t *server, const char *uri_template);

/**
 * Adds a prompt.
 *
 * server: the server.
 * prompt: the definition, which is copied. A definition with a refused setter is refused, with the
 * reason in err.
 * callback: the handler; see mcplink_handler_fn. It runs on a thread of the library, several at
 * once, or where the pump of the server is dispatched.
 * user, destroy: passed to callback; destroy runs when the prompt is removed and its last request
 * has ended, or with the server.
 * err: receives the error on failure; the caller frees it. May be NULL.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when the name is empty or exists already, or two
 * arguments have equal names. Threads: any, also while the server serves: clients are notified.
 * Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_add_prompt(mcplink_server_t *server,
                                           const mcplink_prompt_t *prompt,
                                           mcplink_handler_fn callback,
                                           void *user,
                                           mcplink_destroy_fn destroy,
                                           mcplink_error_t **err);

/**
 * Removes a prompt. Requests for it that are in flight continue.
 *
 * server: the server.
 * prompt: its name.
 * Returns: MCPLINK_OK; MCPLINK_E_INVALID when it does not exist. Threads: any, also while the
 * server serves: clients are notified. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_remove_prompt(mcplink_server_t *server, const char *prompt);

/**
 * Restricts a tool, prompt, resource or template to principals with the given scopes. The scopes
 * are checked before the handler runs; lists still contain the entry. Repeated calls for one entry
 * add scopes: all of them are required.
 *
 * Over HTTP a client that lacks a scope gets status 403, and can let its user grant it. Unknown
 * scopes count as none there. On other transports scopes are unknown, and requests are not
 * refused.
 *
 * server: the server.
 * of: one of enum mcplink_primitive.
 * target: the name of the entry. It must exist, so that a typing error leaves nothing unprotected.
 * The restriction remains when the entry is removed, and applies to a new one with this name.
 * scopes: their names, separated by spaces.
 * err: receives the error on failure; the caller frees it. May be NULL.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when the entry does not exist or scopes names none.
 * After a failure the server serves no further clients: functions that serve fail with this
 * reason. Threads: any; call it before the first client is served, so that no request comes in
 * between. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_require_scopes(mcplink_server_t *server,
                                               int32_t of,
                                               const char *target,
                                               const char *scopes,
                                               mcplink_error_t **err);

/**
 * Adds a completer: a handler that completes an argument of a prompt, or a variable of a template,
 * while the user types. The prompt or template may be added later.
 *
 * The handler reads the name of the argument with mcplink_request_name, and the typed text with
 * mcplink_request_typed. mcplink_request_args has the known values of the other arguments. It
 * answers with mcplink_responder_values.
 *
 * server: the server.
 * of: one of enum mcplink_completion_of.
 * target: the name of the prompt, or the template.
 * argument: the name of the argument or variable.
 * callback: the handler; see mcplink_handler_fn. It runs where other handlers do.
 * user, destroy: passed to callback; destroy runs with the end of the server.
 * err: receives the error on failure; the caller frees it. May be NULL.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when the argument has a completer already. Threads:
 * any. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_add_completer(mcplink_server_t *server,
                                              int32_t of,
                                              const char *target,
                                              const char *argument,
                                              mcplink_handler_fn callback,
                                              void *user,
                                              mcplink_destroy_fn destroy,
                                              mcplink_error_t **err);

/**
 * Notifies all subscribers of a resource that it has changed. Successive changes are merged:
 * clients are notified at most every 10 ms.
 *
 * server: the server.
 * uri: the URI of the resource.
 * Returns: MCPLINK_OK, also without subscribers. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_resource_updated(mcplink_server_t *server, const char *uri);

/**
 * Returns statistics of a server: an array with one object for each session, listener and
 * endpoint. Its "kind" is "session", "listener" or "http"; the other members are counters.
 *
 * server: the server.
 * stats: receives a document, NULL on failure. The caller owns it and frees it with
 * mcplink_json_free.
 * err: receives the error on failure; the caller frees it. May be NULL.
 * Returns: MCPLINK_OK. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_stats(const mcplink_server_t *server, mcplink_json_t **stats, mcplink_error_t **err);

/**
 * Returns a text about the current activity of a server, to find the cause of a hang.
 *
 * server: the server.
 * activity: receives a document that is one string, to be read with mcplink_json_str; NULL on
 * failure. The caller owns it and frees it with mcplink_json_free.
 * err: receives the error on failure; the caller frees it. May be NULL.
 * Returns: MCPLINK_OK. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_activity(const mcplink_server_t *server, mcplink_json_t **activity, mcplink_error_t **err);

/**
 * Sends a log message that belongs to no call to the clients that want it, if logging is enabled
 * on the server. Only clients of revisions before 2026-07-28 can receive it. Others receive the
 * messages of mcplink_responder_log.
 *
 * server: the server.
 * level: one of enum mcplink_log_level.
 * logger: names the part of the server that logs; NULL for none.
 * json, len: the message, as JSON; MCPLINK_NUL measures it. It must not contain secrets that
 * clients must not know.
 * Returns: MCPLINK_OK, also when no client wants it; MCPLINK_E_INVALID. Threads: any. Blocks: no.
 * Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_log(mcplink_server_t *server, int32_t level, const char *logger, const char *json, size_t len);

/**
 * Serves the process that started this one, over the standard streams, until it closes them or
 * mcplink_server_stop is called.
 *
 * Standard output is reserved for the protocol meanwhile: output of this process and its children
 * goes to standard error, and their standard input is empty. Both are restored at the end. Call it
 * before anything reads standard input.
 *
 * server: the server.
 * err: receives the error on failure; the caller frees it. May be NULL.
 * Returns: MCPLINK_OK when the client has gone or the server was stopped; MCPLINK_E_STATE when the
 * standard streams are served already, or this thread dispatches the pump of the server;
 * MCPLINK_E_IO; MCPLINK_E_CLOSED when the server is freed. Threads: any. Blocks: until then; calls
 * in flight may finish first, for a few seconds. With a pump another thread must dispatch it.
 * Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_serve_stdio(mcplink_server_t *server, mcplink_error_t **err);

/**
 * Starts to serve over the standard streams without waiting: the non-blocking form of
 * mcplink_server_serve_stdio.
 *
 * server: the server.
 * session: receives the session, NULL on failure. The caller owns it and frees it with
 * mcplink_session_free, before or after the server.
 * err: receives the error on failure; the caller frees it. May be NULL.
 * Returns: as mcplink_server_serve_stdio; MCPLINK_E_CLOSED when the server was stopped. Threads:
 * any. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_serve_stdio_start(mcplink_server_t *server, mcplink_session_t **session, mcplink_error_t **err);

/**
 * Serves a client over file descriptors, such as pipes, sockets or files, until it has gone or
 * mcplink_server_stop is called. Each message is a line.
 *
 * server: the server.
 * input: read from. output: written to; may be equal, for a socket. Both are duplicated and remain
 * the caller's, who may close them at any time.
 * err: receives the error on failure; the caller frees it. May be NULL.
 * Returns: MCPLINK_OK when the client has gone or the server was stopped; MCPLINK_E_INVALID,
 * MCPLINK_E_IO for invalid descriptors; MCPLINK_E_STATE when this thread dispatches the pump of
 * the server; MCPLINK_E_CLOSED when the server is freed. Threads: any. Blocks: until then. Since
 * 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_serve_fds(mcplink_server_t *server, int input, int output, mcplink_error_t **err);

/**
 * Starts to serve over file descriptors without waiting: the non-blocking form of
 * mcplink_server_serve_fds, with a principal.
 *
 * server: the server.
 * input, output: as for mcplink_server_serve_fds.
 * principal: on whose behalf the client acts, which the host has authenticated: see
 * mcplink_request_principal. NULL when it is unknown.
 * session: receives the session, NULL on failure. The caller owns it and frees it with
 * mcplink_session_free, before or after the server.
 * err: receives the error on failure; the caller frees it. May be NULL.
 * Returns: as mcplink_server_serve_fds; MCPLINK_E_CLOSED when the server was stopped. Threads:
 * any. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_serve_fds_start(mcplink_server_t *server,
                                                int input,
                                                int output,
                                                const char *principal,
                                                mcplink_session_t **session,
                                                mcplink_error_t **err);

/**
 * Starts to serve a client over a transport of the host, without waiting.
 *
 * After the client has gone (mcplink_transport_feed_end), answers to calls in flight may still be
 * sent. This ends with the drain time of the server, or when the host closes or frees the session.
 * MCPLINK_SERVER_SESSION_ENDED and mcplink_session_is_closed report that the client has gone.
 * mcplink_session_wait waits for it and closes the session.
 *
 * server: the server.
 * transport: the transport, with a send function. It serves one session. It remains the caller's;
 * free it after the session.
 * principal: on whose behalf the client acts, which the host has authenticated; NULL when it is
 * unknown.
 * session: receives the session, NULL on failure. The caller owns it and frees it with
 * mcplink_session_free, before or after the server.
 * err: receives the error on failure; the caller frees it. May be NULL.
 * Returns: MCPLINK_OK; MCPLINK_E_STATE when the transport was used before or has no send function;
 * MCPLINK_E_CLOSED when the server was stopped. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_attach(mcplink_server_t *server,
                                       mcplink_transport_t *transport,
                                       const char *principal,
                                       mcplink_session_t **session,
                                       mcplink_error_t **err);

/**
 * Waits until the client has gone, or the session is closed, and closes the session.
 *
 * session: the session.
 * err: receives the error on failure; the caller frees it. May be NULL.
 * Returns: MCPLINK_OK when the client has gone or the session was closed; another status when the
 * transport failed. Threads: any. Blocks: until then; calls in flight may finish first, for a few
 * seconds. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_session_wait(mcplink_session_t *session, mcplink_error_t **err);

/**
 * Closes a session: its calls are cancelled, and its transport is closed. In the close function of
 * its transport, this function and mcplink_session_wait return at once, and the outer close
 * continues.
 *
 * session: the session.
 * Returns: MCPLINK_OK, also when it is closed already. Threads: any. Blocks: a few seconds at
 * most, for handlers that don't return. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_session_close(mcplink_session_t *session);

/**
 * Checks whether the client has gone, or the session was closed.
 *
 * session: NULL for true.
 * Returns: true if so. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API bool mcplink_session_is_closed(const mcplink_session_t *session);

/**
 * Returns a number that identifies the session in the server. Requests have it too, see
 * mcplink_request_session, and events, as "session".
 *
 * session: NULL for 0.
 * Returns: at least 1. Threads: any. Since 0.1.
 */
MCPLINK_API uint64_t mcplink_session_number(const mcplink_session_t *session);

/**
 * Returns the principal on whose behalf the client acts.
 *
 * session: NULL for empty text.
 * Returns: the principal that was set when the session was made, valid as long as the session;
 * empty when it is unknown. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_session_principal(const mcplink_session_t *session);

/**
 * Closes a session and frees it.
 *
 * session: the session; may be NULL. Threads: any. Blocks: as mcplink_session_close. Since 0.1.
 */
MCPLINK_API void mcplink_session_free(mcplink_session_t *session);

/**
 * Makes HTTP options with the defaults.
 *
 * Returns: the options. The caller owns them and frees them with mcplink_http_options_free.
 * Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_http_options_t *mcplink_http_options_new(void);

/**
 * Frees options. Listeners and endpoints made with them keep a copy.
 *
 * options: the options; may be NULL. Since 0.1.
 */
MCPLINK_API void mcplink_http_options_free(mcplink_http_options_t *options);

/**
 * Sets the path of the endpoint. Default: "/mcp". Requests for other paths are answered with
 * status 404.
 *
 * options: the options.
 * path: begins with "/".
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_http_options_set_path(mcplink_http_options_t *options, const char *path);

/**
 * Adds an allowed host: a name that is accepted in the field Host, compared without the port. This
 * prevents DNS rebinding. Behind a proxy, add the name that the proxy sends. Default: on a
 * loopback address localhost, 127.0.0.1 and [::1], on other addresses all names.
 *
 * options: the options.
 * host: for example "mcp.example.com".
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_http_options_add_host(mcplink_http_options_t *options, const char *host);

/**
 * Adds an allowed origin: a web site whose pages may call the server. By default only pages of the
 * server's own host may. That host must be an allowed host (mcplink_http_options_add_host), an IP
 * address or this machine. The owner of any other name could make it resolve to the server (DNS
 * rebinding).
 *
 * options: the options.
 * origin: scheme, host, and port unless it is the default one, for example "https://example.com".
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_http_options_add_origin(mcplink_http_options_t *options, const char *origin);

/**
 * Adds a trusted proxy, or a network of proxies. Its field Forwarded (RFC 7239) or X-Forwarded-For
 * is used to find the address of the client: the last address that is not a trusted proxy. If the
 * field is invalid, the proxy counts as the client. Without trusted proxies all requests through a
 * proxy share the limits of one client.
 *
 * options: the options.
 * network: an address such as "192.0.2.1", or a network such as "10.0.0.0/8".
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID: then nothing is added. Threads: one at a time. Since
 * 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_http_options_add_trusted_proxy(mcplink_http_options_t *options, const char *network);

/**
 * Sets whether clients of revisions before 2026-07-28 get sessions. Without sessions any replica
 * can answer any request, but such clients get no input requests and no change notifications.
 * Default: true.
 *
 * options: the options.
 * sessions: true for sessions.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_http_options_set_sessions(mcplink_http_options_t *options, bool sessions);

/**
 * Sets the idle timeout of sessions: a session without an open stream ends after so long without a
 * request. Default: 30 minutes.
 *
 * options: the options.
 * idle_ms: in milliseconds.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_http_options_set_session_idle_ms(mcplink_http_options_t *options, uint32_t idle_ms);

/**
 * Serves also clients of revision 2024-11-05, on the two paths of its HTTP+SSE transport.
 *
 * options: the options.
 * stream: the path of the SSE stream.
 * post: the path to which the client posts messages.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_http_options_set_old_paths(mcplink_http_options_t *options, const char *stream, const char *post);

/**
 * Limits how many events of each stream of a session are stored for a client that reconnects.
 * Default: 256 events and 1 MiB. See also MCPLINK_HTTP_LIMIT_KEPT_BYTES.
 *
 * options: the options.
 * events: the number of events.
 * bytes: the number of their bytes.
 * Returns: MCPLINK_OK. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_http_options_set_kept_events(mcplink_http_options_t *options, size_t events, size_t bytes);

/**
 * Sets the keep-alive interval of event streams, so that proxies do not drop idle connections. A
 * comment is written to a stream after so long without data. A response that has not begun after
 * so long begins as a stream, if the client accepts one. Default: 15 s.
 *
 * options: the options.
 * interval_ms: in milliseconds, at least 1.
 * Returns: MCPLINK_OK. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_http_options_set_keep_alive_ms(mcplink_http_options_t *options, uint32_t interval_ms);

/**
 * Sets a limit. The length of a body is limited by MCPLINK_LIMIT_MESSAGE_BYTES of the server.
 *
 * options: the options.
 * which: one of enum mcplink_http_limit.
 * bound: the limit.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_http_options_set_limit(mcplink_http_options_t *options, int32_t which, size_t bound);

/**
 * Sets a function that authenticates each request, before anything else is done with it. Without
 * one all clients are accepted, unless mcplink_http_options_set_resource_server is used. Options
 * with a resource server refuse this function.
 *
 * options: the options.
 * callback: see mcplink_authenticate_fn. It runs on the thread that read the request, several at
 * once, or where the pump of the server is dispatched. NULL is refused: see
 * mcplink_http_options_clear_authenticate.
 * user, destroy: passed to callback; destroy runs when the function is replaced, refused or
 * cleared, or when the options and all listeners and endpoints made with them are freed.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_http_options_on_authenticate(mcplink_http_options_t *options,
                                                      mcplink_authenticate_fn callback,
                                                      void *user,
                                                      mcplink_destroy_fn destroy);

/**
 * Removes the function of mcplink_http_options_on_authenticate. Without another check all clients
 * are accepted.
 *
 * options: the options.
 * Returns: MCPLINK_OK, also without such a function, or MCPLINK_E_INVALID. Threads: one at a time.
 * Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_http_options_clear_authenticate(mcplink_http_options_t *options);

/**
 * Requires an access token for this server with each request, and tells clients where to obtain
 * one. Options with a function of mcplink_http_options_on_authenticate, which is for other
 * credentials, refuse this.
 *
 * Handlers read the principal with mcplink_request_principal, and check its scopes with
 * mcplink_request_has_scope.
 *
 * options: the options.
 * server: the description, which is copied and remains the caller's. NULL, and a description with
 * a refused setter, are refused: see mcplink_http_options_clear_resource_server. Other faults are
 * reported when a listener or endpoint is made with the options. That fails with
 * MCPLINK_E_UNSUPPORTED for JWTs in a build without them.
 * Returns: MCPLINK_OK, MCPLINK_E_INVALID, or the status with which the setter was refused.
 * Threads: one at a time. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_http_options_set_resource_server(mcplink_http_options_t *options,
                                                          const mcplink_resource_server_t *server);

/**
 * Removes the resource server of mcplink_http_options_set_resource_server. Without another check
 * all clients are accepted.
 *
 * options: the options.
 * Returns: MCPLINK_OK, also without one, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_http_options_clear_resource_server(mcplink_http_options_t *options);

/**
 * Returns the method of an HTTP request.
 *
 * request: NULL for "".
 * Returns: valid as long as the request. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_http_request_method(const mcplink_http_request_t *request);

/**
 * Returns the target of an HTTP request: path and query, as received.
 *
 * request: NULL for "".
 * Returns: valid as long as the request. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_http_request_target(const mcplink_http_request_t *request);

/**
 * Returns the value of a header field of an HTTP request.
 *
 * request: NULL for empty text.
 * field: the name of the field; case-insensitive.
 * Returns: the first value, valid as long as the request; empty when there is no such field. Bytes
 * that are not UTF-8 are replaced by U+FFFD. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_http_request_header(const mcplink_http_request_t *request, const char *field);

/**
 * Returns address and port of the sender of an HTTP request.
 *
 * request: NULL for empty text.
 * Returns: valid as long as the request; empty when they are unknown. Threads: one at a time.
 * Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_http_request_remote(const mcplink_http_request_t *request);

/**
 * Returns the access token of an HTTP request: the text after Bearer in its field Authorization.
 *
 * request: NULL for empty text.
 * Returns: valid as long as the request; empty without a token. Never pass it on, nor log it.
 * Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_http_request_token(const mcplink_http_request_t *request);

/**
 * Admits a request.
 *
 * request: the request.
 * principal: the authenticated sender, for mcplink_request_principal; not empty. Sessions, and the
 * state of calls between rounds, are bound to the principal that made them.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: that of the callback. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_http_request_admit(mcplink_http_request_t *request, const char *principal);

/**
 * Sets the granted scopes of the principal, for mcplink_server_require_scopes,
 * mcplink_responder_need_scopes and mcplink_request_has_scope. Default: unknown, so that requests
 * that need a scope are refused.
 *
 * request: the request.
 * scopes: their names, separated by spaces; "" for none. NULL for unknown.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: that of the callback. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_http_request_set_scopes(mcplink_http_request_t *request, const char *scopes);

/**
 * Sets when the authentication expires. Open streams send nothing after it. Default: never.
 *
 * request: the request.
 * seconds: since 1970-01-01 UTC.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID for a negative number. Threads: that of the callback.
 * Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_http_request_set_expiry(mcplink_http_request_t *request, int64_t seconds);

/**
 * Adds an audience of the token: see mcplink_resource_server_set_verifier. A token without this
 * server in its audience is refused. A host that checks the audience in another way adds the
 * server's own URL.
 *
 * request: the request.
 * audience: as in the token (aud).
 * Returns: MCPLINK_OK, MCPLINK_E_INVALID, or MCPLINK_E_STATE in a function of
 * mcplink_http_options_on_authenticate. Threads: that of the callback. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_http_request_add_audience(mcplink_http_request_t *request, const char *audience);

/**
 * Declares that a token is bound to a key of the client (DPoP, RFC 9449): see
 * mcplink_resource_server_set_verifier. It is then valid only with a proof of that key, on a
 * server with mcplink_resource_server_set_dpop; other servers refuse it. Without this call a
 * stolen bound token would be accepted.
 *
 * request: the request.
 * thumbprint: of the key, as the token or the authorization server contains it (cnf.jkt; RFC
 * 7638).
 * Returns: MCPLINK_OK, MCPLINK_E_INVALID, or MCPLINK_E_STATE in a function of
 * mcplink_http_options_on_authenticate. Threads: that of the callback. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_http_request_bind_key(mcplink_http_request_t *request, const char *thumbprint);

/**
 * Refuses an invalid access token with status 401, so that the client obtains a new one.
 *
 * request: the request.
 * why: the reason, for the client and the log, for example "it was revoked". It must not quote the
 * token.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: that of the callback. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_http_request_refuse_token(mcplink_http_request_t *request, const char *why);

/**
 * Refuses a request that needs more scopes with status 403, so that the client lets its user grant
 * them.
 *
 * request: the request.
 * scopes: all required scopes, separated by spaces.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: that of the callback. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_http_request_need_scopes(mcplink_http_request_t *request, const char *scopes);

/**
 * Answers with status 503: authorization cannot be checked right now. Unlike 401 it does not make
 * the client discard its token.
 *
 * request: the request.
 * why: the reason, for the host's log.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: that of the callback. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_http_request_put_off(mcplink_http_request_t *request, const char *why);

/**
 * Refuses an unauthenticated request with status 401 and a challenge.
 *
 * request: the request.
 * challenge: the required credentials, for the field WWW-Authenticate (RFC 9110), for example
 * "Bearer".
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: that of the callback. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_http_request_challenge(mcplink_http_request_t *request, const char *challenge);

/**
 * Makes the description of a resource server. By default its tokens are JWTs, signed by the
 * authorization server with the keys that its metadata names. Signature, issuer and times are
 * verified. The principal is sub; the scopes are those of scope or scp.
 *
 * resource: the URL that clients use, for example "https://files.example/mcp", not the address at
 * which the process listens.
 * issuer: the issuer identifier of the authorization server, for example "https://login.example".
 * It is compared exactly with tokens and metadata (RFC 9068, section 4; RFC 8414, section 3.3):
 * with a "/" at the end it is another issuer.
 * Returns: the description. The caller owns it and frees it with mcplink_resource_server_free.
 * NULL for a bad argument, and in a build without HTTP. Invalid URLs are reported when a listener
 * or endpoint is made with it. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_resource_server_t *mcplink_resource_server_new(const char *resource, const char *issuer);

/**
 * Adds another authorization server. Its tokens are accepted only by a function that
 * verifies them: see mcplink_resource_server_set_verifier.
 *
 * server: the description.
 * issuer: its issuer identifier.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_resource_server_add_issuer(mcplink_resource_server_t *server, const char *issuer);

/**
 * Sets the URL of the issuer's keys, for an issuer whose metadata does not contain it.
 *
 * server: the description.
 * url: the URL of its key set (RFC 7517): https, except on this machine. NULL is refused: see
 * mcplink_resource_server_use_default_keys.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID, also when keys or a verifier are set already. Blocks:
 * no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_resource_server_set_keys_url(mcplink_resource_server_t *server, const char *url);

/**
 * Sets the issuer's keys, which are then not fetched.
 *
 * server: the description.
 * json, len: the key set (RFC 7517), {"keys":[...]}; MCPLINK_NUL measures it. It replaces a URL of
 * keys.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID, also when a verifier is set already. Blocks: no.
 * Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_resource_server_set_keys(mcplink_resource_server_t *server, const char *json, size_t len);

/**
 * Fetches the issuer's metadata and keys through a proxy. Default: no proxy, regardless of the
 * environment.
 *
 * server: the description.
 * url: as for mcplink_client_options_set_proxy, also "environment". NULL is refused: see
 * mcplink_resource_server_clear_proxy.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_resource_server_set_proxy(mcplink_resource_server_t *server, const char *url);

/**
 * Fetches the issuer's metadata and keys without a proxy: clears
 * mcplink_resource_server_set_proxy.
 *
 * server: the description.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_resource_server_clear_proxy(mcplink_resource_server_t *server);

/**
 * Sets the certificate authorities that are trusted when the issuer's metadata and keys are
 * fetched over HTTPS. No others are trusted. Default: Mozilla's list.
 *
 * server: the description.
 * pem, len: PEM text with one or more certificates, which is copied; other contents are skipped.
 * MCPLINK_NUL measures it. It replaces an earlier one. NULL and blank text are refused: see
 * mcplink_resource_server_use_default_roots. Text without a valid certificate is reported when a
 * listener or endpoint is made with it, with MCPLINK_E_INVALID. In a build without signed tokens
 * (feature jwt) that fails with MCPLINK_E_UNSUPPORTED. It is not used with
 * mcplink_resource_server_set_verifier.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_resource_server_set_root_certificates(mcplink_resource_server_t *server, const char *pem, size_t len);

/**
 * Trusts Mozilla's list of certificate authorities: clears
 * mcplink_resource_server_set_root_certificates.
 *
 * server: the description.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_resource_server_use_default_roots(mcplink_resource_server_t *server);

/**
 * Sets a function of the host that verifies tokens of any kind.
 *
 * server: the description.
 * callback: called for each token. It sees only the token of the request
 * (mcplink_http_request_token), and must not pass it on. It calls mcplink_http_request_admit and
 * mcplink_http_request_add_audience, or refuses. Audience and expiry are then checked by the
 * library. For threads see mcplink_http_options_on_authenticate. NULL is refused: see
 * mcplink_resource_server_use_default_keys.
 * user, destroy: passed to callback; destroy runs when the function is replaced, refused or
 * cleared, or when all objects that use the description are freed.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID, also when keys are set already. Blocks: no. Since
 * 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_resource_server_set_verifier(mcplink_resource_server_t *server,
                                                      mcplink_authenticate_fn callback,
                                                      void *user,
                                                      mcplink_destroy_fn destroy);

/**
 * Verifies tokens with the keys that the issuer's metadata names. Clears what
 * mcplink_resource_server_set_keys, mcplink_resource_server_set_keys_url and
 * mcplink_resource_server_set_verifier set.
 *
 * server: the description.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_resource_server_use_default_keys(mcplink_resource_server_t *server);

/**
 * Sets the scopes that every request needs. Scopes of single entries are set with
 * mcplink_server_require_scopes. The first challenge names them to the client. Default: none.
 *
 * server: the description.
 * scopes: their names, separated by spaces. NULL and blank text are refused: see
 * mcplink_resource_server_clear_required_scopes.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_resource_server_set_required_scopes(mcplink_resource_server_t *server, const char *scopes);

/**
 * Requires no scopes except those of single entries: clears
 * mcplink_resource_server_set_required_scopes.
 *
 * server: the description.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_resource_server_clear_required_scopes(mcplink_resource_server_t *server);

/**
 * Sets the supported scopes that the metadata lists. List those for ordinary use, because some
 * clients request all of them at once. Default: the scopes that every request needs.
 *
 * server: the description.
 * scopes: their names, separated by spaces.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_resource_server_set_scopes_supported(mcplink_resource_server_t *server, const char *scopes);

/**
 * Declares that a broad scope implies narrower ones, and transitively the scopes they imply.
 *
 * server: the description.
 * broad: the scope.
 * narrow: the implied scopes, separated by spaces.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_resource_server_add_implied(mcplink_resource_server_t *server, const char *broad, const char *narrow);

/**
 * Adds an accepted audience: another name of this server in the audience of tokens, for
 * authorization servers that don't use its URL there.
 *
 * server: the description.
 * audience: the name.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_resource_server_add_audience(mcplink_resource_server_t *server, const char *audience);

/**
 * Sets the name of the server for consent pages, and the URL of its documentation for developers.
 *
 * server: the description.
 * title: NULL for none.
 * documentation: the URL of a page; NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_resource_server_set_info(mcplink_resource_server_t *server,
                                                  const char *title,
                                                  const char *documentation);

/**
 * Sets the URL of the metadata, for a server behind a proxy that forwards only some paths. The
 * metadata is then served there too. Default: the well-known location of the server's URL:
 * https://host/.well-known/oauth-protected-resource/mcp for https://host/mcp.
 *
 * server: the description.
 * url: NULL for the default.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_resource_server_set_metadata_url(mcplink_resource_server_t *server, const char *url);

/**
 * Sets whether tokens that are bound to a key of the client are accepted (DPoP, RFC 9449), so that
 * a stolen token can't be used. Such a token comes with a proof of the key. Its signature, method,
 * URL, token, and time (within five minutes) are verified, and each proof is accepted once.
 * Metadata and challenges announce it to clients.
 *
 * server: the description.
 * dpop: one of enum mcplink_dpop. Default: MCPLINK_DPOP_NEVER.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. In a build without signed tokens, making a listener
 * or endpoint with it fails with MCPLINK_E_UNSUPPORTED. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_resource_server_set_dpop(mcplink_resource_server_t *server, int32_t dpop);

/**
 * Requires a nonce of this server in each DPoP proof, so that proofs can't be made in advance. A
 * client without a nonce gets one with the refusal, and retries. Default: no nonce is required.
 *
 * server: the description.
 * keys, len: one or more keys of 32 secret random bytes each, concatenated and copied. The first
 * key encrypts nonces; nonces of any key are accepted. Replicas share their keys.
 * lifetime_ms: how long a nonce is valid, in milliseconds; at least 1000.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_resource_server_set_nonces(mcplink_resource_server_t *server,
                                                    const uint8_t *keys,
                                                    size_t len,
                                                    uint32_t lifetime_ms);

/**
 * Frees a description. HTTP options that use it keep a copy.
 *
 * server: the description; may be NULL. Since 0.1.
 */
MCPLINK_API void mcplink_resource_server_free(mcplink_resource_server_t *server);

/**
 * Listens for HTTP clients, on threads of the library.
 *
 * Any client that can reach the address can send requests. Use a port alone unless other machines
 * need access. In that case authenticate them with mcplink_http_options_on_authenticate.
 *
 * server: the server.
 * options: the options, which are copied. NULL for the defaults, which accept all clients without
 * authentication. Options with a refused setter are refused, with the reason in err.
 * bind: an address such as "192.0.2.1:8080", or a port of the loopback address such as "8080";
 * with port 0 the system chooses one.
 * listener: receives the listener, NULL on failure. The caller owns it and frees it with
 * mcplink_listener_free, before or after the server.
 * err: receives the error on failure; the caller frees it. May be NULL.
 * Returns: MCPLINK_OK; MCPLINK_E_IO when the address is not available; MCPLINK_E_INVALID for
 * invalid options; MCPLINK_E_CLOSED when the server was stopped; MCPLINK_E_UNSUPPORTED in a build
 * without HTTP. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_listen_http(mcplink_server_t *server,
                                            const mcplink_http_options_t *options,
                                            const char *bind,
                                            mcplink_listener_t **listener,
                                            mcplink_error_t **err);

/**
 * Returns the port of a listener, also if the system chose it.
 *
 * listener: NULL for 0.
 * Returns: the port. Threads: any. Since 0.1.
 */
MCPLINK_API uint16_t mcplink_listener_port(const mcplink_listener_t *listener);

/**
 * Returns the URL of the endpoint, for clients on this machine.
 *
 * listener: NULL for "".
 * Returns: valid as long as the listener. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_listener_url(const mcplink_listener_t *listener);

/**
 * Returns the number of open sessions, which clients of revisions before 2026-07-28 have.
 *
 * listener: NULL for 0.
 * Returns: the count. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API size_t mcplink_listener_sessions(const mcplink_listener_t *listener);

/**
 * Closes a listener: it accepts nothing more, calls in flight may finish for the drain time of the
 * server, and sessions end. If a handler calls it, its own call is in flight and is waited for:
 * free the listener instead, or stop the server.
 *
 * listener: the listener.
 * Returns: MCPLINK_OK, also when it is closed already. Threads: any. Blocks: for the drain time
 * and a few seconds at most. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_listener_close(mcplink_listener_t *listener);

/**
 * Closes a listener and frees it. Called in a callback of the server, it returns at once, and
 * another thread does the rest: a handler that calls it can still answer.
 *
 * listener: the listener; may be NULL. Threads: any. Blocks: as mcplink_listener_close. Since 0.1.
 */
MCPLINK_API void mcplink_listener_free(mcplink_listener_t *listener);

/**
 * Returns the status of a response.
 *
 * head: NULL for 0.
 * Returns: for example 200. Threads: any. Since 0.1.
 */
MCPLINK_API int32_t mcplink_http_head_status(const mcplink_http_head_t *head);

/**
 * Returns the number of header fields of a response.
 *
 * head: NULL for 0.
 * Returns: the count. Threads: any. Since 0.1.
 */
MCPLINK_API size_t mcplink_http_head_count(const mcplink_http_head_t *head);

/**
 * Returns the name of a header field.
 *
 * head: NULL for "".
 * index: from 0.
 * Returns: valid as long as the head; empty when the index is out of range. Threads: any. Since
 * 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_http_head_name(const mcplink_http_head_t *head, size_t index);

/**
 * Returns the value of a header field.
 *
 * head: NULL for "".
 * index: from 0.
 * Returns: valid as long as the head; empty when the index is out of range. Threads: any. Since
 * 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_http_head_value(const mcplink_http_head_t *head, size_t index);

/**
 * Returns the keep-alive interval of a streamed response. After so long without data the host
 * should write mcplink_http_head_quiet_text, so that proxies do not drop the idle connection.
 *
 * head: NULL for 0.
 * Returns: in milliseconds; 0 for never. Threads: any. Since 0.1.
 */
MCPLINK_API uint32_t mcplink_http_head_quiet_ms(const mcplink_http_head_t *head);

/**
 * Returns the keep-alive text that the host writes to an idle stream: see
 * mcplink_http_head_quiet_ms.
 *
 * head: NULL for "".
 * Returns: valid as long as the head; empty for nothing. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_http_head_quiet_text(const mcplink_http_head_t *head);

/**
 * Makes an exchange: an HTTP request that the host's own web server received, and the functions
 * that send its response.
 *
 * method: in capitals, as received.
 * target: path and query, as received.
 * begin, write, end: the functions that send the response. They run one at a time: on threads of
 * the library, on the thread that calls mcplink_http_serve, or where the pump of the server is
 * dispatched.
 * user, destroy: passed to them; destroy runs when the exchange is freed.
 * Returns: the exchange. The caller owns it and frees it with mcplink_exchange_free after end was
 * called, or earlier to abandon the response. NULL for a bad argument. Threads: any. Since 0.1.
 */
MCPLINK_API
mcplink_exchange_t *mcplink_exchange_new(const char *method,
                                         const char *target,
                                         mcplink_http_begin_fn begin,
                                         mcplink_http_write_fn write,
                                         mcplink_http_end_fn end,
                                         void *user,
                                         mcplink_destroy_fn destroy);

/**
 * Adds a header field to the request.
 *
 * exchange: the exchange.
 * field: its name; case-insensitive.
 * content, len: its value, without surrounding white space; MCPLINK_NUL measures it.
 * Returns: MCPLINK_OK, MCPLINK_E_INVALID, or MCPLINK_E_STATE when the request was served already.
 * Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_exchange_add_header(mcplink_exchange_t *exchange, const char *field, const char *content, size_t len);

/**
 * Sets the body of the request.
 *
 * exchange: the exchange.
 * body, len: the whole body, without a transfer coding; MCPLINK_NUL measures it. The host limits
 * its length.
 * Returns: MCPLINK_OK, MCPLINK_E_INVALID, or MCPLINK_E_STATE when the request was served already.
 * Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_exchange_set_body(mcplink_exchange_t *exchange, const char *body, size_t len);

/**
 * Sets the local and the remote address of the request. The local address decides which values of
 * the field Host are accepted.
 *
 * exchange: the exchange.
 * local: address and port, for example "127.0.0.1:8080". NULL is refused: without it a server
 * without allowed hosts (mcplink_http_options_add_host) would accept all.
 * remote: address and port of the client; NULL when they are unknown.
 * Returns: MCPLINK_OK, MCPLINK_E_INVALID, or MCPLINK_E_STATE when the request was served already.
 * Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_exchange_set_addresses(mcplink_exchange_t *exchange, const char *local, const char *remote);

/**
 * Reports that the client has gone: no more of the response is sent. end is still called if the
 * response had not ended.
 *
 * exchange: the exchange.
 * Returns: MCPLINK_OK. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_exchange_gone(mcplink_exchange_t *exchange);

/**
 * Begins the response as an event stream, so that proxies do not drop the idle connection. Call it
 * when the response has not begun for as long as mcplink_http_options_set_keep_alive_ms says. Does
 * nothing when the client does not accept event streams, or the response has begun.
 *
 * exchange: the exchange.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: any; begin and write may run on this one.
 * Blocks: only in them. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_exchange_silent(mcplink_exchange_t *exchange);

/**
 * Frees an exchange: none of its functions runs after this. A response that has not ended is
 * aborted, as after mcplink_exchange_gone. Called inside one of its functions, it returns at once,
 * and no other function of it starts.
 *
 * exchange: the exchange; may be NULL. Threads: any. Blocks: while one of its functions runs on
 * another thread. Since 0.1.
 */
MCPLINK_API void mcplink_exchange_free(mcplink_exchange_t *exchange);

/**
 * Makes an endpoint that the host mounts in its own web server. The host passes each request to
 * mcplink_http_serve.
 *
 * server: the server.
 * options: the options, which are copied. NULL for the defaults, which accept all clients without
 * authentication. Options with a refused setter are refused, with the reason in err. The host
 * itself limits connections.
 * http: receives the endpoint, NULL on failure. The caller owns it and frees it with
 * mcplink_http_free, before or after the server.
 * err: receives the error on failure; the caller frees it. May be NULL.
 * Returns: MCPLINK_OK; MCPLINK_E_INVALID for invalid options; MCPLINK_E_CLOSED when the server was
 * stopped; MCPLINK_E_UNSUPPORTED in a build without HTTP. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_http(mcplink_server_t *server,
                                     const mcplink_http_options_t *options,
                                     mcplink_http_t **http,
                                     mcplink_error_t **err);

/**
 * Serves an HTTP request. The functions of the exchange send the response, during this call or
 * later.
 *
 * http: the endpoint.
 * exchange: the request, and the functions for its response. It serves once, and remains the
 * caller's.
 * err: receives the error on failure; the caller frees it. May be NULL.
 * Returns: MCPLINK_OK when a response was or will be sent, whatever its status; MCPLINK_E_STATE
 * when the exchange was served before; the status of a refused setter of the exchange;
 * MCPLINK_E_UNSUPPORTED in a build without HTTP. Threads: any, several at once. Blocks: without a
 * pump as long as the handler, which runs on this thread. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_http_serve(mcplink_http_t *http, mcplink_exchange_t *exchange, mcplink_error_t **err);

/**
 * Closes an endpoint: ends its sessions, streams and requests.
 *
 * http: the endpoint.
 * Returns: MCPLINK_OK, also when it is closed already. Threads: any. Blocks: a few seconds at
 * most. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_http_close(mcplink_http_t *http);

/**
 * Closes an endpoint and frees it.
 *
 * http: the endpoint; may be NULL. Threads: any. Blocks: as mcplink_http_close. Since 0.1.
 */
MCPLINK_API void mcplink_http_free(mcplink_http_t *http);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#if defined(__GNUC__) && !defined(__cplusplus)
#  pragma GCC diagnostic pop
#endif

#endif  /* MCPLINK_H */
