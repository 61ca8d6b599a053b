import type { TaskResult } from "@svc/sdk";
import { useCallback, useEffect, useRef, useState } from "react";
import type { ApiError } from "../../data/api-error.ts";
import { useConnection } from "../../data/live.ts";
import { stream } from "../../data/post-stream.ts";
import { request } from "../../data/request.ts";
import { type Resource, useResource } from "../../data/resource.ts";
import { toast } from "../../kit/toast.ts";
import { KIT } from "../../words/kit.ts";
import { LIVE } from "../../words/live-words.ts";
import type { ChatSoFar, ChatStep, ChatTurn, ChatView } from "./live-types.ts";

/** A shown turn: the stored one, with later events. */
export interface ShownTurn extends Omit<ChatTurn, "state"> {
  readonly state: ChatTurn["state"] | "sending" | "unsent";
  /** Growing answer so far. */
  readonly growing?: string;
  readonly steps?: readonly ChatStep[];
  /** Its stream was cut off: the answer comes when the daemon is back. */
  readonly interrupted?: boolean;
}

/** A chat with an agent. */
export interface Chat {
  readonly turns: readonly ShownTurn[];
  readonly stored: Resource<ChatView>;
  /** Tasks that run or wait, the oldest first. */
  readonly open: readonly ShownTurn[];
  say(text: string, replace?: string): void;
  again(turn: ShownTurn): void;
  begin(): void;
}

interface Live {
  text: string;
  steps: ChatStep[];
  result?: TaskResult;
  interrupted?: boolean;
}

const RETRY_MS = 1_500;
const isOpen = ({ state }: ShownTurn): boolean => state === "running" || state === "waiting" || state === "queued";
const CHATS = "svc.chat.";

/**
 * The person's chat with an agent: stored turns, the growing one, and unsent messages. While a session is attached to the agent, each step may report
 * that a message waits for the session, or no longer does.
 */
export function useChat(agent: string, attached: boolean): Chat {
  const [chat, setChat] = useState<string | undefined>(() => sessionStorage.getItem(CHATS + agent) ?? undefined);
  const path = `/api/chat/${encodeURIComponent(agent)}${chat === undefined ? "" : `?chat=${encodeURIComponent(chat)}`}`;
  const stored = useResource<ChatView>(path, {
    refreshOn: ({ type, agentId }) => agentId === agent && (type === "task:completed" || type === "task:started" || (attached && type === "task:step")),
  });
  const [mine, setMine] = useState<readonly ShownTurn[]>([]);
  const [, draw] = useState(0);
  const lives = useRef(new Map<string, Live>());
  const frame = useRef(0);
  const { state: connection } = useConnection();
  const connected = connection === "connected";

  const changed = useCallback(() => {
    if (frame.current !== 0) return;
    // Whatever comes within one frame is drawn once.
    frame.current = requestAnimationFrame(() => {
      frame.current = 0;
      draw((count) => count + 1);
    });
  }, []);
  useEffect(() => () => cancelAnimationFrame(frame.current), []);

  const turns = turnsOf(stored.data?.turns ?? [], mine, lives.current, attached);
  const open = turns.filter(isOpen);
  const following = open.map(({ id }) => id).join(" ");
  const { reload } = stored;
  useEffect(() => {
    if (following === "" || !connected) return undefined;
    const abort = new AbortController();
    for (const task of following.split(" ")) void follow(agent, task, lives.current, changed, abort.signal, reload);
    return () => abort.abort();
  }, [agent, following, connected, changed, reload]);

  const send = async (local: string, text: string, to: string, replace?: string) => {
    try {
      const { taskId } = await request<{ taskId: string }>("POST", `/api/chat/${encodeURIComponent(agent)}`, {
        text,
        chat: to,
        ...(replace === undefined ? {} : { replace }),
      });
      setMine((all) => all.map((turn) => (turn.id === local ? { ...turn, id: taskId, state: "queued" as const } : turn)));
    } catch (error) {
      setMine((all) => all.map((turn) => (turn.id === local ? { ...turn, state: "unsent" as const, error: (error as ApiError).message } : turn)));
    }
  };
  const say = (text: string, replace?: string) => {
    const local = `local-${performance.now()}`;
    const to = chat ?? stored.data?.chat ?? "page";
    setMine((all) => [...all, { id: local, at: Date.now(), said: text, state: "sending" }]);
    void send(local, text, to, replace);
  };
  return {
    turns,
    stored,
    open,
    say,
    again(turn) {
      setMine((all) => all.filter(({ id }) => id !== turn.id));
      say(turn.said);
    },
    begin() {
      const [before, said] = [chat, mine];
      const show = (next: string | undefined, turns: readonly ShownTurn[]) => {
        if (next === undefined) sessionStorage.removeItem(CHATS + agent);
        else sessionStorage.setItem(CHATS + agent, next);
        setMine(turns);
        setChat(next);
      };
      show(`page-${Date.now().toString(36)}`, []);
      toast({ text: LIVE.begun, action: { label: KIT.undo, run: () => show(before, said) } });
    },
  };
}

