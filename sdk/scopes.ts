/**
 * A scope that tokens can hold and guards can require: `scopes` of a manifest. The family, which is the word before the colon, belongs to the first
 * plugin that declares a scope of it; a later plugin's scopes of that family are ignored.
 */
export interface DeclaredScope {
  /** `family:name`; `family:<id>` for one scope each of many things, which a guard takes from the path (`scope:family::param`). */
  readonly name: string;
  /** Rights of a token with this scope, as text for people. */
  readonly summary?: string;
  /** Scopes of the same family that a token with this one has as well. */
  readonly includes?: readonly string[];
}

/** The scopes of all plugins. */
export interface ScopeTable {
  readonly declared: readonly DeclaredScope[];
  /** Whether a token can hold it: declared literally, or by `family:<id>`. */
  has(scope: string): boolean;
  /** Whether a guard can take the name from the path: `family:<id>` is declared. */
  hasEach(family: string): boolean;
  /** Whether one of the scopes that were granted is the one that is needed, or includes it. */
  grants(granted: readonly string[], needed: string): boolean;
}

const NAME = /^[a-z][a-z0-9-]*:(?:[a-z0-9][a-z0-9_-]*|\*|<[a-z]+>)$/;
const ONE = /^[a-z0-9][a-z0-9_-]*$/;

const familyOf = (scope: string): string => scope.slice(0, Math.max(0, scope.indexOf(":")));

/** Returns why a declared scope is invalid; undefined when it is valid. */
export function whyNoScope({ name, summary, includes = [] }: DeclaredScope): string | undefined {
  if (typeof name !== "string" || !NAME.test(name)) return `'${String(name)}' is not written as family:name, family:* or family:<id>`;
  if (summary !== undefined && typeof summary !== "string") return `the summary of '${name}' must be a text`;
  if (!Array.isArray(includes)) return `what '${name}' includes must be a list`;
  const foreign = includes.find((other) => typeof other !== "string" || !NAME.test(other) || familyOf(other) !== familyOf(name));
  return foreign === undefined ? undefined : `'${name}' may only include scopes of '${familyOf(name)}', not '${String(foreign)}'`;
}

/** Creates the table of all declared scopes, in the order of the plugins. */
export function createScopeTable(plugins: readonly (readonly DeclaredScope[])[]): ScopeTable {
  const owners = new Map<string, readonly DeclaredScope[]>();
  const scopes = new Map<string, DeclaredScope>();
  for (const declared of plugins) {
    for (const scope of declared) {
      if (whyNoScope(scope) !== undefined) continue;
      const owner = owners.get(familyOf(scope.name)) ?? declared;
      owners.set(familyOf(scope.name), owner);
      if (owner === declared && !scopes.has(scope.name)) scopes.set(scope.name, scope);
    }
  }
  /** `family:<id>`, where that is declared. */
  const eachOf = (family: string): string | undefined =>
    [...scopes.keys()].find((name) => familyOf(name) === family && name.slice(family.length + 1).startsWith("<"));
  const includes = new Map<string, ReadonlySet<string>>();
  const included = (name: string): ReadonlySet<string> => {
    const known = includes.get(name);
    if (known !== undefined) return known;
    const all = new Set<string>();
    includes.set(name, all);
    for (const other of scopes.get(name)?.includes ?? []) for (const one of [other, ...included(other)]) all.add(one);
    return all;
  };
  return {
    declared: [...scopes.values()],
    has(scope) {
      const family = familyOf(scope);
      const name = scope.slice(family.length + 1);
      if (scopes.has(scope)) return !name.startsWith("<");
      return ONE.test(name) && eachOf(family) !== undefined;
    },
    hasEach: (family) => eachOf(family) !== undefined,
    grants(granted, needed) {
      if (granted.includes(needed)) return true;
      const family = familyOf(needed);
      const form = scopes.has(needed) ? needed : needed.length > family.length + 1 ? eachOf(family) : undefined;
      return form !== undefined && granted.some((scope) => included(scope).has(form));
    },
  };
}
