import type { CliHost, CommandGroup } from "@svc/sdk";
import type { Pass } from "./extraction.ts";
import type { Listed } from "./opened.ts";

/** Of the answer of `GET /procedures`. */
interface Unread {
  readonly unread?: number;
  readonly overfull?: readonly { readonly folder: string; readonly unread: number }[];
}

const group: CommandGroup = {
  name: "skill",
  summary: "Procedures and skills: what there is, review what was learned",
  commands: [
    {
      name: "list",
      args: "",
      summary: "Procedures, skills of workspaces and folders, and drafts that wait for review",
      options: [
        { flags: "--agent <id>", description: "what this agent may be told" },
        { flags: "--drafts", description: "drafts alone" },
        { flags: "--match <words>", description: "how well each fits a request in these words" },
      ],
      run: (_args, { agent, drafts, match }, cli) => list(cli, { agent, drafts: drafts === true ? "true" : undefined, match }),
    },
    { name: "show", args: "<id>", summary: "One of them whole", run: ([id = ""], _options, cli) => show(cli, id) },
    {
      name: "promote",
      args: "<draft>",
      summary: "Put a draft to use",
      options: [{ flags: "--as <name>", description: "under another name" }],
      async run([id = ""], { as }, cli) {
        const { procedure } = (await cli.request("POST", "/procedures/promote", { id, ...(as === undefined ? {} : { as }) })) as { procedure: Listed };
        cli.print(`Procedure ${procedure.id} is in use: ${procedure.file}`, procedure);
      },
    },
    {
      name: "reject",
      args: "<draft>",
      summary: "Put a draft away; what it was learned from is not offered again",
      options: [{ flags: "--reason <text>", description: "why; it is kept with the draft" }],
      async run([id = ""], { reason }, cli) {
        const said = (await cli.request("POST", "/procedures/reject", { id, ...(reason === undefined ? {} : { reason }) })) as { file: string };
        cli.print(`Draft ${id} is rejected; it is kept as ${said.file}`, said);
      },
    },
    {
      name: "extract",
      args: "",
      summary: "Look through the runs of the last days for procedures now",
      async run(_args, _options, cli) {
        const { pass } = (await cli.request("POST", "/procedures/extract")) as { pass: Pass | null };
        cli.print(passLine(pass), pass);
      },
    },
  ],
};
export default group;

async function list(cli: CliHost, query: Readonly<Record<string, unknown>>): Promise<void> {
  const asked = new URLSearchParams(Object.entries(query).flatMap(([key, value]) => (value === undefined ? [] : [[key, String(value)] as [string, string]])));
  const answer = (await cli.request("GET", `/procedures?${asked}`)) as { procedures: readonly Listed[] } & Unread;
  const { procedures } = answer;
  const more = unreadLines(answer);
  cli.print([...procedures.map(line), ...more].join("\n") || "There is none. Skills are read from .agents/skills/<name>/SKILL.md of a workspace.", procedures);
}

/** A line for people for each thing that is not read. */
function unreadLines({ unread, overfull = [] }: Unread): readonly string[] {
  return [
    ...(unread === undefined ? [] : [`${unread} more files of procedures are not read: the first 500 by name are used. Move some away.`]),
    ...overfull.map((one) => `${one.unread} more skills of ${one.folder} are not read: the first 200 by name are used. Move some away.`),
  ];
}

function line({ id, state, description, file, problem, score, agents }: Listed): string {
  const about = problem ?? description.replace(/\s+/g, " ").slice(0, 100);
  return [id, state, ...(score === undefined ? [] : [score.toFixed(2)]), about, ...(agents === undefined ? [] : [`for ${agents.join(", ")}`]), file].join("  ");
}

async function show(cli: CliHost, id: string): Promise<void> {
  const { procedure } = (await cli.request("GET", `/procedures/one?id=${encodeURIComponent(id)}`)) as { procedure: Listed & { body: string } };
  const { body, ...facts } = procedure;
  cli.print([line(facts), body].filter((part) => part !== "").join("\n\n"), procedure);
}

function passLine(pass: Pass | null): string {
  if (pass === null) return "Another daemon looks through the runs now; look again soon: svc skill list --drafts";
  const { runs, clusters, drafts, none, failed } = pass;
  const failures = failed.map(({ agent, reason }) => `\nof ${agent} none was written: ${reason}`).join("");
  return `${runs} runs looked at, ${clusters} groups with enough of them: ${drafts.length} drafts${drafts.length === 0 ? "" : ` (${drafts.join(", ")})`}, ${none} without a procedure.${failures}`;
}
