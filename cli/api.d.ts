// What the HTTP API of svc answers, as its routes declare it: import type { Answers } from "@svc/cli/api.d.ts". Written by npm run docs.
// A daemon with other plugins prints its own with: svc api --types

export type Action = {
  readonly name: string;
  readonly description: string;
  readonly input: { readonly [name: string]: unknown };
  readonly output: { readonly [name: string]: unknown };
  readonly timeoutMs: number;
  readonly unusable?: string;
  readonly restricted?: true;
  readonly repeatable?: true;
};

export type ActionEnvelope = {
  readonly action: string;
  readonly status: "ok" | "error";
  readonly input: unknown;
  readonly durationMs: number;
  readonly output?: unknown;
  readonly error?: string;
};

export type ActionFileError = {
  readonly file: string;
  readonly error: string;
};

export type ActionResult = {
  readonly action: string;
  readonly status: "ok" | "error";
  readonly input: unknown;
  readonly durationMs: number;
  readonly output?: unknown;
  readonly error?: string;
};

export type AdminAction = {
  readonly name: string;
  readonly description: string;
  readonly input: { readonly [name: string]: unknown };
  readonly output: { readonly [name: string]: unknown };
  readonly timeoutMs: number;
  /** The operator defined it */
  readonly own: boolean;
  readonly unusable?: string;
  readonly restricted?: true;
  readonly repeatable?: true;
};

export type AgentAbilities = {
  readonly id: string;
  readonly name: string;
  readonly tier: string;
  readonly engine: {
    readonly ok: boolean;
    readonly detail: string;
  };
  readonly nativeSessions: boolean;
  readonly enforcesAutonomy: boolean;
  readonly actions: readonly string[];
  readonly reportingActions: readonly string[];
  readonly tools: readonly string[];
  readonly intents: readonly string[];
  readonly mcpServers: readonly string[];
  readonly restrictions: { readonly [name: string]: unknown };
  readonly model?: string;
  readonly abilities?: TierAbilities;
};

export type AgentSummary = {
  readonly id: string;
  readonly name: string;
  readonly tier: string;
  readonly access: "private" | "public";
  readonly mentions: readonly string[];
  readonly active: number;
  readonly queued: number;
  readonly runningTasks: readonly {
    readonly id: string;
    readonly step: string;
    /** Unix time in milliseconds */
    readonly startedAt: number;
    readonly channel: string;
    readonly chat: string;
    readonly conversation: string;
    /** Tasks whose messages its turn answers, too; canceling one of them ends the turn for all */
    readonly with?: readonly string[];
  }[];
  readonly model?: string;
};

export type Approval = {
  readonly id: string;
  readonly kind: string;
  readonly title: string;
  readonly digest: string;
  readonly choices: readonly {
    readonly id: string;
    readonly label: string;
    readonly rejects?: true;
  }[];
  readonly requestedBy: string;
  /** Unix time in milliseconds */
  readonly askedAt: number;
  /** Unix time in milliseconds */
  readonly expiresAt: number;
  readonly state: "open" | "approved" | "rejected" | "expired" | "withdrawn";
  readonly detail?: string;
  readonly agent?: string;
  readonly taskId?: string;
  readonly destination?: {
    readonly channel: string;
    readonly chat: string;
    readonly account?: string;
  };
  readonly key?: string;
  /** Unix time in milliseconds */
  readonly laterAt?: number;
  readonly decision?: ApprovalDecision;
};

export type ApprovalDecision = {
  readonly id: string;
  readonly kind: string;
  readonly digest: string;
  readonly state: "approved" | "rejected" | "expired" | "withdrawn";
  /** Unix time in milliseconds */
  readonly at: number;
  readonly key?: string;
  readonly choice?: string;
  readonly by?: string;
  readonly surface?: string;
  readonly reason?: string;
};

export type AskAnswer = {
  readonly agent: string;
  readonly reply: string;
  readonly taskId: string;
  readonly ok?: false;
  readonly error?: string;
  readonly errorKind?: string;
};

export type AttachedMessage = {
  readonly id: string;
  readonly from: string;
  readonly channel: string;
  readonly text: string;
  /** The text was longer */
  readonly cut: boolean;
  /** Unix time in milliseconds */
  readonly answerBy: number;
};

export type AttachedSession = {
  readonly session: string;
  readonly program: string;
  readonly cwd: string;
  /** Messages that wait for it */
  readonly depth: number;
  /** A message can begin a turn of it */
  readonly wakeable: boolean;
  /** Unix time in milliseconds */
  readonly lastEvent: number;
  readonly pid?: number;
  readonly agent?: string;
  readonly mode?: "manual" | "notify" | "auto";
  readonly permissionMode?: string;
};

export type Board = {
  readonly id: string;
  readonly name: string;
  readonly source: {
    readonly type: string;
    readonly projects: readonly string[];
  };
  /** A plugin that runs brings the source */
  readonly available: boolean;
  readonly movable: boolean;
  readonly labels: readonly BoardLabel[];
  readonly columns: readonly BoardColumn[];
  /** What a move writes, by the column that is left, then by the one that is entered */
  readonly changes: { readonly [name: string]: { readonly [name: string]: {
    readonly addLabels?: readonly string[];
    readonly removeLabels?: readonly string[];
    readonly state?: "open" | "closed";
  } } };
  readonly timeRangeDays: number;
  readonly closedWindowDays: number;
};

export type BoardCard = {
  readonly id: string;
  readonly column: "triage" | "todo" | "doing" | "on-hold" | "review" | "done" | null;
  readonly title: string;
  readonly labels: readonly string[];
  readonly assignees: readonly string[];
  readonly agents: readonly string[];
  /** Unix time in milliseconds */
  readonly updatedAt: number;
  /** Unix time in milliseconds */
  readonly closedAt?: number;
  readonly project?: string;
  readonly url?: string;
};

export type BoardColumn = {
  readonly id: "triage" | "todo" | "doing" | "on-hold" | "review" | "done";
  readonly title: string;
  readonly kind: "open-backlog" | "scoped-label" | "closed" | "label";
  readonly mapsToLabel?: string;
};

export type BoardItems = {
  readonly board: string;
  /** Unix time in milliseconds */
  readonly readAt: number;
  readonly columns: readonly {
    readonly id: "triage" | "todo" | "doing" | "on-hold" | "review" | "done";
    readonly title: string;
    readonly kind: "open-backlog" | "scoped-label" | "closed" | "label";
    readonly items: readonly BoardCard[];
    readonly mapsToLabel?: string;
  }[];
  readonly unplaced: readonly BoardCard[];
  readonly truncated: boolean;
};

export type BoardLabel = {
  readonly name: string;
  readonly color?: string;
  readonly description?: string;
};

export type BudgetWindow = {
  /** An agent's id, or * for all together */
  readonly agent: string;
  readonly period: "hour" | "day";
  readonly from: string;
  readonly to: string;
  readonly turns: number;
  readonly tokens: number;
  /** US dollars */
  readonly money: number;
  readonly caps: readonly {
    readonly measure: string;
    readonly used: number;
    readonly cap: number;
    readonly setting: string;
  }[];
};

export type Call = {
  readonly id: string;
  readonly kind: "call" | "camera";
  /** `in`: somebody calls the agent */
  readonly direction: "in" | "out";
  readonly agent: string;
  /** Who rings: a peer, this machine, or the agent */
  readonly caller: string;
  /** Who is at the other end, as far as it is known */
  readonly person: string;
  readonly state: "ringing" | "running" | "ended";
  /** Lines of the transcript */
  readonly said: number;
  /** Pictures that were taken */
  readonly frames: number;
  readonly at: string;
  readonly ringUntil: string;
  readonly why?: string;
  readonly startedAt?: string;
  readonly limitAt?: string;
  readonly endedAt?: string;
  readonly end?: {
    readonly reason: "hung up" | "declined" | "missed" | "limit" | "failed" | "restarted";
    readonly by?: string;
    /** What went wrong */
    readonly words?: string;
  };
  readonly answered?: {
    readonly by: string;
    readonly surface: string;
  };
};

export type CallLine = {
  readonly call: string;
  readonly n: number;
  /** Milliseconds since the call began */
  readonly atMs: number;
  readonly who: string;
  readonly text: string;
};

export type ChannelSetup = {
  readonly id: string;
  readonly channel: string;
  readonly state: "working" | "asking" | "done" | "failed";
  readonly said: readonly string[];
  readonly question?: {
    readonly number: number;
    readonly text: string;
    readonly secret?: true;
    readonly kept?: true;
    readonly choices?: readonly {
      readonly id: string;
      readonly label: string;
    }[];
    readonly usual?: string;
  };
  readonly error?: string;
  /** What the person does at the platform now */
  readonly next?: string;
  readonly report?: SettingsReport;
};

export type ChannelStatus = {
  readonly name: string;
  readonly plugin: string;
  readonly state: "connecting" | "ready" | "down";
  readonly traits: ChannelTraits;
  readonly testable: boolean;
  readonly unsent: number;
  readonly reason?: string;
};

export type ChannelTraits = {
  readonly maxChars: number;
  readonly unit: "codepoint" | "utf16" | "utf8";
  readonly lines?: "many" | "one";
  readonly markup?: { readonly [name: string]: unknown };
  readonly dialect?: string;
  readonly editIntervalMs?: number;
  readonly streams?: true;
  readonly threads?: boolean;
  readonly reactions?: boolean;
  readonly ack?: string;
  readonly choices?: true;
  readonly receives?: false;
  readonly maxMediaBytes?: number;
  readonly keyed?: boolean;
};

export type ChatTurn = {
  readonly id: string;
  /** Unix time in milliseconds */
  readonly at: number;
  readonly said: string;
  readonly state: "running" | "waiting" | "queued" | "ok" | "failed" | "timed-out" | "cancelled";
  readonly answer?: string;
  readonly error?: string;
  readonly durationMs?: number;
  readonly tokens?: number;
  readonly lead?: string;
};

