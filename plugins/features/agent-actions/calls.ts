import { randomUUID } from "node:crypto";
import { type ActionEnvelope, reasonOf, type ToolCall } from "@svc/sdk";
import type { Borrowed, ListedAction } from "./action-tools.ts";
import { fail } from "./call-errors.ts";
import { CALLS, type CallRow } from "./call-row.ts";
import { approved, judge } from "./judge.ts";

/** Time limit of waiting for a call where the agent's program sets none: below the usual tool timeouts of programs. */
const WAIT_MS = 25_000;
/** Of what a program waits, for the answer to come back. */
const SPARE_MS = 2_000;
/** Calls of one agent at a time. */
const MOST_CALLS = 64;
const KEPT_MS = 7 * 86_400_000;
/** Of a kept result, in characters. */
const LONGEST_TEXT = 200_000;
/** Of an input that is kept until its call is over, in characters of JSON. */
const LONGEST_INPUT = 100_000;
/** Ends of turns whose calls are abandoned. */
const ENDED: ReadonlySet<string> = new Set(["cancelled", "timeout"]);

/** A call in this process. */
interface Going {
  readonly row: CallRow;
  readonly end: AbortController;
  readonly text: Promise<string>;
  /** The write of its row, once who called waits no longer. */
  kept?: Promise<void>;
}

/** The calls of all agents. */
export interface Calls {
  /** Answers with the result, or in time with the id of a call that goes on. Throws what the agent is to be told. */
  run(action: ListedAction, input: Record<string, unknown>, call: ToolCall): Promise<string>;
  /** The same for a call that goes on or is over. */
  result(id: string, call: ToolCall): Promise<string>;
  /** Interrupts what goes on: the next start takes it up again, or says that it is lost. */
  stop(): void;
}

