import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../house/house.ts";
import type { Shell } from "../kit/svc.ts";

const SCRIPT = "/usr/bin/script";

/** util-linux's `script` lends the program a terminal; other systems have another program by that name. */
export const lacking = process.platform !== "linux" ? "no Linux" : existsSync(SCRIPT) ? undefined : `${SCRIPT} is not installed`;
if (lacking !== undefined) console.warn(`skipped, the dialogue of svc connect: ${lacking}`);

/** What a person at a terminal sees, and the status the program ended with. */
export interface Talk {
  readonly code: number | null;
  readonly shown: string;
  /** The questions that were answered, in order. */
  readonly asked: readonly string[];
}

/** Talks to the program of this tree, or to an `installed` one. Answers each question as it comes; each pattern is one question, and may come once. Ctrl-C for a question that nobody expects. */
export async function talk(
  shell: Pick<Shell, "folder">,
  command: string,
  answers: readonly (readonly [question: RegExp, answer: string])[],
  extra: Readonly<Record<string, string>> = {},
  installed?: string,
): Promise<Talk> {
  const program = `${installed ?? `'${process.execPath}' '${join(ROOT, "cli/bin/svc.cjs")}'`} ${command}`;
  const child = spawn(SCRIPT, ["-qec", program, "/dev/null"], {
    cwd: shell.folder,
    env: { ...process.env, SVC_CONFIG: "", SHELL: "/bin/sh", TERM: "xterm", ...extra },
  });
  const open = [...answers];
  const asked: string[] = [];
  let shown = "";
  let answered = 0;
  child.stdout.on("data", (chunk) => {
    shown += chunk;
    const tail = shown.slice(answered).replaceAll(/\u001b\[[0-9;?]*[A-Za-z]/g, "");
    const [question, answer] = open[0] ?? [];
    const found = question?.exec(tail)?.[0];
    if (found === undefined || answer === undefined) {
      if (/(\[[^\]]*\]|\(not shown\)): $/.test(tail)) child.stdin.write("\u0003");
      return;
    }
    open.shift();
    asked.push(found);
    answered = shown.length;
    child.stdin.write(`${answer}\r`);
  });
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, shown: shown.replaceAll("\r", ""), asked };
}
