import { type CliHost, type CommandGroup, svcError, userName } from "@svc/sdk";
import type { BoardItems, BoardView, Card } from "./board-view.ts";
import type { Moved } from "./boards.ts";

const group: CommandGroup = {
  name: "board",
  summary: "Boards: what there is, their cards, move a card",
  commands: [
    {
      name: "list",
      args: "",
      summary: "All boards with their source and columns",
      async run(_args, _options, cli) {
        const boards = await boardsOf(cli);
        cli.print(boards.map(boardLines).join("\n") || "There are no boards; add one to the section boards of svc.json.", { boards });
      },
    },
    {
      name: "show",
      args: "<id>",
      summary: "The cards of a board, as its source has them now",
      options: [{ flags: "--column <id>", description: "only this column" }],
      async run([id = ""], { column }, cli) {
        const items = await itemsOf(cli, id);
        const columns = items.columns.filter((one) => column === undefined || one.id === column);
        if (columns.length === 0)
          throw svcError("SVC_CLI_USAGE", `There is no column '${String(column)}'; there are ${items.columns.map((one) => one.id).join(", ")}.`);
        const shown = columns.flatMap(({ id: name, title, items: cards }) => [`${title} (${name}): ${cards.length}`, ...cards.map(cardLine)]);
        const rest = column !== undefined || items.unplaced.length === 0 ? [] : [`In no column: ${items.unplaced.length}`, ...items.unplaced.map(cardLine)];
        cli.print([...shown, ...rest, ...cut(items)].join("\n"), { ...items, columns });
      },
    },
    {
      name: "move",
      args: "<board> <item> <column>",
      summary: "Move a card: <item> is its number, or <project>#<number> on a board of several projects",
      options: [{ flags: "--from <column>", description: "refuse if the card is elsewhere by now" }],
      async run([id = "", item = "", to = ""], { from }, cli) {
        const itemId = await itemIdOf(cli, id, item);
        const body = { to, by: userName().slice(0, 100), ...(from === undefined ? {} : { from }) };
        const path = `/boards/${encodeURIComponent(id)}/items/${encodeURIComponent(itemId)}/move`;
        const moved = (await cli.request("PATCH", path, body, { "x-requested-with": "svc-board" })) as Moved;
        const { column, title } = moved.item;
        cli.print(
          `${itemId} is in ${column ?? "no column"}${column === to ? "" : `, not in ${to}: the source has decided otherwise`}: ${oneLine(title)}`,
          moved,
        );
      },
    },
  ],
};
export default group;

/** Asks the daemon for all boards. */
export async function boardsOf(cli: CliHost): Promise<readonly BoardView[]> {
  return ((await cli.request("GET", "/boards")) as { boards: readonly BoardView[] }).boards;
}

/** Asks the daemon for the cards of one board. */
export async function itemsOf(cli: CliHost, id: string): Promise<BoardItems> {
  return (await cli.request("GET", `/boards/${encodeURIComponent(id)}/items`)) as BoardItems;
}

/** A bare number means the board's only project. */
async function itemIdOf(cli: CliHost, id: string, item: string): Promise<string> {
  const number = /^#?(\d+)$/.exec(item)?.[1];
  if (number === undefined) return item;
  const board = (await boardsOf(cli)).find((one) => one.id === id);
  if (board === undefined) throw svcError("SVC_BOARD_UNKNOWN", `There is no board '${id}'; see svc board list.`);
  const [project, ...others] = board.source.projects;
  if (others.length > 0) throw svcError("SVC_CLI_USAGE", `The board '${id}' has several projects; write ${project}#${number} for an issue of the first.`);
  return `${project}#${number}`;
}

function boardLines({ id, name, source, available, movable, columns }: BoardView): string {
  const state = available ? (movable ? "" : "  read only") : `  no running plugin brings '${source.type}'`;
  return `${id}  ${name}  ${source.type}: ${source.projects.join(", ")}${state}\n  ${columns.map(({ id: column, mapsToLabel }) => (mapsToLabel === undefined ? column : `${column} (${mapsToLabel})`)).join(", ")}`;
}

/** A card as a line. */
export const cardLine = ({ id, title, assignees, agents }: Card): string =>
  `  ${id}  ${oneLine(title)}${[...agents, ...assignees].length > 0 ? `  [${[...agents, ...assignees].join(", ")}]` : ""}`;

// A title is a stranger's text: it moves no cursor of the operator's terminal.
const oneLine = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ");

/** Says that there are more cards than are shown. */
export const cut = ({ truncated }: BoardItems): readonly string[] =>
  truncated ? ["The source has more: a board shows 1,000 open and 1,000 closed issues."] : [];