export type CodeIndexed = {
  readonly agent: string;
  /** Files of code looked at */
  readonly files: number;
  /** Of these, the ones that are new or have changed */
  readonly read: number;
  /** Files that are gone */
  readonly removed: number;
  readonly definitions: number;
  /** Files of which nothing was read: too large, binary, or unreadable */
  readonly skipped: number;
  readonly durationMs: number;
  /** The thread that did it */
  readonly thread: number;
};

export type ConnectForm = {
  readonly explanation: string;
  readonly secrets: readonly {
    readonly path: string;
    readonly variable: string;
  }[];
  readonly agent?: string;
  readonly allow?: string;
  readonly server?: string;
  readonly asks?: "page" | "terminal";
  /** The path at which a device is linked */
  readonly pair?: string;
};

export type CronDecision = {
  readonly id: string;
  readonly approved: boolean;
  readonly revision: string;
  readonly reloaded?: readonly string[];
  readonly restartRequired?: readonly string[];
  readonly reloadSkipped?: string;
  readonly failed?: readonly {
    readonly plugin: string;
    readonly reason: string;
  }[];
  readonly backup?: string;
};

export type CronJob = {
  readonly id: string;
  readonly enabled: boolean;
  readonly schedule: string;
  readonly timezone: string;
  readonly agent: string;
  readonly prompt: string;
  /** Seconds */
  readonly timeout: number;
  readonly onError: "log" | "notify" | "disable" | readonly ("log" | "notify" | "disable")[];
  /** It can be started with a token */
  readonly fire: boolean;
  readonly next: readonly string[];
  /** Failures in a row */
  readonly failures: number;
  readonly missed: readonly {
    readonly first: string;
    readonly last: string;
    readonly count: number;
    /** Unix time in milliseconds */
    readonly at: number;
    readonly more?: boolean;
    /** The daemon ended as it began: whether it ran is not known */
    readonly unsure?: boolean;
  }[];
  readonly command?: string;
  readonly workflow?: string;
  readonly model?: string;
  readonly maxOutputTokens?: number;
  readonly autonomy?: "report" | "propose" | "act";
  readonly notify?: {
    readonly channel: string;
    readonly chatId: string;
    readonly accountId?: string;
  };
  readonly sendAnswer?: boolean;
  readonly createdBy?: string;
  readonly approval?: {
    readonly action: "create" | "delete";
    readonly requestedBy: string;
    readonly requestedAt: string;
  };
  readonly running?: {
    readonly run: string;
    /** Unix time in milliseconds */
    readonly since?: number;
    readonly taskId?: string;
  };
  readonly last?: CronRun;
  /** Unix time in milliseconds */
  readonly turnedOff?: number;
};

export type CronRun = {
  readonly id: string;
  readonly job: string;
  /** Unix time in milliseconds */
  readonly at: number;
  readonly by: "schedule" | "fire" | "manual";
  readonly kind: "agent" | "command" | "workflow";
  readonly agent: string;
  readonly status: "running" | "ok" | "failed" | "interrupted";
  readonly minute?: string;
  /** Unix time in milliseconds */
  readonly endedAt?: number;
  readonly taskId?: string;
  readonly error?: string;
  readonly errorKind?: string;
  readonly exitCode?: number;
  readonly output?: string;
  readonly refused?: number;
};

export type DaemonOfStore = {
  readonly name: string;
  readonly boot: number;
  readonly host: string;
  readonly state: "alive" | "draining" | "silent";
  readonly beatMs: number;
  readonly pid?: number;
  readonly skewMs?: number;
  readonly running?: number;
  readonly holds?: readonly string[];
  readonly version?: string;
  readonly url?: string;
  /** What is not well there */
  readonly troubles?: readonly string[];
};

export type DashboardAgent = {
  readonly id: string;
  readonly name: string;
  readonly tier: string;
  readonly access: "private" | "public";
  readonly running: number;
  readonly queued: number;
  readonly model?: string;
  readonly last?: {
    readonly id: string;
    readonly state: "running" | "waiting" | "queued" | "ok" | "failed" | "timed-out" | "cancelled";
    /** Unix time in milliseconds */
    readonly startedAt: number;
    readonly durationMs?: number;
    readonly error?: string;
    readonly errorKind?: string;
  };
  /** Its engine cannot be used */
  readonly broken?: string;
  readonly attached?: {
    readonly mode: string;
    readonly program: string;
  };
};

export type DashboardChannel = {
  readonly name: string;
  readonly section: string;
  readonly plugin: string;
  readonly state: "ready" | "connecting" | "down" | "off" | "failed";
  readonly channels: readonly string[];
  readonly product?: string;
  readonly reason?: string;
  readonly lastIn?: number;
  /** Where people who wrote for the first time are confirmed */
  readonly people?: string;
};

export type DashboardDaemon = {
  readonly name: string;
  readonly url: string;
  readonly ok: boolean;
  readonly agents: readonly { readonly [name: string]: unknown }[];
  readonly error?: string;
};

export type DashboardPlugin = {
  readonly id: string;
  readonly kind: string;
  readonly state: string;
  readonly source: "first-party" | "package" | "path" | "inline";
  readonly provides: readonly string[];
  readonly hooks: readonly string[];
  readonly capabilities: readonly string[];
  readonly failures: number;
  readonly channels: readonly {
    readonly name: string;
    readonly state: "connecting" | "ready" | "down";
    readonly reason?: string;
  }[];
  /** Whether it would run at the next start */
  readonly on: boolean;
  readonly needs: readonly string[];
  readonly neededBy: readonly string[];
  /** What would not work any more without it */
  readonly breaks: readonly string[];
  readonly version?: string;
  readonly reason?: string;
  readonly took?: {
    readonly load: number;
    readonly setup: number;
    readonly start: number;
  };
  readonly isolation?: {
    readonly state: string;
    readonly walls: readonly string[];
    readonly pid?: number;
  };
  readonly product?: string;
  readonly section?: string;
  /** Why it cannot be switched here */
  readonly fixed?: string;
  readonly switch?: {
    readonly on: readonly SettingEdit[];
    readonly off: readonly SettingEdit[];
  };
  /** Bytes of its own process */
  readonly memory?: number;
};

export type DashboardTask = {
  readonly id: string;
  readonly state: "running" | "waiting" | "queued" | "ok" | "failed" | "timed-out" | "cancelled";
  readonly agent: string;
  /** The beginning of the message */
  readonly text: string;
  readonly channel: string;
  readonly chat: string;
  readonly entry: string;
  /** Unix time in milliseconds */
  readonly startedAt: number;
  readonly node?: string;
  readonly sender?: string;
  readonly runId?: string;
  readonly durationMs?: number;
  readonly tokens?: number;
  /** US dollars */
  readonly cost?: number;
  readonly error?: string;
  readonly errorKind?: string;
};

export type DashboardTaskNow = {
  readonly id: string;
  readonly state: "running" | "waiting" | "queued" | "ok" | "failed" | "timed-out" | "cancelled";
  readonly agent: string;
  /** The beginning of the message */
  readonly text: string;
  readonly channel: string;
  readonly chat: string;
  readonly entry: string;
  /** Unix time in milliseconds */
  readonly startedAt: number;
  readonly step: string;
  readonly conversation: string;
  readonly steps: readonly {
    readonly name: string;
    readonly kind: string;
    /** Unix time in milliseconds */
    readonly at: number;
    readonly durationMs?: number;
    readonly error?: string;
    readonly input?: string;
  }[];
  /** Steps before those */
  readonly more: number;
  readonly node?: string;
  readonly sender?: string;
  readonly runId?: string;
  readonly durationMs?: number;
  readonly tokens?: number;
  /** US dollars */
  readonly cost?: number;
  readonly error?: string;
  readonly errorKind?: string;
  /** `conversation`, `slot <its place in the queue>`, or the words of a parked turn */
  readonly waits?: string;
  /** Tasks whose messages its turn answers, too; stopping one of them ends the turn for all */
  readonly with?: readonly string[];
};

export type Envelope = {
  readonly id: string;
  readonly rootId: string;
  readonly node: string;
  readonly kind: string;
  readonly type: string;
  readonly at: string;
  readonly summary: string;
  readonly parentId?: string;
  readonly agentId?: string;
  readonly ref?: string;
  readonly text?: string;
  readonly data?: { readonly [name: string]: unknown };
  readonly source?: string;
};

export type Error = {
  readonly error: string;
  /** Plugins add codes of their own. */
  readonly code?: string;
  /** Where in the body or the query */
  readonly path?: string;
  readonly field?: string;
};

export type ForgeAction = {
  /** Unix time in milliseconds */
  readonly at: number;
  readonly forge: string;
  readonly agent: string;
  readonly askedBy: string;
  readonly project: string;
  readonly act: string;
  readonly note: string;
  /** What the agent was answered */
  readonly said: string;
  readonly task?: string;
};

export type ForgeBackfill = {
  readonly forge: string;
  /** Lists that were read */
  readonly lists: number;
  /** Notes on them */
  readonly looked: number;
  /** Of these, the ones that were not seen before */
  readonly taken: number;
  /** Lists that could not be read, each with the reason */
  readonly failed: readonly string[];
};

export type ForgeDecision = {
  /** Unix time in milliseconds */
  readonly at: number;
  readonly forge: string;
  readonly url: string;
  readonly via: "hook" | "backfill";
  /** The agents that it started */
  readonly agents: readonly string[];
  /** Why it started none */
  readonly reason?: string;
};

export type ForgeStatus = {
  readonly name: string;
  readonly origin: string;
  /** Where it sends its webhooks */
  readonly path: string;
  readonly secret: "set" | "missing";
  readonly agents: readonly {
    readonly agent: string;
    readonly shared: boolean;
    readonly comments: boolean;
    readonly login?: string;
  }[];
  /** Deliveries of all forges that nothing was decided about yet */
  readonly waiting: number;
  readonly runs: readonly {
    readonly where: string;
    readonly url: string;
    readonly asker: string;
  }[];
  readonly looked?: {
    readonly forge: string;
    /** Lists that were read */
    readonly lists: number;
    /** Notes on them */
    readonly looked: number;
    /** Of these, the ones that were not seen before */
    readonly taken: number;
    /** Lists that could not be read, each with the reason */
    readonly failed: readonly string[];
    /** Unix time in milliseconds */
    readonly at: number;
  };
};

