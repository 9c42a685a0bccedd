/* Clients in C++: over transports of one's own and child processes, with calls that are started, events, notifications, questions and tokens. */
#include "check.hpp"

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

static const char *program;

/* Two transports, each of which feeds the other one. */
struct linked {
    alive marker;
    std::atomic<bool> broken{false};
    std::atomic<int> ends{0};
    box<std::string> sent; /* by the client */
    std::optional<mcplink::transport> client, server;

    linked()
    {
        client.emplace(
            [this, held = alive()](std::string_view bytes) {
                sent.put(std::string(bytes));
#ifdef MCPLINK_EXCEPTIONS
                if (broken) throw 42;
#else
                if (broken) return false;
#endif
                /* In pieces, as they may come. */
                const auto half = bytes.size() / 2;
                return server->feed(bytes.substr(0, half)) && server->feed(bytes.substr(half));
            },
            [this] { ends++, (void)server->feed_end(); }, [] {});
        server.emplace([this, held = alive()](std::string_view bytes) { return client->feed(bytes); },
                       [this] { ends++, (void)client->feed_end("the server has left"); });
    }
};

/* The outcome of a call that was started. */
struct outcome {
    mcplink_status_t status;
    std::string text;
    bool operator==(const outcome &other) const { return status == other.status && text == other.text; }
};

static auto into(box<outcome> &outcomes)
{
    return [&outcomes, held = alive()](mcplink_status_t status, const mcplink_result_t *result, const mcplink_error_t *err) {
        CHECK((result == nullptr) != (err == nullptr));
        outcomes.put({status, err ? mcplink_error_message(err) : mcplink::json_view(mcplink_result_json(result)).text().data()});
    };
}

static void add_things(mcplink::server &server)
{
    CHECK(server.add_tool(mcplink::tool("greet", "").param_schema("name", MCPLINK_PARAM_OPTIONAL, R"({"enum":["you"]})"),
                          [](const mcplink::request &, mcplink::responder &) { return "hello"; }));
    CHECK(server.add_tool(mcplink::tool("ask", ""), [](const mcplink::request &, mcplink::responder &answer) {
        auto said = answer.ask("q", "elicitation/create", R"({"message":"?","requestedSchema":{"type":"object","properties":{}}})");
        CHECK(worked(said));
        if (*said) CHECK(answer.text((**said)["action"].str()));
    }));
    CHECK(server.add_resource(mcplink::resource("data://a", "a"), [](const mcplink::request &, mcplink::responder &) { return "a"; }));
    CHECK(server.add_template(mcplink::resource_template("data://more/{x}", "x"),
                              [](const mcplink::request &, mcplink::responder &) { return "x"; }));
    CHECK(server.add_prompt(mcplink::prompt("p", ""), [](const mcplink::request &, mcplink::responder &) { return "p"; }));
    CHECK(server.add_completer(MCPLINK_PRIMITIVE_TEMPLATE, "data://more/{x}", "x",
                               [](const mcplink::request &, mcplink::responder &answer) { CHECK(answer.values({"one", "two"}, false)); }));
}

