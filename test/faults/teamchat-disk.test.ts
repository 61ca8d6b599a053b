import { readFileSync, rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { startTeamchat, type Teamchat } from "../kit/teamchat/server.ts";
import { ON_SERVER } from "../kit/test-store.ts";
import { endDaemons, lacks, pause, startDaemon, writeConfig } from "./daemon.harness.ts";

let far: Teamchat | undefined;
let folder = "";
afterEach(async () => {
  await endDaemons();
  await far?.close();
  rmSync(folder, { recursive: true, force: true });
});

const without = lacks("strace", "-f", "-o", "/dev/null", "true");
if (without !== undefined) console.warn(`skipped: ${without}`);
if (ON_SERVER !== undefined) console.warn(`skipped, what is written to the disk: ${ON_SERVER}`);

it.skipIf(without !== undefined || ON_SERVER !== undefined)(
  "FAULT-01 teamchat: what the system is asked for, in order: the message to disk, then the frame that acknowledges it",
  { timeout: 120_000 },
  async () => {
    far = await startTeamchat();
    const { bot, botToken, appToken } = far.addWorkspace("T1");
    far.addPerson("T1", "U1", "ada");
    far.addRoom("T1", "im", "D1", ["U1", bot.id]);
    folder = await mkdtemp(join(tmpdir(), "svc-teamchat-"));
    writeConfig(folder, {
      channels: { teamchat: { enabled: true, apiRoot: far.root, botToken, appToken, agentBinding: "echo", allowFrom: ["U1"], acknowledge: "" } },
    });
    const trace = join(folder, "trace");
    const prefix = ["strace", "-f", "-ttt", "-xx", "-s", "8192", "-e", "trace=pwrite64,pwritev,write,writev,sendto,fsync,fdatasync", "-o", trace];
    const daemon = await startDaemon(folder, { prefix });
    while (far.sockets.open() === 0) await pause(10);
    const word = "needle in the trace";
    far.say("D1", { user: "U1", text: word });
    while (far.sockets.acknowledged.length === 0) await pause(10);
    const [envelope = ""] = far.sockets.acknowledged;
    await daemon.kill("SIGTERM");

    const hex = (text: string) => [...Buffer.from(text)].map((byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("");
    const lines = readFileSync(trace, "utf8").split("\n");
    // The frame is masked on its way out: it is known by what was written to that socket after the message was on disk.
    const stored = lines.findIndex((line) => /pwrite/.test(line) && line.includes(hex(word)));
    const synced = lines.findIndex((line, at) => at > stored && /f(?:data)?sync\(/.test(line));
    const frames = lines.flatMap((line, at) => (isMaskedFrame(line, envelope) ? [at] : []));
    expect(stored, "the message was not seen on its way to disk").toBeGreaterThan(-1);
    expect(synced, "no fsync after it").toBeGreaterThan(stored);
    expect(frames.length, "the acknowledgement was not seen on its way out").toBe(1);
    expect(frames[0]).toBeGreaterThan(synced);
  },
);

/** A text frame of a client that holds the envelope's id: its payload is read with the mask that stands before it. */
function isMaskedFrame(line: string, envelope: string): boolean {
  const bytes = Buffer.from([...line.matchAll(/\\x([0-9a-f]{2})/g)].map(([, pair]) => Number.parseInt(pair as string, 16)));
  for (let at = 0; at < bytes.length - 6; at += 1) {
    if (bytes[at] !== 0x81 || ((bytes[at + 1] as number) & 0x80) === 0) continue;
    const length = (bytes[at + 1] as number) & 0x7f;
    if (length > 125) continue;
    const mask = bytes.subarray(at + 2, at + 6);
    const words = Buffer.from(bytes.subarray(at + 6, at + 6 + length).map((byte, n) => byte ^ (mask[n % 4] as number))).toString();
    if (words.includes(envelope)) return true;
  }
  return false;
}
