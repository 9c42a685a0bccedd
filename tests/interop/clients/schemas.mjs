// Holds the schemas that the library derives from Rust types against readers of hosts: the TypeScript SDK 1.32, its Ajv in its usual
// strict mode and in the lax one (draft 7), Ajv for 2020-12, and the keywords that the interfaces of models document.
//
//     node schemas.mjs FILE
//
// FILE is a list of {type, schema, defs?, takes, refuses}: the schema of an argument, and values that fit it or not. Prints one line.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { ListToolsResultSchema } from "@modelcontextprotocol/sdk/types.js";

const require = createRequire(import.meta.resolve("@modelcontextprotocol/sdk/types.js"));
const addFormats = require("ajv-formats").default;
const { Ajv } = require("ajv");
const { Ajv2020 } = require("ajv/dist/2020.js");

// What structured outputs and tools of OpenAI, Anthropic and Google describe, together.
const KEYWORDS = new Set(
  ("type properties required additionalProperties items prefixItems minItems maxItems uniqueItems enum const anyOf oneOf not " +
    "minimum maximum minLength maxLength pattern format title description default $ref $defs").split(" "),
);
const FORMATS = new Set(["date-time", "date", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "uuid"]);

function unknownWords(schema) {
  if (typeof schema !== "object" || schema === null) return [];
  const words = Object.keys(schema).filter((word) => !KEYWORDS.has(word));
  if ("format" in schema && !FORMATS.has(schema.format)) words.push(`format ${schema.format}`);
  const inside = [schema.items, schema.not, schema.additionalProperties];
  for (const list of ["anyOf", "oneOf", "prefixItems"]) inside.push(...(schema[list] ?? []));
  for (const members of ["properties", "$defs"]) inside.push(...Object.values(schema[members] ?? {}));
  return words.concat(inside.flatMap(unknownWords));
}

const readers = {
  "draft 7": () => new Ajv({ strict: false }),
  // It does not know the keyword of tuples.
  "draft 7, strict": () => new Ajv({ keywords: ["prefixItems"] }),
  "2020-12, strict": () => new Ajv2020(),
};
const rows = JSON.parse(readFileSync(process.argv[2], "utf8"));
const wrong = [];
const tools = [];
for (const { type, schema, defs, takes, refuses } of rows) {
  const inputSchema = { type: "object", properties: { x: schema }, required: ["x"], ...(defs && { $defs: defs }) };
  tools.push({ name: `t${tools.length}`, inputSchema });
  for (const word of unknownWords(inputSchema)) wrong.push(`${type}: ${word}`);
  for (const [name, make] of Object.entries(readers)) {
    try {
      const ajv = make();
      addFormats(ajv);
      ajv.opts.logger = ajv.logger = { log() {}, warn() {}, error: console.error };
      const fits = ajv.compile(inputSchema);
      for (const x of takes) if (!fits({ x })) wrong.push(`${type}, ${name}: ${JSON.stringify(x)} is refused`);
      for (const x of refuses) if (fits({ x })) wrong.push(`${type}, ${name}: ${JSON.stringify(x)} is taken`);
    } catch (error) {
      wrong.push(`${type}, ${name}: ${error.message}`);
    }
  }
}
const listed = ListToolsResultSchema.safeParse({ tools });
if (!listed.success) wrong.push(`the SDK: ${listed.error.message}`);
if (wrong.length > 0) {
  console.error(wrong.join("\n"));
  process.exit(1);
}
console.log(`${rows.length} schemas`);
