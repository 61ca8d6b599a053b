import { execFile } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import type { PluginStatus } from "@svc/kernel";
import type { ChannelFarEnd } from "@svc/sdk/testing";
import { afterEach, describe, expect, inject, it, vi } from "vitest";
import { ROOT } from "../house/house.ts";
import { temporaryFolder } from "../kit/kernel.ts";
import { echoConfig, openShell, type Shell } from "../kit/svc.ts";
import { type Registry, registryMissing, startRegistry } from "./registry.ts";
import type { Released } from "./released.ts";

const run = promisify(execFile);
const missing = registryMissing();
if (missing !== undefined) console.warn(`The journey of a plugin is skipped: ${missing}`);

interface FarEnd extends ChannelFarEnd {
  readonly root: string;
  close(): Promise<void>;
}

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** A home of its own, whose npm knows our registry alone; nothing of this machine's settings. */
async function stage(): Promise<{ home: string; env: Record<string, string>; npm: (cwd: string, ...args: string[]) => Promise<string>; registry: Registry }> {
  const home = await temporaryFolder();
  const registry = await startRegistry(join(home, "registry"), (inject("released") as Released).address);
  ends.push(registry.stop);
  writeFileSync(join(home, ".npmrc"), `registry=${registry.address}\n${registry.address.slice("http:".length)}:_authToken=anyone\nupdate-notifier=false\n`);
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name)) as [string, string][]);
  Object.assign(env, { HOME: home, npm_config_userconfig: join(home, ".npmrc"), npm_config_cache: join(home, "cache") });
  delete env.NODE_TEST_CONTEXT;
  const npm = async (cwd: string, ...args: string[]) => (await run("npm", [...args, "--no-audit", "--no-fund"], { cwd, env })).stdout;
  return { home, env, npm, registry };
}

const plugin = async (shell: Shell): Promise<PluginStatus | undefined> =>
  (await shell.json<{ plugins: PluginStatus[] }>("daemon", "status", "--plugins")).plugins.find(({ id }) => id === "channel-acme");

async function restart(shell: Shell): Promise<void> {
  await shell.svc("daemon", "stop");
  expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
}

