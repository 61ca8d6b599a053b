/** Lanes that are shown; the others are counted. */
export const MOST_LANES = 8;

/**
 * Returns the agents with a lane, from top to bottom: at first the busiest, then idle ones. From then on an agent keeps its place: one that begins to
 * work does so in its lane, or takes that of an idle one, so that the plots below never move and lanes are not re-sorted.
 */
export function lanePlaces(before: readonly string[], busiest: readonly string[], agents: readonly string[]): readonly string[] {
  const busy = new Set(busiest);
  const known = new Set([...busiest, ...agents]);
  const places: string[] = [];
  const waiting = busiest.slice(0, MOST_LANES).filter((agent) => !before.includes(agent));
  const idle = agents.filter((agent) => !busy.has(agent) && !before.includes(agent));
  for (const agent of before) {
    const kept = known.has(agent) ? agent : (waiting.shift() ?? idle.shift());
    if (kept !== undefined) places.push(kept);
  }
  for (const agent of waiting) {
    const free = places.length < MOST_LANES ? -1 : places.findLastIndex((place) => !busy.has(place));
    if (free !== -1) places[free] = agent;
    else if (places.length < MOST_LANES) places.push(agent);
  }
  return [...places, ...idle.filter((agent) => !places.includes(agent))].slice(0, MOST_LANES);
}
