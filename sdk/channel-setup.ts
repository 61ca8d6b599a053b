import type { CliHost } from "./cli.ts";
import { svcError } from "./errors.ts";
import type { GuardedFetch } from "./fetch.ts";

/** What the set-up of a channel may use. Its `ask` throws, naming the option, where nobody is there to answer. */
export interface SetupHost extends Pick<CliHost, "folder" | "ask" | "readSettings"> {
  /** What the line said: `--agent`, `--server`, each `--set <key>=<value>`, and `--allow` of a channel whose sample has an allow list. */
  readonly given: {
    readonly agent?: string;
    readonly server?: string;
    readonly allow?: readonly string[];
    readonly values: Readonly<Record<string, string>>;
  };
  readonly fetch: GuardedFetch;
  /** A line for the person at the terminal. */
  say(text: string): void;
  /**
   * The value of a variable, and its name: as the environment or `.env` has it, else as the person types it unseen or as standard input brings
   * it; then it is kept in `.env`, and forgotten where the set-up fails. `--token-env` names another variable.
   */
  secret(name: string): Promise<{ readonly name: string; readonly value: string }>;
  /** Keeps a value that was made here in `.env` in the same way, and resolves with what counts: the value that the variable has already, else this one. */
  keep(name: string, value: string): Promise<string>;
}

/** What a set-up has found out. */
export interface ChannelSettings {
  /** Keys of the channel's section and their new values; secrets as `${NAME}`. Others stay as they are. */
  readonly settings: Readonly<Record<string, unknown>>;
  /**
   * What the person does at the platform, said at the end. A function is called once the channel works, with the daemon that it works in, or
   * with none where no daemon runs; what it throws is said, and the change stands.
   */
  readonly next?: string | ((daemon: Pick<CliHost, "request"> | undefined) => Promise<string>);
}

/**
 * The default export of the module that `connect.module` of a channel's manifest names: its part of `svc connect`, for a channel that needs
 * more than credentials, an agent and who may write. It asks, checks what it was told against the platform, and answers with what belongs
 * into the section; an error of its own ends the set-up and nothing was written.
 */
export type ChannelSetup = (host: SetupHost) => Promise<ChannelSettings>;

/**
 * The agent that answers, of those of `document`: the one of the line, the only one, or the one that the person names; `usual` is proposed,
 * by default the node's. Throws `SVC_SETUP_AGENT` where there is no such agent.
 */
export async function chosenAgent({ given, ask }: Pick<SetupHost, "given" | "ask">, document: object, usual?: string): Promise<string> {
  const { agents = {}, node } = document as { readonly agents?: object; readonly node?: { readonly defaultAgent?: string } };
  const ids = Object.keys(agents);
  const [only] = ids;
  const proposed = usual ?? node?.defaultAgent ?? only;
  const choices = ids.map((id) => ({ id, label: id }));
  const asked = () => ask("Which agent answers?", { flag: "--agent <id>", choices, ...(proposed === undefined ? {} : { default: proposed }) });
  const agent = given.agent ?? (ids.length === 1 ? only : await asked());
  if (agent !== undefined && ids.includes(agent)) return agent;
  const there = ids.join(", ") || "none";
  throw svcError("SVC_SETUP_AGENT", `There is no agent '${agent ?? ""}'; there are ${there}. Add one with: svc agent add <id>`, { status: 400 });
}

/** Somebody who wrote to a channel, was given a code, and is heard once it is confirmed. The code itself is with them alone. */
export interface PairingRequest {
  readonly account: string;
  /** As the platform names them. */
  readonly sender: string;
  readonly name?: string;
  readonly chat: string;
  /** Since when, ISO. */
  readonly at: string;
}

/** Why no device is linked, or the one that is cannot be used. `expired`: nobody scanned or typed in time. `unlinked`: the phone took it off. */
export type PairingCause = "expired" | "unlinked" | "refused" | "replaced" | "outdated" | "unreached";

/** How the linking of a device stands. With `picture` or `code` anybody can link one: both go only to callers that may change what the daemon does. */
export interface ChannelPairing {
  readonly state: "unpaired" | "pairing" | "connecting" | "open" | "down";
  /** What the phone scans: rows of a QR code, `1` for a dark module; another one after 20 to 60 s. */
  readonly picture?: readonly string[];
  /** What is typed on the phone, where a number was given. */
  readonly code?: string;
  /** The number that is linked. */
  readonly number?: string;
  readonly cause?: PairingCause;
  readonly reason?: string;
}
