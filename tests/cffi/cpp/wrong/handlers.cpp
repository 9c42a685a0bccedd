/* Each CASE is an answer that its handler can't give by returning it: it is not to compile, and the compiler is to say what to do. */
#include <mcplink.hpp>

#include <string>
#include <vector>

void wrong(mcplink::server &server, mcplink::client_options &client, mcplink::server_options &described)
{
    const auto text = [](const mcplink::request &, mcplink::responder &) { return std::string("text"); };
    const auto values = [](const mcplink::request &, mcplink::responder &) { return std::vector<std::string>{"value"}; };
    (void)values;
#if CASE == 0
    /* This is right: it is the others that are wrong with the rest. */
    (void)server.add_tool(mcplink::tool("a", ""), text);
#elif CASE == 1
    (void)server.add_completer(MCPLINK_PRIMITIVE_PROMPT, "a", "b", text);
#elif CASE == 2
    client.on_elicit(text);
#elif CASE == 3
    client.on_elicit_url(text);
#elif CASE == 4
    client.on_sample(text);
#elif CASE == 5
    client.on_list_roots(text);
#elif CASE == 6
    client.on_request("a", text);
#elif CASE == 7
    described.on_method("a", text);
#elif CASE == 8
    (void)server.add_tool(mcplink::tool("a", ""), values);
#endif
    (void)server, (void)client, (void)described, (void)text;
}
