/* Servers in C++: over HTTP with its checks, in a web server of one's own, sessions, completers, methods of one's own, log and events. */
#include "check.hpp"

#include <arpa/inet.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <netinet/in.h>
#include <optional>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/time.h>
#include <thread>
#include <unistd.h>
#include <vector>

static const char *const initialize =
    R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},)"
    R"("clientInfo":{"name":"raw","version":"1"}}})";

/* What a server answers to a request by hand. */
static std::string posted(std::uint16_t port, const char *path, const char *host, const char *token)
{
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    const timeval deadline = {60, 0};
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &deadline, sizeof deadline) == 0);
    CHECK(connect(fd, reinterpret_cast<const sockaddr *>(&at), sizeof at) == 0);
    std::string request = "POST " + std::string(path) + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\nContent-Type: application/json\r\n" +
                          "Accept: application/json, text/event-stream\r\nContent-Length: " + std::to_string(std::string(initialize).size()) + "\r\n";
    if (token) request += std::string("Authorization: Bearer ") + token + "\r\n";
    request += "\r\n" + std::string(initialize);
    CHECK(send(fd, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size()));
    std::string answer;
    char some[4096];
    for (ssize_t got; (got = recv(fd, some, sizeof some, 0)) > 0;) answer.append(some, static_cast<std::size_t>(got));
    close(fd);
    return answer;
}

static bool has_status(const std::string &answer, const char *status)
{
    if (answer.rfind("HTTP/1.1 " + std::string(status), 0) == 0) return true;
    std::fprintf(stderr, "%s\n", answer.c_str());
    return false;
}

static mcplink::result<mcplink::client> connect_to(const mcplink::listener &listener, const char *token, const char *revisions = nullptr)
{
    mcplink::client_options options;
    options.url(std::string(listener.url()).c_str()).bearer(token).timeout(60s);
    if (revisions) options.revisions(revisions);
    return mcplink::client::open(options);
}

