import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { ROOT } from "../house/house.ts";
import { temporaryFolder } from "../kit/kernel.ts";
import { ask, endDaemons, pause, startDaemon, writeConfig } from "./daemon.harness.ts";

/** More with SVC_SOAK. */
const KILLS = Number(process.env.SVC_SOAK ?? 2);
const FILES = 400;
afterEach(endDaemons);

const Database = createRequire(join(ROOT, "plugins/features/codeindex/index.ts"))("better-sqlite3") as new (
  file: string,
  options: object,
) => { pragma(text: string, options: object): unknown; prepare(text: string): { pluck(): { get(): number } }; close(): void };

it("kill -9 while a workspace is indexed loses a second of work and nothing else: the index is sound and complete in the end", async () => {
  const folder = await temporaryFolder();
  mkdirSync(join(folder, "w"));
  const source = (at: number, round: number) =>
    Array.from({ length: 20 }, (_, line) => `export function f${at}_${line}_${round}() { return ${line}; }`).join("\n");
  for (let at = 0; at < FILES; at += 1) writeFileSync(join(folder, "w", `f${at}.ts`), source(at, 0));
  writeConfig(folder, { agents: { echo: { name: "A", workspace: "./w", tier: "local", local: { mode: "echo" }, codeindex: true } } });
  for (let kill = 1; kill <= KILLS; kill += 1) {
    const daemon = await startDaemon(folder);
    const indexing = ask(daemon.port, "/api/agents/echo/code-index", {}).catch(() => undefined);
    for (let at = kill % 7; at < FILES; at += 7) writeFileSync(join(folder, "w", `f${at}.ts`), source(at, kill));
    if (kill % 3 === 0) rmSync(join(folder, "w", `f${kill}.ts`), { force: true });
    await pause(Math.random() * 600);
    await daemon.kill("SIGKILL");
    await indexing;
  }
  const left = readdirSync(join(folder, "w")).length;
  const daemon = await startDaemon(folder);
  const { body } = await ask(daemon.port, "/api/agents/echo/code-index", {});
  expect(body).toMatchObject({ files: left, definitions: left * 20, skipped: 0 });
  await daemon.kill("SIGTERM");
  const db = new Database(join(folder, ".svc/plugins/feature-codeindex/echo.db"), { readonly: true });
  expect(db.pragma("integrity_check", { simple: true })).toBe("ok");
  expect(db.prepare("SELECT count(*) FROM definitions WHERE file NOT IN (SELECT id FROM files)").pluck().get()).toBe(0);
  db.close();
}, 600_000);

it("OPS-08 kill -9 while procedures are learned: in the end there is one draft, whole, and what was promoted is there once", async () => {
  const folder = await temporaryFolder();
  mkdirSync(join(folder, "w"));
  writeConfig(folder, {
    plugins: [join(import.meta.dirname, "writer.mjs")],
    agents: { echo: { name: "A", workspace: "./w", tier: "writer" } },
    procedures: { extraction: { enabled: true, via: "echo" } },
  });
  let daemon = await startDaemon(folder);
  for (const words of ["ship the weekly release of the shop", "ship our weekly shop release", "please ship the weekly release of the shop"])
    await ask(daemon.port, "/task", { agent: "echo", message: words });
  for (let kill = 1; kill <= KILLS; kill += 1) {
    const learning = ask(daemon.port, "/procedures/extract", {}).catch(() => undefined);
    await pause(Math.random() * 150);
    await daemon.kill("SIGKILL");
    await learning;
    daemon = await startDaemon(folder);
  }
  await ask(daemon.port, "/procedures/extract", {});
  const drafts = () => readdirSync(join(folder, ".svc/procedures/_drafts")).filter((name) => name.endsWith(".md"));
  expect(drafts()).toEqual(["ship-release.md"]);
  expect(readFileSync(join(folder, ".svc/procedures/_drafts/ship-release.md"), "utf8")).toMatch(/\n1\. Tag\.\n2\. Push\.\n$/);
  // Killed in the middle of a promotion, the same one ends it.
  const promoting = ask(daemon.port, "/procedures/promote", { id: "ship-release" }).catch(() => undefined);
  await pause(Math.random() * 8);
  await daemon.kill("SIGKILL");
  await promoting;
  const last = await startDaemon(folder);
  if (drafts().length > 0) expect((await ask(last.port, "/procedures/promote", { id: "ship-release" })).status).toBe(200);
  expect(drafts()).toEqual([]);
  expect(readdirSync(join(folder, ".svc/procedures")).filter((name) => name.endsWith(".md"))).toEqual(["ship-release.md"]);
}, 600_000);
