const NUMBER = /^\+?[\d\s().-]{5,}$/;
const PERSON = /^(\d+)(?::\d+)?@(?:s\.whatsapp\.net|c\.us)$/;

/**
 * One spelling for what names a chat or a person: a phone number becomes its digits, however it is written and with whichever of the
 * platform's endings; every other id (`...@g.us`, `...@lid`) stays as it is, without its device part, in lower case.
 */
export function canonicalId(text: string): string {
  const id = text.trim().toLowerCase();
  const person = PERSON.exec(id)?.[1];
  if (person !== undefined) return person;
  if (NUMBER.test(id)) return id.replace(/\D/g, "").replace(/^00/, "");
  return id.replace(/^(\d+):\d+@/, "$1@");
}

/** Whether the text can be a chat id. */
export const isChatId = (text: string): boolean => /^(?:\d{5,}|[\w-]+@[a-z][a-z.]*)$/.test(canonicalId(text));
