import type { MentionGrammar } from "@svc/sdk";
import { describe, expect, it } from "vitest";
import { mentionsIn, mentionsOf } from "./mentions.ts";
import { READ_CHARS, readNote } from "./note-text.ts";

/** As GitLab reads names. */
const GL: MentionGrammar = {
  first: "A-Za-z0-9_.",
  rest: "A-Za-z0-9_.\\-",
  last: "A-Za-z0-9_\\-",
  notBefore: "\\/",
  notAfter: "@\\/",
  suffixes: [".git", ".atom"],
  dotted: false,
  fencedQuotes: true,
};
/** As GitHub does. */
const GH: MentionGrammar = {
  first: "A-Za-z0-9",
  rest: "A-Za-z0-9_\\-",
  last: "A-Za-z0-9_\\-",
  notBefore: "\\/",
  notAfter: "`@\\/",
  suffixes: [],
  dotted: true,
  fencedQuotes: false,
};
const AGENTS: Readonly<Record<string, string>> = { "my-agent": "A", "my-agent-2": "B", "rev.iew_bot": "R" };
const asked = (text: string, grammar: MentionGrammar) => [...new Set(mentionsIn(text, grammar).flatMap(({ name }) => AGENTS[name] ?? []))].sort().join(",");

/** `⏎` is a line break, ` | ` stands between the notes. The agents that GitLab and GitHub would tell, or "-". */
const CORPUS: readonly (readonly [agents: string, notes: string, hub?: string])[] = [
  ["A", "@my-agent fix | please @my-agent. | (@my-agent) | @MY-Agent | @my-agent: do | **@my-agent** | - [ ] @my-agent | <@my-agent>"],
  ["A", "@my-agent[bot] | 看@my-agent | @my-agent看 | > q⏎⏎@my-agent | <details>⏎⏎@my-agent⏎⏎</details> | - item⏎⏎      @my-agent"],
  ["A", "@my-agent@my-agent-2 | x ` @my-agent | 1. one⏎2. two⏎@my-agent | # head⏎@my-agent | a⏎    @my-agent | ~~@my-agent~~"],
  ["A,B", "@my-agent, @my-agent-2 | @my-agent⏎@my-agent-2 | | @my-agent || @my-agent-2 |"],
  ["B", "@my-agent-2 only | ~~~sh⏎@my-agent⏎~~~⏎@my-agent-2 | `@my-agent` @my-agent-2 | > @my-agent⏎⏎@my-agent-2 | `a @my-agent` and `b` @my-agent-2"],
  ["R", "@rev.iew_bot", "-"],
  ["-", "@my-agent2 | @my-agent- | @my-agent_x | @my-agent/team | @grp/my-agent | x@my-agent | a.b@my-agent.org | @my-agent.git"],
  ["-", "@@my-agent | /@my-agent | https://f/@my-agent | \\@my-agent | &#64;my-agent | @all | `@my-agent` | x `a⏎@my-agent`"],
  ["-", "```⏎@my-agent | .    @my-agent | - ```⏎  @my-agent⏎  ``` | > @my-agent | > q⏎@my-agent | 1. > @my-agent"],
  ["-", "<!-- @my-agent --> | <pre>⏎@my-agent⏎</pre> | [@my-agent](u) | ![@my-agent](u) | [a [@my-agent](u)](v) | <a href=x>@my-agent</a>"],
  ["-", "``a ` @my-agent`` | <code>@my-agent</code> | ```js⏎// @my-agent⏎``` | x <!-- ⏎@my-agent --> | [x]: https://f.org/?q=@my-agent"],
  ["B", ">>>⏎@my-agent⏎⏎@my-agent⏎>>>⏎@my-agent-2", "A,B"],
];
const NOTES = CORPUS.flatMap(([agents, notes, hub = agents]) =>
  notes.split(" | ").map((note) => ({ note: note.replaceAll("⏎", "\n").replace(/^\.(?= {4})/, ""), forge_a: agents, forge_b: hub })),
);

describe("mentions", () => {
  it.each(NOTES)("of $note are those that the forges tell", ({ note, forge_a, forge_b }) => {
    expect({ forge_a: asked(note, GL) || "-", forge_b: asked(note, GH) || "-" }).toEqual({ forge_a, forge_b });
  });

  const fill = (piece: string) => piece.repeat(Math.ceil(READ_CHARS / piece.length)).slice(0, READ_CHARS);
  const HOSTILE = [
    ">",
    "> ",
    "*_[",
    "`",
    "` `` ",
    "[",
    "](",
    "[](",
    "[]()",
    "<!--",
    "<a ",
    "<pre>\n",
    "- ",
    "1. > ",
    "@",
    "@a",
    "\\",
    "://",
    "a://",
    "```\n~~~\n",
    ">>>\n",
    "- - - x\n",
  ];

  it.each(HOSTILE)("in 64 KiB of %j cost a bounded number of looks at each unit", (piece) => {
    for (const grammar of [GL, GH]) {
      const whole = fill(piece);
      const looks = (text: string) => mentionsOf(readNote(text, grammar), grammar).steps;
      const [half, full] = [looks(whole.slice(0, READ_CHARS / 2)), looks(whole)];
      expect(full).toBeLessThan(40 * READ_CHARS);
      // Twice the text, at most some more than twice the work.
      expect(full).toBeLessThan(2.5 * half + 1_000);
    }
  });

  it("are looked for in the first 65,536 units", () => {
    expect(asked(`${"x".repeat(READ_CHARS)} @my-agent`, GL)).toBe("");
    expect(asked(`${"x".repeat(READ_CHARS - 20)} @my-agent`, GL)).toBe("A");
  });
});
