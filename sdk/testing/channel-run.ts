import assert from "node:assert/strict";
import type { Channel, ChannelFailure, Outgoing } from "../channel.ts";
import type { Schema } from "../config.ts";
import type { Envelope } from "../events.ts";
import type { Message } from "../messages.ts";
import { sleep } from "../time.ts";
import type { ChannelLack, ChannelSubject, Said } from "./channel-subject.ts";
import { inTime } from "./runner.ts";

/** A channel that runs against its far end. */
export interface Running extends ChannelSubject {
  readonly channel: Channel;
  stop(): Promise<void>;
}

/** Longest time a step may take, in milliseconds. */
export const LIMIT_MS = 10_000;

/** Defines one test that gets a running channel. */
export type It = (name: string, test: (running: Running) => Promise<void>) => unknown;
/** Does the platform have all of these? */
export type Has = (...needs: readonly ChannelLack[]) => boolean;

/** Sets the channel up, starts it and waits until it is ready. Stops it before reporting a failure. */
export async function run(subject: ChannelSubject): Promise<Running> {
  const { plugin, context } = subject;
  const lifecycle = plugin.setup(context) ?? {};
  let stopped: Promise<void> | undefined;
  const stop = async () => {
    try {
      await lifecycle.stop?.();
    } finally {
      context.end();
      await subject.dispose?.();
    }
  };
  const running = { ...subject, stop: () => (stopped ??= stop()) };
  try {
    await inTime(LIMIT_MS, "start", lifecycle.start?.() ?? Promise.resolve());
    const [provided] = context.registered.channels;
    assert.ok(provided, "setup provided no channel");
    await inTime(
      LIMIT_MS,
      "ready",
      until(() => provided.state === "ready"),
    );
    await subject.prepare?.();
    return { ...running, channel: provided.channel };
  } catch (error) {
    await running.stop();
    throw error;
  }
}

let keys = 0;
/** A text to send, with a key of its own. */
export const outgoing = (target: Outgoing["target"], text: string): Outgoing => ({ target, text, plain: text, key: `contract-${++keys}` });
/** Sends within the limit. */
export const send = (channel: Channel, out: Outgoing) => inTime(LIMIT_MS, "send", channel.send(out, new AbortController().signal));

/** Sends within the limit, on a platform that returns message ids. */
export async function sent(channel: Channel, out: Outgoing): Promise<{ readonly platformId: string }> {
  const { platformId } = await send(channel, out);
  assert.ok(platformId, 'send gave no platformId; leave "ids" out with lacks');
  return { platformId };
}

/** Sends a message as a user of the platform. */
export async function say({ far }: Running, said: Said): Promise<{ readonly platformId: string }> {
  assert.ok(far.say, 'the far end has no say; leave "receive" out with lacks');
  return far.say(said);
}

/** A plugin that does not declare `tasks` or `events` can neither accept messages nor publish. */
export const acceptedBy = ({ plugin, context }: Pick<ChannelSubject, "plugin" | "context">): readonly Message[] =>
  plugin.capabilities.includes("tasks") ? context.tasks.accepted : [];
/** The events it published. */
export const toldBy = ({ plugin, context }: Pick<ChannelSubject, "plugin" | "context">): readonly Envelope[] =>
  plugin.capabilities.includes("events") ? context.events.published : [];

/** The messages that were accepted, once there are exactly so many. */
export async function accepted(running: Running, count: number): Promise<readonly Message[]> {
  await inTime(
    LIMIT_MS,
    `message ${count}`,
    until(() => acceptedBy(running).length >= count),
  );
  await settle();
  assert.equal(acceptedBy(running).length, count, "more messages than were written");
  return acceptedBy(running);
}

/** The error of a call that must fail in that way. */
export async function fails(call: Promise<unknown>, failure: ChannelFailure): Promise<{ retryAfterMs?: number }> {
  try {
    await inTime(LIMIT_MS, "the refusal", call);
  } catch (error) {
    assert.equal((error as { failure?: string }).failure, failure, `it failed with: ${(error as Error).message}`);
    return error as { retryAfterMs?: number };
  }
  assert.fail(`it succeeded in place of failing as ${failure}`);
}

/** Resolves when the condition holds. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(5);
}

/** Pause in which an unwanted event would happen. */
export const settle = () => sleep(50);

/** Counts the resources that keep the process alive, by kind. */
export async function resources(): Promise<Map<string, number>> {
  await settle();
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}

/** Everything that is in a value, errors with their causes included. */
export function textOf(value: unknown): string {
  return JSON.stringify(value, (_, part) => (part instanceof Error ? { ...part, message: part.message, stack: part.stack, cause: part.cause } : part)) ?? "";
}

/** The values of the configuration whose schema says `secret`. */
export function secretsOf(schema: Schema | undefined, value: unknown): readonly string[] {
  if (schema === undefined || value === undefined || value === null) return [];
  if (schema.secret) return typeof value === "string" && value.length > 3 ? [value] : [];
  if (Array.isArray(value)) return value.flatMap((item) => secretsOf(schema.items, item));
  if (typeof value !== "object") return [];
  const rest = typeof schema.additionalProperties === "object" ? schema.additionalProperties : undefined;
  return Object.entries(value).flatMap(([key, item]) => secretsOf(schema.properties?.[key] ?? rest, item));
}