static void uses(const char *revision)
{
    const bool legacy = std::string_view(revision) == "2025-11-25";
    {
        box<std::int32_t> events;
        box<std::string> notified;
        box<outcome> outcomes;
        std::atomic<int> threads{0};
        linked link;
        mcplink::server server("used", "1.0");
        add_things(server);
        auto session = server.attach(*link.server, "ada");
        CHECK(worked(session) && session->principal() == "ada");
        CHECK(failed_with(server.attach(*link.server), MCPLINK_E_STATE));
        mcplink::client_options options;
        options.transport(*link.client).revisions(revision).era(legacy ? MCPLINK_ERA_LEGACY : MCPLINK_ERA_MODERN).info("used", "1.0");
        options.connect_timeout(60s).timeout(60s).max_timeout(2min).close_timeout(10s).limit(MCPLINK_LIMIT_CALLS, 100).extension("com.example/x");
        options.on_event([&events, held = alive()](mcplink_event event, mcplink::json_view) { events.put(event); });
        options.on_notification("notifications/com.example/thing", [&notified, held = alive()](mcplink_event event, mcplink::json_view params) {
            CHECK(event == MCPLINK_EVENT_NOTIFICATION);
            notified.put(std::string(params["a"].text()));
        });
        options.on_request("com.example/ask", [held = alive()](const mcplink::request &asked, mcplink::responder &answer) {
            CHECK(answer.json(asked.params().text()));
        });
        options.on_elicit([held = alive()](const mcplink::request &, mcplink::responder &answer) { CHECK(answer.json(R"({"action":"decline"})")); });
        options.on_elicit_url([](const mcplink::request &, mcplink::responder &) {}).on_sample([](const mcplink::request &, mcplink::responder &) {});
        options.sampling(true, false).on_list_roots([](const mcplink::request &, mcplink::responder &answer) { CHECK(answer.json(R"({"roots":[]})")); });
        options.on_log(MCPLINK_LOG_WARNING, [held = alive()](std::int32_t, std::string_view, std::string_view) {});
        options.on_thread(
            [&threads, held = alive()](std::string_view name) {
                CHECK(!name.empty());
                threads++;
            },
            [&threads](std::string_view) { threads--; });
        {
            auto client = mcplink::client::open(options);
            CHECK(worked(client) && client->state() == MCPLINK_CLIENT_READY && client->revision() == revision);
            CHECK(client->era() == (legacy ? MCPLINK_ERA_LEGACY : MCPLINK_ERA_MODERN) && client->has("tools") && threads > 0);
            CHECK(failed_with(mcplink::client::open(options), MCPLINK_E_STATE));

            /* All that are started tell their outcome once, and one that has nobody to tell is waited for. */
            const auto told = [&](const mcplink::result<mcplink::call> &call, const char *part) {
                CHECK(worked(call));
                const auto got = outcomes.take();
                if (got.status != MCPLINK_OK || got.text.find(part) == std::string::npos) std::fprintf(stderr, "%s\n", got.text.c_str());
                CHECK(got.status == MCPLINK_OK && got.text.find(part) != std::string::npos);
            };
            told(client->list_tools_start(into(outcomes)), "greet");
            told(client->list_resources_start(into(outcomes)), "data://a");
            told(client->list_templates_start(into(outcomes)), "data://more");
            told(client->list_prompts_start(into(outcomes)), "\"p\"");
            told(client->call_tool_start("greet", "{}", into(outcomes)), "hello");
            told(client->get_prompt_start("p", "{}", into(outcomes)), "messages");
            told(client->read_resource_start("data://a", into(outcomes)), "data://a");
            told(client->complete_start(MCPLINK_PRIMITIVE_TEMPLATE, "data://more/{x}", "x", "", "{}", into(outcomes)), "two");
            if (legacy) told(client->request_start("ping", "{}", into(outcomes)), "{}");
            told(client->ping_start(into(outcomes)), "{");
            told(client->listen_start(R"({"toolsListChanged":true})", into(outcomes)), "toolsListChanged");
            told(client->listen_start("{}", into(outcomes)), "{}");
            auto silent = client->call_tool_start("greet", "{}", nullptr);
            CHECK(worked(silent) && silent->wait(60s)->text() == "hello");
            CHECK(client->list_templates() && client->list_resources() && client->list_prompts());

            /* What is wrong with the options is told, and nobody is asked. */
            mcplink::call_options wrong;
            wrong.meta("com.example/a", "{").timeout(60s);
            CHECK(failed_with(client->call_tool("greet", "{}", &wrong), MCPLINK_E_INVALID) && failed_with(client->ping(&wrong), MCPLINK_E_INVALID));
            CHECK(failed_with(client->ping_start(into(outcomes), &wrong), MCPLINK_E_INVALID));
            mcplink::call_options right;
            right.meta("com.example/a", "[1]").bypass_cache().log_level(MCPLINK_LOG_ERROR).max_timeout(1min);
            CHECK(worked(client->call_tool("greet", "{}", &right)));
            auto elsewhere = std::move(right);
            CHECK(failed_with(client->call_tool("greet", "{}", &right), MCPLINK_E_INVALID));

            /* What changes is told. */
            auto agreed = client->listen(R"({"toolsListChanged":true})");
            CHECK(worked(agreed) && agreed->json()["toolsListChanged"].boolean());
            CHECK(server.add_tool(mcplink::tool("new", ""), [](const mcplink::request &, mcplink::responder &) { return ""; }));
            events.take_until(MCPLINK_EVENT_TOOLS_CHANGED);
            CHECK(worked(client->subscribe("data://a")) && server.resource_updated("data://a"));
            events.take_until(MCPLINK_EVENT_RESOURCE_UPDATED);
            CHECK(worked(client->unsubscribe("data://a")) && client->clear_cache() && client->roots_changed());
            told(client->subscribe_start("data://a", into(outcomes)), "{}");
            told(client->unsubscribe_start("data://a", into(outcomes)), "{}");
            told(client->roots_changed_start(into(outcomes)), "{}");
            CHECK(client->call_tool("ask")->text() == "decline");
            CHECK(link.client->feed(R"({"jsonrpc":"2.0","method":"notifications/com.example/thing","params":{"a":7}})"
                                    "\n"));
            CHECK(notified.take() == "7");
            if (legacy) {
                CHECK(link.client->feed(R"({"jsonrpc":"2.0","id":"mine","method":"com.example/ask","params":{"b":8}})"
                                        "\n"));
                while (link.sent.take().find(R"({"b":8})") == std::string::npos) {}
                CHECK(client->notify("notifications/com.example/other"));
            }
            CHECK(client->stats()->view()["callsInFlight"].i64() && client->activity() && client->stderr_tail()->view().str().empty());

            /* A way that fails ends the connection. */
            link.broken = true;
            CHECK(failed_with(client->call_tool("greet"), MCPLINK_E_IO));
            CHECK(client->state() == MCPLINK_CLIENT_CLOSED && client->close(60s) && worked(session->wait()) && session->is_closed());
        }
        CHECK(threads == 0 && link.ends == 2);
        CHECK(failed_with(link.client->feed("x"), MCPLINK_E_CLOSED));
        auto moved = std::move(*link.client);
        CHECK(failed_with(link.client->feed("x"), MCPLINK_E_INVALID) && failed_with(server.attach(*link.client), MCPLINK_E_INVALID));
        mcplink::client_options without;
        CHECK(failed_with(mcplink::client::open(without.transport(*link.client)), MCPLINK_E_INVALID));
    }
    CHECK(alive::count == 0);
}

