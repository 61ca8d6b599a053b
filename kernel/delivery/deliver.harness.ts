import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Channel,
  type ChannelTraits,
  type ChoiceButton,
  channelError,
  type Delivery,
  type Envelope,
  type Outgoing,
  type Publication,
  type Store,
  type Target,
} from "@svc/sdk";
import { openStore, sinceBoot } from "../../test/kit/store.ts";
import type { ChannelRender } from "../base/channel-render.ts";
import { type StateStore, stateStore } from "../base/state-store.ts";
import { createRender } from "../capabilities/render/render.ts";
import type { Deliveries } from "../core/flow/deliveries-port.ts";
import { composeLive } from "../core/host/live.ts";
import { addTap, createScope, type ProvidedChannel } from "../core/host/scope.ts";
import { createDeliveries } from "./deliveries.ts";
import type { DeliveryLimits } from "./delivery-limits.ts";

/** A strict platform: counts lengths, refuses unknown ids, keeps every call in order, and fails as told. */
export interface FarEnd {
  readonly channel: Channel;
  readonly calls: {
    readonly call: "send" | "edit" | "remove" | "react" | "typing";
    readonly chat: string;
    readonly text: string;
    readonly key?: string;
    readonly at: number;
    readonly target: Target;
    readonly out?: Outgoing;
  }[];
  /** What people see in a chat, message by message. */
  visible(chat: string): string[];
  /** The labels of the buttons that people see in a chat, message by message. */
  buttons(chat: string): (readonly string[])[];
  /** Called before each call takes effect; what it throws is the platform's answer. `after` throws once the effect is there. */
  fault: (call: "send" | "edit" | "remove" | "react", out: Outgoing, platformId?: string) => void | Promise<void>;
  after: (call: "send" | "edit", out: Outgoing) => void | Promise<void>;
}

export function createFarEnd(traits: Partial<ChannelTraits> = {}, name = "acme"): FarEnd {
  const all: ChannelTraits = { maxChars: 200, unit: "codepoint", dialect: "plain", editIntervalMs: 1, ...traits };
  const shown = new Map<string, { chat: string; text: string; choices?: readonly ChoiceButton[] | undefined }>();
  const keys = new Map<string, string>();
  let last = 0;
  const check = (out: Outgoing) => {
    if ([...out.text].length > all.maxChars) throw channelError("permanent", "message is too long");
    if (out.text.trim() === "" && (out.media ?? []).length === 0) throw channelError("permanent", "message text is empty");
  };
  const far: FarEnd = {
    calls: [],
    fault: () => {},
    after: () => {},
    buttons: (chat) => [...shown.values()].filter((message) => message.chat === chat).map(({ choices = [] }) => choices.map(({ label }) => label)),
    visible: (chat) => [...shown.values()].filter((message) => message.chat === chat).map(({ text }) => text),
    channel: {
      name,
      traits: all,
      async send(out) {
        far.calls.push({ call: "send", chat: out.target.chat, text: out.text, key: out.key, at: Date.now(), target: out.target, out });
        await far.fault("send", out);
        check(out);
        const before = all.keyed ? keys.get(out.key) : undefined;
        last += 1;
        const id = before ?? `m${last}`;
        if (before === undefined) shown.set(id, { chat: out.target.chat, text: out.text, choices: out.choices });
        keys.set(out.key, id);
        await far.after("send", out);
        return { platformId: id };
      },
      async edit(platformId, out) {
        far.calls.push({ call: "edit", chat: out.target.chat, text: out.text, at: Date.now(), target: out.target });
        await far.fault("edit", out, platformId);
        check(out);
        const message = shown.get(platformId);
        if (message === undefined) throw channelError("permanent", "message to edit not found");
        Object.assign(message, { text: out.text, choices: out.choices });
        await far.after("edit", out);
      },
      async react(target, platformId, emoji) {
        far.calls.push({ call: "react", chat: target.chat, text: `${emoji} on ${platformId}`, at: Date.now(), target });
        await far.fault("react", { target, text: emoji, plain: emoji, key: "" }, platformId);
      },
      async remove(target, platformId) {
        far.calls.push({ call: "remove", chat: target.chat, text: "", at: Date.now(), target });
        await far.fault("remove", { target, text: "", plain: "", key: "" }, platformId);
        shown.delete(platformId);
      },
    },
  };
  if (all.editIntervalMs === undefined || traits.editIntervalMs === 0) {
    const { edit: _edit, ...rest } = far.channel;
    const { editIntervalMs: _interval, ...without } = all;
    return Object.assign(far, { channel: { ...rest, traits: without } });
  }
  return far;
}

