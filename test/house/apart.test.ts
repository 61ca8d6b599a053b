import { spawnSync } from "node:child_process";
import { dirname, join, normalize } from "node:path";
import type { Plugin } from "@svc/sdk";
import { describe, expect, it } from "vitest";
import { allImports, apartFolders, ROOT, read, staticImports, tracked } from "./house.ts";

describe.each(apartFolders())("package apart $path", ({ path, pkg }) => {
  const sources = tracked(".ts").filter((file) => file.startsWith(`${path}/`));
  const production = sources.filter((file) => !/\.(test|harness|d)\.ts$/.test(file));
  const { packages } = JSON.parse(read(`${path}/package-lock.json`)) as { packages: Record<string, { license?: string; resolved?: string }> };

  it("is a complete folder with a lock file of its own that holds no addresses, and called the same everywhere", () => {
    const [, kinds, folder] = path.split("/") as [string, string, string];
    expect([`${kinds}/${folder}`, pkg.name]).toEqual([`${pkg.svc.kind}s/${pkg.svc.name}`, `@svc/${pkg.svc.kind}-${pkg.svc.name}`]);
    expect(sources.some((file) => file.endsWith(".test.ts"))).toBe(true);
    expect(Object.values(packages).filter(({ resolved }) => resolved?.startsWith("http"))).toEqual([]);
    const loose = Object.entries(pkg.dependencies ?? {}).filter(([, version]) => !/^\d+\.\d+\.\d+/.test(version));
    expect(loose).toEqual([]);
  });

  it("says in code what its manifest says", async () => {
    const plugin = ((await import(join(ROOT, path, "index.ts"))) as { default: Plugin }).default;
    expect({ kind: plugin.kind, name: plugin.name, version: plugin.version }).toEqual({ kind: pkg.svc.kind, name: pkg.svc.name, version: pkg.version });
    expect([...plugin.capabilities].sort()).toEqual([...pkg.svc.capabilities].sort());
    expect(plugin.config?.at).toBe(pkg.svc.section);
  });

  it("has a light entry and imports the sdk, its own files and its declared vendors only", () => {
    const heavy: string[] = [];
    const visit = (file: string, seen = new Set<string>()): void => {
      if (seen.has(file)) return;
      seen.add(file);
      for (const specifier of staticImports(read(file))) {
        if (specifier.startsWith(".")) visit(normalize(join(dirname(file), specifier.replace(/\.js$/, ".ts"))), seen);
        else if (specifier !== "@svc/sdk" && !specifier.startsWith("node:")) heavy.push(`${file} imports ${specifier}`);
      }
    };
    visit(`${path}/index.ts`);
    expect(heavy).toEqual([]);
    const declared = new Set([...Object.keys(pkg.dependencies ?? {}), "@svc/sdk"]);
    const foreign = production.flatMap((file) =>
      allImports(read(file))
        .filter((specifier) => !specifier.startsWith(".") && !specifier.startsWith("node:") && !declared.has(specifier))
        .map((specifier) => `${file} imports ${specifier}`),
    );
    expect(foreign).toEqual([]);
  });

  it("stands apart for a reason: nothing of a copyleft licence is in the installation's own lock file, and here there is", () => {
    const copyleft = (lock: Record<string, { license?: string }>) => Object.entries(lock).filter(([, { license }]) => /^A?GPL/.test(license ?? ""));
    expect(copyleft(packages).map(([name]) => name)).toEqual(["node_modules/libsignal"]);
    expect(copyleft(JSON.parse(read("package-lock.json")).packages)).toEqual([]);
    const { stdout } = spawnSync("npm", ["ls", "libsignal", "--all"], { cwd: ROOT, encoding: "utf8" });
    expect(stdout).toContain("(empty)");
  });
});