/* A child that serves beside its main thread, loses itself and is started again. */
static int serve_as_child()
{
    mcplink::server server("child", "1.0");
    CHECK(server.add_tool(mcplink::tool("die", ""), [](const mcplink::request &, mcplink::responder &) { std::_Exit(7); }));
    CHECK(server.add_tool(mcplink::tool("speak", ""), [](const mcplink::request &, mcplink::responder &) {
        std::fputs("as I was told\n", stderr);
        return "spoke";
    }));
    auto session = server.serve_stdio_start();
    CHECK(worked(session) && worked(session->wait()));
    return 0;
}

static void keeps_a_child()
{
    {
        box<std::int32_t> events;
        box<std::string> lines;
        mcplink::client_options options;
        options.command({program, "child"}).restart(20, 10ms, 1s).retry_idempotent_calls().keep_alive(10s, 30s, 3).timeout(60s);
        options.on_event([&events, held = alive()](mcplink_event event, mcplink::json_view) { events.put(event); });
        options.on_stderr([&lines, held = alive()](std::string_view line) { lines.put(std::string(line)); });
        auto client = mcplink::client::start(options);
        CHECK(worked(client));
        events.take_until(MCPLINK_EVENT_CONNECTED);
        CHECK(client->call_tool("speak")->text() == "spoke" && lines.take() == "as I was told");
        CHECK(client->stderr_tail()->view().str().find("as I was told") != std::string_view::npos);
        CHECK(failed_with(client->call_tool("die"), MCPLINK_E_CLOSED));
        events.take_until(MCPLINK_EVENT_LOST);
        events.take_until(MCPLINK_EVENT_RESTORED);
        CHECK(client->call_tool("speak")->text() == "spoke");

        mcplink::cancel token;
        token.trigger();
        mcplink::client_options cancelled;
        cancelled.command({program, "child"}).inherit_env().clear_env().pass_env("PATH").die_with_parent(false).stderr_mode(MCPLINK_STDERR_DISCARD).cancel(token);
        CHECK(failed_with(mcplink::client::open(cancelled), MCPLINK_E_CANCELLED));
        auto elsewhere = std::move(token);
        mcplink::client_options others;
        CHECK(failed_with(mcplink::client::open(others.command({program, "child"}).cancel(token)), MCPLINK_E_INVALID));
    }
    CHECK(alive::count == 0);
}

