"""A server of the Python SDK 2.3 over stdio; it speaks both eras by itself."""

import sys
from typing import Annotated

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolve import Elicit, ListRoots, Resolve, Sample
from mcp_types import (
    AudioContent,
    CallToolResult,
    Completion,
    CreateMessageResult,
    EmbeddedResource,
    EmptyResult,
    ImageContent,
    ListRootsResult,
    ResourceLink,
    SamplingMessage,
    SubscribeRequestParams,
    TextContent,
    TextResourceContents,
    UnsubscribeRequestParams,
)
from pydantic import BaseModel

server = MCPServer("py2-server", version="2.3.0", log_level="ERROR")
cancelled_calls = 0
watched: set[str] = set()  # by legacy clients; the streams of modern ones are kept by the SDK


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


async def who() -> Elicit[Name]:
    return Elicit("Who are you?", Name)


async def capital() -> Sample:
    question = SamplingMessage(role="user", content=TextContent(type="text", text="The capital of France?"))
    return Sample([question], max_tokens=100)


async def folders() -> ListRoots:
    return ListRoots()


@server.tool()
def ask(name: Annotated[Name, Resolve(who)]) -> str:
    """Ask the user for a name."""
    return f"It is {name.name}."


@server.tool()
def sample(answer: Annotated[CreateMessageResult, Resolve(capital)]) -> str:
    """Ask the client's model."""
    return f"The model says {answer.content.text}."


@server.tool()
def roots(answer: Annotated[ListRootsResult, Resolve(folders)]) -> str:
    """Ask for the client's roots."""
    return f"Roots: {answer.roots[0].uri}"


@server.tool()
async def log(ctx: Context) -> str:
    """Log a message."""
    await ctx.log("info", "a message of the log", logger_name="demo")
    return "logged"


@server.tool()
async def touch(uri: str, ctx: Context) -> str:
    """Say that a resource has changed, and the list of tools."""
    await ctx.notify_resource_updated(uri)
    await ctx.notify_tools_changed()
    if uri in watched:
        session = ctx.request_context.session
        await session.send_resource_updated(uri)
        await session.send_tool_list_changed()
    return f"touched {uri}"


async def subscribe(ctx, params: SubscribeRequestParams) -> EmptyResult:
    watched.add(str(params.uri))
    return EmptyResult()


async def unsubscribe(ctx, params: UnsubscribeRequestParams) -> EmptyResult:
    watched.discard(str(params.uri))
    return EmptyResult()


server._lowlevel_server.add_request_handler("resources/subscribe", SubscribeRequestParams, subscribe)
server._lowlevel_server.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, unsubscribe)


@server.tool()
def media() -> CallToolResult:
    """Give content of every kind."""
    resource = TextResourceContents(uri="demo://text", mime_type="text/plain", text="embedded")
    return CallToolResult(
        content=[
            TextContent(type="text", text="a text"),
            ImageContent(type="image", data="AAEC", mime_type="image/png"),
            AudioContent(type="audio", data="AwQF", mime_type="audio/wav"),
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
    print("py2-server: a line on stderr is no sign of failure", file=sys.stderr)
    if sys.argv[1:2] == ["--http"]:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
    else:
        server.run("stdio")
