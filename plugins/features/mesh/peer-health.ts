import { type Events, type KnownPeer, type Log, type Peers, reasonOf } from "@svc/sdk";

/** Kept of one peer. */
const MOST_AGENTS = 200;

/** State of a peer at the last poll. */
export interface PeerHealth {
  readonly state: "unknown" | "up" | "down" | "refused";
  /** Unix time in milliseconds. */
  readonly at?: number;
  /** Why it is not up. */
  readonly reason?: string;
}

/** Asks peers how they are. Each change of a peer is one line of the log and one event, however often it is asked. */
export class HealthBook {
  readonly #states = new Map<string, PeerHealth>();
  /** The agents that it had when it was up last, by peer. */
  readonly #agents = new Map<string, readonly string[]>();
  readonly #peers: Peers;
  readonly #log: Log;
  readonly #events: Pick<Events, "publish">;
  readonly #timeoutMs: number;

  constructor(peers: Peers, { log, events }: { readonly log: Log; readonly events: Pick<Events, "publish"> }, timeoutMs: number) {
    this.#peers = peers;
    this.#log = log;
    this.#events = events;
    this.#timeoutMs = timeoutMs;
  }

  of(peer: string): PeerHealth {
    return this.#states.get(peer) ?? { state: "unknown" };
  }

  /** State of a peer for other plugins. */
  known(peer: string): Pick<KnownPeer, "state" | "agents"> {
    const agents = this.#agents.get(peer);
    return { state: this.of(peer).state, ...(agents === undefined ? {} : { agents }) };
  }

  async look(): Promise<void> {
    await Promise.all(this.#peers.list().map(({ name }) => this.check(name)));
  }

  /** Asks for the agents: that needs the token, so that a wrong one is told as what it is. */
  async check(peer: string): Promise<PeerHealth & { readonly agents?: readonly string[] }> {
    const before = this.of(peer).state;
    const now = await this.#ask(peer);
    const { agents, ...health } = now;
    this.#states.set(peer, health);
    if (before === "up" && now.state !== "up") this.#tell("lost", peer, { reason: now.reason });
    if (before !== "up" && before !== "unknown" && now.state === "up") this.#tell("recovered", peer, {});
    if (agents !== undefined) this.#compare(peer, agents);
    if (now.state !== before && !(before === "unknown" && now.state === "up"))
      this.#log[now.state === "up" ? "info" : "warn"](
        { peer, ...(now.reason === undefined ? {} : { reason: now.reason }) },
        now.state === "up" ? "a peer is up" : "a peer is not reached",
      );
    return now;
  }

  #compare(peer: string, agents: readonly string[]): void {
    const before = this.#agents.get(peer);
    const now = agents.toSorted();
    this.#agents.set(peer, now);
    if (before !== undefined && JSON.stringify(before) !== JSON.stringify(now)) this.#tell("skills-changed", peer, { agents });
  }

  #tell(type: string, peer: string, facts: Readonly<Record<string, unknown>>): void {
    this.#events.publish({ kind: "mesh", type, summary: `the peer ${peer}: ${type}`, data: { peer, ...facts } });
  }

  async #ask(peer: string): Promise<PeerHealth & { readonly agents?: readonly string[] }> {
    const at = Date.now();
    try {
      const { status, body } = await this.#peers.request(peer, { method: "GET", path: "/agents", timeoutMs: this.#timeoutMs });
      if (status === 401)
        return { state: "refused", at, reason: "it does not know the token of this daemon (401): both must hold the same mesh.peers[].token" };
      if (status !== 200) return { state: "down", at, reason: `it answered ${status}` };
      const { agents = [] } = (body ?? {}) as { agents?: readonly { id: string }[] };
      return { state: "up", at, agents: agents.slice(0, MOST_AGENTS).map(({ id }) => String(id)) };
    } catch (error) {
      return { state: "down", at, reason: reasonOf(error) };
    }
  }
}
