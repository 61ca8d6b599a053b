import { type CommandGroup, svcError } from "@svc/sdk";
import { boardsOf, cardLine, cut, itemsOf } from "./board-command.ts";

const group: CommandGroup = {
  name: "backlog",
  summary: "The cards that nobody has taken up yet",
  commands: [
    {
      name: "backlog",
      args: "[board]",
      summary: "The cards of a board, or of all boards, that have no label of a column yet",
      async run([only], _options, cli) {
        const boards = (await boardsOf(cli)).filter(({ id }) => only === undefined || id === only);
        if (only !== undefined && boards.length === 0) throw svcError("SVC_BOARD_UNKNOWN", `There is no board '${only}'; see svc board list.`);
        const lines: string[] = [];
        const backlogs = [];
        for (const { id, name } of boards) {
          const items = await itemsOf(cli, id);
          const first = items.columns.find(({ kind }) => kind === "open-backlog") ?? items.columns[0];
          if (first === undefined) continue;
          lines.push(`${name} (${id}), ${first.title}: ${first.items.length}`, ...first.items.map(cardLine), ...cut(items));
          backlogs.push({ board: id, column: first.id, readAt: items.readAt, items: first.items });
        }
        cli.print(lines.join("\n") || "There are no boards; add one to the section boards of svc.json.", { backlogs });
      },
    },
  ],
};
export default group;
