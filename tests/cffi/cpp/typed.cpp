/* Typed tools, ranges over JSON, checked access to results, and commands from a vector. */
#include "check.hpp"

#include <optional>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

using mcplink::arg;

static std::string shouted(std::string_view text) { return std::string(text) + "!"; }

static void add_all(mcplink::server &server)
{
    CHECK(server.add_tool({"add", "Adds"}, {{"a", "the first"}, {"b", "the second"}}, [](double a, double b) { return a + b; }));
    CHECK(server.add_tool({"shout", nullptr}, {{"text"}}, shouted));
    CHECK(server.add_tool({"search", "Searches"},
                          {{"query", "what for"}, arg("limit", "how many").range(1, 50).or_else(10), arg("sort").choices({"name", "date"}).or_else("name"),
                           arg("tags").range(1, 2), {"loud"}, {"any"}},
                          [](const std::string &query, int limit, std::string_view sort, const std::optional<std::vector<std::string>> &tags, std::optional<bool> loud,
                             mcplink::json_view any) {
                              return query + ' ' + std::to_string(limit) + ' ' + std::string(sort) + ' ' + (tags ? std::to_string(tags->size()) : "none") + ' ' +
                                     (loud ? *loud ? "loud" : "quiet" : "unknown") + ' ' + std::string(any.text());
                          }));
    CHECK(server.add_tool({"byte", nullptr}, {{"n"}, arg("all").range(0, 3)},
                          [](std::uint8_t n, const std::vector<std::int16_t> &all, mcplink::responder &answer) {
                              int sum = n;
                              for (auto one : all) sum += one;
                              answer.add_text(std::to_string(sum)).add_bytes(&n, 1, "image/png").add_json(R"({"type":"text","text":"end"})");
                              return answer.send();
                          }));
    CHECK(server.add_tool({"infinite", nullptr}, {{"a"}}, [](double a) noexcept { return a / 0.0; }));
    /* A default that does not fit, or that no call could use, is refused with its reason. */
    auto refused = server.add_tool({"w", nullptr}, {arg("n").range(1, 2).or_else(3)}, [](int n) { return n; });
    CHECK(!refused && refused.error().message().find("at most 2") != std::string_view::npos);
    /* A number above INT64_MAX stays what it is: a double takes it, an integer of the interface has no room for it. */
    CHECK(server.add_tool({"big", nullptr}, {arg("n").or_else(UINT64_MAX)}, [](double n) { return n; }));
    refused = server.add_tool({"w", nullptr}, {arg("n").or_else(UINT64_MAX)}, [](std::uint64_t n) { return n; });
    CHECK(!refused && refused.error().message().find("at most INT64_MAX") != std::string_view::npos);
    CHECK(!server.add_tool({"w", nullptr}, {arg("n").or_else("x")}, [](int n) { return n; }));
    CHECK(!server.add_tool({"w", nullptr}, {arg("n").or_else(1)}, [](std::optional<int> n) { return n.value_or(0); }));
    CHECK(!server.add_tool({"w", nullptr}, {arg("n").or_else(1.0 / 0.0)}, [](double n) { return n; }));
    CHECK(!server.add_tool({"w", nullptr}, {arg(nullptr)}, [](double n) { return n; }));
    CHECK(!server.add_tool({"w", nullptr}, {{"n"}, {"n"}}, [](double n, double m) { return n + m; }));
}

static const struct {
    const char *tool, *arguments, *text;
    bool needs_validation;
} cases[] = {
    {"add", R"({"a":1,"b":0.5})", "1.5", false},
    {"add", R"({"a":1})", R"(invalid arguments: property "b" is missing)", false},
    {"add", R"({"a":1,"b":"2"})", R"(invalid arguments: /b: expected number, got "2")", false},
    {"shout", R"({"text":"hey"})", "hey!", false},
    {"search", R"({"query":"q"})", "q 10 name none unknown ", false},
    {"search", R"({"query":"q","limit":2,"sort":"date","tags":["a"],"loud":false,"any":{"x":[1]}})", R"(q 2 date 1 quiet {"x":[1]})", false},
    {"search", R"({"query":"q","limit":51})", "invalid arguments: /limit: expected at most 50, got 51", true},
    {"search", R"({"query":"q","sort":"size"})", R"(invalid arguments: /sort: expected one of ["name","date"], got "size")", true},
    {"search", R"({"query":"q","tags":[]})", "invalid arguments: /tags: expected at least 1 items, got []", true},
    {"search", R"({"query":"q","loud":1})", "invalid arguments: /loud: expected boolean, got 1", false},
    {"search", R"({"query":1})", "invalid arguments: /query: expected string, got 1", false},
    {"byte", R"({"n":255,"all":[1,-2]})", "254\nend", false},
    {"byte", R"({"n":256,"all":[]})", "invalid arguments: /n: expected at most 255, got 256", true},
    {"byte", R"({"n":-1,"all":[]})", "invalid arguments: /n: expected at least 0, got -1", true},
    {"byte", R"({"n":1,"all":[1,40000]})", "invalid arguments: /all/1: expected integer from -32768 to 32767, got 40000", false},
    {"big", "{}", "1.8446744073709552e+19", false},
    {"infinite", R"({"a":1})", "the result is no finite number", false},
};

