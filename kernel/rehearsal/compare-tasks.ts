import type { TaskRecord } from "../core/flow/record.ts";
import { differingLines } from "../editor/line-difference.ts";
import type { Finding, RehearsedTask, RehearsedText } from "./rehearsed-task.ts";

/** One fact that differs between two rehearsals; absent on the side that lacks it. */
export interface Difference {
  /** Such as `agent`, `layer identity` or `text`. */
  readonly what: string;
  readonly before?: string;
  readonly after?: string;
  /** Of a text: the lines that differ, with their sign; `more` are not shown. */
  readonly lines?: readonly string[];
  readonly more?: number;
}

/** Comparison of one task under the other configuration and the present one. */
export interface TaskComparison {
  readonly id: string;
  readonly agent: string;
  readonly same: boolean;
  /** The task would be dropped, refused or not prepared on one side. */
  readonly ended?: Difference;
  readonly route: readonly Difference[];
  readonly context: readonly Difference[];
  readonly delivery: readonly Difference[];
  /** Findings of the other configuration alone. */
  readonly findings: readonly Finding[];
  /** Findings of the present one. */
  readonly present: readonly Finding[];
  /** Differences between the present configuration and the record: files, settings or plugins have changed since. */
  readonly since: readonly string[];
}

const MOST_LINES = 20;
const LONGEST_LINE = 200;

/** Compares the rehearsals of one recorded task under two configurations. */
export function compareTasks(record: TaskRecord, present: RehearsedTask, other: RehearsedTask): TaskComparison {
  const ended = different("end", present.ended, other.ended);
  const known = new Set(present.findings.map(findingKey));
  const findings = other.findings.filter((finding) => !known.has(findingKey(finding)));
  const about = { id: record.id, agent: record.agent, findings, present: present.findings, since: changedSince(record, present) };
  // Where one of them does not get so far, that is the difference.
  if (ended[0] !== undefined) return { ...about, same: false, ended: ended[0], route: [], context: [], delivery: [] };
  const route = [
    ...facts(present.route, other.route, ["agent", "node", "conversation", "text"]),
    ...facts(present.route?.reply, other.route?.reply, ["channel", "chat", "account", "thread", "replyTo"], "reply "),
    ...different("session", present.session, other.session),
  ];
  const context = [...contextOf(present.context ?? [], other.context ?? []), ...lists("skipped", present.skipped, other.skipped)];
  const delivery = [
    ...facts(present.delivery, other.delivery, ["channel", "chat", "account", "thread", "held"]),
    ...different("messages", count(present), count(other)),
    ...texts("text", present.delivery?.parts.join("\n\n") ?? "", other.delivery?.parts.join("\n\n") ?? ""),
  ];
  const differs = route.length + context.length + delivery.length + findings.length > 0;
  return { ...about, same: !differs, route, context, delivery };
}

const findingKey = ({ plugin, what, reason }: Finding): string => JSON.stringify([plugin, what, reason]);
const count = ({ delivery }: RehearsedTask): string => String(delivery?.parts.length ?? 0);

function different(what: string, before: string | undefined, after: string | undefined): Difference[] {
  if (before === after) return [];
  return [{ what, ...(before === undefined ? {} : { before: short(before) }), ...(after === undefined ? {} : { after: short(after) }) }];
}

function facts<T extends object>(before: T | undefined, after: T | undefined, names: readonly (keyof T & string)[], prefix = ""): Difference[] {
  return names.flatMap((name) => different(prefix + name, before?.[name] as string | undefined, after?.[name] as string | undefined));
}

function lists(what: string, before: readonly string[] = [], after: readonly string[] = []): Difference[] {
  return different(what, before.length === 0 ? undefined : before.join("; "), after.length === 0 ? undefined : after.join("; "));
}

function contextOf(before: readonly RehearsedText[], after: readonly RehearsedText[]): Difference[] {
  const names = new Set([...before, ...after].map(({ name }) => name));
  const find = (parts: readonly RehearsedText[], name: string) => parts.find((part) => part.name === name);
  return [...names].flatMap((name) => {
    const [old, fresh] = [find(before, name), find(after, name)];
    if (old?.hash === fresh?.hash && old?.text === fresh?.text) return [];
    const [difference = { what: name }] = texts(name, old?.text ?? "", fresh?.text ?? "");
    const { before: _none, after: _nothing, ...lines } = difference;
    return [{ ...lines, ...(old === undefined ? {} : { before: size(old) }), ...(fresh === undefined ? {} : { after: size(fresh) }) }];
  });
}

const size = ({ characters }: RehearsedText): string => `${characters} characters`;

function texts(what: string, before: string, after: string): Difference[] {
  if (before === after) return [];
  // A missing text shows no empty line.
  const all = differingLines(before, after).filter(({ sign }) => (sign === "-" ? before : after) !== "");
  const lines = all.slice(0, MOST_LINES).map(({ sign, line }) => `${sign} ${short(line)}`);
  return [{ what, lines, ...(all.length > lines.length ? { more: all.length - lines.length } : {}) }];
}

const short = (text: string): string => (text.length <= LONGEST_LINE ? text : `${text.slice(0, LONGEST_LINE)}…`);

/** By the record: the route whole, and of the context the hashes of its parts, where the record has any. */
function changedSince(record: TaskRecord, { ended, route, context = [] }: RehearsedTask): readonly string[] {
  const changed = [
    ...(ended === undefined ? [] : [`it would have no turn today: ${short(ended)}`]),
    ...facts(record.route, route, ["agent", "node", "conversation"]).map(
      ({ what, before, after }) => `${what} was ${before ?? "none"}, today it is ${after ?? "none"}`,
    ),
  ];
  if (record.context === undefined || ended !== undefined) return changed;
  const parts = new Map(record.context.map(({ name, hash }) => [name, hash]));
  for (const { name, hash } of context) {
    const recorded = parts.get(name);
    if (recorded !== hash) changed.push(recorded === undefined ? `${name} was not there` : `${name} is another text`);
    parts.delete(name);
  }
  return [...changed, ...[...parts.keys()].map((name) => `${name} is no longer there`)];
}
