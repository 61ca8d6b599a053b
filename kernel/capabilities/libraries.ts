import type { CapabilityRow, LibraryDeps } from "../base/capability.ts";

/** A library is imported when the first plugin that declares it is set up. */
const row = <T>(crosses: boolean, load: CapabilityRow<T, LibraryDeps>["load"]): CapabilityRow<T, LibraryDeps> => ({ crosses, load });

/** The capabilities that are libraries, one row each. The ones built into the core are in `core/host/capabilities.ts`. */
export const LIBRARIES = {
  fetch: row(true, async () => (await import("./fetch/plugin-fetch.ts")).fetchCapability()),
  sockets: row(true, async () => (await import("./fetch/sockets.ts")).socketsCapability()),
  media: row(false, async () => (await import("./fetch/media.ts")).mediaCapability()),
  files: row(true, async (deps) => (await import("./files/files.ts")).filesCapability(deps)),
  spawn: row(false, async (deps) => (await import("./processes/spawn.ts")).spawnCapability(deps)),
  warm: row(false, async (deps) => (await import("./processes/warm.ts")).warmCapability(deps)),
  render: row(true, async () => (await import("./render/render.ts")).renderCapability()),
};
