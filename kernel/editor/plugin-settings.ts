import type { ObjectSchema, Schema, SettingEdit, Settings, SettingsChange, SettingsReport } from "@svc/sdk";
import { type ConfigPath, formatPath, parsePath, valueAt } from "../base/config-path.ts";
import { fail } from "../base/errors.ts";
import type { ReloadReport } from "../core/boot/kernel-api.ts";
import type { SettingsAsker, SettingsDeps } from "../core/boot/settings-port.ts";
import { composeSchema } from "../core/config/compose.ts";
import { partsOf } from "../core/config/configuration.ts";
import { readText } from "../core/config/document.ts";
import { applyEdits } from "./apply-edits.ts";
import { freshErrors, refusedChange } from "./editor.ts";
import { inTurn } from "./file-turn.ts";
import { keepSecret } from "./keep-secret.ts";
import { maskSecrets, secretsIn } from "./mask.ts";
import { maskDocument } from "./mask-document.ts";
import { installedPlugins, offeredPlugins, releasePlugin } from "./plugin-table.ts";
import { preview } from "./preview.ts";
import { saveDocument } from "./save.ts";
import { examined, fileOf, holds, problemsFor, revisionFor, rightsOf, shareOf, shown } from "./share.ts";

/** Makes the capability `settings` for the plugins of one kernel. */
export function createSettings(deps: SettingsDeps): (asker: SettingsAsker) => Settings {
  const reload = createReloads(deps);
  return (asker) => ({
    read: async () => read(deps, asker),
    schema: async () => schemaOf(deps, asker),
    change: async (edits, options) => change(deps, asker, reload, edits, options),
    preview: async (edits, options = {}) => preview(deps, asker, edits, options),
    async plugins() {
      requireAll(deps, asker);
      return installedPlugins(deps);
    },
    async offered() {
      requireAll(deps, asker);
      return offeredPlugins(deps);
    },
    async release(plugin) {
      requireAll(deps, asker);
      return releasePlugin(deps, plugin);
    },
    async keepSecret(secret, options) {
      requireAll(deps, asker);
      return keepSecret(deps, secret, (edits) => change(deps, asker, reload, edits, options));
    },
  });
}

/** Requires access to all settings, for operations on more than one section. */
function requireAll(deps: SettingsDeps, asker: SettingsAsker): void {
  if (shareOf(deps, asker).all) return;
  throw fail("SVC_SETTINGS_SECTION", { plugin: asker.id, path: "this", reason: "declare 'all-settings' for what concerns the whole daemon" });
}

async function read(deps: SettingsDeps, asker: SettingsAsker): ReturnType<Settings["read"]> {
  const share = shareOf(deps, asker);
  const text = readText(fileOf(deps));
  const { configuration } = await examined(deps, text);
  const { document, composed } = configuration;
  return {
    document: shown(maskSecrets(document.raw, composed, { references: true }), share),
    revision: revisionFor(document.raw, text, share),
    secrets: secretsIn(document.raw, composed).filter(({ path }) => holds(share, parsePath(path))),
    problems: problemsFor(configuration, deps, asker, share),
    ...(share.all ? { text: maskDocument(text, configuration) } : {}),
  };
}

async function schemaOf(deps: SettingsDeps, asker: SettingsAsker): Promise<Schema> {
  if (!shareOf(deps, asker).all) return deps.host.sections().find(({ owner }) => owner === asker.id)?.schema ?? {};
  return wholeSchema(deps);
}

/** The sections of all known plugins, running or not: those that are not loaded here are read in a host that nothing else uses. */
async function wholeSchema({ host }: SettingsDeps): Promise<ObjectSchema> {
  const other = host.twin();
  await other.load({ section: () => ({ enabled: true }), tiers: new Set(other.tierNames()), hasAgentKey: () => true, broken: new Map() });
  const [here, there] = [partsOf(host), partsOf(other)];
  const fill = <T extends { readonly owner: string }>(own: readonly T[], others: readonly T[]) => [
    ...others.map((one) => own.find(({ owner }) => owner === one.owner) ?? one),
    ...own.filter(({ owner }) => !others.some((one) => one.owner === owner)),
  ];
  return composeSchema({ ...there, sections: fill(here.sections, there.sections), agentKeys: fill(here.agentKeys, there.agentKeys) }).root;
}

/** Number of retries when the file has been saved by another writer in between. */
const TRIES = 10;

