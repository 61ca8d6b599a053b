import { type AgentTool, type PluginContext, reasonOf, sleep } from "@svc/sdk";
import { endWords } from "./call-row.ts";
import { fail } from "./errors.ts";
import type { Opened } from "./opened.ts";
import type { CallsSettings } from "./settings.ts";
import { mayRing } from "./who-may.ts";

const WHO = {
  type: "string",
  minLength: 1,
  maxLength: 200,
  description: "channel or channel:chat of the person; left out: everybody who is rung here",
} as const;
const WHY = { type: "string", minLength: 1, maxLength: 500, description: "what it is about, in a few words that the person reads" } as const;
const LOOK_MS = 250;

/** Tools of agents that may call people. */
export function callTools(open: () => Promise<Opened>, settings: () => CallsSettings, { log }: Pick<PluginContext, "log">): readonly AgentTool[] {
  const may = (agent: string) => mayRing(settings().allow, agent);
  const ringTool = (name: string, kind: "call" | "camera", description: string): AgentTool => ({
    name,
    description,
    input: { type: "object", additionalProperties: false, required: ["why"], properties: { person: WHO, why: WHY } },
    for: may,
    async run({ person, why }, { agent, limitMs = 60_000, signal }) {
      const { call } = await (await open()).place({ kind, why: why as string, ...(person === undefined ? {} : { to: person as string }) }, { task: agent });
      const until = Date.now() + Math.max(1_000, limitMs - 10_000);
      while (call.row.state === "ringing" && Date.now() < until && !signal.aborted) await sleep(LOOK_MS, signal);
      const { id, state, person: who } = call.row;
      log.debug({ call: id, state }, "an agent has rung");
      if (state === "ended") return `${id}: ${endWords(call.row)}`;
      if (state === "ringing") return `${id}: it still rings.`;
      return kind === "camera"
        ? `${id}: ${who} shows the camera. Ask for a picture with svc_camera_picture; it comes as a message of its own.`
        : `${id}: ${who} has answered. You hear and say nothing: what is said is written down, and you are asked to sum it up when the call is over.`;
    },
  });
  return [
    ringTool("svc_call", "call", "Ring a person on their channels, to have them say something that is written down. Counts against an hourly limit."),
    ringTool("svc_camera", "camera", "Ask a person to show you something with their camera. Counts against an hourly limit."),
    {
      name: "svc_camera_picture",
      description: "Ask for a picture of a camera session that is on. The picture comes as a message of its own.",
      input: { type: "object", additionalProperties: false, required: ["session"], properties: { session: { type: "string", minLength: 1, maxLength: 40 } } },
      for: may,
      async run({ session }, { agent }) {
        const opened = await open();
        const call = await opened.running(session as string);
        if (call.row.agent !== agent) throw fail("SVC_CALLS_UNKNOWN", { id: session });
        try {
          return `Picture ${opened.camera.ask(call)} is asked for.`;
        } catch (error) {
          return `No picture: ${reasonOf(error)}`;
        }
      },
    },
  ];
}
