import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { halfRestored, restoreMarkOf } from "./half-restored.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "svc-restored-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

it.each(["", "null", "garbage"])("a mark %j is a mark all the same, and no bare error", (content) => {
  expect(halfRestored({ folder })).toBeUndefined();
  writeFileSync(restoreMarkOf(folder), content);
  expect(halfRestored({ folder })).toMatchObject({ code: "SVC_CLI_HALF_RESTORED", message: expect.stringContaining("svc restore <folder of the backup>") });
});
