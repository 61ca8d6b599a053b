import { parentPort } from "node:worker_threads";
import { openPeer, type Peer } from "./peer.ts";
import type { Heard, PeerEvent, Told } from "./protocol.ts";

// The thread of all calls: sockets, ciphers and sound. When it ends, nothing of them is left.
const TICK_MS = 250;
const peers = new Map<number, Promise<Peer | undefined>>();

const say = (heard: Heard) => parentPort?.postMessage(heard, heard.op === "speech" ? [heard.samples.buffer as ArrayBuffer] : []);

async function open({ call, offer, options }: Told & { readonly op: "open" }): Promise<Peer | undefined> {
  try {
    const peer = await openPeer(offer, options, (event: PeerEvent) => {
      if (event.op === "ended") peers.delete(call);
      say({ ...event, call } as Heard);
    });
    return peer;
  } catch (error) {
    peers.delete(call);
    say({ op: "refused", call, reason: error instanceof Error ? error.message : String(error), isOurs: (error as { isOurs?: true }).isOurs === true });
    return undefined;
  }
}

async function restart({ call, attempt, offer }: Told & { readonly op: "restart" }): Promise<void> {
  try {
    const sdp = await (await peers.get(call))?.restart(offer);
    say({ op: "restarted", call, attempt, ...(sdp === undefined ? { reason: "the call is over" } : { sdp }) });
  } catch (error) {
    say({ op: "restarted", call, attempt, reason: error instanceof Error ? error.message : String(error) });
  }
}

parentPort?.on("message", (told: Told) => {
  if (told.op === "open") return void peers.set(told.call, open(told));
  const peer = peers.get(told.call);
  if (told.op === "candidate") return void peer?.then((one) => one?.candidate(told.candidate));
  if (told.op === "restart") return void restart(told);
  if (peer === undefined) return say({ op: "ended", call: told.call });
  void peer.then((one) => one?.close());
});

setInterval(async () => {
  const now = performance.now();
  for (const peer of [...peers.values()]) (await peer)?.tick(now);
}, TICK_MS);
