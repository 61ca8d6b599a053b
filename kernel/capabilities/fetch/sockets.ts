import { isIP, connect as openTcp, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { connect as openTls } from "node:tls";
import { onAbort, type Sockets, type SocketTarget } from "@svc/sdk";
import type { LoadedCapability } from "../../base/capability.ts";
import { isThisMachine } from "../../base/client-address.ts";
import { fail } from "../../base/errors.ts";
import { bare, isSeen, requireNamed, written } from "./hosts.ts";
import { lookupWith, type Resolve, systemResolve } from "./lookup.ts";
import { isPublicAddress } from "./public-address.ts";
import { openWebSocket } from "./web-socket.ts";

/** Options of the sockets of one plugin. */
export interface SocketsOptions {
  readonly plugin: string;
  /** Ends all of them: the end of the plugin. */
  readonly signal: AbortSignal;
  /** Hosts that its manifest names; undefined if it names none. */
  readonly hosts?: readonly string[] | undefined;
  /** Its section of the configuration, for the word `configured` among `hosts`. */
  readonly section?: unknown;
  /** Trusts no host that leads back to this machine, nor one that the operator has not seen. Default false. */
  readonly isolated?: boolean;
  readonly resolve?: Resolve;
}

const TIMEOUT_MS = 15_000;

/** The capability `sockets`. */
export const socketsCapability = (): LoadedCapability<Sockets> => ({
  make: (scope) =>
    createSockets({
      plugin: scope.id,
      signal: scope.signal,
      hosts: scope.network,
      isolated: scope.isolated,
      get section() {
        return scope.section;
      },
    }),
});

/**
 * The sockets of one plugin, guarded as fetch is: an address is checked as it is written and as its name resolves, on the connection,
 * which then goes to the very address that was checked.
 */
export function createSockets(options: SocketsOptions): Sockets {
  const { plugin, signal, hosts, isolated = false, resolve = systemResolve } = options;
  const mayTrust = (address: string) => !isolated || !isThisMachine(address);
  const guarded = lookupWith(resolve, isPublicAddress, "SVC_SOCKET_BLOCKED");
  const trusted = lookupWith(resolve, mayTrust, "SVC_SOCKET_ISOLATED");

  async function connect(to: SocketTarget): Promise<Duplex> {
    const { port, tls, trustedHosts = [] } = to;
    const host = bare(String(to.host));
    if (host === "" || !Number.isInteger(port) || port < 1 || port > 65_535) throw fail("SVC_SOCKET_TARGET", { plugin });
    requireNamed(plugin, hosts, options.section, host, port);
    const at = written(host, port);
    const named = trustedHosts.some((one) => one.toLowerCase() === at.toLowerCase());
    if (isIP(host) !== 0 && named && !mayTrust(host)) throw fail("SVC_SOCKET_ISOLATED", { host: at });
    const trust = named && (!isolated || isSeen(hosts, options.section, host, port));
    if (isIP(host) !== 0 && !trust && !isPublicAddress(host)) throw fail("SVC_SOCKET_BLOCKED", { host: at });
    const target = { host, port, lookup: trust ? trusted : guarded };
    if (tls === undefined || tls === false) return opened(() => openTcp(target), "connect", at, to);
    const { servername = host, ca } = tls === true ? {} : tls;
    const name = isIP(servername) === 0 ? { servername } : {};
    return opened(() => openTls({ ...target, ...name, ...(ca === undefined ? {} : { ca }) }), "secureConnect", at, to);
  }

  function opened(open: () => Socket, event: "connect" | "secureConnect", host: string, to: SocketTarget): Promise<Socket> {
    const ends = to.signal === undefined ? signal : AbortSignal.any([signal, to.signal]);
    return new Promise((done, refuse) => {
      if (ends.aborted) return refuse(fail("SVC_SOCKET_ABORTED", { host }));
      const { timeoutMs = TIMEOUT_MS } = to;
      const socket = open();
      const abort = () => socket.destroy(fail("SVC_SOCKET_ABORTED", { host }));
      const timer = setTimeout(() => socket.destroy(fail("SVC_SOCKET_TIMEOUT", { host, ms: timeoutMs })), timeoutMs);
      const failed = (error: NodeJS.ErrnoException) =>
        refuse(error.code?.startsWith("SVC_") ? error : fail("SVC_SOCKET_FAILED", { host, reason: error.code ?? error.message }));
      const stop = onAbort(ends, abort);
      socket.once("error", failed);
      socket.once("close", () => {
        clearTimeout(timer);
        stop();
        refuse(fail("SVC_SOCKET_FAILED", { host, reason: "it hung up" }));
      });
      socket.once(event, () => {
        clearTimeout(timer);
        socket.off("error", failed);
        stop();
        // Ended by the plugin itself: an error might have no listener.
        socket.once(
          "close",
          onAbort(ends, () => void socket.destroy()),
        );
        done(socket);
      });
    });
  }

  return { connect, webSocket: (url, init) => openWebSocket(connect, url, init) };
}
