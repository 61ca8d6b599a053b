import { put } from "@svc/sdk";
import { firstTaskIdAt, TRACE_INDEXES, TRACES } from "../../kernel/core/flow/record.ts";
import { openStore, type SqliteStore } from "./store.ts";

/** A task as it is stored, as far as a test says. */
export interface SeededTask {
  readonly at: number;
  readonly agent?: string;
  readonly status?: "ok" | "error" | "timeout";
  readonly errorKind?: string;
  readonly error?: string;
  readonly text?: string;
  readonly channel?: string;
  readonly chat?: string;
  readonly took?: number;
  readonly response?: string;
  readonly usage?: object;
  readonly steps?: readonly object[];
  readonly more?: object;
}

const BATCH = 1_000;

/** The id under which task `n` of a seeding is stored. */
export const seededId = (at: number, n: number): string => `${firstTaskIdAt(at)}000${n.toString(36).padStart(5, "0")}`;

/** Stores so many tasks as an earlier run of the daemon has left them; `task` says what the n-th is, the oldest first. */
export async function seedTraces(store: SqliteStore, count: number, task: (n: number) => SeededTask): Promise<string[]> {
  const core = store.scope("core");
  core.collection(TRACES, { indexes: TRACE_INDEXES });
  const ids: string[] = [];
  for (let from = 0; from < count; from += BATCH) {
    const ops = Array.from({ length: Math.min(BATCH, count - from) }, (_, offset) => {
      const seeded = task(from + offset);
      const id = seededId(seeded.at, from + offset);
      ids.push(id);
      return put(TRACES, id, recordOf(id, seeded));
    });
    await core.note(ops);
  }
  return ids;
}

/** The same into the data folder of a daemon that is not running. */
export async function seedFolder(file: string, count: number, task: (n: number) => SeededTask): Promise<string[]> {
  const store = openStore({ file });
  try {
    return await seedTraces(store, count, task);
  } finally {
    await store.close();
  }
}

function recordOf(id: string, task: SeededTask): object {
  const {
    at,
    agent = "foo",
    status = "ok",
    text = "a question",
    channel = "app",
    chat = "1",
    took = 2_000,
    response,
    usage,
    steps = [],
    error,
    errorKind,
  } = task;
  return {
    id,
    inbound: { id, rootId: `root_${id}`, entry: "task", channel, chat, text, at, agent },
    status,
    agent,
    conversation: `${agent}:${channel}::${chat}`,
    route: { agent, conversation: `${agent}:${channel}::${chat}`, reply: { channel: "http", chat } },
    attempts: 1,
    startedAt: at,
    endedAt: at + took,
    steps,
    ...(response === undefined ? {} : { response }),
    ...(usage === undefined ? {} : { usage }),
    ...(error === undefined ? {} : { error }),
    ...(errorKind === undefined ? {} : { errorKind }),
    ...task.more,
  };
}
