/** A button of an answer: pressing it sends its label as a message; one with an address opens that. */
export interface AnswerButton {
  readonly label: string;
  readonly url?: string;
}

/** A poll found in an answer. */
export interface AnswerPoll {
  readonly question: string;
  /** Two to twelve. */
  readonly options: readonly string[];
}

/** A parsed answer: its text, and the parts that a platform shows in its own way. */
export interface RichAnswer {
  readonly words: string;
  /** Rows of buttons beside each other. */
  readonly rows: readonly (readonly AnswerButton[])[];
  readonly poll?: AnswerPoll;
}

const OPENING = /^```(buttons|poll)[ \t]*$/;
const CLOSING = /^```[ \t]*$/;
const BUTTON = /\[([^[\]\n]+)\](?:\((https?:\/\/[^)\s]+)\))?/g;

/**
 * Extracts fences named `buttons` and `poll` from a markdown answer. An unclosed one (the answer still grows) is omitted, with `grows` also one at
 * the end of the answer: it may be closed only because a partial answer is shown well formed. An invalid one stays in the text unchanged.
 */
export function richOf(markdown: string, grows = false): RichAnswer {
  const rows: (readonly AnswerButton[])[] = [];
  const words: string[] = [];
  let poll: AnswerPoll | undefined;
  const lines = markdown.split("\n");
  // Sought once, and each end from its own fence on: an answer may be nothing but fences.
  const last = lines.findLastIndex((line) => line.trim() !== "");
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] as string;
    const kind = OPENING.exec(line)?.[1];
    const end = kind === undefined ? -1 : closingAfter(lines, at);
    if (kind !== undefined && (end === -1 || (grows && end >= last))) break;
    const body = end === -1 ? [] : lines.slice(at + 1, end);
    const made = kind === "buttons" ? rowsOf(body) : [];
    const asked = kind === "poll" && poll === undefined ? pollOf(body) : undefined;
    for (const row of made) rows.push(row);
    poll ??= asked;
    if (end === -1) words.push(line);
    else {
      if (made.length === 0 && asked === undefined) for (const one of lines.slice(at, end + 1)) words.push(one);
      at = end;
    }
  }
  return { words: words.join("\n").trim(), rows, ...(poll === undefined ? {} : { poll }) };
}

function closingAfter(lines: readonly string[], opening: number): number {
  for (let at = opening + 1; at < lines.length; at += 1) if (CLOSING.test(lines[at] as string)) return at;
  return -1;
}

/** All buttons of an answer one after the other, for a platform without polls: a pressed option of the poll counts like a pressed button. */
export const buttonsOf = ({ rows, poll }: RichAnswer): readonly AnswerButton[] => [
  ...rows.flat(),
  ...(poll?.options.map((option) => ({ label: option })) ?? []),
];

function rowsOf(body: readonly string[]): (readonly AnswerButton[])[] {
  return body
    .map((line) =>
      [...line.matchAll(BUTTON)]
        .map(([, label, url]) => ({ label: (label as string).trim(), ...(url === undefined ? {} : { url }) }))
        .filter(({ label }) => label !== ""),
    )
    .filter((row) => row.length > 0);
}

/** The first line is the question, lines with a dash are the answers. */
function pollOf(body: readonly string[]): AnswerPoll | undefined {
  const [question = "", ...lines] = body.map((line) => line.trim());
  const options = lines.filter((line) => line.startsWith("- ")).map((line) => line.slice(2).trim());
  if (question === "" || options.length < 2 || options.length > 12) return undefined;
  return { question: question.slice(0, 300), options: options.map((option) => option.slice(0, 100)) };
}
