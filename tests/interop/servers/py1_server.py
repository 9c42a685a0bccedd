"""A server of the Python SDK 1.30 over stdio; legacy only."""

import sys
from typing import Annotated

import anyio
from mcp.server.fastmcp import Context, FastMCP
from mcp.types import CallToolResult, TextContent
from pydantic import BaseModel

server = FastMCP("py1-server", log_level="ERROR")


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
        structuredContent={"sum": total},
    )


@server.tool()
def fail() -> str:
    """Fail, as a tool fails."""
    raise ValueError("it failed on purpose")


@server.tool()
async def slow(steps: int, delay_ms: int, ctx: Context) -> str:
    """Report progress once a step."""
    for step in range(1, steps + 1):
        await anyio.sleep(delay_ms / 1000)
        await ctx.report_progress(step, steps)
    return f"done {steps}"


if __name__ == "__main__":
    print("py1-server: a line on stderr is no sign of failure", file=sys.stderr)
    server.run("stdio")
