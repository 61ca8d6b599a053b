import { createInterface, type Interface } from "node:readline";
import { Writable } from "node:stream";
import { fail } from "../errors.ts";

/** Questions to a person. Each throws `SVC_CLI_USAGE` when the input ends without an answer. */
export interface Questions {
  /**
   * Resolves with the index of the choice; for an empty answer with `usual`, or the first if unset; -1 means no default. Asks again until the answer
   * is valid.
   */
  choose(question: string, choices: readonly string[], usual?: number): Promise<number>;
  /** Resolves with `proposal` for an empty answer; without a proposal, asks again until the answer is not empty. */
  text(question: string, proposal: string | undefined): Promise<string>;
  /** Yes when the answer is empty. */
  agree(question: string): Promise<boolean>;
  close(): void;
}

/** Asks questions on a terminal or a pipe; Ctrl-C and Ctrl-D end the conversation with an error. */
export const openQuestions = (input: NodeJS.ReadableStream, output: NodeJS.WritableStream): Questions =>
  questionsOn(createInterface({ input, output }), output, "");

/** Opens a prompt on a terminal that does not echo the typed text. */
export function openHidden(input: NodeJS.ReadableStream, output: NodeJS.WritableStream): Questions {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  return questionsOn(createInterface({ input, output: nowhere, terminal: true }), output, " (not shown)");
}

function questionsOn(reader: Interface, output: NodeJS.WritableStream, note: string): Questions {
  // Ctrl-C is an end of the conversation like Ctrl-D.
  reader.on("SIGINT", () => reader.close());
  // Answers that come before their question, as in a pipe, wait here.
  const lines = reader[Symbol.asyncIterator]();

  async function ask(question: string): Promise<string> {
    if (note === "") {
      reader.setPrompt(question);
      reader.prompt();
    } else output.write(question);
    const { done, value } = await lines.next();
    if (note !== "") output.write("\n");
    if (done) throw fail("SVC_CLI_USAGE", { reason: "\nThe questions were not answered; nothing more was changed." });
    return value.trim();
  }

  return {
    async choose(question, choices, usual = 0) {
      output.write(`${question}\n${choices.map((choice, at) => `  ${at + 1}  ${choice}\n`).join("")}`);
      const proposed = usual < 0 ? "" : ` [${usual + 1}]`;
      for (;;) {
        const answer = await ask(`1 to ${choices.length}${proposed}: `);
        const at = answer === "" ? usual : Number(answer) - 1;
        if (Number.isInteger(at) && at >= 0 && at < choices.length) return at;
      }
    },
    async text(question, proposal) {
      for (;;) {
        const answer = (await ask(`${question}${proposal === undefined || note !== "" ? "" : ` [${proposal}]`}${note}: `)) || proposal;
        if (answer !== undefined && answer !== "") return answer;
      }
    },
    agree: async (question) => !/^n/i.test(await ask(`${question} [Y/n]: `)),
    close: () => reader.close(),
  };
}
