import { createRequire } from "node:module";
import type { Schema } from "@svc/sdk";

/*
 * Keys of svc.json that are accepted whether or not a plugin here owns them: data of the contract, in kernel/contract/keys.json. The owning plugin
 * brings the schema of a key; until then it is accepted unchanged, and has no effect.
 */
const { agentKeys, sections, settings } = createRequire(import.meta.url)("#contract/keys.json") as {
  readonly agentKeys: readonly string[];
  readonly sections: Readonly<Record<string, Schema>>;
  readonly settings: { readonly session: Readonly<Record<string, Schema>> };
};

/** Keys of agents of the contract, beside the kernel's own. */
export const CONTRACT_AGENT_KEYS: ReadonlySet<string> = new Set(agentKeys);

/** Settings in the kernel's own sections that only a plugin reads. */
export const CONTRACT_SETTINGS: { readonly session: Readonly<Record<string, Schema>> } = settings;

/** Sections of the contract that are accepted without validation until a plugin owns them (CFG-20). */
export const CONTRACT_SECTIONS: Readonly<Record<string, Schema>> = sections;
