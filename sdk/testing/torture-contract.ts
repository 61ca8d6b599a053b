import assert from "node:assert/strict";
import type { Capability } from "../capabilities.ts";
import { emptySection } from "../context.ts";
import type { Plugin } from "../plugin.ts";
import { sleep } from "../time.ts";
import { withDefaults } from "./defaults.ts";
import type { FakeContext } from "./fake-context.ts";
import { type FarEnd, farEnds, hostileSections, hostileTexts } from "./hostile.ts";
import type { Runner } from "./runner.ts";
import { CALM, isError, settledWithin, TortureRun, type TortureSubject } from "./torture-run.ts";
import { touches } from "./touch.ts";

/** Limit of tested sections: a large sample has thousands. */
const SECTIONS = 200;

/**
 * Robustness suite of a plugin of any kind: hostile texts and far ends, aborts, stops, reloads, sections, and a second instance. It calls everything
 * that the plugin registered. `tortureContract({ describe, it }, { plugin, config })`; `svc plugin check` runs it too.
 */
export function tortureContract(runner: Runner, subject: TortureSubject): void {
  const run = new TortureRun(runner, subject);
  runner.describe("torture", () => {
    hostileFarEnds(run);
    lifecycles(run);
    otherSections(run);
  });
}

/** Far ends and words that mean harm, and aborts. */
function hostileFarEnds(run: TortureRun): void {
  for (const far of farEnds) {
    run.it(`its far end ${far.name}${unmet(run.subject.plugin)}: each call ends, and fails as it should`, async (loaded) => {
      const { context: made } = await loaded(run.context(far));
      await run.callAll(made, "plain words", "hello", false);
    });
  }

  for (const [name, text] of Object.entries(hostileTexts)) {
    run.it(`it is told ${name}`, async (loaded) => {
      const { context: made } = await loaded();
      await run.callAll(made, name, text, true);
    });
  }

  run.it("each call is aborted before it begins", async (loaded) => {
    const { context: made } = await loaded(run.context(farNamed("never answers")));
    await run.callAll(made, "plain words", "hello", false, true);
  });
}

/** Stops at bad moments, many lives, two at a time. */
function lifecycles(run: TortureRun): void {
  run.it("it is stopped while all its calls are under way", async (loaded) => {
    const one = await loaded(run.context(farNamed("never answers")));
    const control = new AbortController();
    const busy = touches(one.context, "hello", false).map((touch) => settledWithin(run.endMs, () => touch.run(control.signal)));
    await one.stop();
    control.abort(new Error("the plugin was stopped"));
    const ended = await Promise.all(busy);
    assert.ok(ended.every(Boolean), "a call went on after the stop");
  });

  run.it("it is stopped before its start has ended, and without a start", async () => {
    for (const started of [true, false]) {
      const made = run.context(farNamed("never answers"));
      const lifecycle = await run.setUp(made);
      const start = started ? settledWithin(run.endMs, async () => lifecycle.start?.()) : Promise.resolve(true);
      await run.end(lifecycle, made);
      assert.ok(await start, "its start went on after the stop; end it when ctx.signal aborts");
    }
  });

  run.it("it is loaded and ended ten times in a row", async (loaded) => {
    let first: readonly string[] | undefined;
    for (let round = 0; round < 10; round += 1) {
      const one = await loaded();
      first ??= kindsOf(one.context);
      assert.deepEqual(kindsOf(one.context), first, "it registers something else the next time: it keeps state outside of setup");
      await one.stop();
    }
  });

  run.it("it is there twice: what one does or ends leaves the other alone", async (loaded) => {
    const [one, other] = [await loaded(), await loaded()];
    assert.deepEqual(kindsOf(other.context), kindsOf(one.context));
    const { channels } = other.context.registered;
    const down = () => channels.filter(({ state }) => state === "down").length;
    // How it copes with its own far end is not tested here.
    for (let patience = 0; patience < 100 && channels.some(({ state }) => state === "connecting"); patience += 1) await sleep(20);
    const before = down();
    await run.callAll(one.context, "plain words", "hello", true);
    await one.stop();
    await run.callAll(other.context, "plain words", "hello", true);
    assert.equal(down(), before, "the end of one took the channel of the other down");
  });
}

/** Other sections, at rest and while calls run. */
function otherSections(run: TortureRun): void {
  run.it("its section is changed to any other that passes its schema", async (loaded) => {
    let tried = 0;
    for (const { at, section } of hostileSections(run.subject.plugin.config?.schema, run.subject.config)) {
      if ((tried += 1) > SECTIONS) break;
      try {
        await (await loaded(run.context(CALM, section))).stop();
      } catch (error) {
        // Refusing a section is right, with an error.
        assert.ok(isError(error), `with another ${at} it threw something that is not an error`);
      }
    }
  });

  run.it("its section is changed while its calls are under way", async (loaded) => {
    const one = await loaded(run.context(farNamed("never answers")));
    const { reload } = one.lifecycle;
    const sections = [
      run.subject.config ?? emptySection(run.subject.plugin.config?.schema),
      ...[...hostileSections(run.subject.plugin.config?.schema, run.subject.config)].slice(0, 10).map(({ section }) => section),
      run.subject.config ?? emptySection(run.subject.plugin.config?.schema),
    ];
    const control = new AbortController();
    const busy = touches(one.context, "hello", false).map((touch) => settledWithin(run.endMs, () => touch.run(control.signal)));
    for (const section of sections) {
      if (reload === undefined) break;
      const outcome = await settledWithin(run.endMs, async () => reload.call(one.lifecycle, withDefaults(run.subject.plugin.config?.schema, section) as never));
      assert.ok(outcome, "a reload did not end");
    }
    control.abort(new Error("aborted"));
    assert.ok((await Promise.all(busy)).every(Boolean), "a call went on after its abort");
  });
}

/** Capabilities that lead to a far end. */
const LEADING: readonly Capability[] = ["fetch", "sockets", "spawn", "models", "files", "store"];

/** Said in the report, where a green case proves less than it seems to. */
function unmet({ capabilities }: Plugin<never>): string {
  if (capabilities.includes("network")) return " (its own connections, capability network, do not meet it)";
  return capabilities.some((capability) => LEADING.includes(capability)) ? "" : " (it meets none: no capability of the plugin leads to one)";
}

const farNamed = (name: string): FarEnd => farEnds.find((far) => far.name === name) ?? CALM;

const kindsOf = ({ registered }: FakeContext<never>): readonly string[] => Object.entries(registered).map(([kind, list]) => `${list.length} ${kind}`);
