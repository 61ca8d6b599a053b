import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "@svc/sdk";
import { atomicWrite } from "../base/atomic-file.ts";
import { fail } from "../base/errors.ts";
import type { IntegrityPart } from "../core/host/supply-port.ts";
import { changedDependencies, type Dependencies, dependenciesOf } from "./dependencies.ts";
import { integrityOf } from "./package-hash.ts";

/** Trusted state of one installed plugin: `.svc/plugins.lock.json` holds one for each, by package name. */
export interface Pin {
  readonly id: string;
  readonly version: string;
  /** `sha256-<base64>` over all files of the package and their names, without its `node_modules`. */
  readonly integrity: string;
  /** The same hash for each dependency, by `<name>@<version>`; absent in pins of an earlier version, which covered only its own files. */
  readonly dependencies?: Dependencies;
  /** Declared capabilities, and registrations observed in its setup, when it was trusted, sorted. */
  readonly capabilities: readonly string[];
  readonly registers: readonly string[];
  /** ISO 8601. */
  readonly trustedAt: string;
}

/** Trusted plugins by the name of the package. */
export type Pins = Readonly<Record<string, Pin>>;

const NAME = "plugins.lock.json";

/** Reads the pins of a data folder; empty if there is no file. Throws `SVC_PLUGIN_PINS` for an unreadable file: no plugin is trusted then. */
export async function readPins(dataFolder: string): Promise<Pins> {
  const file = join(dataFolder, NAME);
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return {};
    throw fail("SVC_PLUGIN_PINS", { file, reason: (error as Error).message });
  }
  try {
    return JSON.parse(text) as Pins;
  } catch (error) {
    throw fail("SVC_PLUGIN_PINS", { file, reason: (error as Error).message });
  }
}

/** Replaces the pins of a data folder, sorted by name. */
export async function writePins(dataFolder: string, pins: Pins): Promise<void> {
  const sorted = Object.fromEntries(Object.entries(pins).sort(([left], [right]) => (left < right ? -1 : 1)));
  await atomicWrite(join(dataFolder, NAME), `${JSON.stringify(sorted, null, 2)}\n`);
}

/**
 * Refuses a package if a file, its own or a dependency's, differs from its pin. Every file is read: size and time of a file can be forged. Throws
 * `SVC_PLUGIN_CHANGED` or `SVC_PLUGIN_UNTRUSTED`.
 */
export async function requirePinned(name: string, folder: string, pins: Pins): Promise<Pin> {
  const pin = Object.hasOwn(pins, name) ? pins[name] : undefined;
  if (pin === undefined) throw fail("SVC_PLUGIN_UNTRUSTED", { plugin: name });
  const [integrity, dependencies] = await Promise.all([integrityOf(folder), pin.dependencies === undefined ? undefined : dependenciesOf(folder)]);
  if (integrity !== pin.integrity) throw fail("SVC_PLUGIN_CHANGED", { plugin: name, what: "its files are" });
  const [changed] = changedDependencies(pin.dependencies, dependencies);
  if (changed !== undefined) throw fail("SVC_PLUGIN_CHANGED", { plugin: name, what: `the files of its dependency ${changed} are` });
  return pin;
}

/** Refuses a plugin that declares or registers more than when it was trusted. Fewer are accepted. */
export function requireUndrifted(name: string, pin: Pin, capabilities: readonly string[], registers: readonly string[]): void {
  const more = [
    ...capabilities.filter((capability) => !pin.capabilities.includes(capability)).map((capability) => `capability ${capability}`),
    ...registers.filter((thing) => !pin.registers.includes(thing)),
  ];
  if (more.length > 0) throw fail("SVC_PLUGIN_CHANGED", { plugin: name, what: `it now also has ${more.join(", ")}, which is` });
}

/** The pins of a data folder for the plugin host: read with the first package, and cached for the lifetime of the host. */
export function openPins(dataFolder: string): ReturnType<IntegrityPart["openPins"]> {
  let pins: Promise<Pins> | undefined;
  return {
    async requirePinned(name, folder) {
      pins ??= readPins(dataFolder);
      const pin = await requirePinned(name, folder, await pins);
      return (capabilities, registers) => requireUndrifted(name, pin, capabilities, registers);
    },
  };
}
