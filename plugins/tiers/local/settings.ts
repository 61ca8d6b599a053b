/** The key `local` of an agent. */
export interface LocalSettings {
  readonly mode?: "answer" | "echo";
  readonly chunks?: number;
  readonly delayMs?: number;
  readonly step?: boolean;
  readonly fail?: string;
}
