import { codeOf, type Events, type PeerAnswer, type Peers, type PluginContext, reasonOf, sleep, type TaskResult, type TierEvent, type Turn } from "@svc/sdk";
import { qualified } from "./agent-chain.ts";
import { askAnyVersion } from "./older-peer.ts";

/** One question to the peer; a longer task is asked for again under the same key, and goes on there meanwhile. */
const ROUND_MS = 120_000;
const CANCEL_MS = 10_000;
const PAUSE_MS = 1_000;
const MOST_PAUSE_MS = 60_000;
/** A peer that cannot be reached for so long after a message came in is given up. */
const GIVE_UP_MS = 86_400_000;

/**
 * Turns of agents that live on a peer are run there, under the task's id as key: neither a restart here, nor one there, nor a lost answer has
 * the peer work twice. They hold no slot here.
 */
export function addNodeTurns({ hooks, events, log, node: { id: here } }: Pick<PluginContext, "hooks" | "events" | "log" | "node">, peers: Peers): void {
  hooks.dispatch.tap((turn, _context, { signal }) => {
    const { node } = turn.route;
    if (node === undefined || !peers.list().some(({ name }) => name === node)) return undefined;
    return handOver(turn, node, { peers, events, log, signal, here });
  });
}

interface Handing {
  readonly peers: Peers;
  /** The id of this node. */
  readonly here: string;
  readonly events: Events;
  readonly log: PluginContext["log"];
  readonly signal: AbortSignal;
}

async function* handOver(turn: Turn, node: string, handing: Handing): AsyncGenerator<TierEvent> {
  const { events, signal } = handing;
  const { agent } = turn.route;
  yield { type: "parked", reason: `node ${node} works on it` };
  // Events there have this event as their cause (MESH-06).
  const forward = events.within({ rootId: turn.rootId }, () =>
    events.publish({
      kind: "mesh",
      type: "forward",
      summary: `${agent} on ${node} is given a task`,
      ref: turn.id,
      data: { peer: node, agent, taskId: turn.id },
    }),
  );
  const [{ at }] = turn.messages;
  for (let pause = PAUSE_MS; ; pause = Math.min(2 * pause, MOST_PAUSE_MS)) {
    const outcome = await ask(turn, node, handing, forward.id);
    if (signal.aborted) return void cancel(turn, node, handing, forward.id);
    if (typeof outcome !== "string") return yield outcome;
    if (Date.now() - at > GIVE_UP_MS) return yield { type: "error", kind: "node", message: `Node ${node} has not answered within a day: ${outcome}` };
    await sleep(pause, signal).catch(() => undefined);
    if (signal.aborted) return void cancel(turn, node, handing, forward.id);
  }
}

/** Has the peer end the task, too, where it is over here; a daemon that stops asks for it again at its next start. A peer that cannot be reached goes on. */
async function cancel(turn: Turn, node: string, { peers, signal, log, here }: Handing, forward: string): Promise<void> {
  if ((signal.reason as { readonly kind?: string } | undefined)?.kind === "interrupted") return;
  const request = {
    method: "POST",
    path: "/mesh/task/cancel",
    headers: headersOf(turn, forward),
    body: bodyOf(turn, node, here),
    timeoutMs: CANCEL_MS,
  } as const;
  try {
    const { status } = await askAnyVersion(peers, node, request);
    if (status !== 200) log.warn({ task: turn.id, peer: node, status }, "a cancelled task may go on at the peer: it did not take the cancellation");
  } catch (error) {
    log.warn({ task: turn.id, peer: node, reason: reasonOf(error) }, "a cancelled task may go on at the peer: it could not be told");
  }
}

/** Returns the end of the turn, or why it has to be requested again. */
async function ask(turn: Turn, node: string, { peers, signal, here }: Handing, forward: string): Promise<TierEvent | string> {
  let answer: PeerAnswer;
  try {
    const post = (path: string) =>
      askAnyVersion(peers, node, { method: "POST", path, headers: headersOf(turn, forward), body: bodyOf(turn, node, here), signal, timeoutMs: ROUND_MS });
    answer = await post("/mesh/task");
    // One from before there were mesh tasks has no such path, and takes them as any other.
    if (answer.status === 404 && (answer.body as { code?: string } | undefined)?.code !== "SVC_AGENT_UNKNOWN") answer = await post("/task");
  } catch (error) {
    return `${codeOf(error) ?? "it cannot be reached"}: ${reasonOf(error)}`;
  }
  const { status, body } = answer;
  const said = (body ?? {}) as Partial<TaskResult> & { readonly code?: string };
  if (status === 429 || status >= 500) return `status ${status}: ${said.error ?? "no reason"}`;
  if (status === 401)
    return {
      type: "error",
      kind: "SVC_MESH_TOKEN",
      message: `Node ${node} does not know the token of this daemon (401): both must hold the same mesh.peers[].token.`,
    };
  if (status !== 200) return { type: "error", kind: said.code ?? "node", message: `Node ${node} refused it with ${status}: ${said.error ?? "no reason"}` };
  if (said.ok === true) return { type: "done", text: said.reply ?? "" };
  // The task resumes there after the peer's restart.
  if (said.errorKind === "interrupted") return `interrupted: ${said.error ?? ""}`;
  return { type: "error", kind: said.errorKind ?? "node", message: `Node ${node}: ${said.error ?? "the run failed there"}` };
}

const NAME_CHARS = 80;

/** The words of a message, and a line for each file that came with it: files are not handed on, and its agent is to know of them. */
function wordsOf({ text, media = [] }: Turn["messages"][0], here: string): string {
  const files = media.map(({ kind, name = "" }) => {
    const plain = [...name.replace(/[\p{C}\p{Z}]+/gu, " ").trim()].slice(0, NAME_CHARS).join("");
    return `(${plain === "" ? `A file (${kind})` : `${plain} (${kind})`} came with this; it stays on node ${here}.)`;
  });
  return [text, ...files].filter((line) => line !== "").join("\n\n");
}

const headersOf = ({ id, rootId }: Turn, forward: string) => ({ "idempotency-key": id, "x-svc-root-id": rootId, "x-svc-parent-id": forward });

function bodyOf({ messages, route }: Turn, node: string, here: string): Readonly<Record<string, unknown>> {
  const [{ channel, chat, sender, options }] = messages;
  const { freshSession, timeoutMinutes, chain, topic } = options ?? {};
  return {
    peer: node,
    agent: route.agent,
    message: messages.map((message) => wordsOf(message, here)).join("\n\n"),
    ...(freshSession === undefined ? {} : { freshSession }),
    ...(timeoutMinutes === undefined ? {} : { timeoutMinutes }),
    ...(chain === undefined ? {} : { chain: qualified(chain, here) }),
    ...(topic === undefined ? {} : { topic }),
    context: { channel, chatId: chat, ...(sender === undefined ? {} : { sender: sender.id }) },
  };
}