/* A function that gives tokens, or none. */
static void asks_for_tokens()
{
    {
        std::atomic<int> number{0};
        mcplink::server server("tokens", "1.0");
        mcplink::http_options over;
        over.on_authenticate([](mcplink::http_request &request) { CHECK(request.admit(std::string(request.token()).c_str())); });
        CHECK(server.add_tool(mcplink::tool("who", ""), [](const mcplink::request &asked, mcplink::responder &) { return asked.principal(); }));
        auto listener = server.listen_http("0", over);
        CHECK(worked(listener));
        mcplink::client_options options;
        options.url(std::string(listener->url()).c_str()).follow_redirects().clear_proxy();
        options.bearer_hook([&number, held = alive()]() -> std::optional<std::string> {
            if (number < 0) return std::nullopt;
            return "token" + std::to_string(number.load());
        });
        auto client = mcplink::client::open(options);
        CHECK(worked(client) && client->call_tool("who")->text() == "token0");
        number = 1;
        CHECK(client->call_tool("who")->text() == "token1");
        number = -1;
        CHECK(failed_with(client->call_tool("who"), MCPLINK_E_AUTH));
#ifdef MCPLINK_EXCEPTIONS
        options.bearer_hook([]() -> const char * { throw 42; });
        CHECK(failed_with(mcplink::client::open(options), MCPLINK_E_AUTH));
#endif
        options.bearer_hook([] { return "plain"; });
        auto plain = mcplink::client::open(options);
        CHECK(worked(plain) && plain->call_tool("who")->text() == "plain");
        CHECK(options.clear_authorization().refused());
    }
    CHECK(alive::count == 0);
}

/* Where tokens are kept, and what else belongs to logins: all of it ends with the settings. */
static void keeps_tokens()
{
    {
        std::map<std::string, std::string> kept;
        std::mutex lock;
        int removed = 0;
        bool broken = false;
        mcplink::oauth oauth;
        const auto visit = [held = alive()](mcplink::login &login) { CHECK(login.refuse()); };
        oauth.browser(0, nullptr, "<p>Done</p>", visit).user_agent("http://127.0.0.1:1/x", visit).dpop(MCPLINK_DPOP_WHEN_ASKED);
        CHECK(alive::count == 2);
        mcplink::oauth_client known("https://login.example", "id");
        known.secret("secret").audience("https://login.example/token");
        oauth.client(known).workload("id", [held = alive()](std::string_view audience) { return std::string(audience); });
        oauth.enterprise("https://idp.example/token", known, MCPLINK_SUBJECT_ID_TOKEN, [held = alive()] { return std::optional<std::string>(); });
        oauth.on_log(MCPLINK_LOG_DEBUG, [held = alive()](std::int32_t, std::string_view, std::string_view) {});
        oauth.store(
            [&, held = alive()](std::string_view name) {
                std::lock_guard<std::mutex> locked(lock);
                const auto found = kept.find(std::string(name));
#ifdef MCPLINK_EXCEPTIONS
                if (broken) throw 42;
#endif
                return found == kept.end() ? std::nullopt : std::optional(found->second);
            },
            [&](std::string_view name, std::string_view content) {
                std::lock_guard<std::mutex> locked(lock);
                kept[std::string(name)] = content;
            },
            [&](std::string_view) { return removed++, !broken; });
        CHECK(oauth.refused() && alive::count == 4);
        CHECK(worked(oauth.forget("https://files.example/mcp")) && removed > 0);
        broken = true;
        CHECK(!oauth.forget("https://files.example/mcp"));
        known.key("no key");
        mcplink::oauth others;
        others.client(known);
        CHECK(failed_with(others.refused(), MCPLINK_E_INVALID));
        CHECK(failed_with(others.forget("https://files.example/mcp"), MCPLINK_E_INVALID));
        CHECK(mcplink::oauth().store(nullptr, nullptr, nullptr).refused());
        mcplink::oauth_client none(nullptr, "\xff");
        CHECK(failed_with(none.refused(), MCPLINK_E_INVALID));
    }
    CHECK(alive::count == 0);
}

