import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { SDK_VERSION } from "@svc/sdk";
import type { Cli } from "../cli.ts";
import { fail } from "../errors.ts";

/** Copy a kind's template into `./svc-plugin-<name>`: a package of its own that builds, passes its contract and packs. */
export async function scaffold(cli: Cli, kind: string, name: string, { panel = false }: { readonly panel?: boolean } = {}): Promise<void> {
  const templates = join(dirname(dirname(createRequire(import.meta.url).resolve("@svc/sdk"))), "template");
  const kinds = readdirSync(templates).filter((one) => one !== "common" && !one.includes("+"));
  if (!kinds.includes(kind)) throw fail("SVC_CLI_USAGE", { reason: `there is no template '${kind}'; there are ${kinds.join(", ")}` });
  if (!/^[a-z][a-z0-9-]*$/.test(name)) throw fail("SVC_CLI_USAGE", { reason: `'${name}' is no plugin's name: use lower-case letters, digits and '-'` });
  if (panel && kind !== "feature") throw fail("SVC_CLI_USAGE", { reason: `--panel goes with a feature, not with a ${kind}` });
  const folder = resolve(`svc-plugin-${name}`);
  if (existsSync(folder)) throw fail("SVC_CLI_EXISTS", { what: folder, next: "choose another name or remove it" });
  const words = {
    __name__: name,
    __Name__: titleOf(name),
    __NAME__: name.toUpperCase().replaceAll("-", "_"),
    __sdk__: SDK_VERSION,
    __year__: String(new Date().getFullYear()),
  };
  // Later parts overwrite files of earlier ones.
  const parts = ["common", kind, ...(panel ? [`${kind}+panel`] : [])];
  const files = [...new Set(parts.flatMap((part) => copy(join(templates, part), folder, words)))].sort();
  cli.print(`Wrote ${folder}:\n${files.map((file) => `  ${file}`).join("\n")}\nNext: cd svc-plugin-${name} && npm install && npm test && svc plugin check .`, {
    folder,
    kind,
    name,
    files,
  });
}

const titleOf = (name: string): string =>
  name.replace(/(^|-)([a-z0-9])/g, (_, dash: string, letter: string) => `${dash === "" ? "" : " "}${letter.toUpperCase()}`);

/** Templates end in `.txt`, so that npm packs them unchanged and no tool of this repository processes them. */
function copy(from: string, to: string, words: Readonly<Record<string, string>>): string[] {
  return readdirSync(from, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => {
      const below = join(entry.parentPath, entry.name).slice(from.length + 1);
      const target = fill(below.replace(/\.txt$/, ""), words);
      mkdirSync(dirname(join(to, target)), { recursive: true });
      writeFileSync(join(to, target), fill(readFileSync(join(from, below), "utf8"), words));
      return target;
    });
}

const fill = (text: string, words: Readonly<Record<string, string>>): string =>
  Object.entries(words).reduce((filled, [word, value]) => filled.replaceAll(word, value), text);
