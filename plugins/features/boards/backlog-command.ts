import { type CommandGroup, reasonOf, svcError } from "@svc/sdk";
import { boardsOf, cardLine, cut, itemsOf } from "./board-command.ts";
import type { BoardItems } from "./board-view.ts";

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
        let failure: unknown;
        for (const { id, name } of boards) {
          let items: BoardItems;
          try {
            items = await itemsOf(cli, id);
          } catch (error) {
            // A source that is away hides no other board.
            failure = error;
            lines.push(`${name} (${id}): ${reasonOf(error)}`);
            continue;
          }
          const first = items.columns.find(({ kind }) => kind === "open-backlog") ?? items.columns[0];
          if (first === undefined) continue;
          lines.push(`${name} (${id}), ${first.title}: ${first.items.length}`, ...first.items.map(cardLine), ...cut(items));
          backlogs.push({ board: id, column: first.id, readAt: items.readAt, items: first.items });
        }
        if (failure !== undefined && backlogs.length === 0) throw failure;
        cli.print(lines.join("\n") || "There are no boards; add one to the section boards of svc.json.", { backlogs });
      },
    },
  ],
};
export default group;
