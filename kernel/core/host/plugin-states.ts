/** The states of a plugin. */
export type PluginState = "known" | "disabled" | "failed" | "quarantined" | "loaded" | "running" | "stopped";

/** A state that has a reason, which an operator reads. */
export type ReasonedState = "failed" | "quarantined";

/**
 * Permitted transitions.
 *
 *   known --------> loaded -> running     `loaded`: set up. `stopped`: set up again by a reload or the next start of the kernel.
 *     |  \   ^        |  \       |        `failed`: it does not run, for the reason it has; tried again where the configuration changes.
 *     |   \   \       v   v      v        `quarantined`: not loaded until an operator releases it.
 *     |    \   `--- failed <- stopped     `disabled`: switched off in `plugins`.
 *     v     v         v
 *  disabled  `---> quarantined -> known
 */
export const TRANSITIONS: Readonly<Record<PluginState, readonly PluginState[]>> = {
  known: ["disabled", "failed", "quarantined", "loaded"],
  disabled: [],
  failed: ["known", "failed", "quarantined", "loaded"],
  quarantined: ["known"],
  loaded: ["running", "stopped"],
  running: ["stopped"],
  stopped: ["known", "failed", "quarantined", "loaded"],
};