/* Callables are gone when they are refused, and when there is nothing to give them to. */
static void lets_go_of_what_is_refused()
{
    const auto told = [held = alive()](auto &&...) {};
    const auto handler = [held = alive()](const mcplink::request &, mcplink::responder &) {};
    const auto text = [held = alive()](auto &&...) { return std::optional<std::string>(); };
    const int before = alive::count;
    const auto is_refused = [before](const auto &object) {
        CHECK(alive::count == before);
        return failed_with(object.refused(), MCPLINK_E_INVALID);
    };
    {
        mcplink::server_options options("a", "1");
        options.on_method("tools/\xff", handler);
        CHECK(is_refused(options));
        auto taken = std::move(options);
        options.on_log(MCPLINK_LOG_DEBUG, told).on_method("a", handler).on_thread(told, nullptr).on_session(told).on_event(told);
        CHECK(is_refused(options) && failed_with(mcplink::server::make(options), MCPLINK_E_INVALID));
        mcplink::server_options unnamed("\xff", "1");
        unnamed.on_event(told);
        CHECK(is_refused(unnamed) && failed_with(mcplink::server::make(unnamed), MCPLINK_E_INVALID));
    }
    {
        mcplink::client_options options;
        options.on_request("\xff", handler).on_notification("\xff", told).on_log(static_cast<mcplink_log_level>(99), told).on_log(MCPLINK_LOG_DEBUG, nullptr);
        CHECK(is_refused(options));
        auto taken = std::move(options);
        options.on_log(MCPLINK_LOG_DEBUG, told).on_request("a", handler).on_thread(told, told).on_event(told).on_notification("a", told).bearer_hook(text);
        options.on_stderr(told).on_elicit(handler).on_elicit_url(handler).on_sample(handler).on_list_roots(handler);
        CHECK(is_refused(options) && failed_with(mcplink::client::start(options), MCPLINK_E_INVALID));
    }
    {
        mcplink::http_options over;
        auto taken = std::move(over);
        over.on_authenticate(told);
        CHECK(is_refused(over));
        mcplink::resource_server tokens("https://files.example/mcp", "https://login.example");
        auto elsewhere = std::move(tokens);
        tokens.verifier(told);
        CHECK(is_refused(tokens));
        mcplink::call_options options;
        auto others = std::move(options);
        options.on_progress(told);
        CHECK(is_refused(options));
        mcplink::oauth oauth;
        auto another = std::move(oauth);
        oauth.user_agent("https://a.example", told).workload(nullptr, text).on_log(MCPLINK_LOG_DEBUG, told).browser(0, nullptr, nullptr, told);
        oauth.store(text, told, told);
        CHECK(is_refused(oauth));
        mcplink::exchange exchange("\xff", "/", told, told, told);
        CHECK(is_refused(exchange));
        mcplink::login nobody(nullptr);
        mcplink::responder nothing(nullptr);
        CHECK(!nobody.on_done(told) && !nothing.on_cancel(told));
        CHECK(failed_with(mcplink::set_log(static_cast<mcplink_log_level>(99), told), MCPLINK_E_INVALID));
        mcplink::server server("a", "1");
        auto moved = std::move(server);
        CHECK(failed_with(server.add_tool(mcplink::tool("a", ""), handler), MCPLINK_E_INVALID) && !server.listen_http("0") && !server.http());
        CHECK(!server.add_completer(MCPLINK_PRIMITIVE_PROMPT, "a", "b", handler) && !server.stats() && !server.log(MCPLINK_LOG_DEBUG, "1"));
        server.stop();
        CHECK(alive::count == before);
    }
}

