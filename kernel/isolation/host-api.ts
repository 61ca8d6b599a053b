import type { ModelCall, Models, Op, PluginContext, Query, SettingEdit, SettingsChange } from "@svc/sdk";
import type { Args } from "./frames.ts";
import { small } from "./pieces.ts";

/** One member of the context, as the plugin's process may call it; the context itself checks the declarations. */
type HostCall = (ctx: PluginContext<never>, args: never, signal: AbortSignal) => unknown;

const collection = (ctx: PluginContext<never>, { name, indexes }: { name: string; indexes?: readonly string[] }) =>
  ctx.store.collection<unknown>(name, indexes === undefined ? {} : { indexes });

interface StoreArgs {
  readonly name: string;
  readonly indexes?: readonly string[];
  readonly group?: string;
  readonly id: string;
  readonly key: string;
  readonly value: unknown;
  readonly expect?: number | "absent";
  readonly query?: Query;
  readonly limit: number;
}

/** Members of the context that take data and answer data. */
export const HOST_API: Readonly<Record<string, HostCall>> = {
  "store.get": (ctx, args: StoreArgs) => collection(ctx, args).get(args.key),
  "store.list": (ctx, args: StoreArgs) => collection(ctx, args).list(args.query),
  "store.count": (ctx, args: StoreArgs) => collection(ctx, args).count(args.query),
  "store.put": (ctx, args: StoreArgs) => collection(ctx, args).put(args.key, args.value, args.expect),
  "store.delete": (ctx, args: StoreArgs) => collection(ctx, args).delete(args.key, args.expect),
  "store.commit": (ctx, { ops }: { ops: readonly Op[] }) => ctx.store.commit(ops),
  "queue.push": (ctx, { name, value, options }: StoreArgs & { options?: object }) => ctx.store.queue(name).push(value, options),
  "queue.claim": (ctx, { name, limit, leaseMs }: StoreArgs & { leaseMs: number }) => ctx.store.queue(name).claim(limit, leaseMs),
  "queue.complete": (ctx, { name, id }: StoreArgs) => ctx.store.queue(name).complete(id),
  "queue.release": (ctx, { name, id, delayMs, ...rest }: StoreArgs & { delayMs: number }) =>
    "value" in rest ? ctx.store.queue(name).release(id, delayMs, rest.value) : ctx.store.queue(name).release(id, delayMs),
  "queue.extend": (ctx, { name, id, attempt, leaseMs }: StoreArgs & { attempt: number; leaseMs: number }) => ctx.store.queue(name).extend(id, attempt, leaseMs),
  "queue.nextDue": (ctx, { name }: StoreArgs) => ctx.store.queue(name).nextDue(),
  "queue.size": (ctx, { name, group }: StoreArgs) => ctx.store.queue(name).size(group),
  "queue.list": (ctx, { name, limit }: StoreArgs) => ctx.store.queue(name).list(limit),
  "journal.append": (ctx, { name, value }: StoreArgs) => ctx.store.journal(name).append(value),
  "journal.read": (ctx, { name, after, limit }: StoreArgs & { after: number }) => ctx.store.journal(name).read(after, limit),
  "journal.tail": (ctx, { name, limit }: StoreArgs) => ctx.store.journal(name).tail(limit),
  "journal.trim": (ctx, { name, keep }: StoreArgs & { keep: number }) => ctx.store.journal(name).trim(keep),
  "tasks.result": (ctx, { id }: { id: string }, signal) => ctx.tasks.result(id, signal),
  "tasks.cancel": (ctx, { id, reason }: { id: string; reason?: string }) => ctx.tasks.cancel(id, reason),
  "tasks.followup": (ctx, { id, message }: { id: string; message: never }) => ctx.tasks.followup(id, message),
  "jobs.missed": (ctx, { id }: { id: string }) => ctx.jobs.missed(id),
  "traces.get": (ctx, { id }: { id: string }) => ctx.traces.get(id),
  "traces.ids": (ctx, { query }: { query?: object }) => ctx.traces.ids(query),
  "traces.list": (ctx, { query }: { query?: object }) => ctx.traces.list(query),
  "actions.run": (ctx, { name, input, call }: { name: string; input: unknown; call: { door: string } }, signal) =>
    ctx.actions.run(name, input, { ...call, signal }),
  "settings.read": (ctx) => ctx.settings.read(),
  "settings.schema": (ctx) => ctx.settings.schema(),
  "settings.change": (ctx, { edits, options }: { edits: readonly SettingEdit[]; options: SettingsChange }) => ctx.settings.change(edits, options),
  "settings.preview": (ctx, { edits, options }: { edits: readonly SettingEdit[]; options?: Pick<SettingsChange, "expect"> }) =>
    ctx.settings.preview(edits, options),
  "models.extract": (ctx, { request }: { request: Parameters<Models["extract"]>[0] }, signal) => ctx.models.extract({ ...request, signal }),
  "models.stream": (ctx, { call }: { call: ModelCall }, signal) => ctx.models.stream({ ...call, signal }),
  "models.usable": (ctx, { agent }: { agent: string }) => ctx.models.usable(agent),
  async fetch(ctx, { url, init }: { url: string; init: object }, signal) {
    const { text: _, ...answer } = await ctx.fetch(url, { ...init, signal });
    return answer;
  },
  "fetch.stream": streamedFetch,
};

/** The head first, then the body in pieces of which many fit into the window of the wire. */
async function* streamedFetch(ctx: PluginContext<never>, { url, init }: { url: string; init: object }, signal: AbortSignal): AsyncGenerator<unknown> {
  const { body, ...head } = await ctx.fetch.stream(url, { ...init, signal });
  yield head;
  for await (const piece of body) yield* small(piece);
}

const LEVELS = ["debug", "info", "warn", "error"] as const;

/** A log line of the plugin. Its context cuts it to a length that a log bears. */
export function writeLog(ctx: PluginContext<never>, { level, facts, text }: Args): void {
  const known = LEVELS.find((one) => one === level) ?? "info";
  ctx.log[known](typeof facts === "object" && facts !== null ? facts : String(facts), typeof text === "string" ? text : undefined);
}
