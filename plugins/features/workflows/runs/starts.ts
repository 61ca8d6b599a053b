import { createHash, randomBytes } from "node:crypto";
import { codeOf, type Op, type PluginContext, put, type WorkflowStart, type WorkflowStarted } from "@svc/sdk";
import type { Definition, RunHead } from "../engine/types.ts";
import type { Host } from "./host.ts";
import { checkInput } from "./input-schema.ts";
import type { DefinitionPort } from "./ports.ts";
import { fail } from "./run-errors.ts";
import { isOver, KEYS, type KeyRow, type RunRooms, type RunRow } from "./run-rows.ts";

/** Fields that a sub-process inherits from its parent. */
export interface ParentStep {
  readonly runId: string;
  readonly step: string;
  readonly rootId: string;
  readonly depth: number;
}

/** Options of a start beyond those of the service's callers. */
export interface StartMore {
  /** The caller is an entry of its own: its events have a root of their own. */
  readonly root?: boolean;
  readonly parent?: ParentStep;
  /** Digest of what is asked: the same start key with another one is refused. */
  readonly digest?: string;
}

const MINUTE_MS = 60_000;
const TIMEOUT_MINUTES = 10_080;
const KEY_CHARS = 512;
/** So often a start is decided anew because another one was first. */
const TRIES = 5;

/** A new id of a run: in the order of their starts, and of no meaning to others. */
export const newRunId = (at = Date.now()): string => `run_${at.toString(36).padStart(9, "0")}${randomBytes(8).toString("hex")}`;

const keyOf = (...parts: readonly string[]) => createHash("sha256").update(parts.join("\0")).digest("hex").slice(0, 40);

/** The row that makes a start key of a workflow unique. */
export const startKeyOf = (workflow: string, key: string): string => keyOf("start", workflow, key);
/** The row that says which run an entry's reference was last used for. */
export const entryKeyOf = (workflow: string, ref: string): string => keyOf("entry", workflow, ref);

/** Starts runs: checked, once for each start key, and not beside one for the same reference. */
export class Starts {
  readonly #ctx: Pick<PluginContext, "events">;
  readonly #host: Host;
  readonly #rooms: RunRooms;
  readonly #definitions: DefinitionPort;

  constructor(ctx: Pick<PluginContext, "events">, host: Host, rooms: RunRooms, definitions: DefinitionPort) {
    this.#ctx = ctx;
    this.#host = host;
    this.#rooms = rooms;
    this.#definitions = definitions;
  }

  async start(id: string, start: WorkflowStart, { root = false, parent, digest }: StartMore = {}): Promise<WorkflowStarted> {
    const { startKey, entry } = start;
    for (const [what, text] of [
      ["The start key", startKey],
      ["The reference of the entry", entry.ref],
    ] as const)
      if (text !== undefined && (text === "" || text.length > KEY_CHARS))
        throw fail("SVC_WORKFLOW_KEY", { what, field: what === "The start key" ? "startKey" : "entryRef" });
    const known = await this.#known(id, startKey, digest);
    if (known !== undefined) return known;
    const loaded = await this.#definitions.get(id);
    if (loaded === undefined) throw fail("SVC_WORKFLOW_UNKNOWN", { id });
    if (loaded.broken !== undefined) throw fail("SVC_WORKFLOW_BROKEN", { id, reason: loaded.broken });
    const { definition, hash } = loaded;
    const input = checkInput(id, schemaOf(definition), start.input);
    const current = root ? undefined : this.#ctx.events.current();
    const rootId = parent?.rootId ?? current?.rootId ?? this.#newRoot();
    const run = () => this.#create(definition, hash, { ...start, input }, rootId, { parent, digest });
    return current?.rootId === rootId ? run() : this.#ctx.events.within({ rootId }, run);
  }

  async #create(
    definition: Definition,
    hash: string,
    start: WorkflowStart,
    rootId: string,
    { parent, digest }: { readonly parent: ParentStep | undefined; readonly digest: string | undefined },
  ): Promise<WorkflowStarted> {
    const { id } = definition;
    const { startKey, entry, force = false } = start;
    const at = Date.now();
    const head: RunHead = {
      id: newRunId(at),
      workflow: id,
      hash,
      rootId,
      depth: parent?.depth ?? 0,
      entry,
      input: start.input,
      timeoutAt: at + minutesOf(definition, start.timeoutMinutes) * MINUTE_MS,
      ...(startKey === undefined ? {} : { startKey }),
      ...(parent === undefined ? {} : { parentRunId: parent.runId, parentStep: parent.step }),
    };
    for (let tried = 1; ; tried += 1) {
      const row: KeyRow = { runId: head.id, ...(digest === undefined ? {} : { digest }) };
      const ops: Op[] = startKey === undefined ? [] : [put(KEYS, startKeyOf(id, startKey), row, "absent")];
      // A sub-process is found by its start key; its step may be tried again.
      if (entry.ref !== undefined && parent === undefined) ops.push(await this.#claimEntry(id, entry.ref, head.id, force));
      try {
        const { status } = await this.#host.create({ definition, head, ops });
        return { runId: head.id, workflowId: id, status, hash };
      } catch (error) {
        if (codeOf(error) !== "SVC_STORE_CONFLICT" || tried === TRIES) throw error;
        const known = await this.#known(id, startKey, digest);
        if (known !== undefined) return known;
      }
    }
  }

  /** The write that makes this run the one for the reference. Throws `SVC_WORKFLOW_IN_FLIGHT` while another one is. */
  async #claimEntry(id: string, ref: string, runId: string, force: boolean): Promise<Op> {
    const key = entryKeyOf(id, ref);
    const before = await this.#rooms.keys.get(key);
    if (before !== undefined && !force) {
      const other = await this.#rooms.runs.get(before.value.runId);
      if (other !== undefined && !isOver(other.value.status)) throw fail("SVC_WORKFLOW_IN_FLIGHT", { id, ref, runId: before.value.runId });
    }
    return put(KEYS, key, { runId } satisfies KeyRow, before?.version ?? "absent");
  }

  async #known(id: string, startKey: string | undefined, digest: string | undefined): Promise<WorkflowStarted | undefined> {
    if (startKey === undefined) return undefined;
    const key = await this.#rooms.keys.get(startKeyOf(id, startKey));
    const row = key === undefined ? undefined : (await this.#rooms.runs.get(key.value.runId))?.value;
    if (row === undefined) return undefined;
    const before = key?.value.digest;
    if (digest !== undefined && before !== undefined && digest !== before) throw fail("SVC_WORKFLOW_KEY_REUSED", { id, runId: row.state.id });
    return { ...startedOf(row), duplicate: true };
  }

  #newRoot(): string {
    return this.#ctx.events.root(() => this.#ctx.events.current()?.rootId) ?? newRunId();
  }
}

/** Returns the answer to the start of a run. */
export const startedOf = ({ state: { id }, workflow, status, hash }: RunRow): WorkflowStarted => ({ runId: id, workflowId: workflow, status, hash });

/** Returns the input fields of a definition's trigger. */
export function schemaOf(definition: Definition) {
  const trigger = definition.nodes.find(({ kind }) => kind === "trigger");
  return trigger?.kind === "trigger" ? (trigger.inputSchema ?? {}) : {};
}

function minutesOf({ timeoutMinutes = TIMEOUT_MINUTES }: Definition, asked: number | undefined): number {
  return asked === undefined || !(asked > 0) ? timeoutMinutes : Math.min(asked, timeoutMinutes);
}
