import { randomUUID } from "node:crypto";
import { type Inbound, type Lease, type PluginContext, type Rejection, reasonOf } from "@svc/sdk";
import type { CallRow, Line, Place } from "./call-row.ts";
import { type Camera, createCamera, type FrameRow } from "./camera.ts";
import { fail } from "./errors.ts";
import { openHourlyLimit } from "./hours.ts";
import { type CallDeps, LINES, LiveCall, ROWS } from "./live-call.ts";
import { mediaOf } from "./media.ts";
import { placed, type Wanted } from "./placing.ts";
import { createPresses, LEASE_MS } from "./presses.ts";
import { type Ended, recoverCalls } from "./recovery.ts";
import { type Answering, ring, takeChoice } from "./ring.ts";
import { playRing } from "./ring-sound.ts";
import type { CallsSettings } from "./settings.ts";
import { createTickets, type Tickets } from "./tickets.ts";
import { bare, createTranscript, deliverOnce } from "./transcript.ts";
import { type Placer, placeOf } from "./who-may.ts";
import { wrapUp } from "./wrap-up.ts";

type Context = PluginContext<CallsSettings>;

/** All of the calls, once something of them is needed. */
export interface Opened {
  readonly tickets: Tickets;
  readonly camera: Camera;
  place(wanted: Wanted, placer: Placer): Promise<{ readonly call: LiveCall; readonly url?: string }>;
  live(id: string): LiveCall | undefined;
  /** The call, live; throws `SVC_CALLS_UNKNOWN`, and for one that is not live here the error of `away`. */
  running(id: string): Promise<LiveCall>;
  /** Why a call that is stored is not live here: it has ended, or another daemon serves it. */
  away(row: CallRow): Error;
  row(id: string): Promise<CallRow | undefined>;
  list(all: boolean): Promise<readonly CallRow[]>;
  lines(id: string): Promise<readonly Line[]>;
  chatAnswer(message: Inbound): Promise<Rejection | undefined>;
  /** Words of an agent that come when their call is over: false where nowhere is set for them. */
  late(id: string, text: string, key: string): Promise<boolean>;
  /** Ends calls of a dead daemon, sends pending reports, deletes old rows. */
  recover(): Promise<void>;
  /** Ends all calls: the daemon stops. */
  close(): Promise<void>;
}

const MOST_LIVE = 32;
const MINUTE_MS = 60_000;

