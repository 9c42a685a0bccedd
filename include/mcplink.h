/*
 * mcplink: the Model Context Protocol for programs without an async runtime.
 *
 * This header is generated from src/cffi; change it there.
 *
 * A server, with 13 functions:
 *
 *   mcplink_server_new             makes a server
 *   mcplink_tool_new               describes a tool
 *   mcplink_tool_add_param         describes an argument: the library checks it
 *   mcplink_server_add_tool        adds the tool, with the handler that answers its calls
 *   mcplink_tool_free              the server has a copy
 *   mcplink_server_serve_stdio     serves until the client closes standard input
 *     mcplink_request_args         in the handler: the arguments
 *     mcplink_json_get             a member of an object
 *     mcplink_json_str             the text of a string
 *     mcplink_responder_text       answers the call
 *   mcplink_error_message          what failed, and what to do about it
 *   mcplink_error_free
 *   mcplink_server_free
 *
 * A client, with 10 functions:
 *
 *   mcplink_client_options_new
 *   mcplink_client_options_set_command   the server to start; or mcplink_client_options_set_url
 *   mcplink_client_open                  starts the server and negotiates a protocol revision
 *   mcplink_client_call_tool             calls a tool, and waits for the result
 *   mcplink_result_text                  the text of the result
 *   mcplink_error_message
 *   mcplink_result_free, mcplink_error_free, mcplink_client_free, mcplink_client_options_free
 *
 * examples/c/hello_server.c and hello_client.c are these two. The sections of this header:
 *
 *   ==== Basic types ====
 *   ==== Objects ====
 *   ==== Version ====
 *   ==== Errors and log ====
 *   ==== JSON ====
 *   ==== Client: options ====
 *   ==== Client: open, close, events ====
 *   ==== Calls and results ====
 *   ==== Requests from servers ====
 *   ==== Server ====
 *   ==== Server: options ====
 *   ==== Tools ====
 *   ==== Resources ====
 *   ==== Prompts ====
 *   ==== Handlers: read a request, answer it ====
 *   ==== HTTP servers ====
 *   ==== Logins and tokens of clients ====
 *   ==== HTTP clients of the host ====
 *   ==== Event loops: the pump ====
 *   ==== Transports of the host ====
 *
 * Comments. A comment leaves out what holds for all functions. The first parameter is the object.
 * NULL for it is MCPLINK_E_INVALID; a function without a status then returns 0, false, empty text or
 * NULL, and a _free function does nothing. A status is MCPLINK_OK on success, and MCPLINK_E_INVALID
 * for an invalid argument. A function does not block, unless a note says so. A function that takes
 * options of a call blocks until the call has ended; its form with _start does not: see
 * mcplink_client_call_tool and mcplink_client_call_tool_start.
 *
 * Threads. Clients, servers, sessions, listeners, pumps, calls, cancel tokens, transports,
 * exchanges, caches, era memories, and responders and logins are thread-safe: any thread may call
 * their functions, also in callbacks. Options, definitions, settings, configurations, writers,
 * results, errors, JSON values and HTTP requests are used by one thread at a time; several threads
 * may read them.
 *
 * Ownership. The caller owns an object that a function makes, and frees it with the _free function
 * of its type. Other functions copy or borrow their arguments. Text and JSON nodes that a function
 * returns are borrowed from an object, and valid as long as it.
 *
 * Mistakes. Every function checks the kind of the objects that it gets. An object of another type is
 * MCPLINK_E_INVALID, and the message names both types. A handle, responder, request, login or HTTP
 * request that was freed, or whose callback has returned, is MCPLINK_E_STATE. Functions that return
 * no status do nothing then, or return a neutral value, and log the mistake: see mcplink_set_log.
 * All other objects must not be used after they were freed: definitions, options, writers, results,
 * errors and JSON values.
 *
 * Outputs. A function that has the parameter err sets *err to NULL first, and to an error on
 * failure, which the caller frees; err may be NULL. *out is NULL on failure. An object that the
 * variable held before is overwritten, and not freed: free it before the variable is used again.
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
 * Warnings. Compilers warn when a result is dropped, if the function has err, makes an object, or
 * tells the caller what to do next. The status of any other function may be dropped: a mistake is
 * remembered by the object or logged, and a peer that no longer waits needs no answer.
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

/* The result is not to be dropped: see "Warnings". */
#if defined(MCPLINK_NO_NODISCARD)
#  define MCPLINK_NODISCARD
#elif (defined(__cplusplus) && __cplusplus >= 201703L) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 202311L)
#  define MCPLINK_NODISCARD [[nodiscard]]
#elif defined(__GNUC__) || defined(__clang__)
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

/* ==== Basic types ==== */

/**
 * The result of a function: 0 is success, a negative number is a failure. A positive number is
 * success with a condition to check.
 *
 * Codes are never renumbered and never reused. Treat an unknown negative code as failure.
 */
typedef enum mcplink_status {
    /**
     * Success.
     */
    MCPLINK_OK = 0,
    /**
     * The tool ran and failed: the result contains the reason, for the model to read.
     */
    MCPLINK_TOOL_ERROR = 1,
    /**
     * The answer has not arrived yet.
     */
    MCPLINK_PENDING = 2,
    /**
     * An argument is invalid. A repeated call with the same argument fails too.
     */
    MCPLINK_E_INVALID = -1,
    /**
     * The function may not be called in the current state of the object.
     */
    MCPLINK_E_STATE = -2,
    /**
     * The connection or the handle is closed, or the peer has disconnected.
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
     * The peer answered with a JSON-RPC error: see mcplink_error_rpc_code.
     */
    MCPLINK_E_PEER = -6,
    /**
     * The peer violated the protocol.
     */
    MCPLINK_E_PROTOCOL = -7,
    /**
     * The operating system reported an error: see mcplink_error_os_code.
     */
    MCPLINK_E_IO = -8,
    /**
     * The child process could not be started.
     */
    MCPLINK_E_SPAWN = -9,
    /**
     * The server answered with an HTTP error status, without a JSON-RPC error: see
     * mcplink_error_http_status.
     */
    MCPLINK_E_HTTP = -10,
    /**
     * The server requires other credentials, or rejected the credentials that were sent.
     */
    MCPLINK_E_AUTH = -11,
    /**
     * The peer, its protocol revision or this build of the library does not support the function.
     */
    MCPLINK_E_UNSUPPORTED = -12,
    /**
     * A size or count limit was reached, or the system has no memory for data from a peer.
     */
    MCPLINK_E_LIMIT = -13,
    /**
     * Too many requests are in flight. Nothing was sent.
     */
    MCPLINK_E_BUSY = -14,
    /**
     * The handle was made by the parent process before a fork. In the child the handle can't be
     * used, and freeing it does nothing.
     */
    MCPLINK_E_FORKED = -15,
    /**
     * A bug in this library: the library panicked.
     */
    MCPLINK_E_PANIC = -16,
    /**
     * A failure of the host. Callbacks may return this status, and no function of the library
     * returns it.
     */
    MCPLINK_E_USER = -17,
} mcplink_status;

/**
 * A value of enum mcplink_status, or a value that a newer version of the library added.
 */
typedef int32_t mcplink_status_t;

/**
 * A borrowed view of text: UTF-8, with its length in bytes.
 *
 * ptr is never NULL, and the byte after the text is always 0. So printf("%s") works for text
 * without an embedded NUL. The comment of each function that returns a view says how long the view
 * is valid.
 */
typedef struct {
    /**
     * The first byte of the text.
     */
    const char *ptr;
    /**
     * The number of bytes of the text, without the terminating NUL.
     */
    size_t len;
} mcplink_str_t;

/**
 * Releases the user data of a callback. The function runs exactly once: when the callback is
 * replaced, when the object with which it was registered is freed, or at once when the callback
 * can't be registered.
 */
typedef void (*mcplink_destroy_fn)(void *user);

/* ==== Objects ==== */

/**
 * A cache of responses that several clients share: see mcplink_client_options_set_cache. Without
 * it, each client has a cache of its own.
 */
typedef struct mcplink_cache_t mcplink_cache_t;

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
 * A cancel token: cancels the calls that use it, from any thread. For example, a host triggers the
 * token when the user presses Escape. One token may be used by many calls.
 */
typedef struct mcplink_cancel_t mcplink_cancel_t;

/**
 * Options of a client. Opening a client copies the options. The options remain the caller's, and
 * may be used to open several clients.
 */
typedef struct mcplink_client_options_t mcplink_client_options_t;

/**
 * A client: a connection to one server. Thread-safe.
 *
 * The callbacks of a client run one at a time and in order. They run on a dispatcher thread of the
 * client or, with a pump, on the thread that dispatches the pump. They may call any function of
 * this library, also with this client.
 */
typedef struct mcplink_client_t mcplink_client_t;

/**
 * The servers of a configuration file, as hosts write it. One thread at a time may use it.
 */
typedef struct mcplink_config_t mcplink_config_t;

/**
 * The eras of servers, by their addresses: see mcplink_client_options_set_era_memory.
 */
typedef struct mcplink_era_memory_t mcplink_era_memory_t;

/**
 * An error: what failed, and what to do about it. A function that fails returns an error through
 * its parameter err. The caller owns the error and frees it with mcplink_error_free.
 *
 * A function sets *err to NULL first, and never reads or frees the old value. So free an error
 * before its variable is passed to the next function. When 1000 errors are not freed, a warning is
 * logged: see mcplink_set_log.
 */
typedef struct mcplink_error_t mcplink_error_t;

/**
 * An HTTP exchange: a request that the host's own web server received, and the functions that send
 * its response.
 */
typedef struct mcplink_exchange_t mcplink_exchange_t;

/**
 * An HTTP request that the host sends, and its response.
 *
 * The function that receives a fetch borrows it until the function returns. To write the response
 * later, keep the fetch with mcplink_fetch_keep. A fetch whose last reference is released before
 * the response has ended fails. Any thread may use a fetch.
 */
typedef struct mcplink_fetch_t mcplink_fetch_t;

/**
 * A form: a question to the user, with fields to fill in. mcplink_responder_elicit shows it.
 *
 * One thread at a time may change a form. Handlers on many threads may show a form that does not
 * change any more.
 */
typedef struct mcplink_form_t mcplink_form_t;

/**
 * Several servers used as one: joined lists, and names that tell the servers apart. Thread-safe.
 *
 * Each server has a name in the group. The group knows a tool or a prompt by the name of its
 * server and its own name: the tool "read" of the server "files" is "files__read". Resources keep
 * their URIs. A call is made with the client that mcplink_group_find returns.
 *
 * The clients remain the caller's. Their callbacks receive events and requests as before.
 */
typedef struct mcplink_group_t mcplink_group_t;

/**
 * A request about which a guard decides. It is valid until the function of the guard returns.
 */
typedef struct mcplink_guarded_request_t mcplink_guarded_request_t;

/**
 * The status and header fields of a response. The host itself adds the header fields for length,
 * connection and date. The head is borrowed until the function that receives it returns.
 */
typedef struct mcplink_http_head_t mcplink_http_head_t;

/**
 * HTTP options of a server. The defaults suit a server for clients on this machine. One thread at
 * a time may use the options. Listeners and endpoints copy the options with which they are made.
 */
typedef struct mcplink_http_options_t mcplink_http_options_t;

/**
 * An HTTP request that has to be authenticated. The request is borrowed until the callback that
 * receives it returns. After that, a function that changes the request fails with MCPLINK_E_STATE.
 */
typedef struct mcplink_http_request_t mcplink_http_request_t;

/**
 * The HTTP endpoint of a server, to be mounted in a web server of the host.
 */
typedef struct mcplink_http_t mcplink_http_t;

/**
 * A JSON value: a document that the caller owns, or a node of a document.
 *
 * Every reading function accepts NULL and a node of another type, and then returns a neutral
 * value. So a chain of calls needs no checks between the calls. A node is valid as long as its
 * document. Many threads may read a document at once.
 */
typedef struct mcplink_json_t mcplink_json_t;

/**
 * A listener, which accepts HTTP clients for a server.
 */
typedef struct mcplink_listener_t mcplink_listener_t;

/**
 * A pending login: a server requires that a person logs in.
 *
 * The callback that receives the login borrows the login until the callback returns. To answer
 * later, keep the login with mcplink_login_keep. A login that is neither answered nor kept is
 * refused. Any thread may use a login.
 */
typedef struct mcplink_login_t mcplink_login_t;

/**
 * An OAuth client that was registered with an authorization server beforehand. Only one thread at
 * a time may use the object.
 */
typedef struct mcplink_oauth_client_t mcplink_oauth_client_t;

/**
 * OAuth settings: how a client obtains and renews access tokens for servers over HTTP. By default
 * a person logs in with the browser of the system, and everything else is discovered from the
 * server.
 *
 * Clients that are opened with the same settings object share tokens and logins, if the settings
 * did not change in between. One thread at a time may use the settings object. Clients hold a
 * reference to the settings object.
 */
typedef struct mcplink_oauth_t mcplink_oauth_t;

/**
 * An output parameter: receives text or bytes from a function of the host. See mcplink_output_set.
 */
typedef struct mcplink_output_t mcplink_output_t;

/**
 * The definition of a prompt: messages that a user selects by name. One thread at a time may use a
 * definition. A server copies the definitions that are added to it.
 */
typedef struct mcplink_prompt_t mcplink_prompt_t;

/**
 * A published server, to which other programs of the same user can connect.
 */
typedef struct mcplink_publication_t mcplink_publication_t;

/**
 * A queue that runs callbacks on a thread of the host's choice. One pump serves any number of
 * clients and servers.
 *
 * Reading and writing stay on the threads of the library. Only the host's callbacks wait in the
 * pump, until the host dispatches it.
 *
 * The thread of a pump is the last thread that dispatched the pump. Before the first dispatch, it
 * is the thread that made the pump, called mcplink_pump_fd or called mcplink_pump_wait, whichever
 * was last. A blocking call of a client on this thread runs the handlers for requests of the
 * server while it waits. A blocking call on another thread waits until the pump is dispatched.
 */
typedef struct mcplink_pump_t mcplink_pump_t;

/**
 * A record that mcplink_record_read_fn reads. See mcplink_record_set.
 */
typedef struct mcplink_record_t mcplink_record_t;

/**
 * A running replay: receives the events of a stream from mcplink_event_replay_fn. See
 * mcplink_replay_send.
 */
typedef struct mcplink_replay_t mcplink_replay_t;

/**
 * A request that a handler of the host answers. The request is valid as long as its responder:
 * until the handler returns, or, if the responder was kept, until the last mcplink_responder_free
 * for that responder. Any thread may read the request.
 */
typedef struct mcplink_request_t mcplink_request_t;

/**
 * The description of an OAuth resource server: a server over HTTP that requires access tokens,
 * which an authorization server issues. One thread at a time may use the description. HTTP options
 * store a copy of the description: see mcplink_http_options_set_resource_server.
 *
 * Each request must have a token in its header field Authorization. The token must be valid,
 * issued for this server, and not expired. Other requests are answered with status 401 and a
 * challenge that says where to obtain tokens. A request whose token lacks a required scope is
 * answered with status 403 and the required scopes. The challenge contains the URL of the server's
 * metadata, which clients can fetch without a token.
 */
typedef struct mcplink_resource_server_t mcplink_resource_server_t;

/**
 * The definition of a resource: contents that can be read at a URI. One thread at a time may use a
 * definition. A server copies the definitions that are added to it.
 */
typedef struct mcplink_resource_t mcplink_resource_t;

/**
 * A responder: the right to answer one request, exactly once, from any thread.
 *
 * A handler borrows the responder until the handler returns. To answer later, the handler keeps
 * the responder with mcplink_responder_keep. If the handler returns without answering the request
 * or keeping the responder, the request is answered with an internal error. If the handler has
 * requested input from the client, the input requests are sent instead.
 */
typedef struct mcplink_responder_t mcplink_responder_t;

/**
 * The result of a call. The caller owns it and frees it with mcplink_result_free.
 *
 * A result is immutable, so many threads may read it at once. Text and nodes that belong to a
 * result are valid as long as the result.
 */
typedef struct mcplink_result_t mcplink_result_t;

/**
 * The options of a server. One thread at a time may use the options. A server copies the options
 * with which it is made.
 */
typedef struct mcplink_server_options_t mcplink_server_options_t;

/**
 * A server, which offers tools, resources and prompts to any number of clients at once. A server
 * is thread-safe. Tools, resources and prompts can be changed while the server serves; clients are
 * notified.
 *
 * Without a pump, the handlers run on threads of the library, several at once. With a pump, the
 * handlers run one at a time on the thread that dispatches the pump.
 */
typedef struct mcplink_server_t mcplink_server_t;

/**
 * A session: the connection to one client of a server.
 */
typedef struct mcplink_session_t mcplink_session_t;

/**
 * The definition of a resource template: resources whose URIs follow a pattern (RFC 6570).
 * Supported expressions are {var}, {+path}, {/var}, {.ext} and, at the end, {?a,b}. One thread at
 * a time may use a definition. A server copies the definitions that are added to it.
 */
typedef struct mcplink_template_t mcplink_template_t;

/**
 * The definition of a tool that a model can call. One thread at a time may use a definition. A
 * server copies the definitions that are added to it.
 */
typedef struct mcplink_tool_t mcplink_tool_t;

/**
 * A transport of the host, for example over the host's own sockets, a web view, or a serial line.
 *
 * Each message is one line. The library finds the lines in the bytes that the host feeds, however
 * the bytes are split. One transport serves one connection: pass the transport once, to
 * mcplink_client_options_set_transport or mcplink_server_attach. For a client and a server in one
 * process see mcplink_transport_pair.
 */
typedef struct mcplink_transport_t mcplink_transport_t;

/**
 * A watcher of published servers. See mcplink_watcher_new.
 */
typedef struct mcplink_watcher_t mcplink_watcher_t;

/**
 * A JSON writer: builds one JSON value step by step.
 *
 * Errors are remembered: after the first error further calls do nothing, and mcplink_writer_finish
 * returns the first error. So a host needs to check only mcplink_writer_finish.
 */
typedef struct mcplink_writer_t mcplink_writer_t;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/* ==== Version ==== */

/**
 * Returns the version of this library as text, for example "0.1.0".
 *
 * @return a static string that ends in NUL; never NULL.
 */
MCPLINK_API const char *mcplink_version(void);

/**
 * Returns the version of this library as a number: major << 24 | minor << 16 | patch << 8.
 *
 * @return the number; compare it with MCPLINK_VERSION_NUMBER.
 */
MCPLINK_API uint32_t mcplink_version_number(void);

/**
 * Checks whether this library is compatible with a program that was compiled against a header of
 * the given version.
 *
 * @param header_version MCPLINK_VERSION_NUMBER. Before 1.0 a library is compatible with headers of its
 * own minor version, and from 1.0 with headers of its major version. The header must not be newer
 * than the library.
 * @return true if the library is compatible.
 */
MCPLINK_API bool mcplink_check_version(uint32_t header_version);

/**
 * Checks whether this build of the library has a feature. Functions of a missing feature return
 * MCPLINK_E_UNSUPPORTED.
 *
 * @param feature "http-client", "http-server", "tls", "auth" (OAuth for clients), "jwt" (signed tokens
 * on servers), "validation" or "skills"; "http" for clients and servers over HTTP together.
 * @return true if the build has the feature; false for NULL and unknown names.
 */
MCPLINK_API bool mcplink_has_feature(const char *feature);

/**
 * Returns the protocol revisions that this library supports, the newest first.
 *
 * @return a static string that ends in NUL, with a space between two revisions, for example
 * "2026-07-28 2025-11-25"; never NULL.
 */
MCPLINK_API const char *mcplink_revisions(void);

/* ==== Errors and log ==== */

/**
 * Returns the name of a status, for example "MCPLINK_E_TIMEOUT".
 *
 * @param status any number.
 * @return a static string that ends in NUL; "unknown status" for a number that this library does
 * not know. Never NULL.
 */
MCPLINK_API const char *mcplink_status_name(mcplink_status_t status);

/**
 * Frees an error.
 *
 * @param error the error; may be NULL. Text that belongs to the error is invalid afterwards.
 */
MCPLINK_API void mcplink_error_free(mcplink_error_t *error);

/**
 * Returns the status that the failed function returned.
 *
 * @param error the error; for NULL the function returns MCPLINK_OK.
 * @return one of MCPLINK_E_*.
 */
MCPLINK_API mcplink_status_t mcplink_error_status(const mcplink_error_t *error);

/**
 * Returns the method of the request that failed, for example "tools/call".
 *
 * @return text that is valid as long as the error; empty when no request failed.
 */
MCPLINK_API mcplink_str_t mcplink_error_method(const mcplink_error_t *error);

/**
 * Returns the JSON-RPC code of the peer's error, for example -32602.
 *
 * @return 0 when the error did not come from the peer.
 */
MCPLINK_API int64_t mcplink_error_rpc_code(const mcplink_error_t *error);

/**
 * Returns the data of the peer's JSON-RPC error, as JSON text.
 *
 * @return text that is valid as long as the error; empty when the error has no data.
 */
MCPLINK_API mcplink_str_t mcplink_error_data(const mcplink_error_t *error);

/**
 * Returns the operating system's error number (errno).
 *
 * @return 0 when the error did not come from the system.
 */
MCPLINK_API int32_t mcplink_error_os_code(const mcplink_error_t *error);

/**
 * Returns the HTTP status of the server's answer, if the status was an error.
 *
 * @return 0 when the error has no HTTP status.
 */
MCPLINK_API int32_t mcplink_error_http_status(const mcplink_error_t *error);

/**
 * Returns the authentication challenge of an HTTP server: the header field WWW-Authenticate of
 * the server's answer.
 *
 * @return text that is valid as long as the error; empty when the answer has no challenge.
 */
MCPLINK_API mcplink_str_t mcplink_error_http_challenge(const mcplink_error_t *error);

/**
 * Returns the OAuth error code with which an authorization server refused a login or a token,
 * for example "access_denied" or "invalid_grant".
 *
 * @return text that is valid as long as the error; empty when the error has no such code.
 */
MCPLINK_API mcplink_str_t mcplink_error_oauth_code(const mcplink_error_t *error);

/**
 * Returns the last lines that a child process wrote to its standard error after its last
 * answer.
 *
 * @return text that is valid as long as the error; empty when there are no such lines.
 */
MCPLINK_API mcplink_str_t mcplink_error_peer_stderr(const mcplink_error_t *error);

/**
 * Checks whether the request that failed may have had an effect on the server: whether a part
 * of it may have been sent. If not, the same call can be made again without doing anything
 * twice.
 *
 * @return true if the request may have been sent.
 */
MCPLINK_API bool mcplink_error_was_sent(const mcplink_error_t *error);

/**
 * Checks whether the call can be retried. A call can be retried if nothing was sent, or if the
 * peer answered that the peer is busy. In both cases the call had no effect, and may succeed
 * later.
 *
 * @return true if the call can be retried.
 */
MCPLINK_API bool mcplink_error_is_retryable(const mcplink_error_t *error);

/**
 * Returns the message: one line that says what failed and what to do. See
 * mcplink_error_peer_stderr for the last output of a child process.
 *
 * @return text that ends in NUL, valid as long as the error; never NULL. The text is for users.
 * To distinguish failures, compare their status.
 */
MCPLINK_API const char *mcplink_error_message(const mcplink_error_t *error);

/**
 * The severity of a log message, after RFC 5424.
 */
typedef enum mcplink_log_level {
    /**
     * Details for debugging.
     */
    MCPLINK_LOG_DEBUG = 1100,
    /**
     * General information.
     */
    MCPLINK_LOG_INFO = 1101,
    /**
     * Normal but significant events.
     */
    MCPLINK_LOG_NOTICE = 1102,
    /**
     * Warning conditions.
     */
    MCPLINK_LOG_WARNING = 1103,
    /**
     * Error conditions.
     */
    MCPLINK_LOG_ERROR = 1104,
    /**
     * Critical conditions.
     */
    MCPLINK_LOG_CRITICAL = 1105,
    /**
     * Conditions that require action at once.
     */
    MCPLINK_LOG_ALERT = 1106,
    /**
     * Conditions that make the system unusable.
     */
    MCPLINK_LOG_EMERGENCY = 1107,
} mcplink_log_level;

/**
 * Receives a log record of the library, for example about a protocol error of a peer or a failed
 * handler. The callback runs on any thread, also on several at once, and must be quick.
 *
 * @param level the severity of the record.
 * @param target the part of the library that logs: "protocol", "transport", "server", "client", "http",
 * "auth", "handle" for an invalid argument of a function that returns no error, or "library" for a
 * bug of this library; later versions may add more. Valid until the callback returns.
 * @param text usually one line; valid until the callback returns.
 */
typedef void (*mcplink_log_fn)(void *user, mcplink_log_level level, mcplink_str_t target, mcplink_str_t text);

/**
 * Sets the process-wide log hook. Clients and servers without a log hook of their own use the
 * process-wide hook.
 *
 * @param level the least severe level to report.
 * @param callback called on any thread, also on several at once; it must be quick. NULL removes the
 * hook; level is then ignored.
 * @param user,destroy passed to callback; destroy runs when another log hook is set or the log hook is
 * removed.
 */
MCPLINK_API mcplink_status_t mcplink_set_log(mcplink_log_level level, mcplink_log_fn callback, void *user, mcplink_destroy_fn destroy);

/**
 * Writes a debug dump: all servers of the process with their connections, their requests in
 * flight, and the threads that run handlers or wait. For clients see mcplink_client_activity.
 *
 * @param fd the file descriptor to write to. The caller keeps the ownership of the descriptor.
 * @return MCPLINK_OK, MCPLINK_E_INVALID or MCPLINK_E_IO.
 * @note Threads: any, but no signal handler. Blocks: while fd accepts no data.
 */
MCPLINK_NODISCARD MCPLINK_API mcplink_status_t mcplink_debug_dump(ptrdiff_t fd);

/* ==== JSON ==== */

/**
 * Parses a JSON document.
 *
 * @param text,len the text, which is copied; len may be MCPLINK_NUL for text that ends in NUL.
 * @param out receives the document, NULL on failure. The caller owns it and frees it with
 * mcplink_json_free.
 * @param err receives the error on failure, with line and column; the caller frees it. May be NULL.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID. Integers from -2^63 to 2^64-1 stay exact; documents
 * may be nested 127 levels deep.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_json_parse(const char *text,
                                    size_t len,
                                    mcplink_json_t **out,
                                    mcplink_error_t **err);

/**
 * Frees a document that the caller owns, such as a document that mcplink_json_parse or
 * mcplink_client_stats returned. All its nodes are invalid afterwards.
 *
 * @param document the document; may be NULL. Do not pass a node of a document, such as the node that
 * mcplink_json_get returns.
 */
MCPLINK_API void mcplink_json_free(mcplink_json_t *document);

/**
 * The type of a JSON value.
 */
typedef enum mcplink_json_type {
    /**
     * No value: the node is NULL.
     */
    MCPLINK_JSON_MISSING = 0,
    /**
     * The value null.
     */
    MCPLINK_JSON_NULL = 801,
    /**
     * The value true or false.
     */
    MCPLINK_JSON_BOOLEAN = 802,
    /**
     * A number.
     */
    MCPLINK_JSON_NUMBER = 803,
    /**
     * A string.
     */
    MCPLINK_JSON_STRING = 804,
    /**
     * An array.
     */
    MCPLINK_JSON_ARRAY = 805,
    /**
     * An object.
     */
    MCPLINK_JSON_OBJECT = 806,
} mcplink_json_type;

/**
 * Returns the type of a value.
 */
MCPLINK_API mcplink_json_type mcplink_json_type_of(const mcplink_json_t *node);

/**
 * Returns the length of a value: the number of items of an array, members of an object, or
 * bytes of a string.
 *
 * @return the length; 0 for values of other types.
 */
MCPLINK_API size_t mcplink_json_len(const mcplink_json_t *node);

/**
 * Returns the value at a JSON pointer (RFC 6901), for example "/content/0/text".
 *
 * @param node a node or NULL; the pointer is relative to it.
 * @param pointer the JSON pointer; "" for the node itself.
 * @return a node of the same document; NULL when the document has no value there.
 */
MCPLINK_API const mcplink_json_t *mcplink_json_pointer(const mcplink_json_t *node, const char *pointer);

/**
 * Returns the text of a string.
 *
 * @return text that is valid as long as the document; empty for values of other types.
 */
MCPLINK_API mcplink_str_t mcplink_json_str(const mcplink_json_t *node);

/**
 * Reads an integer value.
 *
 * @param out receives the integer. It stays unchanged when the function returns false, so that it
 * can hold a default value. May be NULL.
 * @return true for an integer from -2^63 to 2^63-1; the numbers 1.0 and -0.0 count as
 * integers.
 */
MCPLINK_API bool mcplink_json_i64(const mcplink_json_t *node, int64_t *out);

/**
 * Returns the value of a number, rounded to a double.
 *
 * @return the number; 0 for values of other types.
 */
MCPLINK_API double mcplink_json_f64(const mcplink_json_t *node);

/**
 * Checks whether a value is the JSON value true.
 *
 * @return true for the value true; false for all other values.
 */
MCPLINK_API bool mcplink_json_boolean(const mcplink_json_t *node);

/**
 * Returns a value as compact JSON text: without white space outside of strings.
 *
 * @return text that is valid as long as the document; empty for NULL.
 */
MCPLINK_API mcplink_str_t mcplink_json_text(const mcplink_json_t *node);

/**
 * Returns a member of an object.
 *
 * @param key the name of the member. If several members have this name, the function returns the
 * value of the last member.
 * @return a node of the same document; NULL when the object has no such member.
 */
MCPLINK_API const mcplink_json_t *mcplink_json_get(const mcplink_json_t *node, const char *key);

/**
 * Returns the name of a member of an object, by index. Members keep their original order.
 *
 * @param index from 0.
 * @return text that is valid as long as the document; empty when the index is out of range.
 */
MCPLINK_API mcplink_str_t mcplink_json_key_at(const mcplink_json_t *node, size_t index);

/**
 * Returns an item of an array, or the value of a member of an object, by index.
 *
 * @param index from 0.
 * @return a node of the same document; NULL when the index is out of range.
 */
MCPLINK_API const mcplink_json_t *mcplink_json_at(const mcplink_json_t *node, size_t index);

/**
 * Checks whether a value is missing. A missing value is not the JSON value null.
 *
 * @return true if node is NULL.
 */
MCPLINK_API bool mcplink_json_is_missing(const mcplink_json_t *node);

/**
 * Makes a writer.
 *
 * @return an empty writer. The caller owns it and frees it with mcplink_writer_free.
 */
MCPLINK_NODISCARD MCPLINK_API mcplink_writer_t *mcplink_writer_new(void);

/**
 * Frees a writer and the text that mcplink_writer_finish returned.
 */
MCPLINK_API void mcplink_writer_free(mcplink_writer_t *writer);

/**
 * Resets a writer: clears its text and its error, and keeps the allocated memory for the next
 * value.
 */
MCPLINK_API mcplink_status_t mcplink_writer_reset(mcplink_writer_t *writer);

/**
 * Begins an object. Write each member with mcplink_writer_key and a value, then call
 * mcplink_writer_end.
 */
MCPLINK_API mcplink_status_t mcplink_writer_begin_object(mcplink_writer_t *writer);

/**
 * Begins an array. Write the items of the array, then call mcplink_writer_end.
 */
MCPLINK_API mcplink_status_t mcplink_writer_begin_array(mcplink_writer_t *writer);

/**
 * Ends the innermost open object or array.
 */
MCPLINK_API mcplink_status_t mcplink_writer_end(mcplink_writer_t *writer);

/**
 * Writes the key of a member. The value of the member must come next.
 *
 * @param writer the writer, inside an object.
 * @param key the key.
 */
MCPLINK_API mcplink_status_t mcplink_writer_key(mcplink_writer_t *writer, const char *key);

/**
 * Writes a string.
 *
 * @param text,len UTF-8; len may be MCPLINK_NUL for text that ends in NUL.
 */
MCPLINK_API mcplink_status_t mcplink_writer_str(mcplink_writer_t *writer, const char *text, size_t len);

/**
 * Writes an integer.
 *
 * @param number the integer.
 */
MCPLINK_API mcplink_status_t mcplink_writer_i64(mcplink_writer_t *writer, int64_t number);

/**
 * Writes an unsigned integer.
 *
 * @param number the integer.
 */
MCPLINK_API mcplink_status_t mcplink_writer_u64(mcplink_writer_t *writer, uint64_t number);

/**
 * Writes a double with enough digits that reading the text gives the identical double. The
 * decimal separator is always a point, regardless of the locale.
 *
 * @param number the number; NaN and infinities are errors, because JSON can't represent them.
 */
MCPLINK_API mcplink_status_t mcplink_writer_f64(mcplink_writer_t *writer, double number);

/**
 * Writes true or false.
 *
 * @param boolean the value.
 */
MCPLINK_API mcplink_status_t mcplink_writer_boolean(mcplink_writer_t *writer, bool boolean);

/**
 * Writes null.
 */
MCPLINK_API mcplink_status_t mcplink_writer_null(mcplink_writer_t *writer);

/**
 * Writes bytes as a string in base64 (RFC 4648, section 4).
 *
 * @param data,len the bytes.
 */
MCPLINK_API mcplink_status_t mcplink_writer_bytes(mcplink_writer_t *writer, const void *data, size_t len);

/**
 * Writes a value that is already JSON text.
 *
 * @param json,len one JSON value; len may be MCPLINK_NUL for text that ends in NUL. Invalid JSON is
 * an error.
 */
MCPLINK_API mcplink_status_t mcplink_writer_raw(mcplink_writer_t *writer, const char *json, size_t len);

/**
 * Finishes the value and returns its text.
 *
 * @param out receives the text, which ends in NUL. The text is valid until the writer is used again or
 * freed. Empty on failure.
 * @param err receives the first error, with the byte offset where it occurred; the caller frees it. May
 * be NULL.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID, for example for an open object, a key without a
 * value, NaN, or text that is not UTF-8.
 */
MCPLINK_NODISCARD MCPLINK_API mcplink_status_t mcplink_writer_finish(mcplink_writer_t *writer, mcplink_str_t *out, mcplink_error_t **err);

/* ==== Client: options ==== */

/**
 * Makes client options with the default values. An endpoint must be set: a command, a URL, two
 * descriptors or a transport.
 *
 * @return the options. The caller owns them and frees them with mcplink_client_options_free.
 */
MCPLINK_NODISCARD MCPLINK_API mcplink_client_options_t *mcplink_client_options_new(void);

/**
 * Frees client options. Clients that were opened with them continue.
 */
MCPLINK_API void mcplink_client_options_free(mcplink_client_options_t *options);

/**
 * Sets the name and version of the client. Default: the name and version of this library.
 *
 * @param name the name, for programs.
 * @param version the version, any text.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_info(mcplink_client_options_t *options, const char *name, const char *version);

/**
 * Sets the display name of the client, for people who look after servers.
 *
 * @param title the title; NULL for no title.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_title(mcplink_client_options_t *options, const char *title);

/**
 * Sets the description of the client.
 *
 * @param description the description; NULL for no description.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_description(mcplink_client_options_t *options, const char *description);

/**
 * Sets the URL of the client's website.
 *
 * @param website the URL; NULL for no URL.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_website(mcplink_client_options_t *options, const char *website);

/**
 * Sets the icons of the client.
 *
 * @param icons,len a JSON array of objects with "src"; len may be MCPLINK_NUL for text that ends in
 * NUL. NULL for no icons.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_icons(mcplink_client_options_t *options, const char *icons, size_t len);

/**
 * Sets the protocol revisions that may be used. Default: all revisions that the library
 * supports. The client uses the newest revision that the server supports too. One revision
 * alone is for tests, and for servers that misbehave with a newer one.
 *
 * @param revisions the dates of the revisions, separated by spaces: "2025-11-25 2026-07-28".
 * @return MCPLINK_OK; MCPLINK_E_INVALID for an empty list, MCPLINK_E_UNSUPPORTED for a
 * revision that this library does not know.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_revisions(mcplink_client_options_t *options, const char *revisions);

/**
 * The era of a server: the era of the protocol revision that the client and the server use.
 */
typedef enum mcplink_era {
    /**
     * The era is unknown, or has to be detected.
     */
    MCPLINK_ERA_UNKNOWN = 0,
    /**
     * The legacy era: revisions up to 2025-11-25.
     */
    MCPLINK_ERA_LEGACY = 501,
    /**
     * The modern era: revision 2026-07-28 and later revisions.
     */
    MCPLINK_ERA_MODERN = 502,
} mcplink_era;

/**
 * Sets the expected era of the server, so that the detection is skipped. Use the value of
 * mcplink_client_era from an earlier connection. If the server proves to be of the other era,
 * the client uses that era.
 *
 * @param era the era; MCPLINK_ERA_UNKNOWN changes nothing.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_era(mcplink_client_options_t *options, mcplink_era era);

/**
 * Sets the pump of the client. The callbacks of the client then run on the thread that
 * dispatches the pump. Without a pump they run on a thread of the client.
 *
 * @param pump the pump. The pump must not be freed before the client. NULL for no pump.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_pump(mcplink_client_options_t *options, mcplink_pump_t *pump);

/**
 * Sets a token that can cancel connecting from another thread. When connecting is cancelled,
 * opening fails with MCPLINK_E_CANCELLED.
 *
 * @param cancel the token. The token may be freed before the options. NULL for no token.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_cancel(mcplink_client_options_t *options, mcplink_cancel_t *cancel);

/**
 * Sets whether servers may answer tool calls with tasks. If so, the client declares the tasks
 * extension to servers, and follows each task until its result arrives. Default: false.
 *
 * @param enabled true to accept tasks.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_tasks(mcplink_client_options_t *options, bool enabled);

/**
 * Adds an extension of the protocol, which the client declares to servers.
 *
 * @param id the id of the extension, for example "com.example/thing".
 * @param settings,len a JSON object; empty for no settings. len may be MCPLINK_NUL for text that
 * ends in NUL.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID. An invalid id is reported when the client is
 * opened.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_add_extension(mcplink_client_options_t *options,
                                                      const char *id,
                                                      const char *settings,
                                                      size_t len);

/**
 * The kind of an event. Ignore unknown kinds: later versions may add more.
 */
typedef enum mcplink_event {
    /**
     * A client that was started with mcplink_client_start is connected. The event has no params.
     */
    MCPLINK_EVENT_CONNECTED = 601,
    /**
     * A client that was started with mcplink_client_start could not be connected. The params are
     * {"status":-9,"message":"..."}. Free the client.
     */
    MCPLINK_EVENT_FAILED = 602,
    /**
     * The connection to the server was lost, and the server will be restarted. The params are
     * {"status":-3,"message":"...","attempt":1,"delayMs":250}.
     */
    MCPLINK_EVENT_LOST = 603,
    /**
     * The client has connected to the server again, after the connection was lost. The new
     * connection has none of the state of the lost connection. The params are {"attempt":1}.
     */
    MCPLINK_EVENT_RESTORED = 604,
    /**
     * The connection has ended for good. The params are {"status":-3,"message":"..."} when the
     * connection was lost. There are no params when the client was closed.
     */
    MCPLINK_EVENT_CLOSED = 605,
    /**
     * The list of tools has changed; see mcplink_client_listen. The event has no params.
     */
    MCPLINK_EVENT_TOOLS_CHANGED = 606,
    /**
     * The list of prompts has changed; see mcplink_client_listen. The event has no params.
     */
    MCPLINK_EVENT_PROMPTS_CHANGED = 607,
    /**
     * The list of resources has changed; see mcplink_client_listen. The event has no params.
     */
    MCPLINK_EVENT_RESOURCES_CHANGED = 608,
    /**
     * The contents of a resource have changed; see mcplink_client_subscribe. The params are
     * {"uri":"..."}.
     */
    MCPLINK_EVENT_RESOURCE_UPDATED = 609,
    /**
     * The server was unreachable, so change notifications may have been missed: assume that
     * everything has changed. The event has no params.
     */
    MCPLINK_EVENT_EVERYTHING_CHANGED = 610,
    /**
     * Change notifications have ended, though the connection is open. The params are
     * {"clean":true} when the server ended the subscription regularly, and otherwise
     * {"clean":false}.
     */
    MCPLINK_EVENT_CHANGES_ENDED = 611,
    /**
     * The server has sent a log message. The params are
     * {"level":"info","logger":"...","data":...}.
     */
    MCPLINK_EVENT_LOG_MESSAGE = 612,
    /**
     * The user has completed a URL elicitation. The params are {"elicitationId":"..."}. Only
     * revision 2025-11-25 has this event.
     */
    MCPLINK_EVENT_ELICITATION_COMPLETE = 613,
    /**
     * The server has sent a notification for which the host has set a function. The params are the
     * params of the notification.
     */
    MCPLINK_EVENT_NOTIFICATION = 614,
    /**
     * The state of a task has changed; see mcplink_client_listen. The params are the complete
     * task, as returned by tasks/get, for example
     * {"taskId":"...","status":"completed","result":{...},...}.
     */
    MCPLINK_EVENT_TASK_CHANGED = 615,
} mcplink_event;

/**
 * Receives an event of a client.
 *
 * @param event the kind of the event. Ignore unknown kinds.
 * @param params the details, valid until the callback returns; NULL for an event without details.
 */
typedef void (*mcplink_event_fn)(void *user, mcplink_event event, const mcplink_json_t *params);

/**
 * Sets the function that receives the events of the client: connection state, changes on the
 * server, and log messages of the server.
 *
 * @param callback the function; NULL for no function. The function runs on the thread that runs the
 * client's callbacks, one event at a time and in order. At most 1024 changes and log messages
 * wait. Further changes and log messages are dropped.
 * @param user,destroy passed to callback; destroy runs when another function is set, or when the
 * options and all clients that use callback are freed.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_on_event(mcplink_client_options_t *options,
                                                 mcplink_event_fn callback,
                                                 void *user,
                                                 mcplink_destroy_fn destroy);

/**
 * Sets the function that receives the notifications of one method, for extensions of the
 * protocol.
 *
 * @param method the method, for example "notifications/com.example/thing".
 * @param callback receives MCPLINK_EVENT_NOTIFICATION and the params. NULL for no function. The
 * function runs on the same thread as the function of mcplink_client_options_on_event.
 * @param user,destroy passed to callback; destroy runs when another function is set for the method,
 * or when the options and all clients that use callback are freed.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_on_notification(mcplink_client_options_t *options,
                                                        const char *method,
                                                        mcplink_event_fn callback,
                                                        void *user,
                                                        mcplink_destroy_fn destroy);

/**
 * Sets the log hook of the client. For this client, the log hook replaces the process-wide
 * hook that was set with mcplink_set_log.
 *
 * @param level the least severe level to report.
 * @param callback the log hook; NULL for no hook. It runs on any thread, also with a pump, and must
 * be quick.
 * @param user,destroy passed to callback; destroy runs when another function is set, or when the
 * options and all clients that use callback are freed.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_on_log(mcplink_client_options_t *options,
                                               mcplink_log_level level,
                                               mcplink_log_fn callback,
                                               void *user,
                                               mcplink_destroy_fn destroy);

/**
 * Sets how long connecting may take in total, so that a server that never answers does not
 * keep the host waiting. Default: 60 s. After this time, connecting fails with
 * MCPLINK_E_TIMEOUT.
 *
 * @param milliseconds the timeout; MCPLINK_FOREVER for no timeout.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_connect_timeout_ms(mcplink_client_options_t *options, uint32_t milliseconds);

/**
 * Sets how long a server may take to answer the first request. A server that takes longer is
 * treated as a legacy server, because some of these do not answer a request that they don't
 * know. Default: 5 s.
 *
 * @param milliseconds the timeout. The timeout is not used over HTTP, where a missing answer does
 * not indicate the era.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_probe_timeout_ms(mcplink_client_options_t *options, uint32_t milliseconds);

/**
 * Sets the default timeout of calls: how long a call waits for its result, so that a server
 * that hangs does not hang the host. Progress restarts the timeout. Default: 60 s.
 *
 * @param milliseconds the timeout; MCPLINK_FOREVER for no timeout.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_timeout_ms(mcplink_client_options_t *options, uint32_t milliseconds);

/**
 * Sets the default total timeout of calls, which ends calls whose progress never ends.
 * Progress does not restart the total timeout. Default: 10 minutes.
 *
 * @param milliseconds the timeout; MCPLINK_FOREVER for no timeout.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_max_timeout_ms(mcplink_client_options_t *options, uint32_t milliseconds);

/**
 * A limit of each connection of a client or server. The comment of each limit names its
 * default, and what happens when the limit is reached.
 */
typedef enum mcplink_limit {
    /**
     * The maximum length of a message, in bytes. Default: 16 MiB. A longer message is dropped:
     * a request is answered with an error, and a response fails its call.
     */
    MCPLINK_LIMIT_MESSAGE_BYTES = 901,
    /**
     * The maximum nesting depth of arrays and objects in a message. Default: 128. A message
     * that is nested deeper is answered with an error.
     */
    MCPLINK_LIMIT_DEPTH = 902,
    /**
     * The maximum number of bytes that wait to be sent while a peer does not read. Default: 16
     * MiB. A caller whose message would exceed the limit blocks until its deadline.
     */
    MCPLINK_LIMIT_QUEUED_BYTES = 903,
    /**
     * The maximum number of calls to the peer in flight. Default: 10000. The next call fails
     * with MCPLINK_E_BUSY.
     */
    MCPLINK_LIMIT_CALLS = 904,
    /**
     * The maximum number of requests from the peer in flight. Default: 1024. The next request
     * is answered with a "busy" error. While the peer does not read the answers, further
     * requests are deferred instead.
     */
    MCPLINK_LIMIT_REQUESTS = 905,
    /**
     * The maximum number of calls that wait for input from a client of a revision before
     * 2026-07-28. Default: 1024. The next call that needs input fails.
     */
    MCPLINK_LIMIT_QUESTIONS = 906,
    /**
     * The maximum number of handlers that run at once. Default: 64. Each handler runs on its
     * own thread, and further requests wait for a free thread. The client with the fewest
     * running handlers gets the next free thread. One client may use all threads; other
     * clients then use reserved threads beyond this limit: see MCPLINK_LIMIT_RESERVE_PERCENT.
     * All HTTP clients without a session share these threads for their tasks.
     */
    MCPLINK_LIMIT_WORKERS = 907,
    /**
     * The maximum number of notifications from the peer that wait to be delivered. Default:
     * 1024. The next notification is dropped.
     */
    MCPLINK_LIMIT_NOTIFICATIONS = 908,
    /**
     * The maximum number of subscriptions of one client. Default: 1024. The next subscription
     * is refused.
     */
    MCPLINK_LIMIT_SUBSCRIPTIONS = 909,
    /**
     * The maximum number of log messages outside of calls that wait for one client of a
     * revision before 2026-07-28. Default: 1024. The next log message for that client is
     * dropped. Change notifications need no limit, because waiting change notifications are
     * merged.
     */
    MCPLINK_LIMIT_BACKLOG = 910,
    /**
     * The maximum number of progress and log messages of one call that wait for its callback.
     * Default: 1024. Above the limit, progress messages are merged.
     */
    MCPLINK_LIMIT_CALL_EVENTS = 911,
    /**
     * The maximum number of responses in the cache of a client. Only responses that the server
     * allows to be cached are stored. Default: 1024. The least recently used responses are
     * evicted.
     */
    MCPLINK_LIMIT_CACHED_RESPONSES = 912,
    /**
     * The maximum number of bytes in the cache of a client. Default: 16 MiB. The least
     * recently used responses are evicted.
     */
    MCPLINK_LIMIT_CACHED_BYTES = 913,
    /**
     * The maximum share, in percent, of requests, subscriptions, tasks and memory that one
     * client of a server may use while other clients need them too. Default: 50. A client that
     * is alone may use everything except the reserved percentage: see
     * MCPLINK_LIMIT_RESERVE_PERCENT. For connections, threads of requests and sessions see
     * MCPLINK_HTTP_LIMIT_PART_PERCENT.
     */
    MCPLINK_LIMIT_PART_PERCENT = 914,
    /**
     * The percentage of the requests, subscriptions, tasks and memory that is reserved for
     * clients that use little of them. Default: 12. With 0, nothing is reserved.
     */
    MCPLINK_LIMIT_RESERVE_PERCENT = 915,
} mcplink_limit;

/**
 * Sets a limit of the connection.
 *
 * @param limit the limit.
 * @param value the new value of the limit.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID for an unknown limit.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_limit(mcplink_client_options_t *options, mcplink_limit limit, size_t value);

/**
 * Sets the maximum number of started calls that have not ended, so that a slow server can't
 * occupy any amount of memory. Default: 256. At the limit, starting another call fails with
 * MCPLINK_E_BUSY.
 *
 * A call has no thread while the server works on its first request. If more is to be done, a
 * thread continues the call: further pages of a list, input requests of the server. A call has
 * a thread from its start if it waits for a task or calls a tool as a task, and if it is
 * started before the client is connected. The calls that run in order (see
 * mcplink_client_listen_start) share one thread.
 *
 * @param count the maximum number, at least 1.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID for 0.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_max_started(mcplink_client_options_t *options, size_t count);

/**
 * Sets how the server is restarted automatically when the connection is lost, so that a crash
 * costs no more than the calls in flight. Default: no restart. The endpoint must be a command,
 * or another endpoint that can be connected again.
 *
 * When the connection is lost, calls in flight fail with MCPLINK_E_CLOSED. Calls that were not
 * sent yet wait for the new connection until their deadline.
 *
 * @param max_attempts the number of attempts in a row, for example 10; 0 for no restart.
 * @param first_delay_ms,max_delay_ms the delay before the first attempt, and the longest delay, in
 * milliseconds. The delay doubles from attempt to attempt (back-off). Common values are 250
 * and 30000.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_restart(mcplink_client_options_t *options,
                                                    uint32_t max_attempts,
                                                    uint32_t first_delay_ms,
                                                    uint32_t max_delay_ms);

/**
 * Sets whether idempotent calls are retried after a restart, though the server may have
 * executed them before the connection was lost. Idempotent calls are reads, lists, and calls
 * of listed tools that declare themselves idempotent or read-only. Default: false. The setting
 * has no effect without mcplink_client_options_set_restart.
 *
 * @param enabled true to retry idempotent calls.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_retry_idempotent_calls(mcplink_client_options_t *options, bool enabled);

/**
 * Sets that the client pings the server after a silence, and ends the connection when the
 * server does not answer. So a server that hangs, or a network that is gone without a word, is
 * noticed before the next call. Default: no pings.
 *
 * @param interval_ms the length of the silence, in milliseconds.
 * @param timeout_ms how long an answer may take, in milliseconds, for example 30000.
 * @param max_failures the number of unanswered pings in a row after which the connection ends, for
 * example 3.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID when a time is 0.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_keep_alive(mcplink_client_options_t *options,
                                                       uint32_t interval_ms,
                                                       uint32_t timeout_ms,
                                                       uint32_t max_failures);

/**
 * Sets the maximum number of pages and of items in a list, so that a list without an end can't
 * fill the memory. Default: 10 000 pages and 100 000 items. Reading a longer list fails with
 * MCPLINK_E_LIMIT.
 *
 * @param pages,items the maximum number of pages and the maximum number of items.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_max_list(mcplink_client_options_t *options, size_t pages, size_t items);

/**
 * Sets whether answers of the server that violate the specification are refused, for tests of
 * servers. Default: false. With false, unambiguous violations are accepted, and invalid
 * entries are left out of lists (see mcplink_result_misfits).
 *
 * With true, an invalid request of the server (elicitation, sampling, roots) reaches no
 * callback: the request is refused, or the call to which the request belongs fails.
 * docs/compatibility.md lists the violations that are accepted.
 *
 * @param enabled true to refuse invalid answers: a call with an invalid answer fails with
 * MCPLINK_E_PROTOCOL.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_strict(mcplink_client_options_t *options, bool enabled);

/**
 * Sets whether the client names itself to servers of revisions since 2026-07-28, with each
 * request. A host that does not want to be recognised sets false. Earlier revisions require
 * the name. Default: true.
 *
 * @param enabled false to send no name, for privacy.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_send_client_info(mcplink_client_options_t *options, bool enabled);

/**
 * Sets whether a call is sent although the server did not declare the required capability.
 * Default: false, which means that such a call fails at once with MCPLINK_E_UNSUPPORTED. Use
 * true for a server that has tools, for example, but does not declare the capability.
 *
 * @param enabled true to send the call.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_assume_capabilities(mcplink_client_options_t *options, bool enabled);

/**
 * Sets the time after which a running handler of the host is logged as slow: all other
 * callbacks of the client wait for it. Default: 30 s.
 *
 * @param milliseconds the time; MCPLINK_FOREVER to log no handler as slow.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_slow_handler_ms(mcplink_client_options_t *options, uint32_t milliseconds);

/**
 * Disables the validation of structured tool results against the listed output schemas, which
 * saves their time where the server is trusted. A build without the feature "validation"
 * validates these results only with a validator that was set with
 * mcplink_client_options_set_validator, and this function removes that validator.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_clear_validation(mcplink_client_options_t *options);

/**
 * Compiles a JSON Schema, so that mcplink_schema_check_fn can check values with it.
 *
 * A server compiles the schemas of a tool on the thread that adds the tool. A client compiles the
 * output schema of a tool on the thread that calls the tool. The function may run on several
 * threads at once. It must bound its own cost, because a client gets schemas from servers. It must
 * not call functions of the client or server.
 *
 * @param schema the schema, as JSON text; valid until the callback returns.
 * @param compiled receives a pointer for the compiled schema, which the other functions get. Without a
 * pointer they get NULL.
 * @param reason receives by mcplink_output_set why the schema can't be used, in one sentence.
 * @return MCPLINK_OK. MCPLINK_E_UNSUPPORTED means that the validator does not know the dialect of
 * the schema, and any other status that the schema is invalid. A schema with a reason is invalid
 * too, so that a function may return what mcplink_output_set returned. An unsupported or invalid
 * schema is not used, and compiled is ignored.
 */
typedef mcplink_status_t (*mcplink_schema_compile_fn)(void *user, mcplink_str_t schema, void **compiled, mcplink_output_t *reason);

/**
 * Checks a value against a compiled schema. The function runs on the threads that serve or make
 * calls, on several at once, also for one schema, and also with a pump. It must bound its own
 * cost, because the value comes from a peer.
 *
 * @param compiled the pointer that mcplink_schema_compile_fn gave.
 * @param json the value, as JSON text; valid until the callback returns.
 * @param fault receives by mcplink_output_set where the value is wrong and what was expected, in one
 * sentence, for example "/count: expected an integer". The peer, and a model behind it, may read
 * the sentence.
 * @return MCPLINK_OK if the value fits the schema; MCPLINK_E_INVALID if not. Any other status
 * means that the function can't tell: the value is then refused too. A value with a fault is
 * refused with any status.
 */
typedef mcplink_status_t (*mcplink_schema_check_fn)(void *user, void *compiled, mcplink_str_t json, mcplink_output_t *fault);

/**
 * Frees a compiled schema. The function runs once for each schema for which
 * mcplink_schema_compile_fn returned MCPLINK_OK, on any thread, and before destroy. It must be
 * quick, and must not call functions of the client or server.
 *
 * @param compiled the pointer that mcplink_schema_compile_fn gave.
 */
typedef void (*mcplink_schema_free_fn)(void *user, void *compiled);

/**
 * Sets a validator of the host, which checks structured tool results against the listed output
 * schemas instead of the library. If a result does not fit, its call fails with
 * MCPLINK_E_PROTOCOL. If a schema can't be used, a call of its tool fails before it is sent.
 *
 * @param compile,check,free see mcplink_schema_compile_fn, mcplink_schema_check_fn and
 * mcplink_schema_free_fn. NULL is refused for each of them: see
 * mcplink_client_options_clear_validation.
 * @param user,destroy passed to the functions; destroy runs when the validator is replaced or
 * cleared, or when the options and all clients that use the validator are freed.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_validator(mcplink_client_options_t *options,
                                                      mcplink_schema_compile_fn compile,
                                                      mcplink_schema_check_fn check,
                                                      mcplink_schema_free_fn free,
                                                      void *user,
                                                      mcplink_destroy_fn destroy);

/**
 * Sets the stack size of the client's threads that may run code of the host: larger for
 * callbacks that recurse deeply, smaller for a host with many clients. Default: 8 MiB, or 2
 * MiB on a 32-bit system. A stack reserves address space, and uses memory only for the pages
 * that were written to.
 *
 * @param bytes 262144 (256 KiB) to 1073741824 (1 GiB); the system rounds the size up to whole pages.
 * If the system lacks the memory, starting a thread fails.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID for another size.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_thread_stack_size(mcplink_client_options_t *options, size_t bytes);

/**
 * Sets the prefix of the names of the client's threads, by which debuggers and profilers show
 * whose threads they are. Default: "mcplink". A name consists of the prefix, a dash and the
 * role of the thread, such as "mcplink-call". Linux shows only the first 15 bytes of a name.
 *
 * @param prefix 1 to 15 bytes, without control characters.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID for another prefix.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_thread_prefix(mcplink_client_options_t *options, const char *prefix);

/**
 * A hook that runs on each thread of the library. A start hook runs before any other code of the
 * host on that thread. A stop hook runs after all other code of the host on that thread.
 *
 * @param name the thread's name, such as "mcplink-call"; valid until the callback returns. The callback
 * should be quick. It may set up the thread, but must not wait for the client or server that owns
 * the thread.
 */
typedef void (*mcplink_thread_fn)(void *user, mcplink_str_t name);

/**
 * Sets hooks that run at the start and at the end of each thread that the library starts for
 * the client. These hooks are needed by profilers, and by virtual machines that must attach
 * each thread.
 *
 * If start was called, stop is called before the thread ends. When mcplink_client_free has
 * returned, all threads have ended, except threads whose callback does not return. If
 * mcplink_client_free is called in a callback of the client, the threads end after that
 * callback. A thread that connects or logs in may end slightly later, if it can't be
 * interrupted.
 *
 * Threads with these hooks have the stack size that is set with
 * mcplink_client_options_set_thread_stack_size. The hooks do not run on threads of the host
 * itself, such as a thread that dispatches a pump.
 *
 * @param start called before any other callback on the thread; NULL for no hook.
 * @param stop called after all other callbacks on the thread; NULL for no hook.
 * @param user,destroy passed to both hooks. destroy runs when other hooks are set. Otherwise
 * destroy runs when the options, their clients and the responders that were kept are freed,
 * and all threads have ended.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_on_thread(mcplink_client_options_t *options,
                                                  mcplink_thread_fn start,
                                                  mcplink_thread_fn stop,
                                                  void *user,
                                                  mcplink_destroy_fn destroy);

/**
 * Sets the command that starts the server as a child process. Messages use the standard input
 * and output of the child. The child is ended when the client is closed.
 *
 * @param argv the program and its arguments, terminated by NULL. They are copied. No shell is
 * involved. A program name without a slash is searched in PATH. The texts are UTF-8 on
 * Windows, and bytes on other systems.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID when argv is empty.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_command(mcplink_client_options_t *options, const char *const *argv);

/**
 * Sets an environment variable of the child, for example an API key, in addition to the
 * variables that the child inherits: see mcplink_client_options_inherit_env.
 *
 * @param variable the name of the variable, in UTF-8 on Windows.
 * @param value the value of the variable, in UTF-8 on Windows. With NULL the child does not inherit
 * the variable.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_env(mcplink_client_options_t *options, const char *variable, const char *value);

/**
 * Sets that the child gets an environment variable of this process. The child gets the value
 * that the variable has when the child is started. If the variable is not set at that time,
 * the child does not get the variable.
 *
 * @param variable the name of the variable.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_pass_env(mcplink_client_options_t *options, const char *variable);

/**
 * Sets that the child inherits all environment variables of this process. By default the child
 * inherits only HOME, LANG, LC_*, LOGNAME, PATH, SHELL, TERM, TMPDIR and USER, because other
 * variables may contain secrets of this process, such as keys. This setting replaces
 * mcplink_client_options_clear_env.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_inherit_env(mcplink_client_options_t *options);

/**
 * Sets whether the system kills the child (SIGKILL) when this process ends, even if this
 * process is killed. Default: false. With false the child sees the end of its standard input
 * when this process ends, and may continue.
 *
 * Processes that the child has started are not killed. The system kills the child when the
 * thread that started the child ends. So the client starts the child on a thread of its own,
 * which waits until the child has ended. Linux only: on other systems opening the client fails
 * with MCPLINK_E_UNSUPPORTED.
 *
 * @param enabled true to kill the child.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_die_with_parent(mcplink_client_options_t *options, bool enabled);

/**
 * Sets that the child inherits no environment variables. The child still gets variables that
 * were set with mcplink_client_options_set_env or mcplink_client_options_pass_env. This
 * setting replaces mcplink_client_options_inherit_env.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_clear_env(mcplink_client_options_t *options);

/**
 * Sets the working directory of the child, which many servers take for the project to work on.
 * Default: the working directory of this process.
 *
 * @param directory a path, in UTF-8 on Windows; NULL for the default.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_cwd(mcplink_client_options_t *options, const char *directory);

/**
 * Sets whether the child's standard input and output are pipes. Default: false, which means
 * sockets. Only a program that opens /dev/stdin or /dev/stdout by name needs pipes.
 *
 * @param enabled true for pipes.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_pipes(mcplink_client_options_t *options, bool enabled);

/**
 * Sets how long each step of closing the client may take, so that a server that does not end
 * can't hold up the end of the host. A child process has this time to exit after its standard
 * input was closed, and the same time again after SIGTERM. Then the child is killed. So
 * closing may take twice this time. For a child process the default is 2 s. Over HTTP, ending
 * the session may take this time, and the default is 1 s.
 *
 * @param milliseconds the time; more than an hour counts as an hour.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_close_timeout_ms(mcplink_client_options_t *options, uint32_t milliseconds);

/**
 * Sets the URL of the server to connect to over HTTP.
 *
 * @param url http://host:port/path or https://host:port/path. For a server on a Unix socket,
 * http+unix:// with the percent-encoded path of the socket, then the path of the endpoint, as
 * in http+unix://%2Frun%2Fshop.sock/mcp. An invalid URL is reported when the client is opened.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_url(mcplink_client_options_t *options, const char *url);

/**
 * Adds a header field that is sent with every request over HTTP, for example the key of a
 * gateway. The value of the field does not appear in errors or logs.
 *
 * @param field the name of the header field. A field that the library writes itself is refused when
 * the client is opened.
 * @param value the value of the field.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_header(mcplink_client_options_t *options, const char *field, const char *value);

/**
 * Sets the token for every request over HTTP (Authorization: Bearer). The token does not
 * appear in errors or logs. This setting replaces mcplink_client_options_set_bearer_hook and
 * mcplink_client_options_set_oauth.
 *
 * @param token the token. NULL and blank text are refused: see
 * mcplink_client_options_clear_authorization.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_bearer(mcplink_client_options_t *options, const char *token);

/**
 * Sets the OAuth settings with which the client obtains and renews access tokens for a server
 * over HTTP. This setting replaces mcplink_client_options_set_bearer and
 * mcplink_client_options_set_bearer_hook.
 *
 * A call that needs a login waits for the login; mcplink_client_open may wait too. See
 * mcplink_oauth_set_login_timeout_ms. Concurrent calls share one login, and each call can be
 * cancelled. When no call waits any more, the login is abandoned. If authorization fails, the
 * call fails with MCPLINK_E_AUTH: the error message contains the step, the server and the
 * reason. mcplink_error_oauth_code returns the error code of the authorization server.
 *
 * @param oauth the settings, which remain the caller's. They may be passed to several options:
 * clients with the same settings object share tokens. NULL is refused: see
 * mcplink_client_options_clear_authorization. If a setter of the settings was refused, the
 * settings are refused too. Other faults are reported when the client is opened. In a build
 * without OAuth, opening fails with MCPLINK_E_UNSUPPORTED.
 * @return MCPLINK_OK, MCPLINK_E_INVALID, or the status with which the setter was refused.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_oauth(mcplink_client_options_t *options, const mcplink_oauth_t *oauth);

/**
 * Sends an HTTP request, and writes its response with the functions of the fetch:
 * mcplink_fetch_add_header for each header field, mcplink_fetch_begin for the status,
 * mcplink_fetch_write for each part of the body as it arrives, and mcplink_fetch_end. Or
 * mcplink_fetch_fail.
 *
 * Send the request once, as it is. Follow no redirect, add no cookies and no credentials, and
 * decode no content encoding: the library does the rest, and expects each response as it is.
 * Before you connect to an address that you resolved, ask mcplink_fetch_allows_address.
 *
 * Each request has a thread of the library, on which the function may block until the response has
 * ended, also with a pump. Several requests run at once. End the request when it is cancelled: see
 * mcplink_fetch_on_cancel. Freeing the client, or the last object that uses the OAuth settings,
 * waits for the function.
 *
 * @return MCPLINK_OK. With any other status the request has failed.
 */
typedef mcplink_status_t (*mcplink_fetch_fn)(void *user, mcplink_fetch_t *fetch);

/**
 * Sets the HTTP client of the host, which sends all requests to a server over HTTP instead of
 * the library, for hosts with their own proxies, certificates or sandbox. The client decides
 * how servers are reached, and which servers are trusted. So opening fails with
 * MCPLINK_E_INVALID if a proxy, root certificates or a client certificate are set, too. Logins
 * have their own setting: mcplink_oauth_set_http_client.
 *
 * @param callback see mcplink_fetch_fn. NULL is refused.
 * @param user,destroy passed to callback; destroy runs when the client is replaced, or when the
 * options and all clients that use callback are freed.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_http_client(mcplink_client_options_t *options,
                                                        mcplink_fetch_fn callback,
                                                        void *user,
                                                        mcplink_destroy_fn destroy);

/**
 * Undoes mcplink_client_options_set_bearer, mcplink_client_options_set_bearer_hook and
 * mcplink_client_options_set_oauth: the client sends no tokens.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_clear_authorization(mcplink_client_options_t *options);

/**
 * Sets the proxy through which the client connects to the server. Default: no proxy,
 * regardless of the environment.
 *
 * @param url http://, https://, socks4://, socks4a://, socks5:// or socks5h:// with host name and
 * port; "environment" for the proxy that the environment names. NULL is refused: see
 * mcplink_client_options_clear_proxy. With socks4 and socks5 the client resolves the server's
 * name; with the other schemes the proxy resolves that name. In the environment, HTTP_PROXY is
 * for http, HTTPS_PROXY for https, ALL_PROXY for both. NO_PROXY contains host names, domains
 * and networks to which the client connects directly. Lower-case names take precedence. An
 * invalid proxy is reported when the client is opened, with MCPLINK_E_INVALID.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_proxy(mcplink_client_options_t *options, const char *url);

/**
 * Undoes mcplink_client_options_set_proxy: the client connects without a proxy.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_clear_proxy(mcplink_client_options_t *options);

/**
 * Sets the certificate authorities that are trusted for servers over HTTPS, for example those
 * of a company. No other authorities are trusted. Default: Mozilla's list. For requests to
 * authorization servers see mcplink_oauth_set_root_certificates.
 *
 * @param pem,len PEM text with one or more certificates, which is copied; other contents are
 * skipped. len may be MCPLINK_NUL for text that ends in NUL. The text replaces earlier
 * certificates. NULL and blank text are refused: see mcplink_client_options_use_default_roots.
 * Text without a valid certificate is reported when the client is opened, with
 * MCPLINK_E_INVALID. In a build without HTTPS (feature tls) opening fails with
 * MCPLINK_E_UNSUPPORTED.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_root_certificates(mcplink_client_options_t *options, const char *pem, size_t len);

/**
 * Undoes mcplink_client_options_set_root_certificates: Mozilla's list of certificate
 * authorities is trusted.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_use_default_roots(mcplink_client_options_t *options);

/**
 * Sets the certificate that the client presents to servers over HTTPS that request one.
 * Default: none.
 *
 * @param pem,len PEM text, which is copied: the certificate, then the certificates that lead to an
 * authority that the server knows, and the private key of the certificate, unencrypted
 * (PKCS #8, PKCS #1 or SEC 1). The key appears in no error and no log. len may be MCPLINK_NUL
 * for text that ends in NUL.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID for NULL and blank text. Text without a valid
 * certificate or key is reported when the client is opened, with MCPLINK_E_INVALID. In a build
 * without HTTPS (feature tls) opening fails with MCPLINK_E_UNSUPPORTED.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_client_certificate(mcplink_client_options_t *options, const char *pem, size_t len);

/**
 * Sets whether the client follows HTTP redirects that keep the method (307, 308). The client
 * follows at most five redirects in a row, and only to the same origin. Default: true. A
 * redirect to another origin is always an error, and the error message names the origin.
 *
 * @param enabled true to follow redirects.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_follow_redirects(mcplink_client_options_t *options, bool enabled);

/**
 * Sets the two file descriptors over which the client connects, for a server that the host has
 * started or reached itself: pipes, sockets or terminals. Each message is a line.
 *
 * @param input,output the descriptors to read from and to write to; for a socket they may be equal.
 * The descriptors must stay open until the client is opened. Opening duplicates the
 * descriptors, and the originals remain the caller's. The server sees the end of the
 * connection only when the caller has closed the originals too.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID for a number that is no descriptor.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_fds(mcplink_client_options_t *options, ptrdiff_t input, ptrdiff_t output);

/**
 * Sets the transport of the host over which the client connects: see mcplink_transport_new.
 *
 * @param transport the transport, which serves one client. The transport remains the caller's; free
 * the transport after the client. NULL for no transport.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_transport(mcplink_client_options_t *options, mcplink_transport_t *transport);

/**
 * The destination of the standard error of a child process.
 */
typedef enum mcplink_stderr {
    /**
     * The standard error is captured, and its last 64 KiB are stored: see
     * mcplink_client_stderr_tail and mcplink_error_peer_stderr. This is the default.
     */
    MCPLINK_STDERR_CAPTURE = 1500,
    /**
     * The standard error of the child is written to the standard error of this process.
     */
    MCPLINK_STDERR_INHERIT = 1501,
    /**
     * The standard error is discarded.
     */
    MCPLINK_STDERR_DISCARD = 1502,
} mcplink_stderr;

/**
 * Receives a line that a child process wrote to its standard error.
 *
 * @param line the line without the newline, valid until the callback returns.
 */
typedef void (*mcplink_line_fn)(void *user, mcplink_str_t line);

/**
 * Sets what happens to the child's standard error.
 *
 * @param mode what happens to the output.
 * @param callback with MCPLINK_STDERR_CAPTURE, receives each line; NULL for no function. The
 * function runs on the thread that runs the client's callbacks. At most 1024 lines wait for
 * the function. Further lines are only available from mcplink_client_stderr_tail.
 * @param user,destroy passed to callback; destroy runs when another function is set, or when the
 * options and all clients that use callback are freed.
 * @return MCPLINK_OK; MCPLINK_E_INVALID for an unknown mode, or a callback with another mode.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_stderr(mcplink_client_options_t *options,
                                                   mcplink_stderr mode,
                                                   mcplink_line_fn callback,
                                                   void *user,
                                                   mcplink_destroy_fn destroy);

/**
 * Provides the token for one request. The function runs on the thread that sends the request,
 * possibly on several threads at once. The function should not wait for the server, because the
 * request waits for the function.
 *
 * @param token receives the token by mcplink_output_set.
 * @return MCPLINK_OK. With any other status the request is not sent, and fails with
 * MCPLINK_E_AUTH.
 */
typedef mcplink_status_t (*mcplink_bearer_fn)(void *user, mcplink_output_t *token);

/**
 * Sets a function that provides the token for each request over HTTP. This setting replaces
 * mcplink_client_options_set_bearer and mcplink_client_options_set_oauth.
 *
 * @param callback see mcplink_bearer_fn. NULL is refused: see
 * mcplink_client_options_clear_authorization.
 * @param user,destroy passed to callback; destroy runs when the function is replaced, refused or
 * cleared, or when the options and all clients that use callback are freed.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_bearer_hook(mcplink_client_options_t *options,
                                                        mcplink_bearer_fn callback,
                                                        void *user,
                                                        mcplink_destroy_fn destroy);

/**
 * Makes an empty cache of responses. Above its limits the least recently used response is removed.
 *
 * @param max_responses the maximum number of responses; 0 for the default of
 * MCPLINK_LIMIT_CACHED_RESPONSES.
 * @param max_bytes the maximum size of all responses, in bytes; 0 for the default of
 * MCPLINK_LIMIT_CACHED_BYTES.
 * @return the cache. The caller owns it and frees it with mcplink_cache_free. NULL after an
 * internal error.
 */
MCPLINK_NODISCARD MCPLINK_API mcplink_cache_t *mcplink_cache_new(size_t max_responses, size_t max_bytes);

/**
 * Removes all responses from a cache, those of all servers and principals.
 */
MCPLINK_API mcplink_status_t mcplink_cache_clear(mcplink_cache_t *cache);

/**
 * Frees a cache. Clients that share the cache keep it until they are freed.
 */
MCPLINK_API void mcplink_cache_free(mcplink_cache_t *cache);

/**
 * Sets the cache of responses that the client shares with other clients, which saves requests
 * when several clients use one server. Default: a cache of its own.
 *
 * A public response is used by all clients of one server at one address. A private response is
 * used only by clients with the same principal and capabilities. Child processes count as one
 * server if their command lines and working directories are equal. If environment variables
 * make them different servers, give each its own cache.
 *
 * @param cache the cache, which may be freed before the options. NULL for a cache of its own.
 * @param principal a name for the user of the client, for example a digest of the token. NULL if
 * private responses are not shared.
 * @return MCPLINK_OK; MCPLINK_E_INVALID also when principal is blank.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_cache(mcplink_client_options_t *options,
                                                  mcplink_cache_t *cache,
                                                  const char *principal);

/**
 * Makes an empty memory of the eras of servers.
 *
 * @return the memory. The caller owns it and frees it with mcplink_era_memory_free. NULL after an
 * internal error.
 */
MCPLINK_NODISCARD MCPLINK_API mcplink_era_memory_t *mcplink_era_memory_new(void);

/**
 * Returns the remembered era of a server.
 *
 * @param address the address, as a key of mcplink_era_memory_entries.
 * @return the era; MCPLINK_ERA_UNKNOWN if no era is remembered.
 */
MCPLINK_API mcplink_era mcplink_era_memory_recall(const mcplink_era_memory_t *memory, const char *address);

/**
 * Remembers the era of a server, for example one that the host has stored.
 *
 * @param address the address, as a key of mcplink_era_memory_entries.
 * @param era the era; MCPLINK_ERA_UNKNOWN forgets the era.
 */
MCPLINK_API mcplink_status_t mcplink_era_memory_remember(mcplink_era_memory_t *memory, const char *address, mcplink_era era);

/**
 * Returns all remembered eras, so that the host can store them.
 *
 * @param out receives an object: {"https://a.example":"modern", "server --stdio":"legacy"}; NULL on
 * failure. The caller owns the object and frees it with mcplink_json_free.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_era_memory_entries(const mcplink_era_memory_t *memory,
                                            mcplink_json_t **out,
                                            mcplink_error_t **err);

/**
 * Frees a memory of eras. Clients that use the memory keep it until they are freed.
 */
MCPLINK_API void mcplink_era_memory_free(mcplink_era_memory_t *memory);

/**
 * Sets the memory in which the client remembers the era of its server. The next connection to
 * this server then skips the detection, which costs a request. Default: no memory.
 *
 * @param memory the memory, which several clients may share, and which may be freed before the
 * options. NULL changes nothing.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_era_memory(mcplink_client_options_t *options, mcplink_era_memory_t *memory);

/**
 * The direction of a message, as seen from this process.
 */
typedef enum mcplink_direction {
    /**
     * The message comes from the peer.
     */
    MCPLINK_DIRECTION_INCOMING = 2001,
    /**
     * The message goes to the peer.
     */
    MCPLINK_DIRECTION_OUTGOING = 2002,
} mcplink_direction;

/**
 * Receives each message of a connection, unchanged: for logs and traces.
 *
 * Each direction is shown in its order. An outgoing message is shown just before it is sent, so a
 * request is shown before its answer. The function runs on the threads that send and receive, also
 * with a pump: for one incoming and one outgoing message at once, and never for two messages of
 * one direction and connection. Meanwhile no other message of that direction is sent or read. So
 * the function must return quickly, must not block, and must not use the same client or server.
 * Messages may contain secrets of users.
 *
 * @param direction whether the message comes from the peer or goes to it.
 * @param text,len the message, which is valid until the function returns and does not end in NUL. len
 * is 0 for a message that was dropped because it was too long.
 */
typedef void (*mcplink_message_fn)(void *user, mcplink_direction direction, const char *text, size_t len);

/**
 * Sets the function that sees each message of the client, unchanged: for logs and traces. It
 * works with every kind of endpoint, also after a restart of the server.
 *
 * @param callback see mcplink_message_fn. NULL for no function.
 * @param user,destroy passed to callback; destroy runs when another function is set, or when the
 * options and all clients opened with them are freed.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_on_message(mcplink_client_options_t *options,
                                                   mcplink_message_fn callback,
                                                   void *user,
                                                   mcplink_destroy_fn destroy);

/**
 * Reads a configuration file. These formats are read: "mcpServers" of .mcp.json and of the files
 * of several hosts, "servers" of .vscode/mcp.json, "mcp" of the settings.json beside it,
 * "context_servers" of Zed, and "projects" of ~/.claude.json for one workspace. Comments and
 * trailing commas are allowed.
 *
 * Texts of the file may contain variables, such as ${NAME}, ${NAME:-default}, ${input:ID} and
 * ${workspaceFolder}. They are replaced when a client is opened, so a server without a value does
 * not affect the others. Reading a file starts no program. No error shows a value of the file.
 *
 * @param path the path of the file. On Windows the path is UTF-8.
 * @param workspace the folder that ${workspaceFolder} stands for. NULL for the folder of the file, or
 * the folder above it if the file is in a folder whose name begins with a dot.
 * @param out receives the configuration, or NULL on failure. The caller owns it and frees it with
 * mcplink_config_free.
 * @return MCPLINK_OK; MCPLINK_E_IO when the file can't be read, MCPLINK_E_LIMIT when it is larger
 * than 16 MiB, MCPLINK_E_INVALID when it has no JSON object with servers.
 * @note Blocks: for the file system.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_config_read(const char *path,
                                     const char *workspace,
                                     mcplink_config_t **out,
                                     mcplink_error_t **err);

/**
 * Describes the content of a configuration file: its servers, the values that the user has to
 * enter, and warnings about members that are not applied.
 *
 * @param out receives {"servers":[{"name":"...","disabled":false,"command":["...","..."],
 * "inputs":["ID"],"extra":{}},{"name":"...","disabled":false,"url":"...","inputs":[],"extra":{}}],
 * "inputs":[{"id":"ID","description":"...","password":true,"default":"...","options":["..."]}],
 * "warnings":["..."]}; NULL on failure. The servers are sorted by name. "extra" has the members
 * that the library does not apply, such as "timeout". The arguments of commands, URLs and "extra"
 * are as written in the file, and may contain secrets. The caller owns the document and frees it
 * with mcplink_json_free.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_config_describe(const mcplink_config_t *config,
                                         mcplink_json_t **out,
                                         mcplink_error_t **err);

/**
 * Sets the value of an input, which the user has entered.
 *
 * @param id the id of the input: see mcplink_config_describe.
 * @param value the value.
 */
MCPLINK_API mcplink_status_t mcplink_config_set_input(mcplink_config_t *config, const char *id, const char *value);

/**
 * Frees a configuration. Options that were set from it keep a copy.
 */
MCPLINK_API void mcplink_config_free(mcplink_config_t *config);

/**
 * Sets the server to which the client connects: one of a configuration file. Other options,
 * for example mcplink_client_options_set_env and mcplink_client_options_set_header, apply too.
 *
 * @param config the configuration, whose server is copied with the inputs that are set so far.
 * @param name the name of the server. The client can also connect to a disabled server.
 * @return MCPLINK_OK; MCPLINK_E_INVALID also when the file has no such server. A variable
 * without a value is an error of mcplink_client_open.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_set_configured(mcplink_client_options_t *options,
                                                       mcplink_config_t *config,
                                                       const char *name);

/**
 * Lists the servers that programs of the same user have published at the moment: see
 * mcplink_server_publish. Each published server is an instance. A client connects to an instance
 * with mcplink_client_options_set_instance.
 *
 * @param name the name under which the servers are published; NULL for all.
 * @param out receives an array, the oldest instance first: [{"id":"...","name":"...","title":"...",
 * "folder":"...","pid":1,"started":1764530000000,"version":"..."}]. "title" and "folder" may be
 * null. "started" is in milliseconds since 1970-01-01. NULL on failure. The caller owns the
 * document and frees it with mcplink_json_free.
 * @return MCPLINK_OK; MCPLINK_E_INVALID for an invalid name, or when other users may use the
 * folder of the published servers; MCPLINK_E_IO when it can't be read.
 * @note Blocks: for the file system.
 */
MCPLINK_NODISCARD MCPLINK_API mcplink_status_t mcplink_instances(const char *name, mcplink_json_t **out, mcplink_error_t **err);

/**
 * Notifies the host, without further details. The comment of the function that takes it says of
 * what, and on which thread it runs.
 */
typedef void (*mcplink_notify_fn)(void *user);

/**
 * Watches which servers programs of the same user publish.
 *
 * @param name the name under which the servers are published; NULL for all.
 * @param callback called whenever the list of mcplink_instances may have changed, and once at the
 * beginning. It runs on a thread of the watcher, one call at a time, so it wakes the host's event
 * loop best, for example with mcplink_pump_wakeup. Not NULL.
 * @param user,destroy passed to callback; destroy runs when the watcher is freed.
 * @param out receives the watcher, NULL on failure. The caller owns it and frees it with
 * mcplink_watcher_free.
 * @return as mcplink_instances.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_watcher_new(const char *name,
                                     mcplink_notify_fn callback,
                                     void *user,
                                     mcplink_destroy_fn destroy,
                                     mcplink_watcher_t **out,
                                     mcplink_error_t **err);

/**
 * Frees a watcher. Its callback does not run any more, unless the callback itself frees the
 * watcher.
 */
MCPLINK_API void mcplink_watcher_free(mcplink_watcher_t *watcher);

/**
 * Sets the server to which the client connects: one that another program has published.
 *
 * @param id the "id" of an instance: see mcplink_instances. NULL for none. When the instance has
 * ended, mcplink_client_open fails with MCPLINK_E_IO.
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_instance(mcplink_client_options_t *options, const char *id);

/**
 * Sets the text or bytes that a function of the host provides: see for example
 * mcplink_bearer_fn. A later call replaces them.
 *
 * @param output the output parameter of the function of the host; valid until that function returns.
 * @param bytes,len the text or bytes, which are copied; len may be MCPLINK_NUL for text that ends
 * in NUL.
 * @return MCPLINK_OK; MCPLINK_E_INVALID, also for text that is not UTF-8.
 * @note Threads: the thread that runs the function.
 */
MCPLINK_API mcplink_status_t mcplink_output_set(mcplink_output_t *output, const void *bytes, size_t len);

/* ==== Client: open, close, events ==== */

/**
 * Opens a client: starts the server or connects to the server, and negotiates a protocol
 * revision.
 *
 * @param options the options, which are copied and remain the caller's. Exactly one of command, url,
 * fds and transport must be set.
 * @param out receives the client, NULL on failure. The caller owns it and frees it with
 * mcplink_client_free.
 * @return MCPLINK_OK; MCPLINK_E_INVALID when options are missing or contradict each other,
 * MCPLINK_E_SPAWN when the child can't be started, MCPLINK_E_CLOSED when the server
 * disconnected (see mcplink_error_peer_stderr), MCPLINK_E_TIMEOUT when the server did not
 * answer, MCPLINK_E_UNSUPPORTED when there is no common revision, MCPLINK_E_PEER when the
 * server refuses, MCPLINK_E_PROTOCOL when the server's answer is invalid, MCPLINK_E_CANCELLED
 * when the token of the options was triggered; over HTTP also MCPLINK_E_IO, MCPLINK_E_AUTH and
 * MCPLINK_E_HTTP.
 * @note Blocks: until the client is connected or has failed, at most for the timeout that was set
 * with mcplink_client_options_set_connect_timeout_ms.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_open(const mcplink_client_options_t *options,
                                     mcplink_client_t **out,
                                     mcplink_error_t **err);

/**
 * Starts to open a client without waiting: the non-blocking form of mcplink_client_open. An
 * event reports the outcome: MCPLINK_EVENT_CONNECTED or MCPLINK_EVENT_FAILED. Calls may be
 * made before: each waits for the outcome, and its timeouts include this wait. A blocking call
 * in a callback of the client or of its transport fails with MCPLINK_E_STATE until the client
 * is connected.
 *
 * @param options the options, which are copied and remain the caller's. For the event function see
 * mcplink_client_options_on_event.
 * @param out receives the client, NULL on failure. The caller owns it and may free it with
 * mcplink_client_free at any time, which cancels connecting.
 * @return MCPLINK_OK when connecting was started; MCPLINK_E_INVALID when options are missing
 * or contradict each other.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_start(const mcplink_client_options_t *options,
                                      mcplink_client_t **out,
                                      mcplink_error_t **err);

/**
 * Closes the connection, and ends the server if the server is a child process. Pending calls fail
 * with MCPLINK_E_CLOSED. Information about the server remains readable. mcplink_client_free also
 * closes the connection.
 *
 * @param timeout_ms the maximum time to wait, in milliseconds. With MCPLINK_FOREVER the function waits
 * until the client is closed, which takes a limited time: see
 * mcplink_client_options_set_close_timeout_ms.
 * @return MCPLINK_OK, also when the client was closed before; MCPLINK_E_TIMEOUT when closing
 * takes longer and continues in the background. If the close function of the client's transport
 * calls mcplink_client_close, the call returns MCPLINK_E_TIMEOUT at once.
 * @note Blocks: until the client is closed, for at most timeout_ms.
 */
MCPLINK_NODISCARD MCPLINK_API mcplink_status_t mcplink_client_close(mcplink_client_t *client, uint32_t timeout_ms, mcplink_error_t **err);

/**
 * Receives the outcome of a started call, exactly once.
 *
 * @param call the handle of the call; NULL when the handle was freed or not requested.
 * @param status MCPLINK_OK or MCPLINK_TOOL_ERROR with a result; otherwise the status of err.
 * @param result,err valid until the callback returns; one of them is NULL.
 */
typedef void (*mcplink_done_fn)(void *user,
                                mcplink_call_t *call,
                                mcplink_status_t status,
                                const mcplink_result_t *result,
                                const mcplink_error_t *err);

/**
 * Starts to close the connection without waiting: the non-blocking form of
 * mcplink_client_close.
 *
 * @param callback called once, with MCPLINK_OK and an empty result, and with NULL for the call. It
 * is the last callback of the client: started calls have had their outcome.
 * mcplink_client_free then takes no time, in this callback too. The callback runs on the
 * thread that runs the client's callbacks, or in mcplink_client_free if that comes first. May
 * be NULL.
 * @param user,destroy passed to callback; destroy runs after callback, or at once when closing
 * can't be started.
 * @return MCPLINK_OK, also when the client was closed before; MCPLINK_E_CLOSED when another
 * thread frees the client: the callback then never runs; MCPLINK_E_IO when the system can't
 * start a thread.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_close_start(mcplink_client_t *client,
                                            mcplink_done_fn callback,
                                            void *user,
                                            mcplink_destroy_fn destroy,
                                            mcplink_error_t **err);

/**
 * Closes a client and frees it. Started calls get their outcome before this function returns, and
 * no callback of the client runs afterwards. If the function is called inside a callback of the
 * client, it returns at once, and the client is freed when the callback returns.
 *
 * In a forked process the function does nothing: memory and descriptors, which are close-on-exec,
 * remain until the process exits or executes another program. See MCPLINK_E_FORKED.
 *
 * @param client the client; may be NULL. Other threads may be inside functions of the client: these
 * functions return MCPLINK_E_CLOSED. No thread may use the client afterwards.
 * @note Blocks: until the connection is closed, see mcplink_client_options_set_close_timeout_ms, and
 * running callbacks have returned.
 */
MCPLINK_API void mcplink_client_free(mcplink_client_t *client);

/**
 * The state of a client.
 */
typedef enum mcplink_connection_state {
    /**
     * No client: the pointer is NULL.
     */
    MCPLINK_CLIENT_NONE = 0,
    /**
     * The client is being connected: see mcplink_client_start.
     */
    MCPLINK_CLIENT_CONNECTING = 201,
    /**
     * The client is connected.
     */
    MCPLINK_CLIENT_READY = 202,
    /**
     * The connection to the server was lost, and the server will be restarted: see
     * mcplink_client_options_set_restart.
     */
    MCPLINK_CLIENT_LOST = 203,
    /**
     * The client was closed, or its connection has ended for good.
     */
    MCPLINK_CLIENT_CLOSED = 204,
    /**
     * The connection could not be made.
     */
    MCPLINK_CLIENT_FAILED = 205,
} mcplink_connection_state;

/**
 * Returns the state of a client.
 */
MCPLINK_API mcplink_connection_state mcplink_client_state(const mcplink_client_t *client);

/**
 * Returns the negotiated protocol revision, for example "2025-11-25".
 *
 * @return static text; empty before the client is connected.
 */
MCPLINK_API mcplink_str_t mcplink_client_revision(const mcplink_client_t *client);

/**
 * Returns the era of the server. Pass the era to mcplink_client_options_set_era for the next
 * client, to skip the detection.
 */
MCPLINK_API mcplink_era mcplink_client_era(const mcplink_client_t *client);

/**
 * Checks whether the server declared a capability.
 *
 * @param capability a path into the declared capabilities: "tools", "tools.listChanged",
 * "extensions.com.example/thing".
 * @return true if the server declared the capability.
 */
MCPLINK_API bool mcplink_client_has(const mcplink_client_t *client, const char *capability);

/**
 * Returns the identity and the capabilities that the server reported in the handshake.
 *
 * @param out receives {"protocolVersion":"...", "serverInfo":{"name":"...","version":"..."},
 * "capabilities":{...}, "instructions":"..."}; NULL on failure. The members serverInfo and
 * instructions may be missing. The caller owns the document and frees it with
 * mcplink_json_free.
 * @return MCPLINK_OK; MCPLINK_E_STATE before the client is connected.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_server_info(const mcplink_client_t *client,
                                            mcplink_json_t **out,
                                            mcplink_error_t **err);

/**
 * Returns the last 64 KiB that a child process wrote to its standard error.
 *
 * @param out receives a JSON string: see mcplink_json_str. The string is empty if there is no child
 * process or no output. NULL on failure. The caller owns the string and frees it with
 * mcplink_json_free.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_stderr_tail(const mcplink_client_t *client,
                                            mcplink_json_t **out,
                                            mcplink_error_t **err);

/**
 * Returns statistics of the connection. After a restart the numbers start again from 0.
 *
 * @param out receives an object of numbers: callsInFlight, requestsInHand, queuedBytes, threads,
 * lateResponses, unknownResponses, noise, malformed, tooLong, refusedBusy,
 * droppedNotifications, mergedProgress, cachedResponses, cachedBytes, cacheHits, cacheMisses;
 * NULL on failure. The caller owns the object and frees it with mcplink_json_free.
 * @return MCPLINK_OK; MCPLINK_E_STATE before the client is connected.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_stats(const mcplink_client_t *client,
                                      mcplink_json_t **out,
                                      mcplink_error_t **err);

/**
 * Returns a text about the current activity, to find the cause of a hang: pending calls,
 * requests of the server in flight, and threads that write.
 *
 * @param out receives a JSON string: see mcplink_json_str; NULL on failure. The caller owns it and
 * frees it with mcplink_json_free.
 * @return MCPLINK_OK; MCPLINK_E_STATE before the client is connected.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_activity(const mcplink_client_t *client,
                                         mcplink_json_t **out,
                                         mcplink_error_t **err);

/* ==== Calls and results ==== */

/**
 * Calls a tool, and waits for its result.
 *
 * A tool that ran and failed is not a failure of the call: the status is MCPLINK_TOOL_ERROR,
 * and the result contains the reason.
 *
 * @param name the name of the tool.
 * @param arguments,len a JSON object, which is copied; len may be MCPLINK_NUL for text that ends in
 * NUL. NULL for no arguments.
 * @param options timeouts and other options of the call; NULL for the defaults.
 * @param out receives the result, or NULL without a result. The caller owns it and frees it with
 * mcplink_result_free.
 * @return MCPLINK_OK or MCPLINK_TOOL_ERROR with a result; MCPLINK_E_INVALID for invalid
 * arguments of this function, MCPLINK_E_UNSUPPORTED when the server has no tools,
 * MCPLINK_E_PEER when the server refuses, MCPLINK_E_TIMEOUT and MCPLINK_E_CANCELLED (the
 * server is notified), MCPLINK_E_CLOSED when the server has disconnected, MCPLINK_E_PROTOCOL
 * when the server's answer is invalid.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_call_tool(mcplink_client_t *client,
                                          const char *name,
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
 * @param callback receives the outcome, exactly once, after the progress of the call. The callback
 * runs on the thread that runs the client's callbacks. May be NULL.
 * @param user,destroy passed to callback; destroy runs after callback, or at once when the call
 * can't be started.
 * @param out receives a handle to wait for the call or to cancel it; the caller frees it with
 * mcplink_call_free. May be NULL.
 * @return MCPLINK_OK when the call was started; MCPLINK_E_INVALID for invalid arguments,
 * MCPLINK_E_BUSY when the limit of started calls is reached
 * (mcplink_client_options_set_max_started). Other errors are the outcome of the call.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_call_tool_start(mcplink_client_t *client,
                                                const char *name,
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
 * @param uri the URI of the resource.
 * @param options,out,err see mcplink_client_call_tool. The result is {"contents":[...]}: see
 * mcplink_result_text and mcplink_result_content_bytes.
 * @return see mcplink_client_call_tool; also MCPLINK_E_PEER when the resource does not exist.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_read_resource(mcplink_client_t *client,
                                              const char *uri,
                                              const mcplink_call_options_t *options,
                                              mcplink_result_t **out,
                                              mcplink_error_t **err);

/**
 * Starts to read a resource without waiting: the non-blocking form of
 * mcplink_client_read_resource.
 */
MCPLINK_NODISCARD MCPLINK_API
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
 * @param name the name of the prompt.
 * @param arguments,len a JSON object of strings, which is copied; len may be MCPLINK_NUL for text
 * that ends in NUL. NULL for no arguments.
 * @param options,out,err see mcplink_client_call_tool. The result is {"messages":[...]}.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_get_prompt(mcplink_client_t *client,
                                           const char *name,
                                           const char *arguments,
                                           size_t len,
                                           const mcplink_call_options_t *options,
                                           mcplink_result_t **out,
                                           mcplink_error_t **err);

/**
 * Starts to get a prompt without waiting: the non-blocking form of mcplink_client_get_prompt.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_get_prompt_start(mcplink_client_t *client,
                                                 const char *name,
                                                 const char *arguments,
                                                 size_t len,
                                                 const mcplink_call_options_t *options,
                                                 mcplink_done_fn callback,
                                                 void *user,
                                                 mcplink_destroy_fn destroy,
                                                 mcplink_call_t **out,
                                                 mcplink_error_t **err);

/**
 * The kind of an entry of a server: a tool, prompt, resource or resource template.
 */
typedef enum mcplink_primitive {
    /**
     * No entry.
     */
    MCPLINK_PRIMITIVE_NONE = 0,
    /**
     * A tool, identified by its name.
     */
    MCPLINK_PRIMITIVE_TOOL = 1301,
    /**
     * A prompt, identified by its name.
     */
    MCPLINK_PRIMITIVE_PROMPT = 1302,
    /**
     * A resource, identified by its URI.
     */
    MCPLINK_PRIMITIVE_RESOURCE = 1303,
    /**
     * A resource template, identified by its URI template as written. The scopes of the
     * template apply to each resource that is read through the template.
     */
    MCPLINK_PRIMITIVE_TEMPLATE = 1304,
} mcplink_primitive;

/**
 * Requests completions for an argument of a prompt or of a resource template.
 *
 * @param primitive MCPLINK_PRIMITIVE_PROMPT or MCPLINK_PRIMITIVE_TEMPLATE.
 * @param target the name of the prompt, or the URI template.
 * @param argument the name of the argument.
 * @param value the text that the user has typed so far; "" for no text.
 * @param known,len the known values of other arguments, a JSON object of strings; NULL for no
 * values. len may be MCPLINK_NUL for text that ends in NUL.
 * @param options,out,err see mcplink_client_call_tool. The result is
 * {"completion":{"values":[...]}}.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_complete(mcplink_client_t *client,
                                         mcplink_primitive primitive,
                                         const char *target,
                                         const char *argument,
                                         const char *value,
                                         const char *known,
                                         size_t len,
                                         const mcplink_call_options_t *options,
                                         mcplink_result_t **out,
                                         mcplink_error_t **err);

/**
 * Starts to request completions without waiting: the non-blocking form of
 * mcplink_client_complete.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_complete_start(mcplink_client_t *client,
                                               mcplink_primitive primitive,
                                               const char *target,
                                               const char *argument,
                                               const char *value,
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
 * @param options,err see mcplink_client_call_tool.
 * @return MCPLINK_OK if the server answers, otherwise see mcplink_client_call_tool.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_ping(mcplink_client_t *client,
                                     const mcplink_call_options_t *options,
                                     mcplink_error_t **err);

/**
 * Starts to ping the server without waiting: the non-blocking form of mcplink_client_ping. The
 * result is {}.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_ping_start(mcplink_client_t *client,
                                           const mcplink_call_options_t *options,
                                           mcplink_done_fn callback,
                                           void *user,
                                           mcplink_destroy_fn destroy,
                                           mcplink_call_t **out,
                                           mcplink_error_t **err);

/**
 * Sends a request of any method, for extensions of the protocol. Input requests of a modern
 * server are not handled: they are returned as the result.
 *
 * @param method the method.
 * @param params,len a JSON object, which is copied; len may be MCPLINK_NUL for text that ends in
 * NUL. NULL for no params.
 * @param options,out,err see mcplink_client_call_tool. The status is never MCPLINK_TOOL_ERROR.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_request(mcplink_client_t *client,
                                        const char *method,
                                        const char *params,
                                        size_t len,
                                        const mcplink_call_options_t *options,
                                        mcplink_result_t **out,
                                        mcplink_error_t **err);

/**
 * Starts a request of any method without waiting: the non-blocking form of
 * mcplink_client_request.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_request_start(mcplink_client_t *client,
                                              const char *method,
                                              const char *params,
                                              size_t len,
                                              const mcplink_call_options_t *options,
                                              mcplink_done_fn callback,
                                              void *user,
                                              mcplink_destroy_fn destroy,
                                              mcplink_call_t **out,
                                              mcplink_error_t **err);

/**
 * Calls a tool as a task, so that the result can be fetched later, also by another client or
 * another process that has stored the id. A task may end with the connection that created it:
 * for servers made with this library this is so over streams, and not over HTTP.
 *
 * Servers of revision 2025-11-25 create a task if the tool allows it. Since 2026-07-28 the
 * server decides whether the call becomes a task. It makes tasks only for clients with
 * mcplink_client_options_set_tasks: for others, the call is a plain one.
 *
 * @param name the name of the tool.
 * @param arguments,len a JSON object, which is copied; len may be MCPLINK_NUL for text that ends in
 * NUL. NULL for no arguments.
 * @param ttl_ms how long a server of revision 2025-11-25 should store the task, in milliseconds; 0
 * or MCPLINK_FOREVER if the server decides. Since 2026-07-28 the server always decides.
 * @param options timeouts and other options of the call; NULL for the defaults. A timeout or a
 * cancel token ends the call, but not a task that the server has created.
 * @param out receives the answer, or NULL without an answer: a task if mcplink_result_task_id is not
 * empty, otherwise the result of the tool. The caller owns it and frees it with
 * mcplink_result_free.
 * @return see mcplink_client_call_tool; MCPLINK_E_UNSUPPORTED when the server or the tool
 * does not support tasks: then the tool is not called.
 * @note Blocks: until the call has become a task or has ended.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_call_tool_as_task(mcplink_client_t *client,
                                                  const char *name,
                                                  const char *arguments,
                                                  size_t len,
                                                  uint32_t ttl_ms,
                                                  const mcplink_call_options_t *options,
                                                  mcplink_result_t **out,
                                                  mcplink_error_t **err);

/**
 * Starts to call a tool as a task without waiting: the non-blocking form of
 * mcplink_client_call_tool_as_task.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_call_tool_as_task_start(mcplink_client_t *client,
                                                        const char *name,
                                                        const char *arguments,
                                                        size_t len,
                                                        uint32_t ttl_ms,
                                                        const mcplink_call_options_t *options,
                                                        mcplink_done_fn callback,
                                                        void *user,
                                                        mcplink_destroy_fn destroy,
                                                        mcplink_call_t **out,
                                                        mcplink_error_t **err);

/**
 * Requests the state of a task. Any client of the server that may see the task can do so: also
 * one that has only stored the id.
 *
 * @param task_id the id of the task: see mcplink_result_task_id.
 * @param options,out,err see mcplink_client_call_tool. The result is {"taskId":"...",
 * "status":"working", ...}. Other statuses are "input_required", "completed", "failed" and
 * "cancelled".
 * @return see mcplink_client_call_tool; MCPLINK_E_PEER when the server does not know the task
 * or has removed it.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_task_status(mcplink_client_t *client,
                                            const char *task_id,
                                            const mcplink_call_options_t *options,
                                            mcplink_result_t **out,
                                            mcplink_error_t **err);

/**
 * Starts to request the state of a task without waiting: the non-blocking form of
 * mcplink_client_task_status.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_task_status_start(mcplink_client_t *client,
                                                  const char *task_id,
                                                  const mcplink_call_options_t *options,
                                                  mcplink_done_fn callback,
                                                  void *user,
                                                  mcplink_destroy_fn destroy,
                                                  mcplink_call_t **out,
                                                  mcplink_error_t **err);

/**
 * Waits for the result of a task. The client polls the task at the server's interval, and its
 * handlers answer the input requests of the task.
 *
 * The timeout of the options applies to each request, and the maximum timeout to the whole
 * wait. If a timeout or a cancel token ends the wait, the task continues: wait again, or
 * cancel it.
 *
 * @param task_id the id of the task.
 * @param tool the name of the tool, so that the result is checked against the output schema of the
 * tool. NULL for no check.
 * @param options,out,err see mcplink_client_call_tool. The result is that of the tool.
 * @return MCPLINK_OK or MCPLINK_TOOL_ERROR with a result; MCPLINK_E_PEER when the task failed
 * or the server does not know it, MCPLINK_E_CANCELLED when the task or the token was
 * cancelled, MCPLINK_E_TIMEOUT; otherwise see mcplink_client_call_tool.
 * @note Blocks: until the task has ended.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_task_wait(mcplink_client_t *client,
                                          const char *task_id,
                                          const char *tool,
                                          const mcplink_call_options_t *options,
                                          mcplink_result_t **out,
                                          mcplink_error_t **err);

/**
 * Starts to wait for the result of a task: the non-blocking form of mcplink_client_task_wait.
 *
 * @param callback,user,destroy,out see mcplink_client_call_tool_start. Cancelling the call ends
 * the wait; the task continues.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_task_wait_start(mcplink_client_t *client,
                                                const char *task_id,
                                                const char *tool,
                                                const mcplink_call_options_t *options,
                                                mcplink_done_fn callback,
                                                void *user,
                                                mcplink_destroy_fn destroy,
                                                mcplink_call_t **out,
                                                mcplink_error_t **err);

/**
 * Cancels a task: the server stops the task as soon as it can.
 *
 * @param task_id the id of the task.
 * @param options see mcplink_client_call_tool.
 * @return see mcplink_client_call_tool; MCPLINK_E_PEER when the server does not know the
 * task. When the task has ended already, the status is MCPLINK_E_PEER in revision 2025-11-25,
 * and MCPLINK_OK later.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_task_cancel(mcplink_client_t *client,
                                            const char *task_id,
                                            const mcplink_call_options_t *options,
                                            mcplink_error_t **err);

/**
 * Starts to cancel a task without waiting: the non-blocking form of
 * mcplink_client_task_cancel.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_task_cancel_start(mcplink_client_t *client,
                                                  const char *task_id,
                                                  const mcplink_call_options_t *options,
                                                  mcplink_done_fn callback,
                                                  void *user,
                                                  mcplink_destroy_fn destroy,
                                                  mcplink_call_t **out,
                                                  mcplink_error_t **err);

/**
 * Checks that the server declared an extension. No message is sent. To ask without an error see
 * mcplink_client_server_info.
 *
 * @param id the id of the extension, for example "com.example/reports".
 * @return MCPLINK_OK; MCPLINK_E_UNSUPPORTED when the server did not declare the extension;
 * MCPLINK_E_INVALID.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_require_extension(mcplink_client_t *client,
                                                  const char *id,
                                                  mcplink_error_t **err);

/**
 * Lists all tools of the server. The function reads all pages of the list.
 *
 * If the cache contains a fresh result, the cached result is returned without a request: see
 * mcplink_call_options_set_bypass_cache.
 *
 * @param options the options for the request of each page; NULL for the defaults.
 * @param out,err see mcplink_client_call_tool. The result is {"tools":[...]}.
 * @return see mcplink_client_call_tool; MCPLINK_E_LIMIT when the list has too many pages or
 * items (mcplink_client_options_set_max_list).
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_list_tools(mcplink_client_t *client,
                                           const mcplink_call_options_t *options,
                                           mcplink_result_t **out,
                                           mcplink_error_t **err);

/**
 * Starts to list the tools without waiting: the non-blocking form of
 * mcplink_client_list_tools.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_list_tools_start(mcplink_client_t *client,
                                                 const mcplink_call_options_t *options,
                                                 mcplink_done_fn callback,
                                                 void *user,
                                                 mcplink_destroy_fn destroy,
                                                 mcplink_call_t **out,
                                                 mcplink_error_t **err);

/**
 * Lists all resources of the server. The function reads all pages of the list.
 *
 * @param options the options for the request of each page; NULL for the defaults.
 * @param out,err see mcplink_client_call_tool. The result is {"resources":[...]}.
 * @return see mcplink_client_call_tool; MCPLINK_E_LIMIT when the list has too many pages or
 * items.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_list_resources(mcplink_client_t *client,
                                               const mcplink_call_options_t *options,
                                               mcplink_result_t **out,
                                               mcplink_error_t **err);

/**
 * Starts to list the resources without waiting: the non-blocking form of
 * mcplink_client_list_resources.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_list_resources_start(mcplink_client_t *client,
                                                     const mcplink_call_options_t *options,
                                                     mcplink_done_fn callback,
                                                     void *user,
                                                     mcplink_destroy_fn destroy,
                                                     mcplink_call_t **out,
                                                     mcplink_error_t **err);

/**
 * Lists all resource templates of the server. The function reads all pages of the list.
 *
 * @param options the options for the request of each page; NULL for the defaults.
 * @param out,err see mcplink_client_call_tool. The result is {"resourceTemplates":[...]}.
 * @return see mcplink_client_call_tool; MCPLINK_E_LIMIT when the list has too many pages or
 * items.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_list_templates(mcplink_client_t *client,
                                               const mcplink_call_options_t *options,
                                               mcplink_result_t **out,
                                               mcplink_error_t **err);

/**
 * Starts to list the resource templates without waiting: the non-blocking form of
 * mcplink_client_list_templates.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_list_templates_start(mcplink_client_t *client,
                                                     const mcplink_call_options_t *options,
                                                     mcplink_done_fn callback,
                                                     void *user,
                                                     mcplink_destroy_fn destroy,
                                                     mcplink_call_t **out,
                                                     mcplink_error_t **err);

/**
 * Lists all prompts of the server. The function reads all pages of the list.
 *
 * @param options the options for the request of each page; NULL for the defaults.
 * @param out,err see mcplink_client_call_tool. The result is {"prompts":[...]}.
 * @return see mcplink_client_call_tool; MCPLINK_E_LIMIT when the list has too many pages or
 * items.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_list_prompts(mcplink_client_t *client,
                                             const mcplink_call_options_t *options,
                                             mcplink_result_t **out,
                                             mcplink_error_t **err);

/**
 * Starts to list the prompts without waiting: the non-blocking form of
 * mcplink_client_list_prompts.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_list_prompts_start(mcplink_client_t *client,
                                                   const mcplink_call_options_t *options,
                                                   mcplink_done_fn callback,
                                                   void *user,
                                                   mcplink_destroy_fn destroy,
                                                   mcplink_call_t **out,
                                                   mcplink_error_t **err);

/**
 * Lists all skills of the server (extension "io.modelcontextprotocol/skills"), as the server
 * sent them. The function reads all pages of the list. The files of a skill are resources:
 * see mcplink_client_read_resource.
 *
 * @param options the options for the request of each page; NULL for the defaults.
 * @param out,err see mcplink_client_call_tool. The result is {"skills":[...]}.
 * @return see mcplink_client_call_tool; MCPLINK_E_UNSUPPORTED when the server has not
 * declared the extension; MCPLINK_E_LIMIT when the list has too many pages or items.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_list_skills(mcplink_client_t *client,
                                            const mcplink_call_options_t *options,
                                            mcplink_result_t **out,
                                            mcplink_error_t **err);

/**
 * Starts to list the skills without waiting: the non-blocking form of
 * mcplink_client_list_skills.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_list_skills_start(mcplink_client_t *client,
                                                  const mcplink_call_options_t *options,
                                                  mcplink_done_fn callback,
                                                  void *user,
                                                  mcplink_destroy_fn destroy,
                                                  mcplink_call_t **out,
                                                  mcplink_error_t **err);

/**
 * Gets the entry of a skill, as the server sent it. A skill that is in no list may exist
 * nevertheless.
 *
 * @param uri the URI of the skill's SKILL.md.
 * @param options,out,err see mcplink_client_call_tool. The result is {"skill":{...}}.
 * @return see mcplink_client_call_tool; MCPLINK_E_UNSUPPORTED when the server has not
 * declared the extension.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_get_skill(mcplink_client_t *client,
                                          const char *uri,
                                          const mcplink_call_options_t *options,
                                          mcplink_result_t **out,
                                          mcplink_error_t **err);

/**
 * Starts to get the entry of a skill without waiting: the non-blocking form of
 * mcplink_client_get_skill.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_get_skill_start(mcplink_client_t *client,
                                                const char *uri,
                                                const mcplink_call_options_t *options,
                                                mcplink_done_fn callback,
                                                void *user,
                                                mcplink_destroy_fn destroy,
                                                mcplink_call_t **out,
                                                mcplink_error_t **err);

/**
 * Lists the direct children of a directory of resources, as the server has it now. The
 * function reads all pages of the list.
 *
 * @param uri the URI of the directory.
 * @param options the options for the request of each page; NULL for the defaults.
 * @param out,err see mcplink_client_call_tool. The result is {"resources":[...]}.
 * @return see mcplink_client_call_tool; MCPLINK_E_UNSUPPORTED when the server has not
 * declared the setting "directoryRead" of the extension for skills.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_list_directory(mcplink_client_t *client,
                                               const char *uri,
                                               const mcplink_call_options_t *options,
                                               mcplink_result_t **out,
                                               mcplink_error_t **err);

/**
 * Starts to list a directory without waiting: the non-blocking form of
 * mcplink_client_list_directory.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_list_directory_start(mcplink_client_t *client,
                                                     const char *uri,
                                                     const mcplink_call_options_t *options,
                                                     mcplink_done_fn callback,
                                                     void *user,
                                                     mcplink_destroy_fn destroy,
                                                     mcplink_call_t **out,
                                                     mcplink_error_t **err);

/**
 * Sends a notification of any method.
 *
 * @param method the method.
 * @param params,len a JSON object; len may be MCPLINK_NUL for text that ends in NUL. NULL for no
 * params.
 * @return MCPLINK_OK when the notification was accepted for sending; MCPLINK_E_CLOSED when the
 * server has disconnected, MCPLINK_E_UNSUPPORTED for a modern server over HTTP, which accepts only
 * requests.
 * @note Blocks: only while the server does not read.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_notify(mcplink_client_t *client,
                                       const char *method,
                                       const char *params,
                                       size_t len,
                                       mcplink_error_t **err);

/**
 * Notifies the server that the roots have changed, so that the server requests them again. A
 * modern server requests the roots with each call that needs them, so it receives no notification.
 *
 * @param client a client with a roots function: see mcplink_client_options_on_list_roots.
 * @return MCPLINK_OK; MCPLINK_E_UNSUPPORTED without a roots function; otherwise see
 * mcplink_client_notify.
 * @note Blocks: only while the server does not read.
 */
MCPLINK_NODISCARD MCPLINK_API mcplink_status_t mcplink_client_roots_changed(mcplink_client_t *client, mcplink_error_t **err);

/**
 * Notifies the server that the roots have changed, without waiting: the non-blocking form of
 * mcplink_client_roots_changed. For the order of started calls see mcplink_client_listen_start.
 *
 * @param client see mcplink_client_roots_changed.
 * @param callback,user,destroy,out see mcplink_client_call_tool_start.
 * @return see mcplink_client_call_tool_start.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_roots_changed_start(mcplink_client_t *client,
                                                    mcplink_done_fn callback,
                                                    void *user,
                                                    mcplink_destroy_fn destroy,
                                                    mcplink_call_t **out,
                                                    mcplink_error_t **err);

/**
 * Sets the least severe level of log messages that a server of the legacy era sends. The
 * messages arrive as MCPLINK_EVENT_LOG_MESSAGE. For a modern server the level is set for each
 * call: see mcplink_call_options_set_log_level.
 *
 * @param level the least severe level to receive.
 * @param options,err see mcplink_client_call_tool.
 * @return MCPLINK_OK; MCPLINK_E_UNSUPPORTED for a modern server, and for a server without
 * logging; otherwise see mcplink_client_call_tool.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_set_log_level(mcplink_client_t *client,
                                              mcplink_log_level level,
                                              const mcplink_call_options_t *options,
                                              mcplink_error_t **err);

/**
 * Starts to set the log level without waiting: the non-blocking form of
 * mcplink_client_set_log_level. For the order of started calls see
 * mcplink_client_listen_start.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_set_log_level_start(mcplink_client_t *client,
                                                    mcplink_log_level level,
                                                    const mcplink_call_options_t *options,
                                                    mcplink_done_fn callback,
                                                    void *user,
                                                    mcplink_destroy_fn destroy,
                                                    mcplink_call_t **out,
                                                    mcplink_error_t **err);

/**
 * Subscribes to change notifications, which arrive as MCPLINK_EVENT_TOOLS_CHANGED and similar
 * events. A new subscription replaces the earlier subscription that was made with this
 * function. Subscriptions work in both eras. With mcplink_client_options_set_restart the
 * subscription is renewed on each new connection.
 *
 * @param filter,len a JSON object with the wanted changes:
 * {"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,
 * "resourceSubscriptions":["uri"],"taskIds":["id"]}; len may be MCPLINK_NUL for text that ends
 * in NUL. NULL, or an object without any of these members, ends the subscription. For tasks,
 * MCPLINK_EVENT_TASK_CHANGED reports the state at once and after each change. Tasks require
 * revision 2026-07-28 or later, and a client with mcplink_client_options_set_tasks.
 * @param options,err see mcplink_client_call_tool.
 * @param out receives the filter that the server accepted, an object like the parameter filter; NULL
 * on failure. The caller frees it with mcplink_result_free.
 * @return MCPLINK_OK; MCPLINK_E_INVALID for an invalid filter; otherwise see
 * mcplink_client_call_tool. After a failure the earlier subscription remains.
 * @note Blocks: until the server has answered.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_listen(mcplink_client_t *client,
                                       const char *filter,
                                       size_t len,
                                       const mcplink_call_options_t *options,
                                       mcplink_result_t **out,
                                       mcplink_error_t **err);

/**
 * Starts to subscribe to change notifications without waiting: the non-blocking form of
 * mcplink_client_listen.
 *
 * The started calls of one client that subscribe, unsubscribe, set the log level or tell of
 * changed roots run one after the other, in the order in which they were started. Each begins
 * when the one before has ended, and its timeout begins then. Blocking calls do not wait for
 * them.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_listen_start(mcplink_client_t *client,
                                             const char *filter,
                                             size_t len,
                                             const mcplink_call_options_t *options,
                                             mcplink_done_fn callback,
                                             void *user,
                                             mcplink_destroy_fn destroy,
                                             mcplink_call_t **out,
                                             mcplink_error_t **err);

/**
 * Subscribes to changes of one resource, until mcplink_client_unsubscribe. The changes arrive
 * as MCPLINK_EVENT_RESOURCE_UPDATED, in both eras.
 *
 * @param uri the URI of the resource.
 * @param options,err see mcplink_client_call_tool.
 * @return MCPLINK_OK, also when the resource was subscribed already; MCPLINK_E_UNSUPPORTED
 * when the server refuses the subscription; otherwise see mcplink_client_call_tool.
 * @note Blocks: until the server has answered.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_subscribe(mcplink_client_t *client,
                                          const char *uri,
                                          const mcplink_call_options_t *options,
                                          mcplink_error_t **err);

/**
 * Starts to subscribe to changes of one resource without waiting: the non-blocking form of
 * mcplink_client_subscribe. For the order of started calls see mcplink_client_listen_start.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_subscribe_start(mcplink_client_t *client,
                                                const char *uri,
                                                const mcplink_call_options_t *options,
                                                mcplink_done_fn callback,
                                                void *user,
                                                mcplink_destroy_fn destroy,
                                                mcplink_call_t **out,
                                                mcplink_error_t **err);

/**
 * Ends a subscription that was made with mcplink_client_subscribe.
 *
 * @param uri the URI of the resource.
 * @return MCPLINK_OK, also when the resource was not subscribed.
 * @note Blocks: only while the server does not read.
 */
MCPLINK_NODISCARD MCPLINK_API mcplink_status_t mcplink_client_unsubscribe(mcplink_client_t *client, const char *uri, mcplink_error_t **err);

/**
 * Starts to end a subscription without waiting: the non-blocking form of
 * mcplink_client_unsubscribe. For the order of started calls see mcplink_client_listen_start.
 *
 * @param callback,user,destroy,out see mcplink_client_call_tool_start.
 * @return see mcplink_client_call_tool_start.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_client_unsubscribe_start(mcplink_client_t *client,
                                                  const char *uri,
                                                  mcplink_done_fn callback,
                                                  void *user,
                                                  mcplink_destroy_fn destroy,
                                                  mcplink_call_t **out,
                                                  mcplink_error_t **err);

/**
 * Clears the client's cache of results, so that later calls request the results from the server
 * again.
 */
MCPLINK_NODISCARD MCPLINK_API mcplink_status_t mcplink_client_clear_cache(mcplink_client_t *client, mcplink_error_t **err);

/**
 * Makes call options with the default values.
 *
 * @return the options. The caller owns them and frees them with mcplink_call_options_free. They
 * may be used for many calls.
 */
MCPLINK_NODISCARD MCPLINK_API mcplink_call_options_t *mcplink_call_options_new(void);

/**
 * Frees call options. Calls that were made with them continue.
 */
MCPLINK_API void mcplink_call_options_free(mcplink_call_options_t *options);

/**
 * Sets how long a call waits for its result. Progress restarts the timeout. The timeout does
 * not run while a person answers an input request of the server. Default: the timeout of the
 * client.
 *
 * @param milliseconds the timeout; MCPLINK_FOREVER for no timeout.
 */
MCPLINK_API mcplink_status_t mcplink_call_options_set_timeout_ms(mcplink_call_options_t *options, uint32_t milliseconds);

/**
 * Sets how long a call waits in total. Progress does not restart the timeout. The timeout does
 * not run while a person answers an input request of the server. Default: the total timeout of
 * the client.
 *
 * @param milliseconds the timeout; MCPLINK_FOREVER for no timeout.
 */
MCPLINK_API mcplink_status_t mcplink_call_options_set_max_timeout_ms(mcplink_call_options_t *options, uint32_t milliseconds);

/**
 * Sets a token that can cancel the call, for example when the user presses a key.
 *
 * @param cancel the token. The token may be freed before the options. NULL for no token.
 */
MCPLINK_API mcplink_status_t mcplink_call_options_set_cancel(mcplink_call_options_t *options, mcplink_cancel_t *cancel);

/**
 * Adds a member of "_meta" to the request, for example a trace context.
 *
 * @param key the name of the member.
 * @param json,len the value of the member; len may be MCPLINK_NUL for text that ends in NUL.
 */
MCPLINK_API mcplink_status_t mcplink_call_options_set_meta(mcplink_call_options_t *options, const char *key, const char *json, size_t len);

/**
 * Sets the least severe level of the log messages that the call requests from a modern server.
 * The messages arrive as MCPLINK_EVENT_LOG_MESSAGE. For servers of the legacy era use
 * mcplink_client_set_log_level.
 *
 * @param level the least severe level to receive.
 */
MCPLINK_API mcplink_status_t mcplink_call_options_set_log_level(mcplink_call_options_t *options, mcplink_log_level level);

/**
 * Sets whether the call bypasses the cache: the call asks the server even if a fresh result is
 * cached, for example because the user wants to see the newest state. Default: false.
 *
 * @param enabled true to bypass the cache.
 */
MCPLINK_API mcplink_status_t mcplink_call_options_set_bypass_cache(mcplink_call_options_t *options, bool enabled);

/**
 * Sets a number by which the host knows the call, for example a pointer of the host's. A
 * handler of the client gets the number from mcplink_request_tag, so that a host with several
 * calls knows which of them needs input of the user. The number is not sent to the server.
 * Default: 0.
 *
 * @param tag the number; 0 for no tag.
 */
MCPLINK_API mcplink_status_t mcplink_call_options_set_tag(mcplink_call_options_t *options, uint64_t tag);

/**
 * Receives the progress of a call.
 *
 * @param progress,total the progress so far, and its value when the call is complete; total is 0 when
 * unknown.
 * @param message a text for users; may be empty; valid until the callback returns.
 */
typedef void (*mcplink_progress_fn)(void *user, double progress, double total, mcplink_str_t message);

/**
 * Sets the function that receives the progress of the call.
 *
 * @param callback the function; NULL for no function. For a blocking call the function runs on the
 * calling thread, in order, before the call returns. For a started call the function runs on
 * the thread that runs the client's callbacks, and progress that still waits is replaced by
 * newer progress.
 * @param user,destroy passed to callback; destroy runs when another function is set. Otherwise it
 * runs when the options are freed and all calls that use them have ended.
 */
MCPLINK_API
mcplink_status_t mcplink_call_options_on_progress(mcplink_call_options_t *options,
                                                  mcplink_progress_fn callback,
                                                  void *user,
                                                  mcplink_destroy_fn destroy);

/**
 * Makes a cancel token that is not triggered.
 *
 * @return the token. The caller owns it and frees it with mcplink_cancel_free, which is allowed
 * while calls use the token. NULL after an internal error.
 */
MCPLINK_NODISCARD MCPLINK_API mcplink_cancel_t *mcplink_cancel_new(void);

/**
 * Triggers a token permanently. Calls that use the token end with MCPLINK_E_CANCELLED, and
 * their servers are notified. Later calls with this token fail, and are not sent.
 *
 * @return MCPLINK_OK, also when the token was triggered before.
 * @note Threads: any, but no signal handler.
 */
MCPLINK_API mcplink_status_t mcplink_cancel_trigger(mcplink_cancel_t *cancel);

/**
 * Checks whether a token was triggered.
 *
 * @return true if the token was triggered.
 */
MCPLINK_API bool mcplink_cancel_is_triggered(const mcplink_cancel_t *cancel);

/**
 * Frees a token. Calls that use the token continue. If the token was not triggered, these calls
 * can no longer be cancelled through the token.
 */
MCPLINK_API void mcplink_cancel_free(mcplink_cancel_t *cancel);

/**
 * Cancels a call: the call fails with MCPLINK_E_CANCELLED, unless it has ended already. The
 * server is notified.
 *
 * @param reason one sentence for the server; NULL for no reason.
 */
MCPLINK_API mcplink_status_t mcplink_call_cancel(mcplink_call_t *call, const char *reason);

/**
 * Waits for the outcome of a call. The call's done function may run before or after this function
 * returns. The function may be called again, also by several threads.
 *
 * @param timeout_ms the maximum time to wait, in milliseconds; MCPLINK_FOREVER to wait until the call
 * ends.
 * @param out receives the result, or NULL without a result; the caller frees it with
 * mcplink_result_free. May be NULL.
 * @return MCPLINK_OK or MCPLINK_TOOL_ERROR with a result, MCPLINK_PENDING after the timeout, or
 * the status of the call's failure. MCPLINK_E_CLOSED also when another thread frees the handle.
 * @note Threads: any; on the thread that runs the client's callbacks, this function handles requests
 * from the server while it waits. Blocks: until the outcome is known or the timeout is over.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_call_wait(mcplink_call_t *call,
                                   uint32_t timeout_ms,
                                   mcplink_result_t **out,
                                   mcplink_error_t **err);

/**
 * Waits until one of several started calls has ended. The calls may be of several clients. Get the
 * outcome of the call with mcplink_call_wait, and leave the call out of the next wait.
 *
 * @param calls,count the calls, at least one.
 * @param timeout_ms the maximum time to wait; 0 only checks, MCPLINK_FOREVER waits without limit.
 * @param index receives the index of a call that has ended; count without one.
 * @return MCPLINK_OK; MCPLINK_PENDING when the time is over; MCPLINK_E_INVALID; MCPLINK_E_STATE
 * on a thread that runs the callbacks of one of the clients, which would wait for itself;
 * MCPLINK_E_CLOSED when another thread frees one of the calls.
 * @note Blocks: until a call has ended or the time is over.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_call_wait_any(mcplink_call_t *const *calls,
                                       size_t count,
                                       uint32_t timeout_ms,
                                       size_t *index,
                                       mcplink_error_t **err);

/**
 * Checks whether a call has ended.
 *
 * @return true if the call has ended; its done function may still have to run.
 */
MCPLINK_API bool mcplink_call_is_done(const mcplink_call_t *call);

/**
 * Returns a number that identifies the call in this process.
 *
 * @return a number that the library assigned, from 1.
 */
MCPLINK_API uint64_t mcplink_call_id(const mcplink_call_t *call);

/**
 * Frees the handle of a call. The call continues, and its done function will still run. To stop
 * the call, cancel the call before freeing its handle.
 */
MCPLINK_API void mcplink_call_free(mcplink_call_t *call);

/**
 * Returns the id of the task that a call has become: see mcplink_client_call_tool_as_task.
 *
 * @return the id, valid as long as the result; empty when the result is no task.
 */
MCPLINK_API mcplink_str_t mcplink_result_task_id(const mcplink_result_t *result);

/**
 * Returns the result as a JSON value.
 *
 * @return a node that is valid as long as the result. NULL if the result comes from
 * mcplink_client_request and contains text or a number without a C representation, such as
 * half of a surrogate pair or 1e400. In results of other calls U+FFFD stands for such a half,
 * and a call fails with MCPLINK_E_PROTOCOL when the server sends such a number.
 */
MCPLINK_API const mcplink_json_t *mcplink_result_json(const mcplink_result_t *result);

/**
 * Returns the result as the JSON text that was received. For a list, the text contains all
 * pages of the list.
 *
 * @return text that is valid as long as the result.
 */
MCPLINK_API mcplink_str_t mcplink_result_raw(const mcplink_result_t *result);

/**
 * Returns the text of all text blocks, joined with newlines.
 *
 * @param result the result of a tool call, of reading a resource, or of getting a prompt; for NULL
 * the function returns empty text.
 * @return text that is valid as long as the result; empty when there is no text.
 */
MCPLINK_API mcplink_str_t mcplink_result_text(const mcplink_result_t *result);

/**
 * Checks whether a result belongs to a tool that ran and failed. The content of the result
 * then contains the reason, for the model to read.
 *
 * @return true if the tool failed.
 */
MCPLINK_API bool mcplink_result_is_tool_error(const mcplink_result_t *result);

/**
 * Returns the structured content of a tool result: the member "structuredContent".
 *
 * @return a node that is valid as long as the result; NULL when the member is missing.
 */
MCPLINK_API const mcplink_json_t *mcplink_result_structured(const mcplink_result_t *result);

/**
 * Returns the metadata of the result: the member "_meta".
 *
 * @return a node that is valid as long as the result; NULL when the member is missing.
 */
MCPLINK_API const mcplink_json_t *mcplink_result_meta(const mcplink_result_t *result);

/**
 * Returns the parts of a result that violate the specification: list entries that were left
 * out, and invalid parts of other results. The other parts of the result can be used.
 *
 * Invalid entries are removed from lists. Other results are shown as they were received, so an
 * invalid content block may lack a member.
 *
 * @return an array, valid as long as the result; empty when all parts are valid; NULL if
 * result is NULL. Each entry is an object: "index" is the position of the entry in its list or
 * page, from 0, or null; "name" the name or URI of the entry, or null; "path" a JSON Pointer
 * to the invalid part; "reason" the reason. At most 1000 entries.
 */
MCPLINK_API const mcplink_json_t *mcplink_result_misfits(const mcplink_result_t *result);

/**
 * Returns the number of content blocks of a tool or resource result, or the number of messages
 * of a prompt.
 *
 * @return the number.
 */
MCPLINK_API size_t mcplink_result_content_count(const mcplink_result_t *result);

/**
 * Returns one content block; for a prompt, the content of one message. The role of a message
 * is at "/messages/INDEX/role" of mcplink_result_json.
 *
 * @param index from 0.
 * @return a node that is valid as long as the result; NULL when index is out of range.
 */
MCPLINK_API const mcplink_json_t *mcplink_result_content(const mcplink_result_t *result, size_t index);

/**
 * The kind of a content block.
 */
typedef enum mcplink_content_kind {
    /**
     * No content block: the index is out of range.
     */
    MCPLINK_CONTENT_NONE = 0,
    /**
     * Text, in the member "text".
     */
    MCPLINK_CONTENT_TEXT = 301,
    /**
     * An image: see mcplink_result_content_bytes and the member "mimeType".
     */
    MCPLINK_CONTENT_IMAGE = 302,
    /**
     * Audio: see mcplink_result_content_bytes and the member "mimeType".
     */
    MCPLINK_CONTENT_AUDIO = 303,
    /**
     * A resource link, in the member "uri".
     */
    MCPLINK_CONTENT_RESOURCE_LINK = 304,
    /**
     * An embedded resource, in the member "resource".
     */
    MCPLINK_CONTENT_RESOURCE = 305,
    /**
     * The binary contents of a resource that was read.
     */
    MCPLINK_CONTENT_BLOB = 306,
    /**
     * A content block of a kind that this library does not know: see the member "type".
     */
    MCPLINK_CONTENT_OTHER = 307,
} mcplink_content_kind;

/**
 * Returns the kind of a content block.
 *
 * @param index from 0.
 * @return the kind; MCPLINK_CONTENT_NONE when the index is out of range.
 */
MCPLINK_API mcplink_content_kind mcplink_result_content_kind(const mcplink_result_t *result, size_t index);

/**
 * Frees a result. All text and nodes that belong to the result are invalid afterwards.
 *
 * @param result the result; may be NULL. A result that was passed to a callback must not be freed.
 */
MCPLINK_API void mcplink_result_free(mcplink_result_t *result);

/**
 * Returns the bytes of an image, of audio, or of a binary resource. The bytes are decoded from
 * base64 on first use.
 *
 * @param index the index of the content block, from 0.
 * @param len receives the number of bytes, or 0 when NULL is returned; may be NULL.
 * @return the bytes, followed by a 0, valid as long as the result. NULL when the block has no
 * bytes or they can't be decoded.
 */
MCPLINK_API const void *mcplink_result_content_bytes(const mcplink_result_t *result, size_t index, size_t *len);

/**
 * Makes a group without servers.
 *
 * @return the group. The caller owns it and frees it with mcplink_group_free. NULL after an
 * internal error.
 */
MCPLINK_NODISCARD MCPLINK_API mcplink_group_t *mcplink_group_new(void);

/**
 * Adds a server to the group.
 *
 * @param server the name of the server in the group, which becomes the prefix of its tools and
 * prompts. In the prefix, "_" replaces each character that is not an ASCII letter, a digit,
 * "-" or "_".
 * @param client the client, which is connected. It remains the caller's. If it is freed before it is
 * removed from the group, the group reports MCPLINK_E_CLOSED for its names.
 * @return MCPLINK_OK; MCPLINK_E_INVALID also when the prefix is the beginning of the prefix
 * of another server or the reverse; MCPLINK_E_STATE while the client is being connected.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_group_add(mcplink_group_t *group,
                                   const char *server,
                                   mcplink_client_t *client,
                                   mcplink_error_t **err);

/**
 * A list that a server offers to clients.
 */
typedef enum mcplink_list {
    /**
     * The list of tools: tools/list.
     */
    MCPLINK_LIST_TOOLS = 1001,
    /**
     * The list of prompts: prompts/list.
     */
    MCPLINK_LIST_PROMPTS = 1002,
    /**
     * The list of resources: resources/list.
     */
    MCPLINK_LIST_RESOURCES = 1003,
    /**
     * The list of resource templates: resources/templates/list.
     */
    MCPLINK_LIST_TEMPLATES = 1004,
} mcplink_list;

/**
 * Lists the tools, prompts, resources or resource templates of all servers. A server that
 * fails does not affect the others. A server without such a list is no failure.
 *
 * The requests are sent to all servers before the function waits for an answer. For a list
 * that does not block, use mcplink_client_list_tools_start of each client, and
 * mcplink_group_prefix.
 *
 * @param list the list.
 * @param options the options of each request; NULL for the defaults of each client. Progress is not
 * reported.
 * @param out receives {"items":[{"server":...,"name":...,"item":{...}}],
 * "failures":[{"server":...,"status":...,"message":...}]}; NULL on failure. The member name is
 * the name in the group, and item is as the server listed it. The caller frees out with
 * mcplink_json_free.
 * @return MCPLINK_OK, also when a server has failed; MCPLINK_E_STATE on a thread that runs
 * the handlers of one of the clients for requests from its server.
 * @note Blocks: until each server has answered or failed.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_group_list(mcplink_group_t *group,
                                    mcplink_list list,
                                    const mcplink_call_options_t *options,
                                    mcplink_json_t **out,
                                    mcplink_error_t **err);

/**
 * Finds the server for a name in the group, for a call such as mcplink_client_call_tool.
 *
 * For a tool or a prompt, only the prefix of the name counts, and not whether the server has the
 * item. A resource is found if exactly one server lists its URI, or if only one server has
 * resources.
 *
 * @param primitive MCPLINK_PRIMITIVE_TOOL, MCPLINK_PRIMITIVE_PROMPT or MCPLINK_PRIMITIVE_RESOURCE.
 * @param name the name in the group, or the URI of a resource.
 * @param found receives the client of the server, which remains the caller's; NULL on failure.
 * @param own receives the name that the server knows: the end of name. NULL on failure. May be NULL.
 * @return MCPLINK_OK; MCPLINK_E_INVALID when no server, or more than one, is meant;
 * MCPLINK_E_CLOSED when the client was freed; MCPLINK_E_STATE for a resource on a thread that runs
 * the handlers of one of the clients for requests from its server.
 * @note Blocks: only for a resource that was in no list: until each server has answered or failed.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_group_find(mcplink_group_t *group,
                                    mcplink_primitive primitive,
                                    const char *name,
                                    mcplink_client_t **found,
                                    const char **own,
                                    mcplink_error_t **err);

/**
 * Removes a server from the group. Its client stays open, and calls continue.
 *
 * @param server the name of the server in the group.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID when the group has no such server.
 */
MCPLINK_API mcplink_status_t mcplink_group_remove(mcplink_group_t *group, const char *server);

/**
 * Returns the prefix of the tools and prompts of a server, such as "files__".
 *
 * @param server the name of the server in the group.
 * @return the prefix, valid until the server is removed or the group is freed; empty when the
 * group has no such server.
 */
MCPLINK_API mcplink_str_t mcplink_group_prefix(const mcplink_group_t *group, const char *server);

/**
 * Frees a group. Its clients stay open.
 */
MCPLINK_API void mcplink_group_free(mcplink_group_t *group);

/* ==== Requests from servers ==== */

/**
 * Sets which optional features of sampling the client declares to servers. The handler that
 * was set with mcplink_client_options_on_sample must support these features. Default: no
 * optional features.
 *
 * @param tools true if the model may use tools that the server names.
 * @param context true if the handler adds the context that a server requests (includeContext).
 */
MCPLINK_API mcplink_status_t mcplink_client_options_set_sampling(mcplink_client_options_t *options, bool tools, bool context);

/**
 * Handles a request from the peer: from the client on a server, or from the server on a client.
 * The handler answers the request before it returns. A handler that keeps the responder may answer
 * later, from any thread.
 *
 * @param request the request, valid until the handler returns, or as long as a responder that was kept.
 * @param responder answers the request; valid until the handler returns: see mcplink_responder_keep.
 */
typedef void (*mcplink_handler_fn)(void *user, const mcplink_request_t *request, mcplink_responder_t *responder);

/**
 * Sets the handler for requests of one custom method that a server of the legacy era sends,
 * for extensions of the protocol.
 *
 * @param method the method.
 * @param callback,user,destroy see mcplink_client_options_on_elicit. The handler answers with any
 * JSON value, or with an error.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_on_request(mcplink_client_options_t *options,
                                                   const char *method,
                                                   mcplink_handler_fn callback,
                                                   void *user,
                                                   mcplink_destroy_fn destroy);

/**
 * Sets the handler for form elicitation (elicitation/create): the server asks the user with a
 * form. The client declares this capability to servers.
 *
 * The params of the request are {"message":"...","requestedSchema":{...}}. Answer with
 * mcplink_responder_json: {"action":"accept","content":{...}}, {"action":"decline"} or
 * {"action":"cancel"}. If the handler answers with an error, the server receives the action
 * "cancel". The responder may be kept until the user has answered: meanwhile the timeouts of
 * the call are paused.
 *
 * All handlers for requests of the server run on the thread that runs the client's callbacks,
 * one handler at a time. If that thread makes a blocking call, it runs handlers while it
 * waits. There is one exception: in a client without a pump, a request of a modern server that
 * belongs to a blocking call is handled on the calling thread. When the server cancels a
 * request or the client is closed, the answer is not needed any more: see
 * mcplink_responder_on_cancel.
 *
 * @param callback the handler; NULL for no handler.
 * @param user,destroy passed to callback; destroy runs when another function is set, or when the
 * options and all clients that use callback are freed.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_on_elicit(mcplink_client_options_t *options,
                                                  mcplink_handler_fn callback,
                                                  void *user,
                                                  mcplink_destroy_fn destroy);

/**
 * Sets the handler for URL elicitation (elicitation/create with a URL): the server asks the
 * user to open a web page. The client declares this capability to servers.
 *
 * The params of the request are
 * {"mode":"url","message":"...","url":"...","elicitationId":"..."}. The library does not open
 * the page: show the whole URL, ask the user, and open the URL in a browser. Answer as in
 * mcplink_client_options_on_elicit, without content. The answer "accept" means that the user
 * agreed to open the page.
 *
 * @param options,callback,user,destroy see mcplink_client_options_on_elicit.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_on_elicit_url(mcplink_client_options_t *options,
                                                      mcplink_handler_fn callback,
                                                      void *user,
                                                      mcplink_destroy_fn destroy);

/**
 * Sets the handler for sampling (sampling/createMessage): the server uses the client's model.
 * The client declares this capability to servers.
 *
 * The params of the request are {"messages":[...],"maxTokens":100,...}. Answer with
 * mcplink_responder_json:
 * {"role":"assistant","content":{"type":"text","text":"..."},"model":"..."}, or refuse with
 * mcplink_responder_fail, for example with MCPLINK_RPC_USER_REJECTED.
 *
 * @param options,callback,user,destroy see mcplink_client_options_on_elicit.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_on_sample(mcplink_client_options_t *options,
                                                  mcplink_handler_fn callback,
                                                  void *user,
                                                  mcplink_destroy_fn destroy);

/**
 * Sets the handler for roots (roots/list): the server requests the locations in which it may
 * work. The client declares this capability to servers.
 *
 * The request has no params. Answer with mcplink_responder_json:
 * {"roots":[{"uri":"file:///home/ada/project","name":"..."}]}. When the roots change, call
 * mcplink_client_roots_changed.
 *
 * @param options,callback,user,destroy see mcplink_client_options_on_elicit.
 */
MCPLINK_API
mcplink_status_t mcplink_client_options_on_list_roots(mcplink_client_options_t *options,
                                                      mcplink_handler_fn callback,
                                                      void *user,
                                                      mcplink_destroy_fn destroy);

/* ==== Server ==== */

/**
 * Makes a server with default options.
 *
 * @param name the name of the server, for programs.
 * @param version the version of the server.
 * @return the server. The caller owns it and frees it with mcplink_server_free. NULL for an
 * invalid argument; functions that take a server refuse NULL.
 */
MCPLINK_NODISCARD MCPLINK_API mcplink_server_t *mcplink_server_new(const char *name, const char *version);

/**
 * Makes a server with options.
 *
 * @param options the options, which are copied.
 * @param out receives the server, NULL on failure. The caller owns it and frees it with
 * mcplink_server_free.
 * @return MCPLINK_OK; MCPLINK_E_INVALID for options that contradict each other; the status of
 * a failed setter of the options.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_server_new_with(const mcplink_server_options_t *options,
                                         mcplink_server_t **out,
                                         mcplink_error_t **err);

/**
 * Stops a server, as mcplink_server_stop does, waits until the server has ended, and frees the
 * server. No callback of the server runs afterwards. If a callback of the server, or the close
 * function of a session's transport, calls this function, the function returns at once. The server
 * is then freed after that callback has returned.
 *
 * In a forked process the function does nothing: memory and descriptors, which are close-on-exec,
 * remain until the process exits or executes another program. See MCPLINK_E_FORKED.
 *
 * @param server the server; may be NULL. Other threads may be inside functions of the server: these
 * functions return MCPLINK_E_CLOSED. No thread may use the server afterwards.
 * @note Blocks: until handlers have returned, a few seconds at most.
 */
MCPLINK_API void mcplink_server_free(mcplink_server_t *server);

/**
 * Stops a server: blocking calls such as mcplink_server_serve_stdio return MCPLINK_OK, sessions,
 * listeners and publications close, and the server accepts no more clients. The tools and other
 * entries of the server remain until the server is freed.
 *
 * @return MCPLINK_OK; MCPLINK_E_INVALID for NULL; MCPLINK_E_FORKED in a forked process, where the
 * function does nothing.
 * @note Threads: any, also in signal handlers. Blocks: no: a thread of the library does the work.
 */
MCPLINK_API mcplink_status_t mcplink_server_stop(mcplink_server_t *server);

/**
 * Adds a tool.
 *
 * @param tool the definition, which is copied. If a setter of the definition failed, this function
 * fails with the error of that setter.
 * @param callback the handler; see mcplink_handler_fn. Without a pump, the handler runs on threads
 * of the library, on several at once. With a pump, the handler runs on the thread that
 * dispatches the pump.
 * @param user,destroy passed to callback; destroy runs when the tool is removed and its last
 * request has ended, or when the server ends.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID when the name is invalid or in use, or a schema is
 * invalid.
 * @note Threads: any, also while the server serves: clients are notified.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_server_add_tool(mcplink_server_t *server,
                                         const mcplink_tool_t *tool,
                                         mcplink_handler_fn callback,
                                         void *user,
                                         mcplink_destroy_fn destroy,
                                         mcplink_error_t **err);

/**
 * Adds a resource.
 *
 * @param resource the definition, which is copied. If a setter of the definition failed, this
 * function fails with the error of that setter.
 * @param callback the handler; see mcplink_handler_fn. Without a pump, the handler runs on threads
 * of the library, on several at once. With a pump, the handler runs on the thread that
 * dispatches the pump.
 * @param user,destroy passed to callback; destroy runs when the resource is removed and its last
 * request has ended, or when the server ends.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID when the URI is invalid or in use.
 * @note Threads: any, also while the server serves: clients are notified.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_server_add_resource(mcplink_server_t *server,
                                             const mcplink_resource_t *resource,
                                             mcplink_handler_fn callback,
                                             void *user,
                                             mcplink_destroy_fn destroy,
                                             mcplink_error_t **err);

/**
 * Adds a resource template: resources whose URIs follow a pattern. The handler reads the
 * values of the variables with mcplink_request_args.
 *
 * @param resource_template the definition, which is copied. If a setter of the definition failed,
 * this function fails with the error of that setter.
 * @param callback the handler; see mcplink_handler_fn. Without a pump, the handler runs on threads
 * of the library, on several at once. With a pump, the handler runs on the thread that
 * dispatches the pump.
 * @param user,destroy passed to callback; destroy runs when the template is removed and its last
 * request has ended, or when the server ends.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID when the template is invalid or was added before.
 * @note Threads: any, also while the server serves: clients are notified.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_server_add_template(mcplink_server_t *server,
                                             const mcplink_template_t *resource_template,
                                             mcplink_handler_fn callback,
                                             void *user,
                                             mcplink_destroy_fn destroy,
                                             mcplink_error_t **err);

/**
 * Adds a prompt.
 *
 * @param prompt the definition, which is copied. If a setter of the definition failed, this function
 * fails with the error of that setter.
 * @param callback the handler; see mcplink_handler_fn. Without a pump, the handler runs on threads
 * of the library, on several at once. With a pump, the handler runs on the thread that
 * dispatches the pump.
 * @param user,destroy passed to callback; destroy runs when the prompt is removed and its last
 * request has ended, or when the server ends.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID when the name is empty or in use, or two arguments
 * have equal names.
 * @note Threads: any, also while the server serves: clients are notified.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_server_add_prompt(mcplink_server_t *server,
                                           const mcplink_prompt_t *prompt,
                                           mcplink_handler_fn callback,
                                           void *user,
                                           mcplink_destroy_fn destroy,
                                           mcplink_error_t **err);

/**
 * Adds a completer: a handler that completes an argument of a prompt, or a variable of a
 * template, while the user types. The prompt or template may be added later.
 *
 * The handler reads the name of the argument with mcplink_request_name, and the typed text
 * with mcplink_request_value. mcplink_request_args returns the known values of the other
 * arguments. The handler answers with mcplink_responder_values.
 *
 * @param primitive MCPLINK_PRIMITIVE_PROMPT or MCPLINK_PRIMITIVE_TEMPLATE.
 * @param target the name of the prompt, or the URI template.
 * @param argument the name of the argument or variable.
 * @param callback the handler; see mcplink_handler_fn. It runs on the same threads as other
 * handlers.
 * @param user,destroy passed to callback; destroy runs when the server ends.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID when the argument has a completer already.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_server_add_completer(mcplink_server_t *server,
                                              mcplink_primitive primitive,
                                              const char *target,
                                              const char *argument,
                                              mcplink_handler_fn callback,
                                              void *user,
                                              mcplink_destroy_fn destroy,
                                              mcplink_error_t **err);

/**
 * Restricts a tool, prompt, resource or template to principals with the given scopes. The scopes
 * are checked before the handler runs; lists still contain the entry. Repeated calls for one entry
 * add scopes: all scopes are required.
 *
 * Over HTTP a client that lacks a scope gets status 403, and can ask its user to grant the scope.
 * If the scopes of a principal are unknown, the request is refused over HTTP. On other transports
 * scopes are always unknown, and requests are not refused.
 *
 * @param primitive the kind of the entry.
 * @param target the name, URI or URI template of the entry. The entry must exist, so that a typing error
 * leaves nothing unprotected. The restriction remains when the entry is removed, and applies to a
 * new entry with this name.
 * @param scopes the names of the scopes, separated by spaces.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID when the entry does not exist or scopes contains no
 * name. After a failure the server accepts no further clients: functions that serve clients fail
 * with the same error.
 * @note Threads: any. Call the function before the first client is served, so that no request is served
 * without the restriction.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_server_require_scopes(mcplink_server_t *server,
                                               mcplink_primitive primitive,
                                               const char *target,
                                               const char *scopes,
                                               mcplink_error_t **err);

/**
 * Notifies all subscribers of a resource that the resource has changed. Successive changes are
 * merged: clients are notified at most every 10 ms.
 *
 * @param uri the URI of the resource, in any spelling. Each subscriber gets the spelling of its
 * subscription.
 * @return MCPLINK_OK, also when the resource has no subscribers.
 */
MCPLINK_API mcplink_status_t mcplink_server_resource_updated(mcplink_server_t *server, const char *uri);

/**
 * Removes a tool. Requests for the tool continue if they are in flight.
 *
 * @param name the name of the tool.
 * @return MCPLINK_OK; MCPLINK_E_INVALID when the tool does not exist.
 * @note Threads: any, also while the server serves: clients are notified.
 */
MCPLINK_API mcplink_status_t mcplink_server_remove_tool(mcplink_server_t *server, const char *name);

/**
 * Removes a resource. Requests for the resource continue if they are in flight.
 *
 * @param uri the URI of the resource.
 * @return MCPLINK_OK; MCPLINK_E_INVALID when the resource does not exist.
 * @note Threads: any, also while the server serves: clients are notified.
 */
MCPLINK_API mcplink_status_t mcplink_server_remove_resource(mcplink_server_t *server, const char *uri);

/**
 * Removes a resource template. Requests for the template continue if they are in flight.
 *
 * @param uri_template the URI template, as it was written in the definition.
 * @return MCPLINK_OK; MCPLINK_E_INVALID when the template does not exist.
 * @note Threads: any, also while the server serves: clients are notified.
 */
MCPLINK_API mcplink_status_t mcplink_server_remove_template(mcplink_server_t *server, const char *uri_template);

/**
 * Removes a prompt. Requests for the prompt continue if they are in flight.
 *
 * @param name the name of the prompt.
 * @return MCPLINK_OK; MCPLINK_E_INVALID when the prompt does not exist.
 * @note Threads: any, also while the server serves: clients are notified.
 */
MCPLINK_API mcplink_status_t mcplink_server_remove_prompt(mcplink_server_t *server, const char *name);

/**
 * Notifies a client that an elicitation of mode "url" is complete: the user has done what the page
 * asked for. The handler set the "elicitationId" of the elicitation. Only the client that got the
 * elicitation is notified, and only once.
 *
 * Only revision 2025-11-25 has this notification. In other revisions nothing is sent, and the
 * client repeats its call by itself.
 *
 * @param elicitation_id the id of the elicitation.
 * @param sent receives whether a notification was sent. May be NULL.
 * @return MCPLINK_OK, also when nothing is sent; MCPLINK_E_INVALID; MCPLINK_E_CLOSED when the
 * client has gone, MCPLINK_E_TIMEOUT when it does not read.
 * @note Threads: any, for example that of a web server. Blocks: only while the client does not read.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_server_elicitation_complete(mcplink_server_t *server,
                                                     const char *elicitation_id,
                                                     bool *sent,
                                                     mcplink_error_t **err);

/**
 * Ends all subscriptions of clients of revisions since 2026-07-28 with their results, so that
 * clients know that the end is intended. Connections and calls continue.
 */
MCPLINK_API mcplink_status_t mcplink_server_end_subscriptions(mcplink_server_t *server);

/**
 * Sends the client of a session a notification of the host's own method. Notifications that
 * belong to a request are sent with mcplink_responder_notify, which also works over HTTP.
 *
 * @param method the method, for example "notifications/com.example/moved".
 * @param params,len a JSON object; len may be MCPLINK_NUL for text that ends in NUL. NULL for none.
 * @return MCPLINK_OK; MCPLINK_E_INVALID; MCPLINK_E_CLOSED when the session has ended,
 * MCPLINK_E_TIMEOUT when the client does not read.
 * @note Blocks: only while the client does not read.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_session_notify(mcplink_session_t *session,
                                        const char *method,
                                        const char *params,
                                        size_t len,
                                        mcplink_error_t **err);

/**
 * Sets the function that sees each message of the server's sessions, unchanged: for logs and
 * traces. Sessions are served over standard streams, descriptors and transports; messages over
 * HTTP are not shown.
 *
 * @param callback see mcplink_message_fn. NULL for no function.
 * @param user,destroy passed to callback; destroy runs when another function is set, or when the
 * options and all servers made with them are freed.
 */
MCPLINK_API
mcplink_status_t mcplink_server_options_on_message(mcplink_server_options_t *options,
                                                   mcplink_message_fn callback,
                                                   void *user,
                                                   mcplink_destroy_fn destroy);

/**
 * Serves the process that started this process, over the standard streams. Serving ends when that
 * process closes the streams or mcplink_server_stop is called.
 *
 * While the function runs, the standard streams are reserved for the protocol. Other output of
 * this process and its children goes to standard error. Other code that reads standard input gets
 * no data. Both streams are restored at the end. Call the function before anything reads standard
 * input.
 *
 * @return MCPLINK_OK when the client has disconnected or the server was stopped; MCPLINK_E_STATE
 * when the standard streams are served already, or this thread dispatches the pump of the server;
 * MCPLINK_E_IO when a stream failed; MCPLINK_E_CLOSED when the server is freed.
 * @note Threads: any. With a pump another thread must dispatch the pump. Blocks: until serving ends;
 * calls in flight may finish first, for a few seconds.
 */
MCPLINK_NODISCARD MCPLINK_API mcplink_status_t mcplink_server_serve_stdio(mcplink_server_t *server, mcplink_error_t **err);

/**
 * Starts to serve over the standard streams without waiting: the non-blocking form of
 * mcplink_server_serve_stdio.
 *
 * @param out receives the session, NULL on failure. The caller owns it and frees it with
 * mcplink_session_free, before or after the server.
 * @return as mcplink_server_serve_stdio; MCPLINK_E_CLOSED when the server was stopped.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_server_serve_stdio_start(mcplink_server_t *server,
                                                  mcplink_session_t **out,
                                                  mcplink_error_t **err);

/**
 * Starts to serve over file descriptors without waiting: the non-blocking form of
 * mcplink_server_serve_fds.
 *
 * @param input,output,principal as for mcplink_server_serve_fds.
 * @param out receives the session, NULL on failure. The caller owns it and frees it with
 * mcplink_session_free, before or after the server.
 * @return as mcplink_server_serve_fds; MCPLINK_E_CLOSED when the server was stopped.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_server_serve_fds_start(mcplink_server_t *server,
                                                ptrdiff_t input,
                                                ptrdiff_t output,
                                                const char *principal,
                                                mcplink_session_t **out,
                                                mcplink_error_t **err);

/**
 * Starts to serve a client over a transport of the host, without waiting.
 *
 * After the client has disconnected (mcplink_transport_feed_end), answers to calls in flight
 * may still be sent. Sending ends after the drain time of the server, or when the host closes
 * or frees the session. MCPLINK_SERVER_SESSION_ENDED and mcplink_session_is_closed report that
 * the client has disconnected. mcplink_session_wait waits until the client has disconnected,
 * and then closes the session.
 *
 * @param transport the transport, with a send function. A transport serves one session. The
 * transport remains the caller's; free it after the session.
 * @param principal the principal for which the client acts, as authenticated by the host; NULL when
 * the principal is unknown.
 * @param out receives the session, NULL on failure. The caller owns it and frees it with
 * mcplink_session_free, before or after the server.
 * @return MCPLINK_OK; MCPLINK_E_STATE when the transport was used before or has no send
 * function; MCPLINK_E_CLOSED when the server was stopped.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_server_attach(mcplink_server_t *server,
                                       mcplink_transport_t *transport,
                                       const char *principal,
                                       mcplink_session_t **out,
                                       mcplink_error_t **err);

/**
 * Serves a client over file descriptors, such as pipes, sockets or files. Serving ends when the
 * client disconnects or mcplink_server_stop is called. Each message is a line.
 *
 * @param input,output the descriptors to read from and to write to; for a socket they may be equal.
 * Both descriptors are duplicated. The originals remain the caller's, and may be closed at any
 * time.
 * @param principal the principal for which the client acts, as authenticated by the host: see
 * mcplink_request_principal. NULL when the principal is unknown.
 * @return MCPLINK_OK when the client has disconnected or the server was stopped;
 * MCPLINK_E_INVALID or MCPLINK_E_IO for invalid descriptors; MCPLINK_E_STATE when this thread
 * dispatches the pump of the server; MCPLINK_E_CLOSED when the server is freed.
 * @note Blocks: until serving ends.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_server_serve_fds(mcplink_server_t *server,
                                          ptrdiff_t input,
                                          ptrdiff_t output,
                                          const char *principal,
                                          mcplink_error_t **err);

/**
 * Waits until the client has disconnected or the session is closed, and then closes the session.
 *
 * @return MCPLINK_OK when the client has disconnected or the session was closed; another status
 * when the transport failed.
 * @note Blocks: until the session has ended; calls in flight may finish first, for a few seconds.
 */
MCPLINK_NODISCARD MCPLINK_API mcplink_status_t mcplink_session_wait(mcplink_session_t *session, mcplink_error_t **err);

/**
 * Closes a session: its calls are cancelled, and its transport is closed. If the close
 * function of the session's transport calls this function or mcplink_session_wait, the call
 * returns at once. The close in progress then continues.
 *
 * @return MCPLINK_OK, also when the session is closed already.
 * @note Blocks: a few seconds at most, for handlers that don't return.
 */
MCPLINK_API mcplink_status_t mcplink_session_close(mcplink_session_t *session);

/**
 * Checks whether the client has disconnected, or the session was closed.
 *
 * @return true if the session has ended.
 */
MCPLINK_API bool mcplink_session_is_closed(const mcplink_session_t *session);

/**
 * Returns a number that identifies the session in the server. mcplink_request_session returns
 * the same number for requests of the session, and events contain it as "session".
 *
 * @return the number, from 1.
 */
MCPLINK_API uint64_t mcplink_session_number(const mcplink_session_t *session);

/**
 * Returns the principal for which the client acts.
 *
 * @return the principal that was set when the session was made, valid as long as the session;
 * empty when the principal is unknown.
 */
MCPLINK_API mcplink_str_t mcplink_session_principal(const mcplink_session_t *session);

/**
 * Closes a session and frees it.
 *
 * @note Blocks: as mcplink_session_close.
 */
MCPLINK_API void mcplink_session_free(mcplink_session_t *session);

/**
 * Publishes a server under a name, so that other programs of the same user find it with
 * mcplink_instances and connect to it. The tool mcplink connects hosts of MCP servers to it:
 * "mcplink attach NAME". No port is opened. Neither another user nor a web page can connect.
 *
 * Up to 64 clients are served at once. Each has a session, which events report.
 *
 * @param name the name of the program, such as "blender": 1 to 64 ASCII letters, digits, '.', '-'
 * and '_', beginning with a letter or digit. Any number of programs can have one name.
 * @param title what the program has open, such as the name of a document. A person tells instances
 * of one program apart by it. At most 4 KiB; NULL for no title.
 * @param folder the folder that the program works in. At most 4 KiB; NULL for none.
 * @param out receives the publication, NULL on failure. The caller owns it and frees it with
 * mcplink_publication_free, before or after the server.
 * @return MCPLINK_OK; MCPLINK_E_INVALID for another name, or when other users may use the
 * folder of the published servers; MCPLINK_E_IO when its files can't be made;
 * MCPLINK_E_CLOSED when the server was stopped.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_server_publish(mcplink_server_t *server,
                                        const char *name,
                                        const char *title,
                                        const char *folder,
                                        mcplink_publication_t **out,
                                        mcplink_error_t **err);

/**
 * Replaces the title of a published server, for example when the user opens another document.
 *
 * @param title see mcplink_server_publish; not NULL.
 * @return MCPLINK_OK; MCPLINK_E_INVALID for a title that is too long; MCPLINK_E_IO when the
 * file of the published server can't be written; MCPLINK_E_CLOSED when the publication is
 * closed.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_publication_set_title(mcplink_publication_t *publication,
                                               const char *title,
                                               mcplink_error_t **err);

/**
 * Returns the number of connected clients of a published server.
 *
 * @return the number.
 */
MCPLINK_API size_t mcplink_publication_clients(const mcplink_publication_t *publication);

/**
 * Closes a publication: other programs no longer find the server, calls in flight may continue
 * for the drain time of the server, and sessions end. A handler should not call this function,
 * because the function would wait for the handler's own call. A handler can free the
 * publication or stop the server instead.
 *
 * @return MCPLINK_OK, also when the publication is closed already.
 * @note Blocks: for the drain time and a few seconds at most.
 */
MCPLINK_API mcplink_status_t mcplink_publication_close(mcplink_publication_t *publication);

/**
 * Closes a publication and frees it. If a callback of the server calls this function, the function
 * returns at once, and another thread closes the publication. So a handler that frees the
 * publication can still answer.
 *
 * @note Blocks: as mcplink_publication_close.
 */
MCPLINK_API void mcplink_publication_free(mcplink_publication_t *publication);

/**
 * Returns where clients reach a server, how many they are, and why an address could not be
 * opened. A program shows the state to a person, for example on a settings page.
 *
 * The document is {"endpoints":[...],"failures":[...]}, the oldest endpoint first. An open
 * listener is {"kind":"listener","url":"...","connections":1,"sessions":0}. Only clients of
 * revisions before 2026-07-28 have sessions. An open publication is
 * {"kind":"publication","id":"...","name":"...","title":"...","clients":1}; "title" may be
 * null. A failure is {"address":"8080","error":"..."}, with what was passed as bind or name to
 * the function that failed. At most 16 failures are remembered, the latest. A failure is
 * forgotten when its address is opened.
 *
 * @param out receives the document, NULL on failure. The caller owns it and frees it with
 * mcplink_json_free.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_server_state(const mcplink_server_t *server,
                                      mcplink_json_t **out,
                                      mcplink_error_t **err);

/**
 * Returns statistics of a server: an array with one object for each session, listener,
 * publication and endpoint. The member "kind" is "session", "listener", "publication" or
 * "http". The other members are counters, the URL of a listener, and the id, name and title of
 * a publication. The session of a client of a publication has no object of its own.
 *
 * @param out receives a document, NULL on failure. The caller owns it and frees it with
 * mcplink_json_free.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_server_stats(const mcplink_server_t *server,
                                      mcplink_json_t **out,
                                      mcplink_error_t **err);

/**
 * Returns a text about the current activity of a server, to find the cause of a hang.
 *
 * @param out receives a JSON document that is one string; read it with mcplink_json_str. NULL on
 * failure. The caller owns it and frees it with mcplink_json_free.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_server_activity(const mcplink_server_t *server,
                                         mcplink_json_t **out,
                                         mcplink_error_t **err);

/**
 * Sends a log message to all clients that requested messages of the given level. If logging is
 * not enabled (mcplink_server_options_set_logging), the function sends nothing. Only clients
 * of revisions before 2026-07-28 can receive the message. Newer clients receive only log
 * messages of their own calls: see mcplink_responder_log.
 *
 * @param level the severity of the message.
 * @param logger the name of the part of the server that logs; NULL for no name.
 * @param json,len the message, as JSON; len may be MCPLINK_NUL for text that ends in NUL. The
 * message must not contain secrets.
 * @return MCPLINK_OK, also when no client requested the message; MCPLINK_E_INVALID.
 */
MCPLINK_API
mcplink_status_t mcplink_server_log(mcplink_server_t *server,
                                    mcplink_log_level level,
                                    const char *logger,
                                    const char *json,
                                    size_t len);

/* ==== Server: options ==== */

/**
 * Makes server options with the name and the version of the server. All other options have
 * defaults that suit most servers.
 *
 * @param name the name of the server, for programs.
 * @param version the version of the server.
 * @return the options. The caller owns them and frees them with mcplink_server_options_free. NULL
 * for an invalid argument; functions that take options refuse NULL.
 */
MCPLINK_NODISCARD MCPLINK_API mcplink_server_options_t *mcplink_server_options_new(const char *name, const char *version);

/**
 * Frees server options. Servers that were made with them keep a copy.
 */
MCPLINK_API void mcplink_server_options_free(mcplink_server_options_t *options);

/**
 * Sets instructions that tell models how to use the server.
 *
 * @param instructions the instructions; NULL for no instructions.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_instructions(mcplink_server_options_t *options, const char *instructions);

/**
 * Sets the display name of the server, which hosts show to their users.
 *
 * @param title the title; NULL for no title.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_title(mcplink_server_options_t *options, const char *title);

/**
 * Sets the description of the server.
 *
 * @param description the description; NULL for no description.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_description(mcplink_server_options_t *options, const char *description);

/**
 * Sets the URL of the server's website.
 *
 * @param website the URL; NULL for no URL.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_website(mcplink_server_options_t *options, const char *website);

/**
 * Sets the icons of the server.
 *
 * @param icons,len a JSON array of objects with "src"; len may be MCPLINK_NUL for text that ends in
 * NUL. NULL for no icons.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_icons(mcplink_server_options_t *options, const char *icons, size_t len);

/**
 * Sets the protocol revisions that the server supports. Default: all revisions that the
 * library supports.
 *
 * @param revisions the dates, separated by spaces, for example "2025-11-25 2026-07-28"; NULL for
 * all.
 * @return MCPLINK_OK, MCPLINK_E_INVALID, or MCPLINK_E_UNSUPPORTED for a revision that this
 * library does not know.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_revisions(mcplink_server_options_t *options, const char *revisions);

/**
 * Sets the name of this process, for servers that several processes serve. The ids of HTTP
 * sessions and of tasks then begin with the name and a dot, for example "r1.", by which a
 * proxy finds the process. Default: no name. docs/scale.md has configurations of proxies.
 *
 * @param name 1 to 32 ASCII letters, digits, '-' and '_', which clients see; NULL for no name.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_replica(mcplink_server_options_t *options, const char *name);

/**
 * Sets the pump of the server. The thread that dispatches the pump then runs all callbacks of
 * the server, except log hooks and thread hooks.
 *
 * @param pump the pump, which must outlive the server. NULL, the default, to run callbacks on
 * threads of the library.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_pump(mcplink_server_options_t *options, mcplink_pump_t *pump);

/**
 * Sets the log hook of the server. For this server, the hook replaces the process-wide hook
 * that was set with mcplink_set_log.
 *
 * @param level the least severe level to report.
 * @param callback the log hook. It is called on any thread, also with a pump, and must be quick.
 * NULL, the default, for the process-wide hook.
 * @param user,destroy passed to callback; destroy runs when another hook is set, or when the
 * options and all servers made with them are freed.
 */
MCPLINK_API
mcplink_status_t mcplink_server_options_on_log(mcplink_server_options_t *options,
                                               mcplink_log_level level,
                                               mcplink_log_fn callback,
                                               void *user,
                                               mcplink_destroy_fn destroy);

/**
 * Sets the handler for a custom method. The library itself handles the methods that the
 * protocol defines.
 *
 * The JSON text that the handler passes to mcplink_responder_json is sent unchanged. So for
 * clients of revisions since 2026-07-28 the text must contain the member "resultType".
 *
 * @param method the method, for example "com.example/reindex". An earlier handler is replaced.
 * @param callback the handler; see mcplink_handler_fn. It runs on the same threads as other
 * handlers.
 * @param user,destroy passed to callback; destroy runs when the handler is replaced, or when the
 * options and all servers made with them are freed.
 */
MCPLINK_API
mcplink_status_t mcplink_server_options_on_method(mcplink_server_options_t *options,
                                                  const char *method,
                                                  mcplink_handler_fn callback,
                                                  void *user,
                                                  mcplink_destroy_fn destroy);

/**
 * The kind of a server event. Ignore unknown kinds: later versions may add more.
 */
typedef enum mcplink_server_event {
    /**
     * A session began: a client has identified itself. The params are
     * {"session":1,"transport":"stream","peer":"...","revision":"2025-11-25",
     * "client":{"name":"...","version":"..."},"principal":"..."}. The transport is "stream" or
     * "http". The members client and principal are omitted if they are unknown. See
     * mcplink_session_number.
     */
    MCPLINK_SERVER_SESSION_BEGAN = 1401,
    /**
     * A session has ended. The params are those of MCPLINK_SERVER_SESSION_BEGAN. They also contain
     * "status":-3,"message":"...", unless the host closed the session.
     */
    MCPLINK_SERVER_SESSION_ENDED = 1402,
    /**
     * A malformed message was refused. The params are {"session":1,"peer":"...","message":"..."}.
     * The member session is omitted for a malformed HTTP request.
     */
    MCPLINK_SERVER_MALFORMED = 1403,
    /**
     * A message was refused because it was longer than MCPLINK_LIMIT_MESSAGE_BYTES, or because the
     * system had no memory for it. The params are those of MCPLINK_SERVER_MALFORMED. The event
     * does not occur over HTTP.
     */
    MCPLINK_SERVER_TOO_LONG = 1404,
    /**
     * A request was refused because too many requests are in flight, or a session was refused
     * because too many sessions are open. The params are those of MCPLINK_SERVER_MALFORMED. For a
     * request they also contain its method, such as "method":"tools/call".
     */
    MCPLINK_SERVER_BUSY = 1405,
    /**
     * A handler gave no answer or an invalid answer, and the client received an internal error.
     * The params are those of MCPLINK_SERVER_MALFORMED. If the method is known, they also contain
     * "method".
     */
    MCPLINK_SERVER_HANDLER_FAILED = 1406,
    /**
     * A request over HTTP was denied because of its header field Host, its origin or its
     * credentials. The params are those of MCPLINK_SERVER_MALFORMED.
     */
    MCPLINK_SERVER_DENIED = 1407,
} mcplink_server_event;

/**
 * Receives an event of a server.
 *
 * @param event the kind of the event. Ignore unknown kinds.
 * @param params the details, valid until the callback returns; NULL for an event without details.
 */
typedef void (*mcplink_server_event_fn)(void *user, mcplink_server_event event, const mcplink_json_t *params);

/**
 * Sets the function that is called when sessions begin and end. A session begins when a client
 * identifies itself. Clients of revisions before 2026-07-28 do so with "initialize", and newer
 * clients with their first request. The session ends when its connection or HTTP session ends.
 * Clients over HTTP that have no session cause no events. Clients of revisions since
 * 2026-07-28 have no session over HTTP.
 *
 * @param callback receives MCPLINK_SERVER_SESSION_BEGAN and MCPLINK_SERVER_SESSION_ENDED. NULL for
 * no function. Events are delivered one at a time and in order, on a thread of the server or
 * on the thread that dispatches its pump. The first requests of a session may be handled
 * before its first event is delivered. Session events are never dropped; mcplink_server_free
 * delivers the last events.
 * @param user,destroy passed to callback; destroy runs when another function is set, or when the
 * options and all servers made with them are freed.
 */
MCPLINK_API
mcplink_status_t mcplink_server_options_on_session(mcplink_server_options_t *options,
                                                   mcplink_server_event_fn callback,
                                                   void *user,
                                                   mcplink_destroy_fn destroy);

/**
 * Sets the function that is called for incidents with clients. The function can count
 * incidents, raise an alarm or block a client. Incidents are messages that are malformed, too
 * long, too many or denied, and handlers that fail. Each kind of incident has its own event.
 * The log has a record for most incidents.
 *
 * @param callback receives all events of enum mcplink_server_event except those about sessions. NULL
 * for no function. Events are delivered one at a time and in order, on a thread of the server
 * or on the thread that dispatches its pump. At most 1024 events wait; further events are
 * dropped.
 * @param user,destroy passed to callback; destroy runs when another function is set, or when the
 * options and all servers made with them are freed.
 */
MCPLINK_API
mcplink_status_t mcplink_server_options_on_event(mcplink_server_options_t *options,
                                                 mcplink_server_event_fn callback,
                                                 void *user,
                                                 mcplink_destroy_fn destroy);

/**
 * Sets a limit that applies to each connection, so that no client can exhaust the memory or
 * the threads of the server.
 *
 * @param limit the limit.
 * @param value the new value of the limit.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_limit(mcplink_server_options_t *options, mcplink_limit limit, size_t value);

/**
 * Sets the maximum number of items on a page of a list, so that long lists come in messages of
 * moderate size.
 *
 * @param items the maximum number; 0, the default, for all items on one page.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_page_size(mcplink_server_options_t *options, size_t items);

/**
 * Sets the drain time: how long calls in flight may continue after a client has disconnected,
 * so that work is not cut off half-way. Default: 5 s. Requests without an answer are then
 * answered with an error (-32603), and their handlers are cancelled.
 *
 * @param milliseconds the drain time, in milliseconds.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_drain_ms(mcplink_server_options_t *options, uint32_t milliseconds);

/**
 * Sets the time after which a running handler is logged as slow, because it occupies a thread
 * that other calls may wait for. Default: 30 s.
 *
 * @param milliseconds the time, in milliseconds.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_slow_handler_ms(mcplink_server_options_t *options, uint32_t milliseconds);

/**
 * Sets that the server pings a client after a silence, and disconnects a client that does not
 * answer, so that clients that are gone without a word free what they occupy. Only clients of
 * revisions before 2026-07-28 are pinged. Default: no pings.
 *
 * @param interval_ms the length of the silence, in milliseconds.
 * @param timeout_ms how long an answer may take, in milliseconds, for example 30000.
 * @param max_failures the number of unanswered pings in a row after which the connection ends, for
 * example 3.
 */
MCPLINK_API
mcplink_status_t mcplink_server_options_set_keep_alive(mcplink_server_options_t *options,
                                                       uint32_t interval_ms,
                                                       uint32_t timeout_ms,
                                                       uint32_t max_failures);

/**
 * Adds a key for request states. A request state is the state of a call while the client
 * answers an input request. The client stores the request state, which is encrypted and
 * authenticated. The first key encrypts; all keys decrypt. Replicas that serve the same
 * clients need the same keys. Default: each server generates a random key.
 *
 * @param key,len 32 secret random bytes.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_add_state_key(mcplink_server_options_t *options, const void *key, size_t len);

/**
 * Sets how long a client of a revision since 2026-07-28 may take to answer an input request. A
 * later answer is refused. Default: 10 minutes.
 *
 * @param milliseconds the time, in milliseconds, not 0.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_state_lifetime_ms(mcplink_server_options_t *options, uint32_t milliseconds);

/**
 * Sets whether each request state is accepted only once (replay protection). With true, a
 * client that sends a request state twice cannot repeat the side effects of the handler.
 * Default: false.
 *
 * @param enabled true to accept each request state only once. Used states are stored in the memory
 * of this process, so the protection does not work across replicas: see
 * mcplink_server_options_set_state_store, whose store is replaced. False for no store.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_single_use_state(mcplink_server_options_t *options, bool enabled);

/**
 * Sets whether handlers may send log messages to clients. With true, the server declares the
 * capability "logging". Default: false.
 *
 * @param enabled true to enable log messages.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_logging(mcplink_server_options_t *options, bool enabled);

/**
 * Sets whether clients may subscribe to changes of single resources; false for resources that
 * never change. Default: true.
 *
 * @param enabled true to allow these subscriptions.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_resource_updates(mcplink_server_options_t *options, bool enabled);

/**
 * Sets whether clients are notified when a list of tools, prompts or resources changes
 * (listChanged); false for lists that never change, which saves clients a subscription.
 * Default: true.
 *
 * @param enabled true to notify clients. With false, entries can still be added and removed.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_list_changes(mcplink_server_options_t *options, bool enabled);

/**
 * Sets whether results for clients of revisions since 2026-07-28 contain the name and version
 * of the server; false for shorter results, and for servers that do not want to show their
 * version. Default: true.
 *
 * @param enabled true to include the name and version.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_send_server_info(mcplink_server_options_t *options, bool enabled);

/**
 * Disables the validation of arguments and of structured results of tools against their JSON
 * Schemas, for handlers that check their arguments themselves. A build for which
 * mcplink_has_feature("validation") returns false checks only the keywords that
 * mcplink_tool_add_param_schema names. The validator that was set with
 * mcplink_server_options_set_validator is removed.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_clear_validation(mcplink_server_options_t *options);

/**
 * Sets a validator of the host, which checks arguments and structured results of tools against
 * their JSON Schemas instead of the library, for example with a schema library that the host
 * has anyway. Both schemas of a tool are compiled when the tool is added: if a schema can't be
 * used, the tool is refused. If arguments do not fit, the handler does not run, and the model
 * reads the reason. If a result does not fit, the client gets an internal error.
 *
 * @param compile,check,free see mcplink_schema_compile_fn, mcplink_schema_check_fn and
 * mcplink_schema_free_fn. NULL is refused for each of them: see
 * mcplink_server_options_clear_validation.
 * @param user,destroy passed to the functions; destroy runs when the validator is replaced or
 * cleared, or when the options and all servers made with them are freed.
 */
MCPLINK_API
mcplink_status_t mcplink_server_options_set_validator(mcplink_server_options_t *options,
                                                      mcplink_schema_compile_fn compile,
                                                      mcplink_schema_check_fn check,
                                                      mcplink_schema_free_fn free,
                                                      void *user,
                                                      mcplink_destroy_fn destroy);

/**
 * Sets whether standard output is reserved for the protocol while mcplink_server_serve_stdio
 * runs, so that a stray printf can't break the connection. Default: true.
 *
 * @param enabled true to reserve standard output. With false, other output of this process to
 * standard output corrupts the protocol.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_claim_stdio(mcplink_server_options_t *options, bool enabled);

/**
 * Sets that the server declares the capability for a list even if the list has no entries yet.
 * Clients that connect early then know that entries may be added later.
 *
 * @param list the list.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_declare_capability(mcplink_server_options_t *options, mcplink_list list);

/**
 * Sets how long clients of revisions since 2026-07-28 may cache the pages of a list, which
 * saves requests for lists that rarely change. Default: pages are not cached.
 *
 * @param list the list.
 * @param ttl_ms the time, in milliseconds.
 * @param is_public true if shared caches may store the pages and return them to other clients.
 */
MCPLINK_API
mcplink_status_t mcplink_server_options_set_cache(mcplink_server_options_t *options,
                                                  mcplink_list list,
                                                  uint64_t ttl_ms,
                                                  bool is_public);

/**
 * Enables tasks, for tools that support tasks (see mcplink_tool_set_task_support): a long call
 * survives a lost connection, and its client need not wait for it. If a call becomes a task,
 * the client receives the task at once, and fetches the result when the task has ended.
 *
 * @param max_tasks the maximum number of stored tasks; 0, the default, to disable tasks. At the
 * limit, a finished task is removed to make space. If all tasks are running, the next call is
 * refused as busy, or runs without a task. Some tasks are reserved for clients with few tasks:
 * see MCPLINK_LIMIT_RESERVE_PERCENT.
 * @param lifetime_ms the time from the creation of a task to its removal, in milliseconds. It
 * applies if the client requests no other time.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_tasks(mcplink_server_options_t *options, size_t max_tasks, uint64_t lifetime_ms);

/**
 * Adds an extension of the protocol, which the server declares to clients. The methods of the
 * extension are handled with mcplink_server_options_on_method.
 *
 * @param id the id of the extension, for example "com.example/maps".
 * @param settings,len a JSON object; len may be MCPLINK_NUL for text that ends in NUL. NULL for no
 * settings.
 */
MCPLINK_API
mcplink_status_t mcplink_server_options_add_extension(mcplink_server_options_t *options,
                                                      const char *id,
                                                      const char *settings,
                                                      size_t len);

/**
 * Declares a capability that this library does not know, for example of a draft of the
 * protocol. Its methods are handled with mcplink_server_options_on_method. A feature that will
 * not become a part of the protocol should be an extension.
 *
 * @param name the name of the capability, such as "events"; or "experimental". The other names of
 * the specification are refused, because the server declares these capabilities by what it
 * offers.
 * @param settings,len a JSON object; len may be MCPLINK_NUL for text that ends in NUL. NULL for no
 * settings.
 */
MCPLINK_API
mcplink_status_t mcplink_server_options_add_capability(mcplink_server_options_t *options,
                                                       const char *name,
                                                       const char *settings,
                                                       size_t len);

/**
 * Sets the stack size of the server's threads that may run code of the host: larger for
 * handlers that recurse deeply, smaller for a host that is short of address space. Default: 8
 * MiB, or 2 MiB on a 32-bit system. A stack reserves address space, and uses memory only for
 * the pages that were written to.
 *
 * @param bytes 262144 (256 KiB) to 1073741824 (1 GiB); the system rounds the size up to whole pages.
 * If the system lacks the memory, starting a thread fails.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID for another size.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_thread_stack_size(mcplink_server_options_t *options, size_t bytes);

/**
 * Sets the prefix of the names of the server's threads, by which debuggers and profilers show
 * whose threads they are. Default: "mcplink". A name consists of the prefix, a dash and the
 * role of the thread, such as "mcplink-worker". Linux shows only the first 15 bytes of a name.
 *
 * @param prefix 1 to 15 bytes, without control characters.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID for another prefix.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_thread_prefix(mcplink_server_options_t *options, const char *prefix);

/**
 * Sets hooks that run at the start and at the end of each thread that the library starts for
 * the server. These hooks are needed by profilers, and by virtual machines that must attach
 * each thread.
 *
 * If start was called, stop is called before the thread ends. When mcplink_server_free has
 * returned, all threads have ended, except threads whose callback does not return. If
 * mcplink_server_free is called in a callback of the server, the threads end after that
 * callback.
 *
 * Threads with these hooks have the stack size that is set with
 * mcplink_server_options_set_thread_stack_size. The hooks do not run on threads of the host
 * itself, such as a thread that dispatches a pump.
 *
 * @param start called before any other callback on the thread; NULL for no hook.
 * @param stop called after all other callbacks on the thread; NULL for no hook.
 * @param user,destroy passed to both hooks. destroy runs when other hooks are set. Otherwise
 * destroy runs when the options, all servers made with them and all responders of these
 * servers are freed. The threads of these servers have ended by then.
 */
MCPLINK_API
mcplink_status_t mcplink_server_options_on_thread(mcplink_server_options_t *options,
                                                  mcplink_thread_fn start,
                                                  mcplink_thread_fn stop,
                                                  void *user,
                                                  mcplink_destroy_fn destroy);

/**
 * Records that a client presents a request state, and says whether the state is presented for the
 * first time. Of two concurrent calls for one id, only one may say so: a database does this with
 * "set if absent, with a time to live".
 *
 * The function runs on the thread of the client's call, which waits for it, and on several threads
 * at once, also with a pump.
 *
 * @param client text that identifies the principal. Without a principal, the text identifies the
 * session, address or connection. A store with a capacity can use it to keep one client from
 * filling the store. Valid until the callback returns.
 * @param id the id of the state: 32 letters, digits, '-' and '_'; valid until the callback returns.
 * @param lifetime_ms how long the id has to be remembered, in milliseconds. The state has expired
 * afterwards.
 * @param is_first receives true if the state is presented for the first time. It is false before, and a
 * state for which it stays false is refused.
 * @return MCPLINK_OK. Any other status means that the store can't tell: the state is then
 * refused.
 */
typedef mcplink_status_t (*mcplink_state_claim_fn)(void *user, mcplink_str_t client, mcplink_str_t id, uint64_t lifetime_ms, bool *is_first);

/**
 * Sets the store of the host that makes each request state usable only once (replay
 * protection), for servers that several processes serve. A store in the memory of one process
 * is set with mcplink_server_options_set_single_use_state. Each of these two functions
 * replaces the store that was set with the other one. Default: no store.
 *
 * @param callback see mcplink_state_claim_fn. NULL is refused: to have no store, call
 * mcplink_server_options_set_single_use_state with false.
 * @param user,destroy passed to callback; destroy runs when the store is replaced, or when the
 * options and all servers made with them are freed.
 */
MCPLINK_API
mcplink_status_t mcplink_server_options_set_state_store(mcplink_server_options_t *options,
                                                        mcplink_state_claim_fn callback,
                                                        void *user,
                                                        mcplink_destroy_fn destroy);

/**
 * Passes an event to the other processes of a server. There, the host calls mcplink_server_deliver
 * with the event. An event is a short text, which only servers of this library read.
 *
 * The function runs on the thread that makes the change, also with a pump, and on several threads
 * at once. So it should only queue the event, and never wait for the network.
 *
 * @param event the event; valid until the callback returns.
 * @return MCPLINK_OK. Any other status means that the other processes will not get the event,
 * which the server logs. The host should call mcplink_server_deliver with NULL there as soon as it
 * can reach them.
 */
typedef mcplink_status_t (*mcplink_event_publish_fn)(void *user, mcplink_str_t event);

/**
 * Sets the function by which a server tells its other processes of changes: updates of
 * resources, and changes of lists. All processes are expected to offer the same lists.
 * Default: none, so only the clients of this process are notified of its changes.
 *
 * @param callback see mcplink_event_publish_fn. NULL is refused.
 * @param user,destroy passed to callback; destroy runs when the function is replaced, or when the
 * options and all servers made with them are freed.
 */
MCPLINK_API
mcplink_status_t mcplink_server_options_set_event_bus(mcplink_server_options_t *options,
                                                      mcplink_event_publish_fn callback,
                                                      void *user,
                                                      mcplink_destroy_fn destroy);

/**
 * Takes an event that another process of this server has published with the function of
 * mcplink_server_options_set_event_bus, and notifies the clients. The function only queues, so
 * it may be called from any thread. An event that is delivered twice causes one needless
 * notification.
 *
 * @param event the event. NULL when events may have been lost, for example because a connection was
 * broken: then each client is told that everything it has subscribed to has changed.
 * @return MCPLINK_OK.
 */
MCPLINK_API mcplink_status_t mcplink_server_deliver(mcplink_server_t *server, const char *event);

/**
 * Passes a stored record to the server. A later call replaces the record.
 *
 * @param record the parameter of mcplink_record_read_fn; valid until that function returns.
 * @param version the version of the record.
 * @param bytes,len the content as it was written, which is copied.
 * @return MCPLINK_OK or MCPLINK_E_INVALID.
 * @note Threads: the thread that runs the function.
 */
MCPLINK_API mcplink_status_t mcplink_record_set(mcplink_record_t *record, uint64_t version, const void *bytes, size_t len);

/**
 * Reads a record, and passes it to mcplink_record_set.
 *
 * The functions of a record store run on threads of requests and of tasks, which wait for them,
 * and on several threads at once, also with a pump. They must not use the server. While the store
 * can't be reached, they should fail within a fraction of a second.
 *
 * @param key the key of the record: at most 64 letters, digits, '-', '_' and '.'; valid until the
 * callback returns.
 * @param record receives the record by mcplink_record_set. Without this call, there is no such record,
 * or its lifetime is over.
 * @return MCPLINK_OK. Any other status means that the store can't tell.
 */
typedef mcplink_status_t (*mcplink_record_read_fn)(void *user, mcplink_str_t key, mcplink_record_t *record);

/**
 * Stores a version of a record, unless another process has written it: a database does this with
 * "compare and set". For threads see mcplink_record_read_fn.
 *
 * @param key the key of the record; valid until the callback returns.
 * @param version the version. The function must change nothing, unless the store has version - 1 of this
 * record. A record that is not in the store has version 0. Of two concurrent calls with one
 * version, only one may store its bytes.
 * @param bytes,len the content, which the server has encrypted; valid until the callback returns.
 * @param lifetime_ms how long the record has to be kept from now on, in milliseconds; 0 to end it at
 * once.
 * @param is_written receives true if the version was stored. It is false before.
 * @return MCPLINK_OK. Any other status means that the record was not stored, or that the store
 * can't tell.
 */
typedef mcplink_status_t (*mcplink_record_write_fn)(void *user,
                                                    mcplink_str_t key,
                                                    uint64_t version,
                                                    const void *bytes,
                                                    size_t len,
                                                    uint64_t lifetime_ms,
                                                    bool *is_written);

/**
 * Removes a record, if there is one. For threads see mcplink_record_read_fn.
 *
 * @param key the key of the record; valid until the callback returns.
 * @return MCPLINK_OK. Any other status means that the record ends with its lifetime.
 */
typedef mcplink_status_t (*mcplink_record_remove_fn)(void *user, mcplink_str_t key);

/**
 * Sets the store by which the processes of a server share tasks (since 2026-07-28). Default:
 * none, so a task is known to the process that created it only.
 *
 * A task still runs in the process that created it. The other processes answer requests about
 * the task from the store: they show its state and its result, pass on answers to its input
 * requests, and cancel it. When the process ends, its working tasks fail (see
 * mcplink_server_options_set_lease_ms), and the results of the others stay until the end of
 * their lifetime.
 *
 * All processes need the same keys (mcplink_server_options_add_state_key), which encrypt what
 * is stored: without them the server is not created. Without an event bus
 * (mcplink_server_options_set_event_bus), a process notices only after a third of the lease
 * that another process has changed a task.
 *
 * While the store fails, calls that require a task are refused as busy, other calls run
 * without a task, and each process still knows its own tasks.
 *
 * @param read,write,remove see mcplink_record_read_fn, mcplink_record_write_fn and
 * mcplink_record_remove_fn. NULL is refused.
 * @param user,destroy passed to the functions; destroy runs when the store is replaced, or when the
 * options and all servers made with them are freed.
 */
MCPLINK_API
mcplink_status_t mcplink_server_options_set_record_store(mcplink_server_options_t *options,
                                                         mcplink_record_read_fn read,
                                                         mcplink_record_write_fn write,
                                                         mcplink_record_remove_fn remove,
                                                         void *user,
                                                         mcplink_destroy_fn destroy);

/**
 * Sets after which time a process that no longer writes to the record store counts as ended:
 * its working tasks then fail. Each process with tasks renews its lease every third of this
 * time. A process that is suspended or separated from the store for longer loses its working
 * tasks.
 *
 * @param milliseconds the time in milliseconds, at least 1000. Default: 15000.
 */
MCPLINK_API mcplink_status_t mcplink_server_options_set_lease_ms(mcplink_server_options_t *options, uint32_t milliseconds);

/**
 * Limits how many requests a caller may make in a period, so that no caller crowds out the
 * others. A caller is a principal, on all its connections together. Without a principal it is
 * a connection, and over HTTP a session or a network address. A request beyond the limit is
 * refused, and the client is told when to try again. Each call of this function adds a limit
 * of its own. Default: no limit.
 *
 * @param requests the number of requests, at least 1. A caller may make that many at once; later
 * ones are admitted evenly within the period.
 * @param period_ms the period, in milliseconds, at least 1.
 * @param methods the methods that count, separated by spaces, for example "tools/call". All of them
 * share the limit. NULL for all methods about tools, prompts, resources and tasks.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID, also for a method whose requests are not limited.
 */
MCPLINK_API
mcplink_status_t mcplink_server_options_add_rate_limit(mcplink_server_options_t *options,
                                                       uint32_t requests,
                                                       uint32_t period_ms,
                                                       const char *methods);

/**
 * The decision of a guard.
 */
typedef enum mcplink_decision {
    /**
     * The request may continue.
     */
    MCPLINK_DECISION_ADMIT = 1901,
    /**
     * The request is refused as if the entry did not exist. Lists do not contain the entry.
     */
    MCPLINK_DECISION_HIDE = 1902,
    /**
     * The request is refused: see mcplink_guarded_request_refuse. Lists still contain the entry.
     * Every other number means the same.
     */
    MCPLINK_DECISION_REFUSE = 1903,
} mcplink_decision;

/**
 * Decides about a request: a function of the host.
 *
 * The function runs for each request about a tool, prompt, resource, resource template or task,
 * for each list request, and for each entry of the list. It runs before the entry is looked up and
 * before any handler. It runs on the threads of the server, on several at once, also with a pump,
 * because the request waits for the decision.
 *
 * @param request the request, valid until the function returns.
 * @return the decision.
 */
typedef mcplink_decision (*mcplink_guard_fn)(void *user, mcplink_guarded_request_t *request);

/**
 * Adds a guard: a function that admits, refuses or hides each request. Guards run in the order
 * in which they were added, and the first refusal counts. Default: no guard.
 *
 * @param callback see mcplink_guard_fn.
 * @param user,destroy passed to callback; destroy runs when the options and all servers made with
 * them are freed.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID also when callback is NULL.
 */
MCPLINK_API
mcplink_status_t mcplink_server_options_add_guard(mcplink_server_options_t *options,
                                                  mcplink_guard_fn callback,
                                                  void *user,
                                                  mcplink_destroy_fn destroy);

/**
 * Returns the method of a request.
 *
 * @return the method, valid until the guard returns.
 */
MCPLINK_API mcplink_str_t mcplink_guarded_request_method(const mcplink_guarded_request_t *request);

/**
 * Returns the params of a request, with the arguments.
 *
 * @return the params, valid until the guard returns; NULL when the request has none that can
 * be read.
 */
MCPLINK_API const mcplink_json_t *mcplink_guarded_request_params(const mcplink_guarded_request_t *request);

/**
 * Returns the kind of the entry that a request is about.
 *
 * @return the kind; MCPLINK_PRIMITIVE_NONE for a list as a whole, a task, and a subscription
 * as a whole.
 */
MCPLINK_API mcplink_primitive mcplink_guarded_request_primitive(const mcplink_guarded_request_t *request);

/**
 * Returns the entry that a request is about: the called tool, the prompt, the resource to read
 * or to subscribe to, the resource template of a completed variable, or an entry of a
 * requested list.
 *
 * A resource that is read through a template has the URI that the client wrote, and one URI
 * may be written in several ways ("%61" for "a"). So list the allowed URIs instead of the
 * forbidden ones.
 *
 * @return the name, URI or URI template, valid until the guard returns; empty if
 * mcplink_guarded_request_primitive returns MCPLINK_PRIMITIVE_NONE.
 */
MCPLINK_API mcplink_str_t mcplink_guarded_request_target(const mcplink_guarded_request_t *request);

/**
 * Returns the principal on whose behalf the client acts.
 *
 * @return the name of the principal, valid until the guard returns; empty when it is unknown.
 */
MCPLINK_API mcplink_str_t mcplink_guarded_request_principal(const mcplink_guarded_request_t *request);

/**
 * Checks whether a scope was granted to the principal.
 *
 * @param scope the name of the scope.
 * @return true if the scope was granted.
 */
MCPLINK_API bool mcplink_guarded_request_has_scope(const mcplink_guarded_request_t *request, const char *scope);

/**
 * Returns the number of the session to which a request belongs: see mcplink_request_session.
 *
 * @return the number, from 1.
 */
MCPLINK_API uint64_t mcplink_guarded_request_session(const mcplink_guarded_request_t *request);

/**
 * Refuses a request unless these scopes were granted to its principal, whatever the guard
 * returns afterwards, except MCPLINK_DECISION_HIDE. Over HTTP the client gets status 403, and
 * can ask its user to grant the scopes. If the scopes of the principal are unknown, the
 * request is refused over HTTP only. Scopes that are known beforehand are set with
 * mcplink_server_require_scopes.
 *
 * @param scopes all required scopes, separated by spaces. Repeated calls add scopes.
 * @return MCPLINK_OK; MCPLINK_E_INVALID when scopes contains no name: the request is refused
 * then; MCPLINK_E_STATE when the guard has returned.
 */
MCPLINK_API mcplink_status_t mcplink_guarded_request_require_scopes(mcplink_guarded_request_t *request, const char *scopes);

/**
 * A JSON-RPC error code that the protocol defines. A host's own codes must be outside the range
 * -32768 to -32000.
 */
typedef enum mcplink_rpc_code {
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
     * The params of the request, or a name in the params, are invalid.
     */
    MCPLINK_RPC_INVALID_PARAMS = -32602,
    /**
     * The peer that answers the request has an internal error.
     */
    MCPLINK_RPC_INTERNAL_ERROR = -32603,
    /**
     * A resource does not exist. Newer protocol revisions use another code, so answer with
     * mcplink_responder_not_found.
     */
    MCPLINK_RPC_RESOURCE_NOT_FOUND = -32002,
    /**
     * The user must visit web pages before the request can succeed. Only revision 2025-11-25 has
     * this code.
     */
    MCPLINK_RPC_URL_ELICITATION_REQUIRED = -32042,
} mcplink_rpc_code;

/**
 * Refuses the request with this error, whatever the guard returns afterwards; only
 * MCPLINK_DECISION_HIDE goes before. Without this call a refusal has the code
 * MCPLINK_RPC_INVALID_REQUEST and the message "this is not allowed".
 *
 * @param code the JSON-RPC error code: see enum mcplink_rpc_code.
 * @param message the message, for the client.
 * @return MCPLINK_OK; MCPLINK_E_INVALID; MCPLINK_E_STATE when the guard has returned.
 */
MCPLINK_API mcplink_status_t mcplink_guarded_request_refuse(mcplink_guarded_request_t *request, int32_t code, const char *message);

/* ==== Tools ==== */

/**
 * Makes the definition of a tool.
 *
 * @param name the name of the tool, for programs: letters, digits, "_", "-" and ".".
 * @param description the purpose of the tool, for models; NULL for no description.
 * @return the definition. The caller owns it and frees it with mcplink_tool_free. NULL for an
 * invalid argument; functions that take a definition refuse NULL.
 */
MCPLINK_NODISCARD MCPLINK_API mcplink_tool_t *mcplink_tool_new(const char *name, const char *description);

/**
 * The type of an argument of a tool, or of a field of a form.
 */
typedef enum mcplink_param_type {
    /**
     * A string.
     */
    MCPLINK_PARAM_STRING = 1201,
    /**
     * An integer.
     */
    MCPLINK_PARAM_INTEGER = 1202,
    /**
     * Any number.
     */
    MCPLINK_PARAM_NUMBER = 1203,
    /**
     * A Boolean: true or false.
     */
    MCPLINK_PARAM_BOOLEAN = 1204,
    /**
     * An array of any values.
     */
    MCPLINK_PARAM_ARRAY = 1205,
    /**
     * An object with any members.
     */
    MCPLINK_PARAM_OBJECT = 1206,
} mcplink_param_type;

/**
 * Whether an argument of a tool or prompt, or a field of a form, is required.
 */
typedef enum mcplink_param_flag {
    /**
     * An optional argument or field, which may be omitted.
     */
    MCPLINK_PARAM_OPTIONAL = 0,
    /**
     * A required argument or field.
     */
    MCPLINK_PARAM_REQUIRED = 32768,
} mcplink_param_flag;

/**
 * Adds an argument to the tool. The input schema of the tool is made of all added arguments.
 *
 * A call with invalid arguments is refused before the callback runs: a required argument is
 * missing, or an argument has another type. The model gets a result with isError, whose text
 * names the argument and the expected value. mcplink_server_options_clear_validation turns
 * these checks off.
 *
 * @param param the name of the argument.
 * @param kind the type of the argument.
 * @param flag MCPLINK_PARAM_REQUIRED or MCPLINK_PARAM_OPTIONAL.
 * @param description the meaning of the argument, for models; NULL for no description.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID, also when the name is in use already.
 */
MCPLINK_API
mcplink_status_t mcplink_tool_add_param(mcplink_tool_t *tool,
                                        const char *param,
                                        mcplink_param_type kind,
                                        mcplink_param_flag flag,
                                        const char *description);

/**
 * Adds an argument with a JSON Schema, for example with choices, bounds, items or a default.
 *
 * Calls are checked as for mcplink_tool_add_param. Every build checks the keywords type, enum,
 * const, minimum, maximum, exclusiveMinimum, exclusiveMaximum, minLength, maxLength, minItems,
 * maxItems, required, properties with additionalProperties, and items. A build with
 * "validation" (mcplink_has_feature) checks the complete schema. The functions that read one
 * argument, such as mcplink_request_string, return the default for a call without the
 * argument. mcplink_request_args contains the arguments of the call only.
 *
 * @param param the name of the argument.
 * @param flag MCPLINK_PARAM_REQUIRED or MCPLINK_PARAM_OPTIONAL.
 * @param schema,len the JSON Schema of the argument, for example {"enum":["red","green"]}; len may
 * be MCPLINK_NUL for text that ends in NUL.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID, also when a keyword of the schema is invalid, or
 * the default does not fit the schema.
 */
MCPLINK_API
mcplink_status_t mcplink_tool_add_param_schema(mcplink_tool_t *tool,
                                               const char *param,
                                               mcplink_param_flag flag,
                                               const char *schema,
                                               size_t len);

/**
 * Sets the complete input schema of the tool. The schema replaces all arguments that were
 * added before. An argument that is added later replaces the schema. Clients receive the
 * schema unchanged, with one exception: if "properties" is missing, an empty "properties"
 * object is added, which some models need.
 *
 * @param schema,len a JSON Schema of an object; len may be MCPLINK_NUL for text that ends in NUL.
 */
MCPLINK_API mcplink_status_t mcplink_tool_set_input_schema(mcplink_tool_t *tool, const char *schema, size_t len);

/**
 * Sets the output schema of the tool. Values that handlers pass to
 * mcplink_responder_structured must match the schema.
 *
 * @param schema,len a JSON Schema, which is sent to clients unchanged; len may be MCPLINK_NUL for
 * text that ends in NUL. NULL for no schema.
 */
MCPLINK_API mcplink_status_t mcplink_tool_set_output_schema(mcplink_tool_t *tool, const char *schema, size_t len);

/**
 * Sets the display name of the tool.
 *
 * @param title the title; NULL for no title.
 */
MCPLINK_API mcplink_status_t mcplink_tool_set_title(mcplink_tool_t *tool, const char *title);

/**
 * Sets the icons of the tool: an array of objects with "src".
 *
 * @param icons,len the icons, as JSON; len may be MCPLINK_NUL for text that ends in NUL. NULL for
 * no icons.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID when the JSON is invalid for the protocol.
 */
MCPLINK_API mcplink_status_t mcplink_tool_set_icons(mcplink_tool_t *tool, const char *icons, size_t len);

/**
 * Sets the metadata ("_meta") of the tool: an object.
 *
 * @param meta,len the metadata, as JSON; len may be MCPLINK_NUL for text that ends in NUL. NULL for
 * no metadata.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID when the JSON is invalid for the protocol.
 */
MCPLINK_API mcplink_status_t mcplink_tool_set_meta(mcplink_tool_t *tool, const char *meta, size_t len);

/**
 * A hint for the user about the effects of a tool. A hint is not a guarantee.
 */
typedef enum mcplink_tool_hint {
    /**
     * The hint that the tool changes nothing. Default: false.
     */
    MCPLINK_HINT_READ_ONLY = 1801,
    /**
     * The hint that the tool may destroy something. Default: true.
     */
    MCPLINK_HINT_DESTRUCTIVE = 1802,
    /**
     * The hint that the tool is idempotent: a repeated call has no further effect. Default:
     * false.
     */
    MCPLINK_HINT_IDEMPOTENT = 1803,
    /**
     * The hint that the tool interacts with an open world, such as the web. Default: true.
     */
    MCPLINK_HINT_OPEN_WORLD = 1804,
} mcplink_tool_hint;

/**
 * Sets a hint about the effects of the tool.
 *
 * @param hint the hint.
 * @param enabled true if the hint applies to the tool.
 */
MCPLINK_API mcplink_status_t mcplink_tool_set_hint(mcplink_tool_t *tool, mcplink_tool_hint hint, bool enabled);

/**
 * Whether calls of a tool may become tasks.
 */
typedef enum mcplink_task_support {
    /**
     * The tool does not support tasks: calls of the tool never become tasks.
     */
    MCPLINK_TASK_FORBIDDEN = 1700,
    /**
     * The tool supports tasks: calls of the tool can become tasks.
     */
    MCPLINK_TASK_OPTIONAL = 1701,
    /**
     * The tool requires tasks: calls of the tool must become tasks.
     */
    MCPLINK_TASK_REQUIRED = 1702,
} mcplink_task_support;

/**
 * Sets whether calls of the tool may become tasks. The setting has an effect only on servers
 * with mcplink_server_options_set_tasks.
 *
 * @param support whether calls may or must become tasks. Default: MCPLINK_TASK_FORBIDDEN.
 */
MCPLINK_API mcplink_status_t mcplink_tool_set_task_support(mcplink_tool_t *tool, mcplink_task_support support);

/**
 * Frees the definition of a tool. Servers to which it was added keep a copy.
 */
MCPLINK_API void mcplink_tool_free(mcplink_tool_t *tool);

/**
 * Adds an integer argument with bounds. Calls are checked as for mcplink_tool_add_param.
 *
 * @param param the name of the argument.
 * @param flag MCPLINK_PARAM_REQUIRED or MCPLINK_PARAM_OPTIONAL.
 * @param min,max the smallest and the largest valid value; INT64_MIN and INT64_MAX for no bound.
 * @param description the meaning of the argument, for models; NULL for no description.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID, also when the name is in use already, or min is
 * greater than max.
 */
MCPLINK_API
mcplink_status_t mcplink_tool_add_integer(mcplink_tool_t *tool,
                                          const char *param,
                                          mcplink_param_flag flag,
                                          int64_t min,
                                          int64_t max,
                                          const char *description);

/**
 * Adds a number argument with bounds. Calls are checked as for mcplink_tool_add_param.
 *
 * @param param the name of the argument.
 * @param flag MCPLINK_PARAM_REQUIRED or MCPLINK_PARAM_OPTIONAL.
 * @param min,max the smallest and the largest valid value; -INFINITY and INFINITY for no bound.
 * @param description the meaning of the argument, for models; NULL for no description.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID, also when the name is in use already, min is
 * greater than max, or a bound is NaN.
 */
MCPLINK_API
mcplink_status_t mcplink_tool_add_number(mcplink_tool_t *tool,
                                         const char *param,
                                         mcplink_param_flag flag,
                                         double min,
                                         double max,
                                         const char *description);

/**
 * Adds a string argument that must be one of several values. Calls are checked as for
 * mcplink_tool_add_param.
 *
 * @param param the name of the argument.
 * @param flag MCPLINK_PARAM_REQUIRED or MCPLINK_PARAM_OPTIONAL.
 * @param values,count the valid values, texts that end in NUL; at least one.
 * @param description the meaning of the argument, for models; NULL for no description.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID, also when the name is in use already.
 */
MCPLINK_API
mcplink_status_t mcplink_tool_add_choice(mcplink_tool_t *tool,
                                         const char *param,
                                         mcplink_param_flag flag,
                                         const char *const *values,
                                         size_t count,
                                         const char *description);

/**
 * Adds an array argument whose items have one type. Calls are checked as for
 * mcplink_tool_add_param.
 *
 * @param param the name of the argument.
 * @param flag MCPLINK_PARAM_REQUIRED or MCPLINK_PARAM_OPTIONAL.
 * @param items the type of the items.
 * @param min_items,max_items the smallest and the largest valid number of items; SIZE_MAX as
 * max_items for no bound.
 * @param description the meaning of the argument, for models; NULL for no description.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID, also when the name is in use already, or
 * min_items is greater than max_items.
 */
MCPLINK_API
mcplink_status_t mcplink_tool_add_array(mcplink_tool_t *tool,
                                        const char *param,
                                        mcplink_param_flag flag,
                                        mcplink_param_type items,
                                        size_t min_items,
                                        size_t max_items,
                                        const char *description);

/**
 * Sets the default of an argument that was added before. The model sees the default, and the
 * functions that read one argument, such as mcplink_request_string, return it for a call
 * without the argument. mcplink_request_args contains the arguments of the call only.
 *
 * @param param the name of an argument that was added to the tool, and that is optional.
 * @param value,len the default as JSON, for example 10 or "name" with its quotes; len may be
 * MCPLINK_NUL for text that ends in NUL.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID, also when there is no such argument, the argument
 * is required, or the default does not fit its schema.
 */
MCPLINK_API mcplink_status_t mcplink_tool_set_default_value(mcplink_tool_t *tool, const char *param, const char *value, size_t len);

/* ==== Resources ==== */

/**
 * Makes the definition of a resource.
 *
 * @param uri the URI of the resource (RFC 3986). The scheme names the kind of resource; use a custom
 * scheme if no standard scheme fits.
 * @param name the name of the resource, for programs.
 * @return the definition. The caller owns it and frees it with mcplink_resource_free. NULL for an
 * invalid argument; functions that take a definition refuse NULL.
 */
MCPLINK_NODISCARD MCPLINK_API mcplink_resource_t *mcplink_resource_new(const char *uri, const char *name);

/**
 * Sets the display name of the resource.
 *
 * @param title the title; NULL for no title.
 */
MCPLINK_API mcplink_status_t mcplink_resource_set_title(mcplink_resource_t *resource, const char *title);

/**
 * Sets the description of the resource, for models.
 *
 * @param description the description; NULL for no description.
 */
MCPLINK_API mcplink_status_t mcplink_resource_set_description(mcplink_resource_t *resource, const char *description);

/**
 * Sets the MIME type of the resource. It is also the default MIME type of the handler's
 * answers.
 *
 * @param mime_type the MIME type; NULL for no MIME type.
 */
MCPLINK_API mcplink_status_t mcplink_resource_set_mime_type(mcplink_resource_t *resource, const char *mime_type);

/**
 * Sets the size of the resource.
 *
 * @param size the size in bytes, before any encoding.
 */
MCPLINK_API mcplink_status_t mcplink_resource_set_size(mcplink_resource_t *resource, uint64_t size);

/**
 * Sets the annotations of the resource: an object with "audience", "priority" and
 * "lastModified".
 *
 * @param annotations,len the annotations, as JSON; len may be MCPLINK_NUL for text that ends in
 * NUL. NULL for no annotations.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID when the JSON is invalid for the protocol.
 */
MCPLINK_API mcplink_status_t mcplink_resource_set_annotations(mcplink_resource_t *resource, const char *annotations, size_t len);

/**
 * Sets the icons of the resource: an array of objects with "src".
 *
 * @param icons,len the icons, as JSON; len may be MCPLINK_NUL for text that ends in NUL. NULL for
 * no icons.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID when the JSON is invalid for the protocol.
 */
MCPLINK_API mcplink_status_t mcplink_resource_set_icons(mcplink_resource_t *resource, const char *icons, size_t len);

/**
 * Sets the metadata ("_meta") of the resource: an object.
 *
 * @param meta,len the metadata, as JSON; len may be MCPLINK_NUL for text that ends in NUL. NULL for
 * no metadata.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID when the JSON is invalid for the protocol.
 */
MCPLINK_API mcplink_status_t mcplink_resource_set_meta(mcplink_resource_t *resource, const char *meta, size_t len);

/**
 * Frees the definition of a resource. Servers to which it was added keep a copy.
 */
MCPLINK_API void mcplink_resource_free(mcplink_resource_t *resource);

/**
 * Makes the definition of a resource template.
 *
 * @param uri_template the URI template, for example "users://{id}".
 * @param name the name of the template, for programs.
 * @return the definition. The caller owns it and frees it with mcplink_template_free. NULL for an
 * invalid argument; functions that take a definition refuse NULL.
 */
MCPLINK_NODISCARD MCPLINK_API mcplink_template_t *mcplink_template_new(const char *uri_template, const char *name);

/**
 * Sets the display name of the template.
 *
 * @param title the title; NULL for no title.
 */
MCPLINK_API mcplink_status_t mcplink_template_set_title(mcplink_template_t *template_, const char *title);

/**
 * Sets the description of the template, for models.
 *
 * @param description the description; NULL for no description.
 */
MCPLINK_API mcplink_status_t mcplink_template_set_description(mcplink_template_t *template_, const char *description);

/**
 * Sets the MIME type of the template's resources. It is also the default MIME type of the
 * handler's answers.
 *
 * @param mime_type the MIME type; NULL for no MIME type.
 */
MCPLINK_API mcplink_status_t mcplink_template_set_mime_type(mcplink_template_t *template_, const char *mime_type);

/**
 * Sets the annotations of the template: an object with "audience", "priority" and
 * "lastModified".
 *
 * @param annotations,len the annotations, as JSON; len may be MCPLINK_NUL for text that ends in
 * NUL. NULL for no annotations.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID when the JSON is invalid for the protocol.
 */
MCPLINK_API mcplink_status_t mcplink_template_set_annotations(mcplink_template_t *template_, const char *annotations, size_t len);

/**
 * Sets the icons of the template: an array of objects with "src".
 *
 * @param icons,len the icons, as JSON; len may be MCPLINK_NUL for text that ends in NUL. NULL for
 * no icons.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID when the JSON is invalid for the protocol.
 */
MCPLINK_API mcplink_status_t mcplink_template_set_icons(mcplink_template_t *template_, const char *icons, size_t len);

/**
 * Sets the metadata ("_meta") of the template: an object.
 *
 * @param meta,len the metadata, as JSON; len may be MCPLINK_NUL for text that ends in NUL. NULL for
 * no metadata.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID when the JSON is invalid for the protocol.
 */
MCPLINK_API mcplink_status_t mcplink_template_set_meta(mcplink_template_t *template_, const char *meta, size_t len);

/**
 * Frees the definition of a resource template. Servers to which it was added keep a copy.
 */
MCPLINK_API void mcplink_template_free(mcplink_template_t *template_);

/**
 * Adds the files of a folder as resources with "file:" URIs. The library reads the files
 * itself, on its own threads, also with a pump. The client gets text for files in UTF-8, and
 * bytes for others.
 *
 * No file outside of the folder can be read: URIs with "..", and symbolic links that lead out
 * of the folder, are "not found". But a hard link to a file outside can't be told from a file
 * of the folder. So don't serve a folder in which untrusted users can create hard links.
 *
 * @param path the path of the folder, which must exist. On Windows the path is UTF-8.
 * @param template_name the name of the resource template that matches the files.
 * @param max_bytes the maximum size of a file that can be read; 0 for the default of 8 MiB.
 * @return MCPLINK_OK; MCPLINK_E_IO when the folder can't be opened; MCPLINK_E_INVALID when
 * path is blank or no folder, or when the folder was added before.
 * @note Threads: any, also while the server serves: clients are notified. Blocks: for the file
 * system.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_server_add_folder(mcplink_server_t *server,
                                           const char *path,
                                           const char *template_name,
                                           uint64_t max_bytes,
                                           mcplink_error_t **err);

/**
 * Adds a folder whose skills are published (extension "io.modelcontextprotocol/skills"). Each
 * folder below it with a file SKILL.md is a skill. Default: no folder.
 *
 * The folder is scanned when the server is made. Skills that break a rule are skipped: see
 * mcplink_server_skipped_skills. A user with the right to write to the folder decides what
 * clients get.
 *
 * @param path the path of the folder. On Windows the path is UTF-8.
 * @param base_uri the URI that stands for the folder, without "/" at its end; NULL for "skill://".
 * @return MCPLINK_OK; MCPLINK_E_INVALID also when path is blank; MCPLINK_E_UNSUPPORTED in a
 * build without the feature "skills" (mcplink_has_feature).
 */
MCPLINK_API mcplink_status_t mcplink_server_options_add_skills(mcplink_server_options_t *options, const char *path, const char *base_uri);

/**
 * Scans the folders of mcplink_server_options_add_skills again, and replaces their skills at
 * once. Clients are notified of changes. Without such a folder nothing changes.
 *
 * @param out receives {"added":[...],"changed":[...],"removed":[...]}, with the URIs of the skills;
 * NULL on failure. The caller frees it with mcplink_json_free.
 * @return MCPLINK_OK; MCPLINK_E_IO when a folder can't be read, and MCPLINK_E_LIMIT when it
 * has too many entries; then the skills stay as they are.
 * @note Threads: any, also while the server serves. Blocks: for the file system.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_server_reload_skills(mcplink_server_t *server,
                                              mcplink_json_t **out,
                                              mcplink_error_t **err);

/**
 * Returns the skills of the folders that are not published, with the reasons.
 *
 * @param out receives [{"path":...,"status":...,"message":...}]; NULL on failure. The caller frees
 * it with mcplink_json_free.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_server_skipped_skills(mcplink_server_t *server,
                                               mcplink_json_t **out,
                                               mcplink_error_t **err);

/* ==== Prompts ==== */

/**
 * Makes the definition of a prompt.
 *
 * @param name the name of the prompt, for programs.
 * @param description the purpose of the prompt; NULL for no description.
 * @return the definition. The caller owns it and frees it with mcplink_prompt_free. NULL for an
 * invalid argument; functions that take a definition refuse NULL.
 */
MCPLINK_NODISCARD MCPLINK_API mcplink_prompt_t *mcplink_prompt_new(const char *name, const char *description);

/**
 * Adds an argument to the prompt. The value of an argument is always text. A prompt without
 * declared arguments accepts any arguments.
 *
 * @param argument the name of the argument.
 * @param flag MCPLINK_PARAM_REQUIRED or MCPLINK_PARAM_OPTIONAL.
 * @param description the meaning of the argument; NULL for no description.
 */
MCPLINK_API
mcplink_status_t mcplink_prompt_add_argument(mcplink_prompt_t *prompt,
                                             const char *argument,
                                             mcplink_param_flag flag,
                                             const char *description);

/**
 * Sets the display name of the prompt.
 *
 * @param title the title; NULL for no title.
 */
MCPLINK_API mcplink_status_t mcplink_prompt_set_title(mcplink_prompt_t *prompt, const char *title);

/**
 * Sets the icons of the prompt: an array of objects with "src".
 *
 * @param icons,len the icons, as JSON; len may be MCPLINK_NUL for text that ends in NUL. NULL for
 * no icons.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID when the JSON is invalid for the protocol.
 */
MCPLINK_API mcplink_status_t mcplink_prompt_set_icons(mcplink_prompt_t *prompt, const char *icons, size_t len);

/**
 * Sets the metadata ("_meta") of the prompt: an object.
 *
 * @param meta,len the metadata, as JSON; len may be MCPLINK_NUL for text that ends in NUL. NULL for
 * no metadata.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID when the JSON is invalid for the protocol.
 */
MCPLINK_API mcplink_status_t mcplink_prompt_set_meta(mcplink_prompt_t *prompt, const char *meta, size_t len);

/**
 * Frees the definition of a prompt. Servers to which it was added keep a copy.
 */
MCPLINK_API void mcplink_prompt_free(mcplink_prompt_t *prompt);

/* ==== Handlers: read a request, answer it ==== */

/**
 * Reads an argument that is a string. The four functions that read one argument behave alike:
 *
 * If the argument is missing although the tool requires it, or has another type, the function
 * answers the request with an error that names the argument, and returns MCPLINK_E_INVALID: the
 * handler then returns. If the call omits an optional argument, *out receives the default of the
 * tool's definition; without a default, *out stays unchanged, so initialize it. The argument of a
 * tool or prompt must be declared by its definition; otherwise the request is answered with an
 * internal error, the mistake is logged, and the function returns MCPLINK_E_INVALID. The schema
 * of a tool also declares arguments by additionalProperties, patternProperties, $ref or a
 * combination such as allOf.
 *
 * @param request,responder those of the handler.
 * @param param the name of the argument.
 * @param out receives the text, which is valid as long as the request.
 * @return MCPLINK_OK; MCPLINK_E_INVALID: the request was answered; MCPLINK_E_STATE when it was
 * answered before; MCPLINK_E_CANCELLED or MCPLINK_E_CLOSED when the peer no longer waits.
 * @note Blocks: only while a client does not read.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_request_string(const mcplink_request_t *request,
                                        mcplink_responder_t *responder,
                                        const char *param,
                                        mcplink_str_t *out);

/**
 * Reads an argument that is an integer. See mcplink_request_string.
 *
 * @param request,responder those of the handler.
 * @param param the name of the argument.
 * @param out receives an integer from -2^63 to 2^63-1; 1.0 counts as an integer.
 * @return see mcplink_request_string.
 * @note Blocks: only while a client does not read.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_request_integer(const mcplink_request_t *request,
                                         mcplink_responder_t *responder,
                                         const char *param,
                                         int64_t *out);

/**
 * Reads an argument that is a number. See mcplink_request_string.
 *
 * @param request,responder those of the handler.
 * @param param the name of the argument.
 * @param out receives the number, rounded to a double.
 * @return see mcplink_request_string.
 * @note Blocks: only while a client does not read.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_request_number(const mcplink_request_t *request,
                                        mcplink_responder_t *responder,
                                        const char *param,
                                        double *out);

/**
 * Reads an argument that is true or false. See mcplink_request_string.
 *
 * @param request,responder those of the handler.
 * @param param the name of the argument.
 * @param out receives the value.
 * @return see mcplink_request_string.
 * @note Blocks: only while a client does not read.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_request_boolean(const mcplink_request_t *request,
                                         mcplink_responder_t *responder,
                                         const char *param,
                                         bool *out);

/**
 * Returns the arguments of the request. For a tool or a prompt, these are the arguments of the
 * call. For a resource, they are the variables of the URI template; for a completion, the
 * known values of the other arguments; for a custom method, the params.
 *
 * @return a node that is valid as long as the request; NULL when the request has no
 * arguments.
 */
MCPLINK_API const mcplink_json_t *mcplink_request_args(const mcplink_request_t *request);

/**
 * Returns all params of the request, as received.
 *
 * @return a node that is valid as long as the request; NULL when the params have no C
 * representation. Only the handler of a resource can get NULL for this reason: other requests
 * with such params are refused before the handler runs.
 */
MCPLINK_API const mcplink_json_t *mcplink_request_params(const mcplink_request_t *request);

/**
 * Returns the metadata of the request: the member "_meta" of its params.
 *
 * @return a node that is valid as long as the request; NULL when the member is missing.
 */
MCPLINK_API const mcplink_json_t *mcplink_request_meta(const mcplink_request_t *request);

/**
 * Returns the target of the request: the name of the tool or prompt, the URI of the resource,
 * or the name of the completed argument.
 *
 * @return text that is valid as long as the request; empty for requests of other methods.
 */
MCPLINK_API mcplink_str_t mcplink_request_name(const mcplink_request_t *request);

/**
 * Returns the text that was typed so far for the argument to complete.
 *
 * @return text that is valid as long as the request; empty for other requests.
 */
MCPLINK_API mcplink_str_t mcplink_request_value(const mcplink_request_t *request);

/**
 * Returns the method, for example "tools/call".
 *
 * @return text that is valid as long as the request.
 */
MCPLINK_API mcplink_str_t mcplink_request_method(const mcplink_request_t *request);

/**
 * Returns a number that identifies the server's connection on which the request came; see
 * mcplink_session_number. Over HTTP, all clients of revisions since 2026-07-28 share one
 * number.
 *
 * @return a number from 1 on a server; 0 on a client.
 */
MCPLINK_API uint64_t mcplink_request_session(const mcplink_request_t *request);

/**
 * Returns the tag of the client's call that needs the input: see mcplink_call_options_set_tag.
 *
 * @return the tag; 0 for a call without a tag, in the legacy era, where an input request does
 * not say to which call it belongs, and on a server.
 */
MCPLINK_API uint64_t mcplink_request_tag(const mcplink_request_t *request);

/**
 * Returns the authenticated principal for which the client acts. Over HTTP, the authentication
 * of the HTTP request sets the principal. Without HTTP, the principal is set when the session
 * is made.
 *
 * @return text that is valid as long as the request; empty when the principal is unknown.
 */
MCPLINK_API mcplink_str_t mcplink_request_principal(const mcplink_request_t *request);

/**
 * Returns the scopes that were granted to the principal, including implied scopes. A space
 * separates two names.
 *
 * @return text that is valid as long as the request; empty when no scope was granted, or the
 * scopes are unknown.
 */
MCPLINK_API mcplink_str_t mcplink_request_scopes(const mcplink_request_t *request);

/**
 * Checks whether a scope was granted to the principal. A handler can then do more for a
 * principal with this scope. To refuse the request, see mcplink_responder_require_scopes.
 *
 * @param scope the name of the scope.
 * @return true if the scope was granted; false also when the scopes are unknown.
 */
MCPLINK_API bool mcplink_request_has_scope(const mcplink_request_t *request, const char *scope);

/**
 * Returns the time at which the authentication of the principal expires, for example the
 * expiry of its access token.
 *
 * @return seconds since 1970-01-01 UTC; 0 when no expiry is known.
 */
MCPLINK_API int64_t mcplink_request_expiry(const mcplink_request_t *request);

/**
 * Returns the protocol revision of the request, for example "2026-07-28".
 *
 * @return text that is valid as long as the request; empty for custom methods, and on a
 * client.
 */
MCPLINK_API mcplink_str_t mcplink_request_revision(const mcplink_request_t *request);

/**
 * Returns the "name" and "version" that the client reports about itself. They are for display
 * and logging only, because they are not authenticated.
 *
 * @return a node that is valid as long as the request; NULL when the client did not send
 * them.
 */
MCPLINK_API const mcplink_json_t *mcplink_request_client_info(const mcplink_request_t *request);

/**
 * Returns the capabilities that the client declared, for example "elicitation".
 *
 * @return a node that is valid as long as the request; NULL for custom methods, and on a
 * client.
 */
MCPLINK_API const mcplink_json_t *mcplink_request_capabilities(const mcplink_request_t *request);

/**
 * Adds a reference to a responder, so that the request can be answered after its handler has
 * returned. So no thread of the host has to wait for the answer.
 *
 * @return the same responder. The caller now owns a reference, and frees it with
 * mcplink_responder_free, once for each mcplink_responder_keep. The reference may outlive the
 * server or client.
 */
MCPLINK_NODISCARD MCPLINK_API mcplink_responder_t *mcplink_responder_keep(mcplink_responder_t *responder);

/**
 * Releases a reference to a responder. If the request is unanswered, releasing the last reference
 * sends an answer: the input requests if the handler has requested input, and otherwise an
 * internal error. In a forked process the function does nothing; see MCPLINK_E_FORKED.
 *
 * @param responder a responder that mcplink_responder_keep returned; may be NULL.
 */
MCPLINK_API void mcplink_responder_free(mcplink_responder_t *responder);

/**
 * Returns the request that a responder answers.
 *
 * @return a request that is valid as long as the responder.
 */
MCPLINK_API const mcplink_request_t *mcplink_responder_request(const mcplink_responder_t *responder);

/**
 * Checks whether the request was cancelled, or the peer has disconnected. The check is cheap,
 * so a handler that works for long can poll it.
 *
 * @return true if the request was cancelled or the peer has disconnected; the handler should
 * return then.
 */
MCPLINK_API bool mcplink_responder_is_cancelled(const mcplink_responder_t *responder);

/**
 * Returns a value that mcplink_responder_remember stored, in this run of the handler or in an
 * earlier run.
 *
 * @param key names the value.
 * @return a node that is valid as long as the responder; NULL when no value is stored under
 * this key, and after the answer.
 */
MCPLINK_API const mcplink_json_t *mcplink_responder_recall(const mcplink_responder_t *responder, const char *key);

/**
 * Sets a function that is called once when the peer cancels the request or disconnects.
 *
 * @param callback called at once, on this thread, if the request is cancelled already. Otherwise the
 * callback runs on the thread that dispatches the pump. Without a pump, the callback runs on a
 * thread of the library, and should be quick. The callback may run while the request is being
 * answered. NULL removes the function.
 * @param user,destroy passed to callback; destroy runs after the callback, when another function is
 * set, or when the responder is freed.
 */
MCPLINK_API
mcplink_status_t mcplink_responder_on_cancel(mcplink_responder_t *responder,
                                             mcplink_notify_fn callback,
                                             void *user,
                                             mcplink_destroy_fn destroy);

/**
 * Sends the client a progress notification, if the client requested progress.
 *
 * @param done the progress so far; it must increase from call to call. If calls come too fast, some
 * notifications are skipped, but never the last notification.
 * @param total the value of done when the work is complete; 0 when the total is unknown.
 * @param message a text for users; NULL for no text.
 * @return MCPLINK_OK, also when the client did not request progress; MCPLINK_E_CANCELLED or
 * MCPLINK_E_CLOSED when the client no longer waits for the answer; MCPLINK_E_STATE after the
 * answer; MCPLINK_E_UNSUPPORTED for custom methods, and on a client.
 * @note Blocks: only while a client does not read.
 */
MCPLINK_API mcplink_status_t mcplink_responder_progress(mcplink_responder_t *responder, double done, double total, const char *message);

/**
 * Sends the client a log message that belongs to the request. The message is sent if logging
 * is enabled on the server and the client requested messages of this level.
 *
 * @param level the severity of the message.
 * @param text,len the message; len may be MCPLINK_NUL for text that ends in NUL. It must not
 * contain secrets that the client must not know.
 * @return MCPLINK_OK, also when the client did not request the message; MCPLINK_E_CANCELLED
 * or MCPLINK_E_CLOSED when the client no longer waits for the answer; MCPLINK_E_STATE after
 * the answer; MCPLINK_E_UNSUPPORTED for custom methods, and on a client.
 * @note Blocks: only while a client does not read.
 */
MCPLINK_API mcplink_status_t mcplink_responder_log(mcplink_responder_t *responder, mcplink_log_level level, const char *text, size_t len);

/**
 * Stores a value for later runs of the handler, so that a side effect happens only once: for
 * example a payment, or the generation of an id.
 *
 * @param responder the responder, of a call of a tool, resource or prompt.
 * @param key names the value.
 * @param json,len the value; len may be MCPLINK_NUL for text that ends in NUL. The value may be
 * sent through the client, encrypted and authenticated.
 * @return MCPLINK_OK, MCPLINK_E_INVALID when the value is not JSON, MCPLINK_E_STATE after the
 * answer.
 */
MCPLINK_API mcplink_status_t mcplink_responder_remember(mcplink_responder_t *responder, const char *key, const char *json, size_t len);

/**
 * Refuses the request unless these scopes were granted to the principal. This function is for a
 * handler that learns only at run time which scopes the request requires. Scopes that are known
 * beforehand are set with mcplink_server_require_scopes.
 *
 * If the scopes of the principal are unknown, the request is not refused. Over HTTP, unknown
 * scopes count as no scopes, and the request is refused. Call this function before sending any
 * message: over HTTP the refusal is status 403, which is not possible once the response has begun.
 *
 * @param scopes all required scopes, separated by spaces.
 * @return MCPLINK_OK when all scopes were granted. MCPLINK_E_AUTH when a scope is missing: the
 * request was answered with the refusal, so return. MCPLINK_E_INVALID when scopes contains no
 * name, and MCPLINK_E_UNSUPPORTED for custom methods and on a client: the request was answered
 * with an internal error. MCPLINK_E_STATE after the answer.
 * @note Blocks: only while a client does not read.
 */
MCPLINK_NODISCARD MCPLINK_API mcplink_status_t mcplink_responder_require_scopes(mcplink_responder_t *responder, const char *scopes);

/**
 * Requests input from the client: an answer of its user (elicitation/create), output of its model
 * (sampling/createMessage), or its roots (roots/list).
 *
 * When the client's answers arrive, the handler is run again from its start, and this function
 * returns the answers. So the code before an input request runs again each time. To request
 * several inputs at once, call this function for each input before the handler returns.
 *
 * @param responder the responder, of a call of a tool, resource or prompt.
 * @param key identifies this input request within the call.
 * @param method the method, for example "elicitation/create".
 * @param params,len the params of the method as JSON; len may be MCPLINK_NUL for text that ends in NUL.
 * NULL for no params.
 * @param out receives the client's result, valid as long as the responder; NULL while the answer is
 * pending. May be NULL.
 * @return MCPLINK_OK with the answer; MCPLINK_PENDING when the answer has not arrived: return
 * without answering the request. MCPLINK_E_PEER when the client refused, MCPLINK_E_INVALID for an
 * invalid input request, MCPLINK_E_STATE after the request was answered. If the handler returns
 * without an answer after MCPLINK_E_PEER, the model of a tool call reads that the client refused.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_responder_ask(mcplink_responder_t *responder,
                                       const char *key,
                                       const char *method,
                                       const char *params,
                                       size_t len,
                                       const mcplink_json_t **out,
                                       mcplink_error_t **err);

/**
 * Answers with text: the output of a tool, the contents of a resource, or a prompt of one user
 * message. The contents of a resource get the MIME type with which the resource was added.
 *
 * All functions that answer return the same codes. MCPLINK_OK: the answer was accepted for
 * sending. MCPLINK_E_STATE: the request was answered before. MCPLINK_E_CANCELLED or
 * MCPLINK_E_CLOSED: the peer no longer waits, and nothing is sent.
 *
 * MCPLINK_E_INVALID: the answer is invalid. MCPLINK_E_UNSUPPORTED: this function can't answer
 * a request of this kind. In both cases the request can still be answered, and the reason is
 * logged. If the handler has requested input from the client, the answer is not sent. The
 * handler is run again when the input has arrived.
 *
 * @param text,len the text; len may be MCPLINK_NUL for text that ends in NUL.
 * @return one of the codes above.
 * @note Blocks: only while a client does not read.
 */
MCPLINK_API mcplink_status_t mcplink_responder_text(mcplink_responder_t *responder, const char *text, size_t len);

/**
 * Answers with the contents of a resource, as text of the given MIME type.
 *
 * @param text,len the text; len may be MCPLINK_NUL for text that ends in NUL.
 * @param mime_type for example "text/markdown"; NULL for the MIME type with which the resource was
 * added.
 * @return see mcplink_responder_text.
 * @note Blocks: only while a client does not read.
 */
MCPLINK_API
mcplink_status_t mcplink_responder_typed_text(mcplink_responder_t *responder,
                                              const char *text,
                                              size_t len,
                                              const char *mime_type);

/**
 * Answers with bytes: the contents of a resource, or an image or audio that a tool returns.
 *
 * @param data,len the bytes.
 * @param mime_type the MIME type of the bytes; NULL for the type with which the resource was added.
 * For a tool the type is image/... or audio/...
 * @return see mcplink_responder_text.
 * @note Blocks: only while a client does not read.
 */
MCPLINK_API mcplink_status_t mcplink_responder_bytes(mcplink_responder_t *responder, const void *data, size_t len, const char *mime_type);

/**
 * Answers with a complete result in the format of the protocol. A tool result is
 * {"content":[...]}, a resource {"contents":[...]}, a prompt {"messages":[...]}, a completion
 * {"completion":{"values":[...]}}. For a custom method, and for a request from a server, the
 * result may be any JSON.
 *
 * @param result,len the result as JSON; len may be MCPLINK_NUL for text that ends in NUL.
 * @return see mcplink_responder_text.
 * @note Blocks: only while a client does not read.
 */
MCPLINK_API mcplink_status_t mcplink_responder_json(mcplink_responder_t *responder, const char *result, size_t len);

/**
 * Answers a tool call with structured content. The JSON text of the value is sent too, for
 * clients that only read text.
 *
 * @param json,len the value, as the output schema of the tool describes it; len may be MCPLINK_NUL
 * for text that ends in NUL.
 * @return see mcplink_responder_text.
 * @note Blocks: only while a client does not read.
 */
MCPLINK_API mcplink_status_t mcplink_responder_structured(mcplink_responder_t *responder, const char *json, size_t len);

/**
 * Answers that the tool ran and failed. The text explains the failure to the model, for
 * example a wrong argument or a missing file.
 *
 * @param text,len what failed, and what to do; len may be MCPLINK_NUL for text that ends in NUL.
 * @return see mcplink_responder_text.
 * @note Blocks: only while a client does not read.
 */
MCPLINK_API mcplink_status_t mcplink_responder_tool_error(mcplink_responder_t *responder, const char *text, size_t len);

/**
 * Answers a completion with values, the best value first. Only the first 100 values are sent.
 *
 * @param values,count the values, texts that end in NUL.
 * @param fitting true to remove values that do not match the typed text, and to sort the remaining
 * values. Values that begin with the typed text come first. Then come values with a word that
 * begins with the text, and values that contain the text. Values that contain the letters of
 * the text in order come last.
 * @return see mcplink_responder_text.
 * @note Blocks: only while a client does not read.
 */
MCPLINK_API
mcplink_status_t mcplink_responder_values(mcplink_responder_t *responder,
                                          const char *const *values,
                                          size_t count,
                                          bool fitting);

/**
 * Answers that the resource does not exist, with the error code of the client's revision.
 *
 * @return see mcplink_responder_text.
 * @note Blocks: only while a client does not read.
 */
MCPLINK_API mcplink_status_t mcplink_responder_not_found(mcplink_responder_t *responder);

/**
 * Answers that the request failed inside of the host. The peer gets "internal error" without
 * the reason, since the reason may have names, paths or secrets of the host.
 *
 * The reason is logged as an error, and reported as an event of kind
 * MCPLINK_SERVER_HANDLER_FAILED. An error that no log hook gets is written to standard error,
 * once for each text.
 *
 * @param reason,len the reason; len may be MCPLINK_NUL for text that ends in NUL.
 * @return see mcplink_responder_text.
 * @note Blocks: only while a client does not read.
 */
MCPLINK_API mcplink_status_t mcplink_responder_internal_error(mcplink_responder_t *responder, const char *reason, size_t len);

/**
 * Answers with a JSON-RPC error. For a tool that failed, use mcplink_responder_tool_error
 * instead, because models read tool errors.
 *
 * @param code an mcplink_rpc_code, or a code of your own outside -32768 to -32000.
 * @param message one sentence.
 * @param data details as JSON; NULL for no details.
 * @return see mcplink_responder_text.
 * @note Blocks: only while a client does not read.
 */
MCPLINK_API mcplink_status_t mcplink_responder_fail(mcplink_responder_t *responder, int32_t code, const char *message, const char *data);

/**
 * Adds text to the answer of a tool call. An answer of several content blocks is made of
 * mcplink_responder_add_text, mcplink_responder_add_bytes and mcplink_responder_add_json, in the
 * order of the blocks, and sent by mcplink_responder_send.
 *
 * @param text,len the text; len may be MCPLINK_NUL for text that ends in NUL.
 * @return MCPLINK_OK; MCPLINK_E_INVALID; MCPLINK_E_STATE after the answer; MCPLINK_E_UNSUPPORTED
 * for requests of other kinds. mcplink_responder_send fails after a block that was refused, so the
 * status may be ignored.
 */
MCPLINK_API mcplink_status_t mcplink_responder_add_text(mcplink_responder_t *responder, const char *text, size_t len);

/**
 * Adds an image or audio to the answer of a tool call: see mcplink_responder_add_text.
 *
 * @param data,len the bytes.
 * @param mime_type image/... or audio/...
 * @return see mcplink_responder_add_text.
 */
MCPLINK_API
mcplink_status_t mcplink_responder_add_bytes(mcplink_responder_t *responder,
                                             const void *data,
                                             size_t len,
                                             const char *mime_type);

/**
 * Adds a content block of any type to the answer of a tool call, in the format of the protocol.
 * See mcplink_responder_add_text.
 *
 * @param block,len the block as JSON, for example
 * {"type":"resource_link","uri":"file:///a","name":"a"}; len may be MCPLINK_NUL for text that ends
 * in NUL.
 * @return see mcplink_responder_add_text.
 */
MCPLINK_API mcplink_status_t mcplink_responder_add_json(mcplink_responder_t *responder, const char *block, size_t len);

/**
 * Answers a tool call with the content blocks that were added: see mcplink_responder_add_text.
 * Other functions that answer ignore these blocks.
 *
 * @return see mcplink_responder_text; MCPLINK_E_INVALID also when a block was refused: the
 * request can still be answered.
 * @note Blocks: only while a client does not read.
 */
MCPLINK_API mcplink_status_t mcplink_responder_send(mcplink_responder_t *responder);

/**
 * Makes a form without fields.
 *
 * @param message the question, for the user.
 * @return the form. The caller owns it and frees it with mcplink_form_free. NULL for an invalid
 * argument; functions that take a form refuse NULL.
 */
MCPLINK_NODISCARD MCPLINK_API mcplink_form_t *mcplink_form_new(const char *message);

/**
 * Adds a field to the form. Users see the fields in the order in which they were added.
 *
 * @param field the name of the field, by which the content has its value.
 * @param kind MCPLINK_PARAM_STRING, MCPLINK_PARAM_INTEGER, MCPLINK_PARAM_NUMBER or
 * MCPLINK_PARAM_BOOLEAN.
 * @param flag MCPLINK_PARAM_REQUIRED if the user has to fill in the field, or
 * MCPLINK_PARAM_OPTIONAL.
 * @param description the meaning of the field, for the user; NULL for no description.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID, also when the name is in use already, or a form
 * can't have a field of this type.
 */
MCPLINK_API
mcplink_status_t mcplink_form_add_field(mcplink_form_t *form,
                                        const char *field,
                                        mcplink_param_type kind,
                                        mcplink_param_flag flag,
                                        const char *description);

/**
 * Adds a field with a JSON Schema, for example with a title, a format or a default. The
 * protocol defines the schemas that fields can have.
 *
 * @param field the name of the field.
 * @param flag MCPLINK_PARAM_REQUIRED or MCPLINK_PARAM_OPTIONAL.
 * @param schema,len the JSON Schema of the field, for example {"type":"string","format":"email"};
 * len may be MCPLINK_NUL for text that ends in NUL.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID, also when the protocol does not allow the schema
 * for a field, or the default does not fit the schema.
 */
MCPLINK_API
mcplink_status_t mcplink_form_add_field_schema(mcplink_form_t *form,
                                               const char *field,
                                               mcplink_param_flag flag,
                                               const char *schema,
                                               size_t len);

/**
 * Adds an integer field with bounds.
 *
 * @param field the name of the field.
 * @param flag MCPLINK_PARAM_REQUIRED or MCPLINK_PARAM_OPTIONAL.
 * @param min,max the smallest and the largest valid value; INT64_MIN and INT64_MAX for no bound.
 * @param description the meaning of the field, for the user; NULL for no description.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID, also when the name is in use already, or min is
 * greater than max.
 */
MCPLINK_API
mcplink_status_t mcplink_form_add_integer(mcplink_form_t *form,
                                          const char *field,
                                          mcplink_param_flag flag,
                                          int64_t min,
                                          int64_t max,
                                          const char *description);

/**
 * Adds a number field with bounds.
 *
 * @param field the name of the field.
 * @param flag MCPLINK_PARAM_REQUIRED or MCPLINK_PARAM_OPTIONAL.
 * @param min,max the smallest and the largest valid value; -INFINITY and INFINITY for no bound.
 * @param description the meaning of the field, for the user; NULL for no description.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID, also when the name is in use already, min is
 * greater than max, or a bound is NaN.
 */
MCPLINK_API
mcplink_status_t mcplink_form_add_number(mcplink_form_t *form,
                                         const char *field,
                                         mcplink_param_flag flag,
                                         double min,
                                         double max,
                                         const char *description);

/**
 * Adds a field in which the user chooses one of several values.
 *
 * @param field the name of the field.
 * @param flag MCPLINK_PARAM_REQUIRED or MCPLINK_PARAM_OPTIONAL.
 * @param values,count the values, texts that end in NUL; at least one.
 * @param description the meaning of the field, for the user; NULL for no description.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID, also when the name is in use already.
 */
MCPLINK_API
mcplink_status_t mcplink_form_add_choice(mcplink_form_t *form,
                                         const char *field,
                                         mcplink_param_flag flag,
                                         const char *const *values,
                                         size_t count,
                                         const char *description);

/**
 * Adds a field in which the user chooses any number of values. The content has them as an
 * array. Clients of revisions before 2025-11-25 don't know such fields: then asking fails with
 * MCPLINK_E_INVALID.
 *
 * @param field the name of the field.
 * @param flag MCPLINK_PARAM_REQUIRED or MCPLINK_PARAM_OPTIONAL.
 * @param values,count the values, texts that end in NUL; at least one.
 * @param min_items,max_items the smallest and the largest valid number of choices; SIZE_MAX as
 * max_items for no bound.
 * @param description the meaning of the field, for the user; NULL for no description.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID, also when the name is in use already, or
 * min_items is greater than max_items.
 */
MCPLINK_API
mcplink_status_t mcplink_form_add_choices(mcplink_form_t *form,
                                          const char *field,
                                          mcplink_param_flag flag,
                                          const char *const *values,
                                          size_t count,
                                          size_t min_items,
                                          size_t max_items,
                                          const char *description);

/**
 * Sets the default of a field that was added before: the value that the user sees first.
 *
 * @param field the name of the field.
 * @param value,len the default as JSON, for example 10 or "name" with its quotes; len may be
 * MCPLINK_NUL for text that ends in NUL.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID, also when there is no such field, or the default
 * does not fit its schema.
 */
MCPLINK_API mcplink_status_t mcplink_form_set_default_value(mcplink_form_t *form, const char *field, const char *value, size_t len);

/**
 * Frees a form. Questions that were sent with it are not affected.
 */
MCPLINK_API void mcplink_form_free(mcplink_form_t *form);

/**
 * Asks the user to confirm an action. The user sees the message, and no fields. See
 * mcplink_responder_ask: the handler is run again when the user has answered.
 *
 * @param responder the responder, of a call of a tool, resource or prompt.
 * @param key identifies this question within the call.
 * @param message the question, for the user.
 * @param accepted receives true if the user agreed; false if the user declined or dismissed the
 * question, and without an answer.
 * @return the codes of mcplink_responder_ask. For all but MCPLINK_OK, the handler may simply
 * return.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_responder_confirm(mcplink_responder_t *responder,
                                           const char *key,
                                           const char *message,
                                           bool *accepted,
                                           mcplink_error_t **err);

/**
 * Asks the user to fill in a form. See mcplink_responder_ask: the handler is run again when the
 * user has answered. Content that does not fit the form is not accepted: the user is asked again.
 *
 * @param responder the responder, of a call of a tool, resource or prompt.
 * @param key identifies this question within the call.
 * @param form the form, the same in each run of the handler. It remains the caller's.
 * @param content receives the content of the form, an object with a member for each field that was
 * filled in, valid as long as the responder; NULL if the user declined or dismissed the form, and
 * without an answer.
 * @return the codes of mcplink_responder_ask. For all but MCPLINK_OK, the handler may simply
 * return.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_responder_elicit(mcplink_responder_t *responder,
                                          const char *key,
                                          const mcplink_form_t *form,
                                          const mcplink_json_t **content,
                                          mcplink_error_t **err);

/**
 * Turns a tool call into a task, if the client supports tasks. The client receives the task at
 * once. Then the handler is run again from its start, as after an answer to an input request. If
 * the task needs input from the client before it begins, request the input before calling this
 * function.
 *
 * Tasks require revision 2026-07-28 or later, and a server with mcplink_server_options_set_tasks.
 * Otherwise, and in a call that is a task already, the function does nothing.
 *
 * @return MCPLINK_OK to continue; MCPLINK_PENDING when the call becomes a task: return without
 * answering. MCPLINK_E_STATE after the answer.
 */
MCPLINK_NODISCARD MCPLINK_API mcplink_status_t mcplink_responder_become_task(mcplink_responder_t *responder, mcplink_error_t **err);

/**
 * Closes the SSE stream on which the call is answered, and makes the client reconnect for the
 * answer. So a long call needs no open connection. Messages that are sent before the client
 * reconnects are stored, up to the limits of mcplink_http_options_set_kept_events.
 *
 * The function does nothing if a client can't reconnect: on other transports, and in revisions
 * other than 2025-11-25.
 *
 * @param retry_ms the delay after which the client should reconnect, in milliseconds.
 * @return MCPLINK_OK; MCPLINK_E_CLOSED or MCPLINK_E_CANCELLED when the client no longer waits
 * for the answer; MCPLINK_E_STATE after the answer; MCPLINK_E_UNSUPPORTED for custom methods,
 * and on a client.
 * @note Blocks: only while a client does not read.
 */
MCPLINK_API mcplink_status_t mcplink_responder_close_stream_and_retry(mcplink_responder_t *responder, uint32_t retry_ms);

/**
 * Refuses the request unless the client declared an extension. If possible, work without the
 * extension instead: see mcplink_request_capabilities.
 *
 * @param id the id of the extension, for example "com.example/reports".
 * @return MCPLINK_OK when the client declared the extension. MCPLINK_E_UNSUPPORTED when it did
 * not. Then the request was answered with the refusal: return. For custom methods and on a client
 * the status is MCPLINK_E_UNSUPPORTED too, and the request stays unanswered. MCPLINK_E_STATE after
 * the answer.
 * @note Blocks: only while a client does not read.
 */
MCPLINK_NODISCARD MCPLINK_API mcplink_status_t mcplink_responder_require_extension(mcplink_responder_t *responder, const char *id);

/**
 * Sends the client a notification of the host's own method, which belongs to the request:
 * before the answer, and over HTTP on the stream of the answer. For notifications that belong
 * to no request see mcplink_session_notify.
 *
 * @param method the method, for example "notifications/com.example/moved".
 * @param params,len a JSON object; len may be MCPLINK_NUL for text that ends in NUL. NULL for none.
 * @return MCPLINK_OK; MCPLINK_E_INVALID; MCPLINK_E_CANCELLED or MCPLINK_E_CLOSED when the
 * client no longer waits for the answer; MCPLINK_E_STATE after the answer;
 * MCPLINK_E_UNSUPPORTED on a client.
 * @note Blocks: only while a client does not read.
 */
MCPLINK_API mcplink_status_t mcplink_responder_notify(mcplink_responder_t *responder, const char *method, const char *params, size_t len);

/* ==== HTTP servers ==== */

/**
 * Listens for HTTP clients. Threads of the library accept and serve them.
 *
 * Any client that can reach an address can send requests. If no other machine needs access,
 * pass only a port: then only this machine has access. Authenticate clients of other machines
 * with mcplink_http_options_on_authenticate. To a Unix socket only processes of the same user
 * can connect, if other users can't replace files in its folder. A socket on which no process
 * listens is replaced; closing the listener removes the socket.
 *
 * @param options the options, which are copied. NULL for the defaults, which accept all clients
 * without authentication. If a setter of the options failed, this function fails with the
 * error of that setter.
 * @param bind an address such as "192.0.2.1:8080", only a port of the loopback address, such as
 * "8080", or a Unix socket, such as "unix:/run/shop.sock". With port 0 the system chooses a
 * port.
 * @param out receives the listener, NULL on failure. The caller owns it and frees it with
 * mcplink_listener_free, before or after the server.
 * @return MCPLINK_OK; MCPLINK_E_IO when the address is not available; MCPLINK_E_INVALID for
 * invalid options, or when bind has neither a port nor "unix:"; MCPLINK_E_UNSUPPORTED for a
 * Unix socket on Windows; MCPLINK_E_CLOSED when the server was stopped.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_server_listen_http(mcplink_server_t *server,
                                            const mcplink_http_options_t *options,
                                            const char *bind,
                                            mcplink_listener_t **out,
                                            mcplink_error_t **err);

/**
 * Returns the port on which a listener accepts connections, also if the system chose the port.
 *
 * @return the port; 0 for a Unix socket.
 */
MCPLINK_API uint16_t mcplink_listener_port(const mcplink_listener_t *listener);

/**
 * Returns the URL of the endpoint of a listener, for clients on this machine.
 *
 * @return text that is valid as long as the listener.
 */
MCPLINK_API mcplink_str_t mcplink_listener_url(const mcplink_listener_t *listener);

/**
 * Returns the number of open sessions of a listener. Only clients of revisions before 2026-07-28
 * have sessions.
 *
 * @return the number.
 */
MCPLINK_API size_t mcplink_listener_sessions(const mcplink_listener_t *listener);

/**
 * Moves the clients of a listener to other replicas; then call mcplink_listener_close. The
 * health page answers with status 503 from now on, so a load balancer sends no new requests.
 * The open subscriptions/listen streams end one after the other, each with its result, so that
 * their clients do not reconnect all at once. Everything else is served as before. Sessions of
 * clients of revisions before 2026-07-28 end when the listener is closed.
 *
 * @param milliseconds how long the listener drains: several times as long as the interval at which
 * the load balancer requests the health page.
 * @return MCPLINK_OK.
 * @note Blocks: for this time, or until another thread closes the listener.
 */
MCPLINK_API mcplink_status_t mcplink_listener_drain(mcplink_listener_t *listener, uint32_t milliseconds);

/**
 * Closes a listener: it accepts no more requests, calls in flight may continue for the drain
 * time of the server, and sessions end. A handler should not call this function, because the
 * function would wait for the handler's own call. A handler can free the listener or stop the
 * server instead.
 *
 * @return MCPLINK_OK, also when the listener is closed already.
 * @note Blocks: for the drain time and a few seconds at most.
 */
MCPLINK_API mcplink_status_t mcplink_listener_close(mcplink_listener_t *listener);

/**
 * Closes a listener and frees it. If a callback of the server calls this function, the function
 * returns at once, and another thread closes the listener. So a handler that frees the listener
 * can still answer.
 *
 * @note Blocks: as mcplink_listener_close.
 */
MCPLINK_API void mcplink_listener_free(mcplink_listener_t *listener);

/**
 * Makes HTTP options with the default values.
 *
 * @return the options. The caller owns them and frees them with mcplink_http_options_free.
 */
MCPLINK_NODISCARD MCPLINK_API mcplink_http_options_t *mcplink_http_options_new(void);

/**
 * Frees HTTP options. Listeners and endpoints made with them keep a copy.
 */
MCPLINK_API void mcplink_http_options_free(mcplink_http_options_t *options);

/**
 * Sets the path of the endpoint, for a host with several endpoints at one address. Default:
 * "/mcp". Requests for other paths are answered with status 404.
 *
 * @param path the path, which begins with "/".
 */
MCPLINK_API mcplink_status_t mcplink_http_options_set_path(mcplink_http_options_t *options, const char *path);

/**
 * Adds an allowed host name. A request is refused if the host name in its header field Host is
 * not allowed, which prevents DNS rebinding. Ports are not compared. Behind a proxy, add the
 * host name that the proxy sends. Default: on a loopback address, localhost, 127.0.0.1 and
 * `[::1]`; on other addresses, all host names.
 *
 * @param host the host name, for example "mcp.example.com", without scheme, port and wildcard.
 */
MCPLINK_API mcplink_status_t mcplink_http_options_add_host(mcplink_http_options_t *options, const char *host);

/**
 * Adds an allowed origin: a web site whose pages may call the server. By default only pages
 * under the server's own host name may call the server. The server's own host name must be an
 * allowed host name (mcplink_http_options_add_host), an IP address or a name of this machine,
 * because the owner of any other name could make the name resolve to the server (DNS
 * rebinding).
 *
 * @param origin scheme and host name, and the port unless it is the default port, for example
 * "https://example.com", without path and wildcard.
 */
MCPLINK_API mcplink_status_t mcplink_http_options_add_origin(mcplink_http_options_t *options, const char *origin);

/**
 * Adds a trusted proxy, or a network of trusted proxies. The library reads the address of the
 * client from the header field Forwarded (RFC 7239) or X-Forwarded-For that a trusted proxy
 * sends. The client's address is the last address in the field that does not belong to a
 * trusted proxy. If the field is invalid, the proxy counts as the client. Without trusted
 * proxies all requests through a proxy share the limits of one client.
 *
 * @param network an address such as "192.0.2.1", or a network such as "10.0.0.0/8".
 * @return MCPLINK_OK, or MCPLINK_E_INVALID for an invalid network.
 */
MCPLINK_API mcplink_status_t mcplink_http_options_add_trusted_proxy(mcplink_http_options_t *options, const char *network);

/**
 * Sets whether clients of revisions before 2026-07-28 get sessions. Without sessions any
 * replica can answer any request, but clients of these revisions get no input requests and no
 * change notifications. Default: true.
 *
 * @param enabled true to give these clients sessions.
 */
MCPLINK_API mcplink_status_t mcplink_http_options_set_sessions(mcplink_http_options_t *options, bool enabled);

/**
 * Sets the idle timeout of sessions, because clients often leave without ending theirs. A
 * session ends when it has had no request, no answer and no open stream for this time.
 * Default: 30 minutes.
 *
 * @param milliseconds the idle timeout, in milliseconds.
 */
MCPLINK_API mcplink_status_t mcplink_http_options_set_session_idle_ms(mcplink_http_options_t *options, uint32_t milliseconds);

/**
 * Sets the two paths of the HTTP+SSE transport, so that clients of revision 2024-11-05 are
 * served. Default: these clients are not served.
 *
 * @param stream the path of the SSE stream.
 * @param post the path to which the client posts messages.
 */
MCPLINK_API mcplink_status_t mcplink_http_options_set_old_paths(mcplink_http_options_t *options, const char *stream, const char *post);

/**
 * Serves a page that tells the health of the server, for load balancers. By default there is
 * none.
 *
 * The page answers GET and HEAD with status 200, and with 503 once the server is closing or
 * mcplink_listener_drain was called. It needs neither a session nor credentials. The
 * field Host must have an allowed name or an IP address. A listener or endpoint is refused if
 * the path is that of the endpoint, of its metadata or of a page.
 *
 * @param path the path, for example "/healthz".
 */
MCPLINK_API mcplink_status_t mcplink_http_options_set_health(mcplink_http_options_t *options, const char *path);

/**
 * Adds a static page of the host, with an ETag that is made from its content.
 *
 * The page answers GET and HEAD, and status 304 to a request whose field If-None-Match has the
 * ETag. It is public: it needs neither a session nor credentials. The field Host must have an
 * allowed name. A listener or endpoint is refused if the path is that of the endpoint, of its
 * metadata or of another page.
 *
 * @param path the path as it stands in requests, percent-encoded, for example "/robots.txt".
 * @param media_type the media type, for example "text/plain".
 * @param body,len the content, which is copied; len may be MCPLINK_NUL for text that ends in NUL.
 * @param cache_control the value of the field Cache-Control; NULL for "no-cache".
 */
MCPLINK_API
mcplink_status_t mcplink_http_options_add_page(mcplink_http_options_t *options,
                                               const char *path,
                                               const char *media_type,
                                               const void *body,
                                               size_t len,
                                               const char *cache_control);

/**
 * Sets the limits for the stored events of each stream of a session. A client that reconnects
 * receives the stored events. Beyond the limits, the oldest events are dropped. Default: 256
 * events and 1 MiB. See also MCPLINK_HTTP_LIMIT_KEPT_BYTES. The limits don't apply to a store
 * that was set with mcplink_http_options_set_event_store.
 *
 * @param events the maximum number of events.
 * @param bytes the maximum number of bytes of the events.
 */
MCPLINK_API mcplink_status_t mcplink_http_options_set_kept_events(mcplink_http_options_t *options, size_t events, size_t bytes);

/**
 * Stores an event of a stream. The number of the event is one more than that of the event before
 * it on this stream; the first number is 1. The library does not retry an event that could not be
 * stored.
 *
 * The functions of an event store run on the thread that sends the event or that reads the resume
 * request, also with a pump. For one stream they run one after the other, and senders on this
 * stream wait; for different streams they run on several threads at once. So the functions must
 * not use the server.
 *
 * @param session a name that is unique among all sessions of all servers: 22 letters, digits, '-' and
 * '_'. It is not the secret session id. Valid until the callback returns.
 * @param stream the number of the stream within the session.
 * @param number the number of the event.
 * @param event,len the message, as JSON text without a terminating NUL; valid until the callback
 * returns. An empty text is a mark: a position from which a client can resume.
 * @return MCPLINK_OK. Any other status means that the event is not stored: it is sent anyway, but
 * no client can resume the stream from before it.
 */
typedef mcplink_status_t (*mcplink_event_append_fn)(void *user,
                                                    mcplink_str_t session,
                                                    uint64_t stream,
                                                    uint64_t number,
                                                    const void *event,
                                                    size_t len);

/**
 * Passes the stored events of a stream to mcplink_replay_send, in order, beginning after a number.
 * Events that the store has dropped are left out: the client then gets an error that events are
 * lost. For threads see mcplink_event_append_fn.
 *
 * @param session the name of the session; valid until the callback returns.
 * @param stream the number of the stream.
 * @param after the number after which the events begin.
 * @param replay receives the events by mcplink_replay_send.
 * @return MCPLINK_OK, also when mcplink_replay_send has returned MCPLINK_E_CLOSED. Any other
 * status means that the events can't be read now: the client gets status 503, and can retry.
 */
typedef mcplink_status_t (*mcplink_event_replay_fn)(void *user,
                                                    mcplink_str_t session,
                                                    uint64_t stream,
                                                    uint64_t after,
                                                    mcplink_replay_t *replay);

/**
 * Forgets a stream: no client can resume it any more, because the session has ended or enough
 * newer streams of the session have ended. The function runs once for each stream for which
 * mcplink_event_append_fn was called, after all other calls for the stream. For threads see
 * mcplink_event_append_fn.
 *
 * @param session the name of the session; valid until the callback returns.
 * @param stream the number of the stream.
 */
typedef void (*mcplink_event_forget_fn)(void *user, mcplink_str_t session, uint64_t stream);

/**
 * Sets the functions of the host that store the events of sessions, for example to store more
 * events than fit into memory. A client that lost its connection gets the missed events from
 * them. A store can't move sessions to another process: all requests of a session must reach
 * the process that opened the session. Default: events are stored in memory.
 *
 * @param append,replay,forget all three functions: see mcplink_event_append_fn,
 * mcplink_event_replay_fn and mcplink_event_forget_fn. Or NULL for all three, to store events
 * in memory.
 * @param user,destroy passed to the functions; destroy runs when the store is replaced, or when the
 * options, all listeners and endpoints made with them, and their sessions have ended.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID when only some of the functions are set.
 */
MCPLINK_API
mcplink_status_t mcplink_http_options_set_event_store(mcplink_http_options_t *options,
                                                      mcplink_event_append_fn append,
                                                      mcplink_event_replay_fn replay,
                                                      mcplink_event_forget_fn forget,
                                                      void *user,
                                                      mcplink_destroy_fn destroy);

/**
 * Sets the keep-alive interval of event streams, so that proxies do not drop idle connections.
 * After this time without data, a comment is written to a stream. A response that has not
 * begun after this time begins as an event stream, unless the client accepts no event stream.
 * Default: 15 s.
 *
 * @param milliseconds the interval in milliseconds, at least 1.
 */
MCPLINK_API mcplink_status_t mcplink_http_options_set_keep_alive_ms(mcplink_http_options_t *options, uint32_t milliseconds);

/**
 * A limit of a server over HTTP. The comment of each limit states the default and the effect
 * at the limit.
 */
typedef enum mcplink_http_limit {
    /**
     * The maximum number of sessions. Default: 10000. At the limit, an idle session of the
     * client with the most sessions ends to make room. If no session is idle, the next client
     * is refused with status 503.
     */
    MCPLINK_HTTP_LIMIT_SESSIONS = 701,
    /**
     * The maximum number of requests in flight, of all clients of revisions since 2026-07-28.
     * Default: 1024. The next request is answered with a "busy" error.
     */
    MCPLINK_HTTP_LIMIT_REQUESTS = 702,
    /**
     * The maximum number of streams of change notifications, for all clients of revisions
     * since 2026-07-28. Each resource and task in the filter of a stream counts too. Default:
     * 10000. The next stream is refused with a "busy" error. Some streams are reserved for
     * clients that have few streams: see MCPLINK_LIMIT_RESERVE_PERCENT.
     */
    MCPLINK_HTTP_LIMIT_STREAMS = 703,
    /**
     * The maximum number of open connections. Default: 24000, and never more than seven
     * eighths of the process's descriptor limit. If MCPLINK_HTTP_LIMIT_STREAMS or
     * MCPLINK_HTTP_LIMIT_SESSIONS is larger than its default, the default rises to their sum
     * and 4000. Another number stays. If the streams and sessions that are set need more
     * connections, that is logged. At the limit, an idle connection of the client with the
     * most connections is closed to make room. If no connection is idle, the next connection
     * is answered with status 503.
     */
    MCPLINK_HTTP_LIMIT_CONNECTIONS = 704,
    /**
     * The maximum number of requests that are served at once, each on its own thread. Default:
     * 64. Further requests wait, unless they need no handler, such as pings and cancellations.
     * The client with the fewest threads gets the next free thread.
     */
    MCPLINK_HTTP_LIMIT_WORKERS = 705,
    /**
     * The maximum number of requests that wait for a thread. Default: 256. Above the limit,
     * the newest request of the client with the most waiting requests is answered with status
     * 503.
     */
    MCPLINK_HTTP_LIMIT_WAITING = 706,
    /**
     * The maximum length of a request line with its header fields, in bytes. Default: 32 KiB.
     * A longer request head is answered with status 431 or 414.
     */
    MCPLINK_HTTP_LIMIT_HEAD_BYTES = 707,
    /**
     * The maximum number of header fields of a request. Default: 128; values above 256 act as
     * 256. A request with more fields is answered with status 431.
     */
    MCPLINK_HTTP_LIMIT_FIELDS = 708,
    /**
     * The maximum number of bytes of one stream that wait until the client reads them.
     * Default: 256 KiB. At the limit, nothing more is written to the stream until the client
     * reads.
     */
    MCPLINK_HTTP_LIMIT_STREAM_BYTES = 709,
    /**
     * The maximum time to receive a request head, in milliseconds. Default: 10000. After that
     * the request is answered with status 408.
     */
    MCPLINK_HTTP_LIMIT_HEAD_MS = 710,
    /**
     * The maximum time that a request body may be slower than MCPLINK_HTTP_LIMIT_BODY_RATE, in
     * milliseconds. Default: 10000. After that the request is answered with status 408.
     */
    MCPLINK_HTTP_LIMIT_BODY_MS = 711,
    /**
     * The minimum rate of a request body, in bytes per second. Default: 1024. See
     * MCPLINK_HTTP_LIMIT_BODY_MS.
     */
    MCPLINK_HTTP_LIMIT_BODY_RATE = 712,
    /**
     * The maximum time that a client may read nothing while data for the client waits, in
     * milliseconds. Default: 30000. After that the connection of the client is aborted.
     */
    MCPLINK_HTTP_LIMIT_WRITE_MS = 713,
    /**
     * The maximum time that a connection may be idle, in milliseconds. Default: 75000. After
     * that the connection is closed.
     */
    MCPLINK_HTTP_LIMIT_IDLE_MS = 714,
    /**
     * The maximum number of bytes of all stored events of all sessions. Default: 256 MiB.
     * Above the limit, the oldest events of the stream with the most stored bytes are dropped.
     */
    MCPLINK_HTTP_LIMIT_KEPT_BYTES = 715,
    /**
     * The maximum number of bytes that wait until clients read them, of all clients together.
     * Default: 256 MiB. Above the limit, connections are aborted, first those with the highest
     * product of waiting bytes and time without reading.
     */
    MCPLINK_HTTP_LIMIT_UNSENT_BYTES = 716,
    /**
     * The maximum time until the first byte of a new connection, in milliseconds. Default:
     * 10000. After that the connection is closed.
     */
    MCPLINK_HTTP_LIMIT_FIRST_BYTE_MS = 717,
    /**
     * The maximum share, in percent, of connections, threads and sessions that one client may
     * use while other clients need them too. Default: 50. While no other client needs them,
     * one client may use all of them.
     */
    MCPLINK_HTTP_LIMIT_PART_PERCENT = 718,
    /**
     * The number of reserved connections and threads beyond the limits, in percent of the
     * limits. Only clients that use few connections and threads may use the reserved ones.
     * Default: 12. With 0, nothing is reserved.
     */
    MCPLINK_HTTP_LIMIT_RESERVE_PERCENT = 719,
} mcplink_http_limit;

/**
 * Sets a limit of a server over HTTP. The length of a body is limited by
 * MCPLINK_LIMIT_MESSAGE_BYTES of the server instead: see mcplink_server_options_set_limit.
 *
 * @param limit the limit.
 * @param value the new value of the limit.
 */
MCPLINK_API mcplink_status_t mcplink_http_options_set_limit(mcplink_http_options_t *options, mcplink_http_limit limit, size_t value);

/**
 * Removes the function that was set with mcplink_http_options_on_authenticate, and the tokens
 * of mcplink_http_options_add_token. If no resource server is set, all clients are then
 * accepted without authentication.
 *
 * @return MCPLINK_OK, also when neither is set, or MCPLINK_E_INVALID.
 */
MCPLINK_API mcplink_status_t mcplink_http_options_clear_authenticate(mcplink_http_options_t *options);

/**
 * Sets a resource server: each request must then have an access token for this server, and
 * clients are informed where they can obtain a token. If a function was set with
 * mcplink_http_options_on_authenticate, this call fails, because that function checks other
 * credentials.
 *
 * Handlers read the principal with mcplink_request_principal, and check the scopes of the
 * principal with mcplink_request_has_scope.
 *
 * @param server the description of the resource server. The description is copied, and remains the
 * caller's. NULL is refused: see mcplink_http_options_clear_resource_server. If a setter of
 * the description failed, this call fails with the status of that setter. Other faults are
 * reported when a listener or endpoint is made with the options. In a build without JWTs,
 * making a listener or endpoint that needs JWTs fails with MCPLINK_E_UNSUPPORTED.
 * @return MCPLINK_OK, MCPLINK_E_INVALID, or the status of the setter that failed.
 */
MCPLINK_API
mcplink_status_t mcplink_http_options_set_resource_server(mcplink_http_options_t *options,
                                                          const mcplink_resource_server_t *server);

/**
 * Removes the resource server that was set with mcplink_http_options_set_resource_server. If
 * no function was set with mcplink_http_options_on_authenticate, all clients are then accepted
 * without authentication.
 *
 * @return MCPLINK_OK, also when no resource server is set, or MCPLINK_E_INVALID.
 */
MCPLINK_API mcplink_status_t mcplink_http_options_clear_resource_server(mcplink_http_options_t *options);

/**
 * Authenticates a request. The callback calls mcplink_http_request_admit or one of the functions
 * that refuse; the last call counts. If the callback calls none of these functions, the request is
 * refused: with status 401 if the callback verifies tokens, otherwise with status 403.
 *
 * Authentication fails closed. If any setter of the request fails, the request is refused with
 * status 403, even if mcplink_http_request_admit succeeds. So a request is never admitted while a
 * restriction is missing. The log names the setter that failed.
 *
 * @param request the request, valid until the function returns.
 */
typedef void (*mcplink_authenticate_fn)(void *user, mcplink_http_request_t *request);

/**
 * Sets a function that authenticates each request before the request is processed. By default
 * all clients are accepted without authentication. If clients are authenticated in another way
 * already (mcplink_http_options_set_resource_server, mcplink_http_options_add_token), this
 * call fails.
 *
 * @param callback see mcplink_authenticate_fn. Without a pump, it runs on the threads that read
 * requests, on several at once. With a pump, it runs on the thread that dispatches the pump.
 * NULL is refused: see mcplink_http_options_clear_authenticate.
 * @param user,destroy passed to callback; destroy runs when the function is replaced, refused or
 * cleared, or when the options and all listeners and endpoints made with them are freed.
 */
MCPLINK_API
mcplink_status_t mcplink_http_options_on_authenticate(mcplink_http_options_t *options,
                                                      mcplink_authenticate_fn callback,
                                                      void *user,
                                                      mcplink_destroy_fn destroy);

/**
 * Passes a stored event to the client that resumes its stream.
 *
 * @param replay the parameter of mcplink_event_replay_fn; valid until that function returns.
 * @param number the number of the event.
 * @param event,len the event as it was stored, which is copied; len may be MCPLINK_NUL for text
 * that ends in NUL. Empty for a mark.
 * @return MCPLINK_OK; MCPLINK_E_CLOSED when no more events are wanted now: the function then
 * returns; MCPLINK_E_INVALID.
 * @note Threads: the thread that runs the function.
 */
MCPLINK_API mcplink_status_t mcplink_replay_send(mcplink_replay_t *replay, uint64_t number, const void *event, size_t len);

/**
 * Adds a fixed access token (API key): a client is accepted if it sends one of the added
 * tokens as Authorization: Bearer TOKEN. Other requests get status 401. The library stores and
 * looks up only digests of the tokens, so the time of a look-up reveals nothing about a token.
 * If clients are authenticated in another way already (mcplink_http_options_on_authenticate,
 * mcplink_http_options_set_resource_server), this call fails.
 *
 * @param token the token, which should be at least 128 random bits, from a file or the environment.
 * NULL and blank text are refused: an unset variable must not let everybody in. So is a token
 * with other characters than visible ASCII, which no client can send.
 * @param principal the name of the client, for the handlers.
 */
MCPLINK_API mcplink_status_t mcplink_http_options_add_token(mcplink_http_options_t *options, const char *token, const char *principal);

/**
 * Makes the description of a resource server. By default the access tokens are JWTs. The
 * authorization server signs them with the keys that its metadata names. Signature, issuer and
 * times are verified. The claim sub names the principal, and the claim scope or scp contains the
 * granted scopes.
 *
 * @param resource the URL that clients use, for example "https://files.example/mcp", not the address at
 * which the process listens.
 * @param issuer the issuer identifier of the authorization server, for example "https://login.example".
 * It is compared exactly with tokens and metadata (RFC 9068, section 4; RFC 8414, section 3.3). An
 * identifier with a "/" at the end and the same identifier without the "/" name two different
 * issuers.
 * @return the description. The caller owns it and frees it with mcplink_resource_server_free.
 * NULL for an invalid argument. Invalid URLs are reported when a listener or endpoint is made with
 * the description.
 */
MCPLINK_NODISCARD MCPLINK_API mcplink_resource_server_t *mcplink_resource_server_new(const char *resource, const char *issuer);

/**
 * Adds another authorization server. The library itself cannot verify the tokens of this
 * authorization server, so a function of the host has to verify them: see
 * mcplink_resource_server_set_verifier.
 *
 * @param issuer the issuer identifier of the authorization server.
 */
MCPLINK_API mcplink_status_t mcplink_resource_server_add_issuer(mcplink_resource_server_t *server, const char *issuer);

/**
 * Sets the URL of the issuer's keys, for an issuer whose metadata does not contain the URL.
 *
 * @param url the URL of the key set (RFC 7517): https, except on this machine. NULL is refused: see
 * mcplink_resource_server_use_default_keys.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID, also when keys or a verifier are set already.
 */
MCPLINK_API mcplink_status_t mcplink_resource_server_set_keys_url(mcplink_resource_server_t *server, const char *url);

/**
 * Sets the issuer's keys, so that the library does not fetch them.
 *
 * @param json,len the key set (RFC 7517), {"keys":[...]}; len may be MCPLINK_NUL for text that ends
 * in NUL. The key set replaces a URL that was set with mcplink_resource_server_set_keys_url.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID, also when a verifier is set already.
 */
MCPLINK_API mcplink_status_t mcplink_resource_server_set_keys(mcplink_resource_server_t *server, const char *json, size_t len);

/**
 * Sets the proxy through which the issuer's metadata and keys are fetched. Default: no proxy,
 * regardless of the environment.
 *
 * @param url as for mcplink_client_options_set_proxy, also "environment". NULL is refused: see
 * mcplink_resource_server_clear_proxy.
 */
MCPLINK_API mcplink_status_t mcplink_resource_server_set_proxy(mcplink_resource_server_t *server, const char *url);

/**
 * Undoes mcplink_resource_server_set_proxy: the issuer's metadata and keys are fetched without
 * a proxy.
 */
MCPLINK_API mcplink_status_t mcplink_resource_server_clear_proxy(mcplink_resource_server_t *server);

/**
 * Sets the certificate authorities that are trusted when the issuer's metadata and keys are
 * fetched over HTTPS. No other authorities are trusted. Default: Mozilla's list.
 *
 * @param pem,len PEM text with one or more certificates, which is copied; other contents are
 * skipped. len may be MCPLINK_NUL for text that ends in NUL. The text replaces earlier
 * certificates. NULL and blank text are refused: see
 * mcplink_resource_server_use_default_roots. If the text contains no valid certificate, making
 * a listener or endpoint with the description fails with MCPLINK_E_INVALID. In a build without
 * signed tokens (feature jwt), making a listener or endpoint fails with MCPLINK_E_UNSUPPORTED.
 * The certificates are not used with mcplink_resource_server_set_verifier.
 */
MCPLINK_API mcplink_status_t mcplink_resource_server_set_root_certificates(mcplink_resource_server_t *server, const char *pem, size_t len);

/**
 * Undoes mcplink_resource_server_set_root_certificates: Mozilla's list of certificate
 * authorities is trusted.
 */
MCPLINK_API mcplink_status_t mcplink_resource_server_use_default_roots(mcplink_resource_server_t *server);

/**
 * Undoes mcplink_resource_server_set_keys, mcplink_resource_server_set_keys_url and
 * mcplink_resource_server_set_verifier. Tokens are then verified with the keys that the
 * issuer's metadata names.
 */
MCPLINK_API mcplink_status_t mcplink_resource_server_use_default_keys(mcplink_resource_server_t *server);

/**
 * Sets the scopes that every request requires. The first challenge names these scopes to the
 * client. mcplink_server_require_scopes sets further scopes for single tools, prompts,
 * resources and templates. Default: no scopes.
 *
 * @param scopes the names of the scopes, separated by spaces. NULL and blank text are refused: see
 * mcplink_resource_server_clear_required_scopes.
 */
MCPLINK_API mcplink_status_t mcplink_resource_server_set_required_scopes(mcplink_resource_server_t *server, const char *scopes);

/**
 * Undoes mcplink_resource_server_set_required_scopes. Then only the scopes that were set with
 * mcplink_server_require_scopes are required.
 */
MCPLINK_API mcplink_status_t mcplink_resource_server_clear_required_scopes(mcplink_resource_server_t *server);

/**
 * Sets the supported scopes that the metadata lists. List only the scopes for ordinary use,
 * because some clients request all listed scopes at once. Default: the scopes that every
 * request requires.
 *
 * @param scopes the names of the scopes, separated by spaces.
 */
MCPLINK_API mcplink_status_t mcplink_resource_server_set_scopes_supported(mcplink_resource_server_t *server, const char *scopes);

/**
 * Declares that a broad scope implies narrower scopes. If a narrower scope implies further
 * scopes, the broad scope implies these scopes too.
 *
 * @param broad the broad scope.
 * @param narrow the implied scopes, separated by spaces.
 */
MCPLINK_API mcplink_status_t mcplink_resource_server_add_implied(mcplink_resource_server_t *server, const char *broad, const char *narrow);

/**
 * Adds an accepted audience: another name by which tokens may refer to this server. Some
 * authorization servers do not use the URL of the server as the audience.
 *
 * @param audience the name.
 */
MCPLINK_API mcplink_status_t mcplink_resource_server_add_audience(mcplink_resource_server_t *server, const char *audience);

/**
 * Sets the name of the server for consent pages, and the URL of its documentation for
 * developers.
 *
 * @param title the name; NULL for no name.
 * @param documentation the URL of the documentation; NULL for no documentation.
 */
MCPLINK_API
mcplink_status_t mcplink_resource_server_set_info(mcplink_resource_server_t *server,
                                                  const char *title,
                                                  const char *documentation);

/**
 * Sets the URL of the metadata, for a server behind a proxy that forwards only some paths. The
 * server then serves the metadata also at this URL. Default: the well-known location of the
 * server's URL: https://host/.well-known/oauth-protected-resource/mcp for https://host/mcp.
 *
 * @param url the URL; NULL for the default.
 */
MCPLINK_API mcplink_status_t mcplink_resource_server_set_metadata_url(mcplink_resource_server_t *server, const char *url);

/**
 * Whether access tokens are bound to a key, so that a stolen token can't be used (DPoP, RFC
 * 9449).
 */
typedef enum mcplink_dpop {
    /**
     * Tokens are bound on request: a client binds tokens if the server requires bound tokens;
     * a server accepts bound and unbound tokens. This mode is the default of clients.
     */
    MCPLINK_DPOP_WHEN_ASKED = 400,
    /**
     * Tokens are never bound. This mode is the default of servers: such a server refuses bound
     * tokens, because the server could not check the key.
     */
    MCPLINK_DPOP_NEVER = 401,
    /**
     * Tokens are always bound: an unbound token is refused.
     */
    MCPLINK_DPOP_ALWAYS = 402,
} mcplink_dpop;

/**
 * Sets whether tokens that are bound to a key of the client are accepted (DPoP, RFC 9449). A
 * stolen bound token can't be used, because each request also needs a proof of the key. The
 * signature, method, URL, token, and time (within five minutes) of the proof are verified, and
 * each proof is accepted once. Metadata and challenges announce the setting to clients.
 *
 * @param dpop when access tokens are bound to a key of the client. Default: MCPLINK_DPOP_NEVER.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID. In a build without signed tokens, making a
 * listener or endpoint with the description fails with MCPLINK_E_UNSUPPORTED.
 */
MCPLINK_API mcplink_status_t mcplink_resource_server_set_dpop(mcplink_resource_server_t *server, mcplink_dpop dpop);

/**
 * Sets the keys for nonces. Each DPoP proof must then contain a nonce of this server, so that
 * proofs can't be made in advance. A client without a nonce is refused, gets a nonce with the
 * refusal, and retries. Default: no nonce is required.
 *
 * @param keys,len one or more keys of 32 secret random bytes each, concatenated and copied. The
 * first key encrypts nonces; nonces of any key are accepted. Replicas share their keys.
 * @param lifetime_ms how long a nonce is valid, in milliseconds; at least 1000.
 */
MCPLINK_API
mcplink_status_t mcplink_resource_server_set_nonces(mcplink_resource_server_t *server,
                                                    const void *keys,
                                                    size_t len,
                                                    uint32_t lifetime_ms);

/**
 * Sets a function of the host that verifies tokens of any kind.
 *
 * @param callback called for each token. The callback sees only the token of the request
 * (mcplink_http_request_token), and must not pass the token on. The callback calls
 * mcplink_http_request_admit and mcplink_http_request_add_audience, or refuses the token. Then
 * the library checks the audience and the expiry. For threads see
 * mcplink_http_options_on_authenticate. NULL is refused: see
 * mcplink_resource_server_use_default_keys.
 * @param user,destroy passed to callback; destroy runs when the function is replaced, refused or
 * cleared, or when all objects that use the description are freed.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID, also when keys are set already.
 */
MCPLINK_API
mcplink_status_t mcplink_resource_server_set_verifier(mcplink_resource_server_t *server,
                                                      mcplink_authenticate_fn callback,
                                                      void *user,
                                                      mcplink_destroy_fn destroy);

/**
 * Frees the description of a resource server. HTTP options that use it keep a copy.
 */
MCPLINK_API void mcplink_resource_server_free(mcplink_resource_server_t *server);

/**
 * Returns the method of an HTTP request.
 *
 * @return text that is valid as long as the request.
 */
MCPLINK_API mcplink_str_t mcplink_http_request_method(const mcplink_http_request_t *request);

/**
 * Returns the target of an HTTP request: the path and query, as received.
 *
 * @return text that is valid as long as the request.
 */
MCPLINK_API mcplink_str_t mcplink_http_request_target(const mcplink_http_request_t *request);

/**
 * Returns the value of a header field of an HTTP request.
 *
 * @param field the name of the field; case-insensitive.
 * @return the first value, valid as long as the request; empty when there is no such field.
 * Bytes that are not UTF-8 are replaced by U+FFFD.
 */
MCPLINK_API mcplink_str_t mcplink_http_request_header(const mcplink_http_request_t *request, const char *field);

/**
 * Returns the address and port of the sender of an HTTP request.
 *
 * @return text that is valid as long as the request; empty when the address is unknown.
 */
MCPLINK_API mcplink_str_t mcplink_http_request_remote(const mcplink_http_request_t *request);

/**
 * Returns the access token of an HTTP request: the text after Bearer in its header field
 * Authorization.
 *
 * @return text that is valid as long as the request; empty without a token. Never pass the
 * token on, nor log it.
 */
MCPLINK_API mcplink_str_t mcplink_http_request_token(const mcplink_http_request_t *request);

/**
 * Admits a request that the host has authenticated.
 *
 * @param principal the authenticated sender, for mcplink_request_principal; not empty. Sessions and
 * request states are bound to the principal that made them.
 */
MCPLINK_API mcplink_status_t mcplink_http_request_admit(mcplink_http_request_t *request, const char *principal);

/**
 * Sets the granted scopes of the principal, for mcplink_server_require_scopes,
 * mcplink_responder_require_scopes and mcplink_request_has_scope. Default: the scopes are
 * unknown, so requests that require a scope are refused.
 *
 * @param scopes the names of the scopes, separated by spaces; "" for no scopes. NULL for unknown
 * scopes.
 */
MCPLINK_API mcplink_status_t mcplink_http_request_set_scopes(mcplink_http_request_t *request, const char *scopes);

/**
 * Sets the time at which the authentication expires. Open streams send nothing after this
 * time. Default: the authentication does not expire.
 *
 * @param seconds the time in seconds since 1970-01-01 UTC.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID for a negative number.
 */
MCPLINK_API mcplink_status_t mcplink_http_request_set_expiry(mcplink_http_request_t *request, int64_t seconds);

/**
 * Adds an audience of the token: see mcplink_resource_server_set_verifier. A token without
 * this server in its audience is refused. A host that checks the audience itself adds the
 * server's own URL.
 *
 * @param audience the audience, as in the token (aud).
 * @return MCPLINK_OK, MCPLINK_E_INVALID, or MCPLINK_E_STATE in a callback that was set with
 * mcplink_http_options_on_authenticate.
 */
MCPLINK_API mcplink_status_t mcplink_http_request_add_audience(mcplink_http_request_t *request, const char *audience);

/**
 * Declares that a token is bound to a key of the client (DPoP, RFC 9449): see
 * mcplink_resource_server_set_verifier. The token is then valid only with a proof of the key,
 * on a server with mcplink_resource_server_set_dpop. Other servers refuse the token. Without
 * this call a stolen bound token would be accepted.
 *
 * @param thumbprint the thumbprint of the key, as the token or the authorization server contains it
 * (cnf.jkt; RFC 7638).
 * @return MCPLINK_OK, MCPLINK_E_INVALID, or MCPLINK_E_STATE in a callback that was set with
 * mcplink_http_options_on_authenticate.
 */
MCPLINK_API mcplink_status_t mcplink_http_request_bind_key(mcplink_http_request_t *request, const char *thumbprint);

/**
 * Refuses an invalid access token with status 401, so that the client obtains a new token.
 *
 * @param reason the reason, for the client and the log, for example "it was revoked". It must not
 * quote the token.
 */
MCPLINK_API mcplink_status_t mcplink_http_request_invalid_token(mcplink_http_request_t *request, const char *reason);

/**
 * Refuses a request with status 403, because the request requires more scopes. The client can
 * then ask its user to grant the scopes.
 *
 * @param scopes all required scopes, separated by spaces.
 */
MCPLINK_API mcplink_status_t mcplink_http_request_insufficient_scope(mcplink_http_request_t *request, const char *scopes);

/**
 * Answers a request with status 503, because authorization cannot be checked at the moment.
 * Unlike status 401, the answer does not make the client discard its token.
 *
 * @param reason the reason, for the host's log.
 */
MCPLINK_API mcplink_status_t mcplink_http_request_unavailable(mcplink_http_request_t *request, const char *reason);

/**
 * Refuses an unauthenticated request with status 401 and a challenge.
 *
 * @param challenge the required credentials, for the header field WWW-Authenticate (RFC 9110), for
 * example "Bearer".
 */
MCPLINK_API mcplink_status_t mcplink_http_request_challenge(mcplink_http_request_t *request, const char *challenge);

/**
 * Returns the status of a response.
 *
 * @return the status, for example 200.
 */
MCPLINK_API int32_t mcplink_http_head_status(const mcplink_http_head_t *head);

/**
 * Returns the number of header fields of a response.
 *
 * @return the number.
 */
MCPLINK_API size_t mcplink_http_head_count(const mcplink_http_head_t *head);

/**
 * Returns the name of a header field of a response.
 *
 * @param index the index of the field, from 0.
 * @return text that is valid as long as the head; empty when the index is out of range.
 */
MCPLINK_API mcplink_str_t mcplink_http_head_name(const mcplink_http_head_t *head, size_t index);

/**
 * Returns the value of a header field of a response.
 *
 * @param index the index of the field, from 0.
 * @return text that is valid as long as the head; empty when the index is out of range.
 */
MCPLINK_API mcplink_str_t mcplink_http_head_value(const mcplink_http_head_t *head, size_t index);

/**
 * Returns the keep-alive interval of a streamed response. After this time without data the
 * host should write the text that mcplink_http_head_keep_alive_text returns, so that proxies
 * do not drop the idle connection.
 *
 * @return the interval in milliseconds; 0 if no keep-alive is needed.
 */
MCPLINK_API uint32_t mcplink_http_head_keep_alive_ms(const mcplink_http_head_t *head);

/**
 * Returns the keep-alive text that the host writes to an idle stream: see
 * mcplink_http_head_keep_alive_ms.
 *
 * @return text that is valid as long as the head; empty if no keep-alive is needed.
 */
MCPLINK_API mcplink_str_t mcplink_http_head_keep_alive_text(const mcplink_http_head_t *head);

/**
 * Begins a response.
 *
 * @param head status and header fields, valid until the callback returns.
 * @param length the length of the whole body in bytes; -1 for a streamed body of unknown length.
 * @return MCPLINK_OK; any other status when the client has disconnected.
 */
typedef mcplink_status_t (*mcplink_http_begin_fn)(void *user, const mcplink_http_head_t *head, int64_t length);

/**
 * Sends some bytes of the body of a response. The callback should flush the bytes at once, because
 * the client waits for them.
 *
 * @param bytes,len the bytes, valid until the callback returns.
 * @return MCPLINK_OK; any other status when the client has disconnected.
 */
typedef mcplink_status_t (*mcplink_http_write_fn)(void *user, const void *bytes, size_t len);

/**
 * Ends a response. The function is called once for each exchange that was served, unless the
 * exchange is freed before.
 *
 * @param complete true if the whole response was sent. If complete is false, abort the connection, so
 * that the client notices that the response is incomplete.
 */
typedef void (*mcplink_http_end_fn)(void *user, bool complete);

/**
 * Makes an exchange: an HTTP request that the host's own web server received, and the functions
 * that send its response.
 *
 * @param method the method of the request, in capitals, as received.
 * @param target the path and query, as received.
 * @param begin,write,end the functions that send the response. They run one at a time: on threads of
 * the library, on the thread that calls mcplink_http_serve, or on the thread that dispatches the
 * pump of the server.
 * @param user,destroy passed to begin, write and end; destroy runs when the exchange is freed.
 * @return the exchange. The caller owns it and frees it with mcplink_exchange_free after end was
 * called, or earlier to abandon the response. NULL for an invalid argument.
 */
MCPLINK_NODISCARD MCPLINK_API
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
 * @param field the name of the field; case-insensitive.
 * @param value,len the value of the field, without surrounding white space; len may be MCPLINK_NUL for
 * text that ends in NUL.
 * @return MCPLINK_OK, MCPLINK_E_INVALID, or MCPLINK_E_STATE when the request was served already.
 */
MCPLINK_API mcplink_status_t mcplink_exchange_add_header(mcplink_exchange_t *exchange, const char *field, const char *value, size_t len);

/**
 * Sets the body of the request.
 *
 * @param body,len the whole body, without a transfer coding; len may be MCPLINK_NUL for text that ends
 * in NUL. The host has to limit the length of the body.
 * @return MCPLINK_OK, MCPLINK_E_INVALID, or MCPLINK_E_STATE when the request was served already.
 */
MCPLINK_API mcplink_status_t mcplink_exchange_set_body(mcplink_exchange_t *exchange, const void *body, size_t len);

/**
 * Sets the local and the remote address of the request. The local address decides which values of
 * the header field Host are accepted.
 *
 * @param local address and port, for example "127.0.0.1:8080". NULL is refused, because a server without
 * allowed host names (mcplink_http_options_add_host) would then accept all host names.
 * @param remote address and port of the client; NULL when they are unknown.
 * @return MCPLINK_OK, MCPLINK_E_INVALID, or MCPLINK_E_STATE when the request was served already.
 */
MCPLINK_API mcplink_status_t mcplink_exchange_set_addresses(mcplink_exchange_t *exchange, const char *local, const char *remote);

/**
 * Reports that the client has disconnected: the rest of the response is not sent. If the
 * response has not ended, the function end is still called.
 */
MCPLINK_API mcplink_status_t mcplink_exchange_disconnected(mcplink_exchange_t *exchange);

/**
 * Begins the response as an event stream, so that proxies do not drop the idle connection.
 * Call the function when the response has not begun after the interval that was set with
 * mcplink_http_options_set_keep_alive_ms. The function does nothing when the client does not
 * accept event streams, or the response has begun.
 *
 * @note Threads: any; the functions begin and write may run on this thread. Blocks: only while these
 * functions run.
 */
MCPLINK_API mcplink_status_t mcplink_exchange_begin_stream(mcplink_exchange_t *exchange);

/**
 * Frees an exchange: none of its functions runs afterwards. A response that has not ended is
 * aborted, as after mcplink_exchange_disconnected. If a function of the exchange calls
 * mcplink_exchange_free, the call returns at once, and no other function of the exchange starts.
 *
 * @note Blocks: while one of its functions runs on another thread.
 */
MCPLINK_API void mcplink_exchange_free(mcplink_exchange_t *exchange);

/**
 * Makes an endpoint that the host mounts in its own web server. The host passes each request
 * to mcplink_http_serve.
 *
 * @param options the options, which are copied. NULL for the defaults, which accept all clients
 * without authentication. If a setter of the options failed, this function fails with the
 * error of that setter. The host itself has to limit the number of connections.
 * @param out receives the endpoint, NULL on failure. The caller owns it and frees it with
 * mcplink_http_free, before or after the server.
 * @return MCPLINK_OK; MCPLINK_E_INVALID for invalid options; MCPLINK_E_CLOSED when the server
 * was stopped.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_server_http(mcplink_server_t *server,
                                     const mcplink_http_options_t *options,
                                     mcplink_http_t **out,
                                     mcplink_error_t **err);

/**
 * Serves an HTTP request. The functions of the exchange send the response, during this call or
 * after it.
 *
 * @param exchange the request, and the functions for its response. An exchange can be served once. The
 * exchange remains the caller's.
 * @return MCPLINK_OK when a response was or will be sent, whatever its HTTP status;
 * MCPLINK_E_STATE when the exchange was served before; the status of a failed setter of the
 * exchange.
 * @note Threads: any, several at once. Blocks: without a pump the handler runs on this thread, and the
 * function blocks until the handler returns.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_http_serve(mcplink_http_t *http,
                                    mcplink_exchange_t *exchange,
                                    mcplink_error_t **err);

/**
 * Closes an endpoint, and ends the sessions, streams and requests of the endpoint.
 *
 * @return MCPLINK_OK, also when the endpoint is closed already.
 * @note Blocks: a few seconds at most.
 */
MCPLINK_API mcplink_status_t mcplink_http_close(mcplink_http_t *http);

/**
 * Closes an endpoint and frees it.
 *
 * @note Blocks: as mcplink_http_close.
 */
MCPLINK_API void mcplink_http_free(mcplink_http_t *http);

/* ==== Logins and tokens of clients ==== */

/**
 * Makes OAuth settings with the default values, for mcplink_client_options_set_oauth.
 *
 * @return the settings. The caller owns them and frees them with mcplink_oauth_free.
 */
MCPLINK_NODISCARD MCPLINK_API mcplink_oauth_t *mcplink_oauth_new(void);

/**
 * Frees OAuth settings. Clients and options that use the settings keep a reference. Releasing the
 * last reference blocks until host callbacks of an abandoned login have returned: see
 * mcplink_login_is_done.
 */
MCPLINK_API void mcplink_oauth_free(mcplink_oauth_t *oauth);

/**
 * Adds an OAuth client that was registered with an authorization server beforehand. The client
 * is used with that authorization server only. Once a client is added, no other authorization
 * server is used, and there is no dynamic registration. The first client is also used by
 * mcplink_oauth_set_client_credentials.
 *
 * @param client the client. The settings copy the client, which remains the caller's. If a setter of
 * the client was refused, the client is refused too.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_add_client(mcplink_oauth_t *oauth, const mcplink_oauth_client_t *client);

/**
 * Sets the client name for dynamic client registration, which the user sees during the login.
 *
 * @param name the name; NULL for the default, "mcplink".
 * @param uri the URL of a page about the client; NULL for no page.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_set_client_name(mcplink_oauth_t *oauth, const char *name, const char *uri);

/**
 * Sets the URL of the client's metadata document (Client ID Metadata Document). Authorization
 * servers that support such documents use the URL as the client id.
 *
 * @param url an https URL with a path; NULL for no document. An invalid URL is reported when a
 * client is opened.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_set_client_document(mcplink_oauth_t *oauth, const char *url);

/**
 * Sets the scopes to request. Default: the scopes that the server supports. Scopes that the
 * server requires for the current request, and scopes that were requested before, are always
 * included.
 *
 * @param scopes the names of the scopes, separated by spaces; "" for no scopes. NULL is refused: see
 * mcplink_oauth_use_default_scopes.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_set_scopes(mcplink_oauth_t *oauth, const char *scopes);

/**
 * Undoes mcplink_oauth_set_scopes: clients request the scopes that the server supports.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_use_default_scopes(mcplink_oauth_t *oauth);

/**
 * Sets whether to request offline access (offline_access), if the authorization server
 * supports it. With offline access, fewer logins are needed. Default: true.
 *
 * @param enabled true to request offline access.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_set_offline_access(mcplink_oauth_t *oauth, bool enabled);

/**
 * Sets a further parameter of the authorization request, such as "access_type" ("offline"),
 * "audience" or "prompt". Default: none. A later call with the same name replaces the value.
 * The user's browser gets the parameters, so they are not secret.
 *
 * "prompt" replaces the value "consent", which is sent with the scope offline_access. The
 * other parameters of the library can't be replaced, and "response_mode", "request" and
 * "request_uri" can't be set: opening a client with such a name fails with MCPLINK_E_INVALID.
 * So does opening a client that logs in without a person.
 *
 * @param param the name of the parameter.
 * @param value the value; "" omits the parameter.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_set_authorization_param(mcplink_oauth_t *oauth, const char *param, const char *value);

/**
 * Sets whether tokens are bound to a key (DPoP), so that a stolen token is of no use. The key
 * is generated when needed, and saved with the tokens, unless mcplink_oauth_set_dpop_signer
 * sets another one.
 *
 * @param dpop when access tokens are bound to a key of the client. Default: MCPLINK_DPOP_WHEN_ASKED.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_set_dpop(mcplink_oauth_t *oauth, mcplink_dpop dpop);

/**
 * Signs data with a key that can't be exported from its device or service. The function runs on
 * threads that make calls and on threads that log in, possibly on several threads at once.
 *
 * @param data,len the data; valid until the callback returns.
 * @param signature receives the signature by mcplink_output_set, in the format of JWS for the algorithm
 * of the key (RFC 7518, section 3). For ES256 these are the two numbers r and s, 32 bytes each.
 * @return MCPLINK_OK. Any other status means that the key can't be used: the call that needs the
 * signature fails with MCPLINK_E_AUTH.
 */
typedef mcplink_status_t (*mcplink_sign_fn)(void *user, const void *data, size_t len, mcplink_output_t *signature);

/**
 * Sets the key that tokens are bound to (DPoP): a key that a device or service of the host
 * holds, instead of a generated key. It has no effect with MCPLINK_DPOP_NEVER.
 *
 * @param algorithm the name of the JWS algorithm, for example "ES256". Only asymmetric algorithms
 * are accepted.
 * @param public_jwk,len the public key as a JWK (RFC 7517): a JSON object with the members that RFC
 * 7638 requires for its thumbprint; len may be MCPLINK_NUL for text that ends in NUL. A key
 * with private members is refused.
 * @param callback see mcplink_sign_fn. NULL is refused.
 * @param user,destroy passed to callback; destroy runs when another key is set, or when all
 * settings, options and clients that use the key are freed.
 */
MCPLINK_API
mcplink_status_t mcplink_oauth_set_dpop_signer(mcplink_oauth_t *oauth,
                                               const char *algorithm,
                                               const char *public_jwk,
                                               size_t len,
                                               mcplink_sign_fn callback,
                                               void *user,
                                               mcplink_destroy_fn destroy);

/**
 * Sets how long one request to an authorization server may take, so that a login fails soon if
 * that server does not answer. Default: 10 s.
 *
 * @param milliseconds the timeout; more than an hour counts as an hour.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_set_step_timeout_ms(mcplink_oauth_t *oauth, uint32_t milliseconds);

/**
 * Sets how long a complete login may take, because a user may have closed the browser.
 * Default: 5 minutes. While a person logs in, the timeout of waiting calls is paused. The
 * total timeout of these calls is not paused: see mcplink_call_options_set_max_timeout_ms and
 * mcplink_client_options_set_max_timeout_ms.
 *
 * @param milliseconds the timeout; more than a day counts as a day.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_set_login_timeout_ms(mcplink_oauth_t *oauth, uint32_t milliseconds);

/**
 * Sets whether metadata and tokens may be requested from loopback and private addresses when
 * the server itself has a public address. Default: false, to prevent server-side request
 * forgery (SSRF). Otherwise a server could make its clients send requests into their private
 * networks.
 *
 * @param enabled true to allow these addresses.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_set_private_addresses(mcplink_oauth_t *oauth, bool enabled);

/**
 * Sets the proxy for connections to authorization servers. Default: no proxy, regardless of
 * the environment.
 *
 * @param url the URL of the proxy, or "environment": see mcplink_client_options_set_proxy. NULL is
 * refused: see mcplink_oauth_clear_proxy.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_set_proxy(mcplink_oauth_t *oauth, const char *url);

/**
 * Undoes mcplink_oauth_set_proxy: clients connect to authorization servers without a proxy.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_clear_proxy(mcplink_oauth_t *oauth);

/**
 * Sets the certificate authorities that are trusted for OAuth over HTTPS, for example those of
 * a company. No other authorities are trusted. Default: Mozilla's list.
 *
 * The authorities apply to all OAuth requests: requests for tokens, and requests for metadata,
 * including the metadata of the MCP server. If the authorization server and the MCP server
 * have certificates from different authorities, pem must contain both authorities. The
 * certificate bundle of a system usually contains all needed authorities.
 * mcplink_client_options_set_root_certificates applies only to requests to the MCP server.
 *
 * @param pem,len PEM text with one or more certificates, which is copied; other contents are
 * skipped. len may be MCPLINK_NUL for text that ends in NUL. The text replaces earlier
 * certificates. NULL and blank text are refused: see mcplink_oauth_use_default_roots. Text
 * without a valid certificate is reported when a client is opened, with MCPLINK_E_INVALID. In
 * a build without OAuth (feature auth) opening fails with MCPLINK_E_UNSUPPORTED.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_set_root_certificates(mcplink_oauth_t *oauth, const char *pem, size_t len);

/**
 * Undoes mcplink_oauth_set_root_certificates: Mozilla's list of certificate authorities is
 * trusted.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_use_default_roots(mcplink_oauth_t *oauth);

/**
 * Sets the HTTP client of the host, which sends all requests for authorization instead of the
 * library: requests for tokens, and requests for metadata, including the metadata of the MCP
 * server. The client has to ask mcplink_fetch_allows_address. A request ends after the time
 * that was set with mcplink_oauth_set_step_timeout_ms. The client decides how servers are
 * reached, and which servers are trusted. So opening fails with MCPLINK_E_INVALID if a proxy
 * or root certificates are set, too. mcplink_client_options_set_http_client applies only to
 * requests to the MCP server.
 *
 * @param callback see mcplink_fetch_fn. NULL is refused.
 * @param user,destroy passed to callback; destroy runs when the client is replaced, or when all
 * settings, options and clients that use callback are freed.
 */
MCPLINK_API
mcplink_status_t mcplink_oauth_set_http_client(mcplink_oauth_t *oauth,
                                               mcplink_fetch_fn callback,
                                               void *user,
                                               mcplink_destroy_fn destroy);

/**
 * Sets the log hook of authorizations. For authorizations, this hook replaces the process-wide
 * hook that was set with mcplink_set_log. Log records contain no secrets.
 *
 * @param level the least severe level to report.
 * @param callback the function; NULL for no function. It runs on any thread, and must be quick.
 * @param user,destroy passed to callback; destroy runs when another function is set, or when all
 * settings, options and clients that use callback are freed.
 */
MCPLINK_API
mcplink_status_t mcplink_oauth_on_log(mcplink_oauth_t *oauth,
                                      mcplink_log_level level,
                                      mcplink_log_fn callback,
                                      void *user,
                                      mcplink_destroy_fn destroy);

/**
 * Removes the tokens for a server from memory and from the token store. The next request to
 * the server must be authorized again. The tokens are not revoked at the authorization server.
 *
 * @param oauth the settings, which clients may be using.
 * @param url the URL of the server, as passed to mcplink_client_options_set_url.
 * @return MCPLINK_OK, also if no tokens are stored; MCPLINK_E_INVALID or MCPLINK_E_AUTH for
 * an invalid URL; MCPLINK_E_UNSUPPORTED in a build without OAuth; or the error of the token
 * store.
 * @note Threads: any, while no thread changes the settings. Blocks: while the token store removes
 * the tokens.
 */
MCPLINK_NODISCARD MCPLINK_API mcplink_status_t mcplink_oauth_forget(const mcplink_oauth_t *oauth, const char *url, mcplink_error_t **err);

/**
 * Sets the host name and the path of the redirect URI for logins with a browser. The
 * authorization server sends the browser to the redirect URI at the end of the login. Some
 * authorization servers accept only one spelling of the redirect URI. The port is a parameter
 * of mcplink_oauth_set_browser. In any case only this machine can reach the redirect URI.
 *
 * @param host "127.0.0.1" or "localhost"; NULL for the default, "127.0.0.1". With "localhost" the
 * library listens at 127.0.0.1, and also at ::1 if the system has that address.
 * @param path the path, without a query; it is empty or begins with '/'. NULL for the default,
 * "/callback". An invalid host name or path is reported when a client is opened, with
 * MCPLINK_E_INVALID.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_set_redirect(mcplink_oauth_t *oauth, const char *host, const char *path);

/**
 * Sets the client credentials grant: a machine acts on its own behalf, as the first client
 * that was added with mcplink_oauth_add_client. The client authenticates with a key or a
 * secret.
 *
 * @return MCPLINK_OK, or MCPLINK_E_INVALID. A missing client is reported when a client is
 * opened.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_set_client_credentials(mcplink_oauth_t *oauth);

/**
 * Lets a person log in: opens the URL that mcplink_login_url returns, and passes the redirect URL
 * to mcplink_login_answer. The callback may answer the login before it returns. A callback that
 * keeps the login with mcplink_login_keep may answer later. The callback runs on a thread of the
 * library, even if the client has a pump, and may block.
 *
 * @param login the login, valid until the callback returns.
 */
typedef void (*mcplink_login_fn)(void *user, mcplink_login_t *login);

/**
 * Sets the grant type: a person logs in with a browser. The library listens at 127.0.0.1 for
 * the redirect while calls wait. This grant type is the default, with 0 for the port and NULL
 * for the other parameters.
 *
 * @param port the port to listen at, for clients that were registered with a fixed port; 0 for a
 * free port.
 * @param program the program that opens URLs. The URL is its only argument, and no shell is
 * involved. NULL for the program of the system (xdg-open, open). With "" no program is run,
 * and only callback shows the login.
 * @param page the HTML page, without scripts, that the person sees after the login. NULL for a page
 * with one sentence.
 * @param callback called before the browser is opened, to show the person the login and its URL. If
 * callback is set, a failure to open the browser is not an error. The callback must not answer
 * the login. NULL for no callback.
 * @param user,destroy passed to callback; destroy runs when another grant type is set, or when all
 * settings, options and clients that use callback are freed.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID, also if neither a program nor a callback is used.
 */
MCPLINK_API
mcplink_status_t mcplink_oauth_set_browser(mcplink_oauth_t *oauth,
                                           uint16_t port,
                                           const char *program,
                                           const char *page,
                                           mcplink_login_fn callback,
                                           void *user,
                                           mcplink_destroy_fn destroy);

/**
 * Sets the grant type: a person logs in through a function of the host. This grant type is for
 * hosts that can show a web page and observe the redirects.
 *
 * @param redirect_uri the redirect URI: an https URL, or an http URL of this machine.
 * @param callback see mcplink_login_fn.
 * @param user,destroy passed to callback; destroy runs when another grant type is set, or when all
 * settings, options and clients that use callback are freed.
 */
MCPLINK_API
mcplink_status_t mcplink_oauth_set_user_agent(mcplink_oauth_t *oauth,
                                              const char *redirect_uri,
                                              mcplink_login_fn callback,
                                              void *user,
                                              mcplink_destroy_fn destroy);

/**
 * Provides a signed statement (JWT) about this workload for an audience.
 * The callback runs whenever an access token has to be obtained, on a thread of the library.
 *
 * @param audience the URL of the token endpoint, valid until the callback returns.
 * @param token receives the statement by mcplink_output_set.
 * @return MCPLINK_OK; any other status fails the waiting calls with MCPLINK_E_AUTH.
 */
typedef mcplink_status_t (*mcplink_statement_fn)(void *user, mcplink_str_t audience, mcplink_output_t *token);

/**
 * Sets workload identity as the grant type: the platform on which the workload runs vouches
 * for the workload.
 *
 * @param client_id the client id, if the authorization server requires one; NULL for no client id.
 * @param callback see mcplink_statement_fn.
 * @param user,destroy passed to callback; destroy runs when another grant type is set, or when all
 * settings, options and clients that use callback are freed.
 */
MCPLINK_API
mcplink_status_t mcplink_oauth_set_workload(mcplink_oauth_t *oauth,
                                            const char *client_id,
                                            mcplink_statement_fn callback,
                                            void *user,
                                            mcplink_destroy_fn destroy);

/**
 * The kind of a credential that an identity provider issued when the user signed on.
 */
typedef enum mcplink_subject {
    /**
     * An OpenID Connect ID token.
     */
    MCPLINK_SUBJECT_ID_TOKEN = 1601,
    /**
     * A refresh token of the identity provider.
     */
    MCPLINK_SUBJECT_REFRESH_TOKEN = 1602,
    /**
     * A SAML 2.0 assertion.
     */
    MCPLINK_SUBJECT_SAML2 = 1603,
} mcplink_subject;

/**
 * Sets enterprise-managed authorization as the grant type: the identity provider of an
 * organization vouches for the user. The client is registered twice: with the identity
 * provider, and with the authorization server of the MCP server. Pass the registration with
 * the identity provider in client. Add the registration with the authorization server with
 * mcplink_oauth_add_client, as the first client.
 *
 * @param token_endpoint the URL of the identity provider's token endpoint.
 * @param client the registration of this client with the identity provider. The settings copy the
 * registration, which remains the caller's.
 * @param subject the kind of credential that callback provides.
 * @param callback provides the credential of the user with mcplink_output_set, like
 * mcplink_bearer_fn. The callback runs on a thread of the library, each time the credential is
 * needed. The host is responsible for the sign-on, including its state, nonce and PKCE.
 * @param user,destroy passed to callback; destroy runs when another grant type is set, or when all
 * settings, options and clients that use callback are freed.
 */
MCPLINK_API
mcplink_status_t mcplink_oauth_set_enterprise(mcplink_oauth_t *oauth,
                                              const char *token_endpoint,
                                              const mcplink_oauth_client_t *client,
                                              mcplink_subject subject,
                                              mcplink_bearer_fn callback,
                                              void *user,
                                              mcplink_destroy_fn destroy);

/**
 * Sets the folder in which tokens and registrations are saved, in files that only their owner
 * may read. Processes that share a folder renew tokens one after the other. Default: tokens
 * are stored in memory only.
 *
 * @param folder the path of the folder, in UTF-8 on Windows. The folder is created with mode 0700
 * when a client is opened. Opening fails if the folder belongs to another user, or if other
 * users may write to it. NULL to store tokens in memory.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_set_store_folder(mcplink_oauth_t *oauth, const char *folder);

/**
 * Loads the content that was saved last under a name. The function runs on threads that make calls
 * and on threads that log in, possibly on several threads at once.
 *
 * @param name the name, which contains no secret; valid until the callback returns.
 * @param content receives the content by mcplink_output_set. Without a call nothing is saved.
 * @return MCPLINK_OK. Any other status means that the content can't be read: the call that needs
 * the content fails with MCPLINK_E_AUTH.
 */
typedef mcplink_status_t (*mcplink_store_load_fn)(void *user, mcplink_str_t name, mcplink_output_t *content);

/**
 * Saves content under a name, atomically: the new content replaces the earlier content completely
 * or not at all. For threads see mcplink_store_load_fn.
 *
 * @param name the name, which contains no secret; valid until the callback returns.
 * @param content JSON text with secret tokens and keys; valid until the callback returns.
 * @return MCPLINK_OK. Any other status means that the content can't be saved: the library then
 * stores the content in memory only.
 */
typedef mcplink_status_t (*mcplink_store_save_fn)(void *user, mcplink_str_t name, mcplink_str_t content);

/**
 * Removes the content that is saved under a name. A missing name is not an error. For threads see
 * mcplink_store_load_fn.
 *
 * @param name the name; valid until the callback returns.
 * @return MCPLINK_OK; any other status if the content could not be removed.
 */
typedef mcplink_status_t (*mcplink_store_remove_fn)(void *user, mcplink_str_t name);

/**
 * Sets the functions of the host that save and load tokens and registrations, for example in
 * the key chain of the system. Default: tokens are stored in memory only.
 *
 * @param load,save,remove all three functions; or NULL for all three, to store tokens in memory.
 * @param user,destroy passed to the functions; destroy runs when the store is replaced, or when all
 * settings, options and clients that use the store are freed.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID when only some of the functions are set.
 */
MCPLINK_API
mcplink_status_t mcplink_oauth_set_store(mcplink_oauth_t *oauth,
                                         mcplink_store_load_fn load,
                                         mcplink_store_save_fn save,
                                         mcplink_store_remove_fn remove,
                                         void *user,
                                         mcplink_destroy_fn destroy);

/**
 * Makes a registered OAuth client.
 *
 * @param issuer the issuer identifier of the authorization server, for example "https://login.example".
 * NULL and blank text are refused: see mcplink_oauth_client_new_for_any.
 * @param client_id the client id.
 * @return the client. The caller owns it and frees it with mcplink_oauth_client_free. NULL for an
 * invalid argument.
 */
MCPLINK_NODISCARD MCPLINK_API mcplink_oauth_client_t *mcplink_oauth_client_new(const char *issuer, const char *client_id);

/**
 * Makes a registered OAuth client for the authorization server that the MCP server names first.
 * The MCP server then decides which authorization server receives the credentials, so use
 * mcplink_oauth_client_new if the issuer is known.
 *
 * @param client_id the id of the client.
 * @return the client. The caller owns it and frees it with mcplink_oauth_client_free. NULL for an
 * invalid argument.
 */
MCPLINK_NODISCARD MCPLINK_API mcplink_oauth_client_t *mcplink_oauth_client_new_for_any(const char *client_id);

/**
 * Sets a client secret, with which the client authenticates. The secret does not appear in
 * errors or logs, and is sent to the token endpoint only.
 *
 * @param secret the secret. NULL and blank text are refused; for a public client, do not call this
 * function. The secret replaces a key that was set before.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_client_set_secret(mcplink_oauth_client_t *client, const char *secret);

/**
 * Sets a private key, with which the client authenticates (private_key_jwt). The key is never
 * sent, so it is safer than a secret. A key that can't be read is set with
 * mcplink_oauth_client_set_signer.
 *
 * @param pem,len PEM text with the key: PKCS #8 with P-256, P-384, Ed25519 or RSA, or "RSA PRIVATE
 * KEY". len may be MCPLINK_NUL for text that ends in NUL. The text is copied, and appears in
 * no error and no log.
 * @param key_id the key id by which the authorization server knows the key (kid); NULL for no key
 * id.
 * @param pss true if an RSA key signs with PS256 instead of RS256.
 * @return MCPLINK_OK, or MCPLINK_E_INVALID for text without a supported key.
 */
MCPLINK_API
mcplink_status_t mcplink_oauth_client_set_key(mcplink_oauth_client_t *client,
                                              const char *pem,
                                              size_t len,
                                              const char *key_id,
                                              bool pss);

/**
 * Sets a private key that a device or service of the host holds, with which the client
 * authenticates (private_key_jwt). The key replaces a secret or key that was set before.
 *
 * @param algorithm the name of the JWS algorithm, for example "ES256". Only asymmetric algorithms
 * are accepted.
 * @param key_id the key id by which the authorization server knows the key (kid); NULL for no key
 * id.
 * @param callback see mcplink_sign_fn. NULL is refused.
 * @param user,destroy passed to callback; destroy runs when the key is replaced, or when the client
 * and all settings, options and clients that use the key are freed.
 */
MCPLINK_API
mcplink_status_t mcplink_oauth_client_set_signer(mcplink_oauth_client_t *client,
                                                 const char *algorithm,
                                                 const char *key_id,
                                                 mcplink_sign_fn callback,
                                                 void *user,
                                                 mcplink_destroy_fn destroy);

/**
 * Sets the audience (aud) of the signed statement (JWT) with which a client with a private key
 * authenticates. Default: the issuer. Some authorization servers require the URL of their
 * token endpoint.
 *
 * @param audience the audience. NULL and blank text are refused.
 */
MCPLINK_API mcplink_status_t mcplink_oauth_client_set_audience(mcplink_oauth_client_t *client, const char *audience);

/**
 * Frees an OAuth client. Settings to which the client was added keep a copy.
 */
MCPLINK_API void mcplink_oauth_client_free(mcplink_oauth_client_t *client);

/**
 * Returns the URL to open in a browser: an https URL, or an http URL of this machine. Pass the
 * URL to the browser unchanged, never through a shell.
 *
 * @return text that is valid as long as the login.
 */
MCPLINK_API mcplink_str_t mcplink_login_url(const mcplink_login_t *login);

/**
 * Returns the URL, without the query, of the server that requires the login.
 *
 * @return text that is valid as long as the login.
 */
MCPLINK_API mcplink_str_t mcplink_login_server(const mcplink_login_t *login);

/**
 * Returns the scheme, host and port of the authorization server. Show them to the person
 * before a browser is opened.
 *
 * @return text that is valid as long as the login.
 */
MCPLINK_API mcplink_str_t mcplink_login_authorization_server(const mcplink_login_t *login);

/**
 * Returns the scopes that the person is asked to grant, separated by spaces.
 *
 * @return text that is valid as long as the login.
 */
MCPLINK_API mcplink_str_t mcplink_login_scopes(const mcplink_login_t *login);

/**
 * Checks whether the login is over. A login is over when it was answered, when it timed out,
 * or when all calls that need the login were cancelled or closed. The host can then close its
 * dialog. The check is cheap, so a callback that waits for the person can call this function
 * repeatedly.
 *
 * @return true if the login is over.
 */
MCPLINK_API bool mcplink_login_is_done(const mcplink_login_t *login);

/**
 * Sets a function that is called once when the login is over: see mcplink_login_is_done.
 *
 * @param callback called at once, on this thread, if the login is over already. Otherwise the
 * callback runs later, on a thread of the library or on a thread that ends a call. The
 * callback must be quick. NULL for no callback.
 * @param user,destroy passed to callback; destroy runs after the callback, when another function is
 * set, or when the login is freed.
 */
MCPLINK_API
mcplink_status_t mcplink_login_on_done(mcplink_login_t *login,
                                       mcplink_notify_fn callback,
                                       void *user,
                                       mcplink_destroy_fn destroy);

/**
 * Refuses a login: the person declined, or can't be asked. Calls that wait for the login then
 * fail with MCPLINK_E_AUTH.
 *
 * @param reason a reason for the error message of these calls; NULL for no reason.
 * @return MCPLINK_OK; MCPLINK_E_INVALID; MCPLINK_E_STATE when the login is over or was
 * answered, or when the library itself listens for the answer.
 */
MCPLINK_API mcplink_status_t mcplink_login_refuse(mcplink_login_t *login, const char *reason);

/**
 * Answers a login with the complete URL, including the query, to which the authorization server
 * redirected the browser. Other URLs that the browser visits may be passed too: the function
 * recognizes and refuses them. They are logged at MCPLINK_LOG_DEBUG, without their query.
 *
 * @param url,len the URL; len may be MCPLINK_NUL for text that ends in NUL.
 * @return MCPLINK_OK; MCPLINK_E_INVALID when the URL is not the answer to this login: the login
 * then continues; MCPLINK_E_STATE when the login is over or was answered, or when the library
 * itself listens for the answer.
 */
MCPLINK_NODISCARD MCPLINK_API mcplink_status_t mcplink_login_answer(mcplink_login_t *login, const char *url, size_t len);

/**
 * Adds a reference to a login, so that the login can be answered after the callback that received
 * the login has returned. So no thread of the host has to wait for the answer.
 *
 * @return the same login. The caller now owns a reference, and frees it with mcplink_login_free,
 * once for each mcplink_login_keep. The reference may outlive the client.
 */
MCPLINK_NODISCARD MCPLINK_API mcplink_login_t *mcplink_login_keep(mcplink_login_t *login);

/**
 * Releases a reference to a login. If the login is unanswered, releasing the last reference
 * refuses the login. In a forked process the function does nothing; see MCPLINK_E_FORKED.
 *
 * @param login a login that mcplink_login_keep returned; may be NULL.
 */
MCPLINK_API void mcplink_login_free(mcplink_login_t *login);

/* ==== HTTP clients of the host ==== */

/**
 * Returns the method of the request.
 *
 * @return "POST", "GET" or "DELETE"; valid as long as the fetch.
 */
MCPLINK_API mcplink_str_t mcplink_fetch_method(const mcplink_fetch_t *fetch);

/**
 * Returns the absolute URL of the request: http or https, without credentials and fragment.
 * The query may contain secrets.
 *
 * @return text that is valid as long as the fetch.
 */
MCPLINK_API mcplink_str_t mcplink_fetch_url(const mcplink_fetch_t *fetch);

/**
 * Returns the number of header fields of the request. The host adds those that belong to a
 * connection, such as Host and Content-Length.
 *
 * @return the number.
 */
MCPLINK_API size_t mcplink_fetch_header_count(const mcplink_fetch_t *fetch);

/**
 * Returns the name of a header field of the request, in lower case.
 *
 * @param index the index of the field, from 0.
 * @return text that is valid as long as the fetch; empty when the index is out of range.
 */
MCPLINK_API mcplink_str_t mcplink_fetch_header_name(const mcplink_fetch_t *fetch, size_t index);

/**
 * Returns the value of a header field of the request, which may be secret.
 *
 * @param index the index of the field, from 0.
 * @return text that is valid as long as the fetch; empty when the index is out of range.
 */
MCPLINK_API mcplink_str_t mcplink_fetch_header_value(const mcplink_fetch_t *fetch, size_t index);

/**
 * Returns the body of the request, which may contain secrets.
 *
 * @return text that is valid as long as the fetch; empty without a body.
 */
MCPLINK_API mcplink_str_t mcplink_fetch_body(const mcplink_fetch_t *fetch);

/**
 * Returns the time in which the response has to begin. It does not limit the body.
 *
 * @return the rest of the time in milliseconds; MCPLINK_FOREVER without a limit.
 */
MCPLINK_API uint32_t mcplink_fetch_timeout_ms(const mcplink_fetch_t *fetch);

/**
 * Checks whether the host may connect to an address, for hosts that resolve names themselves.
 * The requests of a login must not lead to this machine or a private network: see
 * mcplink_oauth_set_private_addresses. The function allows every address for requests to
 * the MCP server. An address in the URL has been checked.
 *
 * @param address an IPv4 or IPv6 address as text, without a port.
 * @return true if the host may connect; false also for text that is no address.
 */
MCPLINK_API bool mcplink_fetch_allows_address(const mcplink_fetch_t *fetch, const char *address);

/**
 * Checks whether the request was cancelled: nobody needs the response any more. The check is
 * cheap, so a loop can call this function repeatedly.
 *
 * @return true if the request was cancelled.
 */
MCPLINK_API bool mcplink_fetch_is_cancelled(const mcplink_fetch_t *fetch);

/**
 * Sets a function that is called once when the request is cancelled: the host then ends the
 * request, for example by closing its socket.
 *
 * @param callback called at once, on this thread, if the request is cancelled already. Otherwise the
 * callback runs on a thread of the library or on a thread that ends a call. The callback must
 * not block. NULL for no callback.
 * @param user,destroy passed to callback; destroy runs when another function is set, or when the
 * last reference to the fetch is released, but not while callback runs. So user can own the
 * socket.
 */
MCPLINK_API
mcplink_status_t mcplink_fetch_on_cancel(mcplink_fetch_t *fetch,
                                         mcplink_notify_fn callback,
                                         void *user,
                                         mcplink_destroy_fn destroy);

/**
 * Adds a header field to the response, before mcplink_fetch_begin. Fields with the same name
 * stay separate.
 *
 * @param field the name of the field.
 * @param value,len the value of the field; len may be MCPLINK_NUL for text that ends in NUL.
 * @return MCPLINK_OK; MCPLINK_E_INVALID; MCPLINK_E_CLOSED when nobody needs the response any
 * more, MCPLINK_E_STATE when the response has begun.
 */
MCPLINK_API mcplink_status_t mcplink_fetch_add_header(mcplink_fetch_t *fetch, const char *field, const char *value, size_t len);

/**
 * Begins the response: the host has received its status and all its header fields.
 *
 * @param status the status code, also that of an error.
 * @return MCPLINK_OK; MCPLINK_E_INVALID for a number that is no status; MCPLINK_E_CLOSED when
 * nobody needs the response any more, MCPLINK_E_STATE when the response has begun.
 */
MCPLINK_API mcplink_status_t mcplink_fetch_begin(mcplink_fetch_t *fetch, int32_t status);

/**
 * Passes on a part of the body, as soon as it has arrived: an event stream must be readable
 * while it goes on.
 *
 * @param bytes,len the bytes, which are copied, without a transfer coding; len may be MCPLINK_NUL
 * for text that ends in NUL.
 * @return MCPLINK_OK; MCPLINK_E_INVALID; MCPLINK_E_CLOSED when nobody needs the rest: end the
 * request then; MCPLINK_E_STATE before mcplink_fetch_begin or after the end.
 * @note Blocks: while 256 KiB of the body are unread.
 */
MCPLINK_API mcplink_status_t mcplink_fetch_write(mcplink_fetch_t *fetch, const void *bytes, size_t len);

/**
 * Ends the response: the whole body was written.
 *
 * @return MCPLINK_OK; MCPLINK_E_CLOSED when nobody needs the response any more,
 * MCPLINK_E_STATE before mcplink_fetch_begin or after the end.
 */
MCPLINK_API mcplink_status_t mcplink_fetch_end(mcplink_fetch_t *fetch);

/**
 * Fails the request: there is no response, or its body breaks off.
 *
 * @param reason a reason for the error message of the call; NULL for no reason.
 * @param was_sent whether the server may have received the request. If not, the library may send the
 * request once more. Ignored after mcplink_fetch_begin.
 * @return MCPLINK_OK; MCPLINK_E_INVALID; MCPLINK_E_STATE after the end.
 */
MCPLINK_API mcplink_status_t mcplink_fetch_fail(mcplink_fetch_t *fetch, const char *reason, bool was_sent);

/**
 * Adds a reference to a fetch, so that the response can be written after the function that
 * received the fetch has returned, on any thread.
 *
 * @return the same fetch. The caller now owns a reference, and frees it with mcplink_fetch_free,
 * once for each mcplink_fetch_keep. The reference may outlive the client.
 */
MCPLINK_NODISCARD MCPLINK_API mcplink_fetch_t *mcplink_fetch_keep(mcplink_fetch_t *fetch);

/**
 * Releases a reference to a fetch. If the response has not ended, releasing the last reference
 * fails the request. In a forked process the function does nothing; see MCPLINK_E_FORKED.
 *
 * @param fetch a fetch that mcplink_fetch_keep returned; may be NULL.
 */
MCPLINK_API void mcplink_fetch_free(mcplink_fetch_t *fetch);

/* ==== Event loops: the pump ==== */

/**
 * Makes a pump.
 *
 * @param out receives the pump, NULL on failure. The caller owns it and frees it with mcplink_pump_free,
 * after the handles that use it.
 * @return MCPLINK_OK, or MCPLINK_E_IO when the system has no free descriptor.
 */
MCPLINK_NODISCARD MCPLINK_API mcplink_status_t mcplink_pump_new(mcplink_pump_t **out, mcplink_error_t **err);

/**
 * Frees a pump. Free the clients and servers that use the pump first: when a handle is freed, its
 * callbacks that wait in the pump are run. If this function is called inside a callback that the
 * pump runs, it returns at once, and mcplink_pump_dispatch continues to its end.
 */
MCPLINK_API void mcplink_pump_free(mcplink_pump_t *pump);

/**
 * Returns the file descriptor to poll. The descriptor is readable while a callback waits. If the
 * pump was never dispatched, this thread becomes the thread of the pump: see mcplink_pump_t.
 *
 * @return a descriptor that the pump owns; -1 for NULL. Poll the descriptor for reading, but
 * never read or close it. The descriptor stays readable until the pump is empty, so a program may
 * dispatch a few callbacks at a time. Sometimes the descriptor is readable although the pump is
 * empty.
 */
MCPLINK_API ptrdiff_t mcplink_pump_fd(const mcplink_pump_t *pump);

/**
 * Runs the waiting callbacks, in order, on this thread.
 *
 * @param max_events the maximum number of callbacks to run; values below 1 count as 1.
 * @return the number of callbacks that ran, or a negative status: MCPLINK_E_STATE when the pump
 * is being dispatched already, by another thread or by one of its own callbacks.
 * @note Threads: any, one at a time; best always the same thread. Blocks: while the callbacks run.
 */
MCPLINK_API int32_t mcplink_pump_dispatch(mcplink_pump_t *pump, int32_t max_events);

/**
 * Waits until a callback can be dispatched with mcplink_pump_dispatch. This function is for
 * programs without an event loop. If the pump was never dispatched, this thread becomes the thread
 * of the pump: see mcplink_pump_t.
 *
 * @param timeout_ms the maximum time to wait, in milliseconds.
 * @return the number of callbacks that wait; 0 after the timeout, and after mcplink_pump_wakeup;
 * or a negative status.
 * @note Blocks: yes, until a callback waits or the timeout is over.
 */
MCPLINK_API int32_t mcplink_pump_wait(mcplink_pump_t *pump, uint32_t timeout_ms);

/**
 * Wakes the host's event loop although no callback waits: makes the descriptor readable, and makes
 * mcplink_pump_wait return.
 *
 * @return MCPLINK_OK; MCPLINK_E_FORKED in a forked process, where the function does nothing.
 * @note Threads: any, also in signal handlers.
 */
MCPLINK_API mcplink_status_t mcplink_pump_wakeup(mcplink_pump_t *pump);

/**
 * Sets a function that is called when the pump has to be dispatched. This setting is for event
 * loops that receive messages and can't poll descriptors.
 *
 * @param callback called when the pump becomes non-empty, and at the end of each dispatch that leaves
 * callbacks in the pump. The callback must be quick, and make the event loop call
 * mcplink_pump_dispatch. It runs on any thread: a thread of the library, or a host thread inside a
 * function that queues a callback, such as this function, mcplink_pump_dispatch or
 * mcplink_http_serve. NULL removes the function.
 * @param user,destroy passed to callback; destroy runs when another function is set or the pump is
 * freed.
 */
MCPLINK_API
mcplink_status_t mcplink_pump_set_notify(mcplink_pump_t *pump,
                                         mcplink_notify_fn callback,
                                         void *user,
                                         mcplink_destroy_fn destroy);

/* ==== Transports of the host ==== */

/**
 * Makes a transport. The transport needs a send function: see mcplink_transport_set_send.
 *
 * @param user,destroy passed to the functions of the transport; destroy runs when the transport is
 * freed.
 * @return the transport. The caller owns it and frees it with mcplink_transport_free.
 */
MCPLINK_NODISCARD MCPLINK_API mcplink_transport_t *mcplink_transport_new(void *user, mcplink_destroy_fn destroy);

/**
 * Makes two transports, each of which is the peer of the other, for a client and a server in one
 * process: for tests, or without another process. Messages are passed in memory.
 *
 * Pass one to mcplink_client_options_set_transport, and the other to mcplink_server_attach. The
 * connection ends when either side closes it. Freeing a transport that is in use does not end the
 * connection; freeing one that is not in use ends it for the other side.
 *
 * @param first,second receive the transports, NULL on failure. The caller owns both and frees each with
 * mcplink_transport_free.
 */
MCPLINK_NODISCARD MCPLINK_API
mcplink_status_t mcplink_transport_pair(mcplink_transport_t **first,
                                        mcplink_transport_t **second,
                                        mcplink_error_t **err);

/**
 * Feeds bytes that the peer sent, split anywhere. The bytes are queued until the connection
 * reads them.
 *
 * @param bytes,len the bytes, which are copied.
 * @return MCPLINK_OK; MCPLINK_E_LIMIT when bytes are queued already and the total would
 * exceed 16 MiB: then none of these bytes was accepted, so feed the same bytes again later,
 * see mcplink_transport_set_ready; MCPLINK_E_CLOSED after mcplink_transport_feed_end and after
 * the connection has ended; MCPLINK_E_STATE for an end of mcplink_transport_pair.
 * @note Threads: any, before and after the connection is made; the caller must feed the bytes in
 * order.
 */
MCPLINK_NODISCARD MCPLINK_API mcplink_status_t mcplink_transport_feed(mcplink_transport_t *transport, const void *bytes, size_t len);

/**
 * Ends the input: nothing more comes from the peer. Bytes that were fed before are still read.
 * When all bytes have been read, a client fails its pending calls, and a session ends.
 *
 * @param reason the cause of a failure, for the error of pending calls; NULL when the peer closed
 * the connection normally.
 * @return MCPLINK_OK, or MCPLINK_E_STATE for an end of mcplink_transport_pair.
 */
MCPLINK_API mcplink_status_t mcplink_transport_feed_end(mcplink_transport_t *transport, const char *reason);

/**
 * Sends bytes to the peer: all of them, in order. The function runs on any thread that sends, on
 * one thread at a time, and should not block for long.
 *
 * @param bytes,len the bytes, valid until the function returns.
 * @return MCPLINK_OK; any other status ends the connection: see mcplink_transport_set_close.
 */
typedef mcplink_status_t (*mcplink_send_fn)(void *user, const void *bytes, size_t len);

/**
 * Sets the function that sends bytes to the peer.
 *
 * @param callback see mcplink_send_fn. The callback returns MCPLINK_E_USER when the peer can't be
 * reached any more.
 * @note Threads: any, before the connection is made.
 */
MCPLINK_API mcplink_status_t mcplink_transport_set_send(mcplink_transport_t *transport, mcplink_send_fn callback);

/**
 * Sets a function that is called when the library has ended the connection: nothing more is
 * sent or read. The connection ends when the client or session that uses it is closed, after
 * mcplink_transport_feed_end, and soon after mcplink_send_fn has failed.
 *
 * @param callback called once, by the thread that ends the connection, or by mcplink_transport_free.
 * If mcplink_send_fn still runs on another thread, that function should return soon. The
 * callback may free the session or client, the server and the transport. Release the shared
 * user data in destroy, not in the callback. NULL for no callback.
 * @note Threads: any, before the connection is made.
 */
MCPLINK_API mcplink_status_t mcplink_transport_set_close(mcplink_transport_t *transport, mcplink_notify_fn callback);

/**
 * Sets a function that is called when the transport accepts bytes again, after
 * mcplink_transport_feed returned MCPLINK_E_LIMIT.
 *
 * @param callback called once after one or more refusals, when at most 8 MiB are still queued. The
 * callback runs on the reader thread, and may feed bytes. NULL for no callback.
 * @note Threads: any, before the connection is made.
 */
MCPLINK_API mcplink_status_t mcplink_transport_set_ready(mcplink_transport_t *transport, mcplink_notify_fn callback);

/**
 * Frees a transport and ends its connection. No function of the transport runs afterwards. If the
 * function is called inside a function of the transport, it returns at once: no other function of
 * the transport starts, and the transport is freed when the running function returns.
 *
 * @note Blocks: until running functions of the transport have returned.
 */
MCPLINK_API void mcplink_transport_free(mcplink_transport_t *transport);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* MCPLINK_H */
