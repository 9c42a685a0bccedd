/*
 * mcplink: the Model Context Protocol for programs without an async runtime.
 *
 * This header is generated from src/cffi; change it there. Every function is safe to call from any thread.
 *
 * Setters. Objects that are described by setters remember the first setter that was refused:
 * options, definitions of tools, prompts, resources and templates, OAuth settings and clients,
 * resource servers, exchanges. Every function that takes such an object then fails with that
 * status, and with the name of the setter and the reason in err; the log is told at once, as a
 * warning. So the status of a setter may be dropped. A later call does not take the refusal back:
 * free the object and make another one.
 *
 * Restrictions never fail open. Where a setting restricts access or trust, NULL and text without
 * anything are refused: a token that was not found in the environment, a file of certificates that
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
 * What has the argument that is completed.
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
     * A template of resources, as it was written: its arguments are its variables.
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
 * How it stands with a client.
 */
enum mcplink_connection_state
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
typedef enum mcplink_connection_state mcplink_connection_state;
#else
typedef int32_t mcplink_connection_state;
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
 * Whether tokens are bound to a key, so that whoever steals one can't use it (DPoP, RFC 9449).
 */
enum mcplink_dpop
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * When the other side asks for it: a client binds tokens when the server wants it, a server takes those that are bound and those that are not. What
     * clients do without more.
     */
    MCPLINK_DPOP_WHEN_ASKED = 0,
    /**
     * Never. What servers do without more: they refuse tokens that are bound, which they could not check.
     */
    MCPLINK_DPOP_NEVER = 1,
    /**
     * Always: a token that is not bound is refused.
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
    /**
     * A task is further; see mcplink_client_listen. All of it, as tasks/get tells it: {"taskId":"...","status":"completed","result":{...}, and
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
 * An upper bound of a server over HTTP.
 */
enum mcplink_http_limit
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * How many sessions there may be: 10000. When all are taken, an idle session of the client
     * that has most sessions ends to make room. When all are in use, the next client is refused
     * with status 503.
     */
    MCPLINK_HTTP_LIMIT_SESSIONS = 1,
    /**
     * How many requests of clients of revisions since 2026-07-28 may be in hand: 1024. The next one is answered with a "busy" error.
     */
    MCPLINK_HTTP_LIMIT_REQUESTS = 2,
    /**
     * How many streams of change notifications such clients may have: 10000. The next one is refused.
     */
    MCPLINK_HTTP_LIMIT_STREAMS = 3,
    /**
     * How many connections may be open: 24000, and never more than seven eighths of the
     * descriptors that the process may have. When all are taken, a connection without a request in
     * hand is closed to make room, of the client that has most. When all have a request in hand or
     * an open stream, the next one is answered with status 503.
     */
    MCPLINK_HTTP_LIMIT_CONNECTIONS = 4,
    /**
     * How many requests may be served at once, each on a thread of its own: 64. The next ones
     * wait, but for pings, cancellations and other requests that need no handler. The client that
     * has fewest threads is the next to get one.
     */
    MCPLINK_HTTP_LIMIT_WORKERS = 5,
    /**
     * How many requests may wait for a thread: 256. Beyond that the last request of the client
     * that has most of them waiting is answered with status 503.
     */
    MCPLINK_HTTP_LIMIT_WAITING = 6,
    /**
     * Longest request line with its header fields, in bytes: 32 KiB.
     */
    MCPLINK_HTTP_LIMIT_HEAD_BYTES = 7,
    /**
     * How many header fields a request may have: 128, at most 256.
     */
    MCPLINK_HTTP_LIMIT_FIELDS = 8,
    /**
     * How many bytes of a stream may wait for a client that does not read: 256 KiB.
     */
    MCPLINK_HTTP_LIMIT_STREAM_BYTES = 9,
    /**
     * How long a head may take, in milliseconds: 10000. A slower one is answered with status 408.
     */
    MCPLINK_HTTP_LIMIT_HEAD_MS = 10,
    /**
     * How long a body may come slower than it has to, or not at all, in milliseconds: 10000. Then it is answered with status 408.
     */
    MCPLINK_HTTP_LIMIT_BODY_MS = 11,
    /**
     * How fast a body has to come, in bytes a second: 1024.
     */
    MCPLINK_HTTP_LIMIT_BODY_RATE = 12,
    /**
     * How long a client may read nothing of what waits for it, in milliseconds: 30000. Then its connection is broken off.
     */
    MCPLINK_HTTP_LIMIT_WRITE_MS = 13,
    /**
     * How long a connection may stay without a request, in milliseconds: 75000.
     */
    MCPLINK_HTTP_LIMIT_IDLE_MS = 14,
    /**
     * How many bytes the events kept of all streams of all sessions may take: 256 MiB. Then the oldest of a stream that has most are dropped.
     */
    MCPLINK_HTTP_LIMIT_KEPT_BYTES = 15,
    /**
     * How many bytes may wait for all clients that do not read: 256 MiB. Then connections are broken off for which most waits for longest.
     */
    MCPLINK_HTTP_LIMIT_UNSENT_BYTES = 16,
    /**
     * How long a new connection may take until its first byte, in milliseconds: 10000. Then it is
     * closed.
     */
    MCPLINK_HTTP_LIMIT_FIRST_BYTE_MS = 17,
    /**
     * The most that one client may hold of connections, threads and sessions while others want
     * some, in percent: 50. Alone it may hold all.
     */
    MCPLINK_HTTP_LIMIT_PART_PERCENT = 18,
    /**
     * How many connections and threads there are beyond their limits for clients that hold few, in
     * percent of these limits: 12. 0 for none.
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
     * How many requests of the peer may be in flight: 1024. The next one is answered with a "busy" error; while the peer does not read its answers, requests are held back instead.
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
     * How many log messages that belong to no call may wait for one client of revisions before 2026-07-28: 1024. The next one is dropped for
     * that client. Change notifications that wait merge, and need no limit.
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
 * A list that a server gives.
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
 * How severe a log message is, after RFC 5424.
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
 * Whether an argument of a tool or prompt has to be given.
 */
enum mcplink_param_flag
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * It may be left out.
     */
    MCPLINK_PARAM_OPTIONAL = 0,
    /**
     * It has to be there.
     */
    MCPLINK_PARAM_REQUIRED = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mcplink_param_flag mcplink_param_flag;
#else
typedef int32_t mcplink_param_flag;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * What kind of value an argument of a tool is.
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
     * A whole number.
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
 * Something that a server has.
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
     * A resource, by its address.
     */
    MCPLINK_PRIMITIVE_RESOURCE = 3,
    /**
     * A template of resources, as it was written: what it needs is needed for each resource that is read through it.
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
 * Codes of errors that the protocol defines. Codes of one's own are outside -32768 to -32000.
 */
enum mcplink_rpc_code
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * The user said no.
     */
    MCPLINK_RPC_USER_REJECTED = -1,
    /**
     * The request is not one that can be answered now.
     */
    MCPLINK_RPC_INVALID_REQUEST = -32600,
    /**
     * There is no such method.
     */
    MCPLINK_RPC_METHOD_NOT_FOUND = -32601,
    /**
     * The params, or a name in them, are wrong.
     */
    MCPLINK_RPC_INVALID_PARAMS = -32602,
    /**
     * Something failed in the one who answers.
     */
    MCPLINK_RPC_INTERNAL_ERROR = -32603,
    /**
     * A resource does not exist; mcplink_responder_not_found says it in the way of the client's revision.
     */
    MCPLINK_RPC_RESOURCE_NOT_FOUND = -32002,
    /**
     * Pages have to be visited first (2025-11-25 only).
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
 * What an event of a server tells. Ignore those that you don't know: there will be more.
 */
enum mcplink_server_event
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * A client has said who it is: {"session":1,"transport":"stream","peer":"...","revision":"2025-11-25","client":{"name":"...","version":"..."},
     * "principal":"..."}. The transport is "stream" or "http"; client and principal only where they are known. See mcplink_session_number.
     */
    MCPLINK_SERVER_SESSION_BEGAN = 1,
    /**
     * Nothing is served in it any more: the same, with "status":-3,"message":"..." unless it was closed here.
     */
    MCPLINK_SERVER_SESSION_ENDED = 2,
    /**
     * A message was none, and was refused: {"session":1,"peer":"...","message":"..."}. Without a session for an HTTP request that came to none.
     */
    MCPLINK_SERVER_MALFORMED = 3,
    /**
     * A message was longer than MCPLINK_LIMIT_MESSAGE_BYTES, and was refused. As above; not over HTTP.
     */
    MCPLINK_SERVER_TOO_LONG = 4,
    /**
     * A request was refused since too many are in hand, or a session since too many are open. As above, with "method":"tools/call" for a request.
     */
    MCPLINK_SERVER_BUSY = 5,
    /**
     * A handler gave no answer, or one that it must not give: the client got an internal error. As above, with "method" where it is known.
     */
    MCPLINK_SERVER_HANDLER_FAILED = 6,
    /**
     * A request over HTTP was not let in, since its host, its origin or its credentials were refused. As above.
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
     * The handle was made before a fork, by the other process. In this one it can't be used, and freeing it does nothing.
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
 * What an identity provider gave when the user signed on.
 */
enum mcplink_subject
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * An ID token of OpenID Connect.
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
     * They may not.
     */
    MCPLINK_TASK_FORBIDDEN = 0,
    /**
     * They may.
     */
    MCPLINK_TASK_OPTIONAL = 1,
    /**
     * They have to.
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
 * What a tool is said to do: hints for the user, not to be relied on.
 */
enum mcplink_tool_hint
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * It changes nothing. Taken for false.
     */
    MCPLINK_HINT_READ_ONLY = 1,
    /**
     * It may destroy something. Taken for true.
     */
    MCPLINK_HINT_DESTRUCTIVE = 2,
    /**
     * Doing it again changes nothing more. Taken for false.
     */
    MCPLINK_HINT_IDEMPOTENT = 3,
    /**
     * It deals with an open world, such as the web. Taken for true.
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
 * An HTTP request that came in by the host's own web server, and where its response goes.
 */
typedef struct mcplink_exchange_t mcplink_exchange_t;

/**
 * Status and header fields of a response. The fields of length, connection and date are the host's business. It is borrowed until the
 * function that got it returns.
 */
typedef struct mcplink_http_head_t mcplink_http_head_t;

/**
 * How a server is served over HTTP. The defaults suit a server for clients on the same machine. One thread at a time uses it; what serves
 * copies it.
 */
typedef struct mcplink_http_options_t mcplink_http_options_t;

/**
 * An HTTP request, as far as it can say who sends it. It is borrowed until the callback that got it returns.
 */
typedef struct mcplink_http_request_t mcplink_http_request_t;

/**
 * The endpoint of a server, to be mounted in a web server of the host.
 */
typedef struct mcplink_http_t mcplink_http_t;

/**
 * A JSON value: a document of the caller's, or a node in one.
 *
 * Every function that looks at a node takes NULL and a node of another type too, and gives the neutral value then, so that chains of calls
 * need no checks in between. A node is valid as long as its document; a document may be read by many threads at once.
 */
typedef struct mcplink_json_t mcplink_json_t;

/**
 * A server that listens for HTTP clients.
 */
typedef struct mcplink_listener_t mcplink_listener_t;

/**
 * A login of a person that a server wants.
 *
 * The function that got it borrows it until it returns; to answer later, keep it with mcplink_login_keep. One that is neither answered nor kept
 * is given up. Any thread may use it.
 */
typedef struct mcplink_login_t mcplink_login_t;

/**
 * A client that was registered with an authorization server beforehand. One thread at a time uses it.
 */
typedef struct mcplink_oauth_client_t mcplink_oauth_client_t;

/**
 * How a client comes by access tokens for servers over HTTP that want them (OAuth), and keeps them good. By default a person logs in, in the
 * system's browser; everything else is found out from the server.
 *
 * Clients that are given the same settings, unchanged in between, share tokens and logins. One thread at a time uses the settings; clients
 * that have them keep them.
 */
typedef struct mcplink_oauth_t mcplink_oauth_t;

/**
 * A prompt: messages that a user picks by name. One thread at a time uses it; a server copies it.
 */
typedef struct mcplink_prompt_t mcplink_prompt_t;

/**
 * Brings callbacks to a thread of the host's choice. One pump serves any number of clients and servers.
 *
 * Reading and writing stay on the threads of the library; only callbacks of the host wait in the pump, until the host dispatches it.
 */
typedef struct mcplink_pump_t mcplink_pump_t;

/**
 * A request that a handler of the host answers. It is readable as long as its responder: until the handler returns, or until the last
 * mcplink_responder_free of one that was kept. Any thread may read it.
 */
typedef struct mcplink_request_t mcplink_request_t;

/**
 * A server over HTTP to which clients authorize themselves with access tokens of an authorization server (OAuth). One thread at a time uses it;
 * the settings that it is given to copy it.
 *
 * Each request is served only with a token in its field Authorization that is good, was issued for this server and has not expired. Others are
 * answered with status 401 and a challenge that says where tokens are to be had; what lacks a scope with 403 and the scopes that are needed. The
 * metadata that this refers to is served to everybody.
 */
typedef struct mcplink_resource_server_t mcplink_resource_server_t;

/**
 * A resource: something to read, at an address of its own. One thread at a time uses it; a server copies it.
 */
typedef struct mcplink_resource_t mcplink_resource_t;

/**
 * The right to answer one request, exactly once, from any thread.
 *
 * A handler borrows it until it returns; to answer later, keep it with mcplink_responder_keep. A request that is neither answered nor kept
 * when its handler returns is answered with an internal error, unless the handler has asked the client something.
 */
typedef struct mcplink_responder_t mcplink_responder_t;

/**
 * What a call came to: the result of a request. The caller's to free.
 *
 * It does not change, so that many threads may read it at once; what its functions show is valid as long as it.
 */
typedef struct mcplink_result_t mcplink_result_t;

/**
 * How a server is made. One thread at a time uses it; a server copies it.
 */
typedef struct mcplink_server_options_t mcplink_server_options_t;

/**
 * A server: tools, resources and prompts, served to any number of clients at once. What it has can change meanwhile, and clients are told.
 *
 * Without a pump its handlers run on threads of the library, several at once; with one, where the host dispatches it, one at a time.
 */
typedef struct mcplink_server_t mcplink_server_t;

/**
 * A client that is served.
 */
typedef struct mcplink_session_t mcplink_session_t;

/**
 * Resources whose addresses follow a template (RFC 6570): {var}, {+path}, {/var}, {.ext} and, at the end, {?a,b} are understood. One thread
 * at a time uses it; a server copies it.
 */
typedef struct mcplink_template_t mcplink_template_t;

/**
 * Where a function of the host puts a token or another secret: see mcplink_client_options_set_bearer_hook.
 */
typedef struct mcplink_token_t mcplink_token_t;

/**
 * A tool: something that a model can have done. One thread at a time uses it; a server copies it.
 */
typedef struct mcplink_tool_t mcplink_tool_t;

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
 * MCPLINK_OK, or anything else to end the connection: see mcplink_transport_set_close.
 */
typedef mcplink_status_t (*mcplink_send_fn)(void *user, const char *bytes, size_t len);

/**
 * Tells something of a transport: that nothing more is sent, or that there is room again. On any thread.
 */
typedef void (*mcplink_transport_fn)(void *user);

/**
 * Is told that nobody waits for an answer any more.
 */
typedef void (*mcplink_cancelled_fn)(void *user);

/**
 * Takes what the library has to say to its host: what a peer did wrong, what a handler failed to do.
 *
 * level: one of enum mcplink_log_level. target: which part of the library says it: "protocol", "transport", "server", "client", "http" or "auth"; there may be more later. text: mostly one line. Both are valid until it returns.
 * It is called on any thread, also on several at once, and has to be quick.
 */
typedef void (*mcplink_log_fn)(void *user, int32_t level, mcplink_str_t target, mcplink_str_t text);

/**
 * Has a person log in: has mcplink_login_url opened, and sees to it that mcplink_login_answer is called with where that led, before it returns
 * or, if it keeps the login, later. Runs on a thread of the library's own, also with a pump; it may take its time.
 */
typedef void (*mcplink_visit_fn)(void *user, mcplink_login_t *login);

/**
 * Gives a signed statement (JWT) about this workload for an audience, with mcplink_token_set. audience: the URL of the token endpoint, valid
 * until it returns. Returns: MCPLINK_OK; anything else fails the calls that wait with MCPLINK_E_AUTH. It is asked each time that a token is
 * needed, on a thread of the library's.
 */
typedef mcplink_status_t (*mcplink_statement_fn)(void *user, mcplink_str_t audience, mcplink_token_t *token);

/**
 * Gives the token for one request, with mcplink_token_set, and returns MCPLINK_OK; anything else fails the request with MCPLINK_E_AUTH, and it
 * is not sent. Runs on the thread that sends, several at once, and should not wait for the server.
 */
typedef mcplink_status_t (*mcplink_bearer_fn)(void *user, mcplink_token_t *token);

