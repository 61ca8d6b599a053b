import { type Stats, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { type ConfigPath, formatPath, isRecord } from "../base/config-path.ts";
import { referencesIn } from "../base/config-text/expand.ts";
import { secretPlaces } from "../base/config-text/secrets.ts";
import { realOf } from "../base/protected-files.ts";
import type { ConfigProblem } from "../core/config/check.ts";
import type { Configuration } from "../core/config/configuration.ts";

const OTHERS_READ = 0o044;
const OTHERS_WRITE = 0o022;

/**
 * Returns warnings about the daemon's own files that others on this machine, or the engines of agents, could read: for `config check`, `doctor` and
 * the start.
 */
export function exposures({ document, composed, value }: Configuration, dataFolder: string): readonly ConfigProblem[] {
  const { file } = document;
  if (file === undefined) return [];
  const warn = (path: ConfigPath, message: string): ConfigProblem => {
    const place = document.locate(path) ?? { line: 1, column: 1 };
    return { path: formatPath(path), ...place, message, severity: "warning" };
  };
  return [
    ...modes(file, literalSecrets(document.raw, composed.root)).map((message) => warn([], message)),
    ...Object.entries(isRecord(value.agents) ? value.agents : {}).flatMap(([id, agent]) => {
      if (!isRecord(agent) || typeof agent.workspace !== "string") return [];
      const workspace = realOf(resolve(dirname(file), agent.workspace));
      const reachable = [file, dataFolder].filter((one) => isBelow(realOf(resolve(one)), workspace));
      return reachable.length === 0 ? [] : [warn(["agents", id, "workspace"], inside(reachable))];
    }),
  ];
}

const inside = (files: readonly string[]): string =>
  `holds ${files.join(" and ")}: the programs that run the agent can read and change them; give the agent a folder of its own`;

function modes(file: string, literal: readonly string[]): readonly string[] {
  // Windows has no file modes of this kind.
  if (process.platform === "win32") return [];
  const messages: string[] = [];
  const [mode, env] = [modeOf(file), modeOf(join(dirname(file), ".env"))];
  if ((mode & OTHERS_WRITE) !== 0) messages.push(`the file can be changed by other users of this machine; run: chmod 600 ${file}`);
  if ((mode & OTHERS_READ) !== 0 && literal.length > 0) {
    const shown = literal.slice(0, 3).join(", ") + (literal.length > 3 ? ` and ${literal.length - 3} more` : "");
    messages.push(`the file can be read by other users of this machine and holds secrets (${shown}); run: chmod 600 ${file}, or name variables of .env`);
  }
  if ((env & (OTHERS_READ | OTHERS_WRITE)) !== 0)
    messages.push(`.env beside it can be read or changed by other users of this machine; run: chmod 600 ${join(dirname(file), ".env")}`);
  return messages;
}

function modeOf(file: string): number {
  let found: Stats | undefined;
  try {
    found = statSync(file);
  } catch {
    // An absent file exposes nothing.
  }
  return found?.mode ?? 0;
}

/** The paths of secrets that are written in the file itself. */
const literalSecrets = (raw: unknown, root: Configuration["composed"]["root"]): readonly string[] =>
  secretPlaces(raw, root)
    .filter(({ value, known }) => known && value !== "" && referencesIn(value).length === 0)
    .map(({ path }) => formatPath(path));

const isBelow = (path: string, folder: string): boolean => {
  const way = relative(folder, path);
  return way === "" || !(way.startsWith("..") || resolve(way) === way);
};
