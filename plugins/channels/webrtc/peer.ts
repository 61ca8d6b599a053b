import { createRequire } from "node:module";
import type { CallState, IceCandidate, IceServer } from "@svc/sdk";
import OpusScript from "opusscript";
import type { PeerEvent, PeerOptions } from "./protocol.ts";
import { SoundOrder } from "./sound-order.ts";
import { soundPartOf } from "./sound-part.ts";
import { RATE, SpeechGate } from "./speech-gate.ts";
import { refusedBy, turnAddressOf } from "./turn-login.ts";

// Required: the same library as one file for `import` takes 5 MB more.
const { RTCPeerConnection, RTCRtpCodecParameters } = createRequire(import.meta.url)("werift") as typeof import("werift");

/** From the answer to the connection. */
const CONNECT_MS = 25_000;
/** A connection that was lost may come back within this. */
const LOST_MS = 15_000;
/** Time without a packet after which the current stretch is delivered. */
const SILENT_MS = 900;
/** The longest packet of the codec: 120 ms. */
const LONGEST_PACKET = (RATE / 1000) * 120;
const MOST_CANDIDATES = 64;
/** Answers do not wait longer for slow servers; what they find comes as a candidate. */
const GATHER_MS = 1_500;

/** The end of one call, in the thread of calls. */
export interface Peer {
  candidate(candidate: IceCandidate): Promise<void>;
  /** Takes an offer of the same connection with new ICE credentials; resolves with the answer. The call goes on where it rejects. */
  restart(offer: string): Promise<string>;
  /** Several times a second. */
  tick(now: number): void;
  /** Delivers the current stretch and releases all resources. Idempotent. */
  close(): Promise<void>;
}

/** Relays that take the login, and what the others say. */
async function serversOf({ iceServers, relayOnly }: PeerOptions): Promise<{ readonly servers: IceServer[]; readonly troubles: string[] }> {
  const troubles: string[] = [];
  const servers: IceServer[] = [];
  let hasRelay = false;
  for (const { urls, username = "", credential = "" } of iceServers) {
    for (const url of typeof urls === "string" ? [urls] : urls) {
      if (!/^turns?:/i.test(url)) {
        if (!relayOnly) servers.push({ urls: url });
        continue;
      }
      // The vendor uses one relay.
      if (hasRelay) continue;
      const address = turnAddressOf(url);
      const refused = address === undefined ? "is no address of a relay" : await refusedBy(address, username, credential);
      if (refused !== undefined) {
        troubles.push(`the relay ${url} ${refused}`);
        continue;
      }
      hasRelay = true;
      servers.push({ urls: url, username, credential });
    }
  }
  return { servers, troubles };
}

/** One that takes sound alone, by these servers. */
function connectionBy(servers: readonly IceServer[], options: PeerOptions) {
  return new RTCPeerConnection({
    codecs: { audio: [new RTCRtpCodecParameters({ mimeType: "audio/opus", clockRate: 48_000, channels: 2, payloadType: 111 })], video: [] },
    iceServers: servers.map(({ urls, username, credential }) => ({ urls: String(urls), ...(username === undefined ? {} : { username, credential }) })),
    iceTransportPolicy: options.relayOnly ? "relay" : "all",
    iceAdditionalHostAddresses: [...options.hostAddresses],
    ...(options.portRange === undefined ? {} : { icePortRange: [...options.portRange] as [number, number] }),
  });
}

