/** One of the answers that a delivery offers to the person who reads it. */
export interface Choice {
  /** 1 to 32 characters of a-z, 0-9, `.`, `_` and `-`; unique in its delivery. */
  readonly id: string;
  /** Text for the person: one line of at most 64 characters. */
  readonly label: string;
}

/** A choice as a button of a platform carries it. */
export interface ChoiceButton extends Choice {
  /** Payload of the button: at most 60 characters of ASCII. `choiceOf` parses it. */
  readonly data: string;
}

/** A person's choice: which answer of which delivery. */
export interface Chosen {
  readonly delivery: string;
  readonly id: string;
}

/** Most choices of one delivery. */
const MOST = 8;
const LABEL_CHARS = 64;
const ID = /^[a-z0-9._-]{1,32}$/;

/** Why a delivery cannot offer these choices, for people; undefined where it can. */
export function whyNoChoices(choices: readonly Choice[]): string | undefined {
  if (!Array.isArray(choices) || choices.length === 0 || choices.length > MOST) return `there must be 1 to ${MOST} of them`;
  for (const { id, label } of choices) {
    if (typeof id !== "string" || !ID.test(id)) return `the id '${String(id).slice(0, 40)}' is not 1 to 32 characters of a-z, 0-9, '.', '_' and '-'`;
    if (typeof label !== "string" || label.trim() === "" || [...label].length > LABEL_CHARS || /[\u0000-\u001f\u007f\u2028\u2029]/.test(label))
      return `the label of '${id}' is not one line of 1 to ${LABEL_CHARS} characters`;
  }
  return new Set(choices.map(({ id }) => id)).size === choices.length ? undefined : "two of them have the same id";
}

const OWN_ID = /^out_([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/;
const DATA = /^([A-Za-z0-9_-]{22})\.([a-z0-9._-]{1,32})$/;

/** Returns the button payload for this choice of this delivery. The kernel calls it: `Outgoing.choices` comes with it. */
export function choiceData(delivery: string, id: string): string {
  const [, uuid] = OWN_ID.exec(delivery) ?? [];
  if (uuid === undefined) throw new TypeError(`'${delivery}' is no id of a delivery`);
  return `${base64Url(uuid.replaceAll("-", ""))}.${id}`;
}

/**
 * Parses the payload of a pressed button into the value of `Message.choice`; undefined for any other data. A payload may be forged: the kernel checks
 * that the delivery went to that chat and is still open.
 */
export function choiceOf(data: string): Chosen | undefined {
  const [, packed, id] = DATA.exec(data) ?? [];
  if (packed === undefined || id === undefined) return undefined;
  const hex = Buffer.from(packed, "base64url").toString("hex");
  if (base64Url(hex) !== packed) return undefined;
  return { delivery: `out_${hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5")}`, id };
}

const base64Url = (hex: string): string => Buffer.from(hex, "hex").toString("base64url");
