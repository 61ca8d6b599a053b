/** The key `local` of an agent. */
export interface LocalSettings {
  /** Names of actions that `/run` may run, `*` for any characters. */
  readonly actions?: readonly string[];
  readonly mode?: "answer" | "echo";
  readonly chunks?: number;
  readonly delayMs?: number;
  readonly step?: boolean;
  readonly fail?: string;
}
