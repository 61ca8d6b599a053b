import type { Target, TaskResult, TurnOptions } from "./messages.ts";
import type { Trace } from "./traces.ts";

/** Service `peers`: the other daemons of the mesh, as `mesh.peers` names them. */
export interface Peers {
  /** All peers, in the order of the configuration, each with its state at the last poll. */
  list(): readonly KnownPeer[];
  /**
   * Sends a request to a peer's daemon with the shared token, and resolves with the answer, whatever its status. Throws `SVC_MESH_PEER` (404) for a
   * name that is not configured, and the error of `fetch` for an unreachable peer.
   */
  request(peer: string, request: PeerRequest): Promise<PeerAnswer>;
  /**
   * Runs a task on an agent of a peer: it is stored here and runs there once, over restarts of both. A failed run is a result. Throws `SVC_MESH_PEER`
   * (404) for a name that is not configured, and `SVC_TASK_DUPLICATE` for a key that was used before.
   */
  run(peer: string, task: PeerRun): Promise<TaskResult>;
  /**
   * As `run`, without waiting: resolves once the task is stored. Its result, answer or failure, is a new message to `answerTo.agent` in that
   * conversation, once, over restarts. The same key twice is one task and one message.
   */
  send(peer: string, task: Omit<PeerRun, "signal">, answerTo: PeerAnswerTo): Promise<{ readonly taskId: string }>;
}

/** A peer, as far as this daemon knows it. */
export interface KnownPeer {
  readonly name: string;
  readonly url: string;
  /** Absent or `unknown`: not contacted yet. `refused`: the peer rejected our token. */
  readonly state?: "unknown" | "up" | "down" | "refused";
  /** The ids of its agents when it was up last: foreign words. */
  readonly agents?: readonly string[];
}

/** The conversation into which a peer's answer comes, and the agent that reads it there. */
export interface PeerAnswerTo extends Omit<Target, "replyTo"> {
  readonly agent: string;
}

/** The conversation of a task, for an answer to the agent that works on it. */
export const answerToOf = ({ agent, channel, chat, account, thread }: Trace): PeerAnswerTo => ({
  agent,
  channel,
  chat,
  ...(account === undefined ? {} : { account }),
  ...(thread === undefined ? {} : { thread }),
});

/** Work for an agent of a peer. */
export interface PeerRun {
  readonly agent: string;
  readonly message: string;
  /** The same key twice is one task. */
  readonly key?: string;
  readonly options?: TurnOptions;
  readonly signal?: AbortSignal;
}

/** A request to a peer. */
export interface PeerRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** From the root of the peer's daemon: `/status`. */
  readonly path: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Default 30,000. */
  readonly timeoutMs?: number;
}

/** Answer of a peer. */
export interface PeerAnswer {
  readonly status: number;
  /** Parsed JSON; undefined if the body is not JSON. */
  readonly body: unknown;
}
