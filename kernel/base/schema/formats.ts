import { reasonOf } from "@svc/sdk";
import { parseCron } from "../calendar/cron.ts";
import { CONTROLS } from "../control-characters.ts";
import { patternTrouble } from "./safe-pattern.ts";

/** The formats that the schema of a section of svc.json may name, each with its test. */
export const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  url: (text) => /^(?:https?|wss?):\/\//i.test(text) && URL.canParse(text),
  uri: (text) => URL.canParse(text),
  line: (text) => text.search(CONTROLS) === -1,
  address: (text) => /^(?:\[[0-9A-Fa-f:.]+\]|[^:\s]+):[0-9]{1,5}$/.test(text),
  regex: (text) => patternTrouble(text) === undefined,
  cron: (text) => cronTrouble(text) === undefined,
  timezone: (text) => {
    try {
      new Intl.DateTimeFormat("en", { timeZone: text });
      return true;
    } catch {
      return false;
    }
  },
};

/** Returns why a text is not a cron expression of five fields; undefined if it is one. */
export function cronTrouble(text: string): string | undefined {
  try {
    parseCron(text);
    return undefined;
  } catch (error) {
    return String((error as { reason?: unknown }).reason ?? reasonOf(error));
  }
}
