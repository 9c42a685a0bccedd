"""A client of FastMCP 4.1: checks a server in one era, over stdio or at a URL."""

import base64
import logging
import math
import time
from contextlib import asynccontextmanager

import anyio
import checks
import mcp_types as types
from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from mcp.shared.exceptions import MCPError

MODES = {"legacy": "legacy", "modern": "2026-07-28", "auto": "auto"}


class Peer:
    def __init__(self) -> None:
        self.client: Client | None = None
        self.progress_seen = 0
        self.logs: list[str] = []
        self.events: list[str] = []

    async def on_message(self, message) -> None:
        match message:
            case types.ProgressNotification():
                self.progress_seen += 1
            case types.ResourceUpdatedNotification(params=params):
                self.events.append(params.uri)
            case types.ToolListChangedNotification():
                self.events.append("tools")

    async def on_log(self, params) -> None:
        self.logs.append(params.data)

    async def on_elicit(self, message, response_type, params, context):
        return checks.filled_in(params.requested_schema)

    async def on_sample(self, messages, params, context):
        return checks.REPLY

    async def list_tools(self) -> list[str]:
        return [tool.name for tool in await self.client.list_tools()]

    async def ping(self) -> None:
        await self.client.ping()

    async def call(self, name, arguments, on_progress=None) -> checks.Outcome:
        async def progress(value, total, message):
            on_progress(value, total)

        try:
            result = await self.client.call_tool_mcp(
                name, arguments, progress_handler=progress if on_progress else None
            )
        except MCPError as error:
            raise checks.Refused(f"{error.error.code}: {error.error.message}") from error
        text = "".join(block.text for block in result.content if block.type == "text")
        return checks.Outcome(
            bool(result.is_error), text, result.structured_content, [block.type for block in result.content]
        )

    async def cancel_call(self, name, arguments) -> None:
        """Leaves the call at its first progress; the SDK below tells the server by itself."""
        with anyio.CancelScope() as scope:
            await self.call(name, arguments, lambda *_: scope.cancel())
            raise AssertionError("the call ended before it was cancelled")

    def late_progress(self) -> int:
        return self.progress_seen

    async def resources(self) -> list[str]:
        return [str(each.uri) for each in await self.client.list_resources()]

    async def templates(self) -> list[str]:
        return [each.uri_template for each in await self.client.list_resource_templates()]

    async def prompts(self) -> list[str]:
        return [each.name for each in await self.client.list_prompts()]

    async def read(self, uri) -> list[str | bytes]:
        try:
            contents = await self.client.read_resource(uri)
        except MCPError as error:
            raise checks.Refused(f"{error.error.code}: {error.error.message}") from error
        return [getattr(each, "text", None) or base64.b64decode(each.blob) for each in contents]

    async def prompt(self, name, arguments) -> list[str]:
        return [each.content.text for each in (await self.client.get_prompt(name, arguments)).messages]

    async def complete_prompt(self, name, argument, value) -> list[str]:
        return await self.complete(types.PromptReference(name=name), argument, value)

    async def complete_template(self, template, variable, value) -> list[str]:
        return await self.complete(types.ResourceTemplateReference(uri=template), variable, value)

    async def complete(self, reference, argument, value) -> list[str]:
        return (await self.client.complete(reference, {"name": argument, "value": value})).values

    async def wants_logs(self) -> None:
        await self.client.set_logging_level("debug")
        self.logs.clear()

    @asynccontextmanager
    async def subscribed(self, uri):
        session = self.client.session
        await session.subscribe_resource(uri)
        yield self.events
        await session.unsubscribe_resource(uri)


async def main() -> int:
    options = checks.arguments()
    report = checks.Report("fastmcp-4.1.6", options.era)
    logging.disable(logging.CRITICAL)
    peer = Peer()
    answering = {
        "elicitation_handler": peer.on_elicit,
        "sampling_handler": peer.on_sample,
        "roots": [checks.HOME],
        "log_handler": peer.on_log,
    }
    program, *rest = options.command
    if program.startswith("http"):
        transport = StreamableHttpTransport(program)
    else:
        transport = StdioTransport(program, rest, keep_alive=False)
    peer.client = Client(
        transport,
        mode=MODES[options.era],
        message_handler=peer.on_message,
        **(answering if options.features else {}),
    )
    with anyio.fail_after(checks.CONNECT_SECONDS) as connecting:
        async with peer.client as client:
            if options.era == "modern":  # a pinned client never asks: its first request, whichever it is, opens
                await client.list_tools()
            connecting.deadline = math.inf
            info = client.server_info
            report.seen["revision"] = client.protocol_version
            report.seen["server"] = info and {"name": info.name, "version": info.version}
            is_legacy = client.protocol_version < "2026"
            await checks.check_server(report, peer, options.tools.split(","), has_ping=is_legacy)
            if options.features:
                # It has no way to listen, and to ask for log messages, in the modern era.
                await checks.check_features(report, peer, without=[] if is_legacy else ["log messages", "subscription"])
            close_began = time.monotonic()
    checks.check_exit(report, close_began, options.pids)
    return report.finish()


checks.run(main)
