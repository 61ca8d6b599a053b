/** Service `peers`: the other daemons of the mesh, as `mesh.peers` names them. */
export interface Peers {
  /** All of them, in the order of the configuration. */
  list(): readonly { readonly name: string; readonly url: string }[];
  /**
   * Asks a peer's daemon with the token that both share, and resolves with what it says, whatever the status. Throws `SVC_MESH_PEER` (404)
   * for a name that is not configured, and what `fetch` throws for a peer that cannot be reached.
   */
  request(peer: string, request: PeerRequest): Promise<PeerAnswer>;
}

/** A request to a peer. */
export interface PeerRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** From the root of the peer's daemon: `/status`. */
  readonly path: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Default 30,000. */
  readonly timeoutMs?: number;
}

/** What a peer answered. */
export interface PeerAnswer {
  readonly status: number;
  /** Its JSON; undefined where it is none. */
  readonly body: unknown;
}
