import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Agent, HttpReply, Lifecycle, Store } from "@svc/sdk";
import { createFakeContext, createMemoryFiles, createMemoryStore, type FakeContext } from "@svc/sdk/testing";
import { createRender } from "../../kernel/capabilities/render/render.ts";
import { trustedFetch } from "../../plugins/channels/botmsg/botmsg.harness.ts";
import plugin from "../../plugins/channels/phonemsg/index.ts";
import type { Pairing } from "../../plugins/channels/phonemsg/pair-routes.ts";
import type { Settings } from "../../plugins/channels/phonemsg/settings.ts";
import type { Person } from "../kit/phonemsg/accounts.ts";
import type { Bundle } from "../kit/phonemsg/device.ts";
import type { LinkedDevice } from "../kit/phonemsg/phone.ts";
import { type PhoneServer, startPhoneServer } from "../kit/phonemsg/server.ts";

/** The plugin against its far end: a linked number with one allowed friend, a stranger, and a group with both. */
export interface Stage {
  readonly far: PhoneServer;
  readonly friend: Person;
  readonly stranger: Person;
  readonly folder: string;
  readonly context: FakeContext<Settings>;
  /** Files that the plugin wrote, by their absolute paths. */
  readonly written: Map<string, string | Uint8Array>;
  /** Set up and connect; with `pair` by scanning the picture. */
  start(): Promise<void>;
  /** Ends the plugin; the session and the far end stay. */
  halfStop(): Promise<void>;
  stop(): Promise<void>;
  pair(number?: string): Promise<void>;
  call(method: string, path: string, body?: unknown): Promise<unknown>;
  state(): string | undefined;
}

export const GROUP = "120363000000000001@g.us";

export async function setStage(
  options: {
    settings?: Partial<Settings>;
    agents?: readonly (Pick<Agent, "id"> & Partial<Agent>)[];
    linked?: boolean;
    far?: PhoneServer;
    folder?: string;
    store?: Store;
    kept?: KeptPairing | undefined;
  } = {},
): Promise<Stage> {
  const far = options.far ?? (await startPhoneServer());
  const friend = far.accounts.people.get("491700000700") ?? far.accounts.add("491700000700", "Frieda");
  const stranger = far.accounts.people.get("306900000666") ?? far.accounts.add("306900000666", "Mallory");
  if (!far.accounts.groups.has(GROUP)) far.accounts.group(GROUP, "The Garden", [friend, stranger], "Plants only");
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), "phonemsg-"));
  if (options.kept !== undefined) {
    copySession(options.kept.folder, folder);
    far.linked = options.kept.linked;
    far.bundles = [...options.kept.bundles];
  }
  const store = options.store ?? createMemoryStore();
  let context: FakeContext<Settings>;
  let lifecycle: Lifecycle<Settings> = {};
  const written = new Map<string, string | Uint8Array>();
  const make = () => {
    const files = createMemoryFiles(written);
    return createFakeContext<Settings>(plugin as never, {
      config: {
        enabled: true,
        server: far.url,
        mediaServer: far.mediaUrl,
        defaultAgent: "anna",
        allowFrom: [friend.number],
        sessionDir: "session",
        ...options.settings,
      },
      agents: options.agents ?? [{ id: "anna", name: "Anna", workspace: join(folder, "w") }],
      fetch: trustedFetch,
      render: createRender(),
      files: { ...files, data: { ...files.data, roots: [join(folder, ".svc")] } } as never,
      store,
    });
  };
  context = make();
  let used = false;
  const stage: Stage = {
    far,
    friend,
    stranger,
    folder,
    written,
    get context() {
      return context;
    },
    state: () => context.registered.channels[0]?.state,
    async call(method, path, body) {
      const route = context.registered.routes.find((one) => one.method === method && one.path === path);
      if (route === undefined) throw new Error(`no route ${method} ${path}`);
      return route.handle({ body, params: {}, query: {}, headers: {} } as never, {} as HttpReply);
    },
    async start() {
      if (used) context = make();
      used = true;
      lifecycle = plugin.setup(context) as Lifecycle<Settings>;
      await lifecycle.start?.();
      if (options.linked === false) return;
      const { state } = (await stage.call("GET", "/channels/phonemsg/pair")) as Pairing;
      if (state === "unpaired") await stage.pair();
      await until(() => stage.state() === "ready");
    },
    async pair(number) {
      await stage.call("POST", "/channels/phonemsg/pair", number === undefined ? {} : { number });
      let shown: Pairing = { state: "pairing" };
      await until(async () => {
        shown = (await stage.call("GET", "/channels/phonemsg/pair")) as Pairing;
        return shown.qr !== undefined || shown.code !== undefined;
      });
      if (shown.qr !== undefined) await far.scan(shown.qr);
      if (shown.code !== undefined) await far.typeCode(shown.code);
    },
    async halfStop() {
      await lifecycle.stop?.();
      context.end();
    },
    async stop() {
      await lifecycle.stop?.();
      context.end();
      if (options.far === undefined) await far.close();
      if (options.folder === undefined) rmSync(folder, { recursive: true, force: true });
    },
  };
  return stage;
}

/** A pairing for many tests: each gets a copy of its session and a far end that knows it. */
export interface KeptPairing {
  readonly folder: string;
  readonly linked: LinkedDevice;
  readonly bundles: readonly Bundle[];
}

export async function keepPairing(): Promise<KeptPairing> {
  const folder = mkdtempSync(join(tmpdir(), "phonemsg-kept-"));
  const one = await setStage({ folder });
  await one.start();
  const bundles = [...one.far.bundles];
  await one.halfStop();
  await one.far.close();
  return { folder, linked: one.far.linked as LinkedDevice, bundles };
}

/** Copies a session, so that each of many tests needs no pairing of its own. */
export function copySession(from: string, to: string): void {
  mkdirSync(join(to, "session"), { recursive: true, mode: 0o700 });
  if (existsSync(join(from, "session"))) cpSync(join(from, "session"), join(to, "session"), { recursive: true });
}

export async function until(condition: () => boolean | Promise<boolean>, limitMs = 20_000): Promise<void> {
  for (const began = Date.now(); !(await condition()); ) {
    if (Date.now() - began > limitMs) throw new Error(`it did not come to that within ${limitMs} ms: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
