import { describe, expect, it } from "vitest";
import type { Agent } from "./agents.ts";
import { modelAddress, modelFailure, type Provider, probeProviders } from "./provider.ts";

const agent = (settings: Record<string, unknown> = {}, model?: string): Agent => ({
  id: "ada",
  name: "Ada",
  workspace: "/w",
  tier: "sdk",
  mentions: [],
  access: "private",
  settings,
  ...(model === undefined ? {} : { model }),
});
const codeOf = (providers: Record<string, Provider>, of: Agent): string | undefined => {
  try {
    modelAddress(providers, of);
  } catch (error) {
    return (error as { code: string }).code;
  }
  return undefined;
};

describe("modelAddress", () => {
  it("takes the main provider and its model for an agent that names none", () => {
    expect(modelAddress({ anthropic: { apiKey: "k" } }, agent())).toEqual({
      provider: "anthropic",
      api: "anthropic",
      url: "https://api.anthropic.com/v1",
      key: "k",
      model: "claude-sonnet-4-5",
      thinking: false,
    });
  });

  it("RUN-13 refuses in the specification's words: no entry, no key, an empty key", () => {
    for (const providers of [{}, { anthropic: {} }, { anthropic: { apiKey: "" } }, { anthropic: { apiKey: "", endpoint: "http://127.0.0.1:1/v1" } }])
      expect(() => modelAddress(providers, agent())).toThrow(expect.objectContaining({ message: "No API key for provider", code: "SVC_PROVIDER_KEY" }));
  });

  it("needs no key for a server on this machine, and one for every other", () => {
    const local = agent({ provider: "mine" }, "m");
    for (const endpoint of ["http://127.0.0.1:8080/v1", "http://localhost:1234", "http://[::1]:9", "http://127.9.9.9"])
      expect(codeOf({ mine: { endpoint } }, local)).toBeUndefined();
    for (const endpoint of ["http://127.0.0.1.evil.example", "http://localhost.example", "http://10.0.0.1", "https://example.com/127.0.0.1"])
      expect(codeOf({ mine: { endpoint } }, local), endpoint).toBe("SVC_PROVIDER_KEY");
    expect(codeOf({}, agent({ provider: "ollama" }, "m"))).toBe("SVC_PROVIDER_KEY");
    expect(modelAddress({ ollama: {} }, agent({ provider: "ollama" }, "m"))).toMatchObject({ url: "http://127.0.0.1:11434/v1", api: "openai" });
  });

  it("takes the address as written, with /v1 where it has no path", () => {
    const url = (endpoint: string) => modelAddress({ x: { endpoint, apiKey: "k" } }, agent({ provider: "x" }, "m")).url;
    expect(url("https://models.example")).toBe("https://models.example/v1");
    expect(url("https://models.example/")).toBe("https://models.example/v1");
    expect(url("https://models.example/api/paas/v4/")).toBe("https://models.example/api/paas/v4");
  });

  it("speaks what the entry says, whatever its name is", () => {
    expect(modelAddress({ work: { apiKey: "k", api: "anthropic", endpoint: "https://models.example" } }, agent({ provider: "work" }))).toMatchObject({
      api: "anthropic",
      model: "claude-sonnet-4-5",
    });
    expect(modelAddress({ anthropic: { apiKey: "k", api: "openai" } }, agent({}, "m"))).toMatchObject({ api: "openai" });
  });

  it("CFG-13 ignores defaultModel and baseUrl", () => {
    const entry = { apiKey: "k", defaultModel: "unread", baseUrl: "http://unread.example" } as Provider;
    expect(modelAddress({ anthropic: entry }, agent())).toMatchObject({ model: "claude-sonnet-4-5", url: "https://api.anthropic.com/v1" });
    expect(codeOf({ openai: entry }, agent({ provider: "openai" }))).toBe("SVC_PROVIDER_MODEL");
    expect(codeOf({ own: entry }, agent({ provider: "own" }, "m"))).toBe("SVC_PROVIDER_ENDPOINT");
  });

  it("lets the task's model win", () => {
    expect(modelAddress({ anthropic: { apiKey: "k" } }, agent({}, "of-agent")).model).toBe("of-agent");
    expect(modelAddress({ anthropic: { apiKey: "k" } }, agent({}, "of-agent"), "of-task").model).toBe("of-task");
  });
});

describe("modelFailure", () => {
  const judge = (status: number | undefined, headers?: Record<string, string>) =>
    modelFailure({ provider: "main" }, { status, headers, message: "no to sk-secret" });

  it("FAULT-73 tells the kinds apart, and which of them may work later", () => {
    const kinds = [401, 403, 429, 529, 503, 500, 502, 400, 404, undefined].map((status) => {
      const { kind, retryMs } = judge(status);
      return `${status} ${kind} ${retryMs ?? "never"}`;
    });
    expect(kinds).toEqual([
      "401 auth never",
      "403 auth never",
      "429 rate-limit 1000",
      "529 overloaded 1000",
      "503 overloaded 1000",
      "500 server 1000",
      "502 server 1000",
      "400 request never",
      "404 request never",
      "undefined network 1000",
    ]);
  });

  it("waits as long as the provider asks for, but not longer than a minute", () => {
    expect(judge(429, { "retry-after": "7" }).retryMs).toBe(7_000);
    expect(judge(429, { "retry-after": "0" }).retryMs).toBe(0);
    expect(judge(429, { "retry-after": "61" }).retryMs).toBeUndefined();
    expect(judge(429, { "retry-after": "Wed, 21 Oct 2026 07:28:00 GMT" }).retryMs).toBe(1_000);
  });

  it("does not repeat what the API says about a key", () => {
    expect(judge(401).message).toBe("The provider 'main' refused the API key (status 401); check providers.main.apiKey.");
  });
});

it("probeProviders names what can be called, and nothing of a key", () => {
  expect(probeProviders({})).toEqual({ ok: false, detail: "No API key for provider; set providers.anthropic.apiKey" });
  expect(probeProviders({ anthropic: { apiKey: "" }, openai: {}, own: { apiKey: "k" } }).ok).toBe(false);
  expect(probeProviders({ anthropic: { apiKey: "sk-secret" }, ollama: {}, near: { endpoint: "http://localhost:1" } })).toEqual({
    ok: true,
    detail: "providers: anthropic, ollama, near",
  });
});
