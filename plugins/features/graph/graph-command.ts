import { type CliHost, type CommandGroup, svcError } from "@svc/sdk";
import type { Drafted } from "./drafting.ts";
import type { BrokenFile, Draft } from "./graph-folder.ts";
import type { GraphChange, GraphNode } from "./graph-node.ts";
import type { Hit } from "./retrieval.ts";

const group: CommandGroup = {
  name: "graph",
  summary: "The intent graph: its nodes, what a request would find, drafts of changes",
  commands: [
    {
      name: "list",
      args: "",
      summary: "The nodes, and files that hold none",
      options: [
        { flags: "--drafts", description: "drafts that wait for review" },
        { flags: "--match <words>", description: "what a request in these words would find" },
      ],
      run: (_args, { drafts, match }, cli) => (drafts === true ? listDrafts(cli) : list(cli, match)),
    },
    {
      name: "show",
      args: "<id>",
      summary: "One node whole",
      async run([id = ""], _options, cli) {
        const { node } = (await cli.request("GET", `/graph/nodes/${encodeURIComponent(id)}`)) as { node: GraphNode };
        cli.print(
          [line(node), ...(node.links.length === 0 ? [] : [`links: ${node.links.join(", ")}`]), node.text].filter((part) => part !== "").join("\n\n"),
          node,
        );
      },
    },
    {
      name: "draft",
      args: "[text]",
      summary: "Have graph.draftAgent draft changes out of words, or out of a task",
      options: [{ flags: "--task <id>", description: "what this task was asked and has answered" }],
      async run([text], { task }, cli) {
        if ((text === undefined) === (task === undefined)) throw svcError("SVC_CLI_USAGE", "Give the words, or the task: svc graph draft --task <id>");
        const { drafted } = (await cli.request("POST", "/graph/draft", text === undefined ? { task } : { text })) as { drafted: readonly Drafted[] };
        cli.print(drafted.map(draftedLine).join("\n") || "The agent proposes no change.", drafted);
      },
    },
    {
      name: "promote",
      args: "<draft>",
      summary: "Make the change of a draft",
      async run([id = ""], _options, cli) {
        const { change } = (await cli.request("POST", `/graph/drafts/${encodeURIComponent(id)}/promote`)) as { change: GraphChange };
        cli.print(`Done: ${change.change} ${change.node.id}.`, change);
      },
    },
    {
      name: "reject",
      args: "<draft>",
      summary: "Put a draft away",
      options: [{ flags: "--reason <text>", description: "why; it is kept with the draft" }],
      async run([id = ""], { reason }, cli) {
        const said = (await cli.request("POST", `/graph/drafts/${encodeURIComponent(id)}/reject`, reason === undefined ? {} : { reason })) as { file: string };
        cli.print(`Draft ${id} is rejected; it is kept as ${said.file}`, said);
      },
    },
  ],
};
export default group;

const line = ({ id, title, parent }: GraphNode): string => [id, title, ...(parent === undefined ? [] : [`part of ${parent}`])].join("  ");

async function list(cli: CliHost, match: unknown): Promise<void> {
  const query = match === undefined ? "" : `?match=${encodeURIComponent(String(match))}`;
  const { nodes, broken, hits } = (await cli.request("GET", `/graph${query}`)) as {
    nodes: readonly GraphNode[];
    broken: readonly BrokenFile[];
    hits?: readonly Hit[];
  };
  if (hits !== undefined) {
    const lines = hits.map(({ node, score, bm25, graph }) => `${score.toFixed(2)}  ${line(node)}  (words ${bm25.toFixed(2)}, graph ${graph.toFixed(2)})`);
    return cli.print(lines.join("\n") || "No node has a word of it.", hits);
  }
  const bad = broken.map(({ file, problem }) => `${file}: left out, ${problem}`);
  cli.print([...nodes.map(line), ...bad].join("\n") || "There is none; write a first one: .svc/graph/<id>.yaml with a title", { nodes, broken });
}

async function listDrafts(cli: CliHost): Promise<void> {
  const { drafts } = (await cli.request("GET", "/graph/drafts")) as { drafts: readonly Draft[] };
  const lines = drafts.map(({ id, file, change, problem }) =>
    change === undefined
      ? `${id}  broken: ${problem}  ${file}`
      : [id, `${change.change} ${line(change.node)}`, `confidence ${change.confidence}`, change.review ?? change.reason ?? "", file].join("  "),
  );
  cli.print(lines.join("\n") || "No draft waits.", drafts);
}

const draftedLine = ({ change, node, outcome, draft, reason }: Drafted): string =>
  [`${change} ${node}`, draft === undefined ? outcome : `waits as the draft ${draft}`, ...(reason === undefined ? [] : [reason])].join("  ");
