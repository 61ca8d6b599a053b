import type { AskOptions } from "@svc/sdk";
import { fail } from "./errors.ts";

/** Options of a prompt; `terminal`: whether a person can answer. */
export interface Asking extends AskOptions {
  readonly terminal: boolean;
}

/** `CliHost.ask`: questions go to standard error, so that standard output stays clean for pipes. */
export async function ask(question: string, { flag, choices, default: proposal, secret = false, terminal }: Asking): Promise<string> {
  if (!terminal) throw fail("SVC_CLI_ASK", { question, flag });
  const { openQuestions, openHidden } = await import("./setup/questions.ts");
  const questions = secret ? openHidden(process.stdin, process.stderr) : openQuestions(process.stdin, process.stderr);
  try {
    if (choices === undefined) return await questions.text(question, proposal);
    const first = choices.findIndex(({ id }) => id === proposal);
    const labels = choices.map(({ label }) => label);
    return choices[await questions.choose(question, labels, first)]?.id as string;
  } finally {
    questions.close();
  }
}
