import type { Agent, PluginContext, Turn, TurnContext } from "@svc/sdk";
import { extract, type Pass } from "./extraction.ts";
import { chosen, layerOf, ranked } from "./layer.ts";
import { procedureError } from "./procedure-errors.ts";
import { openProcedureFolder, type ProcedureFolder } from "./procedure-folder.ts";
import type { ProcedureSettings } from "./settings.ts";
import type { Skill } from "./skill.ts";
import { createSkillFolders, type OverfullFolder } from "./skill-folders.ts";

/** A skill as lists show it. */
export interface Listed extends Omit<Skill, "body"> {
  readonly state: "draft" | "in use" | "broken" | "empty";
  /** Score of its match with the query. */
  readonly score?: number;
}

/** All of the procedures, once something of them is needed. */
export interface Opened {
  readonly folder: ProcedureFolder;
  /** Folders of skills of which not all are read, after a `list`. */
  overfull(): readonly OverfullFolder[];
  /** The context with the procedures that fit the request. */
  withProcedures(context: TurnContext, turn: Turn): Promise<TurnContext>;
  list(query: { readonly agent?: string; readonly drafts?: boolean; readonly match?: string }): Promise<readonly Listed[]>;
  /** A procedure or skill, or else the draft of that id. Throws `SVC_PROCEDURE_UNKNOWN`. */
  show(id: string): Promise<Listed & { readonly body: string }>;
  /** Undefined while another daemon's pass runs. One that runs here is joined. */
  extract(): Promise<Pass | undefined>;
}

const isFor = (agent: string) => (skill: Skill) => skill.agents === undefined || skill.agents.includes(agent);

/** Opens the folders of `settings`. */
export function openProcedures(ctx: PluginContext<ProcedureSettings>, settings: () => ProcedureSettings): Opened {
  let opened: { readonly dir: string; readonly folder: ProcedureFolder } | undefined;
  const folder = (): ProcedureFolder => {
    const { dir } = settings();
    if (opened?.dir !== dir) opened = { dir, folder: openProcedureFolder(ctx.files, dir) };
    return opened.folder;
  };
  const folders = createSkillFolders(ctx.files, () => settings().skills, ctx.log);
  let running: Promise<Pass | undefined> | undefined;

  let saidSo = false;
  async function told(skills: readonly Skill[]): Promise<readonly Skill[]> {
    const unread = saidSo || skills.length === 0 ? 0 : await folder().unread();
    if (unread > 0) {
      saidSo = true;
      ctx.log.warn({ dir: settings().dir, unread }, "the folder of procedures holds more files than are read: the first 500 by name are used");
    }
    return skills;
  }

  async function usable(agent: Agent): Promise<readonly Skill[]> {
    const [accepted, others] = await Promise.all([
      folder()
        .accepted()
        .catch((error): readonly Skill[] => {
          ctx.log.warn({ err: error }, "the folder of procedures was not read");
          return [];
        })
        .then((skills) => told(skills)),
      folders.of(agent),
    ]);
    return [...accepted.filter(isFor(agent.id)), ...others.filter(isFor(agent.id))];
  }

  async function everything(agent?: string): Promise<readonly Skill[]> {
    const agents = ctx.agents.list().filter(({ id }) => agent === undefined || id === agent);
    const [accepted, ...others] = await Promise.all([folder().accepted(), ...agents.map((one) => folders.of(one, true))]);
    const known = new Map([...accepted, ...others.flat()].map((skill) => [skill.id, skill]));
    return [...known.values()].filter((skill) => agent === undefined || isFor(agent)(skill));
  }

  return {
    get folder() {
      return folder();
    },
    overfull: () => folders.overfull(),
    async withProcedures(context, turn) {
      const layer = layerOf(chosen(await usable(turn.agent), context.prompt, settings().injection));
      return layer.text === "" ? context : { ...context, layers: [...context.layers, layer] };
    },
    async list({ agent, drafts = false, match }) {
      const rows = [
        ...(drafts ? [] : (await everything(agent)).map(listed)),
        ...(await folder().drafts()).filter((one) => agent === undefined || isFor(agent)(one)).map(asDraft),
      ];
      if (match === undefined) return rows;
      const scores = new Map(ranked(await everything(agent), match).map(({ skill, score }) => [skill.id, Math.round(score * 100) / 100]));
      return rows
        .map((row) => (row.state === "in use" ? { ...row, score: scores.get(row.id) ?? 0 } : row))
        .toSorted((left, right) => (right.score ?? -1) - (left.score ?? -1));
    },
    async show(id) {
      const used = (await everything()).find((skill) => skill.id === id);
      if (used !== undefined) return { ...listed(used), body: used.body };
      const draft = (await folder().drafts()).find((skill) => skill.id === id);
      if (draft === undefined) throw procedureError("SVC_PROCEDURE_UNKNOWN", { id });
      return { ...asDraft(draft), body: draft.body };
    },
    extract() {
      running ??= extract(ctx, folder(), settings().extraction).finally(() => {
        running = undefined;
      });
      return running;
    },
  };
}

function listed({ body, ...skill }: Skill): Listed {
  return { ...skill, state: skill.problem !== undefined ? "broken" : body === "" ? "empty" : "in use" };
}

const asDraft = ({ body: _, ...skill }: Skill): Listed => ({ ...skill, state: "draft" });
