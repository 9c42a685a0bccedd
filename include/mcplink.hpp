/*
 * mcplink for C++17: owners, string views and callables over mcplink.h, and nothing else.
 *
 * Everything here is inline and calls the C interface, whose comments say what a function does; an object's get() is its C pointer, so that what
 * this header has no word for can be done with the C function beside it.
 *
 * Errors. What can fail gives a result<T>: a value or an error. With exceptions, value() throws mcplink::exception; without them (-fno-exceptions) it
 * is not there: ask has_value() first. Setters come in a chain: what one of them refuses is told by the function that takes the object, which then
 * does nothing else. Handlers may throw: a tool_failure is told to the model, anything else becomes an error without its text.
 * So may a visitor of logins. No other callback may, such as those for events, progress and what was started: it ends the process.
 *
 * Lifetimes. Owners are move-only and free what they own. Views (std::string_view, json_view, request, responder) are good as long as the
 * object that they came from; those of a handler until it returns.
 */
#ifndef MCPLINK_HPP
#define MCPLINK_HPP

#include <mcplink.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#if defined(__cpp_exceptions) || defined(__EXCEPTIONS) || defined(_CPPUNWIND)
#define MCPLINK_EXCEPTIONS 1
#include <exception>
#include <stdexcept>
#endif

namespace mcplink {

using milliseconds = std::chrono::milliseconds;

namespace detail {

inline std::string_view view(mcplink_str_t text) noexcept { return {text.ptr, text.len}; }

/* Times beyond what the C interface can say are the longest that it can. */
inline std::uint32_t count(milliseconds span) noexcept
{
    constexpr auto most = std::numeric_limits<std::uint32_t>::max();
    return span.count() < 0 ? 0 : span.count() > most ? most : static_cast<std::uint32_t>(span.count());
}

/* Frees with the function that belongs to the type. */
template <auto Free> struct freed_by {
    template <class T> void operator()(T *object) const noexcept { Free(object); }
};
template <class T, auto Free> using owner = std::unique_ptr<T, freed_by<Free>>;

/* Numbers, and enumerations that are used as such. */
template <class T> using if_index = std::enable_if_t<std::is_convertible_v<T, std::size_t> && (std::is_integral_v<T> || std::is_enum_v<T>), bool>;

/* The destroy function of a callable. */
template <class F> void destroy(void *user) noexcept { delete static_cast<F *>(user); }

} // namespace detail

/* What went wrong: who failed, and what to do. */
class error {
public:
    error() noexcept = default;
    explicit error(mcplink_error_t *owned) noexcept : owned_(owned), status_(mcplink_error_status(owned)) {}
    /* For functions that tell a status only; text has to live for ever. */
    explicit error(mcplink_status_t status, const char *text = nullptr) noexcept : status_(status), text_(text) {}

    mcplink_status_t status() const noexcept { return status_; }
    std::string_view message() const noexcept
    {
        return owned_ ? mcplink_error_message(get()) : text_ ? text_ : mcplink_status_name(status_);
    }
    std::string_view method() const noexcept { return detail::view(mcplink_error_method(get())); }
    std::int64_t rpc_code() const noexcept { return mcplink_error_rpc_code(get()); }
    std::string_view data() const noexcept { return detail::view(mcplink_error_data(get())); }
    int os_code() const noexcept { return mcplink_error_os_code(get()); }
    int http_status() const noexcept { return mcplink_error_http_status(get()); }
    std::string_view oauth_code() const noexcept { return detail::view(mcplink_error_oauth_code(get())); }
    std::string_view peer_stderr() const noexcept { return detail::view(mcplink_error_peer_stderr(get())); }
    bool is_retryable() const noexcept { return mcplink_error_is_retryable(get()); }
    const mcplink_error_t *get() const noexcept { return owned_.get(); }

private:
    /* Shared, so that an exception can be copied. */
    struct shared {
        std::shared_ptr<mcplink_error_t> pointer;
        shared() noexcept = default;
        explicit shared(mcplink_error_t *owned) : pointer(owned, mcplink_error_free) {}
        mcplink_error_t *get() const noexcept { return pointer.get(); }
        explicit operator bool() const noexcept { return pointer != nullptr; }
    } owned_;
    mcplink_status_t status_ = MCPLINK_OK;
    const char *text_ = nullptr;
};

#ifdef MCPLINK_EXCEPTIONS
/* An error that was thrown. */
class exception : public std::exception {
public:
    explicit exception(mcplink::error error) : error_(std::move(error)) {}
    const char *what() const noexcept override { return error_.message().data(); }
    const mcplink::error &error() const noexcept { return error_; }

private:
    mcplink::error error_;
};

/* Thrown by the handler of a tool: the tool failed, and the model may read why. */
class tool_failure : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};
#endif

