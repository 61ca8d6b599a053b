import { codeOf, type PluginContext, type SharedFiles, shareFiles } from "@svc/sdk";
import { FOLDER, isActionFile, MAX_BYTES, whyForeign } from "./folder.ts";

const ASIDE = `${FOLDER}/_conflicts`;

/** The action files of all daemons that use the store, as files of this one. What others may have written here is kept from them. */
export function shareActions(ctx: Pick<PluginContext, "events" | "files" | "log" | "node" | "store">): SharedFiles {
  const { data, own } = ctx.files;
  return shareFiles({
    store: ctx.store,
    collection: "actions",
    own,
    node: ctx.node.id,
    fits: isActionFile,
    folder: {
      async list() {
        const found = await missing(data.list(FOLDER));
        if (found === undefined) return undefined;
        const folder = await whyForeign(await data.resolve(FOLDER));
        if (folder !== undefined) throw new Error(`The actions are not shared with the other daemons: ${folder}.`);
        const files = found.filter(({ name, kind }) => kind === "file" && isActionFile(name));
        return Promise.all(
          files.map(async ({ name, size, mtimeMs }) => ({
            name,
            mark: `${size} ${mtimeMs}`,
            held: (await whyForeign(await data.resolve(`${FOLDER}/${name}`))) !== undefined,
          })),
        );
      },
      read: async (name) => textOf(await missing(data.read(`${FOLDER}/${name}`, MAX_BYTES))),
      change: (name, edit) => data.change(`${FOLDER}/${name}`, MAX_BYTES, (before) => edit(textOf(before))),
      remove: async (name) => void (await missing(data.remove(`${FOLDER}/${name}`))),
      async setAside(name, text) {
        const file = `${ASIDE}/${name}.${new Date().toISOString().replaceAll(":", "-")}`;
        await data.write(file, text);
        return `.svc/${file}`;
      },
    },
    conflict({ name, by, aside }) {
      const id = name.slice(0, -".json".length);
      const summary = `the action ${id} was changed here and on node ${by}: that of ${by} counts, the other text lies in ${aside}`;
      ctx.log.warn({ file: name, aside }, summary);
      ctx.events.publish({ kind: "status", type: "operator-actions:conflict", summary, data: { action: id, by, aside } });
    },
    failed: (file, reason) => ctx.log.warn({ file, reason }, "an action file is not shared with the other daemons"),
  });
}

const textOf = (bytes: Uint8Array | undefined): string | undefined =>
  bytes === undefined ? undefined : new TextDecoder("utf-8", { fatal: true }).decode(bytes);

async function missing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (codeOf(error) === "SVC_FILE_MISSING" || codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}
