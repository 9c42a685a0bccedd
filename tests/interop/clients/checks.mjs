// What the TypeScript clients check of a server, whichever version of the SDK they stand on (the Python twin: checks.py).
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { setTimeout as pause } from "node:timers/promises";

const CHECK_MS = 15_000;
/** The sum 42 as text: the number, or the JSON of the structured content. */
function isSum(text) {
  const value = JSON.parse(text);
  return (value.sum ?? value) === 42;
}

export const CONNECT_MS = 20_000;
const EXIT_CONNECT = 4;

export function options() {
  const { values, positionals } = parseArgs({
    options: {
      era: { type: "string", default: "legacy" },
      tools: { type: "string", default: "greet" },
      pids: { type: "string" },
    },
    allowPositionals: true,
  });
  return { ...values, tools: values.tools.split(","), command: positionals[0], args: positionals.slice(1) };
}

function expect(condition, what, got) {
  if (!condition) throw new Error(got === undefined ? what : `${what}: ${JSON.stringify(got).slice(0, 500)}`);
}

const text = (result) => result.content.map((block) => block.text ?? "").join("");

/** A call's result, or `{ refused }` when the server answered with a JSON-RPC error. */
async function answer(call) {
  try {
    return await call;
  } catch (error) {
    if (typeof error.code === "number") return { refused: `${error.code}: ${error.message}` };
    throw error;
  }
}

/**
 * Runs every check that the server's tools allow, closes, and prints what was seen.
 *
 * `client` is connected; `call(params, options)` bridges the two signatures of callTool.
 */
export async function checkServer({ client, call, report, tools, hasPing, pids }) {
  const seen = Object.assign(report, { passed: [], failed: [] });
  let lateProgress = 0;
  client.onerror = (error) => {
    if (/unknown token/.test(error.message)) lateProgress++;
  };
  const greet = (name) => call({ name: "greet", arguments: { name } });

  async function check(name, needs, body) {
    if (needs && !tools.includes(needs)) return;
    const timer = new AbortController();
    const late = pause(CHECK_MS, undefined, { signal: timer.signal }).then(() => {
      throw new Error(`no end within ${CHECK_MS / 1000} s`);
    });
    try {
      await Promise.race([body(), late]);
      seen.passed.push(name);
    } catch (error) {
      seen.failed.push({ check: name, why: String(error.message ?? error) });
    } finally {
      late.catch(() => {});
      timer.abort();
    }
  }

  await check("list", undefined, async () => {
    seen.tools = (await client.listTools()).tools.map((tool) => tool.name);
    const missing = tools.filter((tool) => !seen.tools.includes(tool));
    expect(missing.length === 0, "tools not offered", missing);
  });
  if (hasPing) await check("ping", undefined, () => client.ping());
  await check("greet", "greet", async () => {
    const got = await greet("Ada");
    expect(!got.isError && text(got) === "Hello, Ada!", "greet answered", got);
  });
  await check("long text", "greet", async () => {
    const name = 'é\n"\\ 😀'.repeat(20_000);
    const got = text(await greet(name));
    expect(got === `Hello, ${name}!`, "length of the answer to a long text", [name.length, got.length]);
  });
  await check("eight at once", "greet", async () => {
    const numbers = [...Array(8).keys()];
    const got = await Promise.all(numbers.map(async (number) => text(await greet(String(number)))));
    expect(got.every((value, number) => value === `Hello, ${number}!`), "answers", got);
  });
  await check("wrong arguments", "greet", async () => {
    const got = await answer(call({ name: "greet", arguments: { nobody: 1 } }));
    seen.wrong_arguments = got.refused ?? "isError";
    expect(got.refused || got.isError, "greet without a name answered", got);
  });
  await check("unknown tool", undefined, async () => {
    const got = await answer(call({ name: "no_such_tool", arguments: {} }));
    seen.unknown_tool = got.refused ?? "isError";
    expect(got.refused || got.isError, "an unknown tool answered", got);
  });
  await check("structured", "add", async () => {
    const got = await call({ name: "add", arguments: { a: 2, b: 40 } });
    expect(!got.isError && isSum(text(got)), "add answered", got);
    expect(got.structuredContent?.sum === 42, "structured content", got);
  });
  await check("tool error", "fail", async () => {
    const got = await call({ name: "fail", arguments: {} });
    expect(got.isError, "fail answered", got);
    expect(text(got).includes("it failed on purpose"), "the tool's own words are missing", got);
  });
  await check("progress", "slow", async () => {
    const values = (seen.progress = []);
    const onprogress = ({ progress, total }) => values.push([progress, total ?? null]);
    const got = await call({ name: "slow", arguments: { steps: 5, delay_ms: 20 } }, { onprogress });
    expect(text(got) === "done 5", "slow answered", got);
    // These SDKs lose a progress notification that arrives in one chunk with the result: the last may be missing.
    const steps = values.map(([progress]) => progress).join();
    expect(steps === "1,2,3,4,5" || steps === "1,2,3,4", "progress", values);
    expect(values.every(([, total]) => total === 5 || total === null), "totals", values);
  });
  await check("cancel", "slow", async () => {
    const abort = new AbortController();
    const cancelled = call(
      { name: "slow", arguments: { steps: 100, delay_ms: 50 } },
      { signal: abort.signal, onprogress: () => abort.abort("enough") },
    );
    const got = await cancelled.catch(() => "cancelled");
    expect(got === "cancelled", "the call ended before it was cancelled", got);
    expect(text(await greet("Ada")) === "Hello, Ada!", "greet after a cancelled call");
  });
  await check("cancel stops the tool", "slow", async () => {
    await pause(200);
    const before = lateProgress;
    await pause(400);
    const late = lateProgress - before;
    expect(late <= 1, "progress notifications in 0.4 s, long after the call was cancelled", late);
  });

  const began = Date.now();
  await client.close();
  seen.close_ms = Date.now() - began;
  if (pids) {
    const all = readFileSync(pids, "utf8").trim().split("\n");
    seen.servers_started = all.length;
    const alive = all.filter(isAlive);
    if (alive.length) seen.failed.push({ check: "server exit", why: `still running after close: ${alive}` });
    else seen.passed.push("server exit");
  }
  console.log(JSON.stringify(seen));
  process.exitCode = seen.failed.length ? 1 : 0;
}

function isAlive(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return !"ZX".includes(stat.slice(stat.lastIndexOf(")") + 2)[0]);
  } catch {
    return false;
  }
}

/** Ends the program as a connection that never came about. */
export function notConnected(error) {
  console.error(String(error?.stack ?? error));
  process.exit(EXIT_CONNECT);
}
