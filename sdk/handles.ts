/** Normalises a handle for comparison: compatibility forms folded, invisible characters removed, no case, no `@`. A look-alike letter stays another letter. */
export function plainHandle(handle: string): string {
  return fold(handle).replace(/^@/, "").toLowerCase();
}

/** Handles named in a text with `@`, in their plain form, each once. An address such as `a@b` is not a handle. */
export function handlesIn(text: string): string[] {
  return [...new Set([...fold(text).matchAll(/(?<![\p{L}\p{N}_.@-])@([\p{L}\p{N}_]{2,64})/gu)].map(([, handle]) => (handle as string).toLowerCase()))];
}

const fold = (text: string): string => text.normalize("NFKC").replace(/[\p{Cf}\p{M}]/gu, "");
