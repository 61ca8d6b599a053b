import { codeOf, onAbort, type Provided, type ServiceName, type Services, type ServiceTypes, type SharedKind } from "@svc/sdk";
import { pluralOf } from "@svc/sdk/host";
import { fail } from "../../base/errors.ts";
import { isPromise } from "../../base/promise.ts";
import { inScope } from "./call.ts";
import { KINDS } from "./kinds.ts";
import type { Live } from "./live.ts";
import type { Owned, Scope } from "./scope.ts";

/** Dependencies of proxies to other plugins' things. */
export interface ReferenceDeps {
  live(): Live;
  /** Counts a failure against a plugin. */
  failed(scope: Scope, what: string, error: unknown): void;
}

/** `ctx.services` of one plugin: every answer is a reference that ends with the plugin that serves it. */
export function createServices(asking: Scope, deps: ReferenceDeps): Services {
  const references = new WeakMap<Owned<unknown>, object>();
  const refer = <T extends object>(owned: Owned<unknown>, what: string, api: T): T => {
    const known = references.get(owned) ?? createReference(api, what, owned.scope, asking, deps);
    references.set(owned, known);
    return known as T;
  };
  return {
    get<N extends ServiceName>(name: N) {
      const owned = deps.live().services.get(String(name));
      // Cast: the providing plugin has promised this type for the name.
      return owned === undefined ? undefined : (refer(owned, `service ${owned.thing.name}`, owned.thing.api) as ServiceTypes[N]);
    },
    list<K extends SharedKind>(kind: K): Provided[K][] {
      if (!Object.hasOwn(KINDS, kind) || !("shared" in KINDS[kind])) throw fail("SVC_SERVICE_KIND", { plugin: asking.id, kind });
      const table: ReadonlyMap<string, Owned<object>> = deps.live()[pluralOf(kind)];
      return [...table].map(([name, owned]) => refer(owned, `${kind} ${name}`, owned.thing)) as Provided[K][];
    },
  };
}

/**
 * Returns a proxy for another plugin's `api`: it forwards members, runs functions in the scope of the providing plugin, and throws once that plugin
 * has ended. An error without a code counts against the providing plugin, as an action's error does.
 */
function createReference<T extends object>(api: T, what: string, owner: Scope, asking: Scope, deps: ReferenceDeps): T {
  const { signal } = owner.abort;
  const calls = new Map<PropertyKey, unknown>();
  const gone = () => fail("SVC_SERVICE_GONE", { plugin: asking.id, what, owner: owner.id });

  function wrap(name: PropertyKey, run: (...args: unknown[]) => unknown): (...args: unknown[]) => unknown {
    const failed = (error: unknown) => {
      if (!isAnswer(error) && !signal.aborted) deps.failed(owner, `${what}: ${String(name)}`, error);
    };
    return (...args) => {
      if (signal.aborted) throw gone();
      let answer: unknown;
      try {
        answer = inScope(owner, () => run.apply(api, args));
      } catch (error) {
        failed(error);
        throw error;
      }
      if (!isPromise(answer)) return answer;
      return new Promise((resolve, reject) => {
        const stop = onAbort(signal, () => reject(gone()));
        answer.then(
          (value) => {
            stop();
            resolve(value);
          },
          (error) => {
            stop();
            reject(error);
            failed(error);
          },
        );
      });
    };
  }

  return new Proxy<T>(Object.create(null), {
    get(_target, key) {
      const value: unknown = Reflect.get(api, key, api);
      // A promise that resolves with a reference reads `then`.
      if (key === "then" && value === undefined) return undefined;
      if (signal.aborted) throw gone();
      if (typeof value !== "function") return value;
      const known = calls.get(key) ?? wrap(key, value as (...args: unknown[]) => unknown);
      calls.set(key, known);
      return known;
    },
    has: (_target, key) => Reflect.has(api, key),
    set: () => false,
    defineProperty: () => false,
    deleteProperty: () => false,
  });
}

/** An error with a code is meant for the caller; so is the caller's own abort. */
const isAnswer = (error: unknown): boolean => codeOf(error) !== undefined || isAbort(error);

/** Whether the error is an abort. Never throws: the error may be any value. */
function isAbort(error: unknown): boolean {
  try {
    return (error as { readonly name?: unknown } | null | undefined)?.name === "AbortError";
  } catch {
    return false;
  }
}
