import { type ForgeAgent, type ForgeProject, type ForgeUser, type PluginContext, sleep } from "@svc/sdk";
import { type Api, wordsOf } from "./client.ts";
import type { Settings } from "./settings.ts";
import { userOf } from "./shapes.ts";

/** Users of the tokens, and the agents that answer with them. */
export interface Identities {
  /** Asks the forge for the owner of each token. Resolves once each has answered or refused or is known from before, or after `waitMs`; the rest goes on. */
  start(waitMs: number): Promise<void>;
  agents(project?: ForgeProject): readonly ForgeAgent[];
  /** The token of an agent; the common one only where it has none of its own. Throws for an agent without any. */
  tokenOf(agent: string): string;
  /** A token that works, for questions that anybody may ask. */
  anyToken(): string;
  /** The tokens whose owners are known, one agent each. */
  owners(): readonly { readonly agent: string; readonly user: ForgeUser; readonly token: string }[];
  /** All of them, for what must never be shown. */
  tokens(): readonly string[];
  /** A call was refused for its token. */
  refused(token: string): void;
  /** For `svc channel test`: each token with its user, or its error. */
  test(signal: AbortSignal): Promise<string>;
}

interface Key {
  /** The setting that holds it. */
  readonly name: string;
  readonly token: string;
  /** Agents that have it as their own. */
  readonly agents: readonly string[];
  user?: ForgeUser;
  state: "unknown" | "works" | "refused";
  /** A request for its user is in progress. */
  asking: boolean;
}

const FIRST_PAUSE_MS = 1_000;
/** A forge that is away is asked each minute at last, a token that is refused every five. */
const [LONGEST_PAUSE_MS, REFUSED_PAUSE_MS] = [60_000, 300_000];

/** Reads the tokens of the section. `changed` hears each time when a token begins or ends to work. */
export function createIdentities(
  ctx: Pick<PluginContext<Settings>, "agents" | "config" | "log" | "signal" | "store">,
  api: Api,
  changed: (state: { readonly works: boolean; readonly reason: string }) => void,
): Identities {
  const { config, log, signal } = ctx;
  const { routes = [], agentMappings: mappings = [] } = config;
  const known = ctx.store.collection<{ readonly user: ForgeUser }>("users");
  const keys = keysOf(config);
  const common = keys.find(({ name }) => name === "token");

  const keyOf = (agent: string): Key | undefined => keys.find((key) => key.agents.includes(agent)) ?? common;

  function tell(): void {
    const works = keys.some(({ state }) => state === "works");
    const wrong = keys.filter(({ state }) => state === "refused").map(({ name }) => `channels.forge_a.${name}`);
    const reason =
      keys.length === 0
        ? "no token is configured; set channels.forge_a.token or the token of an agent"
        : wrong.length === 0
          ? `${api.origin} has not answered yet`
          : `${api.origin} refuses the token of ${wrong.join(", ")}; enter one that is valid`;
    changed({ works, reason });
  }

  /** Until the forge says whose it is; a refused one is asked again, in case it comes to count. */
  async function ask(key: Key, first: () => void): Promise<void> {
    if (key.asking) return;
    key.asking = true;
    try {
      for (let pause = FIRST_PAUSE_MS; !signal.aborted; pause = Math.min(key.state === "refused" ? REFUSED_PAUSE_MS : LONGEST_PAUSE_MS, pause * 2)) {
        const done = await askOnce(key);
        first();
        if (done) return;
        await sleep(pause, signal).catch(() => undefined);
      }
    } finally {
      key.asking = false;
      first();
    }
  }

  async function askOnce(key: Key): Promise<boolean> {
    const before = key.state;
    try {
      const { body } = await api.call({ path: "/user", token: key.token, signal });
      const user = userOf(body);
      if (user === undefined) throw new Error("it named no user");
      key.user = user;
      key.state = "works";
      await known.put(await fingerprint(key.token), { user });
    } catch (error) {
      if (signal.aborted) return true;
      if ((error as { status?: number }).status === 401) key.state = "refused";
      log.warn({ setting: `channels.forge_a.${key.name}` }, `the owner of channels.forge_a.${key.name} is not known: ${wordsOf(error)}`);
    }
    if (key.state !== before || key.state === "unknown") tell();
    return key.state === "works";
  }

  /** Agents that answer by the common token. */
  const sharers = new Set([...mappings.map(({ agentId }) => agentId), ...routes.map(({ agent }) => agent)].filter((agent) => keyOf(agent) === common));
  /** A person's token, or that of several agents: neither the forge nor the configuration says that its account is this agent's. */
  function isShared({ agents, name, user }: Key, agent: string, names: readonly string[]): boolean {
    if (agents.length + (name === "token" ? sharers.size : 0) > 1) return true;
    return user?.bot !== true && ![agent, ...names].some((text) => text.toLowerCase() === user?.login.toLowerCase());
  }

  function agentOf(agent: string, routed: boolean): ForgeAgent | undefined {
    const mapping = mappings.find(({ agentId }) => agentId === agent);
    const key = keyOf(agent);
    // One that is named and lives nowhere would be asked in vain: the section's check warns of it.
    if (key === undefined || (mapping?.node === undefined && ctx.agents.get(agent) === undefined)) return undefined;
    const configured = mapping?.forgeUsernames ?? [];
    // The common user stands for who is routed, and without routes for the only one that answers by its token.
    const alone = routes.length === 0 && sharers.size === 1 && sharers.has(agent);
    const mentioned = [...(key.agents.includes(agent) ? [key] : []), ...(common !== undefined && (routed || alone) ? [common] : [])];
    const names = [...configured, ...mentioned.flatMap(({ user }) => (user === undefined ? [] : [user.login]))];
    return {
      agent,
      names: [...new Set(names.map((name) => name.replace(/^@/, "").toLowerCase()))],
      ...(key.user === undefined ? {} : { user: key.user }),
      ...(mentioned.some(({ user, state }) => user === undefined && state === "unknown") ? { pending: true } : {}),
      shared: isShared(key, agent, configured),
      token: key.name,
      ...(mapping?.node === undefined ? {} : { node: mapping.node }),
      autoReply: config.autoReplyLegacy !== false,
    };
  }

  return {
    async start(waitMs) {
      for (const key of keys) {
        const stored = await known.get(await fingerprint(key.token));
        if (stored !== undefined) key.user ??= stored.value.user;
      }
      if (keys.length === 0) return tell();
      const asked = Promise.all(keys.map((key) => new Promise<void>((resolve) => void ask(key, resolve))));
      // Known users need no waiting: incoming messages find their agents.
      if (keys.every(({ user }) => user !== undefined)) return;
      await Promise.race([asked, sleep(waitMs, signal).catch(() => undefined)]);
    },
    agents(project) {
      const path = project?.path.toLowerCase();
      const route = path === undefined ? undefined : (routes.find((one) => one.project.toLowerCase() === path) ?? routes.find((one) => one.project === "*"));
      const routed = new Set(path === undefined ? routes.map(({ agent }) => agent) : route === undefined ? [] : [route.agent]);
      const all = [...new Set([...mappings.map(({ agentId }) => agentId), ...routed])];
      return all.flatMap((agent) => agentOf(agent, routed.has(agent)) ?? []);
    },
    tokenOf(agent) {
      const key = keyOf(agent);
      if (key === undefined)
        throw Object.assign(new Error(`agent ${agent} has no token; set its token in channels.forge_a.agentMappings, or channels.forge_a.token`), NO_TOKEN);
      return key.token;
    },
    anyToken() {
      const key = keys.find(({ state }) => state === "works") ?? keys[0];
      if (key === undefined) throw Object.assign(new Error("channels.forge_a has no token"), NO_TOKEN);
      return key.token;
    },
    owners: () =>
      keys.flatMap(({ user, token, agents, state }) =>
        user === undefined || state === "refused" ? [] : [{ agent: agents[0] ?? routes[0]?.agent ?? "", user, token }],
      ),
    tokens: () => keys.map(({ token }) => token),
    refused(token) {
      const key = keys.find((one) => one.token === token);
      if (key === undefined || key.state === "refused" || signal.aborted) return;
      key.state = "refused";
      log.error({ setting: `channels.forge_a.${key.name}` }, `${api.origin} refuses the token of channels.forge_a.${key.name}; enter one that is valid`);
      tell();
      void ask(key, () => undefined);
    },
    test: (abort) => testKeys(keys, api, abort),
  };
}

