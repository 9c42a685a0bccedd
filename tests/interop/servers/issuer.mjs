// An authorization server over oidc-provider: `issuer.mjs --http PORT [--clients FILE] [--life SECONDS] [--really SECONDS] [--dpop]`.
//
// It lets anybody register, gives JWT access tokens for whichever MCP server on this machine is named as the resource, rotates refresh
// tokens, and shows its pages to whoever opens them. A line of JSON on stdout tells of each thing that it did.
//
// FILE has the clients that it knows beforehand, as a list; `key` in one is a file with the private key that it proves itself by. Clients are told that tokens live for SECONDS; by what these say themselves it is as
// long, or as --really says. Since servers bear with clocks that are off by a minute, that may be negative. With --dpop, proofs have to
// have a nonce.
import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { readFileSync } from "node:fs";
import Provider, { errors } from "oidc-provider";

const words = process.argv.slice(2);
const value = (name) => (words.includes(name) ? words[words.indexOf(name) + 1] : undefined);
const port = Number(value("--http"));
const life = Number(value("--life") ?? 600);
const really = Number(value("--really") ?? life);
const wantsNonces = words.includes("--dpop");
const clients = value("--clients") ? JSON.parse(readFileSync(value("--clients"), "utf8")).map(known) : [];

const SERVER = /^http:\/\/127\.0\.0\.1:\d+\/mcp$/;

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients,
  clientDefaults: { id_token_signed_response_alg: "ES256", grant_types: ["authorization_code", "refresh_token"] },
  scopes: ["offline_access"],
  responseTypes: ["code"],
  pkce: { required: () => true },
  clientAuthMethods: ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"],
  cookies: { keys: ["a key of no worth"] },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  issueRefreshToken: (_, client, source) => client.grantTypeAllowed("refresh_token") && source.scopes.has("offline_access"),
  rotateRefreshToken: true,
  features: {
    clientCredentials: { enabled: true },
    dPoP: { enabled: true, nonceSecret: Buffer.alloc(32, 7), requireNonce: () => wantsNonces },
    registration: { enabled: true },
    revocation: { enabled: true },
    userinfo: { enabled: false },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo(_, resource) {
        if (!SERVER.test(resource)) throw new errors.InvalidTarget();
        return {
          audience: resource,
          scope: "files:read files:write",
          accessTokenTTL: life,
          accessTokenFormat: "jwt",
          jwt: { sign: { alg: "ES256" } },
        };
      },
    },
  },
  formats: {
    customizers: {
      jwt(_, token, jwt) {
        jwt.payload.exp = jwt.payload.iat + really;
      },
    },
  },
  jwks: { keys: [signingKey()] },
});

/** A client, with the public half of the key whose file it names. */
function known({ key, ...client }) {
  return key ? { ...client, jwks: { keys: [createPublicKey(readFileSync(key)).export({ format: "jwk" })] } } : client;
}

function signingKey() {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return { ...privateKey.export({ format: "jwk" }), use: "sig", alg: "ES256" };
}

const tell = (what, more = {}) => console.log(JSON.stringify({ what, ...more }));
provider.on("registration_create.success", (_, client) => tell("registration", { kind: client.applicationType }));
provider.on("authorization.success", (ctx) => tell("authorization", { scope: ctx.oidc.params.scope, resource: ctx.oidc.params.resource }));
provider.on("authorization.error", (_, error) => tell("authorization refused", { error: error.error }));
provider.on("grant.success", (ctx) => {
  const { grant_type: grant, resource } = ctx.oidc.params;
  tell(grant, { client: ctx.oidc.client.clientId, method: ctx.oidc.client.clientAuthMethod, resource, type: ctx.body.token_type });
});
provider.on("grant.error", (ctx, error) => tell(`${ctx.oidc.params?.grant_type} refused`, { error: error.error }));
provider.on("refresh_token.consumed", () => tell("rotated"));
provider.on("grant.revoked", () => tell("revoked"));
provider.on("server_error", (_, error) => tell("fault", { error: String(error.stack) }));

provider.listen(port, "127.0.0.1");
