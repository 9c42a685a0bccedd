// A server of the TypeScript SDK 1.32 over stdio, or over HTTP for one client with `--http PORT`; legacy only.
import { completable } from "@modelcontextprotocol/sdk/server/completable.js";
import { McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { SubscribeRequestSchema, UnsubscribeRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";
import * as demo from "./demo.mjs";

const { text } = demo;
const server = new McpServer(
  { name: "ts1-server", version: "1.32.2" },
  { capabilities: { logging: {}, resources: { subscribe: true } } },
);
const inner = server.server;
let cancelledCalls = 0;

server.registerTool(
  "greet",
  { description: "Greet somebody by name.", inputSchema: { name: z.string() } },
  ({ name }) => text(`Hello, ${name}!`),
);
server.registerTool(
  "add",
  {
    description: "Add two numbers.",
    inputSchema: { a: z.number(), b: z.number() },
    outputSchema: { sum: z.number() },
  },
  ({ a, b }) => ({ ...text(a + b), structuredContent: { sum: a + b } }),
);
server.registerTool("fail", { description: "Fail, as a tool fails.", inputSchema: {} }, () => {
  throw new Error("it failed on purpose");
});
server.registerTool(
  "slow",
  { description: "Report progress once a step.", inputSchema: { steps: z.number().int(), delay_ms: z.number() } },
  async ({ steps, delay_ms }, { _meta, sendNotification, signal }) => {
    signal.addEventListener("abort", () => cancelledCalls++);
    const progressToken = _meta?.progressToken;
    for (let step = 1; step <= steps; step++) {
      await pause(delay_ms, undefined, { signal });
      if (progressToken !== undefined)
        await sendNotification({
          method: "notifications/progress",
          params: { progressToken, progress: step, total: steps },
        });
    }
    return text(`done ${steps}`);
  },
);
server.registerTool("cancelled", { description: "Tell how many calls of slow were cancelled." }, () => text(cancelledCalls));
server.registerTool("ask", { description: "Ask the user for a name." }, async () =>
  demo.asked(await inner.elicitInput(demo.FORM)),
);
server.registerTool("sample", { description: "Ask the client's model." }, async () =>
  demo.sampled(await inner.createMessage(demo.CAPITAL)),
);
server.registerTool("roots", { description: "Ask for the client's roots." }, async () => demo.rooted(await inner.listRoots()));
server.registerTool("log", { description: "Log a message." }, async () => {
  await server.sendLoggingMessage({ level: "info", logger: "demo", data: "a message of the log" });
  return text("logged");
});
server.registerTool("media", { description: "Give content of every kind." }, () => demo.MEDIA);

const watched = new Set();
inner.setRequestHandler(SubscribeRequestSchema, ({ params }) => {
  watched.add(params.uri);
  return {};
});
inner.setRequestHandler(UnsubscribeRequestSchema, ({ params }) => {
  watched.delete(params.uri);
  return {};
});
server.registerTool(
  "touch",
  { description: "Say that a resource has changed, and the list of tools.", inputSchema: { uri: z.string() } },
  async ({ uri }) => {
    if (watched.has(uri)) {
      await inner.sendResourceUpdated({ uri });
      await inner.sendToolListChanged();
    }
    return text(`touched ${uri}`);
  },
);

for (const [name, uri, contents] of demo.RESOURCES)
  server.registerResource(name, uri, { mimeType: contents.mimeType }, () => ({ contents: [{ uri, ...contents }] }));
server.registerResource(
  "item",
  new ResourceTemplate("demo://item/{id}", { list: undefined, complete: { id: demo.ids } }),
  { mimeType: "text/plain" },
  (uri, { id }) => ({ contents: [{ uri: uri.href, mimeType: "text/plain", text: `item ${id}` }] }),
);
server.registerPrompt(
  "praise",
  { description: "Praise somebody.", argsSchema: { name: completable(z.string(), demo.names) } },
  ({ name }) => demo.praise(name),
);

console.error("ts1-server: a line on stderr is no sign of failure");
if (process.argv[2] === "--http") {
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID });
  await server.connect(transport);
  createServer((request, response) => transport.handleRequest(request, response)).listen(Number(process.argv[3]), "127.0.0.1");
} else {
  await server.connect(new StdioServerTransport());
}