/** Error for an agent without a token: a retry does not help. */
const NO_TOKEN = { code: "SVC_CHANNEL_SEND", failure: "permanent" } as const;

/** Asks the forge for the owner of each token once more. Throws with the words for all where one does not work. */
async function testKeys(keys: readonly Key[], api: Api, signal: AbortSignal): Promise<string> {
  const said = await Promise.all(
    keys.map(async ({ name, token }) => {
      try {
        return { ok: true, text: `${name}: @${userOf((await api.call({ path: "/user", token, signal })).body)?.login ?? "nobody"}` };
      } catch (error) {
        signal.throwIfAborted();
        return { ok: false, text: `${name}: ${wordsOf(error)}` };
      }
    }),
  );
  const text = said.map((one) => one.text).join("; ") || "no token is configured";
  if (said.length === 0 || said.some(({ ok }) => !ok)) throw Object.assign(new Error(text), NO_TOKEN);
  return text;
}

/** The distinct tokens; two agents with the same one share it. */
function keysOf({ token = "", agentMappings = [] }: Settings): Key[] {
  const keys: Key[] = token === "" ? [] : [{ name: "token", token, agents: [], state: "unknown", asking: false }];
  for (const [at, { agentId, token: own = "" }] of agentMappings.entries()) {
    const twin = keys.findIndex((key) => key.token === own);
    const key = keys[twin];
    if (own === "") continue;
    if (key === undefined) keys.push({ name: `agentMappings[${at}].token`, token: own, agents: [agentId], state: "unknown", asking: false });
    else keys[twin] = { ...key, agents: [...new Set([...key.agents, agentId])] };
  }
  return keys;
}

/** By which the owner of a token is found again; says nothing of it. */
async function fingerprint(token: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`svc forge user ${token}`)));
  return [...digest.subarray(0, 12)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
