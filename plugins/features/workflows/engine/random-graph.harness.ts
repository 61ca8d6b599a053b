import type { Definition, Edge, Node } from "./definition.ts";
import type { Answers } from "./simulate.harness.ts";

/** What the random graphs may have. */
export interface Mix {
  /** Joins that need not wait for all, cancelRest, cancelNodes and terminating ends: these race by intent. */
  readonly racing: boolean;
  /** Of ten nodes about so many are joins. */
  readonly joins: number;
}

type Random = (below: number) => number;

/** A definition with joins, back edges, choices, retries, errors, timers and nested `forEach`, in which each node can be reached. */
export function randomDefinition(random: Random, mix: Mix): Definition {
  const names = { next: 0 };
  const { nodes, edges } = randomBody(random, mix, names, 4 + random(14), 0);
  return {
    id: "random",
    maxVisits: 10_000,
    maxSteps: 1_500,
    nodes: [{ id: "start", kind: "trigger" }, ...nodes],
    edges: [{ from: "start", to: nodes[0]?.id ?? "" }, ...edges],
  };
}

function randomBody(random: Random, mix: Mix, names: { next: number }, count: number, depth: number): { nodes: Node[]; edges: Edge[] } {
  const ids = Array.from({ length: count }, () => `n${names.next++}`);
  // The last node is no choice: every choice has somewhere to go on to.
  const nodes = ids.map((id, at) => randomNode(random, mix, names, { id, plain: at === 0 || at === count - 1, depth, ids }));
  const edges: Edge[] = [];
  const add = (from: Node, to: Node, port: string) => {
    if (!edges.some((edge) => edge.from === from.id && edge.to === to.id && edge.fromPort === port)) edges.push({ from: from.id, to: to.id, fromPort: port });
  };
  const forward = (node: Node) => {
    const ports = portsOf(node).filter((port) => port !== "back");
    return ports[random(ports.length)] as string;
  };
  for (let at = 1; at < count; at++) {
    const node = nodes[at] as Node;
    const into = node.kind === "join" ? 2 + random(3) : 1 + (random(4) === 0 ? 1 : 0);
    for (let one = 0; one < into; one++) {
      const sources = nodes.slice(Math.max(0, at - 6), at).filter(({ kind }) => kind !== "end");
      const from = sources[random(sources.length)] ?? (nodes[0] as Node);
      add(from, node, forward(from));
    }
  }
  // Back edges leave by a port of their own, so that a token with many steps behind it can stay out of the loop.
  for (const [at, node] of nodes.entries()) {
    if (node.kind !== "branch" && node.kind !== "multiChoice") continue;
    add(node, nodes[random(at + 1)] as Node, "back");
    if (!edges.some(({ from, fromPort }) => from === node.id && fromPort === "else")) add(node, nodes[Math.min(count - 1, at + 1)] as Node, "else");
  }
  return { nodes, edges };
}

interface Wanted {
  readonly id: string;
  readonly plain: boolean;
  readonly depth: number;
  readonly ids: readonly string[];
}

function randomNode(random: Random, mix: Mix, names: { next: number }, { id, plain, depth, ids }: Wanted): Node {
  if (plain) return { id, kind: "set", value: 0 };
  if (random(10) < mix.joins) {
    if (!mix.racing || random(2) === 0) return { id, kind: "join" };
    return { id, kind: "join", wait: random(2) === 0 ? "any" : 1 + random(3), cancelRest: random(2) === 0 };
  }
  const cases = ["p0", "p1", "back"].map((port) => ({ port, when: "" }));
  switch (random(mix.racing ? 11 : 9)) {
    case 0:
    case 1:
      return { id, kind: "branch", cases };
    case 2:
      return { id, kind: "multiChoice", cases };
    case 3:
      return { id, kind: "action", action: "x", retry: { attempts: 2, delay: "1s" } };
    case 4:
      return { id, kind: "timer", for: `${1 + random(9)}s` };
    case 5:
      if (depth < 2) return randomForEach(random, mix, names, id, depth);
      return { id, kind: "set", value: 0 };
    case 9: {
      const others = ids.filter((one) => one !== id);
      return { id, kind: "cancelNodes", nodes: [others[random(others.length)] as string] };
    }
    case 10:
      return { id, kind: "end", terminate: random(3) === 0 };
    default:
      return { id, kind: "set", value: 0 };
  }
}

