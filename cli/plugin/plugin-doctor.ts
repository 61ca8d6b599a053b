import { resolve } from "node:path";
import type { PluginEntry, PluginStatus } from "@svc/kernel";
import type { Cli } from "../cli.ts";
import { offlineCode } from "../kernel-code.ts";
import { table } from "../table.ts";
import { openRoot } from "./dependency-root.ts";
import { entriesOf } from "./entries.ts";
import { look } from "./look.ts";
import { isPath, packageSubject, type Subject, subjectAt } from "./subject.ts";

interface Finding {
  /** Its entry in svc.json; its id, if it has none. */
  readonly plugin: string;
  /** Its id, where the finding is of an entry. */
  readonly id?: string;
  readonly level: "ok" | "warning" | "error";
  readonly text: string;
  /** Next step. */
  readonly next?: string;
}

/** Examines each plugin that svc.json names or that is installed, and adds the running daemon's findings about all of them. */
export async function doctor(cli: Cli): Promise<void> {
  const { readEntry } = offlineCode();
  const named = (await entriesOf(cli)).map(readEntry).filter(({ off }) => !off);
  const idle = Object.keys(openRoot(cli.dataFolder).packages()).filter((name) => !named.some((entry) => entry.name === name));
  const findings: Finding[] = [];
  for (const entry of named) findings.push(...(await examine(cli, entry)));
  for (const name of idle)
    findings.push({ plugin: name, level: "warning", text: "is installed, but svc.json does not name it", next: `svc plugin enable ${name}` });
  const report = joined(findings, await fromDaemon(cli));
  const rows = report.map(({ plugin, level, text, next }) => [level === "error" ? "ERROR" : level, plugin, text, next ?? ""]);
  cli.print(rows.length === 0 ? "No plugins were added, and none fails." : table([["", "PLUGIN", "FINDING", "NEXT STEP"], ...rows]), report);
  if (report.some(({ level }) => level === "error")) process.exitCode = 1;
}

/**
 * Joins findings, one per plugin: the local one, and the daemon's only if the local one is no error. A plugin with an unreadable manifest is known to
 * the daemon by its entry.
 */
function joined(here: readonly Finding[], daemon: readonly Finding[]): Finding[] {
  const same = (one: Finding) => daemon.filter(({ plugin }) => plugin === one.id || plugin === one.plugin);
  return [
    ...here.flatMap((one) => {
      const [said] = same(one);
      return said === undefined || one.level === "error" ? [one] : [{ ...said, plugin: one.plugin }];
    }),
    ...daemon.filter((said) => !here.some((one) => same(one).includes(said))),
  ];
}

async function examine(cli: Cli, { name: entry, isolated }: PluginEntry): Promise<Finding[]> {
  let id: string | undefined;
  const wrong = (text: string, next: string): Finding[] => [{ plugin: entry, ...(id === undefined ? {} : { id }), level: "error", text, next }];
  const { readPins, readQuarantine, requirePinned } = offlineCode();
  let subject: Subject;
  try {
    const path = isPath(entry);
    const root = openRoot(cli.dataFolder);
    if (!path && root.packages()[entry] === undefined) return wrong("is not installed", `svc plugin add ${entry}`);
    subject = path ? subjectAt(cli, resolve(cli.folder, entry)) : packageSubject(entry, root.folderOf(entry));
  } catch (error) {
    return wrong((error as Error).message, "mend the path in plugins of svc.json");
  }
  const svc = subject.pkg?.svc;
  id = svc === undefined ? undefined : `${svc.kind}-${svc.name}`;
  if (subject.kind === "package") {
    try {
      const pins = await readPins(cli.dataFolder);
      const { dependencies } = await requirePinned(entry, subject.folder as string, pins);
      if (dependencies === undefined)
        return [
          {
            plugin: entry,
            ...(id === undefined ? {} : { id }),
            level: "warning",
            text: "only its own files are pinned, not its dependencies",
            next: `svc plugin trust ${entry}`,
          },
        ];
    } catch (error) {
      return wrong((error as Error).message, `svc plugin trust ${entry}`);
    }
  }
  const held = id === undefined ? undefined : readQuarantine(cli.dataFolder)[id];
  if (held !== undefined) return wrong(`is held back: ${held.reason}`, `svc plugin retry ${id}`);
  try {
    const { id: seen, version, capabilities } = await look(cli, { ...subject, isolated });
    return [
      {
        plugin: entry,
        id: seen,
        level: "ok",
        text: `${version}, uses ${capabilities.length === 0 ? "nothing" : capabilities.join(", ")}${isolated ? ", in a process of its own" : ""}`,
      },
    ];
  } catch (error) {
    return wrong((error as Error).message, subject.kind === "package" ? `svc plugin add ${entry}@latest` : `svc plugin check ${entry}`);
  }
}

async function fromDaemon(cli: Cli): Promise<Finding[]> {
  try {
    const { plugins } = (await cli.request("GET", "/health")) as { plugins: readonly PluginStatus[] };
    return plugins
      .filter(({ state, failures }) => state === "failed" || state === "quarantined" || failures > 0)
      .map(({ id, state, reason, failures }) => ({
        plugin: id,
        level: state === "running" ? "warning" : "error",
        text: `${state}${reason === undefined ? "" : `: ${reason}`}${failures === 0 ? "" : `, ${failures} failed calls`}`,
        next: state === "quarantined" ? `svc plugin retry ${id}` : "svc daemon logs",
      }));
  } catch (error) {
    if ((error as { code?: string }).code !== "SVC_CLI_NO_DAEMON") throw error;
    return [];
  }
}
