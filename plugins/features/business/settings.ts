import type { ObjectSchema, Schema, SectionProblem } from "@svc/sdk";
import { circlesOf } from "./chart.ts";
import { isDays } from "./window.ts";

/** A working window as svc.json has it. */
export interface WindowSettings {
  readonly start: string;
  readonly end: string;
  readonly days?: string | readonly string[];
  readonly timezone?: string;
  readonly utilization?: number;
}

/** An entry of the chart as svc.json has it. */
export interface EntrySettings {
  readonly role?: string | readonly string[];
  readonly reportsTo?: string;
  readonly workingWindow?: WindowSettings;
}

/** An entry of the contact map as svc.json has it. */
export interface ContactSettings {
  readonly channel?: string;
  readonly chatId?: string;
  readonly username?: string;
  readonly senderId?: string;
  readonly client?: string;
  readonly project?: string;
  readonly displayName?: string;
}

/** `business` of svc.json (001:L252). Further keys are kept and not read. */
export interface BusinessSettings {
  readonly timezone?: string;
  readonly orgChart?: Readonly<Record<string, EntrySettings>>;
  readonly projects?: readonly { readonly id: string; readonly pm?: string; readonly client?: string }[];
  readonly contactMap?: readonly ContactSettings[];
}

/** No control characters: names are shown on terminals and in contexts. */
const LINE = "^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]+$";
const word = (description: string): Schema => ({ type: "string", minLength: 1, maxLength: 200, pattern: LINE, description });
const time = (description: string): Schema => ({ type: "string", pattern: "^([01][0-9]|2[0-3]):[0-5][0-9]$", description });
const zone: Schema = { type: "string", minLength: 1, format: "timezone", description: "IANA time zone of working windows, such as Europe/Berlin; default UTC" };

const WINDOW: ObjectSchema = {
  type: "object",
  additionalProperties: false,
  required: ["start", "end"],
  description: "when somebody works",
  properties: {
    start: time("HH:MM"),
    end: time("HH:MM; before the start: on the next day; the same: a whole day"),
    days: {
      anyOf: [
        { type: "string", minLength: 3 },
        { type: "array", items: { type: "string", minLength: 3 }, minItems: 1, maxItems: 7 },
      ],
      description: "days on which it starts: mon to sun, or ranges such as mon-fri; default mon-fri",
    },
    timezone: zone,
    utilization: { type: "number", minimum: 0, maximum: 100, description: "percent of that time which may be planned; told, and not acted upon" },
  },
};

/** The schema of the section. */
export const BUSINESS: ObjectSchema = {
  type: "object",
  restart: true,
  additionalProperties: true,
  description: "organisation, projects and contacts",
  properties: {
    timezone: zone,
    orgChart: {
      type: "object",
      description: "who works here: agents and people by id",
      propertyNames: { minLength: 1, maxLength: 100, pattern: LINE },
      additionalProperties: {
        type: "object",
        additionalProperties: false,
        properties: {
          role: {
            anyOf: [word("role"), { type: "array", items: word("role"), minItems: 1, maxItems: 50 }],
            description: "role, or several",
          },
          reportsTo: word("id of the superior: an entry of the chart, or an agent"),
          workingWindow: WINDOW,
        },
      },
    },
    projects: {
      type: "array",
      description: "what is worked on",
      items: {
        type: "object",
        additionalProperties: false,
        required: ["id"],
        properties: { id: word("its name"), pm: word("id of the project manager: an agent, or an entry of the chart"), client: word("whom it is for") },
      },
    },
    contactMap: {
      type: "array",
      description: "whom addresses on channels belong to",
      items: {
        type: "object",
        additionalProperties: false,
        properties: {
          channel: word("channel, such as botmsg"),
          chatId: word("chat"),
          senderId: word("the platform's own id of the sender, which never changes hands"),
          username: word("the sender's handle, which may change hands"),
          client: word("whose contact it is"),
          project: word("id of the project that is written about"),
          displayName: word("what people call the contact"),
        },
      },
    },
  },
};

