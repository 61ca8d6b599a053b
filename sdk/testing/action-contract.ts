import assert from "node:assert/strict";
import type { Action, ActionCall } from "../action.ts";
import { checkSchema, type Validate } from "./check-schema.ts";
import { inTime, type Runner } from "./runner.ts";

/** One call with a valid input, and the expected output beyond the schema. */
export interface ActionCase {
  readonly name: string;
  readonly input: Record<string, unknown>;
  check?(output: unknown): void;
}

/** Subject of `actionContract`; created afresh for each test. */
export interface ActionSubject {
  readonly action: Action;
  /** At least one. */
  readonly works: readonly ActionCase[];
  /** Inputs that the schema must refuse, beside the ones the suite makes itself. At least one. */
  readonly refused: readonly Record<string, unknown>[];
  /** An input whose call lasts until it is aborted. Omitted: the action ends at once, and only a call that was aborted before is tested. */
  readonly endless?: Record<string, unknown>;
  /** Default `checkSchema`. */
  readonly validate?: Validate;
  dispose?(): Promise<void>;
}

/** Contract suite of every action. Run it with any runner: `actionContract({ describe, it }, () => ({ action, works, refused }))`. */
export function actionContract(runner: Runner, make: () => ActionSubject | Promise<ActionSubject>): void {
  const given = (test: (subject: ActionSubject & { validate: Validate }) => Promise<void> | void) => async () => {
    const subject = await make();
    try {
      await test({ ...subject, validate: subject.validate ?? checkSchema });
    } finally {
      await subject.dispose?.();
    }
  };
  const call = (signal: AbortSignal = new AbortController().signal): ActionCall => ({ signal, door: "test" });

  runner.describe("action contract", () => {
    runner.it(
      "describes itself and every input",
      given(({ action }) => {
        assert.match(action.name, /^[a-z0-9][a-z0-9._-]*$/, "the name is lower-case");
        assert.ok(action.description.trim().length > 0, "the action has no description");
        for (const [key, schema] of Object.entries(action.input.properties ?? {})) assert.ok(schema.description, `the input ${key} has no description`);
      }),
    );

    runner.it(
      "has a time limit between 1 ms and a day",
      given(({ action }) => {
        assert.ok(Number.isInteger(action.timeoutMs) && action.timeoutMs >= 1 && action.timeoutMs <= 86_400_000, `timeoutMs is ${action.timeoutMs}`);
      }),
    );

    runner.it(
      "has plain JSON schemas, and the one of the input is an object",
      given(({ action }) => {
        assert.equal(action.input.type, "object");
        for (const schema of [action.input, action.output]) assert.deepEqual(JSON.parse(JSON.stringify(schema)), schema);
        for (const key of action.input.required ?? [])
          assert.ok(Object.hasOwn(action.input.properties ?? {}, key), `the required input ${key} is not among the properties`);
      }),
    );

    runner.it(
      "refuses unknown keys, missing required keys and the author's bad inputs by schema",
      given(({ action, works, refused, validate }) => {
        assert.ok(works.length > 0 && refused.length > 0, "give inputs that work and inputs that are refused");
        for (const { input } of works) {
          assert.notEqual(validate(action.input, { ...input, notAnInput: 1 }), undefined, "an unknown key was let through");
          for (const key of action.input.required ?? []) {
            const { [key]: _, ...rest } = input;
            assert.notEqual(validate(action.input, rest), undefined, `the input was let through without ${key}`);
          }
        }
        for (const input of refused) assert.notEqual(validate(action.input, input), undefined, `${JSON.stringify(input)} was let through`);
      }),
    );

    runner.it(
      "answers in the shape of its output schema, as plain JSON, and leaves its input alone",
      given(async ({ action, works, validate }) => {
        for (const { name, input, check } of works) {
          assert.equal(validate(action.input, input), undefined, name);
          const before = structuredClone(input);
          const output = await inTime(action.timeoutMs, name, action.run(input, call()));
          assert.equal(validate(action.output, output), undefined, name);
          assert.deepEqual(JSON.parse(JSON.stringify(output)), output, `${name}: the output is not plain JSON`);
          assert.deepEqual(input, before, `${name}: the input was changed`);
          check?.(output);
        }
      }),
    );

    runner.it(
      "ends soon after an abort",
      given(async ({ action, works, endless }) => {
        const ended = (signal: AbortSignal, input: Record<string, unknown>) =>
          inTime(
            5_000,
            "the aborted call",
            action.run(input, call(signal)).then(
              () => "answered" as const,
              () => "threw" as const,
            ),
          );
        await ended(AbortSignal.abort(new Error("aborted before")), works[0]?.input ?? {});
        if (!endless) return;
        const abort = new AbortController();
        const run = ended(abort.signal, endless);
        setTimeout(() => abort.abort(new Error("aborted meanwhile")), 50);
        assert.equal(await run, "threw", "an aborted call must not answer as if it had worked");
      }),
    );
  });
}
