import type { Confined } from "./files.ts";
import type { TimeRange } from "./jobs.ts";
import type { ScopeTable } from "./scopes.ts";

/** What a command of a plugin may use. The program around it parses the line, prints errors by their message and sets the exit code. */
export interface CliHost {
  /** The folder of svc.json, absolute. */
  readonly folder: string;
  /** The data folder (`.svc`), absolute. */
  readonly dataFolder: string;
  /** The files in it, with the guarantees that plugins have in the daemon. */
  data(): Promise<Confined>;
  /** The scopes that tokens can hold, as the manifests of the plugins here declare them. */
  scopes(): Promise<ScopeTable>;
  /**
   * Asks the daemon and resolves with the answer's JSON. Throws `SVC_CLI_NO_DAEMON` when none answers, and an error with the
   * daemon's own code, message and status when it refuses.
   */
  request(method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE", path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<unknown>;
  /** As `Jobs.next`, whether or not a daemon runs. */
  next(expression: string, timezone?: string, range?: TimeRange): Promise<readonly Date[]>;
  /** Writes to standard output: `human` to people, `json` under `--json`. */
  print(human: string, json: unknown): void;
}

/** One command of a group: `svc <group> <name> <args>`. Throwing fails it: the message is printed and the exit code is not zero. */
export interface Command {
  readonly name: string;
  /** Positional arguments in the usual notation: `<id> [input...]`. Empty when it takes none. */
  readonly args: string;
  readonly summary: string;
  /** `--json` and `--help` are there for every command. What does not fit is wrong usage: it ends with 2, and `run` is not called. */
  readonly options?: readonly {
    /** In the usual notation: `--timeout <ms>`. */
    readonly flags: string;
    readonly description: string;
    /** Its value is a number within these bounds, a whole one unless `whole` is false; `run` gets a number. */
    readonly number?: { readonly least: number; readonly most?: number; readonly whole?: boolean };
    /** The only values that it takes. */
    readonly choices?: readonly string[];
    /** It must be given. */
    readonly required?: boolean;
  }[];
  /** `args` in order, the values of a `...` argument after the others; `options` by their camel-case names. */
  run(args: readonly string[], options: Readonly<Record<string, unknown>>, cli: CliHost): Promise<void>;
}

/** The default export of a module named in `Manifest.commands`. A command named like its group stands for a line that names no other one. */
export interface CommandGroup {
  readonly name: string;
  readonly summary: string;
  readonly commands: readonly Command[];
}
