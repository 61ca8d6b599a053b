import type { Capability, Hooks, Plugin, PluginContext, ProvidedStore } from "@svc/sdk";
import { buildContext, createScopeTable, declarationCheck } from "@svc/sdk/host";
import { fail } from "../../base/errors.ts";
import type { RootLog } from "../../base/log.ts";
import { pluginLog } from "../../base/log-facts.ts";
import type { HostedPlugin } from "./hosted-plugin.ts";
import { createProvide } from "./provide.ts";
import type { Scope } from "./scope.ts";
import { isWanted, type Wanted } from "./wanted.ts";

/** Dependencies of a plugin of the kind `store`: the rest of the kernel needs the store first. */
export interface StoreDeps {
  readonly node: { readonly id: string; readonly name: string };
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: RootLog;
}

/** The store package bundled with the kernel, for programs without a default store. */
export interface DefaultStore {
  readonly package: string;
  /** The folder of the package; undefined where it is not installed beside the kernel. */
  find(): string | undefined;
}

/** Whether it is a plugin of the kind `store`: set up before all others and stopped after them. */
export const isStore = ({ id }: Pick<HostedPlugin, "id">): boolean => id.startsWith("store-");

/** Whether it is the default store, used unless the document names another. */
export const isDefaultStore = (one: HostedPlugin): boolean => isStore(one) && (one.source.manifest ?? one.source.plugin)?.default === true;

/**
 * Returns the plugin that stores the state: the one that the document names, else the default one. `installable` is the package to suggest where
 * there is none. Throws `SVC_STORE_NONE`, `SVC_STORE_SEVERAL`.
 */
export function chooseStore(plugins: readonly HostedPlugin[], wanted: Wanted, installable = "a store"): HostedPlugin {
  const stores = plugins.filter((one) => isStore(one) && !one.isBarred);
  const asked = stores.filter((one) => !isDefaultStore(one) && isWanted(one, wanted, stores));
  const candidates = asked.length > 0 ? asked : stores.filter(isDefaultStore);
  const [store, ...others] = candidates;
  if (store === undefined) throw fail("SVC_STORE_NONE", whyNone(plugins.find(isDefaultStore), installable));
  if (others.length > 0)
    throw fail("SVC_STORE_SEVERAL", {
      stores: candidates.map(({ id }) => id).join(" and "),
      next: `keep one and switch the other off in plugins, as "!${others[0]?.id}"`,
    });
  return store;
}

function whyNone(off: HostedPlugin | undefined, installable: string): { readonly reason: string; readonly next: string } {
  if (off?.state === "disabled") return { reason: `${off.id} is switched off`, next: `take "!${off.id}" out of plugins, or add another store` };
  if (off !== undefined) return { reason: `${off.id} is held back (${off.reason ?? off.state})`, next: `mend it, then: svc plugin retry ${off.id}` };
  const next = `install ${installable} beside the kernel, name a store in plugins, or give createKernel one as its option store`;
  return { reason: "no known plugin does", next };
}

/** As `chooseStore`; undefined where no choice is possible. */
export function chosenStore(plugins: readonly HostedPlugin[], wanted: Wanted): HostedPlugin | undefined {
  try {
    return chooseStore(plugins, wanted);
  } catch {
    return undefined;
  }
}

/** Returns the store that a plugin provided in its setup. Throws `SVC_STORE_NONE` with the reason if it did not. */
export function storeOf({ id, scope, reason }: HostedPlugin): ProvidedStore {
  const [owned] = scope?.things.store ?? [];
  if (owned !== undefined) return owned.thing;
  throw fail("SVC_STORE_NONE", {
    reason: `${id} ${reason === undefined ? "provided no store in its setup" : `does not run: ${reason}`}`,
    next: "see svc config check",
  });
}

/** Reports a store plugin that differs from the one in the document: the state is not moved under a running daemon. */
export function storeTrouble(plugins: readonly HostedPlugin[], wanted: Wanted): { readonly plugin: string; readonly reason: string }[] {
  const running = plugins.find((one) => isStore(one) && one.scope !== undefined);
  if (running === undefined) return [];
  const broken = wanted.broken.get(running.id);
  if (broken !== undefined) return [{ plugin: running.id, reason: broken }];
  try {
    const { id } = chooseStore(plugins, wanted);
    return id === running.id ? [] : [{ plugin: id, reason: `${running.id} keeps the state until the daemon is restarted` }];
  } catch (error) {
    return [{ plugin: running.id, reason: (error as Error).message }];
  }
}

/** Creates the context of a store's plugin. Capabilities that need the state do not exist yet, whatever the plugin declares. */
export function createStoreContext(plugin: Plugin<never>, scope: Scope, config: unknown, { node, env, log }: StoreDeps): PluginContext<never> {
  const refuse = (reason: string): never => {
    throw fail("SVC_PLUGIN_KIND", { plugin: scope.id, reason: `is store, which ${reason}` });
  };
  const declared = declarationCheck(scope.id, plugin.capabilities);
  const need = (capability: Capability) => {
    declared(capability);
    if (capability !== "network" && !capability.startsWith("env:")) refuse(`is set up before there is the capability '${capability}'`);
  };
  const tap = () => refuse("takes no part in messages");
  const points = ["inbound", "route", "assembleContext", "dispatch", "deliver", "emit"].map((hook) => [hook, { tap }]);
  return buildContext({
    id: scope.id,
    config: config as never,
    node,
    log: pluginLog(log.child(scope.id)),
    signal: scope.abort.signal,
    hooks: Object.fromEntries(points) as unknown as Hooks,
    provide: createProvide(
      scope,
      {
        claim: (_scope, kind) => {
          if (kind !== "store") refuse(`provides no ${kind}`);
          if (scope.things.store.length > 0) refuse("provides one store");
        },
        tokenScopes: createScopeTable([]),
        requireServable: () => {},
        serveFile: () => refuse("serves no files"),
        server: () => refuse("provides no server"),
        channelState: () => {},
      },
      need,
    ),
    need,
    source: (name) => refuse(`is set up before there is the capability '${name}'`),
    variable: (name) => env[name],
  });
}
