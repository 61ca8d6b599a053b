import type { Editor } from "@svc/kernel";
import { fail } from "../errors.ts";
import type { Questions } from "../setup/questions.ts";
import type { Form } from "./form.ts";

/** Options of the command line. */
export interface ConnectOptions {
  readonly yes?: boolean;
  readonly secretStdin?: boolean;
  readonly tokenEnv?: string;
  readonly topicEnv?: string;
  readonly account?: string;
  readonly agent?: string;
  readonly allow?: string;
  readonly server?: string;
  readonly set?: readonly string[];
  readonly chat?: string;
}

/** One setting of a channel's section; credentials are `${NAME}` references. */
export type Setting = readonly [path: readonly string[], value: boolean | string | readonly string[]];

/** The variables of the form's credentials, as the command line renames them. Throws `SVC_CLI_USAGE` for a flag that the channel has no use for. */
export function secretsOf(form: Form, options: ConnectOptions): Form["secrets"] {
  const named = { token: options.tokenEnv, topic: options.topicEnv };
  for (const [key, name] of Object.entries(named)) {
    if (name === undefined) continue;
    if (!form.secrets.some(({ path }) => path.at(-1) === key)) throw useless(`--${key}-env`, form);
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
      throw fail("SVC_CLI_USAGE", { reason: `--${key}-env takes the name of an environment variable, not its value` });
  }
  for (const flag of ["account", "agent", "allow", "server"] as const)
    if (options[flag] !== undefined && form[flag] === undefined) throw useless(`--${flag}`, form);
  return form.secrets.map(({ path, variable }) => ({ path, variable: named[path.at(-1) as keyof typeof named] ?? variable }));
}

const useless = (flag: string, { channel }: Form) => fail("SVC_CLI_USAGE", { reason: `${flag} means nothing to ${channel}; its settings are in its README` });

/** Returns everything to write; prompts for values missing on the command line if a person is present. */
export async function settingsOf(
  form: Form,
  secrets: Form["secrets"],
  options: ConnectOptions,
  editor: Editor,
  questions: Questions | undefined,
): Promise<Setting[]> {
  const account = form.account && (options.account ?? (await questions?.text("Which account?", form.account)) ?? form.account);
  if (account !== undefined && !/^[\w-]+$/.test(account))
    throw fail("SVC_CLI_USAGE", { reason: `'${account}' is no account name: letters, digits, '_' and '-'` });
  const placed = (path: readonly string[]) => (account === undefined ? path : path.map((key, at) => (at === 1 && path[0] === "accounts" ? account : key)));
  const settings: Setting[] = [[["enabled"], true], ...secrets.map(({ path, variable }): Setting => [placed(path), `\${${variable}}`])];
  if (form.agent !== undefined) settings.push([placed(form.agent), await agentOf(options, editor, questions)]);
  if (form.allow !== undefined) {
    const said = options.allow ?? (await questions?.text("Who may write (ids, separated by commas)?", NOBODY));
    const ids = (said ?? NOBODY).split(",").map((id) => id.trim());
    if (said !== undefined && said !== NOBODY) settings.push([placed(form.allow), ids.filter((id) => id !== "")]);
  }
  return settings;
}

const NOBODY = "nobody";

async function agentOf({ agent }: ConnectOptions, editor: Editor, questions: Questions | undefined): Promise<string> {
  const agents = Object.keys((editor.get("agents") ?? {}) as object);
  const usual = (editor.get("node.defaultAgent") as string | undefined) ?? agents[0];
  const chosen = agent ?? (usual === undefined ? undefined : ((await questions?.text("Which agent answers?", usual)) ?? usual));
  if (chosen === undefined || !agents.includes(chosen))
    throw fail("SVC_CLI_MISSING", { what: `agent ${chosen ?? "to answer"}`, next: "svc agent list, or add one with: svc agent add <id>" });
  return chosen;
}

/** Writes the settings into the text: a missing section as a whole, else each setting in place, so that the rest of the section stays. */
export function place(editor: Editor, { section, channel, server: serverAt }: Form, settings: readonly Setting[], { server, set = [] }: ConnectOptions): void {
  if (editor.get(section) === undefined) editor.set(section, JSON.stringify(nested(settings)));
  else for (const [path, value] of settings) editor.set(`${section}.${path.join(".")}`, typeof value === "string" ? value : JSON.stringify(value));
  if (server !== undefined && serverAt !== undefined) editor.set(`${section}.${serverAt.join(".")}`, server);
  for (const assignment of set) {
    const [, key, value] = /^([^=]+)=(.*)$/s.exec(assignment) ?? [];
    if (key === undefined || value === undefined)
      throw fail("SVC_CLI_USAGE", { reason: `--set takes <key>=<value>, a setting of ${channel}; '${assignment}' is not one` });
    editor.set(`${section}.${key}`, value);
  }
}

function nested(settings: readonly Setting[]): Record<string, unknown> {
  const root: Record<string, unknown> = {};
  for (const [path, value] of settings) {
    let at = root;
    for (const key of path.slice(0, -1)) {
      at[key] ??= {};
      at = at[key] as Record<string, unknown>;
    }
    at[path.at(-1) as string] = value;
  }
  return root;
}