/* Who is let in by what says so, and what is said of those who are not. */
static void lets_in_over_http()
{
    box<std::int32_t> events;
    {
        alive marker;
        mcplink::server_options options("served", "1.0");
        options.title("Served").instructions("Say who.").description("A test").website("https://example.com").page_size(1).limit(MCPLINK_LIMIT_WORKERS, 4).drain(1s);
        options.extension("com.example/echo", R"({"loud":true})").declare_capability(MCPLINK_LIST_PROMPTS).cache(MCPLINK_LIST_TOOLS, 1min, false);
        options.limit(MCPLINK_LIMIT_MESSAGE_BYTES, 100000).clear_validation().keep_alive(1min, 1s, 3).state_lifetime(1min).single_use_state();
        options.state_key("0123456789abcdef0123456789abcdef", 32).icons("[]").resource_updates(true).logging();
        options.on_event([&events, marker](mcplink_server_event event, mcplink::json_view params) {
            CHECK(params["message"].size() > 0);
            events.put(event);
        });
        options.on_method("com.example/echo", [marker](const mcplink::request &asked, mcplink::responder &answer) {
            mcplink::writer writer;
            auto whole = writer.begin_object().key("resultType").str("complete").key("heard").str(asked.args()["say"].str()).end().finish();
            CHECK(whole && answer.json(*whole));
        });
        auto server = mcplink::server::make(options);
        CHECK(worked(server));
        for (const char *name : {"who", "other"})
            CHECK(server->add_tool(mcplink::tool(name, "Says who asks").hint(MCPLINK_HINT_READ_ONLY),
                                   [](const mcplink::request &asked, mcplink::responder &) {
                                       return std::string(asked.principal()) + " may " + std::string(asked.scopes());
                                   }));
        CHECK(server->require_scopes(MCPLINK_PRIMITIVE_TOOL, "other", "admin"));

        mcplink::http_options over;
        over.path("/here").host("127.0.0.1").host("files.example").origin("https://files.example").limit(MCPLINK_HTTP_LIMIT_WORKERS, 8);
        over.session_idle(1min).kept_events(10, 10000).keep_alive(10s).old_paths("/old", "/post").sessions(true);
        over.health("/healthz").page("/page", "text/plain", "a page");
        over.on_authenticate([marker](mcplink::http_request &request) {
            CHECK(request.method() == "POST" && request.target() == "/here" && request.remote().find("127.0.0.1:") == 0);
            CHECK(request.header("content-type") == "application/json");
            if (request.token().empty()) {
                CHECK(request.challenge("Bearer realm=\"served\""));
            } else if (request.token() == "later") {
                CHECK(request.unavailable("the database is away"));
            } else if (request.token() == "poor") {
                CHECK(request.insufficient_scope("rich"));
            } else if (request.token() == "old") {
                CHECK(request.invalid_token("it was revoked"));
            } else if (request.token() != "unknown") {
                CHECK(request.admit(std::string(request.token()).c_str()) && request.set_scopes("look"));
                CHECK(request.set_expiry(std::chrono::system_clock::now() + 1h));
                /* Admitted under a condition that is none. */
                if (request.token() == "timeless") CHECK(failed_with(request.set_expiry(std::chrono::system_clock::time_point(-1h)), MCPLINK_E_INVALID));
#ifdef MCPLINK_EXCEPTIONS
                /* That it was admitted before does not count. */
                if (request.token() == "throw") throw 42;
#endif
            }
        });
        auto listener = server->listen_http("0", over);
        CHECK(worked(listener) && listener->port() > 0 && listener->url().find("/here") != std::string_view::npos);

        const auto status = [&](const char *host, const char *token) { return posted(listener->port(), "/here", host, token); };
        CHECK(has_status(status("127.0.0.1", "timeless"), "403"));
        CHECK(has_status(status("127.0.0.1", "ada"), "200") && has_status(status("files.example", "ada"), "200"));
        CHECK(has_status(status("evil.example", "ada"), "403"));
        CHECK(events.take() == MCPLINK_SERVER_DENIED);
        const auto nobody = status("127.0.0.1", nullptr);
        CHECK(has_status(nobody, "401") && nobody.find("realm=\"served\"") != std::string::npos);
        CHECK(has_status(status("127.0.0.1", "old"), "401") && has_status(status("127.0.0.1", "unknown"), "403"));
        CHECK(has_status(status("127.0.0.1", "poor"), "403") && has_status(status("127.0.0.1", "later"), "503"));
#ifdef MCPLINK_EXCEPTIONS
        CHECK(has_status(status("127.0.0.1", "throw"), "503") && has_status(status("127.0.0.1", "throw"), "503"));
#endif
        CHECK(has_status(posted(listener->port(), "/there", "127.0.0.1", "ada"), "404"));

        auto client = connect_to(*listener, "ada");
        CHECK(worked(client) && client->has("extensions.com.example/echo") && client->era() == MCPLINK_ERA_MODERN);
        auto info = client->server_info();
        CHECK(info && (*info)["instructions"].str() == "Say who." && (*info)["serverInfo"]["title"].str() == "Served");
        CHECK(client->call_tool("who")->text() == "ada may look");
        CHECK(failed_with(client->call_tool("other"), MCPLINK_E_AUTH));
        auto listed = client->list_tools();
        CHECK(listed && listed->json()["tools"].size() == 2 && listed->json()["tools"][0]["annotations"]["readOnlyHint"].boolean());
        auto heard = client->request("com.example/echo", R"({"say":"hello"})");
        CHECK(heard && heard->json()["heard"].str() == "hello");
        CHECK(server->stats()->view().size() > 0 && server->activity()->view().str().size() > 0);

        CHECK(listener->close() && listener->close());
        CHECK(!connect_to(*listener, "ada"));
        options = mcplink::server_options("other", "1");
        over = mcplink::http_options();
    }
    CHECK(alive::count == 0);
}

/* What was moved from would be NULL in C, which there means the defaults: everybody would be let in. */
static void serves_nobody_by_mistake()
{
    mcplink::server server("served", "1.0");
    mcplink::http_options closed;
    closed.on_authenticate([marker = alive()](mcplink::http_request &request) { CHECK(request.challenge("Bearer")); });
    auto moved = std::move(closed);
    CHECK(failed_with(server.listen_http("0", closed), MCPLINK_E_INVALID) && failed_with(server.http(closed), MCPLINK_E_INVALID));
    auto &same = moved;
    moved = std::move(same);
    auto listener = server.listen_http("0", moved);
    CHECK(worked(listener) && has_status(posted(listener->port(), "/mcp", "localhost", nullptr), "401"));

    mcplink::resource_server tokens("https://files.example/mcp", "https://login.example");
    auto elsewhere = std::move(tokens);
    mcplink::http_options open;
    open.resource_server(tokens);
    CHECK(failed_with(server.listen_http("0", open), MCPLINK_E_INVALID));
    mcplink::resource_server none("\xff", "https://login.example");
    mcplink::http_options others;
    others.resource_server(none);
    CHECK(failed_with(server.listen_http("0", others), MCPLINK_E_INVALID));
    /* It is there again with what is moved into it. */
    tokens = std::move(elsewhere);
    mcplink::http_options guarded;
    guarded.resource_server(tokens.verifier([](mcplink::http_request &) {}));
    CHECK(worked(server.listen_http("0", guarded)));
}

