import { type ChannelTraits, type Choice, type ChoiceButton, choiceData, type Delivery } from "@svc/sdk";

/** Text and buttons of a delivery with choices, for a channel. */
export interface OfferedChoices {
  readonly text: string;
  readonly buttons?: readonly ChoiceButton[];
}

/** A platform shows no buttons without words. */
const CHOOSE = "Please choose:";

/**
 * Renders choices for a channel: buttons if it has them, else numbered lines with the hint to answer with a number. A channel that receives no
 * messages cannot take an answer: the labels are listed with the hint that they are answered elsewhere.
 */
export function offerChoices({ id, text }: Pick<Delivery, "id" | "text">, choices: readonly Choice[], traits: ChannelTraits): OfferedChoices {
  if (traits.choices === true)
    return { text: text.trim() === "" ? CHOOSE : text, buttons: choices.map((choice) => ({ ...choice, data: choiceData(id, choice.id) })) };
  const lines =
    traits.receives === false
      ? `(${choices.map(({ label }) => label).join(" / ")}: this cannot be answered here.)`
      : `${choices.map(({ label }, at) => `${at + 1}. ${label}`).join("\n")}\n\nAnswer with the number.`;
  return { text: text.trim() === "" ? lines : `${text}\n\n${lines}` };
}
