import { execFile } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, describe, expect, it, vi } from "vitest";
import { bursts } from "../../plugins/channels/webrtc/caller.harness.ts";
import { ROOT } from "../house/house.ts";
import { callAgent } from "../kit/caller.ts";
import { runKernel, temporaryFolder } from "../kit/kernel.ts";
import { type SpeechServer, startSpeechServer } from "../kit/speech-server.ts";
import { ON_SERVER } from "../kit/test-store.ts";
import { ask, type DaemonProcess, endDaemons, startDaemon, writeConfig } from "./daemon.harness.ts";

/** Calls one after the other; more with SVC_SOAK. */
const CALLS = Number(process.env.SVC_SOAK ?? 3);
const WARM = 2;
const PATIENCE = { timeout: 60_000, interval: 100 };

/** A chat that is a file, and a route that tells what the daemon holds. */
const PLUGIN = `
import { appendFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
export default {
  kind: "channel", name: "notes", version: "1.0.0", svc: "^0.1.0", capabilities: ["routes"],
  setup(ctx) {
    const handle = ctx.provide.channel({
      name: "notes", traits: { maxChars: 4000, unit: "codepoint", dialect: "plain", keyed: true },
      async send({ plain, key }) { appendFileSync("notes.jsonl", JSON.stringify({ plain, key }) + "\\n"); return { platformId: key }; },
    });
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc");
    ctx.provide.route({
      method: "GET", path: "/held", guard: "loopback",
      handle() {
        collect(); collect();
        const { heapUsed, rss, external } = process.memoryUsage();
        const timers = process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
        return { heapMb: (heapUsed + external) / 1048576, rssMb: rss / 1048576, timers };
      },
    });
    return { async start() { handle.ready(); } };
  },
};
`;

let speech: SpeechServer | undefined;
afterEach(async () => {
  await endDaemons();
  await speech?.close();
  speech = undefined;
});

async function begun() {
  speech = await startSpeechServer({ hear: () => "the words that were heard" });
  const folder = await temporaryFolder();
  writeFileSync(join(folder, "notes.ts"), PLUGIN);
  writeFileSync(join(folder, "notes.jsonl"), "");
  writeConfig(folder, {
    plugins: ["./notes.ts"],
    channels: {
      webrtc: {
        ...{ enabled: true, stunServers: [], hostAddresses: ["127.0.0.1"] },
        bot: { enabled: true, whisperBackend: "cloud", transcriptChannel: { channel: "notes", chatId: "1" } },
      },
    },
    transcription: { backend: "cloud", server: { url: speech.url } },
    calls: { summary: false },
  });
  return { folder, daemon: await startDaemon(folder) };
}
const baseOf = ({ port }: DaemonProcess) => `http://127.0.0.1:${port}`;

/** Texts of the chat by the key of each. */
const sent = (folder: string): readonly string[] => {
  const lines = readFileSync(join(folder, "notes.jsonl"), "utf8").split("\n").filter(Boolean);
  return [...new Map(lines.map((line) => JSON.parse(line) as { plain: string; key: string }).map(({ key, plain }) => [key, plain])).values()];
};

