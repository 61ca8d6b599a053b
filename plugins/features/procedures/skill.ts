import { yamlTrouble } from "@svc/sdk/foreign-text";
import { parseDocument } from "yaml";

/** Limits of a skill file. A longer one is not a procedure. */
export const MAX_BYTES = 262_144;
const MAX_HEAD = 16_384;
const LONGEST_NAME = 64;
const LONGEST_DESCRIPTION = 1_024;

/** Where a skill comes from: the folder `procedures.dir`, an agent's workspace, or a folder of the user. */
export type SkillSource = "procedures" | "workspace" | "user";

/** A note of how something is done, as a file holds it: front matter with name and description, then Markdown. */
export interface Skill {
  /** `deploy`, `ada/deploy` of the workspace of the agent ada, `user/deploy`. */
  readonly id: string;
  readonly source: SkillSource;
  /** As people name the file. */
  readonly file: string;
  readonly name: string;
  readonly description: string;
  readonly body: string;
  /** For these agents only. */
  readonly agents?: readonly string[];
  /** Of a learned one: the group of runs that it was learned from. */
  readonly cluster?: string;
  /** Why it cannot be used. */
  readonly problem?: string;
}

/** Parses the text of a skill file; its errors are in `problem`. */
export function readSkill(facts: Pick<Skill, "id" | "source" | "file">, text: string): Skill {
  const named = (name: string, problem: string): Skill => ({ ...facts, name, description: "", body: "", problem });
  const plainName = facts.id.split("/").at(-1) ?? facts.id;
  const found = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)\r?\n?---[ \t]*(?:\r?\n|$)/.exec(text);
  if (found === null) return named(plainName, "it does not begin with front matter (a block between two lines ---)");
  const [whole, head = ""] = found;
  if (head.length > MAX_HEAD) return named(plainName, `its front matter is longer than ${MAX_HEAD} characters`);
  const trouble = yamlTrouble(head);
  if (trouble !== undefined) return named(plainName, `its front matter cannot be read: ${trouble}`);
  const document = parseDocument(head, { schema: "core", uniqueKeys: true, prettyErrors: false, logLevel: "silent" });
  if (document.errors.length > 0) return named(plainName, `its front matter is no YAML: ${document.errors[0]?.message.split("\n")[0]}`);
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 0 });
  } catch (error) {
    return named(plainName, `its front matter is no plain YAML: ${(error as Error).message}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return named(plainName, "its front matter holds no keys");
  const { name, description, agents, cluster } = value as Record<string, unknown>;
  if (typeof name !== "string" || name.trim() === "") return named(plainName, "its front matter has no name");
  if (typeof description !== "string" || description.trim() === "") return named(name.slice(0, LONGEST_NAME), "its front matter has no description");
  const given = {
    ...facts,
    name: name.trim().slice(0, LONGEST_NAME),
    description: description.trim().slice(0, LONGEST_DESCRIPTION),
    body: text.slice(whole.length).trim(),
    ...(typeof cluster === "string" ? { cluster } : {}),
  };
  if (agents === undefined) return given;
  // A restriction that cannot be read must not turn into none.
  if (!Array.isArray(agents) || agents.some((one) => typeof one !== "string")) return { ...given, problem: "its key agents is no list of agent ids" };
  return { ...given, agents: agents as string[] };
}

/** The text of a file for a skill. */
export function skillText(head: Readonly<Record<string, unknown>>, body: string): string {
  const lines = Object.entries(head).map(([key, value]) => `${key}: ${JSON.stringify(value)}`);
  return `---\n${lines.join("\n")}\n---\n\n${body.trim()}\n`;
}
