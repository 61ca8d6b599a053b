import type { Provide, Provided, ProvidedKind } from "@svc/sdk";
import { createScopeTable, PROVIDED, pluralOf, providedName } from "@svc/sdk/host";
import { createFakeContext } from "@svc/sdk/testing";
import { describe, expect, it } from "vitest";
import { KINDS, type ProvideDeps } from "./kinds.ts";
import { composeLive } from "./live.ts";
import { createProvide, requireFree } from "./provide.ts";
import { describeProvided, registersOf, thingsOf } from "./registered.ts";
import { createScope, disposeScope, type Scope } from "./scope.ts";

/** One thing of a kind, what people see of it, and what its manifest and its operator say of it. */
interface Sample<K extends ProvidedKind> {
  readonly thing: Provided[K];
  /** What `provide` is called with; default the thing. */
  given?(thing: unknown): readonly unknown[];
  readonly shown: string;
  readonly declared?: string;
  readonly agreed?: readonly string[];
}

const SAMPLES: { readonly [K in ProvidedKind]: Sample<K> } = {
  channel: {
    thing: { name: "acme", traits: { maxChars: 100, unit: "codepoint", dialect: "plain" }, send: async () => ({}) } as unknown as Provided["channel"],
    shown: "channel acme",
  },
  tier: { thing: { name: "acme", async *run() {} }, shown: "tier acme" },
  action: {
    thing: { name: "acme.send", description: "Sends.", input: { type: "object" }, output: {}, timeoutMs: 1_000, run: async () => 1 },
    shown: "action acme.send",
  },
  route: {
    thing: { server: "acme", method: "GET", path: "/things/:id", guard: "open", handle: () => ({}) },
    shown: "route GET /things/:id",
    declared: "route acme:GET /things/:id open",
    agreed: ["route open"],
  },
  server: {
    thing: { name: "acme", host: "127.0.0.1", port: 4_000, localScopes: ["acme:read"] },
    shown: "server acme 127.0.0.1:4000",
    declared: "server acme",
    agreed: ["server", "server granting acme:read"],
  },
  authority: { thing: { name: "acme", verify: async () => undefined }, shown: "authority acme" },
  tool: { thing: { name: "acme-search", description: "Searches.", input: { type: "object" }, run: async () => "" }, shown: "tool acme-search" },
  toolset: { thing: { name: "acme-searches", tools: () => [] }, shown: "toolset acme-searches" },
  store: { thing: { name: "acme", open: () => ({ scope: () => ({}) as never }) }, shown: "store acme" },
  board: { thing: { name: "acme", list: async () => [], get: async () => undefined }, shown: "board acme" },
  service: {
    thing: { name: "acme.notes", api: { add: async () => {} } },
    given: (thing) => [(thing as Provided["service"] | undefined)?.name, (thing as Provided["service"] | undefined)?.api],
    shown: "service acme.notes",
  },
  panel: {
    thing: { id: "acme", title: "Acme", place: "page", guard: "scope:dashboard:read", module: "/acme/panel.js" },
    shown: "panel acme",
    agreed: ["panel scope:dashboard:read"],
  },
  files: {
    thing: { prefix: "/acme", folder: "/srv/acme", guard: "open", server: "dashboard" },
    shown: "files /acme",
    declared: "files dashboard:/acme open",
    agreed: ["files open"],
  },
};

const kinds = Object.keys(PROVIDED) as ProvidedKind[];

function open(id = "feature-one", registers?: readonly string[], scopes: readonly Scope[] = []) {
  const scope = createScope(id as Scope["id"], () => {}, undefined, undefined, registers === undefined ? {} : { registers });
  const deps: ProvideDeps = {
    claim: (asking, kind, name) => requireFree(asking, kind, name, [...scopes, scope]),
    tokenScopes: createScopeTable([]),
    requireServable: () => {},
    serveFile: async () => {},
    server: () => ({ listen: async () => undefined, close: async () => {} }),
    channelState: () => {},
  };
  const provide = (declared: boolean) =>
    createProvide(scope, deps, (capability) => {
      if (!declared) throw Object.assign(new Error(capability), { code: "SVC_CAPABILITY_UNDECLARED" });
    });
  return { scope, provide: provide(true), undeclared: provide(false) };
}

/** Calls `provide` as a plugin does. */
function give(provide: Provide, kind: ProvidedKind, thing: unknown): unknown {
  const { given = [thing] } = { given: SAMPLES[kind].given?.(thing) };
  return (provide[kind] as (...given: unknown[]) => unknown)(...given);
}

