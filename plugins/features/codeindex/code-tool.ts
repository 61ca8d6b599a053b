import { type Agent, type AgentTool, type PluginContext, svcError } from "@svc/sdk";
import type { Placed } from "./code-database.ts";
import type { CodeThread } from "./code-thread.ts";

const LIMIT = 50;
const MOST = 200;
/** Limit of one answer: the agent's context is limited. */
const LONGEST = 16_000;

/** Dependencies of the tool. */
export interface CodeDesk {
  agentOf(id: string): Agent;
  /** The real path of the workspace, and of the index. */
  placesOf(agent: Agent): Promise<{ readonly root: string; readonly file: string }>;
  readonly thread: CodeThread;
}

/** Description of the tool, needed at the start. */
export const CODE_TOOL: Omit<AgentTool, "run" | "for"> = {
  name: "svc_code",
  description:
    "Looks things up in the index of the workspace's code. do=definition: where a name is defined (Class.method works). do=references: where a name is used, without comments and strings. do=outline: what a file defines. Answers are path:line.",
  input: {
    type: "object",
    additionalProperties: false,
    required: ["do"],
    properties: {
      do: { type: "string", enum: ["definition", "references", "outline"] },
      name: { type: "string", minLength: 1, maxLength: 200, description: "for definition and references" },
      path: { type: "string", minLength: 1, maxLength: 1_000, description: "for outline: the file, from the workspace" },
      limit: { type: "integer", minimum: 1, maximum: MOST, default: LIMIT },
    },
  },
};

/** Answers one call of the tool. */
export async function runCodeTool(desk: CodeDesk, input: Record<string, unknown>, agentId: string): Promise<string> {
  const { do: what, name, path, limit = LIMIT } = input as { do: string; name?: string; path?: string; limit?: number };
  const { root, file } = await desk.placesOf(desk.agentOf(agentId));
  if (what === "outline") {
    if (path === undefined) throw svcError("SVC_CODE_QUESTION", "Give the path of a file for an outline.", { status: 400, field: "path" });
    const answer = await desk.thread.ask({ op: "outline", root, file, path, limit });
    if (answer === null) return building(agentId);
    if (answer.path === undefined)
      return answer.others.length === 0
        ? `There is no file ${plain(path)} in the index.`
        : `There is no file ${plain(path)}; do you mean one of these?\n${answer.others.map(plain).join("\n")}`;
    if (answer.problem !== undefined) return `${plain(answer.path)} is not in the index: ${answer.problem}.`;
    return told([`${plain(answer.path)}:`, ...answer.places.map((place) => `${place.line}-${place.endLine} ${about(place)}`)], answer.places.length >= limit);
  }
  if (name === undefined) throw svcError("SVC_CODE_QUESTION", `Give a name for do=${what}.`, { status: 400, field: "name" });
  if (what === "references") {
    const answer = await desk.thread.ask({ op: "references", root, file, name, limit });
    if (answer === null) return building(agentId);
    if (answer.places.length === 0) return `${plain(name)} is used nowhere in the code of the workspace.`;
    return told(
      answer.places.map((place) => `${plain(place.path)}:${place.line}: ${plain(place.text)}`),
      answer.more,
    );
  }
  const answer = await desk.thread.ask({ op: "definition", file, name, limit });
  if (answer === null) return building(agentId);
  if (answer.places.length === 0) return `${plain(name)} is defined nowhere in the code of the workspace.`;
  const head = answer.loosely ? [`Nothing is called exactly ${plain(name)}; these are like it:`] : [];
  return told([...head, ...answer.places.map((place) => `${plain(place.path)}:${place.line} ${about(place)}`)], answer.places.length >= limit);
}

const building = (agent: string) => `The code index of ${agent} is being built for the first time; read the files meanwhile, and ask again in a minute.`;

const about = ({ kind, container, name, text }: Placed): string => `${kind} ${container === "" ? "" : `${plain(container)}.`}${plain(name)}: ${plain(text)}`;

/** A name of a file or a line of code on one line, whatever is in it. */
const plain = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ").slice(0, 300);

function told(lines: readonly string[], more: boolean): string {
  const kept: string[] = [];
  let size = 0;
  for (const line of lines) {
    size += line.length + 1;
    if (size > LONGEST) return [...kept, "(there are more; ask for something narrower)"].join("\n");
    kept.push(line);
  }
  return [...kept, ...(more ? ["(there may be more; give a limit of up to 200, or ask for something narrower)"] : [])].join("\n");
}

/** The desk of a plugin. */
export function codeDesk(ctx: Pick<PluginContext, "agents" | "files">, thread: CodeThread): CodeDesk {
  return {
    thread,
    agentOf(id) {
      const agent = ctx.agents.get(id);
      if (agent === undefined) throw svcError("SVC_AGENT_UNKNOWN", `There is no agent '${id}'; see svc agent list.`, { status: 404, field: "agentId" });
      if (agent.settings["codeindex"] !== true)
        throw svcError("SVC_CODE_OFF", `Agent ${id} has no code index; switch it on with: svc config set agents.${id}.codeindex true`, { status: 409 });
      return agent;
    },
    async placesOf(agent) {
      const [root, file] = await Promise.all([ctx.files.under(agent.workspace).resolve("."), ctx.files.own.resolve(`${agent.id}.db`)]);
      return { root, file };
    },
  };
}
