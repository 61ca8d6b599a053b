import { createInterface } from "node:readline";
import { fail } from "../errors.ts";

/** Questions to a person. Each throws `SVC_CLI_USAGE` when the input ends without an answer. */
export interface Questions {
  /** The position of the choice; the first one when the answer is empty. Asked again until it is one of them. */
  choose(question: string, choices: readonly string[]): Promise<number>;
  /** `proposal` when the answer is empty. */
  text(question: string, proposal: string): Promise<string>;
  /** Yes when the answer is empty. */
  agree(question: string): Promise<boolean>;
  close(): void;
}

/** Asks questions on a terminal or a pipe; Ctrl-C and Ctrl-D end the conversation with an error. */
export function openQuestions(input: NodeJS.ReadableStream, output: NodeJS.WritableStream): Questions {
  const reader = createInterface({ input, output });
  // Ctrl-C is an end of the conversation like Ctrl-D.
  reader.on("SIGINT", () => reader.close());
  // Answers that come before their question, as in a pipe, wait here.
  const lines = reader[Symbol.asyncIterator]();

  async function ask(question: string): Promise<string> {
    reader.setPrompt(question);
    reader.prompt();
    const { done, value } = await lines.next();
    if (done) throw fail("SVC_CLI_USAGE", { reason: "\nThe questions were not answered; nothing more was changed." });
    return value.trim();
  }

  return {
    async choose(question, choices) {
      output.write(`${question}\n${choices.map((choice, at) => `  ${at + 1}  ${choice}\n`).join("")}`);
      for (;;) {
        const answer = await ask(`1 to ${choices.length} [1]: `);
        const at = answer === "" ? 0 : Number(answer) - 1;
        if (Number.isInteger(at) && at >= 0 && at < choices.length) return at;
      }
    },
    text: async (question, proposal) => (await ask(`${question} [${proposal}]: `)) || proposal,
    agree: async (question) => !/^n/i.test(await ask(`${question} [Y/n]: `)),
    close: () => reader.close(),
  };
}
