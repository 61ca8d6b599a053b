/** Names of people by their id, where they are known. */
export type Names = (id: string) => string | undefined;

/**
 * The words of a message as people read it: mentions by name, links with their address, entities decoded. What stands in code is left as
 * it is written there.
 */
export function wordsIn(text: string, names: Names): string {
  const words = text.replace(/<([^<>\n]{1,4000})>/g, (whole, inner: string) => tokenWords(inner, names) ?? whole);
  return words.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

function tokenWords(inner: string, names: Names): string | undefined {
  const bar = inner.indexOf("|");
  const [what, label] = bar === -1 ? [inner, ""] : [inner.slice(0, bar), inner.slice(bar + 1)];
  if (what.startsWith("@")) return `@${names(what.slice(1)) ?? (label || what.slice(1))}`;
  if (what.startsWith("#")) return `#${label || what.slice(1)}`;
  if (what.startsWith("!")) {
    if (label !== "") return label;
    const [kind = "", id = ""] = what.slice(1).split("^");
    return `@${kind === "subteam" ? id : kind}`;
  }
  if (!/^(?:https?|mailto|tel):/i.test(what)) return undefined;
  const address = what.replace(/^mailto:/i, "");
  return label === "" || label === address || label === what ? address : `${label} (${what})`;
}

/** Ids of those who are mentioned outside of code, each once. */
export function mentionedIn(text: string): readonly string[] {
  return [...new Set([...withoutCode(text).matchAll(/<@([A-Z0-9]+)(?:\|[^<>]*)?>/g)].map(([, id]) => id as string))];
}

/** Handles that were typed with `@`, outside of code, in lower case and each once. An address such as `a@b` is not a handle. */
export function handlesIn(text: string): readonly string[] {
  const plain = withoutCode(text)
    .normalize("NFKC")
    .replace(/[\p{Cf}\p{M}]/gu, "");
  return [
    ...new Set(
      [...plain.matchAll(/(?<![\p{L}\p{N}_.@<-])@([\p{L}\p{N}_][\p{L}\p{N}_.-]{0,62}[\p{L}\p{N}_])/gu)].map(([, handle]) => (handle as string).toLowerCase()),
    ),
  ];
}

/** Code is quoted, not said. An open fence reaches to the end. */
function withoutCode(text: string): string {
  return text.replace(/```[\s\S]*?(?:```|$)/g, " ").replace(/`[^`\n]*`/g, " ");
}

/** The text without the mention of ourselves that it begins with. */
export const withoutOwn = (text: string, user: string): string => text.replace(new RegExp(`^\\s*<@${user}(?:\\|[^>]*)?>[\\s,:]*`), "");
