/* What a host in C++ does itself: request states that count once, validators, events of sessions, keys that only sign, and HTTP. */
#include "check.hpp"

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

/* A client and a server in this process. */
struct linked {
    mcplink::server server;
    mcplink::transport here, there;
    mcplink::session session;
    mcplink::client client;
};

static std::unique_ptr<linked> link(const mcplink::server_options &of_server, mcplink::client_options &of_client,
                                    const std::function<void(mcplink::server &)> &fill)
{
    auto server = mcplink::server::make(of_server);
    CHECK(worked(server));
    fill(*server);
    auto ends = mcplink::transport::pair();
    CHECK(worked(ends));
    auto session = server->attach(ends->first);
    CHECK(worked(session));
    auto client = mcplink::client::open(of_client.transport(ends->second));
    CHECK(worked(client));
    return std::unique_ptr<linked>(
        new linked{std::move(*server), std::move(ends->first), std::move(ends->second), std::move(*session), std::move(*client)});
}

static constexpr std::string_view object = R"({"type":"object"})";

/* Values fit if they are short. */
static void validates()
{
    struct numbers {
        std::atomic<int> compiled{0}, checked{0};
        std::atomic<bool> throws{false};
    } seen;
    {
        const auto compile = [&seen, held = alive()](std::string_view schema, mcplink::output &reason) -> std::function<bool(std::string_view, mcplink::output &)> {
            seen.compiled++;
            if (schema.find("unknown") != std::string_view::npos) {
                CHECK(reason.set("it has something unknown"));
                return nullptr;
            }
#ifdef MCPLINK_EXCEPTIONS
            if (schema.find("throws") != std::string_view::npos) throw 42;
#endif
            return [&seen, held](std::string_view json, mcplink::output &fault) {
                seen.checked++;
#ifdef MCPLINK_EXCEPTIONS
                if (seen.throws) throw 42;
#endif
                if (json.size() < 20) return true;
                CHECK(fault.set("expected something short"));
                return false;
            };
        };
        mcplink::server_options of_server("validates", "1.0");
        mcplink::client_options of_client;
        of_server.validator(compile);
        of_client.validator(compile).revisions("2025-11-25");
        auto all = link(of_server, of_client, [](mcplink::server &server) {
            CHECK(server.add_tool(mcplink::tool("echo", "").input_schema(object).output_schema(object),
                                  [](const mcplink::request &asked, mcplink::responder &answer) { CHECK(answer.structured(asked.args().text())); }));
            auto refused = server.add_tool(mcplink::tool("other", "").input_schema(R"({"type":"object","unknown":1})"),
                                           [](const mcplink::request &, mcplink::responder &) { return "no"; });
            CHECK(failed_with(refused, MCPLINK_E_INVALID) && refused.error().message().find("it has something unknown") != std::string_view::npos);
#ifdef MCPLINK_EXCEPTIONS
            CHECK(failed_with(server.add_tool(mcplink::tool("other", "").input_schema(R"({"type":"object","throws":1})"),
                                              [](const mcplink::request &, mcplink::responder &) { return "no"; }),
                              MCPLINK_E_INVALID));
#endif
        });
        CHECK(seen.compiled >= 3);
        CHECK(worked(all->client.list_tools()));
        CHECK(worked(all->client.call_tool("echo", R"({"a":1})")) && seen.checked == 3);
        auto answer = all->client.call_tool("echo", R"({"a":"a text that is too long"})");
        CHECK(worked(answer) && answer->is_tool_error() && answer->text().find("expected something short") != std::string_view::npos);
#ifdef MCPLINK_EXCEPTIONS
        seen.throws = true;
        answer = all->client.call_tool("echo", R"({"a":1})");
        CHECK(worked(answer) && answer->is_tool_error());
#endif
    }
    CHECK(alive::count == 0);
}

/* States count only if the store says so. */
static void claims()
{
    std::optional<bool> says;
    bool throws = false;
    int paid = 0;
    {
        mcplink::server_options of_server("claims", "1.0");
        mcplink::client_options of_client;
        of_server.state_store([&, held = alive()](std::string_view client, std::string_view id, mcplink::milliseconds lifetime) {
            CHECK(!client.empty() && id.size() == 32 && lifetime > 0ms && lifetime <= 10min);
#ifdef MCPLINK_EXCEPTIONS
            if (throws) throw 42;
#endif
            return says;
        });
        of_client.revisions("2026-07-28").on_elicit([](const mcplink::request &, mcplink::responder &answer) {
            CHECK(answer.json(R"({"action":"accept","content":{}})"));
        });
        auto all = link(of_server, of_client, [&](mcplink::server &server) {
            CHECK(server.add_tool(mcplink::tool("pay", ""), [&](const mcplink::request &, mcplink::responder &answer) {
                auto sure = answer.confirm("sure", "Sure?");
                CHECK(worked(sure));
                if (!*sure) return;
                paid++;
                CHECK(answer.text("paid"));
            }));
        });
        CHECK(!all->client.call_tool("pay") && paid == 0);
        says = false;
        CHECK(!all->client.call_tool("pay") && paid == 0);
        says = true;
        auto done = all->client.call_tool("pay");
        CHECK(worked(done) && done->text() == "paid" && paid == 1);
        throws = true;
#ifdef MCPLINK_EXCEPTIONS
        CHECK(!all->client.call_tool("pay") && paid == 1);
#endif
    }
    CHECK(alive::count == 0 && throws);
}

