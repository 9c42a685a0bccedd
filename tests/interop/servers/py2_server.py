"""A server of the Python SDK 2.3 over stdio; it speaks both eras by itself."""

import sys
from typing import Annotated

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel

server = MCPServer("py2-server", version="2.3.0", log_level="ERROR")


class Sum(BaseModel):
    sum: float


@server.tool()
def greet(name: str) -> str:
    """Greet somebody by name."""
    return f"Hello, {name}!"


@server.tool()
def add(a: float, b: float) -> Annotated[CallToolResult, Sum]:
    """Add two numbers."""
    total = a + b
    return CallToolResult(
        content=[TextContent(type="text", text=f"{total:g}")],
        structured_content={"sum": total},
    )


@server.tool()
def fail() -> str:
    """Fail, as a tool fails."""
    raise ToolError("it failed on purpose")


@server.tool()
async def slow(steps: int, delay_ms: int, ctx: Context) -> str:
    """Report progress once a step."""
    for step in range(1, steps + 1):
        await anyio.sleep(delay_ms / 1000)
        await ctx.report_progress(step, steps)
    return f"done {steps}"


if __name__ == "__main__":
    print("py2-server: a line on stderr is no sign of failure", file=sys.stderr)
    server.run("stdio")
