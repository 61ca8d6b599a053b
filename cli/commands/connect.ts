import { existsSync, readFileSync } from "node:fs";
import type { Editor } from "@svc/kernel";
import type { ChannelSettings } from "@svc/sdk";
import { changeFile, describeVerdict, openFile, putInForce, type Verdict } from "../change.ts";
import type { Cli } from "../cli.ts";
import { type Form, formOf } from "../connect/form.ts";
import { absentChannel, install } from "../connect/offer.ts";
import { outcomeOf } from "../connect/outcome.ts";
import { onlyHere, type Provided, provideSecrets } from "../connect/secrets.ts";
import { type ConnectOptions, place, type Setting, secretsOf, settingsOf } from "../connect/settings.ts";
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
        { flags: "-y, --yes", description: "without questions; installs a channel that is not there; a change that does not work is taken back" },
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
        const absent = absentChannel(cli, channel as string);
        // Names the channels there are, before anything is written.
        if (absent === undefined) formOf(cli, channel as string);
        await writeFirstWhereNone(cli);
        if (absent !== undefined) await install(cli, absent, options.yes === true);
        const form = formOf(cli, channel as string);
        await (form.setup === undefined ? connect(cli, form, options, person) : connectByItself(cli, form, form.setup, options));
      },
    },
  ],
};

export default group;

async function connect(cli: Cli, form: Form, options: ConnectOptions, person: boolean): Promise<void> {
  // Before the first question: fail at once if the file cannot be edited.
  await openFile(cli);
  const secrets = secretsOf(form, options);
  const variables = secrets.map(({ variable }) => variable);
  if (person && form.explanation !== "") cli.say(`${form.explanation}\n`);
  const source = options.secretStdin ? "input" : person ? "terminal" : "environment";
  for (let settings: Setting[] | undefined, again = true; again; ) {
    // Before the other questions: only one reader at a time can listen to the terminal.
    const provided = await provideSecrets(cli, variables, source);
    const questions = person ? openQuestions(process.stdin, process.stderr) : undefined;
    try {
      let editor: Editor;
      let verdict: Verdict;
      try {
        const chosen = settings ?? (await settingsOf(form, secrets, options, await openFile(cli), questions));
        settings = chosen;
        const changed = await changeFile(cli, (opened) => place(opened, form, chosen, options));
        editor = changed.editor;
        verdict = await putInForce(cli, changed);
      } catch (error) {
        await provided.forget();
        throw error;
      }
      again = await prove(cli, form, { editor, verdict, provided, variables, options, questions });
    } finally {
      questions?.close();
    }
  }
}

/** A folder without svc.json gets the one that `svc init` would write. */
async function writeFirstWhereNone(cli: Cli): Promise<void> {
  if (existsSync(cli.file)) return;
  const { bestTier, writeFirst } = await import("./init.js");
  await writeFirst(cli, await bestTier());
  if (!cli.json) cli.say(`Wrote ${cli.file} with the agent "assistant".\n`);
}

/** Connects a channel through its own set-up module, which asks and verifies before anything is written. */
async function connectByItself(cli: Cli, form: Form, setup: NonNullable<Form["setup"]>, options: ConnectOptions): Promise<void> {
  const { setupHost } = await import("../connect/setup-host.js");
  const { host, forget, variables, close } = await setupHost(cli, form, options);
  try {
    const { settings, next } = await (await setup())(host);
    const changed = await changeFile(cli, (opened) => {
      if (opened.get(form.section) === undefined) opened.set(form.section, JSON.stringify(settings));
      else for (const [key, value] of Object.entries(settings)) opened.set(`${form.section}.${key}`, typeof value === "string" ? value : JSON.stringify(value));
    });
    const provided = { asked: false, forget };
    const verdict = await putInForce(cli, changed);
    await prove(cli, form, { editor: changed.editor, verdict, provided, variables, options, questions: undefined, ...(next === undefined ? {} : { next }) });
  } catch (error) {
    if ((error as { code?: string }).code !== "SVC_CLI_CONNECT") await forget();
    throw error;
  } finally {
    close();
  }
}

