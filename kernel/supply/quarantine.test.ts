import { mkdtempSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { readQuarantine } from "./quarantine.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "quarantine-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

it("notes whose content is lost hold nothing back, and do not keep the daemon from starting", () => {
  for (const content of ["", "null", "5", '"x"', "[]", "{}", "[", "\0\0\0"]) {
    for (const name of ["loading.json", "quarantine.json", "proven.json"]) writeFileSync(join(folder, name), content);
    expect([content, Object.keys(readQuarantine(folder))]).toEqual([content, []]);
  }
});
