import type { Target, TaskResult, TurnOptions } from "./messages.ts";
import type { Trace } from "./traces.ts";

/** Service `peers`: the other daemons of the mesh, as `mesh.peers` names them. */
export interface Peers {
  /** All of them, in the order of the configuration, each as it was when it was asked last. */
  list(): readonly KnownPeer[];
  /**
   * Asks a peer's daemon with the token that both share, and resolves with what it says, whatever the status. Throws `SVC_MESH_PEER` (404)
   * for a name that is not configured, and what `fetch` throws for a peer that cannot be reached.
   */
  request(peer: string, request: PeerRequest): Promise<PeerAnswer>;
  /**
   * Has an agent of a peer work: a task that is stored here and run there once, over restarts of both. A run that fails is a result. Throws
   * `SVC_MESH_PEER` (404) for a name that is not configured, and `SVC_TASK_DUPLICATE` for a key that was used before.
   */
  run(peer: string, task: PeerRun): Promise<TaskResult>;
  /**
   * The same for who cannot wait: resolves once the task is stored, and what comes of it, answer or failure, is a new message to
   * `answerTo.agent` in that conversation, once, over restarts. The same key twice is one task and one message.
   */
  send(peer: string, task: Omit<PeerRun, "signal">, answerTo: PeerAnswerTo): Promise<{ readonly taskId: string }>;
}

/** A peer, as far as this daemon knows it. */
export interface KnownPeer {
  readonly name: string;
  readonly url: string;
  /** Absent or `unknown`: it was not asked yet. `refused`: it does not know our token. */
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

/** What a peer answered. */
export interface PeerAnswer {
  readonly status: number;
  /** Its JSON; undefined where it is none. */
  readonly body: unknown;
}
