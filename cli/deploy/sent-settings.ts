import { createHash } from "node:crypto";
import type { Look } from "./far-side.ts";

/** What the near side has for the configuration of the far side. */
export interface Settings {
  /** `own`: this folder's svc.json; `given`: a file that was named; `keep`: none. */
  readonly how: "own" | "given" | "keep";
  readonly config?: string;
  readonly file?: string;
  readonly env?: string;
}

/** The configuration to send, if any, with a sentence that says why. One that was changed or written there is nobody's to replace without being named. */
export function choose({ how, config, file, env }: Settings, { config: there, deployedConfig }: Look): { readonly config?: string; readonly words: string } {
  const also = env === undefined ? "" : ", with .env";
  if (how === "keep" || config === undefined) return { words: `the configuration there stays${also}` };
  if (there === createHash("sha256").update(config).digest("hex")) return { words: `the configuration there is the same${also}` };
  if (how === "own" && there !== undefined && there !== deployedConfig)
    return { words: `the configuration there stays, since it was written there; replace it with --settings <file>${also}` };
  return { config, words: `the configuration is ${file}${also}` };
}

/** The paths of credentials that stand in a document itself; the editor masks these, and leaves references as they are. */
export function literalsIn(document: unknown, path = ""): string[] {
  if (document === "***") return [path];
  if (typeof document !== "object" || document === null) return [];
  return Object.entries(document).flatMap(([key, value]) => literalsIn(value, path === "" ? key : `${path}.${key}`));
}
