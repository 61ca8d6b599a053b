import type { Confined, TurnContext } from "@svc/sdk";
import { CAP } from "./cap.ts";
import { safeName } from "./safe-name.ts";
import { cut, oneLine } from "./words.ts";

/** One question and its answer, as a line of a history file. */
export interface Exchange {
  /** Unix milliseconds. */
  readonly at: number;
  /** Who asked, where more than one person may. */
  readonly from?: string;
  readonly text: string;
  readonly answer: string;
}

/** Whose history it is: one file per agent, channel, chat and day (000:L35). */
export interface Place {
  readonly agent: string;
  readonly channel: string;
  readonly chat: string;
}

/** What was said in chats, in files that people can read. */
export interface History {
  /** Yesterday's and today's exchanges, oldest first, the newest that fit into the cap of the context. Waits for what `note` was given before. */
  recent(place: Place, now: number): Promise<readonly Exchange[]>;
  /** Adds what `find` resolves with, if anything. Order is kept; failures are told to `failed`. */
  note(place: Place, now: number, find: () => Promise<Exchange | undefined>): void;
  /** Resolves when everything noted so far is written. */
  settled(): Promise<void>;
}

const MAX_BYTES = 64 * 1_048_576;
/** Of one question or answer: more would not fit into the context anyway. */
const MAX_CHARACTERS = CAP / 2;
/** Chats whose newest exchanges are held in memory. */
const HELD = 200;
const DAY_MS = 86_400_000;
/** Between two writes of one file: a chat that never rests costs one write a second. */
const REST_MS = 1_000;

export function createHistory(files: () => Confined, failed: (error: unknown) => void): History {
  const held = new Map<string, Promise<readonly Exchange[]>>();
  const writing = new Map<string, { lines: string; done: Promise<void> }>();
  /** Ends of the rests after writes, by file. */
  const rests = new Map<string, () => void>();
  let settling = false;

  /** The most recently used stay. */
  function hold(key: string, exchanges: Promise<readonly Exchange[]>): Promise<readonly Exchange[]> {
    held.delete(key);
    held.set(key, exchanges);
    for (const [oldest] of held) {
      if (held.size <= HELD) break;
      held.delete(oldest);
    }
    return exchanges;
  }

  async function load(place: Place, now: number): Promise<readonly Exchange[]> {
    const days = await Promise.all([now - DAY_MS, now].map((at) => readDay(fileOf(place, at))));
    return newest(days.flat());
  }

  async function readDay(file: string): Promise<Exchange[]> {
    rests.get(file)?.();
    await writing.get(file)?.done;
    try {
      const text = new TextDecoder().decode(await files().read(file, MAX_BYTES));
      return text.split("\n").flatMap(readLine);
    } catch (error) {
      if ((error as { code?: string }).code !== "SVC_FILE_MISSING") failed(error);
      return [];
    }
  }

  /** A line is written at once; what comes while that lasts, and in the rest after it, is gathered for the next write. */
  function write(file: string, line: string): void {
    const waiting = writing.get(file);
    if (waiting !== undefined) {
      waiting.lines += line;
      return;
    }
    const work = { lines: line, done: Promise.resolve() };
    writing.set(file, work);
    work.done = (async () => {
      while (work.lines !== "") {
        const { lines } = work;
        work.lines = "";
        await files().append(file, lines).catch(failed);
        await rest(file);
      }
      writing.delete(file);
    })();
  }

  async function rest(file: string): Promise<void> {
    if (settling) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, REST_MS);
      rests.set(file, () => {
        clearTimeout(timer);
        resolve();
      });
    });
    rests.delete(file);
  }

  const known = (place: Place, now: number) => held.get(keyOf(place)) ?? load(place, now);

  return {
    async recent(place, now) {
      const exchanges = await hold(keyOf(place), known(place, now));
      const [from, to] = [midnight(now - DAY_MS), midnight(now, 1)];
      return exchanges.filter(({ at }) => at >= from && at < to);
    },
    note(place, now, find) {
      const before = known(place, now);
      hold(
        keyOf(place),
        before.then(async (exchanges) => {
          try {
            const exchange = await find();
            if (exchange === undefined) return exchanges;
            const short = { ...exchange, text: cut(exchange.text, MAX_CHARACTERS), answer: cut(exchange.answer, MAX_CHARACTERS) };
            write(fileOf(place, short.at), `${JSON.stringify(short)}\n`);
            return newest([...exchanges, short]);
          } catch (error) {
            failed(error);
            return exchanges;
          }
        }),
      );
    },
    async settled() {
      await Promise.all(held.values());
      settling = true;
      for (const end of rests.values()) end();
      await Promise.all([...writing.values()].map(({ done }) => done));
      settling = false;
    },
  };
}

const keyOf = ({ agent, channel, chat }: Place): string => JSON.stringify([agent, channel, chat]);

/** `history/<agent>/<channel>/<chat>/<date>.jsonl`. */
export const fileOf = ({ agent, channel, chat }: Place, at: number): string =>
  ["history", ...[agent, channel, chat].map(safeName), `${dateOf(at)}.jsonl`].join("/");

/** The day on this machine's calendar (CTX-05). */
function dateOf(at: number): string {
  const day = new Date(at);
  const two = (number: number) => String(number).padStart(2, "0");
  return `${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())}`;
}

/** When that day began on this machine's calendar, or one of the next. */
function midnight(at: number, later = 0): number {
  const day = new Date(at);
  return new Date(day.getFullYear(), day.getMonth(), day.getDate() + later).getTime();
}

/** A line that a person has broken, or a crash has cut, is passed over. */
function readLine(line: string): Exchange[] {
  try {
    const { at, from, text, answer } = JSON.parse(line) as Record<string, unknown>;
    if (typeof at !== "number" || typeof text !== "string" || typeof answer !== "string") return [];
    return [{ at, text, answer, ...(typeof from === "string" ? { from } : {}) }];
  } catch {
    return [];
  }
}

const lengthOf = ({ text, answer }: Exchange): number => text.length + answer.length;

/** The newest that fit, at least one. */
function newest(exchanges: readonly Exchange[], room: number = CAP): readonly Exchange[] {
  let used = 0;
  const from = exchanges.findLastIndex((exchange) => (used += lengthOf(exchange)) > room);
  return exchanges.slice(Math.min(from + 1, exchanges.length - 1));
}

type Said = TurnContext["history"][number];

/** As messages, for the context. */
export function asMessages(exchanges: readonly Exchange[]): Said[] {
  const messages: Said[] = [];
  for (const { from, text, answer } of exchanges)
    messages.push({ role: "user", text: from === undefined ? text : `${from}: ${text}` }, { role: "assistant", text: answer });
  return messages;
}

/** As the lines of a layer. */
export const asLines = (messages: readonly Said[]): string => messages.map(({ role, text }) => `${role === "user" ? "User" : "You"}: ${text}`).join("\n");

/** The newest messages that fit into `room` characters, beginning with a question. */
export function fitMessages(messages: readonly Said[], room: number): readonly Said[] {
  let used = 0;
  const from = messages.findLastIndex(({ text }) => (used += text.length) > room) + 1;
  const question = messages.findIndex(({ role }, at) => at >= from && role === "user");
  return question === -1 ? [] : messages.slice(question);
}

/** Who asks, for chats of several people. */
export const speakerOf = ({
  direct,
  sender,
}: {
  readonly direct?: boolean;
  readonly sender?: { readonly name?: string; readonly handle?: string };
}): string | undefined => {
  const name = sender?.name ?? sender?.handle;
  return direct === true || name === undefined ? undefined : oneLine(name, 80);
};
