import { codeOf, type FolderToShare, type PluginContext, reasonOf, type SharedFiles, shareFiles } from "@svc/sdk";
import { editsBetween, ownPaths, sharedText, writtenOut } from "./shared-text.ts";

/** The one file of the collection. */
const FILE = "svc.json";
const COLLECTION = "config";
/** A version that was refused is tried again when something here has changed, and as often as this. */
const AGAIN_MS = 60_000;

type Context = Pick<PluginContext, "events" | "files" | "log" | "node" | "settings" | "store">;

/** The settings that the daemons on the store have in common, with this daemon's svc.json as their editor. */
export interface SharedSettings {
  /** Looks once: takes what another daemon has stored, or stores what was changed here. */
  look(): Promise<void>;
  /** The daemon has read its svc.json: what stands there now is in force here. */
  reread(): void;
  /** Problems, for people. */
  problems(): readonly string[];
}

/** Content of svc.json. */
interface Read {
  readonly text: string;
  readonly revision: string;
}

/** `local` are the settings that stay on each machine, as they are now. */
export function shareSettings(ctx: Context, local: () => readonly string[]): SharedSettings {
  /** The configuration in force: edits that are not in force yet are not shared. */
  let inForce: Promise<Read> | undefined;
  let refused: { readonly text: string; readonly error: unknown; readonly until: number } | undefined;
  let aside: { readonly text: string; readonly shown: string } | undefined;
  let trouble: string | undefined;
  let waits: readonly string[] = [];

  async function read(): Promise<Read> {
    const { document, revision } = await ctx.settings.read();
    const text = sharedText(document, ownPaths(local()));
    const credentials = writtenOut(JSON.parse(text));
    if (credentials.length > 0)
      throw new Error(
        `svc.json holds credentials that would be stored in the database: ${credentials.join(", ")}. Keep each in .env and write \${NAME} in its place, or name it in sharedConfig.local`,
      );
    return { text, revision };
  }
  const current = () => {
    if (inForce !== undefined) return inForce;
    const reading = read();
    inForce = reading;
    // Asked anew at the next look.
    reading.catch(() => {
      if (inForce === reading) inForce = undefined;
    });
    return reading;
  };

  /** Has the daemon take in what another one has stored. Throws what says why it cannot. */
  async function take(before: Read, text: string): Promise<void> {
    if (refused?.text === text && performance.now() < refused.until) throw refused.error;
    try {
      const edits = editsBetween(before.text, text);
      const report = await ctx.settings.change(edits, { expect: before.revision, by: "the daemons on the same store (sharedConfig)" });
      if (report.reloadSkipped !== undefined) throw new Error(report.reloadSkipped);
      refused = undefined;
      waits = [...new Set([...waits, ...(report.restartRequired ?? [])])];
    } catch (error) {
      // Somebody saved svc.json meanwhile: the next look sees what.
      if (codeOf(error) !== "SVC_CONFIG_CHANGED") refused = { text, error, until: performance.now() + AGAIN_MS };
      throw error;
    }
  }

  const folder: FolderToShare = {
    list: async () => [{ name: FILE, mark: (await current()).revision }],
    read: async () => (await current()).text,
    async change(_name, edit) {
      const now = await read();
      const next = await edit(now.text);
      if (next !== undefined) await take(now, next);
    },
    // Sharing never removes svc.json.
    remove: async () => undefined,
    async setAside(_name, text) {
      if (aside?.text === text) return aside.shown;
      const file = `conflicts/${FILE}.${new Date().toISOString().replaceAll(":", "-")}`;
      await ctx.files.own.write(file, text);
      aside = { text, shown: `the plugin's folder: ${file}` };
      return aside.shown;
    },
  };
  let told = "";
  const shared: SharedFiles = shareFiles({
    store: ctx.store,
    collection: COLLECTION,
    own: ctx.files.own,
    node: ctx.node.id,
    fits: (name) => name === FILE,
    folder,
    conflict({ by, aside: where }) {
      if (told === where) return;
      told = where;
      const summary = `the settings were changed here and on node ${by}: those of ${by} count, the others lie in ${where}`;
      ctx.log.warn({ aside: where, by }, summary);
      ctx.events.publish({ kind: "status", type: "shared-config:conflict", summary, data: { by, aside: where } });
    },
    // Told by `refusal`, for as long as it lasts.
    failed: () => undefined,
  });

  /** Returns why the others' version cannot be applied here; undefined if they have another one by now. */
  async function refusal(): Promise<string | undefined> {
    if (refused === undefined) return undefined;
    const stored = await ctx.store.collection<{ readonly text: string; readonly by: string }>(COLLECTION).get(FILE);
    if (stored?.value.text !== refused.text) {
      refused = undefined;
      return undefined;
    }
    return `this daemon stays with the settings it has: version ${stored.version}, which node ${stored.value.by} has written, is refused here: ${reasonOf(refused.error).replace(/\s+/g, " ")}`;
  }

  return {
    async look() {
      const before = trouble;
      try {
        await shared.sync();
        trouble = await refusal();
      } catch (error) {
        trouble = reasonOf(error);
      }
      if (trouble === before) return;
      if (trouble === undefined) return ctx.log.info({}, "the settings are shared with the other daemons again");
      ctx.log.warn({}, trouble);
      ctx.events.publish({ kind: "status", type: "shared-config:refused", summary: trouble, data: {} });
    },
    reread() {
      inForce = undefined;
      refused = undefined;
      // Read it at once: later edits are not in force.
      current().catch(() => undefined);
    },
    problems: () => [
      ...(trouble === undefined ? [] : [trouble]),
      ...(waits.length === 0 ? [] : [`settings that other daemons have changed wait for a restart (svc daemon restart): ${waits.join(", ")}`]),
    ],
  };
}