/* Tokens that a function of the host's checks. */
static void checks_tokens()
{
    {
        alive marker;
        mcplink::server server("served", "1.0");
        CHECK(server.add_tool(mcplink::tool("who", ""), [](const mcplink::request &asked, mcplink::responder &answer) {
            if (!answer.require_scopes("read")) return;
            CHECK(asked.has_scope("read") && asked.expiry() > 0 && answer.text(asked.principal()));
        }));
        mcplink::resource_server tokens("https://files.example/mcp", "https://login.example");
        tokens.issuer("https://other.example").required_scopes("use").scopes_supported("use read").implied("use", "read");
        tokens.audience("files").info("Files", "https://files.example/docs").dpop(MCPLINK_DPOP_NEVER);
        tokens.verifier([marker](mcplink::http_request &request) {
            if (request.token() == "revoked") {
                CHECK(request.invalid_token("it was revoked"));
                return;
            }
            CHECK(request.admit("ada") && request.set_scopes(request.token() == "weak" ? "" : "use"));
            CHECK(request.add_audience(request.token() == "foreign" ? "elsewhere" : "files"));
            CHECK(request.set_expiry(std::chrono::system_clock::now() + 1h));
#ifdef MCPLINK_EXCEPTIONS
            if (request.token() == "throw") throw std::string("the database is away");
#endif
        });
        mcplink::http_options over;
        over.resource_server(tokens).host("127.0.0.1");
        tokens = mcplink::resource_server("https://files.example/mcp", "https://login.example");
        auto listener = server.listen_http("0", over);
        CHECK(worked(listener));
        const auto status = [&](const char *token) { return posted(listener->port(), "/mcp", "127.0.0.1", token); };
        const auto nobody = status(nullptr);
        CHECK(has_status(nobody, "401") && nobody.find("resource_metadata") != std::string::npos);
        CHECK(has_status(status("revoked"), "401") && has_status(status("foreign"), "401") && has_status(status("weak"), "403"));
#ifdef MCPLINK_EXCEPTIONS
        CHECK(has_status(status("throw"), "503"));
#endif
        auto client = connect_to(*listener, "good");
        CHECK(worked(client) && client->call_tool("who")->text() == "ada");
        auto refused = connect_to(*listener, "revoked");
        CHECK(failed_with(refused, MCPLINK_E_AUTH) && refused.error().http_challenge().find("invalid_token") != std::string_view::npos);
    }
    CHECK(alive::count == 0);
}

/* Clients of older revisions: who comes and goes is told, and so is what is logged. */
static void tells_of_sessions()
{
    box<std::int32_t> sessions, events;
    box<std::string> lines;
    std::uint64_t number = 0;
    {
        alive marker;
        mcplink::server_options options("served", "1.0");
        options.logging().revisions("2025-11-25").on_session([&, marker](mcplink_server_event event, mcplink::json_view params) {
            CHECK(params["transport"].str() == "http" && params["session"].i64() > 0);
            sessions.put(event);
        });
        options.on_log(MCPLINK_LOG_DEBUG, [&lines, marker](mcplink_log_level level, std::string_view target, std::string_view text) {
            CHECK(level >= MCPLINK_LOG_DEBUG && !target.empty());
            lines.put(std::string(text));
        });
        auto server = mcplink::server::make(options);
        CHECK(worked(server));
        CHECK(server->add_tool(mcplink::tool("silent", ""), [&number](const mcplink::request &asked, mcplink::responder &answer) {
            number = asked.session();
            /* It answers nothing, which is logged. */
            (void)answer;
        }));
        auto listener = server->listen_http("0");
        CHECK(worked(listener));
        mcplink::client_options options_of_client;
        options_of_client.url(std::string(listener->url()).c_str()).on_event([&events](mcplink_event event, mcplink::json_view params) {
            if (event == MCPLINK_EVENT_LOG_MESSAGE) CHECK(params["logger"].str() == "disk" && params["data"]["free"].i64() == 7);
            events.put(event);
        });
        auto client = mcplink::client::open(options_of_client);
        CHECK(worked(client) && client->revision() == "2025-11-25" && sessions.take() == MCPLINK_SERVER_SESSION_BEGAN);
        CHECK(listener->sessions() == 1);
        CHECK(client->set_log_level(MCPLINK_LOG_DEBUG) && server->log(MCPLINK_LOG_INFO, R"({"free":7})", "disk"));
        events.take_until(MCPLINK_EVENT_LOG_MESSAGE);
        CHECK(failed_with(server->log(MCPLINK_LOG_INFO, "{"), MCPLINK_E_INVALID));
        CHECK(failed_with(client->call_tool("silent"), MCPLINK_E_PEER) && number > 0);
        while (lines.take().find("its handler gave no answer") == std::string::npos) {}
        CHECK(client->close(60s) && sessions.take() == MCPLINK_SERVER_SESSION_ENDED);
    }
    CHECK(alive::count == 0);
}

