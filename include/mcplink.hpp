/*
 * mcplink for C++17: move-only owners, string views and callables on top of mcplink.h.
 *
 * Everything here is inline and calls the C interface. The comments of the C functions describe
 * what a function does. An object's get() returns its C pointer, for C functions without a
 * counterpart in this header.
 *
 * Errors. A function that can fail returns a result<T>: a value or an error. With exceptions,
 * value() throws mcplink::exception. Without them (-fno-exceptions) it does not exist: check
 * has_value() first. Setters can be chained: an object remembers its first refused setter. A
 * function that takes the object then fails with that reason and does nothing else. Such an object
 * can't be repaired: make another one.
 *
 * Callbacks are callables of any type. nullptr, an empty std::function and a null function pointer
 * mean "none". A callable, name or text that restricts access or trust is required: if it is empty
 * (nullptr, "", an empty callable), the setter is refused, so restrictions never fail open. "None"
 * has a function of its own, such as http_options::clear_authenticate.
 *
 * Callbacks run on the threads that the C function documents, some on several at once. A callable
 * is destroyed exactly once, when the C interface calls its destroy function, also when the setter
 * is refused.
 *
 * Callbacks may throw. A tool_failure of a tool's handler is sent to the model; any other exception
 * of a handler becomes an internal error, and its text is logged for the host. An authentication
 * callback that throws answers with status 503, and a login callback that throws refuses the login.
 * A callback that provides a token, stores one or sends bytes has failed, as if it had returned
 * false. Exceptions of callbacks that only receive something (events, progress, log records,
 * outcomes) are dropped.
 *
 * Lifetimes. Owners are move-only and free what they own. A moved-from owner is refused like NULL.
 * Views (std::string_view, json_view, request, responder, login, http_request, http_head) are valid
 * as long as the object they came from; those of a callback until it returns.
 */
#ifndef MCPLINK_HPP
#define MCPLINK_HPP

#include <mcplink.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>
#if __cplusplus >= 202002L && defined(__has_include)
#if __has_include(<ranges>)
#include <ranges>
#endif
#endif

#if defined(__cpp_exceptions) || defined(__EXCEPTIONS) || defined(_CPPUNWIND)
#define MCPLINK_EXCEPTIONS 1
#include <exception>
#include <stdexcept>
#endif

/* Makes Clang warn of views that outlive their object, such as a stored
   call_tool(…).value().text(). */
#if defined(__has_cpp_attribute)
#if __has_cpp_attribute(clang::lifetimebound)
#define MCPLINK_LIFETIMEBOUND [[clang::lifetimebound]]
#endif
#endif
#ifndef MCPLINK_LIFETIMEBOUND
#define MCPLINK_LIFETIMEBOUND
#endif

namespace mcplink {

using milliseconds = std::chrono::milliseconds;

namespace detail {

inline std::string_view view(mcplink_str_t text) noexcept { return {text.ptr, text.len}; }

/* Converts to milliseconds of the C interface; longer times become the longest possible one. */
inline std::uint32_t count(milliseconds span) noexcept
{
    constexpr auto most = std::numeric_limits<std::uint32_t>::max();
    return span.count() < 0 ? 0 : span.count() > most ? most : static_cast<std::uint32_t>(span.count());
}

/* As count, for C functions with 64-bit times. */
inline std::uint64_t long_count(milliseconds span) noexcept { return span.count() < 0 ? 0 : static_cast<std::uint64_t>(span.count()); }

/* A deleter that calls the C free function of the type. */
template <auto Free> struct freed_by {
    template <class T> void operator()(T *object) const noexcept { Free(object); }
};
template <class T, auto Free> using owner = std::unique_ptr<T, freed_by<Free>>;

/* Accepts integers, and enumerations that convert to an index. */
template <class T> using if_index = std::enable_if_t<std::is_convertible_v<T, std::size_t> && (std::is_integral_v<T> || std::is_enum_v<T>), bool>;

/* True if a callable can be empty: nullptr, a null pointer, an empty std::function or similar. */
template <class F, class = void> struct may_be_none : std::false_type {};
template <class F>
struct may_be_none<F, std::void_t<decltype(static_cast<bool>(std::declval<const F &>() == nullptr))>> : std::is_convertible<std::nullptr_t, F> {};
template <class F> bool is_none(const F &callable) noexcept
{
    if constexpr (may_be_none<F>::value) {
        return callable == nullptr;
    } else {
        static_cast<void>(callable);
        return false;
    }
}

/* Passes callables to a C function: enlist(callback of type Fn for each, user, destroy) returns
   its status. Defined below. */
template <class... Fn, class Register, class... F> mcplink_status_t hand_over(Register enlist, F... callables);

} // namespace detail

/* An error: which part failed, and what to do about it. */
class error {
public:
    error() noexcept = default;
    explicit error(mcplink_error_t *owned) noexcept : owned_(owned), status_(mcplink_error_status(owned)) {}
    /* For functions that return only a status; text must be a static string. */
    explicit error(mcplink_status_t status, const char *text = nullptr) noexcept : status_(status), text_(text) {}

    mcplink_status_t status() const noexcept { return status_; }
    std::string_view message() const noexcept MCPLINK_LIFETIMEBOUND
    {
        return owned_ ? mcplink_error_message(get()) : text_ ? text_ : mcplink_status_name(status_);
    }
    std::string_view method() const noexcept MCPLINK_LIFETIMEBOUND { return detail::view(mcplink_error_method(get())); }
    std::int64_t rpc_code() const noexcept { return mcplink_error_rpc_code(get()); }
    std::string_view data() const noexcept MCPLINK_LIFETIMEBOUND { return detail::view(mcplink_error_data(get())); }
    int os_code() const noexcept { return mcplink_error_os_code(get()); }
    int http_status() const noexcept { return mcplink_error_http_status(get()); }
    std::string_view http_challenge() const noexcept MCPLINK_LIFETIMEBOUND { return detail::view(mcplink_error_http_challenge(get())); }
    std::string_view oauth_code() const noexcept MCPLINK_LIFETIMEBOUND { return detail::view(mcplink_error_oauth_code(get())); }
    std::string_view peer_stderr() const noexcept MCPLINK_LIFETIMEBOUND { return detail::view(mcplink_error_peer_stderr(get())); }
    bool is_retryable() const noexcept { return mcplink_error_is_retryable(get()); }
    bool was_sent() const noexcept { return mcplink_error_was_sent(get()); }
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
/* An error, as an exception. */
class exception : public std::exception {
public:
    explicit exception(mcplink::error error) : error_(std::move(error)) {}
    const char *what() const noexcept override { return error_.message().data(); }
    const mcplink::error &error() const noexcept MCPLINK_LIFETIMEBOUND { return error_; }

private:
    mcplink::error error_;
};

/* Thrown by the handler of a tool: the tool failed, and the model may read the reason. */
class tool_failure : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};
#endif

/* A value, or an error. */
template <class T> class [[nodiscard]] result {
public:
    result(T value) : content_(std::in_place_index<0>, std::move(value)) {}
    result(mcplink::error error) : content_(std::in_place_index<1>, std::move(error)) {}

    bool has_value() const noexcept { return content_.index() == 0; }
    explicit operator bool() const noexcept { return has_value(); }
    /* Access to the value. If there is an error instead, the access throws mcplink::exception, as
       value() does. In builds without exceptions the access aborts the program. */
    T &operator*() & { return *checked(this); }
    const T &operator*() const & { return *checked(this); }
    T &&operator*() && { return std::move(*checked(this)); }
    T *operator->() MCPLINK_LIFETIMEBOUND { return checked(this); }
    const T *operator->() const MCPLINK_LIFETIMEBOUND { return checked(this); }
    /* The error. Its status is MCPLINK_OK if there is a value. */
    const mcplink::error &error() const noexcept MCPLINK_LIFETIMEBOUND
    {
        static const mcplink::error none;
        const auto *failed = std::get_if<1>(&content_);
        return failed ? *failed : none;
    }
#ifdef MCPLINK_EXCEPTIONS
    /* Returns the value; throws mcplink::exception on an error. */
    T value() && { return std::move(**this); }
    T &value() & { return **this; }
    const T &value() const & { return **this; }
#endif

private:
    template <class Self> static auto checked(Self *self) -> decltype(std::get_if<0>(&self->content_))
    {
        auto *there = std::get_if<0>(&self->content_);
        if (!there) {
#ifdef MCPLINK_EXCEPTIONS
            throw exception(self->error());
#else
            std::abort();
#endif
        }
        return there;
    }
    std::variant<T, mcplink::error> content_;
};

template <> class [[nodiscard]] result<void> {
public:
    result() noexcept = default;
    result(mcplink::error error) : error_(std::move(error)) {}

    bool has_value() const noexcept { return error_.status() >= 0; }
    explicit operator bool() const noexcept { return has_value(); }
    const mcplink::error &error() const noexcept MCPLINK_LIFETIMEBOUND { return error_; }
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

/* Runs a C function that returns an object, and wraps the object. */
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

/* The base of objects with chained setters. The first refused setter is reported by the function
   that takes the object. */
template <class Object> class described {
public:
    described() noexcept = default;
    /* A moved-from object is refused. In C, NULL would often mean the defaults, which accept all
       clients. */
    described(described &&other) noexcept : known_here_(other.known_here_), refused_(other.leave()) {}
    described &operator=(described &&other) noexcept
    {
        if (this != &other) {
            known_here_ = other.known_here_;
            refused_ = other.leave();
        }
        return *this;
    }
    /* The error of the first refused setter, if any. */
    const result<void> &refused() const noexcept { return refused_; }
    /* A refusal that the C object does not know about. A refusal that it knows is reported, with
       the reason, by the C function that takes the object. */
    result<void> unknown_to_c() const { return known_here_ ? refused_ : result<void>(); }

protected:
    /* Refuses a missing value, so that it does not count as "none". */
    void need(bool there, const char *what) noexcept
    {
        if (there) return;
        known_here_ = true;
        note(MCPLINK_E_INVALID, what);
    }
    /* As above, for an object that is passed to another one. */
    template <class Other> void need(const described<Other> &other) noexcept
    {
        if (auto unknown = other.unknown_to_c(); !unknown) {
            known_here_ = true;
            note(unknown);
        }
    }
    Object &note(mcplink_status_t status, const char *what) noexcept
    {
        if (status < 0 && refused_) refused_ = error(status, what);
        return static_cast<Object &>(*this);
    }
    /* Passes callables to a C function without other parameters. */
    template <class... Fn, class Set, class... F> Object &with(const char *what, Set set, F... callables)
    {
        auto *object = static_cast<Object &>(*this).get();
        return note(hand_over<Fn...>([&](auto... c) { return set(object, c...); }, std::move(callables)...), what);
    }
    Object &note(const result<void> &others) noexcept
    {
        if (!others && refused_) refused_ = others;
        return static_cast<Object &>(*this);
    }

private:
    result<void> leave() noexcept
    {
        known_here_ = true;
        return std::exchange(refused_, error(MCPLINK_E_INVALID, "this was moved from"));
    }
    bool known_here_ = false;
    result<void> refused_;
};

} // namespace detail

/* A borrowed JSON value. Missing values give neutral results, so chains need no checks. */
class json_view {
public:
    json_view() noexcept = default;
    explicit json_view(const mcplink_json_t *node) noexcept : node_(node) {}

    json_view operator[](const char *key) const noexcept { return json_view(mcplink_json_get(node_, key)); }
    /* Accepts any index type, and a literal 0, which is no null pointer here. An index out of
       range gives a missing value. */
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
    std::string_view key_at(std::size_t index) const noexcept { return detail::view(mcplink_json_key_at(node_, index)); }
    std::size_t size() const noexcept { return mcplink_json_len(node_); }
    mcplink_json_type type() const noexcept { return mcplink_json_type_of(node_); }
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

    /* Ranges: for (json_view item : view) visits the items of an array, or the values of an object;
       for (auto [key, value] : view.members()) visits the members of an object. Other values are
       empty ranges. In C++20 both are borrowed views with forward iterators: view | std::views::…
       works. */
    class iterator;
    class member_range;
    iterator begin() const noexcept;
    iterator end() const noexcept;
    member_range members() const noexcept;

private:
    const mcplink_json_t *node_ = nullptr;
};

namespace detail {

/* The base of iterators over the items of a value; Item is made of the value and an index. For C++17
   they are input iterators, since they return items by value. */
template <class Iterator, class Item, Item (*At)(const json_view &, std::size_t)> class json_iterator {
public:
    using iterator_category = std::input_iterator_tag;
#ifdef __cpp_lib_ranges
    using iterator_concept = std::forward_iterator_tag;
#endif
    using value_type = Item;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = Item;
    json_iterator() noexcept = default;
    json_iterator(json_view all, std::size_t index) noexcept : all_(all), index_(index) {}
    Item operator*() const noexcept { return At(all_, index_); }
    Iterator &operator++() noexcept { return ++index_, static_cast<Iterator &>(*this); }
    Iterator operator++(int) noexcept { return Iterator(all_, index_++); }
    friend bool operator==(const Iterator &left, const Iterator &right) noexcept
    {
        return left.all_.get() == right.all_.get() && left.index_ == right.index_;
    }
    friend bool operator!=(const Iterator &left, const Iterator &right) noexcept { return !(left == right); }

private:
    json_view all_;
    std::size_t index_ = 0;
};
/* A string has a length, but no items. */
inline std::size_t items_of(const json_view &all) noexcept
{
    return all.type() == MCPLINK_JSON_ARRAY || all.type() == MCPLINK_JSON_OBJECT ? all.size() : 0;
}
inline json_view item_at(const json_view &all, std::size_t index) { return all[index]; }
inline std::pair<std::string_view, json_view> member_at(const json_view &all, std::size_t index) { return {all.key_at(index), all[index]}; }

} // namespace detail

class json_view::iterator : public detail::json_iterator<json_view::iterator, json_view, detail::item_at> {
public:
    using json_iterator::json_iterator;
};
class json_view::member_range {
public:
    class iterator : public detail::json_iterator<iterator, std::pair<std::string_view, json_view>, detail::member_at> {
    public:
        using json_iterator::json_iterator;
    };
    member_range() noexcept = default;
    explicit member_range(json_view all) noexcept : all_(all) {}
    iterator begin() const noexcept { return {all_, 0}; }
    iterator end() const noexcept { return {all_, all_.type() == MCPLINK_JSON_OBJECT ? all_.size() : 0}; }

private:
    json_view all_;
};
inline json_view::iterator json_view::begin() const noexcept { return {*this, 0}; }
inline json_view::iterator json_view::end() const noexcept { return {*this, detail::items_of(*this)}; }
inline json_view::member_range json_view::members() const noexcept { return member_range(*this); }

} // namespace mcplink

#ifdef __cpp_lib_ranges
template <> inline constexpr bool std::ranges::enable_view<mcplink::json_view> = true;
template <> inline constexpr bool std::ranges::enable_view<mcplink::json_view::member_range> = true;
template <> inline constexpr bool std::ranges::enable_borrowed_range<mcplink::json_view> = true;
template <> inline constexpr bool std::ranges::enable_borrowed_range<mcplink::json_view::member_range> = true;
#endif

namespace mcplink {

/* A JSON document. */
class json {
public:
    explicit json(mcplink_json_t *owned) noexcept : owned_(owned) {}
    static result<json> parse(std::string_view text)
    {
        return detail::made<json, mcplink_json_t>([&](auto out, auto err) { return mcplink_json_parse(text.data(), text.size(), out, err); });
    }
    json_view view() const noexcept MCPLINK_LIFETIMEBOUND { return json_view(get()); }
    const mcplink_json_t *get() const noexcept { return owned_.get(); }
    template <class Key> json_view operator[](Key key) const noexcept MCPLINK_LIFETIMEBOUND { return view()[key]; }
    json_view::iterator begin() const noexcept { return view().begin(); }
    json_view::iterator end() const noexcept { return view().end(); }

private:
    detail::owner<mcplink_json_t, mcplink_json_free> owned_;
};

namespace detail {

/* Returns the document that a C function makes of an object. */
template <class Object, class C> result<json> shown(const Object *object, C function)
{
    return made<json, mcplink_json_t>([&](auto out, auto err) { return function(object, out, err); });
}

} // namespace detail

/* A JSON writer. Errors are remembered; finish() returns the first one. */
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
        return mcplink_writer_bytes(get(), data, size), *this;
    }
    /* The text, valid until the writer is used again. */
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

/* A question to the user, with fields to fill in: see responder::elicit. */
class form : public detail::described<form> {
public:
    explicit form(const char *message) : owned_(mcplink_form_new(message)) { need(owned_ != nullptr, "form: its message was refused"); }
    form &field(const char *name, mcplink_param_type type, mcplink_param_flag flag = MCPLINK_PARAM_OPTIONAL, const char *description = nullptr) noexcept
    {
        return note(mcplink_form_add_field(get(), name, type, flag, description), "form::field was refused");
    }
    form &field_schema(const char *name, mcplink_param_flag flag, std::string_view schema) noexcept
    {
        return note(mcplink_form_add_field_schema(get(), name, flag, schema.data(), schema.size()), "form::field_schema was refused");
    }
    form &integer(const char *name, mcplink_param_flag flag = MCPLINK_PARAM_OPTIONAL, const char *description = nullptr,
                  std::int64_t min = std::numeric_limits<std::int64_t>::min(), std::int64_t max = std::numeric_limits<std::int64_t>::max()) noexcept
    {
        return note(mcplink_form_add_integer(get(), name, flag, min, max, description), "form::integer was refused");
    }
    form &number(const char *name, mcplink_param_flag flag = MCPLINK_PARAM_OPTIONAL, const char *description = nullptr, double min = -std::numeric_limits<double>::infinity(),
                 double max = std::numeric_limits<double>::infinity()) noexcept
    {
        return note(mcplink_form_add_number(get(), name, flag, min, max, description), "form::number was refused");
    }
    form &choice(const char *name, mcplink_param_flag flag, const std::vector<const char *> &values, const char *description = nullptr) noexcept
    {
        return note(mcplink_form_add_choice(get(), name, flag, values.data(), values.size(), description), "form::choice was refused");
    }
    form &choices(const char *name, mcplink_param_flag flag, const std::vector<const char *> &values, const char *description = nullptr,
                  std::size_t min_items = 0, std::size_t max_items = std::numeric_limits<std::size_t>::max()) noexcept
    {
        return note(mcplink_form_add_choices(get(), name, flag, values.data(), values.size(), min_items, max_items, description), "form::choices was refused");
    }
    /* Sets the default of a field that was added before; the default is JSON text. */
    form &default_value(const char *name, std::string_view json) noexcept
    {
        return note(mcplink_form_set_default_value(get(), name, json.data(), json.size()), "form::default_value was refused");
    }
    mcplink_form_t *get() const noexcept { return owned_.get(); }

private:
    detail::owner<mcplink_form_t, mcplink_form_free> owned_;
};

/* A request that a handler answers. */
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
    /* For a completion: the text typed so far of the argument name(). */
    std::string_view value() const noexcept { return detail::view(mcplink_request_value(raw_)); }
    /* The session number, as session::number(). */
    std::uint64_t session() const noexcept { return mcplink_request_session(raw_); }
    /* The tag of the client's call that needs the input; 0 without one. */
    std::uint64_t tag() const noexcept { return mcplink_request_tag(raw_); }
    std::int64_t expiry() const noexcept { return mcplink_request_expiry(raw_); }
    json_view client_info() const noexcept { return json_view(mcplink_request_client_info(raw_)); }
    json_view capabilities() const noexcept { return json_view(mcplink_request_capabilities(raw_)); }
    const mcplink_request_t *get() const noexcept { return raw_; }

