import type { Answers } from "./answers.ts";
import type { Capability, CapabilityTypes } from "./capabilities.ts";
import type { ObjectSchema, Schema } from "./config.ts";
import type { EngineOffer } from "./engine-offer.ts";
import type { Hooks } from "./hooks.ts";
import type { Provide } from "./provided.ts";
import type { DeclaredScope } from "./scopes.ts";

/** Version of this contract; it must not be lower than the one that a plugin's `svc` requires. */
export const SDK_VERSION = "0.1.0";

/** The newest generation of the plugin API in this version. It is incremented when existing plugins must be changed. */
export const API_GENERATION = 1;

/** The oldest generation that this version still loads. */
export const API_FLOOR = 1;

/** Main kind of a plugin: the first part of its id. */
export type Kind = "channel" | "tier" | "action" | "board" | "store" | "feature";

/** `<kind>-<name>`, the same in the folder, the package, the log and every error. */
export type PluginId = `${Kind}-${string}`;

/** One thing that is wrong with a section. */
export interface SectionProblem {
  /** Where, from the section on, such as `accounts.main.agentBinding` or `[0].id`; empty for the section as a whole. */
  readonly path: string;
  /** Message that says what to do. */
  readonly message: string;
  /** `error` keeps the plugin from running, as a schema's refusal does. Default `warning`. */
  readonly severity?: "error" | "warning";
}

/** Default export of a plugin package. Make it with `definePlugin`. */
export interface Plugin<C = Record<string, unknown>> {
  readonly kind: Kind;
  /** Lower-case letters, digits and `-`. */
  readonly name: string;
  readonly version: string;
  /** The lowest version of `@svc/sdk` that it needs: `>=0.1.0`. Of a range only its lowest version counts: the generation in the manifest decides the rest. */
  readonly svc: string;
  /** The section of svc.json it owns, such as `channels.acme`. Without a schema: a section of the kernel, such as `session`, that it reads, or one of another first-party plugin, beside which it runs. */
  readonly config?: {
    readonly at: string;
    /** Schema of an object or of a list: the type of `ctx.config`. */
    readonly schema?: Schema;
    /**
     * Checks that a schema cannot express, of a section that has passed it: a name that does not exist, a key that requires another one. Called by
     * `svc config check`, `svc doctor` and at each start and reload; does no I/O, but may look whether a program is installed. Not called for a
     * plugin in a process of its own.
     */
    check?(section: C, known: { readonly agents: readonly string[] }): readonly SectionProblem[];
  };
  /** For a plugin without a manifest, passed in code: the same as `scopes` of a manifest. */
  readonly scopes?: readonly DeclaredScope[];
  /** Keys it adds to `agents.<id>`. */
  readonly agentConfig?: ObjectSchema;
  /**
   * Checks of an agent that `agentConfig` cannot express: a key that requires another one. `section` is the plugin's own, if the file has one; paths
   * start at the agent. Called as `config.check` is, also for an agent that has not passed its schema: read only values of the right shape.
   */
  checkAgent?(agent: Readonly<Record<string, unknown>>, section: C | undefined): readonly SectionProblem[];
  /** As in the manifest; read where a plugin is passed in code. */
  readonly default?: true;
  readonly serves?: readonly Capability[];
  readonly strategies?: readonly string[];
  readonly capabilities: readonly Capability[];
  /**
   * Schemas of its routes' answers, as a module that is imported when the description of the API is requested: `() => import("./answers.js")`.
   * Without it the routes are described without their answers, and so are those of a plugin in a process of its own.
   */
  readonly answers?: () => Promise<{ readonly default: Answers }>;
  /** Register hooks and provided things. No I/O: `svc config check` runs it too. */
  setup(ctx: PluginContext<C>): Lifecycle<C> | void;
}

/** Lifecycle callbacks of a plugin. All optional. */
export interface Lifecycle<C = Record<string, unknown>> {
  /** Connect; after every plugin is set up. Limit 10 s unless the manifest's `startTimeoutMs` says otherwise. */
  start?(): Promise<void>;
  /** Disconnect; runs even when start failed. */
  stop?(): Promise<void>;
  /** Take a new configuration in place. Absent: stop, set up again, no message lost. */
  reload?(config: C): Promise<void>;
}

/** Everything a plugin may use: its declared members of `CapabilityTypes`, and these. Registrations belong to the plugin's scope and end with it. */
export interface PluginContext<C = Record<string, unknown>> extends Readonly<CapabilityTypes> {
  readonly id: PluginId;
  /** The plugin's own section, `${NAME}` expanded, defaults filled in; without a section, the defaults alone, or `[]` if the schema is a list. */
  readonly config: C;
  readonly node: { readonly id: string; readonly name: string };
  readonly log: Log;
  /** Aborts when the plugin is stopped. */
  readonly signal: AbortSignal;
  readonly hooks: Hooks;
  readonly provide: Provide;
  /** A variable of the daemon's environment that the plugin declared as `env:<NAME>`, or any with `env:*`. Empty counts as unset. */
  env(name: string): string | undefined;
}

