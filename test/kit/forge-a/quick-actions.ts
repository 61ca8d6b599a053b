import type { Item, User } from "./state.ts";

/** Commands that this far end runs; the others of the platform stay words. */
const COMMANDS: ReadonlySet<string> = new Set([
  "merge",
  "close",
  "reopen",
  "label",
  "unlabel",
  "relabel",
  "assign",
  "unassign",
  "title",
  "approve",
  "tag",
  "lock",
  "draft",
  "target_branch",
]);

/** What is left of a text once its commands are taken out. */
export interface Extracted {
  readonly words: string;
  readonly commands: readonly string[];
}

/**
 * Lines that begin with `/` and a known command, outside of ``` fences, of quotes and of indented code. As on the platform a `~~~` fence
 * is no fence to it: a command in there runs.
 */
export function extract(text: string): Extracted {
  const commands: string[] = [];
  let fenced = false;
  const words = text.split(/\r?\n/).filter((line) => {
    if (/^\s*```/.test(line)) fenced = !fenced;
    const [, command = ""] = /^\/([a-z_]+)(?:\s|$)/.exec(line) ?? [];
    if (fenced || !COMMANDS.has(command)) return true;
    commands.push(line);
    return false;
  });
  return { words: words.join("\n").trim(), commands };
}

/** Does what a command says, as the platform would for a user who may. */
export function execute(item: Item, user: User, line: string, now: number): void {
  const [command = "", ...rest] = line.slice(1).trim().split(/\s+/);
  const names = rest.map((name) => name.replace(/^~/, "").replaceAll('"', ""));
  if (command === "merge" && item.kind === "request") item.state = "merged";
  if (command === "close") {
    item.state = "closed";
    item.closedAt = now;
  }
  if (command === "reopen") item.state = "opened";
  if (command === "label") item.labels = [...new Set([...item.labels, ...names.filter((name) => item.project.labels.includes(name))])];
  if (command === "unlabel") item.labels = item.labels.filter((name) => names.length > 0 && !names.includes(name));
  if (command === "approve") item.approvedBy.add(user);
  if (command === "title") item.title = rest.join(" ");
  item.updatedAt = now;
}
