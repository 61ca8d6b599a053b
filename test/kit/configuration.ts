import type { Plugin } from "@svc/sdk";
import type { Parts } from "../../kernel/core/config/compose.ts";
import ragLexical from "../../plugins/actions/rag-lexical/index.ts";
import layered from "../../plugins/features/context-layered/index.ts";
import heartbeat from "../../plugins/features/heartbeat/index.ts";
import mcpConfig from "../../plugins/features/mcp-config/index.ts";
import models from "../../plugins/features/models/index.ts";
import reservedKeys from "../../plugins/features/reserved-keys/index.ts";
import subscriptions from "../../plugins/features/subscriptions/index.ts";
import voice from "../../plugins/features/voice/index.ts";
import cliA from "../../plugins/tiers/cli-a/index.ts";

const plugins = [ragLexical, layered, heartbeat, mcpConfig, models, reservedKeys, subscriptions, voice, cliA] as unknown as Plugin[];
const { check, schema } = models.config as unknown as Required<NonNullable<Plugin["config"]>>;

/** What the first-party plugins bring to the contract's own keys of svc.json. */
export const CONTRACT_PARTS: Pick<Parts, "sections" | "agentKeys"> = {
  sections: [{ at: "providers", owner: "feature-models", schema, check }],
  agentKeys: plugins.flatMap(({ kind, name, agentConfig, checkAgent }) =>
    agentConfig === undefined
      ? []
      : [
          {
            owner: `${kind}-${name}`,
            schema: agentConfig,
            ...(checkAgent === undefined ? {} : { check: checkAgent as NonNullable<Parts["agentKeys"][number]["check"]> }),
          },
        ],
  ),
};
