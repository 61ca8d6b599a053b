import type { Inbound, WorkflowHead } from "@svc/sdk";

/** The workflow that a message is most like, and how much. */
export interface Match {
  readonly workflow: WorkflowHead;
  /** From 0 to 1. */
  readonly score: number;
}

/** Limit of a message in characters: a longer one is not a request for a workflow. */
const LONGEST = 2_000;

/**
 * The best of the workflows, the first of several; undefined where nothing is shared. The score is the share of words that the message and
 * a phrase, the name or the description have in common, in lower case; 1 for an equal phrase. Broken ones are left out.
 */
export function bestMatch(text: string, workflows: readonly WorkflowHead[]): Match | undefined {
  if (text.length > LONGEST) return undefined;
  const said = wordsOf(text);
  if (said.size === 0) return undefined;
  let best: Match | undefined;
  for (const workflow of workflows) {
    if (workflow.broken) continue;
    const texts = [...(workflow.phrases ?? []), workflow.name, workflow.description].filter((one): one is string => one !== undefined);
    const score = Math.max(0, ...texts.map((one) => share(said, wordsOf(one))));
    if (score > (best?.score ?? 0)) best = { workflow, score };
  }
  return best;
}

/** Returns the input fields that a message provides, and the names of required ones that it lacks. */
export function inputsOf({ inputSchema }: WorkflowHead, { text, sender, channel, chat }: Pick<Inbound, "text" | "sender" | "channel" | "chat">) {
  const said: Readonly<Record<string, unknown>> = { message: text, sender: sender?.id, channel, chatId: chat };
  const input: [string, unknown][] = [];
  const missing: string[] = [];
  for (const [name, { default: value, required }] of Object.entries(inputSchema)) {
    const given = Object.hasOwn(said, name) ? said[name] : undefined;
    if (given !== undefined) input.push([name, given]);
    else if (value === undefined && required === true) missing.push(name);
  }
  // Defaults are filled in when the run is started.
  return { input: Object.fromEntries(input), missing };
}

const wordsOf = (text: string): ReadonlySet<string> => new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []);

/** Words of both, by words of either. */
function share(left: ReadonlySet<string>, right: ReadonlySet<string>): number {
  if (right.size === 0) return 0;
  let both = 0;
  for (const word of left) if (right.has(word)) both += 1;
  return both / (left.size + right.size - both);
}
