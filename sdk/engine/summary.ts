const LENGTH = 200;

/** The beginning of a text for a step: at most 200 characters, never half of one. */
export function brief(text: string): string {
  const points = Array.from(text.slice(0, LENGTH * 2));
  return points.length <= LENGTH ? points.join("") : `${points.slice(0, LENGTH).join("")}…`;
}