private:
    const mcplink_request_t *raw_;
};

class kept_responder;

/* The right to answer a request, which the handler borrows until it returns. To answer later,
   keep() it. */
class responder {
public:
    explicit responder(mcplink_responder_t *raw) noexcept : raw_(raw) {}

    bool is_cancelled() const noexcept { return mcplink_responder_is_cancelled(raw_); }
    result<void> progress(double done, double total = 0, const char *message = nullptr)
    {
        return detail::told(mcplink_responder_progress(raw_, done, total, message));
    }
    result<void> log(mcplink_log_level level, std::string_view text)
    {
        return detail::told(mcplink_responder_log(raw_, level, text.data(), text.size()));
    }
    /* True if these scopes were granted. If false, the request was answered with the refusal:
       return. */
    bool require_scopes(const char *scopes) { return mcplink_responder_require_scopes(raw_, scopes) == MCPLINK_OK; }
    /* The answer to an input request. Empty while it is pending: return then, and the handler is
       run again. */
    result<std::optional<json_view>> ask(const char *key, const char *method, std::string_view params)
    {
        const mcplink_json_t *answer = nullptr;
        mcplink_error_t *failed = nullptr;
        auto status = mcplink_responder_ask(raw_, key, method, params.data(), params.size(), &answer, &failed);
        if (status < 0) return failed ? error(failed) : error(status);
        return status == MCPLINK_PENDING ? std::nullopt : std::optional(json_view(answer));
    }
    /* Whether the user agreed. Empty while the answer is pending: return then, and the handler is
       run again. */
    result<std::optional<bool>> confirm(const char *key, const char *message)
    {
        bool accepted = false;
        mcplink_error_t *failed = nullptr;
        auto status = mcplink_responder_confirm(raw_, key, message, &accepted, &failed);
        if (status < 0) return failed ? error(failed) : error(status);
        return status == MCPLINK_PENDING ? std::nullopt : std::optional(accepted);
    }
    /* The content of the form, missing if the user declined or dismissed the form. Empty while the
       answer is pending: return then, and the handler is run again. */
    result<std::optional<json_view>> elicit(const char *key, const form &form)
    {
        const mcplink_json_t *content = nullptr;
        mcplink_error_t *failed = nullptr;
        if (auto unknown = form.unknown_to_c(); !unknown) return unknown.error();
        auto status = mcplink_responder_elicit(raw_, key, form.get(), &content, &failed);
        if (status < 0) return failed ? error(failed) : error(status);
        return status == MCPLINK_PENDING ? std::nullopt : std::optional(json_view(content));
    }
    result<void> remember(const char *key, std::string_view json)
    {
        return detail::told(mcplink_responder_remember(raw_, key, json.data(), json.size()));
    }
    json_view recall(const char *key) const noexcept { return json_view(mcplink_responder_recall(raw_, key)); }
    template <class F> result<void> on_cancel(F callback)
    {
        return detail::told(
            detail::hand_over<mcplink_notify_fn>([&](auto... c) { return mcplink_responder_on_cancel(raw_, c...); }, std::move(callback)));
    }

    /* True if the call became a task: return then, and the handler is run again. */
    result<bool> become_task()
    {
        mcplink_error_t *failed = nullptr;
        auto status = mcplink_responder_become_task(raw_, &failed);
        if (status < 0) return failed ? error(failed) : error(status);
        return status == MCPLINK_PENDING;
    }
    result<void> notify(const char *method, std::string_view params = "{}")
    {
        return detail::told(mcplink_responder_notify(raw_, method, params.data(), params.size()));
    }
    /* True if the client has declared the extension. If false, the request was answered with the
       refusal: return. */
    bool require_extension(const char *id) { return mcplink_responder_require_extension(raw_, id) == MCPLINK_OK; }
    result<void> close_stream_and_retry(milliseconds retry) { return detail::told(mcplink_responder_close_stream_and_retry(raw_, detail::count(retry))); }

    result<void> text(std::string_view text) { return detail::told(mcplink_responder_text(raw_, text.data(), text.size())); }
    result<void> json(std::string_view whole) { return detail::told(mcplink_responder_json(raw_, whole.data(), whole.size())); }
    result<void> structured(std::string_view json) { return detail::told(mcplink_responder_structured(raw_, json.data(), json.size())); }
    result<void> tool_error(std::string_view text) { return detail::told(mcplink_responder_tool_error(raw_, text.data(), text.size())); }
    result<void> bytes(const void *data, std::size_t size, const char *mime_type = nullptr)
    {
        return detail::told(mcplink_responder_bytes(raw_, data, size, mime_type));
    }
    /* These functions add content blocks to the answer of a tool call. Then send() sends the
       answer. If a block was refused, send() returns its error. */
    responder &add_text(std::string_view text) { return mcplink_responder_add_text(raw_, text.data(), text.size()), *this; }
    responder &add_bytes(const void *data, std::size_t size, const char *mime_type)
    {
        return mcplink_responder_add_bytes(raw_, data, size, mime_type), *this;
    }
    responder &add_json(std::string_view block) { return mcplink_responder_add_json(raw_, block.data(), block.size()), *this; }
    result<void> send() { return detail::told(mcplink_responder_send(raw_)); }
    result<void> typed_text(std::string_view text, const char *mime_type)
    {
        return detail::told(mcplink_responder_typed_text(raw_, text.data(), text.size(), mime_type));
    }
    /* Answers a completion. fitting: true to leave out values that do not match the typed text. */
    result<void> values(const std::vector<std::string> &values, bool fitting = true)
    {
        std::vector<const char *> texts;
        for (const auto &value : values) texts.push_back(value.c_str());
        return detail::told(mcplink_responder_values(raw_, texts.data(), texts.size(), fitting));
    }
    result<void> not_found() { return detail::told(mcplink_responder_not_found(raw_)); }
    result<void> fail(std::int32_t code, const char *message, const char *data = nullptr)
    {
        return detail::told(mcplink_responder_fail(raw_, code, message, data));
    }
    /* Answers "internal error". The reason is logged for the host, and not sent. */
    result<void> internal_error(std::string_view reason)
    {
        return detail::told(mcplink_responder_internal_error(raw_, reason.data(), reason.size()));
    }
    /* A responder that may outlive the handler, to answer later. */
    kept_responder keep() const;
    mcplink_responder_t *get() const noexcept { return raw_; }

private:
    mcplink_responder_t *raw_;
};

/* A responder that outlives its handler. Destroying the last one without an answer answers with
   an error. */
class kept_responder {
public:
    explicit kept_responder(const responder &borrowed) : owned_(mcplink_responder_keep(borrowed.get())) {}
    responder operator*() const noexcept { return responder(get()); }
    mcplink::request request() const noexcept { return mcplink::request(mcplink_responder_request(get())); }
    mcplink_responder_t *get() const noexcept { return owned_.get(); }

private:
    detail::owner<mcplink_responder_t, mcplink_responder_free> owned_;
};

inline kept_responder responder::keep() const { return kept_responder(*this); }

class kept_login;

/* A pending login, which the callback borrows until it returns. To answer later, keep() it. */
class login {
public:
    explicit login(mcplink_login_t *raw) noexcept : raw_(raw) {}
    std::string_view url() const noexcept { return detail::view(mcplink_login_url(raw_)); }
    std::string_view server() const noexcept { return detail::view(mcplink_login_server(raw_)); }
    std::string_view authorization_server() const noexcept { return detail::view(mcplink_login_authorization_server(raw_)); }
    std::string_view scopes() const noexcept { return detail::view(mcplink_login_scopes(raw_)); }
    bool is_done() const noexcept { return mcplink_login_is_done(raw_); }
    template <class F> result<void> on_done(F callback)
    {
        return detail::told(
            detail::hand_over<mcplink_notify_fn>([&](auto... c) { return mcplink_login_on_done(raw_, c...); }, std::move(callback)));
    }
    /* Accepts any URL that the browser visits. URLs that are not the answer give
       MCPLINK_E_INVALID. */
    result<void> answer(std::string_view url) { return detail::told(mcplink_login_answer(raw_, url.data(), url.size())); }
    result<void> refuse(const char *why = nullptr) { return detail::told(mcplink_login_refuse(raw_, why)); }
    /* A login that may outlive the callback, to answer later. */
    kept_login keep() const;
    mcplink_login_t *get() const noexcept { return raw_; }

private:
    mcplink_login_t *raw_;
};

/* A login that outlives its callback. Destroying the last one without an answer refuses the
   login. */
class kept_login {
public:
    explicit kept_login(const login &borrowed) : owned_(mcplink_login_keep(borrowed.get())) {}
    login operator*() const noexcept { return login(get()); }
    mcplink_login_t *get() const noexcept { return owned_.get(); }

private:
    detail::owner<mcplink_login_t, mcplink_login_free> owned_;
};

inline kept_login login::keep() const { return kept_login(*this); }

class kept_fetch;

/* An HTTP request that the host sends, and its response. The callback borrows it until it returns;
   keep() lets the response be written later. */
class fetch {
public:
    explicit fetch(mcplink_fetch_t *raw) noexcept : raw_(raw) {}
    std::string_view method() const noexcept { return detail::view(mcplink_fetch_method(raw_)); }
    std::string_view url() const noexcept { return detail::view(mcplink_fetch_url(raw_)); }
    std::size_t header_count() const noexcept { return mcplink_fetch_header_count(raw_); }
    std::string_view header_name(std::size_t index) const noexcept { return detail::view(mcplink_fetch_header_name(raw_, index)); }
    std::string_view header_value(std::size_t index) const noexcept { return detail::view(mcplink_fetch_header_value(raw_, index)); }
    std::string_view body() const noexcept { return detail::view(mcplink_fetch_body(raw_)); }
    milliseconds timeout() const noexcept { return milliseconds(mcplink_fetch_timeout_ms(raw_)); }
    bool allows_address(const char *address) const noexcept { return mcplink_fetch_allows_address(raw_, address); }
    bool is_cancelled() const noexcept { return mcplink_fetch_is_cancelled(raw_); }
    template <class F> result<void> on_cancel(F callback)
    {
        return detail::told(
            detail::hand_over<mcplink_notify_fn>([&](auto... c) { return mcplink_fetch_on_cancel(raw_, c...); }, std::move(callback)));
    }
    result<void> header(const char *field, std::string_view value)
    {
        return detail::told(mcplink_fetch_add_header(raw_, field, value.data(), value.size()));
    }
    result<void> begin(std::int32_t status) { return detail::told(mcplink_fetch_begin(raw_, status)); }
    /* An error (MCPLINK_E_CLOSED) means that nobody needs the rest. */
    result<void> write(std::string_view bytes) { return detail::told(mcplink_fetch_write(raw_, bytes.data(), bytes.size())); }
    result<void> end() { return detail::told(mcplink_fetch_end(raw_)); }
    result<void> fail(const char *why, bool was_sent) { return detail::told(mcplink_fetch_fail(raw_, why, was_sent)); }
    kept_fetch keep() const;
    mcplink_fetch_t *get() const noexcept { return raw_; }

private:
    mcplink_fetch_t *raw_;
};

/* A fetch that outlives its callback. Destroying the last one before the end of the response fails
   the request. */
class kept_fetch {
public:
    explicit kept_fetch(const fetch &borrowed) : owned_(mcplink_fetch_keep(borrowed.get())) {}
    fetch operator*() const noexcept { return fetch(get()); }
    mcplink_fetch_t *get() const noexcept { return owned_.get(); }

private:
    detail::owner<mcplink_fetch_t, mcplink_fetch_free> owned_;
};

inline kept_fetch fetch::keep() const { return kept_fetch(*this); }

/* An HTTP request to be authenticated, which the callback borrows until it returns. The last
   verdict counts. */
class http_request {
public:
    explicit http_request(mcplink_http_request_t *raw) noexcept : raw_(raw) {}
    std::string_view method() const noexcept { return detail::view(mcplink_http_request_method(raw_)); }
    std::string_view target() const noexcept { return detail::view(mcplink_http_request_target(raw_)); }
    std::string_view header(const char *field) const noexcept { return detail::view(mcplink_http_request_header(raw_, field)); }
    std::string_view remote() const noexcept { return detail::view(mcplink_http_request_remote(raw_)); }
    std::string_view token() const noexcept { return detail::view(mcplink_http_request_token(raw_)); }
    result<void> admit(const char *principal) { return detail::told(mcplink_http_request_admit(raw_, principal)); }
    result<void> set_scopes(const char *scopes) { return detail::told(mcplink_http_request_set_scopes(raw_, scopes)); }
    result<void> set_expiry(std::chrono::system_clock::time_point end)
    {
        const auto since_1970 = std::chrono::duration_cast<std::chrono::seconds>(end.time_since_epoch());
        return detail::told(mcplink_http_request_set_expiry(raw_, since_1970.count()));
    }
    result<void> add_audience(const char *audience) { return detail::told(mcplink_http_request_add_audience(raw_, audience)); }
    result<void> bind_key(const char *thumbprint) { return detail::told(mcplink_http_request_bind_key(raw_, thumbprint)); }
    result<void> invalid_token(const char *why) { return detail::told(mcplink_http_request_invalid_token(raw_, why)); }
    result<void> insufficient_scope(const char *scopes) { return detail::told(mcplink_http_request_insufficient_scope(raw_, scopes)); }
    result<void> unavailable(const char *why) { return detail::told(mcplink_http_request_unavailable(raw_, why)); }
    result<void> challenge(const char *challenge) { return detail::told(mcplink_http_request_challenge(raw_, challenge)); }
    mcplink_http_request_t *get() const noexcept { return raw_; }

private:
    mcplink_http_request_t *raw_;
};

/* A request about which a guard decides, which the guard borrows until it returns. */
class guarded_request {
public:
    explicit guarded_request(mcplink_guarded_request_t *raw) noexcept : raw_(raw) {}
    std::string_view method() const noexcept { return detail::view(mcplink_guarded_request_method(raw_)); }
    json_view params() const noexcept { return json_view(mcplink_guarded_request_params(raw_)); }
    mcplink_primitive primitive() const noexcept { return mcplink_guarded_request_primitive(raw_); }
    /* The name, URI or URI template of the entry. */
    std::string_view target() const noexcept { return detail::view(mcplink_guarded_request_target(raw_)); }
    std::string_view principal() const noexcept { return detail::view(mcplink_guarded_request_principal(raw_)); }
    bool has_scope(const char *scope) const noexcept { return mcplink_guarded_request_has_scope(raw_, scope); }
    std::uint64_t session() const noexcept { return mcplink_guarded_request_session(raw_); }
    result<void> require_scopes(const char *scopes) { return detail::told(mcplink_guarded_request_require_scopes(raw_, scopes)); }
    result<void> refuse(std::int32_t code, const char *message) { return detail::told(mcplink_guarded_request_refuse(raw_, code, message)); }
    mcplink_guarded_request_t *get() const noexcept { return raw_; }

private:
    mcplink_guarded_request_t *raw_;
};

/* Text or bytes that a callback gives, which the callback borrows until it returns. */
class output {
public:
    explicit output(mcplink_output_t *raw) noexcept : raw_(raw) {}
    result<void> set(std::string_view bytes) { return detail::told(mcplink_output_set(raw_, bytes.data(), bytes.size())); }
    mcplink_output_t *get() const noexcept { return raw_; }

private:
    mcplink_output_t *raw_;
};

/* Receives the events of a stream that is resumed; the callback borrows it until it returns. */
class replay {
public:
    explicit replay(mcplink_replay_t *raw) noexcept : raw_(raw) {}
    /* An error (MCPLINK_E_CLOSED) means that no more events are wanted. */
    result<void> send(std::uint64_t number, std::string_view event)
    {
        return detail::told(mcplink_replay_send(raw_, number, event.data(), event.size()));
    }
    mcplink_replay_t *get() const noexcept { return raw_; }

private:
    mcplink_replay_t *raw_;
};

/* Receives a record of the host's store; the callback borrows it until it returns. */
class record {
public:
    explicit record(mcplink_record_t *raw) noexcept : raw_(raw) {}
    result<void> set(std::uint64_t version, std::string_view bytes)
    {
        return detail::told(mcplink_record_set(raw_, version, bytes.data(), bytes.size()));
    }
    mcplink_record_t *get() const noexcept { return raw_; }

private:
    mcplink_record_t *raw_;
};

/* The status and header fields of a response that the host's own web server sends. */
class http_head {
public:
    explicit http_head(const mcplink_http_head_t *raw) noexcept : raw_(raw) {}
    int status() const noexcept { return mcplink_http_head_status(raw_); }
    std::size_t count() const noexcept { return mcplink_http_head_count(raw_); }
    std::string_view name(std::size_t index) const noexcept { return detail::view(mcplink_http_head_name(raw_, index)); }
    std::string_view value(std::size_t index) const noexcept { return detail::view(mcplink_http_head_value(raw_, index)); }
    /* The keep-alive interval of an idle stream; 0 for never. */
    milliseconds keep_alive() const noexcept { return milliseconds(mcplink_http_head_keep_alive_ms(raw_)); }
    std::string_view keep_alive_text() const noexcept { return detail::view(mcplink_http_head_keep_alive_text(raw_)); }
    const mcplink_http_head_t *get() const noexcept { return raw_; }

private:
    const mcplink_http_head_t *raw_;
};

