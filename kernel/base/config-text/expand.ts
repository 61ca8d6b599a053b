/** `${NAME}`: a letter or underscore, then letters, digits and underscores. Anything else is ordinary text. */
const REFERENCE = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** The variables a text refers to, each once, in order. */
export function referencesIn(text: string): readonly string[] {
  return [...new Set(Array.from(text.matchAll(REFERENCE), (found) => found[1] as string))];
}

/** The names in malformed references such as `${NAME:-x}`, each empty where the reference has no name. */
export function malformedIn(text: string): readonly string[] {
  return Array.from(text.replace(REFERENCE, "").matchAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)?/g), (found) => found[1] ?? "");
}

/** The value of a variable; empty when it is not set (001:L8). Names of JavaScript's own machinery are not variables. */
export function variable(env: NodeJS.ProcessEnv, name: string): string {
  return Object.hasOwn(env, name) ? (env[name] ?? "") : "";
}

/** Returns a copy with every reference in a string value replaced, once: the value of a variable is not expanded again. Keys stay unchanged. */
export function expandValue(value: unknown, env: NodeJS.ProcessEnv): unknown {
  if (typeof value === "string") return value.replace(REFERENCE, (_, name: string) => variable(env, name));
  if (Array.isArray(value)) return value.map((item) => expandValue(item, env));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, expandValue(item, env)]));
}

/** Every variable that a value refers to anywhere, each once. */
export function referencesBelow(value: unknown): readonly string[] {
  const names = new Set<string>();
  const visit = (at: unknown): void => {
    if (typeof at === "string") for (const name of referencesIn(at)) names.add(name);
    else if (typeof at === "object" && at !== null) Object.values(at).forEach(visit);
  };
  visit(value);
  return [...names];
}
