import { codeOf, type Inbound, type PluginContext } from "@svc/sdk";
import type { CallRow } from "./call-row.ts";

/** What was pressed below a ring, as far as it is needed. */
type Pressed = Pick<Inbound, "channel" | "chat" | "account" | "thread" | "platformId" | "sender" | "choice">;

/** One row. Times in Unix milliseconds. */
interface PressRow {
  /** The daemon that serves the call. */
  readonly owner: string;
  readonly at: number;
  readonly message: Pressed;
}

/** What was pressed on chat at another daemon than the one that serves the call: daemons that share a store leave it to each other there. */
export interface Presses {
  /** Leaves it to the daemon that serves the call. False where no other daemon does. */
  leave(row: CallRow, message: Inbound): Promise<boolean>;
  /** Whether the daemon of that id has ended. */
  isGone(owner: string): Promise<boolean>;
  /** Takes what others leave to this daemon, until `rest`. */
  attend(): void;
  rest(): void;
  /** Deletes those of daemons that ended before they took them. */
  sweep(): Promise<void>;
}

/** So often it is looked for while this daemon has calls. */
const LOOK_MS = 1_000;
const KEPT_MS = 3_600_000;
/** Time for which a dead daemon counts as present. */
export const LEASE_MS = 30_000;
const PAGE = 100;

/** The presses in a collection of the store; `take` gets those for `owner`, this daemon. */
export function createPresses(
  ctx: Pick<PluginContext, "jobs" | "log" | "store">,
  owner: string,
  now: () => number,
  take: (message: Inbound) => Promise<unknown>,
): Presses {
  const rows = ctx.store.collection<PressRow>("presses", { indexes: ["owner", "at"] });
  let stop: (() => void) | undefined;

  async function look(): Promise<void> {
    for (const { key, value, version } of await rows.list({ where: { owner }, limit: PAGE })) {
      try {
        // First, so that it counts once, whatever happens below.
        await rows.delete(key, version);
        await take(value.message as Inbound);
      } catch (error) {
        if (codeOf(error) !== "SVC_STORE_CONFLICT") ctx.log.error({ err: error }, "what was pressed below a ring at another daemon was not taken");
      }
    }
  }

  /** A daemon whose lease can be had is gone. */
  async function isGone(other: string): Promise<boolean> {
    if (other === owner) return true;
    const theirs = await ctx.store.lease(`owner.${other}`, LEASE_MS);
    await theirs.release();
    return theirs.held;
  }

  return {
    async leave(row, { id, channel, chat, account, thread, platformId, sender, choice }) {
      if (ctx.store.shared !== true || row.live === 0 || (await isGone(row.owner))) return false;
      const place = { ...(account === undefined ? {} : { account }), ...(thread === undefined ? {} : { thread }) };
      const who = { ...(platformId === undefined ? {} : { platformId }), ...(sender === undefined ? {} : { sender }) };
      await rows.put(id, { owner: row.owner, at: now(), message: { channel, chat, ...place, ...who, ...(choice === undefined ? {} : { choice }) } });
      return true;
    },
    isGone,
    attend() {
      if (ctx.store.shared === true) stop ??= ctx.jobs.every(LOOK_MS, look);
    },
    rest() {
      stop?.();
      stop = undefined;
    },
    async sweep() {
      for (const { key } of await rows.list({ by: "at", to: now() - KEPT_MS, limit: PAGE })) await rows.delete(key);
    },
  };
}