namespace detail {

/* Converts the arguments of a C callback for a callable. */
template <class T> T seen(T number) noexcept { return number; }
inline std::string_view seen(mcplink_str_t text) noexcept { return view(text); }
inline json_view seen(const mcplink_json_t *node) noexcept { return json_view(node); }
inline login seen(mcplink_login_t *raw) noexcept { return login(raw); }
inline fetch seen(mcplink_fetch_t *raw) noexcept { return fetch(raw); }
inline http_request seen(mcplink_http_request_t *raw) noexcept { return http_request(raw); }
inline http_head seen(const mcplink_http_head_t *raw) noexcept { return http_head(raw); }
inline guarded_request seen(mcplink_guarded_request_t *raw) noexcept { return guarded_request(raw); }
inline output seen(mcplink_output_t *raw) noexcept { return output(raw); }
inline replay seen(mcplink_replay_t *raw) noexcept { return replay(raw); }
inline record seen(mcplink_record_t *raw) noexcept { return record(raw); }

/* Gives arguments names, so that callables may take them by reference. */
template <class F, class... Args> decltype(auto) named(F &callable, Args... args) { return callable(args...); }

template <class F, class... Raw> auto called(F &callable, Raw... raw) { return named(callable, seen(raw)...); }
template <class F> auto called(F &callable, const void *bytes, std::size_t size)
{
    return callable(std::string_view(static_cast<const char *>(bytes), size));
}
template <class F>
auto called(F &callable, mcplink_str_t session, std::uint64_t stream, std::uint64_t number, const void *event, std::size_t size)
{
    return callable(view(session), stream, number, std::string_view(static_cast<const char *>(event), size));
}
template <class F> void called(F &callable, mcplink_direction direction, const char *text, std::size_t size)
{
    callable(direction, std::string_view(text, size));
}
template <class F> void called(F &handler, const mcplink_request_t *raw_request, mcplink_responder_t *raw_responder)
{
    request asked(raw_request);
    responder answer(raw_responder);
    handler(asked, answer);
}
template <class F>
void called(F &callable, mcplink_call_t *, mcplink_status_t status, const mcplink_result_t *result, const mcplink_error_t *err)
{
    callable(status, result, err);
}

/* Answers with an error if the returned text is invalid, because the handler can't see that any
   more. Other failures mean that the peer no longer waits. */
inline void tell(responder &answer, const result<void> &answered)
{
    if (answered.error().status() == MCPLINK_E_INVALID)
        (void)answer.fail(MCPLINK_RPC_INTERNAL_ERROR, "internal error: its handler returned text that is not UTF-8");
}

/* Converts the return value of a handler: the text of the answer, values, or nothing if the
   handler answers itself. */
struct text {
    template <class Given> static void answer(responder &answer, const Given &given)
    {
        static_assert(std::is_convertible_v<const Given &, std::string_view>, "return the text of the answer; or answer by the responder, and return nothing");
        tell(answer, answer.text(given));
    }
};
struct values {
    template <class Given> static void answer(responder &answer, const Given &given)
    {
        static_assert(std::is_convertible_v<const Given &, const std::vector<std::string> &>,
                      "return a std::vector<std::string> of values; or answer with values() of the responder, and return nothing");
        tell(answer, answer.values(given));
    }
};
struct nothing {
    template <class Given> static void answer(responder &, const Given &)
    {
        static_assert(std::is_void_v<Given>, "answer with json() of the responder, and return nothing");
    }
};
template <class F, class Returned> struct handler {
    F callable;
    void operator()(const request &asked, responder &answer)
    {
        using Given = std::decay_t<std::invoke_result_t<F &, const request &, responder &>>;
        if constexpr (std::is_void_v<Given> || std::is_same_v<Given, result<void>>) {
            static_cast<void>(callable(asked, answer));
        } else {
            Returned::answer(answer, callable(asked, answer));
        }
    }
};
template <class F, class Returned> bool is_none(const handler<F, Returned> &one) noexcept { return is_none(one.callable); }
template <class Returned, class F> auto handling(F callable)
{
    if constexpr (std::is_same_v<F, std::nullptr_t>) {
        return nullptr;
    } else {
        return handler<F, Returned>{std::move(callable)};
    }
}

/* Passes on text or bytes, which may be optional. Without them the caller of the callback fails. */
template <class Bytes> mcplink_status_t give(mcplink_output_t *output, const Bytes &given)
{
    if constexpr (std::is_convertible_v<const Bytes &, std::string_view>) {
        const std::string_view bytes = given;
        return mcplink_output_set(output, bytes.data(), bytes.size());
    } else {
        return given ? give(output, *given) : static_cast<mcplink_status_t>(MCPLINK_E_USER);
    }
}
/* The content of a store entry, which may be missing. */
template <class Text> struct kept {
    Text content;
};
template <class Load> struct loading {
    Load load;
    auto operator()(std::string_view name) { return kept<decltype(load(name))>{load(name)}; }
};
template <class Load> bool is_none(const loading<Load> &loader) noexcept { return is_none(loader.load); }
template <class Text> mcplink_status_t give(mcplink_output_t *output, const kept<Text> &found)
{
    return found.content ? give(output, *found.content) : static_cast<mcplink_status_t>(MCPLINK_OK);
}
template <class F> mcplink_status_t called(F &callable, mcplink_output_t *token) { return give(token, callable()); }
template <class F> mcplink_status_t called(F &callable, mcplink_str_t about, mcplink_output_t *output) { return give(output, callable(view(about))); }
template <class F> mcplink_status_t called(F &callable, const void *data, std::size_t size, mcplink_output_t *signature)
{
    return give(signature, callable(std::string_view(static_cast<const char *>(data), size)));
}
template <class F> mcplink_status_t called(F &callable, mcplink_str_t client, mcplink_str_t id, std::uint64_t lifetime, bool *is_first)
{
    const std::optional<bool> answer = callable(view(client), view(id), milliseconds(static_cast<milliseconds::rep>(lifetime)));
    if (!answer) return MCPLINK_E_USER;
    *is_first = *answer;
    return MCPLINK_OK;
}
template <class F>
mcplink_status_t called(F &callable, mcplink_str_t key, std::uint64_t version, const void *bytes, std::size_t size, std::uint64_t lifetime,
                        bool *is_written)
{
    const std::string_view content(static_cast<const char *>(bytes), size);
    const std::optional<bool> answer = callable(view(key), version, content, milliseconds(static_cast<milliseconds::rep>(lifetime)));
    if (!answer) return MCPLINK_E_USER;
    *is_written = *answer;
    return MCPLINK_OK;
}

/* The callables of a validator. The one of the host compiles a schema to a callable, which checks
   values. */
template <class F> using check_of = std::decay_t<std::invoke_result_t<F &, std::string_view, output &>>;
template <class F> struct compiling {
    F compile;
    mcplink_status_t operator()(std::string_view schema, void **compiled, output &reason)
    {
        auto check = compile(schema, reason);
        if (is_none(check)) return MCPLINK_E_INVALID;
        *compiled = std::make_unique<check_of<F>>(std::move(check)).release();
        return MCPLINK_OK;
    }
};
template <class F> bool is_none(const compiling<F> &one) noexcept { return is_none(one.compile); }
template <class Check> struct checking {
    bool operator()(void *compiled, std::string_view json, output &fault)
    {
        return static_cast<bool>((*static_cast<Check *>(compiled))(json, fault));
    }
};
template <class Check> struct releasing {
    void operator()(void *compiled) const noexcept { delete static_cast<Check *>(compiled); }
};

#ifdef MCPLINK_EXCEPTIONS
/* Handles the exception of a callback, by the types of its arguments; called in the catch block. */
template <class... Raw> void thrown(Raw...) noexcept {}
inline void thrown(const mcplink_request_t *, mcplink_responder_t *answer) noexcept
{
    try {
        throw;
    } catch (const tool_failure &failure) {
        /* Fails for other requests than a tool call. */
        if (mcplink_responder_tool_error(answer, failure.what(), MCPLINK_NUL) != MCPLINK_OK)
            mcplink_responder_internal_error(answer, failure.what(), MCPLINK_NUL);
    } catch (const std::exception &failure) {
        /* The text of other exceptions is for the host, not for the peer. */
        mcplink_responder_internal_error(answer, failure.what(), MCPLINK_NUL);
    } catch (...) {
        mcplink_responder_internal_error(answer, "its handler threw", MCPLINK_NUL);
    }
}
inline void thrown(mcplink_login_t *login) noexcept { mcplink_login_refuse(login, nullptr); }
/* Overrides an earlier admit(). */
inline void thrown(mcplink_http_request_t *asked) noexcept { mcplink_http_request_unavailable(asked, "what finds out who sends it threw"); }
#endif

/* The result of a C callback that threw. */
template <class R> R result_of_throw() noexcept { return MCPLINK_E_USER; }
template <> inline mcplink_decision result_of_throw() noexcept { return MCPLINK_DECISION_REFUSE; }

/* The C function for one of several callables that share their user data. No exception leaves
   it. */
template <class Fn, class All, std::size_t Place> struct trampoline;
template <class R, class... Raw, class All, std::size_t Place> struct trampoline<R (*)(void *, Raw...), All, Place> {
    static R run(void *user, Raw... raw) noexcept
    {
#ifdef MCPLINK_EXCEPTIONS
        try {
            return call(std::get<Place>(*static_cast<All *>(user)), raw...);
        } catch (...) {
            thrown(raw...);
            if constexpr (!std::is_void_v<R>) return result_of_throw<R>();
        }
#else
        return call(std::get<Place>(*static_cast<All *>(user)), raw...);
#endif
    }

private:
    /* Converts the return value to a status: void counts as success; otherwise a status, or
       anything that converts to bool, such as a result<void>. */
    template <class F> static R call(F &callable, Raw... raw)
    {
        using Given = decltype(called(callable, raw...));
        if constexpr (std::is_void_v<R>) {
            static_cast<void>(called(callable, raw...));
        } else if constexpr (std::is_same_v<R, mcplink_decision>) {
            static_assert(std::is_same_v<Given, R>, "return an mcplink_decision");
            return called(callable, raw...);
        } else if constexpr (std::is_void_v<Given>) {
            return called(callable, raw...), MCPLINK_OK;
        } else if constexpr (std::is_same_v<Given, bool> || !std::is_convertible_v<Given, R>) {
            return static_cast<bool>(called(callable, raw...)) ? MCPLINK_OK : MCPLINK_E_USER;
        } else {
            static_assert(!std::is_arithmetic_v<Given> || std::is_same_v<Given, R>, "return a bool, nothing, or a mcplink_status_t");
            return called(callable, raw...);
        }
    }
};

template <class Fn, class All, std::size_t Place> Fn function(const All &all) noexcept
{
    if constexpr (std::is_same_v<std::tuple_element_t<Place, All>, std::nullptr_t>) {
        static_cast<void>(all);
        return nullptr;
    } else {
        return is_none(std::get<Place>(all)) ? nullptr : trampoline<Fn, All, Place>::run;
    }
}

/* The destroy function of callables. */
template <class All> void destroy(void *user) noexcept { delete static_cast<All *>(user); }

template <class... Fn, class Register, class All, std::size_t... Place>
mcplink_status_t enlist_all(Register enlist, All *owned, std::index_sequence<Place...>)
{
    return enlist(function<Fn, All, Place>(*owned)..., static_cast<void *>(owned), static_cast<mcplink_destroy_fn>(destroy<All>));
}
template <class... Fn, class Register, class... F> mcplink_status_t hand_over(Register enlist, F... callables)
{
    auto owned = std::make_unique<std::tuple<F...>>(std::move(callables)...);
    return enlist_all<Fn...>(std::move(enlist), owned.release(), std::index_sequence_for<F...>());
}
template <class Register, class F> mcplink_status_t hand_over_validator(Register enlist, F compile)
{
    if constexpr (std::is_same_v<F, std::nullptr_t>) {
        return enlist(nullptr, nullptr, nullptr, nullptr, nullptr);
    } else {
        using Check = check_of<F>;
        return hand_over<mcplink_schema_compile_fn, mcplink_schema_check_fn, mcplink_schema_free_fn>(
            std::move(enlist), compiling<F>{std::move(compile)}, checking<Check>{}, releasing<Check>{});
    }
}

} // namespace detail

/* Sets the process-wide log hook, for handles without one: callback(mcplink_log_level
   level, std::string_view target, std::string_view text). */
template <class F> result<void> set_log(mcplink_log_level level, F callback)
{
    return detail::told(detail::hand_over<mcplink_log_fn>([&](auto... c) { return mcplink_set_log(level, c...); }, std::move(callback)));
}

/* A cancel token for any number of calls, triggered from any thread. */
class cancel {
public:
    cancel() : owned_(mcplink_cancel_new()) {}
    void trigger() noexcept { mcplink_cancel_trigger(get()); }
    bool is_triggered() const noexcept { return mcplink_cancel_is_triggered(get()); }
    mcplink_cancel_t *get() const noexcept { return owned_.get(); }

private:
    detail::owner<mcplink_cancel_t, mcplink_cancel_free> owned_;
};

/* A queue that runs callbacks on a thread of the host's choice. */
class pump {
public:
    explicit pump(mcplink_pump_t *owned) noexcept : owned_(owned) {}
    static result<pump> make() { return detail::made<pump, mcplink_pump_t>(mcplink_pump_new); }
    std::ptrdiff_t fd() const noexcept { return mcplink_pump_fd(get()); }
    std::int32_t dispatch(std::int32_t most = 64) noexcept { return mcplink_pump_dispatch(get(), most); }
    /* The number of callbacks that wait for dispatch(), which runs them. */
    std::int32_t wait(milliseconds timeout) noexcept { return mcplink_pump_wait(get(), detail::count(timeout)); }
    void wakeup() noexcept { mcplink_pump_wakeup(get()); }
    template <class F> void set_notify(F callback)
    {
        detail::hand_over<mcplink_notify_fn>([&](auto... c) { return mcplink_pump_set_notify(get(), c...); }, std::move(callback));
    }
    mcplink_pump_t *get() const noexcept { return owned_.get(); }

private:
    detail::owner<mcplink_pump_t, mcplink_pump_free> owned_;
};

/* A transport of the host. Pass it once, to client_options::transport or server::attach. It
   must outlive what it serves. */
class transport {
public:
    /* send(std::string_view bytes) sends bytes to the peer, and returns whether it could, or
       nothing. close() is called at the end, ready() when the transport accepts bytes again. See
       mcplink_send_fn, mcplink_transport_set_close and mcplink_transport_set_ready. */
    template <class Send, class Close = std::nullptr_t, class Ready = std::nullptr_t>
    explicit transport(Send send, Close close = nullptr, Ready ready = nullptr)
    {
        detail::hand_over<mcplink_send_fn, mcplink_notify_fn, mcplink_notify_fn>(
            [&](auto on_send, auto on_close, auto on_ready, auto... user_and_destroy) {
                owned_.reset(mcplink_transport_new(user_and_destroy...));
                mcplink_transport_set_send(get(), on_send);
                mcplink_transport_set_close(get(), on_close);
                return mcplink_transport_set_ready(get(), on_ready);
            },
            std::move(send), std::move(close), std::move(ready));
    }
    /* Two transports, each of which is the peer of the other: for a client and a server in one
       process. */
    static result<std::pair<transport, transport>> pair()
    {
        mcplink_transport_t *first = nullptr, *second = nullptr;
        mcplink_error_t *failed = nullptr;
        const auto status = mcplink_transport_pair(&first, &second, &failed);
        if (status < 0) return failed ? error(failed) : error(status);
        return std::pair(transport(first), transport(second));
    }
    transport(transport &&) noexcept = default;
    transport &operator=(transport &&) noexcept = default;
    /* MCPLINK_E_LIMIT: no byte was accepted; feed them again when ready() is called. */
    result<void> feed(std::string_view bytes) { return detail::told(mcplink_transport_feed(get(), bytes.data(), bytes.size())); }
    result<void> feed_end(const char *reason = nullptr) { return detail::told(mcplink_transport_feed_end(get(), reason)); }
    mcplink_transport_t *get() const noexcept { return owned_.get(); }

private:
    explicit transport(mcplink_transport_t *owned) noexcept : owned_(owned) {}
    detail::owner<mcplink_transport_t, mcplink_transport_free> owned_;
};

/* The result of a call. */
class call_result {
public:
    explicit call_result(mcplink_result_t *owned) noexcept : owned_(owned) {}
    /* True if the tool ran and failed: the content has the reason, for the model to read. */
    bool is_tool_error() const noexcept { return mcplink_result_is_tool_error(get()); }
    std::string_view text() const noexcept MCPLINK_LIFETIMEBOUND { return detail::view(mcplink_result_text(get())); }
    std::string_view raw() const noexcept MCPLINK_LIFETIMEBOUND { return detail::view(mcplink_result_raw(get())); }
    json_view json() const noexcept MCPLINK_LIFETIMEBOUND { return json_view(mcplink_result_json(get())); }
    json_view structured() const noexcept MCPLINK_LIFETIMEBOUND { return json_view(mcplink_result_structured(get())); }
    json_view meta() const noexcept MCPLINK_LIFETIMEBOUND { return json_view(mcplink_result_meta(get())); }
    json_view misfits() const noexcept MCPLINK_LIFETIMEBOUND { return json_view(mcplink_result_misfits(get())); }
    /* The id of the task that the call has become; empty if the call has not become a task. */
    std::string_view task_id() const noexcept MCPLINK_LIFETIMEBOUND { return detail::view(mcplink_result_task_id(get())); }
    std::size_t content_count() const noexcept { return mcplink_result_content_count(get()); }
    json_view content(std::size_t index) const noexcept MCPLINK_LIFETIMEBOUND { return json_view(mcplink_result_content(get(), index)); }
    mcplink_content_kind content_kind(std::size_t index) const noexcept { return mcplink_result_content_kind(get(), index); }
    /* The bytes of an image, of audio, or of a binary resource. */
    std::string_view content_bytes(std::size_t index) const noexcept MCPLINK_LIFETIMEBOUND
    {
        std::size_t size = 0;
        const void *bytes = mcplink_result_content_bytes(get(), index, &size);
        return {static_cast<const char *>(bytes), size};
    }
    const mcplink_result_t *get() const noexcept { return owned_.get(); }

private:
    detail::owner<mcplink_result_t, mcplink_result_free> owned_;
};

/* Options of one call. */
class call_options : public detail::described<call_options> {
public:
    call_options() : owned_(mcplink_call_options_new()) {}
    call_options &timeout(milliseconds span) noexcept
    {
        return note(mcplink_call_options_set_timeout_ms(get(), detail::count(span)), "call_options::timeout was refused");
    }
    call_options &max_timeout(milliseconds span) noexcept
    {
        return note(mcplink_call_options_set_max_timeout_ms(get(), detail::count(span)), "call_options::max_timeout was refused");
    }
    call_options &cancel(const mcplink::cancel &token) noexcept
    {
        need(token.get() != nullptr, "call_options::cancel was refused");
        return note(mcplink_call_options_set_cancel(get(), token.get()), "call_options::cancel was refused");
    }
    /* A member of "_meta". */
    call_options &meta(const char *key, std::string_view json) noexcept
    {
        return note(mcplink_call_options_set_meta(get(), key, json.data(), json.size()), "call_options::meta was refused");
    }
    call_options &log_level(mcplink_log_level level) noexcept
    {
        return note(mcplink_call_options_set_log_level(get(), level), "call_options::log_level was refused");
    }
    call_options &bypass_cache(bool bypasses = true) noexcept
    {
        return note(mcplink_call_options_set_bypass_cache(get(), bypasses), "call_options::bypass_cache was refused");
    }
    /* A number that identifies the call for request::tag(). */
    call_options &tag(std::uint64_t tag) noexcept { return note(mcplink_call_options_set_tag(get(), tag), "call_options::tag was refused"); }
    /* callback(double progress, double total, std::string_view message) */
    template <class F> call_options &on_progress(F callback)
    {
        return with<mcplink_progress_fn>("call_options::on_progress was refused", mcplink_call_options_on_progress, std::move(callback));
    }
    mcplink_call_options_t *get() const noexcept { return owned_.get(); }

private:
    detail::owner<mcplink_call_options_t, mcplink_call_options_free> owned_;
};

/* An OAuth client that was registered with an authorization server beforehand. */
class oauth_client : public detail::described<oauth_client> {
public:
    oauth_client(const char *issuer, const char *client_id) : owned_(mcplink_oauth_client_new(issuer, client_id))
    {
        need(owned_ != nullptr, "oauth_client: the issuer or id was refused");
    }
    /* For the authorization server that the MCP server names first. The MCP server then decides
       who receives the credentials. */
    static oauth_client for_any(const char *client_id) { return oauth_client(mcplink_oauth_client_new_for_any(client_id)); }
    oauth_client &secret(const char *secret) noexcept
    {
        return note(mcplink_oauth_client_set_secret(get(), secret), "oauth_client::secret was refused");
    }
    oauth_client &key(std::string_view pem, const char *key_id = nullptr, bool pss = false) noexcept
    {
        return note(mcplink_oauth_client_set_key(get(), pem.data(), pem.size(), key_id, pss), "oauth_client::key was refused");
    }
    /* A key that a device or service holds: sign(std::string_view data) returns the signature, as
       bytes or optional bytes. */
    template <class F> oauth_client &signer(const char *algorithm, const char *key_id, F sign)
    {
        return note(detail::hand_over<mcplink_sign_fn>([&](auto... c) { return mcplink_oauth_client_set_signer(get(), algorithm, key_id, c...); },
                                                       std::move(sign)),
                    "oauth_client::signer was refused");
    }
    oauth_client &audience(const char *audience) noexcept
    {
        return note(mcplink_oauth_client_set_audience(get(), audience), "oauth_client::audience was refused");
    }
    mcplink_oauth_client_t *get() const noexcept { return owned_.get(); }

private:
    explicit oauth_client(mcplink_oauth_client_t *owned) : owned_(owned) { need(owned_ != nullptr, "oauth_client: the id was refused"); }
    detail::owner<mcplink_oauth_client_t, mcplink_oauth_client_free> owned_;
};

