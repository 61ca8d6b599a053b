import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { ask } from "../daemon.harness.ts";

/** What a daemon takes at the end of a phase. */
export interface Figures {
  /** Resident memory, in MB. */
  readonly memory: number;
  readonly descriptors: number;
  /** The data folder, in MB. */
  readonly disk: number;
  /** The median of some tasks one after the other, in milliseconds. */
  readonly latency: number;
}

const TASKS = 15;
const MB = 1024 * 1024;
/** Growth from the second quarter to the last one that nothing but a leak explains: a factor, and what is added to it. */
const BOUNDS: Readonly<Record<keyof Figures, readonly [number, number]>> = {
  memory: [1.5, 60],
  descriptors: [1.3, 20],
  disk: [1.5, 24],
  latency: [3, 60],
};

/** Of a daemon that is at rest. */
export async function takeFigures(daemon: { readonly pid: number; readonly port: number }, data: string): Promise<Figures> {
  const times: number[] = [];
  for (let n = 0; n < TASKS; n += 1) {
    const began = performance.now();
    const { status } = await ask(daemon.port, "/task", { agent: "echo", message: "how are you", context: { channel: "http", chatId: "figures" } });
    if (status !== 200) throw new Error(`a task for the figures was answered with ${status}`);
    times.push(performance.now() - began);
  }
  const memory = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${daemon.pid}/status`, "utf8"))?.[1]) / 1024;
  return { memory, descriptors: readdirSync(`/proc/${daemon.pid}/fd`).length, disk: sizeOf(data) / MB, latency: median(times) };
}

/** What grew from the second quarter of a run to its last one beyond all bounds. Fewer than eight phases tell nothing. */
export function growth(all: readonly Figures[]): string[] {
  if (all.length < 8) return [];
  const quarter = Math.floor(all.length / 4);
  const of = (name: keyof Figures, from: number) => median(all.slice(from, from + quarter).map((one) => one[name]));
  return (Object.keys(BOUNDS) as (keyof Figures)[]).flatMap((name) => {
    const [factor, more] = BOUNDS[name];
    const [before, after] = [of(name, quarter), of(name, all.length - quarter)];
    return after > before * factor + more ? [`${name} grew from ${before.toFixed(0)} to ${after.toFixed(0)}`] : [];
  });
}

export const inWords = ({ memory, descriptors, disk, latency }: Figures): string =>
  `${memory.toFixed(0)} MB, ${descriptors} descriptors, ${disk.toFixed(1)} MB of state, ${latency.toFixed(0)} ms a task`;

/** Other people's files and the ballast are not the daemon's state. */
function sizeOf(folder: string): number {
  return readdirSync(folder, { withFileTypes: true }).reduce((sum, entry) => {
    if (entry.name === "ballast") return sum;
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return sum + sizeOf(path);
    return sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0);
  }, 0);
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
