import { connect } from "node:net";

const LIMIT_MS = 3_000;

/** Can the vendor be reached at all? Opens a connection to its address, or to the proxy on the way, and sends nothing. Undefined when it can, else why not. */
export function unreachable(address: string, proxy?: string): Promise<string | undefined> {
  const way = proxy === undefined || proxy === "" || address.startsWith("http:") ? address : proxy;
  if (!URL.canParse(way)) return Promise.resolve(`${way} is no address`);
  const { hostname, port, protocol } = new URL(way);
  const host = hostname.replace(/^\[|\]$/g, "");
  const number = Number(port) || (protocol === "https:" ? 443 : 80);
  return new Promise((resolve) => {
    const socket = connect({ host, port: number });
    const end = (reason?: string) => {
      socket.destroy();
      resolve(reason === undefined ? undefined : `${host}:${number} cannot be reached (${reason})`);
    };
    socket.setTimeout(LIMIT_MS, () => end(`no answer within ${LIMIT_MS / 1000} s`));
    socket.once("connect", () => end());
    socket.once("error", (error: NodeJS.ErrnoException) => end(error.code ?? error.message));
  });
}
