/** What a plugin can provide through its context. */
export type ProvidedKind = "channel" | "tier" | "action" | "route" | "server" | "tool" | "authority";

type Type = "string" | "number" | "object" | "function";

/** The members without which the kernel cannot use a thing, each with its type. */
const MEMBERS: Readonly<Record<ProvidedKind, Readonly<Record<string, Type>>>> = {
  channel: { name: "string", traits: "object", send: "function" },
  tier: { name: "string", run: "function" },
  action: { name: "string", input: "object", output: "object", timeoutMs: "number", run: "function" },
  route: { method: "string", path: "string", guard: "string", handle: "function" },
  server: { name: "string", host: "string", port: "number" },
  tool: { name: "string", input: "object", run: "function" },
  authority: { name: "string", verify: "function" },
};

const TRAITS: Readonly<Record<string, Type>> = { maxChars: "number", unit: "string", dialect: "string" };

/** Names of stored state are made of it. */
const CHANNEL_NAME = /^[a-z0-9][a-z0-9._-]*$/;

/** Why the kernel cannot use it, undefined when it can. Asked once, when it is provided: later nobody looks again. */
export function whyUnusable(kind: ProvidedKind, thing: unknown): string | undefined {
  const wrong = missing(thing, MEMBERS[kind]);
  if (wrong !== undefined || kind !== "channel") return wrong;
  const { name, traits } = thing as { name: string; traits: unknown };
  if (!CHANNEL_NAME.test(name)) return `the name '${name}' is not of lower-case letters, digits, '-', '_' and '.'`;
  const trait = missing(traits, TRAITS);
  return trait === undefined ? undefined : `of its traits, ${trait}`;
}

const articled = (word: string): string => `${/^[aeiou]/.test(word) ? "an" : "a"} ${word}`;

/** `an action 'acme.send'`, `a route 'GET /acme'`; without a name where it has none. */
export function nameThing(kind: ProvidedKind, thing: unknown): string {
  const { name, method, path } = (thing ?? {}) as Readonly<Record<string, unknown>>;
  const called = kind === "route" ? [method, path].filter((part) => typeof part === "string").join(" ") : typeof name === "string" ? name : "";
  return `${articled(kind)}${called === "" ? "" : ` '${called}'`}`;
}

function missing(thing: unknown, members: Readonly<Record<string, Type>>): string | undefined {
  if (typeof thing !== "object" || thing === null) return "it is no object";
  const found = Object.entries(members).find(([name, type]) => {
    const value = (thing as Record<string, unknown>)[name];
    return typeof value !== type || value === null;
  });
  return found === undefined ? undefined : `${found[0]} must be ${articled(found[1])}`;
}
