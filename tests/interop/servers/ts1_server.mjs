// A server of the TypeScript SDK 1.32 over stdio; legacy only.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";

const text = (value) => ({ content: [{ type: "text", text: String(value) }] });
const server = new McpServer({ name: "ts1-server", version: "1.32.2" });

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

console.error("ts1-server: a line on stderr is no sign of failure");
await server.connect(new StdioServerTransport());
