import { readFileSync, statSync, writeFileSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { backupDatabase } from "./backup.ts";
import { checkDatabase } from "./database.ts";
import { openStore } from "./open.ts";
import { startChild } from "./processes.harness.ts";

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-backup-"));
  file = join(folder, "svc.db");
});
afterEach(() => rm(folder, { recursive: true }));

const acknowledged = (lines: readonly string[]) => lines.filter((line) => /^\d+-\d+$/.test(line));

async function expectHolds(copy: string, keys: readonly string[]): Promise<void> {
  const store = openStore({ file: copy });
  const core = store.scope("core");
  for (const key of keys) expect(await core.collection("tasks").get(key)).toMatchObject({ value: { key } });
  expect(await core.queue("inbox").size()).toBe(await core.collection("tasks").count());
  await store.close();
  expect(checkDatabase(copy)).toEqual([]);
}

it("OPR-M6 a backup under load holds everything that was acknowledged before it began, and the daemon writes on meanwhile", async () => {
  const child = startChild("write", file);
  await child.printed(300);
  for (let round = 0; round < 3; round += 1) {
    const before = acknowledged(child.lines);
    const target = join(folder, `copy-${round}.db`);
    expect(await backupDatabase(file, target)).toBe(statSync(target).size);
    expect(statSync(target).mode & 0o777).toBe(0o600);
    await child.printed(child.lines.length + 100);
    await expectHolds(target, before);
  }
  child.process.kill("SIGKILL");
  await child.ended;
  // What a killed daemon left in its log belongs to it.
  await backupDatabase(file, join(folder, "after.db"));
  await expectHolds(join(folder, "after.db"), acknowledged(child.lines));
});

it("a backup takes the place of no file, leaves nothing behind when it fails, and refuses a damaged database", async () => {
  const store = openStore({ file });
  await Promise.all(Array.from({ length: 300 }, (_, n) => store.scope("core").collection("tasks").put(`k${n}`, "x".repeat(500))));
  await store.close();
  await expect(backupDatabase(file, file)).rejects.toMatchObject({ code: "SVC_BACKUP_FAILED", message: expect.stringContaining("already") });
  await expect(backupDatabase(join(folder, "none.db"), join(folder, "copy.db"))).rejects.toMatchObject({ code: "SVC_BACKUP_FAILED" });
  await expect(backupDatabase(file, join(folder, "nowhere/copy.db"))).rejects.toMatchObject({ code: "SVC_BACKUP_FAILED" });
  const bytes = readFileSync(file);
  bytes.fill(0xa5, 4096 * 3, 4096 * 12);
  writeFileSync(file, bytes);
  await expect(backupDatabase(file, join(folder, "copy.db"))).rejects.toMatchObject({ code: "SVC_STORE_CORRUPT" });
  expect((await readdir(folder)).filter((name) => !name.startsWith("svc.db"))).toEqual(["ballast"]);
});
