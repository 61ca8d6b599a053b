import type { Dependencies, Observed, Pins } from "@svc/kernel";
import type { Cli } from "../cli.ts";
import { offlineCode } from "../kernel-code.ts";
import { type DependencyRoot, openRoot } from "./dependency-root.ts";

/** Hashes of an installed plugin's files: its own, and those of its dependencies. */
export interface Files {
  readonly integrity: string;
  readonly dependencies: Dependencies;
}

/** Reads the integrity hash of a package folder and those of its dependencies. */
export async function filesOf(folder: string): Promise<Files> {
  const { dependenciesOf, integrityOf } = offlineCode();
  const [integrity, dependencies] = await Promise.all([integrityOf(folder), dependenciesOf(folder)]);
  return { integrity, dependencies };
}

/** Pins a plugin in its current state. */
export async function pin(cli: Cli, name: string, { id, version, capabilities, registers }: Observed, files: Files): Promise<void> {
  const { readPins, writePins } = offlineCode();
  const pins = await readPins(cli.dataFolder).catch((): Pins => ({}));
  await writePins(cli.dataFolder, { ...pins, [name]: { id, version, ...files, capabilities, registers, trustedAt: new Date().toISOString() } });
}

/**
 * Lets npm change the tree that all installed plugins share. Plugins that matched their pins are pinned again with the dependencies that npm has
 * changed, since that was requested; others stay refused. Resolves with the plugins whose dependencies changed.
 */
export async function changingTree(cli: Cli, work: (root: DependencyRoot) => Promise<void>): Promise<readonly string[]> {
  const { changedDependencies, dependenciesOf, readPins, requirePinned, writePins } = offlineCode();
  const root = openRoot(cli.dataFolder);
  const before = await readPins(cli.dataFolder);
  const sound: string[] = [];
  for (const name of Object.keys(root.packages())) {
    const holds = await requirePinned(name, root.folderOf(name), before).catch(() => undefined);
    if (holds?.dependencies !== undefined) sound.push(name);
  }
  await work(root);
  const pins = { ...(await readPins(cli.dataFolder)) };
  const moved: string[] = [];
  for (const name of sound) {
    const known = pins[name];
    if (known === undefined || root.packages()[name] === undefined) continue;
    const dependencies = await dependenciesOf(root.folderOf(name));
    if (changedDependencies(known.dependencies, dependencies).length === 0) continue;
    pins[name] = { ...known, dependencies };
    moved.push(name);
  }
  if (moved.length > 0) await writePins(cli.dataFolder, pins);
  return moved;
}
