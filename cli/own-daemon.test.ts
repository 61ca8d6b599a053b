import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createCli, DEFAULT_BIND } from "./cli.ts";
import { readNote } from "./own-daemon.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "svc-note-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

it("reads the note of a daemon", () => {
  const note = { pid: 1, host: "127.0.0.1", port: 18811, startedAt: 2 };
  writeFileSync(join(folder, "daemon.json"), JSON.stringify(note));
  expect(readNote(folder)).toEqual(note);
});

it.each(["", "null", "7", "[]", '"text"', "{}", '{"pid":1,"host":"127.0.0.1"}', "garbage"])(
  "a note %j is none: the address is the configured one",
  (content) => {
    mkdirSync(join(folder, ".svc"));
    writeFileSync(join(folder, ".svc/daemon.json"), content);
    const { note, address } = createCli({ config: join(folder, "svc.json") }, {}, () => []);
    expect(note()).toBeUndefined();
    expect(`${address().host}:${address().port}`).toBe(DEFAULT_BIND);
  },
);