/* OAuth settings. By default a person logs in, in the system's browser. */
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
    /* A registered client, with a secret if it has one. */
    oauth &client(const char *issuer, const char *client_id, const char *secret = nullptr) noexcept
    {
        oauth_client known(issuer, client_id);
        return this->client(known.secret(secret));
    }
    oauth &client(const oauth_client &known) noexcept
    {
        need(known);
        return note(mcplink_oauth_add_client(get(), known.get()), "oauth::client was refused");
    }
    oauth &client_credentials() noexcept { return note(mcplink_oauth_set_client_credentials(get()), "oauth::client_credentials was refused"); }
    oauth &scopes(const char *scopes) noexcept { return note(mcplink_oauth_set_scopes(get(), scopes), "oauth::scopes was refused"); }
    /* PEM text of the trusted certificate authorities, for authorization servers and the
       metadata of the server. Replaces Mozilla's list. */
    oauth &root_certificates(std::string_view pem) noexcept
    {
        return note(mcplink_oauth_set_root_certificates(get(), pem.data() ? pem.data() : "", pem.size()), "oauth::root_certificates was refused");
    }
    oauth &store_folder(const char *folder) noexcept
    {
        return note(mcplink_oauth_set_store_folder(get(), folder), "oauth::store_folder was refused");
    }
    /* Stores tokens through the host. load(std::string_view name) returns optional text.
       save(name, std::string_view content) and remove(name) return whether they could: a bool,
       nothing or a status. The content is secret. Three times nullptr keeps it in memory. */
    oauth &store(std::nullptr_t load, std::nullptr_t save, std::nullptr_t remove) noexcept
    {
        return note(mcplink_oauth_set_store(get(), load, save, remove, nullptr, nullptr), "oauth::store was refused");
    }
    template <class Load, class Save, class Remove> oauth &store(Load load, Save save, Remove remove)
    {
        detail::loading<Load> loads{std::move(load)};
        return with<mcplink_store_load_fn, mcplink_store_save_fn, mcplink_store_remove_fn>("oauth::store was refused", mcplink_oauth_set_store,
                                                                                           std::move(loads), std::move(save), std::move(remove));
    }
    /* The key that tokens are bound to: sign(std::string_view data) returns the signature, as bytes
       or optional bytes. */
    template <class F> oauth &dpop_signer(const char *algorithm, std::string_view public_jwk, F sign)
    {
        return note(detail::hand_over<mcplink_sign_fn>(
                        [&](auto... c) {
                            return mcplink_oauth_set_dpop_signer(get(), algorithm, public_jwk.data() ? public_jwk.data() : "", public_jwk.size(), c...);
                        },
                        std::move(sign)),
                    "oauth::dpop_signer was refused");
    }
    /* As client_options::http_client, for all requests for authorization. */
    template <class F> oauth &http_client(F callback)
    {
        return with<mcplink_fetch_fn>("oauth::http_client was refused: the callable is empty", mcplink_oauth_set_http_client, std::move(callback));
    }
    /* callback(login &) lets the person log in, for hosts that can show a page and observe its
       redirects. An exception refuses the login. */
    template <class F> oauth &user_agent(const char *redirect_uri, F callback)
    {
        return note(detail::hand_over<mcplink_login_fn>([&](auto... c) { return mcplink_oauth_set_user_agent(get(), redirect_uri, c...); },
                                                        std::move(callback)),
                    "oauth::user_agent was refused");
    }
    /* callback(login &) informs the person before the browser is opened. It does not answer, and
       its exceptions are dropped. */
    template <class F> oauth &browser(std::uint16_t port, const char *program, const char *page, F callback)
    {
        return note(detail::hand_over<mcplink_login_fn>([&](auto... c) { return mcplink_oauth_set_browser(get(), port, program, page, c...); },
                                                        std::move(callback)),
                    "oauth::browser was refused");
    }
    /* Host ("127.0.0.1" or "localhost") and path of the redirect URI of a login in the browser;
       nullptr for the default. */
    oauth &redirect(const char *host, const char *path = nullptr) noexcept
    {
        return note(mcplink_oauth_set_redirect(get(), host, path), "oauth::redirect was refused");
    }
    /* callback(std::string_view audience) returns a signed statement about this workload, as
       text or optional text. */
    template <class F> oauth &workload(const char *client_id, F callback)
    {
        return note(detail::hand_over<mcplink_statement_fn>([&](auto... c) { return mcplink_oauth_set_workload(get(), client_id, c...); },
                                                            std::move(callback)),
                    "oauth::workload was refused");
    }
    /* callback() returns the credential of the user, of the kind subject (enum mcplink_subject),
       as text or optional text. */
    template <class F> oauth &enterprise(const char *token_endpoint, const oauth_client &known, mcplink_subject subject, F callback)
    {
        need(known);
        return note(detail::hand_over<mcplink_bearer_fn>(
                        [&](auto... c) { return mcplink_oauth_set_enterprise(get(), token_endpoint, known.get(), subject, c...); },
                        std::move(callback)),
                    "oauth::enterprise was refused");
    }
    oauth &proxy(const char *url) noexcept { return note(mcplink_oauth_set_proxy(get(), url), "oauth::proxy was refused"); }
    oauth &clear_proxy() noexcept { return note(mcplink_oauth_clear_proxy(get()), "oauth::clear_proxy was refused"); }
    oauth &use_default_roots() noexcept { return note(mcplink_oauth_use_default_roots(get()), "oauth::use_default_roots was refused"); }
    oauth &use_default_scopes() noexcept { return note(mcplink_oauth_use_default_scopes(get()), "oauth::use_default_scopes was refused"); }
    oauth &login_timeout(milliseconds span) noexcept
    {
        return note(mcplink_oauth_set_login_timeout_ms(get(), detail::count(span)), "oauth::login_timeout was refused");
    }
    oauth &step_timeout(milliseconds span) noexcept
    {
        return note(mcplink_oauth_set_step_timeout_ms(get(), detail::count(span)), "oauth::step_timeout was refused");
    }
    /* Whether to request offline access. */
    oauth &offline_access(bool asks) noexcept
    {
        return note(mcplink_oauth_set_offline_access(get(), asks), "oauth::offline_access was refused");
    }
    /* A further parameter of the authorization request, such as "access_type". */
    oauth &authorization_param(const char *param, const char *value) noexcept
    {
        return note(mcplink_oauth_set_authorization_param(get(), param, value), "oauth::authorization_param was refused");
    }
    /* Whether authorization servers may have private addresses when the server has a public one. */
    oauth &private_addresses(bool allowed) noexcept
    {
        return note(mcplink_oauth_set_private_addresses(get(), allowed), "oauth::private_addresses was refused");
    }
    oauth &dpop(mcplink_dpop dpop) noexcept { return note(mcplink_oauth_set_dpop(get(), dpop), "oauth::dpop was refused"); }
    /* As mcplink_set_log, for this object. */
    template <class F> oauth &on_log(mcplink_log_level level, F callback)
    {
        return note(detail::hand_over<mcplink_log_fn>([&](auto... c) { return mcplink_oauth_on_log(get(), level, c...); }, std::move(callback)),
                    "oauth::on_log was refused");
    }
    result<void> forget(const char *url)
    {
        if (auto unknown = unknown_to_c(); !unknown) return unknown;
        return detail::done([&](auto err) { return mcplink_oauth_forget(get(), url, err); });
    }
    mcplink_oauth_t *get() const noexcept { return owned_.get(); }

private:
    detail::owner<mcplink_oauth_t, mcplink_oauth_free> owned_;
};

/* A cache of responses that several clients share. */
class cache {
public:
    cache(std::size_t max_responses, std::size_t max_bytes) : owned_(mcplink_cache_new(max_responses, max_bytes)) {}
    void clear() noexcept { mcplink_cache_clear(get()); }
    mcplink_cache_t *get() const noexcept { return owned_.get(); }

private:
    detail::owner<mcplink_cache_t, mcplink_cache_free> owned_;
};

/* The eras of servers, by their addresses, so that a host detects each era only once. */
class era_memory {
public:
    era_memory() : owned_(mcplink_era_memory_new()) {}
    mcplink_era recall(const char *address) const noexcept { return mcplink_era_memory_recall(get(), address); }
    result<void> remember(const char *address, mcplink_era era) { return detail::told(mcplink_era_memory_remember(get(), address, era)); }
    result<json> entries() const { return detail::shown(get(), mcplink_era_memory_entries); }
    mcplink_era_memory_t *get() const noexcept { return owned_.get(); }

private:
    detail::owner<mcplink_era_memory_t, mcplink_era_memory_free> owned_;
};

/* The servers of a configuration file, as hosts write it. */
class config {
public:
    explicit config(mcplink_config_t *owned) noexcept : owned_(owned) {}
    static result<config> read(const char *path, const char *workspace = nullptr)
    {
        return detail::made<config, mcplink_config_t>([&](auto out, auto err) { return mcplink_config_read(path, workspace, out, err); });
    }
    result<json> describe() const { return detail::shown(get(), mcplink_config_describe); }
    result<void> input(const char *id, const char *value) { return detail::told(mcplink_config_set_input(get(), id, value)); }
    mcplink_config_t *get() const noexcept { return owned_.get(); }

private:
    detail::owner<mcplink_config_t, mcplink_config_free> owned_;
};

/* The servers that programs of the same user have published at the moment; see
   mcplink_instances. */
inline result<json> instances(const char *name = nullptr) { return detail::shown(name, mcplink_instances); }

/* Tells which servers programs of the same user publish. Destroying the object ends that. */
class watcher {
public:
    explicit watcher(mcplink_watcher_t *owned) noexcept : owned_(owned) {}
    /* callback(): called on a thread of the watcher when instances() may have changed, and once at
       the beginning. */
    template <class F> static result<watcher> make(const char *name, F callback)
    {
        return detail::made<watcher, mcplink_watcher_t>([&](auto out, auto err) {
            return detail::hand_over<mcplink_notify_fn>([&](auto... c) { return mcplink_watcher_new(name, c..., out, err); }, std::move(callback));
        });
    }
    mcplink_watcher_t *get() const noexcept { return owned_.get(); }

private:
    detail::owner<mcplink_watcher_t, mcplink_watcher_free> owned_;
};

