"""A client of the Python SDK 2.3: checks a stdio server in one era."""

import logging
import math
import time

import anyio
import checks
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp_types import ProgressNotification

MODES = {"legacy": "legacy", "modern": "2026-07-28", "auto": "auto"}


class Peer:
    def __init__(self) -> None:
        self.client: Client | None = None
        self.progress_seen = 0

    async def on_message(self, message) -> None:
        if isinstance(message, ProgressNotification):
            self.progress_seen += 1

    async def list_tools(self) -> list[str]:
        return [tool.name for tool in (await self.client.list_tools()).tools]

    async def ping(self) -> None:
        await self.client.session.send_ping()

    async def call(self, name, arguments, on_progress=None) -> checks.Outcome:
        async def progress(value, total, message):
            on_progress(value, total)

        try:
            result = await self.client.call_tool(
                name, arguments, progress_callback=progress if on_progress else None
            )
        except MCPError as error:
            raise checks.Refused(f"{error.error.code}: {error.error.message}") from error
        text = "".join(block.text for block in result.content if block.type == "text")
        return checks.Outcome(bool(result.is_error), text, result.structured_content)

    async def cancel_call(self, name, arguments) -> None:
        """Leaves the call at its first progress; the SDK tells the server by itself."""
        with anyio.CancelScope() as scope:
            await self.call(name, arguments, lambda *_: scope.cancel())
            raise AssertionError("the call ended before it was cancelled")

    def late_progress(self) -> int:
        return self.progress_seen


async def main() -> int:
    options = checks.arguments()
    report = checks.Report("py-2.3.0", options.era)
    logging.disable(logging.CRITICAL)
    peer = Peer()
    peer.client = Client(
        StdioServerParameters(command=options.command[0], args=options.command[1:]),
        mode=MODES[options.era],
        message_handler=peer.on_message,
    )
    with anyio.fail_after(checks.CONNECT_SECONDS) as connecting:
        async with peer.client as client:
            if options.era == "modern":  # a pinned client never asks: its first request, whichever it is, opens
                await client.list_tools()
            connecting.deadline = math.inf
            info = client.server_info
            report.seen["revision"] = client.protocol_version
            report.seen["server"] = info and {"name": info.name, "version": info.version}
            report.seen["capabilities"] = client.server_capabilities.model_dump(
                mode="json", by_alias=True, exclude_none=True
            )
            is_legacy = client.protocol_version < "2026"
            await checks.check_server(report, peer, options.tools.split(","), has_ping=is_legacy)
            close_began = time.monotonic()
    checks.check_exit(report, close_began, options.pids)
    return report.finish()


checks.run(main)
