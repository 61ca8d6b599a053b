import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { coversName } from "@svc/sdk";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readPackage } from "./manifest.ts";

const SOUND = { api: 1, kind: "feature", name: "one", entry: "./index.mjs", activate: "always", capabilities: [] };

describe("the manifest of a plugin", () => {
  let folder = "";
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "svc-manifest-"));
    await writeFile(join(folder, "index.mjs"), "");
  });
  afterEach(() => rm(folder, { recursive: true }));

  const read = async (svc: unknown, strict = true) => {
    await writeFile(join(folder, "package.json"), JSON.stringify({ name: "svc-plugin-one", version: "1.2.3", svc }));
    return readPackage(folder, strict);
  };

  it("is read with the version of its package", async () => {
    expect(await read(SOUND)).toEqual({ manifest: SOUND, version: "1.2.3" });
    expect(await read(undefined)).toBeUndefined();
  });

  it.each([
    [{ capabilities: undefined }, /capabilities is missing; list the capabilities it uses/],
    [{ capabilities: ["fetsh"] }, /'fetsh', which is none; did you mean fetch\?/],
    [{ capabilities: ["env:"] }, /'env:', which is none/],
    [{ startTimeoutMS: 5 }, /the key 'startTimeoutMS', which means nothing; did you mean startTimeoutMs\?/],
    [{ startTimeoutMs: "5" }, /startTimeoutMs must be a number/],
    [{ kind: "featur" }, /kind must be one of .*; did you mean feature\?/],
    [{ activate: "allways" }, /activate must be one of .*; did you mean always\?/],
    [{ commands: [{ name: "x" }] }, /commands must be a list of groups/],
    [{ registers: ["rout GET /x open"] }, /registers names 'rout GET \/x open', .* did you mean route\?/],
    [{ network: "irc.example.org" }, /network must be a list of hosts/],
    [{ network: ["irc.example.org"] }, /the capability 'sockets' or 'network' must go with/],
    [{ connect: { agents: "a" } }, /connect may have agent, allow and server/],
    [{ connect: { pair: "/api/admin/settings" } }, /connect may have .* pair: true/],
    [{ connect: { people: "/api/admin/settings" } }, /connect may have .* people: true/],
    [{ api: "1" }, /generation 1 of the plugin API/],
  ])("AUT-B9 SEC-m3 with %j is refused, naming what is wrong", async (wrong, words) => {
    await expect(read({ ...SOUND, ...wrong })).rejects.toThrow(words);
  });

  it("AUT-B8 of a kind that no host can take is refused, naming those that one can", async () => {
    await expect(read({ ...SOUND, kind: "gadget" })).rejects.toThrow(/kind must be one of channel, tier, action, .*feature/);
    for (const kind of ["channel", "tier", "action", "store", "board", "feature"]) expect(await read({ ...SOUND, kind })).toMatchObject({ manifest: { kind } });
  });

  it("SEC-S6 names an entry and modules of its own package: nothing that lies outside, and no link that leads there", async () => {
    const outside = await mkdtemp(join(tmpdir(), "svc-outside-"));
    try {
      await writeFile(join(outside, "outside.mjs"), "");
      await mkdir(join(folder, "dist"));
      await symlink(join(outside, "outside.mjs"), join(folder, "dist/link.mjs"));
      await symlink(outside, join(folder, "linked"));
      await symlink("../index.mjs", join(folder, "dist/inside.mjs"));
      for (const entry of ["../outside.mjs", "./a/../../outside.mjs", join(outside, "outside.mjs"), "./dist/link.mjs", "./linked/outside.mjs", "."])
        await expect(read({ ...SOUND, entry }), entry).rejects.toThrow(`entry '${entry}' leads out of the package`);
      await expect(read({ ...SOUND, commands: [{ name: "x", summary: "x", module: "../outside.mjs" }] })).rejects.toThrow("leads out of the package");
      await expect(read({ ...SOUND, connect: { module: "../outside.mjs" } })).rejects.toThrow("leads out of the package");
      for (const entry of ["index.mjs", "./dist/inside.mjs", "./not-built.mjs"]) expect(await read({ ...SOUND, entry })).toBeDefined();
    } finally {
      await rm(outside, { recursive: true });
    }
  });
});

describe("what a manifest says that the plugin registers", () => {
  it.each([
    ["hook inbound", "hook inbound", true],
    ["hook inbound", "hook inbound2", false],
    ["action acme.*", "action acme.send", true],
    ["action acme.*", "action other.send", false],
    ["route * /acme/* open", "route GET /acme/x open", true],
    ["route * /acme/* open", "route GET /acme/x loopback", false],
    ["route * /acme/* open", "route GET /acme open", false],
    ["cron nightly *", "cron nightly 0 3 * * *", true],
    ["cron nightly 0 3 * * *", "cron nightly 0 3 * * *", true],
    ["a*a", "a", false],
    ["a*b*c", "acb", false],
    ["a*b*c", "abc", true],
  ])("%s covers %s: %s", (pattern, thing, expected) => {
    expect(coversName([pattern], thing)).toBe(expected);
  });
});
