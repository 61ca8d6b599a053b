import { type CliHost, type CommandGroup, type People, type Person, svcError } from "@svc/sdk";
import { createPeople } from "./people.ts";
import type { BusinessSettings } from "./settings.ts";
import { daysOf } from "./window.ts";

const DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
const NONE = "svc.json has no section business; see the README of the feature business.";

const group: CommandGroup = {
  name: "business",
  summary: "Who is who: roles, superiors, projects, and whom an address belongs to",
  commands: [
    {
      name: "list",
      args: "",
      summary: "Everybody of the chart, all projects, and the number of contacts",
      async run(_args, _options, cli) {
        const { people, section } = await read(cli);
        const contacts = section.contactMap?.length ?? 0;
        const lines = [...people.list().map((person) => personLine(person, people)), ...people.projects().map((project) => projectLine(project))];
        cli.print([...lines, `${contacts} ${contacts === 1 ? "contact" : "contacts"}`].map(oneLine).join("\n"), {
          people: people.list(),
          projects: people.projects(),
          contacts,
        });
      },
    },
    {
      name: "show",
      args: "<id>",
      summary: "One agent, person or project",
      async run([id = ""], _options, cli) {
        const { people } = await read(cli);
        const person = people.get(id);
        const project = people.project(id);
        if (person === undefined && project === undefined)
          throw svcError("SVC_BUSINESS_UNKNOWN", `Neither orgChart nor projects of the section business have '${oneLine(id)}'; see svc business list.`);
        const superiors = people.superiorsOf(id);
        const reports = people.list().filter(({ reportsTo }) => reportsTo === id);
        const working = people.working(id);
        const lines = [
          ...(person === undefined ? [] : [personLine(person, people)]),
          ...(superiors.length === 0 ? [] : [`  above      ${superiors.join(" > ")}`]),
          ...(reports.length === 0 ? [] : [`  below      ${reports.map((one) => one.id).join(", ")}`]),
          ...(working === undefined ? [] : [`  works      ${working.working ? "now, until" : "not now, from"} ${new Date(working.until).toISOString()}`]),
          ...(project === undefined ? [] : [projectLine(project)]),
        ];
        cli.print(lines.map(oneLine).join("\n"), {
          ...(person === undefined ? {} : { person, superiors, reports: reports.map((one) => one.id), ...(working === undefined ? {} : { working }) }),
          ...(project === undefined ? {} : { project }),
        });
      },
    },
    {
      name: "org",
      args: "",
      summary: "The chart as a tree",
      async run(_args, _options, cli) {
        const { people } = await read(cli);
        cli.print(treeOf(people).map(oneLine).join("\n") || "The chart is empty.", { tree: branchesOf(people) });
      },
    },
    {
      name: "whois",
      args: "<channel> [sender]",
      summary: "Whom an address belongs to",
      options: [
        { flags: "--chat <id>", description: "the chat" },
        { flags: "--username <handle>", description: "the sender's handle" },
      ],
      async run([channel = "", sender], { chat, username }, cli) {
        if ((sender ?? chat ?? username) === undefined) throw svcError("SVC_CLI_USAGE", "Say who: a sender's id, --chat or --username.");
        const { people } = await read(cli);
        const contact = people.whois({
          channel,
          ...(sender === undefined ? {} : { sender }),
          ...(chat === undefined ? {} : { chat: String(chat) }),
          ...(username === undefined ? {} : { username: String(username) }),
        });
        const pm = people.project(contact?.project ?? "")?.pm;
        const facts = { ...contact, ...(pm === undefined ? {} : { pm }) };
        const words = Object.entries(facts).map(([name, value]) => `${name.padEnd(12)} ${oneLine(value)}`);
        cli.print(contact === undefined ? "Nobody of business.contactMap has that address." : words.join("\n"), {
          contact: contact === undefined ? null : facts,
        });
        if (contact === undefined) process.exitCode = 1;
      },
    },
  ],
};
export default group;

/** The section as svc.json has it now: the daemon has that of its last start. */
async function read(cli: CliHost): Promise<{ readonly people: People; readonly section: BusinessSettings }> {
  const section = (await cli.section("business")) as BusinessSettings | null | undefined;
  if (section === undefined || section === null) throw svcError("SVC_BUSINESS_NONE", NONE);
  return { people: createPeople(section), section };
}

function personLine({ id, roles, reportsTo, workingWindow }: Person, people: People): string {
  const above = reportsTo === undefined ? "" : `  reports to ${reportsTo}`;
  const led = people.projects().filter(({ pm }) => pm === id);
  return `${id}  ${roles.join(", ") || "no role"}${above}${workingWindow === undefined ? "" : `  ${windowWords(workingWindow)}`}${led.length === 0 ? "" : `  manages ${led.map((one) => one.id).join(", ")}`}`;
}

const projectLine = ({ id, pm, client }: { readonly id: string; readonly pm?: string; readonly client?: string }): string =>
  `project ${id}  ${pm === undefined ? "no manager" : `managed by ${pm}`}${client === undefined ? "" : `  for ${client}`}`;

const windowWords = ({ start, end, days, timezone, utilization }: NonNullable<Person["workingWindow"]>): string =>
  `${start}-${end} ${days.length === 0 ? daysOf().join() : days.map((day) => DAYS[day - 1]).join(",")} ${timezone}${utilization === undefined ? "" : ` ${utilization} %`}`;

interface Branch {
  readonly id: string;
  readonly roles: readonly string[];
  readonly reports: readonly Branch[];
}

/** Returns the tree of people: those without a superior in the chart are its roots. `svc config check` refuses cycles; members of one are omitted. */
function branchesOf(people: People): readonly Branch[] {
  const below = new Map<string | undefined, Person[]>();
  for (const person of people.list()) {
    const above = person.reportsTo !== undefined && people.get(person.reportsTo) !== undefined ? person.reportsTo : undefined;
    below.set(above, [...(below.get(above) ?? []), person]);
  }
  const branch = ({ id, roles }: Person): Branch => ({ id, roles, reports: (below.get(id) ?? []).map(branch) });
  return (below.get(undefined) ?? []).map(branch);
}

function treeOf(people: People): readonly string[] {
  const lines = (branch: Branch, depth: number): string[] => [
    `${"  ".repeat(depth)}${branch.id}${branch.roles.length === 0 ? "" : `  ${branch.roles.join(", ")}`}`,
    ...branch.reports.flatMap((one) => lines(one, depth + 1)),
  ];
  return branchesOf(people).flatMap((branch) => lines(branch, 0));
}

// Names may come from a file that somebody else wrote: they move no cursor. Leading spaces are the tree's.
const oneLine = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ");
