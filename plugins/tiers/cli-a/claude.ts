import { setTimeout as sleep } from "node:timers/promises";
import { type ChildEnd, type Spawn, svcError } from "@svc/sdk";
import { createInbox, type Fields, fieldsOf, type RpcGone, textOf } from "@svc/sdk/engine";
import { readLine } from "./lines.ts";

/** An answer to a question of the program. */
export interface Answer {
  readonly allow: boolean;
  readonly reason: string;
  readonly input?: Fields;
}

/** Callbacks that answer the program's questions. */
export interface Answers {
  /** May this tool run? Asked where the program's own permission mode does not decide; waited for, since a person may be asked. */
  mayUse(tool: string, input: Fields): Promise<Answer>;
  /** Set on restricted runs: asked before every tool call, whatever the program's own mode and settings say. Its `input` runs in the call's place. */
  guard?(tool: string, input: Fields): Promise<Answer>;
}

/** One running Claude Code process and its control protocol. One turn at a time. */
export interface Claude {
  /** The native session that it holds, once it has told. */
  session?: string;
  readonly alive: boolean;
  readonly ended: Promise<ChildEnd>;
  /** Rejects with `SVC_SPAWN_FAILED`, or with `SVC_TIER_HANDSHAKE` when the protocol is not answered in time. */
  ready(): Promise<void>;
  /** Sends the content and yields the messages up to and including the `result`, or why there is none. */
  turn(content: readonly Fields[], answers: Answers): AsyncIterable<Fields | RpcGone>;
  /** Puts a message of our own among those of the turn. */
  note(message: Fields): void;
  /** Asks it to break off the turn; the `result` still comes. */
  interrupt(): void;
  /** Says good-bye, waits a little, and ends the process tree. Resolves when it is gone. */
  leave(): Promise<void>;
  /** Ends the process tree. */
  stop(): Promise<void>;
}

const HANDSHAKE_MS = 30_000;
const ANSWER_MS = 5_000;
const LEAVE_MS = 2_000;
/** A message holds a whole tool result, pictures included, which may be larger than the usual limit of a line. */
const LINE_BYTES = 8 * 1024 * 1024;
/** Lines in a row that are no messages: a program that prints only these is not the one we speak with. */
const NOISE_LIMIT = 100;
const GUARD = "guard";

