import type { Cli } from "../cli.ts";

interface Event {
  readonly at: string;
  readonly kind: string;
  readonly type: string;
  readonly agentId?: string;
  readonly ref?: string;
  readonly summary: string;
  readonly data?: { readonly channel?: string; readonly conversation?: string; readonly taskId?: string };
}

/** Print events as they happen, until Ctrl-C. */
export async function watch(cli: Cli, options: Readonly<Record<string, unknown>>): Promise<void> {
  const query = new URLSearchParams({ format: "envelope" });
  for (const key of ["kind", "agent"]) if (options[key] !== undefined) query.set(key, String(options[key]));
  const stop = new AbortController();
  process.once("SIGINT", () => stop.abort());
  try {
    for await (const { data } of cli.frames("GET", `/events?${query}`, undefined, { signal: stop.signal })) {
      const event = data as Event;
      cli.print(lineOf(event), event);
    }
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  }
}

/** Formats an event; agent, chat and task follow the summary. */
function lineOf({ at, kind, type, agentId, ref, summary, data = {} }: Event): string {
  const task = data.taskId ?? (kind === "agent" ? ref : undefined);
  const where = data.conversation ?? data.channel;
  const facts = Object.entries({ agent: agentId, chat: where, task }).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]));
  return `${at.slice(11, 19)}  ${kind.padEnd(8)} ${type.padEnd(16)} ${[summary, ...facts].join("  ")}`;
}
