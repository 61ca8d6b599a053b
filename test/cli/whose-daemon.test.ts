import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer } from "node:net";
import { join } from "node:path";
import type { Trace } from "@svc/sdk";
import { afterEach, describe, expect, it } from "vitest";
import { pluginGroups } from "../../cli/catalog.ts";
import type { GroupEntry } from "../../cli/group.ts";
import { GROUPS } from "../../cli/groups.ts";
import { openLines, sharedLines } from "../kit/lines.ts";
import { echoConfig, openShell, type Shell, sharedDaemon } from "../kit/svc.ts";

/** The commands of many lines, in one process. */
const lines = sharedLines();
const shells: Shell[] = [];
const servers: { close(): void }[] = [];
afterEach(async () => {
  for (const shell of shells.splice(0)) await shell.end();
  for (const server of servers.splice(0)) server.close();
});

const portOf = (shell: Shell): number => JSON.parse(readFileSync(join(shell.folder, ".svc/daemon.json"), "utf8")).port;

/** A running daemon whose node is named, so that a message can name it. */
async function daemon(name: string, agent: object = {}): Promise<Shell> {
  const shell = await openShell();
  const config = echoConfig(agent);
  shell.write({ ...config, node: { ...config.node, id: name.toLowerCase(), name } });
  shells.push(shell);
  expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
  return shell;
}

/** A folder whose configuration names that port, and whose daemon does not run. */
async function folderOn(port: number, ends = true): Promise<Shell> {
  const shell = await openShell();
  shell.write(echoConfig({}, { node: { id: "mine", name: "Mine", bind: `127.0.0.1:${port}`, defaultAgent: "echo" } }));
  if (ends) shells.push(shell);
  return shell;
}

/** What stands for a word of a usage line. */
const WORDS: Readonly<Record<string, string>> = {
  agent: "echo",
  path: "node.name",
  channel: "botmsg",
  kind: "tier",
  shell: "bash",
  plugin: "tier-local",
  package: "./nowhere",
  autonomy: "full",
  code: "123456",
};
const OPTIONS: Readonly<Record<string, readonly string[]>> = {
  "setup setup": ["--yes", "--tier", "local"],
  "token create": ["--name", "x", "--scope", "dashboard:read"],
  "actions add": ["--command", "true"],
  "mcp mcp": ["--agent", "echo"],
  "connect connect": ["--yes"],
  "plugin new": ["--help"],
  // Found out before the whole program is packed, which is most of what it does and asks no daemon.
  "daemon deploy": ["--settings", "nowhere.json"],
  "dashboard dashboard": ["--link"],
};