/* A task is known to another process through the store. */
static void shares_tasks()
{
    struct stored {
        std::uint64_t version = 0;
        std::string bytes;
    };
    std::mutex lock;
    std::map<std::string, stored> records;
    const std::string key(32, 'k');
    {
        const auto serve = [&] {
            mcplink::server_options options("shop", "1.0");
            options.tasks(8, 60s).lease(60s).state_key(key.data(), key.size());
            options.record_store(
                [&, held = alive()](std::string_view name, mcplink::record &record) {
                    std::lock_guard<std::mutex> locked(lock);
                    const auto found = records.find(std::string(name));
                    if (found == records.end()) return true;
                    return static_cast<bool>(record.set(found->second.version, found->second.bytes));
                },
                [&, held = alive()](std::string_view name, std::uint64_t version, std::string_view bytes, mcplink::milliseconds lifetime) {
                    std::lock_guard<std::mutex> locked(lock);
                    CHECK(lifetime <= 60s);
                    stored &one = records[std::string(name)];
                    if (one.version + 1 != version) return false;
                    one = {version, std::string(bytes)};
                    return true;
                },
                [&, held = alive()](std::string_view name) {
                    std::lock_guard<std::mutex> locked(lock);
                    records.erase(std::string(name));
                    return true;
                });
            auto server = mcplink::server::make(options);
            CHECK(worked(server));
            CHECK(server->add_tool(mcplink::tool("work", "").task_support(MCPLINK_TASK_REQUIRED),
                                   [](const mcplink::request &, mcplink::responder &) { return "done"; }));
            return std::move(*server);
        };
        mcplink::server_options none("shop", "1.0");
        const std::function<bool(std::string_view)> empty;
        none.record_store([](std::string_view, mcplink::record &) { return true; },
                          [](std::string_view, std::uint64_t, std::string_view, mcplink::milliseconds) { return true; }, empty);
        CHECK(failed_with(none.refused(), MCPLINK_E_INVALID));
        mcplink::server here = serve(), there = serve();
        const auto ask = [](mcplink::server &server, const std::function<void(mcplink::client &)> &with) {
            auto ends = mcplink::transport::pair();
            CHECK(worked(ends));
            auto session = server.attach(ends->first);
            CHECK(worked(session));
            mcplink::client_options of_client;
            auto client = mcplink::client::open(of_client.tasks(true).revisions("2026-07-28").transport(ends->second));
            CHECK(worked(client));
            with(*client);
        };
        ask(here, [&](mcplink::client &client) {
            auto begun = client.call_tool_as_task("work", "{}", 0ms);
            CHECK(worked(begun) && !begun->task_id().empty());
            const std::string task(begun->task_id());
            ask(there, [&](mcplink::client &other) {
                auto answer = other.task_wait(task.c_str(), "work");
                CHECK(worked(answer) && answer->text() == "done");
            });
        });
    }
    CHECK(alive::count == 0);
}

/* Events go to the store, a client that resumes its stream gets them from there, and streams are forgotten. */
static void stores_events()
{
    std::mutex lock;
    std::condition_variable stored;
    std::map<std::uint64_t, std::map<std::uint64_t, std::string>> events;
    bool is_done = false;
    int forgotten = 0, replayed = 0;
    {
        mcplink::http_options options;
        options.event_store(
            [&, held = alive()](std::string_view session, std::uint64_t stream, std::uint64_t number, std::string_view event) {
                std::lock_guard<std::mutex> locked(lock);
                CHECK(session.size() == 22 && number > 0);
                events[stream][number] = event;
                is_done |= event.find("done") != event.npos;
                stored.notify_all();
                return true;
            },
            [&, held = alive()](std::string_view session, std::uint64_t stream, std::uint64_t after, mcplink::replay &replay) {
                std::lock_guard<std::mutex> locked(lock);
                CHECK(session.size() == 22);
                for (auto it = events[stream].upper_bound(after); it != events[stream].end(); ++it) {
                    if (!replay.send(it->first, it->second)) break;
                    replayed++;
                }
                return true;
            },
            [&, held = alive()](std::string_view, std::uint64_t) {
                std::lock_guard<std::mutex> locked(lock);
                forgotten++;
            });
        /* A stream is resumed when all of it is stored. */
        options.on_authenticate([&](mcplink::http_request &asks) {
            std::unique_lock<std::mutex> locked(lock);
            CHECK(asks.header("Last-Event-ID").empty() || stored.wait_for(locked, 60s, [&] { return is_done; }));
            CHECK(asks.admit("ada"));
        });
        CHECK(worked(options.refused()));
        mcplink::server server("stores", "1.0");
        CHECK(server.add_tool(mcplink::tool("steps", ""), [](const mcplink::request &, mcplink::responder &answer) {
            CHECK(answer.progress(1, 2) && answer.close_stream_and_retry(1ms) && answer.text("done"));
        }));
        auto listener = server.listen_http("127.0.0.1:0", options);
        CHECK(worked(listener));
        mcplink::client_options of_client;
        of_client.url(std::string(listener->url()).c_str()).revisions("2025-11-25").timeout(60s);
        auto client = mcplink::client::open(of_client);
        CHECK(worked(client));
        mcplink::call_options asks;
        asks.on_progress([](double, double, std::string_view) {});
        auto done = client->call_tool("steps", "{}", &asks);
        CHECK(worked(done) && done->text() == "done");
        std::lock_guard<std::mutex> locked(lock);
        CHECK(!events.empty() && replayed > 0);
    }
    CHECK(forgotten == static_cast<int>(events.size()) && alive::count == 0);
    mcplink::http_options none;
    CHECK(worked(none.event_store(nullptr, nullptr, nullptr).refused()));
}

