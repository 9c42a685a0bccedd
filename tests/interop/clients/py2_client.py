"""A client of the Python SDK 2.3: checks a server in one era, over stdio or at a URL."""

import base64
import logging
import math
import time
from contextlib import asynccontextmanager

import anyio
import checks
import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourceUpdated

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

    async def on_elicit(self, context, params):
        return types.ElicitResult(action="accept", content=checks.filled_in(params.requested_schema))

    async def on_sample(self, context, params):
        content = types.TextContent(type="text", text=checks.REPLY)
        return types.CreateMessageResult(role="assistant", content=content, model=checks.MODEL)

    async def on_list_roots(self, context):
        return types.ListRootsResult(roots=[types.Root(uri=checks.HOME)])

    async def resources(self) -> list[str]:
        return [each.uri for each in (await self.client.list_resources()).resources]

    async def templates(self) -> list[str]:
        return [each.uri_template for each in (await self.client.list_resource_templates()).resource_templates]

    async def prompts(self) -> list[str]:
        return [each.name for each in (await self.client.list_prompts()).prompts]

    async def read(self, uri) -> list[str | bytes]:
        try:
            contents = (await self.client.read_resource(uri)).contents
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
        completed = await self.client.complete(reference, {"name": argument, "value": value})
        return completed.completion.values

    async def wants_logs(self) -> None:
        if self.client.protocol_version < "2026":  # later each request says so: see log_level
            await self.client.set_logging_level("debug")
        self.logs.clear()

    @asynccontextmanager
    async def subscribed(self, uri):
        if self.client.protocol_version < "2026":
            await self.client.subscribe_resource(uri)
            yield self.events
            await self.client.unsubscribe_resource(uri)
            return
        events = []

        async def collect(subscription) -> None:
            async for event in subscription:
                events.append(event.uri if isinstance(event, ResourceUpdated) else "tools")

        async with self.client.listen(tools_list_changed=True, resource_subscriptions=[uri]) as subscription:
            async with anyio.create_task_group() as group:
                group.start_soon(collect, subscription)
                yield events
                group.cancel_scope.cancel()

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
        return checks.Outcome(bool(result.is_error), text, result.structured_content, [block.type for block in result.content])

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
    answering = {
        "elicitation_callback": peer.on_elicit,
        "sampling_callback": peer.on_sample,
        "list_roots_callback": peer.on_list_roots,
        "logging_callback": peer.on_log,
        "log_level": "debug",
    }
    program, *rest = options.command
    peer.client = Client(
        program if program.startswith("http") else StdioServerParameters(command=program, args=rest),
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
            report.seen["capabilities"] = client.server_capabilities.model_dump(
                mode="json", by_alias=True, exclude_none=True
            )
            is_legacy = client.protocol_version < "2026"
            await checks.check_server(report, peer, options.tools.split(","), has_ping=is_legacy)
            if options.features:
                await checks.check_features(report, peer)
            close_began = time.monotonic()
    checks.check_exit(report, close_began, options.pids)
    return report.finish()


checks.run(main)
