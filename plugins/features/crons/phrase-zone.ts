import type { Spoken } from "./phrase-spoken.ts";

const REGIONS = ["Europe", "America", "Asia", "Africa", "Australia", "Pacific", "Atlantic", "Indian", "Antarctica"];
const ABBREVIATIONS = /\b(?<short>est|edt|cst|cdt|mst|mdt|pst|pdt|akst|hst|cet|cest|eet|eest|wet|west|bst|msk|ist|sgt|jst|kst|aest|aedt|nzst|nzdt)\b(?! of)/;
const NO_PLACE =
  /^(?:the|a|an|january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec)$/;

/** Takes a time zone: an IANA name, UTC, or a place for which one is named, `in Athens`, `New York time`. */
export function takeZone(spoken: Spoken): string | undefined {
  const named = spoken.take(/(?:\b(?:in|at) )?\b(?<zone>[a-z]+\/[a-z_]+(?:[/+-][a-z_0-9]+)*|utc|gmt)\b(?: time\b)?/)?.zone;
  const short = named === undefined ? spoken.take(ABBREVIATIONS)?.short : undefined;
  if (short !== undefined)
    throw spoken.unclear(`'${short.toUpperCase()}' stands for several time zones or for half a year; name a place, such as Europe/Berlin`);
  if (named === undefined && spoken.find(/\b(?:local|my) time\b/) !== null) throw spoken.unclear("name a place for the time zone, such as 'in Athens'");
  const zone = named === undefined ? placeOf(spoken) : named === "utc" || named === "gmt" ? "UTC" : properName(named);
  if (named !== undefined && zone === undefined) throw spoken.unclear(`there is no time zone '${named}'`);
  if (zone !== undefined) spoken.understood(zone);
  return zone;
}

/** The zone of a place in the phrase, by the names of zones alone: the longest name counts. */
function placeOf(spoken: Spoken): string | undefined {
  const around = [
    ...[3, 2, 1].map((words) => new RegExp(`\\bin (?<place>${place(words)})(?: time)?\\b`)),
    ...[3, 2, 1].map((words) => new RegExp(`\\b(?<place>${place(words)}) time\\b`)),
  ];
  for (const pattern of around) {
    const name = spoken.find(pattern)?.groups?.["place"] ?? "";
    if (name === "" || NO_PLACE.test(name.split(" ")[0] ?? "")) continue;
    const zones = [...new Set(REGIONS.map((region) => properName(`${region}/${name.replace(/ /g, "_")}`)).filter((zone) => zone !== undefined))];
    if (zones.length > 1) throw spoken.unclear(`'${name}' may be ${zones.join(" or ")}; name one of them`);
    if (zones.length === 1) {
      spoken.take(pattern);
      return zones[0];
    }
  }
  const unknown = spoken.find(/\bin (?<place>[a-z' -]+?)(?= at | every |$)/)?.groups?.["place"];
  if (unknown !== undefined && !NO_PLACE.test(unknown.split(" ")[0] ?? ""))
    throw spoken.unclear(`no time zone is named after '${unknown}'; name the city of the zone, such as Europe/Berlin`);
  return undefined;
}

const place = (words: number): string => Array.from({ length: words }, () => "[a-z'.-]+").join(" ");

/** Returns the proper spelling of a time zone, of one in any case; undefined for an unknown one. */
function properName(name: string): string | undefined {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
  } catch {
    return undefined;
  }
  const known = Intl.supportedValuesOf("timeZone").find((zone) => zone.toLowerCase() === name.toLowerCase());
  return (
    known ?? name.replace(/[a-z]+/gi, (word) => (/^(?:of|es|au)$/i.test(word) ? word.toLowerCase() : word[0]?.toUpperCase() + word.slice(1).toLowerCase()))
  );
}