/** UDP sockets of a process. */
function udpSockets(pid: number): number {
  const links = readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/${pid}/fd/${fd}`)];
    } catch {
      return [];
    }
  });
  const own = new Set(links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []));
  const bound = ["udp", "udp6"].flatMap((table) => readFileSync(`/proc/${pid}/net/${table}`, "utf8").trim().split("\n").slice(1));
  return bound.filter((line) => own.has(line.trim().split(/\s+/)[9] as string)).length;
}

/** Timers that connections of a PostgreSQL store may have begun meanwhile: one for each that is idle. */
const OF_STORE = ON_SERVER === undefined ? 0 : 9;

describe.skipIf(process.platform !== "linux")("a daemon with a call that is connected", () => {
  it("CHAN-09 killed with kill -9: the next start ends the call in its chat and in svc call list", { timeout: 120_000 }, async () => {
    const { folder, daemon } = await begun();
    const { id, person } = await callAgent(baseOf(daemon), "echo");
    await person.speak(bursts(1));
    await vi.waitFor(() => expect(sent(folder)).toEqual([expect.stringContaining("Ann: the words that were heard")]), PATIENCE);
    await daemon.kill("SIGKILL");
    await person.hangUp();
    const next = await startDaemon(folder);
    const ended = expect.stringMatching(/^Call of Echo with Ann .*restart.* 1 line in /);
    await vi.waitFor(() => expect(sent(folder)).toEqual([expect.anything(), ended]), PATIENCE);
    const { stdout } = await promisify(execFile)(process.execPath, [join(ROOT, "cli/bin/svc.cjs"), "call", "list", "--all"], {
      cwd: folder,
      env: { ...process.env, SVC_CONFIG: "" },
    });
    expect(stdout).toMatch(new RegExp(`^${id} .*Ann to echo.*restart`));
    expect((await ask(next.port, `/calls/${id}`)).body).toMatchObject({ call: { state: "ended", end: { reason: "restarted" } } });
  });

  it(`CHAN-09 ${CALLS} calls one after the other leave no socket, timer or megabyte behind`, { timeout: 60_000 + CALLS * 10_000 }, async () => {
    const { folder, daemon } = await begun();
    const base = baseOf(daemon);
    const call = async () => {
      const { person, end } = await callAgent(base, "echo");
      await person.speak(bursts(1, 400, 200), 4);
      expect(udpSockets(daemon.pid)).toBeGreaterThan(0);
      calling = threads();
      await end();
    };
    const threads = () => readdirSync(`/proc/${daemon.pid}/task`).length;
    /** Threads in the last call: the daemon's own begin some time after its start. */
    let calling = 0;
    /** Of a daemon whose thread of calls has ended, and whose notices are out. */
    const held = async (calls: number) => {
      await vi.waitFor(() => expect([udpSockets(daemon.pid), threads() < calling]).toEqual([0, true]), PATIENCE);
      await vi.waitFor(() => expect(sent(folder).filter((text) => text.startsWith("Call of Echo with Ann"))).toHaveLength(calls), PATIENCE);
      return (await ask<{ heapMb: number; rssMb: number; timers: number }>(daemon.port, "/held")).body;
    };
    for (let n = 0; n < WARM; n += 1) await call();
    const before = await held(WARM);
    for (let n = 0; n < CALLS; n += 1) await call();
    await vi.waitFor(async () => expect((await held(WARM + CALLS)).timers).toBeLessThanOrEqual(before.timers + OF_STORE), PATIENCE);
    const after = await held(WARM + CALLS);
    console.info(`${CALLS} calls: ${JSON.stringify({ before, after })}`);
    // A call's own share, were it kept, is some 2 MB of the heap: a decoder alone is more than one.
    expect(after.heapMb - before.heapMb).toBeLessThan(4);
    expect(after.rssMb - before.rssMb).toBeLessThan(40);
  });
});

describe.skipIf(process.platform !== "linux")("a daemon without a call", () => {
  const PLUGINS = ["channel-webrtc", "feature-calls", "feature-transcription", "feature-voice"];
  const KNOWN = PLUGINS.map((id) => join(ROOT, "plugins", id.replace("-", "s/")));
  const statesWith = async (config: Record<string, unknown>) => {
    const { kernel } = await runKernel({ known: KNOWN, config });
    const states = Object.fromEntries(kernel.health().plugins.map(({ id, state }) => [id, state]));
    return PLUGINS.map((id) => states[id]);
  };
  const ON = { channels: { webrtc: { enabled: true, bot: { enabled: true } } }, transcription: {}, voice: {}, calls: {} };

  it("CHAN-09 knows of calls and voice and loads none of it unless it is on; on, no port opens before the first call", { timeout: 120_000 }, async () => {
    expect(await statesWith({})).toEqual(PLUGINS.map(() => "known"));
    expect(await statesWith(ON)).toEqual(PLUGINS.map(() => "running"));
    for (const sections of [{}, ON]) {
      const folder = await temporaryFolder();
      writeConfig(folder, sections);
      const daemon = await startDaemon(folder);
      expect([(await ask(daemon.port, "/health")).status, udpSockets(daemon.pid)]).toEqual([200, 0]);
      await daemon.kill("SIGTERM");
    }
  });
});
