import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import type { CallEnd, CallMedia, CallRequest, CallState, IceCandidate, IceServer, Said, SpeechSegment } from "@svc/sdk";
import OpusScript from "opusscript";
import { MediaStreamTrack, RTCPeerConnection, RTCRtpCodecParameters, RtpHeader, RtpPacket } from "werift";

const FRAME = 960;

/** A caller that is no browser: speaks samples of 48 kHz as packets of 20 ms. */
export interface Caller {
  readonly heard: { readonly texts: Said[]; readonly segments: SpeechSegment[]; readonly states: { state: CallState; reason?: string }[] };
  /** Packets that came from the other end. */
  received(): number;
  /** The offer, without an end to answer it. */
  offer(): Promise<string>;
  ring(media: Pick<CallMedia, "open">, more?: Partial<CallRequest>): Promise<CallEnd>;
  connected(): Promise<void>;
  /** `pace` 1 is real time. `mangle` may drop, double or reorder. */
  speak(samples: Int16Array, pace?: number, mangle?: (packets: readonly Buffer[], at: number) => readonly Buffer[]): Promise<void>;
  hangUp(): Promise<void>;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

export async function createCaller(id: string, ice: { iceServers?: readonly IceServer[]; relayOnly?: boolean } = {}): Promise<Caller> {
  const codec = new RTCRtpCodecParameters({ mimeType: "audio/opus", clockRate: 48_000, channels: 2, payloadType: 111 });
  const connection = new RTCPeerConnection({
    codecs: { audio: [codec], video: [] },
    iceServers: (ice.iceServers ?? []) as { urls: string }[],
    iceTransportPolicy: ice.relayOnly === true ? "relay" : "all",
    iceAdditionalHostAddresses: ["127.0.0.1"],
  });
  const track = new MediaStreamTrack({ kind: "audio" });
  connection.addTransceiver(track, { direction: "sendrecv" });
  let received = 0;
  connection.onTrack.subscribe((theirs) => theirs.onReceiveRtp.subscribe(() => void (received += 1)));
  const found: IceCandidate[] = [];
  let end: CallEnd | undefined;
  connection.onIceCandidate.subscribe((candidate) => {
    if (candidate === undefined) return;
    found.push(candidate.toJSON() as IceCandidate);
    void end?.candidate(candidate.toJSON() as IceCandidate);
  });
  const heard: Caller["heard"] = { texts: [], segments: [], states: [] };
  let [sequence, timestamp] = [65_500, 0xffff_0000];
  const encoder = new OpusScript(48_000, 1, OpusScript.Application.VOIP);
  const offer = async () => {
    if (connection.localDescription === null) await connection.setLocalDescription(await connection.createOffer());
    return connection.localDescription?.sdp ?? "";
  };
  return {
    heard,
    received: () => received,
    offer,
    async ring(media, more = {}) {
      const early: IceCandidate[] = [];
      let isSet = false;
      const take = (candidate: IceCandidate) => void connection.addIceCandidate(candidate).catch(() => {});
      end = await media.open({
        ...{ id, kind: "call" as const, offer: await offer() },
        onCandidate: (candidate) => {
          if (candidate === undefined) return;
          if (isSet) take(candidate);
          else early.push(candidate);
        },
        onText: (said) => void heard.texts.push(said),
        onSpeech: (segment) => void heard.segments.push(segment),
        onState: (state, reason) => void heard.states.push(reason === undefined ? { state } : { state, reason }),
        ...more,
      });
      await connection.setRemoteDescription({ type: "answer", sdp: end.answer });
      isSet = true;
      for (const candidate of early) take(candidate);
      for (const candidate of [...found]) void end.candidate(candidate);
      return end;
    },
    async connected() {
      for (const until = Date.now() + 20_000; connection.connectionState !== "connected"; await pause(20)) {
        if (Date.now() > until) throw new Error(`not connected: ${connection.connectionState}, ${JSON.stringify(heard.states)}`);
      }
    },
    async speak(samples, pace = 1, mangle = (packets, at) => [packets[at] as Buffer]) {
      const packets: Buffer[] = [];
      for (let at = 0; at + FRAME <= samples.length; at += FRAME) {
        const pcm = Buffer.from(samples.slice(at, at + FRAME).buffer);
        const header = new RtpHeader({ payloadType: 111, sequenceNumber: sequence & 0xffff, timestamp: timestamp >>> 0, ssrc: 7 });
        packets.push(new RtpPacket(header, encoder.encode(pcm, FRAME)).serialize());
        sequence += 1;
        timestamp += FRAME;
      }
      const began = performance.now();
      for (let at = 0; at < packets.length; at += 1) {
        const due = began + (at * 20) / pace;
        if (due > performance.now()) await pause(due - performance.now());
        for (const packet of mangle(packets, at)) track.writeRtp(packet);
      }
    },
    async hangUp() {
      encoder.delete();
      await connection.close();
    },
  };
}

/** A sentence spoken by a program, or read from a file, at 48 kHz; undefined where the program is not installed. */
export function spoken(text: string, folder: string): Int16Array | undefined {
  try {
    execFileSync("espeak-ng", ["-v", "en-us", "-s", "130", "-w", `${folder}/said.wav`, text], { stdio: "ignore" });
    execFileSync("sox", [`${folder}/said.wav`, "-r", "48000", "-c", "1", "-b", "16", "-e", "signed", `${folder}/said.raw`], { stdio: "ignore" });
    const data = readFileSync(`${folder}/said.raw`);
    return new Int16Array(data.buffer.slice(data.byteOffset, data.byteOffset + data.length - (data.length % 2)));
  } catch {
    return undefined;
  }
}

/** A tone that comes and goes, at 48 kHz: speech as far as its loudness goes. */
export function bursts(count: number, burstMs = 800, pauseMs = 1_000): Int16Array {
  const samples = new Int16Array((count * (burstMs + pauseMs) + pauseMs) * 48);
  for (let at = 0; at < count; at += 1) {
    const from = (pauseMs + at * (burstMs + pauseMs)) * 48;
    for (let n = 0; n < burstMs * 48; n += 1) samples[from + n] = Math.round(9_000 * Math.sin(n / 12) * (0.6 + 0.4 * Math.sin(n / 4_000)));
  }
  return samples;
}
