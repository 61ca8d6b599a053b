import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { type Registry, registryMissing, startRegistry } from "./registry.ts";
import { type Packed, packRelease, publish } from "./release.harness.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Absent where no registry can run. */
    released: Released | undefined;
  }
}

/** The release of this checkout, packed and published once for all files: a registry that they read. */
export interface Released {
  /** Its address. */
  readonly address: string;
  /** A copy of its folder that nothing writes to, see `startRegistry`: a file that publishes more starts one of its own on a copy of it. */
  readonly folder: string;
  readonly packed: readonly Packed[];
}

export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  if (registryMissing() !== undefined) {
    project.provide("released", undefined);
    return undefined;
  }
  const home = mkdtempSync(join(tmpdir(), "svc-released-"));
  const folder = join(home, "registry");
  let registry: Registry | undefined;
  const end = async () => {
    await registry?.stop();
    rmSync(home, { recursive: true, force: true });
  };
  try {
    const uplink = execFileSync("npm", ["config", "get", "registry"], { encoding: "utf8" }).trim();
    registry = await startRegistry(folder, uplink);
    const packed = packRelease(join(home, "packed"));
    await publish(registry, packed);
    const untouched = join(home, "untouched");
    cpSync(folder, untouched, { recursive: true });
    project.provide("released", { address: registry.address, folder: untouched, packed });
    return end;
  } catch (error) {
    await end();
    throw error;
  }
}
