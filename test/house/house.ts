import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { type Manifest, SDK_VERSION } from "@svc/sdk";
import { APART } from "./apart.mjs";
import { publishedTypes } from "./api-types.ts";
import { reference } from "./reference.ts";

/** The repository. */
export const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "../..");

export const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

/** Files that git knows or would take in, by ending. */
export function tracked(...endings: string[]): string[] {
  return execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], { cwd: ROOT, encoding: "utf8" })
    .split("\n")
    .filter((path) => endings.some((ending) => path.endsWith(ending)) && existsSync(join(ROOT, path)));
}

/** A first-party plugin's folder, as it lies in the tree. */
export interface PluginFolder {
  /** `plugins/tiers/local`. */
  readonly path: string;
  readonly pkg: {
    readonly name: string;
    readonly version: string;
    readonly description: string;
    readonly dependencies?: Record<string, string>;
    readonly devDependencies?: Record<string, string>;
    readonly peerDependencies?: Record<string, string>;
    readonly svc: Manifest;
  };
}

/** The first-party plugins of the installation. */
export const pluginFolders = (): PluginFolder[] => everyPluginFolder().filter(({ path }) => !APART.includes(path));

/** The first-party plugins that are packages of their own, outside of the workspace and of the installation. */
export const apartFolders = (): PluginFolder[] => everyPluginFolder().filter(({ path }) => APART.includes(path));

const everyPluginFolder = (): PluginFolder[] =>
  readdirSync(join(ROOT, "plugins"))
    .flatMap((kind) => readdirSync(join(ROOT, "plugins", kind)).map((name) => `plugins/${kind}/${name}`))
    .filter((path) => existsSync(join(ROOT, path, "package.json")))
    .map((path) => ({ path, pkg: JSON.parse(read(`${path}/package.json`)) }));

/** A static import or export with a source: whether only types come from it, and from where. Names, commas and braces are all it may hold. */
const STATIC = /^(?:import|export)\s+(type\s+)?(?:[\w\s{},*$]+?\s+from\s+)?["']([^"']+)["']/gm;

/** Specifiers of static imports and exports that have an effect at run time; `import type` has none. */
export function staticImports(source: string): string[] {
  return [...source.matchAll(STATIC)].filter((match) => match[1] === undefined).map((match) => match[2] as string);
}

/** All specifiers, dynamic and type-only ones too. */
export function allImports(source: string): string[] {
  const dynamic = [...source.matchAll(/\bimport\(\s*["']([^"']+)["']\s*\)/g)].map((match) => match[1] as string);
  return [...[...source.matchAll(STATIC)].map((match) => match[2] as string), ...dynamic];
}

/** Text between two markers replaced; undefined when the markers are not there. */
export function inject(text: string, marker: string, content: string): string | undefined {
  const pattern = new RegExp(`(<!-- ${marker} -->\n)[\\s\\S]*?(<!-- /${marker} -->)`);
  return pattern.test(text) ? text.replace(pattern, (_whole, open: string, close: string) => `${open}${content}\n${close}`) : undefined;
}

/** The author's book with the worked channel in it: the files that `svc plugin new channel acme` writes, as they are tested. */
function book(): { file: string; text: string; wanted: string } {
  const file = "sdk/README.md";
  const text = read(file);
  const markers = [...text.matchAll(/<!-- template (\S+) -->/g)].map((match) => match[1] as string);
  const wanted = markers.reduce((filled, path) => {
    const code = read(`sdk/template/${path}.txt`).trim().replaceAll("__name__", "acme").replaceAll("__Name__", "Acme").replaceAll("__sdk__", SDK_VERSION);
    return inject(filled, `template ${path}`, `\`\`\`${path.split(".").at(-1)}\n${code}\n\`\`\``) ?? `the marker of ${path} is not closed`;
  }, text);
  return { file, text, wanted };
}

/** What the plugins of a kind are called, one and many, in this order; a kind that is not here follows by its own name. */
const KIND_WORDS: Readonly<Record<string, readonly [string, string]>> = {
  channel: ["Channel", "Channels"],
  tier: ['Engine ("tier")', 'Engines ("tiers")'],
  feature: ["Feature", "Features"],
  action: ["Action that agents may be allowed", "Actions for agents"],
  store: ["Place of the state", "Databases"],
};

