import type { CliHost } from "./cli.ts";
import { svcError } from "./errors.ts";
import type { GuardedFetch } from "./fetch.ts";

/** Interface of the host for the set-up of a channel. `ask` throws, naming the option, if the command runs without a person. */
export interface SetupHost extends Pick<CliHost, "folder" | "ask" | "readSettings"> {
  /** Values of the command line: `--agent`, `--server`, each `--set <key>=<value>`, and `--allow` of a channel whose sample has an allow list. */
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
   * Returns the value of a variable, and its name: from the environment or `.env`, else typed by the person without echo, or read from standard
   * input; then it is stored in `.env`, and removed again if the set-up fails. `--token-env` names another variable.
   */
  secret(name: string): Promise<{ readonly name: string; readonly value: string }>;
  /** Stores a generated value in `.env` in the same way, and resolves with the effective one: the existing value of the variable, else this one. */
  keep(name: string, value: string): Promise<string>;
}

/** Result of a set-up. */
export interface ChannelSettings {
  /** Keys of the channel's section and their new values; secrets as `${NAME}`. Other keys stay unchanged. */
  readonly settings: Readonly<Record<string, unknown>>;
  /**
   * Instructions for the person at the platform, printed at the end. A function is called once the channel works, with the daemon that it works in,
   * or with undefined where no daemon runs; an error it throws is printed, and the change stands.
   */
  readonly next?: string | ((daemon: Pick<CliHost, "request"> | undefined) => Promise<string>);
}

/**
 * The default export of the module that `connect.module` of a channel's manifest names: its part of `svc connect`, for a channel that needs more than
 * credentials, an agent and who may write. It asks, verifies the answers with the platform, and resolves with the values of the section; if it
 * throws, the set-up ends and nothing is written.
 */
export type ChannelSetup = (host: SetupHost) => Promise<ChannelSettings>;

/**
 * Returns the id of the agent that answers, from those of `document`: the one of the command line, the only one, or the one that the person chooses;
 * `usual` is proposed, by default the node's. Throws `SVC_SETUP_AGENT` where there is no such agent.
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

/** A person who wrote to a channel, received a code, and is admitted once it is confirmed. Only that person has the code itself. */
export interface PairingRequest {
  readonly account: string;
  /** As the platform names them. */
  readonly sender: string;
  readonly name?: string;
  readonly chat: string;
  /** Since when, ISO. */
  readonly at: string;
}

/** Why no device is linked, or the linked one cannot be used. `expired`: the code was not scanned or typed in time. `unlinked`: the phone removed the link. */
export type PairingCause = "expired" | "unlinked" | "refused" | "replaced" | "outdated" | "unreached";

/** State of linking a device. Anyone with `picture` or `code` can link one: both go only to callers that may change what the daemon does. */
export interface ChannelPairing {
  readonly state: "unpaired" | "pairing" | "connecting" | "open" | "down";
  /** QR code for the phone to scan, as rows, `1` for a dark module; it changes every 20 to 60 s. */
  readonly picture?: readonly string[];
  /** Code to type on the phone, where a number was given. */
  readonly code?: string;
  /** The number that is linked. */
  readonly number?: string;
  readonly cause?: PairingCause;
  readonly reason?: string;
}