/* A value, or why there is none. */
template <class T> class [[nodiscard]] result {
public:
    result(T value) : content_(std::in_place_index<0>, std::move(value)) {}
    result(mcplink::error error) : content_(std::in_place_index<1>, std::move(error)) {}

    bool has_value() const noexcept { return content_.index() == 0; }
    explicit operator bool() const noexcept { return has_value(); }
    /* Only when there is a value. */
    T &operator*() & noexcept { return *std::get_if<0>(&content_); }
    const T &operator*() const & noexcept { return *std::get_if<0>(&content_); }
    T &&operator*() && noexcept { return std::move(*std::get_if<0>(&content_)); }
    T *operator->() noexcept { return std::get_if<0>(&content_); }
    const T *operator->() const noexcept { return std::get_if<0>(&content_); }
    /* Only when there is none. */
    const mcplink::error &error() const noexcept { return *std::get_if<1>(&content_); }
#ifdef MCPLINK_EXCEPTIONS
    /* The value; throws mcplink::exception when there is none. */
    T value() &&
    {
        if (!has_value()) throw exception(this->error());
        return std::move(**this);
    }
    T &value() &
    {
        if (!has_value()) throw exception(this->error());
        return **this;
    }
    const T &value() const &
    {
        if (!has_value()) throw exception(this->error());
        return **this;
    }
#endif

private:
    std::variant<T, mcplink::error> content_;
};

template <> class [[nodiscard]] result<void> {
public:
    result() noexcept = default;
    result(mcplink::error error) : error_(std::move(error)) {}

    bool has_value() const noexcept { return error_.status() >= 0; }
    explicit operator bool() const noexcept { return has_value(); }
    const mcplink::error &error() const noexcept { return error_; }
#ifdef MCPLINK_EXCEPTIONS
    void value() const
    {
        if (!has_value()) throw exception(error_);
    }
#endif

private:
    mcplink::error error_;
};

namespace detail {

/* Runs a C function that takes err last. */
template <class F> result<void> done(F call)
{
    mcplink_error_t *failed = nullptr;
    mcplink_status_t status = call(&failed);
    if (status >= 0) return {};
    return failed ? error(failed) : error(status);
}

/* Runs a C function that gives an object, and wraps it. */
template <class T, class Raw, class F> result<T> made(F call)
{
    Raw *object = nullptr;
    mcplink_error_t *failed = nullptr;
    mcplink_status_t status = call(&object, &failed);
    if (object) return T(object);
    return failed ? error(failed) : error(status);
}

inline result<void> told(mcplink_status_t status)
{
    if (status >= 0) return {};
    return error(status);
}

/* An object whose setters come in a chain: the first one that is refused is told by who takes the object. */
template <class Object> class described {
public:
    /* Whether all was well so far. */
    const result<void> &refused() const noexcept { return refused_; }

protected:
    Object &note(mcplink_status_t status, const char *what) noexcept
    {
        if (status < 0 && refused_) refused_ = error(status, what);
        return static_cast<Object &>(*this);
    }
    Object &note(const result<void> &others) noexcept
    {
        if (!others && refused_) refused_ = others;
        return static_cast<Object &>(*this);
    }

private:
    result<void> refused_;
};

} // namespace detail

/* A JSON value that belongs to somebody else. What is not there gives neutral values, so that chains need no checks. */
class json_view {
public:
    json_view() noexcept = default;
    explicit json_view(const mcplink_json_t *node) noexcept : node_(node) {}

    json_view operator[](const char *key) const noexcept { return json_view(mcplink_json_get(node_, key)); }
    /* Of any type, and a plain 0 is no null pointer here. What no array can have is not there. */
    template <class Index, detail::if_index<Index> = true> json_view operator[](Index index) const noexcept
    {
        if constexpr (std::is_enum_v<Index>) {
            return (*this)[static_cast<std::underlying_type_t<Index>>(index)];
        } else {
            const auto at = static_cast<std::size_t>(index);
            return static_cast<Index>(at) == index ? json_view(mcplink_json_at(node_, at)) : json_view();
        }
    }
    json_view pointer(const char *path) const noexcept { return json_view(mcplink_json_pointer(node_, path)); }
    std::string_view key(std::size_t index) const noexcept { return detail::view(mcplink_json_key_at(node_, index)); }
    std::size_t size() const noexcept { return mcplink_json_len(node_); }
    std::int32_t type() const noexcept { return mcplink_json_type(node_); }
    bool is_missing() const noexcept { return mcplink_json_is_missing(node_); }
    std::string_view str() const noexcept { return detail::view(mcplink_json_str(node_)); }
    std::optional<std::int64_t> i64() const noexcept
    {
        std::int64_t number = 0;
        return mcplink_json_i64(node_, &number) ? std::optional(number) : std::nullopt;
    }
    double f64() const noexcept { return mcplink_json_f64(node_); }
    bool boolean() const noexcept { return mcplink_json_boolean(node_); }
    /* The value as JSON text. */
    std::string_view text() const noexcept { return detail::view(mcplink_json_text(node_)); }
    const mcplink_json_t *get() const noexcept { return node_; }

private:
    const mcplink_json_t *node_ = nullptr;
};