/**
 * Gives what was saved last under a name, with mcplink_token_set; without that nothing is kept there. name: names no secret; valid until it
 * returns. Returns: MCPLINK_OK; anything else when it can't be read, and the call that needs it fails with MCPLINK_E_AUTH. Runs on threads
 * that make calls and on those that log in, possibly on several at once.
 */
typedef mcplink_status_t (*mcplink_store_load_fn)(void *user, mcplink_str_t name, mcplink_token_t *content);

/**
 * Keeps content in the place of what was kept under a name: whole or not at all. content: JSON text with tokens and keys in it: whoever has it
 * is let in. Both are valid until it returns. Returns: MCPLINK_OK; anything else when it can't be kept: then it holds as long as the process.
 * Where it runs: see mcplink_store_load_fn.
 */
typedef mcplink_status_t (*mcplink_store_save_fn)(void *user, mcplink_str_t name, mcplink_str_t content);

/**
 * Forgets what is kept under a name; one that is not there is no error. Returns: MCPLINK_OK; anything else when it is still there. Where it
 * runs: see mcplink_store_load_fn.
 */
typedef mcplink_status_t (*mcplink_store_remove_fn)(void *user, mcplink_str_t name);

/**
 * Takes something that happened: one of enum mcplink_event, and what is known of it. params is valid until the callback returns; NULL when
 * there is nothing to know. Ignore events that you don't know.
 */
typedef void (*mcplink_event_fn)(void *user, int32_t event, const mcplink_json_t *params);

/**
 * Runs on a thread of the library: first of all that the host has running there, or last.
 *
 * name: the thread's name, such as "mcplink-crew"; valid until it returns.
 * It should be quick. It may set things up for the thread, and must not wait for the client or server whose thread it is.
 */
typedef void (*mcplink_thread_fn)(void *user, mcplink_str_t name);

/**
 * Takes a line that a child wrote to its standard error, without its newline; valid until it returns.
 */
typedef void (*mcplink_line_fn)(void *user, mcplink_str_t line);

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

/**
 * Answers a request, on a server or, for what a server asks, on a client: before it returns, or later, from any thread, if it keeps the
 * responder. Both arguments are borrowed until it returns.
 */
typedef void (*mcplink_handler_fn)(void *user, const mcplink_request_t *request, mcplink_responder_t *responder);

/**
 * Finds out who sends a request: ends with mcplink_http_request_admit or one of the functions that refuse, of which the last one counts; without
 * any the request is refused with status 403. So it is when one of these functions fails and mcplink_http_request_admit is called all the same,
 * before or after: nobody is let in under a condition that could not be taken down. The log says which one.
 */
typedef void (*mcplink_authenticate_fn)(void *user, mcplink_http_request_t *request);

/**
 * Begins a response.
 *
 * head: status and header fields, valid until it returns. length: of the whole body in bytes; -1 for one that comes in pieces, of which nobody
 * knows how many. Returns: MCPLINK_OK, or anything else when the client has gone.
 */
typedef mcplink_status_t (*mcplink_http_begin_fn)(void *user, const mcplink_http_head_t *head, int64_t length);

/**
 * Sends a piece of the body, at once: a client waits for it. bytes: valid until it returns. Returns: MCPLINK_OK, or anything else when the client
 * has gone.
 */
typedef mcplink_status_t (*mcplink_http_write_fn)(void *user, const char *bytes, size_t len);

/**
 * Ends a response, once, whatever came before. complete: whether all of it was there; if not, break the connection off, so that the client
 * sees that something is missing.
 */
typedef void (*mcplink_http_end_fn)(void *user, bool complete);

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
 * Whether this build of the library has a feature. What it lacks returns MCPLINK_E_UNSUPPORTED.
 *
 * feature: "http-client", "http-server", "tls", "auth" (OAuth of clients), "jwt" (signed tokens on servers) or "validation"; "http" for both halves of HTTP.
 * Returns: false for NULL and names that it does not know. Threads: any. Since 0.1.
 */
MCPLINK_API
bool mcplink_has_feature(const char *feature);

/**
 * The revisions of the protocol that this library speaks, the newest first.
 *
 * Returns: a static string that ends in NUL, with blanks in between, for example "2026-07-28 2025-11-25"; never NULL. Threads: any. Since 0.1.
 */
MCPLINK_API
const char *mcplink_revisions(void);

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
 * What went wrong, in one sentence that says what to do, on one line. The last words of a child that died: mcplink_error_peer_stderr.
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
 * The error code of OAuth with which an authorization server refused a login or a token, for example "access_denied" or "invalid_grant".
 *
 * error: NULL for none.
 * Returns: valid as long as the error; empty when there is none. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_error_oauth_code(const mcplink_error_t *error);

/**
 * The last words of a child process: the last lines that it wrote to its standard error after its last answer.
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
 * Frees a pump. Free the clients and servers that use it before: a callback that waits in it is run when its handle is freed. Called within
 * a callback that it runs it returns at once, and mcplink_pump_dispatch goes on to its end.
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
 * Waits until a callback waits to be dispatched, which mcplink_pump_dispatch does then: for programs without a loop of their own.
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
 * Returns: MCPLINK_OK; MCPLINK_E_FORKED in a fork, where it does nothing. Threads: any, and signal handlers too. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_pump_wakeup(mcplink_pump_t *pump);

/**
 * Has a function called whenever the pump is to be dispatched: for loops that take messages instead of descriptors.
 *
 * pump: the pump.
 * callback: called once for each change from nothing waiting to something waiting, and by each dispatch that has left something; it has to be
 * quick, and to have the loop call mcplink_pump_dispatch. It is called on any thread: one of the library's, or one of the host's that is in a
 * function which has a callback wait, such as this one, mcplink_pump_dispatch or mcplink_http_serve. NULL for none.
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
 * The result as a JSON value.
 *
 * result: NULL for none.
 * Returns: a node that is valid as long as the result; NULL for none, and for one of mcplink_client_request that holds what no text or number
 * can be made of, such as half of a character. Other calls fail with MCPLINK_E_PROTOCOL then. Threads: any. Since 0.1.
 */
MCPLINK_API
const mcplink_json_t *mcplink_result_json(const mcplink_result_t *result);

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
 * What of a result does not fit: the entries of a list that were left out, and the parts of a result of a call that are not what the
 * specification says. The rest of the result can be used.
 *
 * Lists don't have what is told here. Results of calls do: they are shown as they came, so that a content block which is told here may lack a
 * member.
 *
 * result: NULL for none.
 * Returns: an array, valid as long as the result, empty when all fits; NULL for no result. Each entry is an object: "index" is the place of the
 * entry in its list, or in its page of a list, from 0, or null; "name" the name or URI of the entry, or null; "path" a JSON Pointer to what does
 * not fit; "reason" says why. At most 1000 are told. Threads: any. Since 0.1.
 */
MCPLINK_API
const mcplink_json_t *mcplink_result_misfits(const mcplink_result_t *result);

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
 * Sets what is told that the connection has ended on this side: nothing more is sent, and nothing read. That is so when its client or session is
 * closed, also behind mcplink_transport_feed_end, and soon after mcplink_send_fn has failed.
 *
 * transport: the transport.
 * callback: called once, by the thread that ends the connection, or by mcplink_transport_free; perhaps while mcplink_send_fn runs on
 * another thread, which should return then. It may free the session or client, the server and the transport. What all functions of the
 * transport use is ended with destroy. NULL for none.
 * Returns: MCPLINK_OK. Threads: any, before the connection is made. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_transport_set_close(mcplink_transport_t *transport,
                                             mcplink_transport_fn callback);

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
 * Says that nothing more comes from the peer. What was fed before is still read; then a client fails the calls that wait, and a session has ended.
 *
 * transport: the transport.
 * reason: what went wrong, for the error of calls that wait; NULL when the peer has just closed the connection.
 * Returns: MCPLINK_OK. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_transport_feed_end(mcplink_transport_t *transport,
                                            const char *reason);

/**
 * Frees a transport, and ends its connection. No function of it runs after this. Called within one of them it returns at once, none of the
 * others begins behind that, and the rest happens when that one returns.
 *
 * transport: NULL is fine. Threads: any. Blocks: until the functions of the transport that run have returned. Since 0.1.
 */
MCPLINK_API void mcplink_transport_free(mcplink_transport_t *transport);

/**
 * The arguments: those of a tool or prompt, the variables of a template in the address of a resource, what is known already of the other
 * arguments in a completion, and the params of a method of one's own.
 *
 * request: NULL for none.
 * Returns: a node that is valid as long as the request; NULL when there are none. Threads: any. Since 0.1.
 */
MCPLINK_API const mcplink_json_t *mcplink_request_args(const mcplink_request_t *request);

/**
 * All params of the request, as they came.
 *
 * request: NULL for none.
 * Returns: a node that is valid as long as the request; NULL when they can't be shown, which is only so for resources: other requests are
 * refused then, and no handler is run. Threads: any. Since 0.1.
 */
MCPLINK_API const mcplink_json_t *mcplink_request_params(const mcplink_request_t *request);

/**
 * What travels beside the params: their member "_meta".
 *
 * request: NULL for none.
 * Returns: a node that is valid as long as the request; NULL when there is none. Threads: any. Since 0.1.
 */
MCPLINK_API const mcplink_json_t *mcplink_request_meta(const mcplink_request_t *request);

/**
 * What is asked for: the name of the tool or prompt, the address of the resource, the name of the argument that is completed.
 *
 * request: NULL for "".
 * Returns: valid as long as the request; empty for other requests. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_request_name(const mcplink_request_t *request);

/**
 * What is typed so far of the argument that is completed.
 *
 * request: NULL for "".
 * Returns: valid as long as the request; empty for other requests. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_request_typed(const mcplink_request_t *request);

/**
 * The method, for example "tools/call".
 *
 * request: NULL for "".
 * Returns: valid as long as the request. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_request_method(const mcplink_request_t *request);

/**
 * A number that tells the connection that a request came on from all others of the server, see mcplink_session_number. Over HTTP, all clients of
 * revisions since 2026-07-28 share one.
 *
 * request: NULL for 0.
 * Returns: at least 1 on a server, 0 on a client. Threads: any. Since 0.1.
 */
MCPLINK_API
uint64_t mcplink_request_session(const mcplink_request_t *request);

/**
 * On whose behalf the client acts: over HTTP, what the host's check of the request said; elsewhere what the session was made with.
 *
 * request: NULL for none.
 * Returns: valid as long as the request; empty when nobody knows. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_request_principal(const mcplink_request_t *request);

/**
 * What was granted to the one on whose behalf the client acts, with what that implies: names of scopes, a blank between two.
 *
 * request: NULL for none.
 * Returns: valid as long as the request; empty when nothing was granted, or nothing is known of scopes. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_request_scopes(const mcplink_request_t *request);

/**
 * Whether a scope was granted to the one on whose behalf the client acts: to do more or less. To refuse, see mcplink_responder_need_scopes.
 *
 * request: NULL for false.
 * scope: its name.
 * Returns: true if so; false also when nothing is known of scopes. Threads: any. Since 0.1.
 */
MCPLINK_API bool mcplink_request_has_scope(const mcplink_request_t *request, const char *scope);

/**
 * Until when what is known of the one on whose behalf the client acts is good: of an access token, when it expires.
 *
 * request: NULL for 0.
 * Returns: seconds since 1970-01-01 UTC; 0 when there is no such time. Threads: any. Since 0.1.
 */
MCPLINK_API int64_t mcplink_request_expiry(const mcplink_request_t *request);

/**
 * In which revision of the protocol the client asks, for example "2026-07-28".
 *
 * request: NULL for none.
 * Returns: valid as long as the request; empty for methods of one's own, and on a client. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_request_revision(const mcplink_request_t *request);

/**
 * Who the client says it is, with "name" and "version": for showing and logging, not for decisions.
 *
 * request: NULL for none.
 * Returns: a node that is valid as long as the request; NULL when it did not say. Threads: any. Since 0.1.
 */
MCPLINK_API const mcplink_json_t *mcplink_request_client_info(const mcplink_request_t *request);

/**
 * What the client can do, for example "elicitation".
 *
 * request: NULL for none.
 * Returns: a node that is valid as long as the request; NULL for methods of one's own, and on a client. Threads: any. Since 0.1.
 */
MCPLINK_API const mcplink_json_t *mcplink_request_capabilities(const mcplink_request_t *request);

/**
 * Keeps the request beyond the end of its handler, to be answered later. It occupies no thread.
 *
 * responder: NULL for NULL.
 * Returns: the same responder, which is the caller's to free now, once for each mcplink_responder_keep; it may outlive the server or
 * client. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_responder_t *mcplink_responder_keep(mcplink_responder_t *responder);

/**
 * Lets go of a responder that was kept. The last one to go answers an unanswered request: with an internal error, or with what was asked.
 * In a fork of the process that kept it this does nothing. See MCPLINK_E_FORKED.
 *
 * responder: NULL is fine; never one that was not kept. Threads: any. Since 0.1.
 */
MCPLINK_API void mcplink_responder_free(mcplink_responder_t *responder);

/**
 * The request that a responder answers.
 *
 * responder: NULL for NULL.
 * Returns: valid as long as the responder. Threads: any. Since 0.1.
 */
MCPLINK_API const mcplink_request_t *mcplink_responder_request(const mcplink_responder_t *responder);

/**
 * Whether nobody waits for the answer any more: the peer cancelled the request, or has gone. Cheap: poll it in long work.
 *
 * responder: NULL for false.
 * Returns: true if so; the handler should return then. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API bool mcplink_responder_is_cancelled(const mcplink_responder_t *responder);

/**
 * Has a function called, once, when the peer cancels the request or goes.
 *
 * responder: the responder.
 * callback: called at once, on this thread, if it is so already; otherwise where the pump is dispatched or, without one, on a thread of the
 * library, where it should be quick. It may still run while the request is being answered. NULL for none.
 * user, destroy: passed to callback, and ended after it, when another function is set, or with the responder.
 * Returns: MCPLINK_OK. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_responder_on_cancel(mcplink_responder_t *responder,
                                             mcplink_cancelled_fn callback,
                                             void *user,
                                             mcplink_destroy_fn destroy);

/**
 * Tells the client how far the call is, if it wants to know.
 *
 * responder: the responder.
 * done: has to grow from call to call. Of a flood only some are sent, the last one always.
 * total: what done will be at the end; 0 when that is not known.
 * message: for people; NULL for none.
 * Returns: MCPLINK_OK, also when the client does not want to know; MCPLINK_E_CANCELLED or MCPLINK_E_CLOSED when nobody waits for the answer any
 * more; MCPLINK_E_STATE after the answer; MCPLINK_E_UNSUPPORTED for methods of one's own, and on a client. Threads: any. Blocks: only while a
 * client does not read. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_responder_progress(mcplink_responder_t *responder,
                                            double done,
                                            double total,
                                            const char *message);

/**
 * Refuses a request unless scopes were granted to the one on whose behalf the client acts: for a handler that finds out what it needs only when
 * it runs. What is known beforehand is said with mcplink_server_require_scopes.
 *
 * Where nothing is known of scopes nothing is refused, except over HTTP, where that is to have none. Ask before anything else: over HTTP the
 * client is told with status 403, which has gone when something was said.
 *
 * responder: the responder.
 * scopes: all that are needed, a blank between two.
 * Returns: MCPLINK_OK when they were granted; MCPLINK_E_AUTH when not: the request was answered with that, so return. MCPLINK_E_INVALID when
 * scopes names none and MCPLINK_E_UNSUPPORTED for methods of one's own and on a client: the request was answered with an internal error.
 * MCPLINK_E_STATE after the answer. Threads: any. Blocks: only while a client
 * does not read. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_responder_need_scopes(mcplink_responder_t *responder,
                                               const char *scopes);

/**
 * Sends the client a log message that belongs to the call, if the server was made with logging and the client wants such messages.
 *
 * responder: the responder.
 * level: one of enum mcplink_log_level.
 * text, len: the message; MCPLINK_NUL measures it. Nothing that the client must not know.
 * Returns: MCPLINK_OK, also when the client does not want it; MCPLINK_E_CANCELLED or MCPLINK_E_CLOSED when nobody waits for the answer any more;
 * MCPLINK_E_STATE after the answer; MCPLINK_E_UNSUPPORTED for methods of one's own, and on a client. Threads: any. Blocks: only while a client
 * does not read. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_responder_log(mcplink_responder_t *responder,
                                       int32_t level,
                                       const char *text,
                                       size_t len);

/**
 * Asks the client something: its user (elicitation/create), its model (sampling/createMessage), or for its roots (roots/list).
 *
 * A handler that asks is run again from its start when the answers are there, and finds them: what it does before its last question is done
 * once a round. To ask several questions in one round, ask them all before returning.
 *
 * responder: the responder, of a call of a tool, resource or prompt.
 * key: names the question among those of the call.
 * method: the method, for example "elicitation/create".
 * params, len: its params as JSON; MCPLINK_NUL measures them. NULL for none.
 * answer: receives the result of the question, valid as long as the responder; NULL while there is none. NULL is fine.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK with the answer; MCPLINK_PENDING when it is not there yet: return without answering. MCPLINK_E_PEER when the client
 * refused to answer, MCPLINK_E_INVALID for a question that must not be asked, MCPLINK_E_STATE after the answer. Threads: any. Blocks: no. Since 0.1.
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
 * Remembers a value for the times that the handler is run again, so that what must happen once does: a payment, an id that was made up.
 *
 * responder: the responder, of a call of a tool, resource or prompt.
 * key: names the value.
 * json, len: the value; MCPLINK_NUL measures it. It may travel by the client, sealed.
 * Returns: MCPLINK_OK, MCPLINK_E_INVALID when it is not JSON, MCPLINK_E_STATE after the answer. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_responder_remember(mcplink_responder_t *responder, const char *key, const char *json, size_t len);

/**
 * What was remembered, in this run of the handler or an earlier one.
 *
 * responder: the responder.
 * key: names the value.
 * Returns: valid as long as the responder; NULL when nothing was remembered under this key, and after the answer. Threads: any. Blocks: no.
 * Since 0.1.
 */
