export type { Body, Case, Definition, Edge, FormField, InputField, Node, NodeKind, Nodes, Retry } from "./definition.ts";
export type { Entry, EntryFields, EntryKind, RunEntry, RunError, RunHead, TokenLineage, Wait } from "./entries.ts";
export type { Command, CommandFields, Decision, Input, InputFields, Refusal } from "./inputs.ts";
export type { Arrival, GroupState, ItemsState, RunState, RunStatus, ScopeState, StepResult, StepState, StoredSignal } from "./run-state.ts";
