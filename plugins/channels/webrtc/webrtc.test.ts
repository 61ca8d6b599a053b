import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CallMedia, Lifecycle, Transcription } from "@svc/sdk";
import { createFakeContext } from "@svc/sdk/testing";
import { afterEach, describe, expect, it } from "vitest";
import { bursts, createCaller } from "./caller.harness.ts";
// Built: its thread is a file of its own.
import plugin from "./dist/index.js";
import type { Settings } from "./settings.ts";
import { refusedBy } from "./turn-login.ts";

const stops: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

const hasRelay = existsSync("/usr/bin/turnserver");
if (!hasRelay) console.warn("calls over a relay are not tried: coturn is not installed");

/** A relay of this machine with the user `u` and the password `p`. */
async function startRelay() {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  const folder = mkdtempSync(join(tmpdir(), "svc-relay-"));
  const fixed = "-n --listening-ip=127.0.0.1 --relay-ip=127.0.0.1 --no-tls --no-dtls --no-cli --lt-cred-mech --user=u:p --realm=loop --allow-loopback-peers";
  const child = spawn(
    "turnserver",
    [...fixed.split(" "), `--listening-port=${port}`, `--pidfile=${folder}/pid`, `--log-file=${folder}/log`, `--userdb=${folder}/db`],
    { stdio: "ignore" },
  );
  const gone = new Promise((resolve) => child.once("exit", resolve));
  stops.push(async () => {
    child.kill();
    await gone;
    rmSync(folder, { recursive: true, force: true });
  });
  const url = `turn:127.0.0.1:${port}?transport=udp`;
  await expect.poll(() => refusedBy({ host: "127.0.0.1", port, transport: "udp" }, "u", "p"), { timeout: 20_000 }).toBeUndefined();
  return { url, server: (credential: string) => ({ urls: url, username: "u", credential }) };
}

const LOCAL: Settings = { enabled: true, stunServers: [], hostAddresses: ["127.0.0.1"] };

/** A recogniser that says how long what it heard was. */
const counting = (transcribe?: Transcription["transcribe"]): Transcription => ({
  transcribe: transcribe ?? (async ({ audio }) => ({ text: `${Math.round((audio as Int16Array).length / 1_600) / 10} s`, backend: "local" })),
  usable: async () => ({ ok: true, detail: "" }),
});

function start(config: Settings = LOCAL, transcription: Transcription | undefined = counting()) {
  const context = createFakeContext<Settings>(plugin as never, { config, services: transcription === undefined ? {} : { transcription } });
  const life = (plugin as { setup(ctx: unknown): Lifecycle<Settings> }).setup(context);
  stops.push(() => life.stop?.());
  const media = context.registered.services.find(({ name }) => name === "call-media")?.api as CallMedia;
  return { media, context, life };
}

async function caller(...args: Parameters<typeof createCaller>) {
  const made = await createCaller(...args);
  stops.push(() => made.hangUp());
  return made;
}