MCPLINK_API const mcplink_json_t *mcplink_responder_recall(const mcplink_responder_t *responder, const char *key);

/**
 * Has the call of a tool become a task here, if the client takes tasks: it gets the task at once, and the handler is run again from its start,
 * as after an answer. To be called behind the questions that have to be answered before.
 *
 * Since 2026-07-28, on a server with mcplink_server_options_set_tasks. Elsewhere, and in a call that is a task already, it does nothing.
 *
 * responder: the responder, of a call of a tool.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK to go on; MCPLINK_PENDING when it becomes a task: return without answering. MCPLINK_E_STATE after the answer. Threads:
 * any. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_responder_become_task(mcplink_responder_t *responder,
                                               mcplink_error_t **err);

/**
 * Ends the HTTP response that the call is being answered with, and has the client come back for the rest of it: in long work, so that no
 * connection is kept open meanwhile. What is sent before it comes back is kept for it, up to mcplink_http_options_set_kept_events.
 *
 * Does nothing where a client can't come back: on other transports, and in revisions other than 2025-11-25.
 *
 * responder: the responder.
 * retry_ms: after how many milliseconds it should come back.
 * Returns: MCPLINK_OK; MCPLINK_E_CLOSED or MCPLINK_E_CANCELLED when nobody waits any more; MCPLINK_E_STATE after the answer;
 * MCPLINK_E_UNSUPPORTED for methods of one's own, and on a client. Threads: any. Blocks: only while a client does not read. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_responder_send_away(mcplink_responder_t *responder, uint32_t retry_ms);

/**
 * Answers with text: what a tool says, what is in a resource (of the MIME type it was added with), a prompt of one message of the user's.
 *
 * All functions that answer return the same: MCPLINK_OK when the answer is on its way; MCPLINK_E_STATE when the request was answered before,
 * MCPLINK_E_CANCELLED or MCPLINK_E_CLOSED when nobody waits any more: nothing is sent then. MCPLINK_E_INVALID for what can't be the answer,
 * and MCPLINK_E_UNSUPPORTED for what such a request can't be answered with: it can still be answered then, and the log hook of the server
 * has the reason. An answer to a handler that has asked the client something is not sent: the handler is run again first.
 *
 * responder: the responder.
 * text, len: the text; MCPLINK_NUL measures it.
 * Returns: see above. Threads: any. Blocks: only while a client does not read. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_responder_text(mcplink_responder_t *responder,
                                        const char *text,
                                        size_t len);

/**
 * Answers with text of a MIME type: what is in a resource.
 *
 * responder: the responder.
 * text, len: the text; MCPLINK_NUL measures it.
 * mime_type: for example "text/markdown"; NULL for that which the resource was added with.
 * Returns: as mcplink_responder_text. Threads: any. Blocks: only while a client does not read. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_responder_typed_text(mcplink_responder_t *responder,
                                              const char *text,
                                              size_t len,
                                              const char *mime_type);

/**
 * Answers with bytes: what is in a resource, or what a tool shows or plays.
 *
 * responder: the responder.
 * data, len: the bytes.
 * mime_type: what they are; NULL for that which the resource was added with. For a tool image/... or audio/...
 * Returns: as mcplink_responder_text. Threads: any. Blocks: only while a client does not read. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_responder_bytes(mcplink_responder_t *responder,
                                         const uint8_t *data,
                                         size_t len,
                                         const char *mime_type);

/**
 * Answers with a whole result, as the protocol writes it: of a tool {"content":[...]}, of a resource {"contents":[...]}, of a prompt
 * {"messages":[...]}, of a completion {"completion":{"values":[...]}}; of a method of one's own, and of what a server asks, anything.
 *
 * responder: the responder.
 * result, len: the result as JSON; MCPLINK_NUL measures it.
 * Returns: as mcplink_responder_text. Threads: any. Blocks: only while a client does not read. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_responder_json(mcplink_responder_t *responder, const char *result, size_t len);

/**
 * Answers for a tool with a structured value, and the same as text for clients that only read that.
 *
 * responder: the responder.
 * json, len: the value, as the output schema of the tool describes it; MCPLINK_NUL measures it.
 * Returns: as mcplink_responder_text. Threads: any. Blocks: only while a client does not read. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_responder_structured(mcplink_responder_t *responder, const char *json, size_t len);

/**
 * Says that the tool ran and failed, in words that the model reads: a wrong argument, a file that is not there.
 *
 * responder: the responder.
 * text, len: what went wrong, and what to do; MCPLINK_NUL measures it.
 * Returns: as mcplink_responder_text. Threads: any. Blocks: only while a client does not read. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_responder_tool_error(mcplink_responder_t *responder, const char *text, size_t len);

/**
 * Answers a completion with values, the best first. Of more than 100 the first 100 are sent.
 *
 * responder: the responder.
 * values, count: the values, texts that end in NUL.
 * fitting: whether those that don't fit what is typed are left out, and the others put in order: beginnings first, then beginnings of
 * words, then any part.
 * Returns: as mcplink_responder_text. Threads: any. Blocks: only while a client does not read. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_responder_values(mcplink_responder_t *responder,
                                          const char *const *values,
                                          size_t count,
                                          bool fitting);

/**
 * Says that there is no such resource, in the way of the client's revision.
 *
 * responder: the responder.
 * Returns: as mcplink_responder_text. Threads: any. Blocks: only while a client does not read. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_responder_not_found(mcplink_responder_t *responder);

/**
 * Answers with an error of the protocol. That a tool failed is better said with mcplink_responder_tool_error, which models read.
 *
 * responder: the responder.
 * code: one of enum mcplink_rpc_code, or one of your own outside -32768 to -32000.
 * message: one sentence.
 * data: more of it, as JSON; NULL for none.
 * Returns: as mcplink_responder_text. Threads: any. Blocks: only while a client does not read. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_responder_fail(mcplink_responder_t *responder, int32_t code, const char *message, const char *data);

/**
 * Has a function called for what the library has to say, by all clients and servers that have none of their own.
 *
 * level: the least severe level that is wanted, one of enum mcplink_log_level.
 * callback: called on any thread, also on several at once; it has to be quick. NULL for none.
 * user, destroy: passed to callback, and ended when another function is set.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_set_log(int32_t level, mcplink_log_fn callback, void *user, mcplink_destroy_fn destroy);

/**
 * Writes who waits for whom: all clients and servers of the process, the requests in hand, the threads that run handlers or wait.
 *
 * fd: where to; it stays the caller's.
 * Returns: MCPLINK_OK, MCPLINK_E_INVALID or MCPLINK_E_IO. Threads: any, but no signal handler. Blocks: while fd takes nothing. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_debug_dump(int fd);

/**
 * Makes settings with the defaults, for mcplink_client_options_set_oauth.
 *
 * Returns: the settings, the caller's to free. Threads: any; one at a time uses them. Since 0.1.
 */
MCPLINK_API mcplink_oauth_t *mcplink_oauth_new(void);

/**
 * Frees settings. Clients and options that were given them keep them. The last of all to go waits for functions of the host's that still run
 * for a login nobody waits for any more: see mcplink_login_is_over.
 *
 * oauth: NULL is fine. Since 0.1.
 */
MCPLINK_API
void mcplink_oauth_free(mcplink_oauth_t *oauth);

/**
 * Adds a client that was registered with an authorization server beforehand. It is used with that server only. Once one is added, no other
 * authorization server is gone to, and no client registers by itself. The first one is what a machine is: see
 * mcplink_oauth_set_client_credentials.
 *
 * oauth: the settings.
 * client: copied; it stays the caller's. One of which a setter was refused is refused.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_add_client(mcplink_oauth_t *oauth, const mcplink_oauth_client_t *client);

/**
 * Says what the client is called where it registers by itself, which authorization servers may let anybody do; people are shown it.
 *
 * oauth: the settings.
 * client_name: "mcplink" without this; NULL for that.
 * page: the URL of a page about the client; NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_set_client_name(mcplink_oauth_t *oauth, const char *client_name, const char *page);

/**
 * Says where the client publishes a document about itself (Client ID Metadata Document), which is its id with authorization servers that read
 * such documents.
 *
 * oauth: the settings.
 * url: https with a path; NULL for none. What is wrong with it is found out when a client is opened.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_oauth_set_client_document(mcplink_oauth_t *oauth,
                                                   const char *url);

/**
 * Says which scopes to ask for. Without this, those that the server says it has. What a server asks for at the time is asked for in any case,
 * and what was asked for before.
 *
 * oauth: the settings.
 * scopes: their names, a blank between two; "" for none. NULL is refused: see mcplink_oauth_use_default_scopes.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_oauth_set_scopes(mcplink_oauth_t *oauth,
                                          const char *scopes);

/**
 * Asks for the scopes that the server says it has, as without mcplink_oauth_set_scopes.
 *
 * oauth: the settings.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_use_default_scopes(mcplink_oauth_t *oauth);

/**
 * Says whether to ask for leave to act while the person is away (offline_access), where the authorization server has that: with it, logins are
 * rarer. Yes without this.
 *
 * oauth: the settings.
 * asks: whether.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_oauth_set_offline_access(mcplink_oauth_t *oauth,
                                                  bool asks);

/**
 * Says whether tokens are bound to a key, which is made when it is needed and kept with the tokens.
 *
 * oauth: the settings.
 * dpop: one of enum mcplink_dpop; MCPLINK_DPOP_WHEN_ASKED without this.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_set_dpop(mcplink_oauth_t *oauth, int32_t dpop);

/**
 * Says how long one request to an authorization server may take: 10 s without this.
 *
 * oauth: the settings.
 * milliseconds: more than an hour is an hour.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_set_step_timeout_ms(mcplink_oauth_t *oauth, uint32_t milliseconds);

/**
 * Says how long a login may take, from the first step to the last: 5 min without this. While a person is asked the time of the calls that wait
 * does not run, up to what mcplink_call_options_set_max_timeout_ms and mcplink_client_options_set_max_timeout_ms say.
 *
 * oauth: the settings.
 * milliseconds: more than a day is a day.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_oauth_set_login_timeout_ms(mcplink_oauth_t *oauth,
                                                    uint32_t milliseconds);

/**
 * Says whether metadata and tokens may be asked for at addresses on this machine and in private networks when the server is elsewhere. No
 * without this: a server could have its clients knock at doors that only they can reach.
 *
 * oauth: the settings.
 * allowed: whether.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_set_private_addresses(mcplink_oauth_t *oauth, bool allowed);

/**
 * Goes to authorization servers through a proxy. Defaults to none, whatever the environment says.
 *
 * oauth: the settings.
 * url: as for mcplink_client_options_set_proxy, "environment" too. NULL is refused: see mcplink_oauth_clear_proxy.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_set_proxy(mcplink_oauth_t *oauth, const char *url);

/**
 * Goes to authorization servers without a proxy, as without mcplink_oauth_set_proxy.
 *
 * oauth: the settings.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_clear_proxy(mcplink_oauth_t *oauth);

/**
 * Trusts the servers over HTTPS whose certificates these authorities issued, and no others: a company's own, for example. Mozilla's list without
 * this. It counts for all that is asked for tokens: metadata, which the MCP server has too, and the tokens themselves. Where the authorization
 * server is not the company's, the text needs the authorities of both, as the bundle of a system has them. What
 * mcplink_client_options_set_root_certificates says counts for requests to the MCP server alone.
 *
 * oauth: the settings.
 * pem, len: PEM text with all of them, one or more; other things in it are skipped. MCPLINK_NUL measures it. It is copied, and has the place of
 * what was set before. NULL and text without anything are refused: see mcplink_oauth_use_default_roots. That there is no certificate in it, or one that can't be read, is found out when a client is
 * opened, with MCPLINK_E_INVALID; in a build without OAuth (feature auth) that fails with MCPLINK_E_UNSUPPORTED.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_oauth_set_root_certificates(mcplink_oauth_t *oauth,
                                                     const char *pem,
                                                     size_t len);

/**
 * Trusts Mozilla's list of authorities, as without mcplink_oauth_set_root_certificates.
 *
 * oauth: the settings.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_use_default_roots(mcplink_oauth_t *oauth);

/**
 * Sets what takes what there is to say about authorizations, instead of what mcplink_set_log was given. No secrets are in it.
 *
 * oauth: the settings.
 * level: the least severe level that is wanted, one of enum mcplink_log_level.
 * callback: NULL for none. Runs on any thread, and has to be quick.
 * user, destroy: passed to callback, and ended when another function is set, or when settings, options and clients that have it are freed.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_oauth_set_log(mcplink_oauth_t *oauth,
                                       int32_t level,
                                       mcplink_log_fn callback,
                                       void *user,
                                       mcplink_destroy_fn destroy);

/**
 * Forgets the tokens for a server, here and where they are kept: the next request to it has to be authorized anew. It does not revoke them.
 *
 * oauth: the settings, which clients may be using.
 * url: the URL of the server, as mcplink_client_options_set_url was given it.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK, when there were none too; MCPLINK_E_INVALID or MCPLINK_E_AUTH when it is no such URL; MCPLINK_E_UNSUPPORTED in a build
 * without OAuth; what the store says. Threads: any, while nobody changes the settings. Blocks: as long as the store. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_oauth_forget(const mcplink_oauth_t *oauth,
                                      const char *url,
                                      mcplink_error_t **err);

/**
 * Has a person log in in a browser; the library listens at 127.0.0.1 for where that leads, while somebody waits for it. This is the default, with
 * 0 and NULL for everything.
 *
 * oauth: the settings.
 * port: to listen at, for clients that were registered with one; 0 for one that is free.
 * program: opens URLs, and is given one as its one argument, without a shell; NULL for what the system has (xdg-open, open), "" for nothing: what
 * callback does is all.
 * page: what the person sees at the end: HTML without scripts. NULL for a sentence.
 * callback: called before the browser is opened, to say what goes on and where to go by hand; a browser that can't be opened is no error then.
 * It does not answer the login. NULL for none.
 * user, destroy: passed to callback, and ended when another way is set, or when settings, options and clients that have it are freed.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID, also when neither a program nor callback tells the person anything. Blocks: no. Since 0.1.
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
 * path: begins with '/', or is empty; without a query. NULL for the default, "/callback". A host
 * or path that can't be used is an error (MCPLINK_E_INVALID) when a client is opened.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_set_redirect(mcplink_oauth_t *oauth, const char *host, const char *path);

/**
 * Has a person log in by a function of the host's: for hosts that have a way of their own to show a page and see where it leads.
 *
 * oauth: the settings.
 * redirect_uri: where the authorization server sends the browser back to: https, or on this machine.
 * callback: see mcplink_visit_fn.
 * user, destroy: passed to callback, and ended when another way is set, or when settings, options and clients that have it are freed.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_oauth_set_visitor(mcplink_oauth_t *oauth,
                                           const char *redirect_uri,
                                           mcplink_visit_fn callback,
                                           void *user,
                                           mcplink_destroy_fn destroy);

/**
 * Has a machine act in its own name: as the first client of mcplink_oauth_add_client, which proves itself by a key or a secret.
 *
 * oauth: the settings.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. That there is no such client is found out when a client is opened. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_set_client_credentials(mcplink_oauth_t *oauth);

/**
 * Has a workload act for which its platform vouches (workload identity).
 *
 * oauth: the settings.
 * client_id: goes along if the authorization server wants one; NULL for none.
 * callback: see mcplink_statement_fn.
 * user, destroy: passed to callback, and ended when another way is set, or when settings, options and clients that have it are freed.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_oauth_set_workload(mcplink_oauth_t *oauth,
                                            const char *client_id,
                                            mcplink_statement_fn callback,
                                            void *user,
                                            mcplink_destroy_fn destroy);

/**
 * Has a user act whose organisation decides what for: its identity provider vouches for the user. The registration of this client with the
 * authorization server of the MCP server is the first client of mcplink_oauth_add_client.
 *
 * oauth: the settings.
 * token_endpoint: the URL of the identity provider's token endpoint.
 * client: the registration of this client with the identity provider; copied, it stays the caller's.
 * subject: what callback gives, one of enum mcplink_subject.
 * callback: gives what the user signed on with, as mcplink_bearer_fn gives tokens; on a thread of the library's, each time that it is needed. The
 * host sees to the signing on, and to state, nonce and PKCE in it.
 * user, destroy: passed to callback, and ended when another way is set, or when settings, options and clients that have it are freed.
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
 * Describes a client as an authorization server knows it.
 *
 * issuer: the issuer identifier of the authorization server, for example "https://login.example". NULL and text without anything are refused: see
 * mcplink_oauth_client_new_for_any.
 * client_id: the id.
 * Returns: the client, the caller's to free; NULL for a bad argument. Threads: any. Since 0.1.
 */