/** Structured log lines. Secrets the configuration knows are scrubbed; do not log prompts or answers. */
export interface Log {
  debug(facts: object | string, text?: string): void;
  info(facts: object | string, text?: string): void;
  warn(facts: object | string, text?: string): void;
  error(facts: object | string, text?: string): void;
}

/** Checks the shape at compile time and returns the plugin unchanged. */
export function definePlugin<C = Record<string, unknown>>(plugin: Plugin<C>): Plugin<C> {
  return plugin;
}

/**
 * The static `"svc"` member of a plugin's package.json: read before any of its code runs.
 * `activate`: `always`; `section` when its section of svc.json is present; `enabled` when that section has `enabled: true`;
 * `agent` when an agent names its tier or, of anything but a tier, has one of its keys; `needed` when a plugin that runs declares a capability that it `serves`.
 */
export interface Manifest {
  /** The generation of the plugin API: 1. */
  readonly api: number;
  readonly kind: Kind;
  readonly name: string;
  /** Product name of its platform or program ("Acme Chat", "Acme Code"): shown beside the plugin's name. */
  readonly product?: string;
  /** The built entry, relative to package.json. */
  readonly entry: string;
  readonly section?: string;
  /** Keys of agents that it adds with `agentConfig`: known before its code is, so that an agent keeps them while its tier is another. */
  readonly agentKeys?: readonly string[];
  readonly activate: "always" | "section" | "enabled" | "agent" | "needed";
  /** Capabilities that it provides to other plugins with `provide.service`. */
  readonly serves?: readonly Capability[];
  /** The configuration's default: the tier of agents without one, or the context strategy, the first of `strategies`. The first plugin that sets it wins. */
  readonly default?: true;
  /** Context strategies that the plugin provides: values of `contextStrategy`. Distinguish them by `Turn.strategy`. */
  readonly strategies?: readonly string[];
  readonly capabilities: readonly Capability[];
  readonly startTimeoutMs?: number;
  /** Command groups it adds to `svc`: each module's default export is a `CommandGroup`; imported only when called. */
  readonly commands?: readonly { readonly name: string; readonly summary: string; readonly module: string }[];
  /**
   * Registrations of the plugin, shown before any of its code runs: `channel acme`, `hook inbound`, `tier acme`, `action acme.*`, `tool acme-search`,
   * `route GET /acme open`, `server acme`, `authority acme`, `store acme`, `board acme`, `service acme.notes`, `panel acme`, `files /acme open`,
   * `cron nightly *`; `*` stands for any text. No others are allowed then. Without this list an operator sees the registrations only after a first
   * approval, from a dry run.
   */
  readonly registers?: readonly string[];
  /**
   * Hosts that it connects to, with `sockets` or `network`: `irc.example.org:6697`, `*.example.org`, `configured` for hosts in its section, `*` for
   * any. Enforced for `ctx.sockets`; only displayed for connections of its own.
   */
  readonly network?: readonly string[];
  /** Scopes that its routes require and tokens can hold; a route whose guard requires an undeclared scope is refused. */
  readonly scopes?: readonly DeclaredScope[];
  /** For `svc setup`, of a tier: the engines that it runs, and how they are found on a machine. */
  readonly engines?: readonly EngineOffer[];
  /** For `svc connect`: positions of settings in the section, as dotted paths; an account is named as in sample.json. */
  readonly connect?: {
    /** The agent that answers. Without it a key `agentBinding`, `defaultAgent` or `agent` of the sample counts. */
    readonly agent?: string;
    /** Setting that lists the allowed senders. Without it a key `allowFrom` of the sample counts. */
    readonly allow?: string;
    /** The address of another server than the public one: `--server`. */
    readonly server?: string;
    /** A module whose default export, a `ChannelSetup`, asks and verifies in place of all this. */
    readonly module?: string;
    /**
     * The channel links a device and serves `GET`, `POST` (`{number?}`) and `DELETE /api/channels/<key of its section>/pair` to people in a browser,
     * only those who may change settings, and answers with a `ChannelPairing`: a browser needs no `module` then.
     */
    readonly pair?: true;
    /**
     * The channel sends a code to people who write for the first time, and serves `GET` (`{waiting: PairingRequest[]}`) and `POST` (`{code}`)
     * `/api/channels/<key of its section>/people` to people in a browser, only those who may change settings.
     */
    readonly people?: true;
  };
}
