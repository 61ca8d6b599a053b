/** The part of the section `session` that this plugin reads (001:L81-91). */
export interface SessionSettings {
  readonly staleMinutes: number;
  readonly maxTurnsPerSession: number;
  readonly tierTwoThresholdTokens: number;
  readonly maxClaudeCodeDispatchesPerHour: number;
  readonly maxClaudeCodeDispatchesPer5h: number;
}