/* A session that the host keeps, and closes. */
static void keeps_sessions()
{
    int pair[2], second[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, second) == 0);
    std::optional<mcplink::session> kept;
    {
        mcplink::server server("served", "1.0");
        CHECK(server.add_tool(mcplink::tool("who", ""), [](const mcplink::request &asked, mcplink::responder &) {
            return std::string(asked.principal()) + std::to_string(asked.session());
        }));
        auto session = server.serve_fds_start(pair[0], pair[0], "ada");
        CHECK(worked(session) && !session->is_closed() && session->principal() == "ada" && session->number() > 0);
        /* The session has its own. */
        close(pair[0]);
        mcplink::client_options options;
        auto client = mcplink::client::open(options.fds(pair[1], pair[1]));
        CHECK(worked(client));
        CHECK(client->call_tool("who")->text() == "ada" + std::to_string(session->number()));
        /* Moved, it is the same; moved from, it is closed and does nothing. */
        auto moved = std::move(*session);
        CHECK(session->is_closed() && session->number() == 0 && failed_with(session->close(), MCPLINK_E_INVALID) && !session->wait());
        CHECK(!moved.is_closed());
        auto &same = moved;
        moved = std::move(same);
        CHECK(!moved.is_closed() && moved.close() && moved.close() && moved.wait() && moved.is_closed());
        CHECK(failed_with(client->call_tool("who"), MCPLINK_E_CLOSED));

        /* One that is waited for by a thread, and outlives its server. */
        auto other = server.serve_fds_start(second[0], second[0]);
        CHECK(worked(other) && other->principal().empty());
        std::thread waiting([&] { CHECK(worked(other->wait())); });
        server.stop();
        waiting.join();
        CHECK(other->is_closed());
        CHECK(failed_with(server.serve_fds_start(second[0], second[0]), MCPLINK_E_CLOSED));
        kept = std::move(*other);
    }
    CHECK(kept->is_closed() && kept->close());
    for (int fd : {pair[1], second[0], second[1]}) close(fd);
}

