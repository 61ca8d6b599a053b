/**
 * Something went wrong with a plugin: a hook, tier or listener that threw, an error that nobody caught, a phase of its life that failed,
 * an event loop that it held, the process of an isolated one that ended.
 */
export interface PluginIncident {
  readonly plugin: string;
  /** What failed: `hook inbound`, `stray error`, `setup`, `process`. */
  readonly what: string;
  readonly reason: string;
  /**
   * What follows. `counted`: nothing else. `opened`: it is not called for a while. `disabled`: it is not called until it is set up again.
   * `restarting`: its process is started again. `failed`: the plugin does not run. `quarantined`: nor is it loaded, until it is released.
   */
  readonly consequence: "counted" | "opened" | "disabled" | "restarting" | "failed" | "quarantined";
}

/** What becomes of a call that failed, by the word of its breaker. */
export type CallConsequence = Extract<PluginIncident["consequence"], "counted" | "opened" | "disabled">;

/** What follows when the process of an isolated plugin ends. */
export type ProcessConsequence = Extract<PluginIncident["consequence"], "restarting" | "failed" | "quarantined">;
