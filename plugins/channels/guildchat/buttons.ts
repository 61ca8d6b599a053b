import { buttonsOf, type Outgoing, richOf } from "@svc/sdk";
import { shownAsIs } from "./markup.ts";

/** Content of a message: text, and rows of buttons. */
export interface Shown {
  readonly content: string;
  readonly components: readonly object[];
}

/** Characters of a message. */
export const MOST = 2_000;
const ROW = 5;
const ROWS = 5;
const LABEL_CHARS = 80;
const ADDRESS_CHARS = 512;
/** A row of buttons, and a button: see the platform's components. */
const KIND = { row: 1, button: 2 } as const;
const STYLE = { plain: 2, link: 5 } as const;
const CHOOSE = "Please choose:";
/** Prefix of the number of an answer's button; pressing it sends its label. */
const SAYS = "say:";

/** Whether a button is one of an answer. */
export const isSaying = (customId: string): boolean => customId.startsWith(SAYS);

/** Takes the buttons and the poll out of an answer. Buttons that a message cannot hold are lines of its text. */
export function shownOf(markup: string, { choices = [] }: Outgoing): Shown {
  const answer = richOf(markup);
  const buttons = buttonsOf(answer).map(({ label, url }, at) => ({
    type: KIND.button,
    label: label.length <= LABEL_CHARS ? label : `${label.slice(0, LABEL_CHARS - 1).replace(/[\ud800-\udbff]$/, "")}…`,
    ...(url === undefined || url.length > ADDRESS_CHARS ? { style: STYLE.plain, custom_id: `${SAYS}${at}` } : { style: STYLE.link, url }),
  }));
  const asked = choices.map(({ label, data }) => ({ type: KIND.button, style: STYLE.plain, label, custom_id: data }));
  // A question of the service itself always has its buttons.
  const room = (ROWS - Math.ceil(asked.length / ROW)) * ROW;
  const left = buttons.slice(room).map(({ label }) => `- ${shownAsIs(label)}`);
  const question = answer.poll === undefined ? "" : `**${shownAsIs(answer.poll.question)}**`;
  const content = [answer.words, question, left.join("\n")].filter((part) => part !== "").join("\n\n");
  // The names of very many buttons may be longer than their fence.
  if (content.length > MOST) return { content: markup, components: inRows(asked) };
  return {
    content: content === "" && buttons.length > 0 ? CHOOSE : content,
    components: [...inRows(buttons.slice(0, room)), ...inRows(asked)],
  };
}

/** The buttons of a delivery with choices, for an answer that is shown as it is. */
export const choiceRows = (out: Outgoing): readonly object[] => shownOf("", out).components;

/** At most five buttons beside each other. */
const inRows = (buttons: readonly object[]): readonly object[] =>
  Array.from({ length: Math.ceil(buttons.length / ROW) }, (_, row) => ({ type: KIND.row, components: buttons.slice(row * ROW, (row + 1) * ROW) }));
