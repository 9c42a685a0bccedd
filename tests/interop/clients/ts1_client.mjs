// A client of the TypeScript SDK 1.32: checks a stdio server; legacy only.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { CONNECT_MS, checkServer, notConnected, options } from "./checks.mjs";

const { era, tools, pids, command, args } = options();

const client = new Client({ name: "interop-ts1", version: "1.32.2" });
const transport = new StdioClientTransport({ command, args });
let revision;
transport.setProtocolVersion = (version) => (revision = version);
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
  pids,
});
