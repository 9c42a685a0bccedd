/* The C++ wrapper: owners, results, exceptions in every callback, a server and a client that talk over descriptors. */
#include "check.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <type_traits>
#include <unistd.h>

static void json_works()
{
    auto parsed = mcplink::json::parse(R"({"list":[1,2.5,"three"],"yes":true})");
    CHECK(parsed);
    auto list = (*parsed)["list"];
    CHECK(list.size() == 3 && list[0].i64() == 1 && list[1].f64() == 2.5 && list[2].str() == "three" && list[3].is_missing());
    CHECK(!list[1].i64() && (*parsed)["yes"].boolean() && (*parsed)["no"]["deeper"].str().empty());
    auto moved = std::move(parsed);
    CHECK((*moved)["yes"].text() == "true");
    const auto constant = mcplink::json::parse("7");
    CHECK((*constant).view().i64() == 7);
    mcplink::json owned = *mcplink::json::parse("8");
    CHECK(owned.view().i64() == 8);

    auto broken = mcplink::json::parse("{");
    CHECK(!broken && broken.error().status() == MCPLINK_E_INVALID && broken.error().message().find("not JSON") != std::string_view::npos);

    mcplink::writer writer;
    auto text = writer.begin_object().key("a").begin_array().i64(-1).u64(2).f64(1.5).boolean(false).null().str("x").end().end().finish();
    CHECK(text && *text == R"({"a":[-1,2,1.5,false,null,"x"]})");
    writer.reset();
    CHECK(!writer.end().finish());
#ifdef MCPLINK_EXCEPTIONS
    CHECK(constant.value().view().i64() == 7);
    try {
        mcplink::json::parse("nul").value();
        CHECK(false);
    } catch (const mcplink::exception &thrown) {
        CHECK(thrown.error().status() == MCPLINK_E_INVALID && *thrown.what() != 0);
        auto copy = thrown;
        CHECK(copy.error().message() == thrown.error().message());
    }
#endif
}

/* Whatever type the number has: a constant, a counter, what another library gives. */
template <class Index> static void indexed_by()
{
    auto parsed = mcplink::json::parse(R"(["zero","one"])");
    CHECK(parsed);
    const auto array = parsed->view();
    const auto zero = Index{}, one = static_cast<Index>(1);
    CHECK(array[zero].str() == "zero" && array[one].str() == "one" && (*parsed)[one].str() == "one");
    CHECK(array["one"].is_missing() && mcplink::json_view()[one].is_missing());
    if constexpr (sizeof(Index) > 1) CHECK(array[static_cast<Index>(256)].is_missing());
    if constexpr (sizeof(Index) > 4) CHECK(array[static_cast<Index>(0x100000000)].is_missing());
    if constexpr (std::is_signed_v<Index>) CHECK(array[static_cast<Index>(-1)].is_missing());
    CHECK(array[std::numeric_limits<Index>::max()].is_missing() == (sizeof(Index) > 1 || !std::is_same_v<Index, bool>));
}

template <class... Indices> static void indexed_by_each() { (indexed_by<Indices>(), ...); }

enum place { FIRST, SECOND, NOWHERE = -1 };

static void indices_work()
{
    auto parsed = mcplink::json::parse(R"(["zero","one"])");
    CHECK(parsed);
    const auto array = parsed->view();
    indexed_by_each<bool, char, signed char, unsigned char, short, unsigned short, int, unsigned, long, unsigned long, long long, unsigned long long,
                    std::size_t, std::ptrdiff_t, std::int8_t, std::int64_t, std::uint64_t>();
    CHECK(array[0].str() == "zero" && array[0U].str() == "zero" && array[0L].str() == "zero" && array[std::size_t{0}].str() == "zero");
    CHECK((*parsed)[0].str() == "zero" && (*parsed)[1U].str() == "one");
    CHECK(array[FIRST].str() == "zero" && array[SECOND].str() == "one" && array[NOWHERE].is_missing());
    for (std::size_t at = 0; at < array.size(); at++) CHECK(!array[at].is_missing());
    CHECK(array[nullptr].is_missing());
}