MCPLINK_API
mcplink_oauth_client_t *mcplink_oauth_client_new(const char *issuer,
                                                 const char *client_id);

/**
 * Describes a client for the authorization server that the MCP server names first, which decides then who sees the credentials: where the issuer is
 * known, use mcplink_oauth_client_new.
 *
 * client_id: the id.
 * Returns: the client, the caller's to free; NULL for a bad argument. Threads: any. Since 0.1.
 */
MCPLINK_API
mcplink_oauth_client_t *mcplink_oauth_client_new_for_any(const char *client_id);

/**
 * Has the client prove itself by a secret. It appears in no error and no log, and goes to the token endpoint only.
 *
 * client: the client.
 * secret: NULL and text without anything are refused; a client that proves nothing is one without this. It has the place of a key.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_client_set_secret(mcplink_oauth_client_t *client, const char *secret);

/**
 * Has the client prove itself by a private key (private_key_jwt), which is never sent: better than a secret.
 *
 * client: the client.
 * pem, len: PEM text with the key: PKCS #8 of the kinds P-256, P-384, Ed25519 and RSA, or "RSA PRIVATE KEY". MCPLINK_NUL measures it. It is
 * copied, and never quoted.
 * key_id: as the authorization server knows the key (kid); NULL for none.
 * pss: whether an RSA key signs with PS256 instead of RS256.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when there is no such key in it. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_oauth_client_set_key(mcplink_oauth_client_t *client,
                                              const char *pem,
                                              size_t len,
                                              const char *key_id,
                                              bool pss);

/**
 * Says for whom the proof by a key is (aud). The issuer without this; some authorization servers want the URL of their token endpoint.
 *
 * client: the client.
 * audience: NULL and text without anything are refused.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_client_set_audience(mcplink_oauth_client_t *client, const char *audience);

/**
 * Frees a client. Settings that it was added to keep it.
 *
 * client: NULL is fine. Since 0.1.
 */
MCPLINK_API void mcplink_oauth_client_free(mcplink_oauth_client_t *client);

/**
 * Keeps tokens and registrations in a folder, in files that only their owner may read, for the next time. Processes that share one take turns
 * in renewing. In memory without this and mcplink_oauth_set_store.
 *
 * oauth: the settings.
 * folder: a path. It is made, with mode 0700, when a client is opened; one that belongs to another user, or that others may write into, is an
 * error then. NULL for memory.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_oauth_set_store_folder(mcplink_oauth_t *oauth,
                                                const char *folder);

/**
 * Keeps tokens and registrations where the host wants them, such as the key chain of the system.
 *
 * oauth: the settings.
 * load, save, remove: all three; NULL for all three is memory.
 * user, destroy: passed to them, and ended when others are set, or when settings, options and clients that have them are freed.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when some are there and some not. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_oauth_set_store(mcplink_oauth_t *oauth,
                                         mcplink_store_load_fn load,
                                         mcplink_store_save_fn save,
                                         mcplink_store_remove_fn remove,
                                         void *user,
                                         mcplink_destroy_fn destroy);

/**
 * The URL to open in a browser: https, or on this machine. Give it to a browser as it is, never through a shell.
 *
 * login: NULL for "".
 * Returns: valid as long as the login. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_login_url(const mcplink_login_t *login);

/**
 * The server that wants the login, without its query.
 *
 * login: NULL for "".
 * Returns: valid as long as the login. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_login_server(const mcplink_login_t *login);

/**
 * Scheme, host and port of the authorization server that asks the person: what to show before a browser is opened.
 *
 * login: NULL for "".
 * Returns: valid as long as the login. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_login_authorization_server(const mcplink_login_t *login);

/**
 * What the person is asked to allow: names of scopes, a blank between two.
 *
 * login: NULL for "".
 * Returns: valid as long as the login. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_login_scopes(const mcplink_login_t *login);

/**
 * Whether nobody waits any more, as all calls that need the login were cancelled or closed, its time is up, or it was answered: what is
 * shown can be taken away. Cheap: poll it in a function that asks by itself, and return when it is so.
 *
 * login: NULL for false.
 * Returns: true if so. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API bool mcplink_login_is_over(const mcplink_login_t *login);

/**
 * Has a function called, once, when the login is over: see mcplink_login_is_over.
 *
 * login: the login.
 * callback: called at once, on this thread, if it is so already; otherwise on a thread of the library or one that ends a call, where it has to
 * be quick. NULL for none.
 * user, destroy: passed to callback, and ended after it, when another function is set, or with the login.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: any. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_login_on_over(mcplink_login_t *login,
                                       mcplink_cancelled_fn callback,
                                       void *user,
                                       mcplink_destroy_fn destroy);

/**
 * Answers a login with the URL that the authorization server sent the browser to, whole, with its query. Whatever else a browser came to may be
 * passed too: it is told from the answer.
 *
 * login: the login.
 * url, len: the URL; MCPLINK_NUL measures it.
 * Returns: MCPLINK_OK; MCPLINK_E_INVALID when it is not the answer to this login, which goes on; MCPLINK_E_STATE when it is over or was answered,
 * or when the library listens for the answer by itself. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_login_answer(mcplink_login_t *login,
                                      const char *url,
                                      size_t len);

/**
 * Gives a login up: the person would not, or nobody can be asked. The calls that wait for it fail with MCPLINK_E_AUTH.
 *
 * login: the login.
 * why: goes into the text of their error; NULL for nothing in particular.
 * Returns: MCPLINK_OK; MCPLINK_E_INVALID; MCPLINK_E_STATE when it is over or was answered, or when the library listens for the answer by itself.
 * Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_login_refuse(mcplink_login_t *login,
                                      const char *why);

/**
 * Keeps a login beyond the end of the function that got it, to be answered later. It occupies no thread of the host's.
 *
 * login: NULL for NULL.
 * Returns: the same login, which is the caller's to free now, once for each mcplink_login_keep; it may outlive the client. Threads: any.
 * Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_login_t *mcplink_login_keep(mcplink_login_t *login);

/**
 * Lets go of a login that was kept. The last one to go gives up what was not answered. In a fork of the process that kept it this does
 * nothing. See MCPLINK_E_FORKED.
 *
 * login: NULL is fine; never one that was not kept. Threads: any. Since 0.1.
 */
MCPLINK_API void mcplink_login_free(mcplink_login_t *login);

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
 * Lets servers answer calls of tools with tasks, which are followed to their results by themselves. Declares the extension for it. Defaults to no.
 *
 * options: the options.
 * takes: whether.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_tasks(mcplink_client_options_t *options,
                                                  bool takes);

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
 * Sets what takes what the library has to say to its host about this client, instead of what mcplink_set_log was given.
 *
 * options: the options.
 * level: the least severe level that is wanted, one of enum mcplink_log_level.
 * callback: NULL for none. Runs on any thread, also with a pump, and has to be quick.
 * user, destroy: passed to callback, and ended when another function is set, or when options and clients that have it are freed.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_log(mcplink_client_options_t *options,
                                                int32_t level,
                                                mcplink_log_fn callback,
                                                void *user,
                                                mcplink_destroy_fn destroy);

/**
 * Gives a token, or another secret, from a function of the host that was asked for one: see mcplink_client_options_set_bearer_hook.
 *
 * token: what the function was given; valid until it returns.
 * text, len: the token, copied; MCPLINK_NUL measures it.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: that of the function. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_token_set(mcplink_token_t *token, const char *text, size_t len);

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
 * Says how long lists may be that are read. Defaults to 10 000 pages and 100 000 items. Longer ones fail with MCPLINK_E_LIMIT.
 *
 * options: the options.
 * pages, items: how many at most.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_max_list(mcplink_client_options_t *options, size_t pages, size_t items);

/**
 * Says whether answers of the server that differ from the letter of the specification are refused. Defaults to no: what can mean one thing
 * only is understood, and what does not fit into a list is left out of it (mcplink_result_misfits).
 *
 * A question of the server (elicitation, sampling, roots) that differs reaches no callback then: its request is refused, or the call that it
 * belongs to fails. docs/compatibility.md lists what is understood.
 *
 * options: the options.
 * strict: whether such calls fail, with MCPLINK_E_PROTOCOL.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_strict(mcplink_client_options_t *options,
                                                   bool strict);

/**
 * Says whether calls are sent that need a capability which the server did not declare. Defaults to no: they fail at once, with
 * MCPLINK_E_UNSUPPORTED. Some servers declare nothing, and have tools all the same.
 *
 * options: the options.
 * assume: whether they are sent.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_assume_capabilities(mcplink_client_options_t *options, bool assume);

/**
 * Says from when on a function of the host that answers the server runs long, which is told to the log. Defaults to 30 s.
 *
 * options: the options.
 * milliseconds: MCPLINK_FOREVER for never.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_slow_handler_ms(mcplink_client_options_t *options, uint32_t milliseconds);

/**
 * Switches off that structured results of tools are checked against the schemas that were listed. Only a library with the feature
 * "validation" checks them.
 *
 * options: the options.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_clear_validation(mcplink_client_options_t *options);

/**
 * Says how much stack threads of the client have that may run code of the host. Defaults to 8 MiB. It is reserved, not used, until something is
 * put there.
 *
 * options: the options.
 * bytes: 262144 (256 KiB) to 1073741824 (1 GiB); the system rounds it up to whole pages. What it has no room for is found out when a thread starts.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID for another size. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_thread_stack_size(mcplink_client_options_t *options,
                                                              size_t bytes);

/**
 * Says what the names of the threads of the client begin with. Defaults to "mcplink". A dash and the role of the thread follow, such as
 * "mcplink-crew"; Linux shows 15 bytes in all.
 *
 * options: the options.
 * prefix: 1 to 15 bytes, without control characters.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID for another prefix. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_thread_prefix(mcplink_client_options_t *options, const char *prefix);

/**
 * Sets what runs first and last on each thread that the library starts for the client, on that thread: as a virtual machine needs it that
 * has to know the threads which enter it, or a profiler.
 *
 * Where start was called, stop is called before the thread ends. When mcplink_client_free has returned, all threads have ended but for those
 * whose callback does not return; called in a callback of the client, it ends them behind that. A thread that connects or logs in may be
 * on its way out for a moment longer, where that can't be interrupted.
 *
 * Threads with these callbacks have the stack of those that run code of the host. Threads of the host itself, such as those that dispatch a
 * pump, are not told of.
 *
 * options: the options.
 * start: called before any other callback on the thread; NULL for none.
 * stop: called behind all others; NULL for none.
 * user, destroy: passed to both; ended when others are set, or when the options, all clients made with them and what was kept of those have
 * been freed, and their threads have ended.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_on_thread(mcplink_client_options_t *options,
                                                  mcplink_thread_fn start,
                                                  mcplink_thread_fn stop,
                                                  void *user,
                                                  mcplink_destroy_fn destroy);

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
 * Sets an environment variable of the child, beside those that it inherits: see mcplink_client_options_inherit_env.
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
 * Passes an environment variable of this process on to the child, as it is when the child is started. One that is not set then is left out.
 *
 * options: the options.
 * variable: its name.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_pass_env(mcplink_client_options_t *options, const char *variable);

/**
 * Has the child inherit every environment variable of this process. Defaults to the usual ones only: HOME, LANG, LC_*, LOGNAME, PATH, SHELL,
 * TERM, TMPDIR and USER. The others may be secrets of this process, such as keys. Takes the place of mcplink_client_options_clear_env.
 *
 * options: the options.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_inherit_env(mcplink_client_options_t *options);

/**
 * Has the system kill the child (SIGKILL) when this process ends, however it ends: a host that is killed leaves no child then. Defaults to
 * no: the child finds the end of its standard input, and may go on all the same.
 *
 * Only the child is killed; what it has started finds the end of its standard input. The system binds the child to the thread that starts
 * it, so a thread of the client does that, and stays until the child has ended. Linux only: elsewhere opening fails with
 * MCPLINK_E_UNSUPPORTED.
 *
 * options: the options.
 * dies: whether.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_die_with_parent(mcplink_client_options_t *options, bool dies);

/**
 * Has the child inherit no environment variable; those that are set or passed on, before or after, it gets. Takes the place of
 * mcplink_client_options_inherit_env.
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
 * milliseconds: more than an hour is an hour.
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
 * Sends a token with every request over HTTP (Authorization: Bearer). It appears in no error and no log. It takes the place of
 * mcplink_client_options_set_bearer_hook and mcplink_client_options_set_oauth.
 *
 * options: the options.
 * token: NULL and text without anything are refused: see mcplink_client_options_clear_authorization.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_bearer(mcplink_client_options_t *options, const char *token);

/**
 * Asks for a token before every request over HTTP, instead of one that stays the same. It takes the place of mcplink_client_options_set_bearer
 * and mcplink_client_options_set_oauth.
 *
 * options: the options.
 * callback: see mcplink_bearer_fn. NULL is refused: see mcplink_client_options_clear_authorization.
 * user, destroy: passed to callback, and ended when another one is set, when it is refused or cleared, or when options and clients that have it
 * are freed.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_bearer_hook(mcplink_client_options_t *options,
                                                        mcplink_bearer_fn callback,
                                                        void *user,
                                                        mcplink_destroy_fn destroy);

/**
 * Comes by tokens for a server over HTTP as OAuth has it, and keeps them good. It takes the place of a token or of a function that gives one.
 *
 * A call that needs a login waits for it, mcplink_client_open too; see mcplink_oauth_set_login_timeout_ms. Calls that need the same wait for one
 * login, each can be cancelled, and when nobody waits any more the login is over. What went wrong is MCPLINK_E_AUTH, with the text saying at
 * which step, with whom and why, and mcplink_error_oauth_code what the authorization server said.
 *
 * options: the options.
 * oauth: the settings, which may be given to any number of options: clients with the same share tokens. They stay the caller's. NULL, and
 * settings of which a setter was refused, are refused: see mcplink_client_options_clear_authorization. What else is wrong with them is found out
 * when the client is opened, which fails with MCPLINK_E_UNSUPPORTED in a build without OAuth.
 * Returns: MCPLINK_OK, MCPLINK_E_INVALID, or what the setter was refused with. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_oauth(mcplink_client_options_t *options,
                                                  const mcplink_oauth_t *oauth);

/**
 * Sends no tokens, as without mcplink_client_options_set_bearer, mcplink_client_options_set_bearer_hook and mcplink_client_options_set_oauth: what
 * they were given is taken away.
 *
 * options: the options.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_clear_authorization(mcplink_client_options_t *options);

/**
 * Goes through a proxy. Defaults to none, whatever the environment says.
 *
 * options: the options.
 * url: http://, https://, socks4://, socks4a://, socks5:// or socks5h:// with host and port;
 * "environment" for the proxy that the environment names. NULL is refused: see
 * mcplink_client_options_clear_proxy. With socks4 and socks5
 * the server's name is looked up here, with the others by the proxy. In the environment HTTP_PROXY
 * holds for http, HTTPS_PROXY for https, ALL_PROXY for either; NO_PROXY lists the hosts, domains
 * and networks that are reached without. Names in lower case go first. What can't be read fails
 * the opening of the client with MCPLINK_E_INVALID.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_proxy(mcplink_client_options_t *options, const char *url);

/**
 * Goes through no proxy, as without mcplink_client_options_set_proxy.
 *
 * options: the options.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_clear_proxy(mcplink_client_options_t *options);

/**
 * Trusts the servers over HTTPS whose certificates these authorities issued, and no others: a company's own, for example. Mozilla's list without
 * this. Authorization servers are often somebody else's: they are trusted by mcplink_oauth_set_root_certificates, not by this.
 *
 * options: the options.
 * pem, len: PEM text with all of them, one or more; other things in it are skipped. MCPLINK_NUL measures it. It is copied, and has the place of
 * what was set before. NULL and text without anything are refused: see mcplink_client_options_use_default_roots. That there is no certificate in it, or one that can't be read, is found out when the client is
 * opened, with MCPLINK_E_INVALID; in a build without HTTPS (feature tls) that fails with MCPLINK_E_UNSUPPORTED.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_root_certificates(mcplink_client_options_t *options,
                                                              const char *pem,
                                                              size_t len);

/**
 * Trusts Mozilla's list of authorities, as without mcplink_client_options_set_root_certificates.
 *
 * options: the options.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_use_default_roots(mcplink_client_options_t *options);

/**
 * Follows redirects over HTTP to the same origin that keep the method (307, 308), at most five in
 * a row. Defaults to yes. One to another origin is an error that names it, always.
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
 * Returns: MCPLINK_OK, when it was closed before too; MCPLINK_E_TIMEOUT when it is still being closed, which goes on, and at once in the function
 * that its transport is told of the end with. Threads: any, in callbacks too. Blocks: for that long. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_close(mcplink_client_t *client,
                                      uint32_t timeout_ms,
                                      mcplink_error_t **err);

/**
 * Closes a client and frees it. Started calls get their outcome before this returns, and no callback of the client runs after it. Within a callback
 * of the client it returns at once, and the rest happens when that returns.
 *
 * In a fork of the process that made it this does nothing: its memory and its descriptors, which are close-on-exec, stay until the process ends
 * or becomes another program. See MCPLINK_E_FORKED.
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
 * Returns: one of enum mcplink_connection_state. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API int32_t mcplink_client_state(const mcplink_client_t *client);

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
MCPLINK_API int32_t mcplink_client_era(const mcplink_client_t *client);

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
 * level: the least severe one, of enum mcplink_log_level.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_call_options_set_log_level(mcplink_call_options_t *options,
                                                    int32_t level);

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
 * of: one of enum mcplink_completion_of.
 * target: the name of the prompt, or the URI template.
 * argument: which argument.
 * typed: what is typed so far; "" for nothing.
 * known, len: the other arguments that are known, a JSON object of strings; NULL for none. MCPLINK_NUL measures it.
 * options, out, err: as mcplink_client_call_tool. The result is {"completion":{"values":[...]}}.
 * Returns: as mcplink_client_call_tool. Threads: any. Blocks: until there is an outcome. Since 0.1.
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
 * Starts to ask how an argument can be completed: as mcplink_client_complete, without waiting.
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
 * level: as there.
 * options, err: as mcplink_client_call_tool.
 * Returns: MCPLINK_OK; MCPLINK_E_UNSUPPORTED for a modern server, and for one that does not log; else as mcplink_client_call_tool. Threads: any.
 * Blocks: until there is an outcome. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_set_log_level(mcplink_client_t *client,
                                              int32_t level,
                                              const mcplink_call_options_t *options,
                                              mcplink_error_t **err);

/**
 * Has changes of lists told as events, MCPLINK_EVENT_TOOLS_CHANGED and its like, from now on: in place of what was asked for before. It means
 * the same in both eras. With mcplink_client_options_set_restart it is asked anew of each server.
 *
 * client: the client.
 * filter, len: a JSON object of what is wanted: {"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,
 * "resourceSubscriptions":["uri"],"taskIds":["id"]}; MCPLINK_NUL measures it. NULL, or an object without any of them, for none. Of tasks
 * MCPLINK_EVENT_TASK_CHANGED tells how far they are, at once and with each step: since 2026-07-28, to clients that take tasks.
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
 * Sets what answers questions to the user that a form can ask (elicitation/create), and declares that the client does.
 *
 * The request's params are {"message":"...","requestedSchema":{...}}. Answer with mcplink_responder_json: {"action":"accept","content":{...}},
 * {"action":"decline"} or {"action":"cancel"}; a failure is taken for the last. The responder may be kept, and answered when the user has: no deadline
 * of the call runs meanwhile.
 *
 * All functions that answer a server are alike in this: during a blocking call of a modern server callback runs on the thread that calls; else
 * where the callbacks of the client run, one at a time, and a blocking call on that thread serves them while it waits. A question that is taken
 * back, or whose client is closed, is not waited for: see mcplink_responder_on_cancel.
 *
 * options: the options.
 * callback: NULL for none.
 * user, destroy: passed to callback, and ended when another one is set, or when options and clients that have it are freed.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_on_elicit(mcplink_client_options_t *options,
                                                  mcplink_handler_fn callback,
                                                  void *user,
                                                  mcplink_destroy_fn destroy);

/**
 * Sets what shows pages that the server wants the user to see (elicitation/create with a URL), and declares that the client does.
 *
 * The request's params are {"mode":"url","message":"...","url":"...","elicitationId":"..."}. The library opens nothing: show the whole URL, ask, and
 * open it in a browser. Answer as in mcplink_client_options_on_elicit, without content: accepting means that the user agreed to open the page.
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
 * Lets the server use the client's model (sampling/createMessage), and declares that the client does.
 *
 * The request's params are {"messages":[...],"maxTokens":100,...}. Answer with mcplink_responder_json:
 * {"role":"assistant","content":{"type":"text","text":"..."},"model":"..."}, or refuse with mcplink_responder_fail, for example with
 * MCPLINK_RPC_USER_REJECTED.
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
 * Says what the function of mcplink_client_options_on_sample can do beyond the plain thing, and declares it. Defaults to nothing.
 *
 * options: the options.
 * tools: whether the model may use tools that the server names.
 * context: whether the context that a server wishes (includeContext) is added.
 * Returns: MCPLINK_OK. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_sampling(mcplink_client_options_t *options, bool tools, bool context);

/**
 * Tells the server which places it may work in (roots/list), and declares that the client does.
 *
 * The request has no params. Answer with mcplink_responder_json: {"roots":[{"uri":"file:///home/ada/project","name":"..."}]}. When the places
 * change, see mcplink_client_roots_changed.
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
 * Sets what answers requests of one method that a server of the legacy era sends, for extensions of the protocol.
 *
 * options: the options.
 * request: the method.
 * callback, user, destroy: as mcplink_client_options_on_elicit. It answers with any JSON, or fails.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_on_request(mcplink_client_options_t *options,
                                                   const char *request,
                                                   mcplink_handler_fn callback,
                                                   void *user,
                                                   mcplink_destroy_fn destroy);

/**
 * Describes a tool.
 *
 * name: its name, for programs: letters, digits, "_", "-" and ".".
 * description: what it does, for models; NULL for none.
 * Returns: the definition, the caller's to free; NULL for a bad argument, which the functions that take it refuse in turn. Threads: any. Since 0.1.
 */
