import type { Action, ActionEnvelope, Actions } from "../action.ts";
import { checkSchema } from "./check-schema.ts";

/** The `actions` capability over a list that may grow: validates, runs and answers an envelope, as the daemon does; the time limit is not kept. */
export function createFakeActions(list: () => readonly Action[]): Actions {
  return {
    list: () => list().map(({ name, description, input, output, timeoutMs }) => ({ name, description, input, output, timeoutMs })),
    async run(name, input, { step: _step, ...call }): Promise<ActionEnvelope> {
      const started = Date.now();
      const end = (rest: Pick<ActionEnvelope, "status" | "output" | "error">): ActionEnvelope => ({
        action: name,
        input,
        durationMs: Date.now() - started,
        ...rest,
      });
      const action = list().find((one) => one.name === name);
      if (!action) return end({ status: "error", error: `There is no action '${name}'.` });
      const wrong = checkSchema(action.input, input);
      if (wrong) return end({ status: "error", error: `The input is refused: ${wrong}.` });
      try {
        const output = await action.run(input as Record<string, unknown>, { signal: new AbortController().signal, ...call });
        const misshapen = checkSchema(action.output, output);
        return misshapen ? end({ status: "error", error: `The output is wrong: ${misshapen}.` }) : end({ status: "ok", output });
      } catch (error) {
        return end({ status: "error", error: (error as Error).message });
      }
    },
  };
}