export type GraphChange = {
  readonly change: "add" | "edit" | "remove";
  readonly node: GraphNode;
  /** As its author says */
  readonly confidence: number;
  /** The agent that proposed it */
  readonly by?: string;
  readonly reason?: string;
  /** What the reviewing agent said */
  readonly review?: string;
};

export type GraphDraft = {
  readonly id: string;
  readonly file: string;
  /** Stands for the content of the file */
  readonly digest: string;
  readonly change?: GraphChange;
  /** Why the file holds no change */
  readonly problem?: string;
};

export type GraphDrafted = {
  readonly change: "add" | "edit" | "remove";
  readonly node: string;
  readonly outcome: "applied" | "reviewed" | "draft" | "dropped";
  /** The id of the draft that waits for a person */
  readonly draft?: string;
  readonly reason?: string;
};

export type GraphHit = {
  readonly node: GraphNode;
  /** The weighted sum of the other two */
  readonly score: number;
  /** By the words of the request */
  readonly bm25: number;
  /** By the nodes near it that the request fits */
  readonly graph: number;
};

export type GraphNode = {
  readonly id: string;
  readonly title: string;
  readonly links: readonly string[];
  readonly keywords: readonly string[];
  readonly text: string;
  /** The id of the node that it is a part of; a root has none */
  readonly parent?: string;
};

export type GuardDecision = {
  readonly decision: "allow" | "deny";
  readonly reason: string;
  /** What holds the run: the operating system, or the reading of its commands */
  readonly guard?: "wall" | "narrow";
};

export type GuardRefusal = {
  /** Unix time in milliseconds */
  readonly at: number;
  readonly agent: string;
  readonly autonomy: "report" | "propose";
  readonly tool: string;
  readonly reason: string;
  readonly taskId?: string;
  /** What holds the run: the operating system, or the reading of its commands */
  readonly guard?: "wall" | "narrow";
};

export type Health = {
  readonly ok: boolean;
  readonly state: "starting" | "running" | "draining" | "stopped";
  readonly node: {
    readonly id: string;
    readonly name: string;
  };
  readonly version: string;
  readonly pid: number;
  readonly uptimeSeconds: number;
  readonly tasks: {
    readonly running: number;
    readonly queued: number;
  };
  readonly plugins: readonly PluginStatus[];
  readonly problems: readonly string[];
  readonly instance?: string;
  readonly folder?: string;
  readonly lastCrash?: string;
} | {
  readonly ok: boolean;
  readonly state: "starting" | "running" | "draining" | "stopped";
};

export type HeardEvent = {
  readonly id: string;
  readonly rootId: string;
  readonly node: string;
  readonly kind: string;
  readonly type: string;
  readonly at: string;
  readonly summary: string;
  readonly parentId?: string;
  readonly agentId?: string;
  readonly ref?: string;
  readonly text?: string;
  readonly data?: { readonly [name: string]: unknown };
  readonly source?: string;
};

/** In the form that the coding program prescribes for the output of its hooks; more is said in the program's own reference */
export type HookAnswer = {
  /** Shown to the person at the terminal */
  readonly systemMessage?: string;
  readonly hookSpecificOutput?: {
    readonly hookEventName: string;
    readonly additionalContext: string;
  };
  readonly decision?: "block" | "deny";
  /** With a decision: what the turn goes on with */
  readonly reason?: string;
};

export type Indexed = {
  readonly agent: string;
  /** Files looked at */
  readonly files: number;
  /** Of these, the ones that are new or have changed */
  readonly read: number;
  readonly removed: number;
  /** Places that can be found */
  readonly pieces: number;
  readonly durationMs: number;
};

export type LedgerEntry = {
  readonly project: string;
  readonly subject: string;
  readonly agent: string;
  /** Unix time in milliseconds */
  readonly since: number;
  /** Unix time in milliseconds */
  readonly at: number;
  readonly turns: number;
  readonly version: number;
  readonly root?: string;
  readonly task?: string;
  readonly other?: {
    readonly agent: string;
    readonly task: string;
    /** Unix time in milliseconds */
    readonly at: number;
    readonly times: number;
  };
  readonly assignedBy?: string;
};

export type LedgerRow = {
  readonly id: string;
  readonly project: string;
  readonly subject: string;
  readonly agent: string;
  /** Unix time in milliseconds */
  readonly since: number;
  /** Unix time in milliseconds */
  readonly at: number;
  readonly turns: number;
  readonly version: number;
  readonly root?: string;
  readonly task?: string;
  readonly other?: {
    readonly agent: string;
    readonly task: string;
    /** Unix time in milliseconds */
    readonly at: number;
    readonly times: number;
  };
  readonly assignedBy?: string;
};

export type McpError = {
  readonly jsonrpc: "2.0";
  readonly error: {
    readonly code: number;
    readonly message: string;
    readonly data?: unknown;
  };
  readonly id: string | number | null;
};

/** An answer of JSON-RPC, whose result the Model Context Protocol describes */
export type McpMessage = {
  readonly jsonrpc: "2.0";
  readonly id: string | number | null;
  readonly result: { readonly [name: string]: unknown };
} | McpError;

export type MemoryFiles = {
  readonly files: readonly {
    readonly file: string;
    readonly size: number;
    readonly changedAt: string;
  }[];
  /** There are others */
  readonly more?: true;
};

export type MemoryText = {
  readonly file: string;
  readonly text: string;
  readonly size: number;
  /** How many credentials were left out */
  readonly redacted: number;
  readonly tag: string;
  readonly cut?: true;
  /** Where it lies, for callers of the same machine */
  readonly path?: string;
};

export type NewToken = {
  readonly id: string;
  readonly name: string;
  readonly scope: readonly string[];
  /** The visible start of the secret */
  readonly prefix: string;
  readonly createdAt: string;
  readonly status: "active" | "expired" | "revoked";
  /** Told in this one answer */
  readonly secret: string;
  readonly expiresAt?: string;
  readonly revokedAt?: string;
  readonly lastUsedAt?: string;
  /** The copy of a damaged file of tokens, whose tokens are gone */
  readonly damaged?: string;
};

export type NodeAbout = {
  readonly version: string;
  readonly troubles: readonly string[];
  readonly settings: { readonly [name: string]: string };
  readonly instance?: string;
  readonly url?: string;
  readonly bind?: string;
};

export type OfferedChannel = {
  /** What `svc connect` takes */
  readonly name: string;
  readonly package: string;
  readonly summary: string;
  readonly product?: string;
  /** Of the package alone */
  readonly bytes?: number;
  /** Why it is a package of its own */
  readonly because?: string;
};

export type OperatorAction = {
  readonly id: string;
  readonly title: string;
  readonly kind: "shell" | "http";
  readonly inputs: readonly {
    readonly name: string;
    readonly type: "string" | "number" | "boolean";
    readonly required: boolean;
    readonly defaultValue?: unknown;
  }[];
  readonly timeoutMs: number;
};

export type OperatorActionResult = {
  readonly ok: boolean;
  /** The exit code or HTTP status. */
  readonly status: number | null;
  /** At most 32 KiB. */
  readonly output: string;
  /** At most 32 KiB. */
  readonly errors: string;
  readonly durationMs: number;
  /** There when output was thrown away. */
  readonly truncated?: boolean;
};

export type PairingRequest = {
  readonly account: string;
  readonly sender: string;
  readonly chat: string;
  readonly at: string;
  readonly name?: string;
};

export type PanelView = {
  readonly id: string;
  readonly title: string;
  readonly place: "page" | "admin" | "card";
  readonly module: string;
  readonly guard: string;
};

export type Peer = {
  readonly name: string;
  readonly url: string;
  readonly state: "unknown" | "up" | "down" | "refused";
  /** Unix time in milliseconds */
  readonly at?: number;
  readonly reason?: string;
  readonly agents?: readonly string[];
};

export type PeerHealth = {
  readonly state: "unknown" | "up" | "down" | "refused";
  /** Unix time in milliseconds */
  readonly at?: number;
  readonly reason?: string;
  readonly agents?: readonly string[];
};

export type PeerTaskResult = {
  readonly ok: boolean;
  readonly taskId: string;
  readonly agent: string;
  readonly reply: string;
  readonly status: "ok" | "error" | "timeout";
  readonly durationMs: number;
  readonly error?: string;
  readonly errorKind?: string;
  readonly exitCode?: number;
  readonly usage?: {
    readonly input: number;
    readonly output: number;
    readonly cacheRead?: number;
    readonly cacheCreate?: number;
    readonly cost?: number;
  };
  readonly model?: string;
  readonly sessionId?: string;
  readonly output?: unknown;
  readonly withheld?: string;
};

export type PluginStatus = {
  readonly id: string;
  readonly state: "known" | "disabled" | "failed" | "quarantined" | "loaded" | "running" | "stopped";
  readonly source: "first-party" | "package" | "path" | "inline";
  readonly provides: readonly string[];
  readonly hooks: readonly string[];
  readonly capabilities: readonly string[];
  readonly failures: number;
  readonly version?: string;
  readonly reason?: string;
  readonly took?: {
    readonly load: number;
    readonly setup: number;
    readonly start: number;
  };
  readonly isolation?: {
    readonly state: "up" | "waiting" | "off";
    readonly starts: number;
    readonly ends: number;
    readonly dropped: number;
    readonly walls: readonly string[];
    readonly pid?: number;
    readonly lastEnd?: string;
    /** Unix time in milliseconds */
    readonly again?: number;
  };
};

export type Presence = {
  readonly agent: string;
  readonly color: string;
  readonly initial: string;
  readonly label: string;
  readonly allowActions: boolean;
  readonly mode?: "teach" | "act";
  readonly note?: string;
  /** Unix time in milliseconds */
  readonly at?: number;
};

export type Procedure = {
  /** `deploy`, `ada/deploy` of the workspace of the agent ada, `user/deploy` */
  readonly id: string;
  readonly source: "procedures" | "workspace" | "user";
  readonly file: string;
  readonly name: string;
  readonly description: string;
  readonly state: "draft" | "in use" | "broken" | "empty";
  /** It is for these alone */
  readonly agents?: readonly string[];
  /** The group of runs that it was learned from */
  readonly cluster?: string;
  /** Why it cannot be used */
  readonly problem?: string;
  /** How well it fits the words that were asked about */
  readonly score?: number;
};