export const render = createRender();

/** By how much time has passed that nobody waited for, and by how much the wall clock was set besides; in milliseconds. */
export interface Clock {
  offset: number;
  turned: number;
}

/** Deliveries over a real database, which outlives a `crash`. */
export interface World {
  readonly deliveries: Deliveries;
  readonly store: StateStore;
  readonly events: (Publication & { readonly rootId?: string })[];
  readonly logged: { readonly level: string; readonly facts: unknown; readonly text: string | undefined }[];
  readonly failed: { readonly deliveries: readonly Delivery[]; readonly reason: string }[];
  readonly provided: ProvidedChannel;
  clock: Clock;
  connect(): void;
  disconnect(): void;
  tap(run: (delivery: Delivery) => Delivery): void;
  /** A second process that finds the folder exactly as it is at this instant. The first one goes on unseen; close it too. */
  crash(far?: FarEnd): Promise<World>;
  close(): Promise<void>;
}

export async function openWorld(
  far: FarEnd,
  options: {
    limits?: Partial<DeliveryLimits>;
    connected?: boolean;
    folder?: string;
    render?: ChannelRender;
    clock?: Clock;
    through?: (store: Store) => Store;
  } = {},
): Promise<World> {
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), "svc-deliver-"));
  const clock = options.clock ?? { offset: 0, turned: 0 };
  const now = () => Date.now() + clock.offset + clock.turned;
  const store = stateStore(openStore({ file: join(folder, "svc.db"), now, monotonic: () => sinceBoot() + clock.offset }));
  await store.reclaim("n1");
  const scope = createScope("channel-acme", () => {});
  const provided: ProvidedChannel = { scope, thing: far.channel, state: "connecting" };
  scope.things.channel.push(provided);
  let live = composeLive([scope], () => {});
  const events: World["events"] = [];
  const logged: World["logged"] = [];
  const failed: World["failed"] = [];
  const note = (level: string) => (facts: object | string, text?: string) => void logged.push({ level, facts, text: typeof facts === "string" ? facts : text });
  let root: string | undefined;
  const deliveries = createDeliveries({
    store: (options.through ?? ((core) => core))(store.scope("core")),
    bus: {
      publish: (event) => {
        events.push({ ...event, ...(root === undefined ? {} : { rootId: root }) });
        const { id = `e${events.length}` } = event;
        return { ...event, id, rootId: root ?? id, node: "n1", at: new Date(now()).toISOString() } satisfies Envelope;
      },
      node: "n1",
      subscribe: () => () => {},
      current: () => undefined,
      within: ({ rootId }, work) => {
        root = rootId;
        try {
          return work();
        } finally {
          root = undefined;
        }
      },
    },
    log: { debug: note("debug"), info: note("info"), warn: note("warn"), error: note("error") },
    live: () => live,
    render: () => options.render ?? render,
    failed: (gone, reason) => void failed.push({ deliveries: gone, reason }),
    now: store.steady,
    limits: { backoff: () => 5, stopGraceMs: 500, ...options.limits },
  });
  const turn = (state: ProvidedChannel["state"]) => {
    provided.state = state;
    deliveries.channelState(provided);
  };
  if (options.connected !== false) provided.state = "ready";
  await deliveries.start();
  const world: World = {
    deliveries,
    store,
    events,
    logged,
    failed,
    provided,
    clock,
    connect: () => turn("ready"),
    disconnect: () => turn("down"),
    tap(run) {
      addTap(scope, "deliver", run as never, {});
      live = composeLive([scope], () => {});
    },
    async crash(next = far) {
      const copy = mkdtempSync(join(tmpdir(), "svc-deliver-"));
      cpSync(folder, copy, { recursive: true });
      return openWorld(next, { ...options, folder: copy, clock });
    },
    async close() {
      scope.abort.abort();
      await deliveries.stop();
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return world;
}

/** Wait for something that must come, without a time that a test would stand on. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (;;) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
