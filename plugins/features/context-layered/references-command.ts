import { type CliHost, type CommandGroup, svcError } from "@svc/sdk";
import type { Judged } from "./reference-registry.ts";
import { standing } from "./references.ts";

const path = (agent: string, more = "") => `/agents/${encodeURIComponent(agent)}/references${more}`;

const group: CommandGroup = {
  name: "references",
  summary: "References that agents may rely on: what was checked, and whether it still is the same",
  commands: [
    {
      name: "list",
      args: "<agent>",
      summary: "Its references, and whether they still are what was checked",
      run: ([agent = ""], _options, cli) => list(cli, agent),
    },
    {
      name: "add",
      args: "<agent> <name> <at>",
      summary: "Add a file of the workspace or an address, as checked now",
      options: [{ flags: "--note <text>", description: "what it is good for" }],
      async run([agent = "", name, at], { note }, cli) {
        const { reference } = (await cli.request("POST", path(agent), { name, at, ...(note === undefined ? {} : { note }) })) as { reference: Judged };
        cli.print(line(reference), reference);
      },
    },
    {
      name: "verify",
      args: "<agent> [name]",
      summary: "Look at one or all of them now, addresses too; fails where one is not what was checked",
      options: [{ flags: "--accept", description: "what is there now is right" }],
      run: ([agent = "", name], { accept }, cli) => verify(cli, agent, name, accept === true),
    },
    {
      name: "remove",
      args: "<agent> <name>",
      summary: "Remove one; the file itself stays",
      async run([agent = "", name], _options, cli) {
        await cli.request("POST", path(agent, "/remove"), { name });
        cli.print(`Reference ${name} of ${agent} is removed.`, { agent, name, removed: true });
      },
    },
  ],
};
export default group;

const line = (reference: Judged): string =>
  [reference.name, reference.at, standing(reference), ...(reference.note === undefined ? [] : [reference.note])].join("  ");

async function list(cli: CliHost, agent: string): Promise<void> {
  const { references } = (await cli.request("GET", path(agent))) as { references: readonly Judged[] };
  cli.print(references.map(line).join("\n") || `There is none; add one with: svc references add ${agent} <name> <path or address>`, references);
}

async function verify(cli: CliHost, agent: string, name: string | undefined, accept: boolean): Promise<void> {
  const { references } = (await cli.request("POST", path(agent, "/verify"), { accept, ...(name === undefined ? {} : { name }) })) as {
    references: readonly Judged[];
  };
  cli.print(references.map(line).join("\n"), references);
  const bad = references.filter(({ state }) => state === "unverified");
  if (bad.length === 0) return;
  throw svcError(
    "SVC_REFERENCE_UNVERIFIED",
    `${bad.length} of ${references.length} are not what was checked; mend them, or say that they are right: --accept`,
    { status: 422 },
  );
}
