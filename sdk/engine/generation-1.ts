/* Former names in `@svc/sdk/engine`. Plugins that were compiled against them still load; they are removed with generation 1 of the plugin API. */
import { createKeyRelays } from "./key-relays.ts";
import { commandSandbox, packageFilesOf, programSandbox, relayLauncher, removeMountPoints, sandboxObstacle, shellQuoted } from "./sandbox.ts";
import { checkSandbox } from "./sandbox-check.ts";
import { unsentLayers } from "./unsent-layers.ts";

/** @deprecated Use `createKeyRelays`. */
export const createLentKeys: typeof createKeyRelays = createKeyRelays;
/** @deprecated Use `commandSandbox`. */
export const commandWall: typeof commandSandbox = commandSandbox;
/** @deprecated Use `packageFilesOf`. */
export const filesOf: typeof packageFilesOf = packageFilesOf;
/** @deprecated Use `programSandbox`. */
export const programWall: typeof programSandbox = programSandbox;
/** @deprecated Use `relayLauncher`. */
export const relayProgram: typeof relayLauncher = relayLauncher;
/** @deprecated Use `removeMountPoints`. */
export const tidy: typeof removeMountPoints = removeMountPoints;
/** @deprecated Use `sandboxObstacle`. */
export const unfit: typeof sandboxObstacle = sandboxObstacle;
/** @deprecated Use `shellQuoted`. */
export const quoted: typeof shellQuoted = shellQuoted;
/** @deprecated Use `checkSandbox`. */
export const proveWall: typeof checkSandbox = checkSandbox;
/** @deprecated Use `unsentLayers`. */
export const freshLayers: typeof unsentLayers = unsentLayers;
