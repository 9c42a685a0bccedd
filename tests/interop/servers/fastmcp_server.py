"""A server of FastMCP 4.1 over stdio; it speaks both eras by itself."""

import sys
from dataclasses import dataclass

import anyio
import mcp_types as types
from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.tools.base import ToolResult

server = FastMCP("fastmcp-server", version="4.1.6")


@dataclass
class Sum:
    sum: float


@server.tool
def greet(name: str) -> str:
    """Greet somebody by name."""
    return f"Hello, {name}!"


@server.tool
def add(a: float, b: float) -> Sum:
    """Add two numbers."""
    return ToolResult(content=f"{a + b:g}", structured_content={"sum": a + b})


@server.tool
def fail() -> str:
    """Fail, as a tool fails."""
    raise ToolError("it failed on purpose")


@server.tool
async def slow(steps: int, delay_ms: int, ctx: Context) -> str:
    """Report progress once a step."""
    for step in range(1, steps + 1):
        await anyio.sleep(delay_ms / 1000)
        await ctx.report_progress(step, steps)
    return f"done {steps}"


@server.tool
async def log(ctx: Context) -> str:
    """Log a message."""
    await ctx.info("a message of the log")
    return "logged"


@dataclass
class Name:
    name: str


QUESTION = types.ElicitRequest(
    params=types.ElicitRequestFormParams(
        message="Who are you?",
        requested_schema={"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
    )
)


@server.tool
async def ask(ctx: Context):
    """Ask the user for a name, in the way of each era."""
    if ctx._is_modern_protocol():
        answers = ctx.input_responses
        if answers is None:
            return types.InputRequiredResult(input_requests={"who": QUESTION})
        return f"It is {answers['who'].content['name']}."
    answer = await ctx.elicit("Who are you?", Name)
    return f"It is {answer.data.name}."


@server.resource("demo://text", mime_type="text/plain")
def text() -> str:
    return "a text: é 😀"


@server.resource("demo://item/{id}", mime_type="text/plain")
def item(id: str) -> str:
    return f"item {id}"


@server.prompt
def praise(name: str) -> str:
    """Praise somebody."""
    return f"Please praise {name}."


@server.completion
def complete(ref, argument, context):
    return [name for name in ("alice", "albert", "bob") if name.startswith(argument.value)]


if __name__ == "__main__":
    print("fastmcp-server: a line on stderr is no sign of failure", file=sys.stderr)
    server.run("stdio", show_banner=False, log_level="ERROR")
