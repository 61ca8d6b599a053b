import { type CliHost, type CommandGroup, userName } from "@svc/sdk";
import type { VersionedEntry } from "./entries.ts";
import type { Mode } from "./mode.ts";

const EXPECT = { flags: "--expect <version>", description: "refuse if the entry has another version by now; 0: if there is one", number: { least: 0 } };

const group: CommandGroup = {
  name: "ledger",
  summary: "Which agent works on which subject of a project",
  commands: [
    {
      name: "list",
      args: "",
      summary: "What the ledger has, what was worked on last first",
      options: [
        { flags: "--project <id>", description: "of this project alone" },
        { flags: "--limit <n>", description: "at most so many (default 100)", number: { least: 1, most: 1_000 } },
      ],
      async run(_args, { project, limit }, cli) {
        const query = new URLSearchParams({
          ...(project === undefined ? {} : { project: String(project) }),
          ...(limit === undefined ? {} : { limit: String(limit) }),
        });
        const answer = (await cli.request("GET", `/ledger?${query}`)) as { readonly mode: Mode; readonly entries: readonly VersionedEntry[] };
        const none = answer.mode === "off" ? "The ledger is off: set INTENT_LEDGER_MODE to shadow or authoritative." : "The ledger is empty.";
        cli.print(answer.entries.length === 0 ? none : [`mode ${answer.mode}`, ...answer.entries.map(line)].join("\n"), answer);
      },
    },
    {
      name: "show",
      args: "<project> <subject>",
      summary: "One entry, with its version",
      async run([project = "", subject = ""], _options, cli) {
        const answer = (await cli.request("GET", `/ledger?${new URLSearchParams({ project, subject })}`)) as Told;
        print(answer, cli);
      },
    },
    {
      name: "assign",
      args: "<project> <subject> <agent>",
      summary: "Say who has it from now on",
      options: [EXPECT],
      async run([project = "", subject = "", agent = ""], { expect }, cli) {
        const body = { project, subject, agent, by: userName().slice(0, 100), ...(expect === undefined ? {} : { expect: Number(expect) }) };
        print((await cli.request("POST", "/ledger/assign", body)) as Told, cli);
      },
    },
    {
      name: "release",
      args: "<project> <subject>",
      summary: "Nobody has it any more: the next agent that works on it does",
      options: [EXPECT],
      async run([project = "", subject = ""], { expect }, cli) {
        const body = { project, subject, ...(expect === undefined ? {} : { expect: Number(expect) }) };
        const answer = (await cli.request("POST", "/ledger/release", body)) as { readonly released: boolean };
        cli.print(answer.released ? `Nobody has ${oneLine(subject)} of ${oneLine(project)} any more.` : "Nobody had it.", answer);
      },
    },
  ],
};
export default group;

interface Told {
  readonly mode: Mode;
  readonly entry: VersionedEntry;
}

function print(answer: Told, cli: CliHost): void {
  const { entry, mode } = answer;
  const { root, task, since, turns, assignedBy, version } = entry;
  const facts = [
    ["mode", mode],
    ["since", `${new Date(since).toISOString()}${assignedBy === undefined ? "" : `, by ${assignedBy}`}`],
    ["turns", String(turns)],
    ["task", task ?? "none yet"],
    ["root", root ?? "none yet"],
    ["version", String(version)],
  ];
  cli.print([line(entry), ...facts.map(([name = "", value = ""]) => `  ${name.padEnd(8)} ${oneLine(value)}`)].join("\n"), answer);
}

function line({ project, subject, agent, at, other }: VersionedEntry): string {
  const differs = other === undefined ? "" : `  but ${other.agent} ran ${other.times} of its turns, last ${other.task}`;
  return oneLine(`${project}  ${subject}  ${agent}  ${new Date(at).toISOString()}${differs}`);
}

// Subjects are strangers' words: they move no cursor of the operator's terminal.
const oneLine = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ");
