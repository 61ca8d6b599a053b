import { immediateDominators } from "../engine/dominators.ts";
import type { Edge, Node } from "../engine/types.ts";
import { portsOf } from "./node-ports.ts";
import type { Finding } from "./problem.ts";

/** One graph of a definition: the top one, or the body of a `forEach`. */
export interface GraphPart {
  readonly pointer: string;
  readonly start: string;
  readonly nodes: readonly Node[];
  readonly edges: readonly Edge[];
  /** Ids of all other graphs of the definition. */
  readonly elsewhere: ReadonlySet<string>;
}

/** Checks the shape of one graph. */
export function graphFindings(part: GraphPart): readonly Finding[] {
  const { nodes, edges } = part;
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const findings = [...edgeFindings(part, byId)];
  const next = new Map<string, string[]>(nodes.map(({ id }) => [id, []]));
  for (const { from, to } of edges) if (byId.has(to)) next.get(from)?.push(to);
  if (!byId.has(part.start))
    return [...findings, error("UNKNOWN_NODE", `The body starts at ${part.start}, which is not among its nodes.`, part.pointer, "/start")];
  const dominators = immediateDominators({ start: part.start, next });
  nodes.forEach((node, index) => {
    const pointer = `${part.pointer}/nodes/${index}`;
    if (!dominators.has(node.id)) findings.push(error("UNREACHABLE", `No way leads from ${part.start} to the node ${node.id}.`, pointer));
    else if (node.kind === "join" && node.of !== undefined) findings.push(...ofFindings(node.id, node.of, pointer, byId, dominators));
    if (node.kind === "cancelNodes") findings.push(...cancelFindings(node, pointer, byId));
    findings.push(...openPorts(node, pointer, edges));
  });
  return [...findings, ...endlessFindings(part, next, dominators)];
}

const error = (code: string, message: string, pointer: string, below = ""): Finding => ({ code, message, pointer: pointer + below, severity: "error" });
const warning = (code: string, message: string, pointer: string): Finding => ({ code, message, pointer, severity: "warning" });

function edgeFindings({ pointer, edges, start, elsewhere }: GraphPart, byId: ReadonlyMap<string, Node>): readonly Finding[] {
  const findings: Finding[] = [];
  const seen = new Set<string>();
  edges.forEach(({ from, to, fromPort = "out" }, index) => {
    const place = `${pointer}/edges/${index}`;
    for (const [key, id] of Object.entries({ from, to })) {
      if (byId.has(id)) continue;
      const message = elsewhere.has(id)
        ? `The node ${id} stands in another graph; an edge cannot lead into a body or out of one.`
        : `There is no node ${id}${key === "from" && id.includes(".") ? "; give the port as fromPort" : ""}.`;
      findings.push(error(elsewhere.has(id) ? "EDGE_BETWEEN_BODIES" : "UNKNOWN_NODE", message, place, `/${key}`));
    }
    const source = byId.get(from);
    const ports = source === undefined ? undefined : portsOf(source);
    if (source !== undefined && ports?.includes(fromPort) === false) {
      const known = ports.length === 0 ? `a node of kind ${source.kind} has no ports` : `it has ${ports.join(", ")}`;
      findings.push(error("UNKNOWN_PORT", `The node ${from} has no port ${fromPort}; ${known}.`, place));
    }
    if (byId.get(to)?.kind === "trigger" || (to === start && byId.get(to)?.kind === "trigger")) {
      findings.push(error("EDGE_INTO_TRIGGER", "No edge may lead into the trigger.", place, "/to"));
    }
    const triple = JSON.stringify([from, fromPort, to]);
    if (seen.has(triple)) findings.push(error("DUPLICATE_EDGE", `The edge from ${from} (${fromPort}) to ${to} stands here twice.`, place));
    seen.add(triple);
  });
  return findings;
}

function ofFindings(
  id: string,
  of: string,
  pointer: string,
  byId: ReadonlyMap<string, Node>,
  dominators: ReadonlyMap<string, string | null>,
): readonly Finding[] {
  if (!byId.has(of)) return [error("UNKNOWN_NODE", `The join ${id} is of ${of}, which is not among the nodes of its graph.`, pointer, "/of")];
  for (let one = dominators.get(id); one !== undefined && one !== null; one = dominators.get(one)) if (one === of) return [];
  return [error("OF_NOT_DOMINATING", `The join ${id} is of ${of}, but a way leads to it that does not go through ${of}.`, pointer, "/of")];
}