/** Starts the program. Nothing is awaited: `ready` tells whether it came up. */
export function openClaude(
  spawn: Spawn,
  program: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env: Readonly<Record<string, string>>; readonly taskId: string; readonly guarded: boolean },
): Claude {
  const inbox = createInbox<Fields | RpcGone>();
  let answers: Answers | undefined;
  let alive = true;
  let noise = 0;
  let requests = 0;
  let welcome!: { resolve: () => void; reject: (error: unknown) => void };
  const welcomed = new Promise<void>((resolve, reject) => {
    welcome = { resolve, reject };
  });
  welcomed.catch(() => undefined);

  const child = spawn(program, args, { cwd: options.cwd, env: options.env, stdin: "pipe", taskId: options.taskId, maxLineBytes: LINE_BYTES, onLine: take });
  const handshake = setTimeout(
    () =>
      welcome.reject(svcError("SVC_TIER_HANDSHAKE", `tier cli-a: ${program} did not answer within ${HANDSHAKE_MS / 1000} s; is it Claude Code 2.1 or newer?`)),
    HANDSHAKE_MS,
  );
  child.started.catch((error) => welcome.reject(error));
  void child.ended.then((end) => {
    alive = false;
    clearTimeout(handshake);
    welcome.resolve();
    inbox.push({ kind: "ended", end });
  });

  /** False where it did not reach the program; one that has ended tells so itself. */
  const send = (message: Fields): Promise<boolean> =>
    child.write(`${JSON.stringify(message)}\n`).then(
      () => true,
      () => false,
    );
  const request = (body: Fields): void => void send({ type: "control_request", request_id: `svc_${++requests}`, request: body });
  const respond = (id: string, response: Fields): Promise<boolean> =>
    send({ type: "control_response", response: { subtype: "success", request_id: id, response } });

  function take(line: string): void {
    const message = readLine(line);
    if (typeof message === "object") noise = 0;
    if (message === "broken" || (message === undefined && line.trim() !== "" && ++noise > NOISE_LIMIT)) {
      inbox.push({ kind: "broken", why: line.slice(0, 120) });
    } else if (message?.type === "control_response") {
      clearTimeout(handshake);
      const response = fieldsOf(message.response);
      if (response.subtype === "error")
        welcome.reject(svcError("SVC_TIER_HANDSHAKE", `tier cli-a: ${program} refused the control protocol: ${String(response.error)}`));
      else welcome.resolve();
    } else if (message?.type === "control_request") {
      void answer(textOf(message.request_id) ?? "", fieldsOf(message.request));
    } else if (message !== undefined) inbox.push(message);
  }

  async function answer(id: string, asked: Fields): Promise<void> {
    if (asked.subtype === "can_use_tool") {
      const { allow, reason } = await judge(answers?.mayUse, Number.POSITIVE_INFINITY, textOf(asked.tool_name) ?? "", fieldsOf(asked.input));
      void respond(id, allow ? { behavior: "allow", updatedInput: fieldsOf(asked.input) } : { behavior: "deny", message: reason });
    } else if (asked.subtype === "hook_callback") {
      const call = fieldsOf(asked.input);
      const judged = await judge(answers?.guard, ANSWER_MS, textOf(call.tool_name) ?? "", fieldsOf(call.tool_input));
      const arrived = await respond(id, hookAnswer(judged));
      // Denied either way; a run whose guard is down does not go on (FAULT-75).
      if (!arrived || judged.failed)
        inbox.push({ kind: "broken", why: `the guard of this restricted run is down: ${arrived ? judged.reason : "its answer did not arrive"}` });
    } else void send({ type: "control_response", response: { subtype: "error", request_id: id, error: `not offered: ${String(asked.subtype)}` } });
  }

  request({
    subtype: "initialize",
    hooks: options.guarded ? { PreToolUse: [{ matcher: "*", hookCallbackIds: [GUARD], timeout: (ANSWER_MS * 4) / 1000 }] } : null,
  });

  return {
    get alive() {
      return alive;
    },
    ended: child.ended,
    async ready() {
      await child.started;
      // A guard that is not confirmed is no guard; the others need not wait.
      if (options.guarded) await welcomed;
      else welcomed.catch((error) => inbox.push({ kind: "broken", why: (error as Error).message }));
    },
    async *turn(content, given) {
      answers = given;
      // Drop messages that the program sent between the turns.
      inbox.retain(isGone);
      void send({ type: "user", message: { role: "user", content } });
      for (;;) {
        const message = await inbox.next();
        yield message;
        if (isGone(message) || message.type === "result") return;
      }
    },
    note: (message) => inbox.push(message),
    interrupt: () => request({ subtype: "interrupt" }),
    async leave() {
      child.closeStdin();
      await Promise.race([child.ended, sleep(LEAVE_MS, undefined, { ref: false })]);
      await child.stop();
      await child.ended;
    },
    async stop() {
      await child.stop();
      await child.ended;
    },
  };
}

/** The program is gone, or cannot be understood: no message of it. */
export const isGone = (message: Fields | RpcGone): message is RpcGone =>
  "kind" in message && (message.kind === "ended" || message.kind === "broken") && !("type" in message);

/** An answer; `failed` where there was none and it is no for that. */
type Judged = Answer & { readonly failed?: true };

/** No answer in time, no rule or a rule that throws: no. */
async function judge(rule: ((tool: string, input: Fields) => Promise<Answer>) | undefined, patience: number, tool: string, input: Fields): Promise<Judged> {
  const no = (reason: string): Judged => ({ allow: false, reason, failed: true });
  if (rule === undefined) return no("no turn is running");
  try {
    const answer = rule(tool, input);
    if (patience === Number.POSITIVE_INFINITY) return wellFormed(await answer);
    return wellFormed(await Promise.race([answer, sleep(patience, no("the service did not decide in time"), { ref: false })]));
  } catch (error) {
    return no(`the service could not decide: ${(error as Error).message}`);
  }
}

/** A hook's answer that the program cannot read counts as none: then its own mode decides. So it is looked at before it is sent. */
function wellFormed(answer: Judged): Judged {
  const { allow, reason, input } = answer;
  const readable = typeof allow === "boolean" && typeof reason === "string" && (input === undefined || isFields(input));
  return readable ? answer : { allow: false, reason: "the service gave no answer that can be read", failed: true };
}

const isFields = (value: unknown): boolean => typeof value === "object" && value !== null && !Array.isArray(value);

/** The decision always stands in it: an answer without one leaves the call to the program's own mode. */
export const hookAnswer = ({ allow, reason, input }: Answer): Fields => ({
  hookSpecificOutput: {
    hookEventName: "PreToolUse",
    permissionDecision: allow ? "allow" : "deny",
    ...(allow ? (input === undefined ? {} : { updatedInput: input }) : { permissionDecisionReason: reason }),
  },
});
