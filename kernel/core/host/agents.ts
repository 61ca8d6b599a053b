import { resolve } from "node:path";
import type { Agent, Agents, Turn } from "@svc/sdk";
import { frozen } from "../../base/frozen.ts";
import type { QueueMode } from "../flow/work.ts";

/** One agent's configuration as the kernel uses it. Units are in the names. */
export interface AgentSettings {
  readonly agent: Agent;
  readonly maxConcurrent: number;
  readonly maxExecutionMinutes: number;
  readonly preSpawnTimeoutSec: number;
  readonly drainTimeoutSeconds: number | undefined;
  readonly queueMode: QueueMode;
  /** The agent's own, else the configuration's (CFG-17: looked up when used). */
  readonly contextStrategy: Turn["strategy"];
  readonly intents: readonly string[];
  readonly maxDelegationDepth: number;
  readonly toolUseRequired: readonly string[];
  /** Why it cannot run: a variable of its configuration is not set. */
  readonly unusable?: string;
}

/** The agents of the live configuration. */
export interface AgentTable extends Agents {
  /** Of an agent on another node: the defaults. */
  settings(id: string, node?: string): AgentSettings | undefined;
  /** The agent addressed by a handle: its id or one of its `mentions`, without case and `@`. */
  byMention(handle: string): Agent | undefined;
}

/** Reads `agents` of a checked configuration. Relative workspaces start at `folder`. */
export function readAgents(config: Readonly<Record<string, unknown>>, folder: string, unusable: ReadonlyMap<string, string> = new Map()): AgentTable {
  const table = new Map<string, AgentSettings>();
  const handles = new Map<string, Agent>();
  const inherited = (config.session as { contextStrategy?: Turn["strategy"] } | undefined)?.contextStrategy ?? "";
  for (const [id, raw] of Object.entries((config.agents ?? {}) as Record<string, Record<string, unknown>>)) {
    const reason = unusable.get(id);
    const settings = { ...readAgent(id, raw, folder, inherited), ...(reason === undefined ? {} : { unusable: reason }) };
    table.set(id, settings);
    for (const handle of [id, ...settings.agent.mentions]) handles.set(plain(handle), settings.agent);
  }
  const list = frozen([...table.values()].map(({ agent }) => agent));
  return {
    get: (id) => table.get(id)?.agent,
    list: () => list,
    settings: (id, node) => (node === undefined ? table.get(id) : readAgent(id, {}, folder, inherited)),
    byMention: (handle) => handles.get(plain(handle)),
  };
}

/** Normalizes a handle (NFKC, invisible characters removed), so that a look-alike of the same letters is the same handle. */
const plain = (handle: string) =>
  handle
    .normalize("NFKC")
    .replace(/[\p{Cf}\p{M}]/gu, "")
    .replace(/^@/, "")
    .toLowerCase();

function readAgent(id: string, raw: Record<string, unknown>, folder: string, inherited: Turn["strategy"]): AgentSettings {
  const text = (key: string) => raw[key] as string | undefined;
  // An entry left empty by an unset variable stays: it matches nothing, while a list without it would mean "any".
  const list = (key: string) => (raw[key] as string[] | undefined) ?? [];
  const agent: Agent = {
    id,
    name: text("name") ?? id,
    workspace: resolve(folder, text("workspace") ?? "."),
    tier: text("tier") ?? "",
    ...(text("model") ? { model: text("model") as string } : {}),
    ...(text("systemPrompt") ? { systemPrompt: text("systemPrompt") as string } : {}),
    mentions: list("mentions").filter((handle) => handle !== ""),
    access: raw.access === "public" ? "public" : "private",
    settings: raw,
  };
  return {
    agent,
    maxConcurrent: (raw.maxConcurrent as number | undefined) ?? 1,
    maxExecutionMinutes: (raw.maxExecutionMinutes as number | undefined) ?? 20,
    preSpawnTimeoutSec: (raw.preSpawnTimeoutSec as number | undefined) ?? 300,
    drainTimeoutSeconds: raw.drainTimeoutSeconds as number | undefined,
    queueMode: (raw.queueMode as QueueMode | undefined) ?? "collect",
    contextStrategy: (raw.contextStrategy as Turn["strategy"] | undefined) ?? inherited,
    intents: list("intents"),
    maxDelegationDepth: (raw.maxDelegationDepth as number | undefined) ?? 5,
    toolUseRequired: list("toolUseRequired"),
  };
}
