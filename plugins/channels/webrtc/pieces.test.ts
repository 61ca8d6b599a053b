import OpusScript from "opusscript";
import { describe, expect, it } from "vitest";
import { bursts } from "./caller.harness.ts";
import { checkOffer } from "./offer.ts";
import { Scribe } from "./scribe.ts";
import { checkSection } from "./settings.ts";
import { SoundOrder } from "./sound-order.ts";
import { soundPartOf } from "./sound-part.ts";
import { RATE, SpeechGate } from "./speech-gate.ts";
import { turnAddressOf } from "./turn-login.ts";

/** Every third sample: from 48 to 16 kHz. */
const at16 = (samples: Int16Array) => samples.filter((_, at) => at % 3 === 0);
const noise = (ms: number, loud: number) => new Int16Array(ms * 16).map((_, at) => loud * Math.sin(at * at));

function heardBy(feed: (gate: SpeechGate) => void) {
  const heard: { atMs: number; ms: number }[] = [];
  const gate = new SpeechGate((atMs, samples) => heard.push({ atMs, ms: samples.length / (RATE / 1000) }));
  feed(gate);
  gate.flush();
  return heard;
}

describe("the gate of speech", () => {
  it("lets no silence through, no click, and no steady noise for longer than it needs to know it", () => {
    expect(heardBy((gate) => gate.push(new Int16Array(RATE * 60)))).toEqual([]);
    expect(heardBy((gate) => gate.push(noise(60_000, 80)))).toEqual([]);
    const click = new Int16Array(RATE * 3);
    click.fill(20_000, RATE, RATE + 320);
    expect(heardBy((gate) => gate.push(click))).toEqual([]);
    const minute = heardBy((gate) => gate.push(noise(60_000, 1_500)));
    expect(minute.reduce((sum, { ms }) => sum + ms, 0)).toBeLessThan(15_000);
  });

  it("gives each stretch with what was before it, whatever the pieces are that it comes in", () => {
    const sound = at16(bursts(3));
    const whole = heardBy((gate) => gate.push(sound));
    expect(whole).toHaveLength(3);
    for (const [at, { atMs, ms }] of whole.entries()) {
      expect(atMs).toBeLessThan(1_000 + at * 1_800);
      expect(atMs + ms).toBeGreaterThan(1_800 + at * 1_800);
    }
    for (const piece of [1, 7, 160, 321, 4_000]) {
      const parts = heardBy((gate) => {
        for (let at = 0; at < sound.length; at += piece) gate.push(sound.slice(at, at + piece));
      });
      expect(parts).toEqual(whole);
    }
  });

  it("cuts speech without a pause after 25 s, and loses none of it", () => {
    const talk = new Int16Array(RATE * 70).map(
      (_, at) => 8_000 * Math.sin(at / 5) * (0.55 + 0.45 * Math.sin(at / 1_900)) * (at % RATE > RATE * 0.8 ? 0.08 : 1),
    );
    const heard = heardBy((gate) => gate.push(talk));
    expect(heard.length).toBeGreaterThan(2);
    for (const { ms } of heard) expect(ms).toBeLessThanOrEqual(25_500);
    for (let at = 1; at < heard.length; at += 1) expect(heard[at]?.atMs).toBe((heard[at - 1]?.atMs ?? 0) + (heard[at - 1]?.ms ?? 0));
  });

  it("keeps the time of the call over pauses in which nothing came", () => {
    const sound = at16(bursts(1));
    const heard = heardBy((gate) => {
      gate.push(sound);
      gate.skip(60_000);
      gate.push(sound);
    });
    expect(heard).toHaveLength(2);
    expect((heard[1]?.atMs ?? 0) - (heard[0]?.atMs ?? 0)).toBe(60_000 + (sound.length / RATE) * 1_000);
  });
});