/** Opens the calls of this daemon. */
export function openCalls(ctx: Context, settings: () => CallsSettings, now: () => number = Date.now): Opened {
  const rows = ctx.store.collection<CallRow>(ROWS, { indexes: ["live", "owed", "at"] });
  const lines = ctx.store.collection<Line>(LINES, { indexes: ["call"] });
  const calls = new Map<string, LiveCall>();
  /** Id of this daemon, until it ends: a daemon that can get its lease knows that it is gone. */
  const owner = randomUUID();
  let lease: Promise<Lease> | undefined;
  /** Calls that are on their way into `calls`. */
  let placing = 0;
  /** Calls whose end is being told. */
  const settling = new Set<string>();
  /** The addresses by which calls were placed. */
  const hosts = new Map<string, string>();
  const tickets = createTickets(now);
  const media = () => mediaOf(ctx.services);
  const hourly = openHourlyLimit(ctx.store.collection("hours"), () => settings().maxPerHour, now);
  const report = (): Place | undefined => {
    const chat = ctx.services.get("call-media")?.settings().bot.transcriptChannel;
    return chat && placeOf(chat);
  };
  const transcript = createTranscript(ctx, lines, report);
  const camera = createCamera(ctx, ctx.store.collection<FrameRow>("frames"), () => media().settings().camera, now);

  const deps: CallDeps = {
    ctx,
    now,
    media,
    ringMs: () => settings().ringSeconds * 1000,
    limitMs({ kind }) {
      const { camera: cam, bot } = media().settings();
      if (kind === "camera") return Math.min(cam.maxSeconds * 1000, cam.bot.maxSessionMinutes * MINUTE_MS);
      return Math.min(settings().maxCallMinutes, bot.maxCallMinutes) * MINUTE_MS;
    },
    grown: (call) => transcript.grown(call),
    begun(call) {
      if (call.row.kind === "camera") camera.begun(call);
    },
    ended(call) {
      const { id } = call.row;
      calls.delete(id);
      if (calls.size + placing === 0) presses.rest();
      hosts.delete(id);
      tickets.forget(id);
      camera.ended(id);
      void settle(call);
    },
  };

  /** Never rejects: what could not be told stays owed. */
  async function settle(ended: Ended): Promise<void> {
    const { id } = ended.row;
    if (settling.has(id)) return;
    settling.add(id);
    try {
      await wrapUp(ended, { ctx, transcript, place: report, summary: () => settings().summary });
      await ended.change({ owed: 0 });
    } catch (error) {
      if (!ctx.signal.aborted) ctx.log.warn({ call: id, reason: reasonOf(error) }, "the end of a call was not told to everybody; the next start tries again");
    } finally {
      settling.delete(id);
    }
  }

  const answering: Answering = { ctx, live: (id) => calls.get(id), row: async (id) => opened.row(id), leave: async (...one) => presses.leave(...one), link };
  const presses = createPresses(ctx, owner, now, (message) => takeChoice(message, answering));

  async function link(call: LiveCall): Promise<string> {
    const { id, kind, ringUntil } = call.row;
    const base = media().settings().callUrlBase ?? `http://${hosts.get(id) ?? (await ownAddress(ctx))}`;
    return `${base.replace(/\/+$/, "")}/${kind}/${id}#${tickets.code(id, ringUntil)}`;
  }

  async function place(wanted: Wanted, placer: Placer): Promise<{ readonly call: LiveCall; readonly url?: string }> {
    const { row, places } = placed(wanted, placer, { ctx, rules: media().settings(), settings: settings(), at: now(), owner });
    const inbound = row.direction === "in";
    lease ??= ctx.store.lease(`owner.${owner}`, LEASE_MS).catch((error) => {
      lease = undefined;
      throw error;
    });
    await lease;
    if (calls.size + placing >= MOST_LIVE) throw fail("SVC_CALLS_BUSY", { most: MOST_LIVE });
    placing += 1;
    let call: LiveCall;
    try {
      // A ring that fails from here on counts all the same.
      if (!inbound) await hourly.take();
      await rows.put(row.id, row, "absent");
      call = new LiveCall(row, deps);
      calls.set(row.id, call);
      presses.attend();
    } finally {
      placing -= 1;
    }
    if (wanted.host !== undefined) hosts.set(row.id, wanted.host);
    // A chat that hangs up a caller may do so as long as the call lasts.
    const rings = await ring(ctx, row, places, inbound ? row.ringUntil + deps.limitMs(row) : row.ringUntil);
    await call.change({ rings });
    if (!inbound) void playRing(ctx, settings().ringSound);
    if (!inbound && rings.length === 0) void call.end({ reason: "failed", words: "no chat of channels.webrtc.ringNotify can be reached" });
    return { call, ...(inbound ? { url: await link(call) } : {}) };
  }

  const opened: Opened = {
    tickets,
    camera,
    place,
    live: (id) => calls.get(id),
    async running(id) {
      const call = calls.get(id);
      if (call !== undefined) return call;
      const row = await opened.row(id);
      if (row === undefined) throw fail("SVC_CALLS_UNKNOWN", { id });
      throw opened.away(row);
    },
    away: (row) => whyAway(row, ctx.store.shared === true),
    row: async (id) => calls.get(id)?.row ?? (await rows.get(id))?.value,
    async list(all) {
      if (!all) return [...calls.values()].map(({ row }) => row);
      return (await rows.list({ by: "at", reverse: true, limit: 200 })).map(({ value }) => value);
    },
    lines: (id) => transcript.lines(id),
    chatAnswer: (message) => takeChoice(message, answering),
    async late(id, text, key) {
      const row = await opened.row(id);
      const to = report();
      const places = to === undefined ? (row?.rings ?? []) : [to];
      if (row === undefined) return false;
      for (const target of places) await deliverOnce(ctx, { target, agent: row.agent, text: bare(text), key: `calls/late/${key}/${target.channel}` });
      return places.length > 0;
    },
    async recover() {
      await recoverCalls({ rows, lines, now: now(), isLive: (id) => calls.has(id), isGone: presses.isGone, settle });
      await Promise.all([camera.sweep(), presses.sweep()]);
    },
    async close() {
      await Promise.all([...calls.values()].map((call) => call.end({ reason: "restarted" })));
    },
  };
  return opened;
}

const whyAway = ({ id, live, end }: CallRow, shared: boolean): Error =>
  shared && live === 1 ? fail("SVC_CALLS_ELSEWHERE", { id }) : fail("SVC_CALLS_OVER", { id, how: end?.reason ?? "the daemon was restarted" });

/** Returns this daemon's own address by its configuration: for links that are sent outside of an HTTP request. */
async function ownAddress({ settings }: Pick<Context, "settings">): Promise<string> {
  // A kernel that another program embeds may have no file.
  const { node = {} } = await settings.read().then(
    ({ document }) => document,
    () => ({}) as Record<string, unknown>,
  );
  const { bind } = node as { readonly bind?: unknown };
  const [, host = "127.0.0.1", port = "18800"] = /^(.+):(\d+)$/.exec(typeof bind === "string" ? bind : "") ?? [];
  return `${host === "0.0.0.0" || host === "[::]" ? "127.0.0.1" : host}:${port}`;
}
