import assert from "node:assert/strict";
import { emptySection } from "../context.ts";
import type { Lifecycle, Plugin } from "../plugin.ts";
import { sleep } from "../time.ts";
import { secretsOf, textOf } from "./channel-run.ts";
import { withDefaults } from "./defaults.ts";
import { createFakeContext, type FakeContext, type FakeOptions } from "./fake-context.ts";
import { type FarEnd, farEnds } from "./hostile.ts";
import { inTime, type Runner } from "./runner.ts";
import { type Touch, touches } from "./touch.ts";

/** A plugin to be tortured. */
export interface TortureSubject {
  readonly plugin: Plugin<never>;
  /** A section of svc.json with which it works, such as its sample. */
  readonly config?: unknown;
  /** Fakes of its capabilities in every case, in place of the far ends of the suite. */
  readonly fake?: Omit<FakeOptions<never>, "config">;
  /** Time limit for aborted or stopped work to end, in milliseconds; default 5,000. */
  readonly endMs?: number;
}

/** Time limit of a start: some platforms do not exist here, and the kernel would go on waiting. */
const START_MS = 300;
/** Time that a call may take by itself before it is aborted. */
const PATIENCE_MS = 100;
const END_MS = 5_000;

/** A plugin that was set up and started, or whose start failed. */
export interface Loaded {
  readonly context: FakeContext<never>;
  readonly lifecycle: Lifecycle<never>;
  stop(): Promise<void>;
}

/** A case of the suite: `load` starts a plugin that is stopped at its end. */
export type TortureCase = (load: (made?: FakeContext<never>) => Promise<Loaded>) => Promise<void>;

/** A far end that answers well. */
export const CALM = farEnds[0] as FarEnd;

/** Loads a plugin repeatedly, calls everything that it registered, and asserts the invariants of every case. */
export class TortureRun {
  readonly subject: TortureSubject;
  readonly endMs: number;
  readonly #runner: Runner;
  readonly #secrets: readonly string[];

  constructor(runner: Runner, subject: TortureSubject) {
    this.subject = subject;
    this.endMs = subject.endMs ?? END_MS;
    this.#runner = runner;
    this.#secrets = secretsOf(subject.plugin.config?.schema, subject.config);
  }

  /** A context with this far end and section. */
  context(far: FarEnd = CALM, section = this.subject.config): FakeContext<never> {
    const { plugin, fake } = this.subject;
    return createFakeContext<never>(plugin, {
      ...far.fake(),
      ...fake,
      config: withDefaults(plugin.config?.schema, section ?? emptySection(plugin.config?.schema)) as never,
    });
  }

  /** Sets the plugin up; a context whose setup fails is ended. */
  async setUp(made: FakeContext<never>): Promise<Lifecycle<never>> {
    try {
      return (await this.subject.plugin.setup(made)) ?? {};
    } catch (error) {
      made.end();
      throw error;
    }
  }

  /** Ends the context and stops the plugin, within the time limit. */
  async end(lifecycle: Lifecycle<never>, made: FakeContext<never>): Promise<void> {
    made.end();
    await inTime(this.endMs, "stop", Promise.resolve(lifecycle.stop?.()));
  }

  /** Runs a case with the invariants of all: no stray error, no change of `Object.prototype`, no secret in the log. */
  it(name: string, work: TortureCase): void {
    this.#runner.it(name, async () => {
      const all: Loaded[] = [];
      const strays: unknown[] = [];
      const stray = (error: unknown) => void strays.push(error);
      const before = Object.getOwnPropertyNames(Object.prototype).join();
      process.on("unhandledRejection", stray);
      process.on("uncaughtException", stray);
      try {
        await work(async (made) => {
          const loaded = await this.#load(made ?? this.context());
          all.push(loaded);
          return loaded;
        });
      } finally {
        for (const one of all) await one.stop();
        // Node reports an unhandled rejection one turn of the event loop later.
        await sleep(20);
        process.off("unhandledRejection", stray);
        process.off("uncaughtException", stray);
      }
      assert.deepEqual(
        strays.map((error) => (error as Error | undefined)?.message ?? String(error)),
        [],
        "it left unhandled errors behind",
      );
      assert.equal(Object.getOwnPropertyNames(Object.prototype).join(), before, "it changed every object of the process");
      for (const { logged } of all.map((one) => one.context)) this.#assertNoSecret(textOf(logged), "its log");
    });
  }

  /** Calls everything it registered concurrently; each call ends by itself, or soon after it was aborted. */
  async callAll(made: FakeContext<never>, words: string, text: string, calm: boolean, aborted = false): Promise<void> {
    const { endMs } = this;
    const wrong: string[] = [];
    const judge = async (touch: Touch) => {
      const outcome = await attempt(touch, aborted, endMs);
      if (outcome.kind === "failed") {
        const reason = whyWrong(touch, outcome.error, calm, outcome.aborted);
        if (reason !== undefined) wrong.push(`${touch.what}, given ${words}: ${reason}`);
        this.#assertNoSecret(textOf(outcome.error), `the error of ${touch.what}`);
      } else if (outcome.kind === "hangs") {
        wrong.push(`${touch.what}, given ${words}: did not end within ${endMs / 1000} s after it was aborted; pass its signal on`);
      }
    };
    await Promise.all(touches(made, text, calm).map(judge));
    assert.ok(wrong.length === 0, wrong.join("\n"));
  }

  /** Set up and started; a start that fails is stopped, as the kernel does. */
  async #load(made: FakeContext<never>): Promise<Loaded> {
    const lifecycle = await this.setUp(made);
    await settledWithin(START_MS, async () => lifecycle.start?.());
    let stopped: Promise<void> | undefined;
    return { context: made, lifecycle, stop: () => (stopped ??= this.end(lifecycle, made)) };
  }

  #assertNoSecret(text: string, where: string): void {
    for (const secret of this.#secrets) assert.ok(!text.includes(secret), `${where} shows a secret of its section`);
  }
}

type Ended = { readonly kind: "ended" } | { readonly kind: "failed"; readonly error: unknown; readonly aborted: boolean } | { readonly kind: "hangs" };

async function attempt(touch: Touch, abortedBefore: boolean, endMs: number): Promise<Ended> {
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

/** Returns why a failure is wrong; undefined if it is permitted. Hooks may never fail because of a message's text. */
function whyWrong(touch: Touch, error: unknown, calm: boolean, aborted: boolean): string | undefined {
  if (!isError(error)) return "it threw something that is not an error";
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

/** Whether it is an error, across realms and vendors. */
export const isError = (error: unknown): error is Error => typeof (error as Error | null | undefined)?.message === "string";

/** Whether the work resolved or rejected within that time. */
export async function settledWithin(ms: number, work: () => Promise<unknown>): Promise<boolean> {
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
