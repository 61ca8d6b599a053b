import type { AskOptions, CliHost, CommandGroup, StreamedEvent } from "../cli.ts";
import { svcError } from "../errors.ts";
import { createScopeTable, type DeclaredScope } from "../scopes.ts";
import type { Settings } from "../settings.ts";
import { callRoute, type FakeAnswer, type FakeRequest } from "./fake-http.ts";
import { createMemoryFiles } from "./memory-files.ts";
import { createMemorySettings } from "./memory-settings.ts";

/** Environment of a command in a test. */
export interface FakeCliOptions {
  readonly folder?: string;
  readonly dataFolder?: string;
  /** Answers of the daemon by `GET /path`, or functions of the body; an error is thrown. Without an entry no daemon answers. */
  readonly answers?: Readonly<Record<string, unknown>>;
  /** Answers of the person, in order. Empty: there is no terminal. */
  readonly says?: readonly string[];
  /** By path, the events of a stream, which then ends. */
  readonly streams?: Readonly<Record<string, readonly StreamedEvent[]>>;
  /** Content of svc.json. */
  readonly document?: Readonly<Record<string, unknown>>;
  readonly scopes?: readonly DeclaredScope[];
}

/** A `CliHost` that records. */
export interface FakeCli extends CliHost {
  readonly printed: readonly { readonly human: string; readonly json: unknown }[];
  readonly requested: readonly { readonly line: string; readonly body: unknown; readonly headers?: Readonly<Record<string, string>> }[];
  readonly asked: readonly ({ readonly question: string } & AskOptions)[];
  /** svc.json, as `change` leaves it. */
  readonly settings: Settings;
  /** The servers that are open. */
  readonly served: readonly { request(method: string, path: string, request?: FakeRequest): Promise<FakeAnswer> }[];
  /** Calls a command of a group, as the line would: `args` in order, options by their camel-case names. */
  run(group: CommandGroup, command: string, args?: readonly string[], options?: Readonly<Record<string, unknown>>): Promise<void>;
}

/** Creates a host for commands in a test: the test defines the daemon, the person and svc.json. `next` answers nothing. */
export function createFakeCli(options: FakeCliOptions = {}): FakeCli {
  const { folder = "/daemon", dataFolder = "/daemon/.svc", answers = {}, says, streams = {}, document = {}, scopes = [] } = options;
  const printed: { human: string; json: unknown }[] = [];
  const requested: { line: string; body: unknown; headers?: Readonly<Record<string, string>> }[] = [];
  const asked: ({ question: string } & AskOptions)[] = [];
  const served: FakeCli["served"][number][] = [];
  const said = [...(says ?? [])];
  const settings = createMemorySettings({ document, all: true });
  const files = createMemoryFiles();
  const noDaemon = () => svcError("SVC_CLI_NO_DAEMON", "No daemon answers. Start it with: svc daemon start");
  const cli: FakeCli = {
    folder,
    dataFolder,
    printed,
    requested,
    asked,
    settings,
    served,
    data: async () => files.data,
    scopes: async () => createScopeTable([scopes]),
    async request(method, path, body, headers) {
      const line = `${method} ${path}`;
      requested.push({ line, body, ...(headers === undefined ? {} : { headers }) });
      if (!Object.hasOwn(answers, line)) throw noDaemon();
      const answer = answers[line];
      if (answer instanceof Error) throw answer;
      return typeof answer === "function" ? answer(body) : answer;
    },
    next: async () => [],
    async ask(question, how) {
      asked.push({ question, ...how });
      if (says === undefined) throw svcError("SVC_CLI_ASK", `${question} Only a person at a terminal can be asked; say it with ${how.flag}.`);
      const answer = said.shift() || how.default;
      if (answer === undefined) throw svcError("SVC_CLI_USAGE", "The questions were not answered; nothing more was changed.");
      if (how.choices !== undefined && !how.choices.some(({ id }) => id === answer))
        throw new Error(`the test says '${answer}', which is no choice of: ${question}`);
      return answer;
    },
    async stream(path, onEvent, { signal } = {}) {
      const events = streams[path];
      if (events === undefined) throw noDaemon();
      for (const event of events) {
        if (signal?.aborted === true || (await onEvent(event)) === false) return;
      }
    },
    readSettings: () => settings.read(),
    section: async (path) => path.split(".").reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], document),
    change: (edits, how = {}) => settings.change(edits, { ...how, by: "the command line" }),
    fileSettings: async () => settings,
    async serve({ host = "127.0.0.1", port = 1, routes }) {
      const server = { request: (method: string, path: string, request?: FakeRequest) => callRoute(routes, method, path, request) };
      served.push(server);
      return {
        host,
        port,
        close: async () => {
          const at = served.indexOf(server);
          if (at !== -1) served.splice(at, 1);
        },
      };
    },
    print: (human, json) => void printed.push({ human, json }),
    async run(group, name, args = [], given = {}) {
      const command = group.commands.find((one) => one.name === name);
      if (command === undefined) throw new Error(`the group ${group.name} has no command ${name}`);
      await command.run(args, given, cli);
    },
  };
  return cli;
}
