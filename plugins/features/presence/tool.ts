import { type AgentTool, type PluginContext, svcError } from "@svc/sdk";
import { type Mode, modeFor, type SaidRow } from "./presence.ts";

const NOTE_CHARS = 200;

/** `svc_presence`: an agent says whether it shows how something is done, or does it. */
export function presenceTool(ctx: Pick<PluginContext, "agents" | "events" | "store">): AgentTool {
  return {
    name: "svc_presence",
    description:
      "Say what you do on the person's screen: teach (show and explain) or act (do it yourself). The answer says what you may do; without permission act becomes teach.",
    input: {
      type: "object",
      additionalProperties: false,
      required: ["mode"],
      properties: {
        mode: { enum: ["teach", "act"], description: "what you want to do" },
        note: { type: "string", maxLength: NOTE_CHARS, description: "what it is about, in a few words" },
      },
    },
    for: (agent) => ctx.agents.get(agent)?.settings.presence !== undefined,
    async run(input, { agent: id, taskId }) {
      const agent = ctx.agents.get(id);
      if (agent === undefined) throw svcError("SVC_AGENT_UNKNOWN", `There is no agent '${id}'; see svc agent list.`, { agent: id });
      const asked = input.mode as Mode;
      const mode = modeFor(asked, agent);
      const note = typeof input.note === "string" ? input.note.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ").slice(0, NOTE_CHARS) : undefined;
      const said: SaidRow = { mode, at: Date.now(), ...(note === undefined ? {} : { note }) };
      await ctx.store.collection<SaidRow>("said").put(id, said);
      ctx.events.publish({
        kind: "status",
        type: "presence:changed",
        agentId: id,
        ...(taskId === undefined ? {} : { ref: taskId }),
        summary: `${id}: ${mode}`,
        data: { mode, asked },
      });
      if (asked === mode) return `mode: ${mode}`;
      return `mode: teach. You may not act here (agents.${id}.presence.allowActions is not set): show the person how it is done, and let them do it.`;
    },
  };
}