/* What may or may not be there is often kept in a std::function or a pointer: an empty one is none, as nullptr is. */
static void takes_empty_ones_for_none()
{
    const std::function<void(const mcplink::request &, mcplink::responder &)> handler;
    const std::function<void(std::int32_t, mcplink::json_view)> event;
    const std::function<void(std::int32_t, std::string_view, std::string_view)> line;
    const std::function<void(std::string_view)> name;
    const std::function<void()> over;
    const std::function<std::optional<std::string>()> token;
    const std::function<void(double, double, std::string_view)> progress;
    void (*const done)(mcplink_status_t, const mcplink_result_t *, const mcplink_error_t *) = nullptr;
    const std::function<void(mcplink::http_request &)> check;
    const std::function<void(mcplink::login &)> visit;
    const std::function<bool(std::string_view, std::string_view)> save;
    const std::function<std::optional<std::string>(std::string_view)> load;
    const std::function<bool(std::string_view)> send;

    /* Where there may be none. */
    linked link;
    mcplink::server_options described("empty", "1.0");
    described.on_session(event).on_event(event).on_thread(name, name).on_log(MCPLINK_LOG_DEBUG, line);
    auto server = mcplink::server::make(described);
    CHECK(worked(server) && mcplink::set_log(MCPLINK_LOG_DEBUG, line));
    add_things(*server);
    CHECK(server->add_tool(mcplink::tool("sees", ""), [&](const mcplink::request &asked, mcplink::responder &answer) {
        CHECK(worked(answer.on_cancel(over)) && worked(answer.progress(1, 2)));
        return asked.capabilities().text();
    }));
    mcplink::client_options options;
    options.transport(*link.client).on_event(event).on_notification("notifications/a", event).on_request("a", handler).on_log(MCPLINK_LOG_DEBUG, line);
    options.on_thread(name, name).on_elicit(handler).on_elicit_url(handler).on_sample(handler).on_list_roots(handler);
    options.pipes(false).clear_validation().slow_handler(1s).thread_prefix("used").thread_stack_size(1 << 20);
    {
        auto session = server->attach(*link.server);
        auto client = mcplink::client::open(options);
        CHECK(worked(session) && worked(client));
        mcplink::call_options call;
        call.on_progress(progress);
        CHECK(client->call_tool("sees", "{}", &call)->text() == "{}");
        auto started = client->call_tool_start("greet", "{}", done);
        CHECK(worked(started) && started->wait(60s)->text() == "hello");
        CHECK(client->call_tool("greet")->text() == "hello");
        box<outcome> outcomes;
        CHECK(worked(client->close_start(into(outcomes))) && outcomes.take().status == MCPLINK_OK && worked(client->close(60s)));
    }
    auto pump = mcplink::pump::make();
    CHECK(worked(pump));
    pump->set_notify(over);
    mcplink::client_options others;
    CHECK(others.on_stderr(name).refused());
    CHECK(!others.bearer_hook(token).refused());
    mcplink::oauth oauth;
    CHECK(worked(oauth.redirect("localhost").redirect(nullptr, "/done").refused()));
    mcplink::oauth odd;
    CHECK(!odd.redirect("\xff").refused());
    CHECK(worked(oauth.store(load, save, send).browser(0, nullptr, nullptr, visit).on_log(MCPLINK_LOG_DEBUG, line).refused()));

    /* Where there has to be one. */
    CHECK(failed_with(server->add_tool(mcplink::tool("none", ""), handler), MCPLINK_E_INVALID));
    CHECK(failed_with(server->add_resource(mcplink::resource("data://none", "none"), handler), MCPLINK_E_INVALID));
    CHECK(failed_with(server->add_template(mcplink::resource_template("none://{x}", "none"), handler), MCPLINK_E_INVALID));
    CHECK(failed_with(server->add_prompt(mcplink::prompt("none", ""), handler), MCPLINK_E_INVALID));
    CHECK(failed_with(server->add_completer(MCPLINK_PRIMITIVE_PROMPT, "p", "none", handler), MCPLINK_E_INVALID));
    const auto refused = [](const auto &object) { return failed_with(object.refused(), MCPLINK_E_INVALID); };
    mcplink::server_options methods("empty", "1.0");
    CHECK(refused(methods.on_method("a", handler)));
    mcplink::oauth visited, worked_for, signed_on, halved;
    CHECK(refused(visited.user_agent("https://a.example/callback", visit)) && refused(worked_for.workload("id", load)));
    CHECK(refused(signed_on.enterprise("https://idp.example/token", mcplink::oauth_client("https://login.example", "id"), MCPLINK_SUBJECT_ID_TOKEN,
                                       token)));
    CHECK(refused(halved.store(load, [](std::string_view, std::string_view) {}, send)));
    CHECK(refused(mcplink::exchange("POST", "/mcp", [](const mcplink::http_head &, std::int64_t) {}, send, [](bool) {})));
    mcplink::transport mute(send);
    CHECK(failed_with(server->attach(mute), MCPLINK_E_STATE));

    /* Where none would let everybody in. */
    mcplink::http_options open;
    CHECK(failed_with(server->listen_http("0", open.on_authenticate(check)), MCPLINK_E_INVALID));
    CHECK(open.refused().error().message().find("empty") != std::string_view::npos);
    mcplink::resource_server tokens("https://files.example/mcp", "https://login.example");
    CHECK(refused(tokens.verifier(check)));
    mcplink::http_options by_intent;
    CHECK(refused(by_intent.on_authenticate(nullptr)) && by_intent.clear_authenticate().get() != nullptr);
}

