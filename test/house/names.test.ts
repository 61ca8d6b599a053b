import { expect, it } from "vitest";
import { apartFolders, pluginFolders, read, tracked } from "./house.ts";

/** Vendors, platforms and features, some of them still to come. */
const WORDS = [
  ...["anthropic", "openai", "claude", "codex", "gemini", "ollama", "lmstudio", "llamacpp", "chatgpt", "gpt"],
  ...["telegram", "slack", "discord", "whatsapp", "signal-cli", "matrix", "guildchat", "teamchat", "phonemsg", "mrkdwn"],
  ...["layered", "planner", "voice", "presence", "integrations", "billing", "codeindex", "forge", "richMessages", "contextReferences", "dashboard"],
];

/** Plugins that are called by an ordinary word of the trade, or by one of the sdk's own. */
const ORDINARY = [
  "a2a",
  "approvals",
  "boards",
  "budgets",
  "business",
  "calls",
  "local",
  "metrics",
  "models",
  "notifications",
  "push",
  "reminders",
  "sdk",
  "services",
  "sessions",
  "tokens",
  "transcription",
  "webhooks",
  "workflows",
];

/** Where a name may stand, and why. A file that no longer needs its line fails the test, too. */
const ALLOWED: readonly { readonly file: string; readonly words: readonly string[]; readonly because: string }[] = [
  {
    file: "kernel/capabilities/render/former-dialects.ts",
    words: ["telegram", "slack", "discord", "whatsapp", "mrkdwn"],
    because: "generation 1 of the plugin API let a channel name its platform's markup",
  },
  {
    file: "kernel/contract/keys.json",
    words: [
      ...["mcp", "codeindex", "contextReferences", "richMessages", "billing", "forge", "subscriptions", "heartbeat"],
      ...["integrations", "voice", "presence", "mesh", "claude", "cli-a"],
    ],
    because: "data: the names that svc.json has always taken, whether or not a plugin here reads them",
  },
  { file: "kernel/status/agent-abilities.ts", words: ["mcp"], because: "a member of the answer of GET /agents/:id/capability" },
  { file: "kernel/core/boot/status-port.ts", words: ["mcp"], because: "the same member, where it is declared" },
  { file: "kernel/http/routes/answers.ts", words: ["mcp"], because: "the same member, where the answer is described" },
  { file: "kernel/host-parts.ts", words: ["sqlite"], because: "the package that keeps the state where nothing else is said" },
  { file: "kernel/http/guard.ts", words: ["mesh"], because: "generation 1 of the plugin API calls the guard peer so" },
  { file: "kernel/http/plain-events.ts", words: ["mesh"], because: "a kind of events of the contract" },
  { file: "kernel/core/host/kinds.ts", words: ["dashboard"], because: "a panel is a part of the dashboard, whichever plugin that is" },
  { file: "sdk/testing/panel-contract.ts", words: ["dashboard"], because: "a panel is a part of the dashboard, whichever plugin that is" },
  { file: "sdk/panel.ts", words: ["dashboard"], because: "a panel is a part of the dashboard, whichever plugin that is" },
  { file: "sdk/provided.ts", words: ["dashboard"], because: "a panel is a part of the dashboard, whichever plugin that is" },
  { file: "sdk/failure.ts", words: ["billing"], because: "a kind of failure: the account is refused" },
  { file: "sdk/program-tier.ts", words: ["billing", "mcp"], because: "keys of agents that all tiers for programs read the same way" },
  ...["sdk/forge.ts", "sdk/services.ts", "sdk/index.ts"].map((file) => ({
    file,
    words: ["forge"],
    because: "the service of code forges, which their channels share",
  })),
  { file: "sdk/peers.ts", words: ["mesh"], because: "the service of the daemons that work together, and its error" },
  { file: "sdk/services.ts", words: ["mesh"], because: "the service of the daemons that work together" },
  { file: "sdk/signed.ts", words: ["forge"], because: "the headers of the contract's own signatures" },
  { file: "sdk/index.ts", words: ["subscriptions"], because: "generation 1 of the plugin API exports subscribes" },
  { file: "sdk/subscriptions.ts", words: ["subscriptions"], because: "generation 1 of the plugin API exports subscribes" },
  { file: "sdk/engine.ts", words: ["acp"], because: "the sdk's room for engines speaks that open protocol" },
];

/** The sdk's room for engines: what tiers for programs share, whoever made the program. */
const ENGINE = { folder: "sdk/engine/", words: ["acp", "mcp", "billing", "claude", "codex", "gemini"] };

const words = [...new Set([...WORDS, ...[...pluginFolders(), ...apartFolders()].map(({ path }) => path.split("/").at(-1) as string)])].filter(
  (word) => !ORDINARY.includes(word),
);

/** A word by itself or as a part of a longer name: `mesh`, `meshVoices`, `MESH_TOKEN`, `createMesh`, but not `meshed`. */
const patternOf = (word: string): RegExp => {
  const [capital, upper] = [word.charAt(0).toUpperCase() + word.slice(1), word.toUpperCase()];
  return new RegExp(`(?<![A-Za-z])${word}(?![a-z])|${capital}(?![a-z])|(?<![A-Z])${upper}(?![A-Z])`);
};

const files = tracked(".ts", ".json").filter(
  (path) =>
    /^(kernel|sdk)\//.test(path) && !/\.(test|harness)\.ts$/.test(path) && !/(^|\/)(package|tsconfig)\.json$/.test(path) && !path.includes("/template/"),
);

const found = files.flatMap((file) => {
  const text = read(file);
  return words.filter((word) => patternOf(word).test(text)).map((word) => ({ file, word }));
});

it("kernel and sdk name no vendor, no platform and no feature", () => {
  const strange = found.filter(
    ({ file, word }) =>
      !ALLOWED.some((allowed) => allowed.file === file && allowed.words.includes(word)) && !(file.startsWith(ENGINE.folder) && ENGINE.words.includes(word)),
  );
  expect(strange.map(({ file, word }) => `${file}: ${word}`)).toEqual([]);
});

it("has no exception that nothing needs any more", () => {
  const needless = ALLOWED.flatMap(({ file, words: allowed }) =>
    allowed.filter((word) => !found.some((one) => one.file === file && one.word === word)).map((word) => `${file}: ${word}`),
  );
  expect(needless).toEqual([]);
});
