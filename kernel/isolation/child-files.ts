import type { Confined, Files, PluginId } from "@svc/sdk";
import type { ChildCalls } from "./child-calls.ts";
import { refused } from "./refused.ts";

/** `ctx.files` over the wire. `own` are the roots of the plugin's own folder. */
export function remoteFiles(plugin: PluginId, own: readonly string[], { ask, keep }: ChildCalls): Files {
  const confined = (roots: readonly string[], at: { readonly roots?: readonly string[] }): Confined => {
    return {
      roots,
      read: (path, maxBytes) => ask("files.read", { ...at, path, maxBytes }),
      write: (path, data) => ask("files.write", { ...at, path, data }),
      async change(path, maxBytes, edit) {
        const { n, forget } = keep(edit as (before: never) => unknown);
        try {
          await ask("files.change", { ...at, path, maxBytes, n });
        } finally {
          forget();
        }
      },
      append: (path, data) => ask("files.append", { ...at, path, data }),
      list: (path) => ask("files.list", { ...at, path }),
      resolve: (path) => ask("files.resolve", { ...at, path }),
      remove: (path) => ask("files.remove", { ...at, path }),
    };
  };
  return {
    own: confined(own, {}),
    under: (...roots) => confined(roots, { roots }),
    get data(): never {
      throw refused(plugin, "the data folder");
    },
  };
}
