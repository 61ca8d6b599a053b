import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { observe, readManifest } from "@svc/kernel";
import { describe, expect, it } from "vitest";
import { onDemand } from "../../release/packages.mjs";
import { APART } from "../house/apart.mjs";
import { ROOT } from "../house/house.ts";

// An address of a package that is no part of the workspace is where its libraries were installed: npm run apart.
const missing = existsSync(join(ROOT, "plugins/channels/phonemsg/dist/index.js")) ? undefined : "plugins/channels/phonemsg is not built (npm run apart)";
if (missing !== undefined) console.warn(`The release is not tried: ${missing}`);

interface Locked {
  readonly dev?: boolean;
  readonly link?: boolean;
  readonly optional?: boolean;
}

const changed = (): string => execFileSync("git", ["status", "--porcelain", "--", "*.json", "*.ts"], { cwd: ROOT, encoding: "utf8" });
const release = (...args: string[]) => spawnSync(process.execPath, ["release/release.mjs", ...args], { cwd: ROOT, encoding: "utf8" });

describe.skipIf(missing !== undefined)("plugins that do not come with the installation", () => {
  const apart: [name: string, folder: string][] = onDemand().map(({ folder, pkg }) => [pkg.name, folder]);
  it.each(apart)("%s can be looked at before it is trusted", async (_name, folder) => {
    const { kind, name, section } = JSON.parse(readFileSync(join(ROOT, folder, "package.json"), "utf8")).svc;
    const source = readManifest(join(ROOT, folder), "package");
    if (source === undefined) throw new Error(`${folder} has no manifest`);
    expect(await observe(source)).toMatchObject({ id: `${kind}-${name}`, ...(section && { section }) });
  });
});

describe.skipIf(missing !== undefined)("npm run release -- --dry-run", () => {
  it("finds nothing wrong with any package, and lists what belongs to the release (F15)", () => {
    const { status, stdout, stderr } = release("--dry-run");
    expect(status, stdout + stderr).toBe(0);
    expect(stdout).toContain("Nothing was published.");
    const out = readdirSync(join(ROOT, "release/out"));
    expect(out.filter((name) => name.endsWith(".tgz")).length).toBeGreaterThan(60);
    const sbom = JSON.parse(readFileSync(join(ROOT, "release/out/sbom.json"), "utf8"));
    expect(sbom).toMatchObject({ bomFormat: "CycloneDX", metadata: { component: { name: "svc-workspace" } } });
    const names = sbom.components.map(({ name }: { name: string }) => name) as string[];
    expect(names).toEqual(expect.arrayContaining(["@svc/cli", "ajv", "better-sqlite3"]));
    // All that an installation may bring by the lock file, and nothing that only a developer installs.
    const locks = ["package-lock.json", ...APART.map((folder) => `${folder}/package-lock.json`)];
    const packages = locks.flatMap((lock) =>
      Object.entries((JSON.parse(readFileSync(join(ROOT, lock), "utf8")) as { packages: Record<string, Locked> }).packages),
    );
    const installed = packages.filter(([path, { link, optional }]) => path.includes("node_modules/") && !link && !optional);
    const named = (dev: boolean) => new Set(installed.filter(([, one]) => (one.dev === true) === dev).map(([path]) => path.split("node_modules/").at(-1)));
    const known = new Set<string | undefined>(names);
    expect([...named(false)].filter((name) => !known.has(name))).toEqual([]);
    expect([...named(true)].filter((name) => known.has(name as string) && !named(false).has(name))).toEqual([]);
    // What only a package that stands apart brings is told from what everybody gets: no GPL is among that.
    const licensed = sbom.components.filter(({ licenses }: { licenses?: unknown }) => JSON.stringify(licenses ?? []).includes("GPL"));
    expect(licensed.map(({ name, scope }: { name: string; scope?: string }) => `${name} ${scope}`)).toEqual(["libsignal optional"]);
    expect(names).toEqual(expect.arrayContaining(["@svc/channel-phonemsg", "@whiskeysockets/baileys"]));
    const chain = (ref: string) => sbom.dependencies.find((one: { ref: string }) => one.ref.startsWith(`${ref}@`)).dependsOn.join();
    expect(chain("@svc/channel-phonemsg")).toContain("@whiskeysockets/baileys@");
    expect(chain("@whiskeysockets/baileys")).toContain("libsignal@");
    const notice = readFileSync(join(ROOT, "release/out/NOTICE"), "utf8");
    for (const { name, version } of sbom.components) expect(notice).toContain(`${name} ${version}: `);
  });

  it("says what a version would change, refuses one without changelogs, and changes nothing", () => {
    const before = changed();
    const { status, stdout, stderr } = release("0.98.0", "--dry-run");
    expect(stdout).toMatch(/^0\.1\.0 -> 0\.98\.0 in \d+ files \(not written\)$/m);
    expect(status).toBe(1);
    expect(stderr).toContain("CHANGELOG.md has no entry ## 0.98.0");
    expect(stderr).toContain("sdk/CHANGELOG.md has no entry ## 0.98.0");
    expect(changed()).toBe(before);
    expect(release("next", "--dry-run").stderr).toContain("'next' is no version");
  });
});
