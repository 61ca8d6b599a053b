/** What this plugin reads of the section `session` (001:L81-91). */
export interface SessionSettings {
  readonly staleMinutes: number;
  readonly maxTurnsPerSession: number;
  readonly tierTwoThresholdTokens: number;
  readonly maxClaudeCodeDispatchesPerHour: number;
  readonly maxClaudeCodeDispatchesPer5h: number;
}
