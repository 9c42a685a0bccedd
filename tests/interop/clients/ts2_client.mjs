// A client of the TypeScript SDK 2.4: checks a server in one era, over stdio or at a URL.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { ANSWERING, ANSWERS, CONNECT_MS, checkServer, notConnected, notes, options } from "./checks.mjs";

const MODES = { legacy: "legacy", auto: "auto", modern: { pin: "2026-07-28" } };
const { era, tools, features, pids, command, args } = options();

const client = new Client(
  { name: "interop-ts2", version: "2.4.0" },
  { versionNegotiation: { mode: MODES[era] }, ...(features && { capabilities: ANSWERING }) },
);
const told = notes();
if (features) {
  for (const [method, answer] of Object.entries(ANSWERS)) client.setRequestHandler(method, answer);
  for (const [method, note] of Object.entries(told.handlers)) client.setNotificationHandler(method, note);
}
try {
  const transport = command.startsWith("http")
    ? new StreamableHTTPClientTransport(new URL(command))
    : new StdioClientTransport({ command, args });
  await client.connect(transport, { timeout: CONNECT_MS });
} catch (error) {
  notConnected(error);
}
const revision = client.getNegotiatedProtocolVersion();
const isLegacy = client.getProtocolEra() === "legacy";
await checkServer({
  client,
  call: (params, settings) => client.callTool(params, settings),
  report: {
    peer: "ts-2.4.0",
    era,
    revision,
    server: client.getServerVersion(),
    capabilities: client.getServerCapabilities(),
  },
  tools,
  hasPing: isLegacy,
  features: features && {
    told,
    logging: async () => {
      if (!isLegacy) return { _meta: { "io.modelcontextprotocol/logLevel": "debug" } };
      await client.setLoggingLevel("debug");
    },
    subscribe: async (uri) => {
      if (!isLegacy) {
        const subscription = await client.listen({ toolsListChanged: true, resourceSubscriptions: [uri] });
        return () => subscription.close();
      }
      await client.subscribeResource({ uri });
      return () => client.unsubscribeResource({ uri });
    },
  },
  pids,
});
