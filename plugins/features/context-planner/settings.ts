/** What this plugin reads of the section `session` (001:L88, L91). */
export interface PlannerSettings {
  /** Earlier requests that the decision sees beside the last exchange. */
  readonly continuityStateTurns: number;
}
