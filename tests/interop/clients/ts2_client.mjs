// A client of the TypeScript SDK 2.4: checks a stdio server in one era.
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { CONNECT_MS, checkServer, notConnected, options } from "./checks.mjs";

const MODES = { legacy: "legacy", auto: "auto", modern: { pin: "2026-07-28" } };
const { era, tools, pids, command, args } = options();

const client = new Client(
  { name: "interop-ts2", version: "2.4.0" },
  { versionNegotiation: { mode: MODES[era] } },
);
try {
  await client.connect(new StdioClientTransport({ command, args }), { timeout: CONNECT_MS });
} catch (error) {
  notConnected(error);
}
const revision = client.getNegotiatedProtocolVersion();
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
  hasPing: client.getProtocolEra() === "legacy",
  pids,
});