/* Resources, prompts and what completes their arguments; all of it can be taken away. */
static void completes()
{
    {
        alive marker;
        mcplink::server_options options("served", "1.0");
        auto server = mcplink::server::make(options.tasks(10, 1min));
        CHECK(worked(server));
        CHECK(server->add_prompt(mcplink::prompt("colour", "").title("Colour").argument("name").argument("of"),
                                 [marker](const mcplink::request &, mcplink::responder &) { return "red"; }));
        CHECK(server->add_template(mcplink::resource_template("user://{id}", "user").title("User").description("Someone"),
                                   [marker](const mcplink::request &asked, mcplink::responder &answer) {
                                       CHECK(answer.typed_text(asked.args()["id"].str(), "text/markdown"));
                                   }));
        CHECK(server->add_resource(mcplink::resource("data://bytes", "bytes").title("Bytes"),
                                   [marker](const mcplink::request &, mcplink::responder &answer) { CHECK(answer.bytes("\0\1", 2)); }));
        const auto completer = [marker](const mcplink::request &asked, mcplink::responder &answer) {
            CHECK(asked.name() == "name" && asked.args()["of"].str() == "rose");
            const std::vector<std::string> all = {"green", "red", "rose", "blue"};
            CHECK(answer.values(all, asked.value() != "all"));
        };
        CHECK(server->add_completer(MCPLINK_PRIMITIVE_PROMPT, "colour", "name", completer));
        /* Or it returns them; and what answering told may be returned too. */
        CHECK(server->add_completer(MCPLINK_PRIMITIVE_TEMPLATE, "user://{id}", "id",
                                    [](const mcplink::request &, mcplink::responder &) { return std::vector<std::string>{"ada", "bob"}; }));
        CHECK(server->add_completer(MCPLINK_PRIMITIVE_PROMPT, "colour", "of",
                                    [](const mcplink::request &, mcplink::responder &answer) { return answer.values({"rose", "sky"}); }));
        const int before = alive::count;
        CHECK(failed_with(server->add_completer(MCPLINK_PRIMITIVE_PROMPT, "colour", "name", completer), MCPLINK_E_INVALID));
        CHECK(failed_with(server->add_completer(static_cast<mcplink_primitive>(99), "colour", "of", completer), MCPLINK_E_INVALID));
        CHECK(alive::count == before);
        CHECK(server->add_tool(mcplink::tool("long", "").task_support(MCPLINK_TASK_OPTIONAL),
                               [](const mcplink::request &, mcplink::responder &answer) {
                                   auto became = answer.become_task();
                                   CHECK(worked(became));
                                   if (!*became) CHECK(answer.text("at last"));
                               }));

        auto listener = server->listen_http("0");
        CHECK(worked(listener));
        mcplink::client_options to;
        auto client = mcplink::client::open(to.url(std::string(listener->url()).c_str()).tasks());
        CHECK(worked(client));
        auto completed = client->complete(MCPLINK_PRIMITIVE_PROMPT, "colour", "name", "r", R"({"of":"rose"})");
        CHECK(worked(completed) && completed->json()["completion"]["values"].text() == R"(["red","rose","green"])");
        auto everything = client->complete(MCPLINK_PRIMITIVE_PROMPT, "colour", "name", "all", R"({"of":"rose"})");
        CHECK(worked(everything) && everything->json()["completion"]["values"].size() == 4);
        auto returned = client->complete(MCPLINK_PRIMITIVE_TEMPLATE, "user://{id}", "id", "a");
        CHECK(worked(returned) && returned->json()["completion"]["values"].text() == R"(["ada"])");
        auto told = client->complete(MCPLINK_PRIMITIVE_PROMPT, "colour", "of", "sk");
        CHECK(worked(told) && told->json()["completion"]["values"].text() == R"(["sky"])");
        CHECK(client->read_resource("data://bytes")->content_bytes(0) == std::string_view("\0\1", 2));
        CHECK(client->read_resource("data://bytes")->content_bytes(1).empty());
        CHECK(client->read_resource("user://ada")->content(0)["mimeType"].str() == "text/markdown");
        auto result = client->call_tool("long");
        CHECK(worked(result) && result->text() == "at last" && result->task_id().empty());
        auto task = client->call_tool_as_task("long", "{}", 0ms);
        CHECK(worked(task) && !task->task_id().empty());
        const std::string id(task->task_id());
        auto waiting = client->task_wait_start(id.c_str(), "long", nullptr), asked = client->task_status_start(id.c_str(), nullptr);
        CHECK(worked(waiting) && worked(asked));
        CHECK(*mcplink::call::wait_any({&*waiting}, 60s) == 0 && waiting->wait(60s)->text() == "at last");
        CHECK(asked->wait(60s)->json()["taskId"].str() == id && client->task_status(id.c_str())->json()["status"].str() == "completed");
        CHECK(client->task_wait(id.c_str(), nullptr)->text() == "at last");
        auto cancelled = client->task_cancel_start("none", nullptr);
        CHECK(failed_with(client->task_cancel("none"), MCPLINK_E_PEER) && failed_with(cancelled->wait(60s), MCPLINK_E_PEER));
        auto second = client->call_tool_as_task_start("long", "{}", 0ms, nullptr);
        CHECK(worked(second) && !second->wait(60s)->task_id().empty());
        CHECK(failed_with(mcplink::call::wait_any({}, 1s), MCPLINK_E_INVALID));
        CHECK(server->remove_prompt("colour") && server->remove_template("user://{id}") && server->remove_resource("data://bytes"));
        CHECK(!server->remove_prompt("colour") && !server->remove_template("user://{id}") && !server->remove_resource("data://bytes"));
        CHECK(!client->read_resource("data://bytes") && !client->get_prompt("colour"));
        CHECK(server->remove_tool("long"));
    }
    CHECK(alive::count == 0);
}