/** Takes the offer; `tell` has had the answer when it resolves. Rejects for an offer that cannot be taken, with nothing left behind. */
export async function openPeer(offer: string, options: PeerOptions, tell: (event: PeerEvent) => void): Promise<Peer> {
  const { servers, troubles } = await serversOf(options);
  for (const reason of troubles) tell({ op: "trouble", reason });
  // Without a relay the vendor would offer the addresses of this machine after all.
  if (options.relayOnly && servers.length === 0) throw Object.assign(new Error(troubles.join("; ")), { isOurs: true });
  const connection = connectionBy(servers, options);
  const ear = createEar(tell);
  const opened = performance.now();
  const life = { state: "connecting" as CallState, lostAt: 0, isOver: false, candidates: 0, lastStats: 0 };

  async function end(state: "failed" | "closed", reason: string): Promise<void> {
    if (life.isOver) return;
    life.isOver = true;
    ear.close();
    await tellStats();
    // Told last: of a call that has ended nothing is left here.
    await connection.close().catch(() => {});
    tell({ op: "state", state, reason });
    tell({ op: "ended" });
  }
  const tellStats = async () => {
    let rtpOut = 0;
    const stats = await connection.getStats().catch(() => new Map<string, { type: string; packetsSent?: number }>());
    for (const one of stats.values()) if (one.type === "outbound-rtp") rtpOut += (one as { packetsSent?: number }).packetsSent ?? 0;
    tell({ op: "stats", rtpIn: ear.packets(), rtpOut, decodedMs: ear.ms() });
  };

  connection.onIceCandidate.subscribe((found) => {
    if (!life.isOver) tell(found === undefined ? { op: "candidate" } : { op: "candidate", candidate: found.toJSON() as IceCandidate });
  });
  connection.onTrack.subscribe((track) => {
    if (track.kind === "audio") track.onReceiveRtp.subscribe((packet) => ear.hear(packet.header, packet.payload));
  });
  connection.connectionStateChange.subscribe((state) => {
    if (life.isOver) return;
    if (state === "connected") {
      life.lostAt = 0;
      if (life.state === "connected") return;
      life.state = "connected";
      ear.connected();
      tell({ op: "state", state: "connected" });
    } else if (state === "disconnected") life.lostAt = performance.now();
    else if (state === "failed") void end("failed", life.state === "connected" ? "the connection to the caller was lost" : whyUnreached(troubles));
    else if (state === "closed") void end("closed", "the caller hung up");
  });

  async function answerTo(given: string): Promise<string> {
    const sound = soundPartOf(given);
    await connection.setRemoteDescription({ type: "offer", sdp: sound.offer });
    for (const transceiver of connection.getTransceivers()) transceiver.setDirection(transceiver.kind === "audio" ? "recvonly" : "inactive");
    const answer = await connection.createAnswer();
    const gathered = connection.setLocalDescription(answer);
    gathered.catch((error) => void end("failed", `no answer could be made: ${error instanceof Error ? error.message : error}`));
    await Promise.race([gathered, new Promise((resolve) => setTimeout(resolve, GATHER_MS))]);
    return sound.whole(connection.localDescription?.sdp ?? answer.sdp);
  }

  let identity = identityOf(offer);
  try {
    tell({ op: "answer", sdp: await answerTo(offer) });
    tell({ op: "state", state: "connecting" });
  } catch (error) {
    life.isOver = true;
    ear.close();
    await connection.close().catch(() => {});
    throw error;
  }

  return {
    async candidate(candidate) {
      life.candidates += 1;
      if (life.isOver || life.candidates > MOST_CANDIDATES) return;
      // Of another browser, of another call, or nonsense: passed over.
      await connection.addIceCandidate(candidate).catch(() => {});
    },
    async restart(again) {
      const next = identityOf(again);
      if (life.isOver) throw new Error("the call is over");
      checkRestart(identity, next);
      life.candidates = 0;
      const answer = await answerTo(again);
      identity = next;
      // On a connection that is secured already the library begins no checks by itself, and would not notice a loss.
      for (const { iceTransport } of connection.dtlsTransports) iceTransport.start().catch(() => {});
      return answer;
    },
    tick(now) {
      if (life.isOver) return;
      ear.tick(now);
      if (life.state === "connecting" && now - opened > CONNECT_MS) void end("failed", whyUnreached(troubles));
      if (life.lostAt > 0 && now - life.lostAt > LOST_MS) void end("failed", "the connection to the caller was lost");
      if (now - life.lastStats > 1_000) {
        life.lastStats = now;
        void tellStats();
      }
    },
    close: () => end("closed", "ended here"),
  };
}

/** Identity of a connection, and of its present ICE session. */
interface Identity {
  readonly fingerprints: string;
  readonly ice: string;
}

function checkRestart(now: Identity, next: Identity): void {
  if (next.fingerprints !== now.fingerprints) throw new Error("it is of another connection: only a new call helps");
  if (next.ice === now.ice) throw new Error("its ICE credentials are the earlier ones, so there is nothing to restart");
}

function identityOf(sdp: string): Identity {
  const all = (pattern: RegExp) => [...new Set([...sdp.matchAll(pattern)].map(([, value = ""]) => value.trim()))].sort().join(" ");
  return { fingerprints: all(/^a=fingerprint:(.*)$/gm).toUpperCase(), ice: all(/^a=ice-(?:ufrag|pwd):(.*)$/gm) };
}

const whyUnreached = (troubles: readonly string[]): string =>
  ["no way to the caller's browser was found", ...(troubles.length > 0 ? troubles : ["where networks lie between, set turnServers of channels.webrtc"])].join(
    ": ",
  );

/** From packets to speech. */
function createEar(tell: (event: PeerEvent) => void) {
  let decoder: OpusScript | undefined = new OpusScript(RATE, 1, OpusScript.Application.VOIP);
  let packets = 0;
  let last = 0;
  /** Milliseconds from the connection to the first packet. */
  let offset = 0;
  let connectedAt = performance.now();
  const gate = new SpeechGate((atMs, samples) => tell({ op: "speech", atMs: Math.round(offset + atMs), samples }));
  const order = new SoundOrder((payload, gapMs) => {
    if (gapMs > 0) gate.skip(gapMs);
    const samples = decoded(payload);
    gate.push(samples);
    return samples.length / (RATE / 1000);
  });
  /** Decode an invalid packet as silence of the same length. */
  const decoded = (payload: Uint8Array): Int16Array => {
    try {
      const pcm = (decoder as OpusScript).decode(Buffer.from(payload));
      return new Int16Array(pcm.buffer.slice(pcm.byteOffset, pcm.byteOffset + Math.min(pcm.byteLength, LONGEST_PACKET * 2)));
    } catch {
      return new Int16Array(RATE / 50);
    }
  };
  return {
    connected: () => {
      connectedAt = performance.now();
    },
    packets: () => packets,
    ms: () => Math.round(gate.ms),
    hear({ sequenceNumber, timestamp }: { readonly sequenceNumber: number; readonly timestamp: number }, payload: Uint8Array) {
      if (decoder === undefined || payload.length === 0) return;
      last = performance.now();
      if (packets === 0) offset = Math.max(0, last - connectedAt);
      packets += 1;
      order.push({ sequence: sequenceNumber, timestamp, payload });
    },
    /** No packets arrive: the current stretch will not grow. */
    tick(now: number) {
      if (last === 0 || now - last < SILENT_MS) return;
      last = 0;
      order.flush();
      gate.flush();
    },
    close() {
      if (decoder === undefined) return;
      order.flush();
      gate.flush();
      decoder.delete();
      decoder = undefined;
    },
  };
}