export type ProcedurePass = {
  /** Runs that were looked at */
  readonly runs: number;
  /** Groups of runs alike that are large enough */
  readonly clusters: number;
  readonly drafts: readonly string[];
  /** Groups that hold no procedure */
  readonly none: number;
  readonly failed: readonly {
    readonly agent: string;
    readonly reason: string;
  }[];
};

export type PushDevice = {
  readonly id: string;
  readonly name: string;
  /** The host of its push service */
  readonly service: string;
  /** Unix time in milliseconds */
  readonly addedAt: number;
  /** When the last notice was sent to it, Unix time in milliseconds */
  readonly lastAt?: number;
  /** Why the last notice did not reach its push service */
  readonly lastError?: string;
  /** It subscribed with older keys: nothing reaches it until its page is opened again */
  readonly stale?: true;
};

export type PushNotice = {
  readonly id: string;
  /** Unix time in milliseconds */
  readonly at: number;
  readonly title: string;
  readonly text: string;
  readonly priority?: number;
};

export type PushRegistration = {
  readonly id: string;
  /** What the device proves itself with; told this once */
  readonly bearer: string;
};

export type Readiness = {
  readonly ready: boolean;
  readonly state?: "starting" | "running" | "draining" | "stopped";
  readonly reasons?: readonly string[];
};

export type Reference = {
  readonly name: string;
  readonly at: string;
  readonly state: "verified" | "recorded" | "unverified" | "unchecked";
  readonly note?: string;
  readonly verified?: string;
  readonly sha256?: string;
  readonly failed?: string;
  readonly reason?: string;
};

export type ReloadReport = {
  readonly reloaded: boolean;
  readonly changed: readonly string[];
  readonly restartRequired: readonly string[];
  readonly failed: readonly {
    readonly plugin: string;
    readonly reason: string;
  }[];
};

export type RunningTask = {
  readonly id: string;
  readonly step: string;
  /** Unix time in milliseconds */
  readonly startedAt: number;
  readonly channel: string;
  readonly chat: string;
  readonly conversation: string;
  readonly agent: string;
  readonly node?: string;
  /** Tasks whose messages its turn answers, too; canceling one of them ends the turn for all */
  readonly with?: readonly string[];
};

export type Scope = {
  readonly name: string;
  readonly summary?: string;
  readonly includes?: readonly string[];
};

export type SettingEdit = {
  readonly path: readonly (string | number | {
    readonly id: string;
  })[];
  /** Absent: the setting is taken out */
  readonly value?: unknown;
  readonly reference?: true;
};

export type SettingsDocument = {
  /** svc.json as it stands, `${NAME}` as written, credentials as `***` */
  readonly document: { readonly [name: string]: unknown };
  /** For the `expect` of a change */
  readonly revision: string;
  readonly secrets: readonly {
    readonly path: string;
    readonly set: boolean;
    /** The variable that it names */
    readonly reference?: string;
  }[];
  readonly problems: readonly SettingsProblem[];
  /** The text itself, credentials as `***` */
  readonly text?: string;
};

export type SettingsPreview = {
  readonly revision: string;
  readonly paths: readonly string[];
  readonly problems: readonly {
    readonly path: string;
    readonly message: string;
    readonly severity: "error" | "warning";
    readonly line?: number;
    readonly column?: number;
    /** The edits bring it */
    readonly fresh?: true;
  }[];
  readonly restartRequired: readonly string[];
  readonly difference: readonly {
    readonly sign: "-" | "+" | " ";
    readonly number: number;
    readonly text: string;
  }[];
};

export type SettingsProblem = {
  readonly path: string;
  readonly message: string;
  readonly severity: "error" | "warning";
  readonly line?: number;
  readonly column?: number;
};

export type SettingsReport = {
  readonly revision: string;
  readonly reloaded?: readonly string[];
  readonly restartRequired?: readonly string[];
  /** Why nothing of it is in force yet */
  readonly reloadSkipped?: string;
  readonly failed?: readonly {
    readonly plugin: string;
    readonly reason: string;
  }[];
  /** The copy of the content before */
  readonly backup?: string;
};

export type StoreNode = {
  readonly name: string;
  readonly boot: number;
  readonly host: string;
  readonly state: "alive" | "draining" | "silent" | "dead";
  readonly beatMs: number;
  readonly pid?: number;
  readonly skewMs?: number;
  readonly running?: number;
  readonly holds?: readonly string[];
  readonly about?: NodeAbout;
};

export type Subscription = {
  readonly kinds?: readonly string[];
  readonly agents?: readonly string[];
  readonly nodes?: readonly string[];
  readonly match?: string;
  readonly delivery?: "pull" | "digest" | "wake";
  readonly maxPerHour?: number;
};

export type TaskBrief = {
  readonly id: string;
  readonly agent: string;
  readonly channel: string;
  readonly chat: string;
  readonly status: "in-flight" | "ok" | "error" | "timeout";
  /** Unix time in milliseconds */
  readonly startedAt: number;
  readonly messagePreview: string;
  readonly sender?: string;
  /** Unix time in milliseconds */
  readonly endedAt?: number;
  readonly durationMs?: number;
  readonly error?: string;
  readonly errorKind?: string;
  readonly model?: string;
  /** As GET /traces/{id} (usage) of the daemon answers */
  readonly usage?: { readonly [name: string]: unknown };
  readonly attempts?: number;
};

export type TaskContext = {
  /** Unix time in milliseconds */
  readonly at: number;
  readonly layers: readonly {
    readonly name: string;
    readonly text: string;
    /** That the agent was given; more than the text where the copy is shortened */
    readonly characters: number;
    /** Characters before it was cut to fit */
    readonly whole?: number;
  }[];
  readonly system: {
    readonly name: string;
    readonly text: string;
    /** That the agent was given; more than the text where the copy is shortened */
    readonly characters: number;
    /** Characters before it was cut to fit */
    readonly whole?: number;
  };
  readonly prompt: {
    readonly name: string;
    readonly text: string;
    /** That the agent was given; more than the text where the copy is shortened */
    readonly characters: number;
    /** Characters before it was cut to fit */
    readonly whole?: number;
  };
  readonly history: readonly {
    readonly role: "user" | "assistant";
    readonly text: string;
  }[];
  readonly historyCharacters: number;
  readonly media: number;
  readonly strategy?: string;
  /** The native session that went on */
  readonly session?: string;
};

export type TaskResult = {
  readonly ok: boolean;
  readonly taskId: string;
  readonly agent: string;
  readonly reply: string;
  readonly status: "ok" | "error" | "timeout";
  readonly durationMs: number;
  readonly error?: string;
  /** cancelled, timeout, interrupted, dropped, output, held, or the engine's own kind */
  readonly errorKind?: string;
  readonly exitCode?: number;
  readonly usage?: Usage;
  readonly model?: string;
  readonly sessionId?: string;
  /** The value of an answer that was asked for in a shape */
  readonly output?: unknown;
  /** The delivery that keeps the answer until somebody decides about it */
  readonly withheld?: string;
  /** The Idempotency-Key was seen before */
  readonly duplicate?: true;
} | {
  readonly ok: boolean;
  readonly taskId: string;
  readonly duplicate: true;
};

export type TaskSeries = {
  readonly range: "1h" | "24h" | "7d";
  /** Unix time in milliseconds */
  readonly from: number;
  /** Unix time in milliseconds */
  readonly to: number;
  readonly stepMs: number;
  readonly tasks: readonly number[];
  readonly tokens: readonly number[];
  readonly answer: readonly (number | null)[];
  readonly errors: readonly number[];
  readonly total: {
    readonly tasks: number;
    readonly tokens: number;
    readonly errors: number;
    readonly median?: number;
    readonly p95?: number;
  };
  readonly lanes: readonly {
    readonly agent: string;
    readonly tasks: number;
    readonly failed: number;
    readonly cancelled: number;
    readonly spans: readonly {
      /** Unix time in milliseconds */
      readonly from: number;
      /** Unix time in milliseconds */
      readonly to: number;
      readonly state: "running" | "waiting" | "queued" | "ok" | "failed" | "timed-out" | "cancelled";
      readonly count: number;
      /** The newest of its tasks */
      readonly id: string;
    }[];
  }[];
  /** How far back was read so far, where that is not all */
  readonly knownFrom?: number;
};

export type TierAbilities = {
  readonly nativeSessions: boolean;
  readonly sessionsAnywhere: boolean;
  readonly autonomy: readonly string[];
  readonly permissionModes: readonly string[];
  readonly toolServers: boolean;
  readonly pictures: boolean;
};

export type Token = {
  readonly id: string;
  readonly name: string;
  readonly scope: readonly string[];
  /** The visible start of the secret */
  readonly prefix: string;
  readonly createdAt: string;
  readonly status: "active" | "expired" | "revoked";
  readonly expiresAt?: string;
  readonly revokedAt?: string;
  readonly lastUsedAt?: string;
};

export type Tool = {
  readonly name: string;
  readonly description: string;
  readonly input: { readonly [name: string]: unknown };
};

export type Trace = {
  readonly id: string;
  readonly rootId: string;
  readonly agent: string;
  readonly channel: string;
  readonly chat: string;
  readonly conversation: string;
  readonly entry: string;
  readonly status: "in-flight" | "ok" | "error" | "timeout";
  /** Unix time in milliseconds */
  readonly startedAt: number;
  readonly attempts: number;
  readonly steps: readonly TraceStep[];
  readonly account?: string;
  readonly thread?: string;
  readonly sender?: string;
  readonly runId?: string;
  readonly node?: string;
  /** Unix time in milliseconds */
  readonly endedAt?: number;
  readonly durationMs?: number;
  readonly message?: string;
  readonly messagePreview?: string;
  readonly tasks?: readonly string[];
  readonly lead?: string;
  readonly response?: string;
  readonly output?: unknown;
  readonly withheld?: string;
  readonly error?: string;
  readonly errorKind?: string;
  readonly exitCode?: number;
  readonly model?: string;
  readonly sessionId?: string;
  readonly usage?: Usage;
  readonly autonomyBlocks?: readonly {
    readonly tool: string;
    readonly reason: string;
  }[];
  readonly guard?: {
    readonly level: "wall" | "narrow";
    readonly reason?: string;
  };
  readonly context?: readonly {
    readonly name: string;
    readonly characters: number;
    readonly hash: string;
  }[];
};

