import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { smallDisk } from "../../kernel/base/processes.harness.ts";
import { ROOT } from "../house/house.ts";
import { temporaryFolder } from "../kit/kernel.ts";
import { ask, endDaemons, startDaemon, writeConfig } from "./daemon.harness.ts";

const Database = createRequire(join(ROOT, "plugins/features/codeindex/index.ts"))("better-sqlite3") as new (
  file: string,
  options: object,
) => { pragma(text: string, options: object): unknown; close(): void };

const disks: { remove(): void }[] = [];
afterEach(async () => {
  await endDaemons();
  for (const disk of disks.splice(0)) disk.remove();
});

/** A small disk over a new folder; undefined where this user may not mount one. */
function disk(folder: string, size: string): string | undefined {
  mkdirSync(folder, { recursive: true });
  const made = smallDisk(folder, size);
  if (made !== undefined) disks.push(made);
  return made === undefined ? undefined : folder;
}

/** Takes all of the room that is left; the answer gives it back. */
function fill(folder: string): () => void {
  const theirs = join(folder, "theirs");
  for (const size of [65_536, 4_096, 1]) {
    try {
      for (;;) writeFileSync(theirs, Buffer.alloc(size, 1), { flag: "a" });
    } catch {
      // Full.
    }
  }
  return () => rmSync(theirs);
}

const filesIn = (folder: string): readonly string[] =>
  existsSync(folder) ? readdirSync(folder).filter((name) => name !== "_drafts" && name !== "theirs") : [];
const put = async (port: number, path: string, body: unknown) => {
  const headers = { "content-type": "application/json", connection: "close" };
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method: "PUT", body: JSON.stringify(body), headers });
  return { status: response.status, body: (await response.json()) as { error?: string } };
};

it("FAULT-09 a full disk under procedures, graph and memory: refused with the reason, nothing torn, and it goes on when there is room", async (ctx) => {
  const folder = await temporaryFolder();
  const know = disk(join(folder, "know"), "1m");
  if (know === undefined) return ctx.skip("this user may not mount a tmpfs");
  const at = (...path: string[]) => join(know, ...path);
  for (const path of ["w", "procedures/_drafts", "graph/_drafts"]) mkdirSync(at(path), { recursive: true });
  const procedure = `---\nname: ship\ndescription: Ship the shop\n---\n\n${"1. Tag.\n".repeat(2_000)}`;
  const node = `change: add\nid: crm\nconfidence: 0.5\ntitle: Customers\ntext: ${"words ".repeat(650)}\n`;
  writeFileSync(at("procedures/_drafts/ship.md"), procedure);
  writeFileSync(at("graph/_drafts/crm.yaml"), node);
  writeFileSync(at("w/MEMORY.md"), "what I know\n");
  writeConfig(folder, {
    plugins: [join(import.meta.dirname, "writer.mjs")],
    agents: { echo: { name: "A", workspace: "./know/w", tier: "writer" } },
    procedures: { dir: "./know/procedures", extraction: { enabled: true, via: "echo" } },
    graph: { enabled: true, baseDir: "./know/graph" },
  });
  const { port } = await startDaemon(folder);
  for (const words of ["ship the weekly release of the shop", "ship our weekly shop release", "please ship the weekly release of the shop"])
    expect(await ask(port, "/task", { agent: "echo", message: words })).toMatchObject({ status: 200 });
  const free = fill(know);
  const promote = () => ask<{ error?: string }>(port, "/procedures/promote", { id: "ship" });
  const promoteNode = () => ask<{ error?: string }>(port, "/graph/drafts/crm/promote", {});
  const remember = () => put(port, "/agents/echo/memory", { file: "MEMORY.md", text: "more\n".repeat(5_000) });
  for (const attempt of [promote, promoteNode, remember]) {
    const { status, body } = await attempt();
    expect({ status, error: body.error }).toMatchObject({ status: 500, error: expect.stringMatching(/ENOSPC|no space/i) });
  }
  const { body: learned } = await ask<{ pass: { drafts: string[]; failed: { reason: string }[] } }>(port, "/procedures/extract", {});
  expect(learned.pass).toMatchObject({ drafts: [], failed: [{ reason: expect.stringMatching(/ENOSPC|no space/i) }] });
  // What was there is whole, and nothing half-written lies beside it.
  expect(filesIn(at("procedures"))).toEqual([]);
  expect(filesIn(at("graph"))).toEqual([]);
  expect(readdirSync(at("procedures/_drafts"))).toEqual(["ship.md"]);
  expect(readFileSync(at("procedures/_drafts/ship.md"), "utf8")).toBe(procedure);
  expect(readFileSync(at("graph/_drafts/crm.yaml"), "utf8")).toBe(node);
  expect(filesIn(at("w"))).toEqual(["MEMORY.md"]);
  expect(readFileSync(at("w/MEMORY.md"), "utf8")).toBe("what I know\n");
  // A turn is told what is there.
  expect(await ask(port, "/task", { agent: "echo", message: "still there?" })).toMatchObject({ status: 200 });
  free();
  for (const attempt of [promote, promoteNode, remember]) expect(await attempt()).toMatchObject({ status: 200 });
  expect(readFileSync(at("procedures/ship.md"), "utf8")).toBe(procedure);
  expect(filesIn(at("graph"))).toEqual(["crm.yaml"]);
  expect(readFileSync(at("w/MEMORY.md"), "utf8")).toBe("more\n".repeat(5_000));
  const { body: again } = await ask<{ pass: { drafts: string[] } }>(port, "/procedures/extract", {});
  expect(again.pass.drafts).toEqual(["ship-release"]);
}, 90_000);

it("FAULT-09 a full disk under the code index: the run ends with the reason, and the next one with room makes it whole", async (ctx) => {
  const folder = await temporaryFolder();
  const plugins = disk(join(folder, ".svc/plugins"), "3m");
  if (plugins === undefined) return ctx.skip("this user may not mount a tmpfs");
  mkdirSync(join(folder, "w"));
  const FILES = 300;
  for (let at = 0; at < FILES; at += 1)
    writeFileSync(
      join(folder, "w", `f${at}.ts`),
      Array.from({ length: 40 }, (_, line) => `export function f${at}_${line}() { return word${at}x${line}; }`).join("\n"),
    );
  writeConfig(folder, { agents: { echo: { name: "A", workspace: "./w", tier: "local", local: { mode: "echo" }, codeindex: true } } });
  const daemon = await startDaemon(folder);
  const free = fill(plugins);
  const index = () => ask<{ error?: string; code?: string; files?: number; definitions?: number }>(daemon.port, "/api/agents/echo/code-index", {});
  const full = await index();
  expect(full.status).toBe(500);
  expect(full.body.error).toMatch(/^The code index failed: .*(?:full|disk|space)/i);
  expect(await ask(daemon.port, "/task", { agent: "echo", message: "hello" })).toMatchObject({ status: 200 });
  free();
  expect(await index()).toMatchObject({ status: 200, body: { files: FILES, definitions: FILES * 40, skipped: 0 } });
  await daemon.kill("SIGTERM");
  const db = new Database(join(plugins, "feature-codeindex/echo.db"), { readonly: true });
  expect(db.pragma("integrity_check", { simple: true })).toBe("ok");
  db.close();
}, 90_000);
