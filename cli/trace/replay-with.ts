import { existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import type { Difference, ReplayReport, TaskComparison } from "@svc/kernel";
import { firstParty } from "../catalog.ts";
import type { Cli } from "../cli.ts";
import { fail } from "../errors.ts";
import { EXIT, exitCodeOf } from "../exit.ts";
import { kernelCode } from "../kernel-code.ts";

const USUAL_LAST = 20;

/** Shows the results of recorded tasks under another configuration or with one more plugin; runs no engine and sends nothing. */
export async function replayAgainst(cli: Cli, id: string | undefined, options: Readonly<Record<string, unknown>>): Promise<void> {
  const { replayWith } = kernelCode();
  if (!existsSync(cli.dataFolder)) throw fail("SVC_CLI_MISSING", { what: `data folder ${cli.dataFolder}, and so no recorded task`, next: "svc daemon start" });
  const replayed = replayWith({
    file: cli.file,
    dataFolder: cli.dataFolder,
    known: firstParty().map(({ folder }) => folder),
    env: process.env,
    with: withOf(String(options.with)),
    last: Number(options.last ?? (options.since === undefined ? USUAL_LAST : Number.MAX_SAFE_INTEGER)),
    ...(id === undefined ? {} : { task: id }),
    ...(options.agent === undefined ? {} : { agent: String(options.agent) }),
    ...(options.since === undefined ? {} : { since: timeOf(String(options.since)) }),
    onTask: ({ id: done, same }) => cli.terminal && cli.say(`${done} ${same ? "same" : "differs"}`),
  });
  const report = await replayed.catch((error) => {
    // 1 says that something differs.
    throw Object.assign(error, exitCodeOf(error) === EXIT.failed ? { exit: error.code === "SVC_TRACE_UNKNOWN" ? EXIT.usage : EXIT.running } : {});
  });
  cli.print(describeReport(report), report);
  if (report.different + report.findings.length + report.notRunning.length > 0) process.exitCode = 1;
}

/** A file of JSON is a configuration; a folder, a module and the name of a package are a plugin. */
function withOf(given: string): { readonly file: string } | { readonly plugin: string } {
  const path = resolve(given);
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined && /^[./~]|\.(?:jsonc?|[cm]?[jt]s)$/.test(given))
    throw fail("SVC_CLI_USAGE", { reason: `--with: there is no configuration and no plugin at ${path}` });
  if (found === undefined) return { plugin: given };
  return found.isFile() && /\.jsonc?$/.test(path) ? { file: path } : { plugin: path };
}

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `2h`, `3d`, or a date. */
function timeOf(text: string): number {
  const [, count, unit = ""] = /^(\d+)([mhd])$/.exec(text) ?? [];
  const time = count === undefined ? Date.parse(text) : Date.now() - Number(count) * (UNITS[unit] ?? 0);
  if (Number.isNaN(time))
    throw fail("SVC_CLI_USAGE", { reason: `--since takes a span such as 30m, 2h or 3d, or a date such as 2026-01-31T09:00, not '${text}'` });
  return time;
}

/** The report for people. */
export function describeReport({ tasks, same, different, findings, notRunning, walls }: ReplayReport): string {
  const lines = tasks.flatMap(describeTask);
  const total = tasks.length === 0 ? "No recorded task fits." : `${tasks.length} rehearsed: ${same} same, ${different} different.`;
  return [
    ...lines,
    ...notRunning.map((one) => `not running: ${one}`),
    ...findings.map(({ plugin, what, reason }) => `plugin ${plugin}: ${what}: ${reason}`),
    total,
    `Held by: ${walls.length === 0 ? "nothing but the kernel" : walls.join(", ")}.`,
  ].join("\n");
}

function describeTask({ id, agent, same, ended, route, context, delivery, findings, present, since }: TaskComparison): string[] {
  const parts: readonly (readonly [string, readonly Difference[]])[] = [
    ["route", route],
    ["context", context],
    ["delivery", delivery],
  ];
  return [
    `${id}  ${agent}  ${same ? "same" : "differs"}`,
    ...(ended === undefined ? [] : [`  today: ${ended.before ?? "it runs"}`, `  with the change: ${ended.after ?? "it runs"}`]),
    ...parts.flatMap(([part, differences]) => differences.flatMap((difference) => describeDifference(part, difference))),
    ...findings.map(({ plugin, what, reason }) => `  plugin ${plugin} failed: ${what}: ${reason}`),
    ...present.map(({ plugin, what, reason }) => `  plugin ${plugin} fails today, too: ${what}: ${reason}`),
    ...since.map((change) => `  since it was recorded: ${change}`),
  ];
}

function describeDifference(part: string, { what, before, after, lines = [], more }: Difference): string[] {
  const change =
    before === undefined ? (after === undefined ? "" : ` added (${after})`) : after === undefined ? ` gone (was ${before})` : `: ${before} -> ${after}`;
  return [`  ${part} ${what}${change}`, ...lines.map((line) => `    ${line}`), ...(more === undefined ? [] : [`    and ${more} more lines`])];
}
