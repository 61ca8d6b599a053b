import { codeOf, type PluginContext, type SharedFiles, shareFiles } from "@svc/sdk";
import { definitionError } from "./definition-errors.ts";
import type { DefinitionFolder } from "./definition-folder.ts";
import { MAX_BYTES } from "./source.ts";

/** A workflow, its layout, or a draft. What was rejected, and what lost, stays where it is. */
const SHARED = /^(?:_drafts\/)?[^_./\\][^/\\]*\.(?:json|yaml|yml)$/;
const BELOW = ["", "_drafts"];
const ASIDE = "_conflicts";

/**
 * The folder of definitions where several daemons use the store: all have the same workflows and drafts. What one of them changes counts on
 * the others within a second; a change made from what another has replaced meanwhile is refused with `SVC_WORKFLOW_CHANGED`.
 */
export function sharedFolder(folder: DefinitionFolder, ctx: Pick<PluginContext, "events" | "files" | "log" | "node" | "store">): DefinitionFolder {
  const shared: SharedFiles = shareFiles({
    store: ctx.store,
    collection: "definitions",
    own: ctx.files.own,
    node: ctx.node.id,
    fits: (name) => SHARED.test(name),
    folder: {
      async list() {
        if (!(await folder.exists())) return undefined;
        const found = await Promise.all(BELOW.map(async (below) => ({ below, files: await folder.list(below) })));
        const all = found.flatMap(({ below, files }) =>
          files.map(({ name, size, mtimeMs }) => ({ name: below === "" ? name : `${below}/${name}`, mark: `${size} ${mtimeMs}` })),
        );
        return all.filter(({ name }) => SHARED.test(name));
      },
      read: (name) => folder.read(name, 2 * MAX_BYTES),
      change: (name, edit) => folder.change(name, 2 * MAX_BYTES, edit),
      remove: (name) => folder.remove(name),
      async setAside(name, text) {
        const file = `${ASIDE}/${name.replace("/", "-")}.${new Date().toISOString().replaceAll(":", "-")}`;
        await folder.write(file, text);
        return folder.shown(file);
      },
    },
    conflict({ name, by, aside }) {
      const summary = `${folder.shown(name)} was changed here and on node ${by}: that of ${by} counts, the other text lies in ${aside}`;
      ctx.log.warn({ file: name, aside }, summary);
      ctx.events.publish({ kind: "status", type: "workflows:conflict", summary, data: { file: name, by, aside } });
    },
    failed: (file, reason) => ctx.log.warn({ file, reason }, "a workflow file is not shared with the other daemons"),
  });
  async function first(file: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (codeOf(error) !== "SVC_STORE_CONFLICT") throw error;
      const id = file.replace(/^_drafts\//, "").replace(/(?:\.layout)?\.[a-z]+$/, "");
      throw definitionError(file.startsWith("_drafts/") ? "SVC_DRAFT_CHANGED" : "SVC_WORKFLOW_CHANGED", { id });
    }
  }
  return {
    ...folder,
    sync: () => shared.sync(),
    write: (file, text) => (SHARED.test(file) ? first(file, () => shared.change(file, () => text)) : folder.write(file, text)),
    change: (file, maxBytes, edit) => (SHARED.test(file) ? first(file, () => shared.change(file, edit)) : folder.change(file, maxBytes, edit)),
    remove: (file) => (SHARED.test(file) ? first(file, () => shared.remove(file)) : folder.remove(file)),
  };
}