/** Keeps running calls in memory, and stores those that outlast their request. */
export function createCalls(ctx: Borrowed): Calls {
  const going = new Map<string, Going>();
  const rows = ctx.store.collection<CallRow>(CALLS, { indexes: ["at"] });

  /** Returns the verified facts about the caller. */
  async function placeOf({ taskId }: ToolCall): Promise<Pick<CallRow, "root" | "conversation">> {
    const trace = taskId === undefined ? undefined : await ctx.traces.get(taskId);
    return trace === undefined ? {} : { root: trace.rootId, conversation: trace.conversation };
  }

  function begin(id: string, action: ListedAction, input: Record<string, unknown>, call: ToolCall, row: CallRow): Going {
    if ([...going.values()].filter(({ row: { agent } }) => agent === call.agent).length >= MOST_CALLS)
      throw fail("SVC_AGENT_CALLS_MANY", { agent: call.agent, count: MOST_CALLS });
    const end = new AbortController();
    const one: Going = { row, end, text: perform(id, action, input, call, end.signal) };
    going.set(id, one);
    const over = (state: "ok" | "error") => async (text: unknown) => {
      end.abort();
      // Asked for until its end is stored: else it would be begun once more.
      await one.kept;
      if (one.kept !== undefined && !stopping) await keep(id, { ...without(row), state, text: cut(state === "ok" ? String(text) : reasonOf(text)) });
      going.delete(id);
    };
    void one.text.then(over("ok"), over("error"));
    if (call.taskId !== undefined) void endWith(call.taskId, end);
    return one;
  }

  async function perform(id: string, action: ListedAction, input: Record<string, unknown>, call: ToolCall, signal: AbortSignal): Promise<string> {
    const { agent, taskId, session, step, chain } = call;
    const asks = judge(action, call, ctx.services.get("approvals")) === "ask";
    if (asks) await approved(ctx, action, input, call, signal);
    return textOf(
      await ctx.actions.run(action.name, input, {
        door: "agent",
        agent,
        key: `agent-call:${id}`,
        signal,
        ...(asks ? { approved: true } : {}),
        ...(call.autonomy === undefined ? {} : { autonomy: call.autonomy }),
        ...(taskId === undefined ? {} : { taskId }),
        ...(session === undefined ? {} : { session }),
        ...(step === undefined ? {} : { step }),
        ...(chain === undefined ? {} : { chain }),
      }),
    );
  }

  /** A turn that is cancelled or runs out of time wants no results. */
  async function endWith(taskId: string, end: AbortController): Promise<void> {
    const result = await ctx.tasks.result(taskId, end.signal).catch(() => undefined);
    if (result?.errorKind !== undefined && ENDED.has(result.errorKind)) end.abort(new Error("The turn that called it was ended."));
  }

  /** The result within the time that the caller waits; the id of the call from then on. */
  async function within(id: string, one: Going, { signal, limitMs }: ToolCall): Promise<string> {
    // A caller that disconnects before the call is stored abandons it.
    const left = () => one.kept ?? one.end.abort(signal.reason);
    signal.addEventListener("abort", left, { once: true });
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), limitMs === undefined ? WAIT_MS : Math.max(limitMs - SPARE_MS, limitMs / 2));
    });
    try {
      const text = await Promise.race([one.text, late]);
      if (text !== undefined) return text;
      one.kept ??= keep(id, one.row);
      await one.kept;
      return running(id);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", left);
    }
  }

  async function keep(id: string, row: CallRow): Promise<void> {
    try {
      await rows.put(id, row);
      for (const { key } of await rows.list({ by: "at", to: Date.now() - KEPT_MS, limit: 100 })) await rows.delete(key);
    } catch (error) {
      ctx.log.error({ err: error, call: id }, "the result of an action could not be kept");
    }
  }

  let stopping = false;
  return {
    async run(action, input, call) {
      const id = `call_${randomUUID()}`;
      const kept = action.repeatable === true && JSON.stringify(input).length <= LONGEST_INPUT ? { input } : {};
      const row: CallRow = { agent: call.agent, action: action.name, ...(await placeOf(call)), at: Date.now(), state: "running", ...kept };
      // A refusal comes at once, and begins nothing.
      judge(action, call, ctx.services.get("approvals"));
      return within(id, begin(id, action, input, call, row), call);
    },
    async result(id, call) {
      const one = going.get(id);
      const row = one?.row ?? (await rows.get(id))?.value;
      const place = await placeOf(call);
      const own = (key: "root" | "conversation") => row?.[key] === place[key] && place[key] !== undefined;
      const mine = row?.agent === call.agent && (row.root === undefined ? call.taskId === undefined : own("root") || own("conversation"));
      if (row === undefined || !mine) throw fail("SVC_AGENT_CALL_UNKNOWN", { call: id });
      if (one !== undefined) return within(id, one, call);
      if (row.state === "ok") return row.text ?? "";
      if (row.state === "error") throw fail("SVC_AGENT_ACTION_FAILED", { reason: row.text });
      // Of a run before this one.
      const action = ctx.actions.list().find(({ name }) => name === row.action);
      if (row.input === undefined || action === undefined) throw fail("SVC_AGENT_CALL_LOST", { action: row.action });
      const again = going.get(id) ?? begin(id, action, row.input as Record<string, unknown>, call, row);
      again.kept ??= Promise.resolve();
      return within(id, again, call);
    },
    stop() {
      stopping = true;
      for (const { end } of going.values()) end.abort(new Error("The daemon stops."));
    },
  };
}

const running = (task: string): string =>
  JSON.stringify({ task, status: "running", next: "It goes on. Ask for its result with svc_task_result, or do something else meanwhile." });

const without = ({ input: _, ...row }: CallRow): CallRow => row;

const cut = (text: string): string =>
  text.length <= LONGEST_TEXT ? text : `${text.slice(0, LONGEST_TEXT).toWellFormed()}... (cut; ${text.length} characters in all)`;

function textOf({ status, output, error }: ActionEnvelope): string {
  if (status === "error") throw fail("SVC_AGENT_ACTION_FAILED", { reason: error ?? "it failed" });
  return typeof output === "string" ? output : (JSON.stringify(output) ?? "");
}