export type TraceStep = {
  readonly name: string;
  readonly kind: string;
  /** Unix time in milliseconds */
  readonly at: number;
  readonly durationMs?: number;
  readonly input?: string;
  readonly output?: string;
  readonly error?: string;
  readonly envelope?: ActionEnvelope;
};

export type Usage = {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number;
  readonly cacheCreate?: number;
  /** US dollars */
  readonly cost?: number;
};

export type Webhook = {
  readonly id: string;
  readonly path: string;
  readonly agent: string;
  readonly source: string;
  readonly enabled: boolean;
  readonly secret: "none" | "set" | "missing";
  readonly last?: {
    /** Unix time in milliseconds */
    readonly at: number;
    readonly state: string;
  };
};

export type WebhookDelivery = {
  /** Unix time in milliseconds */
  readonly at: number;
  readonly webhook: string;
  readonly agent: string;
  readonly source: string;
  readonly state: "accepted" | "duplicate" | "refused";
  /** The sender's id (id:...), or the digest of the bytes (sha256:...) */
  readonly delivery: string;
  readonly bytes: number;
  readonly event?: string;
  readonly taskId?: string;
  readonly runId?: string;
  readonly workflow?: string;
  readonly bodyAt?: number;
  readonly replayOf?: string;
  readonly error?: string;
};

export type WebhookReceipt = {
  readonly accepted: true;
  readonly taskId?: string;
  readonly runId?: string;
  readonly duplicate?: true;
};

export type Workflow = {
  /** Its head: without nodes and edges */
  readonly definition: { readonly [name: string]: unknown };
  /** Of what is run; empty where it cannot be */
  readonly hash: string;
  readonly format: "yaml" | "json";
  /** As people name it */
  readonly file: string;
  readonly inputSchema: { readonly [name: string]: WorkflowField };
  readonly problems: readonly WorkflowProblem[];
  readonly broken: boolean;
  readonly lastRuns?: readonly WorkflowLastRun[];
  readonly starters?: readonly {
    readonly kind: "schedule" | "webhook" | "messages";
    readonly id: string;
    readonly detail?: string;
  }[];
  readonly nextStart?: string;
};

export type WorkflowEntry = {
  readonly kind: "api" | "cli" | "webhook" | "cron" | "match" | "action" | "agent" | "a2a" | "sub" | "replay";
  readonly ref?: string;
};

export type WorkflowError = {
  readonly code: string;
  readonly message: string;
  readonly node?: string;
  readonly iteration?: string;
  readonly attempt?: number;
  readonly details?: unknown;
};

export type WorkflowField = {
  readonly type: "string" | "number" | "integer" | "boolean" | "object" | "array";
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly example?: unknown;
  readonly required?: boolean;
  readonly description?: string;
};

export type WorkflowFold = {
  readonly runId: string;
  readonly same: boolean;
  readonly firstDifference?: {
    readonly seq: number;
    readonly was?: {
      readonly kind: string;
      readonly step?: string;
      readonly ports?: readonly string[];
      readonly name?: string;
    };
    readonly now?: {
      readonly kind: string;
      readonly step?: string;
      readonly ports?: readonly string[];
      readonly name?: string;
    };
  };
};

export type WorkflowFormField = {
  readonly name: string;
  readonly kind: "text" | "long-text" | "number" | "boolean" | "select" | "multi-select" | "date";
  readonly label?: string;
  readonly required?: boolean;
  readonly default?: unknown;
  readonly help?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly min?: number | string;
  readonly max?: number | string;
  readonly integer?: boolean;
  readonly options?: readonly (string | {
    readonly value: string;
    readonly label?: string;
  })[];
};

/** What else it has depends on its kind */
export type WorkflowJournalEntry = {
  readonly seq: number;
  /** Such as step.ended */
  readonly kind: string;
  readonly at: string;
};

export type WorkflowLastRun = {
  readonly id: string;
  readonly status: "running" | "paused" | "completed" | "failed" | "canceled";
  readonly createdAt: string;
  readonly waitsForPerson?: true;
  readonly endedAt?: string;
};

export type WorkflowProblem = {
  readonly message: string;
  /** JSON pointer into the definition */
  readonly pointer: string;
  readonly line: number;
  readonly column: number;
  readonly severity: "error" | "warning";
  /** Such as SCHEMA or UNREACHABLE */
  readonly code: string;
};

export type WorkflowRefused = {
  readonly error: string;
  readonly code: string;
  readonly path?: string;
  readonly field?: string;
  readonly hint?: string;
  readonly problems?: readonly WorkflowProblem[];
  /** As people name it */
  readonly file?: string;
  readonly reason?: string;
};

export type WorkflowRun = {
  readonly id: string;
  readonly workflowId: string;
  /** Of what is run; empty where it cannot be */
  readonly hash: string;
  readonly status: "running" | "paused" | "completed" | "failed" | "canceled";
  readonly entry: WorkflowEntry;
  readonly rootId: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly waits: readonly WorkflowWait[];
  readonly name?: string;
  readonly parentRunId?: string;
  readonly parentStep?: string;
  readonly restartOf?: string;
  /** What it was started with */
  readonly input?: unknown;
  readonly output?: unknown;
  readonly error?: WorkflowError;
  readonly endedAt?: string;
  /** The latest output of each node */
  readonly context?: { readonly [name: string]: unknown };
};

export type WorkflowRunDetail = {
  readonly id: string;
  readonly workflowId: string;
  /** Of what is run; empty where it cannot be */
  readonly hash: string;
  readonly status: "running" | "paused" | "completed" | "failed" | "canceled";
  readonly entry: WorkflowEntry;
  readonly rootId: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly waits: readonly WorkflowWait[];
  readonly timeline: readonly WorkflowJournalEntry[];
  readonly steps: readonly WorkflowStep[];
  readonly children: readonly {
    readonly id: string;
    readonly workflowId: string;
    readonly status: "running" | "paused" | "completed" | "failed" | "canceled";
    readonly parentStep?: string;
  }[];
  readonly name?: string;
  readonly parentRunId?: string;
  readonly parentStep?: string;
  readonly restartOf?: string;
  /** What it was started with */
  readonly input?: unknown;
  readonly output?: unknown;
  readonly error?: WorkflowError;
  readonly endedAt?: string;
  /** The latest output of each node */
  readonly context?: { readonly [name: string]: unknown };
  /** The `after` of the next entries */
  readonly nextEntry?: number;
};

export type WorkflowStep = {
  readonly id: string;
  readonly node: string;
  readonly iteration: string;
  readonly status: "ready" | "running" | "waiting" | "ok" | "failed" | "timeout" | "canceled";
  readonly attempt: number;
  readonly readyAt: string;
  readonly seq?: number;
  readonly claimedAt?: string;
  readonly endedAt?: string;
  /** What an effect was given */
  readonly input?: unknown;
  readonly output?: unknown;
  readonly error?: WorkflowError;
  readonly ports?: readonly string[];
  readonly childRunId?: string;
  readonly taskId?: string;
};

export type WorkflowTask = {
  readonly id: string;
  readonly kind: "userTask" | "approval" | "incident";
  readonly runId: string;
  readonly workflowId: string;
  readonly step: string;
  readonly title: string;
  /** `actor:<id>` or `role:<name>` */
  readonly assignee: string;
  readonly form: {
    readonly fields: readonly WorkflowFormField[];
  };
  /** The port that the run takes, or a template over `values` that gives it */
  readonly submitTransition: string;
  readonly state: "open" | "completed" | "canceled";
  readonly assignedAt: string;
  readonly overdue: boolean;
  readonly history: readonly {
    readonly at: string;
    readonly type: "created" | "commented" | "overdue" | "submitted" | "canceled";
    readonly by?: string;
    readonly text?: string;
  }[];
  readonly detail?: string;
  readonly dueAt?: string;
  readonly expiresAt?: string;
  readonly completedAt?: string;
  readonly completedBy?: string;
  /** What was answered */
  readonly values?: { readonly [name: string]: unknown };
};

export type WorkflowText = {
  readonly format: "yaml" | "json";
  readonly text: string;
  readonly definition: { readonly [name: string]: unknown } | null;
  /** Of what is run; empty where it cannot be */
  readonly hash: string;
  readonly problems: readonly WorkflowProblem[];
  readonly locked?: {
    readonly line: number;
    readonly column: number;
    readonly reason: string;
  };
  /** For the If-Match of a change */
  readonly etag?: string;
  readonly layout?: { readonly [name: string]: unknown } | null;
  /** As people name it */
  readonly file?: string;
};

export type WorkflowWait = {
  readonly node: string;
  readonly iteration: string;
  readonly kind: "timer" | "task" | "signal" | "child" | "items" | "retry" | "effect" | "incident";
  readonly since: string;
  readonly until?: string;
  /** The id of the task or run, the name of the signal, or the step */
  readonly for?: string;
};

