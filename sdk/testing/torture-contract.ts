import assert from "node:assert/strict";
import type { Capability } from "../capabilities.ts";
import type { Lifecycle, Plugin } from "../plugin.ts";
import { secretsOf, textOf } from "./channel-run.ts";
import { withDefaults } from "./defaults.ts";
import { createFakeContext, type FakeContext, type FakeOptions } from "./fake-context.ts";
import { type FarEnd, farEnds, hostileSections, hostileTexts } from "./hostile.ts";
import { type Runner, within } from "./runner.ts";
import { type Touch, touches } from "./touch.ts";

/** A plugin to be tortured. */
export interface TortureSubject {
  readonly plugin: Plugin<never>;
  /** A section of svc.json with which it works, such as its sample. */
  readonly config?: unknown;
  /** What its capabilities do in every case, in place of the far ends of the suite. */
  readonly fake?: Omit<FakeOptions<never>, "config">;
  /** How long whatever was aborted or stopped may take to end, in milliseconds; default 5,000. */
  readonly endMs?: number;
}

/** How long a start is waited for: some platforms are not there, and the kernel would go on waiting. */
const START_MS = 300;
/** How long a call may go on by itself before it is aborted. */
const PATIENCE_MS = 100;
const END_MS = 5_000;
/** More sections than these are no longer tried: a large sample has thousands. */
const SECTIONS = 200;

interface Loaded {
  readonly context: FakeContext<never>;
  readonly lifecycle: Lifecycle<never>;
  stop(): Promise<void>;
}

const CALM = farEnds[0] as FarEnd;

/**
 * What a plugin must withstand, whatever its kind: hostile words and far ends, aborts, stops, reloads and sections, and a second of
 * itself. It calls all that the plugin registered. `tortureContract({ describe, it }, { plugin, config })`; `svc plugin check` runs it too.
 */
