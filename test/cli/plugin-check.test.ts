import { writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tortureCases } from "@svc/sdk/testing";
import { afterAll, describe, expect, it } from "vitest";
import { shellWith, write } from "./plugin.harness.ts";

const folders: string[] = [];
afterAll(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

/** In a folder that stays until all tests have ended: they run beside one another. */
async function shellOfOwn() {
  const folder = await mkdtemp(join(tmpdir(), "svc-plugin-check-"));
  folders.push(folder);
  return shellWith({}, folder);
}

// Side by side: most of what a check takes is waiting for bad plugins that never end.
describe.concurrent("svc plugin check and new", () => {
  it("AUT-B16 finds what keeps a plugin from being published: the package, leaks, a missing or failing suite", { timeout: 120_000 }, async () => {
    const shell = await shellOfOwn();
    write(shell, "leaky", "setup() { setInterval(() => {}, 60_000); }", {}, { name: "leaky", dependencies: { "@svc/kernel": "0.1.0" } });
    const { code, out } = await shell.svc("plugin", "check", "./leaky", "--quick");
    expect(code).toBe(1);
    for (const words of [
      "'leaky' is not called svc-plugin-",
      "must not depend on @svc/kernel",
      "README.md or LICENSE is missing",
      "49 Timeout",
      "conformance module",
    ])
      expect(out).toContain(words);
    write(shell, "slow", "setup() { return { async stop() { setInterval(() => {}, 60_000); await new Promise(() => {}); } }; }");
    writeFileSync(join(shell.folder, "slow/README.md"), "For svc: say here in two sentences what it is good for.");
    const slow = (await shell.svc("plugin", "check", "./slow", "--quick")).out;
    expect(slow).toMatch(/its stop failed or took longer than 200 ms in 50 of 50 rounds/);
    expect(slow).toContain("README.md still holds the template's words");
    write(shell, "failing", "setup() {}", {}, { exports: { "./conformance": "./conformance.mjs" } });
    writeFileSync(
      join(shell.folder, "failing/conformance.mjs"),
      'export default ({ describe, it }) => describe("mine", () => { it("works", async () => {}); it("breaks", async () => { throw new Error("it broke"); }); });',
    );
    expect((await shell.svc("plugin", "check", "./failing", "--quick")).out).toContain("mine: breaks: it broke");
  });

  it("AUT-B14 ends the check of a plugin that spins, saying so", { timeout: 90_000 }, async () => {
    const shell = await shellOfOwn();
    write(shell, "spins", "setup() { return { async start() { for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20); } }; }");
    expect((await shell.svc("plugin", "check", "./spins", "--quick")).out).toContain("it held the loop of its process for 15 s");
  });

  it("tortures a plugin, and says what it did and what came of it", { timeout: 300_000 }, async () => {
    const shell = await shellOfOwn();
    interface Checked {
      readonly name: string;
      readonly ok: boolean;
      readonly detail: string;
    }
    const tortured = async (name: string) => (await shell.json<Checked[]>("plugin", "check", `./${name}`)).slice(-2);
    write(shell, "sound", 'setup(ctx) { ctx.hooks.inbound.tap(({ text }) => (text === "no" ? { reject: "no" } : undefined)); }');
    // Breaks of what somebody says, and takes the process with it for an error that is not its own.
    write(
      shell,
      "fragile",
      `setup(ctx) {
        ctx.hooks.inbound.tap(({ text }) => void JSON.parse('"' + text + '"'));
        process.on("uncaughtException", () => process.kill(process.pid, "SIGKILL"));
      }`,
    );
    const [[hostile, beside], [words, dead]] = await Promise.all([tortured("sound"), tortured("fragile")]);
    expect(hostile).toMatchObject({
      ok: true,
      name: expect.stringContaining("hostile words"),
      detail: expect.stringMatching(/\d+ tests passed: .*it is told/),
    });
    expect(beside).toMatchObject({ ok: true, detail: expect.stringContaining(`${tortureCases.length} bad plugins: throws at its top level`) });
    expect(words).toMatchObject({ ok: false, detail: expect.stringContaining("hook inbound, given control signs: it threw") });
    expect(dead).toMatchObject({ ok: false, detail: expect.stringMatching(/fragile.*(was killed 1 times|ended)/) });
  });

  it("refuses kinds and names that there are not, and folders that are there", async () => {
    const shell = await shellOfOwn();
    expect(await shell.svc("plugin", "new", "store", "x")).toMatchObject({ code: 2, err: expect.stringContaining("action, channel, engine, feature, tier") });
    expect((await shell.svc("plugin", "new", "channel", "Ac me")).code).toBe(2);
    expect((await shell.svc("plugin", "new", "action", "twice")).code).toBe(0);
    expect((await shell.svc("plugin", "new", "action", "twice")).err).toContain("exists already");
  });
});
