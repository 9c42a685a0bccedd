"""A client of the Python SDK 1.30: checks a stdio server; legacy only."""

import logging
import time
from contextlib import AsyncExitStack

import anyio
import checks
from mcp import ClientSession, McpError, StdioServerParameters, types
from mcp.client.stdio import stdio_client


class Peer:
    def __init__(self) -> None:
        self.session: ClientSession | None = None
        self.progress_seen = 0

    async def on_message(self, message) -> None:
        if isinstance(message, types.ServerNotification) and isinstance(message.root, types.ProgressNotification):
            self.progress_seen += 1

    async def list_tools(self) -> list[str]:
        return [tool.name for tool in (await self.session.list_tools()).tools]

    async def ping(self) -> None:
        await self.session.send_ping()

    async def call(self, name, arguments, on_progress=None) -> checks.Outcome:
        async def progress(value, total, message):
            on_progress(value, total)

        try:
            result = await self.session.call_tool(
                name, arguments, progress_callback=progress if on_progress else None
            )
        except McpError as error:
            raise checks.Refused(f"{error.error.code}: {error.error.message}") from error
        text = "".join(block.text for block in result.content if block.type == "text")
        return checks.Outcome(bool(result.isError), text, result.structuredContent)

    async def cancel_call(self, name, arguments) -> None:
        """Tells the server to stop at the first progress, then leaves the call: this SDK does not tell it by itself."""
        request_id = self.session._request_id
        started = anyio.Event()
        async with anyio.create_task_group() as group:
            group.start_soon(self.call, name, arguments, lambda *_: started.set())
            await started.wait()
            await self.session.send_notification(
                types.ClientNotification(
                    types.CancelledNotification(
                        params=types.CancelledNotificationParams(requestId=request_id, reason="enough")
                    )
                )
            )
            group.cancel_scope.cancel()

    def late_progress(self) -> int:
        return self.progress_seen


async def main() -> int:
    options = checks.arguments()
    report = checks.Report("py-1.30.0", options.era)
    logging.disable(logging.CRITICAL)
    peer = Peer()
    stack = AsyncExitStack()
    async with stack:
        server = StdioServerParameters(command=options.command[0], args=options.command[1:])
        read, write = await stack.enter_async_context(stdio_client(server))
        peer.session = await stack.enter_async_context(ClientSession(read, write, message_handler=peer.on_message))
        with anyio.fail_after(checks.CONNECT_SECONDS):
            opened = await peer.session.initialize()
        report.seen["revision"] = opened.protocolVersion
        report.seen["server"] = {"name": opened.serverInfo.name, "version": opened.serverInfo.version}
        report.seen["capabilities"] = opened.capabilities.model_dump(mode="json", by_alias=True, exclude_none=True)
        await checks.check_server(report, peer, options.tools.split(","), has_ping=True)
        close_began = time.monotonic()
    checks.check_exit(report, close_began, options.pids)
    return report.finish()


checks.run(main)
