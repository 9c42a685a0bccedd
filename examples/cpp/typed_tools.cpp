/* examples/cpp/typed_tools.cpp: a server of seven tools, a resource, a template, a prompt and completers.
 * It serves standard input and output, or HTTP: TOKEN=secret ./typed_tools 127.0.0.1:8080 */
#include <mcplink.hpp>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

using mcplink::arg;

static const std::map<std::string, std::string> notes{{"cat", "feed the cat"}, {"milk", "buy milk"}, {"tax", "pay the tax"}};

static void erase(const mcplink::request &, mcplink::responder &resp)
{
    auto agreed = resp.confirm("sure", "Really?").value();
    if (!agreed) return;                                     /* the question is sent; this handler runs again */
    if (!*agreed) throw mcplink::tool_failure("the user did not agree");
    resp.text("erased").value();
}

static void summarize(const mcplink::request &, mcplink::responder &resp)
{
    auto answer = resp.ask("summary", "sampling/createMessage",
                           R"({"maxTokens":50,"messages":[{"role":"user","content":{"type":"text","text":"Summarize my notes"}}]})");
    if (!answer) throw mcplink::tool_failure("the client has no model");
    if (*answer) resp.text((**answer).pointer("/content/text").str()).value();
}

static void add_tools(mcplink::server &server)
{
    server.add_tool({"add", "Adds two numbers"}, {{"a"}, {"b"}}, [](double a, double b) { return a + b; }).value();
    server.add_tool({"search", "Searches the notes"},
                    {{"query", "a part of the text"}, arg("limit", "how many notes").range(1, 50).or_else(10), arg("order").choices({"ascending", "descending"}).or_else("ascending")},
                    [](std::string_view query, int limit, std::string_view order, mcplink::responder &resp) {
                        std::vector<std::string> found;
                        for (const auto &[title, text] : notes)
                            if (text.find(query) != text.npos) found.insert(order == "ascending" ? found.end() : found.begin(), text);
                        for (const auto &text : found)
                            if (limit-- > 0) resp.add_text(text);
                        return resp.send();
                    }).value();
    server.add_tool({"total", "Adds numbers"}, {arg("numbers").range(1, 100)}, [](const std::vector<double> &numbers) {
        double sum = 0;
        for (double number : numbers) sum += number;
        return sum;
    }).value();
    server.add_tool({"picture", "Shows a picture"}, {arg("caption").or_else(true)}, [](bool caption, mcplink::responder &resp) {
        static const char gif[] = "GIF89a\1\0\1\0\200\0\0\0\0\0\377\377\377,\0\0\0\0\1\0\1\0\0\2\2D\1";
        if (caption) resp.add_text("one pixel");
        return resp.add_bytes(gif, sizeof gif, "image/gif").send();
    }).value();
    server.add_tool({"count", "Counts, with progress"}, {arg("to").range(1, 1000)}, [](int to, mcplink::responder &resp) {
        for (int i = 1; i <= to && !resp.is_cancelled(); i++) (void)resp.progress(i, to);
        return resp.text("done");
    }).value();
    server.add_tool({"erase", "Erases the notes, if the user agrees"}, erase).value();
    server.add_tool({"summarize", "Summarizes the notes with the model of the client"}, summarize).value();
}

static void add_notes(mcplink::server &server)
{
    auto complete = [](const mcplink::request &, mcplink::responder &) {
        std::vector<std::string> titles;
        for (const auto &note : notes) titles.push_back(note.first);
        return titles;
    };
    server.add_resource({"notes://", "all notes"}, [](const mcplink::request &, mcplink::responder &) { return "cat, milk, tax"; }).value();
    server.add_template({"notes://{title}", "a note"}, [](const mcplink::request &request, mcplink::responder &resp) {
        auto found = notes.find(std::string(request.args()["title"].str()));
        return found == notes.end() ? resp.not_found() : resp.text(found->second);
    }).value();
    mcplink::prompt remind("remind", "Reminds of a note");
    server.add_prompt(remind.argument("title", MCPLINK_PARAM_REQUIRED, "which note"), [](const mcplink::request &request, mcplink::responder &resp) {
        auto found = notes.find(std::string(request.args()["title"].str()));
        return found == notes.end() ? resp.fail(MCPLINK_RPC_INVALID_PARAMS, "there is no such note") : resp.text(found->second);
    }).value();
    server.add_completer(MCPLINK_PRIMITIVE_TEMPLATE, "notes://{title}", "title", complete).value();
    server.add_completer(MCPLINK_PRIMITIVE_PROMPT, "remind", "title", complete).value();
}

int main(int argc, char **argv)
try {
    mcplink::server server("tools", "1.0");
    add_tools(server);
    add_notes(server);
    if (argc < 2) return server.serve_stdio().value(), 0;
    mcplink::http_options options;
    options.token(std::getenv("TOKEN"), "friend");           /* without it, listening fails */
    auto listener = server.listen_http(argv[1], options).value();
    std::fprintf(stderr, "%s\n", std::string(listener.url()).c_str());
    while (std::getchar() != EOF) {}                         /* until end of input */
} catch (const mcplink::exception &error) {
    return std::fprintf(stderr, "typed_tools: %s\n", error.what()), 1;
}
