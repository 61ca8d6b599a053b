import { checkDeclared, type Refuse } from "./fields.ts";
import type { Input, Value } from "./inputs.ts";
import { type Placement, placementsOf, quote } from "./shell-words.ts";
import { namesOf, type Part, parseTemplate, render } from "./template.ts";

/** A command for `/bin/sh -c`. */
export interface ShellWork {
  readonly kind: "shell";
  readonly command: readonly Part[];
  /** The placement of each part of `command`. */
  readonly placements: readonly Placement[];
  readonly cwd?: readonly Part[];
  readonly env: readonly (readonly [name: string, value: readonly Part[]])[];
}

/** Command to start: with every value quoted, and variables for the child's environment. */
export interface ShellCall {
  readonly command: string;
  readonly cwd?: string;
  readonly env: Readonly<Record<string, string>>;
}

const WHERE: Readonly<Record<Exclude<Placement, "plain">, string>> = {
  single: "inside single quotes",
  double: "inside double quotes",
  escaped: "after a backslash",
  comment: "inside a comment",
  unsure: "inside or after a command substitution, here-document or other construct with quoting rules of its own",
};
/** Commands that read their arguments as shell once more. */
const READS_AGAIN = /(^|[\s;&|({])(eval|let|trap|alias)(?=\s|$)/;
const MAX_COMMAND_BYTES = 120_000;

/** Checks a command. A `{{name}}` may only stand where quoting it makes it one argument for certain. */
export function parseShell(content: Record<string, unknown>, inputs: readonly Input[], refuse: Refuse): ShellWork {
  const { command, cwd, env = {} } = content;
  if (typeof command !== "string" || command.trim() === "") refuse("command", "must be text");
  if (cwd !== undefined && typeof cwd !== "string") refuse("cwd", "must be text");
  if (typeof env !== "object" || env === null || Array.isArray(env)) refuse("env", "must be an object of texts");
  const parts = parseTemplate(command);
  const placed = placementsOf(command);
  for (const part of parts) {
    if (part.kind !== "input") continue;
    const placement = placed[part.at] ?? "unsure";
    if (placement !== "plain")
      refuse("command", `has {{${part.name}}} ${WHERE[placement]}; leave the quotes to svc, or set env.NAME to {{${part.name}}} and write "$NAME"`);
    if (READS_AGAIN.test(command)) refuse("command", `has {{${part.name}}} beside eval, let, trap or alias, which read it as shell`);
  }
  const variables = Object.entries(env).map(([name, value]) => {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) refuse(`env.${name}`, "is no name of a variable");
    if (typeof value !== "string") refuse(`env.${name}`, "must be text");
    return [name, parseTemplate(value)] as const;
  });
  const folder = cwd === undefined ? undefined : parseTemplate(cwd);
  if (folder && namesOf(folder, "input").length) refuse("cwd", "takes no inputs");
  checkDeclared([["command", parts], ...variables.map(([name, value]) => [`env.${name}`, value] as const)], inputs, refuse);
  return { kind: "shell", command: parts, placements: parts.map(({ at }) => placed[at] ?? "unsure"), env: variables, ...(folder ? { cwd: folder } : {}) };
}

/**
 * Fills the command. A `${NAME}` of the daemon's environment is handed to the child as a variable and expanded by the shell, so that it
 * is neither read as shell nor seen in the list of processes; one that the daemon has not is left to the shell.
 */
export function fillShell(work: ShellWork, values: ReadonlyMap<string, Value>, variable: (name: string) => string | undefined): ShellCall {
  const own = new Set(work.env.map(([name]) => name));
  const env: Record<string, string> = {};
  const input = (name: string) => String(values.get(name) ?? "");
  const shellVariable = (name: string, placement: Placement): string => {
    const value = own.has(name) ? undefined : variable(name);
    if (value === undefined) return `\${${name}}`;
    env[name] = value;
    if (placement === "plain") return `"\${${name}}"`;
    return placement === "single" ? `'"\${${name}}"'` : `\${${name}}`;
  };
  const command = work.command
    .map((part, index) => {
      if (part.kind === "text") return part.text;
      return part.kind === "input" ? quote(input(part.name)) : shellVariable(part.name, work.placements[index] ?? "unsure");
    })
    .join("");
  const plain = (parts: readonly Part[]) => render(parts, (part) => (part.kind === "input" ? input(part.name) : (variable(part.name) ?? "")));
  for (const [name, parts] of work.env) env[name] = plain(parts);
  return { command, env, ...(work.cwd ? { cwd: plain(work.cwd) } : {}) };
}

/** The system takes no longer argument; better said than failed. */
export const isTooLong = ({ command, env }: ShellCall): boolean =>
  [command, ...Object.values(env)].some((text) => new TextEncoder().encode(text).length > MAX_COMMAND_BYTES);
