import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { temporaryFolder } from "../kit/kernel.ts";
import { echoConfig, openShell, type Shell } from "../kit/svc.ts";

const PROGRAMS = ["/usr/sbin/avahi-daemon", "/usr/bin/avahi-browse", "/usr/bin/avahi-publish", "/usr/bin/dbus-daemon"];

/** Why a real avahi cannot be asked here. */
function lacking(): string | undefined {
  const absent = PROGRAMS.filter((path) => !existsSync(path));
  if (absent.length > 0) return `${absent.join(", ")} missing (on Debian: apt-get install avahi-daemon avahi-utils)`;
  if (process.getuid?.() !== 0) return "avahi-daemon can only be started by root";
  if (spawnSync("/usr/sbin/avahi-daemon", ["--check"]).status === 0) return "an avahi-daemon runs on this machine already, and there can be one";
  const inside = Object.values(networkInterfaces()).flatMap((all = []) => all.filter(({ family, internal }) => family === "IPv4" && !internal));
  return inside.length === 0 ? "this machine has no network but loopback" : undefined;
}

const reason = lacking();
if (reason !== undefined) console.warn(`skipped, discovery beside avahi: ${reason}`);

const children: ChildProcess[] = [];
let shell: Shell | undefined;
afterEach(async () => {
  await shell?.svc("daemon", "stop", "--now");
  shell = undefined;
  for (const child of children.splice(0).reverse()) {
    const ended = new Promise((resolve) => child.once("exit", resolve));
    if (child.kill() && child.exitCode === null) await ended;
  }
});

async function until(check: () => Promise<boolean>, what: string): Promise<void> {
  for (let patience = 0; !(await check()); patience += 1) {
    if (patience > 200) throw new Error(`it did not come: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Debian's avahi on a message bus of its own. */
async function startAvahi() {
  const folder = await temporaryFolder();
  const bus = join(folder, "bus");
  const allowed = '<allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/><allow user="*"/>';
  writeFileSync(
    join(folder, "bus.conf"),
    `<busconfig><type>system</type><listen>unix:path=${bus}</listen><auth>EXTERNAL</auth><policy context="default">${allowed}</policy></busconfig>`,
  );
  writeFileSync(join(folder, "avahi.conf"), "[server]\nhost-name=avahi-peer\nuse-ipv6=no\ndisallow-other-stacks=no\n[publish]\npublish-workstation=no\n");
  const env = { ...process.env, DBUS_SYSTEM_BUS_ADDRESS: `unix:path=${bus}` };
  const run = (program: string, ...args: string[]) => {
    const child = spawn(program, args, { env, stdio: "ignore" });
    children.push(child);
    return child;
  };
  run("dbus-daemon", `--config-file=${join(folder, "bus.conf")}`, "--nofork", "--nopidfile");
  await until(async () => existsSync(bus), "the message bus");
  run("/usr/sbin/avahi-daemon", "--no-drop-root", "--no-chroot", "--no-rlimits", "-f", join(folder, "avahi.conf"));
  const browse = () =>
    new Promise<string[]>((resolve) => {
      const child = spawn("avahi-browse", ["-rpt", "_svc-mesh._tcp"], { env, stdio: ["ignore", "pipe", "ignore"] });
      let out = "";
      child.stdout.on("data", (data) => (out += data));
      child.once("close", () => resolve(out.split("\n").filter((line) => line.startsWith("="))));
    });
  return { browse, publish: (...args: string[]) => run("avahi-publish", "-s", ...args) };
}

interface Listed {
  readonly name: string;
  readonly url: string;
  readonly state: string;
  readonly add?: string;
}

it.skipIf(reason !== undefined)(
  "avahi sees the daemon and the daemon sees what avahi announces; both hear when the other leaves; a found one becomes a peer by hand alone",
  async () => {
    const avahi = await startAvahi();
    shell = await openShell({ STUDIO_MESH_TOKEN: "a-token-that-both-hold" });
    const here = shell;
    const config = echoConfig({}, { mesh: { enabled: true, discovery: "mdns", healthCheck: { interval: 3_600, timeout: 1 } } });
    here.write({ ...config, node: { ...(config as { node: object }).node, id: "kitchen", bind: "0.0.0.0:0" } });
    expect((await here.svc("daemon", "start")).code).toBe(0);
    const { port } = JSON.parse(readFileSync(join(here.folder, ".svc/daemon.json"), "utf8")) as { port: number };
    const found = async () => (await here.json<Listed[]>("mesh", "list")).filter(({ state }) => state === "found");

    let line = "";
    await until(async () => {
      line = (await avahi.browse()).find((one) => one.includes('"node=kitchen"')) ?? "";
      return line !== "";
    }, "the daemon in avahi-browse");
    expect(line.split(";")[8]).toBe(String(port));

    const published = avahi.publish("studio of avahi", "_svc-mesh._tcp", "18999", "node=studio");
    await until(async () => (await found()).length === 1, "what avahi announces");
    const [studio] = (await found()) as [Listed];
    expect(studio).toMatchObject({ name: "studio", url: expect.stringMatching(/^http:\/\/[\d.]+:18999$/) });
    // The command that it shows is the one that makes it a peer.
    const [, ...command] = (studio.add as string).split(" ");
    expect(await here.svc(...command)).toMatchObject({ code: 0 });
    await until(async () => (await here.json<Listed[]>("mesh", "list")).some(({ name, state }) => name === "studio" && state !== "found"), "the peer");
    expect(await found()).toEqual([]);
    expect((await here.svc("mesh", "remove", "studio")).code).toBe(0);
    await until(async () => (await found()).length === 1, "the daemon that is found again");
    published.kill();
    await until(async () => (await found()).length === 0, "that avahi took it back");

    await here.svc("daemon", "stop");
    await until(async () => !(await avahi.browse()).some((one) => one.includes('"node=kitchen"')), "that the daemon took it back");
  },
  120_000,
);
