import { type Plugin, sleep, withTimeout } from "@svc/sdk";
import { createFakeContext, withDefaults } from "@svc/sdk/testing";

/** Resources that are open after the last unload and were not after the first. */
export interface LeakReport {
  readonly rounds: number;
  /** Kinds of handles, each with how many more there are. */
  readonly left: Readonly<Record<string, number>>;
  /** Number of starts that failed or took too long: it may need a platform. */
  readonly unstarted: number;
  /** Number of stops that failed or took longer than that. */
  readonly unstopped: number;
}

const ROUNDS = 50;
/** For each of start and stop, in milliseconds. */
const PHASE_MS = 200;

/** Loads, starts, stops and unloads the plugin repeatedly on a context that only records, and compares the open resources of the process. */
export async function measureLeaks(plugin: Plugin<never>, sample: unknown): Promise<LeakReport> {
  let unstarted = 0;
  let unstopped = 0;
  let first: Record<string, number> = {};
  for (let round = 0; round < ROUNDS; round += 1) {
    const context = createFakeContext<never>(plugin, { config: withDefaults(plugin.config?.schema, sample) as never });
    const lifecycle = (await plugin.setup(context)) ?? {};
    if (!(await ends(lifecycle.start?.()))) unstarted += 1;
    if (!(await ends(lifecycle.stop?.()))) unstopped += 1;
    context.end();
    // Closed handles leave the process's list a turn of the loop later.
    await sleep(10);
    if (round === 0) first = open();
  }
  const last = open();
  const left = Object.fromEntries(
    Object.entries(last)
      .map(([kind, count]) => [kind, count - (first[kind] ?? 0)] as const)
      .filter(([, more]) => more > 0),
  );
  return { rounds: ROUNDS, left, unstarted, unstopped };
}

async function ends(work: Promise<void> | undefined): Promise<boolean> {
  const ended = Promise.resolve(work).then(
    () => true,
    () => false,
  );
  return withTimeout(ended, PHASE_MS, () => false);
}

/** DNS lookups of the system: they cannot be cancelled, and each ends by itself. */
const LOOK_UP = "GetAddrInfoReqWrap";

function open(): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) if (kind !== LOOK_UP) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}
