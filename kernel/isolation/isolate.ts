import { randomUUID } from "node:crypto";
import type { Capability, Log, Plugin, PluginContext } from "@svc/sdk";
import type { Source } from "../core/host/source.ts";
import { type Confinement, type Confinements, confine } from "./confinement.ts";
import { ISOLATION_LIMITS, type IsolationLimits } from "./isolation-limits.ts";
import { startPluginProcess } from "./plugin-process.ts";
import { refuseDeclared } from "./refused.ts";
import type { Described } from "./registrations.ts";
import { answered, loadArgs, type Start, setUpIsolated } from "./set-up.ts";
import type { ProcessStatus, Supervisor } from "./supervisor.ts";

/** What isolation stands on. Only `env` and `hidden` must be given. */
export interface IsolationDeps {
  /** The daemon's environment. A plugin's process gets PATH, HOME, LANG, TZ, TMPDIR, TERM, and what its plugin declares as `env:<NAME>`. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Folders that the process must not see where it has walls for that: those of the data and of the configuration. */
  readonly hidden: readonly string[];
  readonly limits?: Partial<IsolationLimits>;
  /** Marks the processes, so that a later daemon finds those that one before it left; default one of its own. */
  readonly marker?: string;
  /** Asked before each process but the first: may its files still run? Rejects with the reason. */
  verify?(): Promise<unknown>;
  /** Runs once before the plugin is set up: ends what an earlier daemon left. */
  sweep?(log: Log): Promise<unknown>;
  /** The process ended (`down`), is back (`up`), or is given up: `failed`, or `held` until `svc plugin retry`. */
  told?(what: "down" | "up" | "failed" | "held", reason: string): void;
  /** An error that its code left uncaught. */
  stray?(error: unknown): void;
  readonly now?: () => number;
}

/** A plugin whose code runs in a process of its own. */
export interface Isolated {
  /** Sets up as any other does: registers the same things, whose functions ask in the process. */
  readonly plugin: Plugin<never>;
  readonly status: () => ProcessStatus;
  /** The walls around its process, for people. */
  readonly walls: readonly string[];
}

/**
 * Asks a plugin in a process of its own what it is: no code of it runs here. The process of this question is gone when it is answered;
 * the plugin's `setup` starts the one that stays until its `stop`, or until its context's signal. Throws `SVC_ISOLATION_REFUSED` for
 * what cannot be isolated, and the plugin's own error when it cannot be imported.
 */
export async function isolate(source: Source, deps: IsolationDeps): Promise<Isolated> {
  const limits = { ...ISOLATION_LIMITS, ...deps.limits };
  const { manifest } = source;
  if (manifest !== undefined) refuseDeclared(source.id, manifest.capabilities);
  const confinements = await confine(source, { heapMb: limits.heapMb, path: deps.env["PATH"] ?? "", hidden: deps.hidden });
  const start = starter(source, deps, limits, confinements);
  const described = await describe(source, start, limits);
  refuseDeclared(source.id, described.capabilities);
  let supervisor: Supervisor | undefined;
  let dropped = 0;
  const plugin: Plugin<never> = {
    ...described,
    async setup(ctx: PluginContext<never>) {
      await deps.sweep?.(ctx.log);
      dropped = 0;
      return setUpIsolated({
        ctx,
        described,
        source,
        deps,
        limits,
        start,
        dropped: (count) => {
          dropped += count;
        },
        supervisor: (made) => {
          supervisor = made;
        },
      });
    },
  } as unknown as Plugin<never>;
  const status = (): ProcessStatus => ({ ...(supervisor?.status ?? { state: "off", starts: 0, ends: 0 }), dropped });
  return { plugin, status, walls: wallsFor(confinements, source, described.capabilities).walls };
}

/** Those with a network for one that declares it: in its manifest, where it has one, for that is what the operator was shown. */
function wallsFor({ open, closed }: Confinements, { manifest }: Source, capabilities: readonly Capability[]): Confinement {
  return capabilities.includes("network") && manifest?.capabilities.includes("network") !== false ? open : closed;
}

/** Starts processes of that plugin. */
function starter(source: Source, deps: IsolationDeps, limits: IsolationLimits, confinements: Confinements): Start {
  const marker = deps.marker ?? `isolated-${randomUUID()}`;
  return async (options, capabilities) => {
    const names = capabilities.filter((capability) => capability.startsWith("env:")).map((capability) => capability.slice("env:".length));
    const given = names.flatMap((name) => (deps.env[name] ? [[name, deps.env[name] as string] as const] : []));
    return startPluginProcess({
      ...options,
      plugin: source.id,
      confinement: wallsFor(confinements, source, capabilities),
      limits,
      baseEnv: deps.env,
      env: Object.fromEntries(given),
      marker,
    });
  };
}

const nobody = { serve: () => undefined, told: () => undefined, dropped: () => undefined };

async function describe(source: Source, start: Start, limits: IsolationLimits): Promise<Described> {
  const pluginProcess = await start(nobody, []);
  try {
    return (await answered(pluginProcess, "load", loadArgs(source.id, source), limits.upMs)) as Described;
  } finally {
    pluginProcess.kill("it has told what it is");
    await pluginProcess.gone;
  }
}
