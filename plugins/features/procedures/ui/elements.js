/** An element with these properties. */
export function element(name, { role, ...properties } = {}) {
  const made = Object.assign(document.createElement(name), properties);
  if (role !== undefined) made.setAttribute("role", role);
  return made;
}

/** Characters that nobody sees: whoever reviews a text would promote words that were not shown. Lines and tabs are seen. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\u{E0000}-\u{E0FFF}]/gu;
const isSeen = (character) => character === "\n" || character === "\t" || character === "\r";

/** The text of a procedure for a person who decides about it: as it is, unseen characters by their numbers. */
export function shownText(id, body) {
  let unseen = 0;
  const text = body.replace(UNSEEN, (character) => {
    if (isSeen(character)) return character;
    unseen += 1;
    return `[U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}]`;
  });
  const whole = element("pre", { textContent: text === "" ? "(no text)" : text, dir: "auto", tabIndex: 0 });
  whole.setAttribute("aria-label", `The text of ${id}`);
  whole.setAttribute("role", "region");
  const words =
    unseen === 1
      ? "1 character is not visible in the file; it is shown here by its number."
      : `${unseen} characters are not visible in the file; they are shown here by their numbers.`;
  return unseen === 0 ? [whole] : [element("p", { className: "procedures-warning", role: "note", textContent: words }), whole];
}
