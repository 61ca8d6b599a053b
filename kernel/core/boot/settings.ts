import type { Agents } from "@svc/sdk";
import type { Configuration } from "../config/configuration.ts";
import { type AgentTable, readAgents } from "../host/agents.ts";

/** The configuration that counts at this moment, and the agents that it describes. A reload replaces both at once. */
export class Settings {
  readonly #folder: string;
  #configuration: Configuration;
  #agents: AgentTable;
  #workspaceProblems: ReadonlyMap<string, string> = new Map();
  /** The agents as plugins and programs see them: always those of this moment. */
  readonly directory: Agents = { get: (id) => this.#agents.get(id), list: () => this.#agents.list() };

  /** Relative workspaces start at `folder`. */
  constructor(configuration: Configuration, folder: string) {
    this.#folder = folder;
    this.#configuration = configuration;
    this.#agents = this.#readAgents();
  }

  get configuration(): Configuration {
    return this.#configuration;
  }

  /** Expanded, defaults filled in, frozen. */
  get value(): Readonly<Record<string, unknown>> {
    return this.#configuration.value;
  }

  get agents(): AgentTable {
    return this.#agents;
  }

  get node(): { readonly id: string; readonly name: string; readonly defaultAgent?: string } {
    return { id: "unnamed", name: "unnamed", ...(this.value.node as object | undefined) };
  }

  /** Number of events buffered for late readers. */
  get ringSize(): number {
    return (this.value.events as { ringSize?: number } | undefined)?.ringSize ?? 1000;
  }

  /** Why agents cannot run, by agent: a variable is not set, or the workspace cannot be made. */
  get unusable(): ReadonlyMap<string, string> {
    return new Map([...this.#workspaceProblems, ...this.#configuration.unusable]);
  }

  replace(next: Configuration): void {
    this.#configuration = next;
    this.#agents = this.#readAgents();
  }

  /** From now on these agents cannot run, for want of a workspace. */
  noteWorkspaces(problems: ReadonlyMap<string, string>): void {
    this.#workspaceProblems = problems;
    this.#agents = this.#readAgents();
  }

  #readAgents(): AgentTable {
    return readAgents(this.value, this.#folder, this.unusable);
  }
}
