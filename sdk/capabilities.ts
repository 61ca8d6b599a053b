import type { Actions } from "./action.ts";
import type { AgentTools } from "./agent-tool.ts";
import type { Agents } from "./agents.ts";
import type { Events } from "./events.ts";
import type { StreamingFetch } from "./fetch.ts";
import type { Files } from "./files.ts";
import type { HealthReader } from "./health.ts";
import type { Jobs } from "./jobs.ts";
import type { Models } from "./models.ts";
import type { MediaReader } from "./picture.ts";
import type { Spawn, Warm } from "./processes.ts";
import type { Render } from "./render.ts";
import type { Services } from "./services.ts";
import type { Settings } from "./settings.ts";
import type { Sockets } from "./sockets.ts";
import type { Store } from "./store.ts";
import type { Tasks } from "./tasks.ts";
import type { Traces } from "./traces.ts";

/** The members of a plugin's context that it has to declare, by the name of the capability. */
export interface CapabilityTypes {
  agents: Agents;
  tasks: Tasks;
  events: Events;
  traces: Traces;
  actions: Actions;
  store: Store;
  jobs: Jobs;
  files: Files;
  fetch: StreamingFetch;
  /** Guarded sockets and WebSockets, to the hosts that the manifest's `network` names, where it names any. */
  sockets: Sockets;
  spawn: Spawn;
  warm: Warm;
  media: MediaReader;
  models: Models;
  render: Render;
  health: HealthReader;
  /** Services of other plugins by name, their boards and their panels. */
  services: Services;
  /** svc.json: the plugin's own section, or with `all-settings` the whole of it. */
  settings: Settings;
  /** Tools that all plugins offer to agents. */
  tools: AgentTools;
}

/** Permissions that a plugin declares and that have no member of that name in the context. */
export interface PermissionTypes {
  /** Routes and servers of its own. */
  routes: true;
  /** Connections of its own, beside `fetch` and `sockets`. Without it an isolated plugin has no network where the system can withhold it. */
  network: true;
  /** With `files`: the whole data folder as `files.data`, other plugins' state in it. */
  "data-folder": true;
  /** With `settings`: all of svc.json, including other plugins' sections and the daemon's own settings. */
  "all-settings": true;
  /** With `events`: injects events of other machines with `inject`. */
  "events:peers": true;
  /** With `tasks`: lists the deliveries that `deliver` taps withhold, and decides about them: `withheld`, `release` and `refuse`. */
  withheld: true;
  /** With `services`: the service of that name, speech into words. The plugin that serves it runs while one that declares this does. */
  transcription: true;
}

/**
 * Members of the context that a plugin uses, declared in its manifest and in `definePlugin`. An undeclared call throws `SVC_CAPABILITY_UNDECLARED`. A
 * guard against mistakes that also shows the operator what a plugin does; not a sandbox.
 */
export type Capability = keyof CapabilityTypes | keyof PermissionTypes | `env:${string}`;

/** The names of `CapabilityTypes`, in its order. */
export const CAPABILITIES = namesOf<keyof CapabilityTypes>({
  agents: true,
  tasks: true,
  events: true,
  traces: true,
  actions: true,
  store: true,
  jobs: true,
  files: true,
  fetch: true,
  sockets: true,
  spawn: true,
  warm: true,
  media: true,
  models: true,
  render: true,
  health: true,
  services: true,
  settings: true,
  tools: true,
});

/** The names of `PermissionTypes`. */
export const PERMISSIONS = namesOf<keyof PermissionTypes>({
  routes: true,
  network: true,
  "data-folder": true,
  "all-settings": true,
  "events:peers": true,
  withheld: true,
  transcription: true,
});

/** The compiler refuses a name that is missing here or has no type. */
function namesOf<K extends string>(all: Readonly<Record<K, true>>): readonly K[] {
  return Object.keys(all) as K[];
}
