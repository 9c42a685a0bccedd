#include <mcplink.hpp>

int main()
{
    mcplink::server server("test", "1");
    auto added = server.add_tool({"greet", "Greets someone"}, {{"name"}}, [](const std::string &name) { return "Hello, " + name + "!"; });
    return mcplink_check_version(MCPLINK_VERSION_NUMBER) && added ? 0 : 1;
}
