import {
  codeOf,
  type Inbound,
  type PeerAnswer,
  type Peers,
  type PluginContext,
  type Route,
  reasonOf,
  sleep,
  type TaskResult,
  type TierEvent,
  type Turn,
} from "@svc/sdk";
import type { TargetFacts } from "./target.ts";

/** One question to the peer; a longer task is asked for again under the same key, and goes on meanwhile. */
const ROUND_MS = 120_000;
const PAUSE_MS = 1_000;
const MOST_PAUSE_MS = 60_000;
/** A peer that cannot be reached for so long after a delivery came in is given up. */
const GIVE_UP_MS = 86_400_000;
/** After the taps of a plugin that connects nodes itself. */
const LATE = 1_000;

/** Whether a peer of that name is known. */
export const isPeer = (node: string, { services }: Pick<PluginContext, "services">): boolean =>
  services
    .get("peers")
    ?.list()
    .some(({ name }) => name === node) ?? false;

/**
 * Deliveries of entries with `node` are worked on by the agent of that peer: stored here first, then run there by `POST /task`, under the
 * task's id as key, so that neither a restart here nor a lost answer has the peer work twice.
 */
export function addForwarding(ctx: Pick<PluginContext, "hooks" | "services">, { entries }: Pick<TargetFacts, "entries">): void {
  ctx.hooks.route.tap((message): Route | undefined => {
    const node = entryOf(message, entries)?.node;
    if (node === undefined) return undefined;
    const { agent = "", channel, chat } = message;
    return { agent, node, conversation: `${node}/${agent}:${channel}:${chat}`, reply: { channel, chat } };
  });
  ctx.hooks.dispatch.tap(
    (turn, _context, { signal }) => {
      const { node } = turn.route;
      const peers = ctx.services.get("peers");
      if (node === undefined || turn.messages[0].entry !== "webhook" || peers === undefined || !isPeer(node, ctx)) return undefined;
      return handOver(turn, node, peers, signal);
    },
    { stage: LATE },
  );
}

const entryOf = ({ entry, channel, chat }: Inbound, entries: TargetFacts["entries"]) =>
  entry === "webhook" && channel === "webhook" ? entries().find(({ id }) => id === chat) : undefined;

async function* handOver(turn: Turn, node: string, peers: Peers, signal: AbortSignal): AsyncGenerator<TierEvent> {
  yield { type: "parked", reason: `node ${node} works on it` };
  const [{ at }] = turn.messages;
  for (let pause = PAUSE_MS; ; pause = Math.min(2 * pause, MOST_PAUSE_MS)) {
    const outcome = await ask(turn, node, peers, signal);
    if (typeof outcome !== "string") {
      yield outcome;
      return;
    }
    if (signal.aborted) return;
    if (Date.now() - at > GIVE_UP_MS) {
      yield { type: "error", kind: "node", message: `Node ${node} has not answered within a day: ${outcome}` };
      return;
    }
    await sleep(pause, signal).catch(() => undefined);
    if (signal.aborted) return;
  }
}

/** How the turn ends, or why it has to be asked for again. */
async function ask(turn: Turn, node: string, peers: Peers, signal: AbortSignal): Promise<TierEvent | string> {
  const [{ chat, sender }] = turn.messages;
  let answer: PeerAnswer;
  try {
    answer = await peers.request(node, {
      method: "POST",
      path: "/task",
      headers: { "idempotency-key": turn.id },
      body: {
        agent: turn.route.agent,
        message: turn.messages.map(({ text }) => text).join("\n\n"),
        context: { channel: "webhook", chatId: chat, ...(sender === undefined ? {} : { sender: sender.id }) },
      },
      signal,
      timeoutMs: ROUND_MS,
    });
  } catch (error) {
    return `${codeOf(error) ?? "it cannot be reached"}: ${reasonOf(error)}`;
  }
  const { status, body } = answer;
  const said = (body ?? {}) as Partial<TaskResult> & { readonly code?: string };
  if (status === 429 || status >= 500) return `status ${status}: ${said.error ?? "no reason"}`;
  if (status !== 200) return { type: "error", kind: said.code ?? "node", message: `Node ${node} refused it with ${status}: ${said.error ?? "no reason"}` };
  if (said.ok === true) return { type: "done", text: said.reply ?? "" };
  // It goes on there after the peer's restart.
  if (said.errorKind === "interrupted") return `interrupted: ${said.error ?? ""}`;
  return { type: "error", kind: said.errorKind ?? "node", message: `Node ${node}: ${said.error ?? "the run failed there"}` };
}
