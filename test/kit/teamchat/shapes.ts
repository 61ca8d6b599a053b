import type { Block } from "./world.ts";

type Kind = "string" | "number" | "boolean" | "json" | "text";

/** Which arguments a method takes; `!` in front of a kind: it must be there. */
export type Arguments = Readonly<Record<string, Kind | `!${Kind}`>>;

/** Why the arguments of a call are refused, and else the arguments with JSON read. */
export function readArguments(
  allowed: Arguments,
  given: Readonly<Record<string, unknown>>,
): { readonly args: Record<string, unknown> } | { readonly problem: string } {
  const args: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(given)) {
    // Clients name the workspace of the token, too.
    if (name === "token" || name === "team_id") continue;
    const kind = allowed[name]?.replace("!", "");
    if (kind === undefined) return { problem: `[ERROR] unknown argument: ${name}` };
    if (value === "undefined" || value === undefined) return { problem: `[ERROR] ${name} is undefined` };
    if (kind === "number" && !/^\d+$/.test(String(value))) return { problem: `[ERROR] must be a number [json-pointer:/${name}]` };
    if (kind === "boolean" && !/^(?:true|false|0|1)$/.test(String(value))) return { problem: `[ERROR] must be a boolean [json-pointer:/${name}]` };
    if (kind === "json") {
      try {
        args[name] = typeof value === "string" ? JSON.parse(value) : value;
      } catch {
        return { problem: `[ERROR] must be valid JSON [json-pointer:/${name}]` };
      }
    } else args[name] = kind === "boolean" ? /^(?:true|1)$/.test(String(value)) : String(value);
  }
  const missing = Object.entries(allowed).find(([name, kind]) => kind.startsWith("!") && args[name] === undefined);
  return missing === undefined ? { args } : { problem: `[ERROR] missing required field: ${missing[0]}` };
}

const BLOCK_KEYS: Readonly<Record<string, readonly string[]>> = {
  section: ["type", "block_id", "text", "expand"],
  actions: ["type", "block_id", "elements"],
  rich_text: ["type", "block_id", "elements"],
  context: ["type", "block_id", "elements"],
  divider: ["type", "block_id"],
  markdown: ["type", "block_id", "text"],
};
const BLOCKS = 50;
const SECTION_CHARS = 3_000;
const ALL_CHARS = 13_200;

/** The platform's word on blocks that it does not take. */
export function blocksProblem(blocks: unknown): { readonly error: string; readonly detail: string } | undefined {
  const wrong = (detail: string) => ({ error: "invalid_blocks", detail: `[ERROR] ${detail}` });
  if (!Array.isArray(blocks)) return { error: "invalid_blocks_format", detail: "[ERROR] blocks are no array" };
  if (blocks.length > BLOCKS) return wrong(`no more than ${BLOCKS} items allowed [json-pointer:/blocks]`);
  let size = 0;
  for (const [at, block] of (blocks as Block[]).entries()) {
    const keys = BLOCK_KEYS[block.type];
    if (keys === undefined) return wrong(`unsupported type: ${block.type} [json-pointer:/blocks/${at}/type]`);
    const extra = Object.keys(block).find((key) => !keys.includes(key));
    if (extra !== undefined) return wrong(`additional property: ${extra} [json-pointer:/blocks/${at}]`);
    size += JSON.stringify(block).length - 60;
    const problem = block.type === "section" ? sectionProblem(block) : block.type === "actions" ? actionsProblem(block) : richProblem(block);
    if (problem !== undefined) return wrong(`${problem} [json-pointer:/blocks/${at}]`);
  }
  return size > ALL_CHARS * 1.5 ? { error: "msg_blocks_too_long", detail: "[ERROR] blocks are too long" } : undefined;
}

function sectionProblem({ text }: Block): string | undefined {
  if (text === undefined || !["mrkdwn", "plain_text"].includes(text.type)) return "missing required field: text";
  if (text.text === "") return "must be more than 0 characters";
  return text.text.length > SECTION_CHARS ? `must be less than ${SECTION_CHARS + 1} characters` : undefined;
}

function actionsProblem({ elements = [] }: Block): string | undefined {
  if (elements.length === 0 || elements.length > 25) return "actions have 1 to 25 elements";
  const ids = new Set<unknown>();
  for (const { type, text, action_id, value, url, ...more } of elements) {
    if (type !== "button") return `unsupported element ${String(type)}`;
    const extra = Object.keys(more).find((key) => !["style", "confirm", "accessibility_label"].includes(key));
    if (extra !== undefined) return `additional property: ${extra}`;
    const label = text as Block["text"];
    if (label?.type !== "plain_text" || label.text === "" || label.text.length > 75) return "the text of a button is plain_text of 1 to 75 characters";
    if (typeof action_id !== "string" || action_id.length > 255) return "action_id must be a string of at most 255 characters";
    if (ids.has(action_id)) return `action_id '${action_id}' is there twice`;
    ids.add(action_id);
    if (value !== undefined && String(value).length > 2_000) return "value is too long";
    if (url !== undefined && String(url).length > 3_000) return "url is too long";
  }
  return undefined;
}

const RICH = new Set(["rich_text_section", "rich_text_preformatted", "rich_text_quote", "rich_text_list", "text", "link", "emoji", "user"]);

function richProblem({ type, elements = [] }: Block): string | undefined {
  if (type !== "rich_text") return undefined;
  const problem = (list: readonly Record<string, unknown>[]): string | undefined => {
    for (const element of list) {
      if (!RICH.has(String(element.type))) return `unsupported type: ${String(element.type)}`;
      if (element.type === "text" && (typeof element.text !== "string" || element.text === "")) return "a text needs words";
      const found = problem((element.elements ?? []) as Record<string, unknown>[]);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return elements.length === 0 ? "elements are missing" : problem(elements);
}
