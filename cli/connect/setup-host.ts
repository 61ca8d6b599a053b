import type { SetupHost } from "@svc/sdk";
import type { Cli } from "../cli.ts";
import { fail } from "../errors.ts";
import { kernelCode } from "../kernel-code.ts";
import { keepSecret } from "./env-file.ts";
import type { Form } from "./form.ts";
import { provideSecrets } from "./secrets.ts";
import type { ConnectOptions } from "./settings.ts";

/** Host of a channel's set-up, and the way to undo what it stored. */
export interface Setup {
  readonly host: SetupHost;
  /** The variables that the channel refers to. */
  readonly variables: readonly string[];
  /** Forgets the secrets that were kept. */
  forget(): Promise<void>;
  close(): void;
}

/** Makes the host of a channel's own set-up. Throws `SVC_CLI_USAGE` for a flag that it has no use for. */
export async function setupHost(cli: Cli, { channel, server: serverAt, allow: allowAt }: Form, options: ConnectOptions): Promise<Setup> {
  const { openFetch } = kernelCode();
  const { loadEnvironment } = await import("@svc/kernel/folder");
  for (const flag of ["account", "allow", "topicEnv"] as const)
    if (options[flag] !== undefined && !(flag === "allow" && allowAt !== undefined))
      throw fail("SVC_CLI_USAGE", { reason: `--${flag === "topicEnv" ? "topic-env" : flag} means nothing to ${channel}; its settings are in its README` });
  if (options.server !== undefined && serverAt === undefined)
    throw fail("SVC_CLI_USAGE", { reason: `--server means nothing to ${channel}; its settings are in its README` });
  const variables: string[] = [];
  const undo: (() => Promise<void>)[] = [];
  const end = new AbortController();
  const variable = (name: string) => loadEnvironment(cli.folder, process.env)[name] ?? "";
  const host: SetupHost = {
    folder: cli.folder,
    ask: async (question, how) => {
      if (options.yes === true && how.default !== undefined) return how.default;
      return cli.ask(question, how);
    },
    readSettings: () => cli.readSettings(),
    given: {
      ...(options.agent === undefined ? {} : { agent: options.agent }),
      ...(options.server === undefined ? {} : { server: options.server }),
      ...(options.allow === undefined ? {} : { allow: options.allow.split(",").map((entry) => entry.trim()) }),
      values: Object.fromEntries((options.set ?? []).map((assignment) => pairOf(assignment, channel))),
    },
    fetch: openFetch(end.signal),
    say: (text) => {
      if (!cli.json) cli.say(text);
    },
    async secret(wanted) {
      const name = options.tokenEnv ?? wanted;
      variables.push(name);
      if (variable(name) === "") {
        const source = options.secretStdin === true ? "input" : options.yes === true || process.stdin.isTTY !== true ? "environment" : "terminal";
        undo.unshift((await provideSecrets(cli, [name], source)).forget);
      }
      return { name, value: variable(name) };
    },
    async keep(name, value) {
      variables.push(name);
      if (variable(name) === "") undo.unshift(await keepSecret(cli.folder, name, value));
      return variable(name);
    },
  };
  return {
    host,
    variables,
    async forget() {
      for (const back of undo.splice(0)) await back();
    },
    close: () => end.abort(),
  };
}

function pairOf(assignment: string, channel: string): readonly [string, string] {
  const [, key, value] = /^([^=]+)=(.*)$/s.exec(assignment) ?? [];
  if (key === undefined || value === undefined)
    throw fail("SVC_CLI_USAGE", { reason: `--set takes <key>=<value>, a setting of ${channel}; '${assignment}' is not one` });
  return [key, value];
}