static void signs()
{
    {
        const auto sign = [held = alive()](std::string_view data) { return std::string(data); };
        mcplink::oauth_client known("https://login.example", "me");
        known.signer("ES256", "key", sign);
        CHECK(worked(known.refused()));
        mcplink::oauth oauth;
        oauth.client(known).dpop_signer("ES256", R"({"kty":"EC"})", [held = alive()](std::string_view) { return std::optional<std::string>(); });
        CHECK(worked(oauth.refused()));
        CHECK(failed_with(mcplink::oauth().dpop_signer("ES256", "{}", sign).refused(), MCPLINK_E_INVALID));
        CHECK(failed_with(mcplink::oauth_client("https://login.example", "me").signer("ES256", nullptr, nullptr).refused(), MCPLINK_E_INVALID));
    }
    CHECK(alive::count == 0);
}

/* Requests go through the host, which answers them itself, at once or later. */
static void sends()
{
    std::thread later;
    {
        mcplink::client_options options;
        std::atomic<int> seen{0};
        bool is_late = false, throws = false;
        const auto answer = [](mcplink::fetch fetch) {
            const auto initialize = fetch.body().find("\"initialize\"") != std::string_view::npos;
            CHECK(fetch.header("Content-Type", "application/json") && fetch.begin(initialize ? 200 : 202));
            if (initialize)
                CHECK(fetch.write(R"({"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}}})"));
            CHECK(fetch.end() && !fetch.end());
        };
        options.url("http://nowhere.example/mcp").revisions("2025-06-18").timeout(60s).http_client([&, held = alive()](mcplink::fetch &fetch) {
            seen++;
            CHECK(fetch.url() == "http://nowhere.example/mcp" && fetch.timeout() > 0ms && fetch.allows_address("10.0.0.1"));
            if (fetch.method() != "POST") {
                CHECK(fetch.begin(405) && fetch.end());
                return;
            }
#ifdef MCPLINK_EXCEPTIONS
            if (throws) throw 42;
#endif
            bool has_type = false;
            for (std::size_t i = 0; i < fetch.header_count(); i++)
                has_type |= fetch.header_name(i) == "content-type" && fetch.header_value(i) == "application/json";
            CHECK(has_type && fetch.on_cancel([held = alive()] {}) && !fetch.is_cancelled());
            if (!is_late) return answer(fetch);
            is_late = false;
            later = std::thread([answer, kept = fetch.keep()] { answer(*kept); });
        });
        CHECK(worked(mcplink::client::open(options)) && seen >= 2);
        is_late = true;
        CHECK(worked(mcplink::client::open(options)));
        later.join();
#ifdef MCPLINK_EXCEPTIONS
        throws = true;
        CHECK(failed_with(mcplink::client::open(options), MCPLINK_E_IO));
#endif
        CHECK(!throws || seen > 4);
        mcplink::client_options fails;
        fails.url("http://nowhere.example/mcp").http_client([](mcplink::fetch &fetch) { return fetch.fail("the cable is out", false); });
        CHECK(failed_with(mcplink::client::open(fails), MCPLINK_E_IO));
        CHECK(failed_with(mcplink::client_options().http_client(nullptr).refused(), MCPLINK_E_INVALID));
        CHECK(failed_with(mcplink::oauth().http_client(nullptr).refused(), MCPLINK_E_INVALID));
    }
    CHECK(alive::count == 0);
}

/* Two servers tell each other of changes. */
static void shares()
{
    {
        mcplink::server other("shop", "1");
        mcplink::server_options options("shop", "1");
        int published = 0;
        options.event_bus([&, held = alive()](std::string_view event) {
            published++;
            return worked(other.deliver(std::string(event).c_str()));
        });
        auto server = mcplink::server::make(options);
        CHECK(worked(server));
        CHECK(server->resource_updated("stock://apples") && published == 1);
        CHECK(other.deliver(nullptr));
    }
    CHECK(alive::count == 0);
}

int main()
{
    validates();
    claims();
    shares();
    shares_tasks();
    stores_events();
    signs();
    sends();
    CHECK(alive::count == 0);
}
