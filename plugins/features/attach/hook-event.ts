/** The hooks that a program calls. */
export type HookName = "session-start" | "prompt" | "stop" | "session-end" | "wait";

/** Stored part of a hook's event: never text of a person or of a model. */
export interface HookEvent {
  readonly hook: HookName;
  readonly program: string;
  readonly version?: string;
  readonly session: string;
  readonly pid?: number;
  readonly cwd: string;
  readonly permissionMode?: string;
  /** The turn, by the program's own id. */
  readonly turn?: string;
  /** Of a session's start: what began it. */
  readonly source?: string;
  /** Of its end: why. */
  readonly reason?: string;
  /** The turn goes on already because a hook has said so. */
  readonly continued: boolean;
  /** The turn was begun by a hook in the background, not by a person. */
  readonly woken: boolean;
}

const LONGEST = 1_000;
/** Marker of a turn that a background hook has begun. */
const WOKEN = "<task-notification>";

/** Parses a hook's request. Undefined if it is not one of ours: broken, empty, or without a session. */
export function readHook(hook: HookName, headers: Readonly<Record<string, string | string[] | undefined>>, body: Uint8Array): HookEvent | undefined {
  const fields = fieldsOf(body);
  if (fields === undefined) return undefined;
  const session = wordOf(fields.session_id);
  if (session === undefined) return undefined;
  const pid = Number(headers["x-svc-pid"]);
  const known = {
    version: wordOf(headers["x-svc-version"]),
    permissionMode: wordOf(fields.permission_mode),
    turn: wordOf(fields.prompt_id) ?? wordOf(fields.turn_id),
    source: wordOf(fields.source),
    reason: wordOf(fields.reason),
    ...(Number.isSafeInteger(pid) && pid > 1 ? { pid } : {}),
  };
  return {
    hook,
    session,
    program: wordOf(headers["x-svc-program"]) ?? "claude",
    cwd: wordOf(fields.cwd) ?? "",
    continued: fields.stop_hook_active === true,
    woken: typeof fields.prompt === "string" && fields.prompt.startsWith(WOKEN),
    ...Object.fromEntries(Object.entries(known).filter(([, value]) => value !== undefined)),
  };
}

function fieldsOf(body: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

const wordOf = (value: unknown): string | undefined => (typeof value === "string" && value !== "" && value.length <= LONGEST ? value : undefined);
