import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { post } from "../kit/kernel.ts";
import { openShell, type Shell } from "../kit/svc.ts";

const PATIENCE = { timeout: 60_000, interval: 50 };
/** Texts of each agent. */
const TEXTS = 3;

let folder: string;
const shells: Shell[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "svc-speakers-"));
});
afterEach(async () => {
  for (const shell of shells.splice(0)) await shell.end();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

/** A daemon whose machine has a program that speaks: it notes when it begins, what it says, and when it ends. */
async function startSpeaking(id: string): Promise<Shell> {
  const own = join(folder, id);
  const bin = join(own, "bin");
  mkdirSync(bin, { recursive: true });
  const said = join(own, "said");
  const order = join(folder, "order");
  for (const file of [said, order]) writeFileSync(file, "", { flag: "a" });
  writeFileSync(
    join(bin, "espeak-ng"),
    `#!/bin/sh\necho "start ${id}" >> ${order}\ncat >> ${said}\necho >> ${said}\nsleep 0.2\necho "end ${id}" >> ${order}\n`,
  );
  chmodSync(join(bin, "espeak-ng"), 0o755);
  const shell = await openShell({ PATH: `${bin}:${process.env.PATH}`, MESH_TOKEN: "the-token-that-both-nodes-hold", SVC_CONFIG: join(own, "svc.json") }, own);
  const agent = (name: string) => ({ name, workspace: `./${name}`, tier: "local", local: { mode: "echo" }, maxConcurrent: 4 });
  shell.write({
    node: { id, name: id, bind: "127.0.0.1:0", defaultAgent: "ada" },
    agents: { ada: agent("ada"), ben: agent("ben") },
    // Of its own: other tests of this machine do not wait for these, nor these for them.
    voice: { narrate: "on", speaker: `test-${process.pid}` },
  });
  shells.push(shell);
  expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
  return shell;
}

const addressOf = ({ folder: own }: Shell): string => {
  const { host, port } = JSON.parse(readFileSync(join(own, ".svc/daemon.json"), "utf8")) as { host: string; port: number };
  return `http://${host}:${port}`;
};
const lines = (...path: string[]): string[] =>
  readFileSync(join(folder, ...path), "utf8")
    .split("\n")
    .filter(Boolean);

it("MESH-05 two daemons of a machine never speak at once, and what a peer's agent says is spoken there alone", { timeout: 120_000 }, async () => {
  const [one, two] = [await startSpeaking("one"), await startSpeaking("two")];
  const known = async (shell: Shell, name: string, other: Shell) =>
    expect(await shell.svc("mesh", "add", name, addressOf(other), "--token-env", "MESH_TOKEN")).toMatchObject({ code: 0 });
  await known(one, "two", two);
  await known(two, "one", one);
  const ask = async (shell: Shell, path: string, body: object) => expect(await post(addressOf(shell), path, body)).toMatchObject({ status: 200 });
  // One after the other of an agent, since those that wait would be answered together; all agents at once.
  const asked = ["one", "two"].flatMap((id, at) =>
    ["ada", "ben"].map(async (agent) => {
      for (let n = 0; n < TEXTS; n += 1) await ask(shells[at] as Shell, "/task", { agent, message: `${agent} of ${id}, text ${n}` });
    }),
  );
  // From one daemon to an agent of the other: its answer comes back, and is heard where it was made.
  await Promise.all([...asked, ask(one, "/mesh/task", { peer: "two", agent: "ada", message: "asked by a peer" })]);
  const count = 4 * TEXTS + 1;
  await expect.poll(() => lines("order").length, PATIENCE).toBe(2 * count);
  const order = lines("order");
  for (let at = 0; at < order.length; at += 2) {
    const [start, end] = order.slice(at, at + 2);
    expect([start, end]).toEqual([expect.stringMatching(/^start (one|two)$/), start?.replace("start", "end")]);
  }
  expect(lines("one", "said").filter((text) => /of two|by a peer/.test(text))).toEqual([]);
  expect(lines("two", "said").filter((text) => /of one/.test(text))).toEqual([]);
  expect(lines("two", "said").filter((text) => text.includes("asked by a peer"))).toHaveLength(1);
});
