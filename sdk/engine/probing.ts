import type { Spawn } from "../processes.ts";
import { unreachable } from "./reach.ts";

/** How an engine's program is asked whether an agent can use it. */
export interface Probing {
  /** Its version, with what else is to be told; rejects when it does not run. */
  installed(): Promise<string>;
  /** How the agent signs in; rejects with what to do when it does not. */
  signedIn(): Promise<string>;
  /** Where its vendor is; undefined where that is not known. */
  readonly vendor?: { readonly address: string; readonly proxy?: string };
}

/** Three answers in one line: installed, signed in, vendor reachable. Spends nothing. Never rejects. */
export async function probeEngine({ installed, signedIn, vendor }: Probing): Promise<{ readonly ok: boolean; readonly detail: string }> {
  let told = "";
  try {
    told = await installed();
    told += `; ${await signedIn()}`;
    if (vendor === undefined) return { ok: true, detail: told };
    const obstacle = await unreachable(vendor.address, vendor.proxy);
    return { ok: obstacle === undefined, detail: `${told}; ${obstacle ?? "vendor reachable"}` };
  } catch (error) {
    return { ok: false, detail: [told, (error as Error).message].filter((text) => text !== "").join("; ") };
  }
}

const LIMIT_MS = 10_000;

/** Runs the program with a few arguments and reads what it prints. Rejects when it does not run. */
export async function ask(
  spawn: Spawn,
  program: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env?: Readonly<Record<string, string>> },
): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }> {
  const child = spawn(program, args, { ...options, stdin: "ignore", timeoutMs: LIMIT_MS });
  await child.started;
  const { code, stdout, stderr } = await child.ended;
  return { code, stdout: stdout.trim(), stderr: stderr.trim() };
}

/** The version in a program's words; rejects, with its last words, when it has failed. */
export async function versionOf(spawn: Spawn, program: string, args: readonly string[], cwd: string): Promise<string> {
  const { code, stdout, stderr } = await ask(spawn, program, [...args, "--version"], { cwd });
  if (code !== 0) throw new Error(`${program} --version failed: ${stderr.slice(0, 200)}`);
  return stdout;
}
