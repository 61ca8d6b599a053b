/** The circles in a map from each id to the id above it, each from its first member on, in the order of the map. */
export function circlesOf(superiors: ReadonlyMap<string, string | undefined>): readonly (readonly string[])[] {
  const done = new Set<string>();
  const circles: string[][] = [];
  for (const start of superiors.keys()) {
    const way: string[] = [];
    const onWay = new Set<string>();
    let id: string | undefined = start;
    while (id !== undefined && !done.has(id) && !onWay.has(id)) {
      way.push(id);
      onWay.add(id);
      id = superiors.get(id);
    }
    if (id !== undefined && onWay.has(id)) circles.push(way.slice(way.indexOf(id)));
    for (const one of way) done.add(one);
  }
  return circles;
}

/** Everybody above an id, the nearest first; ends where a circle closes. */
export function superiorsIn(superiorOf: (id: string) => string | undefined, id: string): readonly string[] {
  const above = new Set<string>();
  for (let next = superiorOf(id); next !== undefined && next !== id && !above.has(next); next = superiorOf(next)) above.add(next);
  return [...above];
}