MCPLINK_API
mcplink_tool_t *mcplink_tool_new(const char *name,
                                 const char *description);

/**
 * Adds an argument: the input schema of the tool is made of all that are added.
 *
 * A build with "validation" (mcplink_has_feature) refuses calls whose arguments don't fit before the callback runs; with others the callback may be
 * called without an argument that is required, or with one of another type.
 *
 * tool: the tool.
 * param: the name of the argument.
 * kind: one of enum mcplink_param_type.
 * flags: MCPLINK_PARAM_REQUIRED or MCPLINK_PARAM_OPTIONAL.
 * description: what it is, for models; NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID, also when there is one of this name already. Threads: one at a time. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_tool_add_param(mcplink_tool_t *tool,
                                        const char *param,
                                        int32_t kind,
                                        uint32_t flags,
                                        const char *description);

/**
 * Adds an argument that more has to be said of: choices, bounds, items.
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
 * Sets the whole input schema: a JSON Schema of an object, carried as it is. It replaces what mcplink_tool_add_param has made, and is replaced
 * by the next one that is added. One without "properties" is listed with an empty object for it, which some models need.
 *
 * tool: the tool.
 * schema, len: the schema; MCPLINK_NUL measures it.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_tool_set_input_schema(mcplink_tool_t *tool,
                                               const char *schema,
                                               size_t len);

/**
 * Sets the output schema: what mcplink_responder_structured gives has to fit it.
 *
 * tool: the tool.
 * schema, len: a JSON Schema, carried as it is; MCPLINK_NUL measures it. NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_tool_set_output_schema(mcplink_tool_t *tool, const char *schema, size_t len);

/**
 * Says what the tool does to the world.
 *
 * tool: the tool.
 * hint: one of enum mcplink_tool_hint.
 * is_so: whether it is so.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_tool_set_annotation(mcplink_tool_t *tool, int32_t hint, bool is_so);

/**
 * Says whether calls may become tasks, on a server with mcplink_server_options_set_tasks.
 *
 * tool: the tool.
 * support: one of enum mcplink_task_support. Forbidden without it.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_tool_set_task_support(mcplink_tool_t *tool, int32_t support);

/**
 * Sets what people see as its name.
 *
 * tool: the tool.
 * title: NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_tool_set_title(mcplink_tool_t *tool, const char *title);

/**
 * Sets its icons: an array of objects with "src".
 *
 * tool: the tool.
 * icons, len: as JSON; MCPLINK_NUL measures it. NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when it is not what the protocol has there. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_tool_set_icons(mcplink_tool_t *tool, const char *icons, size_t len);

/**
 * Sets what travels beside it: an object.
 *
 * tool: the tool.
 * meta, len: as JSON; MCPLINK_NUL measures it. NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when it is not what the protocol has there. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_tool_set_meta(mcplink_tool_t *tool, const char *meta, size_t len);

/**
 * Frees the description of a tool. Servers that have it keep it.
 *
 * tool: NULL is fine. Since 0.1.
 */
MCPLINK_API void mcplink_tool_free(mcplink_tool_t *tool);

/**
 * Describes a resource.
 *
 * uri: its address (RFC 3986), with a scheme that says what kind of thing it is, one of your own if there is none.
 * name: its name, for programs.
 * Returns: the definition, the caller's to free; NULL for a bad argument, which the functions that take it refuse in turn. Threads: any. Since 0.1.
 */
MCPLINK_API
mcplink_resource_t *mcplink_resource_new(const char *uri,
                                         const char *name);

/**
 * Sets what people see as its name.
 *
 * resource: the resource.
 * title: NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_resource_set_title(mcplink_resource_t *resource, const char *title);

/**
 * Says what is in it, for models.
 *
 * resource: the resource.
 * description: NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_resource_set_description(mcplink_resource_t *resource, const char *description);

/**
 * Says what kind of data it is: what is answered without a MIME type has this one.
 *
 * resource: the resource.
 * mime_type: NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_resource_set_mime_type(mcplink_resource_t *resource, const char *mime_type);

/**
 * Says how many bytes it has.
 *
 * resource: the resource.
 * size: in bytes, without any coding.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_resource_set_size(mcplink_resource_t *resource, uint64_t size);

/**
 * Says for whom it is and how important: an object with "audience", "priority", "lastModified".
 *
 * resource: the resource.
 * annotations, len: as JSON; MCPLINK_NUL measures it. NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when it is not what the protocol has there. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_resource_set_annotations(mcplink_resource_t *resource, const char *annotations, size_t len);

/**
 * Sets its icons: an array of objects with "src".
 *
 * resource: the resource.
 * icons, len: as JSON; MCPLINK_NUL measures it. NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when it is not what the protocol has there. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_resource_set_icons(mcplink_resource_t *resource, const char *icons, size_t len);

/**
 * Sets what travels beside it: an object.
 *
 * resource: the resource.
 * meta, len: as JSON; MCPLINK_NUL measures it. NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when it is not what the protocol has there. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_resource_set_meta(mcplink_resource_t *resource, const char *meta, size_t len);

/**
 * Frees the description of a resource. Servers that have it keep it.
 *
 * resource: NULL is fine. Since 0.1.
 */
MCPLINK_API void mcplink_resource_free(mcplink_resource_t *resource);

/**
 * Describes resources whose addresses follow a template.
 *
 * uri_template: the template, for example "users://{id}".
 * name: the name of such a resource, for programs.
 * Returns: the definition, the caller's to free; NULL for a bad argument, which the functions that take it refuse in turn. Threads: any. Since 0.1.
 */
MCPLINK_API
mcplink_template_t *mcplink_template_new(const char *uri_template,
                                         const char *name);

/**
 * Sets what people see as its name.
 *
 * template: the template of resources.
 * title: NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_template_set_title(mcplink_template_t *template_, const char *title);

/**
 * Says what is in it, for models.
 *
 * template: the template of resources.
 * description: NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_template_set_description(mcplink_template_t *template_, const char *description);

/**
 * Says what kind of data it is: what is answered without a MIME type has this one.
 *
 * template: the template of resources.
 * mime_type: NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_template_set_mime_type(mcplink_template_t *template_, const char *mime_type);

/**
 * Says for whom it is and how important: an object with "audience", "priority", "lastModified".
 *
 * template: the template of resources.
 * annotations, len: as JSON; MCPLINK_NUL measures it. NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when it is not what the protocol has there. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_template_set_annotations(mcplink_template_t *template_, const char *annotations, size_t len);

/**
 * Sets its icons: an array of objects with "src".
 *
 * template: the template of resources.
 * icons, len: as JSON; MCPLINK_NUL measures it. NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when it is not what the protocol has there. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_template_set_icons(mcplink_template_t *template_, const char *icons, size_t len);

/**
 * Sets what travels beside it: an object.
 *
 * template: the template of resources.
 * meta, len: as JSON; MCPLINK_NUL measures it. NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when it is not what the protocol has there. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_template_set_meta(mcplink_template_t *template_, const char *meta, size_t len);

/**
 * Frees the description of a template of resources. Servers that have it keep it.
 *
 * template: NULL is fine. Since 0.1.
 */
MCPLINK_API void mcplink_template_free(mcplink_template_t *template_);

/**
 * Describes a prompt.
 *
 * name: its name, for programs.
 * description: what it is for; NULL for none.
 * Returns: the definition, the caller's to free; NULL for a bad argument, which the functions that take it refuse in turn. Threads: any. Since 0.1.
 */
MCPLINK_API
mcplink_prompt_t *mcplink_prompt_new(const char *name,
                                     const char *description);

/**
 * Adds an argument, which is always text. A prompt without any takes any.
 *
 * prompt: the prompt.
 * argument: its name.
 * flags: MCPLINK_PARAM_REQUIRED or MCPLINK_PARAM_OPTIONAL.
 * description: what it is; NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_prompt_add_argument(mcplink_prompt_t *prompt,
                                             const char *argument,
                                             uint32_t flags,
                                             const char *description);

/**
 * Sets what people see as its name.
 *
 * prompt: the prompt.
 * title: NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_prompt_set_title(mcplink_prompt_t *prompt, const char *title);

/**
 * Sets its icons: an array of objects with "src".
 *
 * prompt: the prompt.
 * icons, len: as JSON; MCPLINK_NUL measures it. NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when it is not what the protocol has there. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_prompt_set_icons(mcplink_prompt_t *prompt, const char *icons, size_t len);

/**
 * Sets what travels beside it: an object.
 *
 * prompt: the prompt.
 * meta, len: as JSON; MCPLINK_NUL measures it. NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when it is not what the protocol has there. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_prompt_set_meta(mcplink_prompt_t *prompt, const char *meta, size_t len);

/**
 * Frees the description of a prompt. Servers that have it keep it.
 *
 * prompt: NULL is fine. Since 0.1.
 */
MCPLINK_API void mcplink_prompt_free(mcplink_prompt_t *prompt);

/**
 * Describes a server by its name and version. All settings have defaults that suit most servers.
 *
 * name: the name, for programs.
 * version: its version.
 * Returns: the settings, the caller's to free; NULL for a bad argument, which the functions that take it refuse in turn. Threads: any. Since 0.1.
 */
MCPLINK_API
mcplink_server_options_t *mcplink_server_options_new(const char *name,
                                                     const char *version);

/**
 * Frees settings. Servers that were made with them keep theirs.
 *
 * options: NULL is fine. Since 0.1.
 */
MCPLINK_API void mcplink_server_options_free(mcplink_server_options_t *options);

