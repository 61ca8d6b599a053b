import { useEffect, useRef } from "react";
import type { IconName } from "./icon.tsx";

/** Something the palette can do. */
export interface Command {
  readonly id: string;
  /** A verb and a noun; "..." at its end when a form follows. */
  readonly title: string;
  readonly key?: string;
  readonly icon?: IconName;
  /** The group it stands in. Default: commands. */
  readonly group?: string;
  run(): void;
}

const commands = new Map<string, () => Command>();

/** Puts a command into the palette as long as the component is there. */
export function useCommand(command: Command): void {
  const last = useRef(command);
  last.current = command;
  const { id } = command;
  useEffect(() => {
    const own = () => last.current;
    commands.set(id, own);
    return () => {
      if (commands.get(id) === own) commands.delete(id);
    };
  }, [id]);
}

/** Commands of the shown page, for the palette. */
export const knownCommands = (): readonly Command[] => [...commands.values()].map((command) => command());