export function tortureContract(runner: Runner, subject: TortureSubject): void {
  const { plugin, endMs = END_MS } = subject;
  const schema = plugin.config?.schema;
  const secrets = secretsOf(schema, subject.config);

  const context = (far: FarEnd = CALM, section = subject.config): FakeContext<never> =>
    createFakeContext<never>(plugin, { ...far.fake(), ...subject.fake, config: withDefaults(schema, section ?? {}) as never });

  /** Set up and started, or not: a start that fails is stopped, as the kernel does. */
  async function load(made: FakeContext<never> = context()): Promise<Loaded> {
    const lifecycle = await setUp(made);
    await settledWithin(START_MS, async () => lifecycle.start?.());
    let stopped: Promise<void> | undefined;
    return { context: made, lifecycle, stop: () => (stopped ??= end(lifecycle, made)) };
  }

  async function setUp(made: FakeContext<never>): Promise<Lifecycle<never>> {
    try {
      return (await plugin.setup(made)) ?? {};
    } catch (error) {
      made.end();
      throw error;
    }
  }

  async function end(lifecycle: Lifecycle<never>, made: FakeContext<never>): Promise<void> {
    made.end();
    await within(endMs, "stop", Promise.resolve(lifecycle.stop?.()));
  }

  /** A case, and what holds in all of them: no stray error, nothing of every object changed, no secret told. */
  const it = (name: string, work: (loaded: (made?: FakeContext<never>) => Promise<Loaded>) => Promise<void>) =>
    runner.it(name, async () => {
      const all: Loaded[] = [];
      const strays: unknown[] = [];
      const stray = (error: unknown) => void strays.push(error);
      const before = Object.getOwnPropertyNames(Object.prototype).join();
      process.on("unhandledRejection", stray);
      process.on("uncaughtException", stray);
      try {
        await work(async (made) => {
          const loaded = await load(made);
          all.push(loaded);
          return loaded;
        });
      } finally {
        for (const one of all) await one.stop();
        // Errors that nobody hears are told a turn of the loop later.
        await new Promise((resolve) => setTimeout(resolve, 20));
        process.off("unhandledRejection", stray);
        process.off("uncaughtException", stray);
      }
      assert.deepEqual(
        strays.map((error) => (error as Error | undefined)?.message ?? String(error)),
        [],
        "it left errors behind that nobody hears",
      );
      assert.equal(Object.getOwnPropertyNames(Object.prototype).join(), before, "it changed every object of the process");
      for (const { logged } of all.map((one) => one.context)) assertNoSecret(textOf(logged), "its log");
    });

  const assertNoSecret = (text: string, where: string) => {
    for (const secret of secrets) assert.ok(!text.includes(secret), `${where} shows a secret of its section`);
  };

  /** Calls all it registered, side by side; each ends by itself, or soon after it was aborted. */
  async function callAll(made: FakeContext<never>, words: string, text: string, calm: boolean, aborted = false): Promise<void> {
    const wrong: string[] = [];
    const judge = async (touch: Touch) => {
      const outcome = await carryOut(touch, aborted, endMs);
      if (outcome.kind === "failed") {
        const reason = whyWrong(touch, outcome.error, calm, outcome.aborted);
        if (reason !== undefined) wrong.push(`${touch.what}, given ${words}: ${reason}`);
        assertNoSecret(textOf(outcome.error), `the error of ${touch.what}`);
      } else if (outcome.kind === "hangs") {
        wrong.push(`${touch.what}, given ${words}: did not end within ${endMs / 1000} s after it was aborted; pass its signal on`);
      }
    };
    await Promise.all(touches(made, text, calm).map(judge));
    assert.ok(wrong.length === 0, wrong.join("\n"));
  }

  runner.describe("torture", () => {
    for (const far of farEnds) {
      it(`its far end ${far.name}${unmet(plugin)}: each call ends, and fails as it should`, async (loaded) => {
        const { context: made } = await loaded(context(far));
        await callAll(made, "plain words", "hello", false);
      });
    }

    for (const [name, text] of Object.entries(hostileTexts)) {
      it(`it is told ${name}`, async (loaded) => {
        const { context: made } = await loaded();
        await callAll(made, name, text, true);
      });
    }

    it("each call is aborted before it begins", async (loaded) => {
      const { context: made } = await loaded(context(farNamed("never answers")));
      await callAll(made, "plain words", "hello", false, true);
    });

    it("it is stopped while all its calls are under way", async (loaded) => {
      const one = await loaded(context(farNamed("never answers")));
      const control = new AbortController();
      const busy = touches(one.context, "hello", false).map((touch) => settledWithin(endMs, () => touch.run(control.signal)));
      await one.stop();
      control.abort(new Error("the plugin was stopped"));
      const ended = await Promise.all(busy);
      assert.ok(ended.every(Boolean), "a call went on after the stop");
    });

    it("it is stopped before its start has ended, and without a start", async () => {
      for (const started of [true, false]) {
        const made = context(farNamed("never answers"));
        const lifecycle = await setUp(made);
        const start = started ? settledWithin(endMs, async () => lifecycle.start?.()) : Promise.resolve(true);
        await end(lifecycle, made);
        assert.ok(await start, "its start went on after the stop; end it when ctx.signal aborts");
      }
    });

    it("it is loaded and ended ten times in a row", async (loaded) => {
      let first: readonly string[] | undefined;
      for (let round = 0; round < 10; round += 1) {
        const one = await loaded();
        first ??= kindsOf(one.context);
        assert.deepEqual(kindsOf(one.context), first, "it registers something else the next time: it keeps state outside of setup");
        await one.stop();
      }
    });

    it("it is there twice: what one does or ends leaves the other alone", async (loaded) => {
      const [one, other] = [await loaded(), await loaded()];
      assert.deepEqual(kindsOf(other.context), kindsOf(one.context));
      const { channels } = other.context.registered;
      const down = () => channels.filter(({ state }) => state === "down").length;
      // What it makes of its own far end is its own affair.
      for (let patience = 0; patience < 100 && channels.some(({ state }) => state === "connecting"); patience += 1)
        await new Promise((resolve) => setTimeout(resolve, 20));
      const before = down();
      await callAll(one.context, "plain words", "hello", true);
      await one.stop();
      await callAll(other.context, "plain words", "hello", true);
      assert.equal(down(), before, "the end of one took the channel of the other down");
    });

    it("its section is changed to any other that passes its schema", async (loaded) => {
      let tried = 0;
      for (const { at, section } of hostileSections(schema, subject.config)) {
        if ((tried += 1) > SECTIONS) break;
        try {
          await (await loaded(context(CALM, section))).stop();
        } catch (error) {
          // To refuse a section is right, in words.
          assert.ok(isError(error), `with another ${at} it threw what is no error`);
        }
      }
    });

    it("its section is changed while its calls are under way", async (loaded) => {
      const one = await loaded(context(farNamed("never answers")));
      const { reload } = one.lifecycle;
      const sections = [subject.config ?? {}, ...[...hostileSections(schema, subject.config)].slice(0, 10).map(({ section }) => section), subject.config ?? {}];
      const control = new AbortController();
      const busy = touches(one.context, "hello", false).map((touch) => settledWithin(endMs, () => touch.run(control.signal)));
      for (const section of sections) {
        if (reload === undefined) break;
        const outcome = await settledWithin(endMs, async () => reload.call(one.lifecycle, withDefaults(schema, section) as never));
        assert.ok(outcome, "a reload did not end");
      }
      control.abort(new Error("aborted"));
      assert.ok((await Promise.all(busy)).every(Boolean), "a call went on after its abort");
    });
  });
}

