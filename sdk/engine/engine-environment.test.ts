import { describe, expect, it } from "vitest";
import { engineEnvironment } from "./engine-environment.ts";
import { extraCertificates } from "./extra-certificates.ts";

const VARIABLES = { tier: "cli-x", keys: ["ACME_API_KEY", "ACME_TOKEN"], passed: ["ACME_BASE_URL", "HTTPS_PROXY"], signIn: ["ACME_SIGN_IN"] };
const DAEMON: Readonly<Record<string, string>> = Object.fromEntries(
  [...VARIABLES.keys, ...VARIABLES.passed, ...VARIABLES.signIn, "OTHER_SECRET"].map((name) => [name, `the ${name}`]),
);

const environment = (billing: "subscription" | "api", daemon: Readonly<Record<string, string>> = DAEMON, env: Record<string, string> = {}) =>
  engineEnvironment(VARIABLES, "ada", { billing }, { env }, (name) => daemon[name], { QUIET: "1" });

describe("the environment of an engine", () => {
  it("RUN-12 holds no key on the shared sign-in, though the daemon has one", () => {
    expect(environment("subscription")).toEqual({
      env: { QUIET: "1", ACME_BASE_URL: "the ACME_BASE_URL", HTTPS_PROXY: "the HTTPS_PROXY", ACME_SIGN_IN: "the ACME_SIGN_IN" },
    });
  });

  it("RUN-12 pays by the first key that is set, without the shared sign-in", () => {
    const { env, key } = environment("api");
    expect(key).toBe("ACME_API_KEY");
    expect(Object.keys(env).sort()).toEqual(["ACME_API_KEY", "ACME_BASE_URL", "ACME_TOKEN", "HTTPS_PROXY", "QUIET"]);
  });

  it("RUN-12 billing api without a key, and a key by the section's back door, are errors that say what to do", () => {
    expect(() => environment("api", {})).toThrow(
      expect.objectContaining({ code: "SVC_BILLING_KEY_MISSING", message: expect.stringContaining("ACME_API_KEY is not set"), path: "agents.ada.billing" }),
    );
    expect(() => environment("subscription", DAEMON, { ACME_TOKEN: "x" })).toThrow(
      expect.objectContaining({ code: "SVC_BILLING_KEY_REFUSED", message: expect.stringContaining("ACME_TOKEN"), path: "tiers.cli-x.env" }),
    );
  });

  it("takes the section's variables before the daemon's", () => {
    expect(environment("api", DAEMON, { ACME_BASE_URL: "http://here" }).env).toMatchObject({ ACME_BASE_URL: "http://here" });
  });
});

it("a missing file of certificates fails no run", () => {
  expect(extraCertificates({})).toBeUndefined();
  expect(extraCertificates({ NODE_EXTRA_CA_CERTS: "/no/such/file.pem" })).toBeUndefined();
  expect(extraCertificates({ NODE_EXTRA_CA_CERTS: import.meta.filename })).toContain("a missing file of certificates");
});
