import { existsSync } from "node:fs";
import { join } from "node:path";
import type { AgentTool, Confined, ToolCall } from "@svc/sdk";
import type { Coordinator } from "./coordinator.ts";

/** Where the hooks' script lies in the data folder. */
export const SCRIPT = join("attach", "hook.sh");

const placed = ({ pid, session }: ToolCall) => ({ ...(pid === undefined ? {} : { pid }), ...(session === undefined ? {} : { session }) });

/** `svc_attach_next` and `svc_attach_answer`. Offered once `svc attach install` has run: no agent of others is shown what it cannot use. */
export function attachTools(data: () => Pick<Confined, "roots">, coordinator: () => Promise<Coordinator>): readonly AgentTool[] {
  const installed = () => data().roots.some((root) => existsSync(join(root, SCRIPT)));
  return [
    {
      name: "svc_attach_next",
      description: "For an interactive session that wears a svc agent: take the next messages for that agent, at most 5. Answer each with svc_attach_answer.",
      input: { type: "object", additionalProperties: false, properties: { max: { type: "integer", minimum: 1, maximum: 5 } } },
      for: installed,
      async run({ max }, call) {
        const open = await coordinator();
        const [{ placeOf }, { handOut }] = await Promise.all([import("./place.js"), import("./hand-out.js")]);
        return JSON.stringify(await handOut(open, await placeOf(open.sessions, placed(call)), max as number | undefined));
      },
    },
    {
      name: "svc_attach_answer",
      description: "Answer a message that svc_attach_next or a hook handed over, by its id: `text` goes to its sender; or `refuse` it with a reason.",
      input: {
        type: "object",
        additionalProperties: false,
        properties: { id: { type: "string" }, text: { type: "string", minLength: 1 }, refuse: { type: "string", minLength: 1 } },
        required: ["id"],
      },
      for: installed,
      async run({ id, text, refuse }, call) {
        const open = await coordinator();
        const [{ placeOf }, { settle }] = await Promise.all([import("./place.js"), import("./hand-out.js")]);
        const place = await placeOf(open.sessions, placed(call));
        return `${id}: ${await settle(open, place, { id: String(id), text: text as string | undefined, refuse: refuse as string | undefined })}`;
      },
    },
  ];
}
