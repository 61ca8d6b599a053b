import type { Confined } from "./files.ts";
import type { Authority, HttpRoute } from "./http.ts";
import type { TimeRange } from "./jobs.ts";
import type { ScopeTable } from "./scopes.ts";
import type { SettingEdit, Settings, SettingsChange, SettingsDocument, SettingsReport } from "./settings.ts";

/** Interface of the host for a command of a plugin. The host parses the line, prints errors by their message and sets the exit code. */
export interface CliHost {
  /** The folder of svc.json, absolute. */
  readonly folder: string;
  /** The data folder (`.svc`), absolute. */
  readonly dataFolder: string;
  /** The files in it, with the guarantees that plugins have in the daemon. */
  data(): Promise<Confined>;
  /** The scopes that tokens can hold, as the manifests of the plugins here declare them. */
  scopes(): Promise<ScopeTable>;
  /**
   * Sends a request to the daemon and resolves with the answer's JSON. Throws `SVC_CLI_NO_DAEMON` when no daemon answers, and an error with the
   * daemon's own code, message and status when it refuses. Aborting `signal` closes the connection, so that the daemon can stop.
   */
  request(
    method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ): Promise<unknown>;
  /** As `Jobs.next`, whether or not a daemon runs. */
  next(expression: string, timezone?: string, range?: TimeRange): Promise<readonly Date[]>;
  /**
   * Asks the person at the terminal and resolves with the answer, the `id` of a choice. Repeats until the answer is valid. Throws `SVC_CLI_ASK`,
   * which names the option to use instead, if there is no terminal or under `--json`, and `SVC_CLI_USAGE` at Ctrl-C and Ctrl-D.
   */
  ask(question: string, options: AskOptions): Promise<string>;
  /**
   * Reads a stream of the daemon, server-sent events or JSON lines, until it ends, `onEvent` answers false or `signal` aborts. Events are passed one
   * after the other; an error that `onEvent` throws ends the stream and rejects this call. Throws what `request` throws, and `SVC_CLI_STREAM` for a
   * connection that breaks. With `reconnect`, a stream that ends or breaks, because the daemon restarts for example, is requested again with the last
   * event's id as `last-event-id`, with an exponential backoff of 0.5 s to 10 s; it gives up when no daemon has answered for 60 s, or one refuses.
   * Events of the meantime are only replayed by routes that send ids.
   */
  stream(path: string, onEvent: (event: StreamedEvent) => unknown, options?: StreamOptions): Promise<void>;
  /** svc.json as `ctx.settings.read` shows it to a plugin with `all-settings`, whether or not a daemon runs. Throws `SVC_CONFIG_*`. */
  readSettings(): Promise<Pick<SettingsDocument, "document" | "revision">>;
  /**
   * A section as its plugin receives it in `ctx.config`: defaults filled in, variables expanded, credentials in plain text. For the plugin's own
   * commands: do not print it. Throws `SVC_CONFIG_*`.
   */
  section(path: string): Promise<unknown>;
  /**
   * Changes svc.json as `ctx.settings.change` with `all-settings` does, for the person at the terminal, and reloads the daemon. Without a daemon the
   * file is changed and `reloadSkipped` begins with `ECONNREFUSED`. A change that the daemon refuses is rolled back.
   */
  change(edits: readonly SettingEdit[], options?: Pick<SettingsChange, "expect" | "backup">): Promise<SettingsReport>;
  /**
   * `ctx.settings` with `all-settings` for the person at this machine, whether or not a daemon runs: each call reads the current svc.json. The daemon
   * of this folder applies the writes of `change`; without a daemon, `reloadSkipped` begins with `ECONNREFUSED`.
   */
  fileSettings(): Promise<Settings>;
  /**
   * Opens an HTTP server in this program, with the admission, guards and limits of the daemon's: `node.hosts`, `node.trustedProxies` and
   * `node.localSecret` of svc.json count. Throws `SVC_SERVER_PORT` and, for a route that cannot be served, `SVC_HTTP_ROUTE`.
   */
  serve(server: CommandServer): Promise<ServingCommand>;
  /** Writes to standard output: `human` to people, `json` under `--json`. */
  print(human: string, json: unknown): void;
}

/** Options of a question. */
export interface AskOptions {
  /** The option that answers it without a person, such as `--yes` or `--name <name>`: shown without a terminal. */
  readonly flag: string;
  readonly choices?: readonly { readonly id: string; readonly label: string }[];
  /** The answer to an empty line; with choices the `id` of one. */
  readonly default?: string;
  /** Hides the typed text. */
  readonly secret?: boolean;
}

/** One event of a stream. */
export interface StreamedEvent {
  /** Its name; `message` for one without, and for a line of JSON. */
  readonly event: string;
  readonly data: unknown;
  readonly id?: string;
}

/** Options of a stream request. */
export interface StreamOptions {
  /** Default `GET`. */
  readonly method?: "GET" | "POST";
  readonly body?: unknown;
  /** For `GET` alone. */
  readonly reconnect?: boolean;
  readonly signal?: AbortSignal;
}

/** A server that a command opens. */
export interface CommandServer {
  /** Default `127.0.0.1`. */
  readonly host?: string;
  /** Default 0: any free one. */
  readonly port?: number;
  /** Each with its guard; a route that names a `server` is not served. */
  readonly routes: readonly HttpRoute[];
  /** Authorities that verify bearers. Empty: routes that require one refuse every caller. */
  readonly authorities?: readonly Authority[];
  /** Scopes of loopback callers without a token. Default: no scopes. */
  readonly localScopes?: readonly string[];
}

/** A server that a command has opened. */
export interface ServingCommand {
  readonly host: string;
  readonly port: number;
  /** Ends streams, and waits 2 s for requests in progress. Without it the port stays open until the process ends. */
  close(): Promise<void>;
}

/** One command of a group: `svc <group> <name> <args>`. Throwing fails it: the message is printed and the exit code is not zero. */
export interface Command {
  readonly name: string;
  /** Positional arguments in the usual notation: `<id> [input...]`. Empty: no arguments. */
  readonly args: string;
  readonly summary: string;
  /** `--json` and `--help` exist for every command. Invalid options are a usage error: the command exits with 2, and `run` is not called. */
  readonly options?: readonly {
    /** In the usual notation: `--timeout <ms>`. */
    readonly flags: string;
    readonly description: string;
    /** Its value is a number within these bounds, a whole one unless `whole` is false; `run` gets a number. */
    readonly number?: { readonly least: number; readonly most?: number; readonly whole?: boolean };
    /** The only values that it takes. */
    readonly choices?: readonly string[];
    /** The option is required. */
    readonly required?: boolean;
  }[];
  /** `args` in order, the values of a `...` argument after the others; `options` by their camel-case names. */
  run(args: readonly string[], options: Readonly<Record<string, unknown>>, cli: CliHost): Promise<void>;
}

/** The default export of a module named in `Manifest.commands`. A command named like its group is the group's default. */
export interface CommandGroup {
  readonly name: string;
  readonly summary: string;
  readonly commands: readonly Command[];
}
