import { createHash } from "node:crypto";
import { type Confined, codeOf } from "@svc/sdk";
import { contextError } from "./context-errors.ts";

/** The file that holds them, in a workspace. */
export const REGISTRY = "references/registry.json";
/** Of the registry. */
export const MAX_REGISTRY = 262_144;
/** Of a file that is referred to: a larger one is not looked at in a turn. */
const MAX_FILE = 1_048_576;
/** Of all files of a registry together, in one turn. */
const MAX_ALL = 8 * MAX_FILE;

/** An entry of the registry. Keys that are not named here are kept. */
export interface Reference {
  readonly name: string;
  /** A path below the workspace, with or without `#part`, or an address. */
  readonly at: string;
  readonly note?: string;
  /** Date of the last check by a person: `2026-01-31`. Empty or absent: never checked. */
  readonly verified?: string;
  /** Of the file or of what stood at the address, when it was checked. */
  readonly sha256?: string;
  /** Why the last check of an address failed. */
  readonly failed?: string;
}

/** A reference with its current state. */
export interface Judged extends Reference {
  /** `recorded`: an address with the state of its last check; no network request is made now. `unchecked`: never checked. */
  readonly state: "verified" | "recorded" | "unverified" | "unchecked";
  /** Why it is unverified. */
  readonly reason?: string;
}

/** An address in place of a path. */
export const isAddress = (at: string): boolean => /^[a-z][a-z0-9+.-]*:\/\//i.test(at);

/** The entries of the registry in the order of their names; none where there is no registry. Throws for one that cannot be used. */
export async function readRegistry(workspace: Confined): Promise<readonly Reference[]> {
  const bytes = await workspace.read(REGISTRY, MAX_REGISTRY).catch((error) => {
    if (codeOf(error) === "SVC_FILE_MISSING") return undefined;
    throw error;
  });
  return bytes === undefined ? [] : entriesOf(bytes).toSorted((left, right) => (left.name < right.name ? -1 : 1));
}

/** The entries as they stand. Entries without a name or place are left out. */
export function entriesOf(bytes: Uint8Array): readonly Reference[] {
  let found: unknown;
  try {
    found = JSON.parse(new TextDecoder().decode(bytes));
  } catch (error) {
    throw contextError("SVC_REFERENCE_REGISTRY", { reason: (error as Error).message });
  }
  if (!Array.isArray(found)) throw contextError("SVC_REFERENCE_REGISTRY", { reason: "it must hold a list of {name, at, verified}" });
  return found.filter(isReference);
}

function isReference(entry: unknown): entry is Reference {
  const { name, at, ...texts } = (entry ?? {}) as Record<string, unknown>;
  const optional = [texts["note"], texts["verified"], texts["sha256"], texts["failed"]];
  return typeof name === "string" && name.trim() !== "" && typeof at === "string" && optional.every((one) => one === undefined || typeof one === "string");
}

/**
 * Judges each entry by the files of the workspace (CTX-02): a file counts as verified while its SHA-256 equals the recorded one. Addresses are not
 * requested. Deterministic: no model and no clock; the same files give the same answer.
 */
export async function judge(workspace: Confined, entries: readonly Reference[]): Promise<readonly Judged[]> {
  const judged: Judged[] = [];
  let read = 0;
  for (const entry of entries) {
    const unverified = (reason: string): void => void judged.push({ ...entry, state: "unverified", reason });
    if (entry.verified === undefined || entry.verified === "") judged.push({ ...entry, state: "unchecked" });
    else if (entry.failed !== undefined) unverified(entry.failed);
    else if (isAddress(entry.at)) judged.push({ ...entry, state: "recorded" });
    else if (read >= MAX_ALL) unverified("not looked at: the files are too large together");
    else {
      const looked = await digestOf(workspace, entry.at);
      read += looked.size;
      if (looked.digest === undefined) unverified(looked.reason);
      else if (entry.sha256 === undefined) unverified("its content was never noted");
      else if (looked.digest !== entry.sha256.toLowerCase()) unverified(`it has changed since ${entry.verified}`);
      else judged.push({ ...entry, state: "verified" });
    }
  }
  return judged;
}

/** Returns the SHA-256 of a file of the workspace, or why there is none. */
export async function digestOf(
  workspace: Confined,
  at: string,
): Promise<{ readonly digest: string; readonly size: number } | { readonly digest?: undefined; readonly size: number; readonly reason: string }> {
  try {
    const bytes = await workspace.read(at.replace(/#.*$/s, ""), MAX_FILE);
    return { digest: createHash("sha256").update(bytes).digest("hex"), size: bytes.length };
  } catch (error) {
    return { size: 0, reason: REASONS[codeOf(error) ?? ""] ?? "it cannot be read" };
  }
}

const REASONS: Readonly<Record<string, string>> = {
  SVC_FILE_MISSING: "it is not there",
  SVC_FILE_OUTSIDE: "it leads out of the workspace",
  SVC_FILE_PROTECTED: "it belongs to the daemon",
  SVC_FILE_TOO_LARGE: "it is larger than 1 MiB",
  SVC_FILE_KIND: "it is no file",
};
