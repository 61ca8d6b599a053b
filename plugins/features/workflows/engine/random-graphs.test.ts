import { describe, expect, it } from "vitest";
import { fold } from "./apply.ts";
import type { Definition } from "./definition.ts";
import type { Entry } from "./entries.ts";
import { graphOf } from "./graph.ts";
import { answersFor, type Mix, randomDefinition, wayOf } from "./random-graph.harness.ts";
import { randomOf, SimulatedHost } from "./simulate.harness.ts";
import { nodeOf } from "./step-ids.ts";

/** `SVC_SOAK=2000` tries that many graphs. */
const GRAPHS = Number(process.env["SVC_SOAK"] ?? 40);
const ORDERS = 6;

interface Totals {
  runs: number;
  entries: number;
  joins: number;
  late: number;
  tooLong: number;
  pauses: number;
}

function runOnce(definition: Definition, seed: number, pauses: boolean, same: boolean, totals: Totals): SimulatedHost {
  const random = randomOf(seed);
  const host = new SimulatedHost(definition, {
    answers: answersFor(definition, !same),
    input: { h: 1, n: 0 },
    unchecked: true,
    pick: random,
    hurry: () => random(4) === 0,
  });
  host.start();
  while (host.run.status === "running" || host.run.status === "paused") {
    if (host.run.status === "paused") {
      for (let more = random(6); more > 0 && host.next(); more--);
      host.give({ kind: "resume", at: host.now });
    } else if (pauses && random(12) === 0) {
      totals.pauses++;
      host.give({ kind: "pause", at: host.now });
    } else if (!host.next()) break;
  }
  totals.runs++;
  totals.entries += host.journal.length;
  totals.joins += host.journal.filter(({ kind }) => kind === "join.fired").length;
  totals.late += host.journal.filter(({ kind }) => kind === "join.late").length;
  return host;
}

/** Each token that was made is used by exactly one entry, and each visit has sent a token along every edge of the ports it took. */
function checkTokens(definition: Definition, journal: readonly Entry[]): void {
  const { places } = graphOf(definition);
  const over = new Map<string, number>();
  const sent = new Map<string, number>();
  const expected = new Map<string, number>();
  const waiting = new Map<string, number>();
  const count = (map: Map<string, number>, key: string, by = 1) => map.set(key, (map.get(key) ?? 0) + by);
  const takes = (step: string, ports: readonly string[]) => {
    const { ports: known } = places.get(nodeOf(step)) as { ports: ReadonlyMap<string, readonly unknown[]> };
    count(
      expected,
      step,
      ports.reduce((sum, port) => sum + (known.get(port)?.length ?? 0), 0),
    );
  };
  for (const entry of journal) {
    switch (entry.kind) {
      case "step.ready":
        expect(over.has(entry.step)).toBe(false);
        over.set(entry.step, 0);
        if (entry.from !== null) count(sent, entry.from);
        break;
      case "join.arrived":
        count(waiting, entry.group);
        if (entry.from !== null) count(sent, entry.from);
        break;
      case "join.late":
        if (entry.from !== null) count(sent, entry.from);
        break;
      case "step.ended":
        count(over, entry.step);
        takes(entry.step, entry.ports);
        break;
      case "step.failed":
        count(over, entry.step);
        takes(entry.step, entry.port === null ? [] : [entry.port]);
        break;
      case "step.canceled":
        count(over, entry.step);
        break;
      case "join.fired":
        expect([entry.output.length, entry.seq]).toEqual([waiting.get(entry.group), entry.seq]);
        waiting.delete(entry.group);
        takes(entry.step, ["out"]);
        break;
      case "join.short":
        expect(waiting.get(entry.group)).toBeGreaterThan(0);
        waiting.delete(entry.group);
        takes(entry.step, entry.port === null ? [] : [entry.port]);
        break;
      case "join.dropped":
        expect(waiting.get(entry.group)).toBeGreaterThan(0);
        waiting.delete(entry.group);
        break;
      case "item.started":
        // The token with which an item begins is one more of its `forEach`.
        count(expected, entry.step);
        break;
    }
  }
  expect([...over].filter(([, times]) => times !== 1)).toEqual([]);
  expect([...waiting]).toEqual([]);
  const kinds = [...new Set([...sent.keys(), ...expected.keys()])].filter((step) => (sent.get(step) ?? 0) !== (expected.get(step) ?? 0));
  expect(kinds).toEqual([]);
}

/** What has happened, whatever the order: of each visit its node, how it ended and what its token had behind it. */
function summary(journal: readonly Entry[]): string {
  const seen: string[] = [];
  for (const entry of journal) {
    if (entry.kind === "step.ended") seen.push(`${nodeOf(entry.step)} ok ${wayOf(entry.output).h}`);
    if (entry.kind === "step.failed") seen.push(`${nodeOf(entry.step)} failed ${entry.error.code} ${entry.port}`);
    if (entry.kind === "join.fired") seen.push(`${entry.node} fired ${wayOf(entry.output).h}`);
    if (entry.kind === "join.late" || entry.kind === "join.dropped" || entry.kind === "join.short") seen.push(`${entry.node} ${entry.kind}`);
  }
  return seen.sort().join("\n");
}

function tryGraphs(mix: Mix, from: number, same: boolean): Totals {
  const totals: Totals = { runs: 0, entries: 0, joins: 0, late: 0, tooLong: 0, pauses: 0 };
  for (let graph = 0; graph < GRAPHS; graph++) {
    const definition = randomDefinition(randomOf(from + graph), mix);
    let first: string | undefined;
    for (let order = 0; order < ORDERS; order++) {
      const seed = (from + graph) * 31 + order;
      const host = runOnce(definition, seed, order % 3 === 2, same, totals);
      if (host.run.error?.code === "STEP_LIMIT") {
        totals.tooLong++;
        break;
      }
      const told = { graph: from + graph, order };
      expect({ ...told, status: host.run.status }).toEqual({ ...told, status: host.run.status === "failed" ? "failed" : "completed" });
      expect(JSON.parse(JSON.stringify(fold(host.journal)))).toEqual(JSON.parse(JSON.stringify(host.run)));
      checkTokens(definition, host.journal);
      if (!same) continue;
      const own = summary(host.journal);
      first ??= own;
      if (own !== first) expect({ ...told, own }).toEqual({ ...told, own: first });
    }
  }
  return totals;
}

describe("random graphs", () => {
  it("with joins that wait for all give the same in any order, lose no token and never stand still", { timeout: 3_600_000 }, () => {
    const some = tryGraphs({ racing: false, joins: 3 }, 1, true);
    const mostly = tryGraphs({ racing: false, joins: 6 }, 1_000_001, true);
    if (process.env["SVC_SOAK"] !== undefined) console.log({ some, mostly });
    expect(some.joins + mostly.joins).toBeGreaterThan(GRAPHS);
    expect(some.tooLong + mostly.tooLong).toBeLessThan(GRAPHS);
  });

  it("with joins, cancels and ends that race lose no token and never stand still", { timeout: 3_600_000 }, () => {
    const totals = tryGraphs({ racing: true, joins: 4 }, 2_000_001, false);
    if (process.env["SVC_SOAK"] !== undefined) console.log(totals);
    expect(totals.late).toBeGreaterThan(0);
  });
});
