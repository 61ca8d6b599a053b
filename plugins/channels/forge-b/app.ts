import { createPrivateKey, createSign, type KeyObject } from "node:crypto";
import { svcError } from "@svc/sdk";
import { type Api, at, type Credential, inRepository } from "./api.ts";

/** Purpose of an installation token; each requests only the permissions that it needs. */
export type Purpose = "notes" | "commits";

type Permissions = Readonly<Record<string, "read" | "write">>;

const WANTED: Readonly<Record<Purpose, Permissions>> = {
  notes: { metadata: "read", issues: "write", pull_requests: "write" },
  // To comment on a commit is a right on contents there.
  commits: { metadata: "read", contents: "write" },
};

/** An App of the forge: itself by its key, and in each repository by a token of its installation. */
export interface App {
  /** For calls about the App itself. */
  readonly itself: Credential;
  /** For calls in a repository. `id`: of the repository, where it is known. */
  in(repository: { readonly path: string; readonly id?: string }, purpose: Purpose): Credential;
  /** For calls in any repository of an installation. */
  anywhere(installation: number): Credential;
  /** Where it is installed may have changed. */
  forget(): void;
}

/** Options of an App. */
export interface AppOptions {
  readonly api: () => Api;
  readonly issuer: string | number;
  readonly key: KeyObject;
  refused(reason: string): void;
}

interface Installation {
  readonly id: number;
  readonly permissions: Permissions;
}

interface Token {
  readonly token: string;
  readonly expiresAt: number;
}

const EARLY_MS = 300_000;
const INSTALLATION_MS = 3_600_000;
/** The forge takes no JWT of more than 600 s, and none of the future. */
const BEFORE_S = 60;
const LIFE_S = 540;

/** Reads the key of an App. Throws `SVC_FORGE_KEY` naming the file if it is invalid. */
export function readKey(pem: string, file: string): KeyObject {
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType === "rsa") return key;
  } catch {
    // Its error may show a piece of the file.
  }
  throw svcError("SVC_FORGE_KEY", `channels.forge_b.privateKeyFile: ${file} holds no RSA private key in PEM; download one in the App's settings`);
}

/** An App that proves itself with `key`. Its tokens live in memory alone. */
export function createApp({ api, issuer, key, refused }: AppOptions): App {
  /** Skew of the forge's clock against ours. Measured once, so that a forged header cannot move it further. */
  let skew: number | undefined;
  const installations = new Map<string, { readonly found: Promise<Installation>; readonly until: number }>();
  const tokens = new Map<string, { readonly token: Promise<Token> }>();
  const now = () => Date.now() + (skew ?? 0);

  const itself: Credential = {
    name: "the App's key",
    async bearer(_signal, { renew = false, now: there } = {}) {
      if (renew && skew === undefined && there !== undefined) skew = there - Date.now();
      return `Bearer ${jwt(issuer, key, Math.floor(now() / 1000))}`;
    },
    refused: (reason) => refused(`${reason}; check channels.forge_b.clientId (or appId), privateKeyFile and this machine's clock`),
  };

  function installationOf(path: string, signal: AbortSignal): Promise<Installation> {
    const known = installations.get(path);
    if (known !== undefined && known.until > Date.now()) return known.found;
    const found = api()
      .call({ path: inRepository(path, "installation"), as: itself, signal })
      .then(({ body }) => body as Installation);
    installations.set(path, { found, until: Date.now() + INSTALLATION_MS });
    found.catch(() => installations.delete(path));
    return found;
  }

  async function ask(installation: Installation, wanted: Permissions, only: object, signal: AbortSignal): Promise<Token> {
    const { body } = await api().call({
      method: "POST",
      path: at("app", "installations", installation.id, "access_tokens"),
      body: { ...only, permissions: granted(wanted, installation.permissions) },
      as: itself,
      signal,
    });
    const { token, expires_at } = body as { token: string; expires_at: string };
    return { token, expiresAt: Date.parse(expires_at) };
  }

  /** One call for all who want it at once. Its own time limit, not that of the caller who came first. */
  async function kept(name: string, make: () => Promise<Token>): Promise<string> {
    const known = tokens.get(name);
    if (known !== undefined) {
      const { token, expiresAt } = await known.token;
      if (expiresAt - EARLY_MS > now()) return token;
      // Another caller may have renewed it meanwhile.
      if (tokens.get(name) === known) tokens.delete(name);
    }
    const made = tokens.get(name) ?? { token: make() };
    if (tokens.get(name) === undefined) {
      tokens.set(name, made);
      made.token.catch(() => {
        if (tokens.get(name) === made) tokens.delete(name);
      });
    }
    return (await made.token).token;
  }

  const limited = () => AbortSignal.timeout(60_000);

  return {
    itself,
    in: ({ path, id }, purpose) => {
      const name = `${path} ${purpose}`;
      return {
        // All tokens of an App share what it may call in an hour.
        name: "the App's token",
        async bearer(_signal, { renew = false } = {}) {
          if (renew) {
            tokens.delete(name);
            installations.delete(path);
          }
          const token = await kept(name, async () => {
            const signal = limited();
            const only = id === undefined ? { repositories: [path.split("/")[1]] } : { repository_ids: [Number(id)] };
            return ask(await installationOf(path, signal), WANTED[purpose], only, signal);
          });
          return `Bearer ${token}`;
        },
        refused: (reason) => refused(`${reason} in ${path}; is the App's installation suspended?`),
      };
    },
    anywhere: (installation) => ({
      name: "the App's token",
      async bearer() {
        return `Bearer ${await kept(`#${installation}`, () => ask({ id: installation, permissions: {} }, { metadata: "read" }, {}, limited()))}`;
      },
      refused,
    }),
    forget: () => installations.clear(),
  };
}

/** No more than what the owner granted: to ask for more is refused as a whole. */
function granted(wanted: Permissions, given: Permissions): Permissions {
  return Object.fromEntries(
    Object.entries(wanted).flatMap(([name, level]) => {
      const has = name === "metadata" ? "read" : given[name];
      return has === undefined ? [] : [[name, has === "read" ? "read" : level]];
    }),
  );
}

function jwt(issuer: string | number, key: KeyObject, seconds: number): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const content = `${part({ alg: "RS256", typ: "JWT" })}.${part({ iat: seconds - BEFORE_S, exp: seconds + LIFE_S, iss: issuer })}`;
  return `${content}.${createSign("RSA-SHA256").update(content).sign(key, "base64url")}`;
}
