import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { executableOf, requireExecutable } from "./executable.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-executable-"));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string, mode: number): string {
  const path = join(folder, name);
  writeFileSync(path, text, { mode });
  return path;
}

const find = (command: string, searchPath: string, script = false) => requireExecutable({ command, searchPath, tier: "cli-x", product: "Acme Code", script });

describe("FAULT-27 finding a program", () => {
  it("FAULT-27 names a program that is not there, what to install and where to set it", () => {
    expect(() => find("no-such-program", "/usr/bin:/bin")).toThrow(
      expect.objectContaining({
        code: "SVC_TIER_PROGRAM",
        message: expect.stringMatching(/'no-such-program' was not found on PATH; install Acme Code or set tiers\.cli-x\.command/),
      }),
    );
    expect(() => find("/no/such/program", "")).toThrow(expect.objectContaining({ code: "SVC_TIER_PROGRAM" }));
  });

  it("FAULT-27 does not take a file that cannot be run from PATH, nor a relative folder, nor a folder", () => {
    file("tool", "", 0o644);
    expect(() => find("tool", `${folder}:.`)).toThrow(expect.objectContaining({ code: "SVC_TIER_PROGRAM" }));
    expect(() => find(folder, "")).toThrow(expect.objectContaining({ code: "SVC_TIER_PROGRAM" }));
  });

  it("takes the first one on the search path, and a script without the right to execute it by its path alone", () => {
    const tool = file("runs", "#!/bin/sh\n", 0o755);
    const script = file("script.js", "#!/usr/bin/env node\n", 0o644);
    expect(find("runs", `/no/folder:${folder}`)).toBe(tool);
    expect(find(script, "", true)).toBe(script);
    expect(() => find(script, "")).toThrow(expect.objectContaining({ code: "SVC_TIER_PROGRAM" }));
    expect(() => find("script.js", folder, true)).toThrow(expect.objectContaining({ code: "SVC_TIER_PROGRAM" }));
  });

  it("a script of Node is run by this very Node, wherever a link to it lies", () => {
    const script = file("cli.mjs", "#!/usr/bin/env node\n", 0o755);
    const link = join(folder, "cli");
    symlinkSync(script, link);
    expect(executableOf(link)).toEqual({ file: process.execPath, args: [script] });
    expect(executableOf(file("native", "\x7fELF", 0o755))).toEqual({ file: join(folder, "native"), args: [] });
  });
});