/* Those who are only told something have nobody to tell what they throw. */
static void bears_exceptions()
{
#ifdef MCPLINK_EXCEPTIONS
    box<int> ran;
    {
        const auto throwing = [&ran, held = alive()](auto &&...) {
            ran.put(1);
            throw 42;
        };
        CHECK(mcplink::set_log(MCPLINK_LOG_DEBUG, throwing));
        linked link;
        mcplink::server_options described("bears", "1.0");
        auto server = mcplink::server::make(described.on_session(throwing).on_event(throwing).on_thread(throwing, throwing).on_log(MCPLINK_LOG_DEBUG, throwing));
        CHECK(worked(server));
        box<int> left;
        CHECK(server->add_tool(mcplink::tool("tells", ""), [&left](const mcplink::request &, mcplink::responder &answer) {
            CHECK(answer.on_cancel([&left] { left.put(1), throw 42; }));
            CHECK(answer.progress(1, 2));
            throw mcplink::tool_failure("told");
        }));
        auto session = server->attach(*link.server);
        CHECK(worked(session));
        mcplink::client_options options;
        options.transport(*link.client).on_event(throwing).on_log(MCPLINK_LOG_DEBUG, throwing).on_thread(throwing, throwing);
        auto client = mcplink::client::open(options);
        CHECK(worked(client));
        mcplink::call_options with_progress;
        with_progress.on_progress(throwing);
        CHECK(client->call_tool("tells", "{}", &with_progress)->text() == "told");
        auto started = client->call_tool_start("tells", "{}", throwing);
        CHECK(worked(started) && started->wait(60s)->is_tool_error());
        ran.take();
        CHECK(client->close(60s));
        CHECK(mcplink::set_log(MCPLINK_LOG_DEBUG, nullptr));
    }
    CHECK(alive::count == 0);
#endif
}

int main(int argc, char **argv)
{
    program = argv[0];
    if (argc > 1 && std::strcmp(argv[1], "child") == 0) return serve_as_child();
    for (const char *revision : {"2025-11-25", "2026-07-28"}) uses(revision);
    keeps_a_child();
    asks_for_tokens();
    keeps_tokens();
    lets_go_of_what_is_refused();
    takes_empty_ones_for_none();
    bears_exceptions();
    std::puts("clients in C++ work");
    return 0;
}