describe.skipIf(missing !== undefined)("a plugin's journey", () => {
  it("from an empty folder to an answer in somebody's chat, through an upgrade and a change behind the operator's back, to its end", async () => {
    const { home, env, npm } = await stage();
    await npm(join(ROOT, "sdk"), "publish", "--ignore-scripts");

    // The author: scaffold, install, test, check, publish.
    const author = join(home, "author");
    mkdirSync(author);
    await run(process.execPath, [join(ROOT, "cli/bin/svc.cjs"), "plugin", "new", "channel", "acme"], { cwd: author, env });
    const folder = join(author, "svc-plugin-acme");
    await npm(folder, "install");
    expect(await npm(folder, "test")).toMatch(/^# fail 0$|ℹ fail 0/m);
    await npm(folder, "publish");

    // The operator: nothing happens without a yes, and with it the plugin is pinned and named.
    const shell = await openShell(env);
    shell.write(echoConfig());
    ends.push(() => shell.svc("daemon", "stop"));
    const refused = await shell.svc("plugin", "add", "svc-plugin-acme");
    expect(refused.code).toBe(1);
    expect(refused.out).toContain("registers            channel acme");
    expect(refused.out).toContain("declares             events, fetch, tasks");
    expect(refused.err).toContain("--yes");
    expect(shell.config().plugins).toBeUndefined();
    expect(existsSync(join(shell.folder, ".svc/node_modules/svc-plugin-acme"))).toBe(false);
    const added = await shell.svc("plugin", "add", "svc-plugin-acme", "--yes");
    expect(added).toMatchObject({ code: 0, out: expect.stringContaining("svc-plugin-acme 0.1.0 is installed and pinned.") });
    expect(shell.config().plugins).toEqual(["svc-plugin-acme"]);

    // A restart, a section, a message, an answer.
    const { startFarEnd } = (await import(pathToFileURL(join(folder, "dist/far-end.js")).href)) as { startFarEnd(token: string): Promise<FarEnd> };
    const far = await startFarEnd("the-token");
    ends.push(far.close);
    await restart(shell);
    const section = { enabled: true, server: far.root, token: "the-token", agent: "echo", allowFrom: ["u-1"] };
    expect(await shell.svc("config", "set", "channels.acme", JSON.stringify(section))).toMatchObject({
      code: 0,
      out: expect.stringContaining("In force now."),
    });
    const answered = async (text: string) => {
      await far.say?.({ text, from: "friend", where: "direct" });
      await vi.waitFor(() => expect(far.shown().map((message) => message.text)).toContain(text), { timeout: 20_000, interval: 50 });
    };
    await answered("hello from the chat");
    expect((await plugin(shell))?.version).toBe("0.1.0");

    // An upgrade that does more: it is said before it is installed.
    const pkg = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    writeFileSync(join(folder, "package.json"), JSON.stringify({ ...pkg, version: "0.2.0" }, null, 2));
    const entry = join(folder, "src/index.ts");
    writeFileSync(
      entry,
      readFileSync(entry, "utf8")
        .replace('version: "0.1.0"', 'version: "0.2.0"')
        .replace("  setup(ctx) {", "  setup(ctx) {\n    ctx.hooks.inbound.tap(() => undefined);"),
    );
    // What its manifest does not name is not even installed.
    await npm(folder, "publish");
    expect((await shell.svc("plugin", "update", "--yes")).err).toContain("registers hook inbound, which registers in the svc member");
    writeFileSync(
      join(folder, "package.json"),
      JSON.stringify({ ...pkg, version: "0.2.1", svc: { ...pkg.svc, registers: [...pkg.svc.registers, "hook inbound"] } }, null, 2),
    );
    await npm(folder, "publish");
    // AUT-B6: what is new is shown and asked for.
    expect(await shell.svc("plugin", "update", "svc-plugin-acme")).toMatchObject({ code: 1, err: expect.stringContaining("--yes") });
    const upgraded = await shell.svc("plugin", "update", "channel-acme", "--yes");
    expect(upgraded.out).toContain("version    0.1.0 -> 0.2.1");
    expect(upgraded.out).toContain("registers  + hook inbound");
    expect((await shell.svc("plugin", "update")).out).toContain("svc-plugin-acme 0.2.1 is the newest.");
    await restart(shell);
    expect(await plugin(shell)).toMatchObject({ version: "0.2.1", state: "running" });
    await answered("hello again");

    // Changed behind the operator's back: refused until it is trusted.
    appendFileSync(join(shell.folder, ".svc/node_modules/svc-plugin-acme/dist/index.js"), "\n// changed\n");
    await restart(shell);
    expect(await plugin(shell)).toMatchObject({ state: "failed", reason: expect.stringContaining("svc plugin trust svc-plugin-acme") });
    const doctor = await shell.svc("plugin", "doctor");
    expect(doctor).toMatchObject({ code: 1, out: expect.stringContaining("svc plugin trust svc-plugin-acme") });
    expect((await shell.svc("plugin", "trust", "svc-plugin-acme", "--yes")).out).toContain("files      changed");
    await restart(shell);
    expect(await plugin(shell)).toMatchObject({ state: "running" });
    await answered("trusted again");

    // The end of it.
    const removed = await shell.svc("plugin", "remove", "svc-plugin-acme");
    expect(removed).toMatchObject({ code: 0, out: expect.stringContaining("Its section channels.acme was taken out") });
    expect(existsSync(join(shell.folder, ".svc/node_modules/svc-plugin-acme"))).toBe(false);
    expect(JSON.parse(readFileSync(join(shell.folder, ".svc/plugins.lock.json"), "utf8"))).toEqual({});
    await restart(shell);
    expect(await plugin(shell)).toBeUndefined();
    expect((await shell.svc("config", "check")).code).toBe(0);
    expect((await shell.svc("daemon", "send", "echo", "still here")).out).toContain("still here");
  });
});
