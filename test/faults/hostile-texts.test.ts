import { describe, expect, it } from "vitest";
import { createScrubber } from "../../kernel/base/log.ts";
import { createRender } from "../../kernel/capabilities/render/render.ts";
import { readOutput } from "../../kernel/core/flow/typed-output.ts";
import { shownAsIs } from "../../plugins/channels/guildchat/markup.ts";
import { mentionedIn } from "../../plugins/channels/teamchat/words.ts";
import { redacted } from "../../plugins/features/context-layered/redacted.ts";
import { readPhrase } from "../../plugins/features/crons/phrase.ts";
import { typed } from "../../plugins/features/operator-actions/inputs.ts";
import { spokenText } from "../../plugins/features/voice/spoken-text.ts";
import { wordsOf } from "../../plugins/tiers/local/words.ts";
import { quoted } from "../../sdk/foreign-text.ts";

/** Texts that make a pattern which is read again from each place take the square, or the cube, of their length: at this one that is minutes and more. */
const LENGTH = 700_000;
const PARTS = [
  ..."aeE0 \n\t_*`~|<>[](){}-=.:/\\\"'!?&@#",
  ...[
    "</",
    "<!--",
    "_a_",
    "**a",
    "![](",
    "[[](",
    "-eyJ-------e",
    '"token":[',
    "basic ",
    "\n\n",
    "\n ",
    " \n",
    "```\n",
    "~~~\n",
    "<@0|",
    "a@",
    "1. ",
    "- ",
    "\\n",
  ],
];
const TEXTS = PARTS.map((part) => part.repeat(LENGTH / part.length));

const render = createRender();
const scrub = createScrubber(() => []);
/** What the daemon does in its own loop with words that others wrote. */
const READERS: Readonly<Record<string, (text: string) => unknown>> = {
  "a foreign text that is quoted": (text) => quoted(text, 10_000),
  "an answer with a schema": (text) => readOutput({ type: "object" }, `\`\`\`\n${text}`),
  "an answer that a chat shows": (text) => render.split(text.slice(0, 100_000), 4_000, "utf16").map((piece) => render.to("plain", piece)),
  "an answer on a platform without a limit": (text) => render.to("plain", text.slice(0, 40_000)),
  "an answer that a guild shows as it is": shownAsIs,
  "mentions of a team's message": mentionedIn,
  "what an agent is to remember": redacted,
  "a line of the log": scrub,
  "the phrase of a schedule": (text) => expect(() => readPhrase(text)).toThrow(/300 characters/),
  "a number of an action": (text) => expect(() => typed({ name: "n", type: "number" }, `${text}x`)).toThrow(),
  "an answer that is spoken": (text) => spokenText(text, 1_500),
  "words that are searched for": wordsOf,
};

describe("a hostile text costs what its length is", () => {
  it.each(Object.keys(READERS))("%s", (reader) => {
    for (const text of TEXTS) READERS[reader]?.(text);
  });
});
