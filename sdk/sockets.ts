import type { Duplex } from "node:stream";

/**
 * Capability `sockets`: connections to public addresses, and to those in the operator's configuration. If the manifest names hosts (`network`), to
 * those only. From a process of its own, too, they go through the daemon. They close with the plugin.
 */
export interface Sockets {
  /** Resolves when it is connected; with `tls`, when the certificate was accepted. */
  connect(to: SocketTarget): Promise<Duplex>;
  /** Resolves when the far end has agreed. `ws:` and `wss:`; no redirect is followed. */
  webSocket(url: string, init?: WebSocketInit): Promise<WebSocketConnection>;
}

/** Where a socket connects to, and how long that may take. */
export interface SocketTarget {
  readonly host: string;
  readonly port: number;
  /** `ca`: certificates in PEM to trust in place of the usual ones. */
  readonly tls?: boolean | { readonly servername?: string; readonly ca?: string };
  /** Gives the attempt up; later it ends the connection. */
  readonly signal?: AbortSignal;
  /** Until it is connected, in milliseconds; default 15,000. */
  readonly timeoutMs?: number;
  /**
   * Hosts as `host:port` that the operator wrote into the configuration, such as a server on this machine: exempt from the address
   * check. Never from a message or a model. Of an isolated plugin those count that stand in its section or in the `network` of its
   * manifest, and none that leads to this machine.
   */
  readonly trustedHosts?: readonly string[];
}

/** Options of a WebSocket connection. */
export interface WebSocketInit extends Pick<SocketTarget, "signal" | "timeoutMs"> {
  readonly protocols?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  /** The largest message that is taken; default 1,048,576. A larger one ends the connection. */
  readonly maxBytes?: number;
  /** Interval of keep-alive pings; one ping without an answer closes the connection. 0: never. Default 30,000. */
  readonly pingMs?: number;
  /** As with `fetch`: origins such as `ws://127.0.0.1:8080`. */
  readonly trustedOrigins?: readonly string[];
}

/** An open WebSocket. */
export interface WebSocketConnection {
  /** The entry of `protocols` that the far end chose; empty for none. */
  readonly protocol: string;
  /** Text as text, binary as bytes. Read once; while it is not read, the far end is held back. Ends with the connection. */
  readonly messages: AsyncIterable<string | Uint8Array>;
  /** Resolves when it is on its way. */
  send(data: string | Uint8Array): Promise<void>;
  /** Says goodbye; resolves when the connection has ended. */
  close(code?: number, reason?: string): Promise<void>;
  /** Never rejects. 1006 where it broke off without a goodbye. */
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
}
