import type { CommandGroup } from "@svc/sdk";
import type { Cli } from "./cli.ts";

/** A command of our own: it gets more than a plugin's does. */
export interface OwnCommand extends Omit<CommandGroup["commands"][number], "run"> {
  /** It only asks the daemon: `--node` may name another one. Without it, it works on this folder, and is refused there. */
  readonly anywhere?: boolean;
  run(args: readonly string[], options: Readonly<Record<string, unknown>>, cli: Cli): Promise<void>;
}

/** One option of a command, as the command declares it. */
export type CommandOption = NonNullable<OwnCommand["options"]>[number];

/** A group of our own. A command named like its group stands for the group itself: `svc init`; beside others, for what names none of them. */
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