static void talks()
{
    int there[2], back[2];
    CHECK(pipe(there) == 0 && pipe(back) == 0);
    {
        mcplink::server server("cpp", "1.0");
        alive marker;
        mcplink::tool greet("greet", "Greets");
        greet.param("name", MCPLINK_PARAM_STRING, MCPLINK_PARAM_REQUIRED, "who");
        CHECK(server.add_tool(greet, [marker](const mcplink::request &asked, mcplink::responder &) {
            return "Hello, " + std::string(asked.args()["name"].str()) + "!";
        }));
        /* A second one of the name is refused, and its callable is gone. */
        int before = alive::count;
        auto twice = server.add_tool(greet, [marker](const mcplink::request &, mcplink::responder &) { return std::string(); });
        CHECK(!twice && twice.error().status() == MCPLINK_E_INVALID && alive::count == before);
        mcplink::tool kept("kept", "Is answered later");
        std::thread later;
        CHECK(server.add_tool(kept, [&later](const mcplink::request &, mcplink::responder &answer) {
            auto responder = std::make_shared<mcplink::kept_responder>(answer);
            later = std::thread([responder] { CHECK((**responder).text("later")); });
        }));
#ifdef MCPLINK_EXCEPTIONS
        CHECK(server.add_tool(mcplink::tool("fails", "Throws"), [](const mcplink::request &, mcplink::responder &) -> std::string {
            throw mcplink::tool_failure("no paper left");
        }));
        CHECK(server.add_tool(mcplink::tool("throws", "Throws"), [](const mcplink::request &, mcplink::responder &) { throw 42; }));
#endif
        CHECK(server.add_tool(mcplink::tool("garbled", "Is no text"), [](const mcplink::request &, mcplink::responder &) { return "\xff"; }));
        mcplink::cancel held;
        CHECK(server.add_tool(mcplink::tool("hold", "Waits"), [&held](const mcplink::request &, mcplink::responder &) {
            while (!held.is_triggered()) std::this_thread::sleep_for(1ms);
            return std::string("held");
        }));
        std::thread serving([&] { CHECK(server.serve_fds(there[0], back[1])); });
        {
            mcplink::client_options options;
            auto client = mcplink::client::open(options.fds(back[0], there[1]));
            CHECK(worked(client));
            /* The client has copies of its own. */
            close(there[1]);
            auto result = client->call_tool("greet", R"({"name":"C++"})");
            CHECK(result && !result->is_tool_error() && result->text() == "Hello, C++!");
            CHECK(client->call_tool("kept")->text() == "later");
            auto unknown = client->call_tool("unknown");
            CHECK(!unknown && unknown.error().status() == MCPLINK_E_PEER && unknown.error().rpc_code() == -32602);
#ifdef MCPLINK_EXCEPTIONS
            auto failed = client->call_tool("fails");
            CHECK(failed && failed->is_tool_error() && failed->text() == "no paper left");
            auto thrown = client->call_tool("throws");
            CHECK(!thrown && thrown.error().rpc_code() == -32603);
#endif
            auto garbled = client->call_tool("garbled");
            CHECK(!garbled && garbled.error().rpc_code() == -32603 && garbled.error().message().find("not UTF-8") != std::string_view::npos);
            /* A call that goes on: not there yet is no result. */
            mcplink_status_t told = MCPLINK_PENDING;
            auto started = client->call_tool_start("hold", "{}", [&told](mcplink_status_t status, const mcplink_result_t *, const mcplink_error_t *) { told = status; });
            CHECK(started && !started->is_done());
            auto early = started->wait(1ms);
            CHECK(!early && early.error().status() == MCPLINK_PENDING && early.error().message() == "MCPLINK_PENDING");
            held.trigger();
            auto late = started->wait(1min);
            CHECK(late && late->text() == "held" && started->is_done());
            mcplink::cancel token;
            token.trigger();
            mcplink::call_options cancelled;
            cancelled.cancel(token).timeout(1s);
            auto given_up = client->call_tool("greet", "{}", &cancelled);
            CHECK(!given_up && given_up.error().status() == MCPLINK_E_CANCELLED);
            mcplink::client moved = std::move(*client);
            CHECK(moved.list_tools()->json().size() > 0 && moved.ping() && moved.has("tools"));
            CHECK(moved.close(5s));
        }
        serving.join();
        if (later.joinable()) later.join();
        for (int fd : {there[0], back[0], back[1]}) close(fd);
    }
    CHECK(alive::count == 0);
}

#ifdef MCPLINK_EXCEPTIONS
/* The text of an exception is for the host, whatever kind of handler threw it. */
static void reasons_stay_with_the_host()
{
    int there[2], back[2];
    CHECK(pipe(there) == 0 && pipe(back) == 0);
    std::string heard;
    {
        auto throws = [](const mcplink::request &, mcplink::responder &) -> std::string { throw std::runtime_error("db.internal is away"); };
        mcplink::server_options settings("cpp", "1.0");
        settings.on_log(MCPLINK_LOG_ERROR, [&heard](std::int32_t, std::string_view, std::string_view text) { heard += std::string(text) + "\n"; });
        auto server = mcplink::server::make(settings);
        CHECK(worked(server));
        CHECK(server->add_tool(mcplink::tool("breaks", "Throws"), throws));
        CHECK(server->add_resource(mcplink::resource("file:///breaks", "breaks"), throws));
        CHECK(server->add_prompt(mcplink::prompt("breaks", "Throws"), throws));
        std::thread serving([&] { CHECK(server->serve_fds(there[0], back[1])); });
        {
            mcplink::client_options options;
            auto client = mcplink::client::open(options.fds(back[0], there[1]));
            CHECK(worked(client));
            close(there[1]);
            auto is_hidden = [](const auto &failed) {
                return !failed && failed.error().rpc_code() == -32603 && failed.error().message().find("db.internal") == std::string_view::npos;
            };
            CHECK(is_hidden(client->call_tool("breaks")) && is_hidden(client->read_resource("file:///breaks")) && is_hidden(client->get_prompt("breaks")));
        }
        serving.join();
        for (int fd : {there[0], back[0], back[1]}) close(fd);
    }
    for (const char *part : {"tool 'breaks' failed: db.internal is away", "resource 'file:///breaks' failed: db", "prompt 'breaks' failed: db"})
        CHECK(heard.find(part) != std::string::npos);
}
#endif

