import { createHash } from "node:crypto";
import { lstat, readdir, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";
import { fail } from "../errors.ts";
import { atomicWrite } from "../store/atomic.ts";

/** What was trusted about one installed plugin: `.svc/plugins.lock.json` holds one for each, by package name. */
export interface Pin {
  readonly id: string;
  readonly version: string;
  /** `sha256-<base64>` over all files of the package, their names and modes of execution; its own `node_modules` left out. */
  readonly integrity: string;
  /** What it declared and what its setup really registered when it was trusted, sorted. */
  readonly capabilities: readonly string[];
  readonly registers: readonly string[];
  /** ISO 8601. */
  readonly trustedAt: string;
}

export type Pins = Readonly<Record<string, Pin>>;

const NAME = "plugins.lock.json";

/** The pins of a data folder; none when there is no file. Throws `SVC_PLUGIN_PINS` for a file that cannot be read: nothing is trusted then. */
export async function readPins(dataFolder: string): Promise<Pins> {
  const file = join(dataFolder, NAME);
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw fail("SVC_PLUGIN_PINS", { file, reason: (error as Error).message });
  }
  try {
    return JSON.parse(text) as Pins;
  } catch (error) {
    throw fail("SVC_PLUGIN_PINS", { file, reason: (error as Error).message });
  }
}

export async function writePins(dataFolder: string, pins: Pins): Promise<void> {
  const sorted = Object.fromEntries(Object.entries(pins).sort(([left], [right]) => (left < right ? -1 : 1)));
  await atomicWrite(join(dataFolder, NAME), `${JSON.stringify(sorted, null, 2)}\n`);
}

/** The hash of a package folder. A file added, removed, renamed or changed changes it; links count by where they point. */
export async function integrityOf(folder: string): Promise<string> {
  const hash = createHash("sha256");
  const visit = async (path: string): Promise<void> => {
    for (const name of (await readdir(join(folder, path))).sort()) {
      if (path === "" && name === "node_modules") continue;
      const below = path === "" ? name : `${path}/${name}`;
      const facts = await lstat(join(folder, below));
      if (facts.isDirectory()) {
        await visit(below);
        continue;
      }
      const content = facts.isSymbolicLink() ? Buffer.from(await readlink(join(folder, below))) : await readFile(join(folder, below));
      hash.update(`${facts.isSymbolicLink() ? "link" : "file"}\0${below}\0${content.length}\0`).update(content);
    }
  };
  await visit("");
  return `sha256-${hash.digest("base64")}`;
}

/** Refuses a package whose files are not those that were trusted. Throws `SVC_PLUGIN_CHANGED` or `SVC_PLUGIN_UNTRUSTED`. */
export async function requirePinned(name: string, folder: string, pins: Pins): Promise<Pin> {
  const pin = Object.hasOwn(pins, name) ? pins[name] : undefined;
  if (pin === undefined) throw fail("SVC_PLUGIN_UNTRUSTED", { plugin: name });
  if ((await integrityOf(folder)) !== pin.integrity) throw fail("SVC_PLUGIN_CHANGED", { plugin: name, what: "its files are" });
  return pin;
}

/** Refuses a plugin that declares or registers what it did not when it was trusted. Less than then is no drift. */
export function requireUndrifted(name: string, pin: Pin, capabilities: readonly string[], registers: readonly string[]): void {
  const more = [
    ...capabilities.filter((capability) => !pin.capabilities.includes(capability)).map((capability) => `capability ${capability}`),
    ...registers.filter((thing) => !pin.registers.includes(thing)),
  ];
  if (more.length > 0) throw fail("SVC_PLUGIN_CHANGED", { plugin: name, what: `it now also has ${more.join(", ")}, which is` });
}
