import type { Agent, FetchAnswer, GuardedFetch, Lifecycle, Render, Store } from "@svc/sdk";
import { createFakeContext, createMemoryStore, type FakeContext } from "@svc/sdk/testing";
import { type BotApi, FRIEND, startBotApi } from "./bot-api.harness.ts";
import plugin from "./index.ts";
import type { AccountSettings, Policy, Settings } from "./settings.ts";

export const TOKEN = "4242:secret-token-of-the-bot";
export const GROUP = -1_001;

/** Real HTTP to origins that the caller trusts, and to nothing else. */
export const trustedFetch: GuardedFetch = async (url, init = {}) => {
  if (!init.trustedOrigins?.includes(new URL(url).origin)) throw new Error(`${url} is not public`);
  const answer = await fetch(url, {
    method: init.method ?? "GET",
    ...(init.headers ? { headers: init.headers } : {}),
    ...(init.body ? { body: init.body } : {}),
    ...(init.signal ? { signal: init.signal } : {}),
  } as RequestInit);
  const body = new Uint8Array(await answer.arrayBuffer());
  const cut = body.subarray(0, init.maxBytes ?? 1_048_576);
  return {
    status: answer.status,
    statusText: answer.statusText,
    headers: Object.fromEntries(answer.headers),
    body: cut,
    text: () => Buffer.from(cut).toString(),
    truncated: cut.length < body.length,
    url,
  } satisfies FetchAnswer;
};

/** Enough markdown for a test: bold and escapes. */
export const render: Render = {
  split: (markdown) => [markdown],
  to: (form, markdown) =>
    form === "plain"
      ? markdown.replaceAll("**", "").replace(/^```.*\n?/gm, "")
      : markdown
          .replaceAll("&", "&amp;")
          .replaceAll("<", "&lt;")
          .replaceAll(">", "&gt;")
          .replace(/\*\*(.+?)\*\*/g, "<b>$1</b>"),
};

export interface Stage {
  readonly api: BotApi;
  readonly context: FakeContext<Settings>;
  /** Set up and connect. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** The plugin against its far end: one bot with one allowed friend, a private chat with her and a group. */
export async function setStage(
  options: {
    accounts?: Record<string, Partial<AccountSettings>>;
    policy?: Policy;
    agents?: readonly (Pick<Agent, "id"> & Partial<Agent>)[];
    api?: BotApi;
    store?: Store;
    paired?: boolean;
    keepApi?: boolean;
  } = {},
): Promise<Stage> {
  const api = options.api ?? (await startBotApi());
  api.addBot(TOKEN, 42, "helper_bot");
  api.addChat(FRIEND.id);
  api.addChat(GROUP, "supergroup", "The Garden");
  const accounts = Object.fromEntries(
    Object.entries(options.accounts ?? { main: {} }).map(([name, account]) => [name, { token: TOKEN, agentBinding: "anna", ...account }]),
  );
  const store = options.store ?? createMemoryStore();
  if (options.paired !== false) await store.collection("paired").put(`main/${FRIEND.id}`, { at: 1 });
  const context = createFakeContext<Settings>(plugin as never, {
    config: { enabled: true, apiRoot: api.root, accounts, policy: { allowFrom: [String(FRIEND.id)], ...options.policy } },
    agents: options.agents ?? [{ id: "anna", mentions: ["anna"] }],
    fetch: trustedFetch,
    render,
    store,
  });
  let lifecycle: Lifecycle<Settings> = {};
  return {
    api,
    context,
    async start() {
      lifecycle = plugin.setup(context) as Lifecycle<Settings>;
      await lifecycle.start?.();
      await until(() => context.registered.channels[0]?.state !== "connecting");
    },
    async stop() {
      await lifecycle.stop?.();
      context.end();
      if (!options.keepApi) await api.close();
    },
  };
}

export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 3));
}