/* What a setter refuses is told by who takes the object, the first of it. */
static void tells_what_was_refused()
{
    auto names = [](const auto &failed, const char *setter) {
        return !failed && failed.error().status() == MCPLINK_E_INVALID && failed.error().message().find(setter) != std::string_view::npos;
    };
    mcplink::server server("refusing", "1.0");
    auto handler = [marker = alive()](const mcplink::request &, mcplink::responder &) { return std::string(); };
    const int before = alive::count;
    mcplink::tool tool("tool", "has no schema");
    tool.title("fine").input_schema(R"({"type":"obj)").title("\xff").param("a", MCPLINK_PARAM_STRING);
    CHECK(names(server.add_tool(tool, handler), "input_schema"));
    auto moved = std::move(tool);
    CHECK(names(server.add_tool(moved, handler), "input_schema"));
    CHECK(names(server.add_tool(mcplink::tool("tool", "").param("a", static_cast<mcplink_param_type>(99)), handler), "param"));
    CHECK(names(server.add_resource(mcplink::resource("file:///a", "a").mime_type("\xff"), handler), "mime_type"));
    CHECK(names(server.add_template(mcplink::resource_template("file:///{a}", "a").mime_type("\xff"), handler), "mime_type"));
    CHECK(names(server.add_prompt(mcplink::prompt("a", "").argument("a", static_cast<mcplink_param_flag>(99)), handler), "argument"));
    CHECK(alive::count == before);
    CHECK(server.add_tool(mcplink::tool("tool", "").param("a", MCPLINK_PARAM_STRING), handler));
    mcplink::client_options options;
    options.command({"/bin/false"}).env("A=B", "x");
    CHECK(names(mcplink::client::open(options), "env"));
    mcplink::oauth oauth;
    oauth.client_name("\xff");
    mcplink::client_options others;
    others.command({"/bin/false"}).oauth(oauth);
    CHECK(names(mcplink::client::open(others), "client_name"));
}

/* Who is trusted is said of clients and of logins; text that was never read is no text with certificates. */
static void trusts()
{
    const auto refuses = [](const mcplink::client_options &options) {
        auto failed = mcplink::client::open(options);
        return !failed && failed.error().status() == MCPLINK_E_INVALID && failed.error().message().find("PEM") != std::string_view::npos;
    };
    mcplink::client_options options;
    options.url("https://127.0.0.1:1/mcp").root_certificates(std::string_view());
    CHECK(refuses(options));
    mcplink::oauth oauth;
    oauth.root_certificates("/etc/ca.pem");
    mcplink::client_options others;
    others.url("https://127.0.0.1:1/mcp").oauth(oauth);
    CHECK(refuses(others));
}

/* What belongs to logins ends with who has the settings; nobody logs in here. */
static void logs_in()
{
    {
        alive marker;
        mcplink::oauth oauth;
        oauth.client_name("wrapper").client("https://login.example", "id", "secret").scopes("a b");
        oauth.user_agent("http://127.0.0.1:1/callback", [marker](mcplink::login &login) {
            mcplink::kept_login kept(login);
            CHECK((*kept).is_done() || (*kept).refuse("nobody is there"));
        });
        CHECK(alive::count == 2);
        mcplink::client_options options;
        options.url("http://127.0.0.1:1/mcp").oauth(oauth);
        oauth = mcplink::oauth();
        CHECK(alive::count == 2);
        auto failed = mcplink::client::open(options);
        CHECK(!failed && failed.error().status() == MCPLINK_E_IO && failed.error().oauth_code().empty());
        options.bearer("token");
        CHECK(alive::count == 1);
        CHECK(oauth.forget("http://127.0.0.1:1/mcp") && !oauth.forget("nowhere"));
        mcplink::login none(nullptr);
        CHECK(none.url().empty() && !none.is_done() && !none.answer("x") && !none.on_done([] {}));
        mcplink::server server("wrapper", "1");
        CHECK(!server.require_scopes(MCPLINK_PRIMITIVE_TOOL, "missing", "x"));
    }
    CHECK(alive::count == 0);
}

int main()
{
    json_works();
    indices_work();
    tells_what_was_refused();
    trusts();
    logs_in();
    talks();
#ifdef MCPLINK_EXCEPTIONS
    reasons_stay_with_the_host();
#endif
    std::puts("the wrapper works");
    return 0;
}