/* A JSON document. */
class json {
public:
    explicit json(mcplink_json_t *owned) noexcept : owned_(owned) {}
    static result<json> parse(std::string_view text)
    {
        return detail::made<json, mcplink_json_t>([&](auto out, auto err) { return mcplink_json_parse(text.data(), text.size(), out, err); });
    }
    json_view view() const noexcept { return json_view(owned_.get()); }
    template <class Key> json_view operator[](Key key) const noexcept { return view()[key]; }

private:
    detail::owner<mcplink_json_t, mcplink_json_free> owned_;
};

/* Writes one JSON value. Errors stick; finish() tells the first one. */
class writer {
public:
    writer() : owned_(mcplink_writer_new()) {}
    writer &begin_object() noexcept { return mcplink_writer_begin_object(get()), *this; }
    writer &begin_array() noexcept { return mcplink_writer_begin_array(get()), *this; }
    writer &end() noexcept { return mcplink_writer_end(get()), *this; }
    writer &key(const char *name) noexcept { return mcplink_writer_key(get(), name), *this; }
    writer &str(std::string_view text) noexcept { return mcplink_writer_str(get(), text.data(), text.size()), *this; }
    writer &i64(std::int64_t number) noexcept { return mcplink_writer_i64(get(), number), *this; }
    writer &u64(std::uint64_t number) noexcept { return mcplink_writer_u64(get(), number), *this; }
    writer &f64(double number) noexcept { return mcplink_writer_f64(get(), number), *this; }
    writer &boolean(bool value) noexcept { return mcplink_writer_boolean(get(), value), *this; }
    writer &null() noexcept { return mcplink_writer_null(get()), *this; }
    writer &raw(std::string_view text) noexcept { return mcplink_writer_raw(get(), text.data(), text.size()), *this; }
    writer &bytes(const void *data, std::size_t size) noexcept
    {
        return mcplink_writer_bytes(get(), static_cast<const std::uint8_t *>(data), size), *this;
    }
    /* The text, good until the writer is used again. */
    result<std::string_view> finish()
    {
        mcplink_str_t text{};
        mcplink_error_t *failed = nullptr;
        if (mcplink_writer_finish(get(), &text, &failed) < 0) return error(failed);
        return detail::view(text);
    }
    void reset() noexcept { mcplink_writer_reset(get()); }
    mcplink_writer_t *get() const noexcept { return owned_.get(); }

private:
    detail::owner<mcplink_writer_t, mcplink_writer_free> owned_;
};

/* What a client or server is asked. */
class request {
public:
    explicit request(const mcplink_request_t *raw) noexcept : raw_(raw) {}
    std::string_view method() const noexcept { return detail::view(mcplink_request_method(raw_)); }
    std::string_view name() const noexcept { return detail::view(mcplink_request_name(raw_)); }
    json_view args() const noexcept { return json_view(mcplink_request_args(raw_)); }
    json_view params() const noexcept { return json_view(mcplink_request_params(raw_)); }
    json_view meta() const noexcept { return json_view(mcplink_request_meta(raw_)); }
    std::string_view principal() const noexcept { return detail::view(mcplink_request_principal(raw_)); }
    std::string_view scopes() const noexcept { return detail::view(mcplink_request_scopes(raw_)); }
    bool has_scope(const char *scope) const noexcept { return mcplink_request_has_scope(raw_, scope); }
    std::string_view revision() const noexcept { return detail::view(mcplink_request_revision(raw_)); }
    const mcplink_request_t *get() const noexcept { return raw_; }

private:
    const mcplink_request_t *raw_;
};

/* A right to answer, which belongs to the handler until it returns. To answer later, keep() it. */
class responder {
public:
    explicit responder(mcplink_responder_t *raw) noexcept : raw_(raw) {}

    bool is_cancelled() const noexcept { return mcplink_responder_is_cancelled(raw_); }
    result<void> progress(double done, double total = 0, const char *message = nullptr)
    {
        return detail::told(mcplink_responder_progress(raw_, done, total, message));
    }
    result<void> log(std::int32_t level, std::string_view text)
    {
        return detail::told(mcplink_responder_log(raw_, level, text.data(), text.size()));
    }
    /* Whether these scopes were granted; if not, the request was answered with that: return. */
    bool need_scopes(const char *scopes) { return mcplink_responder_need_scopes(raw_, scopes) == MCPLINK_OK; }
    /* The answer to a question; none when it has to be asked first: return then, and the handler is run again. */
    result<std::optional<json_view>> ask(const char *key, const char *method, std::string_view params)
    {
        const mcplink_json_t *answer = nullptr;
        mcplink_error_t *failed = nullptr;
        auto status = mcplink_responder_ask(raw_, key, method, params.data(), params.size(), &answer, &failed);
        if (status < 0) return failed ? error(failed) : error(status);
        return status == MCPLINK_PENDING ? std::nullopt : std::optional(json_view(answer));
    }
    result<void> remember(const char *key, std::string_view json)
    {
        return detail::told(mcplink_responder_remember(raw_, key, json.data(), json.size()));
    }
    json_view recall(const char *key) const noexcept { return json_view(mcplink_responder_recall(raw_, key)); }
    template <class F> result<void> on_cancel(F callback)
    {
        auto owned = std::make_unique<F>(std::move(callback));
        auto run = [](void *user) noexcept { (*static_cast<F *>(user))(); };
        return detail::told(mcplink_responder_on_cancel(raw_, run, owned.release(), detail::destroy<F>));
    }