/** Counts who looks at a port, and lets each reach the one behind it. */
async function forwarder(to: number): Promise<{ readonly port: number; count(): number }> {
  let count = 0;
  const server = createTcpServer((socket) => {
    count += 1;
    const onward = connect(to, "127.0.0.1");
    socket.pipe(onward).pipe(socket);
    for (const end of [socket, onward]) end.on("error", () => socket.destroy());
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { port: (server.address() as AddressInfo).port, count: () => count };
}

/** Every command of the program and of the plugins that come with it. */
async function commandLines(): Promise<{ name: string; line: string[] }[]> {
  const entries: readonly Pick<GroupEntry, "name" | "load">[] = [...GROUPS, ...pluginGroups("/nowhere")];
  const groups = await Promise.all(entries.map((entry) => entry.load()));
  return groups.flatMap(({ name: group, commands }) =>
    commands.map(({ name, args }) => {
      const words = [...args.matchAll(/[<[]([\w-]+)/g)].map(([, word]) => WORDS[word as string] ?? "x1");
      const full = `${group} ${name}`;
      return { name: full, line: [group, ...(name === group ? [] : [name]), ...words, ...(OPTIONS[full] ?? [])] };
    }),
  );
}

describe("whose daemon answers", () => {
  const elsewhere = sharedDaemon(echoConfig({}, { node: { id: "elsewhere", name: "Elsewhere", bind: "127.0.0.1:0", defaultAgent: "echo" } }));
  const traces = async (shell: Shell) => (await shell.ask<{ traces: Trace[] }>("/traces")).traces.map(({ id }) => id);

  it("OPR-C1 with another folder's daemon on the port each command that looks there says whose it is and does nothing; what needs a daemon ends with 69, of workflows with 3", async () => {
    const other = elsewhere();
    const [pid, before] = [other.pid(), await traces(other)];
    const lookers: string[] = [];
    const looking = openLines();
    servers.push(looking);
    for (const { name, line } of await commandLines()) {
      // A port of its own: no connection of an earlier line is used again.
      const way = await forwarder(portOf(other));
      // No daemon starts there: the port is taken.
      const { folder } = await folderOn(way.port, false);
      const { code, out, err } = await looking.run(folder, line);
      // What never looked does without a daemon.
      if (way.count() === 0) continue;
      lookers.push(name);
      const said = err + out;
      expect({ name, said }).toEqual({ name, said: expect.stringContaining(`the daemon of Elsewhere (elsewhere) in ${other.folder}`) });
      // A change of svc.json is made all the same, and the doctor is asked what is wrong.
      const without = name.startsWith("workflow ") ? 3 : 69;
      if (code !== without) expect({ name, code, said }).toEqual({ name, code: expect.any(Number), said: expect.stringMatching(/Not in force yet|ERROR/) });
    }
    for (const name of ["daemon send", "daemon restart", "daemon stop", "exec exec", "trace list", "agent list", "actions run", "config set"])
      expect(lookers).toContain(name);
    expect(other.pid()).toBe(pid);
    expect(await traces(other)).toEqual(before);
  }, 240_000);

  it("OPR-C1 a change is written and says that it is not in force; the next step it names works", async () => {
    const other = elsewhere();
    const here = await folderOn(portOf(other));
    const { code, out } = await lines(here).svc("config", "set", "node.name", "Renamed");
    expect(code).toBe(0);
    expect(out).not.toContain("In force now");
    const [, path, value] = /svc config set (\S+) ([\d.:]+\d)/.exec(out) as unknown as string[];
    expect(await lines(here).svc("config", "set", path as string, value as string)).toMatchObject({ code: 0 });
    expect(await here.svc("daemon", "start")).toMatchObject({ code: 0 });
    expect((await lines(here).svc("daemon", "status")).out).toContain("Renamed (mine)");
    expect((await lines(other).svc("daemon", "status")).out).toContain("Elsewhere");
  });

  it("OPR-C1 after kill -9 the note that is left does not make another daemon on the port ours", async () => {
    const gone = await daemon("Gone");
    const port = portOf(gone);
    process.kill(gone.pid(), "SIGKILL");
    const other = await folderOn(port);
    expect(await other.svc("daemon", "start")).toMatchObject({ code: 0 });
    expect(existsSync(join(gone.folder, ".svc/daemon.json"))).toBe(true);
    for (const line of [
      ["daemon", "status"],
      ["exec", "echo", "x"],
      ["daemon", "restart"],
      ["daemon", "stop"],
    ])
      expect(await lines(gone).svc(...line)).toMatchObject({ code: 69, err: expect.stringContaining("the daemon of Mine (mine)") });
    expect(await traces(other)).toEqual([]);
  });

  it("OPR-C1 of a daemon that takes a free port and does not run nobody looks on the default port", async () => {
    const shell = await folderOn(0, false);
    expect(await lines(shell).svc("daemon", "status")).toMatchObject({ code: 69, err: expect.stringContaining("No daemon answers at 127.0.0.1:0.") });
    expect((await lines(shell).svc("doctor")).out).toContain("it takes a free port at each start");
  });

  it("OPR-C1 the copy of a folder does not take the daemon of the original for its own", async () => {
    const original = elsewhere();
    const before = await traces(original);
    const copy = await openShell();
    cpSync(original.folder, copy.folder, { recursive: true });
    expect(await copy.svc("daemon", "send", "echo", "x")).toMatchObject({ code: 69, err: expect.stringContaining("the daemon of Elsewhere (elsewhere)") });
    expect(await traces(original)).toEqual(before);
  });

  it("OPR-C1 another program on the port is told apart from a daemon, and is asked for nothing but its health", async () => {
    const asked: string[] = [];
    const program = createServer((request: IncomingMessage, response) => {
      asked.push(`${request.method} ${request.url}`);
      response.end("<html>hello</html>");
    });
    servers.push(program);
    await new Promise<void>((resolve) => program.listen(0, "127.0.0.1", resolve));
    const here = await folderOn((program.address() as AddressInfo).port);
    for (const line of [
      ["daemon", "status"],
      ["exec", "echo", "x"],
      ["daemon", "send", "echo", "x"],
    ])
      expect(await lines(here).svc(...line)).toMatchObject({ code: 69, err: expect.stringContaining("another program answers") });
    expect(await here.svc("daemon", "start")).toMatchObject({ code: 69, err: expect.stringContaining("another program answers") });
    expect(new Set(asked)).toEqual(new Set(["GET /health"]));
  });

  it("OPR-C1 the daemon itself refuses what is meant for another folder before it does anything, and says who it is", async () => {
    const shell = elsewhere();
    const before = await traces(shell);
    const base = `http://127.0.0.1:${portOf(shell)}`;
    const { instance } = JSON.parse(readFileSync(join(shell.folder, ".svc/daemon.json"), "utf8"));
    const ask = (expected: string) =>
      fetch(`${base}/task`, {
        method: "POST",
        headers: { "content-type": "application/json", accept: "application/json", "svc-expect-instance": expected },
        body: JSON.stringify({ agent: "echo", message: "x" }),
      });
    const refused = await ask("another");
    expect([refused.status, await refused.json()]).toEqual([421, expect.objectContaining({ code: "SVC_DAEMON_OTHER" })]);
    expect(await traces(shell)).toEqual(before);
    const taken = await ask(instance);
    expect([taken.status, taken.headers.get("svc-instance")]).toEqual([200, instance]);
    expect(await (await fetch(`${base}/health`)).json()).toMatchObject({ instance, folder: shell.folder });
  });

  it("OPR-C1 a daemon from before folders had an identity is still ours while it holds the folder's lock", async () => {
    const shell = await daemon("Old");
    const file = join(shell.folder, ".svc/daemon.json");
    const { instance: _, ...note } = JSON.parse(readFileSync(file, "utf8"));
    writeFileSync(file, JSON.stringify(note));
    expect(await shell.svc("daemon", "send", "echo", "still mine")).toMatchObject({ code: 0, out: "still mine\n" });
  });

  it("OPR-C1 init leaves a port that is in use to its owner and says so", async () => {
    const taken = createServer();
    servers.push(taken);
    // Another daemon on this machine may have it already, which is as good.
    await new Promise<void>((resolve) => taken.once("error", () => resolve()).listen(18_800, "127.0.0.1", resolve));
    const shell = await openShell();
    const { code, out } = await shell.svc("init", "--tier", "local");
    expect(code).toBe(0);
    expect(out).toMatch(/Port 18800 is in use, so this daemon will listen on 127\.0\.0\.1:18\d\d\d\./);
    expect((shell.config().node as { bind: string }).bind).not.toBe("127.0.0.1:18800");
  });
});
