import { expect, it } from "vitest";
import { checkDocument } from "../../kernel/core/config/check.ts";
import { composeSchema } from "../../kernel/core/config/compose.ts";
import { openDocument } from "../../kernel/core/config/document.ts";
import { maskSecrets } from "../../kernel/editor/mask.ts";
import { CONTRACT_PARTS } from "../kit/configuration.ts";

const composed = composeSchema({ ...CONTRACT_PARTS, tiers: ["cli-a"], defaultTier: "cli-a", dormant: [] });
const check = (agent: object, node: object = {}) =>
  checkDocument(openDocument({ value: { node: { id: "n", name: "N", ...node }, agents: { a: { name: "A", workspace: "./a", ...agent } } } }, {}), composed);

it("SEC-m2 the environment and the headers of tool servers are masked, and may hold what they like", () => {
  const checked = check({
    mcp: { files: { command: "x", env: { MODE: "dev", PLAIN: "CANARY-mcpenv-0003-abcdef", EMPTY: "" }, headers: { "x-who": "CANARY-header" } } },
  });
  expect(checked.problems).toEqual([]);
  const text = JSON.stringify(maskSecrets(checked.value, composed));
  expect(text).not.toContain("CANARY");
  expect(text).toContain('"MODE":"***"');
  expect(text).toContain('"EMPTY":""');
  expect(text).toContain('"command":"x"');
  expect(checked.secrets).toEqual(["CANARY-mcpenv-0003-abcdef"]);
});

it.each(["two\nlines", "\u001b[31mred", "a\u202eb", "c1\u009b"])("SEC-m5 refuses a name that would draw more than a name: %j", (name) => {
  expect(check({ name }).problems).toMatchObject([{ path: "agents.a.name", message: expect.stringContaining("one line") }]);
  expect(check({}, { name }).problems).toMatchObject([{ path: "node.name" }]);
  expect(check({ name: "Ünï 東京 👩‍👩‍👧 שלום" }).problems).toEqual([]);
});

it("SEC-R6 a list of credentials that no schema knows, and the password in an address, are masked", () => {
  const value = {
    mesh: { tokens: ["CANARY-mesh-0001"], apiKeys: { a: 1 } },
    providers: { mine: { endpoint: "https://user:CANARY-pass@models.example/v1" }, plain: { endpoint: "http://127.0.0.1:1/a@b" } },
  };
  const masked = maskSecrets(value, composed);
  expect(masked).toEqual({
    mesh: { tokens: ["***"], apiKeys: { a: 1 } },
    providers: { mine: { endpoint: "https://user:***@models.example/v1" }, plain: { endpoint: "http://127.0.0.1:1/a@b" } },
  });
  expect(value.mesh.tokens).toEqual(["CANARY-mesh-0001"]);
});

it("SEC-m2 an argument of a tool server that is a credential by its option is masked, and no other", () => {
  const args = ["--port", "80", "--token", "CANARY-arg-0001", "--api-key=CANARY-arg-0002", "-v", "--token", "--verbose", "plain=1"];
  const checked = check({ mcp: { files: { command: "x", args } } });
  expect(checked.problems).toEqual([]);
  expect(maskSecrets(checked.value, composed)).toMatchObject({
    agents: { a: { mcp: { files: { args: ["--port", "80", "--token", "***", "***", "-v", "--token", "--verbose", "plain=1"] } } } },
  });
  expect(checked.secrets).toContain("CANARY-arg-0001");
});
