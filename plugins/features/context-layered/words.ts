import { LAYERS, type Layer } from "@svc/sdk";

/** Foreign words on one line, so that a name cannot pretend to be a heading or a line of ours. */
export function oneLine(text: string, limit = 200): string {
  const line = text.replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ").trim();
  return line.length <= limit ? line : `${cut(line, limit - 1)}…`;
}

/** The first `limit` characters, a surrogate pair never torn. */
export function cut(text: string, limit: number): string {
  const end = /[\ud800-\udbff]/.test(text.charAt(limit - 1)) ? limit - 1 : limit;
  return text.slice(0, Math.max(0, end));
}

/** The first line that says something, without the marks of a heading. */
export function firstLine(text: string): string {
  const line = text.split("\n").find((one) => one.trim() !== "") ?? "";
  return oneLine(line.replace(/^\s*#+\s*/, ""), 500);
}

/** A heading and what stands below it; nothing at all where nothing stands below. */
export const headed = (heading: string, body: string): string => (body.trim() === "" ? "" : `## ${heading}\n${body.trim()}`);

/** A layer with the lines that are there, under their heading. */
export const layer = (name: keyof typeof LAYERS, heading: string, lines: readonly (string | false | undefined)[]): Layer => ({
  name,
  priority: LAYERS[name],
  text: headed(heading, lines.filter(Boolean).join("\n")),
});
