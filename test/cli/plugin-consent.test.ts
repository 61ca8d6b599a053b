import { once } from "node:events";
import { appendFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import type { PluginStatus } from "@svc/kernel";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { lacks } from "../faults/daemon.harness.ts";
import { sharedLines } from "../kit/lines.ts";
import { packPackage } from "../kit/pack.ts";
import { echoConfig, openShell, type Said, type Shell } from "../kit/svc.ts";

/** What is looked at runs in processes of its own: the commands themselves need none. */
const lines = sharedLines();
const shells: Shell[] = [];
afterEach(async () => {
  for (const shell of shells.splice(0)) await shell.end();
});

async function shellWith(env: Record<string, string> = {}): Promise<Shell> {
  const shell = await openShell(env);
  shells.push(shell);
  shell.write(echoConfig());
  return shell;
}

interface Package {
  readonly svc?: object;
  readonly pkg?: object;
  /** Before the default export. */
  readonly top?: string;
  readonly define?: string;
  readonly setup?: string;
}

/** A package `./<name>` of one module. */
function write({ folder }: Pick<Shell, "folder">, name: string, { svc = {}, pkg = {}, top = "", define = "", setup = "" }: Package): string {
  const at = join(folder, name);
  mkdirSync(at, { recursive: true });
  const manifest = { api: 1, kind: "feature", name, entry: "./index.mjs", activate: "always", capabilities: [], ...svc };
  writeFileSync(join(at, "package.json"), JSON.stringify({ name: `svc-plugin-${name}`, version: "1.0.0", keywords: ["svc-plugin"], ...pkg, svc: manifest }));
  writeFileSync(
    join(at, "index.mjs"),
    `${top}\nexport default { kind: "feature", name: "${name}", version: "1.0.0", svc: "*", capabilities: ${JSON.stringify((svc as { capabilities?: string[] }).capabilities ?? [])}, ${define} setup(ctx) { ${setup} } };`,
  );
  return at;
}

const pack = (shell: Shell, name: string): string => packPackage(join(shell.folder, name), shell.folder);

/** Everything of PATH but the folders with bubblewrap in them, with Node and npm put back. */
function pathWithoutWalls(folder: string): string {
  const bin = join(folder, "bin");
  mkdirSync(bin);
  for (const name of ["npm", "node"]) writeFileSync(join(bin, name), `#!/bin/sh\nexec ${join(dirname(process.execPath), name)} "$@"\n`, { mode: 0o755 });
  const others = (process.env.PATH ?? "").split(delimiter).filter((at) => !existsSync(join(at, "bwrap")));
  return [bin, ...others].join(delimiter);
}

const touch = (file: string) => `try { (await import("node:fs")).writeFileSync(${JSON.stringify(file)}, "ran"); } catch {}`;

describe("what somebody else's code may do before it is agreed to", () => {
  it.each([{ walls: "with bubblewrap" }, { walls: "without it" }])(
    "SEC-S6 is nothing ($walls): without a yes none of it has run, and what looks at it runs it behind walls",
    { timeout: 60_000 },
    async ({ walls }) => {
      const shell = await openShell();
      const env = walls === "with bubblewrap" ? {} : { PATH: pathWithoutWalls(shell.folder) };
      const svc = async (...args: string[]) =>
        (await import("../kit/svc.ts")).openShell({ ...env, SVC_CONFIG: join(shell.folder, "svc.json") }).then((other) => other.svc(...args));
      shell.write(echoConfig());
      const witness = join(shell.folder, "witness");
      write(shell, "early", {
        top: touch(witness),
        setup: `import("node:fs").then(({ writeFileSync }) => writeFileSync(${JSON.stringify(witness)}, "setup"));`,
      });
      const tarball = join(shell.folder, pack(shell, "early"));
      for (const subject of [tarball, join(shell.folder, "early")]) {
        const asked = await svc("plugin", "add", subject);
        expect(asked).toMatchObject({ code: 1, err: expect.stringContaining("Run the setup of") });
        expect(asked.out).toContain("registers            not said in its manifest");
        expect(existsSync(witness)).toBe(false);
      }
      // Looked at it runs, and reaches nothing.
      expect(await svc("plugin", "inspect", join(shell.folder, "early"))).toMatchObject({ code: 0 });
      expect(existsSync(witness)).toBe(false);
      expect(await svc("plugin", "add", tarball, "--yes")).toMatchObject({ code: 0, out: expect.stringContaining("is installed and pinned") });
    },
  );

  it("SEC-S6 is not a script of npm's either, where the operator lets those run: only the yes starts them", async () => {
    const shell = await shellWith();
    const witness = join(shell.folder, "witness");
    write(shell, "scripted", { pkg: { scripts: { postinstall: `touch ${witness}` } } });
    const tarball = pack(shell, "scripted");
    expect(await shell.svc("plugin", "add", tarball, "--allow-scripts")).toMatchObject({ code: 1 });
    expect(existsSync(witness)).toBe(false);
    expect(await shell.svc("plugin", "add", tarball, "--allow-scripts", "--yes")).toMatchObject({ code: 0 });
    expect(existsSync(witness)).toBe(true);
  });

  it.skipIf(lacks("bwrap", "--unshare-net", "--ro-bind", "/", "/", "true") !== undefined)("SEC-S6 has no network while it is looked at", async () => {
    const shell = await shellWith();
    let calls = 0;
    const server = createServer((socket) => {
      calls += 1;
      socket.destroy();
    }).listen(0, "127.0.0.1");
    try {
      await once(server, "listening");
      const { port } = server.address() as AddressInfo;
      write(shell, "caller", { top: `await fetch("http://127.0.0.1:${port}").catch(() => {});` });
      expect(await shell.svc("plugin", "inspect", "./caller")).toMatchObject({ code: 0 });
      expect(calls).toBe(0);
    } finally {
      server.close();
    }
  });

  it("SEC-S6 is nothing outside of its package", async () => {
    const shell = await shellWith();
    write(shell, "outside", { svc: { entry: "../outside.mjs" } });
    writeFileSync(join(shell.folder, "outside.mjs"), "");
    expect(await lines(shell).svc("plugin", "add", "./outside", "--yes")).toMatchObject({
      code: 1,
      err: expect.stringContaining("entry '../outside.mjs' leads out of the package"),
    });
  });

  it("AUT-B12 is shown from the manifest: commands, cron jobs, routes with their guards, hosts", async () => {
    const shell = await shellWith();
    write(shell, "much", {
      svc: {
        capabilities: ["jobs", "network", "routes"],
        registers: ["route GET /much open", "cron nightly 0 3 * * *", "hook inbound"],
        network: ["irc.example.org:6697"],
        commands: [{ name: "much", summary: "Much of it", module: "./index.mjs" }],
      },
      setup: `ctx.jobs.cron("nightly", "0 3 * * *", undefined, async () => {}); ctx.provide.route({ method: "GET", path: "/much", guard: "open", handle: async () => ({}) });`,
    });
    const { code, out, err } = await lines(shell).svc("plugin", "add", "./much");
    expect(code).toBe(1);
    expect(err).toContain("Let ./much run in the daemon?");
    for (const words of [
      "registers            cron nightly 0 3 * * *, hook inbound, route GET /much open",
      "network              connections of its own, unguarded, to irc.example.org:6697",
      "commands             svc much (Much of it); they run as you",
    ])
      expect(out).toContain(words);
    expect(await lines(shell).svc("plugin", "add", "./much", "--yes")).toMatchObject({ code: 0 });
    const { things } = await lines(shell).json<{ things: string[] }>("plugin", "inspect", "./much");
    expect(things).toEqual(["cron nightly 0 3 * * *", "route GET /much open"]);
  });

  it("SEC-S6 what is registered and not shown is refused", async () => {
    const shell = await shellWith();
    write(shell, "more", { svc: { registers: ["hook inbound"] }, setup: "ctx.hooks.deliver.tap(() => undefined);" });
    expect(await lines(shell).svc("plugin", "add", "./more", "--yes")).toMatchObject({
      code: 1,
      err: expect.stringContaining("registers hook deliver, which registers in the svc member"),
    });
    expect(shell.config().plugins).toBeUndefined();
  });
});

describe("what svc plugin add sees", () => {
  it("AUT-A9 AUT-B10 AUT-B13 a mistake with its place, a schema that cannot be used, a top level that never ends", async () => {
    const shell = await shellWith();
    write(shell, "wrong", { setup: "\n  undefined.boom;" });
    write(shell, "endless", { top: "await new Promise(() => {});" });
    write(shell, "shapeless", {
      svc: { section: "shapeless" },
      define: 'config: { at: "shapeless", schema: { type: "object", properties: { n: { type: "nubmer" } } } },',
    });
    for (const command of ["add", "inspect", "check"]) {
      const said = async (name: string) => {
        const { out, err } = await lines(shell).svc(
          "plugin",
          command,
          `./${name}`,
          ...(command === "add" ? ["--yes"] : command === "check" ? ["--quick"] : []),
        );
        return `${out}${err}`;
      };
      expect(await said("wrong")).toMatch(/setup: .*boom.* \(index\.mjs:3:\d+\)/);
      expect(await said("endless")).toContain("what its top level awaits belongs into start");
      expect(await said("shapeless")).toMatch(/shapeless of svc\.json: its schema is not usable \(.*nubmer/);
    }
  });

  it("AUT-B11 an id and a name that are taken, with what to do", async () => {
    const shell = await shellWith();
    write(shell, "twin", {});
    write(shell, "other", { svc: { name: "twin" } });
    expect(await lines(shell).svc("plugin", "add", "./twin", "--yes")).toMatchObject({ code: 0 });
    expect(await lines(shell).svc("plugin", "add", "./other", "--yes")).toMatchObject({
      code: 1,
      err: expect.stringContaining("./twin in plugins of svc.json is feature-twin already; remove it first: svc plugin remove ./twin"),
    });
    write(shell, "fetch", { svc: { kind: "action", name: "http-fetch" } });
    expect((await lines(shell).svc("plugin", "add", "./fetch", "--yes")).err).toContain("action-http-fetch comes with svc");
    write(shell, "taker", { setup: 'ctx.provide.tier({ name: "local", modes: [], run: async function* () {} });' });
    expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
    expect((await lines(shell).svc("plugin", "add", "./taker", "--yes")).err).toContain(
      "it provides tier local, and so does tier-local, which runs; switch that off first",
    );
  });
});

describe("the pin of an installed plugin", { timeout: 60_000 }, () => {
  /** A folder with a plugin of npm's in it, of which tests have copies, and what was said when it was added. */
  let installed: string;
  let added: Said;
  beforeAll(async () => {
    installed = mkdtempSync(join(tmpdir(), "svc-installed-"));
    const shell = await openShell({}, installed);
    shell.write(echoConfig());
    write(shell, "newer", { pkg: { version: "1.0.1" } });
    added = await shell.svc("plugin", "add", pack(shell, "newer"), "--yes");
  });
  afterAll(() => rmSync(installed, { recursive: true, force: true }));

  async function installedShell(): Promise<Shell> {
    const shell = await shellWith();
    cpSync(installed, shell.folder, { recursive: true, verbatimSymlinks: true });
    return shell;
  }

  it("AUT-B2 covers what npm installed for it: a changed byte in a dependency of a dependency is noticed everywhere", async () => {
    const shell = await shellWith();
    for (const [name, dependencies] of [
      ["deep", {}],
      ["middle", { deep: `file:${join(shell.folder, "deep-1.0.0.tgz")}` }],
    ] as const) {
      mkdirSync(join(shell.folder, name));
      writeFileSync(join(shell.folder, name, "package.json"), JSON.stringify({ name, version: "1.0.0", dependencies }));
      writeFileSync(join(shell.folder, name, "index.js"), "module.exports = 1;");
      pack(shell, name);
    }
    write(shell, "user", { pkg: { dependencies: { middle: `file:${join(shell.folder, "middle-1.0.0.tgz")}` } } });
    write(shell, "second", { pkg: { dependencies: { deep: `file:${join(shell.folder, "deep-1.0.0.tgz")}` } } });
    expect(await lines(shell).svc("plugin", "add", pack(shell, "user"), "--yes")).toMatchObject({ code: 0 });
    expect(await lines(shell).svc("plugin", "add", pack(shell, "second"), "--yes")).toMatchObject({ code: 0 });
    const pins = JSON.parse(readFileSync(join(shell.folder, ".svc/plugins.lock.json"), "utf8")) as Record<string, { dependencies: object }>;
    expect(Object.keys(pins["svc-plugin-user"]?.dependencies ?? {})).toEqual(["deep@1.0.0", "middle@1.0.0"]);
    expect(await lines(shell).svc("plugin", "doctor")).toMatchObject({ code: 0 });

    appendFileSync(join(shell.folder, ".svc/node_modules/deep/index.js"), "\n// changed");
    const words = "the files of its dependency deep@1.0.0 are different";
    expect(await lines(shell).svc("plugin", "doctor")).toMatchObject({ code: 1, out: expect.stringContaining("deep@1.0.0") });
    expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
    const { plugins } = await shell.ask<{ plugins: PluginStatus[] }>("/health");
    expect(plugins.find(({ id }) => id === "feature-user")).toMatchObject({ state: "failed", reason: expect.stringContaining(words) });
    const trusted = await lines(shell).svc("plugin", "trust", "svc-plugin-user", "--yes");
    expect(trusted).toMatchObject({ code: 0, out: expect.stringContaining("files      of its dependency deep@1.0.0 changed since") });
    await shell.end();
    // Removing the other one lets npm put the tree in order again: what was trusted stays trusted, what was not does not become so.
    expect(await lines(shell).svc("plugin", "remove", "svc-plugin-second")).toMatchObject({ code: 0 });
    expect((await lines(shell).svc("plugin", "doctor")).out).toMatch(/ok\s+svc-plugin-user/);
  });

  it("AUT-B2 of an earlier svc, without the dependencies, holds for the plugin's own files until it is trusted anew", async () => {
    const shell = await installedShell();
    const file = join(shell.folder, ".svc/plugins.lock.json");
    const { "svc-plugin-newer": pin } = JSON.parse(readFileSync(file, "utf8")) as Record<string, object>;
    writeFileSync(file, JSON.stringify({ "svc-plugin-newer": { ...pin, dependencies: undefined } }));
    expect((await lines(shell).svc("plugin", "doctor")).out).toMatch(/warning\s+svc-plugin-newer\s+only its own files are pinned/);
    expect((await lines(shell).svc("plugin", "trust", "svc-plugin-newer", "--yes")).out).toContain("is trusted");
    expect((await lines(shell).svc("plugin", "doctor")).out).toMatch(/ok\s+svc-plugin-newer/);
  });

  it("AUT-B1 the version is that of package.json, wherever it is shown", async () => {
    const shell = await installedShell();
    expect(added.out).toContain("svc-plugin-newer 1.0.1 is installed and pinned.");
    expect((await lines(shell).svc("plugin", "check", "./newer", "--quick")).out).toContain("package.json says 1.0.1, definePlugin 1.0.0");
    expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
    expect((await lines(shell).json<PluginStatus[]>("plugin", "list")).find(({ id }) => id === "feature-newer")).toMatchObject({ version: "1.0.1" });
  });
});
