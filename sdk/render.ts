/** Capability `render`: markdown to a platform's dialect and split to its limit, fences reopened. */
export interface Render {
  /** Before `to`, since cutting rendered text would cut marks. A blank text has no piece. */
  split(markdown: string, limit: number, unit: "codepoint" | "utf16" | "utf8"): readonly string[];
  to(dialect: string, markdown: string): string;
}
