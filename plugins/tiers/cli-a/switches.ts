import { statSync } from "node:fs";
import { tmpdir } from "node:os";
import { type Spawn, svcError } from "@svc/sdk";
import { RESTRICTING } from "./arguments.ts";

const LIMIT_MS = 15_000;
const MOST_BYTES = 262_144;

/** Options of the installed program, by its own help. */
export interface Switches {
  has(option: string): boolean;
  /** Whether the program has this command: otherwise it would take the word for a prompt. */
  hasCommand(name: string): boolean;
  /** Tells one installation from another: a new one is asked, and its wall proved, anew. */
  readonly version: string;
  /** Throws `SVC_GUARD_PROGRAM` naming what the program lacks for restricted runs. */
  requireRestricting(): void;
}

/** Asks a program for its help, once for each installation. A program without a help is taken for one that knows every option. */
export function createSwitches(spawn: Spawn): (program: string) => Promise<Switches> {
  const known = new Map<string, Promise<Switches>>();
  return (program) => {
    const { mtimeMs, size, ino } = statSync(program);
    const version = `${program}:${mtimeMs}:${size}:${ino}`;
    const found = known.get(version) ?? read(spawn, program, version);
    known.set(version, found);
    // One that could not be asked is asked again the next time.
    found.catch(() => known.delete(version));
    return found;
  };
}

async function read(spawn: Spawn, program: string, version: string): Promise<Switches> {
  const child = spawn(program, ["--help"], { cwd: tmpdir(), timeoutMs: LIMIT_MS, maxOutputBytes: MOST_BYTES });
  await child.started;
  const { code, stdout } = await child.ended;
  const help = code === 0 ? stdout : "";
  // At the beginning of a line, so that an option is not found in the words about another.
  const options = new Set(
    [...help.matchAll(/^\s+(?:-\w, )?(--[a-z][a-z-]+)(?:, (--[a-z][a-z-]+))?/gm)].flatMap(([, first = "", second = ""]) => [first, second]),
  );
  const silent = options.size === 0;
  return {
    version,
    hasCommand: (name) => new RegExp(`^\\s+${name}\\b`, "m").test(help),
    has: (option) => silent || options.has(option),
    requireRestricting() {
      const lacking: string[] = RESTRICTING.filter((option) => !options.has(option));
      if (!silent && !/--permission-mode[\s\S]{0,600}"dontAsk"/.test(help)) lacking.push("--permission-mode dontAsk");
      if (silent) lacking.push("an answer to --help");
      if (lacking.length === 0) return;
      throw svcError(
        "SVC_GUARD_PROGRAM",
        `tier cli-a: ${program} cannot be held to autonomy 'report' or 'propose': it lacks ${lacking.join(", ")}; update Claude Code, or set tiers.cli-a.command to a newer one.`,
        { path: "tiers.cli-a.command" },
      );
    },
  };
}