/* Options of a client. Set exactly one of command and url, or another endpoint. */
class client_options : public detail::described<client_options> {
public:
    client_options() : owned_(mcplink_client_options_new()) {}
    client_options &command(std::initializer_list<const char *> argv)
    {
        std::vector<const char *> ended(argv);
        ended.push_back(nullptr);
        return note(mcplink_client_options_set_command(get(), ended.data()), "client_options::command was refused");
    }
    client_options &command(const std::vector<std::string> &argv)
    {
        std::vector<const char *> ended;
        for (const auto &part : argv) ended.push_back(part.c_str());
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
    client_options &oauth(const mcplink::oauth &settings) noexcept
    {
        need(settings);
        return note(mcplink_client_options_set_oauth(get(), settings.get()), "client_options::oauth was refused");
    }
    /* PEM text of the trusted certificate authorities for HTTPS. Replaces Mozilla's list. */
    client_options &root_certificates(std::string_view pem) noexcept
    {
        return note(mcplink_client_options_set_root_certificates(get(), pem.data() ? pem.data() : "", pem.size()),
                    "client_options::root_certificates was refused");
    }
    client_options &client_certificate(std::string_view pem) noexcept
    {
        return note(mcplink_client_options_set_client_certificate(get(), pem.data() ? pem.data() : "", pem.size()),
                    "client_options::client_certificate was refused");
    }
    client_options &env(const char *name, const char *value) noexcept
    {
        return note(mcplink_client_options_set_env(get(), name, value), "client_options::env was refused");
    }
    client_options &pass_env(const char *name) noexcept
    {
        return note(mcplink_client_options_pass_env(get(), name), "client_options::pass_env was refused");
    }
    client_options &inherit_env() noexcept
    {
        return note(mcplink_client_options_inherit_env(get()), "client_options::inherit_env was refused");
    }
    client_options &die_with_parent(bool dies = true) noexcept
    {
        return note(mcplink_client_options_set_die_with_parent(get(), dies), "client_options::die_with_parent was refused");
    }
    client_options &cwd(const char *folder) noexcept
    {
        return note(mcplink_client_options_set_cwd(get(), folder), "client_options::cwd was refused");
    }
    client_options &info(const char *name, const char *version) noexcept
    {
        return note(mcplink_client_options_set_info(get(), name, version), "client_options::info was refused");
    }
    client_options &title(const char *title) noexcept
    {
        return note(mcplink_client_options_set_title(get(), title), "client_options::title was refused");
    }
    client_options &description(const char *text) noexcept
    {
        return note(mcplink_client_options_set_description(get(), text), "client_options::description was refused");
    }
    client_options &website(const char *url) noexcept
    {
        return note(mcplink_client_options_set_website(get(), url), "client_options::website was refused");
    }
    /* A JSON array of objects with "src", which is validated. */
    client_options &icons(std::string_view json) noexcept
    {
        return note(mcplink_client_options_set_icons(get(), json.data(), json.size()), "client_options::icons was refused");
    }
    /* False to send no name, for privacy. */
    client_options &send_client_info(bool enabled) noexcept
    {
        return note(mcplink_client_options_set_send_client_info(get(), enabled), "client_options::send_client_info was refused");
    }
    client_options &timeout(milliseconds span) noexcept
    {
        return note(mcplink_client_options_set_timeout_ms(get(), detail::count(span)), "client_options::timeout was refused");
    }
    client_options &pump(const mcplink::pump &pump) noexcept
    {
        need(pump.get() != nullptr, "client_options::pump was refused");
        return note(mcplink_client_options_set_pump(get(), pump.get()), "client_options::pump was refused");
    }
    /* principal: on whose behalf the client acts; clients with equal principals share private
       responses. */
    client_options &cache(const mcplink::cache &cache, const char *principal = nullptr) noexcept
    {
        need(cache.get() != nullptr, "client_options::cache was refused");
        return note(mcplink_client_options_set_cache(get(), cache.get(), principal), "client_options::cache was refused");
    }
    client_options &era_memory(const mcplink::era_memory &memory) noexcept
    {
        need(memory.get() != nullptr, "client_options::era_memory was refused");
        return note(mcplink_client_options_set_era_memory(get(), memory.get()), "client_options::era_memory was refused");
    }
    /* The endpoint and the settings of a server of a configuration. */
    client_options &configured(const config &config, const char *name) noexcept
    {
        need(config.get() != nullptr, "client_options::configured was refused");
        return note(mcplink_client_options_set_configured(get(), config.get(), name), "client_options::configured was refused");
    }
    /* A server that another program has published; id is one of instances(). */
    client_options &instance(const char *id) noexcept
    {
        return note(mcplink_client_options_set_instance(get(), id), "client_options::instance was refused");
    }
    /* Endpoints of the host, which remain the caller's. */
    client_options &fds(std::ptrdiff_t input, std::ptrdiff_t output) noexcept
    {
        return note(mcplink_client_options_set_fds(get(), input, output), "client_options::fds was refused");
    }
    client_options &transport(const mcplink::transport &transport) noexcept
    {
        need(transport.get() != nullptr, "client_options::transport was refused");
        return note(mcplink_client_options_set_transport(get(), transport.get()), "client_options::transport was refused");
    }
    client_options &proxy(const char *url) noexcept
    {
        return note(mcplink_client_options_set_proxy(get(), url), "client_options::proxy was refused");
    }
    client_options &follow_redirects(bool follows = true) noexcept
    {
        return note(mcplink_client_options_set_follow_redirects(get(), follows), "client_options::follow_redirects was refused");
    }
    client_options &clear_env() noexcept { return note(mcplink_client_options_clear_env(get()), "client_options::clear_env was refused"); }
    client_options &revisions(const char *revisions) noexcept
    {
        return note(mcplink_client_options_set_revisions(get(), revisions), "client_options::revisions was refused");
    }
    client_options &era(mcplink_era era) noexcept { return note(mcplink_client_options_set_era(get(), era), "client_options::era was refused"); }
    client_options &cancel(const mcplink::cancel &token) noexcept
    {
        need(token.get() != nullptr, "client_options::cancel was refused");
        return note(mcplink_client_options_set_cancel(get(), token.get()), "client_options::cancel was refused");
    }
    client_options &connect_timeout(milliseconds span) noexcept
    {
        return note(mcplink_client_options_set_connect_timeout_ms(get(), detail::count(span)), "client_options::connect_timeout was refused");
    }
    /* How long a server may take to answer the first request before it is treated as a legacy
       server. */
    client_options &probe_timeout(milliseconds span) noexcept
    {
        return note(mcplink_client_options_set_probe_timeout_ms(get(), detail::count(span)), "client_options::probe_timeout was refused");
    }
    client_options &max_timeout(milliseconds span) noexcept
    {
        return note(mcplink_client_options_set_max_timeout_ms(get(), detail::count(span)), "client_options::max_timeout was refused");
    }
    client_options &close_timeout(milliseconds span) noexcept
    {
        return note(mcplink_client_options_set_close_timeout_ms(get(), detail::count(span)), "client_options::close_timeout was refused");
    }
    client_options &limit(mcplink_limit limit, std::size_t value) noexcept
    {
        return note(mcplink_client_options_set_limit(get(), limit, value), "client_options::limit was refused");
    }
    /* Limits the length of lists. */
    client_options &max_list(std::size_t pages, std::size_t items) noexcept
    {
        return note(mcplink_client_options_set_max_list(get(), pages, items), "client_options::max_list was refused");
    }
    /* Limits the number of started calls that run at once. */
    client_options &pipes(bool enabled = true) noexcept
    {
        return note(mcplink_client_options_set_pipes(get(), enabled), "client_options::pipes was refused");
    }
    /* As server_options::validator, for structured results of tools. */
    template <class F> client_options &validator(F compile)
    {
        return note(detail::hand_over_validator([&](auto... c) { return mcplink_client_options_set_validator(get(), c...); },
                                                std::move(compile)),
                    "client_options::validator was refused: the callable is empty");
    }
    client_options &clear_validation() noexcept
    {
        return note(mcplink_client_options_clear_validation(get()), "client_options::clear_validation was refused");
    }
    client_options &slow_handler(milliseconds time) noexcept
    {
        return note(mcplink_client_options_set_slow_handler_ms(get(), detail::count(time)), "client_options::slow_handler was refused");
    }
    client_options &thread_prefix(const char *prefix) noexcept
    {
        return note(mcplink_client_options_set_thread_prefix(get(), prefix), "client_options::thread_prefix was refused");
    }
    client_options &thread_stack_size(std::size_t bytes) noexcept
    {
        return note(mcplink_client_options_set_thread_stack_size(get(), bytes), "client_options::thread_stack_size was refused");
    }
    client_options &max_started(std::size_t count) noexcept
    {
        return note(mcplink_client_options_set_max_started(get(), count), "client_options::max_started was refused");
    }
    client_options &restart(std::uint32_t max_attempts, milliseconds first_delay, milliseconds max_delay) noexcept
    {
        const auto first = detail::count(first_delay), longest = detail::count(max_delay);
        return note(mcplink_client_options_set_restart(get(), max_attempts, first, longest), "client_options::restart was refused");
    }
    client_options &retry_idempotent_calls(bool resends = true) noexcept
    {
        return note(mcplink_client_options_set_retry_idempotent_calls(get(), resends), "client_options::retry_idempotent_calls was refused");
    }
    /* Whether answers that deviate from the specification are refused. */
    client_options &strict(bool strict = true) noexcept
    {
        return note(mcplink_client_options_set_strict(get(), strict), "client_options::strict was refused");
    }
    /* Whether calls are sent although the server did not declare the capability they need. */
    client_options &assume_capabilities(bool assume = true) noexcept
    {
        return note(mcplink_client_options_set_assume_capabilities(get(), assume), "client_options::assume_capabilities was refused");
    }
    client_options &keep_alive(milliseconds interval, milliseconds timeout, std::uint32_t max_failures) noexcept
    {
        const auto every = detail::count(interval), within = detail::count(timeout);
        return note(mcplink_client_options_set_keep_alive(get(), every, within, max_failures), "client_options::keep_alive was refused");
    }
    client_options &tasks(bool takes = true) noexcept
    {
        return note(mcplink_client_options_set_tasks(get(), takes), "client_options::tasks was refused");
    }
    client_options &extension(const char *id, std::string_view settings = {}) noexcept
    {
        return note(mcplink_client_options_add_extension(get(), id, settings.data(), settings.size()), "client_options::extension was refused");
    }
    client_options &sampling(bool tools, bool context) noexcept
    {
        return note(mcplink_client_options_set_sampling(get(), tools, context), "client_options::sampling was refused");
    }
    /* Sends no tokens: clears bearer, bearer_hook and oauth. */
    client_options &clear_authorization() noexcept
    {
        return note(mcplink_client_options_clear_authorization(get()), "client_options::clear_authorization was refused");
    }
    client_options &clear_proxy() noexcept { return note(mcplink_client_options_clear_proxy(get()), "client_options::clear_proxy was refused"); }
    client_options &use_default_roots() noexcept
    {
        return note(mcplink_client_options_use_default_roots(get()), "client_options::use_default_roots was refused");
    }
    /* callback() returns the token for one request, as text or optional text. */
    template <class F> client_options &bearer_hook(F callback)
    {
        return with<mcplink_bearer_fn>("client_options::bearer_hook was refused", mcplink_client_options_set_bearer_hook, std::move(callback));
    }
    /* callback(fetch &) sends a request and writes its response. A request whose callback throws
       fails. */
    template <class F> client_options &http_client(F callback)
    {
        return with<mcplink_fetch_fn>("client_options::http_client was refused: the callable is empty", mcplink_client_options_set_http_client,
                                      std::move(callback));
    }
    /* callback(std::string_view line) receives the lines that a child process writes to its
       standard error. */
    template <class F> client_options &on_stderr(F callback)
    {
        return note(detail::hand_over<mcplink_line_fn>(
                        [&](auto... c) { return mcplink_client_options_set_stderr(get(), MCPLINK_STDERR_CAPTURE, c...); }, std::move(callback)),
                    "client_options::on_stderr was refused");
    }
    /* mode: one of enum mcplink_stderr. */
    client_options &stderr_mode(mcplink_stderr mode) noexcept
    {
        return note(mcplink_client_options_set_stderr(get(), mode, nullptr, nullptr, nullptr), "client_options::stderr_mode was refused");
    }
    /* As mcplink_set_log, for this object. */
    template <class F> client_options &on_log(mcplink_log_level level, F callback)
    {
        return note(detail::hand_over<mcplink_log_fn>([&](auto... c) { return mcplink_client_options_on_log(get(), level, c...); },
                                                      std::move(callback)),
                    "client_options::on_log was refused");
    }
    /* start(std::string_view thread) and stop(std::string_view thread), on each thread of the
       client. */
    template <class Start, class Stop> client_options &on_thread(Start start, Stop stop)
    {
        return with<mcplink_thread_fn, mcplink_thread_fn>("client_options::on_thread was refused", mcplink_client_options_on_thread,
                                                          std::move(start), std::move(stop));
    }
    /* callback(mcplink_event event, json_view params) */
    template <class F> client_options &on_event(F callback)
    {
        return with<mcplink_event_fn>("client_options::on_event was refused", mcplink_client_options_on_event, std::move(callback));
    }
    /* callback(mcplink_event event, json_view params), as for events. */
    template <class F> client_options &on_notification(const char *method, F callback)
    {
        return note(detail::hand_over<mcplink_event_fn>([&](auto... c) { return mcplink_client_options_on_notification(get(), method, c...); },
                                                        std::move(callback)),
                    "client_options::on_notification was refused");
    }
    /* Handlers for requests of the server. They take (const request &, responder &), answer with
       json() or fail() of the responder, and return nothing. */
    template <class F> client_options &on_elicit(F handler)
    {
        return with<mcplink_handler_fn>("client_options::on_elicit was refused", mcplink_client_options_on_elicit,
                                        detail::handling<detail::nothing>(std::move(handler)));
    }
    template <class F> client_options &on_elicit_url(F handler)
    {
        return with<mcplink_handler_fn>("client_options::on_elicit_url was refused", mcplink_client_options_on_elicit_url,
                                        detail::handling<detail::nothing>(std::move(handler)));
    }
    template <class F> client_options &on_sample(F handler)
    {
        return with<mcplink_handler_fn>("client_options::on_sample was refused", mcplink_client_options_on_sample,
                                        detail::handling<detail::nothing>(std::move(handler)));
    }
    template <class F> client_options &on_list_roots(F handler)
    {
        return with<mcplink_handler_fn>("client_options::on_list_roots was refused", mcplink_client_options_on_list_roots,
                                        detail::handling<detail::nothing>(std::move(handler)));
    }
    template <class F> client_options &on_request(const char *method, F handler)
    {
        return note(detail::hand_over<mcplink_handler_fn>([&](auto... c) { return mcplink_client_options_on_request(get(), method, c...); },
                                                          detail::handling<detail::nothing>(std::move(handler))),
                    "client_options::on_request was refused");
    }
    /* callback(mcplink_direction direction, std::string_view text) sees each message: see
       mcplink_message_fn. */
    template <class F> client_options &on_message(F callback)
    {
        return with<mcplink_message_fn>("client_options::on_message was refused", mcplink_client_options_on_message, std::move(callback));
    }
    mcplink_client_options_t *get() const noexcept { return owned_.get(); }

private:
    detail::owner<mcplink_client_options_t, mcplink_client_options_free> owned_;
};

/* A started call. Destroying the object does not cancel the call. */
class call {
public:
    explicit call(mcplink_call_t *owned) noexcept : owned_(owned) {}
    /* A number that identifies the call in this process. */
    std::uint64_t id() const noexcept { return mcplink_call_id(get()); }
    bool is_done() const noexcept { return mcplink_call_is_done(get()); }
    void cancel(const char *reason = nullptr) noexcept { mcplink_call_cancel(get(), reason); }
    /* The outcome; an error with the status MCPLINK_PENDING after the timeout. */
    result<call_result> wait(milliseconds timeout)
    {
        return detail::made<call_result, mcplink_result_t>([&](auto out, auto err) { return mcplink_call_wait(get(), detail::count(timeout), out, err); });
    }
    /* Waits until one of the calls has ended, and returns its index. An error with the status
       MCPLINK_PENDING after the timeout. */
    static result<std::size_t> wait_any(const std::vector<const call *> &calls, milliseconds timeout)
    {
        std::vector<mcplink_call_t *> raw;
        for (const call *call : calls) raw.push_back(call->get());
        std::size_t index = 0;
        mcplink_error_t *failed = nullptr;
        auto status = mcplink_call_wait_any(raw.data(), raw.size(), detail::count(timeout), &index, &failed);
        if (failed) return error(failed);
        if (status != MCPLINK_OK) return error(status);
        return index;
    }
    mcplink_call_t *get() const noexcept { return owned_.get(); }

private:
    detail::owner<mcplink_call_t, mcplink_call_free> owned_;
};

/*
 * A connected client. Thread-safe.
 *
 * Functions that end in _start do not wait. They call done(mcplink_status_t, const mcplink_result_t
 * *, const mcplink_error_t *) once, where the callbacks of the client run. It gets a result for
 * MCPLINK_OK and MCPLINK_TOOL_ERROR, otherwise an error, both valid until it returns. To own the
 * outcome, use wait(); done may then be nullptr.
 */
class client {
public:
    explicit client(mcplink_client_t *owned) noexcept : owned_(owned) {}
    static result<client> open(const client_options &options)
    {
        if (auto unknown = options.unknown_to_c(); !unknown) return unknown.error();
        return detail::made<client, mcplink_client_t>([&](auto out, auto err) { return mcplink_client_open(options.get(), out, err); });
    }
    /* The non-blocking form of open: the outcome is an event. */
    static result<client> start(const client_options &options)
    {
        if (auto unknown = options.unknown_to_c(); !unknown) return unknown.error();
        return detail::made<client, mcplink_client_t>([&](auto out, auto err) { return mcplink_client_start(options.get(), out, err); });
    }
    result<call_result> list_tools(const call_options *options = nullptr) { return ask(options, mcplink_client_list_tools); }
    result<call_result> list_resources(const call_options *options = nullptr) { return ask(options, mcplink_client_list_resources); }
    result<call_result> list_templates(const call_options *options = nullptr) { return ask(options, mcplink_client_list_templates); }
    result<call_result> list_prompts(const call_options *options = nullptr) { return ask(options, mcplink_client_list_prompts); }
    result<call_result> list_skills(const call_options *options = nullptr) { return ask(options, mcplink_client_list_skills); }
    result<call_result> list_directory(const char *uri, const call_options *options = nullptr)
    {
        return ask(options, mcplink_client_list_directory, uri);
    }
    result<call_result> get_skill(const char *uri, const call_options *options = nullptr) { return ask(options, mcplink_client_get_skill, uri); }
    result<call_result> call_tool(const char *name, std::string_view arguments = "{}", const call_options *options = nullptr)
    {
        return ask(options, mcplink_client_call_tool, name, arguments.data(), arguments.size());
    }
    result<call_result> get_prompt(const char *name, std::string_view arguments = "{}", const call_options *options = nullptr)
    {
        return ask(options, mcplink_client_get_prompt, name, arguments.data(), arguments.size());
    }
    result<call_result> read_resource(const char *uri, const call_options *options = nullptr)
    {
        return ask(options, mcplink_client_read_resource, uri);
    }
    /* Calls a tool as a task: the result has a task_id() if the call has become one. ttl: how long a
       server of revision 2025-11-25 stores the task; 0 if the server decides. */
    result<call_result> call_tool_as_task(const char *name, std::string_view arguments, milliseconds ttl, const call_options *options = nullptr)
    {
        return ask(options, mcplink_client_call_tool_as_task, name, arguments.data(), arguments.size(), detail::count(ttl));
    }
    result<call_result> task_status(const char *task_id, const call_options *options = nullptr)
    {
        return ask(options, mcplink_client_task_status, task_id);
    }
    /* tool: the tool that was called, whose output schema the result is checked with. */
    result<call_result> task_wait(const char *task_id, const char *tool, const call_options *options = nullptr)
    {
        return ask(options, mcplink_client_task_wait, task_id, tool);
    }
    result<void> task_cancel(const char *task_id, const call_options *options = nullptr)
    {
        return act(options, mcplink_client_task_cancel, task_id);
    }
    /* primitive: a prompt or a template. */
    result<call_result> complete(mcplink_primitive primitive, const char *target, const char *argument, const char *value, std::string_view known = "{}",
                                 const call_options *options = nullptr)
    {
        return ask(options, mcplink_client_complete, primitive, target, argument, value, known.data(), known.size());
    }
    result<call_result> request(const char *method, std::string_view params = "{}", const call_options *options = nullptr)
    {
        return ask(options, mcplink_client_request, method, params.data(), params.size());
    }
    template <class F> result<call> list_tools_start(F done, const call_options *options = nullptr)
    {
        return begin(std::move(done), options, mcplink_client_list_tools_start);
    }
    template <class F> result<call> list_resources_start(F done, const call_options *options = nullptr)
    {
        return begin(std::move(done), options, mcplink_client_list_resources_start);
    }
    template <class F> result<call> list_templates_start(F done, const call_options *options = nullptr)
    {
        return begin(std::move(done), options, mcplink_client_list_templates_start);
    }
    template <class F> result<call> list_prompts_start(F done, const call_options *options = nullptr)
    {
        return begin(std::move(done), options, mcplink_client_list_prompts_start);
    }
    template <class F> result<call> list_skills_start(F done, const call_options *options = nullptr)
    {
        return begin(std::move(done), options, mcplink_client_list_skills_start);
    }
    template <class F> result<call> list_directory_start(const char *uri, F done, const call_options *options = nullptr)
    {
        return begin(std::move(done), options, mcplink_client_list_directory_start, uri);
    }
    template <class F> result<call> get_skill_start(const char *uri, F done, const call_options *options = nullptr)
    {
        return begin(std::move(done), options, mcplink_client_get_skill_start, uri);
    }
    template <class F> result<call> call_tool_start(const char *name, std::string_view arguments, F done, const call_options *options = nullptr)
    {
        return begin(std::move(done), options, mcplink_client_call_tool_start, name, arguments.data(), arguments.size());
    }
    template <class F>
    result<call> call_tool_as_task_start(const char *name, std::string_view arguments, milliseconds ttl, F done, const call_options *options = nullptr)
    {
        return begin(std::move(done), options, mcplink_client_call_tool_as_task_start, name, arguments.data(), arguments.size(), detail::count(ttl));
    }
    template <class F> result<call> task_status_start(const char *task_id, F done, const call_options *options = nullptr)
    {
        return begin(std::move(done), options, mcplink_client_task_status_start, task_id);
    }
    template <class F> result<call> task_wait_start(const char *task_id, const char *tool, F done, const call_options *options = nullptr)
    {
        return begin(std::move(done), options, mcplink_client_task_wait_start, task_id, tool);
    }
    template <class F> result<call> task_cancel_start(const char *task_id, F done, const call_options *options = nullptr)
    {
        return begin(std::move(done), options, mcplink_client_task_cancel_start, task_id);
    }
    template <class F> result<call> get_prompt_start(const char *name, std::string_view arguments, F done, const call_options *options = nullptr)
    {
        return begin(std::move(done), options, mcplink_client_get_prompt_start, name, arguments.data(), arguments.size());
    }
    template <class F> result<call> read_resource_start(const char *uri, F done, const call_options *options = nullptr)
    {
        return begin(std::move(done), options, mcplink_client_read_resource_start, uri);
    }
    template <class F>
    result<call> complete_start(mcplink_primitive primitive, const char *target, const char *argument, const char *value, std::string_view known, F done,
                                const call_options *options = nullptr)
    {
        return begin(std::move(done), options, mcplink_client_complete_start, primitive, target, argument, value, known.data(), known.size());
    }
    template <class F> result<call> request_start(const char *method, std::string_view params, F done, const call_options *options = nullptr)
    {
        return begin(std::move(done), options, mcplink_client_request_start, method, params.data(), params.size());
    }
    template <class F> result<call> set_log_level_start(mcplink_log_level level, F done, const call_options *options = nullptr)
    {
        return begin(std::move(done), options, mcplink_client_set_log_level_start, level);
    }
    template <class F> result<call> listen_start(std::string_view filter, F done, const call_options *options = nullptr)
    {
        return begin(std::move(done), options, mcplink_client_listen_start, filter.data(), filter.size());
    }
    template <class F> result<call> subscribe_start(const char *uri, F done, const call_options *options = nullptr)
    {
        return begin(std::move(done), options, mcplink_client_subscribe_start, uri);
    }
    template <class F> result<call> unsubscribe_start(const char *uri, F done)
    {
        return begin_plain(std::move(done), mcplink_client_unsubscribe_start, uri);
    }
    template <class F> result<call> roots_changed_start(F done) { return begin_plain(std::move(done), mcplink_client_roots_changed_start); }
    template <class F> result<call> ping_start(F done, const call_options *options = nullptr)
    {
        return begin(std::move(done), options, mcplink_client_ping_start);
    }
    result<void> ping(const call_options *options = nullptr) { return act(options, mcplink_client_ping); }
    result<void> set_log_level(mcplink_log_level level, const call_options *options = nullptr)
    {
        return act(options, mcplink_client_set_log_level, level);
    }
    /* Subscribes to change notifications, and returns what the server agreed to: see
       mcplink_client_listen. */
    result<call_result> listen(std::string_view filter, const call_options *options = nullptr)
    {
        return ask(options, mcplink_client_listen, filter.data(), filter.size());
    }
    result<void> subscribe(const char *uri, const call_options *options = nullptr) { return act(options, mcplink_client_subscribe, uri); }
    result<void> unsubscribe(const char *uri)
    {
        return detail::done([&](auto err) { return mcplink_client_unsubscribe(get(), uri, err); });
    }
    result<void> notify(const char *method, std::string_view params = "{}")
    {
        return detail::done([&](auto err) { return mcplink_client_notify(get(), method, params.data(), params.size(), err); });
    }
    result<void> roots_changed()
    {
        return detail::done([&](auto err) { return mcplink_client_roots_changed(get(), err); });
    }
    result<void> clear_cache()
    {
        return detail::done([&](auto err) { return mcplink_client_clear_cache(get(), err); });
    }
    bool has(const char *capability) const noexcept { return mcplink_client_has(get(), capability); }
    result<void> require_extension(const char *id)
    {
        return detail::done([&](auto err) { return mcplink_client_require_extension(get(), id, err); });
    }
    std::string_view revision() const noexcept { return detail::view(mcplink_client_revision(get())); }
    /* One of enum mcplink_connection_state. */
    mcplink_connection_state state() const noexcept { return mcplink_client_state(get()); }
    /* One of enum mcplink_era. */
    mcplink_era era() const noexcept { return mcplink_client_era(get()); }
    result<json> server_info() const { return detail::shown(get(), mcplink_client_server_info); }
    result<json> stderr_tail() const { return detail::shown(get(), mcplink_client_stderr_tail); }
    result<json> stats() const { return detail::shown(get(), mcplink_client_stats); }
    result<json> activity() const { return detail::shown(get(), mcplink_client_activity); }
    result<void> close(milliseconds timeout)
    {
        return detail::done([&](auto err) { return mcplink_client_close(get(), detail::count(timeout), err); });
    }
    /* Calls done as for the other functions that end in _start, with an empty result. Destroying
       the object then takes no time. */
    template <class F> result<void> close_start(F done)
    {
        return detail::done([&](auto err) {
            return detail::hand_over<mcplink_done_fn>([&](auto... c) { return mcplink_client_close_start(get(), c..., err); }, std::move(done));
        });
    }
    mcplink_client_t *get() const noexcept { return owned_.get(); }

private:
    /* Moved-from options are reported as an error, and nothing is sent. */
    static const mcplink_call_options_t *raw(const call_options *options) noexcept { return options ? options->get() : nullptr; }
    static result<void> unknown(const call_options *options) { return options ? options->unknown_to_c() : result<void>(); }
    template <class C, class... Args> result<call_result> ask(const call_options *options, C function, Args... args)
    {
        if (auto none = unknown(options); !none) return none.error();
        return detail::made<call_result, mcplink_result_t>([&](auto out, auto err) { return function(get(), args..., raw(options), out, err); });
    }
    template <class C, class... Args> result<void> act(const call_options *options, C function, Args... args)
    {
        if (auto none = unknown(options); !none) return none;
        return detail::done([&](auto err) { return function(get(), args..., raw(options), err); });
    }
    template <class F, class C, class... Args> result<call> begin(F done, const call_options *options, C function, Args... args)
    {
        if (auto none = unknown(options); !none) return none.error();
        return detail::made<call, mcplink_call_t>([&](auto out, auto err) {
            return detail::hand_over<mcplink_done_fn>([&](auto... c) { return function(get(), args..., raw(options), c..., out, err); },
                                                      std::move(done));
        });
    }
    template <class F, class C, class... Args> result<call> begin_plain(F done, C function, Args... args)
    {
        return detail::made<call, mcplink_call_t>([&](auto out, auto err) {
            return detail::hand_over<mcplink_done_fn>([&](auto... c) { return function(get(), args..., c..., out, err); }, std::move(done));
        });
    }
    detail::owner<mcplink_client_t, mcplink_client_free> owned_;
};

/* Several servers used as one. The clients remain the caller's, and outlive the group or are removed
   from it. */
class group {
public:
    /* The client and the own name of an item of the group. */
    struct item {
        mcplink_client_t *client;
        std::string name;
    };

