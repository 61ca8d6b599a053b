import { type Confined, codeOf, type TurnContext } from "@svc/sdk";
import { CAP } from "./cap.ts";
import { safeName } from "./safe-name.ts";
import { cut, oneLine } from "./words.ts";

/** One question and its answer, as a line of a history file. */
export interface Exchange {
  /** Unix milliseconds. */
  readonly at: number;
  /** Author of the request, in chats of several people. */
  readonly from?: string;
  readonly text: string;
  readonly answer: string;
}

/** Key of a history: one file per agent, channel, chat and day (000:L35). */
export interface Chat {
  readonly agent: string;
  readonly channel: string;
  readonly chat: string;
}

/** A message of the past, as the context holds it. */
type Said = TurnContext["history"][number];

/** Chat histories in files that people can read. */
export interface History {
  /** Returns messages of yesterday and today, oldest first, the newest that fit into the cap of the context. Synchronous for a cached chat. */
  recent(chat: Chat, now: number): readonly Said[] | Promise<readonly Said[]>;
  /** The same as it was at that time: read anew, without what was said later. */
  before(chat: Chat, time: number): Promise<readonly Said[]>;
  /** Adds an exchange. Order is kept; failures are told to `failed`. */
  note(chat: Chat, exchange: Exchange): void;
  /** Adds those of the newest exchanges that are not there yet. Resolves when `recent` has them. */
  complete(chat: Chat, newest: readonly Exchange[], now: number): Promise<void>;
  /** Resolves when everything noted so far is written. */
  settled(): Promise<void>;
}

const MAX_BYTES = 64 * 1_048_576;
/** Two equal exchanges of a chat within that time are one. */
const SAME_MS = 5_000;
/** Of one question or answer: more would not fit into the context anyway. */
const MAX_CHARACTERS = CAP / 2;
/** Chats whose newest exchanges are cached. */
const CACHED = 200;
const DAY_MS = 86_400_000;
/** Between two writes of one file: a chat that never rests costs one write a second. */
const REST_MS = 1_000;

