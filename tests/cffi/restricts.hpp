/* What the program of tests/cffi/restricts.py for mcplink.hpp calls: objects that are good for nothing, and what takes objects. */
#ifndef RESTRICTS_HPP
#define RESTRICTS_HPP

#include "cpp/check.hpp"

#include <functional>
#include <string>

static const char certificate[] = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";

static std::string current;

inline void begin(const char *what) { current = what; }

/* Whether it failed for a reason that is no accident of the network. */
template <class T> bool refused(const mcplink::result<T> &taken)
{
    if (!taken && taken.error().status() == MCPLINK_E_INVALID && !taken.error().message().empty()) return true;
    std::fprintf(stderr, "%s: %s\n", current.c_str(), taken ? "was taken" : std::string(taken.error().message()).c_str());
    return false;
}

template <class T> T none() { return nullptr; }

inline mcplink::server &some_server()
{
    static mcplink::server server("restricts", "1");
    return server;
}

/* What takes an object. */
inline mcplink::result<void> serves(const mcplink::http_options &options)
{
    auto mounted = some_server().http(options);
    auto listens = some_server().listen_http("0", options);
    if (mounted) return {};
    return listens ? mcplink::result<void>() : mcplink::result<void>(listens.error());
}
inline mcplink::result<void> checks(const mcplink::resource_server &tokens)
{
    mcplink::http_options options;
    options.resource_server(tokens);
    return serves(options);
}
inline mcplink::result<mcplink::client> opens(const mcplink::client_options &options) { return mcplink::client::open(options); }
inline mcplink::result<mcplink::client> logs_in(const mcplink::oauth &oauth)
{
    mcplink::client_options options;
    options.url("http://127.0.0.1:1/mcp").oauth(oauth);
    return mcplink::client::open(options);
}
inline mcplink::result<mcplink::client> registers(const mcplink::oauth_client &known)
{
    mcplink::oauth oauth;
    oauth.client(known);
    return logs_in(oauth);
}
inline mcplink::result<mcplink::server> makes(const mcplink::server_options &options) { return mcplink::server::make(options); }
inline mcplink::result<void> asks(const mcplink::exchange &exchange)
{
    auto mounted = some_server().http();
    CHECK(worked(mounted));
    return mounted->serve(exchange);
}

/* Good ones, ones of which a setter was refused, and ones that were moved from. */
inline mcplink::oauth_client good_client() { return {"https://login.example", "me"}; }
inline mcplink::oauth_client bad_client()
{
    auto known = good_client();
    known.secret("");
    return known;
}
inline mcplink::oauth bad_oauth()
{
    mcplink::oauth oauth;
    oauth.dpop(static_cast<mcplink_dpop>(99));
    return oauth;
}
inline mcplink::resource_server bad_tokens()
{
    mcplink::resource_server tokens("https://files.example/mcp", "https://login.example");
    tokens.dpop(static_cast<mcplink_dpop>(99));
    return tokens;
}
template <class T> const T &moved(T object)
{
    static T kept = std::move(object);
    [[maybe_unused]] static const T taken = std::move(kept);
    return kept;
}
inline const mcplink::oauth_client &moved_client() { return moved(good_client()); }
inline const mcplink::oauth &moved_oauth() { return moved(mcplink::oauth()); }
inline const mcplink::resource_server &moved_tokens() { return moved(mcplink::resource_server("https://files.example/mcp", "https://login.example")); }

/* With a check of tokens no other one has its place, none least of all, and a good one said later takes no refusal back. */
inline void one_check_does_not_undo_another()
{
    begin("one check behind another");
    const auto let_in = [](mcplink::http_request &request) { CHECK(request.admit("ada")); };
    mcplink::resource_server tokens("https://files.example/mcp", "https://login.example");
    tokens.verifier(let_in);
    mcplink::http_options none, other, first, later;
    CHECK(refused(serves(none.resource_server(tokens).on_authenticate(nullptr))));
    CHECK(refused(serves(other.resource_server(tokens).on_authenticate(let_in))));
    CHECK(refused(serves(first.on_authenticate(let_in).resource_server(tokens))));
    CHECK(refused(serves(later.on_authenticate(nullptr).on_authenticate(let_in))));
    mcplink::http_options cleared;
    CHECK(serves(cleared.resource_server(tokens).clear_resource_server().on_authenticate(let_in)));
    auto unread = mcplink::client::open(mcplink::client_options().url("http://127.0.0.1:1/mcp").bearer(nullptr));
    CHECK(refused(unread) && unread.error().message().find("mcplink_client_options_set_bearer: token") != std::string_view::npos);
}

#endif
