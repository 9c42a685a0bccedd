"""A server of FastMCP 4.1 over stdio; it speaks both eras by itself."""

import sys
from dataclasses import dataclass

import anyio
import mcp_types as types
from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.tools.base import ToolResult

server = FastMCP("fastmcp-server", version="4.1.6")
cancelled_calls = 0


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
    global cancelled_calls
    try:
        for step in range(1, steps + 1):
            await anyio.sleep(delay_ms / 1000)
            await ctx.report_progress(step, steps)
    except anyio.get_cancelled_exc_class():
        cancelled_calls += 1
        raise
    return f"done {steps}"


@server.tool
def cancelled() -> str:
    """Tell how many calls of slow were cancelled."""
    return str(cancelled_calls)


@server.tool
def media():
    """Give content of every kind."""
    resource = types.TextResourceContents(uri="demo://text", mime_type="text/plain", text="embedded")
    return ToolResult(
        content=[
            types.TextContent(type="text", text="a text"),
            types.ImageContent(type="image", data="AAEC", mime_type="image/png"),
            types.AudioContent(type="audio", data="AwQF", mime_type="audio/wav"),
            types.ResourceLink(type="resource_link", uri="demo://text", name="text"),
            types.EmbeddedResource(type="resource", resource=resource),
        ]
    )


@server.tool
async def log(ctx: Context) -> str:
    """Log a message."""
    await ctx.info("a message of the log")
    return "logged"


@dataclass
class Name:
    name: str


def wants(request) -> types.InputRequiredResult:
    return types.InputRequiredResult(input_requests={"it": request})


FORM = types.ElicitRequestFormParams(
    message="Who are you?",
    requested_schema={"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
)
CAPITAL = types.SamplingMessage(
    role="user", content=types.TextContent(type="text", text="The capital of France?")
)


@server.tool
async def ask(ctx: Context):
    """Ask the user for a name, in the way of each era."""
    if not ctx._is_modern_protocol():
        return f"It is {(await ctx.elicit('Who are you?', Name)).data.name}."
    if ctx.input_responses is None:
        return wants(types.ElicitRequest(params=FORM))
    return f"It is {ctx.input_responses['it'].content['name']}."


@server.tool
async def sample(ctx: Context):
    """Ask the client's model, in the way of each era."""
    if not ctx._is_modern_protocol():
        said = await ctx.session.create_message([CAPITAL], max_tokens=100)
    elif ctx.input_responses is None:
        return wants(types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[CAPITAL], max_tokens=100)))
    else:
        said = ctx.input_responses["it"]
    return f"The model says {said.content.text}."


@server.tool
async def roots(ctx: Context):
    """Ask for the client's roots, in the way of each era."""
    if not ctx._is_modern_protocol():
        had = await ctx.session.list_roots()
    elif ctx.input_responses is None:
        return wants(types.ListRootsRequest())
    else:
        had = ctx.input_responses["it"]
    return f"Roots: {had.roots[0].uri}"


@server.tool
async def touch(uri: str, ctx: Context) -> str:
    """Say that the list of tools has changed."""
    await ctx.send_notification(types.ToolListChangedNotification())
    return f"touched {uri}"


@server.resource("demo://text", mime_type="text/plain")
def text() -> str:
    return "a text: é 😀"


@server.resource("demo://bytes", mime_type="application/octet-stream")
def some_bytes() -> bytes:
    return b"\x00\x01\xfe\xff"


@server.resource("demo://item/{id}", mime_type="text/plain")
def item(id: str) -> str:
    return f"item {id}"


@server.prompt
def praise(name: str) -> str:
    """Praise somebody."""
    return f"Please praise {name}."


@server.completion
def complete(ref, argument, context):
    known = ("alice", "albert", "bob") if ref.type == "ref/prompt" else ("7", "42", "70")
    return [each for each in known if each.startswith(argument.value)]


if __name__ == "__main__":
    print("fastmcp-server: a line on stderr is no sign of failure", file=sys.stderr)
    if sys.argv[1:2] == ["--http"]:
        server.run("http", host="127.0.0.1", port=int(sys.argv[2]), show_banner=False, log_level="ERROR")
    else:
        server.run("stdio", show_banner=False, log_level="ERROR")
