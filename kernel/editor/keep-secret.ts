import { dirname, resolve } from "node:path";
import type { KeptSecret, SettingEdit, SettingsReport } from "@svc/sdk";
import { formatPath, parsePath, valueAt } from "../base/config-path.ts";
import { secretPlaces } from "../base/config-text/secrets.ts";
import { fail } from "../base/errors.ts";
import type { SettingsDeps } from "../core/boot/settings-port.ts";
import { readText } from "../core/config/document.ts";
import { revisionOf } from "./revision.ts";
import { examined, fileOf } from "./share.ts";
import { keepVariable } from "./variable-file.ts";

/**
 * Stores a credential in `.env` and references it in svc.json; without a value, the plain text in svc.json is moved. Throws `SVC_CONFIG_VARIABLE`,
 * and the errors of changing svc.json: the variable is stored then, but not referenced yet.
 */
export async function keepSecret(
  deps: SettingsDeps,
  { name, path, value }: KeptSecret,
  change: (edits: readonly SettingEdit[]) => Promise<SettingsReport>,
): Promise<SettingsReport> {
  const literal = value ?? (await literalAt(deps, path));
  await keepVariable(dirname(resolve(fileOf(deps))), process.env, name, literal);
  if (path === undefined) return { revision: revisionOf(readText(fileOf(deps))), reloaded: [] };
  const report = await change([{ path: parsePath(path), value: `\${${name}}`, reference: true }]);
  if (report.reloadSkipped !== undefined || (report.reloaded ?? []).length + (report.restartRequired ?? []).length > 0) return report;
  // The file named the variable already: its new value is taken in all the same.
  try {
    const { changed, restartRequired } = await deps.reload();
    return { ...report, reloaded: changed.filter((one) => !restartRequired.includes(one)), restartRequired };
  } catch (error) {
    const { reloaded: _reloaded, ...facts } = report;
    return { ...facts, reloadSkipped: (error as Error).message };
  }
}

/** Returns a credential that is written in the file itself. */
async function literalAt(deps: SettingsDeps, path = ""): Promise<string> {
  const { configuration } = await examined(deps, readText(fileOf(deps)));
  const { raw } = configuration.document;
  const value = valueAt(raw, parsePath(path));
  const known = secretPlaces(raw, configuration.composed.root).some((place) => formatPath(place.path) === path);
  if (typeof value !== "string" || value === "" || /\$\{/.test(value) || !known)
    throw fail("SVC_CONFIG_VALUE", { path, reason: "holds no credential as plain text that could be moved" });
  return value;
}
