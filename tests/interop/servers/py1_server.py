"""A server of the Python SDK 1.30 over stdio; legacy only."""

import sys
from typing import Annotated

import anyio
from mcp.server.fastmcp import Context, FastMCP
from mcp.types import (
    AudioContent,
    CallToolResult,
    Completion,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    SamplingMessage,
    TextContent,
    TextResourceContents,
)
from pydantic import BaseModel

server = FastMCP("py1-server", log_level="ERROR")
cancelled_calls = 0


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
    global cancelled_calls
    try:
        for step in range(1, steps + 1):
            await anyio.sleep(delay_ms / 1000)
            await ctx.report_progress(step, steps)
    except anyio.get_cancelled_exc_class():
        cancelled_calls += 1
        raise
    return f"done {steps}"


@server.tool()
def cancelled() -> str:
    """Tell how many calls of slow were cancelled."""
    return str(cancelled_calls)


class Name(BaseModel):
    name: str


@server.tool()
async def ask(ctx: Context) -> str:
    """Ask the user for a name."""
    answer = await ctx.elicit("Who are you?", Name)
    return f"It is {answer.data.name}." if answer.action == "accept" else f"It is a secret: {answer.action}."


@server.tool()
async def sample(ctx: Context) -> str:
    """Ask the client's model."""
    question = SamplingMessage(role="user", content=TextContent(type="text", text="The capital of France?"))
    answer = await ctx.session.create_message([question], max_tokens=100)
    return f"The model says {answer.content.text}."


@server.tool()
async def roots(ctx: Context) -> str:
    """Ask for the client's roots."""
    return f"Roots: {(await ctx.session.list_roots()).roots[0].uri}"


@server.tool()
async def log(ctx: Context) -> str:
    """Log a message."""
    await ctx.info("a message of the log")
    return "logged"


@server.tool()
def media() -> CallToolResult:
    """Give content of every kind."""
    resource = TextResourceContents(uri="demo://text", mimeType="text/plain", text="embedded")
    return CallToolResult(
        content=[
            TextContent(type="text", text="a text"),
            ImageContent(type="image", data="AAEC", mimeType="image/png"),
            AudioContent(type="audio", data="AwQF", mimeType="audio/wav"),
            ResourceLink(type="resource_link", uri="demo://text", name="text"),
            EmbeddedResource(type="resource", resource=resource),
        ]
    )


@server.resource("demo://text", mime_type="text/plain")
def text() -> str:
    return "a text: é 😀"


@server.resource("demo://bytes", mime_type="application/octet-stream")
def some_bytes() -> bytes:
    return b"\x00\x01\xfe\xff"


@server.resource("demo://item/{id}", mime_type="text/plain")
def item(id: str) -> str:
    return f"item {id}"


@server.prompt()
def praise(name: str) -> str:
    """Praise somebody."""
    return f"Please praise {name}."


@server.completion()
async def complete(ref, argument, context) -> Completion:
    known = ("alice", "albert", "bob") if ref.type == "ref/prompt" else ("7", "42", "70")
    return Completion(values=[each for each in known if each.startswith(argument.value)])


if __name__ == "__main__":
    print("py1-server: a line on stderr is no sign of failure", file=sys.stderr)
    if sys.argv[1:2] == ["--http"]:
        server.settings.port = int(sys.argv[2])
        server.run("streamable-http")
    else:
        server.run("stdio")
