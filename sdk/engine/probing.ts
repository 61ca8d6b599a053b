import { tmpdir } from "node:os";
import type { Agent } from "../agents.ts";
import type { Spawn } from "../processes.ts";
import { type ProgramSection, type ProgramSettings, programSettings } from "../program-tier.ts";
import type { EngineEnvironment, ReadVariable } from "./engine-environment.ts";
import type { Executable } from "./executable.ts";
import { unreachable } from "./reach.ts";

/** Steps of asking an engine's program whether an agent can use it. */
export interface Probing {
  /** Returns its version and further details; rejects when it does not run. */
  installed(): Promise<string>;
  /** Returns how the agent signs in; rejects with what to do when it is not signed in. */
  signedIn(): Promise<string>;
  /** Where its vendor is; undefined where that is not known. */
  readonly vendor?: { readonly address: string; readonly proxy?: string };
}

/** Three answers in one line: installed, signed in, vendor reachable. Spends nothing. Never rejects. */
export async function probeEngine({ installed, signedIn, vendor }: Probing): Promise<{ readonly ok: boolean; readonly detail: string }> {
  let found = "";
  try {
    found = await installed();
    found += `; ${await signedIn()}`;
    if (vendor === undefined) return { ok: true, detail: found };
    const obstacle = await unreachable(vendor.address, vendor.proxy);
    return { ok: obstacle === undefined, detail: `${found}; ${obstacle ?? "vendor reachable"}` };
  } catch (error) {
    return { ok: false, detail: [found, (error as Error).message].filter((text) => text !== "").join("; ") };
  }
}

/** On a busy machine a large program takes ten seconds to tell its version. */
const LIMIT_MS = 30_000;

/** Runs the program with a few arguments and collects its output. Rejects when it does not run, and when it does not end within 30 s. */
export async function ask(
  spawn: Spawn,
  program: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env?: Readonly<Record<string, string>> },
): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }> {
  const child = spawn(program, args, { ...options, stdin: "ignore", timeoutMs: LIMIT_MS });
  await child.started;
  const { code, stdout, stderr, reason } = await child.ended;
  if (reason === "timeout") throw new Error(`${[program, ...args].join(" ")} did not end within ${LIMIT_MS / 1000} s`);
  return { code, stdout: stdout.trim(), stderr: stderr.trim() };
}

/** The version in a program's words; rejects, with its last words, when it has failed. */
export async function versionOf(
  spawn: Spawn,
  program: string,
  args: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { code, stdout, stderr } = await ask(spawn, program, [...args, "--version"], { cwd, env });
  if (code !== 0) throw new Error(`${program} --version failed: ${stderr.slice(0, 200)}`);
  return stdout;
}

/** Parts of the probe of a tier on a program. */
export interface ProgramProbe {
  readonly spawn: Spawn;
  readonly section: ProgramSection;
  readonly read: ReadVariable;
  readonly agent?: Agent | undefined;
  /** Throws when the program is missing. */
  find(): Executable;
  /** Variables of the program when it is asked for its version. */
  readonly env?: Readonly<Record<string, string>>;
  /** The release that the tests run, and the warning for another one. */
  readonly tested: string;
  readonly otherwise?: string;
  /** Further words behind the version. */
  describe?(program: Executable): Promise<string>;
  /** The agent's environment; throws when its key is missing or refused. */
  environment(agent: Agent, settings: ProgramSettings): EngineEnvironment;
  /** How an agent on the shared sign-in is signed in, as the program reports it; rejects with what to do. */
  signedIn(program: Executable, env: Readonly<Record<string, string>>): Promise<string>;
  /** The vendor: the variable that names its address, and the address without it. `always`: under either billing. */
  readonly vendor: { readonly variable: string; readonly address: string; readonly always?: boolean };
}

/** Three answers in one line, by the same rules for every tier on a program. A key is not tried, nothing is spent. Never rejects. */
export function probeProgram(probe: ProgramProbe): Promise<{ readonly ok: boolean; readonly detail: string }> {
  const { spawn, section, read, agent, tested, otherwise = "", vendor } = probe;
  const variable = (name: string): string | undefined => section.env?.[name] ?? read(name);
  const settings = agent === undefined ? undefined : programSettings(agent);
  const proxy = variable("HTTPS_PROXY");
  const asked = settings !== undefined && (vendor.always === true || settings.billing === "api");
  return probeEngine({
    async installed() {
      const program = probe.find();
      const version = await versionOf(spawn, program.file, program.args, tmpdir(), probe.env);
      const other = version.split(/\s+/).includes(tested) ? "" : ` (tested with ${tested}${otherwise})`;
      return [`${program.args.at(-1) ?? program.file} ${version}${other}`, (await probe.describe?.(program)) ?? ""].filter(Boolean).join("; ");
    },
    async signedIn() {
      if (agent === undefined || settings === undefined) return "sign-in: asked for each agent";
      const { env } = probe.environment(agent, settings);
      return settings.billing === "api" ? "an API key is set" : probe.signedIn(probe.find(), env);
    },
    ...(asked ? { vendor: { address: variable(vendor.variable) ?? vendor.address, ...(proxy === undefined ? {} : { proxy }) } } : {}),
  });
}
