/**
 * An engine that a tier runs, as `svc setup` and `svc init` detect it: data of the manifest, read before any code of the plugin runs. With `program`
 * it is available when that program is on PATH, with `server` when that port of this machine lists models, with `key` alone when the variable is set;
 * without any of them it is always available.
 */
export interface EngineOffer {
  /** Name of the product for people: `Acme Code`. */
  readonly name: string;
  /** The program, by the name that its installation puts on PATH. */
  readonly program?: string;
  /** How to install the program, as a command or a few words. */
  readonly install?: string;
  /** Hint for when it does not answer: how to sign in. */
  readonly hint?: string;
  /** The variable of the daemon's environment that holds its model API key. A program is proposed a second time with it, paid by it. */
  readonly key?: string;
  /** A model server of this machine: its usual port, the path that lists its models, and the variable that names another address. */
  readonly server?: { readonly port: number; readonly path: string; readonly variable?: string };
  /** The entry of `providers` that the agent names, and its content when it does not exist yet; `apiKey` is filled in from `key`. */
  readonly provider?: { readonly name: string; readonly entry?: Readonly<Record<string, string>> };
  /** Models to choose from, the proposed one first. Without them the engine chooses, or its server lists them. */
  readonly models?: readonly string[];
  /** Further keys of the agent. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Its place among offers of the same sort, smaller first; default 0. */
  readonly rank?: number;
}