    group() : owned_(mcplink_group_new()) {}
    result<void> add(const char *server, const client &client)
    {
        return detail::done([&](auto err) { return mcplink_group_add(get(), server, client.get(), err); });
    }
    result<void> remove(const char *server) { return detail::told(mcplink_group_remove(get(), server)); }
    std::string prefix(const char *server) const { return std::string(detail::view(mcplink_group_prefix(get(), server))); }
    result<json> list(mcplink_list list, const call_options *options = nullptr) const
    {
        if (options && !options->unknown_to_c()) return options->unknown_to_c().error();
        return detail::made<json, mcplink_json_t>([&](auto out, auto err) { return mcplink_group_list(get(), list, options ? options->get() : nullptr, out, err); });
    }
    /* primitive: a tool, a prompt or a resource. */
    result<item> find(mcplink_primitive primitive, const char *name) const
    {
        mcplink_client_t *client = nullptr;
        const char *own = nullptr;
        auto found = detail::done([&](auto err) { return mcplink_group_find(get(), primitive, name, &client, &own, err); });
        if (!found) return found.error();
        return item{client, own};
    }
    result<call_result> call_tool(const char *name, std::string_view arguments = "{}", const call_options *options = nullptr) const
    {
        return ask(MCPLINK_PRIMITIVE_TOOL, name, options, mcplink_client_call_tool, arguments.data(), arguments.size());
    }
    result<call_result> get_prompt(const char *name, std::string_view arguments = "{}", const call_options *options = nullptr) const
    {
        return ask(MCPLINK_PRIMITIVE_PROMPT, name, options, mcplink_client_get_prompt, arguments.data(), arguments.size());
    }
    result<call_result> read_resource(const char *uri, const call_options *options = nullptr) const
    {
        return ask(MCPLINK_PRIMITIVE_RESOURCE, uri, options, mcplink_client_read_resource);
    }
    mcplink_group_t *get() const noexcept { return owned_.get(); }

private:
    template <class C, class... Args>
    result<call_result> ask(mcplink_primitive primitive, const char *name, const call_options *options, C function, Args... args) const
    {
        if (options && !options->unknown_to_c()) return options->unknown_to_c().error();
        auto found = find(primitive, name);
        if (!found) return found.error();
        return detail::made<call_result, mcplink_result_t>([&](auto out, auto err) {
            return function(found->client, found->name.c_str(), args..., options ? options->get() : nullptr, out, err);
        });
    }
    detail::owner<mcplink_group_t, mcplink_group_free> owned_;
};

/* The definition of a tool. */
class tool : public detail::described<tool> {
    friend class arg;

public:
    tool(const char *name, const char *description) : owned_(mcplink_tool_new(name, description))
    {
        need(owned_ != nullptr, "tool: its name or description was refused");
    }
    tool &param(const char *name, mcplink_param_type type, mcplink_param_flag flag = MCPLINK_PARAM_OPTIONAL, const char *description = nullptr) noexcept
    {
        return note(mcplink_tool_add_param(get(), name, type, flag, description), "tool::param was refused");
    }
    tool &param_schema(const char *name, mcplink_param_flag flag, std::string_view schema) noexcept
    {
        return note(mcplink_tool_add_param_schema(get(), name, flag, schema.data(), schema.size()), "tool::param_schema was refused");
    }
    tool &integer(const char *name, mcplink_param_flag flag = MCPLINK_PARAM_OPTIONAL, const char *description = nullptr,
                  std::int64_t min = std::numeric_limits<std::int64_t>::min(), std::int64_t max = std::numeric_limits<std::int64_t>::max()) noexcept
    {
        return note(mcplink_tool_add_integer(get(), name, flag, min, max, description), "tool::integer was refused");
    }
    tool &number(const char *name, mcplink_param_flag flag = MCPLINK_PARAM_OPTIONAL, const char *description = nullptr, double min = -std::numeric_limits<double>::infinity(),
                 double max = std::numeric_limits<double>::infinity()) noexcept
    {
        return note(mcplink_tool_add_number(get(), name, flag, min, max, description), "tool::number was refused");
    }
    tool &choice(const char *name, mcplink_param_flag flag, const std::vector<const char *> &values, const char *description = nullptr) noexcept
    {
        return note(mcplink_tool_add_choice(get(), name, flag, values.data(), values.size(), description), "tool::choice was refused");
    }
    tool &array(const char *name, mcplink_param_flag flag, mcplink_param_type items, const char *description = nullptr, std::size_t min_items = 0,
                std::size_t max_items = std::numeric_limits<std::size_t>::max()) noexcept
    {
        return note(mcplink_tool_add_array(get(), name, flag, items, min_items, max_items, description), "tool::array was refused");
    }
    /* Sets the default of an optional argument that was added before; the default is JSON text. */
    tool &default_value(const char *name, std::string_view json) noexcept
    {
        return note(mcplink_tool_set_default_value(get(), name, json.data(), json.size()), "tool::default_value was refused");
    }
    tool &input_schema(std::string_view schema) noexcept
    {
        return note(mcplink_tool_set_input_schema(get(), schema.data(), schema.size()), "tool::input_schema was refused");
    }
    tool &output_schema(std::string_view schema) noexcept
    {
        return note(mcplink_tool_set_output_schema(get(), schema.data(), schema.size()), "tool::output_schema was refused");
    }
    /* hint: one of enum mcplink_tool_hint. */
    tool &hint(mcplink_tool_hint hint, bool is_so = true) noexcept
    {
        return note(mcplink_tool_set_hint(get(), hint, is_so), "tool::hint was refused");
    }
    /* support: one of enum mcplink_task_support. */
    tool &task_support(mcplink_task_support support) noexcept
    {
        return note(mcplink_tool_set_task_support(get(), support), "tool::task_support was refused");
    }
    tool &title(const char *title) noexcept { return note(mcplink_tool_set_title(get(), title), "tool::title was refused"); }
    /* A JSON array of objects with "src", which is validated. */
    tool &icons(std::string_view json) noexcept
    {
        return note(mcplink_tool_set_icons(get(), json.data(), json.size()), "tool::icons was refused");
    }
    /* The metadata ("_meta"): a JSON object. */
    tool &meta(std::string_view json) noexcept
    {
        return note(mcplink_tool_set_meta(get(), json.data(), json.size()), "tool::meta was refused");
    }
    mcplink_tool_t *get() const noexcept { return owned_.get(); }

private:
    detail::owner<mcplink_tool_t, mcplink_tool_free> owned_;
};

/* An argument of a typed tool: see server::add_tool. */
class arg {
public:
    arg(const char *name, const char *description = nullptr) : name_(name), description_(description) {}
    /* The bounds of a number, or of the number of items of an array. */
    arg &range(double min, double max) noexcept { return min_ = min, max_ = max, *this; }
    /* The valid values of a string. */
    arg &choices(std::initializer_list<const char *> values) { return choices_ = values, *this; }
    /* The value for a call without the argument, which is then optional. */
    arg &or_else(bool value) { return default_ = value ? "true" : "false", *this; }
    template <class Number, std::enable_if_t<std::is_arithmetic_v<Number>, bool> = true> arg &or_else(Number value)
    {
        writer json;
        if constexpr (std::is_floating_point_v<Number>) json.f64(static_cast<double>(value));
        else if constexpr (std::is_unsigned_v<Number>) {
            is_above_int64_ = value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
            json.u64(value);
        }
        else json.i64(static_cast<std::int64_t>(value));
        return written(json);
    }
    arg &or_else(std::string_view value)
    {
        writer json;
        return written(json.str(value));
    }
    arg &or_else(const char *value) { return or_else(std::string_view(value)); }

