/** A failure of a plugin: in a hook, tier or listener, an uncaught error, a failed phase, a blocked event loop, or the end of an isolated plugin's process. */
export interface PluginIncident {
  readonly plugin: string;
  /** Subject of the failure: `hook inbound`, `stray error`, `setup`, `process`. */
  readonly what: string;
  readonly reason: string;
  /**
   * Consequence. `counted`: nothing else. `opened`: its circuit breaker is open for a while. `disabled`: it is not called until it is set up again.
   * `restarting`: its process is restarted. `failed`: the plugin does not run. `quarantined`: nor is it loaded, until it is released.
   */
  readonly consequence: "counted" | "opened" | "disabled" | "restarting" | "failed" | "quarantined";
}

/** Consequence of a failed call, decided by its circuit breaker. */
export type CallConsequence = Extract<PluginIncident["consequence"], "counted" | "opened" | "disabled">;

/** Consequence of the end of an isolated plugin's process. */
export type ProcessConsequence = Extract<PluginIncident["consequence"], "restarting" | "failed" | "quarantined">;
