/** A definition as it is run: JSON that its schema has accepted; defaults are not filled in. */
export interface Definition {
  readonly id: string;
  readonly name?: string;
  readonly description?: string;
  readonly ownerAgent?: string;
  readonly tags?: readonly string[];
  readonly generatedFrom?: "task-trace" | "workflow-absorb" | "llm-architect";
  readonly confidence?: number;
  readonly sourceTaskIds?: readonly string[];
  /** Limit of entering one node in one scope; default 100. */
  readonly maxVisits?: number;
  /** Limit of steps of a run; default 10000. */
  readonly maxSteps?: number;
  /** Default 10080. */
  readonly timeoutMinutes?: number;
  readonly match?: { readonly phrases?: readonly string[] };
  readonly nodes: readonly Node[];
  readonly edges: readonly Edge[];
}

/** From a port of one node to another node of the same graph. */
export interface Edge {
  readonly from: string;
  readonly to: string;
  /** Default `out`. */
  readonly fromPort?: string;
}

/** The graph inside a `forEach`. */
export interface Body {
  readonly start: string;
  readonly nodes: readonly Node[];
  readonly edges?: readonly Edge[];
}

/** Retries of a step, with backoff: min(maxDelay, delay * factor^(n-1)). */
export interface Retry {
  /** Counts the first; default 1. */
  readonly attempts?: number;
  /** Default 1s. */
  readonly delay?: string;
  /** Default 2. */
  readonly factor?: number;
  /** Default 5m. */
  readonly maxDelay?: string;
  /** Codes that are retried beside ERROR, TIMEOUT and INTERRUPTED. */
  readonly on?: readonly string[];
}

/** A case of `branch` and `multiChoice`; `when` is a template that gives true or false. */
export interface Case {
  readonly port: string;
  readonly when: string;
}

/** A field that a trigger takes. */
export interface InputField {
  readonly type: "string" | "number" | "integer" | "boolean" | "object" | "array";
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly example?: unknown;
  readonly required?: boolean;
  readonly description?: string;
}

/** A field of a form; `name` and `kind` decide, the rest is for the kind (see the schema). */
export interface FormField {
  readonly name: string;
  readonly kind: "text" | "long-text" | "number" | "boolean" | "select" | "multi-select" | "date";
  readonly label?: string;
  readonly required?: boolean;
  readonly default?: unknown;
  readonly help?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly min?: number | string;
  readonly max?: number | string;
  readonly integer?: boolean;
  readonly options?: readonly (string | { readonly value: string; readonly label?: string })[];
}

interface Named {
  readonly id: string;
  readonly label?: string;
}

/** Common fields of all kinds with an effect, a wait or an expression. */
interface Attempted extends Named {
  readonly retry?: Retry;
  /** Of one attempt; of human and wait kinds over all. */
  readonly timeout?: string;
  readonly onInterrupted?: "retry" | "fail" | "ask";
  /** Default fail. */
  readonly onExhausted?: "fail" | "ask";
  readonly maxVisits?: number;
}

interface Asked extends Attempted {
  readonly title: string;
  readonly detail?: string;
  readonly assignee: string;
  readonly due?: string;
  readonly remindEvery?: string;
}

/** The 17 kinds of nodes by their kind. */
export interface Nodes {
  trigger: Named & { readonly inputSchema?: Readonly<Record<string, InputField>> };
  agent: Attempted & {
    readonly message: string;
    readonly agent?: string;
    readonly outputSchema?: Readonly<Record<string, unknown>>;
    readonly freshSession?: boolean;
    readonly contextStrategy?: "layered" | "planner";
    readonly timeoutMinutes?: number;
  };
  action: Attempted & { readonly action: string; readonly input?: Readonly<Record<string, unknown>>; readonly idempotent?: boolean };
  set: Attempted & { readonly value: unknown };
  branch: Attempted & { readonly cases: readonly Case[] };
  multiChoice: Attempted & { readonly cases: readonly Case[] };
  join: Named & { readonly wait?: "all" | "any" | number; readonly of?: string; readonly cancelRest?: boolean; readonly maxVisits?: number };
  forEach: Attempted & {
    readonly items: string | readonly unknown[];
    readonly do: Body;
    readonly concurrency?: number;
    readonly need?: number | string;
    readonly onItemError?: "fail" | "continue";
  };
  userTask: Asked & { readonly form?: readonly FormField[]; readonly submitTransition?: string };
  approval: Asked;
  timer: Attempted & { readonly for?: string; readonly until?: string };
  waitSignal: Attempted & { readonly signal: string; readonly match?: string };
  emitSignal: Attempted & { readonly signal: string; readonly payload?: unknown; readonly to?: string; readonly stored?: boolean };
  subProcess: Attempted & { readonly workflow: string; readonly input?: unknown };
  cancelNodes: Named & { readonly nodes: readonly string[] };
  fail: Named & { readonly code?: string; readonly message?: string; readonly details?: unknown };
  end: Named & { readonly output?: unknown; readonly terminate?: boolean };
}

/** A kind of node. */
export type NodeKind = keyof Nodes;

/** A node of one kind, or of any. */
export type Node<K extends NodeKind = NodeKind> = { [One in K]: Nodes[One] & { readonly kind: One } }[K];
