import type { FetchAnswer, GuardedFetch, HttpReply, HttpRequest, Peers } from "@svc/sdk";
import { createFakeContext, createMemoryFiles, createMemoryStore } from "@svc/sdk/testing";
import plugin from "./index.ts";
import { startPushService } from "./push-service.harness.ts";
import type { PushSettings } from "./settings.ts";

/** Real HTTP to origins that the caller trusts, following nothing. */
export const trustedFetch: GuardedFetch = async (url, { method = "GET", headers = {}, body, signal, trustedOrigins = [] } = {}) => {
  if (!trustedOrigins.includes(new URL(url).origin)) throw new Error("the address is not public");
  const answer = await fetch(url, {
    method,
    headers,
    redirect: "manual",
    ...(body === undefined ? {} : { body: body as string }),
    ...(signal === undefined ? {} : { signal }),
  });
  const bytes = new Uint8Array(await answer.arrayBuffer());
  return {
    status: answer.status,
    statusText: answer.statusText,
    headers: Object.fromEntries(answer.headers),
    body: bytes,
    text: () => Buffer.from(bytes).toString(),
    truncated: false,
    url,
  } satisfies FetchAnswer;
};

/** What outlives a daemon, and what others serve it. */
export interface Kept {
  readonly files?: Map<string, string | Uint8Array>;
  readonly store?: ReturnType<typeof createMemoryStore>;
  readonly peers?: Peers;
}

/** The plugin over a push service on loopback, not yet set up. */
export async function stage(
  more: Partial<PushSettings> = {},
  { files = new Map<string, string | Uint8Array>(), store = createMemoryStore(), peers }: Kept = {},
) {
  const ask = async (method: string, path: string, request: Partial<HttpRequest> = {}): Promise<unknown> => {
    const route = context.registered.routes.find((one) => one.method === method && one.path === path);
    if (route === undefined) throw new Error(`there is no route ${method} ${path}`);
    const whole = { method, path, params: {}, query: {}, headers: {}, body: undefined, caller: { address: "127.0.0.1", local: true }, ...request };
    return route.handle({ ...whole, signal: new AbortController().signal } as HttpRequest, {} as HttpReply);
  };
  const recent = async () => ((await ask("GET", "/push/api/recent")) as { notices: { id: string; title: string; text: string }[] }).notices;
  const service = await startPushService({ whole: async (id) => (await recent()).find((notice) => notice.id === id)?.text ?? "" });
  const config = {
    enabled: true,
    subject: "mailto:ops@example.org",
    keysFile: ".svc/push-keys.json",
    ttlSeconds: 60,
    keepRecent: 50,
    allowedHosts: [service.origin],
    ...more,
  };
  const context = createFakeContext(
    plugin as never,
    {
      config: config as never,
      fetch: trustedFetch,
      files: createMemoryFiles(files),
      store,
      ...(peers === undefined ? {} : { services: { peers } }),
    } as never,
  );
  return { service, context, ask, recent };
}

/** The plugin, started. */
export async function running(more?: Partial<PushSettings>, kept?: Kept) {
  const staged = await stage(more, kept);
  const lifecycle = plugin.setup(staged.context as never) ?? {};
  await lifecycle.start?.();
  const { context, service, ask } = staged;
  const channel = context.registered.channels[0]!.channel;
  let keys = 0;
  return {
    ...staged,
    channel,
    send: (text: string, { chat = "default", key = `k${++keys}`, ...rest }: { chat?: string; key?: string; title?: string; priority?: number } = {}) =>
      channel.send({ target: { channel: "push", chat }, text, plain: text, key, ...rest }, new AbortController().signal),
    /** A phone that was added. */
    async phone(name = "phone") {
      const browser = service.browse();
      const added = (await ask("POST", "/api/push/subscribe", { body: { subscription: browser.subscription, name } })) as { id: string; bearer: string };
      return { ...added, browser, words: () => [...browser.shown.values()].map(({ text }) => text) };
    },
  };
}
