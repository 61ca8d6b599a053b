import { buttonsOf, type Outgoing, type RichAnswer } from "@svc/sdk";

/** A block of a message. */
export type Block = Readonly<Record<string, unknown>>;

const LABEL_CHARS = 75;
const ADDRESS_CHARS = 3_000;
/** Buttons of one block. */
const MOST = 25;
/** In front of what a button of an answer says: whatever its label is, it is never taken for a choice of a delivery. */
const SAYS = "say:";

/** The buttons of an answer. One with an address that is too long for the platform says its label instead. */
export function answerButtons(answer: RichAnswer): readonly Block[] {
  const elements = buttonsOf(answer).map(({ label, url }, at) => ({
    ...buttonOf(label, `${SAYS}${at}`),
    ...(url === undefined || url.length > ADDRESS_CHARS ? { value: `${SAYS}${label}` } : { url }),
  }));
  return Array.from({ length: Math.ceil(elements.length / MOST) }, (_, block) => ({
    type: "actions",
    elements: elements.slice(block * MOST, (block + 1) * MOST),
  }));
}

/** Returns the text that a pressed button of an answer sends; undefined for any other button. */
export const saidBy = (value: string): string | undefined => (value.startsWith(SAYS) ? value.slice(SAYS.length) : undefined);

/** The buttons of a delivery with choices. */
export const choiceButtons = ({ choices = [] }: Outgoing): readonly Block[] =>
  choices.length === 0 ? [] : [{ type: "actions", elements: choices.map(({ id, label, data }) => ({ ...buttonOf(label, `choice:${id}`), value: data })) }];

const buttonOf = (label: string, action: string) => ({
  type: "button",
  action_id: action,
  text: { type: "plain_text", text: label.length <= LABEL_CHARS ? label : `${label.slice(0, LABEL_CHARS - 1).replace(/[\ud800-\udbff]$/, "")}…`, emoji: true },
});
