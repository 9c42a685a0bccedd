// A server of the TypeScript SDK 2.4 over stdio, or over HTTP with `--http PORT`: both eras, or only the modern one with `--modern-only`.
import { McpServer, ResourceTemplate, completable, createMcpHandler, inputRequired } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { createServer } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";
import * as demo from "./demo.mjs";

const { text } = demo;

/** Asks the client by a result that wants input; the SDK asks legacy clients by requests of its own. */
function asking(request, done) {
  return (_, { mcpReq }) => {
    const answer = mcpReq.inputResponses?.it;
    return answer ? done(answer) : inputRequired({ inputRequests: { it: request } });
  };
}

function build() {
  const server = new McpServer(
    { name: "ts2-server", version: "2.4.0" },
    { capabilities: { logging: {}, resources: { subscribe: true } } },
  );
  const inner = server.server;
  let cancelledCalls = 0;

  server.registerTool(
    "greet",
    { description: "Greet somebody by name.", inputSchema: z.object({ name: z.string() }) },
    ({ name }) => text(`Hello, ${name}!`),
  );
  server.registerTool(
    "add",
    {
      description: "Add two numbers.",
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      outputSchema: z.object({ sum: z.number() }),
    },
    ({ a, b }) => ({ ...text(a + b), structuredContent: { sum: a + b } }),
  );
  const none = z.object({});
  server.registerTool("fail", { description: "Fail, as a tool fails.", inputSchema: none }, () => {
    throw new Error("it failed on purpose");
  });
  server.registerTool(
    "slow",
    {
      description: "Report progress once a step.",
      inputSchema: z.object({ steps: z.number().int(), delay_ms: z.number() }),
    },
    async ({ steps, delay_ms }, { mcpReq }) => {
      mcpReq.signal.addEventListener("abort", () => cancelledCalls++);
      const progressToken = mcpReq._meta?.progressToken;
      for (let step = 1; step <= steps; step++) {
        await pause(delay_ms, undefined, { signal: mcpReq.signal });
        if (progressToken !== undefined)
          await mcpReq.notify({
            method: "notifications/progress",
            params: { progressToken, progress: step, total: steps },
          });
      }
      return text(`done ${steps}`);
    },
  );
  server.registerTool("cancelled", { description: "Tell how many calls of slow were cancelled.", inputSchema: none }, () =>
    text(cancelledCalls),
  );
  const elicit = inputRequired.elicit(demo.FORM);
  server.registerTool("ask", { description: "Ask the user for a name.", inputSchema: none }, asking(elicit, demo.asked));
  const create = inputRequired.createMessage(demo.CAPITAL);
  server.registerTool("sample", { description: "Ask the client's model.", inputSchema: none }, asking(create, demo.sampled));
  const list = inputRequired.listRoots();
  server.registerTool("roots", { description: "Ask for the client's roots.", inputSchema: none }, asking(list, demo.rooted));
  server.registerTool("log", { description: "Log a message.", inputSchema: none }, async (_, { mcpReq }) => {
    await mcpReq.log("info", "a message of the log", "demo");
    return text("logged");
  });
  server.registerTool("media", { description: "Give content of every kind.", inputSchema: none }, () => demo.MEDIA);

  const watched = new Set(); // by legacy clients; the streams of modern ones are kept by the SDK
  inner.setRequestHandler("resources/subscribe", ({ params }) => {
    watched.add(params.uri);
    return {};
  });
  inner.setRequestHandler("resources/unsubscribe", ({ params }) => {
    watched.delete(params.uri);
    return {};
  });
  server.registerTool(
    "touch",
    {
      description: "Say that a resource has changed, and the list of tools.",
      inputSchema: z.object({ uri: z.string() }),
    },
    async ({ uri }) => {
      if (watched.has(uri) || inner.getNegotiatedProtocolVersion() >= "2026") {
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
    { description: "Praise somebody.", argsSchema: z.object({ name: completable(z.string(), demo.names) }) },
    ({ name }) => demo.praise(name),
  );
  return server;
}

console.error("ts2-server: a line on stderr is no sign of failure");
const eras = process.argv.includes("--modern-only") ? { legacy: "reject" } : {};
const port = process.argv[process.argv.indexOf("--http") + 1];
if (process.argv.includes("--http")) {
  // The SDK's handler is made for fetch.
  const { fetch } = createMcpHandler(build, eras);
  createServer(async (request, response) => {
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    const body = request.method === "POST" ? Readable.toWeb(request) : undefined;
    const settings = { method: request.method, headers: request.headers, body, duplex: "half", signal: gone.signal };
    const answer = await fetch(new Request(`http://127.0.0.1:${port}${request.url}`, settings));
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    // It fails when the client has gone.
    await pipeline(answer.body ? Readable.fromWeb(answer.body) : Readable.from([]), response).catch(() => {});
  }).listen(Number(port), "127.0.0.1");
} else {
  serveStdio(build, eras);
}
