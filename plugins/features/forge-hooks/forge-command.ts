import type { CommandGroup } from "@svc/sdk";
import type { Found } from "./backfill.ts";
import type { ForgeView } from "./hub.ts";
import type { Decision } from "./rows.ts";

interface Status {
  readonly forges: readonly ForgeView[];
  readonly decisions: readonly Decision[];
  readonly actions: readonly {
    readonly at: number;
    readonly agent: string;
    readonly askedBy: string;
    readonly act: string;
    readonly project: string;
    readonly said: string;
  }[];
}

const group: CommandGroup = {
  name: "forge",
  summary: "Code forges: what is connected, what came in, look for what was missed",
  commands: [
    {
      name: "status",
      args: "",
      summary: "Forges with their agents, what runs, and why notes were or were not taken, newest first",
      options: [{ flags: "--limit <count>", description: "how many notes (default 20)", number: { least: 1, most: 500 } }],
      async run(_args, { limit = 20 }, cli) {
        const status = (await cli.request("GET", `/forges?limit=${limit}`)) as Status;
        const { forges, decisions, actions } = status;
        if (forges.length === 0) return cli.print("No code forge is connected; see svc connect, or channels.forge_a and channels.forge_b in svc.json.", status);
        const lines = [
          ...forges.flatMap(forgeLines),
          ...(decisions.length === 0 ? ["Nothing has come in yet."] : ["Notes:", ...decisions.map(decisionLine)]),
          ...(actions.length === 0
            ? []
            : ["What agents did:", ...actions.map((one) => `  ${iso(one.at)}  ${one.agent} ${one.act} in ${one.project} for ${one.askedBy}: ${one.said}`)]),
        ];
        cli.print(lines.join("\n"), status);
      },
    },
    {
      name: "backfill",
      args: "[forge]",
      summary: "Look for mentions that no webhook told of, and answer each once",
      async run([forge], _options, cli) {
        const { forges } = (await cli.request("GET", "/forges?limit=1")) as Status;
        const names = forge === undefined ? forges.map(({ name }) => name) : [forge];
        const found: Found[] = [];
        for (const name of names) found.push((await cli.request("POST", `/forges/${encodeURIComponent(name)}/backfill`)) as Found);
        cli.print(found.map(foundLine).join("\n") || "No code forge is connected.", found);
      },
    },
  ],
};
export default group;

const iso = (at: number): string => new Date(at).toISOString();

function forgeLines({ name, origin, path, secret, agents, runs, waiting, looked }: ForgeView): readonly string[] {
  return [
    `${name}  ${origin}  webhooks at ${path}: ${secret === "set" ? "signed" : "refused, no webhookSecret is set"}${waiting > 0 ? `  ${waiting} notes wait` : ""}`,
    ...agents.map(
      ({ agent, login, shared, comments }) =>
        `  ${agent} as ${login === undefined ? "a user that is not known yet" : `@${login}`}${shared ? " (shared)" : ""}${comments ? "" : ", does not comment by itself"}`,
    ),
    ...runs.map(({ where, asker, url }) => `  ${where}, asked by ${asker}  ${url}`),
    ...(looked === undefined ? [] : [`  ${iso(looked.at)} ${foundLine(looked)}`]),
  ];
}

const decisionLine = ({ at, url, via, agents, reason }: Decision): string =>
  `  ${iso(at)}  ${via}  ${url}  ${reason === undefined ? `starts ${agents.join(", ")}` : `not taken: ${reason}`}`;

const foundLine = ({ forge, lists, looked, taken, failed }: Found): string =>
  `${forge}: ${lists} lists read, ${looked} notes looked at, ${taken} taken up${failed.length === 0 ? "" : `; failed: ${failed.join("; ")}`}`;
