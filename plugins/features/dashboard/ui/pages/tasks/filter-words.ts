import { TASKS } from "../../words/tasks.ts";

/** Filter of the list in the address of the page: each a text. */
export interface ListFilter {
  readonly agent?: string;
  readonly state?: string;
  readonly channel?: string;
  /** `24h`, `7d`, or a date. */
  readonly since?: string;
  readonly run?: string;
  readonly text?: string;
}

const NAMES = ["agent", "state", "channel", "since", "run"] as const;
/** Names of the filter in the address. */
export const FILTER_NAMES = [...NAMES, "text"] as const;
const STATES = ["running", "waiting", "queued", "ok", "failed", "timed-out", "cancelled"];
const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The words of a filter line: `name:value`, `name:"a value"`, `"some words"`, or words. */
const WORDS = /(?:(\w+):(?:"([^"]*)"?|(\S*)))|"([^"]*)"?|(\S+)/g;

/** Reads a filter line; `wrong` says which word is not understood, and what would be. */
export function readFilterLine(line: string): { readonly filter: ListFilter; readonly wrong?: string } {
  const filter: Record<string, string> = {};
  const text: string[] = [];
  for (const [whole, name, quoted, plain, words, word] of line.matchAll(WORDS)) {
    const value = quoted ?? plain;
    if (name === undefined) text.push(words ?? word ?? "");
    else if (!(NAMES as readonly string[]).includes(name)) return { filter: {}, wrong: TASKS.badFilter(whole) };
    else if (value !== undefined && value !== "") filter[name] = value;
  }
  if (filter.state !== undefined && !STATES.includes(filter.state)) return { filter: {}, wrong: TASKS.badState(filter.state) };
  if (filter.since !== undefined && sinceOf(filter.since) === undefined) return { filter: {}, wrong: TASKS.badSince(filter.since) };
  const said = text.filter((part) => part !== "").join(" ");
  return { filter: { ...filter, ...(said === "" ? {} : { text: said }) } };
}

/** The line that stands for a filter. */
export function filterLine(filter: ListFilter): string {
  const named = NAMES.flatMap((name) =>
    filter[name] === undefined ? [] : [`${name}:${/[\s"]/.test(filter[name]) ? `"${filter[name].replaceAll('"', "")}"` : filter[name]}`],
  );
  return [...named, ...(filter.text === undefined ? [] : [`"${filter.text.replaceAll('"', "")}"`])].join(" ");
}

/** The moment that `since` means, to the minute, in Unix ms. */
export function sinceOf(since: string, now = Date.now()): number | undefined {
  const [, count, unit] = /^(\d{1,5})([mhd])$/.exec(since) ?? [];
  if (count !== undefined && unit !== undefined) return Math.floor((now - Number(count) * (UNITS[unit] as number)) / 60_000) * 60_000;
  const at = /^\d{4}-\d{2}-\d{2}/.test(since) ? Date.parse(since) : Number.NaN;
  return Number.isNaN(at) ? undefined : at;
}

/** The filter as the query of a request. */
export function requestQuery({ since, ...rest }: ListFilter, now?: number): URLSearchParams {
  const query = new URLSearchParams(Object.entries(rest).filter((entry): entry is [string, string] => entry[1] !== undefined));
  const at = since === undefined ? undefined : sinceOf(since, now);
  if (at !== undefined) query.set("since", String(at));
  return query;
}

/** The filter out of the address of the page. */
export function filterOf(query: URLSearchParams): ListFilter {
  return Object.fromEntries(FILTER_NAMES.flatMap((name) => (query.get(name) ? [[name, query.get(name) as string]] : [])));
}