    result<void> text(std::string_view text) { return detail::told(mcplink_responder_text(raw_, text.data(), text.size())); }
    result<void> json(std::string_view whole) { return detail::told(mcplink_responder_json(raw_, whole.data(), whole.size())); }
    result<void> structured(std::string_view json) { return detail::told(mcplink_responder_structured(raw_, json.data(), json.size())); }
    result<void> tool_error(std::string_view text) { return detail::told(mcplink_responder_tool_error(raw_, text.data(), text.size())); }
    result<void> bytes(const void *data, std::size_t size, const char *mime_type = nullptr)
    {
        return detail::told(mcplink_responder_bytes(raw_, static_cast<const std::uint8_t *>(data), size, mime_type));
    }
    result<void> not_found() { return detail::told(mcplink_responder_not_found(raw_)); }
    result<void> fail(std::int32_t code, const char *message, const char *data = nullptr)
    {
        return detail::told(mcplink_responder_fail(raw_, code, message, data));
    }
    mcplink_responder_t *get() const noexcept { return raw_; }

private:
    mcplink_responder_t *raw_;
};

/* A right to answer that outlives its handler. The last one that goes unanswered answers with an error. */
class kept_responder {
public:
    explicit kept_responder(const responder &borrowed) : owned_(mcplink_responder_keep(borrowed.get())) {}
    responder operator*() const noexcept { return responder(owned_.get()); }
    mcplink::request request() const noexcept { return mcplink::request(mcplink_responder_request(owned_.get())); }

private:
    detail::owner<mcplink_responder_t, mcplink_responder_free> owned_;
};

namespace detail {

/* Calls a handler. It answers itself, or returns what is the text of the answer. */
template <class F> void handle(F &handler, const mcplink_request_t *raw_request, mcplink_responder_t *raw_responder)
{
    request asked(raw_request);
    responder answer(raw_responder);
    if constexpr (std::is_void_v<std::invoke_result_t<F &, const request &, responder &>>) {
        handler(asked, answer);
    } else {
        /* It fails when nobody waits any more. */
        (void)answer.text(handler(asked, answer));
    }
}

/* What C calls: nothing leaves it. */
template <class F> void handler_trampoline(void *user, const mcplink_request_t *asked, mcplink_responder_t *answer) noexcept
{
    F &handler = *static_cast<F *>(user);
#ifdef MCPLINK_EXCEPTIONS
    try {
        handle(handler, asked, answer);
    } catch (const tool_failure &failure) {
        mcplink_responder_tool_error(answer, failure.what(), MCPLINK_NUL);
    } catch (...) {
        /* What went wrong is nobody else's business. */
        mcplink_responder_fail(answer, -32603, "internal error", nullptr);
    }
#else
    handle(handler, asked, answer);
#endif
}

/* Passes a callable to a C function that takes callback, user and destroy. */
template <class F, class Register> mcplink_status_t with_handler(F handler, Register enlist)
{
    auto owned = std::make_unique<F>(std::move(handler));
    return enlist(handler_trampoline<F>, static_cast<void *>(owned.release()), destroy<F>);
}

} // namespace detail

/* One cancel token for any number of calls, triggered from any thread. */
class cancel {
public:
    cancel() : owned_(mcplink_cancel_new()) {}
    void trigger() noexcept { mcplink_cancel_trigger(get()); }
    bool is_triggered() const noexcept { return mcplink_cancel_is_triggered(get()); }
    mcplink_cancel_t *get() const noexcept { return owned_.get(); }

private:
    detail::owner<mcplink_cancel_t, mcplink_cancel_free> owned_;
};

/* Brings callbacks to a thread of the host's choice. */
class pump {
public:
    explicit pump(mcplink_pump_t *owned) noexcept : owned_(owned) {}
    static result<pump> make() { return detail::made<pump, mcplink_pump_t>(mcplink_pump_new); }
    std::ptrdiff_t fd() const noexcept { return mcplink_pump_fd(get()); }
    std::int32_t dispatch(std::int32_t most = 64) noexcept { return mcplink_pump_dispatch(get(), most); }
    std::int32_t wait(milliseconds timeout) noexcept { return mcplink_pump_wait(get(), detail::count(timeout)); }
    void wakeup() noexcept { mcplink_pump_wakeup(get()); }
    template <class F> void set_notify(F callback)
    {
        auto owned = std::make_unique<F>(std::move(callback));
        mcplink_pump_set_notify(get(), [](void *user) noexcept { (*static_cast<F *>(user))(); }, owned.release(), detail::destroy<F>);
    }
    mcplink_pump_t *get() const noexcept { return owned_.get(); }

private:
    detail::owner<mcplink_pump_t, mcplink_pump_free> owned_;
};

