/*
 * The life of an isolated plugin.
 *
 *           the daemon                             the plugin's process (child-main.ts)
 *   look    isolate: start a process      load ->  import the code
 *                                 <- described     what it is; this process ends
 *   set up  set-up: start a process       load ->  import the code
 *                                        setup ->  run its setup with child-context
 *           proxies: register the same      <-     registrations
 *   run     a proxy is called     call, stream ->  child-register: the plugin's own function
 *           process-api     <- call, stream, notify  child-context: a member of the context
 *   ends    supervisor: pause, growing; then set up and start again, which must register the same
 *           too many ends in an hour: quarantined until `svc plugin retry`
 *   stop    set-up                        stop ->  run its stop and leave
 */
import { randomUUID } from "node:crypto";
import type { Capability, Plugin, PluginContext } from "@svc/sdk";
import type { Isolated, IsolationDeps, ProcessStatus } from "../core/host/isolation-port.ts";
import type { Source } from "../sources/source.ts";
import { type Confinement, type Confinements, confine } from "./confinement.ts";
import { refuseDeclared } from "./crossing.ts";
import { ISOLATION_LIMITS, type IsolationLimits } from "./isolation-limits.ts";
import { startPluginProcess } from "./plugin-process.ts";
import type { Described } from "./registrations.ts";
import { answered, loadArgs, type StartProcess, setUpIsolated } from "./set-up.ts";
import type { Supervisor } from "./supervisor.ts";

/** As the host gives them; each limit may be given. */
export interface IsolateDeps extends IsolationDeps {
  readonly limits?: Partial<IsolationLimits>;
}

/**
 * Loads a plugin in a process of its own for its description: none of its code runs here. That process ends after the answer; the plugin's `setup`
 * starts the one that runs until its `stop`, or until its context's signal. Throws `SVC_ISOLATION_REFUSED` for a plugin that cannot be isolated, and
 * the plugin's own error if its import fails.
 */
export async function isolate(source: Source, deps: IsolateDeps): Promise<Isolated> {
  const limits = { ...ISOLATION_LIMITS, ...deps.limits };
  const { manifest } = source;
  if (manifest !== undefined) refuseDeclared(source.id, manifest.capabilities, [manifest.kind]);
  const confinements = await confine(source, { heapMb: limits.heapMb, path: deps.env["PATH"] ?? "", hidden: deps.hidden });
  const start = starter(source, deps, limits, confinements);
  const described = await describe(source, start, limits);
  refuseDeclared(source.id, described.capabilities, [described.kind]);
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

/** Selects the confinement with a network for a plugin that declares it: in its manifest, if it has one, because the operator approved the manifest. */
function wallsFor({ open, closed }: Confinements, { manifest }: Source, capabilities: readonly Capability[]): Confinement {
  return capabilities.includes("network") && manifest?.capabilities.includes("network") !== false ? open : closed;
}

/** Starts processes of that plugin. */
function starter(source: Source, deps: IsolateDeps, limits: IsolationLimits, confinements: Confinements): StartProcess {
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

const SILENT = { serve: () => undefined, onNotify: () => undefined, dropped: () => undefined };

async function describe(source: Source, start: StartProcess, limits: IsolationLimits): Promise<Described> {
  const pluginProcess = await start(SILENT, []);
  try {
    return (await answered(pluginProcess, "load", loadArgs(source.id, source), limits.upMs)) as Described;
  } finally {
    pluginProcess.kill("it has answered what it is");
    await pluginProcess.gone;
  }
}
