import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { blame, inScope } from "../core/host/call.ts";
import { createScope } from "../core/host/scope.ts";
import { checkPlugin, importPlugin } from "./code.ts";

const plugin = (top: string) => `${top}\nexport default { kind: "feature", name: "one", version: "1.0.0", svc: "*", capabilities: [], setup() {} };`;

describe("the code of a plugin", () => {
  let folder = "";
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "svc-source-"));
  });
  afterEach(() => rm(folder, { recursive: true }));

  const load = async (name: string, text: string) => {
    const entry = join(folder, name);
    await writeFile(entry, text);
    return inScope(
      createScope("feature-one", () => {}),
      () => importPlugin({ id: "feature-one", from: "path", entry }),
    );
  };

  for (const [what, waits] of [
    ["a module", ""],
    ["a module that waits at its top level", "await new Promise((go) => setTimeout(go, 1));\n"],
  ] as const) {
    it(`${what} is loaded, and what its top level starts is traced back to it`, async () => {
      const blamed = new Promise((heard) => Object.assign(globalThis, { svcHeard: () => heard(blame()) }));
      expect(await load("index.mjs", plugin(`${waits}setTimeout(() => svcHeard(), 1);`))).toMatchObject({ name: "one" });
      expect(await blamed).toBe("feature-one");
      expect(blame()).toBeUndefined();
    });
  }

  it("what it throws at its top level comes back as it is, from one run of it", async () => {
    await expect(load("index.mjs", plugin("globalThis.svcRuns = (globalThis.svcRuns ?? 0) + 1; throw new Error(`run ${svcRuns}`);"))).rejects.toThrow(
      /^run 1$/,
    );
  });

  it("may be CommonJS", async () => {
    expect(await load("index.cjs", plugin("").replace("export default", "module.exports ="))).toMatchObject({ name: "one" });
  });

  it("a missing file is named, its own or one that it imports", async () => {
    const entry = join(folder, "gone.mjs");
    await expect(importPlugin({ id: "feature-one", from: "path", entry })).rejects.toThrow(
      new RegExp(`^Cannot find module '(?:file://)?${entry}' imported from [^\n]*$`),
    );
    await expect(load("index.mjs", plugin('import "./gone.mjs";'))).rejects.toThrow(`Cannot find module '${entry}' imported from ${join(folder, "index.mjs")}`);
  });

  it.each([
    ["*", undefined],
    ["^0.1.0", undefined],
    ["<1", undefined],
    [">=99.1.0", /it needs @svc\/sdk 99\.1\.0 or later, this daemon has .*; update svc/],
    ["^99", /it needs @svc\/sdk 99\.0\.0 or later/],
    ["newest", /'newest' in its svc is no range of versions/],
    [undefined, /is no range of versions/],
  ])("AUT-A1 of the range of versions that it names (%s) only the lowest counts", async (svc, refusal) => {
    const one = { kind: "feature", name: "one", version: "1.0.0", svc: svc as string, capabilities: [], setup() {} } as const;
    const checked = checkPlugin({ id: "feature-one", from: "inline" }, one);
    await (refusal === undefined ? expect(checked).resolves.toBeUndefined() : expect(checked).rejects.toThrow(refusal));
  });
});