/** All plugins by kind, those that are installed apart too. */
function pluginsByKind(): { kind: string; one: string; many: string; plugins: PluginFolder[] }[] {
  const all = [...pluginFolders(), ...apartFolders()].sort((left, right) => (left.path < right.path ? -1 : 1));
  const kinds = [...new Set([...Object.keys(KIND_WORDS), ...all.map(({ pkg }) => pkg.svc.kind)])];
  return kinds
    .map((kind) => {
      const own = `${kind[0]?.toUpperCase()}${kind.slice(1)}`;
      const [one, many] = KIND_WORDS[kind] ?? [own, `${own}s`];
      return { kind, one, many, plugins: all.filter(({ pkg }) => pkg.svc.kind === kind) };
    })
    .filter(({ plugins }) => plugins.length > 0);
}

/** The tables of plugins in docs/plugins.md, from their packages: a new plugin is written down in its own folder only. */
const catalog = (): string =>
  pluginsByKind()
    .map(({ one, plugins }) => [
      `| ${one} | |`,
      "|---|---|",
      ...plugins.map(
        ({ path, pkg: { svc, description } }) =>
          `| [${svc.name}](../${path}/README.md) | ${svc.product === undefined ? "" : `${svc.product}. `}${description.replace(/\.$/, "").replaceAll("|", "\\|")} |`,
      ),
    ])
    .map((table) => table.join("\n"))
    .join("\n\n");

/** The README's list of plugins: a row a kind, by the names that people know. */
const productList = (): string =>
  [
    "| | |",
    "|---|---|",
    ...pluginsByKind().map(
      ({ many, plugins }) => `| ${many} | ${plugins.map(({ path, pkg: { svc } }) => `[${svc.product ?? svc.name}](${path}/README.md)`).join(", ")} |`,
    ),
  ].join("\n");

/** What the documents carry over from code, by file: the plugins and their samples, the worked channel, and the tables of errors. */
export async function injected(): Promise<{ file: string; text: string; wanted: string }[]> {
  const results: { file: string; text: string; wanted: string }[] = [];
  for (const { path } of [...pluginFolders(), ...apartFolders()]) {
    if (!existsSync(join(ROOT, path, "sample.json")) || !existsSync(join(ROOT, path, "README.md"))) continue;
    const file = `${path}/README.md`;
    const text = read(file);
    results.push({
      file,
      text,
      wanted: inject(text, "sample", `\`\`\`json\n${read(`${path}/sample.json`).trim()}\n\`\`\``) ?? "the README has no <!-- sample --> markers",
    });
  }
  results.push(book());
  for (const [file, content] of [
    ["README.md", productList()],
    ["docs/plugins.md", catalog()],
  ] as const)
    results.push({ file, text: read(file), wanted: inject(read(file), "plugins", content) ?? `${file} has no <!-- plugins --> markers` });
  const page = "docs/sdk-reference.md";
  results.push({ file: page, text: existsSync(join(ROOT, page)) ? read(page) : "", wanted: reference(read) });
  const kernel = (await import(new URL("../../kernel/base/errors.ts", import.meta.url).href)) as { ERRORS: Record<string, readonly [number, string]> };
  const cli = (await import(new URL("../../cli/errors.ts", import.meta.url).href)) as { ERRORS: Record<string, string> };
  const own = pluginFolders().filter(({ path }) => existsSync(join(ROOT, path, "errors.ts")) && read(`${path}/README.md`).includes("<!-- errors -->"));
  const plugins = await Promise.all(
    own.map(async ({ path }) => {
      const { ERRORS } = (await import(new URL(`../../${path}/errors.ts`, import.meta.url).href)) as typeof kernel;
      return [`${path}/README.md`, ERRORS] as const;
    }),
  );
  const cell = (message: string) => message.replaceAll("\n", " ").replaceAll("|", "\\|");
  const table = (errors: Record<string, readonly [number, string]>) => [
    "| Code | Status | Message |",
    "|---|---|---|",
    ...Object.entries(errors)
      .sort()
      .map(([code, [status, message]]) => `| \`${code}\` | ${status} | ${cell(message)} |`),
  ];
  const cliRows = Object.entries(cli.ERRORS)
    .sort()
    .map(([code, message]) => `| \`${code}\` | ${cell(message)} |`);
  for (const [file, lines] of [
    ["kernel/README.md", table(kernel.ERRORS)],
    ...plugins.map(([file, errors]) => [file, table(errors)] as const),
    ["cli/README.md", ["| Code | Message |", "|---|---|", ...cliRows]],
  ] as const) {
    const text = read(file);
    results.push({ file, text, wanted: inject(text, "errors", lines.join("\n")) ?? "the file has no <!-- errors --> markers" });
  }
  const types = "cli/api.d.ts";
  results.push({
    file: types,
    text: existsSync(join(ROOT, types)) ? read(types) : "",
    wanted: await publishedTypes(pluginFolders().map(({ path }) => ({ path, source: read(`${path}/index.ts`) }))),
  });
  return results;
}
