// A client of the TypeScript SDK 1.32: checks a server over stdio or at a URL; legacy only.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import * as types from "@modelcontextprotocol/sdk/types.js";
import { ANSWERING, ANSWERS, CONNECT_MS, checkServer, notConnected, notes, options } from "./checks.mjs";

const { era, tools, features, pids, command, args } = options();

const SCHEMAS = {
  "elicitation/create": types.ElicitRequestSchema,
  "sampling/createMessage": types.CreateMessageRequestSchema,
  "roots/list": types.ListRootsRequestSchema,
  "notifications/message": types.LoggingMessageNotificationSchema,
  "notifications/resources/updated": types.ResourceUpdatedNotificationSchema,
  "notifications/tools/list_changed": types.ToolListChangedNotificationSchema,
};

const client = new Client(
  { name: "interop-ts1", version: "1.32.2" },
  features ? { capabilities: ANSWERING } : {},
);
const told = notes();
if (features) {
  for (const [method, answer] of Object.entries(ANSWERS)) client.setRequestHandler(SCHEMAS[method], answer);
  for (const [method, note] of Object.entries(told.handlers)) client.setNotificationHandler(SCHEMAS[method], note);
}
const transport = command.startsWith("http")
  ? new StreamableHTTPClientTransport(new URL(command))
  : new StdioClientTransport({ command, args });
let revision;
const setOwn = transport.setProtocolVersion?.bind(transport);
transport.setProtocolVersion = (version) => {
  revision = version;
  setOwn?.(version);
};
try {
  await client.connect(transport, { timeout: CONNECT_MS });
} catch (error) {
  notConnected(error);
}
await checkServer({
  client,
  call: (params, settings) => client.callTool(params, undefined, settings),
  report: {
    peer: "ts-1.32.2",
    era,
    revision,
    server: client.getServerVersion(),
    capabilities: client.getServerCapabilities(),
  },
  tools,
  hasPing: true,
  features: features && {
    told,
    logging: () => client.setLoggingLevel("debug"),
    subscribe: async (uri) => {
      await client.subscribeResource({ uri });
      return () => client.unsubscribeResource({ uri });
    },
  },
  pids,
});