/** Returns stored turns, then unstored ones of this page; each with its result. */
function turnsOf(stored: readonly ChatTurn[], mine: readonly ShownTurn[], lives: ReadonlyMap<string, Live>, attached: boolean): readonly ShownTurn[] {
  const known = new Set(stored.map(({ id }) => id));
  return [...stored, ...mine.filter(({ id }) => !known.has(id))].map((turn): ShownTurn => {
    const live = lives.get(turn.id);
    if (live === undefined) return turn;
    const { text, steps, result, interrupted } = live;
    if (result === undefined) {
      if (!isOpen(turn)) return turn;
      // The notice to the session is a step, too.
      const begun = text !== "" || (steps.length > 0 && !(attached && turn.state === "waiting"));
      return { ...turn, state: begun ? "running" : turn.state, growing: text, steps, ...(interrupted ? { interrupted } : {}) };
    }
    if (!isOpen(turn)) return { ...turn, steps };
    const state = result.status === "ok" ? "ok" : result.status === "timeout" ? "timed-out" : result.errorKind === "cancelled" ? "cancelled" : "failed";
    return { ...turn, state, answer: result.reply, steps, durationMs: result.durationMs, ...(result.error === undefined ? {} : { error: result.error }) };
  });
}

/** Hears a task to its end; where the line is cut, once more. */
async function follow(agent: string, task: string, lives: Map<string, Live>, changed: () => void, signal: AbortSignal, reload: () => void): Promise<void> {
  while (!signal.aborted && lives.get(task)?.result === undefined) {
    const live: Live = { text: "", steps: [] };
    const onFrame = (name: string, data: unknown) => {
      hear(live, name, data);
      lives.set(task, live);
      changed();
    };
    try {
      await stream("GET", `/api/chat/${encodeURIComponent(agent)}/${encodeURIComponent(task)}/stream`, undefined, { onFrame, signal });
    } catch (error) {
      if (signal.aborted) return;
      if ((error as ApiError).status === 404) {
        lives.set(task, { ...live, result: { ok: false, taskId: task, agent, reply: "", status: "error", error: LIVE.lostTask, durationMs: 0 } });
        changed();
        return;
      }
    }
    if (live.result !== undefined) {
      reload();
      return;
    }
    if (!signal.aborted) {
      lives.set(task, { ...(lives.get(task) ?? live), interrupted: true });
      changed();
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}

function hear(live: Live, name: string, data: unknown): void {
  if (name === "so-far") {
    const { text, steps } = data as ChatSoFar;
    live.text = text;
    live.steps = [...steps];
  } else if (name === "text") live.text += (data as { text: string }).text;
  else if (name === "done") live.result = data as TaskResult;
  else if (name === "interrupted") live.interrupted = true;
  else if (name === "step")
    hearStep(live, (data as { step: { id: string; name: string; phase: "start" | "end"; input?: string; error?: string; durationMs?: number } }).step);
}

function hearStep(
  live: Live,
  { name, phase, input, error, durationMs }: { name: string; phase: "start" | "end"; input?: string; error?: string; durationMs?: number },
): void {
  const begun = live.steps.findLastIndex((step) => step.name === name && step.durationMs === undefined);
  const open = live.steps[begun];
  if (phase === "end" && open !== undefined)
    live.steps[begun] = { ...open, durationMs: durationMs ?? Date.now() - open.at, ...(error === undefined ? {} : { error }) };
  else
    live.steps.push({
      name,
      at: Date.now(),
      ...(input === undefined ? {} : { input }),
      ...(phase === "end" ? { durationMs: durationMs ?? 0 } : {}),
      ...(error === undefined ? {} : { error }),
    });
}