/**
 * Says how to use the server, for models.
 *
 * options: the settings.
 * instructions: NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_instructions(mcplink_server_options_t *options, const char *instructions);

/**
 * Sets what people see as its name.
 *
 * options: the settings.
 * title: NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_title(mcplink_server_options_t *options, const char *title);

/**
 * Says what it is for.
 *
 * options: the settings.
 * description: NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_description(mcplink_server_options_t *options, const char *description);

/**
 * Sets the address of its home page.
 *
 * options: the settings.
 * website: NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_website(mcplink_server_options_t *options, const char *website);

/**
 * Sets its icons.
 *
 * options: the settings.
 * icons, len: a JSON array of objects with "src"; MCPLINK_NUL measures it. NULL for none.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_icons(mcplink_server_options_t *options, const char *icons, size_t len);

/**
 * Sets the revisions of the protocol that are served: all of them without this.
 *
 * options: the settings.
 * revisions: for example "2025-11-25 2026-07-28"; NULL for all.
 * Returns: MCPLINK_OK, MCPLINK_E_INVALID, or MCPLINK_E_UNSUPPORTED for one that this library does not know. Threads: one at a time. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_options_set_revisions(mcplink_server_options_t *options,
                                                      const char *revisions);

/**
 * Has all callbacks of the server run where the host dispatches a pump.
 *
 * options: the settings.
 * pump: the pump, which has to outlive the server; NULL for threads of the library.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_pump(mcplink_server_options_t *options, mcplink_pump_t *pump);

/**
 * Has a function called for what the library has to say of the server, instead of that of mcplink_set_log.
 *
 * options: the settings.
 * level: the least severe level that is wanted, one of enum mcplink_log_level.
 * callback: called on any thread, also with a pump; it has to be quick. NULL for none.
 * user, destroy: passed to callback; ended when another function is set, or when the settings and all servers made with them have ended.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_options_set_log(mcplink_server_options_t *options,
                                                int32_t level,
                                                mcplink_log_fn callback,
                                                void *user,
                                                mcplink_destroy_fn destroy);

/**
 * Handles requests of a method of one's own. Methods that the protocol defines stay the library's.
 *
 * What mcplink_responder_json gives is sent as it is: since 2026-07-28 a result has to bring its "resultType" along.
 *
 * options: the settings.
 * method: the method, for example "com.example/reindex". A handler that it had before is replaced.
 * callback: answers; see mcplink_handler_fn. It runs where other handlers do.
 * user, destroy: passed to callback; ended when it is replaced, or when the settings and all servers made with them have ended.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_options_on_method(mcplink_server_options_t *options,
                                                  const char *method,
                                                  mcplink_handler_fn callback,
                                                  void *user,
                                                  mcplink_destroy_fn destroy);

/**
 * Sets an upper bound of each connection.
 *
 * options: the settings.
 * which: one of enum mcplink_limit.
 * bound: the most there may be.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_limit(mcplink_server_options_t *options, int32_t which, size_t bound);

/**
 * Sets how many handlers may run at once on threads of the library: 64 without this. The same as MCPLINK_LIMIT_WORKERS.
 *
 * options: the settings.
 * workers: at least 1.
 * Returns: MCPLINK_OK. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_workers(mcplink_server_options_t *options, size_t workers);

/**
 * Sets how many items each page of a list has.
 *
 * options: the settings.
 * items: 0 for all of them on one page, as it is without this.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_page_size(mcplink_server_options_t *options, size_t items);

/**
 * Sets how long calls in hand may go on when a client has gone: 5 seconds without this.
 *
 * options: the settings.
 * drain_ms: in milliseconds.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_drain_ms(mcplink_server_options_t *options, uint32_t drain_ms);

/**
 * Sets from when on a handler runs long, which the log hook is told: 30 seconds without this.
 *
 * options: the settings.
 * slow_handler_ms: in milliseconds.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_slow_handler_ms(mcplink_server_options_t *options, uint32_t slow_handler_ms);

/**
 * Has clients of revisions before 2026-07-28 pinged that have said nothing for a while; who does not answer three times is given up.
 *
 * options: the settings.
 * interval_ms: after so many milliseconds of silence; 0 for no pings, as it is without this.
 * timeout_ms: how long a client may take to answer, in milliseconds.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_options_set_keep_alive_ms(mcplink_server_options_t *options,
                                                          uint32_t interval_ms,
                                                          uint32_t timeout_ms);

/**
 * Adds a key that seals what calls know between their rounds: the first one seals, all of them open. Replicas that serve the same clients need the same keys; without any, each server makes its own.
 *
 * options: the settings.
 * key, len: 32 secret random bytes.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_options_add_state_key(mcplink_server_options_t *options,
                                                      const uint8_t *key,
                                                      size_t len);

/**
 * Sets how long a client may take to answer what a call asks, since 2026-07-28: 10 minutes without this.
 *
 * options: the settings.
 * lifetime_ms: in milliseconds, not 0.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_state_lifetime_ms(mcplink_server_options_t *options, uint32_t lifetime_ms);

/**
 * Has each round of a call that asks taken once only, so that what happens there does not happen again when a client repeats it.
 *
 * options: the settings.
 * single_use: whether so; false without this. Remembered in the memory of this process: not for replicas.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_single_use_state(mcplink_server_options_t *options, bool single_use);

/**
 * Lets handlers send log messages to clients.
 *
 * options: the settings.
 * logging: whether so; false without this.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_logging(mcplink_server_options_t *options, bool logging);

/**
 * Lets clients subscribe to changes of single resources.
 *
 * options: the settings.
 * updates: whether so; true without this.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_resource_updates(mcplink_server_options_t *options, bool updates);

/**
 * Says whether the lists of tools, prompts and resources may change while the server runs.
 *
 * options: the settings.
 * changes: true without this: clients are told of each change (listChanged). With false they are
 * told of none; what is added or removed later is served all the same.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_list_changes(mcplink_server_options_t *options, bool changes);

/**
 * Has results name the server, since 2026-07-28.
 *
 * options: the settings.
 * names_itself: whether so; true without this.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_names_itself(mcplink_server_options_t *options, bool names_itself);

/**
 * Has arguments and structured results of tools checked against their JSON Schemas, where the build can (mcplink_has_feature("validation")).
 *
 * options: the settings.
 * validation: whether so; true without this.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_options_set_validation(mcplink_server_options_t *options,
                                                       bool validation);

/**
 * Has standard output taken for the protocol while mcplink_server_serve_stdio runs.
 *
 * options: the settings.
 * claim: true without this. With false, whatever else this process prints there corrupts the protocol.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_claim_stdio(mcplink_server_options_t *options, bool claim);

/**
 * Says that the server has such things although none is there yet, so that clients that connect before the first one is added know that some may come.
 *
 * options: the settings.
 * list: one of enum mcplink_list.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_options_add_offer(mcplink_server_options_t *options,
                                                  int32_t list);

/**
 * Says how long and by whom the pages of a list may be kept, since 2026-07-28: not at all without this.
 *
 * options: the settings.
 * list: one of enum mcplink_list.
 * ttl_ms: in milliseconds.
 * is_public: whether those who stand between may give them to others too.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_options_set_cache(mcplink_server_options_t *options,
                                                  int32_t list,
                                                  uint64_t ttl_ms,
                                                  bool is_public);

/**
 * Lets calls of tools become tasks, for tools with mcplink_tool_set_task_support: the client gets the task at once, and fetches the result when it is there.
 *
 * options: the settings.
 * max_tasks: how many are kept at once; 0 for no tasks, as it is without this. Tasks that are over give way to new ones, so only tasks that
 * still work keep others out, and no client keeps all others out.
 * lifetime_ms: for how long one is kept, in milliseconds, when the client does not say.
 * Returns: MCPLINK_OK. Threads: one at a time. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_options_set_tasks(mcplink_server_options_t *options,
                                                  size_t max_tasks,
                                                  uint64_t lifetime_ms);

/**
 * Declares an extension of the protocol; the methods that it adds are handled with mcplink_server_options_on_method.
 *
 * options: the settings.
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
 * Says how much stack threads of the server have that may run code of the host. Defaults to 8 MiB. It is reserved, not used, until something is
 * put there.
 *
 * options: the settings.
 * bytes: 262144 (256 KiB) to 1073741824 (1 GiB); the system rounds it up to whole pages. What it has no room for is found out when a thread starts.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID for another size. Threads: one at a time. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_options_set_thread_stack_size(mcplink_server_options_t *options,
                                                              size_t bytes);

/**
 * Says what the names of the threads of the server begin with. Defaults to "mcplink". A dash and the role of the thread follow, such as
 * "mcplink-crew"; Linux shows 15 bytes in all.
 *
 * options: the settings.
 * prefix: 1 to 15 bytes, without control characters.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID for another prefix. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_thread_prefix(mcplink_server_options_t *options, const char *prefix);

/**
 * Sets what runs first and last on each thread that the library starts for the server, on that thread: as a virtual machine needs it that
 * has to know the threads which enter it, or a profiler.
 *
 * Where start was called, stop is called before the thread ends. When mcplink_server_free has returned, all threads have ended but for those
 * whose callback does not return; called in a callback of the server, it ends them behind that.
 *
 * Threads with these callbacks have the stack of those that run code of the host. Threads of the host itself, such as those that dispatch a
 * pump, are not told of.
 *
 * options: the settings.
 * start: called before any other callback on the thread; NULL for none.
 * stop: called behind all others; NULL for none.
 * user, destroy: passed to both; ended when others are set, or when the settings, all servers made with them and what was kept of those have
 * been freed, and their threads have ended.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_options_on_thread(mcplink_server_options_t *options,
                                                  mcplink_thread_fn start,
                                                  mcplink_thread_fn stop,
                                                  void *user,
                                                  mcplink_destroy_fn destroy);

/**
 * Sets what is told who comes and who goes: each client that has said who it is, by "initialize" or by its first request since 2026-07-28, and
 * the end of its connection, or of its session over HTTP. Clients over HTTP that keep no session, as all since 2026-07-28, are not told.
 *
 * options: the settings.
 * callback: gets MCPLINK_SERVER_SESSION_BEGAN and MCPLINK_SERVER_SESSION_ENDED. NULL for none. Runs one at a time and in order, on a thread of the
 * server's or where its pump is dispatched, maybe beside the first requests. None is dropped, and mcplink_server_free tells the last of them.
 * user, destroy: passed to callback; ended when another function is set, or when the settings and all servers made with them have ended.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_options_on_session(mcplink_server_options_t *options,
                                                   mcplink_event_fn callback,
                                                   void *user,
                                                   mcplink_destroy_fn destroy);

/**
 * Sets what is told of trouble with clients, for hosts that count it, raise an alarm or shut somebody out: what is refused because it is
 * malformed, too long, too much or not allowed, and handlers that fail. These are few kinds, to be told apart without reading text; the log has a
 * line for most of them too, and for much else.
 *
 * options: the settings.
 * callback: gets the other events of enum mcplink_server_event. NULL for none. Runs one at a time and in order, on a thread of the server's or where
 * its pump is dispatched. 1024 wait at most; more are dropped.
 * user, destroy: passed to callback; ended when another function is set, or when the settings and all servers made with them have ended.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_options_on_event(mcplink_server_options_t *options,
                                                 mcplink_event_fn callback,
                                                 void *user,
                                                 mcplink_destroy_fn destroy);

/**
 * Makes a server with the usual settings.
 *
 * name: its name, for programs.
 * version: its version.
 * Returns: the server, the caller's to free; NULL for a bad argument, which the functions that take it refuse in turn. Threads: any. Blocks:
 * no. Since 0.1.
 */
MCPLINK_API
mcplink_server_t *mcplink_server_new(const char *name,
                                     const char *version);

/**
 * Makes a server with settings.
 *
 * options: the settings, which are copied.
 * out: receives the server, NULL after a failure. The caller's to free.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID for settings that contradict each other. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_new_with(const mcplink_server_options_t *options,
                                         mcplink_server_t **out,
                                         mcplink_error_t **err);

/**
 * Frees a server: ends all that it serves, as mcplink_server_stop does, and waits for that. After it no callback of the server runs. Called
 * in one of its own callbacks, or in one of a transport that ends with a session of it, it returns at once, and the rest happens when the
 * callback has returned.
 *
 * In a fork of the process that made it this does nothing: its memory and its descriptors, which are close-on-exec, stay until the process ends
 * or becomes another program. See MCPLINK_E_FORKED.
 *
 * server: NULL is fine. Threads: any; nobody may begin to use the server meanwhile, and those who use it are woken with MCPLINK_E_CLOSED.
 * Blocks: until handlers have returned, a few seconds at most. Since 0.1.
 */
MCPLINK_API
void mcplink_server_free(mcplink_server_t *server);