describe("the order of packets", () => {
  const packet = (n: number, first = 65_530) => ({ sequence: (first + n) & 0xffff, timestamp: (0xffff_ff00 + n * 960) >>> 0, payload: Uint8Array.of(n) });
  function run(order: readonly number[]) {
    const heard: number[] = [];
    let gaps = 0;
    const sound = new SoundOrder((payload, gapMs) => {
      heard.push(payload[0] as number);
      gaps += gapMs;
      return 20;
    });
    for (const n of order) sound.push(packet(n));
    sound.flush();
    return { heard, gaps };
  }

  it("is restored over the end of both counters; what comes twice or too late is dropped, and a loss is a gap", () => {
    const all = Array.from({ length: 40 }, (_, n) => n);
    expect(run(all)).toEqual({ heard: all, gaps: 0 });
    expect(run([0, 2, 1, 3, 3, 5, 4, 1, 6])).toEqual({ heard: [0, 1, 2, 3, 4, 5, 6], gaps: 0 });
    expect(run([...all.slice(0, 5), ...all.slice(8)])).toEqual({ heard: [...all.slice(0, 5), ...all.slice(8)], gaps: 60 });
    expect(run([...all.slice(0, 5), ...all.slice(20), 6]).heard).toEqual([...all.slice(0, 5), ...all.slice(20)]);
  });

  it("takes up a sender that begins anew, and a clock that jumps is no pause of hours", () => {
    let gaps = 0;
    let heard = 0;
    const sound = new SoundOrder((_, gapMs) => {
      heard += 1;
      gaps += gapMs;
      return 20;
    });
    for (let n = 0; n < 5; n += 1) sound.push(packet(n));
    for (let n = 0; n < 5; n += 1) sound.push(packet(n, 20_000));
    sound.push({ sequence: 20_005, timestamp: (packet(4).timestamp + 0x7000_0000) >>> 0, payload: Uint8Array.of(1) });
    sound.flush();
    expect([heard, gaps < 3_600_000]).toEqual([11, true]);
  });
});

it("thirty decoders at once keep their memory apart and give it back", () => {
  const encoder = new OpusScript(48_000, 1, OpusScript.Application.VOIP);
  const frame = Buffer.from(bursts(1, 100, 0).slice(0, 960).buffer);
  const packet = encoder.encode(frame, 960);
  const decoders = Array.from({ length: 30 }, () => new OpusScript(RATE as 16_000, 1, OpusScript.Application.VOIP));
  for (const decoder of decoders) expect(decoder.decode(packet).length).toBe(640);
  for (const decoder of decoders) decoder.delete();
  encoder.delete();
});

describe("an offer", () => {
  const sound = "v=0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=rtpmap:111 opus/48000/2\r\na=ice-ufrag:a\r\na=ice-pwd:b\r\na=fingerprint:sha-256 AA\r\n";
  it.each([
    [undefined, 400],
    ["", 400],
    [{}, 400],
    ["hello", 400],
    ["v=0\r\n", 400],
    [sound.replace("opus", "PCMU"), 400],
    [sound.replace("SAVPF", "AVP"), 400],
    [sound.replace("a=fingerprint", "a=x"), 400],
    [sound + "m=video 9 UDP/TLS/RTP/SAVPF 96\r\n".repeat(20), 400],
    [sound + "a=x\r\n".repeat(500_000), 413],
  ])("that is none is refused with a sentence (%#)", (offer, status) => {
    expect(() => checkOffer(offer)).toThrow(expect.objectContaining({ code: "SVC_CALL_OFFER", status }) as never);
  });
  it("of a browser is taken", () => expect(() => checkOffer(sound)).not.toThrow());

  it("loses what is no sound, and its answer refuses that in its place", () => {
    const head = "v=0\r\ns=-\r\na=group:BUNDLE v 1 d\r\n";
    const part = (first: string, mid: string, more = "") => `m=${first}\r\na=mid:${mid}\r\n${more}`;
    const [video, data] = [part("video 9 UDP/TLS/RTP/SAVPF 96", "v"), part("application 9 UDP/DTLS/SCTP webrtc-datachannel", "d")];
    const audio = part("audio 9 UDP/TLS/RTP/SAVPF 111", "1", "a=rtpmap:111 opus/48000/2\r\n");
    const { offer, whole } = soundPartOf(head + video + audio + data);
    expect(offer).toBe(`v=0\r\ns=-\r\na=group:BUNDLE 1\r\n${audio}`);
    const taken = part("audio 9 UDP/TLS/RTP/SAVPF 111", "1", "a=recvonly\r\n");
    const refused = (first: string, mid: string) => `m=${first}\r\nc=IN IP4 0.0.0.0\r\na=mid:${mid}\r\na=inactive\r\n`;
    const parts = refused("video 0 UDP/TLS/RTP/SAVPF 96", "v") + taken + refused("application 0 UDP/DTLS/SCTP webrtc-datachannel", "d");
    expect(whole(`v=0\r\n${taken}`)).toBe(`v=0\r\n${parts}`);
    expect(soundPartOf(head + audio).offer).toBe(head + audio);
  });
});

