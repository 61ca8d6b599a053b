import { stripVTControlCharacters } from "node:util";
import type { Reporter, TestCase } from "vitest/node";

/** Says why a test that passed in the end failed before: vitest itself says only that it was run again. */
export class TellRetries implements Reporter {
  onTestCaseResult(test: TestCase): void {
    const { state, errors = [] } = test.result();
    if (state !== "passed") return;
    for (const { message, diff = "", stacks = [] } of errors) {
      const place = stacks[0] === undefined ? "" : ` (${stacks[0].file}:${stacks[0].line})`;
      console.log(`run again: ${test.module.relativeModuleId} > ${test.fullName}: ${message.slice(0, 1_000)}${place}${oneLine(diff)}`);
    }
  }
}

/** What was received in place of what: a message says only how many there were. */
const oneLine = (diff: string): string => (diff === "" ? "" : ` ${stripVTControlCharacters(diff).replace(/\s+/g, " ").slice(0, 1_000)}`);
