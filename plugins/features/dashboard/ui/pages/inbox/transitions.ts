import type { Question, TaskField, UserTask } from "./inbox-types.ts";

/** A button that answers a request. */
export interface Transition {
  readonly id: string;
  readonly label: string;
  /** The transition refuses or ends something: never the first, and styled as such. */
  readonly rejects: boolean;
  /** Values that the button sets in the form. */
  readonly values?: Readonly<Record<string, string>>;
  /** The port that it asks for, where the task leaves that to the person. */
  readonly transition?: string;
}

/** An edge of the graph in which the task's node stands. */
type Way = { readonly from: string; readonly fromPort?: string };

/** Ports that a person does not choose. */
const OF_THE_ENGINE: ReadonlySet<string> = new Set(["error", "timeout", "due"]);
const REJECTING = /^(reject|refuse|decline|deny|fail|no|not|cancel|delete|remove|drop|stop|abort|discard|skip)([^a-z]|$)/i;
/** `{{ values.verdict }}`. */
const FROM_VALUE = /^\{\{\s*values\.([A-Za-z_]\w*)\s*\}\}$/;
/** Options beyond this stay a field of the form. */
const MOST_BUTTONS = 5;

/** The button that sends a form as it is. */
const SUBMIT: Transition = { id: "submit", label: "Submit", rejects: false };

/**
 * The buttons of a task, by the names of its transitions, and the fields that the form keeps: a field that decides the transition is its
 * buttons. `ways`: the edges out of its node, for a task that leaves the transition to the person.
 */
export function transitionsOf(
  { form: { fields }, submitTransition, step }: Pick<UserTask, "form" | "submitTransition" | "step">,
  ways: readonly Way[],
): { readonly buttons: readonly Transition[]; readonly fields: readonly TaskField[] } {
  const decider = fields.find(({ name }) => name === FROM_VALUE.exec(submitTransition)?.[1]);
  if (decider?.kind === "select" && (decider.options?.length ?? 0) > 0 && (decider.options?.length ?? 0) <= MOST_BUTTONS) {
    const buttons = (decider.options ?? []).map((option) => {
      const { value, label = named(value) } = typeof option === "string" ? { value: option } : option;
      return { id: value, label, rejects: REJECTING.test(value), values: { [decider.name]: value } };
    });
    return { buttons: inOrder(buttons), fields: fields.filter((field) => field !== decider) };
  }
  if (submitTransition.includes("{{")) return { buttons: [SUBMIT], fields };
  if (submitTransition !== "out") return { buttons: [buttonOf(submitTransition)], fields };
  const node = step.slice(0, step.lastIndexOf("/"));
  const ports = [...new Set(ways.filter(({ from }) => from === node).map(({ fromPort = "out" }) => fromPort))].filter((port) => !OF_THE_ENGINE.has(port));
  if (ports.length === 0 || (ports.length === 1 && ports[0] === "out")) return { buttons: [SUBMIT], fields };
  return { buttons: inOrder(ports.map((port) => (port === "out" ? { ...SUBMIT, transition: port } : { ...buttonOf(port), transition: port }))), fields };
}

/** The buttons of a question. */
export const choicesOf = ({ choices }: Pick<Question, "choices">): readonly Transition[] =>
  inOrder(choices.map(({ id, label, rejects = false }) => ({ id, label, rejects })));

const buttonOf = (port: string): Transition => ({ id: port, label: named(port), rejects: REJECTING.test(port) });

/** `ask-for-changes` is read as `Ask for changes`. */
function named(port: string): string {
  const words = port.replace(/[-_]+/g, " ").trim();
  return words === "" ? port : words.charAt(0).toUpperCase() + words.slice(1);
}

/** Rejections come last. */
const inOrder = (buttons: readonly Transition[]): readonly Transition[] => [
  ...buttons.filter(({ rejects }) => !rejects),
  ...buttons.filter(({ rejects }) => rejects),
];