describe("the scribe", () => {
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  it("writes in order, names what is lost, bounds what waits, and ends in time", async () => {
    const said: { atMs: number; text: string; lost?: true }[] = [];
    let answers = 0;
    const transcribe = ({ signal }: { signal?: AbortSignal }) =>
      new Promise<never>((resolve, reject) => {
        answers += 1;
        if (answers === 1) return void (resolve as (value: unknown) => void)({ text: "one", backend: "local" });
        if (answers === 2) return reject(new Error("the recogniser is down"));
        signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
      });
    const scribe = new Scribe({
      transcription: () => ({ transcribe, usable: async () => ({ ok: true, detail: "" }) }),
      settings: () => ({}),
      log,
      say: (one) => void said.push(one),
    });
    for (let n = 0; n < 20; n += 1) scribe.hear(n, 25_000, new Int16Array(16));
    await scribe.close(50);
    expect(said).toHaveLength(20);
    expect(said.filter(({ text }) => text.includes("too slow"))).toHaveLength(8);
    expect(said.find(({ atMs }) => atMs === 0)?.text).toBe("one");
    expect(said.find(({ atMs }) => atMs === 1)?.text).toBe("(25 s of speech were not written down: the recogniser is down)");
    expect(said.filter(({ text }) => text.includes("ended before"))).toHaveLength(10);
    expect(scribe.waitingMs).toBe(0);
  });

  it("says once that nothing transcribes", async () => {
    const said: string[] = [];
    const scribe = new Scribe({ transcription: () => undefined, settings: () => ({}), log, say: ({ text }) => void said.push(text) });
    for (let n = 0; n < 5; n += 1) scribe.hear(n, 1_000, new Int16Array(16));
    await scribe.close(1_000);
    expect(said).toEqual([expect.stringContaining("no plugin turns speech into words here")]);
  });
});

it("addresses of relays", () => {
  expect(turnAddressOf("turn:h")).toEqual({ host: "h", port: 3478, transport: "udp" });
  expect(turnAddressOf("turn:h:1?transport=tcp")).toEqual({ host: "h", port: 1, transport: "tcp" });
  expect(turnAddressOf("turns:h")).toEqual({ host: "h", port: 5349, transport: "tls" });
  expect(turnAddressOf("turn:[::1]:7")).toEqual({ host: "::1", port: 7, transport: "udp" });
  for (const url of ["http://h", "turn:", "stun:h", "turn:h:1?x=y"]) expect(turnAddressOf(url)).toBeUndefined();
});

it("settings that cannot work are refused before a call", () => {
  const paths = (section: object) => checkSection(section, { agents: ["a"] }).map(({ path }) => path);
  expect(paths({ portRange: { from: 5_000, to: 5_000 }, relayOnly: true, bot: { defaultAgentId: "b" } })).toEqual([
    "portRange.to",
    "relayOnly",
    "bot.defaultAgentId",
  ]);
  expect(paths({ turnServers: [{ urls: "turn:h" }] })).toEqual(["turnServers[0]"]);
  expect(paths({ relayOnly: true, turnServers: [{ urls: "turn:h", username: "u", credential: "p" }], bot: { defaultAgentId: "a" } })).toEqual([]);
});
