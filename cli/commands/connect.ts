import { readFileSync } from "node:fs";
import type { Editor } from "@svc/kernel";
import { applyChange, describeVerdict, openFile, type Verdict } from "../change.ts";
import type { Cli } from "../cli.ts";
import { type Form, formOf } from "../connect/form.ts";
import { outcomeOf } from "../connect/outcome.ts";
import { onlyHere, provideSecrets } from "../connect/secrets.ts";
import { type ConnectOptions, place, secretsOf, settingsOf } from "../connect/settings.ts";
import { fail } from "../errors.ts";
import type { OwnGroup } from "../group.ts";
import { openQuestions, type Questions } from "../setup/questions.ts";

const group: OwnGroup = {
  name: "connect",
  summary: "Set up a channel: its credentials, who may write, a test",
  commands: [
    {
      name: "connect",
      args: "<channel>",
      summary: "Set up a channel: what it needs, its credentials, who may write, a test",
      options: [
        { flags: "-y, --yes", description: "without questions; a change that does not work is taken back" },
        { flags: "--token-env <NAME>", description: "the environment variable that holds the token" },
        { flags: "--topic-env <NAME>", description: "the environment variable that holds the topic" },
        { flags: "--secret-stdin", description: "read what is not set yet from standard input, a line each, and keep it in .env" },
        { flags: "--account <name>", description: "the account to set up, on a channel that has several" },
        { flags: "--agent <id>", description: "the agent that answers (default: the default agent)" },
        { flags: "--allow <ids>", description: "who may write, separated by commas; nobody else is heard" },
        { flags: "--server <url>", description: "another server than the public one" },
        { flags: "--set <key=value...>", description: "further settings of the channel" },
        { flags: "--chat <id>", description: "send a test message there" },
      ],
      async run([channel], given, cli) {
        const options = given as ConnectOptions;
        const person = options.yes !== true && process.stdin.isTTY === true && !cli.json;
        if (options.yes !== true && !person)
          throw fail("SVC_CLI_USAGE", { reason: "svc connect asks questions on a terminal; without one give everything by flags, with --yes" });
        await connect(cli, formOf(cli, channel as string), options, person);
      },
    },
  ],
};

export default group;

async function connect(cli: Cli, form: Form, options: ConnectOptions, person: boolean): Promise<void> {
  const editor = await openFile(cli);
  const secrets = secretsOf(form, options);
  const variables = secrets.map(({ variable }) => variable);
  if (!cli.json && form.explanation !== "") cli.say(`${form.explanation}\n`);
  // Before the other questions: only one reader at a time can listen to the terminal.
  const forget = await provideSecrets(cli, variables, options.secretStdin ? "input" : person ? "terminal" : "environment");
  const questions = person ? openQuestions(process.stdin, process.stderr) : undefined;
  try {
    let verdict: Verdict;
    try {
      place(editor, form, await settingsOf(form, secrets, options, editor, questions), options);
      verdict = await applyChange(cli, editor);
    } catch (error) {
      await forget();
      throw error;
    }
    await prove(cli, form, { editor, verdict, forget, variables, options, questions });
  } finally {
    questions?.close();
  }
}

/** A change that is written, and what it takes to judge it and to take it back. */
interface Written {
  readonly editor: Editor;
  readonly verdict: Verdict;
  readonly forget: () => Promise<void>;
  readonly variables: readonly string[];
  readonly options: ConnectOptions;
  readonly questions: Questions | undefined;
}

/** Does it work? A channel that cannot connect is not left behind in svc.json unless a person wants it there. */
async function prove(cli: Cli, { channel }: Form, { editor, verdict, forget, variables, options, questions }: Written): Promise<void> {
  if (!verdict.applied) {
    const next = `Next: svc daemon start, then: svc channel test ${channel}`;
    cli.print(`${channel} is in ${cli.file}. ${describeVerdict(verdict)}\n${next}`, { channel, ...verdict });
    return;
  }
  const text = readFileSync(cli.file, "utf8");
  const outcome = await outcomeOf(cli, channel);
  if (!outcome.ok) {
    const hidden = onlyHere(cli, variables);
    const hint = hidden.length === 0 ? "" : ` (${hidden.join(", ")} is set for this command and not in .env: the daemon may lack it)`;
    const reason = outcome.reason + hint;
    const back = questions === undefined || (await questions.agree(`${channel} is not connected: ${reason}\nTake the change back?`));
    const change = back ? await takeBack(cli, editor, text, forget) : `The change stands in ${cli.file}.`;
    throw fail("SVC_CLI_CONNECT", { channel, reason, change });
  }
  const { detail } = outcome;
  const chat = options.chat ?? ((await questions?.text("Send a test message to which chat?", "none")) || "none");
  const messageId = chat === "none" ? undefined : await greet(cli, channel, chat, options);
  const words = `${channel} is connected: ${detail}${messageId === undefined ? "" : `\nThe test message has the id ${messageId}.`}`;
  cli.print(words, { channel, ...verdict, detail, ...(messageId === undefined ? {} : { messageId }) });
}

async function takeBack(cli: Cli, editor: Editor, written: string, forget: () => Promise<void>): Promise<string> {
  if (readFileSync(cli.file, "utf8") !== written) return `${cli.file} was changed by someone else meanwhile, so the change stands there.`;
  await editor.restore(editor.original);
  await forget();
  await cli.request("POST", "/reload");
  return "The change was taken back.";
}

async function greet(cli: Cli, channel: string, chatId: string, { account }: ConnectOptions): Promise<string> {
  const body = { channel, chatId, text: `This is svc: ${channel} is connected.`, ...(account === undefined ? {} : { accountId: account }) };
  try {
    return ((await cli.request("POST", "/send", body)) as { messageId: string }).messageId;
  } catch (error) {
    throw fail("SVC_CLI_TASK_FAILED", { reason: `${channel} is connected, but the test message was not sent: ${(error as Error).message}` });
  }
}
