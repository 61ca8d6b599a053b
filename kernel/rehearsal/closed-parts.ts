import type { CapabilityTypes, Confined, Files } from "@svc/sdk";
import type { CapabilityRow, CapabilityScope, LibraryDeps } from "../base/capability.ts";
import { fail } from "../base/errors.ts";
import type { KernelParts } from "../core/boot/kernel-parts.ts";
import type { JobBook, Schedule } from "../core/boot/schedule-port.ts";
import type { Capabilities, PluginScope } from "../core/host/capabilities.ts";

/** Methods of `ctx.tasks` that only read. */
const LOOKS: ReadonlySet<string> = new Set(["withheld", "running", "queued"]);

/**
 * Returns the parts of a kernel that only reads: no network request or connection, no program started, no file changed, no job run. Other uses by a
 * plugin are refused with `SVC_REHEARSAL_CLOSED`, except changes of files, which are ignored: plugins write notes.
 */
export function closedParts(parts: KernelParts, { trusted }: { readonly trusted: boolean }): KernelParts {
  const { rows } = parts.capabilities;
  return {
    ...parts,
    capabilities: {
      rows: {
        ...rows,
        fetch: { ...rows.fetch, load: () => ({ make: ({ id }) => refusing<CapabilityTypes["fetch"]>(id, "fetch") }) },
        sockets: { ...rows.sockets, load: () => ({ make: ({ id }) => refusing<CapabilityTypes["sockets"]>(id, "sockets") }) },
        spawn: { ...rows.spawn, load: () => ({ make: ({ id }) => refusing<CapabilityTypes["spawn"]>(id, "spawn") }) },
        files: unchanging(rows.files),
      },
      sweep: async () => ({ sweepOrphans: async () => undefined }),
    },
    schedule: { createJobs: () => ({ schedule: STANDING, book: EMPTY }) },
    ...(trusted ? { integrity: async () => ({ openPins: () => ({ requirePinned: async () => () => undefined }) }) } : {}),
  };
}

/** Wraps the capabilities of plugins without those that would begin work or change the configuration. */
export function closedCapabilities(capabilities: Pick<Capabilities, "ensure" | "make">): Pick<Capabilities, "ensure" | "make"> {
  return {
    ensure: (declared) => capabilities.ensure(declared),
    make<K extends keyof CapabilityTypes>(name: K, plugin: PluginScope): CapabilityTypes[K] {
      const made = capabilities.make(name, plugin);
      if (name === "tasks") return refusing(plugin.id, name, { made: made as object, keeps: (method) => LOOKS.has(method) });
      if (name === "settings") return refusing(plugin.id, name, { made: made as object, keeps: (method) => method === "read" || method === "schema" });
      return made;
    },
  };
}

type Methods = Readonly<Record<string, unknown>>;

/** A capability whose every call is refused, but for those of `made` that are kept. */
function refusing<T>(plugin: string, capability: string, own?: { readonly made: object; readonly keeps: (method: string) => boolean }): T {
  const refuse = (method: string) => () => {
    throw fail("SVC_REHEARSAL_CLOSED", { plugin, what: method === "" ? capability : `${capability}.${method}` });
  };
  const call = refuse("");
  return new Proxy(call, {
    get(_target, name) {
      // `await` on it must not treat it as a promise.
      if (typeof name === "symbol" || name === "then") return undefined;
      return own?.keeps(name) === true ? (own.made as Methods)[name] : capability === "spawn" ? refuse(name) : async () => refuse(name)();
    },
    apply: () => (capability === "spawn" ? call() : (async () => call())()),
  }) as T;
}

function unchanging(row: CapabilityRow<Files, LibraryDeps>): CapabilityRow<Files, LibraryDeps> {
  return {
    ...row,
    async load(deps) {
      const loaded = await row.load(deps);
      return { ...loaded, make: (scope: CapabilityScope) => withoutChanges(loaded.make(scope)) };
    },
  };
}

function withoutChanges(files: Files): Files {
  return {
    get own() {
      return readOnly(files.own);
    },
    get data() {
      return readOnly(files.data);
    },
    under: (...roots) => readOnly(files.under(...roots)),
  };
}

const nothing = async (): Promise<void> => undefined;
const readOnly = (folder: Confined): Confined => ({
  roots: folder.roots,
  read: (path, maxBytes) => folder.read(path, maxBytes),
  list: (path) => folder.list(path),
  resolve: (path) => folder.resolve(path),
  write: nothing,
  change: nothing,
  append: nothing,
  remove: nothing,
});

const unregistered = (): void => undefined;
/** A calendar on which nothing comes due. */
const STANDING: Schedule = {
  cron: () => unregistered,
  after: () => unregistered,
  at: () => unregistered,
  every: () => unregistered,
  hold: nothing,
  resume: unregistered,
  since: nothing,
  stop: unregistered,
};
const EMPTY: JobBook = { earlier: async () => undefined, looked: nothing, lookedByOthers: async () => 0, missed: nothing, missedBy: async () => [] };
