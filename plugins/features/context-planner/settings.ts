/** The part of the section `session` that this plugin reads (001:L88, L91). */
export interface PlannerSettings {
  /** Earlier requests that the decision sees beside the last exchange. */
  readonly continuityStateTurns: number;
}
