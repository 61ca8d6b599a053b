import type { Log, Plugin, PluginContext, TapOptions } from "@svc/sdk";
import { buildContext, declarationCheck, type RequireCapability } from "@svc/sdk/host";
import type { Capabilities, PluginScope } from "./capabilities.ts";
import type { ProvideDeps } from "./kinds.ts";
import { createProvide } from "./provide.ts";
import { addTap, type HookName, onDispose, type Scope } from "./scope.ts";

/** Dependencies of the contexts of plugins. */
export interface ContextDeps extends ProvideDeps {
  readonly node: { readonly id: string; readonly name: string };
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly capabilities: Pick<Capabilities, "ensure" | "make">;
  log(plugin: string): Log;
}

/** A scope as capabilities see it. */
export function pluginScope(scope: Scope, need: RequireCapability, section: unknown = {}, isolated = false): PluginScope {
  const { id, network, abort } = scope;
  scope.section = section;
  return {
    id,
    scope,
    need,
    get section() {
      return scope.section;
    },
    isolated,
    ...(network === undefined ? {} : { network }),
    signal: abort.signal,
    onEnd: (dispose) => void onDispose(scope, dispose),
  };
}

/** Builds the context of one plugin with its section of the configuration. */
export function createContext(plugin: Plugin<never>, scope: Scope, section: unknown, deps: ContextDeps, isolated = false): PluginContext<never> {
  const { id } = scope;
  const need = declarationCheck(id, plugin.capabilities);
  const subject = pluginScope(scope, need, section, isolated);
  const point = (hook: HookName) => ({ tap: (run: (...args: never[]) => unknown, options: TapOptions = {}) => addTap(scope, hook, run, options) });
  return buildContext<never>({
    id,
    config: section as never,
    node: deps.node,
    log: deps.log(id),
    signal: scope.abort.signal,
    hooks: {
      inbound: point("inbound"),
      route: point("route"),
      assembleContext: point("assembleContext"),
      dispatch: point("dispatch"),
      deliver: point("deliver"),
      emit: point("emit"),
    },
    provide: createProvide(scope, deps, need),
    need,
    source: (name) => deps.capabilities.make(name, subject),
    variable: (name) => deps.env[name],
  });
}
