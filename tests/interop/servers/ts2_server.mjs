// A server of the TypeScript SDK 2.4 over stdio: both eras, or only the modern one with `--modern-only`.
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";

const text = (value) => ({ content: [{ type: "text", text: String(value) }] });

function build() {
  const server = new McpServer({ name: "ts2-server", version: "2.4.0" });
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
  server.registerTool("fail", { description: "Fail, as a tool fails.", inputSchema: z.object({}) }, () => {
    throw new Error("it failed on purpose");
  });
  server.registerTool(
    "slow",
    {
      description: "Report progress once a step.",
      inputSchema: z.object({ steps: z.number().int(), delay_ms: z.number() }),
    },
    async ({ steps, delay_ms }, { mcpReq }) => {
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
  return server;
}

console.error("ts2-server: a line on stderr is no sign of failure");
serveStdio(build, process.argv.includes("--modern-only") ? { legacy: "reject" } : {});
