// What both TypeScript servers have in common; README.md says what all servers have.
export const text = (value) => ({ content: [{ type: "text", text: String(value) }] });

export const FORM = {
  mode: "form",
  message: "Who are you?",
  requestedSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
};
export const CAPITAL = {
  messages: [{ role: "user", content: { type: "text", text: "The capital of France?" } }],
  maxTokens: 100,
};

export const asked = ({ content }) => text(`It is ${content?.name}.`);
export const sampled = ({ content }) => text(`The model says ${content.text}.`);
export const rooted = ({ roots }) => text(`Roots: ${roots[0].uri}`);

export const MEDIA = {
  content: [
    { type: "text", text: "a text" },
    { type: "image", data: "AAEC", mimeType: "image/png" },
    { type: "audio", data: "AwQF", mimeType: "audio/wav" },
    { type: "resource_link", uri: "demo://text", name: "text" },
    { type: "resource", resource: { uri: "demo://text", mimeType: "text/plain", text: "embedded" } },
  ],
};

export const RESOURCES = [
  ["text", "demo://text", { mimeType: "text/plain", text: "a text: é 😀" }],
  ["bytes", "demo://bytes", { mimeType: "application/octet-stream", blob: "AAH+/w==" }],
];

const fitting = (known) => (typed) => known.filter((each) => each.startsWith(typed));
export const names = fitting(["alice", "albert", "bob"]);
export const ids = fitting(["7", "42", "70"]);

export const praise = (name) => ({
  messages: [{ role: "user", content: { type: "text", text: `Please praise ${name}.` } }],
});