const error = (path: string, message: string): SectionProblem => ({ path, message, severity: "error" });

/** Checks that the schema cannot express. */
export function checkBusiness(section: BusinessSettings, { agents }: { readonly agents: readonly string[] }): readonly SectionProblem[] {
  const { orgChart = {}, projects = [], contactMap = [] } = section;
  const known = new Set([...agents, ...Object.keys(orgChart)]);
  return [...chartProblems(orgChart, known), ...projectProblems(projects, known, new Set(agents)), ...contactProblems(contactMap, projects)];
}

function chartProblems(chart: NonNullable<BusinessSettings["orgChart"]>, known: ReadonlySet<string>): readonly SectionProblem[] {
  const entries = Object.entries(chart).flatMap(([id, { reportsTo, workingWindow }]) => [
    ...(reportsTo === undefined || known.has(reportsTo)
      ? []
      : [error(`orgChart.${id}.reportsTo`, `names '${reportsTo}', which neither orgChart nor agents have; add an entry for it, or correct the name`)]),
    ...(workingWindow?.days === undefined || isDays(workingWindow.days)
      ? []
      : [error(`orgChart.${id}.workingWindow.days`, "has a day that there is not; write mon, tue, wed, thu, fri, sat, sun, or a range such as mon-fri")]),
  ]);
  const superiors = new Map(Object.entries(chart).map(([id, { reportsTo }]) => [id, reportsTo]));
  const circles = circlesOf(superiors).map((circle) =>
    error(
      `orgChart.${circle[0]}.reportsTo`,
      `leads in a circle: ${[...circle, circle[0]].join(" > ")}; one of them must report to somebody else, or to nobody`,
    ),
  );
  return [...entries, ...circles];
}

function projectProblems(
  projects: NonNullable<BusinessSettings["projects"]>,
  known: ReadonlySet<string>,
  agents: ReadonlySet<string>,
): readonly SectionProblem[] {
  const seen = new Set<string>();
  return projects.flatMap(({ id, pm }, at) => {
    const twice = seen.has(id);
    seen.add(id);
    return [
      ...(twice ? [error(`projects[${at}].id`, `'${id}' is there twice; give each project an id of its own`)] : []),
      ...(pm === undefined || known.has(pm)
        ? []
        : [error(`projects[${at}].pm`, `names '${pm}', which neither orgChart nor agents have; add an entry for it, or correct the name`)]),
      ...(pm === undefined || !known.has(pm) || agents.has(pm)
        ? []
        : [{ path: `projects[${at}].pm`, message: `is no agent: while INTENT_PM_GATE_ENABLED is true, messages about '${id}' are refused` }]),
    ];
  });
}

function contactProblems(contacts: readonly ContactSettings[], projects: NonNullable<BusinessSettings["projects"]>): readonly SectionProblem[] {
  const clients = new Map(projects.map(({ id, client }) => [id, client]));
  const first = new Map<string, number>();
  return contacts.flatMap(({ channel, chatId, senderId, username, project, client }, at): SectionProblem[] => {
    const problems: SectionProblem[] = [];
    const path = `contactMap[${at}]`;
    if (project !== undefined && !clients.has(project))
      problems.push(error(`${path}.project`, `names '${project}', which projects do not have; add it there, or correct the name`));
    const other = project === undefined ? undefined : clients.get(project);
    if (client !== undefined && other !== undefined && client !== other)
      problems.push({ path: `${path}.client`, message: `is '${client}', and the project '${project}' is for '${other}'; the contact's own counts` });
    if (channel === undefined || (chatId ?? senderId ?? username) === undefined) {
      problems.push({ path, message: "matches nobody: it needs a channel, and a senderId, chatId or username" });
      return problems;
    }
    const address = JSON.stringify([channel, chatId, senderId, username?.replace(/^@/, "").toLowerCase()]);
    const before = first.get(address);
    if (before === undefined) first.set(address, at);
    else problems.push(error(path, `has the same address as contactMap[${before}]; an address belongs to one contact`));
    return problems;
  });
}
