import type { Change } from "../pages/boards/board-types.ts";

const named = (labels: readonly string[] = []) => labels.map((label) => `“${label}”`).join(", ");

/** Describes the change of a move: `adds “doing”, removes “to do”`. For a card with known labels, only actual changes. */
export function changeText({ addLabels: adds, removeLabels: removes, state }: Change = {}, labels?: readonly string[]): string {
  const addLabels = labels === undefined ? adds : adds?.filter((label) => !labels.includes(label));
  const removeLabels = labels === undefined ? removes : removes?.filter((label) => labels.includes(label));
  const parts = [
    state === "closed" && "closes it",
    state === "open" && "opens it again",
    addLabels !== undefined && addLabels.length > 0 && `adds ${named(addLabels)}`,
    removeLabels !== undefined && removeLabels.length > 0 && `removes ${named(removeLabels)}`,
  ].filter((part) => part !== false);
  return parts.length === 0 ? "writes nothing" : parts.join(", ");
}

/** Sentences of the boards. */
export const BOARDS = {
  title: "Boards",
  chooseBoard: "Choose a board",
  what: "The boards",
  cards: "The cards",
  read: "read",
  refresh: "Refresh",
  filter: "Filter cards",
  days: (days: number) => `${days} d`,
  daysOpen: (days: number) => `Open issues that were changed in the last ${days} days`,
  daysClosed: (days: number) => `Issues that were closed in the last ${days} days`,
  emptyColumn: (days: number) => `None in the last ${days} days.`,
  emptyFilter: "None that fits the filter.",
  noBoard: "No board yet. A board shows issues of a forge project.",
  addBoard: "Add a board",
  switchedOff: "Boards are switched off: svc.json has no section `boards`.",
  sourceOff: (source: string) => `No running plugin brings ${source}: its cards cannot be read.`,
  openChannels: "Open the channels",
  readOnly: (source: string) => `${source} can only be read: cards cannot be moved.`,
  narrow: "Boards are made for 1024 px and wider. Here the columns stand beside each other: swipe, or move a card by its menu.",
  truncated: "The source has more: the newest 1,000 open and 1,000 closed issues are shown.",
  unplaced: (count: number) => (count === 1 ? "1 card is in no column" : `${count} cards are in no column`),
  unplacedWhy: "Their label is of the columns' scope, but none of theirs.",
  noColumn: "no column",
  drop: (change: string) => `Drop here: ${change}`,
  moveTo: "Move to...",
  move: (card: string) => `Move to... ${card}`,
  menuOf: (card: string) => `Menu of ${card}`,
  open: "Open at the source",
  moved: (card: string, column: string) => `${card} moved to ${column}`,
  wentBack: (card: string, column: string) => `${card} went back to ${column}`,
  isIn: (card: string, column: string) => `${card} is in ${column}`,
  tryAgain: "Try again",
  undo: "Undo",
  here: "here",
  cardLabel: (number: string, title: string, column: string) => `${number}: ${title}. In ${column}.`,
  moving: "is being moved",
  works: (agent: string) => `${agent} is at work on it`,
  grabbed: (card: string, column: string) => `${card} is taken up from ${column}. Left and right choose a column, Space drops it, Escape puts it back.`,
  over: (column: string, change: string) => `Over ${column}: ${change}.`,
  overSame: (column: string) => `Over ${column}, where it is.`,
  dropped: (card: string, column: string) => `${card} is dropped in ${column}.`,
  putBack: (card: string) => `${card} is put back.`,
  assignees: "Assigned to",
  keys: {
    scope: "Boards",
    refresh: "Read the board again",
    filter: "Filter cards",
    column: "Move the card to a column",
    menu: "Menu of the card",
    take: "Take the card up, then arrows, then Space",
  },
} as const;