/* What came of a call. */
class call_result {
public:
    explicit call_result(mcplink_result_t *owned) noexcept : owned_(owned) {}
    /* The tool ran and failed: the content says why, for the model to read. */
    bool is_tool_error() const noexcept { return mcplink_result_is_tool_error(get()); }
    std::string_view text() const noexcept { return detail::view(mcplink_result_text(get())); }
    std::string_view raw() const noexcept { return detail::view(mcplink_result_raw(get())); }
    json_view json() const noexcept { return json_view(mcplink_result_json(get())); }
    json_view structured() const noexcept { return json_view(mcplink_result_structured(get())); }
    json_view meta() const noexcept { return json_view(mcplink_result_meta(get())); }
    std::size_t content_count() const noexcept { return mcplink_result_content_count(get()); }
    json_view content(std::size_t index) const noexcept { return json_view(mcplink_result_content(get(), index)); }
    std::int32_t content_kind(std::size_t index) const noexcept { return mcplink_result_content_kind(get(), index); }
    const mcplink_result_t *get() const noexcept { return owned_.get(); }

private:
    detail::owner<mcplink_result_t, mcplink_result_free> owned_;
};

/* How one call is made. */
class call_options {
public:
    call_options() : owned_(mcplink_call_options_new()) {}
    call_options &timeout(milliseconds span) noexcept { return mcplink_call_options_set_timeout_ms(get(), detail::count(span)), *this; }
    call_options &max_timeout(milliseconds span) noexcept { return mcplink_call_options_set_max_timeout_ms(get(), detail::count(span)), *this; }
    call_options &cancel_with(const cancel &token) noexcept { return mcplink_call_options_set_cancel(get(), token.get()), *this; }
    /* callback(double progress, double total, std::string_view message) */
    template <class F> call_options &on_progress(F callback)
    {
        auto owned = std::make_unique<F>(std::move(callback));
        auto run = [](void *user, double progress, double total, mcplink_str_t message) noexcept {
            (*static_cast<F *>(user))(progress, total, detail::view(message));
        };
        return mcplink_call_options_on_progress(get(), run, owned.release(), detail::destroy<F>), *this;
    }
    mcplink_call_options_t *get() const noexcept { return owned_.get(); }

private:
    detail::owner<mcplink_call_options_t, mcplink_call_options_free> owned_;
};

/* A login that a server wants, which belongs to the function that got it until it returns. To answer later, keep() it. */
class login {
public:
    explicit login(mcplink_login_t *raw) noexcept : raw_(raw) {}
    std::string_view url() const noexcept { return detail::view(mcplink_login_url(raw_)); }
    std::string_view server() const noexcept { return detail::view(mcplink_login_server(raw_)); }
    std::string_view authorization_server() const noexcept { return detail::view(mcplink_login_authorization_server(raw_)); }
    std::string_view scopes() const noexcept { return detail::view(mcplink_login_scopes(raw_)); }
    bool is_over() const noexcept { return mcplink_login_is_over(raw_); }
    template <class F> result<void> on_over(F callback)
    {
        auto owned = std::make_unique<F>(std::move(callback));
        auto run = [](void *user) noexcept { (*static_cast<F *>(user))(); };
        return detail::told(mcplink_login_on_over(raw_, run, owned.release(), detail::destroy<F>));
    }
    /* Any URL that a browser came to: the answer is told from others, which are MCPLINK_E_INVALID. */
    result<void> answer(std::string_view url) { return detail::told(mcplink_login_answer(raw_, url.data(), url.size())); }
    result<void> refuse(const char *why = nullptr) { return detail::told(mcplink_login_refuse(raw_, why)); }
    mcplink_login_t *get() const noexcept { return raw_; }

private:
    mcplink_login_t *raw_;
};

/* A login that outlives the function that got it. The last one that goes unanswered gives it up. */
class kept_login {
public:
    explicit kept_login(const login &borrowed) : owned_(mcplink_login_keep(borrowed.get())) {}
    login operator*() const noexcept { return login(owned_.get()); }

private:
    detail::owner<mcplink_login_t, mcplink_login_free> owned_;
};

