import { type ChannelTraits, type Choice, type ChoiceButton, choiceData, type Delivery } from "@svc/sdk";

/** What a channel is to show of a text with choices. */
export interface OfferedChoices {
  readonly text: string;
  readonly buttons?: readonly ChoiceButton[];
}

/** A platform shows no buttons without words. */
const CHOOSE = "Please choose:";

/**
 * Choices in the form of a channel: buttons where it has them, else numbered lines with the word that a number answers. Where nothing comes
 * in nobody is asked for an answer that could not arrive: the labels are told, and that they are answered elsewhere.
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
