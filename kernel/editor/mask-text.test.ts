import { expect, it } from "vitest";
import { differenceFrom } from "./line-difference.ts";
import { maskText } from "./mask-text.ts";

const CANARIES = ["sk-literal-secret-123456", "12:AAF-bot", "first-one", "second", "an env value", "Bearer abcdef", "0123456789abcdef0123xyz"];
const CONFIG = `{
  "node": { "id": "n1", "name": "My node", "bind": "127.0.0.1:18800" },
  "providers": { "anthropic": { "apiKey": "sk-literal-secret-123456", "thinking": true }, "mine": { "apiKey": "\${MY_KEY}" } },
  "channels": { "botmsg": { "accounts": { "main": { "botToken":
    "12:AAF-bot" } } } },
  "mesh": { "tokens": [
    "first-one",
    "second"
  ] },
  "agents": { "a": { "name": "A", "mcp": { "x": { "env": {
    "MODE": "an env value"
  }, "headers": { "x": "Bearer abcdef" } } } } },
  "other": "0123456789abcdef0123xyz"
}
`;

it("OPR-M12 hides each credential and keeps lines, keys, references and plain values", () => {
  const masked = maskText(CONFIG);
  for (const canary of CANARIES) expect(masked).not.toContain(canary);
  expect(masked.split("\n")).toHaveLength(CONFIG.split("\n").length);
  for (const kept of ['"name": "My node"', '"bind": "127.0.0.1:18800"', "${MY_KEY}", '"thinking": true', '"MODE": "***"', '"apiKey": "***"'])
    expect(masked).toContain(kept);
});

it("OPR-M12 what differs from the last good configuration shows no secret, whatever broke the file", () => {
  const breaks: ((text: string) => string)[] = [
    (text) => text.slice(0, -10),
    (text) => text.replaceAll("sk-literal", "sk-other-literal"),
    (text) => text.replace('"sk-literal-secret-123456"', '"sk-literal-secret-123456'),
    (text) => text.replaceAll('"', "'"),
    (text) => text.replaceAll('"', ""),
    (text) => text.replace("{", "{{{ ]]"),
    (text) => `// a comment\n${text}`,
    (text) => text.replaceAll("\n", ""),
    () => "",
  ];
  for (const broken of breaks) {
    const difference = differenceFrom(CONFIG, broken(CONFIG));
    for (const canary of CANARIES.filter((one) => !one.includes(" ")))
      expect([broken.toString(), difference]).toEqual([broken.toString(), expect.not.stringContaining(canary)]);
  }
  expect(differenceFrom(CONFIG, CONFIG.replace("secret-123456", "secret-7"))).toMatch(/^- {4}3 .*"apiKey": "\*\*\*"[^\n]*\n\+ {4}3 /);
  expect(differenceFrom(CONFIG, CONFIG)).toBe("");
});
