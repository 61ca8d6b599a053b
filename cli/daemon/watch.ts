import type { StreamedEvent } from "@svc/sdk";
import { type Cli, oneLine } from "../cli.ts";

interface Event {
  readonly at: string;
  readonly kind: string;
  readonly type: string;
  readonly agentId?: string;
  readonly ref?: string;
  readonly summary: string;
  readonly data?: { readonly channel?: string; readonly conversation?: string; readonly taskId?: string };
}

/** Print events as they happen, until Ctrl-C, also those after a restart of the daemon. Ends with an error when none has answered for a minute. */
export async function watch(cli: Cli, options: Readonly<Record<string, unknown>>): Promise<void> {
  const query = new URLSearchParams({ format: "envelope" });
  for (const key of ["kind", "agent"]) if (options[key] !== undefined) query.set(key, String(options[key]));
  const stop = new AbortController();
  process.once("SIGINT", () => stop.abort());
  const onEvent = ({ data }: StreamedEvent) => cli.print(lineOf(data as Event), data);
  await cli.stream(`/events?${query}`, onEvent, { reconnect: true, signal: stop.signal });
}

/** Formats an event; agent, chat and task follow the summary. */
export function lineOf({ at, kind, type, agentId, ref, summary, data = {} }: Event): string {
  const task = data.taskId ?? (kind === "agent" ? ref : undefined);
  const where = data.conversation ?? data.channel;
  const facts = Object.entries({ agent: agentId, chat: where, task }).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]));
  return `${at.slice(11, 19)}  ${oneLine(kind).padEnd(8)} ${oneLine(type).padEnd(16)} ${[summary, ...facts].map(oneLine).join("  ")}`;
}
