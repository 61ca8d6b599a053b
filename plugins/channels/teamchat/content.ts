import { channelError, type Outgoing, type Render, type RichAnswer, richOf } from "@svc/sdk";
import { answerButtons, type Block, choiceButtons } from "./buttons.ts";
import { escaped, MRKDWN } from "./mrkdwn.ts";

/** The arguments that make up what a message shows. */
export interface Content {
  /** Also what notifications show of a message with blocks. */
  readonly text: string;
  /** Empty: none, and those before go. */
  readonly blocks: readonly Block[];
  /** False: `text` is words. */
  readonly mrkdwn: boolean;
}

/** The longest text that an update takes, in UTF-16 units. */
export const TEXT_CHARS = 4_000;
const SECTION_CHARS = 3_000;
const PIECE_CHARS = 2_000;
/** The platform's limit for all blocks together, with room for their JSON. */
const BLOCKS_CHARS = 12_000;
const NOTIFICATION_CHARS = 3_000;
const CHOOSE = "Please choose:";

/** Returns the content of a message for `out`: its markdown as the platform's markup, or with `rich` false as plain text. */
export function contentOf(out: Outgoing, render: Render, rich: boolean): Content {
  // The kernel sends the plain words as text, too, where it fell back to them.
  if (!rich || out.text === out.plain) return plainContent(out.plain, choiceButtons(out));
  const answer = richOf(out.text, out.grows);
  const buttons = [...answerButtons(answer), ...choiceButtons(out)];
  const words = wordsOf(answer);
  const text = render.to(MRKDWN, words);
  if (text.length <= TEXT_CHARS && buttons.length === 0) return { text, blocks: [], mrkdwn: true };
  const sections = sectionsOf(words, render);
  if (sections.reduce((sum, section) => sum + section.length, 0) > BLOCKS_CHARS) throw channelError("format", "marked up it is longer than a message may be");
  const blocks = sections.map((section) => ({ type: "section", expand: true, text: { type: "mrkdwn", text: section } }));
  return { text: notification(escaped(render.to("plain", words))), blocks: [...blocks, ...buttons], mrkdwn: true };
}

/** Words that nothing reads as markup stand in a block of their own kind. */
function plainContent(plain: string, buttons: readonly Block[]): Content {
  const words = { type: "rich_text", elements: [{ type: "rich_text_section", elements: [{ type: "text", text: plain }] }] };
  return { text: notification(escaped(plain)), blocks: [words, ...buttons], mrkdwn: false };
}

/** Split before it is marked up, each piece within the limit of a section. */
function sectionsOf(markdown: string, render: Render, size = PIECE_CHARS): readonly string[] {
  return render.split(markdown, size, "utf16").flatMap((piece) => {
    const section = render.to(MRKDWN, piece);
    if (section.trim() === "") return [];
    return section.length <= SECTION_CHARS || size < 100 ? [section.slice(0, SECTION_CHARS)] : sectionsOf(piece, render, Math.floor(size / 2));
  });
}

const notification = (text: string): string => (text.length <= TEXT_CHARS ? text : `${text.slice(0, NOTIFICATION_CHARS).replace(/&[a-z]{0,3}$/, "")} …`);

/** The markdown of an answer beside its buttons, with the question of its poll. */
export function wordsOf({ words, poll }: RichAnswer): string {
  const said = poll === undefined ? words : `${words}\n\n**${poll.question}**`.trim();
  return said === "" ? CHOOSE : said;
}