/* How tokens are come by: by default a person logs in, in the system's browser. */
class oauth : public detail::described<oauth> {
public:
    oauth() : owned_(mcplink_oauth_new()) {}
    oauth &client_name(const char *name, const char *page = nullptr) noexcept
    {
        return note(mcplink_oauth_set_client_name(get(), name, page), "oauth::client_name was refused");
    }
    oauth &client_document(const char *url) noexcept
    {
        return note(mcplink_oauth_set_client_document(get(), url), "oauth::client_document was refused");
    }
    /* A client that was registered beforehand, with a secret if it has one. */
    oauth &client(const char *issuer, const char *client_id, const char *secret = nullptr) noexcept
    {
        detail::owner<mcplink_oauth_client_t, mcplink_oauth_client_free> client(mcplink_oauth_client_new(issuer, client_id));
        mcplink_oauth_client_set_secret(client.get(), secret);
        return note(mcplink_oauth_add_client(get(), client.get()), "oauth::client was refused");
    }
    oauth &client_credentials() noexcept { return note(mcplink_oauth_set_client_credentials(get()), "oauth::client_credentials was refused"); }
    oauth &scopes(const char *scopes) noexcept { return note(mcplink_oauth_set_scopes(get(), scopes), "oauth::scopes was refused"); }
    /* The text of the certificates of a company's own authorities, as PEM, for authorization servers and the metadata of the server. */
    oauth &root_certificates(std::string_view pem) noexcept
    {
        return note(mcplink_oauth_set_root_certificates(get(), pem.data() ? pem.data() : "", pem.size()), "oauth::root_certificates was refused");
    }
    oauth &store_folder(const char *folder) noexcept
    {
        return note(mcplink_oauth_set_store_folder(get(), folder), "oauth::store_folder was refused");
    }
    /* callback(login &): a way of the host's own to show a page and see where it leads. What it throws gives the login up. */
    template <class F> oauth &visitor(const char *redirect_uri, F callback)
    {
        auto owned = std::make_unique<F>(std::move(callback));
        auto run = [](void *user, mcplink_login_t *raw) noexcept {
            login asked(raw);
#ifdef MCPLINK_EXCEPTIONS
            try {
                (*static_cast<F *>(user))(asked);
            } catch (...) {
                mcplink_login_refuse(raw, nullptr);
            }
#else
            (*static_cast<F *>(user))(asked);
#endif
        };
        return note(mcplink_oauth_set_visitor(get(), redirect_uri, run, owned.release(), detail::destroy<F>), "oauth::visitor was refused");
    }
    result<void> forget(const char *url)
    {
        return detail::done([&](auto err) { return mcplink_oauth_forget(get(), url, err); });
    }
    mcplink_oauth_t *get() const noexcept { return owned_.get(); }

private:
    detail::owner<mcplink_oauth_t, mcplink_oauth_free> owned_;
};

/* How a client is made. Exactly one of command and url, or what the C functions offer beside them. */
class client_options : public detail::described<client_options> {
public:
    client_options() : owned_(mcplink_client_options_new()) {}
    client_options &command(std::initializer_list<const char *> argv)
    {
        std::vector<const char *> ended(argv);
        ended.push_back(nullptr);
        return note(mcplink_client_options_set_command(get(), ended.data()), "client_options::command was refused");
    }
    client_options &url(const char *url) noexcept { return note(mcplink_client_options_set_url(get(), url), "client_options::url was refused"); }
    client_options &header(const char *name, const char *value) noexcept
    {
        return note(mcplink_client_options_set_header(get(), name, value), "client_options::header was refused");
    }
    client_options &bearer(const char *token) noexcept
    {
        return note(mcplink_client_options_set_bearer(get(), token), "client_options::bearer was refused");
    }
    client_options &oauth_with(const oauth &oauth) noexcept
    {
        note(oauth.refused());
        return note(mcplink_client_options_set_oauth(get(), oauth.get()), "client_options::oauth_with was refused");
    }
    /* The text of the certificates of a company's own authorities, as PEM: whom to trust over HTTPS instead of Mozilla's list. */
    client_options &root_certificates(std::string_view pem) noexcept
    {
        return note(mcplink_client_options_set_root_certificates(get(), pem.data() ? pem.data() : "", pem.size()),
                    "client_options::root_certificates was refused");
    }
    client_options &env(const char *name, const char *value) noexcept
    {
        return note(mcplink_client_options_set_env(get(), name, value), "client_options::env was refused");
    }
    client_options &cwd(const char *folder) noexcept
    {
        return note(mcplink_client_options_set_cwd(get(), folder), "client_options::cwd was refused");
    }
    client_options &info(const char *name, const char *version) noexcept
    {
        return note(mcplink_client_options_set_info(get(), name, version), "client_options::info was refused");
    }
    client_options &timeout(milliseconds span) noexcept
    {
        return note(mcplink_client_options_set_timeout_ms(get(), detail::count(span)), "client_options::timeout was refused");
    }
    client_options &pump_with(const pump &pump) noexcept
    {
        return note(mcplink_client_options_set_pump(get(), pump.get()), "client_options::pump_with was refused");
    }
    /* callback(std::int32_t event, json_view params) */
    template <class F> client_options &on_event(F callback)
    {
        auto owned = std::make_unique<F>(std::move(callback));
        auto run = [](void *user, std::int32_t event, const mcplink_json_t *params) noexcept {
            (*static_cast<F *>(user))(event, json_view(params));
        };
        return note(mcplink_client_options_on_event(get(), run, owned.release(), detail::destroy<F>), "client_options::on_event was refused");
    }
    template <class F> client_options &on_elicit(F handler)
    {
        return ask(std::move(handler), mcplink_client_options_on_elicit);
    }
    template <class F> client_options &on_sample(F handler)
    {
        return ask(std::move(handler), mcplink_client_options_on_sample);
    }
    template <class F> client_options &on_roots(F handler)
    {
        return ask(std::move(handler), mcplink_client_options_on_roots);
    }
    mcplink_client_options_t *get() const noexcept { return owned_.get(); }

private:
    template <class F, class Set> client_options &ask(F handler, Set set)
    {
        auto status = detail::with_handler(std::move(handler), [&](auto run, void *user, auto end) { return set(get(), run, user, end); });
        return note(status, "a handler of client_options was refused");
    }
    detail::owner<mcplink_client_options_t, mcplink_client_options_free> owned_;
};

