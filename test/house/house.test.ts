import { existsSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { pathToFileURL } from "node:url";
import type { CommandGroup, Plugin } from "@svc/sdk";
import { SDK_VERSION } from "@svc/sdk";
import { minVersion, type SemVer, satisfies } from "semver";
import { describe, expect, it } from "vitest";
import { GROUPS } from "../../cli/groups.ts";
import { allImports, injected, pluginFolders, ROOT, read, staticImports, tracked } from "./house.ts";
import { references } from "./references.mjs";

const plugins = pluginFolders();
const isNode = (specifier: string) => specifier.startsWith("node:");

describe("documents", () => {
  it("carry each plugin's sample and each error code as they are in the code (npm run docs mends it)", async () => {
    const stale = (await injected())
      .filter(({ text, wanted }) => text !== wanted)
      .map(({ file, wanted }) => (wanted.length < 100 ? `${file}: ${wanted}` : file));
    expect(stale).toEqual([]);
  });

  it("OPR-M13 the README lists every plugin, and every link in the documents leads somewhere", () => {
    const readme = read("README.md");
    expect(plugins.map(({ path }) => path).filter((path) => !readme.includes(`(${path}/README.md)`))).toEqual([]);
    const catalog = read("docs/plugins.md");
    expect(plugins.map(({ path }) => path).filter((path) => !catalog.includes(`(../${path}/README.md)`))).toEqual([]);
    const broken = tracked(".md").flatMap((file) =>
      [...read(file).matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)]
        .map(([, target]) => target as string)
        .filter((target) => !/^[a-z]+:/.test(target) && !existsSync(join(ROOT, dirname(file), target)))
        .map((target) => `${file}: ${target}`),
    );
    expect(broken).toEqual([]);
  });

  it("every code that is thrown is in a table", () => {
    const known = new Set(
      [...read("kernel/base/errors.ts").matchAll(/^ {2}(SVC_\w+):/gm), ...read("cli/errors.ts").matchAll(/^ {2}(SVC_\w+):/gm)].map((match) => match[1]),
    );
    const thrown = tracked(".ts")
      .filter((path) => /^(kernel|cli)\//.test(path) && !/\.(test|harness)\.ts$/.test(path))
      .flatMap((path) => [...read(path).matchAll(/\bfail\("(SVC_\w+)"/g)].map((match) => `${match[1]} in ${path}`))
      .filter((line) => !known.has(line.split(" ")[0]));
    expect(thrown).toEqual([]);
  });
});

describe("the tree", () => {
  it("builds every project: the solution's references are the folders with a tsconfig.json (npm run build mends it)", () => {
    const { text, wanted } = references();
    expect(text).toBe(wanted);
  });

  it("has the fixed top level and nothing else", () => {
    const top = new Set(
      tracked("")
        .filter(Boolean)
        .map((path) => path.split("/")[0] as string),
    );
    const allowed = [
      ".ci",
      ".gitignore",
      ".npmrc",
      "CHANGELOG.md",
      "CONTRIBUTING.md",
      "LICENSE",
      "README.md",
      "SECURITY.md",
      "biome.json",
      "cli",
      "docs",
      "kernel",
      "package-lock.json",
      "package.json",
      "plugins",
      "release",
      "sdk",
      "svc.json.example",
      "test",
      "tsconfig.json",
      "vitest.config.ts",
    ];
    expect([...top].filter((name) => !allowed.includes(name))).toEqual([]);
  });

  it("keeps every room small: no source file over 400 lines, scripts and what tests share with it, no test over 700", () => {
    const limit = (path: string) => (/\.(test|harness)\.ts$/.test(path) ? 700 : 400);
    const long = tracked(".ts", ".tsx", ".css", ".mjs")
      // Written by `npm run docs`, and read by compilers.
      .filter((path) => path !== "cli/api.d.ts" && read(path).split("\n").length > limit(path) + 1);
    expect(long).toEqual([]);
  });

  it("pins every dependency exactly, and the lock file records no download addresses", () => {
    const loose = tracked("package.json")
      .filter((path) => !path.includes("/template/") && !path.includes("fixtures/"))
      .flatMap((path) => {
        const pkg = JSON.parse(read(path)) as Record<string, Record<string, string>>;
        return ["dependencies", "devDependencies"].flatMap((group) =>
          Object.entries(pkg[group] ?? {})
            .filter(([, range]) => !/^(npm:@?[^@]+@)?\d+\.\d+\.\d+/.test(range))
            .map(([name, range]) => `${path}: ${name} ${range}`),
        );
      });
    expect(loose).toEqual([]);
    expect(read("package-lock.json")).not.toMatch(/"resolved": "http/);
  });

  it("OPR-m27 installs without a warning on the Node.js that it promises", () => {
    const least = minVersion(JSON.parse(read("package.json")).engines.node) as SemVer;
    const { packages } = JSON.parse(read("package-lock.json")) as { packages: Record<string, { engines?: { node?: string } }> };
    const newer = Object.entries(packages).filter(([, { engines }]) => engines?.node !== undefined && !satisfies(least, engines.node));
    expect(newer.map(([path, { engines }]) => `${path}: ${engines?.node}`)).toEqual([]);
  });

  it("docs/commands.md names every group and each of its commands, and which plugin brings it", async () => {
    const ofPlugins = pluginFolders().flatMap(({ path, pkg }) => {
      const { commands = [], name: plugin } = pkg.svc;
      return commands.map(({ name, module }) => ({
        name,
        plugin,
        load: async () => (await import(pathToFileURL(join(ROOT, path, module)).href)).default,
      }));
    });
    const rows = read("docs/commands.md")
      .split("\n")
      .filter((line) => line.startsWith("| `svc "));
    const untold: string[] = [];
    for (const { name, plugin, load } of [...GROUPS.map((group) => ({ ...group, plugin: undefined })), ...ofPlugins]) {
      const { commands } = (await load()) as CommandGroup;
      const own = rows.filter((row) => new RegExp(`\`svc ${name}[ \`]`).test(row));
      const told = own.join();
      if (plugin !== undefined && !own.every((row) => row.split(/(?<!\\)\|/)[2]?.includes(`\`${plugin}\``))) untold.push(`svc ${name} is of ${plugin}`);
      for (const command of commands) if (!new RegExp(`\\b${command.name}\\b`).test(told)) untold.push(`svc ${name} ${command.name}`);
    }
    expect(untold).toEqual([]);
  });

  it("says the same sdk version in code and package", () => {
    expect(JSON.parse(read("sdk/package.json")).version).toBe(SDK_VERSION);
  });

  it("the sdk depends on nothing, and the kernel on no plugin", () => {
    expect(JSON.parse(read("sdk/package.json")).dependencies ?? {}).toEqual({});
    const foreign = tracked(".ts")
      .filter((path) => path.startsWith("sdk/") && !path.includes("template/") && !path.endsWith(".test.ts"))
      .flatMap((path) =>
        allImports(read(path)).filter(
          (specifier) =>
            !specifier.startsWith(".") &&
            !/^node:(assert|fs|path|os|url|child_process|timers|http|https|net|tls|events|async_hooks|util|crypto|module|process|stream|v8|vm|worker_threads)/.test(
              specifier,
            ),
        ),
      );
    expect(foreign).toEqual([]);
  });
});

describe.each(plugins)("plugin $path", ({ path, pkg }) => {
  const manifest = pkg.svc;
  const sources = tracked(".ts", ".tsx").filter((file) => file.startsWith(`${path}/`));
  const production = sources.filter((file) => !/\.(test|harness|d)\.ts$/.test(file) && !file.includes("/fixtures/"));
  /** Pages that a bundler makes one file of, with the libraries in it: these are needed to build only. */
  const isBundled = (file: string) => file.startsWith(`${path}/ui/`);

  it("is a complete folder: package, entry, README, tsconfig and tests", () => {
    const missing = ["index.ts", "README.md", "tsconfig.json"].filter((file) => !existsSync(join(ROOT, path, file)));
    expect(missing).toEqual([]);
    expect(sources.some((file) => file.endsWith(".test.ts"))).toBe(true);
  });

  it("is called the same everywhere", () => {
    const [, kinds, folder] = path.split("/") as [string, string, string];
    expect(`${kinds}/${folder}`).toBe(`${manifest.kind}s/${manifest.name}`);
    expect(pkg.name).toBe(`@svc/${manifest.kind}-${manifest.name}`);
    expect(pkg.peerDependencies?.["@svc/sdk"]).toBeDefined();
  });

  it("says in code what its manifest says", async () => {
    const plugin = ((await import(pathToFileURL(join(ROOT, path, manifest.entry)).href)) as { default: Plugin }).default;
    expect({ kind: plugin.kind, name: plugin.name, version: plugin.version }).toEqual({ kind: manifest.kind, name: manifest.name, version: pkg.version });
    expect([...plugin.capabilities].sort()).toEqual([...manifest.capabilities].sort());
    expect(Object.keys(plugin.agentConfig?.properties ?? {})).toEqual(manifest.agentKeys ?? []);
    // A section without a schema is the kernel's, which the manifest does not name, or that of another plugin, beside which this one runs.
    expect(plugin.config?.schema || manifest.section ? plugin.config?.at : undefined).toBe(manifest.section);
  });

  /** The contract, and the settings of tiers on programs: both import nothing further. */
  const LIGHT = ["@svc/sdk", "@svc/sdk/program-tier"];

  it("has a light entry: nothing that it imports statically reaches a vendor", () => {
    const heavy: string[] = [];
    const visit = (file: string, seen: Set<string>): void => {
      if (seen.has(file)) return;
      seen.add(file);
      for (const specifier of staticImports(read(file))) {
        if (specifier.startsWith(".")) visit(normalize(join(dirname(file), specifier.replace(/\.js$/, ".ts"))), seen);
        else if (!LIGHT.includes(specifier) && !isNode(specifier)) heavy.push(`${file} imports ${specifier}`);
      }
    };
    visit(`${path}/index.ts`, new Set());
    expect(heavy).toEqual([]);
  });

  it("uses no private door: the sdk, its own files and its declared vendors only", () => {
    const declared = Object.keys({ ...pkg.dependencies, ...pkg.peerDependencies });
    const mayImport = (file: string) => new Set([...declared, ...(isBundled(file) ? Object.keys(pkg.devDependencies ?? {}) : [])]);
    const packageOf = (specifier: string) =>
      specifier
        .split("/")
        .slice(0, specifier.startsWith("@") ? 2 : 1)
        .join("/");
    const foreign = production.flatMap((file) =>
      allImports(read(file))
        .filter((specifier) =>
          specifier.startsWith(".")
            ? !normalize(join(dirname(file), specifier)).startsWith(`${path}/`)
            : !isNode(specifier) && !mayImport(file).has(packageOf(specifier)),
        )
        .map((specifier) => `${file} imports ${specifier}`),
    );
    expect(foreign).toEqual([]);
    const values = production.filter(isBundled).flatMap((file) =>
      staticImports(read(file))
        .filter(
          (specifier) => specifier === "@svc/sdk" || isNode(specifier) || (specifier.startsWith(".") && !isBundled(normalize(join(dirname(file), specifier)))),
        )
        .map((specifier) => `${file} imports more than types from ${specifier}`),
    );
    expect(values).toEqual([]);
  });
});

describe("built-in actions", () => {
  it("ACT-06 import no process or system module", () => {
    const system = /^(node:)?(child_process|process|os|cluster|worker_threads|fs|fs\/promises|net|http|https|dgram|vm|inspector)$/;
    const found = tracked(".ts")
      .filter((path) => path.startsWith("plugins/actions/") && !/\.(test|harness)\.ts$/.test(path) && !path.includes("/fixtures/"))
      // Its index lives in a worker of its own, which is what keeps the loop free; the plugin's module imports nothing else.
      .filter((path) => !path.startsWith("plugins/actions/rag-lexical/"))
      .flatMap((path) =>
        allImports(read(path))
          .filter((specifier) => system.test(specifier))
          .map((specifier) => `${path} imports ${specifier}`),
      );
    expect(found).toEqual([]);
    const globals = tracked(".ts").filter(
      (path) => path.startsWith("plugins/actions/") && !path.endsWith(".test.ts") && /\bprocess\.(env|exit|kill|cwd)/.test(read(path)),
    );
    expect(globals).toEqual([]);
  });
});
