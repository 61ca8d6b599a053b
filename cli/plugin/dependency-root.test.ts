import { chownSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { openRoot } from "./dependency-root.ts";

const NOBODY = 65_534;

it.skipIf(process.getuid?.() !== 0)("what root writes about plugins belongs to whom the folder does, and only its owner reads it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "svc-root-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  chownSync(folder, NOBODY, NOBODY);
  await expect(openRoot(folder).install("./nothing-here.tgz", { scripts: false })).rejects.toThrow("nothing-here");
  const { uid, gid, mode } = statSync(join(folder, "package.json"));
  expect([uid, gid, mode & 0o777]).toEqual([NOBODY, NOBODY, 0o600]);
});