/* What things are, for people and programs, beside what they do. */
static void describes()
{
    const auto icons = R"([{"src":"https://example.com/icon.png"}])", meta = R"({"com.example/a":1})", annotations = R"({"priority":0.5})";
    const auto answers = [](const mcplink::request &, mcplink::responder &) { return "x"; };
    mcplink::server server("served", "1.0");
    CHECK(worked(server.add_tool(mcplink::tool("a", "").icons(icons).meta(meta), answers)));
    CHECK(worked(server.add_resource(mcplink::resource("data://a", "a").icons(icons).meta(meta).annotations(annotations).size(5), answers)));
    CHECK(worked(server.add_template(mcplink::resource_template("data://{a}", "a").icons(icons).meta(meta).annotations(annotations), answers)));
    CHECK(worked(server.add_prompt(mcplink::prompt("a", "").icons(icons).meta(meta), answers)));
    const auto refused = [](const auto &object) { return failed_with(object.refused(), MCPLINK_E_INVALID); };
    CHECK(refused(mcplink::tool("b", "").icons("{}")) && refused(mcplink::tool("b", "").meta("[]")));
    CHECK(refused(mcplink::resource("data://b", "b").annotations("[]")) && refused(mcplink::prompt("b", "").meta("x")));
    CHECK(mcplink::tool("b", "").icons({}).meta({}).refused());

    auto listener = server.listen_http("0");
    CHECK(worked(listener));
    mcplink::client_options options;
    options.url(std::string(listener->url()).c_str()).info("a", "1").title("A").description("A test").website("https://example.com").icons("[]").max_started(1).probe_timeout(5s);
    auto client = mcplink::client::open(options);
    CHECK(worked(client));
    const auto tools = client->list_tools(), resources = client->list_resources(), templates = client->list_templates(), prompts = client->list_prompts();
    CHECK(worked(tools) && worked(resources) && worked(templates) && worked(prompts));
    for (const auto one : {tools->json()["tools"][0], resources->json()["resources"][0], templates->json()["resourceTemplates"][0], prompts->json()["prompts"][0]})
        CHECK(one["icons"][0]["src"].str() == "https://example.com/icon.png" && one["_meta"]["com.example/a"].i64() == 1);
    CHECK(resources->json()["resources"][0]["annotations"]["priority"].f64() == 0.5 && resources->json()["resources"][0]["size"].i64() == 5);
    CHECK(templates->json()["resourceTemplates"][0]["annotations"]["priority"].f64() == 0.5);
    auto one = client->call_tool_start("a", "{}", nullptr), next = client->call_tool_start("a", "{}", nullptr);
    CHECK(worked(one) && one->id() > 0 && (!next || next->id() > one->id()) && one->wait(60s));

    CHECK(server.add_tool(mcplink::tool("b", ""), answers));
    mcplink::client_options others;
    auto bounded = mcplink::client::open(others.url(std::string(listener->url()).c_str()).max_list(1, 1));
    CHECK(worked(bounded) && failed_with(bounded->list_tools(), MCPLINK_E_LIMIT));
    CHECK(refused(mcplink::client_options().icons("{}")) && refused(mcplink::client_options().max_started(0)));
    CHECK(mcplink::server_options("a", "1").claim_stdio(false).refused());
    CHECK(mcplink::oauth().proxy("environment").login_timeout(1min).step_timeout(1s).offline_access(false).private_addresses(true).refused());
    CHECK(refused(mcplink::oauth().proxy("\xff")));
}

/* A web server of one's own: responses come by callables. */
struct response {
    int status = 0;
    std::string body, type;
    std::optional<bool> complete;
};

static void answers_in_a_web_server()
{
    {
        alive marker;
        mcplink::server server("served", "1.0");
        auto http = server.http(mcplink::http_options().path("/mcp"));
        CHECK(worked(http));
        response got;
        const auto begin = [&got, marker](const mcplink::http_head &head, std::int64_t length) {
            got.status = head.status();
            for (std::size_t i = 0; i < head.count(); i++)
                if (head.name(i) == "content-type" || head.name(i) == "Content-Type") got.type = head.value(i);
            CHECK(head.keep_alive() >= 0ms && head.keep_alive_text().size() < 100 && length >= -1);
        };
        const auto write = [&got](std::string_view bytes) { return got.body.append(bytes), true; };
        const auto end = [&got](bool complete) { got.complete = complete; };
        const auto ask = [](mcplink::exchange &exchange) {
            exchange.header("Host", "localhost").header("Content-Type", "application/json").addresses("127.0.0.1:1", "127.0.0.1:2");
            exchange.header("Accept", "application/json, text/event-stream").body(initialize);
        };
        {
            mcplink::exchange exchange("POST", "/mcp", begin, write, end);
            ask(exchange);
            CHECK(worked(http->serve(exchange)));
            CHECK(got.status == 200 && got.complete == true && got.body.find("\"served\"") != std::string::npos && !got.type.empty());
            CHECK(failed_with(http->serve(exchange), MCPLINK_E_STATE));
            exchange.disconnected();
        }
        CHECK(alive::count == 2);
        /* What can't be asked is not. */
        mcplink::exchange broken("POST", "/mcp", begin, write, end);
        CHECK(failed_with(http->serve(broken.header("\xff", "c")), MCPLINK_E_INVALID));
        mcplink::exchange none("\xff", "/mcp", begin, write, end);
        CHECK(none.get() == nullptr && failed_with(http->serve(none), MCPLINK_E_INVALID));
        /* A client that has gone: the response ends without being complete. */
        got = response();
        mcplink::exchange gone("POST", "/mcp", begin, [](std::string_view) { return false; }, end);
        ask(gone);
        CHECK(http->serve(gone) && got.status == 200 && got.complete == false);
#ifdef MCPLINK_EXCEPTIONS
        got = response();
        mcplink::exchange throwing(
            "POST", "/mcp", [](const mcplink::http_head &, std::int64_t) { throw 42; }, write,
            [&got](bool complete) { got.complete = complete, throw 42; });
        ask(throwing);
        CHECK(http->serve(throwing) && got.body.empty() && got.complete == false);
#endif
        CHECK(http->close() && http->close());
    }
    CHECK(alive::count == 0);
}