/** A written change, with the data to test and to undo it. */
interface Written {
  readonly editor: Editor;
  readonly verdict: Verdict;
  readonly provided: Provided;
  readonly variables: readonly string[];
  readonly options: ConnectOptions;
  readonly questions: Questions | undefined;
  /** Instructions for the person at the platform. */
  readonly next?: ChannelSettings["next"];
}

/**
 * Tests the channel. One that cannot connect is removed from svc.json again unless a person keeps it. True when a person wants to retype the
 * credentials: then all is as before.
 */
async function prove(cli: Cli, form: Form, { editor, verdict, provided, variables, options, questions, next: more }: Written): Promise<boolean> {
  const { channel, product } = form;
  const name = product === undefined ? channel : `${product} (${channel})`;
  if (!verdict.running) {
    const next = `Next: svc daemon start, then: svc channel test ${channel}`;
    const { further, said } = await sayNext(more, undefined, name);
    cli.print(`${name} is in ${cli.file}. ${describeVerdict(verdict)}\n${next}${further}`, { channel, ...verdict, ...said });
    return false;
  }
  const text = readFileSync(cli.file, "utf8");
  const outcome = await outcomeOf(cli, form);
  if (!outcome.ok) {
    const hidden = onlyHere(cli, variables);
    const hint = hidden.length === 0 ? "" : ` (${hidden.join(", ")} is set for this command and not in .env: the daemon may lack it)`;
    const reason = outcome.reason + hint;
    let asked = `${name} is not connected: ${reason}\n`;
    if (provided.asked && questions !== undefined) {
      const anew = await questions.agree(`${asked}Type ${variables.join(", ")} again?`);
      if (anew && (await takeBack(cli, editor, text, provided))) return true;
      asked = "";
    }
    const back = questions === undefined || (await questions.agree(`${asked}Take the change back?`));
    throw fail("SVC_CLI_CONNECT", {
      channel: name,
      reason,
      change: back ? await describeBack(cli, editor, text, provided) : `The change stands in ${cli.file}.`,
    });
  }
  const { detail } = outcome;
  const chat = options.chat ?? ((await questions?.text("Send a test message to which chat?", "none")) || "none");
  const messageId = chat === "none" ? undefined : await greet(cli, channel, chat, options);
  const { further, said } = await sayNext(more, cli, name);
  const words = `${name} is connected: ${detail}${messageId === undefined ? "" : `\nThe test message has the id ${messageId}.`}${further}`;
  cli.print(words, { channel, ...verdict, detail, ...said, ...(messageId === undefined ? {} : { messageId }) });
  return false;
}

/** Prints the set-up's final instructions, for people and for programs. */
async function sayNext(next: Written["next"], daemon: Pick<Cli, "request"> | undefined, name: string) {
  if (next === undefined) return { further: "", said: {} };
  try {
    const words = typeof next === "string" ? next : await next(daemon);
    return { further: `\n\n${words}`, said: { next: words } };
  } catch (error) {
    throw fail("SVC_CLI_TASK_FAILED", { reason: `${name} is set up, but its last step failed: ${(error as Error).message}` });
  }
}

const describeBack = async (cli: Cli, editor: Editor, written: string, provided: Provided): Promise<string> =>
  (await takeBack(cli, editor, written, provided))
    ? "The change was taken back."
    : `${cli.file} was changed by someone else meanwhile, so the change stands there.`;

/** Returns false if the file was changed by another writer in between: then it stays unchanged. */
async function takeBack(cli: Cli, editor: Editor, written: string, { forget }: Provided): Promise<boolean> {
  if (readFileSync(cli.file, "utf8") !== written) return false;
  await editor.restore(editor.original);
  await forget();
  await cli.request("POST", "/reload");
  return true;
}

async function greet(cli: Cli, channel: string, chatId: string, { account }: ConnectOptions): Promise<string> {
  const body = { channel, chatId, text: `This is svc: ${channel} is connected.`, ...(account === undefined ? {} : { accountId: account }) };
  try {
    return ((await cli.request("POST", "/send", body)) as { messageId: string }).messageId;
  } catch (error) {
    throw fail("SVC_CLI_TASK_FAILED", { reason: `${channel} is connected, but the test message was not sent: ${(error as Error).message}` });
  }
}