/**
 * Ends all that the server serves: blocking calls such as mcplink_server_serve_stdio return MCPLINK_OK, sessions and listeners close, and
 * nothing is served any more. What the server has stays, until it is freed.
 *
 * server: NULL is fine.
 * Returns: MCPLINK_OK; MCPLINK_E_INVALID for NULL; MCPLINK_E_FORKED in a fork, where it does nothing. Threads: any, and signal handlers too.
 * Blocks: no: a thread of the library does it. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_stop(mcplink_server_t *server);

/**
 * Adds a tool.
 *
 * server: the server.
 * tool: the definition, which is copied. One of which a setter was refused is refused, with its reason in err.
 * callback: answers; see mcplink_handler_fn. It runs on a thread of the library, several at once, or where the pump of the server is
 * dispatched.
 * user, destroy: passed to callback; ended when the tool is taken away and no request for it is left, or with the server.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when the name is taken or no name, or a schema can't be used. Threads: any, also while the server serves: clients are told. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_add_tool(mcplink_server_t *server,
                                         const mcplink_tool_t *tool,
                                         mcplink_handler_fn callback,
                                         void *user,
                                         mcplink_destroy_fn destroy,
                                         mcplink_error_t **err);

/**
 * Takes a tool away. Requests for it that are in hand go on.
 *
 * server: the server.
 * tool: its name.
 * Returns: MCPLINK_OK; MCPLINK_E_INVALID when there is none like this. Threads: any, also while the server serves: clients are told. Blocks: no. Since
 * 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_remove_tool(mcplink_server_t *server,
                                            const char *tool);

/**
 * Adds a resource.
 *
 * server: the server.
 * resource: the definition, which is copied. One of which a setter was refused is refused, with its reason in err.
 * callback: answers; see mcplink_handler_fn. It runs on a thread of the library, several at once, or where the pump of the server is
 * dispatched.
 * user, destroy: passed to callback; ended when the resource is taken away and no request for it is left, or with the server.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when the address is taken or no address. Threads: any, also while the server serves: clients are told. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_add_resource(mcplink_server_t *server,
                                             const mcplink_resource_t *resource,
                                             mcplink_handler_fn callback,
                                             void *user,
                                             mcplink_destroy_fn destroy,
                                             mcplink_error_t **err);

/**
 * Takes a resource away. Requests for it that are in hand go on.
 *
 * server: the server.
 * uri: its address.
 * Returns: MCPLINK_OK; MCPLINK_E_INVALID when there is none like this. Threads: any, also while the server serves: clients are told. Blocks: no. Since
 * 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_remove_resource(mcplink_server_t *server,
                                                const char *uri);

/**
 * Adds resources whose addresses follow a template. mcplink_request_args shows what the variables are in the address that is read.
 *
 * server: the server.
 * template: the definition, which is copied. One of which a setter was refused is refused, with its reason in err.
 * callback: answers; see mcplink_handler_fn. It runs on a thread of the library, several at once, or where the pump of the server is
 * dispatched.
 * user, destroy: passed to callback; ended when the template is taken away and no request for it is left, or with the server.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when the template is there already, or is none. Threads: any, also while the server serves: clients are told. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_add_template(mcplink_server_t *server,
                                             const mcplink_template_t *template_,
                                             mcplink_handler_fn callback,
                                             void *user,
                                             mcplink_destroy_fn destroy,
                                             mcplink_error_t **err);

/**
 * Takes a template away. Requests for it that are in hand go on.
 *
 * server: the server.
 * uri_template: the template, as it was written.
 * Returns: MCPLINK_OK; MCPLINK_E_INVALID when there is none like this. Threads: any, also while the server serves: clients are told. Blocks: no. Since
 * 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_remove_template(mcplink_server_t *server,
                                                const char *uri_template);

/**
 * Adds a prompt.
 *
 * server: the server.
 * prompt: the definition, which is copied. One of which a setter was refused is refused, with its reason in err.
 * callback: answers; see mcplink_handler_fn. It runs on a thread of the library, several at once, or where the pump of the server is
 * dispatched.
 * user, destroy: passed to callback; ended when the prompt is taken away and no request for it is left, or with the server.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when the name is taken or empty, or two arguments have the same one. Threads: any, also while the server serves: clients are told. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_add_prompt(mcplink_server_t *server,
                                           const mcplink_prompt_t *prompt,
                                           mcplink_handler_fn callback,
                                           void *user,
                                           mcplink_destroy_fn destroy,
                                           mcplink_error_t **err);

/**
 * Takes a prompt away. Requests for it that are in hand go on.
 *
 * server: the server.
 * prompt: its name.
 * Returns: MCPLINK_OK; MCPLINK_E_INVALID when there is none like this. Threads: any, also while the server serves: clients are told. Blocks: no. Since
 * 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_remove_prompt(mcplink_server_t *server,
                                              const char *prompt);

/**
 * Lets only those use something who were granted scopes, which is checked before its handler runs; it stands on lists all the same. Over HTTP a
 * client that lacks one is told with status 403, and can have its user grant them; one of whose scopes nothing is known has none. Elsewhere
 * nothing is known of scopes, and everybody is let through. Said twice, all of them are needed.
 *
 * server: the server.
 * of: one of enum mcplink_primitive.
 * target: which one; it was added before, so that nothing stays open for a slip of the pen. What is said stays when it is taken away, and holds
 * for what is added in its place.
 * scopes: their names, a blank between two.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when the server has no such thing or scopes names none: then the server serves nobody who comes
 * later, and what would serve fails with this reason. Threads: any; say it before anybody is served, so that no request
 * comes in between. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_require_scopes(mcplink_server_t *server,
                                               int32_t of,
                                               const char *target,
                                               const char *scopes,
                                               mcplink_error_t **err);

/**
 * Completes an argument of a prompt, or a variable of a template, while the user types it. What has it may be added later.
 *
 * The handler finds the argument in mcplink_request_name, what is typed in mcplink_request_typed and the other arguments, as far as they are
 * known, in mcplink_request_args; it answers with mcplink_responder_values.
 *
 * server: the server.
 * of: one of enum mcplink_completion_of.
 * target: the name of the prompt, or the template.
 * argument: the name of the argument or variable.
 * callback: answers; see mcplink_handler_fn. It runs where other handlers do.
 * user, destroy: passed to callback; ended with the server.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID when the argument has a completer already. Threads: any. Blocks: no. Since 0.1.
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
 * Tells everybody who subscribed to a resource that it changed. Changes in a row merge: clients are told of them at most every 10 ms.
 *
 * server: the server.
 * uri: the address of the resource.
 * Returns: MCPLINK_OK, also when nobody subscribed. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_resource_updated(mcplink_server_t *server, const char *uri);

/**
 * Counts what the server serves: an array of objects, with "kind" ("session", "listener", "http") and what there is to count of it.
 *
 * server: the server.
 * stats: receives a document, NULL after a failure. The caller's to free, with mcplink_json_free.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_stats(const mcplink_server_t *server, mcplink_json_t **stats, mcplink_error_t **err);

/**
 * Says who waits for whom in what the server serves, for people who look for what hangs.
 *
 * server: the server.
 * activity: receives a document that is one string, read with mcplink_json_str; NULL after a failure. The caller's to free, with
 * mcplink_json_free.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_activity(const mcplink_server_t *server, mcplink_json_t **activity, mcplink_error_t **err);

/**
 * Sends a log message that belongs to no call to the clients that want it, if the server was made with logging. Only clients of revisions
 * before 2026-07-28 can get one: later ones get what mcplink_responder_log sends.
 *
 * server: the server.
 * level: one of enum mcplink_log_level.
 * logger: names the part of the server that it comes from; NULL for none.
 * json, len: what there is to say, as JSON; MCPLINK_NUL measures it. Nothing that clients must not know.
 * Returns: MCPLINK_OK, also when nobody wants it; MCPLINK_E_INVALID. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_log(mcplink_server_t *server, int32_t level, const char *logger, const char *json, size_t len);

/**
 * Serves the process that started this one, over the standard streams, until it closes them or mcplink_server_stop is called.
 *
 * Standard output is taken for the protocol meanwhile: what this process and its children print goes to standard error, and standard input is
 * empty for them. Both are put back at the end. Call it before anything is read of standard input.
 *
 * server: the server.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK when the client has gone or the server was stopped; MCPLINK_E_STATE when the standard streams are served already, and
 * when this thread dispatches the pump of the server; MCPLINK_E_IO; MCPLINK_E_CLOSED when the server is freed. Threads: any. Blocks: until then;
 * calls in hand may finish then, for a few seconds. With a pump another thread has to dispatch it. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_serve_stdio(mcplink_server_t *server,
                                            mcplink_error_t **err);

/**
 * The same without waiting.
 *
 * server: the server.
 * session: receives the session, NULL after a failure. The caller's to free, before or after the server.
 * err: receives what went wrong; NULL is fine.
 * Returns: as mcplink_server_serve_stdio; MCPLINK_E_CLOSED when the server was stopped. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_server_serve_stdio_start(mcplink_server_t *server, mcplink_session_t **session, mcplink_error_t **err);

/**
 * Serves a client over descriptors, one message a line, until it has gone or mcplink_server_stop is called: pipes, sockets, files.
 *
 * server: the server.
 * input: what the client sends. output: what it is sent; the same one for a socket. Both are duplicated and stay the caller's: who closes them
 * early closes only his own.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK when the client has gone or the server was stopped; MCPLINK_E_INVALID, MCPLINK_E_IO for descriptors that can't be used;
 * MCPLINK_E_STATE when this thread dispatches the pump of the server; MCPLINK_E_CLOSED when the server is freed. Threads: any. Blocks: until then.
 * Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_serve_fds(mcplink_server_t *server,
                                          int input,
                                          int output,
                                          mcplink_error_t **err);

/**
 * The same without waiting, for a client that may act on behalf of somebody.
 *
 * server: the server.
 * input, output: as for mcplink_server_serve_fds.
 * principal: on whose behalf the client acts, which the host has made sure of: mcplink_request_principal shows it. NULL when nobody knows.
 * session: receives the session, NULL after a failure. The caller's to free, before or after the server.
 * err: receives what went wrong; NULL is fine.
 * Returns: as mcplink_server_serve_fds; MCPLINK_E_CLOSED when the server was stopped. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_serve_fds_start(mcplink_server_t *server,
                                                int input,
                                                int output,
                                                const char *principal,
                                                mcplink_session_t **session,
                                                mcplink_error_t **err);

/**
 * Serves a client over a transport of the host's own, without waiting.
 *
 * When the client has gone, see mcplink_transport_feed_end, answers to calls in hand may still be sent for as long as the drain time of the server
 * says, until the host closes or frees the session. MCPLINK_SERVER_SESSION_ENDED and mcplink_session_is_closed tell that it has gone;
 * mcplink_session_wait waits for it and closes.
 *
 * server: the server.
 * transport: the transport, with a send function. It serves one session, stays the caller's, and is freed after the session.
 * principal: on whose behalf the client acts, which the host has made sure of; NULL when nobody knows.
 * session: receives the session, NULL after a failure. The caller's to free, before or after the server.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK; MCPLINK_E_STATE when the transport has served before or lacks a send function; MCPLINK_E_CLOSED when the server was
 * stopped. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_attach(mcplink_server_t *server,
                                       mcplink_transport_t *transport,
                                       const char *principal,
                                       mcplink_session_t **session,
                                       mcplink_error_t **err);

/**
 * Waits until the client has gone, or the session was closed.
 *
 * session: the session.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK when the client has gone or the session was closed; another status when the transport failed. Threads: any. Blocks:
 * until then; calls in hand may finish then, for a few seconds. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_session_wait(mcplink_session_t *session, mcplink_error_t **err);

/**
 * Closes a session: its calls are cancelled, and the transport ends. In the function that its transport is told of that with this and
 * mcplink_session_wait return at once, and what called the function goes on.
 *
 * session: the session.
 * Returns: MCPLINK_OK, also when it is closed already. Threads: any. Blocks: a few seconds at most, for handlers that don't return. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_session_close(mcplink_session_t *session);

/**
 * Whether the client has gone, or the session was closed.
 *
 * session: NULL for true.
 * Returns: true if so. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API bool mcplink_session_is_closed(const mcplink_session_t *session);

/**
 * A number that tells the session from all others of the server: requests have it too, see mcplink_request_session, and events, as "session".
 *
 * session: NULL for 0.
 * Returns: at least 1. Threads: any. Since 0.1.
 */
MCPLINK_API
uint64_t mcplink_session_number(const mcplink_session_t *session);

/**
 * On whose behalf the client acts.
 *
 * session: NULL for none.
 * Returns: what the session was made with, valid as long as the session; empty when nobody knows. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_session_principal(const mcplink_session_t *session);

/**
 * Frees a session, and closes it before.
 *
 * session: NULL is fine. Threads: any. Blocks: as mcplink_session_close. Since 0.1.
 */
MCPLINK_API void mcplink_session_free(mcplink_session_t *session);

/**
 * Makes settings with their defaults.
 *
 * Returns: the settings, the caller's to free. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_http_options_t *mcplink_http_options_new(void);

/**
 * Frees settings. What serves with them keeps its own.
 *
 * options: NULL is fine. Since 0.1.
 */
MCPLINK_API void mcplink_http_options_free(mcplink_http_options_t *options);

/**
 * Sets the path of the endpoint: "/mcp" without this. Others are answered with status 404.
 *
 * options: the settings.
 * path: begins with "/".
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_http_options_set_path(mcplink_http_options_t *options, const char *path);

/**
 * Adds a name under which the server is reached, compared with the field Host without its port. Behind a proxy, name what the proxy sends. Without any, a server on a loopback address is reached as localhost, 127.0.0.1 and [::1], others under all names.
 *
 * options: the settings.
 * host: for example "mcp.example.com".
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_http_options_add_host(mcplink_http_options_t *options,
                                               const char *host);

/**
 * Adds a web site whose pages may call the server. Without any, pages of the server's own host may, if that is one of those that were added
 * with mcplink_http_options_add_host, an address or this machine: any other name its owner could have lead here.
 *
 * options: the settings.
 * origin: scheme, host, and port where it is not the usual one, for example "https://example.com".
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_http_options_add_origin(mcplink_http_options_t *options, const char *origin);

/**
 * Adds a proxy, or a network of proxies, that is believed when it tells for which client a request
 * is, in the field Forwarded (RFC 7239) or X-Forwarded-For. Without any, all requests that come
 * through a proxy share what one client may have. The client is the last address that is not one
 * of these proxies. Where the field can't be understood, the client is the proxy.
 *
 * options: the settings. network: an address such as "192.0.2.1", or a network such as
 * "10.0.0.0/8". Returns: MCPLINK_OK, or MCPLINK_E_INVALID: then nothing is added. Threads: one at
 * a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_http_options_add_trusted_proxy(mcplink_http_options_t *options, const char *network);

/**
 * Says whether clients of revisions before 2026-07-28 get sessions. Without them any replica can answer any request; but such clients can't be asked anything, nor be told of changes.
 *
 * options: the settings.
 * sessions: whether so; true without this.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_http_options_set_sessions(mcplink_http_options_t *options,
                                                   bool sessions);

/**
 * Sets after how long without a request a session ends that has no open stream: 30 minutes without this.
 *
 * options: the settings.
 * idle_ms: in milliseconds.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_http_options_set_session_idle_ms(mcplink_http_options_t *options, uint32_t idle_ms);

/**
 * Serves clients of 2024-11-05 too, on the two paths that its HTTP transport has.
 *
 * options: the settings.
 * stream: the path of the stream.
 * post: the path of what the client posts.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_http_options_set_old_paths(mcplink_http_options_t *options, const char *stream, const char *post);

/**
 * Sets how much of each stream of a session is kept for a client that comes back for it: 256 events and 1 MiB without this. See also
 * MCPLINK_HTTP_LIMIT_KEPT_BYTES.
 *
 * options: the settings.
 * events: how many events.
 * bytes: how many bytes of them.
 * Returns: MCPLINK_OK. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_http_options_set_kept_events(mcplink_http_options_t *options, size_t events, size_t bytes);

/**
 * Sets how often something is written on a quiet stream, and after how long a response on which
 * nothing was said begins as a stream, if the client accepts one: so that nobody on the way takes
 * the connection for dead. 15 seconds without this.
 *
 * options: the settings.
 * interval_ms: in milliseconds, at least 1.
 * Returns: MCPLINK_OK. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_http_options_set_keep_alive_ms(mcplink_http_options_t *options, uint32_t interval_ms);

/**
 * Sets an upper bound. How long a body may be is said by MCPLINK_LIMIT_MESSAGE_BYTES of the server.
 *
 * options: the settings.
 * which: one of enum mcplink_http_limit.
 * bound: the most there may be.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_http_options_set_limit(mcplink_http_options_t *options, int32_t which, size_t bound);

/**
 * Has a function find out who sends each request, before anything else is done for it. Everybody is let in without this and without
 * mcplink_http_options_set_resource_server; settings that have that already refuse this.
 *
 * options: the settings.
 * callback: see mcplink_authenticate_fn. Called on the thread that read the request, several at once, or where the pump of the server is
 * dispatched. NULL is refused: see mcplink_http_options_clear_authenticate.
 * user, destroy: passed to callback; ended when another function is set, when it is refused or cleared, or when the settings and all that serves
 * with them have ended.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_http_options_on_authenticate(mcplink_http_options_t *options,
                                                      mcplink_authenticate_fn callback,
                                                      void *user,
                                                      mcplink_destroy_fn destroy);

/**
 * Takes the function of mcplink_http_options_on_authenticate away. Without another check everybody is let in.
 *
 * options: the settings.
 * Returns: MCPLINK_OK, also when there is none, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_http_options_clear_authenticate(mcplink_http_options_t *options);

/**
 * The method of an HTTP request.
 *
 * request: NULL for "".
 * Returns: valid as long as the request. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_http_request_method(const mcplink_http_request_t *request);

/**
 * The target of an HTTP request: path and query, as they were sent.
 *
 * request: NULL for "".
 * Returns: valid as long as the request. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_http_request_target(const mcplink_http_request_t *request);

/**
 * The value of a header field of an HTTP request.
 *
 * request: NULL for none.
 * field: the name of the field, in any case.
 * Returns: the first value, valid as long as the request; empty when there is no such field. Bytes that are no UTF-8 are shown as U+FFFD. Threads:
 * one at a time. Since 0.1.
 */
MCPLINK_API
mcplink_str_t mcplink_http_request_header(const mcplink_http_request_t *request,
                                          const char *field);

/**
 * Where an HTTP request came from, as address and port.
 *
 * request: NULL for none.
 * Returns: valid as long as the request; empty when that is not known. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_http_request_remote(const mcplink_http_request_t *request);

/**
 * The access token of an HTTP request: what follows Bearer in its field Authorization.
 *
 * request: NULL for none.
 * Returns: valid as long as the request; empty when there is none. Never hand it on, nor log it. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_http_request_token(const mcplink_http_request_t *request);

/**
 * Lets a request in.
 *
 * request: the request.
 * principal: who sends it, for mcplink_request_principal; not empty. Sessions and what calls keep between their rounds are good for whom they were made.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: that of the callback. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_http_request_admit(mcplink_http_request_t *request,
                                            const char *principal);

/**
 * Says what was granted to the one who is let in: for mcplink_server_require_scopes, mcplink_responder_need_scopes and
 * mcplink_request_has_scope. Without this nothing is known of scopes, and what needs one can't be used.
 *
 * request: the request.
 * scopes: their names, a blank between two; "" for none. NULL when nothing is known.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: that of the callback. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_http_request_set_scopes(mcplink_http_request_t *request, const char *scopes);

/**
 * Says until when what was found out is good: streams that stay open tell nothing after it. For ever without this.
 *
 * request: the request.
 * seconds: since 1970-01-01 UTC.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID for a negative number. Threads: that of the callback. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_http_request_set_expiry(mcplink_http_request_t *request, int64_t seconds);

/**
 * Says for which server a token was issued, as often as there are several: see mcplink_resource_server_set_verifier. A token that was issued for
 * others only is refused. A host that makes sure of it in another way names the server's own address.
 *
 * request: the request.
 * audience: as the token has it (aud).
 * Returns: MCPLINK_OK, MCPLINK_E_INVALID, or MCPLINK_E_STATE in a function of mcplink_http_options_on_authenticate. Threads: that of the callback. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_http_request_add_audience(mcplink_http_request_t *request,
                                                   const char *audience);

/**
 * Says that a token is bound to a key of the client (DPoP, RFC 9449): see mcplink_resource_server_set_verifier. It is good only with a proof of that
 * key, for a server of mcplink_resource_server_set_dpop, and refused by others. Who leaves this out lets whoever stole such a token use it.
 *
 * request: the request.
 * thumbprint: of the key, as the token or the authorization server gives it (cnf.jkt; RFC 7638).
 * Returns: MCPLINK_OK, MCPLINK_E_INVALID, or MCPLINK_E_STATE in a function of mcplink_http_options_on_authenticate. Threads: that of the callback. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_http_request_bind_key(mcplink_http_request_t *request,
                                               const char *thumbprint);

/**
 * Refuses a request whose access token is not good, with status 401, on which clients come by another one.
 *
 * request: the request.
 * why: for the client and the log, so that it never quotes the token: "it was revoked".
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: that of the callback. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_http_request_refuse_token(mcplink_http_request_t *request, const char *why);

/**
 * Refuses a request whose sender needs more scopes, with status 403, on which clients have their users grant more.
 *
 * request: the request.
 * scopes: all that it needs, a blank between two.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: that of the callback. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_http_request_need_scopes(mcplink_http_request_t *request, const char *scopes);

/**
 * Puts a request off, with status 503, as whether it may be served can't be found out at the moment: no client throws a good token away for it.
 *
 * request: the request.
 * why: for the host's log.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: that of the callback. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_http_request_put_off(mcplink_http_request_t *request,
                                              const char *why);

/**
 * Refuses a request of nobody known, with status 401.
 *
 * request: the request.
 * challenge: what the sender has to show, for the field WWW-Authenticate (RFC 9110), for example "Bearer".
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: that of the callback. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_http_request_challenge(mcplink_http_request_t *request, const char *challenge);

/**
 * Describes a server that takes access tokens. Without more they are JWTs that its authorization server has signed, checked by the keys that the
 * issuer's metadata names: signature, issuer, times; the principal is sub, scopes are those of scope or scp.
 *
 * resource: the address that clients use, for example "https://files.example/mcp", not the one that the process listens at.
 * issuer: the authorization server, by its issuer identifier, for example "https://login.example". It is compared with what tokens and metadata
 * say character by character (RFC 9068, section 4; RFC 8414, section 3.3), so a "/" at the end makes another issuer.
 * Returns: the description, the caller's to free; NULL for a bad argument and in a build without HTTP. What is wrong with the addresses is found
 * out when something serves with it. Threads: any. Since 0.1.
 */
MCPLINK_API
mcplink_resource_server_t *mcplink_resource_server_new(const char *resource,
                                                       const char *issuer);

