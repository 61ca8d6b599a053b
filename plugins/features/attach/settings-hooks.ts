import { svcError } from "@svc/sdk";
import { type Node, parseTree } from "jsonc-parser";

const START_S = 3;
const END_S = 2;
const WAIT_S = 900;

type Entry = Readonly<Record<string, unknown>>;
type Group = { readonly hooks: readonly Entry[] };

/** The hooks of a session, as the program's settings have them: one group an event. `command` is the script's path, ready for a shell. */
function groupsOf(command: string): Readonly<Record<string, Group>> {
  const call = (event: string, timeout: number): Entry => ({ type: "command", command: `${command} ${event}`, timeout });
  const wait: Entry = { ...call("wait", WAIT_S), asyncRewake: true };
  return {
    SessionStart: { hooks: [call("session-start", START_S), wait] },
    UserPromptSubmit: { hooks: [call("prompt", START_S)] },
    Stop: { hooks: [call("stop", START_S), wait] },
    SessionEnd: { hooks: [call("session-end", END_S)] },
  };
}

/** The script's path as a word of a shell. */
export const shellWord = (path: string): string => (/^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);

/**
 * The settings with our hooks, everything else byte for byte. Entries of ours that stand there are replaced. Throws `SVC_ATTACH_SETTINGS` for
 * a text that is no JSON object, and where all hooks are switched off.
 */
export function withHooks(text: string, script: string, file: string): string {
  const bare = withoutHooks(text, script, file);
  const root = treeOf(bare, file);
  if (/\S/.test(bare) && (JSON.parse(bare) as { disableAllHooks?: unknown }).disableAllHooks === true)
    throw unusable(file, "it switches all hooks off (disableAllHooks)");
  const groups = groupsOf(shellWord(script));
  if (root !== undefined && isInstalled(text, groups, script)) return text;
  if (root === undefined)
    return `${JSON.stringify({ hooks: Object.fromEntries(Object.entries(groups).map(([event, group]) => [event, [group]])) }, null, 2)}\n`;
  let changed = bare;
  for (const [event, group] of Object.entries(groups)) {
    const tree = treeOf(changed, file) as Node;
    const hooks = memberOf(tree, "hooks");
    if (hooks === undefined) changed = append(changed, tree, 1, `"hooks": ${laid(changed, { [event]: [group] }, 1)}`);
    else if (hooks.type !== "object") throw unusable(file, "its 'hooks' is no object");
    else {
      const found = memberOf(hooks, event);
      if (found === undefined) changed = append(changed, hooks, 2, `${JSON.stringify(event)}: ${laid(changed, [group], 2)}`);
      else if (found.type !== "array") throw unusable(file, `its 'hooks.${event}' is no list`);
      else changed = append(changed, found, 3, laid(changed, group, 3));
    }
  }
  return changed;
}

/** Each group stands there as it should be, and no other entry of ours. */
function isInstalled(text: string, groups: Readonly<Record<string, Group>>, script: string): boolean {
  const { hooks } = JSON.parse(text) as { hooks?: Readonly<Record<string, unknown>> };
  const all = Object.entries(groups).every(([event, group]) => {
    const found = hooks?.[event];
    return Array.isArray(found) && found.some((one) => JSON.stringify(one) === JSON.stringify(group));
  });
  const wanted = Object.values(groups).reduce((sum, group) => sum + group.hooks.length, 0);
  return all && JSON.stringify(hooks).split(JSON.stringify(`${shellWord(script)} `).slice(0, -1)).length - 1 === wanted;
}

/** The settings without our hooks, and without what these leave empty; everything else byte for byte. */
export function withoutHooks(text: string, script: string, file: string): string {
  let changed = text;
  for (;;) {
    const next = withoutOne(changed, script, file);
    if (next === undefined) return changed;
    changed = next;
  }
}

