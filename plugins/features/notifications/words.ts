import type { Happening } from "./happening.ts";

/** Text of a notice. */
export interface Words {
  readonly title: string;
  readonly text: string;
}

const TITLES = { done: "Task finished", failed: "Task failed", queued: "Task waits" } as const;
/** So many failed ones and agents are named; the rest are counted. */
const NAMED = 5;

/** The words for what happened: one thing by itself, several in one notice. At least one is given. */
export function wordsFor(happened: readonly Happening[]): Words {
  const [only, ...others] = happened;
  if (only !== undefined && others.length === 0) return { title: TITLES[only.what], text: sentence(only) };
  const counts = (["done", "failed", "queued"] as const).flatMap((what) => {
    const count = happened.filter((one) => one.what === what).length;
    return count === 0 ? [] : [`${count} ${COUNTED[what]}`];
  });
  const byAgent = new Map<string, number>();
  for (const { agent } of happened) byAgent.set(agent, (byAgent.get(agent) ?? 0) + 1);
  const agents = [...byAgent].sort(([, left], [, right]) => right - left).map(([agent, count]) => `${agent} ${count}`);
  const failed = happened.filter(({ what }) => what === "failed").map(sentence);
  const lines = [`${counts.join(", ")}: ${few(agents, ", ")}`, ...(failed.length === 0 ? [] : [few(failed, "\n")])];
  return { title: `${happened.length} tasks`, text: lines.join("\n") };
}

const COUNTED = { done: "finished", failed: "failed", queued: "waiting" } as const;

function sentence({ what, task, agent, channel, durationMs, errorKind }: Happening): string {
  const where = channel === undefined ? "" : ` (${channel})`;
  const took = durationMs === undefined ? "" : ` after ${duration(durationMs)}`;
  if (what === "queued") return `${agent}: a message waits behind another one${where}`;
  if (what === "done") return `${agent} finished${took}${where}`;
  return `${agent} failed${took}${where}: ${errorKind ?? "error"}; see svc trace show ${task}`;
}

function few(all: readonly string[], between: string): string {
  const rest = all.length - NAMED;
  return rest <= 0 ? all.join(between) : `${all.slice(0, NAMED).join(between)}${between}and ${rest} more`;
}

/** `3 s`, `2 min 5 s`, `1 h 2 min`. */
export function duration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return seconds % 60 === 0 ? `${minutes} min` : `${minutes} min ${seconds % 60} s`;
  return minutes % 60 === 0 ? `${minutes / 60} h` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