async function change(
  deps: SettingsDeps,
  asker: SettingsAsker,
  reload: Reloads,
  edits: readonly SettingEdit[],
  options: SettingsChange,
): Promise<SettingsReport> {
  const file = fileOf(deps);
  const share = shareOf(deps, asker);
  const by = words(options?.by);
  if (by === "") throw fail("SVC_CONFIG_VALUE", { path: "by", reason: "says who wants the change, for the log" });
  const rights = rightsOf(asker, share);
  const written = await inTurn(file, async () => {
    let seen: string | undefined;
    for (let tries = 1; ; tries += 1) {
      const text = readText(file);
      const before = await examined(deps, text);
      const { raw } = before.configuration.document;
      const revision = revisionFor(raw, text, share);
      if (options.expect !== undefined && options.expect !== revision) throw fail("SVC_CONFIG_CHANGED", { file });
      const { text: next, paths } = applyEdits(text, edits, rights);
      if (next === text) return { revision, paths: [] };
      // Made again on another text only where that leaves the same settings as they were.
      const values = JSON.stringify(paths.map((path) => valueAt(raw, path) ?? null));
      if (seen !== undefined && seen !== values) throw fail("SVC_CONFIG_CHANGED", { file });
      seen = values;
      const after = await examined(deps, next);
      const problems = freshErrors(before, after);
      if (problems.length > 0) throw refusedChange(file, problems);
      try {
        const { backup } = await saveDocument(file, next, { expect: text, backup: options.backup === true });
        const facts = { revision: revisionFor(after.configuration.document.raw, next, share), paths };
        return backup === undefined ? facts : { ...facts, backup };
      } catch (error) {
        if ((error as { code?: string }).code !== "SVC_CONFIG_CHANGED" || tries === TRIES) throw error;
      }
    }
  });
  const { paths, ...facts } = written;
  if (paths.length === 0) return { ...facts, reloaded: [] };
  tell(deps, asker.id, by, paths);
  return { ...facts, ...(await reload(asker.id, paths)) };
}

/** Texts of plugins that go into a line of the log: one line, not long. */
const words = (text: unknown): string =>
  (typeof text === "string" ? text : "")
    .replace(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e]+/g, " ")
    .trim()
    .slice(0, 120);

/** Logs the place and the author, never the value: it may be a credential. */
function tell({ log, bus }: SettingsDeps, plugin: string, by: string, paths: readonly ConfigPath[]): void {
  const places = [...new Set(paths.map(formatPath))];
  const named = places.length > 3 ? `${places.slice(0, 3).join(", ")} and ${places.length - 3} more` : places.join(", ");
  log.info({ plugin, by, paths: places }, "svc.json was changed");
  bus.publish({
    kind: "status",
    type: "status",
    summary: `svc.json changed by ${by}: ${named}`,
    data: { state: "settings-changed", plugin, by, paths: places },
  });
}

/** Reloads the daemon after a change, and reports the result for these paths. */
type Reloads = (plugin: string, paths: readonly ConfigPath[]) => Promise<Pick<SettingsReport, "reloaded" | "restartRequired" | "reloadSkipped" | "failed">>;

function createReloads(deps: SettingsDeps): Reloads {
  let last: Promise<unknown> = Promise.resolve();
  let next: Promise<ReloadReport> | undefined;
  /** One that begins after now: several changes share it. */
  const begin = (): Promise<ReloadReport> => {
    next ??= last.then(() => {
      next = undefined;
      return deps.reload();
    });
    last = next.catch(() => {});
    return next;
  };
  return async (plugin, paths) => {
    const waitsForIt = deps.host.inTransition(plugin);
    const report = begin();
    if (waitsForIt) {
      report.catch(() => {});
      return { reloadSkipped: `plugin ${plugin} is being started, reloaded or stopped; the daemon takes the change in when that has ended` };
    }
    try {
      const { changed, restartRequired, failed } = await report;
      const ours = (path: string) => paths.some((own) => overlaps(own, parsePath(path)));
      return {
        reloaded: changed.filter((path) => ours(path) && !restartRequired.includes(path)),
        restartRequired: restartRequired.filter(ours),
        ...(failed.length === 0 ? {} : { failed }),
      };
    } catch (error) {
      return { reloadSkipped: (error as Error).message };
    }
  };
}

/** One lies in the other; a list whose length changed is one path. */
const overlaps = (one: ConfigPath, other: ConfigPath): boolean => {
  const length = Math.min(one.length, other.length);
  return Array.from({ length }, (_, index) => String(one[index]) === String(other[index])).every(Boolean);
};
