import { describe, expect, it } from "vitest";
import { CREDENTIAL_NAME } from "../base/config-text/secrets.ts";
import { settingDigests } from "./node-about.ts";

const secretsOf = (raw: Readonly<Record<string, unknown>>) =>
  Object.entries(raw).flatMap(([section, inner]) =>
    Object.entries(inner as object).flatMap(([key, value]) => (CREDENTIAL_NAME.test(key) ? [{ path: [section, key], value: String(value) }] : [])),
  );
const digests = (raw: Record<string, unknown>) => settingDigests(raw, secretsOf);

describe("digests of settings", () => {
  it("are by path, two levels deep, without what each machine has of its own", () => {
    const found = digests({ $schema: "x", node: { id: "n1" }, store: { url: "y" }, agents: { a: { tier: "local" }, b: {} }, plugins: ["p"], hooks: {} });
    expect(Object.keys(found)).toEqual(["agents.a", "agents.b", "plugins"]);
    for (const digest of Object.values(found)) expect(digest).toMatch(/^[0-9a-f]{8}$/);
  });

  it("differ with what is written, not with the order of keys", () => {
    const one = digests({ agents: { a: { tier: "local", model: "x", tags: ["p", "q"] } } });
    expect(digests({ agents: { a: { tags: ["p", "q"], model: "x", tier: "local" } } })).toEqual(one);
    expect(digests({ agents: { a: { tier: "local", model: "x", tags: ["q", "p"] } } })).not.toEqual(one);
    expect(digests({ agents: { a: { tier: "local", model: "${MODEL}" } } })).not.toEqual(digests({ agents: { a: { tier: "local", model: "x" } } }));
  });

  it("tell nothing of a credential, but of the variable that it stands in", () => {
    const of = (token: string) => digests({ far: { token, host: "h" } });
    expect(of("1234")).toEqual(of("4321"));
    expect(of("${ONE}")).not.toEqual(of("${TWO}"));
    expect(of("${ONE}")).not.toEqual(of("1234"));
    const at = (url: string) => digests({ far: { urls: [url] } });
    expect(at("https://me:one@h/")).toEqual(at("https://me:two@h/"));
    expect(at("https://me:${ONE}@h/")).not.toEqual(at("https://me:${TWO}@h/"));
  });
});
