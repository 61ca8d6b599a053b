/** An agent as configured, defaults filled in. Keys that a plugin added through `agentConfig` are in `settings`, with every other key. */
export interface Agent {
  readonly id: string;
  readonly name: string;
  /** Absolute path. */
  readonly workspace: string;
  readonly tier: string;
  readonly model?: string;
  readonly systemPrompt?: string;
  readonly mentions: readonly string[];
  readonly access: "private" | "public";
  readonly settings: Readonly<Record<string, unknown>>;
}

/** Capability `agents`: the agents of the live configuration. */
export interface Agents {
  get(id: string): Agent | undefined;
  list(): readonly Agent[];
}
