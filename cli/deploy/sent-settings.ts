import { createHash } from "node:crypto";
import type { Look } from "./far-side.ts";

/** Configuration that the near side offers. */
export interface Settings {
  /** `own`: this folder's svc.json; `given`: a file named by an option; `keep`: none. */
  readonly how: "own" | "given" | "keep";
  readonly config?: string;
  readonly file?: string;
  readonly env?: string;
}

/**
 * Chooses the configuration to send, if any, with a sentence that explains it. A configuration that was edited there is only replaced on an explicit
 * option.
 */
export function choose({ how, config, file, env }: Settings, { config: there, deployedConfig }: Look): { readonly config?: string; readonly words: string } {
  const also = env === undefined ? "" : ", with .env";
  if (how === "keep" || config === undefined) return { words: `the configuration there stays${also}` };
  if (there === createHash("sha256").update(config).digest("hex")) return { words: `the configuration there is the same${also}` };
  if (how === "own" && there !== undefined && there !== deployedConfig)
    return { words: `the configuration there stays, since it was written there; replace it with --settings <file>${also}` };
  return { config, words: `the configuration is ${file}${also}` };
}

/** Returns the paths of credentials written in a document itself; the editor masks these, and leaves references unchanged. */
export function literalsIn(document: unknown, path = ""): string[] {
  if (document === "***") return [path];
  if (typeof document !== "object" || document === null) return [];
  return Object.entries(document).flatMap(([key, value]) => literalsIn(value, path === "" ? key : `${path}.${key}`));
}