function cancelFindings({ id, nodes }: Node<"cancelNodes">, pointer: string, byId: ReadonlyMap<string, Node>): readonly Finding[] {
  return nodes.flatMap((target, index) => {
    if (target === id) return [error("CANCEL_ITSELF", `The node ${id} cannot cancel itself.`, pointer, `/nodes/${index}`)];
    return byId.has(target)
      ? []
      : [error("UNKNOWN_NODE", `The node ${id} cancels ${target}, which is not among the nodes of its graph.`, pointer, `/nodes/${index}`)];
  });
}

function openPorts(node: Node, pointer: string, edges: readonly Edge[]): readonly Finding[] {
  if (node.kind !== "branch" && node.kind !== "multiChoice") return [];
  const led = new Set(edges.filter(({ from }) => from === node.id).map(({ fromPort = "out" }) => fromPort));
  const cases = node.cases.flatMap(({ port }, index) =>
    led.has(port) ? [] : [warning("OPEN_PORT", `The case ${port} of ${node.id} leads nowhere: its token ends.`, `${pointer}/cases/${index}/port`)],
  );
  if (led.has("else")) return cases;
  return [...cases, warning("OPEN_PORT", `The node ${node.id} has no edge on else: where no case is true, it fails with NO_BRANCH.`, pointer)];
}

/** Cycles that nothing leaves: they run into LOOP_LIMIT or wait for ever. */
function endlessFindings(
  { pointer, nodes, edges }: GraphPart,
  next: ReadonlyMap<string, readonly string[]>,
  reached: ReadonlyMap<string, unknown>,
): readonly Finding[] {
  // Something else may end the cycle from outside.
  if (nodes.some((node) => (node.kind === "end" && node.terminate === true) || (node.kind === "join" && node.cancelRest === true))) return [];
  const canceled = new Set(nodes.flatMap((node) => (node.kind === "cancelNodes" ? node.nodes : [])));
  const byId = new Map(nodes.map((node) => [node.id, node]));
  return cyclesOf([...reached.keys()], next).flatMap((cycle) => {
    const members = new Set(cycle);
    const left = cycle.some((id) => canceled.has(id) || (next.get(id) ?? []).some((to) => !members.has(to)) || endsToken(byId.get(id) as Node, edges));
    if (left) return [];
    const first = Math.min(...cycle.map((id) => nodes.findIndex((node) => node.id === id)));
    return [error("ENDLESS_CYCLE", `Nothing leads out of the cycle ${cycle.join(", ")}.`, `${pointer}/nodes/${first}`)];
  });
}

/** Whether a token may end at the node since a port that it may choose leads nowhere. */
function endsToken(node: Node, edges: readonly Edge[]): boolean {
  const chosen = (portsOf(node) ?? []).filter((port) => !["error", "timeout", "due", "else"].includes(port));
  if (portsOf(node) === undefined) return true;
  return chosen.some((port) => !edges.some(({ from, fromPort = "out" }) => from === node.id && fromPort === port));
}

/** The strongly connected components that hold a cycle. */
function cyclesOf(ids: readonly string[], next: ReadonlyMap<string, readonly string[]>): readonly (readonly string[])[] {
  const place = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const on = new Set<string>();
  const cycles: string[][] = [];
  for (const root of ids) {
    if (place.has(root)) continue;
    // With a stack of its own: a chain of 500 nodes is no reason to call 500 times.
    const work: { readonly id: string; at: number }[] = [{ id: root, at: 0 }];
    for (let top = work.at(-1); top !== undefined; top = work.at(-1)) {
      const { id } = top;
      if (top.at === 0 && !place.has(id)) {
        place.set(id, place.size);
        low.set(id, place.get(id) as number);
        stack.push(id);
        on.add(id);
      }
      const to = (next.get(id) ?? [])[top.at];
      top.at += 1;
      if (to !== undefined) {
        if (!place.has(to)) work.push({ id: to, at: 0 });
        else if (on.has(to)) low.set(id, Math.min(low.get(id) as number, place.get(to) as number));
        continue;
      }
      work.pop();
      const parent = work.at(-1);
      if (parent !== undefined) low.set(parent.id, Math.min(low.get(parent.id) as number, low.get(id) as number));
      if (low.get(id) !== place.get(id)) continue;
      const component = stack.splice(stack.indexOf(id));
      for (const member of component) on.delete(member);
      if (component.length > 1 || (next.get(id) ?? []).includes(id)) cycles.push(component);
    }
  }
  return cycles;
}