/**
 * Names another authorization server that clients may get tokens from. Its tokens are good only for a function that checks them: see
 * mcplink_resource_server_set_verifier.
 *
 * server: the description.
 * issuer: its issuer identifier.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_resource_server_add_issuer(mcplink_resource_server_t *server, const char *issuer);

/**
 * Says where the issuer's keys are, for one whose metadata does not say so.
 *
 * server: the description.
 * url: of its key set (RFC 7517): https, except on this machine. NULL is refused: see mcplink_resource_server_use_default_keys.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID, also when there are keys or a function that checks tokens already. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_resource_server_set_keys_url(mcplink_resource_server_t *server, const char *url);

/**
 * Gives the issuer's keys, which are not fetched then.
 *
 * server: the description.
 * json, len: the key set (RFC 7517), {"keys":[...]}; MCPLINK_NUL measures it. It has the place of the address of keys.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID, also when there is a function that checks tokens already. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_resource_server_set_keys(mcplink_resource_server_t *server, const char *json, size_t len);

/**
 * Fetches the issuer's metadata and keys through a proxy. Defaults to none, whatever the environment says.
 *
 * server: the description.
 * url: as for mcplink_client_options_set_proxy, "environment" too. NULL is refused: see mcplink_resource_server_clear_proxy.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_resource_server_set_proxy(mcplink_resource_server_t *server, const char *url);

/**
 * Fetches the issuer's metadata and keys without a proxy, as without mcplink_resource_server_set_proxy.
 *
 * server: the description.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_resource_server_clear_proxy(mcplink_resource_server_t *server);

/**
 * Trusts the servers over HTTPS whose certificates these authorities issued, and no others, where the issuer's metadata and keys are fetched.
 * Mozilla's list without this.
 *
 * server: the description.
 * pem, len: PEM text with all of them, one or more; other things in it are skipped. MCPLINK_NUL measures it. It is copied, and has the place of
 * what was set before. NULL and text without anything are refused: see mcplink_resource_server_use_default_roots. That there is no certificate in it, or one that can't be read, is found out when something serves
 * with it, with MCPLINK_E_INVALID; in a build that does not check tokens by itself (feature jwt) that fails with MCPLINK_E_UNSUPPORTED. It is not
 * looked at where a function of the host's checks tokens.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_resource_server_set_root_certificates(mcplink_resource_server_t *server,
                                                               const char *pem,
                                                               size_t len);

/**
 * Trusts Mozilla's list of authorities, as without mcplink_resource_server_set_root_certificates.
 *
 * server: the description.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_resource_server_use_default_roots(mcplink_resource_server_t *server);

/**
 * Has a function of the host's check tokens, of any kind.
 *
 * server: the description.
 * callback: called for each token, which is all that is known of the request (mcplink_http_request_token); ends with mcplink_http_request_admit
 * and mcplink_http_request_add_audience, or refuses. For whom the token was issued and whether it has expired is checked besides. Runs where
 * mcplink_http_options_on_authenticate says; never hand the token on. NULL is refused: see mcplink_resource_server_use_default_keys.
 * user, destroy: passed to callback; ended when another function is set, when it is refused or taken away, or when all that has the description, and serves with it, has ended.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID, also when there are keys already. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_resource_server_set_verifier(mcplink_resource_server_t *server,
                                                      mcplink_authenticate_fn callback,
                                                      void *user,
                                                      mcplink_destroy_fn destroy);

/**
 * Has tokens checked by the keys that the issuer's metadata names, as without mcplink_resource_server_set_keys,
 * mcplink_resource_server_set_keys_url and mcplink_resource_server_set_verifier: what they were given is taken away.
 *
 * server: the description.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_resource_server_use_default_keys(mcplink_resource_server_t *server);

/**
 * Says which scopes every request needs; what one operation needs besides says mcplink_server_require_scopes. Clients are told with the first
 * challenge. None without this.
 *
 * server: the description.
 * scopes: their names, a blank between two. NULL and text without a name are refused: see mcplink_resource_server_clear_required_scopes.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_resource_server_set_required_scopes(mcplink_resource_server_t *server,
                                                             const char *scopes);

/**
 * Has requests need no scopes but those of single operations, as without mcplink_resource_server_set_required_scopes.
 *
 * server: the description.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_resource_server_clear_required_scopes(mcplink_resource_server_t *server);

/**
 * Says which scopes there are, as the metadata shows them: those that a client needs for the usual, since some ask for all of them at once.
 * Without this, those that every request needs.
 *
 * server: the description.
 * scopes: their names, a blank between two.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_resource_server_set_scopes_supported(mcplink_resource_server_t *server, const char *scopes);

/**
 * Says that whoever was granted a broad scope has narrower ones too, and what they imply.
 *
 * server: the description.
 * broad: the scope.
 * narrow: the others, a blank between two.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_resource_server_add_implied(mcplink_resource_server_t *server, const char *broad, const char *narrow);

/**
 * Adds another name of this server in the audience of tokens, for authorization servers that don't write its address there.
 *
 * server: the description.
 * audience: the name.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_resource_server_add_audience(mcplink_resource_server_t *server, const char *audience);

/**
 * Says what the server is called where people are asked to grant something, and where developers read about it.
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
 * Says where clients find the metadata, if a proxy brings only some paths here: it is served there too. Without this it is at the place that
 * follows from the server's address: https://host/.well-known/oauth-protected-resource/mcp for https://host/mcp.
 *
 * server: the description.
 * url: NULL for the default.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_resource_server_set_metadata_url(mcplink_resource_server_t *server,
                                                          const char *url);

/**
 * Says whether tokens are taken that are bound to a key of the client (DPoP, RFC 9449), so that whoever steals one can't use it. They come with a
 * proof of the key, which is checked: signature, method and address of the request, token, time within five minutes; each is taken once. Clients
 * learn of it from the metadata and from challenges.
 *
 * server: the description.
 * dpop: one of enum mcplink_dpop; MCPLINK_DPOP_NEVER without this.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. In a build without signed tokens, serving with it fails with MCPLINK_E_UNSUPPORTED. Blocks: no.
 * Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_resource_server_set_dpop(mcplink_resource_server_t *server,
                                                  int32_t dpop);

/**
 * Wants a nonce of this server in each proof of a key, so that none can be made in advance. A client that has none is given one with the refusal
 * and tries again. Without this no nonce is wanted.
 *
 * server: the description.
 * keys, len: keys of 32 secret random bytes each, one behind the other. Nonces are sealed with the first one, and good if sealed with any:
 * replicas share their keys. They are copied.
 * lifetime_ms: for how long a nonce is good, in milliseconds; at least a second.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_resource_server_set_nonces(mcplink_resource_server_t *server,
                                                    const uint8_t *keys,
                                                    size_t len,
                                                    uint32_t lifetime_ms);

/**
 * Frees a description. Settings that it was given to keep theirs.
 *
 * server: NULL is fine. Since 0.1.
 */
MCPLINK_API void mcplink_resource_server_free(mcplink_resource_server_t *server);

/**
 * Serves only requests that carry an access token for this server, and tells clients where tokens are to be had. A function of
 * mcplink_http_options_on_authenticate is for anything else than tokens: settings that have one refuse this.
 *
 * Handlers learn who asks from mcplink_request_principal, and what that one may do from mcplink_request_has_scope.
 *
 * options: the settings.
 * server: copied; it stays the caller's. NULL, and one of which a setter was refused, are refused: see
 * mcplink_http_options_clear_resource_server. What else is wrong with it is found out when something serves with the settings, which fails with
 * MCPLINK_E_UNSUPPORTED where tokens are JWTs in a build without them.
 * Returns: MCPLINK_OK, MCPLINK_E_INVALID, or what the setter was refused with. Threads: one at a time. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_http_options_set_resource_server(mcplink_http_options_t *options,
                                                          const mcplink_resource_server_t *server);

/**
 * Takes what mcplink_http_options_set_resource_server was given away. Without another check everybody is let in.
 *
 * options: the settings.
 * Returns: MCPLINK_OK, also when there is none, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_http_options_clear_resource_server(mcplink_http_options_t *options);

/**
 * Listens for HTTP clients, on threads of the library.
 *
 * Whoever can reach the address can send requests: name a port only unless others are meant to, and find out who they are with
 * mcplink_http_options_on_authenticate then.
 *
 * server: the server.
 * options: the settings, which are copied; NULL for the defaults, with which everybody is let in. Settings of which a setter was refused are
 * refused, with its reason in err.
 * bind: an address such as "192.0.2.1:8080", or a port of the loopback address such as "8080"; port 0 is one that the system chooses.
 * listener: receives the listener, NULL after a failure. The caller's to free, before or after the server.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK; MCPLINK_E_IO when the address can't be had; MCPLINK_E_INVALID when the settings are none; MCPLINK_E_CLOSED when the server was stopped; MCPLINK_E_UNSUPPORTED in a
 * build without HTTP. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_listen_http(mcplink_server_t *server,
                                            const mcplink_http_options_t *options,
                                            const char *bind,
                                            mcplink_listener_t **listener,
                                            mcplink_error_t **err);

/**
 * The port that a listener has, which the system has chosen if it was asked to.
 *
 * listener: NULL for 0.
 * Returns: the port. Threads: any. Since 0.1.
 */
MCPLINK_API uint16_t mcplink_listener_port(const mcplink_listener_t *listener);

/**
 * The address of the endpoint, for clients on the same machine.
 *
 * listener: NULL for "".
 * Returns: valid as long as the listener. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_listener_url(const mcplink_listener_t *listener);

/**
 * How many sessions of clients of revisions before 2026-07-28 are open.
 *
 * listener: NULL for 0.
 * Returns: the count. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API size_t mcplink_listener_sessions(const mcplink_listener_t *listener);

/**
 * Closes a listener: nothing more is accepted, calls in hand may finish for as long as the server's drain time says, sessions end. A handler
 * that calls it is in hand too, and is waited for: better have it free the listener, or stop the server.
 *
 * listener: the listener.
 * Returns: MCPLINK_OK, also when it is closed already. Threads: any. Blocks: for that time and a few seconds at most. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_listener_close(mcplink_listener_t *listener);

/**
 * Frees a listener, and closes it before. Called in a callback of the server it returns at once, and the rest happens beside it: a handler that
 * does so can still answer.
 *
 * listener: NULL is fine. Threads: any. Blocks: as mcplink_listener_close. Since 0.1.
 */
MCPLINK_API
void mcplink_listener_free(mcplink_listener_t *listener);

/**
 * The status of a response.
 *
 * head: NULL for 0.
 * Returns: for example 200. Threads: any. Since 0.1.
 */
MCPLINK_API int32_t mcplink_http_head_status(const mcplink_http_head_t *head);

/**
 * How many header fields a response has.
 *
 * head: NULL for 0.
 * Returns: the count. Threads: any. Since 0.1.
 */
MCPLINK_API size_t mcplink_http_head_count(const mcplink_http_head_t *head);

/**
 * The name of a header field.
 *
 * head: NULL for "".
 * index: from 0.
 * Returns: valid as long as the head; empty when there is no such field. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_http_head_name(const mcplink_http_head_t *head, size_t index);

/**
 * The value of a header field.
 *
 * head: NULL for "".
 * index: from 0.
 * Returns: valid as long as the head; empty when there is no such field. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_http_head_value(const mcplink_http_head_t *head, size_t index);

/**
 * How often the host should write mcplink_http_head_quiet_text to a response in pieces that is quiet, so that nobody on the way takes the
 * connection for dead.
 *
 * head: NULL for 0.
 * Returns: in milliseconds; 0 for never. Threads: any. Since 0.1.
 */
MCPLINK_API uint32_t mcplink_http_head_quiet_ms(const mcplink_http_head_t *head);

/**
 * What to write then.
 *
 * head: NULL for "".
 * Returns: valid as long as the head; empty for nothing. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_str_t mcplink_http_head_quiet_text(const mcplink_http_head_t *head);

/**
 * Describes an HTTP request that came in by the host's own web server, and where its response goes.
 *
 * method: in capitals, as it was sent.
 * target: path and query, as they were sent.
 * begin, write, end: take the response; they run one at a time, on threads of the library, or on the one that calls mcplink_http_serve, or where
 * the pump of the server is dispatched.
 * user, destroy: passed to them; ended when the exchange is freed.
 * Returns: the exchange, the caller's to free when end was called, or when it has no more use for the response; NULL for a bad argument.
 * Threads: any. Since 0.1.
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
 * field: its name, in any case.
 * content, len: its value, without white space around it; MCPLINK_NUL measures it.
 * Returns: MCPLINK_OK, MCPLINK_E_INVALID, or MCPLINK_E_STATE when the request was served already. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_exchange_add_header(mcplink_exchange_t *exchange, const char *field, const char *content, size_t len);

/**
 * Sets the body of the request.
 *
 * exchange: the exchange.
 * body, len: the whole body, without a transfer coding; MCPLINK_NUL measures it. How long it may be is for the host to see to before.
 * Returns: MCPLINK_OK, MCPLINK_E_INVALID, or MCPLINK_E_STATE when the request was served already. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_exchange_set_body(mcplink_exchange_t *exchange, const char *body, size_t len);

/**
 * Says where the request came in, which decides under which names the server is reached, and where it came from.
 *
 * exchange: the exchange.
 * local: address and port, for example "127.0.0.1:8080". NULL is refused: without it a server that has no names of its own
 * (mcplink_http_options_add_host) answers to all.
 * remote: the same of the client; NULL when that is not known.
 * Returns: MCPLINK_OK, MCPLINK_E_INVALID, or MCPLINK_E_STATE when the request was served already. Threads: any. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_exchange_set_addresses(mcplink_exchange_t *exchange, const char *local, const char *remote);

/**
 * Says that the client has gone: who answers stops, and end is still called if the response had not ended.
 *
 * exchange: the exchange.
 * Returns: MCPLINK_OK. Threads: any. Blocks: no. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_exchange_gone(mcplink_exchange_t *exchange);

/**
 * Begins a response that has not begun for as long as mcplink_http_options_set_keep_alive_ms says,
 * as a stream of events, so that nobody on the way takes the connection for dead. Does nothing when
 * the client takes no such stream, or the response has begun.
 *
 * exchange: the exchange.
 * Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: any; begin and write may run on this one.
 * Blocks: only in them. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_exchange_silent(mcplink_exchange_t *exchange);

/**
 * Frees an exchange: none of its functions runs after this. A response that had not ended is given up, as after mcplink_exchange_gone. Called
 * in one of its functions it returns at once, and none of the others begins behind that.
 *
 * exchange: NULL is fine. Threads: any. Blocks: while one of its functions runs on another thread. Since 0.1.
 */
MCPLINK_API
void mcplink_exchange_free(mcplink_exchange_t *exchange);

/**
 * Makes an endpoint that the host mounts in its own web server, which hands it each request with mcplink_http_serve.
 *
 * server: the server.
 * options: the settings, which are copied; NULL for the defaults, with which everybody is let in. Settings of which a setter was refused are
 * refused, with its reason in err. Bounds of connections are the host's business.
 * http: receives the endpoint, NULL after a failure. The caller's to free, before or after the server.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK; MCPLINK_E_INVALID when the settings are none; MCPLINK_E_CLOSED when the server was stopped; MCPLINK_E_UNSUPPORTED in a build without HTTP. Threads: any. Blocks: no.
 * Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_server_http(mcplink_server_t *server,
                                     const mcplink_http_options_t *options,
                                     mcplink_http_t **http,
                                     mcplink_error_t **err);

/**
 * Answers an HTTP request. The response comes by the functions of the exchange, during this call or later.
 *
 * http: the endpoint.
 * exchange: the request and where its response goes. It serves once, and stays the caller's.
 * err: receives what went wrong; NULL is fine.
 * Returns: MCPLINK_OK when the response is there or will come, whatever it says; MCPLINK_E_STATE when the exchange has served before or lacks
 * a request; what a function was refused with that says something of the request; MCPLINK_E_UNSUPPORTED in a build without HTTP. Threads: any, several at once. Blocks: without a pump as long as the handler
 * that answers, which runs on this thread. Since 0.1.
 */
MCPLINK_API
mcplink_status_t mcplink_http_serve(mcplink_http_t *http,
                                    mcplink_exchange_t *exchange,
                                    mcplink_error_t **err);

/**
 * Ends an endpoint: its sessions, streams and requests.
 *
 * http: the endpoint.
 * Returns: MCPLINK_OK, also when it has ended already. Threads: any. Blocks: a few seconds at most. Since 0.1.
 */
MCPLINK_API mcplink_status_t mcplink_http_close(mcplink_http_t *http);

/**
 * Frees an endpoint, and ends it before.
 *
 * http: NULL is fine. Threads: any. Blocks: as mcplink_http_close. Since 0.1.
 */
MCPLINK_API void mcplink_http_free(mcplink_http_t *http);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#if defined(__GNUC__) && !defined(__cplusplus)
#  pragma GCC diagnostic pop
#endif

#endif  /* MCPLINK_H */
