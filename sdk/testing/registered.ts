import type { Hooks, TapOptions } from "../hooks.ts";
import {
  type Plural,
  PROVIDED,
  type Provide,
  type Provided,
  type ProvidedHandle,
  type ProvidedKind,
  pluralOf,
  providedName,
  providedThing,
} from "../provided.ts";

/** A tap as registered. Call `tap` with the hook's arguments. */
export interface RegisteredTap {
  readonly hook: keyof Hooks;
  readonly tap: (...args: never[]) => unknown;
  readonly options: TapOptions;
}

/** A job as registered. Nothing runs by itself: a test calls `run`. */
export interface RegisteredJob {
  readonly kind: "cron" | "after" | "at" | "every";
  /** Only of `cron`. */
  readonly id?: string;
  readonly expression?: string;
  readonly timezone?: string;
  /** Only of `after` and `every`. */
  readonly ms?: number;
  /** Only of `at`, in Unix milliseconds. */
  readonly time?: number;
  readonly run: (minute: Date) => Promise<void> | void;
}

/** Kinds whose handle changes a state that tests can read: registered together with it. */
interface RegisteredWithState {
  channel: { readonly channel: Provided["channel"]; state: "connecting" | "ready" | "down"; reason?: string };
  server: { readonly server: Provided["server"]; open: boolean };
}

type RegisteredThing<K extends ProvidedKind> = K extends keyof RegisteredWithState ? RegisteredWithState[K] : Provided[K];

type RegisteredThings = { readonly [K in ProvidedKind as Plural<K>]: RegisteredThing<K>[] };

/** Current registrations of a plugin, in order: a list for each kind of provided thing, beside taps and jobs. */
export interface Registered extends RegisteredThings {
  readonly taps: RegisteredTap[];
  readonly jobs: RegisteredJob[];
}

const KINDS = Object.keys(PROVIDED) as readonly ProvidedKind[];

/** The things of a kind as they were given to `provide`. */
export function givenOf<K extends ProvidedKind>(registered: Registered, kind: K): Provided[K][] {
  const list = registered[pluralOf(kind)] as readonly object[];
  return list.map((one) => (kind in WITH_STATE ? (one as Record<K, Provided[K]>)[kind] : (one as Provided[K])));
}

const WITH_STATE: { readonly [K in keyof RegisteredWithState]: true } = { channel: true, server: true };

/** A register with nothing in it. */
export const emptyRegister = (): Registered => ({
  taps: [],
  jobs: [],
  ...(Object.fromEntries(KINDS.map((kind) => [pluralOf(kind), []])) as unknown as RegisteredThings),
});

/** Adds to a list and returns the way to take it back. */
export function enlist<T>(list: T[], thing: T): () => void {
  list.push(thing);
  return () => {
    const at = list.indexOf(thing);
    if (at !== -1) list.splice(at, 1);
  };
}

/** Creates the registered entry of a thing, and the return value of `provide`; `withdraw` removes the entry. */
type Register<K extends ProvidedKind> = (thing: Provided[K]) => {
  readonly registered: RegisteredThing<K>;
  readonly handle: (withdraw: () => void) => ProvidedHandle<K>;
};

/** The kinds that answer something. */
const REGISTERS: { readonly [K in ProvidedKind]?: Register<K> } = {
  channel(channel) {
    const registered: RegisteredWithState["channel"] = { channel, state: "connecting" };
    return {
      registered,
      handle: () => ({
        ready(note) {
          registered.state = "ready";
          if (note === undefined) delete registered.reason;
          else registered.reason = note;
        },
        down(reason) {
          registered.state = "down";
          registered.reason = reason;
        },
      }),
    };
  },
  server(server) {
    const registered: RegisteredWithState["server"] = { server, open: false };
    return {
      registered,
      handle: () => ({
        async listen() {
          registered.open = true;
          return undefined;
        },
        async close() {
          registered.open = false;
        },
      }),
    };
  },
  action: (action) => ({ registered: action, handle: (withdraw) => withdraw }),
};

/** `ctx.provide` of the fake context: every kind, into its list. `need` throws for a capability that is not declared, `taken` for a name that is. */
export function createProvide(registered: Registered, need: (kind: ProvidedKind) => void, taken: (kind: ProvidedKind, name: string) => never): Provide {
  const provide = <K extends ProvidedKind>(kind: K, thing: Provided[K], names: Set<string>): ProvidedHandle<K> | undefined => {
    need(kind);
    const name = providedName(kind, thing);
    if (names.has(name)) taken(kind, name);
    names.add(name);
    const register = REGISTERS[kind] as Register<K> | undefined;
    const made = register?.(thing);
    const withdraw = enlist(registered[pluralOf(kind)] as unknown[], made?.registered ?? thing);
    return made?.handle(() => {
      names.delete(name);
      withdraw();
    });
  };
  return Object.fromEntries(
    KINDS.map((kind) => {
      const names = new Set<string>();
      return [kind, (...given: unknown[]) => provide(kind, providedThing(kind, given), names)];
    }),
  ) as unknown as Provide;
}