/* The folder of the programs, which has a place for files. */
static std::string folder()
{
    const char *path = std::getenv("MCPLINK_TEST_FOLDER");
    CHECK(path);
    return path;
}

/* A guard decides about each request, and refuses what it throws at; clients share a cache, and remember eras. */
static void guards()
{
    box<mcplink_direction> seen;
    {
        mcplink::server_options options("guarded", "1");
        options.replica("r1").rate_limit(1000, 1min, "tools/call").send_server_info(false).cache(MCPLINK_LIST_TOOLS, 1min, true);
        options.guard([marker = alive()](mcplink::guarded_request &request) {
            CHECK(request.method() == "tools/call" || request.method() == "tools/list");
            if (request.primitive() != MCPLINK_PRIMITIVE_TOOL) return MCPLINK_DECISION_ADMIT;
            CHECK(request.principal() == "ada" && request.session() > 0 && !request.has_scope("any"));
            CHECK(request.params()["name"].str() == request.target() || request.method() == "tools/list");
            if (request.target() == "hidden") return MCPLINK_DECISION_HIDE;
            if (request.target() == "refused") CHECK(request.refuse(-31000, "not today"));
            if (request.target() == "scoped") CHECK(request.require_scopes("any"));
#ifdef MCPLINK_EXCEPTIONS
            if (request.target() == "throws") throw 42;
#endif
            return request.target() == "throws" ? MCPLINK_DECISION_REFUSE : MCPLINK_DECISION_ADMIT;
        });
        options.on_message([&seen, marker = alive()](mcplink_direction direction, std::string_view text) {
            CHECK(!text.empty());
            seen.put(direction);
        });
        auto server = mcplink::server::make(options);
        CHECK(worked(server));
        for (const char *name : {"open", "hidden", "refused", "throws"}) {
            CHECK(server->add_tool(mcplink::tool(name, ""), [](const mcplink::request &, mcplink::responder &answer) {
                /* One that is kept outlives the handler. */
                std::thread([kept = answer.keep()]() mutable { CHECK((*kept).text("here")); }).detach();
            }));
        }
        mcplink::form form("Which?");
        form.choice("one", MCPLINK_PARAM_REQUIRED, {"a", "b"}).choices("some", MCPLINK_PARAM_OPTIONAL, {"a", "b"}, "Any", 1, 2).integer("count");
        form.number("size", MCPLINK_PARAM_OPTIONAL, nullptr, 0.5).field("name", MCPLINK_PARAM_STRING).default_value("count", "2");
        form.field_schema("day", MCPLINK_PARAM_OPTIONAL, R"({"type":"string","format":"date"})");
        CHECK(worked(form.refused()));
        CHECK(server->add_tool(mcplink::tool("asks", ""), [&form](const mcplink::request &, mcplink::responder &answer) {
            CHECK(failed_with(answer.elicit("none", mcplink::form(nullptr)), MCPLINK_E_INVALID));
            CHECK(answer.notify("notifications/progress", R"({"progressToken":1,"progress":1})"));
            CHECK(failed_with(answer.elicit("none", mcplink::form("?").field("a", MCPLINK_PARAM_OBJECT)), MCPLINK_E_INVALID));
            auto sure = *answer.confirm("sure", "Sure?");
            auto content = *answer.elicit("which", form);
            if (!sure || !content) return;
            CHECK(answer.text(std::string(*sure ? "sure " : "unsure ") + std::string((*content)["one"].str())));
        }));
        auto ends = mcplink::transport::pair();
        CHECK(worked(ends));
        auto session = server->attach(ends->first, "ada");
        CHECK(worked(session));

        mcplink::cache cache(10, 10000);
        mcplink::era_memory memory;
        CHECK(memory.remember("https://files.example/mcp", MCPLINK_ERA_MODERN) && memory.recall("https://files.example/mcp") == MCPLINK_ERA_MODERN);
        CHECK(memory.entries()->view().size() == 1);
        mcplink::client_options of_client;
        of_client.transport(ends->second).revisions("2026-07-28").cache(cache, "ada").era_memory(memory).send_client_info(false);
        of_client.title("A client").description("A test").website("https://example.com").icons("[]");
        of_client.on_elicit([](const mcplink::request &asked, mcplink::responder &answer) {
            const bool has_fields = asked.params().pointer("/requestedSchema/properties/one").type() == MCPLINK_JSON_OBJECT;
            CHECK(answer.json(has_fields ? R"({"action":"accept","content":{"one":"b"}})" : R"({"action":"accept","content":{}})"));
        });
        auto client = mcplink::client::open(of_client);
        CHECK(worked(client) && client->call_tool("open")->text() == "here");
        CHECK(client->call_tool("asks")->text() == "sure b");
        CHECK(seen.take() == MCPLINK_DIRECTION_INCOMING);
        seen.take_until(MCPLINK_DIRECTION_OUTGOING);
        for (const char *name : {"hidden", "refused", "throws"}) CHECK(failed_with(client->call_tool(name), MCPLINK_E_PEER));
        CHECK(client->list_tools()->json()["tools"].size() == 4);
        cache.clear();
        CHECK(session->notify("notifications/message", R"({"level":"info","data":1})") && server->end_subscriptions());
        CHECK(!*server->elicitation_complete("none") && failed_with(client->require_extension("com.example/none"), MCPLINK_E_UNSUPPORTED));
        CHECK(failed_with(client->list_skills(), MCPLINK_E_UNSUPPORTED) && failed_with(client->list_directory("a://b"), MCPLINK_E_UNSUPPORTED));
        CHECK(failed_with(client->get_skill("skill://a/SKILL.md"), MCPLINK_E_UNSUPPORTED) && server->skipped_skills()->view().size() == 0);
        CHECK(server->reload_skills()->view()["added"].size() == 0 && failed_with(server->add_folder(" ", "a"), MCPLINK_E_INVALID));

        mcplink::group group;
        CHECK(group.add("one", *client) && failed_with(group.add("one", *client), MCPLINK_E_INVALID) && group.prefix("one") == "one__");
        CHECK(group.list(MCPLINK_LIST_TOOLS)->view()["items"].size() == 4 && group.find(MCPLINK_PRIMITIVE_PROMPT, "one__a")->name == "a");
        CHECK(group.call_tool("one__open")->text() == "here" && failed_with(group.call_tool("open"), MCPLINK_E_INVALID));
        CHECK(failed_with(group.get_prompt("one__none"), MCPLINK_E_UNSUPPORTED) && failed_with(group.read_resource("a://none"), MCPLINK_E_INVALID));
        CHECK(group.remove("one") && failed_with(group.find(MCPLINK_PRIMITIVE_TOOL, "one__open"), MCPLINK_E_INVALID));

        mcplink::tool sum("sum", "Adds");
        CHECK(server->add_tool(sum, {{"a"}, {"b"}}, [](int a, int b) { return a + b; }));
        CHECK(server->add_tool(sum, {{"c"}}, [](int c) { return c; }).error().status() == MCPLINK_E_INVALID);
        CHECK(client->call_tool("sum", R"({"a":1,"b":2})")->text() == "3");

        CHECK(failed_with(mcplink::config::read("no such file"), MCPLINK_E_IO));
        const std::string path = folder() + "/served.json";
        std::FILE *file = std::fopen(path.c_str(), "w");
        CHECK(file && std::fprintf(file, R"({"mcpServers":{"all":{"command":"%s/../examples/everything_server","args":["stdio"]}}})", folder().c_str()) > 0);
        CHECK(std::fclose(file) == 0);
        auto hosts = mcplink::config::read(path.c_str());
        CHECK(worked(hosts) && hosts->describe()->view()["servers"].size() == 1);
        auto of_file = mcplink::client::open(mcplink::client_options().configured(*hosts, "all"));
        CHECK(worked(of_file) && of_file->server_info()->view()["serverInfo"]["name"].str() == "everything");
        CHECK(failed_with(mcplink::client::open(mcplink::client_options().configured(*hosts, "none")), MCPLINK_E_INVALID));
        mcplink::config none(nullptr);
        CHECK(failed_with(mcplink::client::open(mcplink::client_options().configured(none, "a")), MCPLINK_E_INVALID));
        CHECK(!none.describe() && !none.input("a", "b"));
    }
    CHECK(alive::count == 0);
}

int main()
{
    guards();
    lets_in_over_http();
    serves_nobody_by_mistake();
    checks_tokens();
    tells_of_sessions();
    keeps_sessions();
    completes();
    describes();
    answers_in_a_web_server();
    std::puts("servers in C++ work");
    return 0;
}
