import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { crc32 } from "./checksum.ts";
import { holdFolder } from "./folder-holder.ts";
import { openJournal } from "./journal.ts";

const folders: string[] = [];
function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "journal-"));
  folders.push(made);
  return made;
}
afterEach(() => {
  for (const made of folders.splice(0)) rmSync(made, { recursive: true, force: true });
});
const of = (...pairs: [string, string | undefined][]) => new Map(pairs);

describe("the session's journal", () => {
  it("has the sum that everybody has", () => {
    expect(crc32("123456789")).toBe("cbf43926");
  });

  it("keeps what was set over a new opening, for its owner alone", async () => {
    const path = join(folder(), "j");
    const first = await openJournal(path);
    await Promise.all([first.set(of(["a", "1"], ["b", "2"])), first.set(of(["c", "3"])), first.set(of(["a", undefined]))]);
    await first.close();
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const again = await openJournal(path);
    expect([again.get("a"), again.get("b"), again.get("c")]).toEqual([undefined, "2", "3"]);
    await again.close();
  });

  it("FAULT-01 a last line that a crash has cut is left out as a whole, at any length, and the next one follows", async () => {
    const path = join(folder(), "j");
    const first = await openJournal(path);
    await first.set(of(["kept", "yes"]));
    const whole = statSync(path).size;
    await first.set(of(["creds", "x".repeat(50)], ["session", "y".repeat(50)]));
    await first.close();
    const bytes = readFileSync(path);
    for (let cut = whole; cut < bytes.length; cut += 7) {
      writeFileSync(path, bytes.subarray(0, cut));
      const again = await openJournal(path);
      expect([again.get("kept"), again.get("creds"), again.get("session")]).toEqual(["yes", undefined, undefined]);
      await again.set(of(["after", "1"]));
      await again.close();
      const last = await openJournal(path);
      expect([last.get("kept"), last.get("after")]).toEqual(["yes", "1"]);
      await last.close();
    }
  });

  it("damage before the end is an error that names the file and the next step", async () => {
    const path = join(folder(), "j");
    const first = await openJournal(path);
    for (const key of ["a", "b", "c"]) await first.set(of([key, "value"]));
    await first.close();
    const bytes = readFileSync(path);
    bytes[15] = (bytes[15] ?? 0) ^ 1;
    writeFileSync(path, bytes);
    await expect(openJournal(path)).rejects.toThrow(/is damaged at byte 0.*svc phonemsg pair/);
  });

  it("is written anew when most of it is old", async () => {
    const path = join(folder(), "j");
    const journal = await openJournal(path);
    const big = "z".repeat(100_000);
    for (let n = 0; n < 60; n += 1) await journal.set(of(["same", `${n}${big}`], [`k${n}`, "1"]));
    await journal.set(of(["last", "1"]));
    await journal.close();
    expect(statSync(path).size).toBeLessThan(1_500_000);
    const again = await openJournal(path);
    expect([again.get("same")?.slice(0, 2), again.get("k0"), again.get("last")]).toEqual(["59", "1", "1"]);
    await again.close();
  });

  it("FAULT-03 what a full disk refuses has not happened, and goes when there is room", async (context) => {
    const place = folder();
    const mount = join(place, "m");
    mkdirSync(mount);
    if (spawnSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", mount]).status !== 0) return context.skip("a small file system cannot be mounted here");
    try {
      const path = join(mount, "j");
      const journal = await openJournal(path);
      await journal.set(of(["kept", "1"]));
      writeFileSync(join(mount, "ballast"), Buffer.alloc(56 * 1024));
      await expect(journal.set(of(["lost", "x".repeat(40_000)]))).rejects.toMatchObject({ code: "ENOSPC" });
      expect(journal.get("lost")).toBeUndefined();
      truncateSync(join(mount, "ballast"), 0);
      await journal.set(of(["next", "x".repeat(20_000)]));
      await journal.close();
      const again = await openJournal(path);
      expect([again.get("kept"), again.get("lost"), again.get("next")?.length]).toEqual(["1", undefined, 20_000]);
      await again.close();
    } finally {
      spawnSync("umount", [mount]);
    }
  });

  it("FAULT-01 killed in the middle of writing, it has all that was confirmed", { timeout: 60_000 }, async () => {
    const place = folder();
    const path = join(place, "j");
    const script = join(place, "writer.mjs");
    const built = new URL("../dist/session/journal.js", import.meta.url).href;
    const source = spawnSync("test", ["-e", new URL(built).pathname]).status === 0 ? built : undefined;
    if (source === undefined) return;
    writeFileSync(
      script,
      `import { openJournal } from ${JSON.stringify(source)};
const journal = await openJournal(process.argv[2]);
let n = Number(journal.get("n") ?? 0);
for (;;) { n += 1; await journal.set(new Map([["n", String(n)], ["pair", "p".repeat(n % 5000)], ["twin", String(n)]])); process.stdout.write(n + "\\n"); }`,
    );
    let confirmed = 0;
    for (let round = 0; round < 5; round += 1) {
      const child = spawn(process.execPath, [script, path], { stdio: ["ignore", "pipe", "inherit"] });
      let said = "";
      child.stdout.on("data", (chunk) => (said += chunk));
      const before = confirmed;
      for (const began = Date.now(); Number(said.trim().split("\n").at(-1) || 0) < before + 20 && Date.now() - began < 10_000; )
        await new Promise((resolve) => setTimeout(resolve, 2));
      child.kill("SIGKILL");
      await new Promise((resolve) => child.once("close", resolve));
      confirmed = Number(said.trim().split("\n").at(-1));
      const journal = await openJournal(path);
      const found = Number(journal.get("n"));
      expect(found).toBeGreaterThanOrEqual(confirmed);
      expect([journal.get("twin"), journal.get("pair")?.length]).toEqual([String(found), found % 5000]);
      await journal.close();
      confirmed = found;
    }
  });
});

it("one process at a time holds a session folder, by whatever path, and a crash leaves nothing behind", async () => {
  const place = folder();
  const first = await holdFolder(place);
  await expect(holdFolder(`${place}/../${place.split("/").at(-1)}`)).rejects.toMatchObject({ code: "SVC_PHONEMSG_SESSION_BUSY", status: 409 });
  await first.release();
  await (await holdFolder(place)).release();
});
