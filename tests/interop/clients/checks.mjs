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
      features: { type: "boolean", default: false },
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

// What the clients answer when `--features` has them asked: the user fills in every field with his name.
const NAME = "Ada";
const REPLY = "Paris";
const HOME = "file:///home/ada";
const WATCHED = "test://watched-resource";

export const ANSWERING = { elicitation: {}, sampling: {}, roots: {} };
export const ANSWERS = {
  "elicitation/create": ({ params }) => ({
    action: "accept",
    content: Object.fromEntries(Object.keys(params.requestedSchema.properties).map((name) => [name, NAME])),
  }),
  "sampling/createMessage": () => ({ role: "assistant", model: "parrot", content: { type: "text", text: REPLY } }),
  "roots/list": () => ({ roots: [{ uri: HOME }] }),
};

/** Notes what the server tells: `take(method)` gives a handler. */
export function notes() {
  const logs = [];
  const events = [];
  const handlers = {
    "notifications/message": ({ params }) => void logs.push(params.data),
    "notifications/resources/updated": ({ params }) => void events.push(params.uri),
    "notifications/tools/list_changed": () => void events.push("tools"),
  };
  return { logs, events, handlers };
}

async function until(condition) {
  while (!condition()) await pause(10);
}

/**
 * What our `everything_server` has beside tools; the client answers when it is asked. The Python twin says more.
 *
 * `logging` makes the server log: by a request, and by what it gives to go along with a call; `subscribe(uri)` gives what ends it.
 */
async function checkFeatures({ client, call, check, told, logging, subscribe, revision }) {
  const same = (got, expected, what) => expect(JSON.stringify(got) === JSON.stringify(expected), what, got);
  const textOf = async (name, args) => text(await call({ name, arguments: args }));

  await check("lists", undefined, async () => {
    const resources = (await client.listResources()).resources.map(({ uri }) => uri);
    expect(resources[0] === "test://static-text" && resources.includes(WATCHED), "resources", resources);
    const templates = (await client.listResourceTemplates()).resourceTemplates.map((each) => each.uriTemplate);
    same(templates, ["test://template/{id}/data", "fixture://item/{id}"], "templates");
    const prompts = (await client.listPrompts()).prompts.map(({ name }) => name);
    same(prompts.slice(0, 3), ["hello", "greet", "third"], "prompts");
  });
  await check("read", undefined, async () => {
    for (const [uri, expected] of [
      ["fixture://hello", "hello, resource"],
      ["fixture://unicode", "Grüße, 世界 🌍\u2028 end"],
      ["fixture://item/7", "item 7"],
    ]) {
      same((await client.readResource({ uri })).contents.map((each) => each.text), [expected], uri);
    }
    const [{ blob }] = (await client.readResource({ uri: "fixture://blob" })).contents;
    same([...Buffer.from(blob, "base64")], [...Array(256).keys()], "fixture://blob");
  });
  await check("unknown resource", undefined, async () => {
    const got = await answer(client.readResource({ uri: "fixture://nothing" }));
    // SDK 2.4 reads the legacy code, -32002, as the modern one.
    const codes = revision < "2026" ? ["-32002", "-32602"] : ["-32602"];
    expect(codes.includes(got.refused?.split(": ")[0]), "a resource that does not exist is refused with", got);
  });
  const prompt = async (name, args) =>
    (await client.getPrompt({ name, arguments: args })).messages.map((message) => message.content.text);
  await check("prompts", undefined, async () => {
    same(await prompt("greet", { name: NAME }), ["Please greet Ada."], "prompt greet");
    const got = await prompt("test_prompt_with_arguments", { arg1: "é", arg2: "2" });
    same(got, ["Prompt with arguments: arg1='é', arg2='2'"], "prompt");
  });
  await check("completion", undefined, async () => {
    const complete = async (ref, name, value) =>
      (await client.complete({ ref, argument: { name, value } })).completion.values;
    same(await complete({ type: "ref/prompt", name: "greet" }, "name", "al"), ["alice", "albert"], "completion");
    same(await complete({ type: "ref/resource", uri: "fixture://item/{id}" }, "id", "7"), ["7", "700"], "completion");
  });
  await check("content", undefined, async () => {
    const { content } = await call({ name: "test_multiple_content_types", arguments: {} });
    same(content.map(({ type }) => type), ["text", "image", "resource"], "content");
    const { structuredContent } = await call({ name: "structured", arguments: {} });
    same(structuredContent, { temperature: 22.5, ok: true }, "structured content");
  });
  await check("questions", undefined, async () => {
    const fields = '{"email":"Ada","username":"Ada"}';
    for (const [tool, args, expected] of [
      ["test_elicitation", { message: "Who are you?" }, `User response: accept ${fields}`],
      ["test_sampling", { prompt: "The capital of France?" }, `LLM response: ${REPLY}`],
      ["test_input_required_result_list_roots", {}, `Roots: ${HOME}`],
      ["test_input_required_result_multiple_inputs", {}, `${NAME}: ${REPLY} (${HOME})`],
      ["test_input_required_result_multi_round", {}, `${NAME} likes ${NAME}.`],
    ]) {
      same(await textOf(tool, args), expected, tool);
    }
  });
  await check("question of a prompt", undefined, async () => {
    same(await prompt("test_input_required_result_prompt", {}), [`Write about ${NAME}.`], "prompt");
  });
  await check("log messages", undefined, async () => {
    const extra = await logging();
    await call({ name: "test_tool_with_logging", arguments: {}, ...extra });
    await until(() => told.logs.length >= 3);
    same(told.logs, ["Tool execution started", "Tool processing data", "Tool execution completed"], "log messages");
  });
  await check("subscription", undefined, async () => {
    const end = await subscribe(WATCHED);
    told.events.length = 0;
    await textOf("touch", { uri: "fixture://hello" });
    await textOf("touch", { uri: WATCHED });
    await textOf("test_trigger_tool_change", {});
    await until(() => told.events.includes("tools"));
    same(told.events.slice(0, 2), [WATCHED, "tools"], "events");
    await end();
  });
}

/**
 * Runs every check that the server's tools allow, closes, and prints what was seen.
 *
 * `client` is connected; `call(params, options)` bridges the two signatures of callTool.
 */
export async function checkServer({ client, call, report, tools, hasPing, features, pids }) {
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
    // These SDKs lose progress notifications that arrive in one chunk with the result: the last ones may be missing.
    const steps = values.map(([progress]) => progress).join();
    expect(steps !== "" && "1,2,3,4,5".startsWith(steps), "progress", values);
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

  if (features) await checkFeatures({ client, call, check, revision: seen.revision, ...features });

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
