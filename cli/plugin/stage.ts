import { readFileSync } from "node:fs";

/** A plugin in a daemon of its own. */
export interface Staged {
  /** The plugin's entry in `plugins`, as an absolute path; unset for a bundled plugin. */
  readonly path?: string;
  /** Its sample: a part of svc.json. */
  readonly sample: Readonly<Record<string, unknown>>;
  /** Its section, when a switch there must be on. */
  readonly section?: string;
}

/** Returns a svc.json with the plugin, others by their entries, and an echo agent; it listens on any free port. */
export function stagedConfig({ path, sample, section }: Staged, name: string, others: readonly string[] = []): Record<string, unknown> {
  const echo = { name: "Assistant", workspace: "./w", tier: "local", local: { mode: "echo" } };
  const config: Record<string, unknown> = {
    ...structuredClone(sample),
    node: { id: name, name, bind: "127.0.0.1:0", defaultAgent: "assistant" },
    agents: { ...(sample.agents as object | undefined), assistant: echo },
    plugins: [...(path === undefined ? [] : [path]), ...others],
  };
  if (section !== undefined) switchOn(config, section.split("."));
  return config;
}

function switchOn(at: Record<string, unknown>, [key, ...rest]: readonly string[]): void {
  if (key === undefined) at.enabled = true;
  else switchOn((at[key] ??= {}) as Record<string, unknown>, rest);
}

/** Returns the port in a daemon's note of itself; undefined without a note. */
export function portIn(note: string): number | undefined {
  try {
    return (JSON.parse(readFileSync(note, "utf8")) as { port: number }).port;
  } catch {
    return undefined;
  }
}
