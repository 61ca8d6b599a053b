import { flowOrder, waysOf } from "./flow-order.ts";
import type { Graph, GraphNode, Places } from "./graph-types.ts";
import { drawnPorts } from "./ports.ts";

/** Everything stands on it. */
export const GRID = 16;
/** Of every node, in pixels at 100 %. */
export const NODE_WIDTH = 176;
const NODE_HEIGHT = 48;
/** Between two ports of one side. */
export const PORT_GAP = 22;
const COLUMN = NODE_WIDTH + 112;
const ROW_GAP = 48;

/** Returns the height of a node: one with many ports is higher. */
export const heightOf = (ports: number): number => Math.max(NODE_HEIGHT, Math.ceil((ports * PORT_GAP + 4) / GRID) * GRID);

/** Returns the height of a node of a graph. */
export const nodeHeight = (node: GraphNode, graph: Pick<Graph, "edges">): number => heightOf(drawnPorts(node, graph).side.length);

/** Places for all nodes: in columns by how many steps lead to them, in each column beside what leads to them. Edges that lead back count for nothing. */
export function autoLayout(graph: Graph): Places {
  const order = flowOrder(graph);
  const at = new Map(order.map(({ id }, index) => [id, index]));
  const before = new Map<string, string[]>(order.map(({ id }) => [id, []]));
  const after = new Map<string, string[]>(order.map(({ id }) => [id, []]));
  for (const [from, tos] of waysOf(graph))
    for (const to of tos) {
      if ((at.get(from) ?? 0) >= (at.get(to) ?? 0)) continue;
      before.get(to)?.push(from);
      after.get(from)?.push(to);
    }
  const rank = new Map<string, number>();
  for (const { id } of order) rank.set(id, Math.max(-1, ...(before.get(id) as string[]).map((from) => rank.get(from) ?? 0)) + 1);
  const columns: string[][] = [];
  for (const { id } of order) (columns[rank.get(id) as number] ??= []).push(id);
  // Up and down the columns: each node goes to the middle of its neighbours.
  const row = new Map<string, number>();
  for (const column of columns) for (const [index, id] of column.entries()) row.set(id, index);
  for (let pass = 0; pass < 6; pass += 1) {
    const down = pass % 2 === 0;
    for (const column of down ? columns : [...columns].reverse()) sortByMiddle(column, down ? before : after, row);
  }
  return placed(columns, graph, before);
}

function sortByMiddle(column: string[], neighbours: ReadonlyMap<string, readonly string[]>, row: Map<string, number>): void {
  const middle = new Map(
    column.map((id) => {
      const rows = (neighbours.get(id) ?? []).map((one) => row.get(one) as number);
      return [id, rows.length === 0 ? (row.get(id) as number) : rows.reduce((sum, one) => sum + one, 0) / rows.length] as const;
    }),
  );
  column.sort((one, other) => (middle.get(one) as number) - (middle.get(other) as number));
  for (const [index, id] of column.entries()) row.set(id, index);
}

/** Each node as near to the middle of what leads to it as those above it in its column let it. */
function placed(columns: readonly (readonly string[])[], graph: Graph, before: ReadonlyMap<string, readonly string[]>): Places {
  const byId = new Map(graph.nodes.map((node) => [node.id, node]));
  const heights = new Map(graph.nodes.map((node) => [node.id, nodeHeight(node, graph)]));
  const middles = new Map<string, number>();
  const places = new Map<string, readonly [number, number]>();
  for (const [index, column] of columns.entries()) {
    const wish = new Map(
      column.map((id) => {
        const from = (before.get(id) ?? []).flatMap((one) => middles.get(one) ?? []);
        return [id, from.length === 0 ? undefined : from.reduce((sum, one) => sum + one, 0) / from.length] as const;
      }),
    );
    const tall = column.reduce((sum, id) => sum + (heights.get(id) as number) + ROW_GAP, -ROW_GAP);
    const wishes = [...wish.values()].filter((one) => one !== undefined);
    const middle = wishes.length === 0 ? 0 : wishes.reduce((sum, one) => sum + one, 0) / wishes.length;
    let free = middle - tall / 2;
    for (const id of column) {
      if (!byId.has(id)) continue;
      const height = heights.get(id) as number;
      // A column of one stands level with what leads to it.
      const y = snapped(Math.max(free, column.length === 1 ? middle - height / 2 : free));
      places.set(id, [index * COLUMN, y]);
      middles.set(id, y + height / 2);
      free = y + height + ROW_GAP;
    }
  }
  return places;
}

/** On the grid. */
export const snapped = (value: number): number => Math.round(value / GRID) * GRID;

/** Returns the stored places, and places of the layout for other nodes, below the stored ones. */
export function completePlaces(graph: Graph, stored: Places): Places {
  const missing = graph.nodes.filter(({ id }) => !stored.has(id));
  if (missing.length === 0) return stored;
  const laid = autoLayout(graph);
  if (missing.length === graph.nodes.length) return laid;
  const places = new Map(stored);
  const own = new Set(graph.nodes.map(({ id }) => id));
  for (const { id } of missing) {
    const taken = [...places].flatMap(([other, place]) => (own.has(other) ? [place] : []));
    places.set(id, freePlace(laid.get(id) as readonly [number, number], taken));
  }
  return places;
}

/** The wished place, or the first free one below it. */
export function freePlace([x, y]: readonly [number, number], taken: Iterable<readonly [number, number]>): readonly [number, number] {
  const others = [...taken].filter(([left]) => Math.abs(left - x) < NODE_WIDTH + GRID);
  let top = snapped(y);
  while (others.some(([, other]) => Math.abs(other - top) < NODE_HEIGHT + GRID)) top += GRID;
  return [snapped(x), top];
}
