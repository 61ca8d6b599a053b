/** No English word is longer; what is has no other forms, and the patterns of `stem` would take the square of its length. */
const LONGEST = 40;

/** English stop words. They are neither searched nor counted. */
const STOP = new Set(
  `a about above after again against all also am an and another any anybody anyone anything are as ask at be because been before being below
  best between both but by can cannot could day did do does doing done down during each else ever every everything few find for found from
  further get give given go goes going gone got had happen happened happening has have having he hello help her here hers hey hi him his how i
  if in into is it its itself just keep kept know known last least let lets like list look made make makes many may me mean might mine more
  most much must my name named need needs next no nor not nothing now of off ok okay on once one only or other our ours out over own
  please put question quite really same say says see shall she should show so some somebody someone something still such take tell than thank
  thanks that the their theirs them then there these they thing things think this those through time to today tomorrow too under until up
  upon us use used very want wants was we well went were what whatever when where which while who whom whose why will with within without
  word would write yes yesterday yet you your yours explain describe answer talk speak
  don doesn didn isn aren wasn weren hasn haven hadn won wouldn couldn shouldn ain ll ve re`
    .split(/\s+/)
    .map(stem),
);

/** Words of questions that answers seldom contain: 499 EUR is a price without the word. They add to a score but are optional. */
const ASKED = new Set(
  `address amount arrive begin belong big call colour color come contact contain content cost date deadline detail end expire fee finish happen
  height hold hour kind last length lie live located location long lose mail meet minute month number open opening pay person phone place
  price reach reason renew run size start status stop store sum telephone total type way week weigh weight width work year old tall often far`
    .split(/\s+/)
    .map(stem),
);

/** A word as it is looked up: one form for the singular and the plural, the present and the past of most English words. */
export function stem(word: string): string {
  if (word.length > LONGEST || !/^[a-z]{4,}$/.test(word)) return word;
  let form = word;
  if (/ies$/.test(form)) form = `${form.slice(0, -3)}y`;
  else if (/[^aiosu]s$/.test(form)) form = form.slice(0, -1);
  const cut = /[aeiouy].*(?:ing|ed)$/.test(form) ? form.replace(/(?:ing|ed)$/, "") : form;
  if (cut.length >= 3 && /[aeiouy]/.test(cut)) form = cut;
  if (/([bdgmnprt])\1$/.test(form)) form = form.slice(0, -1);
  return form.length > 3 ? form.replace(/e$/, "") : form;
}

const PAIRED = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;

/** Lower-case words and numbers of any script, each in one form. Scripts without spaces are split into pairs of characters. */
export function wordsOf(text: string): string[] {
  const words =
    text
      .normalize("NFKD")
      .replace(/[\u0300-\u036f]/g, "")
      .normalize("NFKC")
      .toLowerCase()
      .match(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]+|[\p{L}\p{M}\p{N}]+/gu) ?? [];
  return words.flatMap((word) => {
    if (!PAIRED.test(word)) return [stem(word)];
    const letters = [...word];
    return letters.length === 1 ? letters : letters.slice(1).map((letter, at) => `${letters[at]}${letter}`);
  });
}

/** Parses a question: `needed` are the words that an answer must have, `helpful` optional ones. */
export function questionOf(text: string, isCommon: (word: string) => boolean): { readonly needed: readonly string[]; readonly helpful: readonly string[] } {
  const words = [...new Set(wordsOf(text))].filter((word) => !STOP.has(word) && (word.length > 1 || /\p{N}/u.test(word) || PAIRED.test(word)));
  const helps = (word: string) => ASKED.has(word) || isCommon(word);
  return { needed: words.filter((word) => !helps(word)), helpful: words.filter(helps) };
}
