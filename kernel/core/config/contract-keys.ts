import { createRequire } from "node:module";
import type { Schema } from "@svc/sdk";

/*
 * What svc.json has always taken, whether or not a plugin here owns it: data of the contract, in kernel/contract/keys.json. Who owns a
 * key brings its schema; until then it is taken as it is, and does nothing.
 */
const { agentKeys, sections } = createRequire(import.meta.url)("#contract/keys.json") as {
  readonly agentKeys: readonly string[];
  readonly sections: Readonly<Record<string, Schema>>;
};

/** Keys of agents of the contract, beside the kernel's own. */
export const CONTRACT_AGENT_KEYS: ReadonlySet<string> = new Set(agentKeys);

/** Sections of the contract that are taken as they are until a plugin owns them (CFG-20). */
export const CONTRACT_SECTIONS: Readonly<Record<string, Schema>> = sections;
