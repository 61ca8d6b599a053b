import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SDK_VERSION } from "@svc/sdk";
import { afterAll, beforeAll, describe, expect, inject, it, vi } from "vitest";
import { FRIEND, startBotApi } from "../../plugins/channels/botmsg/bot-api.harness.ts";
import { talk } from "../cli/talk.harness.ts";
import { freePort } from "../kit/free-port.ts";
import { NO_BROWSER, openBrowser } from "../ui/kit/browser.ts";
import { type Registry, registryMissing, startRegistry } from "./registry.ts";
import { asVersion, bytesBelow, filesBelow, type Machine, nodeOf, openMachine, type Packed, publish } from "./release.harness.ts";
import type { Released } from "./released.ts";

const missing = registryMissing() ?? (nodeOf(24) === undefined ? "there is no Node.js 24 here (npm ci --prefix test/publish/registry)" : undefined);
if (missing !== undefined) console.warn(`The installation is not tried: ${missing}`);

// What opens a browser sets less.
vi.setConfig({ testTimeout: 600_000 });

/** What the default installation may take, in bytes. */
const MOST = 60e6;
const NEXT = "0.99.0";
const BROKEN = "0.99.1";
const TOKEN = "4242:install";

describe.skipIf(missing !== undefined)("an installation without a clone", () => {
  let registry: Registry;
  let machine: Machine;
  let packed: readonly Packed[];
  const ends: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    const home = mkdtempSync(join(tmpdir(), "svc-install-"));
    ends.push(async () => rmSync(home, { recursive: true, force: true }));
    const released = inject("released") as Released;
    ({ packed } = released);
    // One of its own, to which later releases are published. What it has not, it has from the one of all files.
    cpSync(released.folder, join(home, "registry"), { recursive: true });
    registry = await startRegistry(join(home, "registry"), released.address);
    ends.push(() => registry.stop());
    machine = openMachine(home, registry, nodeOf(24) as string);
    ends.push(() => machine.svc("daemon", "stop", "--now"));
    await machine.npm("install", "--global", "@svc/cli");
  }, 240_000);
  afterAll(async () => {
    for (const end of ends.splice(0).reverse()) await end();
  });

  const health = async () => JSON.parse((await machine.svc("daemon", "status", "--plugins", "--json")).out);

  it("is one command, small, with no licence that binds others", () => {
    const root = join(machine.prefix, "lib/node_modules/@svc/cli");
    const sizes = readdirSync(join(root, "node_modules")).map((name) => [name, bytesBelow(join(root, "node_modules", name))] as const);
    const largest = sizes.sort((a, b) => b[1] - a[1]).slice(0, 5);
    expect(bytesBelow(machine.prefix), JSON.stringify(largest)).toBeLessThan(MOST);
    console.log(
      `installed: ${(bytesBelow(machine.prefix) / 1e6).toFixed(1)} MB; largest: ${largest.map(([name, bytes]) => `${name} ${(bytes / 1e6).toFixed(1)}`)}`,
    );
    // F14: the library whose binaries fit this Node.js.
    expect(JSON.parse(readFileSync(join(root, "node_modules/better-sqlite3/package.json"), "utf8")).version).toBe("13.2.0");
  });

  it("bears no licence that binds who uses it, and each package says its own", () => {
    const root = join(machine.prefix, "lib/node_modules/@svc/cli/node_modules");
    const folders = readdirSync(root).flatMap((name) => (name.startsWith("@") ? readdirSync(join(root, name)).map((inner) => join(name, inner)) : [name]));
    const odd = folders
      .filter((name) => existsSync(join(root, name, "package.json")))
      .map((name) => [name, JSON.parse(readFileSync(join(root, name, "package.json"), "utf8")).license] as const)
      .filter(([, license]) => !/^\(?(MIT|ISC|Apache-2\.0|BSD-[23]-Clause|0BSD|BlueOak-1\.0\.0)/.test(String(license)));
    expect(folders.length).toBeGreaterThan(60);
    expect(odd).toEqual([]);
  });

  it("starts with the second command: a folder, an agent, an answer (F2, F4, F7)", async () => {
    const started = await machine.svc("setup", "--yes", "--tier", "local");
    expect(started, started.err).toMatchObject({ code: 0 });
    expect(await health()).toMatchObject({ ok: true, version: SDK_VERSION });
    const plugins = (await health()).plugins as { version: string; state: string }[];
    expect(plugins.filter(({ version, state }) => version !== SDK_VERSION || state === "failed")).toEqual([]);
    expect(await machine.svc("exec", "assistant", "hello there")).toMatchObject({ code: 0, out: expect.stringMatching(/\S/) });
    const doctor = await machine.svc("doctor");
    expect(doctor, doctor.out).toMatchObject({ code: 0 });
  });

  it("says what a setting needs that is not installed, and svc connect installs a channel after a yes (F5, F6)", async () => {
    expect(await machine.svc("init", "--config", "other.json", "--tier", "orchestrator")).toMatchObject({
      code: 2,
      err: expect.stringContaining("There is no tier 'orchestrator'"),
    });
    // A command of a plugin that is not there names the plugin.
    expect(await machine.svc("workflow", "list")).toMatchObject({ code: 2, err: expect.stringContaining("add it with: svc plugin add workflows") });
    const api = await startBotApi();
    ends.push(() => api.close());
    api.addBot(TOKEN, 42, "helper_bot");
    api.addChat(FRIEND.id);
    const refused = await machine.svc("connect", "botmsg");
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining("asks questions on a terminal; without one give everything by flags, with --yes") });
    expect(existsSync(join(machine.folder, ".svc/node_modules/@svc/channel-botmsg"))).toBe(false);
    const words = ["--account", "main", "--agent", "assistant", "--set", `apiRoot=${api.root}`];
    const declined = await talk(
      machine,
      `connect botmsg ${words.join(" ")}`,
      [[/behind walls, to see what it registers\? \[y\/N\] $/, "n"]],
      machine.env,
      join(machine.prefix, "bin/svc"),
    );
    expect(declined.code, declined.shown).not.toBe(0);
    expect(declined.shown).toMatch(/Telegram \(botmsg\) is not installed. It is the package @svc\/channel-botmsg, \d+\.\d MB/);
    expect(existsSync(join(machine.folder, ".svc/node_modules/@svc/channel-botmsg"))).toBe(false);
    writeFileSync(join(machine.folder, ".env"), `BOTMSG_TOKEN=${TOKEN}\n`, { mode: 0o600 });
    const connected = await machine.svc("connect", "botmsg", "--yes", "--json", ...words);
    expect(connected, connected.err).toMatchObject({ code: 0, err: expect.stringContaining("It is the package @svc/channel-botmsg") });
    // One result, whatever was installed on the way.
    expect(JSON.parse(connected.out)).toMatchObject({ channel: "botmsg", detail: expect.stringContaining("@helper_bot") });
    const policy = await machine.svc("config", "set", "channels.botmsg.policy", JSON.stringify({ dm: "pair", allowFrom: [String(FRIEND.id)] }));
    expect(policy, policy.err).toMatchObject({ code: 0 });
    api.say(TOKEN, { chat: FRIEND.id, from: FRIEND, text: "hello from the chat" });
    await vi.waitFor(() => expect(api.shown.length).toBe(1), { timeout: 60_000, interval: 100 });
    const code = /\b\d{4,}\b|\b[A-Z0-9]{6,}\b/.exec(api.shown[0]?.text ?? "")?.[0] ?? "";
    const paired = await machine.svc("channel", "pair", code);
    expect(paired, api.shown[0]?.text + paired.err).toMatchObject({ code: 0 });
    api.say(TOKEN, { chat: FRIEND.id, from: FRIEND, text: "hello again" });
    await vi.waitFor(() => expect(api.shown.length).toBeGreaterThan(1), { timeout: 60_000, interval: 100 });
  });

  it.skipIf(NO_BROWSER !== undefined)("its dashboard signs a browser in by a link, takes a message and shows the answer", async () => {
    const port = await freePort();
    const set = await machine.svc("config", "set", "dashboard", JSON.stringify({ enabled: true, port }));
    expect(set, set.err).toMatchObject({ code: 0 });
    const restarted = await machine.svc("daemon", "restart");
    expect(restarted, restarted.err).toMatchObject({ code: 0 });
    const { out } = await machine.svc("dashboard", "--link");
    const link = /http:\S+#sign-in=\S+/.exec(out)?.[0] ?? "";
    expect(new URL(link).port, out).toBe(String(port));
    const page = await (await openBrowser()).newPage();
    await page.goto(link);
    await page.getByRole("button", { name: /Assistant/ }).click();
    await page.getByRole("textbox", { name: "Message to Assistant" }).fill("hello from a browser");
    await page.keyboard.press("Enter");
    await page.getByText("Hello from Assistant.").first().waitFor();
    await page.getByText("hello from a browser").first().waitFor();
    expect(page.url()).not.toContain("sign-in");
  });

  it("refuses under a first-party name what was not released with the program", async () => {
    const [genuine] = packed.filter(({ name }) => name === "@svc/feature-metrics");
    const other = asVersion([genuine as Packed], SDK_VERSION, SDK_VERSION, join(machine.home, "forged"));
    const listed = await fetch(`${registry.address}@svc%2ffeature-metrics/${SDK_VERSION}`, { method: "GET" });
    expect(listed.ok).toBe(true);
    expect(other[0]?.integrity).not.toBe(genuine?.integrity);
    await fetch(`${registry.address}@svc%2ffeature-metrics/-rev/0`, { method: "DELETE", headers: { authorization: "Bearer anyone", connection: "close" } });
    await publish(registry, other);
    const refused = await machine.svc("plugin", "add", "metrics", "--yes");
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining("is not the one that was released with this program") });
  });

  it("goes to the next release under a conversation, and back by itself from one that does not start (F8, F9, F11, F12); doctor tells two versions apart (F10)", async () => {
    await publish(registry, asVersion(packed, SDK_VERSION, NEXT, join(machine.home, "next")));
    const checked = await machine.svc("upgrade", "--check");
    expect(checked, checked.err).toMatchObject({ code: 0, out: expect.stringContaining(`${NEXT} can take the place of ${SDK_VERSION}`) });
    expect((await health()).version).toBe(SDK_VERSION);
    let ended = false;
    const failed: string[] = [];
    let answered = 0;
    const talk = (async () => {
      while (!ended) {
        const { code, err } = await machine.svc("exec", "assistant", `message ${answered}`);
        if (code === 0) answered += 1;
        else failed.push(err);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    })();
    const upgraded = await machine.svc("upgrade");
    await vi.waitFor(() => expect(answered).toBeGreaterThan(3), { timeout: 60_000, interval: 100 });
    ended = true;
    await talk;
    expect(upgraded, upgraded.err).toMatchObject({ code: 0, out: expect.stringContaining(`svc ${NEXT} is in the place of ${SDK_VERSION}`) });
    expect(failed).toEqual([]);
    expect(await health()).toMatchObject({ ok: true, version: NEXT });
    const added = await machine.svc("plugin", "add", "procedures", "--yes");
    expect(added, added.err).toMatchObject({ code: 0 });
    const other = join(machine.home, "other");
    cpSync(machine.prefix, other, { recursive: true, verbatimSymlinks: true });

    await publish(registry, asVersion(packed, SDK_VERSION, BROKEN, join(machine.home, "broken"), true));
    const broken = await machine.svc("upgrade", BROKEN);
    expect(broken).toMatchObject({ code: 1, err: expect.stringContaining(`${NEXT} is in place again and runs`) });
    expect(broken.err).toContain("this release does not start");
    expect(await health()).toMatchObject({ ok: true, version: NEXT });
    const back = await machine.svc("upgrade", SDK_VERSION);
    expect(back, back.err).toMatchObject({ code: 0 });
    // F10: another program than the one that runs says so, and what to do.
    const doctor = spawnSync(join(other, "bin/svc"), ["doctor"], { cwd: machine.folder, env: machine.env, encoding: "utf8" });
    expect(doctor.status, doctor.stdout).toBe(0);
    expect(doctor.stdout).toContain(`the daemon runs version ${SDK_VERSION}, this program is ${NEXT}; run: svc daemon restart`);
    expect((await machine.svc("doctor")).out).not.toContain("svc daemon restart");
    const again = await machine.svc("upgrade", "--rollback");
    expect(again, again.err).toMatchObject({ code: 0, out: expect.stringContaining(`svc ${NEXT} is in the place of ${SDK_VERSION}`) });
  });

  it("runs on the other supported Node.js, too", async () => {
    const node = nodeOf(22);
    if (node === undefined) return console.warn("skipped: there is no Node.js 22 here");
    const program = join(machine.prefix, "bin/svc");
    await machine.svc("daemon", "stop");
    const on22 = (...args: string[]) => execFileSync(node, [program, ...args], { cwd: machine.folder, env: { ...machine.env }, encoding: "utf8" });
    on22("daemon", "start");
    expect(on22("exec", "assistant", "hello")).toMatch(/\S/);
    on22("daemon", "stop");
  });

  it.each([24, 22] as const)("its store holds the contract of stores on Node.js %d, and its kernel starts, answers, stops and starts again", (major) => {
    const node = nodeOf(major);
    if (node === undefined) return console.warn(`skipped: there is no Node.js ${major} here`);
    const SVC_MODULES = join(machine.prefix, "lib/node_modules/@svc/cli/node_modules/@svc");
    const { status, stdout } = spawnSync(node, ["--test", "--test-reporter=tap", join(import.meta.dirname, "fixtures/on-node.mjs")], {
      cwd: machine.home,
      encoding: "utf8",
      env: { ...machine.env, SVC_MODULES },
    });
    expect(status, stdout).toBe(0);
    expect(Number(/^# pass (\d+)$/m.exec(stdout)?.[1]), stdout).toBeGreaterThan(50);
  });

  it("writes plugins with all that they depend on into one file, and nothing over another file", async () => {
    const bundle = join(machine.home, "set.tgz");
    rmSync(bundle, { force: true });
    expect(await machine.svc("plugin", "bundle", "svc-plugin-nowhere", "--output", bundle)).toMatchObject({ code: 1 });
    expect(existsSync(bundle)).toBe(false);
    const made = await machine.svc("plugin", "bundle", "graph", "botmsg", "--output", bundle);
    expect(made, made.err).toMatchObject({ code: 0, out: expect.stringContaining("@svc/channel-botmsg@") });
    expect(await machine.svc("plugin", "bundle", "graph", "--output", bundle)).toMatchObject({ code: 1, err: expect.stringContaining("exists already") });
  });

  it("tells within seconds that no registry answers, and runs on without one (F13)", async () => {
    await registry.stop();
    const before = Date.now();
    const { code, err } = await machine.svc("plugin", "add", "graph", "--yes");
    expect(code).toBe(1);
    expect(err).toContain("the registry does not answer");
    expect(err).toContain("svc plugin bundle");
    console.log(`told after ${Date.now() - before} ms`);
    expect(await machine.svc("daemon", "start")).toMatchObject({ code: 0 });
    expect(await machine.svc("exec", "assistant", "still there?")).toMatchObject({ code: 0 });
  });

  it("adds the plugins of such a file, with their vendors, where no registry answers and npm's cache is empty", async () => {
    const alone = mkdtempSync(join(machine.home, "alone-"));
    const env = { ...machine.env, npm_config_cache: join(alone, "cache") };
    const svc = (...args: string[]) => spawnSync(join(machine.prefix, "bin/svc"), args, { cwd: alone, env, encoding: "utf8" });
    const bundle = join(machine.home, "set.tgz");
    expect(svc("init", "--tier", "local").status).toBe(0);
    expect(svc("plugin", "add", bundle)).toMatchObject({ status: 1, stderr: expect.stringContaining("--yes") });
    const added = svc("plugin", "add", bundle, "--yes");
    expect(added.status, added.stdout + added.stderr).toBe(0);
    expect(readdirSync(join(alone, ".svc/node_modules"))).toEqual(expect.arrayContaining(["@svc", "grammy"]));
    expect(JSON.parse(readFileSync(join(alone, "svc.json"), "utf8")).plugins.sort()).toEqual(["@svc/channel-botmsg", "@svc/feature-graph"]);
    const looked = svc("plugin", "doctor");
    expect(looked.status, looked.stdout + looked.stderr).toBe(0);
  });

  it("leaves nothing but the folder of the bots when it is removed, after plugins were added and releases changed", async () => {
    expect(readdirSync(join(machine.folder, ".svc/node_modules/@svc"))).toEqual(expect.arrayContaining(["channel-botmsg", "feature-procedures"]));
    await machine.svc("daemon", "stop");
    await machine.npm("uninstall", "--global", "@svc/cli");
    expect(filesBelow(machine.prefix)).toEqual([]);
    // Of the home of this machine: what was there, npm's cache and the bots.
    const ours = new Set(["bin", "bots", "cache", "forged", "next", "broken", "other", "packed", "prefix", "registry", "set.tgz", ".npmrc"]);
    expect(readdirSync(machine.home).filter((name) => !ours.has(name) && !/^(page|alone)-/.test(name))).toEqual([]);
    expect(existsSync(join(machine.folder, ".svc/svc.db"))).toBe(true);
    expect(JSON.parse(readFileSync(join(machine.folder, "svc.json"), "utf8")).channels.botmsg.accounts.main.agentBinding).toBe("assistant");
  });
});
