/* Servers in C++ that are published to other programs of the user: publishing, finding, watching, calling. */
#include "check.hpp"

#include <string>
#include <unistd.h>

int main()
{
    const std::string name = "cpp-published-" + std::to_string(getpid());
    std::atomic<int> changes{0};
    {
        auto watcher = mcplink::watcher::make(name.c_str(), [&changes, one = alive()] { changes++; });
        CHECK(watcher);
        CHECK(alive::count > 0);

        mcplink::server server("editor", "4.2");
        CHECK(server.add_tool({"open", "Names the open file"}, [](const mcplink::request &, mcplink::responder &) { return "notes.txt"; }));
        auto publication = server.publish(name.c_str(), "notes.txt", "/home/ada");
        CHECK(publication);
        CHECK(publication->set_title("other.txt"));

        auto found = mcplink::instances(name.c_str());
        CHECK(found);
        const auto first = (*found)[0];
        CHECK(first["title"].str() == "other.txt" && first["folder"].str() == "/home/ada");
        mcplink::client_options options;
        options.instance(std::string(first["id"].str()).c_str());
        {
            auto client = mcplink::client::open(options);
            CHECK(client);
            auto result = client->call_tool("open", "{}");
            CHECK(result && result->text() == "notes.txt");
            CHECK(publication->clients() == 1);
        }
        CHECK(publication->close());
        CHECK(!publication->set_title("x"));
        CHECK(mcplink::instances(name.c_str())->view().size() == 0);
        auto refused = server.publish("../up");
        CHECK(!refused && refused.error().status() == MCPLINK_E_INVALID);
        auto state = server.state();
        CHECK(state && (*state)["endpoints"].size() == 0);
        CHECK((*state)["failures"][0]["address"].str() == "../up");
        CHECK(!mcplink::client::open(options));
    }
    /* The callable goes with the watcher. At the beginning it was called at least once. */
    CHECK(changes > 0 && alive::count == 0);
    return 0;
}
