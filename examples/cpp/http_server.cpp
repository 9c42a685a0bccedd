/* An HTTP server in C++ that keeps notes: clients with the password write and read them, and
 * subscribe to changes. It runs until SIGTERM or SIGINT.
 *
 *     PASSWORD=secret ./http_server 127.0.0.1:0
 *
 * A function of this program authenticates each request: a client must send the header field
 * "Authorization: Bearer NAME:PASSWORD". */
#include <mcplink.hpp>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

/* The notes. A mutex guards them, because handlers run on several threads at once. */
class notes {
public:
    void write(const std::string &title, std::string_view text)
    {
        std::lock_guard<std::mutex> locked(lock_);
        kept_[title] = text;
    }
    std::optional<std::string> read(const std::string &title)
    {
        std::lock_guard<std::mutex> locked(lock_);
        const auto found = kept_.find(title);
        if (found == kept_.end()) return std::nullopt;
        return found->second;
    }
    std::vector<std::string> titles()
    {
        std::lock_guard<std::mutex> locked(lock_);
        std::vector<std::string> titles;
        for (const auto &note : kept_) titles.push_back(note.first);
        return titles;
    }

private:
    std::mutex lock_;
    std::map<std::string, std::string> kept_;
};

static std::string text_of(mcplink::json_view value)
{
    return std::string(value.str());
}

/* Compares two texts in constant time, so that the time reveals nothing about the secret. */
static bool same(std::string_view guess, std::string_view secret)
{
    unsigned differs = guess.size() == secret.size() ? 0 : 1;
    for (std::size_t i = 0; i < guess.size(); i++) differs |= static_cast<unsigned>(guess[i] ^ secret[i % secret.size()]);
    return differs == 0;
}

static void admit(mcplink::http_request &request, std::string_view password)
{
    const auto token = request.token();
    const auto colon = token.find(':');
    if (token.empty()) {
        request.challenge("Bearer").value();
    } else if (colon == std::string_view::npos || !same(token.substr(colon + 1), password)) {
        request.invalid_token("it is not the password").value();
    } else {
        request.admit(std::string(token.substr(0, colon)).c_str()).value();
    }
}

static const char title_characters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";

static void add_everything(mcplink::server &server, notes &kept)
{
    mcplink::tool write("write_note", "Writes a note");
    write.param("title", MCPLINK_PARAM_STRING, MCPLINK_PARAM_REQUIRED).param("text", MCPLINK_PARAM_STRING, MCPLINK_PARAM_REQUIRED);
    server.add_tool(write, [&](const mcplink::request &asked, mcplink::responder &) {
        const auto title = text_of(asked.args()["title"]);
        /* Restrict titles to characters that a URI may contain unescaped. */
        if (title.empty() || title.find_first_not_of(title_characters) != std::string::npos)
            throw mcplink::tool_failure("a title has letters, digits, '-' and '_'");
        kept.write(title, asked.args()["text"].str());
        server.resource_updated(("note://" + title).c_str()).value();
        return "written by " + std::string(asked.principal());
    }).value();

    mcplink::tool read("read_note", "Reads a note");
    read.param("title", MCPLINK_PARAM_STRING, MCPLINK_PARAM_REQUIRED).hint(MCPLINK_HINT_READ_ONLY);
    server.add_tool(read, [&](const mcplink::request &asked, mcplink::responder &) {
        const auto title = text_of(asked.args()["title"]);
        const auto found = kept.read(title);
        if (!found) throw mcplink::tool_failure("there is no note '" + title + "'");
        return *found;
    }).value();

    /* The notes are also resources, with completion for their titles. */
    mcplink::resource_template all("note://{title}", "note");
    server.add_template(all.mime_type("text/plain"), [&](const mcplink::request &asked, mcplink::responder &answer) {
        const auto found = kept.read(text_of(asked.args()["title"]));
        if (found)
            answer.text(*found).value();
        else
            answer.not_found().value();
    }).value();
    server.add_completer(MCPLINK_PRIMITIVE_TEMPLATE, "note://{title}", "title", [&](const mcplink::request &, mcplink::responder &answer) {
        answer.values(kept.titles()).value();
    }).value();
}

int main(int argc, char **argv)
try {
    const char *password = std::getenv("PASSWORD");
    if (argc != 2 || password == nullptr || *password == 0) {
        std::fputs("usage: PASSWORD=... http_server ADDRESS:PORT\n", stderr);
        return 2;
    }
    /* Block the signals before any thread starts, so that all threads inherit the mask. */
    sigset_t mine;
    sigemptyset(&mine);
    sigaddset(&mine, SIGTERM);
    sigaddset(&mine, SIGINT);
    pthread_sigmask(SIG_BLOCK, &mine, nullptr);

    notes kept;
    mcplink::server_options options("notes", "1.0");
    options.instructions("Notes are for all who may come in.");
    options.on_log(MCPLINK_LOG_WARNING, [](std::int32_t, std::string_view target, std::string_view text) {
        std::fprintf(stderr, "http_server: %.*s: %.*s\n", static_cast<int>(target.size()), target.data(), static_cast<int>(text.size()), text.data());
    });
    auto server = mcplink::server::make(options).value();
    add_everything(server, kept);

    mcplink::http_options over;
    over.on_authenticate([password](mcplink::http_request &request) { admit(request, password); });
    auto listener = server.listen_http(argv[1], over).value();
    std::fprintf(stderr, "http_server: %s\n", std::string(listener.url()).c_str());

    int got = 0;
    sigwait(&mine, &got);
    /* End active calls first; then the destructors of the listener, the server and the notes run,
     * in this order. */
    listener.close().value();
    std::fputs("http_server: stopped\n", stderr);
    return 0;
} catch (const std::exception &failed) {
    std::fprintf(stderr, "http_server: %s\n", failed.what());
    return 1;
}
