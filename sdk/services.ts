import type { Approvals } from "./approvals.ts";
import type { Attachments } from "./attachments.ts";
import type { CallMedia } from "./call-media.ts";
import type { Callables } from "./callables.ts";
import type { Forges } from "./forge.ts";
import type { Models } from "./models.ts";
import type { Notifier } from "./notifier.ts";
import type { Peers } from "./peers.ts";
import type { People } from "./people.ts";
import type { Provided, SharedKind } from "./provided.ts";
import type { Speech, Transcription } from "./speech.ts";
import type { Workflows } from "./workflows.ts";

/**
 * Services between plugins: name and type of each. Names of one word are reserved for the sdk, so that independent plugins mean the same by them. Any
 * other name begins with a word of its owner and a dot; declaration merging adds its type:
 *
 * ```ts
 * declare module "@svc/sdk" {
 *   interface ServiceTypes {
 *     "acme.notes": { add(text: string): Promise<void> };
 *   }
 * }
 * ```
 */
export interface ServiceTypes {
  /** Implementation behind `ctx.models`. */
  models: Models;
  /** Questions to the people who run the daemon. */
  approvals: Approvals;
  /** Agents that a person's session wears. */
  attachments: Attachments;
  /** Notices to them. */
  notifier: Notifier;
  /** The actions that agents may call. */
  callables: Callables;
  /** The other daemons of the mesh. */
  peers: Peers;
  /** People: roles, superiors, working time, projects, and owners of addresses. */
  people: People;
  /** Processes of agents, actions and people. */
  workflows: Workflows;
  /** Text to speech on this machine. */
  speech: Speech;
  /** Speech into words. */
  transcription: Transcription;
  /** The far end of calls. */
  "call-media": CallMedia;
  /** Code forges, to the plugins that speak their APIs. */
  forges: Forges;
  /** Problems of a running plugin: the daemon calls it for `/health`, `svc daemon status` and `svc node list`. */
  [name: `${string}.health`]: { problems(): readonly string[] };
  [name: `${string}.${string}`]: object;
}

/** A name under which something may be served. */
export type ServiceName = keyof ServiceTypes;

/** A service, as the host keeps it. */
export interface ProvidedService {
  readonly name: string;
  readonly api: object;
}

/** Capability `services`: services of other plugins. Bound late: call `get` when the service is needed, not in `setup`. */
export interface Services {
  /**
   * Returns the service currently provided under the name; undefined while no plugin provides it. The answer is a proxy that may be kept: it forwards
   * to the service, and throws `SVC_SERVICE_GONE`, with both plugins, once its plugin was stopped or set up anew; a call in progress then rejects
   * with it. An error without a `code` counts against the providing plugin.
   */
  get<N extends ServiceName>(name: N): ServiceTypes[N] | undefined;
  /** All boards or panels that plugins provide now, each bound to its plugin as with `get`. */
  list<K extends SharedKind>(kind: K): readonly Provided[K][];
}
