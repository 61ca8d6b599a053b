import type { Agent } from "../agents.ts";
import type { Tier, TierEvent, Turn, TurnContext } from "../tier.ts";
import { sleep } from "../time.ts";

/** Fields of an agent that matter to a tier under a contract, such as its model and its settings. */
export type ContractAgent = Partial<Omit<Agent, "id" | "name">>;

/** A turn of a contract. */
export interface ContractTurn {
  readonly tier: Tier;
  readonly agent?: ContractAgent | undefined;
  readonly prompt: string;
  readonly signal?: AbortSignal | undefined;
  /** Names agent and conversation; default `agent`. */
  readonly name?: string | undefined;
  /** The session to resume. */
  readonly session?: string | undefined;
  /** Receives each event at once. */
  readonly listen?: (event: TierEvent) => void;
}

/** Runs one turn and collects the tier's events. */
export async function runTurn({
  tier,
  agent,
  prompt,
  signal = new AbortController().signal,
  name,
  session,
  listen,
}: ContractTurn): Promise<readonly TierEvent[]> {
  const events: TierEvent[] = [];
  const given: TurnContext = { system: "You are a test.", layers: [], prompt, media: [], history: [], ...(session === undefined ? {} : { session }) };
  for await (const event of tier.run(turnOf(prompt, agent, name), given, signal)) {
    events.push(event);
    listen?.(event);
  }
  return events;
}

let turns = 0;
function turnOf(prompt: string, agent: ContractAgent = {}, name = "agent"): Turn {
  const id = `task_contract_${++turns}`;
  const conversation = `${name}:test:-:chat`;
  return {
    id,
    rootId: `root_${id}`,
    agent: { id: name, name, workspace: process.cwd(), tier: "contract", mentions: [], access: "private", settings: {}, ...agent },
    route: { agent: name, conversation, reply: { channel: "test", chat: "chat" } },
    messages: [{ id, rootId: `root_${id}`, at: Date.now(), attempts: 0, entry: "task", channel: "test", chat: "chat", text: prompt }],
    strategy: "",
    nativeSessions: true,
    attempt: 1,
    startedAt: Date.now(),
    ended: new Promise(() => {}),
  };
}

/** Whether the event ends a stream. */
export const isEnd = (event: TierEvent): boolean => event.type === "done" || event.type === "error";

/** The texts of a stream in one. */
export const streamedText = (events: readonly TierEvent[]): string => events.map((event) => (event.type === "text" ? event.text : "")).join("");

/** The answer as its sender gets it. */
export function answerOf(events: readonly TierEvent[]): string {
  const end = events.at(-1);
  return (end?.type === "done" ? end.text : undefined) ?? streamedText(events);
}

/** The session that was named last. */
export const sessionOf = (events: readonly TierEvent[]): string | undefined => events.flatMap((event) => (event.type === "session" ? [event.id] : [])).at(-1);

/** For a failure of the contract: the end, with the tier's own words for it. */
export function howItEnded(events: readonly TierEvent[]): string {
  const end = events.at(-1);
  if (end?.type === "error") return `the run ended with the error '${end.kind}': ${end.message}`;
  return end?.type === "done" ? `the answer was ${JSON.stringify(answerOf(events))}` : "the run ended without a result";
}

/** Polls every 20 ms until it holds. */
export async function until(holds: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await holds())) await sleep(20);
}