static void called(bool validates)
{
    mcplink::server_options so("typed", "1");
    if (!validates) so.clear_validation();
    auto server = std::move(*mcplink::server::make(so));
    add_all(server);
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    auto session = std::move(*server.serve_fds_start(ends[0], ends[0]));
    auto client = std::move(*mcplink::client::open(std::move(mcplink::client_options().fds(ends[1], ends[1]))));
    close(ends[0]), close(ends[1]);
    for (const auto &one : cases) {
        if (one.needs_validation && !validates) continue;
        auto result = client.call_tool(one.tool, one.arguments);
        CHECK(result);
        if (result->text() != one.text) {
            std::fprintf(stderr, "%s %s: %s\n", one.tool, one.arguments, result->text().data());
            std::exit(1);
        }
    }
    /* Without the check of the schema, the narrow types are checked. */
    if (!validates) {
        auto says = [&](const std::string &arguments, std::string_view text) {
            auto result = client.call_tool("byte", arguments.c_str());
            return result && result->is_tool_error() && result->text() == text;
        };
        CHECK(says(R"({"n":256,"all":[]})", "invalid arguments: /n: expected integer from 0 to 255, got 256"));
        CHECK(says(R"({"n":1,"all":7})", "invalid arguments: /all: expected array, got 7"));
        CHECK(says(R"({"n":1})", "invalid arguments: /all: expected array, got nothing"));
        /* A long value is cut, between two characters. */
        std::string long_text;
        for (int at = 0; at < 60; at++) long_text += "\xc3\xbc";
        CHECK(says(R"({"n":1,"all":[1,")" + long_text + R"("]})",
                   "invalid arguments: /all/1: expected integer from -32768 to 32767, got \"" + long_text.substr(0, 78) + "..."));
    }
    /* The model sees types, bounds and defaults. */
    auto tools = client.list_tools();
    CHECK(tools);
    for (auto tool : tools->json()["tools"]) {
        if (tool["name"].str() != "search") continue;
        std::string seen;
        for (auto [name, schema] : tool["inputSchema"]["properties"].members()) {
            seen += std::string(name) + ':' + std::string(schema["type"].str()) + ' ';
            if (name == "limit") CHECK(schema["default"].i64() == 10 && schema["minimum"].i64() == 1 && schema["maximum"].i64() == 50);
        }
        CHECK(seen == "any: limit:integer loud:boolean query:string sort:string tags:array ");
        CHECK(tool["inputSchema"]["required"].text() == R"(["query"])");
    }
}

/* In C++20 a JSON value is a view. Clang before 16 does not compile the adaptors of libstdc++. */
#if defined(__cpp_lib_ranges)
using mcplink::json_view;
static_assert(std::forward_iterator<json_view::iterator> && std::forward_iterator<json_view::member_range::iterator>);
static_assert(std::ranges::view<json_view> && std::ranges::view<json_view::member_range>);
static_assert(std::ranges::borrowed_range<json_view> && std::ranges::borrowed_range<json_view::member_range>);
#if !defined(__clang__) || __clang_major__ >= 16
static void adaptors()
{
    auto parsed = mcplink::json::parse(R"({"a":[1,"x",3,5],"b":2})");
    CHECK(parsed);
    std::int64_t sum = 0;
    auto is_number = [](json_view item) { return item.i64().has_value(); };
    for (auto item : (*parsed)["a"] | std::views::filter(is_number) | std::views::drop(1)) sum += *item.i64();
    CHECK(sum == 8);
    CHECK(std::ranges::distance(parsed->view().members()) == 2);
    auto found = std::ranges::find_if((*parsed)["a"], [](json_view item) { return item.str() == "x"; });
    CHECK((*found).str() == "x" && (*++found).i64() == 3);
}
#define HAS_ADAPTORS
#endif
#endif

static void ranges()
{
#ifdef HAS_ADAPTORS
    adaptors();
#endif
    auto parsed = mcplink::json::parse(R"({"a":[1,2,3],"s":"abc","n":null})");
    CHECK(parsed);
    std::int64_t sum = 0;
    for (auto item : (*parsed)["a"]) sum += item.i64().value_or(0);
    CHECK(sum == 6);
    std::string keys;
    for (auto [key, value] : parsed->view().members()) keys += std::string(key) + std::string(value.text());
    CHECK(keys == R"(a[1,2,3]s"abc"nnull)");
    int count = 0;
    for (auto value : *parsed) count += !value.is_missing();
    CHECK(count == 3);
    for (auto item : (*parsed)["s"]) CHECK(item.is_missing() && false);
    for (auto item : (*parsed)["none"]) CHECK(item.is_missing() && false);
    for (auto [key, value] : (*parsed)["a"].members()) CHECK(key.empty() && value.is_missing() && false);
}

static void results_are_checked()
{
    auto failed = mcplink::json::parse("{");
    CHECK(!failed && failed.error().status() == MCPLINK_E_INVALID);
    auto parsed = mcplink::json::parse("{}");
    CHECK(parsed && parsed.error().status() == MCPLINK_OK && parsed.error().message() == "MCPLINK_OK");
#ifdef MCPLINK_EXCEPTIONS
    int thrown = 0;
    try {
        CHECK(failed->get() == nullptr);
    } catch (const mcplink::exception &error) {
        thrown += error.error().status() == MCPLINK_E_INVALID;
    }
    try {
        static_cast<void>(*failed);
    } catch (const mcplink::exception &) {
        thrown++;
    }
    CHECK(thrown == 2);
#endif
    std::vector<std::string> none{"/nonexistent/program", "an argument"};
    mcplink::client_options options;
    auto client = mcplink::client::open(options.command(none));
    /* Under valgrind the program is started before it fails. */
    CHECK(!client && client.error().status() != MCPLINK_E_INVALID);
    CHECK(mcplink::client::open(mcplink::client_options().command(std::vector<std::string>{})).error().status() == MCPLINK_E_INVALID);
}

int main()
{
    called(true);
    called(false);
    ranges();
    results_are_checked();
    return 0;
}
