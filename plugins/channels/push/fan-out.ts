import { channelError, type Log, type Outgoing } from "@svc/sdk";
import { type Device, isDeviceId } from "./device.ts";
import type { Devices } from "./devices.ts";
import { type Notice, noticeOf } from "./notice.ts";
import type { Notices } from "./notices.ts";
import { type Outcome, type PushServiceOptions, sendTo } from "./push-service.ts";

/** The chat that means every device. */
export const EVERYBODY = "default";
/** Push services that are written to at once. */
const PARALLEL = 8;
const STALE = "it knows this daemon by a key that is gone: open its page again";

/** Dependencies of a fan-out. */
export interface FanOutOptions extends PushServiceOptions {
  readonly devices: Devices;
  readonly notices: Notices;
  readonly log: Log;
}

/**
 * Sends one delivery to the devices it is for. Resolves when one of them has it and none is to be tried again; throws a channel error else.
 * Tried again, it goes only to those that are not done with it.
 */
export async function fanOut(out: Outgoing, options: FanOutOptions, signal: AbortSignal): Promise<void> {
  const { devices, notices } = options;
  const notice = noticeOf(out, Date.now());
  const meant = await devicesOf(out.target.chat, devices);
  const row = await notices.begin(notice);
  const open = meant.filter(({ id }) => row.value.done[id] === undefined);
  const outcomes = new Map<Device, Outcome>();
  const waiting = [...open];
  await Promise.all(
    Array.from({ length: Math.min(PARALLEL, waiting.length) }, async () => {
      for (let device = waiting.shift(); device !== undefined; device = waiting.shift())
        outcomes.set(device, await deliver(device, row.value, options, signal));
    }),
  );
  const done = { ...row.value.done, ...Object.fromEntries([...outcomes].flatMap(([{ id }, outcome]) => doneOf(id, outcome))) };
  await notices.note(row, done);
  settle([...outcomes.values()], Object.values(done));
}

async function devicesOf(chat: string, devices: Devices): Promise<readonly Device[]> {
  if (chat !== EVERYBODY && !isDeviceId(chat))
    throw channelError("permanent", `push knows no chat '${chat}': it is '${EVERYBODY}' for every phone, or the id of one (svc push list)`);
  const all = await devices.list();
  const meant = chat === EVERYBODY ? all : all.filter(({ id }) => id === chat);
  if (meant.length > 0) return meant;
  throw channelError("permanent", chat === EVERYBODY ? "no phone gets notices yet: add one with svc push add" : `there is no phone '${chat}' (svc push list)`);
}

async function deliver(device: Device, notice: Notice, options: FanOutOptions, signal: AbortSignal): Promise<Outcome> {
  const { devices, log } = options;
  const outcome: Outcome = devices.isStale(device) ? { kind: "refused", reason: STALE } : await sendTo(device, notice, options, signal);
  if (outcome.kind === "gone") {
    await devices.remove(device.id);
    log.info({ device: device.id, name: device.name }, "a phone no longer wants notices and was removed");
  } else await devices.note(device.id, outcome.kind === "taken" ? undefined : outcome.reason);
  if (outcome.kind === "refused") log.warn({ device: device.id, name: device.name, reason: outcome.reason }, "a notice did not reach a phone");
  return outcome;
}

function doneOf(id: string, outcome: Outcome): readonly (readonly [string, string | true])[] {
  if (outcome.kind === "later") return [];
  return [[id, outcome.kind === "taken" ? true : outcome.kind === "gone" ? "it no longer wants notices" : outcome.reason]];
}

function settle(outcomes: readonly Outcome[], done: readonly (string | true)[]): void {
  const later = outcomes.filter((outcome) => outcome.kind === "later");
  if (later.length > 0) {
    const waits = later.flatMap(({ retryAfterMs }) => (retryAfterMs === undefined ? [] : [retryAfterMs]));
    throw channelError(
      later.every(({ mayHaveArrived }) => mayHaveArrived) ? "unknown" : "retry",
      later[0]?.reason as string,
      waits.length === 0 ? undefined : Math.max(...waits),
    );
  }
  if (!done.includes(true)) throw channelError("permanent", `no phone got it: ${done.find((reason) => reason !== true) ?? "none is left"}`);
}
