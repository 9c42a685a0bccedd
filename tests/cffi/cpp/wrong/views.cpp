/* Each CASE keeps a view of what ends before it: Clang warns. */
#include <mcplink.hpp>

#include <string_view>

std::size_t wrong(mcplink::client &client)
{
#if CASE == 0
    /* This is right: it is the others that are wrong with the rest. */
    const auto result = client.call_tool("a");
    const std::string_view text = result->text();
#elif CASE == 1
    const std::string_view text = client.call_tool("a")->text();
#elif CASE == 2
    const std::string_view text = client.call_tool("a").value().text();
#elif CASE == 3
    const std::string_view text = client.call_tool("a").value().raw();
#elif CASE == 4
    const std::string_view text = client.ping().error().message();
#endif
    return text.size();
}
