import { dirname, join } from "node:path";

/** An exported thing as the built declarations have it. */
interface Declared {
  readonly name: string;
  readonly words: string;
  readonly code: string;
}

const DIST = "sdk/dist";
const ENTRIES = [
  { entry: "@svc/sdk", file: "index.d.ts", about: "The contract: what a plugin is made of." },
  { entry: "@svc/sdk/testing", file: "testing.d.ts", about: "What a plugin is tested with." },
  { entry: "@svc/sdk/program-tier", file: "program-tier.d.ts", about: "For the entry of a tier on a program." },
  { entry: "@svc/sdk/tool-loop", file: "tool-loop.d.ts", about: "For tiers that call a model and run its tools." },
  { entry: "@svc/sdk/thread", file: "thread.d.ts", about: "For plugins whose work would hold the daemon's loop." },
  { entry: "@svc/sdk/foreign-text", file: "foreign-text.d.ts", about: "For plugins that put words of files or people before a model." },
  { entry: "@svc/sdk/engine", file: "engine.d.ts", about: "For tiers that drive another program." },
  { entry: "@svc/sdk/host", file: "host.d.ts", about: "For programs that run plugins, not for plugins." },
] as const;

/** Every exported name of the sdk with its words and its signature, from the built declarations. */
export function reference(read: (path: string) => string): string {
  const parts = ENTRIES.map(({ entry, file, about }) => {
    const own: HandedOn = { file, names: undefined };
    const modules = [own, ...modulesOf(file, read)].map(({ file: module, names, typesOnly }) => ({
      module: module.replace(/\.d\.ts$/, ""),
      things: declaredIn(read(join(DIST, module))).filter(
        ({ name, code }) => (names === undefined || names.has(name)) && !(typesOnly && /^(const|function) /.test(code)),
      ),
    }));
    const sections = modules.filter(({ things }) => things.length > 0).map(({ module, things }) => `### ${module}\n\n${things.map(described).join("\n\n")}`);
    const count = modules.reduce((sum, { things }) => sum + things.length, 0);
    return `## ${entry}\n\n${about} ${count} names.\n\n${sections.join("\n\n")}`;
  });
  return `# Reference of @svc/sdk\n\nGenerated from the declarations of the package by \`npm run docs\`. The way through them is [the book](../sdk/README.md).\n\n${parts.join("\n\n")}\n`;
}

const described = ({ name, words, code }: Declared): string => `#### ${name}\n\n${words === "" ? "" : `${words}\n\n`}\`\`\`ts\n${code}\n\`\`\``;

interface HandedOn {
  readonly file: string;
  readonly names: ReadonlySet<string> | undefined;
  /** `export type *`: of its values nothing can be used. */
  readonly typesOnly?: boolean;
}

/** The modules that an entry hands on, and those that they hand on whole; `names` where only those. */
function modulesOf(file: string, read: (path: string) => string): HandedOn[] {
  return [...read(join(DIST, file)).matchAll(/^export (type )?(\*|\{[^}]*\}) from "([^"]+)";/gm)].flatMap(([, type, what = "", from = ""]) => {
    const path = join(dirname(file), from.replace(/\.[jt]s$/, ".d.ts"));
    if (what === "*") return [{ file: path, names: undefined, typesOnly: type !== undefined }, ...modulesOf(path, read)];
    return [
      { file: path, names: new Set([...what.matchAll(/(?:type )?(\w+)(?=[\s,}])/g)].map(([, name]) => name as string).filter((name) => name !== "type")) },
    ];
  });
}

/** The exported declarations of a file. A comment belongs to what follows it. */
export function declaredIn(source: string): Declared[] {
  const found: Declared[] = [];
  const lines = source.split("\n");
  let words = "";
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] as string;
    if (line.startsWith("/**")) {
      const from = at;
      while (!(lines[at] as string).trimEnd().endsWith("*/")) at += 1;
      words = wordsOf(lines.slice(from, at + 1).join("\n"));
      continue;
    }
    const name = /^export (?:declare )?(?:interface|type|function|const|class) (\w+)/.exec(line)?.[1];
    const from = at;
    while (depthOf(lines.slice(from, at + 1).join("\n")) > 0) at += 1;
    // A union is continued on lines of its own.
    while (name !== undefined && !/[;}]$/.test(lines[at] as string)) at += 1;
    if (name !== undefined) found.push({ name, words, code: tidy(lines.slice(from, at + 1).join("\n")) });
    words = "";
  }
  return found;
}

const wordsOf = (comment: string): string =>
  comment
    .replace(/^\/\*\*|\*\/$/g, "")
    .split("\n")
    .map((line) => line.replace(/^ ?\* ?/, "").trimEnd())
    .join("\n")
    .trim();

/** Brackets that are still open, those in comments and texts aside. */
function depthOf(code: string): number {
  const bare = code.replace(/\/\*[\s\S]*?(?:\*\/|$)|"(?:[^"\\]|\\.)*"|`[^`]*`/g, "");
  return [...bare].reduce((depth, sign) => depth + ("({[".includes(sign) ? 1 : ")}]".includes(sign) ? -1 : 0), 0);
}

const tidy = (code: string): string =>
  code
    .replace(/^export (?:declare )?/, "")
    .replace(/^( {4})+/gm, (indent) => " ".repeat(indent.length / 2))
    .trimEnd();
