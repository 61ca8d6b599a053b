import type { Agent } from "./agents.ts";

/** Service `callables`: which actions agents may call, by their configuration. */
export interface Callables {
  /** Patterns of action names, `*` for any characters; empty: no actions. */
  patterns(agent: Pick<Agent, "settings">): readonly string[];
}
