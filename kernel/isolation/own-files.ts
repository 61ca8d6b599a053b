import { isAbsolute, relative } from "node:path";
import type { Capability, Confined, PluginContext } from "@svc/sdk";
import { realOf } from "../base/protected-files.ts";
import { refused } from "./refused.ts";

/** The files of this machine that an isolated plugin may have: its process has walls, and the daemon must not open a way through them. */
export interface OwnFiles {
  /** Below its own folder, which is taken without `roots`, and the agents' workspaces, where it may see agents. */
  under(roots: readonly string[] | undefined): Confined;
  /**
   * Returns the same value; throws if it names files to be sent on that the plugin could not read itself. Files in `shown` were shown to it, and may
   * be passed on.
   */
  media<T>(value: T, shown?: readonly unknown[]): Promise<T>;
}

/** The files that the plugin of this context may name. */
export function createOwnFiles(ctx: PluginContext<never>, capabilities: readonly Capability[]): OwnFiles {
  const folders = (): readonly string[] => {
    const workspaces = capabilities.includes("agents") ? ctx.agents.list().map(({ workspace }) => workspace) : [];
    return [...ctx.files.own.roots, ...workspaces];
  };

  async function requireOwn(path: unknown): Promise<void> {
    const folder = typeof path === "string" ? folders().find((one) => isBelow(one, path)) : undefined;
    if (folder === undefined) throw refused(ctx.id, `the file ${String(path).slice(0, 200)}, which lies neither in its own folder nor in an agent's workspace`);
    // Resolve through the plugin's own confinement: no link may lead out, nor to the daemon's own files.
    await ctx.files.under(folder).resolve(path as string);
  }

  return {
    under(roots) {
      if (roots === undefined) return ctx.files.own;
      const allowed = folders();
      // By its name, and where that really is: a link in a workspace may lead anywhere.
      const isOwn = (root: string) => allowed.some((folder) => isBelow(folder, root)) && allowed.some((folder) => isBelow(realOf(folder), realOf(root)));
      const outside = roots.find((root) => !isOwn(root));
      if (outside !== undefined) throw refused(ctx.id, `the folder ${outside}, which is neither its own nor an agent's workspace`);
      return ctx.files.under(...roots);
    },
    async media(value, shown = []) {
      const named = pathsIn(value);
      if (named.length === 0) return value;
      const known = new Set(shown.flatMap(pathsIn));
      for (const path of named) if (!known.has(path)) await requireOwn(path);
      return value;
    },
  };
}

/** The paths of files in a message, delivery, context or turn. */
function pathsIn(value: unknown): readonly unknown[] {
  const { media, messages } = (value ?? {}) as { readonly media?: unknown; readonly messages?: unknown };
  const own = Array.isArray(media) ? media.map((item) => (item as { readonly path?: unknown } | null)?.path) : [];
  return [...own.filter((path) => path !== undefined), ...(Array.isArray(messages) ? messages.flatMap(pathsIn) : [])];
}

function isBelow(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return isAbsolute(path) && !isAbsolute(way) && way.split("/")[0] !== "..";
}
