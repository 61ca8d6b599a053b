import { CAPABILITIES, declarationCheck } from "@svc/sdk/host";
import { expect, it } from "vitest";
import { LIBRARIES } from "../capabilities/libraries.ts";
import { crosses } from "../core/host/capabilities.ts";
import { createChildContext } from "./child-context.ts";
import { createRegister } from "./child-register.ts";
import { refuseDeclared } from "./crossing.ts";
import type { RpcPeer } from "./peer.ts";

const id = "feature-far";
const need = declarationCheck(id, CAPABILITIES);
const silent = { call: async () => {}, stream: () => {}, notify: () => true } as unknown as RpcPeer;
const facts = { id, config: {}, node: { id: "n", name: "n" }, capabilities: CAPABILITIES } as const;
const loaded = { render: { split: () => [], to: () => "" }, schedule: { parseCron: () => {}, zoneOf: () => {}, timesOf: () => [] } };
const code = (act: () => unknown): unknown => {
  try {
    act();
  } catch (error) {
    return (error as { code?: unknown }).code;
  }
  return undefined;
};

it.each(CAPABILITIES)("the row of %s says whether the context of a process has it", (name) => {
  const { context } = createChildContext(
    facts,
    silent,
    loaded,
    need,
    createRegister(id, () => {}, need),
  );
  const refusal = crosses(name, LIBRARIES) ? undefined : "SVC_ISOLATION_REFUSED";
  expect(code(() => context[name])).toBe(refusal);
  expect(code(() => refuseDeclared(id, [name]))).toBe(refusal);
});

it.each(["data-folder", "all-settings", "events:peers", "withheld", "env:*", "env:SVC_TOKEN", "env:NODE_OPTIONS"] as const)(
  "a process is never given %s",
  (name) => {
    expect(code(() => refuseDeclared(id, [name]))).toBe("SVC_ISOLATION_REFUSED");
    expect(code(() => refuseDeclared(id, ["env:ACME_KEY", "network", "routes"]))).toBeUndefined();
  },
);
