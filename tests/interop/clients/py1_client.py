"""A client of the Python SDK 1.30: checks a server over stdio or at a URL; legacy only."""

import base64
import logging
import time
from contextlib import AsyncExitStack, asynccontextmanager

import anyio
import checks
from mcp import ClientSession, McpError, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client
from pydantic import AnyUrl


class Peer:
    def __init__(self) -> None:
        self.session: ClientSession | None = None
        self.progress_seen = 0
        self.logs: list[str] = []
        self.events: list[str] = []

    async def on_message(self, message) -> None:
        if not isinstance(message, types.ServerNotification):
            return
        match message.root:
            case types.ProgressNotification():
                self.progress_seen += 1
            case types.ResourceUpdatedNotification(params=params):
                self.events.append(str(params.uri))
            case types.ToolListChangedNotification():
                self.events.append("tools")

    async def on_log(self, params) -> None:
        self.logs.append(params.data)

    async def on_elicit(self, context, params):
        return types.ElicitResult(action="accept", content=checks.filled_in(params.requestedSchema))

    async def on_sample(self, context, params):
        content = types.TextContent(type="text", text=checks.REPLY)
        return types.CreateMessageResult(role="assistant", content=content, model=checks.MODEL)

    async def on_list_roots(self, context):
        return types.ListRootsResult(roots=[types.Root(uri=checks.HOME)])

    async def resources(self) -> list[str]:
        return [str(each.uri) for each in (await self.session.list_resources()).resources]

    async def templates(self) -> list[str]:
        return [each.uriTemplate for each in (await self.session.list_resource_templates()).resourceTemplates]

    async def prompts(self) -> list[str]:
        return [each.name for each in (await self.session.list_prompts()).prompts]

    async def read(self, uri) -> list[str | bytes]:
        try:
            contents = (await self.session.read_resource(AnyUrl(uri))).contents
        except McpError as error:
            raise checks.Refused(f"{error.error.code}: {error.error.message}") from error
        return [getattr(each, "text", None) or base64.b64decode(each.blob) for each in contents]

    async def prompt(self, name, arguments) -> list[str]:
        return [each.content.text for each in (await self.session.get_prompt(name, arguments)).messages]

    async def complete_prompt(self, name, argument, value) -> list[str]:
        return await self.complete(types.PromptReference(type="ref/prompt", name=name), argument, value)

    async def complete_template(self, template, variable, value) -> list[str]:
        return await self.complete(types.ResourceTemplateReference(type="ref/resource", uri=template), variable, value)

    async def complete(self, reference, argument, value) -> list[str]:
        completed = await self.session.complete(reference, {"name": argument, "value": value})
        return completed.completion.values

    async def wants_logs(self) -> None:
        await self.session.set_logging_level("debug")

    @asynccontextmanager
    async def subscribed(self, uri):
        await self.session.subscribe_resource(AnyUrl(uri))
        yield self.events
        await self.session.unsubscribe_resource(AnyUrl(uri))

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
        return checks.Outcome(bool(result.isError), text, result.structuredContent, [block.type for block in result.content])

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
        program, *rest = options.command
        if program.startswith("http"):
            opened = streamablehttp_client(program)
        else:
            opened = stdio_client(StdioServerParameters(command=program, args=rest))
        read, write, *_ = await stack.enter_async_context(opened)
        answering = {
            "elicitation_callback": peer.on_elicit,
            "sampling_callback": peer.on_sample,
            "list_roots_callback": peer.on_list_roots,
            "logging_callback": peer.on_log,
        }
        session = ClientSession(
            read, write, message_handler=peer.on_message, **(answering if options.features else {})
        )
        peer.session = await stack.enter_async_context(session)
        with anyio.fail_after(checks.CONNECT_SECONDS):
            opened = await peer.session.initialize()
        report.seen["revision"] = opened.protocolVersion
        report.seen["server"] = {"name": opened.serverInfo.name, "version": opened.serverInfo.version}
        report.seen["capabilities"] = opened.capabilities.model_dump(mode="json", by_alias=True, exclude_none=True)
        await checks.check_server(report, peer, options.tools.split(","), has_ping=True)
        if options.features:
            await checks.check_features(report, peer)
        close_began = time.monotonic()
    checks.check_exit(report, close_began, options.pids)
    return report.finish()


checks.run(main)
