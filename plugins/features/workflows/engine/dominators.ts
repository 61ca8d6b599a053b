/** A directed graph: the start, and for each node where it leads. */
export interface Ways {
  readonly start: string;
  readonly next: ReadonlyMap<string, readonly string[]>;
}

/** For each node that can be reached the node that every way to it goes through last; null for the start. */
export function immediateDominators({ start, next }: Ways): ReadonlyMap<string, string | null> {
  const order = reversePostorder(start, next);
  const place = new Map(order.map((node, at) => [node, at]));
  const before = reversed(next);
  const found = new Map<string, string | null>([[start, null]]);
  /** The nearest node that both chains of dominators share. */
  const meet = (one: string, other: string): string => {
    let [a, b] = [one, other];
    while (a !== b) {
      if ((place.get(a) as number) > (place.get(b) as number)) a = found.get(a) as string;
      else b = found.get(b) as string;
    }
    return a;
  };
  for (let changed = true; changed; ) {
    changed = false;
    for (const node of order.slice(1)) {
      const known = (before.get(node) ?? []).filter((one) => found.has(one));
      const nearest = known.reduce((a, b) => meet(a, b));
      if (found.get(node) !== nearest) {
        found.set(node, nearest);
        changed = true;
      }
    }
  }
  return found;
}

/** Where each node can be come to from. */
export function reversed(next: Ways["next"]): ReadonlyMap<string, readonly string[]> {
  const before = new Map<string, string[]>();
  for (const [from, targets] of next) {
    for (const to of targets) {
      const list = before.get(to);
      if (list === undefined) before.set(to, [from]);
      else list.push(from);
    }
  }
  return before;
}

/** Fewest edges from the start to each node that can be reached. */
export function distances({ start, next }: Ways): ReadonlyMap<string, number> {
  const found = new Map([[start, 0]]);
  for (const [node, distance] of found) {
    for (const to of next.get(node) ?? []) if (!found.has(to)) found.set(to, distance + 1);
  }
  return found;
}

function reversePostorder(start: string, next: Ways["next"]): string[] {
  const order: string[] = [];
  const seen = new Set([start]);
  const path = [{ node: start, at: 0 }];
  for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
    const to = next.get(top.node)?.[top.at++];
    if (to === undefined) {
      order.push(top.node);
      path.pop();
    } else if (!seen.has(to)) {
      seen.add(to);
      path.push({ node: to, at: 0 });
    }
  }
  return order.reverse();
}