function randomForEach(random: Random, mix: Mix, names: { next: number }, id: string, depth: number): Node {
  const { nodes, edges } = randomBody(random, mix, names, 1 + random(5), depth + 1);
  return {
    id,
    kind: "forEach",
    items: [],
    concurrency: 1 + random(3),
    // Which items an error finds at work is a race; a second attempt of all of them is one, too.
    ...(mix.racing && random(2) === 0 ? { retry: { attempts: 2 } } : { onItemError: "continue" }),
    ...(mix.racing && random(2) === 0 ? { need: 1 } : {}),
    do: { start: nodes[0]?.id ?? "", nodes, edges },
  };
}

function portsOf(node: Node): readonly string[] {
  if (node.kind === "branch" || node.kind === "multiChoice") return ["p0", "p1", "else"];
  return node.kind === "action" || node.kind === "forEach" ? ["out", "out", "error"] : ["out"];
}

/** What a token carries: a fingerprint of its way, whatever the order of what happened beside it, and how long that way is. */
interface Way {
  readonly h: number;
  readonly n: number;
}

/** How long a way may get before it stays out of loops. */
const LONG = 25;

/**
 * Answers that depend on the way of the token alone. Nodes without an edge for it make no errors unless `uncaught`: what such an error
 * finds live and cancels is a race.
 */
export function answersFor(definition: Definition, uncaught: boolean): Answers {
  const answers: Record<string, Answers[string]> = {};
  const visit = (nodes: readonly Node[], edges: readonly Edge[]) => {
    for (const node of nodes) {
      if (node.kind === "forEach") visit(node.do.nodes, node.do.edges ?? []);
      const fails = uncaught || edges.some(({ from, fromPort }) => from === node.id && fromPort === "error");
      answers[node.id] = ({ in: value, attempt }) => answer(node, wayOf(value), attempt, fails);
    }
  };
  visit(definition.nodes, definition.edges);
  return answers;
}

function answer(node: Node, { h, n }: Way, attempt: number, fails: boolean): ReturnType<Answers[string]> {
  const own = hash(h, node.id);
  const output = { h: own, n: n + 1 };
  switch (node.kind) {
    case "branch": {
      const ports = n > LONG ? ["p0", "p1", "else"] : ["p0", "p1", "else", "back"];
      return { port: ports[own % ports.length] as string };
    }
    case "multiChoice": {
      const ports = ["p0", "p1", ...(n > LONG ? [] : ["back"])].filter((_, at) => (own >> (3 * at)) % 2 === 0);
      return ports.length === 0 ? { port: "else" } : { ports };
    }
    case "forEach":
      return fails && own % 9 === 0
        ? { error: { code: "BAD", retryable: false } }
        : { items: Array.from({ length: own % 4 }, (_, at) => ({ h: hash(own, at), n: n + 1 })) };
    case "action":
      return hash(own, attempt) % 3 === 0 && (fails || attempt === 1) ? { error: { code: "ERROR" } } : { output };
    case "timer":
      return {};
    default:
      return { output };
  }
}

/** The way of a value: lists are merged tokens, and of errors only that they are one counts. */
export function wayOf(value: unknown): Way {
  if (Array.isArray(value)) {
    const ways = value.map(wayOf).sort((one, other) => one.h - other.h);
    return { h: ways.reduce((sum, { h }) => hash(sum, h), ways.length), n: Math.max(0, ...ways.map(({ n }) => n)) + 1 };
  }
  const way = value as Partial<Way> | null | undefined;
  if (typeof way?.h === "number" && typeof way.n === "number") return { h: way.h, n: way.n };
  // Of what a timer or an error gives nothing depends on the way; a loop over them has to end all the same.
  return { h: value !== null && typeof value === "object" && "error" in value ? 13 : 7, n: LONG - 5 };
}

function hash(one: number, other: number | string): number {
  let sum = one >>> 0;
  for (const part of String(other)) sum = Math.imul(sum ^ part.charCodeAt(0), 16_777_619) >>> 0;
  return (sum ^ (sum >>> 15)) >>> 1;
}