/* A call that goes on by itself. Freed, it goes on all the same. */
class call {
public:
    explicit call(mcplink_call_t *owned) noexcept : owned_(owned) {}
    bool is_done() const noexcept { return mcplink_call_is_done(get()); }
    void cancel(const char *reason = nullptr) noexcept { mcplink_call_cancel(get(), reason); }
    /* The outcome; an error whose status is MCPLINK_PENDING when it is not there in time. */
    result<call_result> wait(milliseconds timeout)
    {
        return detail::made<call_result, mcplink_result_t>([&](auto out, auto err) { return mcplink_call_wait(get(), detail::count(timeout), out, err); });
    }
    mcplink_call_t *get() const noexcept { return owned_.get(); }

private:
    detail::owner<mcplink_call_t, mcplink_call_free> owned_;
};

/* A connected client. Its functions may be called from any thread. */
class client {
public:
    explicit client(mcplink_client_t *owned) noexcept : owned_(owned) {}
    static result<client> open(const client_options &options)
    {
        if (!options.refused()) return options.refused().error();
        return detail::made<client, mcplink_client_t>([&](auto out, auto err) { return mcplink_client_open(options.get(), out, err); });
    }
    result<call_result> list_tools(const call_options *options = nullptr) { return call0(mcplink_client_list_tools, options); }
    result<call_result> list_resources(const call_options *options = nullptr) { return call0(mcplink_client_list_resources, options); }
    result<call_result> list_templates(const call_options *options = nullptr) { return call0(mcplink_client_list_templates, options); }
    result<call_result> list_prompts(const call_options *options = nullptr) { return call0(mcplink_client_list_prompts, options); }
    result<call_result> call_tool(const char *name, std::string_view arguments = "{}", const call_options *options = nullptr)
    {
        return call2(mcplink_client_call_tool, name, arguments, options);
    }
    result<call_result> get_prompt(const char *name, std::string_view arguments = "{}", const call_options *options = nullptr)
    {
        return call2(mcplink_client_get_prompt, name, arguments, options);
    }
    result<call_result> read_resource(const char *uri, const call_options *options = nullptr)
    {
        return detail::made<call_result, mcplink_result_t>(
            [&](auto out, auto err) { return mcplink_client_read_resource(get(), uri, raw(options), out, err); });
    }
    result<call_result> request(const char *method, std::string_view params = "{}", const call_options *options = nullptr)
    {
        return call2(mcplink_client_request, method, params, options);
    }
    /* done(mcplink_status_t, const mcplink_result_t *, const mcplink_error_t *) is called once, where the callbacks of the client run: with a result
       for MCPLINK_OK and MCPLINK_TOOL_ERROR, else with an error, both good until it returns. To own the outcome, wait() for it. */
    template <class F> result<call> call_tool_start(const char *name, std::string_view arguments, F done, const call_options *options = nullptr)
    {
        auto owned = std::make_unique<F>(std::move(done));
        auto run = [](void *user, mcplink_call_t *, mcplink_status_t status, const mcplink_result_t *result, const mcplink_error_t *err) noexcept {
            (*static_cast<F *>(user))(status, result, err);
        };
        return detail::made<call, mcplink_call_t>([&](auto out, auto err) {
            return mcplink_client_call_tool_start(get(), name, arguments.data(), arguments.size(), raw(options), run, owned.release(),
                                                  detail::destroy<F>, out, err);
        });
    }
    result<void> ping(const call_options *options = nullptr)
    {
        return detail::done([&](auto err) { return mcplink_client_ping(get(), raw(options), err); });
    }
    bool has(const char *capability) const noexcept { return mcplink_client_has(get(), capability); }
    std::string_view revision() const noexcept { return detail::view(mcplink_client_revision(get())); }
    result<void> close(milliseconds timeout)
    {
        return detail::done([&](auto err) { return mcplink_client_close(get(), detail::count(timeout), err); });
    }
    mcplink_client_t *get() const noexcept { return owned_.get(); }

private:
    static const mcplink_call_options_t *raw(const call_options *options) noexcept { return options ? options->get() : nullptr; }
    template <class C> result<call_result> call0(C function, const call_options *options)
    {
        return detail::made<call_result, mcplink_result_t>([&](auto out, auto err) { return function(get(), raw(options), out, err); });
    }
    template <class C> result<call_result> call2(C function, const char *name, std::string_view json, const call_options *options)
    {
        return detail::made<call_result, mcplink_result_t>(
            [&](auto out, auto err) { return function(get(), name, json.data(), json.size(), raw(options), out, err); });
    }
    detail::owner<mcplink_client_t, mcplink_client_free> owned_;
};

