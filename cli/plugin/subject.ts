import { existsSync, readFileSync, statSync } from "node:fs";
import { isAbsolute, join, relative, resolve } from "node:path";
import type { Manifest } from "@svc/sdk";
import type { Cli } from "../cli.ts";
import { fail } from "../errors.ts";
import { openRoot } from "./dependency-root.ts";

/** Used part of a plugin's package.json. */
export interface PackageFacts {
  readonly name: string;
  readonly version: string;
  readonly keywords?: readonly string[];
  readonly exports?: unknown;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly svc?: Manifest;
}

/** A plugin that a command is about. `path`: a folder or a file of its author. `package`: installed into the data folder. */
export interface Subject {
  readonly kind: "path" | "package";
  /** Its entry in `plugins` of svc.json. */
  readonly entry: string;
  /** Folder of its package; unset for a single file. */
  readonly folder?: string;
  readonly file?: string;
  readonly pkg?: PackageFacts;
  /** The plugin runs in a process of its own. */
  readonly isolated?: boolean;
}

/** Does the word name a folder or a file, and no package? A tarball is npm's. */
export const isPath = (word: string): boolean => (word.startsWith(".") || isAbsolute(word)) && !/\.(tgz|tar\.gz)$/.test(word);

/** A plugin by its path, from the current folder or from another. The entry is relative to the folder of svc.json. Throws `SVC_CLI_MISSING`. */
export function subjectAt(cli: Cli, word: string, from = "."): Subject {
  const path = resolve(from, word);
  if (!existsSync(path)) throw fail("SVC_CLI_MISSING", { what: `file or folder ${path}`, next: "svc plugin new --help" });
  const below = relative(cli.folder, path);
  const entry = below.startsWith("..") ? below : `./${below}`;
  return statSync(path).isDirectory() ? { kind: "path", entry, folder: path, pkg: factsOf(path) } : { kind: "path", entry, file: path };
}

/** An installed plugin, by its package's name or its id. Throws `SVC_CLI_MISSING`. */
export function installedSubject(cli: Cli, word: string): Subject {
  const root = openRoot(cli.dataFolder);
  const name = Object.keys(root.packages()).find((one) => one === word || idOf(root.folderOf(one)) === word);
  if (name === undefined) throw fail("SVC_CLI_MISSING", { what: `installed plugin ${word}`, next: "svc plugin list, or install it with: svc plugin add" });
  return packageSubject(name, root.folderOf(name));
}

/** The subject for an installed package, given its name and folder. */
export const packageSubject = (name: string, folder: string): Subject => ({ kind: "package", entry: name, folder, pkg: factsOf(folder) });

/** `<kind>-<name>` by the manifest of a package folder. */
export function idOf(folder: string): string | undefined {
  try {
    const { svc } = factsOf(folder);
    return svc === undefined ? undefined : `${svc.kind}-${svc.name}`;
  } catch {
    return undefined;
  }
}

/** Why the name or the keywords of a package keep people from finding or recognising it. */
export function namingTrouble({ name, keywords = [] }: PackageFacts): string | undefined {
  if (!/^(@[^/]+\/)?svc-plugin-/.test(name) && !name.startsWith("@svc/")) return `'${name}' is not called svc-plugin-<name> or @scope/svc-plugin-<name>`;
  return keywords.includes("svc-plugin") || name.startsWith("@svc/") ? undefined : `'${name}' lacks the keyword svc-plugin`;
}

function factsOf(folder: string): PackageFacts {
  const file = join(folder, "package.json");
  if (!existsSync(file)) throw fail("SVC_CLI_MISSING", { what: `package.json in ${folder}`, next: "svc plugin new" });
  return JSON.parse(readFileSync(file, "utf8")) as PackageFacts;
}