/** What of a context leads to a far end. */
const LEADING: readonly Capability[] = ["fetch", "sockets", "spawn", "models", "files", "store"];

/** Said in the report, where a green case proves less than it seems to. */
function unmet({ capabilities }: Plugin<never>): string {
  if (capabilities.includes("network")) return " (its own connections, capability network, do not meet it)";
  return capabilities.some((capability) => LEADING.includes(capability)) ? "" : " (it meets none: no capability of the plugin leads to one)";
}

const farNamed = (name: string): FarEnd => farEnds.find((far) => far.name === name) ?? CALM;

type Ended = { readonly kind: "ended" } | { readonly kind: "failed"; readonly error: unknown; readonly aborted: boolean } | { readonly kind: "hangs" };

async function carryOut(touch: Touch, abortedBefore: boolean, endMs: number): Promise<Ended> {
  const control = new AbortController();
  if (abortedBefore) control.abort(new Error("aborted"));
  const timer = setTimeout(() => control.abort(new Error("aborted")), PATIENCE_MS);
  const done = (async (): Promise<Ended> => {
    try {
      await touch.run(control.signal);
      return { kind: "ended" };
    } catch (error) {
      return { kind: "failed", error, aborted: control.signal.aborted };
    }
  })();
  let late: NodeJS.Timeout | undefined;
  const hangs = new Promise<Ended>((resolve) => {
    late = setTimeout(() => resolve({ kind: "hangs" }), PATIENCE_MS + endMs);
  });
  try {
    return await Promise.race([done, hangs]);
  } finally {
    clearTimeout(timer);
    clearTimeout(late);
  }
}

/** Undefined where it failed as it may. Hooks may never fail for what somebody wrote. */
function whyWrong(touch: Touch, error: unknown, calm: boolean, aborted: boolean): string | undefined {
  if (!isError(error)) return "it threw what is no error";
  const { code, message, name } = error as Error & { code?: string };
  if (code === "SVC_CAPABILITY_UNDECLARED" || name === "AssertionError") return message;
  if (aborted) return undefined;
  if (calm && (touch.what.startsWith("hook") || touch.what.startsWith("authority"))) return `it threw: ${message}`;
  try {
    touch.fails?.(error);
    return undefined;
  } catch (judged) {
    return `${(judged as Error).message} (${message})`;
  }
}

/** Across realms and vendors. */
const isError = (error: unknown): error is Error => typeof (error as Error | null | undefined)?.message === "string";

/** Whether it settled, however, within that time. */
async function settledWithin(ms: number, work: () => Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  const settled = work().then(
    () => true,
    () => true,
  );
  try {
    return await Promise.race([settled, late]);
  } finally {
    clearTimeout(timer);
  }
}

const kindsOf = ({ registered }: FakeContext<never>): readonly string[] => Object.entries(registered).map(([kind, list]) => `${list.length} ${kind}`);
