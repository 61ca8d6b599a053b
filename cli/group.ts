import type { CommandGroup } from "@svc/sdk";
import type { Cli } from "./cli.ts";

/** A command of our own, with a wider interface than a plugin's. */
export interface OwnCommand extends Omit<CommandGroup["commands"][number], "run"> {
  /** The command only sends requests to the daemon: `--node` may name another one. Otherwise it works on this folder, and `--node` is refused. */
  readonly anywhere?: boolean;
  run(args: readonly string[], options: Readonly<Record<string, unknown>>, cli: Cli): Promise<void>;
}

/** One option of a command, as the command declares it. */
export type CommandOption = NonNullable<OwnCommand["options"]>[number];

/** A built-in command group. A command with the name of its group is the group itself: `svc init`; in a group of several, it is the default. */
export interface OwnGroup extends Omit<CommandGroup, "commands"> {
  readonly commands: readonly OwnCommand[];
}

/** A group by name, before its file is imported. */
export interface GroupEntry {
  readonly name: string;
  readonly summary: string;
  /** The plugin that brings it, and when a daemon runs that. */
  readonly plugin?: { readonly id: string; readonly loaded: string };
  load(): Promise<OwnGroup | CommandGroup>;
}
