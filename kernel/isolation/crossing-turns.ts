import type { Agent, Turn, TurnEnd } from "@svc/sdk";
import type { Args } from "./frames.ts";

/** Sends a frame; returns false if it is too large. */
interface Teller {
  notify(on: string, args: Args): boolean;
}

let crossed = 0;

/**
 * Returns a turn as it is sent to a plugin's process. Its end follows as a frame `ended` with the number `ends`; an answer that exceeds a frame is
 * left out.
 */
export function sendableTurn({ ended, ...turn }: Turn, view: (agent: Agent) => Agent, remote: Teller): Args {
  crossed += 1;
  const ends = crossed;
  void ended?.then((end) => {
    if (remote.notify("ended", { n: ends, end })) return;
    const { answer: _, ...rest } = end;
    remote.notify("ended", { n: ends, end: { ...rest, result: { ...end.result, reply: "" } } });
  });
  return { ...turn, agent: view(turn.agent), ends };
}

/** The turns that the process of a plugin was sent, until they end. */
export interface ReceivedTurns {
  /** Arguments of a call with the turn among them whole again. */
  receive(args: Args): Args;
  /** The frame `ended`. */
  end(n: number, end: TurnEnd): void;
  /** Pending while callbacks of an end that has just arrived run: they go first. */
  settling(): Promise<void> | undefined;
}

/** The plugin's side of `sendableTurn`. */
export function receiveTurns(): ReceivedTurns {
  const waiting = new Map<number, (end: TurnEnd) => void>();
  let settling: Promise<void> | undefined;

  const whole = (value: unknown): unknown => {
    const { ends, ...turn } = (value ?? {}) as { readonly ends?: unknown };
    if (typeof ends !== "number") return value;
    return { ...turn, ended: new Promise<TurnEnd>((resolve) => waiting.set(ends, resolve)) };
  };

  return {
    receive(args) {
      if (Array.isArray(args.given)) return { ...args, given: args.given.map(whole) };
      return args.turn === undefined ? args : { ...args, turn: whole(args.turn) };
    },
    end(n, end) {
      const resolve = waiting.get(n);
      waiting.delete(n);
      if (resolve === undefined) return;
      resolve(end);
      // Frames of one chunk are read in one go, before any promise: the next turn's call may be among them.
      settling ??= new Promise((over) =>
        setImmediate(() => {
          settling = undefined;
          over();
        }),
      );
    },
    settling: () => settling,
  };
}
