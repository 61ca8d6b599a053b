import type { Agent } from "./agents.ts";

/** Service `callables`: which actions agents may call, by their configuration. */
export interface Callables {
  /** Patterns of names, `*` for any characters; empty means none. */
  patterns(agent: Pick<Agent, "settings">): readonly string[];
}
