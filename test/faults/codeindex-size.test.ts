import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { ROOT } from "../house/house.ts";
import { temporaryFolder } from "../kit/kernel.ts";
import { ask, endDaemons, pause, startDaemon, writeConfig } from "./daemon.harness.ts";

/** Files of 10 KB; 100,000 of them are the gigabyte. A tenth of them changes while they are indexed, at most 10,000 a minute. */
const FILES = Number(process.env.SVC_SOAK ?? 300);
const FOLDERS = Math.ceil(FILES / 200);
/** Of the whole daemon, whatever the size of the repository: its own, the thread with its grammars, and one batch. */
const MOST_MB = 900;
afterEach(endDaemons);

const Database = createRequire(join(ROOT, "plugins/features/codeindex/index.ts"))("better-sqlite3") as new (
  file: string,
  options: object,
) => { prepare(text: string): { raw(): { all(): readonly unknown[][] } }; close(): void };

const PROSE = `/* ${"The order of the shop is kept until it is paid for and sent. ".repeat(140)} */\n`;
const code = (at: number, round: number): string =>
  PROSE +
  [0, 1, 2, 3]
    .map((part) => `export class C${at}P${part} {\n  run${at}r${round}(a: number) { return a + ${part}; }\n}\nexport function f${at}p${part}r${round}() {}\n`)
    .join("");

interface Finished {
  readonly files: number;
  readonly read: number;
  readonly removed: number;
  readonly definitions: number;
  readonly skipped: number;
  readonly durationMs: number;
}

/** Everything that the index of a folder says, in an order of its own. */
function contentOf(folder: string): readonly string[] {
  const db = new Database(join(folder, ".svc/plugins/feature-codeindex/echo.db"), { readonly: true });
  const rows = (text: string) =>
    db
      .prepare(text)
      .raw()
      .all()
      .map((row) => JSON.stringify(row));
  const files = rows("SELECT path, size, language, problem FROM files ORDER BY path");
  const definitions = rows(
    "SELECT path, name, kind, line, endLine, container, text FROM definitions JOIN files ON files.id = definitions.file ORDER BY path, line, name",
  );
  db.close();
  return [...files, ...definitions];
}

const peakMb = (pid: number): number => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1_024;

const told = (line: string): void => void (process.env.SVC_SOAK !== undefined && console.log(line));

async function indexed(folder: string, workspace: string) {
  writeConfig(folder, { agents: { echo: { name: "A", workspace, tier: "local", local: { mode: "echo" }, codeindex: true } } });
  const daemon = await startDaemon(folder);
  const run = async (): Promise<Finished> => {
    // As a stream: a whole repository takes longer than a client waits for the head of an answer.
    const response = await fetch(`http://127.0.0.1:${daemon.port}/api/agents/echo/code-index`, { method: "POST", headers: { accept: "text/event-stream" } });
    const [, last = "{}"] = /event: done\ndata: (.*)/.exec(await response.text()) ?? [];
    const finished = JSON.parse(last) as Finished;
    expect(finished).toMatchObject({ files: expect.any(Number) });
    told(`${finished.read} of ${finished.files} files in ${Math.round(finished.durationMs / 1_000)} s, at most ${Math.round(peakMb(daemon.pid))} MB`);
    return finished;
  };
  return { daemon, run };
}

it(`a repository of ${FILES} files that changes while it is read: memory stays bounded, and in the end the index is that of a fresh one`, async () => {
  const folder = await temporaryFolder();
  const workspace = join(folder, "w");
  const place = (at: number) => join(workspace, `d${at % FOLDERS}`, `f${at}.ts`);
  for (let at = 0; at < FOLDERS; at += 1) mkdirSync(join(workspace, `d${at}`), { recursive: true });
  for (let at = 0; at < FILES; at += 1) writeFileSync(place(at), code(at, 0));
  mkdirSync(join(folder, "outside"));
  writeFileSync(join(folder, "outside/secret.ts"), "export const topSecret = 1;\n");
  symlinkSync(join(folder, "outside"), join(workspace, "linked"));
  symlinkSync(join(folder, "outside/secret.ts"), join(workspace, "leaf.ts"));
  writeFileSync(join(workspace, "huge.ts"), code(0, 0));
  truncateSync(join(workspace, "huge.ts"), 50 * 1_048_576);
  for (let at = 0; at < 20; at += 1) writeFileSync(join(workspace, `binary${at}.c`), Buffer.concat([Buffer.alloc(100_000, at), Buffer.alloc(1)].toReversed()));

  const first = await indexed(folder, workspace);
  let changing = true;
  let slowest = 0;
  const asking = (async () => {
    while (changing) {
      const began = performance.now();
      await ask(first.daemon.port, "/health");
      slowest = Math.max(slowest, performance.now() - began);
      await pause(20);
    }
  })();
  let changes = 0;
  const changer = (async () => {
    const began = performance.now();
    for (; changes < FILES / 10; changes += 1) {
      const at = (changes * 7) % FILES;
      if (changes % 11 === 0) rmSync(place(at), { force: true });
      else if (changes % 13 === 0) renameSync(place(at), join(workspace, `moved${at}.ts`));
      else writeFileSync(place(at), code(at, 1 + changes));
      const ahead = changes * 6 - (performance.now() - began);
      if (ahead > 0) await pause(ahead);
    }
  })();
  await first.run();
  await changer;
  const last = await first.run();
  changing = false;
  await asking.catch(() => undefined);
  const peak = peakMb(first.daemon.pid);
  await first.daemon.kill("SIGTERM");

  const other = join(folder, "other");
  mkdirSync(other);
  const fresh = await indexed(other, workspace);
  const anew = await fresh.run();
  await fresh.daemon.kill("SIGTERM");
  expect(last).toMatchObject({ files: anew.files, definitions: anew.definitions, skipped: anew.skipped });
  expect(contentOf(folder)).toEqual(contentOf(other));
  expect(contentOf(folder).filter((row) => /topSecret|linked|leaf\.ts/.test(row))).toEqual([]);
  expect(anew.skipped).toBe(21);
  expect(peak).toBeLessThan(MOST_MB);
  told(`${changes} changed while they were read; ${anew.definitions} definitions; slowest answer of /health ${Math.round(slowest)} ms`);
}, 3_600_000);
