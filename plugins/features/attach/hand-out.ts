import { svcError } from "@svc/sdk";
import type { Coordinator } from "./coordinator.ts";
import { shortened } from "./hook-words.ts";
import { endOf, type ItemState, MOST_DRAINED } from "./item.ts";
import type { Attached, Mode } from "./sessions.ts";

/** Messages, as a session gets them. Times in Unix milliseconds. */
export interface HandedOut {
  readonly items: readonly {
    readonly id: string;
    readonly from: string;
    readonly channel: string;
    readonly text: string;
    readonly cut: boolean;
    readonly answerBy: number;
  }[];
  /** Number of messages that still wait. */
  readonly left: number;
}

/** The next messages for the session. Throws `SVC_ATTACH_UNBOUND`. */
export async function handOut(coordinator: Coordinator, process: Attached, max = MOST_DRAINED): Promise<HandedOut> {
  if (process.agent === undefined)
    throw svcError("SVC_ATTACH_UNBOUND", "Nothing is bound: this session wears no svc agent. A person binds one with: svc attach <agent>", { status: 409 });
  const items = await coordinator.drain(process, max);
  const { length: left } = await coordinator.inbox.queued(process.agent);
  return {
    items: items.map(({ id, from, channel, text, answerBy = 0 }) => ({ id, from, channel, ...shortened(text), answerBy })),
    left,
  };
}

/** A session's settlement of a message: an answer, or a refusal with its reason. */
export interface Settlement {
  readonly id: string;
  readonly text?: string | undefined;
  readonly refuse?: string | undefined;
}

/**
 * Ends a message that the session was handed. Throws `SVC_ATTACH_ANSWER` (400) for neither or both of answer and refusal, `SVC_ATTACH_ITEM`
 * (404) for an unknown one, and `SVC_ATTACH_LATE` (409) for one that has ended, saying how, or that this session was not handed.
 */
export async function settle(coordinator: Coordinator, { key }: Attached, { id, text, refuse }: Settlement): Promise<ItemState> {
  if ((text === undefined) === (refuse === undefined))
    throw svcError("SVC_ATTACH_ANSWER", "Give either 'text', the answer, or 'refuse', the reason why there is none.", { status: 400 });
  const settled = text === undefined ? await coordinator.inbox.refuse(id, key, refuse as string) : await coordinator.inbox.answer(id, key, text);
  if (settled !== undefined) return settled.state;
  // Its time may be over without anybody having looked.
  await coordinator.inbox.expire(id);
  const found = await coordinator.inbox.get(id);
  if (found === undefined) throw svcError("SVC_ATTACH_ITEM", `There is no message '${id}'; svc_attach_next hands out what waits.`, { status: 404 });
  const late = (reason: string) => svcError("SVC_ATTACH_LATE", `${reason}.`, { status: 409, state: found.state });
  if (found.state === "queued") throw late(`${id} was not handed out yet: take it with svc_attach_next`);
  throw late(found.state === "drained" ? `${id} was handed to another session` : endOf(found));
}

/** A session as `GET /attach/sessions` shows it. */
export interface ShownSession {
  readonly session: string;
  readonly pid?: number;
  readonly program: string;
  readonly cwd: string;
  readonly agent?: string;
  readonly mode?: Mode;
  /** Messages that wait for it. */
  readonly depth: number;
  /** A message can begin a turn of it by itself. */
  readonly wakeable: boolean;
  readonly permissionMode?: string;
  readonly lastEvent: number;
}

/** All sessions that have called a hook and are there still. */
export async function listSessions(coordinator: Coordinator): Promise<readonly ShownSession[]> {
  await coordinator.look();
  const all = await coordinator.sessions.list();
  return Promise.all(
    all.map(async ({ key, session, pid, program, cwd, agent, mode, permissionMode, lastEvent }) => ({
      session,
      ...(pid === undefined ? {} : { pid }),
      program,
      cwd,
      ...(agent === undefined ? {} : { agent }),
      ...(mode === undefined ? {} : { mode }),
      depth: agent === undefined ? 0 : (await coordinator.inbox.queued(agent)).length,
      wakeable: mode === "auto" && coordinator.waiters.has(key),
      ...(permissionMode === undefined ? {} : { permissionMode }),
      lastEvent,
    })),
  );
}
