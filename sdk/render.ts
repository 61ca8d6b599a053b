import type { Dialect, Markup } from "./channel.ts";

/** Capability `render`: markdown to a platform's markup and split to its limit, fences reopened. */
export interface Render {
  /** Before `to`, since cutting rendered text would cut marks. A blank text has no piece. */
  split(markdown: string, limit: number, unit: "codepoint" | "utf16" | "utf8"): readonly string[];
  /** Throws `SVC_RENDER_DIALECT` for a name that there is not. */
  to(form: Dialect | Markup, markdown: string): string;
}