/** What each route answers when it succeeds. A string where the answer is text, undefined where it is empty. */
export interface Answers {
  readonly "GET /": string;
  readonly "POST /a2a/notify": {
    /** The HTTP status that the caller's webhook answered with */
    readonly status: number;
  };
  readonly "GET /admin": string;
  readonly "GET /agents": {
    readonly agents: readonly AgentSummary[];
  };
  readonly "GET /agents/{id}/capability": AgentAbilities;
  readonly "GET /agents/{id}/events": {
    readonly agentId: string;
    readonly subscriptions: readonly Subscription[];
    readonly events: readonly HeardEvent[];
    readonly next: string | null;
    readonly gap?: true;
  };
  readonly "GET /agents/{id}/memory": MemoryFiles | MemoryText;
  readonly "PUT /agents/{id}/memory": {
    readonly file: string;
  };
  readonly "DELETE /agents/{id}/memory": {
    readonly file: string;
    readonly removed: true;
  };
  readonly "GET /agents/{id}/references": {
    readonly references: readonly Reference[];
  };
  readonly "POST /agents/{id}/references": {
    readonly reference: Reference;
  };
  readonly "POST /agents/{id}/references/remove": {
    readonly removed: true;
  };
  readonly "POST /agents/{id}/references/verify": {
    readonly references: readonly Reference[];
  };
  readonly "GET /agents/{id}/tools": {
    readonly tools: readonly Tool[];
  };
  readonly "POST /agents/{id}/tools/{name}": {
    readonly text: string;
  };
  readonly "GET /api/actions": {
    readonly actions: readonly OperatorAction[];
    readonly errors: readonly ActionFileError[];
  };
  readonly "GET /api/actions/builtin": {
    readonly actions: readonly Action[];
  };
  readonly "POST /api/actions/builtin/{name}": ActionResult;
  readonly "POST /api/actions/{id}/run": OperatorActionResult;
  readonly "GET /api/admin/actions": {
    readonly actions: readonly AdminAction[];
    readonly errors: readonly ActionFileError[];
  };
  readonly "POST /api/admin/actions/{name}/run": ActionResult;
  readonly "GET /api/admin/channels": {
    readonly channels: readonly DashboardChannel[];
    readonly offered: readonly OfferedChannel[];
  };
  readonly "GET /api/admin/channels/{name}/connect": ConnectForm;
  readonly "POST /api/admin/channels/{name}/message": {
    readonly id: string;
    readonly platformId?: string;
    /** It has not left yet, and goes on by itself */
    readonly waiting?: true;
  };
  readonly "POST /api/admin/channels/{name}/setup": ChannelSetup;
  readonly "POST /api/admin/mesh/announce": {
    readonly ok: true;
    readonly id: string;
  };
  readonly "GET /api/admin/mesh/peers": {
    readonly peers: readonly Peer[];
    readonly found: readonly {
      readonly name: string;
      readonly url: string;
    }[];
  };
  readonly "POST /api/admin/mesh/peers/{name}/test": PeerHealth;
  readonly "GET /api/admin/plugins": {
    readonly plugins: readonly DashboardPlugin[];
    readonly revision: string;
    /** Bytes of the daemon's process */
    readonly memory: number;
  };
  readonly "POST /api/admin/plugins/{id}/release": {
    readonly loaded: boolean;
    readonly reason?: string;
  };
  readonly "GET /api/admin/schedules": {
    readonly schedules: readonly CronJob[];
  };
  readonly "POST /api/admin/schedules/{id}/decide": CronDecision;
  readonly "POST /api/admin/schedules/{id}/run": {
    readonly started: true;
    readonly run: string;
  };
  readonly "GET /api/admin/schema": {
    /** The JSON schema of svc.json */
    readonly schema: { readonly [name: string]: unknown };
  };
  readonly "POST /api/admin/secrets": SettingsReport;
  readonly "GET /api/admin/settings": SettingsDocument;
  readonly "PATCH /api/admin/settings": SettingsReport;
  readonly "POST /api/admin/settings/check": SettingsPreview;
  readonly "GET /api/admin/setup": {
    readonly revision: string;
    readonly engines: readonly {
      readonly label: string;
      readonly tier: string;
      readonly models: readonly string[];
      readonly hint: string;
      readonly provider?: {
        readonly name: string;
        readonly entry: { readonly [name: string]: string };
      };
      /** Further settings of the agent */
      readonly settings?: { readonly [name: string]: unknown };
    }[];
    readonly installable: readonly string[];
    readonly agents: readonly string[];
    readonly channels: readonly string[];
  };
  readonly "POST /api/admin/setup/try": {
    readonly ok: boolean;
    readonly reply: string;
    readonly status: string;
    readonly taskId: string;
    readonly error?: string;
  };
  readonly "GET /api/admin/setups/{id}": ChannelSetup;
  readonly "DELETE /api/admin/setups/{id}": undefined;
  readonly "POST /api/admin/setups/{id}/answer": ChannelSetup;
  readonly "GET /api/admin/tokens": {
    readonly tokens: readonly Token[];
    readonly scopes: readonly Scope[];
  };
  readonly "POST /api/admin/tokens": NewToken;
  readonly "POST /api/admin/tokens/{id}/revoke": Token;
  readonly "GET /api/admin/webhooks": {
    readonly webhooks: readonly Webhook[];
  };
  readonly "GET /api/admin/webhooks/{id}/deliveries": {
    readonly webhook: Webhook;
    readonly deliveries: readonly WebhookDelivery[];
  };
  readonly "POST /api/admin/webhooks/{id}/test": WebhookReceipt;
  readonly "GET /api/agents": {
    readonly agents: readonly { readonly [name: string]: unknown }[];
  };
  readonly "POST /api/agents/{id}/code-index": CodeIndexed | string;
  readonly "POST /api/agents/{id}/index": Indexed | string;
  readonly "GET /api/agents/{id}/memory": MemoryFiles | MemoryText;
  readonly "GET /api/approvals": {
    readonly approvals: readonly Approval[];
    readonly next?: string;
  };
  readonly "GET /api/approvals/{id}": {
    readonly approval: Approval;
  };
  readonly "POST /api/approvals/{id}/approve": {
    readonly decision: ApprovalDecision;
  };
  readonly "POST /api/approvals/{id}/later": {
    readonly approval: Approval;
  };
  readonly "POST /api/approvals/{id}/reject": {
    readonly decision: ApprovalDecision;
  };
  readonly "GET /api/board-labels": {
    readonly labels: readonly BoardLabel[];
    readonly columns: readonly BoardColumn[];
  };
  readonly "GET /api/boards": {
    readonly boards: readonly Board[];
  };
  readonly "GET /api/boards/{id}/items": BoardItems;
  readonly "PATCH /api/boards/{id}/items/{itemId}/move": {
    readonly board: string;
    readonly item: BoardCard;
  };
  readonly "GET /api/budgets": {
    readonly budgets: readonly BudgetWindow[];
  };
  readonly "GET /api/channels/botmsg/people": {
    readonly waiting: readonly PairingRequest[];
  };
  readonly "POST /api/channels/botmsg/people": PairingRequest;
  readonly "GET /api/chat/{agent}": {
    readonly agent: string;
    readonly chat: string;
    readonly turns: readonly ChatTurn[];
  };
  readonly "POST /api/chat/{agent}": {
    readonly taskId: string;
  };
  readonly "GET /api/chat/{agent}/{task}/stream": string;
  readonly "GET /api/graph": {
    readonly nodes: readonly GraphNode[];
    readonly broken: readonly {
      readonly file: string;
      readonly problem: string;
    }[];
    readonly hits?: readonly GraphHit[];
  };
  readonly "GET /api/graph/drafts": {
    readonly drafts: readonly GraphDraft[];
  };
  readonly "GET /api/graph/nodes/{id}": {
    readonly node: GraphNode;
  };
  readonly "GET /api/ledger": {
    readonly mode: "off" | "shadow" | "authoritative";
    readonly entry: LedgerEntry;
  } | {
    readonly mode: "off" | "shadow" | "authoritative";
    readonly entries: readonly LedgerRow[];
  };
  readonly "GET /api/live": {
    readonly daemons: readonly DashboardDaemon[];
    readonly tasks: readonly TaskBrief[];
  };
  readonly "GET /api/live/stream": string;
  readonly "GET /api/me": {
    readonly node: string;
    readonly version: string;
    readonly may: {
      readonly read: boolean;
      readonly write: boolean;
    };
    readonly has: {
      readonly boards: boolean;
      readonly workflows: boolean;
      readonly editor: boolean;
      readonly presence: boolean;
    };
    readonly daemons: readonly {
      readonly name: string;
      readonly url: string;
    }[];
    readonly token?: {
      readonly name: string;
    };
  };
  readonly "GET /api/nodes": {
    readonly nodes: readonly DaemonOfStore[];
    readonly differences: readonly {
      readonly path: string;
      readonly groups: readonly {
        readonly nodes: readonly string[];
        readonly set: boolean;
      }[];
    }[];
  };
  readonly "GET /api/panels": {
    readonly panels: readonly PanelView[];
  };
  readonly "GET /api/presence": {
    readonly presence: readonly Presence[];
  };
  readonly "GET /api/procedures": {
    readonly procedures: readonly Procedure[];
    readonly unread?: number;
    readonly overfull?: readonly {
      readonly folder: string;
      /** Files beyond those that are read */
      readonly unread: number;
    }[];
  };
  readonly "GET /api/procedures/one": {
    readonly procedure: {
      /** `deploy`, `ada/deploy` of the workspace of the agent ada, `user/deploy` */
      readonly id: string;
      readonly source: "procedures" | "workspace" | "user";
      readonly file: string;
      readonly name: string;
      readonly description: string;
      readonly state: "draft" | "in use" | "broken" | "empty";
      readonly body: string;
      /** It is for these alone */
      readonly agents?: readonly string[];
      /** The group of runs that it was learned from */
      readonly cluster?: string;
      /** Why it cannot be used */
      readonly problem?: string;
    };
  };
  readonly "POST /api/procedures/promote": {
    readonly procedure: {
      /** `deploy`, `ada/deploy` of the workspace of the agent ada, `user/deploy` */
      readonly id: string;
      readonly source: "procedures" | "workspace" | "user";
      readonly file: string;
      readonly name: string;
      readonly description: string;
      /** It is for these alone */
      readonly agents?: readonly string[];
      /** The group of runs that it was learned from */
      readonly cluster?: string;
      /** Why it cannot be used */
      readonly problem?: string;
    };
  };
  readonly "POST /api/procedures/reject": {
    readonly id: string;
    /** Where the draft is kept now */
    readonly file: string;
  };
  readonly "POST /api/public/agents/{agentId}/messages": { readonly [name: string]: unknown };
  readonly "GET /api/push/devices": {
    readonly devices: readonly PushDevice[];
  };
  readonly "GET /api/push/recent": {
    readonly notices: readonly PushNotice[];
  };
  readonly "POST /api/push/subscribe": PushRegistration;
  readonly "DELETE /api/push/subscribe/{id}": undefined;
  readonly "POST /api/sign-in": {
    readonly token: string;
    readonly expiresAt: string;
  };
  readonly "POST /api/sign-out": {
    readonly ended: boolean;
  };
  readonly "POST /api/task/action": {
    readonly ok: true;
    readonly taskId: string;
    readonly rootId?: string;
    readonly replaced?: boolean;
  };
  readonly "GET /api/task/history": {
    readonly tasks: readonly TaskBrief[];
  };
  readonly "GET /api/task/stream": string;
  readonly "GET /api/tasks": {
    readonly running: readonly RunningTask[];
    readonly queued: readonly RunningTask[];
  };
  readonly "GET /api/tasks/agents": {
    readonly agents: readonly DashboardAgent[];
  };
  readonly "GET /api/tasks/events": {
    readonly events: readonly { readonly [name: string]: unknown }[];
  };
  readonly "GET /api/tasks/marks": {
    readonly page: number;
    readonly marks: readonly string[];
    /** Unix time in milliseconds */
    readonly at: number;
    readonly total?: number;
  };
  readonly "GET /api/tasks/now": {
    readonly running: readonly DashboardTaskNow[];
    readonly queued: readonly DashboardTaskNow[];
    readonly slots: number;
    readonly ended: readonly DashboardTask[];
  };
  readonly "GET /api/tasks/series": TaskSeries;
  readonly "GET /api/tasks/{id}": {
    /** As GET /traces/{id} of the daemon answers */
    readonly trace: { readonly [name: string]: unknown };
    readonly state: "running" | "waiting" | "queued" | "ok" | "failed" | "timed-out" | "cancelled";
    readonly context?: TaskContext;
    /** The next older task of the list */
    readonly older?: string;
  };
  readonly "POST /api/tasks/{id}/replay": {
    readonly taskId: string;
  };
  readonly "POST /api/tasks/{id}/stop": {
    readonly taskId: string;
  };
  readonly "POST /api/tasks/{taskId}/cancel": {
    readonly ok: true;
    readonly taskId: string;
  };
  readonly "POST /api/tasks/{taskId}/followup": {
    readonly ok: true;
    readonly taskId: string;
    readonly rootId: string;
    readonly replaced: boolean;
  };
  readonly "POST /api/ticket": {
    readonly ticket?: string;
    readonly expiresAt?: string;
  };
  readonly "GET /api/via/{daemon}/{rest}": string;
  readonly "POST /api/via/{daemon}/{rest}": string;
  readonly "PUT /api/via/{daemon}/{rest}": string;
  readonly "PATCH /api/via/{daemon}/{rest}": string;
  readonly "DELETE /api/via/{daemon}/{rest}": string;
  readonly "GET /api/workflow-editor": {
    readonly mode: "disabled" | "readonly" | "edit";
    /** The JSON schema of definitions */
    readonly schema: { readonly [name: string]: unknown };
    readonly agents: readonly {
      readonly id: string;
      readonly name: string;
    }[];
    readonly actions: readonly {
      readonly name: string;
      readonly description: string;
      /** A JSON schema */
      readonly input: { readonly [name: string]: unknown };
    }[];
    readonly examples: readonly {
      readonly id: string;
      readonly name: string;
      readonly description: string;
      readonly text: string;
    }[];
  };
  readonly "GET /api/workflows": {
    readonly workflows: readonly Workflow[];
    readonly next?: string;
  };
  readonly "POST /api/workflows/check": WorkflowText;
  readonly "GET /api/workflows/drafts": {
    readonly drafts: readonly {
      /** Its head: without nodes and edges */
      readonly definition: { readonly [name: string]: unknown };
      /** As people name it */
      readonly file: string;
      readonly problems: readonly WorkflowProblem[];
      readonly updatedAt: string;
    }[];
    readonly next?: string;
  };
  readonly "POST /api/workflows/drafts": {
    readonly id: string;
    /** As people name it */
    readonly file: string;
    readonly problems: readonly WorkflowProblem[];
    /** Of the page that edits it */
    readonly url: string;
  };
  readonly "GET /api/workflows/drafts/{id}": {
    readonly id: string;
    readonly definition: { readonly [name: string]: unknown } | null;
    readonly text: string;
    /** As people name it */
    readonly file: string;
    readonly problems: readonly WorkflowProblem[];
    readonly updatedAt: string;
    /** Of what is run; empty where it cannot be */
    readonly hash: string;
  };
  readonly "PUT /api/workflows/drafts/{id}": {
    readonly id: string;
    /** As people name it */
    readonly file: string;
    readonly problems: readonly WorkflowProblem[];
  };
  readonly "POST /api/workflows/drafts/{id}/promote": {
    readonly id: string;
    readonly url: string;
    /** Its newest runs, as they would have gone by it */
    readonly folds: readonly WorkflowFold[];
  };
  readonly "POST /api/workflows/drafts/{id}/reject": {
    readonly ok: true;
    /** Where it is kept now */
    readonly file: string;
  };
  readonly "POST /api/workflows/drafts/{id}/replay": {
    readonly runId: string;
    readonly name: string;
  };
  readonly "GET /api/workflows/drafts/{id}/text": WorkflowText;
  readonly "PUT /api/workflows/drafts/{id}/text": {
    readonly id: string;
    /** As people name it */
    readonly file: string;
    readonly problems: readonly WorkflowProblem[];
  };
  readonly "POST /api/workflows/drafts/{id}/validate": {
    readonly ok: boolean;
    readonly problems: readonly WorkflowProblem[];
  };
  readonly "GET /api/workflows/runs": {
    readonly runs: readonly WorkflowRun[];
    readonly next?: string;
  };
  readonly "GET /api/workflows/runs/{id}": WorkflowRunDetail;
  readonly "GET /api/workflows/runs/{id}/definition": {
    /** As workflow-definition.schema.json of this package describes it */
    readonly definition: { readonly [name: string]: unknown };
    /** Of what is run; empty where it cannot be */
    readonly hash: string;
    /** The hash of its workflow at the moment */
    readonly current?: string;
    readonly layout?: { readonly [name: string]: unknown } | null;
  };
  readonly "POST /api/workflows/runs/{id}/restart": {
    readonly runId: string;
    readonly workflowId: string;
    readonly status: "running" | "paused" | "completed" | "failed" | "canceled";
    /** Of what is run; empty where it cannot be */
    readonly hash: string;
    readonly duplicate?: true;
  };
  readonly "POST /api/workflows/runs/{id}/signal": {
    readonly delivered: boolean;
    readonly stored: boolean;
    readonly duplicate: boolean;
  };
  readonly "POST /api/workflows/runs/{id}/status": WorkflowRun;
  readonly "GET /api/workflows/runs/{id}/step": {
    readonly step: WorkflowStep;
    readonly entries: readonly WorkflowJournalEntry[];
  };
  readonly "GET /api/workflows/tasks": {
    readonly tasks: readonly WorkflowTask[];
    readonly next?: string;
  };
  readonly "GET /api/workflows/tasks/{id}": WorkflowTask;
  readonly "POST /api/workflows/tasks/{id}/comment": WorkflowTask;
  readonly "POST /api/workflows/tasks/{id}/submit": {
    readonly ok: true;
    readonly taskId: string;
    readonly port: string;
    readonly runId: string;
  };
  readonly "GET /api/workflows/{id}": {
    readonly definition: { readonly [name: string]: unknown } | null;
    readonly layout: { readonly [name: string]: unknown } | null;
    /** Of what is run; empty where it cannot be */
    readonly hash: string;
    readonly format: "yaml" | "json";
    /** As people name it */
    readonly file: string;
    readonly problems: readonly WorkflowProblem[];
  };
  readonly "PUT /api/workflows/{id}": {
    readonly id: string;
    /** Of what is run; empty where it cannot be */
    readonly hash: string;
    /** For the If-Match of a change */
    readonly etag: string;
    readonly warnings: readonly WorkflowProblem[];
  };
  readonly "PUT /api/workflows/{id}/layout": {
    readonly ok: true;
  };
  readonly "GET /api/workflows/{id}/text": WorkflowText;
  readonly "PUT /api/workflows/{id}/text": {
    readonly id: string;
    /** Of what is run; empty where it cannot be */
    readonly hash: string;
    /** For the If-Match of a change */
    readonly etag: string;
    readonly warnings: readonly WorkflowProblem[];
  };
  readonly "GET /approvals": {
    readonly approvals: readonly Approval[];
    readonly next?: string;
  };
  readonly "GET /approvals/{id}": {
    readonly approval: Approval;
  };
  readonly "POST /approvals/{id}/approve": {
    readonly decision: ApprovalDecision;
  };
  readonly "POST /approvals/{id}/later": {
    readonly approval: Approval;
  };
  readonly "POST /approvals/{id}/reject": {
    readonly decision: ApprovalDecision;
  };
  readonly "POST /ask": AskAnswer;
  readonly "POST /attach/answer": {
    readonly state: "answered" | "refused";
  };
  readonly "POST /attach/bind": {
    readonly agent: string;
    readonly mode: "manual" | "notify" | "auto";
    readonly session: string;
    /** The session that wore the agent until now */
    readonly movedFrom?: string;
  };
  readonly "POST /attach/detach": {
    readonly agent: string;
    readonly session: string;
  };
  readonly "POST /attach/next": {
    readonly items: readonly AttachedMessage[];
    readonly left: number;
  };
  readonly "POST /attach/prompt": HookAnswer | string;
  readonly "POST /attach/session-end": string;
  readonly "POST /attach/session-start": HookAnswer | string;
  readonly "GET /attach/sessions": readonly AttachedSession[];
  readonly "POST /attach/stop": HookAnswer | string;
  readonly "POST /attach/wait": string | undefined;
  readonly "GET /boards": {
    readonly boards: readonly Board[];
  };
  readonly "GET /boards/{id}/items": BoardItems;
  readonly "PATCH /boards/{id}/items/{itemId}/move": {
    readonly board: string;
    readonly item: BoardCard;
  };
  readonly "GET /budgets": {
    readonly budgets: readonly BudgetWindow[];
  };
  readonly "GET /call/{id}": string;
  readonly "POST /calls": {
    readonly call: Call;
    /** The link with which somebody joins */
    readonly url?: string;
  };
  readonly "GET /calls": {
    readonly calls: readonly Call[];
  };
  readonly "GET /calls/{id}": {
    readonly call: Call;
    readonly lines: readonly CallLine[];
  };
  readonly "POST /calls/{id}/answer": {
    readonly call: Call;
    /** A session description (SDP) */
    readonly answer?: string;
  };
  readonly "POST /calls/{id}/ask": {
    /** The number of the picture that the page is asked for */
    readonly frame: number;
  };
  readonly "POST /calls/{id}/candidate": undefined;
  readonly "POST /calls/{id}/end": {
    readonly call?: Call;
  };
  readonly "POST /calls/{id}/frame": {
    readonly taken: number;
  };
  readonly "POST /calls/{id}/join": {
    /** For the other requests of this call */
    readonly bearer: string;
    readonly call: Call;
    /** Of a call: for RTCPeerConnection */
    readonly iceServers?: readonly {
      readonly urls: string | readonly string[];
      readonly username?: string;
      readonly credential?: string;
    }[];
    /** Of a camera session */
    readonly camera?: {
      readonly width: number;
      readonly height: number;
      readonly frameRate: number;
      readonly maxFrameEdge: number;
    };
  };
  readonly "GET /calls/{id}/media": {
    readonly call: Call;
    /** Of a call: for RTCPeerConnection */
    readonly iceServers?: readonly {
      readonly urls: string | readonly string[];
      readonly username?: string;
      readonly credential?: string;
    }[];
    /** Of a camera session */
    readonly camera?: {
      readonly width: number;
      readonly height: number;
      readonly frameRate: number;
      readonly maxFrameEdge: number;
    };
  };
  readonly "POST /calls/{id}/restart": {
    /** A session description (SDP) */
    readonly answer: string;
  };
  readonly "GET /calls/{id}/stream": string;
  readonly "GET /camera/{id}": string;
  readonly "GET /channels": {
    readonly channels: readonly ChannelStatus[];
  };
  readonly "GET /channels/botmsg/pair": {
    readonly waiting: readonly PairingRequest[];
  };
  readonly "POST /channels/botmsg/pair": PairingRequest;
  readonly "POST /channels/{name}/test": {
    readonly ok: true;
    readonly detail: string;
  };
  readonly "GET /crons": {
    readonly crons: readonly CronJob[];
  };
  readonly "POST /crons/{id}/fire": {
    readonly job: string;
    readonly started: boolean;
    readonly reason?: "running";
  };
  readonly "POST /crons/{id}/run": {
    readonly started: true;
    readonly run: string;
  };
  readonly "GET /crons/{id}/runs": {
    readonly job: string;
    readonly runs: readonly CronRun[];
  };
  readonly "POST /dashboard/link": {
    readonly url: string;
    readonly expiresAt: string;
  };
  readonly "GET /events": string;
  readonly "GET /events/recent": {
    readonly events: readonly Envelope[];
    readonly gap?: true;
    readonly more?: boolean;
  };
  readonly "GET /forges": {
    readonly forges: readonly ForgeStatus[];
    readonly decisions: readonly ForgeDecision[];
    readonly actions: readonly ForgeAction[];
  };
  readonly "POST /forges/{name}/backfill": ForgeBackfill;
  readonly "GET /graph": {
    readonly nodes: readonly GraphNode[];
    readonly broken: readonly {
      readonly file: string;
      readonly problem: string;
    }[];
    readonly hits?: readonly GraphHit[];
  };
  readonly "POST /graph/draft": {
    readonly drafted: readonly GraphDrafted[];
  };
  readonly "GET /graph/drafts": {
    readonly drafts: readonly GraphDraft[];
  };
  readonly "POST /graph/drafts/{id}/promote": {
    readonly change: GraphChange;
  };
  readonly "POST /graph/drafts/{id}/reject": {
    readonly id: string;
    /** Where the draft is kept now */
    readonly file: string;
  };
  readonly "GET /graph/nodes/{id}": {
    readonly node: GraphNode;
  };
  readonly "POST /guard/check": GuardDecision;
  readonly "GET /guard/log": {
    readonly entries: readonly GuardRefusal[];
  };
  readonly "GET /health": Health;
  readonly "GET /inbox": string;
  readonly "GET /ledger": {
    readonly mode: "off" | "shadow" | "authoritative";
    readonly entry: LedgerEntry;
  } | {
    readonly mode: "off" | "shadow" | "authoritative";
    readonly entries: readonly LedgerRow[];
  };
  readonly "POST /ledger/assign": {
    readonly mode: "off" | "shadow" | "authoritative";
    readonly entry: LedgerEntry;
  };
  readonly "POST /ledger/release": {
    readonly mode: "off" | "shadow" | "authoritative";
    readonly released: boolean;
  };
  readonly "GET /live": string;
  readonly "POST /mcp/{agent}": McpMessage | string | unknown;
  readonly "GET /mcp/{agent}": unknown;
  readonly "DELETE /mcp/{agent}": unknown;
  readonly "POST /mesh/announce": {
    readonly ok: true;
    readonly id: string;
  };
  readonly "GET /mesh/node": {
    readonly id: string;
    readonly name: string;
  };
  readonly "GET /mesh/peers": {
    readonly peers: readonly Peer[];
    readonly found: readonly {
      readonly name: string;
      readonly url: string;
    }[];
  };
  readonly "POST /mesh/peers/{name}/test": PeerHealth;
  readonly "POST /mesh/task": PeerTaskResult | string | {
    readonly ok: true;
    readonly taskId: string;
  };
  readonly "POST /mesh/task/cancel": {
    readonly cancelled: boolean;
  };
  readonly "GET /metrics": string;
  readonly "GET /nodes": {
    readonly nodes: readonly StoreNode[];
  };
  readonly "POST /notify": {
    readonly channel: string;
    readonly delivery: string;
  };
  readonly "GET /openapi.json": { readonly [name: string]: unknown };
  readonly "GET /panels/{id}": string;
  readonly "GET /plugins": string;
  readonly "GET /presence": {
    readonly presence: readonly Presence[];
  };
  readonly "GET /procedures": {
    readonly procedures: readonly Procedure[];
    readonly unread?: number;
    readonly overfull?: readonly {
      readonly folder: string;
      /** Files beyond those that are read */
      readonly unread: number;
    }[];
  };
  readonly "POST /procedures/extract": {
    readonly pass: ProcedurePass | null;
  };
  readonly "GET /procedures/one": {
    readonly procedure: {
      /** `deploy`, `ada/deploy` of the workspace of the agent ada, `user/deploy` */
      readonly id: string;
      readonly source: "procedures" | "workspace" | "user";
      readonly file: string;
      readonly name: string;
      readonly description: string;
      readonly state: "draft" | "in use" | "broken" | "empty";
      readonly body: string;
      /** It is for these alone */
      readonly agents?: readonly string[];
      /** The group of runs that it was learned from */
      readonly cluster?: string;
      /** Why it cannot be used */
      readonly problem?: string;
    };
  };
  readonly "POST /procedures/promote": {
    readonly procedure: {
      /** `deploy`, `ada/deploy` of the workspace of the agent ada, `user/deploy` */
      readonly id: string;
      readonly source: "procedures" | "workspace" | "user";
      readonly file: string;
      readonly name: string;
      readonly description: string;
      /** It is for these alone */
      readonly agents?: readonly string[];
      /** The group of runs that it was learned from */
      readonly cluster?: string;
      /** Why it cannot be used */
      readonly problem?: string;
    };
  };
  readonly "POST /procedures/reject": {
    readonly id: string;
    /** Where the draft is kept now */
    readonly file: string;
  };
  readonly "GET /processes": string;
  readonly "PUT /push/api/device": undefined;
  readonly "DELETE /push/api/device": undefined;
  readonly "GET /push/api/key": {
    /** Base64url, as browsers subscribe with it */
    readonly publicKey: string;
  };
  readonly "POST /push/api/pair": PushRegistration;
  readonly "GET /push/api/recent": {
    readonly notices: readonly PushNotice[];
  };
  readonly "POST /push/codes": {
    readonly code: string;
    /** Unix time in milliseconds */
    readonly expiresAt: number;
  };
  readonly "GET /push/devices": {
    readonly devices: readonly PushDevice[];
  };
  readonly "DELETE /push/devices/{id}": undefined;
  readonly "POST /push/relay": {
    readonly ok: true;
  };
  readonly "GET /ready": Readiness;
  readonly "POST /reload": ReloadReport;
  readonly "POST /restart": {
    readonly ok: true;
    readonly at: string;
  };
  readonly "POST /send": {
    readonly ok: true;
    readonly messageId: string;
  };
  readonly "GET /setup": string;
  readonly "POST /task": TaskResult | string;
  readonly "GET /tasks": string;
  readonly "GET /tasks/{id}": string;
  readonly "GET /traces": {
    readonly traces: readonly Trace[];
  };
  readonly "GET /traces/{id}": Trace;
  readonly "POST /webhook/forge_a": {
    readonly accepted: number;
  } | undefined;
  readonly "POST /webhook/forge_b": {
    readonly accepted: number;
  } | undefined;
  readonly "POST /webhook/wacli": {
    readonly accepted: true;
  };
  readonly "POST /webhook/{agentId}": WebhookReceipt;
  readonly "POST /webhook/{agentId}/{source}": WebhookReceipt;
  readonly "GET /webhooks": {
    readonly webhooks: readonly Webhook[];
  };
  readonly "POST /webhooks/replay": WebhookReceipt;
  readonly "GET /webhooks/{id}/deliveries": {
    readonly webhook: Webhook;
    readonly deliveries: readonly WebhookDelivery[];
  };
  readonly "POST /webhooks/{id}/test": WebhookReceipt;
  readonly "GET /workflows": string;
  readonly "GET /workflows/editor": string;
  readonly "POST /workflows/{id}/run": {
    readonly runId: string;
    readonly workflowId: string;
    readonly status: "running" | "paused" | "completed" | "failed" | "canceled";
    /** Of what is run; empty where it cannot be */
    readonly hash: string;
    readonly duplicate?: true;
  };
}
