import type { PluginContext, SvcError, TierEvent, Turn } from "@svc/sdk";
import type { Server } from "./server.ts";
import type { Tool } from "./tool.ts";

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
  /** Those that cannot be used, each as a step with its error (FAULT-74). */
  readonly missing: readonly TierEvent[];
  close(): Promise<void>;
}

const FILE = ".mcp.json";
const MAX_BYTES = 1_048_576;

/** Opens the servers of the workspace's `.mcp.json` and the agent's `mcp`, side by side. One that fails leaves the others be. */
export async function openServers(ctx: Pick<PluginContext, "files" | "spawn">, turn: Turn, limitMs: number, signal: AbortSignal): Promise<Servers> {
  const missing: TierEvent[] = [];
  const began = Date.now();
  const miss = (name: string, error: unknown) =>
    missing.push({
      type: "step",
      step: { id: name, name, phase: "end", error: error instanceof Error ? error.message : String(error), durationMs: Date.now() - began },
    });
  let written: Readonly<Record<string, ServerEntry>> = {};
  try {
    written = await readWorkspace(ctx, turn.agent.workspace);
  } catch (error) {
    miss(FILE, error);
  }
  let open: Server[] = [];
  const entries = Object.entries({ ...(turn.agent.settings.mcp as Record<string, ServerEntry> | undefined), ...written });
  if (entries.length > 0) {
    const { openServer } = await import("./server.js");
    const opened = await Promise.all(
      entries.map(([name, entry]) => openServer(ctx, turn, name, entry, limitMs, signal).catch((error) => void miss(`mcp__${name}`, error))),
    );
    open = opened.filter((server) => server !== undefined);
  }
  return {
    tools: open.flatMap(({ tools }) => tools),
    missing,
    async close() {
      await Promise.all(open.map((server) => server.close()));
    },
  };
}

/** What was changed by hand in the file wins over the configuration it was written from. */
async function readWorkspace({ files }: Pick<PluginContext, "files">, workspace: string): Promise<Record<string, ServerEntry>> {
  let text: string;
  try {
    text = Buffer.from(await files.under(workspace).read(FILE, MAX_BYTES)).toString("utf8");
  } catch (error) {
    if ((error as SvcError).code === "SVC_FILE_MISSING") return {};
    throw error;
  }
  const { mcpServers = {} } = JSON.parse(text) as { mcpServers?: Record<string, ServerEntry> };
  return mcpServers;
}
