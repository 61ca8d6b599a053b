import assert from "node:assert/strict";
import { inTime, type Runner } from "./runner.ts";

/** One call of a service, and a check of its answer. */
export interface ServiceCase<T> {
  readonly name: string;
  call(api: T): unknown;
  check?(answer: unknown): void;
}

/** Subject of `serviceContract`; created afresh for each test. */
export interface ServiceSubject<T extends object> {
  readonly name: string;
  readonly api: T;
  /** Calls that work; at least one. */
  readonly works: readonly ServiceCase<T>[];
  /** Calls that the service must refuse; omitted if it refuses none. */
  readonly refuses?: readonly ServiceCase<T>[];
  /** Calls that wait for something that does not come. */
  readonly waits?: readonly ServiceCase<T>[];
  /** Ends the plugin that serves. */
  end?(): Promise<void>;
}

const CALL_MS = 10_000;
const END_MS = 5_000;

/** Contract suite of every service. Run it with any runner: `serviceContract({ describe, it }, () => ({ name, api, works }))`. */
export function serviceContract<T extends object>(runner: Runner, make: () => ServiceSubject<T> | Promise<ServiceSubject<T>>): void {
  const given = (test: (subject: ServiceSubject<T>) => Promise<void>) => async () => {
    const subject = await make();
    let ended = false;
    const end = async () => {
      if (!ended) await subject.end?.();
      ended = true;
    };
    try {
      await test({ ...subject, end });
    } finally {
      await end();
    }
  };

  runner.describe("service contract", () => {
    runner.it(
      "is an object with functions, under a name of the sdk's or of two words with a dot",
      given(async ({ name, api, works }) => {
        assert.match(name, /^[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)*$/, "the name is not of lower-case words with dots");
        assert.equal(typeof api, "object");
        assert.ok(works.length > 0, "give calls that work");
        assert.equal((api as { readonly then?: unknown }).then, undefined, "a service with a member 'then' would be taken for a promise");
      }),
    );

    runner.it(
      "answers every call, and again in the same way",
      given(async ({ api, works }) => {
        for (const round of [1, 2]) {
          for (const { name, call, check } of works) {
            const answer = await inTime(CALL_MS, name, Promise.resolve(call(api)));
            try {
              check?.(answer);
            } catch (error) {
              throw new Error(`${name}, time ${round}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
            }
          }
        }
      }),
    );

    runner.it(
      "refuses with an error that has a code: one without counts as a failure of the plugin that serves",
      given(async ({ api, refuses = [] }) => {
        for (const { name, call } of refuses) {
          const refused = inTime(CALL_MS, name, (async () => call(api))());
          await assert.rejects(refused, (error: { code?: unknown }) => typeof error.code === "string", `${name}: it has no code, or was not refused`);
        }
      }),
    );

    runner.it(
      "leaves no call waiting when its plugin ends",
      given(async ({ api, waits = [], end }) => {
        const calls = waits.map(({ name, call }) => ({ name, settled: (async () => call(api))().then(settled, settled) }));
        await end?.();
        for (const { name, settled: done } of calls) await inTime(END_MS, name, done);
      }),
    );
  });
}

const settled = (): void => undefined;
