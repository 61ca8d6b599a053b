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
 * What plugins serve each other, by name, with the type of what is served. Names of one word are the sdk's, so that plugins which know
 * nothing of each other mean the same by them. A name of somebody else begins with a word of the owner and a dot; its type is given by
 * declaration merging:
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
  /** What `ctx.models` asks. */
  models: Models;
  /** Questions to the people who run the daemon. */
  approvals: Approvals;
  /** Agents that a person's session wears. */
  attachments: Attachments;
  /** Notices to them. */
  notifier: Notifier;
  /** Which actions agents may call. */
  callables: Callables;
  /** The other daemons of the mesh. */
  peers: Peers;
  /** Who is who: roles, superiors, working time, projects, and whom an address belongs to. */
  people: People;
  /** Processes of agents, actions and people. */
  workflows: Workflows;
  /** What is said aloud on this machine. */
  speech: Speech;
  /** Speech into words. */
  transcription: Transcription;
  /** The far end of calls. */
  "call-media": CallMedia;
  /** Code forges, to the plugins that speak their APIs. */
  forges: Forges;
  /** What is not well with a plugin that runs: asked by the daemon for `/health`, `svc daemon status` and `svc node list`. */
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

/** Capability `services`: what other plugins serve. Bound late: ask when it is needed, not in `setup`. */
export interface Services {
  /**
   * What is served under the name now; undefined while no plugin serves it. The answer may be kept: it hands on the members of the
   * served object, and throws `SVC_SERVICE_GONE`, with both plugins, once its plugin was stopped or set up anew; a call under way then
   * rejects with it. An error without a `code` counts against the plugin that serves.
   */
  get<N extends ServiceName>(name: N): ServiceTypes[N] | undefined;
  /** All boards or panels that plugins provide now, each bound to its plugin as with `get`. */
  list<K extends SharedKind>(kind: K): readonly Provided[K][];
}
