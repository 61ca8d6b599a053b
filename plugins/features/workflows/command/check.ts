import { readFile } from "node:fs/promises";
import { basename, extname } from "node:path";
import { type CliHost, reasonOf, svcError } from "@svc/sdk";
import { type Checked, checkDefinition } from "../definition/check-definition.ts";
import { problemLine } from "./problem-line.ts";

/** Reads a file of a definition and judges it as the workflow that it is called, or of another `id`. */
export async function readDefinition(file: string, id = basename(file, extname(file))): Promise<Checked> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    throw svcError("SVC_CLI_USAGE", `${file} cannot be read: ${reasonOf(error)}`);
  }
  return checkDefinition(text, { id, format: extname(file).toLowerCase() === ".json" ? "json" : "yaml" });
}

/** Judges files of workflows, without a daemon; sets the exit code to 1 where one cannot run. */
export async function checkFiles(cli: CliHost, files: readonly string[]): Promise<void> {
  const lines: string[] = [];
  const judged: object[] = [];
  let broken = false;
  for (const file of files) {
    const { problems } = await readDefinition(file);
    const isBroken = problems.some(({ severity }) => severity === "error");
    broken ||= isBroken;
    judged.push({ file, ok: !isBroken, problems });
    lines.push(...problems.map((problem) => problemLine(file, problem)));
    if (problems.length === 0) lines.push(`${file}: ok`);
  }
  cli.print(lines.join("\n"), { ok: !broken, files: judged });
  if (broken) process.exitCode = 1;
}
