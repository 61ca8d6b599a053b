import { createHash } from "node:crypto";

/** An item of the reminders app, as far as it is looked at. */
export interface Item {
  readonly id: string;
  readonly title: string;
  readonly notes?: string;
  readonly list: string;
  /** When it is due, in Unix milliseconds. */
  readonly due: number;
}

const NAME_CHARS = 500;
const NOTES_CHARS = 20_000;

/** Open items with a due time in what the program says. Throws for anything that is not its list of items; a single odd item is passed over. */
export function readItems(text: string, list: string): readonly Item[] {
  const found: unknown = JSON.parse(text);
  if (!Array.isArray(found)) throw new Error("it did not answer with a list of items");
  return found.flatMap((one: unknown): Item[] => {
    const { id, title, notes, isCompleted, dueDate } = (typeof one === "object" && one !== null ? one : {}) as Readonly<Record<string, unknown>>;
    const due = typeof dueDate === "string" && /^\d{4}-\d\d-\d\dT/.test(dueDate) ? Date.parse(dueDate) : Number.NaN;
    if (typeof id !== "string" || id === "" || typeof title !== "string" || isCompleted === true || Number.isNaN(due)) return [];
    const noted = typeof notes === "string" && notes.trim() !== "" ? { notes: notes.slice(0, NOTES_CHARS) } : {};
    return [{ id, title: title.slice(0, NAME_CHARS), ...noted, list, due }];
  });
}

/** One due time of one item: an item that repeats comes under another key each time. Letters and digits, as event ids have them. */
export const keyOf = ({ id, due }: Pick<Item, "id" | "due">): string =>
  createHash("sha256")
    .update(JSON.stringify([id, due]))
    .digest("hex")
    .slice(0, 40);

/** Prompt for the agent. */
export const textOf = ({ title, notes }: Item): string => (notes === undefined ? title : `${title}\n\n${notes}`);

/** Handles that the title or the notes name: `@ada`. */
export const mentionsIn = (item: Item): readonly string[] =>
  [...textOf(item).matchAll(/(?<![\w@])@([\w.-]{1,100})/g)].map(([, handle]) => (handle as string).replace(/\.$/, ""));
