// Stands in for our example program `interop_client`, on the TypeScript SDK 2.4: `run --self-check` proves the runner with it.
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const MODES = { legacy: "legacy", auto: "auto", modern: { pin: "2026-07-28" } };
const words = process.argv.slice(2);
const end = words.indexOf("--");
const [command, ...args] = words.slice(end + 1);
const calls = [];
let era = "auto";
for (let i = 0; i < end; ) {
  if (words[i] === "--era") [era, i] = [words[i + 1], i + 2];
  else if (words[i] === "--call" || words[i] === "--cancel") {
    const params = { name: words[i + 1], arguments: JSON.parse(words[i + 2]) };
    calls.push({ params, isCancelled: words[i] === "--cancel" });
    i += 3;
  } else throw new Error(`unknown option ${words[i]}`);
}

const client = new Client({ name: "standin", version: "1" }, { versionNegotiation: { mode: MODES[era] } });
try {
  await client.connect(new StdioClientTransport({ command, args }));
} catch (error) {
  console.error(String(error));
  process.exit(4);
}
const done = [];
for (const { params, isCancelled } of calls) {
  const progress = [];
  const abort = new AbortController();
  const onprogress = (p) => {
    progress.push(p.progress);
    if (isCancelled) abort.abort("enough");
  };
  try {
    const result = await client.callTool(params, { onprogress, signal: abort.signal });
    done.push({
      name: params.name,
      isError: result.isError ?? false,
      text: result.content.map((block) => block.text ?? "").join(""),
      kinds: result.content.map((block) => block.type),
      structured: result.structuredContent,
      progress,
    });
  } catch (error) {
    if (abort.signal.aborted) done.push({ name: params.name, cancelled: true, progress });
    else done.push({ name: params.name, error: { code: error.code, message: error.message } });
  }
}
const { name, version } = client.getServerVersion() ?? {};
const seen = {
  revision: client.getNegotiatedProtocolVersion(),
  server: { name, version },
  capabilities: client.getServerCapabilities(),
  tools: (await client.listTools()).tools.map((tool) => tool.name),
  calls: done,
};
await client.close();
console.log(JSON.stringify(seen));
