/** Of so many characters of markdown one is said, at least. What comes behind is cut off first: patterns take the square of a hostile text's length. */
const SIGNS = 4;

/** Some scripts have no blanks, neither behind a sentence nor between words. */
const SENTENCE_END = /[.!?](?= )|[。！？｡]/g;

/** The words of markdown as one says them: no signs, no addresses, no code. At most so many characters, cut at the end of a sentence. */
export function spokenText(markdown: string, most: number): string {
  const words = markdown
    .replace(/^(```|~~~)[\s\S]*?^\1.*$/gm, " ")
    .slice(0, most * SIGNS)
    .replace(/!\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/https?:\/\/\S+/g, " ")
    .replace(/`([^`]*)`/g, "$1")
    .replace(/^\s{0,3}(?:#{1,6}|>|[-*+]|\d+[.)])\s+/gm, "")
    .replace(/^[-:| \t]{3,}$/gm, " ")
    .replace(/[*_~|]{1,3}/g, " ")
    // Signs that a program for speech may read as commands.
    .replace(/[<>[\]\\\p{C}]/gu, " ")
    .replace(/\s+/g, " ")
    .trim();
  if (words.length <= most) return words;
  const cut = words.slice(0, most);
  const end = [...cut.matchAll(SENTENCE_END)].at(-1)?.index ?? 0;
  if (end > most / 2) return cut.slice(0, end + 1);
  const blank = cut.lastIndexOf(" ");
  return `${blank > most / 2 ? cut.slice(0, blank) : cut.replace(/[\ud800-\udbff]$/, "")} ...`;
}