    const char *name() const noexcept { return name_; }
    bool has_default() const noexcept { return !default_.empty(); }
    /* Adds the argument to a definition. T is the type of the callable's parameter. */
    template <class T> void declare(tool &tool) const;

private:
    arg &written(writer &json)
    {
        auto text = json.finish();
        /* A value that is no JSON is refused by the definition. */
        return default_ = text ? std::string(*text) : "?", *this;
    }
    const char *name_;
    const char *description_;
    double min_ = -std::numeric_limits<double>::infinity();
    double max_ = std::numeric_limits<double>::infinity();
    std::vector<const char *> choices_;
    std::string default_;
    bool is_above_int64_ = false;
};

namespace detail {

template <class T> struct identity {
    using type = T;
};
template <class T> struct is_optional : std::false_type {};
template <class T> struct is_optional<std::optional<T>> : std::true_type {};
template <class T> struct is_vector : std::false_type {};
template <class T> struct is_vector<std::vector<T>> : std::true_type {};
template <class T> constexpr bool is_text = std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>;

template <class T> constexpr mcplink_param_type type_of() noexcept
{
    if constexpr (is_text<T>) return MCPLINK_PARAM_STRING;
    else if constexpr (std::is_same_v<T, bool>) return MCPLINK_PARAM_BOOLEAN;
    else if constexpr (std::is_integral_v<T>) return MCPLINK_PARAM_INTEGER;
    else if constexpr (std::is_floating_point_v<T>) return MCPLINK_PARAM_NUMBER;
    else {
        static_assert(is_text<T>, "a parameter is a bool, a number, a std::string or std::string_view, a std::vector or std::optional of these, or a json_view");
        return MCPLINK_PARAM_OBJECT;
    }
}

/* Returns the given bound if it is narrower than the bound of the integer type, and otherwise the
   bound of the type. */
template <class T> std::int64_t bound(double given, bool is_least) noexcept
{
    using limits = std::numeric_limits<T>;
    using widest = std::numeric_limits<std::int64_t>;
    std::int64_t most = sizeof(T) < 8 || std::is_signed_v<T> ? static_cast<std::int64_t>(limits::max()) : widest::max();
    std::int64_t own = is_least ? static_cast<std::int64_t>(limits::min()) : most;
    /* A double has no room for the last bits of large bounds. */
    if (!(given > -9e15 && given < 9e15)) return own;
    auto wanted = static_cast<std::int64_t>(given);
    if (is_least && static_cast<double>(wanted) < given) wanted++;
    if (!is_least && static_cast<double>(wanted) > given) wanted--;
    return (is_least ? wanted < own : wanted > own) ? own : wanted;
}

/* The type of an argument as an error names it, with the range of an integer. */
template <class T> std::string type_name()
{
    constexpr auto type = type_of<T>();
    if constexpr (type == MCPLINK_PARAM_INTEGER) {
        return "integer from " + std::to_string(bound<T>(-1e300, true)) + " to " + std::to_string(bound<T>(1e300, false));
    } else {
        return type == MCPLINK_PARAM_STRING ? "string" : type == MCPLINK_PARAM_BOOLEAN ? "boolean" : "number";
    }
}

/* Answers a call whose argument at a path has another type. */
inline bool misfit(responder &answer, const std::string &path, const std::string &expected, json_view got)
{
    std::string text(got.is_missing() ? std::string_view("nothing") : got.text());
    if (constexpr std::size_t most = 80; text.size() > most) {
        std::size_t end = most;
        /* Not within a character. */
        while ((static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) end--;
        text.replace(end, std::string::npos, "...");
    }
    return (void)answer.tool_error("invalid arguments: /" + path + ": expected " + expected + ", got " + text), false;
}

/* Reads an item of an array. Returns false if the item has another type, which happens only without
   validation, or is an integer beyond the range of T. */
template <class T> bool item(const json_view &view, T &out)
{
    auto is = [&](mcplink_json_type type) { return view.type() == type; };
    if constexpr (is_text<T>) return is(MCPLINK_JSON_STRING) && (out = T(view.str()), true);
    else if constexpr (std::is_same_v<T, bool>) return is(MCPLINK_JSON_BOOLEAN) && (out = view.boolean(), true);
    else if constexpr (std::is_integral_v<T>) {
        auto number = view.i64();
        if (!number || *number < bound<T>(-1e300, true) || *number > bound<T>(1e300, false)) return false;
        return out = static_cast<T>(*number), true;
    } else return is(MCPLINK_JSON_NUMBER) && (out = static_cast<T>(view.f64()), true);
}

/* Reads an argument. Returns false if the argument is wrong; the request is then answered. */
template <class T> bool read(const request &asked, responder &answer, const char *name, T &out)
{
    const auto *from = asked.get();
    auto *to = answer.get();
    if constexpr (std::is_same_v<T, json_view>) {
        return out = asked.args()[name], true;
    } else if constexpr (is_optional<T>::value) {
        return asked.args()[name].is_missing() || read(asked, answer, name, out.emplace());
    } else if constexpr (is_text<T>) {
        mcplink_str_t text = {"", 0};
        if (mcplink_request_string(from, to, name, &text) < 0) return false;
        return out = T(view(text)), true;
    } else if constexpr (std::is_same_v<T, bool>) {
        return mcplink_request_boolean(from, to, name, &out) >= 0;
    } else if constexpr (std::is_floating_point_v<T>) {
        double number = 0;
        if (mcplink_request_number(from, to, name, &number) < 0) return false;
        return out = static_cast<T>(number), true;
    } else if constexpr (is_vector<T>::value) {
        using Item = typename T::value_type;
        auto all = asked.args()[name];
        if (all.type() != MCPLINK_JSON_ARRAY) return misfit(answer, name, "array", all);
        for (auto one : all) {
            Item read_one{};
            if (!item(one, read_one)) return misfit(answer, std::string(name) + "/" + std::to_string(out.size()), type_name<Item>(), one);
            out.push_back(read_one);
        }
        return true;
    } else {
        std::int64_t number = 0;
        if (mcplink_request_integer(from, to, name, &number) < 0) return false;
        if (number < bound<T>(-1e300, true) || number > bound<T>(1e300, false)) return misfit(answer, name, type_name<T>(), asked.args()[name]);
        return out = static_cast<T>(number), true;
    }
}

/* The parameters of a callable. A last parameter responder & gets the responder. */
template <class Done, class... A> struct split;
template <class... Done> struct split<std::tuple<Done...>> {
    using values = std::tuple<Done...>;
    static constexpr bool gets_responder = false;
};
template <class... Done> struct split<std::tuple<Done...>, responder &> {
    using values = std::tuple<Done...>;
    static constexpr bool gets_responder = true;
};
template <class... Done, class A, class... Rest> struct split<std::tuple<Done...>, A, Rest...> : split<std::tuple<Done..., std::decay_t<A>>, Rest...> {};

template <class F> struct signature : signature<decltype(&F::operator())> {};
template <class R, class... A> struct signature<R (*)(A...)> : split<std::tuple<>, A...> {
    using returned = R;
};
template <class R, class... A> struct signature<R (*)(A...) noexcept> : signature<R (*)(A...)> {};
template <class C, class R, class... A> struct signature<R (C::*)(A...)> : signature<R (*)(A...)> {};
template <class C, class R, class... A> struct signature<R (C::*)(A...) const> : signature<R (*)(A...)> {};
template <class C, class R, class... A> struct signature<R (C::*)(A...) noexcept> : signature<R (*)(A...)> {};
template <class C, class R, class... A> struct signature<R (C::*)(A...) const noexcept> : signature<R (*)(A...)> {};

/* Answers a call with the return value of a typed tool: text, a bool or a number. */
template <class Given> void answer_with(responder &answer, const Given &given)
{
    if constexpr (std::is_same_v<Given, bool>) {
        tell(answer, answer.text(given ? "true" : "false"));
    } else if constexpr (std::is_arithmetic_v<Given>) {
        writer json;
        if constexpr (std::is_floating_point_v<Given>) {
            /* A whole number is written without a fraction. */
            const bool is_whole = given > -9e15 && given < 9e15 && static_cast<Given>(static_cast<std::int64_t>(given)) == given;
            is_whole ? json.i64(static_cast<std::int64_t>(given)) : json.f64(static_cast<double>(given));
        } else if constexpr (std::is_signed_v<Given>) {
            json.i64(given);
        } else {
            json.u64(given);
        }
        auto written = json.finish();
        if (written) tell(answer, answer.text(*written));
        else (void)answer.tool_error("the result is no finite number");
    } else {
        text::answer(answer, given);
    }
}

/* The handler of a typed tool. */
template <class F> struct typed_handler {
    using callee = signature<std::decay_t<F>>;
    using values = typename callee::values;
    static constexpr std::size_t count = std::tuple_size_v<values>;
    F callable;
    std::array<std::string, count> names;

    void operator()(const request &asked, responder &answer) { run(asked, answer, std::make_index_sequence<count>()); }

private:
    template <std::size_t... At> void run(const request &asked, responder &answer, std::index_sequence<At...>)
    {
        values all{};
        static_cast<void>(asked);
        if (!(read(asked, answer, names[At].c_str(), std::get<At>(all)) && ...)) return;
        auto call = [&]() -> decltype(auto) {
            if constexpr (callee::gets_responder) return callable(std::move(std::get<At>(all))..., answer);
            else return callable(std::move(std::get<At>(all))...);
        };
        using Given = std::decay_t<typename callee::returned>;
        if constexpr (std::is_void_v<Given> || std::is_same_v<Given, result<void>>) {
            static_assert(callee::gets_responder, "return text or a number; or answer by a last parameter responder &, and return nothing");
            static_cast<void>(call());
        } else {
            answer_with(answer, call());
        }
    }
};

} // namespace detail

template <class T> void arg::declare(tool &tool) const
{
    constexpr bool may_be_missing = detail::is_optional<T>::value || std::is_same_v<T, json_view>;
    mcplink_param_flag flag = has_default() || may_be_missing ? MCPLINK_PARAM_OPTIONAL : MCPLINK_PARAM_REQUIRED;
    auto add = [&](auto type) {
        using Plain = typename decltype(type)::type;
        if constexpr (std::is_same_v<Plain, json_view>) {
            tool.param_schema(name_, flag, "{}");
        } else if constexpr (detail::is_vector<Plain>::value) {
            auto least = min_ > 0 ? static_cast<std::size_t>(min_) : 0;
            auto most = max_ < 9e15 ? static_cast<std::size_t>(max_) : std::numeric_limits<std::size_t>::max();
            tool.array(name_, flag, detail::type_of<typename Plain::value_type>(), description_, least, most);
        } else if constexpr (detail::is_text<Plain>) {
            if (choices_.empty()) tool.param(name_, MCPLINK_PARAM_STRING, flag, description_);
            else tool.choice(name_, flag, choices_, description_);
        } else if constexpr (detail::type_of<Plain>() == MCPLINK_PARAM_INTEGER) {
            tool.need(!is_above_int64_, "arg::or_else: the default of an integer is at most INT64_MAX");
            tool.integer(name_, flag, description_, detail::bound<Plain>(min_, true), detail::bound<Plain>(max_, false));
        } else if constexpr (detail::type_of<Plain>() == MCPLINK_PARAM_NUMBER) {
            tool.number(name_, flag, description_, min_, max_);
        } else {
            tool.param(name_, MCPLINK_PARAM_BOOLEAN, flag, description_);
        }
    };
    if constexpr (detail::is_optional<T>::value) add(detail::identity<typename T::value_type>());
    else add(detail::identity<T>());
    if (!has_default()) return;
    /* Other parameters can't have a default, and "?" is refused as one: a std::optional is empty
       instead, and an array and a json_view are read from the call. */
    constexpr bool can = !may_be_missing && !detail::is_vector<T>::value;
    tool.default_value(name_, can ? std::string_view(default_) : std::string_view("?"));
}

/* The definition of a resource: contents that can be read at a URI. */
class resource : public detail::described<resource> {
public:
    resource(const char *uri, const char *name) : owned_(mcplink_resource_new(uri, name))
    {
        need(owned_ != nullptr, "resource: its address or name was refused");
    }
    resource &title(const char *title) noexcept { return note(mcplink_resource_set_title(get(), title), "resource::title was refused"); }
    resource &description(const char *text) noexcept
    {
        return note(mcplink_resource_set_description(get(), text), "resource::description was refused");
    }
    resource &mime_type(const char *type) noexcept { return note(mcplink_resource_set_mime_type(get(), type), "resource::mime_type was refused"); }
    /* A JSON array of objects with "src", which is validated. */
    resource &icons(std::string_view json) noexcept
    {
        return note(mcplink_resource_set_icons(get(), json.data(), json.size()), "resource::icons was refused");
    }
    /* The metadata ("_meta"): a JSON object. */
    resource &meta(std::string_view json) noexcept
    {
        return note(mcplink_resource_set_meta(get(), json.data(), json.size()), "resource::meta was refused");
    }
    /* A JSON object with "audience", "priority" and "lastModified". */
    resource &annotations(std::string_view json) noexcept
    {
        return note(mcplink_resource_set_annotations(get(), json.data(), json.size()), "resource::annotations was refused");
    }
    /* In bytes, before any encoding. */
    resource &size(std::uint64_t bytes) noexcept { return note(mcplink_resource_set_size(get(), bytes), "resource::size was refused"); }
    mcplink_resource_t *get() const noexcept { return owned_.get(); }

private:
    detail::owner<mcplink_resource_t, mcplink_resource_free> owned_;
};

/* The definition of a resource template: resources whose URIs follow a pattern (RFC 6570). */
class resource_template : public detail::described<resource_template> {
public:
    resource_template(const char *uri_template, const char *name) : owned_(mcplink_template_new(uri_template, name))
    {
        need(owned_ != nullptr, "resource_template: its template or name was refused");
    }
    resource_template &title(const char *title) noexcept
    {
        return note(mcplink_template_set_title(get(), title), "resource_template::title was refused");
    }
    resource_template &description(const char *text) noexcept
    {
        return note(mcplink_template_set_description(get(), text), "resource_template::description was refused");
    }
    resource_template &mime_type(const char *type) noexcept
    {
        return note(mcplink_template_set_mime_type(get(), type), "resource_template::mime_type was refused");
    }
    /* A JSON array of objects with "src", which is validated. */
    resource_template &icons(std::string_view json) noexcept
    {
        return note(mcplink_template_set_icons(get(), json.data(), json.size()), "resource_template::icons was refused");
    }
    /* The metadata ("_meta"): a JSON object. */
    resource_template &meta(std::string_view json) noexcept
    {
        return note(mcplink_template_set_meta(get(), json.data(), json.size()), "resource_template::meta was refused");
    }
    /* A JSON object with "audience", "priority" and "lastModified". */
    resource_template &annotations(std::string_view json) noexcept
    {
        return note(mcplink_template_set_annotations(get(), json.data(), json.size()), "resource_template::annotations was refused");
    }
    mcplink_template_t *get() const noexcept { return owned_.get(); }

private:
    detail::owner<mcplink_template_t, mcplink_template_free> owned_;
};

/* The definition of a prompt. */
class prompt : public detail::described<prompt> {
public:
    prompt(const char *name, const char *description) : owned_(mcplink_prompt_new(name, description))
    {
        need(owned_ != nullptr, "prompt: its name or description was refused");
    }
    prompt &title(const char *title) noexcept { return note(mcplink_prompt_set_title(get(), title), "prompt::title was refused"); }
    prompt &argument(const char *name, mcplink_param_flag flag = MCPLINK_PARAM_OPTIONAL, const char *description = nullptr) noexcept
    {
        return note(mcplink_prompt_add_argument(get(), name, flag, description), "prompt::argument was refused");
    }
    /* A JSON array of objects with "src", which is validated. */
    prompt &icons(std::string_view json) noexcept
    {
        return note(mcplink_prompt_set_icons(get(), json.data(), json.size()), "prompt::icons was refused");
    }
    /* The metadata ("_meta"): a JSON object. */
    prompt &meta(std::string_view json) noexcept
    {
        return note(mcplink_prompt_set_meta(get(), json.data(), json.size()), "prompt::meta was refused");
    }
    mcplink_prompt_t *get() const noexcept { return owned_.get(); }

private:
    detail::owner<mcplink_prompt_t, mcplink_prompt_free> owned_;
};

/* Options of a server. For rare options use get() with the C functions. */
class server_options : public detail::described<server_options> {
public:
    server_options(const char *name, const char *version) : owned_(mcplink_server_options_new(name, version))
    {
        need(owned_ != nullptr, "server_options: the name or version was refused");
    }
    server_options &instructions(const char *text) noexcept
    {
        return note(mcplink_server_options_set_instructions(get(), text), "server_options::instructions was refused");
    }
    server_options &title(const char *title) noexcept
    {
        return note(mcplink_server_options_set_title(get(), title), "server_options::title was refused");
    }
    server_options &description(const char *text) noexcept
    {
        return note(mcplink_server_options_set_description(get(), text), "server_options::description was refused");
    }
    server_options &website(const char *url) noexcept
    {
        return note(mcplink_server_options_set_website(get(), url), "server_options::website was refused");
    }
    server_options &icons(std::string_view json) noexcept
    {
        return note(mcplink_server_options_set_icons(get(), json.data(), json.size()), "server_options::icons was refused");
    }
    server_options &revisions(const char *revisions) noexcept
    {
        return note(mcplink_server_options_set_revisions(get(), revisions), "server_options::revisions was refused");
    }
    server_options &pump(const mcplink::pump &pump) noexcept
    {
        need(pump.get() != nullptr, "server_options::pump was refused");
        return note(mcplink_server_options_set_pump(get(), pump.get()), "server_options::pump was refused");
    }
    /* Whether standard output is reserved for the protocol while the server uses it. */
    server_options &claim_stdio(bool claims) noexcept
    {
        return note(mcplink_server_options_set_claim_stdio(get(), claims), "server_options::claim_stdio was refused");
    }
    server_options &limit(mcplink_limit limit, std::size_t value) noexcept
    {
        return note(mcplink_server_options_set_limit(get(), limit, value), "server_options::limit was refused");
    }
    server_options &page_size(std::size_t items) noexcept
    {
        return note(mcplink_server_options_set_page_size(get(), items), "server_options::page_size was refused");
    }
    server_options &drain(milliseconds span) noexcept
    {
        return note(mcplink_server_options_set_drain_ms(get(), detail::count(span)), "server_options::drain was refused");
    }
    server_options &keep_alive(milliseconds interval, milliseconds timeout, std::uint32_t max_failures) noexcept
    {
        const auto every = detail::count(interval), within = detail::count(timeout);
        return note(mcplink_server_options_set_keep_alive(get(), every, within, max_failures), "server_options::keep_alive was refused");
    }
    /* 32 secret random bytes. */
    server_options &state_key(const void *key, std::size_t size) noexcept
    {
        return note(mcplink_server_options_add_state_key(get(), key, size),
                    "server_options::state_key was refused");
    }
    server_options &state_lifetime(milliseconds span) noexcept
    {
        return note(mcplink_server_options_set_state_lifetime_ms(get(), detail::count(span)), "server_options::state_lifetime was refused");
    }
    server_options &single_use_state(bool single_use = true) noexcept
    {
        return note(mcplink_server_options_set_single_use_state(get(), single_use), "server_options::single_use_state was refused");
    }
    /* callback(std::string_view client, std::string_view id, milliseconds lifetime) returns whether
       the state is presented for the first time: a bool or an optional bool. The state is refused
       without an answer, and if the callback throws. */
    template <class F> server_options &state_store(F callback)
    {
        return with<mcplink_state_claim_fn>("server_options::state_store was refused: the callable is empty",
                                            mcplink_server_options_set_state_store, std::move(callback));
    }
    /* callback(std::string_view event) passes an event to the other processes of the server, where
       server::deliver takes it. It returns whether it could. See mcplink_event_publish_fn. */
    template <class F> server_options &event_bus(F callback)
    {
        return with<mcplink_event_publish_fn>("server_options::event_bus was refused: the callable is empty",
                                              mcplink_server_options_set_event_bus, std::move(callback));
    }
    /* Shares tasks through the host's store. read(std::string_view key, record &) passes the record
       on if there is one, and returns whether it could read: a bool, nothing or a status.
       write(std::string_view key, version, std::string_view bytes, milliseconds lifetime) returns
       whether it has stored the version: a bool, or an optional bool that is empty when the store
       can't tell. remove(std::string_view key) returns whether it could. */
    template <class Read, class Write, class Remove> server_options &record_store(Read read, Write write, Remove remove)
    {
        return with<mcplink_record_read_fn, mcplink_record_write_fn, mcplink_record_remove_fn>(
            "server_options::record_store was refused: a callable is empty", mcplink_server_options_set_record_store, std::move(read),
            std::move(write), std::move(remove));
    }
    server_options &lease(milliseconds lease) noexcept
    {
        return note(mcplink_server_options_set_lease_ms(get(), detail::count(lease)), "server_options::lease was refused");
    }
    server_options &logging(bool logging = true) noexcept
    {
        return note(mcplink_server_options_set_logging(get(), logging), "server_options::logging was refused");
    }
    server_options &resource_updates(bool updates) noexcept
    {
        return note(mcplink_server_options_set_resource_updates(get(), updates), "server_options::resource_updates was refused");
    }
    server_options &list_changes(bool changes) noexcept
    {
        return note(mcplink_server_options_set_list_changes(get(), changes), "server_options::list_changes was refused");
    }
    /* compile(std::string_view schema, output &reason) returns a callable for one schema:
       check(std::string_view json, output &fault) returns whether a value fits, on several threads
       at once. An empty callable means that the schema can't be used. A schema or value is refused
       if its callable throws. */
    template <class F> server_options &validator(F compile)
    {
        return note(detail::hand_over_validator([&](auto... c) { return mcplink_server_options_set_validator(get(), c...); },
                                                std::move(compile)),
                    "server_options::validator was refused: the callable is empty");
    }
    server_options &clear_validation() noexcept
    {
        return note(mcplink_server_options_clear_validation(get()), "server_options::clear_validation was refused");
    }
    /* False to send no name, for privacy. */
    server_options &send_server_info(bool enabled) noexcept
    {
        return note(mcplink_server_options_set_send_server_info(get(), enabled), "server_options::send_server_info was refused");
    }
    /* Declares a capability without entries. list: one of enum mcplink_list. */
    server_options &declare_capability(mcplink_list list) noexcept
    {
        return note(mcplink_server_options_declare_capability(get(), list), "server_options::declare_capability was refused");
    }
    server_options &cache(mcplink_list list, milliseconds time_to_live, bool is_public) noexcept
    {
        return note(mcplink_server_options_set_cache(get(), list, detail::long_count(time_to_live), is_public), "server_options::cache was refused");
    }
    server_options &tasks(std::size_t most, milliseconds lifetime) noexcept
    {
        return note(mcplink_server_options_set_tasks(get(), most, detail::long_count(lifetime)), "server_options::tasks was refused");
    }
    server_options &extension(const char *id, std::string_view settings = {}) noexcept
    {
        return note(mcplink_server_options_add_extension(get(), id, settings.data(), settings.size()), "server_options::extension was refused");
    }
    server_options &capability(const char *name, std::string_view settings = {}) noexcept
    {
        return note(mcplink_server_options_add_capability(get(), name, settings.data(), settings.size()), "server_options::capability was refused");
    }
    /* The name of the replica, for servers of which several processes run. */
    server_options &replica(const char *name) noexcept
    {
        return note(mcplink_server_options_set_replica(get(), name), "server_options::replica was refused");
    }
    /* At most so many requests of one client in a period. methods: names separated by spaces;
       nullptr for all methods. */
    server_options &rate_limit(std::uint32_t requests, milliseconds period, const char *methods = nullptr) noexcept
    {
        return note(mcplink_server_options_add_rate_limit(get(), requests, detail::count(period), methods), "server_options::rate_limit was refused");
    }
    /* A folder whose skills are published; base_uri is the URI that stands for it. */
    server_options &skills(const char *path, const char *base_uri = nullptr) noexcept
    {
        return note(mcplink_server_options_add_skills(get(), path, base_uri), "server_options::skills was refused");
    }
    /* guard(guarded_request &) returns an mcplink_decision about each request. A request is
       refused if the guard throws. */
    template <class F> server_options &guard(F guard)
    {
        return with<mcplink_guard_fn>("server_options::guard was refused: the callable is empty", mcplink_server_options_add_guard,
                                      std::move(guard));
    }
    /* As mcplink_set_log, for this server. */
    template <class F> server_options &on_log(mcplink_log_level level, F callback)
    {
        return note(detail::hand_over<mcplink_log_fn>([&](auto... c) { return mcplink_server_options_on_log(get(), level, c...); },
                                                      std::move(callback)),
                    "server_options::on_log was refused");
    }
    /* The handler takes (const request &, responder &), answers with json() or fail() of the
       responder, and returns nothing. */
    template <class F> server_options &on_method(const char *method, F handler)
    {
        return note(detail::hand_over<mcplink_handler_fn>([&](auto... c) { return mcplink_server_options_on_method(get(), method, c...); },
                                                          detail::handling<detail::nothing>(std::move(handler))),
                    "server_options::on_method was refused");
    }
    server_options &slow_handler(milliseconds time) noexcept
    {
        return note(mcplink_server_options_set_slow_handler_ms(get(), detail::count(time)), "server_options::slow_handler was refused");
    }
    server_options &thread_prefix(const char *prefix) noexcept
    {
        return note(mcplink_server_options_set_thread_prefix(get(), prefix), "server_options::thread_prefix was refused");
    }
    server_options &thread_stack_size(std::size_t bytes) noexcept
    {
        return note(mcplink_server_options_set_thread_stack_size(get(), bytes), "server_options::thread_stack_size was refused");
    }
    /* start(std::string_view thread) and stop(std::string_view thread), on each thread of the
       server. */
    template <class Start, class Stop> server_options &on_thread(Start start, Stop stop)
    {
        return with<mcplink_thread_fn, mcplink_thread_fn>("server_options::on_thread was refused", mcplink_server_options_on_thread,
                                                          std::move(start), std::move(stop));
    }
    /* callback(mcplink_server_event event, json_view params): sessions
       that begin and end, and incidents with clients. */
    template <class F> server_options &on_session(F callback)
    {
        return with<mcplink_server_event_fn>("server_options::on_session was refused", mcplink_server_options_on_session, std::move(callback));
    }
    template <class F> server_options &on_event(F callback)
    {
        return with<mcplink_server_event_fn>("server_options::on_event was refused", mcplink_server_options_on_event, std::move(callback));
    }
    /* callback(mcplink_direction direction, std::string_view text) sees each message: see
       mcplink_message_fn. */
    template <class F> server_options &on_message(F callback)
    {
        return with<mcplink_message_fn>("server_options::on_message was refused", mcplink_server_options_on_message, std::move(callback));
    }
    mcplink_server_options_t *get() const noexcept { return owned_.get(); }

private:
    detail::owner<mcplink_server_options_t, mcplink_server_options_free> owned_;
};

/* A resource server (OAuth): a server over HTTP that requires access tokens of an authorization
   server. */
class resource_server : public detail::described<resource_server> {
public:
    resource_server(const char *resource, const char *issuer) : owned_(mcplink_resource_server_new(resource, issuer))
    {
        need(owned_ != nullptr, "resource_server could not be made");
    }
    resource_server &issuer(const char *issuer) noexcept
    {
        return note(mcplink_resource_server_add_issuer(get(), issuer), "resource_server::issuer was refused");
    }
    resource_server &keys_url(const char *url) noexcept
    {
        return note(mcplink_resource_server_set_keys_url(get(), url), "resource_server::keys_url was refused");
    }
    resource_server &keys(std::string_view json) noexcept
    {
        return note(mcplink_resource_server_set_keys(get(), json.data(), json.size()), "resource_server::keys was refused");
    }
    /* PEM text of the trusted certificate authorities for fetching keys. Replaces Mozilla's
       list. */
    resource_server &root_certificates(std::string_view pem) noexcept
    {
        return note(mcplink_resource_server_set_root_certificates(get(), pem.data() ? pem.data() : "", pem.size()),
                    "resource_server::root_certificates was refused");
    }
    resource_server &proxy(const char *url) noexcept
    {
        return note(mcplink_resource_server_set_proxy(get(), url), "resource_server::proxy was refused");
    }
    /* callback(http_request &) verifies a token, on several threads at once. If it throws, the
       answer is status 503. */
    template <class F> resource_server &verifier(F callback)
    {
        return with<mcplink_authenticate_fn>("resource_server::verifier was refused: the callable is empty, or there are keys already",
                                             mcplink_resource_server_set_verifier, std::move(callback));
    }
    /* Uses the keys that the issuer's metadata names: clears keys, keys_url and verifier. */
    resource_server &use_default_keys() noexcept
    {
        return note(mcplink_resource_server_use_default_keys(get()), "resource_server::use_default_keys was refused");
    }
    resource_server &use_default_roots() noexcept
    {
        return note(mcplink_resource_server_use_default_roots(get()), "resource_server::use_default_roots was refused");
    }
    resource_server &clear_proxy() noexcept
    {
        return note(mcplink_resource_server_clear_proxy(get()), "resource_server::clear_proxy was refused");
    }
    resource_server &clear_required_scopes() noexcept
    {
        return note(mcplink_resource_server_clear_required_scopes(get()), "resource_server::clear_required_scopes was refused");
    }
    resource_server &required_scopes(const char *scopes) noexcept
    {
        return note(mcplink_resource_server_set_required_scopes(get(), scopes), "resource_server::required_scopes was refused");
    }
    resource_server &scopes_supported(const char *scopes) noexcept
    {
        return note(mcplink_resource_server_set_scopes_supported(get(), scopes), "resource_server::scopes_supported was refused");
    }
    resource_server &implied(const char *broad, const char *narrow) noexcept
    {
        return note(mcplink_resource_server_add_implied(get(), broad, narrow), "resource_server::implied was refused");
    }
    resource_server &audience(const char *audience) noexcept
    {
        return note(mcplink_resource_server_add_audience(get(), audience), "resource_server::audience was refused");
    }
    resource_server &info(const char *title, const char *documentation = nullptr) noexcept
    {
        return note(mcplink_resource_server_set_info(get(), title, documentation), "resource_server::info was refused");
    }
    resource_server &metadata_url(const char *url) noexcept
    {
        return note(mcplink_resource_server_set_metadata_url(get(), url), "resource_server::metadata_url was refused");
    }
    resource_server &dpop(mcplink_dpop dpop) noexcept
    {
        return note(mcplink_resource_server_set_dpop(get(), dpop), "resource_server::dpop was refused");
    }
    /* One or more keys of 32 secret random bytes each, concatenated. */
    resource_server &nonces(const void *keys, std::size_t size, milliseconds lifetime) noexcept
    {
        return note(mcplink_resource_server_set_nonces(get(), keys, size, detail::count(lifetime)),
                    "resource_server::nonces was refused");
    }
    mcplink_resource_server_t *get() const noexcept { return owned_.get(); }

private:
    detail::owner<mcplink_resource_server_t, mcplink_resource_server_free> owned_;
};

/* HTTP options of a server. The defaults suit a server for clients on this machine. */
class http_options : public detail::described<http_options> {
public:
    http_options() : owned_(mcplink_http_options_new()) {}
    http_options &path(const char *path) noexcept { return note(mcplink_http_options_set_path(get(), path), "http_options::path was refused"); }
    /* Adds an allowed host. Once one is added, other hosts are refused. */
    http_options &host(const char *host) noexcept { return note(mcplink_http_options_add_host(get(), host), "http_options::host was refused"); }
    http_options &origin(const char *origin) noexcept
    {
        return note(mcplink_http_options_add_origin(get(), origin), "http_options::origin was refused");
    }
    http_options &trusted_proxy(const char *network) noexcept
    {
        return note(mcplink_http_options_add_trusted_proxy(get(), network), "http_options::trusted_proxy was refused");
    }
    http_options &sessions(bool sessions) noexcept
    {
        return note(mcplink_http_options_set_sessions(get(), sessions), "http_options::sessions was refused");
    }
    http_options &session_idle(milliseconds span) noexcept
    {
        return note(mcplink_http_options_set_session_idle_ms(get(), detail::count(span)), "http_options::session_idle was refused");
    }
    http_options &old_paths(const char *stream, const char *post) noexcept
    {
        return note(mcplink_http_options_set_old_paths(get(), stream, post), "http_options::old_paths was refused");
    }
    /* Answers 503 once the server is closing, or listener::drain was called. */
    http_options &health(const char *path) noexcept { return note(mcplink_http_options_set_health(get(), path), "http_options::health was refused"); }
    /* A static page. cache_control: nullptr for "no-cache". */
    http_options &page(const char *path, const char *media_type, std::string_view body, const char *cache_control = nullptr) noexcept
    {
        return note(mcplink_http_options_add_page(get(), path, media_type, body.data(), body.size(), cache_control), "http_options::page was refused");
    }
    /* Stores events through the host. append(std::string_view session, stream, number,
       std::string_view event) returns whether it could: a bool, nothing or a status.
       again(session, stream, after, replay &) sends the stored events after a number, and returns
       whether it could read them. forget(session, stream) returns nothing. Three times nullptr
       keeps events in memory. */
    template <class Append, class Replay, class Forget> http_options &event_store(Append append, Replay again, Forget forget)
    {
        return with<mcplink_event_append_fn, mcplink_event_replay_fn, mcplink_event_forget_fn>(
            "http_options::event_store was refused", mcplink_http_options_set_event_store, std::move(append), std::move(again), std::move(forget));
    }
    http_options &kept_events(std::size_t events, std::size_t bytes) noexcept
    {
        return note(mcplink_http_options_set_kept_events(get(), events, bytes), "http_options::kept_events was refused");
    }
    http_options &keep_alive(milliseconds interval) noexcept
    {
        return note(mcplink_http_options_set_keep_alive_ms(get(), detail::count(interval)), "http_options::keep_alive was refused");
    }
    http_options &limit(mcplink_http_limit limit, std::size_t value) noexcept
    {
        return note(mcplink_http_options_set_limit(get(), limit, value), "http_options::limit was refused");
    }
    /* callback(http_request &) authenticates a request, on several threads at once. If it
       throws, the answer is status 503. */
    template <class F> http_options &on_authenticate(F callback)
    {
        return with<mcplink_authenticate_fn>("http_options::on_authenticate was refused: the callable is empty, or tokens are checked already",
                                             mcplink_http_options_on_authenticate, std::move(callback));
    }
    /* Accepts clients that send a fixed access token. */
    http_options &token(const char *token, const char *principal) noexcept
    {
        return note(mcplink_http_options_add_token(get(), token, principal), "http_options::token was refused");
    }
    /* Without another check all clients are accepted. */
    http_options &clear_authenticate() noexcept
    {
        return note(mcplink_http_options_clear_authenticate(get()), "http_options::clear_authenticate was refused");
    }
    http_options &resource_server(const mcplink::resource_server &server) noexcept
    {
        need(server);
        return note(mcplink_http_options_set_resource_server(get(), server.get()), "http_options::resource_server was refused");
    }
    /* Without another check all clients are accepted. */
    http_options &clear_resource_server() noexcept
    {
        return note(mcplink_http_options_clear_resource_server(get()), "http_options::clear_resource_server was refused");
    }
    mcplink_http_options_t *get() const noexcept { return owned_.get(); }

private:
    detail::owner<mcplink_http_options_t, mcplink_http_options_free> owned_;
};

/* A client that is served in the background. Destroying the object closes the session. */
class session {
public:
    explicit session(mcplink_session_t *owned) noexcept : owned_(owned) {}
    /* Waits until the client has gone, or the session is closed. */
    result<void> wait()
    {
        return detail::done([&](auto err) { return mcplink_session_wait(get(), err); });
    }
    result<void> notify(const char *method, std::string_view params = "{}")
    {
        return detail::done([&](auto err) { return mcplink_session_notify(get(), method, params.data(), params.size(), err); });
    }
    result<void> close() { return detail::told(mcplink_session_close(get())); }
    bool is_closed() const noexcept { return mcplink_session_is_closed(get()); }
    std::uint64_t number() const noexcept { return mcplink_session_number(get()); }
    std::string_view principal() const noexcept { return detail::view(mcplink_session_principal(get())); }
    mcplink_session_t *get() const noexcept { return owned_.get(); }

private:
    detail::owner<mcplink_session_t, mcplink_session_free> owned_;
};

/* A listener that serves HTTP clients in the background. Destroying the object closes it. */
class listener {
public:
    explicit listener(mcplink_listener_t *owned) noexcept : owned_(owned) {}
    std::uint16_t port() const noexcept { return mcplink_listener_port(get()); }
    std::string_view url() const noexcept { return detail::view(mcplink_listener_url(get())); }
    std::size_t sessions() const noexcept { return mcplink_listener_sessions(get()); }
    /* Moves clients to other replicas, before close(): see mcplink_listener_drain. Blocks for the
       span. */
    result<void> drain(milliseconds span) { return detail::told(mcplink_listener_drain(get(), detail::count(span))); }
    result<void> close() { return detail::told(mcplink_listener_close(get())); }
    mcplink_listener_t *get() const noexcept { return owned_.get(); }

private:
    detail::owner<mcplink_listener_t, mcplink_listener_free> owned_;
};

/* A published server, to which other programs of the same user can connect. Destroying the object
   closes it. */
class publication {
public:
    explicit publication(mcplink_publication_t *owned) noexcept : owned_(owned) {}
    result<void> set_title(const char *title) { return detail::done([&](auto err) { return mcplink_publication_set_title(get(), title, err); }); }
    std::size_t clients() const noexcept { return mcplink_publication_clients(get()); }
    result<void> close() { return detail::told(mcplink_publication_close(get())); }
    mcplink_publication_t *get() const noexcept { return owned_.get(); }

private:
    detail::owner<mcplink_publication_t, mcplink_publication_free> owned_;
};

/* A request that the host's own web server received, and the functions that send its response.
   Destroying the object abandons an unfinished response. */
class exchange : public detail::described<exchange> {
public:
    /* begin(const http_head &, std::int64_t length) and write(std::string_view bytes) return
       whether they could, or nothing. end(bool complete) returns nothing. They run one at a
       time: see mcplink_exchange_new. */
    template <class Begin, class Write, class End> exchange(const char *method, const char *target, Begin begin, Write write, End end)
    {
        detail::hand_over<mcplink_http_begin_fn, mcplink_http_write_fn, mcplink_http_end_fn>(
            [&](auto... c) {
                owned_.reset(mcplink_exchange_new(method, target, c...));
                return MCPLINK_OK;
            },
            std::move(begin), std::move(write), std::move(end));
        need(owned_ != nullptr, "exchange: the method, the target or a callable was refused");
    }
    exchange &header(const char *field, std::string_view content) noexcept
    {
        return note(mcplink_exchange_add_header(get(), field, content.data(), content.size()), "exchange::header was refused");
    }
    exchange &body(std::string_view whole) noexcept
    {
        return note(mcplink_exchange_set_body(get(), whole.data(), whole.size()), "exchange::body was refused");
    }
    exchange &addresses(const char *local, const char *remote) noexcept
    {
        return note(mcplink_exchange_set_addresses(get(), local, remote), "exchange::addresses was refused");
    }
    /* Reports that the client has gone. */
    void disconnected() noexcept { mcplink_exchange_disconnected(get()); }
    /* Reports that the response has not begun for the keep-alive interval. */
    void begin_stream() noexcept { mcplink_exchange_begin_stream(get()); }
    mcplink_exchange_t *get() const noexcept { return owned_.get(); }

private:
    detail::owner<mcplink_exchange_t, mcplink_exchange_free> owned_;
};

/* The HTTP endpoint of a server, mounted in a web server of the host. Destroying the object
   closes it. */
class http {
public:
    explicit http(mcplink_http_t *owned) noexcept : owned_(owned) {}
    /* Serves a request. The callables of the exchange send the response, now or later. On
       failure they send none. */
    result<void> serve(const exchange &exchange)
    {
        if (auto unknown = exchange.unknown_to_c(); !unknown) return unknown;
        return detail::done([&](auto err) { return mcplink_http_serve(get(), exchange.get(), err); });
    }
    result<void> close() { return detail::told(mcplink_http_close(get())); }
    mcplink_http_t *get() const noexcept { return owned_.get(); }

private:
    detail::owner<mcplink_http_t, mcplink_http_free> owned_;
};

/* A server. Thread-safe. Handlers are callables that take (const request &, responder &). They
   answer with the responder and return nothing or its result, or they return the text of the
   answer. */
class server {
public:
    server(const char *name, const char *version) : owned_(mcplink_server_new(name, version)) {}
    explicit server(mcplink_server_t *owned) noexcept : owned_(owned) {}
    static result<server> make(const server_options &options)
    {
        if (auto unknown = options.unknown_to_c(); !unknown) return unknown.error();
        return make(options.get());
    }
    static result<server> make(const mcplink_server_options_t *options)
    {
        return detail::made<server, mcplink_server_t>([&](auto out, auto err) { return mcplink_server_new_with(options, out, err); });
    }
    template <class F> result<void> add_tool(const tool &tool, F handler) { return add(mcplink_server_add_tool, tool, std::move(handler)); }
    /* Adds a typed tool: a callable whose parameters are the arguments, in order. The types of the
       parameters make the schema: bool, integer types, float, double, std::string,
       std::string_view, std::vector of these, or json_view for any value. Calls may omit an argument
       whose type is std::optional or json_view. The callable returns the text of the answer, a bool
       or a number. If its last parameter is a responder &, it may answer with the responder instead.
       Arguments that do not fit are refused before the callable runs. The arguments are added to the
       definition. */
    template <std::size_t Count, class F> result<void> add_tool(tool &definition, const arg (&args)[Count], F callable)
    {
        using typed = detail::typed_handler<F>;
        static_assert(typed::count == Count, "a callable has as many parameters as the tool has arguments");
        return add_typed<typed>(definition, args, std::move(callable), std::make_index_sequence<Count>());
    }
    template <std::size_t Count, class F> result<void> add_tool(tool &&definition, const arg (&args)[Count], F callable)
    {
        return add_tool(definition, args, std::move(callable));
    }
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
    /* The handler reads the argument's name with name(), the typed text with value(), and the
       other arguments with args(). It answers with values(), or returns a
       std::vector<std::string>. primitive: a prompt or a template. */
    template <class F> result<void> add_completer(mcplink_primitive primitive, const char *target, const char *argument, F handler)
    {
        return enlist(detail::handling<detail::values>(std::move(handler)), [&](auto... rest) { return mcplink_server_add_completer(get(), primitive, target, argument, rest...); });
    }
    /* Adds the files of a folder as resources; max_bytes is 0 for the default. */
    result<void> add_folder(const char *path, const char *template_name, std::uint64_t max_bytes = 0)
    {
        return detail::done([&](auto err) { return mcplink_server_add_folder(get(), path, template_name, max_bytes, err); });
    }
    result<json> reload_skills()
    {
        return detail::made<json, mcplink_json_t>([&](auto out, auto err) { return mcplink_server_reload_skills(get(), out, err); });
    }
    result<json> skipped_skills() const
    {
        return detail::made<json, mcplink_json_t>([&](auto out, auto err) { return mcplink_server_skipped_skills(get(), out, err); });
    }
    result<void> remove_tool(const char *name) { return detail::told(mcplink_server_remove_tool(get(), name)); }
    result<void> remove_resource(const char *uri) { return detail::told(mcplink_server_remove_resource(get(), uri)); }
    result<void> remove_template(const char *uri_template) { return detail::told(mcplink_server_remove_template(get(), uri_template)); }
    result<void> remove_prompt(const char *name) { return detail::told(mcplink_server_remove_prompt(get(), name)); }
    result<void> require_scopes(mcplink_primitive primitive, const char *target, const char *scopes)
    {
        return detail::done([&](auto err) { return mcplink_server_require_scopes(get(), primitive, target, scopes, err); });
    }
    /* Returns whether a client was notified: see mcplink_server_elicitation_complete. */
    result<bool> elicitation_complete(const char *elicitation_id)
    {
        bool sent = false;
        auto done = detail::done([&](auto err) { return mcplink_server_elicitation_complete(get(), elicitation_id, &sent, err); });
        if (!done) return done.error();
        return sent;
    }
    result<void> end_subscriptions() { return detail::told(mcplink_server_end_subscriptions(get())); }
    result<void> resource_updated(const char *uri) { return detail::told(mcplink_server_resource_updated(get(), uri)); }
    /* Sends a log message that belongs to no call, as JSON, to clients of revisions before
       2026-07-28. */
    result<void> log(mcplink_log_level level, std::string_view json, const char *logger = nullptr)
    {
        return detail::told(mcplink_server_log(get(), level, logger, json.data(), json.size()));
    }
    /* Takes an event of another process; nullptr when events may have been lost. */
    result<void> deliver(const char *event) { return detail::told(mcplink_server_deliver(get(), event)); }
    /* Where clients reach the server, and why an address could not be opened: see
       mcplink_server_state. */
    result<json> state() const { return detail::shown(get(), mcplink_server_state); }
    result<json> stats() const { return detail::shown(get(), mcplink_server_stats); }
    result<json> activity() const { return detail::shown(get(), mcplink_server_activity); }
    /* Serves until the input ends, or stop() is called. */
    result<void> serve_stdio()
    {
        return detail::done([&](auto err) { return mcplink_server_serve_stdio(get(), err); });
    }
    /* principal: on whose behalf the client acts; nullptr when it is unknown. */
    result<void> serve_fds(std::ptrdiff_t input, std::ptrdiff_t output, const char *principal = nullptr)
    {
        return detail::done([&](auto err) { return mcplink_server_serve_fds(get(), input, output, principal, err); });
    }
    /* The non-blocking forms. */
    result<session> serve_stdio_start()
    {
        return detail::made<session, mcplink_session_t>([&](auto out, auto err) { return mcplink_server_serve_stdio_start(get(), out, err); });
    }
    result<session> serve_fds_start(std::ptrdiff_t input, std::ptrdiff_t output, const char *principal = nullptr)
    {
        return detail::made<session, mcplink_session_t>(
            [&](auto out, auto err) { return mcplink_server_serve_fds_start(get(), input, output, principal, out, err); });
    }
    result<session> attach(const transport &transport, const char *principal = nullptr)
    {
        return detail::made<session, mcplink_session_t>(
            [&](auto out, auto err) { return mcplink_server_attach(get(), transport.get(), principal, out, err); });
    }
    /* Publishes the server to other programs of the same user: see mcplink_server_publish. */
    result<publication> publish(const char *name, const char *title = nullptr, const char *folder = nullptr)
    {
        return detail::made<publication, mcplink_publication_t>(
            [&](auto out, auto err) { return mcplink_server_publish(get(), name, title, folder, out, err); });
    }
    /* bind: a port of the loopback address, or address and port; with port 0 the system chooses
       one. */
    result<listener> listen_http(const char *bind, const http_options &options = {})
    {
        if (auto unknown = options.unknown_to_c(); !unknown) return unknown.error();
        return detail::made<listener, mcplink_listener_t>(
            [&](auto out, auto err) { return mcplink_server_listen_http(get(), options.get(), bind, out, err); });
    }
    /* Makes an endpoint for a web server of the host. */
    result<mcplink::http> http(const http_options &options = {})
    {
        if (auto unknown = options.unknown_to_c(); !unknown) return unknown.error();
        return detail::made<mcplink::http, mcplink_http_t>([&](auto out, auto err) { return mcplink_server_http(get(), options.get(), out, err); });
    }
    /* Stops the server; functions that serve return. */
    void stop() noexcept { mcplink_server_stop(get()); }
    mcplink_server_t *get() const noexcept { return owned_.get(); }

private:
    template <class Typed, std::size_t Count, class F, std::size_t... At>
    result<void> add_typed(tool &definition, const arg (&args)[Count], F callable, std::index_sequence<At...>)
    {
        for (const auto &one : args) {
            if (!one.name()) return error(MCPLINK_E_INVALID, "add_tool: an argument has no name");
        }
        (args[At].template declare<std::tuple_element_t<At, typename Typed::values>>(definition), ...);
        return add_tool(definition, Typed{std::move(callable), {args[At].name()...}});
    }
    template <class F, class C> result<void> enlist(F handler, C function)
    {
        return detail::done([&](auto err) {
            return detail::hand_over<mcplink_handler_fn>([&](auto... c) { return function(c..., err); }, std::move(handler));
        });
    }
    template <class Add, class Definition, class F> result<void> add(Add function, const Definition &definition, F handler)
    {
        if (auto unknown = definition.unknown_to_c(); !unknown) return unknown;
        return enlist(detail::handling<detail::text>(std::move(handler)), [&](auto... rest) { return function(get(), definition.get(), rest...); });
    }
    detail::owner<mcplink_server_t, mcplink_server_free> owned_;
};

} // namespace mcplink

#endif