/** Histories in files; `failed` hears what could not be read or written. */
export function createHistory(files: () => Confined, failed: (error: unknown) => void): History {
  const cached = new Map<string, Past>();
  const writing = new Map<string, { lines: string; done: Promise<void> }>();
  /** Ends of the rests after writes, by file. */
  const rests = new Map<string, () => void>();
  const days = createCalendar();
  let settling = false;

  /** The chat's past, which is read from its files unless it is cached. The most recently used stay. */
  function pastOf(chat: Chat, now: number): Past {
    const key = keyOf(chat);
    let past = cached.get(key);
    if (past === undefined) past = load(chat, now);
    else cached.delete(key);
    cached.set(key, past);
    for (const [oldest] of cached) {
      if (cached.size <= CACHED) break;
      cached.delete(oldest);
    }
    return past;
  }

  function load(chat: Chat, now: number): Past {
    const past = new Past();
    const days = Promise.all([now - DAY_MS, now].map((at) => readDay(fileOf(chat, at))));
    // Exchanges noted meanwhile wait: they must not be read from the files a second time.
    past.loading = days.then((read) => {
      for (const exchange of read.flat()) past.add(exchange);
      past.loading = undefined;
      for (const exchange of past.later.splice(0)) keep(past, chat, exchange);
    });
    return past;
  }

  function keep(past: Past, chat: Chat, exchange: Exchange): void {
    past.add(exchange);
    write(fileOf(chat, exchange.at), `${JSON.stringify(exchange)}\n`);
  }

  async function readDay(file: string): Promise<Exchange[]> {
    rests.get(file)?.();
    await writing.get(file)?.done;
    try {
      const text = new TextDecoder().decode(await files().read(file, MAX_BYTES));
      return text.split("\n").flatMap(readLine);
    } catch (error) {
      if (codeOf(error) !== "SVC_FILE_MISSING") failed(error);
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

  return {
    recent(chat, now) {
      const past = pastOf(chat, now);
      return past.loading === undefined ? past.since(days(now)) : past.loading.then(() => past.since(days(now)));
    },
    async before(chat, time) {
      const read = await Promise.all([time - DAY_MS, time].map((at) => readDay(fileOf(chat, at))));
      const past = new Past();
      for (const exchange of read.flat()) if (exchange.at <= time) past.add(exchange);
      return past.since(days(time));
    },
    note(chat, exchange) {
      const past = pastOf(chat, exchange.at);
      if (past.loading === undefined) keep(past, chat, shortened(exchange));
      else past.later.push(shortened(exchange));
    },
    async complete(chat, newest, now) {
      const past = pastOf(chat, now);
      await past.loading;
      for (const exchange of newest.map(shortened)) if (!past.has(exchange)) keep(past, chat, exchange);
    },
    async settled() {
      await Promise.all([...cached.values()].map(({ loading }) => loading));
      settling = true;
      for (const end of rests.values()) end();
      await Promise.all([...writing.values()].map(({ done }) => done));
      settling = false;
    },
  };
}

const shortened = (exchange: Exchange): Exchange => ({
  ...exchange,
  text: cut(exchange.text, MAX_CHARACTERS),
  answer: cut(exchange.answer, MAX_CHARACTERS),
});

const keyOf = ({ agent, channel, chat }: Chat): string => `${agent}\n${channel}\n${chat}`;

/** `history/<agent>/<channel>/<chat>/<date>.jsonl`. */
export const fileOf = ({ agent, channel, chat }: Chat, at: number): string =>
  ["history", ...[agent, channel, chat].map(safeName), `${dateOf(at)}.jsonl`].join("/");

/** The day on this machine's calendar (CTX-05). */
function dateOf(at: number): string {
  const day = new Date(at);
  const two = (number: number) => String(number).padStart(2, "0");
  return `${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())}`;
}

/** A span of time: from a moment, up to but not including another, in Unix milliseconds. */
interface Span {
  readonly from: number;
  readonly to: number;
}

/** Yesterday and today on this machine's calendar, worked out once a day. */
function createCalendar(): (now: number) => Span {
  let today = Number.POSITIVE_INFINITY;
  let span: Span = { from: 0, to: 0 };
  return (now) => {
    if (now >= today && now < span.to) return span;
    const day = new Date(now);
    const midnight = (later: number) => new Date(day.getFullYear(), day.getMonth(), day.getDate() + later).getTime();
    today = midnight(0);
    span = { from: midnight(-1), to: midnight(1) };
    return span;
  };
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

/** A history that is too long is cut in steps of so many characters, so that many turns in a row begin with the same words. */
const STEP = CAP / 4;

/** The newest exchanges of a chat that fit into the cap and one step more, at least one, and the same as messages. */
class Past {
  /** While its files are read. */
  loading: Promise<void> | undefined;
  /** Exchanges noted while loading. */
  readonly later: Exchange[] = [];
  readonly #exchanges: Exchange[] = [];
  /** Two for each exchange. */
  readonly #messages: Said[] = [];
  #characters = 0;
  /** Characters of exchanges that are no longer cached: the history is cut by its position in the whole. */
  #before = 0;

  add(exchange: Exchange): void {
    const { from, text, answer } = exchange;
    this.#exchanges.push(exchange);
    this.#messages.push({ role: "user", text: from === undefined ? text : `${from}: ${text}` }, { role: "assistant", text: answer });
    this.#characters += this.#lengthOf(this.#messages.length - 2);
    while (this.#characters > CAP + STEP && this.#exchanges.length > 1) {
      this.#before += this.#lengthOf(0);
      this.#characters -= this.#lengthOf(0);
      this.#exchanges.shift();
      this.#messages.splice(0, 2);
    }
  }

  /** Whether it is among the newest: a trace and a line of one turn differ a little in time, and in the words around what was asked. */
  has({ at, text, answer }: Exchange): boolean {
    return this.#exchanges.some((other) => other.answer === answer && other.text.includes(text) && Math.abs(other.at - at) < SAME_MS);
  }

  /** Of the question that stands there, with its answer. */
  #lengthOf(at: number): number {
    return (this.#messages[at] as Said).text.length + (this.#messages[at + 1] as Said).text.length;
  }

  /** A list of its own of what was said in that time. */
  since({ from, to }: Span): readonly Said[] {
    const within = ({ at }: Exchange) => at >= from && at < to;
    const [first] = this.#exchanges;
    const last = this.#exchanges.at(-1);
    // In order of time, unless the clock was set back.
    if (first === undefined || last === undefined || (within(first) && within(last))) {
      const messages = this.#messages.slice();
      known.set(messages, { characters: this.#characters, before: this.#before });
      return messages;
    }
    return this.#messages.filter((_, at) => within(this.#exchanges[at >> 1] as Exchange));
  }
}

/** As the lines of a layer. */
export const asLines = (messages: readonly Said[]): string => messages.map(({ role, text }) => `${role === "user" ? "User" : "You"}: ${text}`).join("\n");

/** Character counts of lists that this module created, so that they need not be counted again. */
const known = new WeakMap<readonly Said[], { readonly characters: number; readonly before: number }>();

/**
 * The newest messages that fit into `room` characters, beginning with a question, and how many characters they have. The first of them
 * changes in steps: vendors keep what requests begin with, and a window that moved each turn would be new to them each time.
 */
export function fitMessages(messages: readonly Said[], room: number): { readonly messages: readonly Said[]; readonly characters: number } {
  const { characters, before } = known.get(messages) ?? { characters: messages.reduce((sum, { text }) => sum + text.length, 0), before: 0 };
  const excess = characters - room;
  const stepped = Math.ceil((before + excess) / STEP) * STEP - before;
  const cut = from(messages, characters, Math.max(excess, stepped));
  // Where single messages are long a step may cost too much.
  return cut.characters >= room / 2 ? cut : from(messages, characters, excess);
}

/** Without the first messages that have so many characters together. */
function from(messages: readonly Said[], characters: number, without: number): { readonly messages: readonly Said[]; readonly characters: number } {
  let left = characters;
  let first = 0;
  for (; first < messages.length && (characters - left < without || messages[first]?.role !== "user"); first += 1)
    left -= (messages[first] as Said).text.length;
  return { messages: first === 0 ? messages : messages.slice(first), characters: left };
}

/** Names the author, for chats of several people. */
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
