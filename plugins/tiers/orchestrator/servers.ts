import { codeOf, type PluginContext, reasonOf, type TierEvent, type Turn } from "@svc/sdk";
import type { Tool } from "@svc/sdk/tool-loop";
import { closeAll, type ServerPool } from "./server-pool.ts";

/** An entry of `mcpServers` in `.mcp.json`, or of `agents.<id>.mcp`. */
export interface ServerEntry {
  readonly command?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The tool servers of one turn. */
export interface Servers {
  readonly tools: readonly Tool[];
  /** Unusable servers, each as a step with its error (FAULT-74). */
  readonly missing: readonly TierEvent[];
  /** Ends them, or keeps them ready for the next turn. */
  release(keep: boolean): Promise<void>;
}

const FILE = ".mcp.json";
const MAX_BYTES = 1_048_576;

/**
 * The servers of the workspace's `.mcp.json` and the agent's `mcp`: those that are ready, and the others opened side by side. One that
 * fails leaves the others be.
 */
export async function openServers(
  ctx: Pick<PluginContext, "files" | "spawn">,
  pool: ServerPool,
  turn: Turn,
  limitMs: number,
  signal: AbortSignal,
): Promise<Servers> {
  const missing: TierEvent[] = [];
  const began = Date.now();
  const miss = (name: string, error: unknown) =>
    missing.push({
      type: "step",
      step: { id: name, name, phase: "end", error: reasonOf(error), durationMs: Date.now() - began },
    });
  let written: Readonly<Record<string, ServerEntry>> = {};
  try {
    written = await readWorkspace(ctx, turn.agent.workspace);
  } catch (error) {
    miss(FILE, error);
  }
  const entries = Object.entries({ ...(turn.agent.settings.mcp as Record<string, ServerEntry> | undefined), ...written });
  const configuration = JSON.stringify([turn.agent.workspace, entries]);
  const set = pool.take(turn.agent.id, configuration);
  if (entries.length > 0) {
    const { openServer } = await import("./server.js");
    const open = async ([name, entry]: [string, ServerEntry]) => {
      const ready = set.get(name);
      if (ready === undefined) set.set(name, await openServer(ctx, turn, name, entry, limitMs, signal));
      else await ready.refresh(limitMs);
    };
    await Promise.all(
      entries.map((entry) =>
        open(entry).catch((error) => {
          void set.get(entry[0])?.close();
          set.delete(entry[0]);
          miss(`mcp__${entry[0]}`, error);
        }),
      ),
    );
  }
  return {
    // In the order of the configuration, whichever was ready first: vendors cache a prefix that stays the same from turn to turn.
    tools: entries.flatMap(([name]) => set.get(name)?.tools ?? []),
    missing,
    async release(keep) {
      if (keep) pool.keep(turn.agent.id, configuration, set);
      else await closeAll(set);
    },
  };
}

/** Manual changes in the file win over the configuration it was written from. */
async function readWorkspace({ files }: Pick<PluginContext, "files">, workspace: string): Promise<Record<string, ServerEntry>> {
  let text: string;
  try {
    text = Buffer.from(await files.under(workspace).read(FILE, MAX_BYTES)).toString("utf8");
  } catch (error) {
    if (codeOf(error) === "SVC_FILE_MISSING") return {};
    throw error;
  }
  const { mcpServers = {} } = JSON.parse(text) as { mcpServers?: Record<string, ServerEntry> };
  return mcpServers;
}
