import type { Agent, DaemonHealth, Layer, Peers, Turn } from "@svc/sdk";
import { firstLine, layer, oneLine } from "./words.ts";

const ROSTER = 40;
/** Agents named of one peer. */
const ROSTER_OF_PEER = 12;

/** Surroundings of an agent. */
export interface Surroundings {
  readonly agents: readonly Agent[];
  readonly node: string;
  readonly peers?: ReturnType<Peers["list"]>;
  readonly channels?: DaemonHealth["channels"];
}

/**
 * The other agents of this node, the daemons of the mesh with their state, and the channels that messages can be sent on; how to reach them where the
 * agent can. Only facts: a peer that is down is named as down, a channel that cannot send is omitted. Empty without surroundings.
 */
export function landscape({ agent, actions: callable = [], messages }: Turn, { agents, node, peers = [], channels = [] }: Surroundings): Layer {
  // Do not mention actions that a restricted run is refused.
  const mayAct = (messages[0].options?.autonomy ?? "act") === "act" && agent.settings["permissionMode"] !== "plan";
  const actions = mayAct ? callable : [];
  const others = agents.filter(({ id }) => id !== agent.id);
  const by = (action: string, words: string) => (actions.includes(action) ? `; ask ${words}` : "");
  return layer("landscape", "Landscape", [
    others.length > 0 && `Other agents on the node ${oneLine(node, 60)}${by("agent.call", "one with the tool agent_call {agentId, message}")}:`,
    ...others.slice(0, ROSTER).map(agentLine),
    others.length > ROSTER && `- and ${others.length - ROSTER} more`,
    peers.length > 0 && `Other machines of the mesh${by("mesh.delegate", "an agent there with the tool mesh_delegate {peer, agent, message}")}:`,
    ...peers.slice(0, ROSTER).map(peerLine),
    peers.length > ROSTER && `- and ${peers.length - ROSTER} more`,
    // An agent that talks with strangers must not write to others unprompted.
    ...(mayAct && agent.access !== "public" ? channelLines(channels) : []),
  ]);
}

function agentLine({ id, name, systemPrompt = "" }: Agent): string {
  const about = oneLine(firstLine(systemPrompt), 120);
  return `- ${id}${name === id ? "" : ` (${oneLine(name, 60)})`}${about === "" ? "" : `: ${about}`}`;
}

/** A peer's description of itself is untrusted: names on one line, limited in number. */
function peerLine({ name, state = "unknown", agents = [] }: ReturnType<Peers["list"]>[number]): string {
  const peer = `- ${oneLine(name, 60)}`;
  if (state === "down") return `${peer}: DOWN now, it cannot be asked`;
  if (state === "refused") return `${peer}: it refuses this daemon's token, so that it cannot be asked`;
  if (state === "unknown") return `${peer}: not asked yet whether it is up`;
  const named = agents.slice(0, ROSTER_OF_PEER).map((id) => oneLine(id, 60));
  const more = agents.length - named.length;
  return named.length === 0 ? `${peer}: up` : `${peer}: up, with the agents ${named.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

function channelLines(channels: NonNullable<DaemonHealth["channels"]>): readonly (string | false)[] {
  const named = (wanted: boolean) => channels.flatMap(({ name, state }) => ((state === "ready") === wanted ? [oneLine(name, 60)] : [])).slice(0, ROSTER);
  const [ready, other] = [named(true), named(false)];
  return [
    ready.length > 0 && `Channels that messages can be sent on, with the command svc channel send <channel> <chat> <text>: ${ready.join(", ")}`,
    other.length > 0 && `Channels that send nothing now: ${other.join(", ")}`,
  ];
}
