import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type CliHost, codeOf, svcError } from "@svc/sdk";
import { isWorkflowId } from "../definition/check-definition.ts";
import { EXAMPLES, readExample } from "../definition/example-files.ts";

const TOLD: Readonly<Record<(typeof EXAMPLES)[number], string>> = {
  approval: "a person approves a purchase; silence is escalated",
  "nightly-report": "two of three sources a topic, a report by an agent",
  review: "two agents and a person work on a text until it is accepted",
  "webhook-issue": "a failed build becomes an issue",
  saga: "three bookings, undone in reverse when one fails",
};

/** Copies an example into the folder of workflows, never over a file, and switches workflows on. Without a name it tells which there are. */
export async function newWorkflow(cli: CliHost, example: string | undefined, id = example): Promise<void> {
  if (example === undefined || id === undefined) {
    const width = Math.max(...EXAMPLES.map((name) => name.length));
    const lines = EXAMPLES.map((name) => `${name.padEnd(width)}  ${TOLD[name]}`);
    return cli.print([...lines, "Copy one with: svc workflow new <example> [id]"].join("\n"), { examples: EXAMPLES });
  }
  const text = readExample(example);
  if (text === undefined) throw svcError("SVC_CLI_USAGE", `There is no example '${example}'; there are ${EXAMPLES.join(", ")}.`);
  if (!isWorkflowId(id))
    throw svcError("SVC_CLI_USAGE", `'${id}' cannot be the id of a workflow: lower-case letters, digits, ".", "_", "-"; not runs, drafts, tasks or signals.`);
  const { document } = await cli.readSettings();
  const { dir = ".svc/workflows", enabled = false } = (document["workflows"] ?? {}) as { readonly dir?: string; readonly enabled?: boolean };
  const [first, ...below] = dir.split(/[/\\]/);
  const folder = first === ".svc" ? join(cli.dataFolder, ...below) : resolve(cli.folder, dir);
  const file = await writeNew(folder, id, text);
  const report = enabled ? undefined : await cli.change([{ path: ["workflows", "enabled"], value: true }]);
  const lines = [`Wrote ${file}`];
  if (report !== undefined)
    lines.push((report.restartRequired ?? []).length > 0 ? "workflows.enabled is true now; restart the daemon." : "workflows.enabled is true now.");
  cli.print([...lines, `Next: svc workflow run ${id} --watch`].join("\n"), { id, file, enabled: true });
}

async function writeNew(folder: string, id: string, text: string): Promise<string> {
  const taken = ["yaml", "yml", "json"].map((ending) => join(folder, `${id}.${ending}`)).find((file) => existsSync(file));
  const refuse = (file: string) =>
    svcError("SVC_CLI_USAGE", `There is a workflow '${id}' already, in ${file}; give another id: svc workflow new <example> <id>.`);
  if (taken !== undefined) throw refuse(taken);
  const file = join(folder, `${id}.yaml`);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  try {
    await writeFile(file, text, { flag: "wx", mode: 0o600 });
  } catch (error) {
    throw codeOf(error) === "EEXIST" ? refuse(file) : error;
  }
  return file;
}