describe.each(kinds)("the kind %s", (kind) => {
  const { thing, shown, declared = shown, agreed = [kind] } = SAMPLES[kind];

  it("is registered under its name, shown, declared, agreed to, live, and gone with its plugin", () => {
    const { scope, provide } = open();
    give(provide, kind, thing);
    expect(describeProvided(scope)).toEqual([shown]);
    expect(thingsOf(scope)).toEqual([declared]);
    expect(registersOf(scope)).toEqual(agreed);
    const name = providedName(kind, thing as never);
    expect(composeLive([scope], () => {})[pluralOf(kind)].get(name)).toMatchObject({ scope, thing });
    disposeScope(scope);
    expect([describeProvided(scope), composeLive([scope], () => {})[pluralOf(kind)].size]).toEqual([[], 0]);
  });

  it("is refused a second time under the same name, with the owner", () => {
    const first = open();
    give(first.provide, kind, thing);
    const second = open("feature-two", undefined, [first.scope]);
    expect(() => give(second.provide, kind, thing)).toThrow(expect.objectContaining({ code: "SVC_PLUGIN_NAME_TAKEN" }));
    expect(() => give(second.provide, kind, thing)).toThrow(/feature-one/);
  });

  it("is refused without a member that the kernel needs, with the member", () => {
    const { provide, scope } = open();
    for (const member of Object.keys(KINDS[kind].members)) {
      const { [member]: _, ...rest } = thing as unknown as Record<string, unknown>;
      expect(() => give(provide, kind, rest), member).toThrow(new RegExp(`${member} must be an? `));
    }
    expect(() => give(provide, kind, undefined)).toThrow(expect.objectContaining({ code: "SVC_PLUGIN_PROVIDES" }));
    expect(thingsOf(scope)).toEqual([]);
  });

  it.runIf(kind === "tool")("is refused with an input that no model's API takes", () => {
    expect(() => give(open().provide, kind, { ...thing, input: { properties: {} } })).toThrow(/its input is no JSON Schema with type: 'object'/);
  });

  it("is refused where the manifest lists what is registered and not this", () => {
    expect(() => give(open("feature-one", ["hook inbound"]).provide, kind, thing)).toThrow(expect.objectContaining({ code: "SVC_PLUGIN_UNDECLARED" }));
    const listed = open("feature-one", [declared]);
    give(listed.provide, kind, thing);
    expect(thingsOf(listed.scope)).toEqual([declared]);
  });

  it("needs its capability, in the daemon and in the fake context of tests", () => {
    const { capability } = PROVIDED[kind];
    const code = expect.objectContaining({ code: "SVC_CAPABILITY_UNDECLARED" });
    const fake = createFakeContext({ kind: "feature", name: "one", capabilities: [] });
    if (capability === undefined) {
      give(open().undeclared, kind, thing);
      give(fake.provide, kind, thing);
    } else {
      expect(() => give(open().undeclared, kind, thing)).toThrow(code);
      expect(() => give(fake.provide, kind, thing)).toThrow(code);
    }
  });

  it("is recorded by the fake context, once for a name", () => {
    const { capability } = PROVIDED[kind];
    const fake = createFakeContext({ kind: "feature", name: "one", capabilities: capability === undefined ? [] : [capability] });
    give(fake.provide, kind, thing);
    const [recorded] = fake.registered[pluralOf(kind)] as readonly unknown[];
    expect([recorded, (recorded as Record<string, unknown>)[kind]]).toContainEqual(thing);
    expect(() => give(fake.provide, kind, thing)).toThrow(expect.objectContaining({ code: "SVC_PLUGIN_NAME_TAKEN" }));
  });
});

it("an action that was taken back makes room for another one of its name", () => {
  const { provide, scope } = open();
  const fake = createFakeContext({ kind: "feature", name: "one", capabilities: [] });
  for (const where of [provide, fake.provide]) {
    const withdraw = where.action(SAMPLES.action.thing);
    withdraw();
    withdraw();
    where.action(SAMPLES.action.thing);
  }
  expect([thingsOf(scope), fake.registered.actions.length]).toEqual([["action acme.send"], 1]);
});

it.each([
  ["service", { name: "Acme Notes", api: {} }, /the name 'Acme Notes'/],
  ["channel", { ...SAMPLES.channel.thing, name: "../acme" }, /the name '..\/acme'/],
  ["files", { ...SAMPLES.files.thing, prefix: "/acme/../x" }, /its prefix/],
  ["files", { ...SAMPLES.files.thing, prefix: "acme/" }, /its prefix/],
  ["files", { ...SAMPLES.files.thing, folder: "ui" }, /must be absolute/],
  ["panel", { ...SAMPLES.panel.thing, id: "../acme" }, /the id '..\/acme'/],
  ["panel", { ...SAMPLES.panel.thing, place: "footer" }, /its place 'footer'/],
  ["panel", { ...SAMPLES.panel.thing, module: "https://elsewhere.example/x.js" }, /is not a path/],
  ["panel", { ...SAMPLES.panel.thing, module: "//elsewhere.example/x.js" }, /is not a path/],
] as const)("a %s like %j is refused", (kind, thing, words) => {
  expect(() => give(open().provide, kind, thing)).toThrow(words);
});
