"""A host of examples/sqlite_server, with the Python SDK 2.3: the command or the URL of the server is the argument."""

import asyncio
import json
import sys

import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError


async def agree(context, params) -> types.ElicitResult:
    return types.ElicitResult(action="accept" if "DROP" not in params.message else "decline", content={})


def text(result) -> str:
    return "".join(block.text for block in result.content if block.type == "text")


async def main(mode: str, server: list[str]) -> None:
    where = server[0] if len(server) == 1 else StdioServerParameters(command=server[0], args=server[1:])
    async with Client(where, mode=mode, elicitation_callback=agree) as client:
        seen = {"tools": [tool.name for tool in (await client.list_tools()).tools], "texts": []}
        for sql in ("CREATE TABLE people (name TEXT, age REAL)", "INSERT INTO people VALUES ('Ada', 36), (NULL, 1.5)", "DROP TABLE people"):
            seen["texts"].append(text(await client.call_tool("execute", {"sql": sql})))
        for sql in ("SELECT * FROM people", "DELETE FROM people", "SELECT missing"):
            result = await client.call_tool("query", {"sql": sql})
            seen["texts"].append(text(result) if result.is_error else result.structured_content)
        seen["table"] = (await client.read_resource("table://people")).contents[0].text
        seen["prompt"] = (await client.get_prompt("explain", {"table": "people"})).messages[0].content.text
        try:
            await client.read_resource("table://nothing")
        except MCPError as error:
            seen["missing"] = error.error.code
        print(json.dumps(seen))


asyncio.run(main(sys.argv[1], sys.argv[2:]))
