/** A row of buttons: pressing a label sends it as a message; a label with an address opens it, one with data hands that back. */
export type Row = readonly { readonly label: string; readonly url?: string; readonly data?: string }[];

/** A poll found in an answer. */
export interface Poll {
  readonly question: string;
  readonly options: readonly string[];
}

/** An answer taken apart: its words, and what the platform shows in its own way. */
export interface Rich {
  readonly words: string;
  readonly rows: readonly Row[];
  readonly poll?: Poll;
}

const FENCE = /^```(buttons|poll)[ \t]*\n([\s\S]*?)^```[ \t]*$\n?/gm;
const UNFINISHED = /^```(buttons|poll)[ \t]*\n(?![\s\S]*^```)[\s\S]*$/m;
const BUTTON = /\[([^\]\n]+)\](?:\((https?:\/\/[^)\s]+)\))?/g;

/**
 * Takes fences named `buttons` and `poll` out of a markdown answer. One that has no end yet (the answer still grows) is left out
 * altogether; one that makes no sense stays in the words as it is.
 */
export function richOf(markdown: string): Rich {
  const rows: Row[] = [];
  let poll: Poll | undefined;
  const words = markdown
    .replace(FENCE, (whole, kind: string, body: string) => {
      if (kind === "poll") {
        const made = pollOf(body);
        if (made === undefined || poll !== undefined) return whole;
        poll = made;
        return "";
      }
      const made = rowsOf(body);
      rows.push(...made);
      return made.length === 0 ? whole : "";
    })
    .replace(UNFINISHED, "")
    .trim();
  return { words, rows, ...(poll === undefined ? {} : { poll }) };
}

function rowsOf(body: string): Row[] {
  return body
    .split("\n")
    .map((line) =>
      [...line.matchAll(BUTTON)]
        .map(([, label, url]) => ({ label: (label as string).trim(), ...(url === undefined ? {} : { url }) }))
        .filter(({ label }) => label !== ""),
    )
    .filter((row) => row.length > 0);
}

/** The first line asks, the lines with a dash are the answers: two to twelve. */
function pollOf(body: string): Poll | undefined {
  const [question = "", ...lines] = body.split("\n").map((line) => line.trim());
  const options = lines.filter((line) => line.startsWith("- ")).map((line) => line.slice(2).trim());
  if (question === "" || options.length < 2 || options.length > 12) return undefined;
  return { question: question.slice(0, 300), options: options.map((option) => option.slice(0, 100)) };
}