/** Removes the first entry of ours; undefined without one. */
function withoutOne(text: string, script: string, file: string): string | undefined {
  const root = treeOf(text, file);
  const hooks = root === undefined ? undefined : memberOf(root, "hooks");
  if (root === undefined || hooks?.type !== "object") return undefined;
  for (const [at, property] of (hooks.children ?? []).entries()) {
    const groups = property.children?.[1];
    if (groups?.type !== "array") continue;
    for (const [group, node] of (groups.children ?? []).entries()) {
      const entries = node.type === "object" ? memberOf(node, "hooks") : undefined;
      const own = (entries?.children ?? []).findIndex((entry) => isOwn(entry, script));
      if (entries === undefined || own === -1) continue;
      if ((entries.children?.length ?? 0) > 1) return cut(text, entries, own, 4);
      if ((groups.children?.length ?? 0) > 1) return cut(text, groups, group, 3);
      return (hooks.children?.length ?? 0) > 1 ? cut(text, hooks, at, 2) : cut(text, root, (root.children ?? []).indexOf(hooks.parent as Node), 1);
    }
  }
  return undefined;
}

function isOwn(entry: Node, script: string): boolean {
  const command = entry.type === "object" ? memberOf(entry, "command")?.value : undefined;
  return typeof command === "string" && command.startsWith(`${shellWord(script)} `);
}

/** The tree of a JSON object; undefined for an empty text. */
function treeOf(text: string, file: string): Node | undefined {
  if (!/\S/.test(text)) return undefined;
  try {
    JSON.parse(text);
  } catch (error) {
    throw unusable(file, `it is no JSON (${(error as Error).message})`);
  }
  const tree = parseTree(text);
  if (tree?.type !== "object") throw unusable(file, "it is no object");
  return tree;
}

const memberOf = (object: Node, name: string): Node | undefined => object.children?.find(({ children }) => children?.[0]?.value === name)?.children?.[1];

/** The indentation and the line end that the file has, by the first member of its object. */
function styleOf(text: string): { readonly indent: string; readonly line: string } {
  return { indent: /^\s*\{\s*\n([ \t]+)"/.exec(text)?.[1] ?? "  ", line: text.includes("\r\n") ? "\r\n" : "\n" };
}

function laid(text: string, value: unknown, depth: number): string {
  const { indent, line } = styleOf(text);
  return JSON.stringify(value, null, indent).replaceAll("\n", line + indent.repeat(depth));
}

const endOf = ({ offset, length }: Node): number => offset + length;

/** Adds a member or an element at the end of a container whose children are indented `depth` times. */
function append(text: string, container: Node, depth: number, child: string): string {
  const { indent, line } = styleOf(text);
  const last = container.children?.at(-1);
  const at = last === undefined ? container.offset + 1 : endOf(last);
  const added = last === undefined ? `${line}${indent.repeat(depth)}${child}${line}${indent.repeat(depth - 1)}` : `,${line}${indent.repeat(depth)}${child}`;
  return text.slice(0, at) + added + text.slice(at);
}

/** Takes a child out of its container: what `append` has added goes whole. */
function cut(text: string, container: Node, index: number, depth: number): string {
  const children = container.children ?? [];
  const child = children[index] as Node;
  const [before, after] = [children[index - 1], children[index + 1]];
  if (before !== undefined) return text.slice(0, endOf(before)) + text.slice(endOf(child));
  if (after !== undefined) return text.slice(0, child.offset) + text.slice(after.offset);
  const { indent, line } = styleOf(text);
  const closing = line + indent.repeat(depth - 1);
  const rest = text.slice(endOf(child));
  return text.slice(0, container.offset + 1) + (rest.startsWith(closing) ? rest.slice(closing.length) : rest);
}

const unusable = (file: string, reason: string) =>
  svcError("SVC_ATTACH_SETTINGS", `${file} was left as it is: ${reason}. Mend it, then try again.`, { status: 400, file });