describe("CHAN-09 the far end of a call", () => {
  it("hears what is said, in order and with its times, has it written down, and sends no packet of sound", async () => {
    const { media } = start();
    const person = await caller("one");
    const end = await person.ring(media);
    await person.connected();
    await person.speak(bursts(3));
    await expect.poll(() => person.heard.texts.length).toBe(3);
    await end.close("done");
    expect(person.heard.states.map(({ state }) => state)).toEqual(["connecting", "connected", "closed"]);
    const times = person.heard.segments.map(({ atMs }) => atMs);
    expect(times).toEqual([...times].sort((left, right) => left - right));
    for (const { durationMs, samples } of person.heard.segments) {
      expect(samples.length).toBe(durationMs * 16);
      expect(durationMs).toBeGreaterThan(800);
      expect(durationMs).toBeLessThan(2_400);
    }
    expect([end.stats().rtpOut, person.received()]).toEqual([0, 0]);
    expect(end.stats().rtpIn).toBeGreaterThan(250);
  });

  it("ten calls at once lose no sound, and end without a rest", { timeout: 120_000 }, async () => {
    const { media, life } = start();
    const people = await Promise.all(Array.from({ length: 10 }, (_, n) => caller(`call ${n}`)));
    const ends = [];
    for (const person of people) ends.push(await person.ring(media));
    await Promise.all(people.map((person) => person.connected()));
    await Promise.all(people.map((person) => person.speak(bursts(2))));
    for (const person of people) await expect.poll(() => person.heard.texts.length).toBe(2);
    await Promise.all(ends.map((end) => end.close("done")));
    for (const end of ends) expect(end.stats()).toMatchObject({ rtpOut: 0, waitingMs: 0 });
    await life.stop?.();
    expect(people.map(({ heard }) => heard.states.at(-1))).toEqual(people.map(() => ({ state: "closed", reason: "done" })));
  });

  it("nothing of a call is told after its end, close is idempotent, and its id is free again", async () => {
    const { media } = start();
    const person = await caller("again");
    const end = await person.ring(media);
    await expect(media.open({ id: "again", kind: "call", offer: await person.offer() })).rejects.toMatchObject({ code: "SVC_CALL_OFFER", status: 409 });
    await person.connected();
    await Promise.all([end.close("first"), end.close("second")]);
    await end.close("third");
    const told = person.heard.states.length;
    await person.speak(bursts(1, 300, 200), 4);
    await end.candidate({ candidate: "nonsense" });
    expect([person.heard.states.length, person.heard.states.at(-1), person.heard.texts.length]).toEqual([told, { state: "closed", reason: "first" }, 0]);
    const other = await caller("again");
    await (await other.ring(media)).close("done");
  });

  it("an offer that the vendor cannot read is refused, and the next call works", async () => {
    const { media } = start();
    const person = await caller("hostile");
    const offer = await person.offer();
    for (const broken of [
      offer.replace(/m=audio.*/g, "m=audio 9 UDP/TLS/RTP/SAVPF x y z"),
      offer.replace(/a=fingerprint:.*/g, "a=fingerprint:"),
      offer.replace(/a=mid:.*/g, "a=mid:\0"),
    ]) {
      const end = await media.open({ id: "hostile", kind: "call", offer: broken }).catch((error: { code: string }) => error.code);
      if (typeof end === "string") expect(end).toMatch(/^SVC_CALL_/);
      else await end.close("hostile");
    }
    const end = await person.ring(media);
    await person.connected();
    await end.close("done");
  });
});

describe.skipIf(!hasRelay)("a relay", () => {
  it("alone carries a call", { timeout: 60_000 }, async () => {
    const relay = await startRelay();
    const { media } = start({ ...LOCAL, relayOnly: true, turnServers: [relay.server("p")] });
    const person = await caller("relayed", { iceServers: [relay.server("p")], relayOnly: true });
    const end = await person.ring(media);
    await person.connected();
    await person.speak(bursts(1));
    await expect.poll(() => person.heard.texts.length).toBe(1);
    expect(end.answer).not.toContain("typ host");
    await end.close("done");
  });

  it("that refuses the password is named, without it, in the log and to the caller", { timeout: 60_000 }, async () => {
    const relay = await startRelay();
    const { media, context } = start({ ...LOCAL, relayOnly: true, turnServers: [relay.server("a-wrong-secret")] });
    const person = await caller("refused", { iceServers: [relay.server("p")], relayOnly: true });
    const words = await person.ring(media).then(
      () => "taken",
      (error: Error) => `${(error as { code?: string }).code} ${error.message}`,
    );
    expect(words).toContain(`SVC_CALL_MEDIA no call can be taken: the relay ${relay.url} refused the user 'u' and its password (401)`);
    expect(JSON.stringify([words, context.logged])).not.toContain("a-wrong-secret");
    expect(JSON.stringify(context.logged)).toContain("(401)");
  });
});
