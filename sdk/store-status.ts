/** Description of a store and its contents, as `svc db status` shows it. */
export interface StoreStatus {
  /** The file, or server without user and password, for people. */
  readonly file: string;
  /** The version of its schema; undefined where nothing was stored yet. */
  readonly version: number | undefined;
  /** The version that this program makes and understands. */
  readonly known: number;
  /** One line for each migration that the next start would run. */
  readonly waiting: readonly string[];
  /** Bytes that it takes. */
  readonly bytes: number;
  /** Rows by table. */
  readonly rows: Readonly<Record<string, number>>;
  /** Connection settings, without a password. */
  readonly settings: Readonly<Record<string, string | number>>;
  /** Known daemons, the latest first; omitted by a store that one daemon uses alone. */
  readonly nodes?: readonly StoreNode[];
}

/** One run of a daemon, as the others on its store see it. */
export interface StoreNode {
  /** Its `node.id`, or the identity of its data folder before it has reported the id. */
  readonly name: string;
  /** Its number, which no later run has again. */
  readonly boot: number;
  readonly host: string;
  readonly pid?: number;
  /** `silent`: its lease has expired, and no other daemon has taken over yet. `draining`: it is about to end. */
  readonly state: "alive" | "draining" | "silent" | "dead";
  /** Milliseconds since its last beat. */
  readonly beatMs: number;
  /** Milliseconds by which the clock of its machine is ahead of that of the state. */
  readonly skewMs?: number;
  /** Turns that it has. */
  readonly running?: number;
  /** Names of the leases that it holds, such as those of channels that only one daemon listens to. */
  readonly holds?: readonly string[];
  /** The daemon's description of itself; absent while it starts. */
  readonly about?: NodeAbout;
}

/** A daemon's description of itself for the others on its store. */
export interface NodeAbout {
  /** Of its program. */
  readonly version: string;
  /** Identity of its data folder, for clients; absent where no state is kept on disk. */
  readonly instance?: string;
  /** `node.url` of its configuration: where other machines reach it. */
  readonly url?: string;
  /** Where it listens, `host:port`, which may mean something on its own machine alone. */
  readonly bind?: string;
  /** Problems of the daemon, a sentence each. */
  readonly troubles: readonly string[];
  /**
   * A digest of each setting of its svc.json, without the sections `node` and `store`, by path: two levels deep, such as `agents.foo`. Computed from
   * the raw text, `${NAME}` unexpanded, without credentials: daemons whose digests differ are configured differently.
   */
  readonly settings: Readonly<Record<string, string>>;
}

/** Result of a migration. */
export interface StoreMigrated {
  readonly file: string;
  /** The version it had; 0 where nothing was stored. */
  readonly from: number;
  readonly to: number;
  /** One line for each migration that ran, in their order. */
  readonly applied: readonly string[];
}

/** A setting in which daemons differ. */
export interface SettingDifference {
  /** As in `NodeAbout.settings`. */
  readonly path: string;
  /** Names of the daemons that have the same, a list for each way it is set; `set` is false for those that do not have it. */
  readonly groups: readonly { readonly nodes: readonly string[]; readonly set: boolean }[];
}

/** Returns the settings in which living daemons differ, by path. A daemon that has not reported its settings yet is not compared. */
export function settingDifferences(nodes: readonly StoreNode[]): readonly SettingDifference[] {
  const told = nodes.flatMap(({ name, state, about }) => (about === undefined || state === "dead" ? [] : [{ name, settings: about.settings }]));
  return [...new Set(told.flatMap(({ settings }) => Object.keys(settings)))].sort().flatMap((path) => {
    const groups = new Map<string | undefined, string[]>();
    for (const { name, settings } of told) groups.set(settings[path], [...(groups.get(settings[path]) ?? []), name]);
    if (groups.size < 2) return [];
    return [{ path, groups: [...groups].map(([digest, names]) => ({ nodes: names, set: digest !== undefined })) }];
  });
}