/* What a tool is called, and what it takes. */
class tool : public detail::described<tool> {
public:
    tool(const char *name, const char *description) : owned_(mcplink_tool_new(name, description)) {}
    tool &param(const char *name, std::int32_t type, std::uint32_t flags = 0, const char *description = nullptr) noexcept
    {
        return note(mcplink_tool_add_param(get(), name, type, flags, description), "tool::param was refused");
    }
    tool &input_schema(std::string_view schema) noexcept
    {
        return note(mcplink_tool_set_input_schema(get(), schema.data(), schema.size()), "tool::input_schema was refused");
    }
    tool &output_schema(std::string_view schema) noexcept
    {
        return note(mcplink_tool_set_output_schema(get(), schema.data(), schema.size()), "tool::output_schema was refused");
    }
    tool &title(const char *title) noexcept { return note(mcplink_tool_set_title(get(), title), "tool::title was refused"); }
    mcplink_tool_t *get() const noexcept { return owned_.get(); }

private:
    detail::owner<mcplink_tool_t, mcplink_tool_free> owned_;
};

/* Something to read, at an address of its own. */
class resource : public detail::described<resource> {
public:
    resource(const char *uri, const char *name) : owned_(mcplink_resource_new(uri, name)) {}
    resource &description(const char *text) noexcept
    {
        return note(mcplink_resource_set_description(get(), text), "resource::description was refused");
    }
    resource &mime_type(const char *type) noexcept { return note(mcplink_resource_set_mime_type(get(), type), "resource::mime_type was refused"); }
    mcplink_resource_t *get() const noexcept { return owned_.get(); }

private:
    detail::owner<mcplink_resource_t, mcplink_resource_free> owned_;
};

/* Resources whose addresses follow a template (RFC 6570). */
class resource_template : public detail::described<resource_template> {
public:
    resource_template(const char *uri_template, const char *name) : owned_(mcplink_template_new(uri_template, name)) {}
    resource_template &mime_type(const char *type) noexcept
    {
        return note(mcplink_template_set_mime_type(get(), type), "resource_template::mime_type was refused");
    }
    mcplink_template_t *get() const noexcept { return owned_.get(); }

private:
    detail::owner<mcplink_template_t, mcplink_template_free> owned_;
};

/* A prompt, and what it takes. */
class prompt : public detail::described<prompt> {
public:
    prompt(const char *name, const char *description) : owned_(mcplink_prompt_new(name, description)) {}
    prompt &argument(const char *name, std::uint32_t flags = 0, const char *description = nullptr) noexcept
    {
        return note(mcplink_prompt_add_argument(get(), name, flags, description), "prompt::argument was refused");
    }
    mcplink_prompt_t *get() const noexcept { return owned_.get(); }

private:
    detail::owner<mcplink_prompt_t, mcplink_prompt_free> owned_;
};

/* A server. Handlers are callables that take (const request &, responder &), and answer themselves or return the text of the answer. */
class server {
public:
    server(const char *name, const char *version) : owned_(mcplink_server_new(name, version)) {}
    explicit server(mcplink_server_t *owned) noexcept : owned_(owned) {}
    static result<server> make(const mcplink_server_options_t *options)
    {
        return detail::made<server, mcplink_server_t>([&](auto out, auto err) { return mcplink_server_new_with(options, out, err); });
    }
    template <class F> result<void> add_tool(const tool &tool, F handler) { return add(mcplink_server_add_tool, tool, std::move(handler)); }
    template <class F> result<void> add_resource(const resource &resource, F handler)
    {
        return add(mcplink_server_add_resource, resource, std::move(handler));
    }
    template <class F> result<void> add_template(const resource_template &resources, F handler)
    {
        return add(mcplink_server_add_template, resources, std::move(handler));
    }
    template <class F> result<void> add_prompt(const prompt &prompt, F handler)
    {
        return add(mcplink_server_add_prompt, prompt, std::move(handler));
    }
    result<void> remove_tool(const char *name) { return detail::told(mcplink_server_remove_tool(get(), name)); }
    /* of: one of enum mcplink_primitive. */
    result<void> require_scopes(std::int32_t of, const char *target, const char *scopes)
    {
        return detail::done([&](auto err) { return mcplink_server_require_scopes(get(), of, target, scopes, err); });
    }
    result<void> resource_updated(const char *uri) { return detail::told(mcplink_server_resource_updated(get(), uri)); }
    /* Serves until the input ends, or stop() is called. */
    result<void> serve_stdio()
    {
        return detail::done([&](auto err) { return mcplink_server_serve_stdio(get(), err); });
    }
    result<void> serve_fds(int input, int output)
    {
        return detail::done([&](auto err) { return mcplink_server_serve_fds(get(), input, output, err); });
    }
    void stop() noexcept { mcplink_server_stop(get()); }
    mcplink_server_t *get() const noexcept { return owned_.get(); }

private:
    template <class Add, class Definition, class F> result<void> add(Add function, const Definition &definition, F handler)
    {
        if (!definition.refused()) return definition.refused();
        return detail::done([&](auto err) {
            return detail::with_handler(std::move(handler),
                                        [&](auto run, void *user, auto end) { return function(get(), definition.get(), run, user, end, err); });
        });
    }
    detail::owner<mcplink_server_t, mcplink_server_free> owned_;
};

} // namespace mcplink

#endif
