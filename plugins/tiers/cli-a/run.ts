import { setTimeout as sleep } from "node:timers/promises";
import type { ChildEnd, PluginContext, SvcError, TierEvent, Turn, TurnContext } from "@svc/sdk";
import { argumentsOf, resuming } from "./arguments.ts";
import { type Answers, type Claude, type Cut, isCut, openClaude } from "./claude.ts";
import { contentOf } from "./content.ts";
import { childEnvironment } from "./environment.ts";
import { type Autonomy, decide } from "./guard.ts";
import type { GuardLog } from "./guard-log.ts";
import type { Fields } from "./lines.ts";
import { mayUse } from "./permission.ts";
import { findProgram } from "./program.ts";
import { createReader } from "./reader.ts";
import { readAgent, type Section } from "./settings.ts";

/** From asking the program to break off until its process tree is ended: short, so that a cancelled run is gone within 4 s. */
const INTERRUPT_MS = 400;

interface Warmed {
  readonly claude: Claude;
  /** What the process was started with. */
  readonly made: string;
}

/**
 * One turn, top to bottom:
 *
 *   settings and key -> warm process of the conversation, else a new one -> words in, messages out -> `result`
 *        |                   (an unknown session: once more without it)          |         |
 *        '-> error, nothing started                     abort: interrupt, then end the tree |
 *                                                                  kept warm, or ended <---'
 */
export async function* runTurn(ctx: PluginContext<Section>, log: GuardLog, turn: Turn, context: TurnContext, signal: AbortSignal): AsyncGenerator<TierEvent> {
  if (signal.aborted) return;
  const { agent, route } = turn;
  const settings = readAgent(agent);
  const autonomy: Autonomy = turn.messages[0].options?.autonomy ?? "act";
  const key = settings.persistentProcess && autonomy === "act" ? route.conversation : undefined;
  let program: string;
  let env: Record<string, string>;
  try {
    program = findProgram(ctx.config.command ?? "claude", ctx.env("PATH") ?? "");
    env = childEnvironment(agent.id, settings, ctx.config, (name) => ctx.env(name));
  } catch (error) {
    yield failed(error);
    return;
  }
  const content = await contentOf(ctx.media, context);
  const args = argumentsOf(turn, context, settings, autonomy);
  const made = JSON.stringify([program, args, env, agent.workspace]);
  const blocked: TierEvent[] = [];
  const answers: Answers = {
    mayUse: async (tool, input) =>
      autonomy === "act" || (await guard(tool, input)).allow ? mayUse(settings, tool) : { allow: false, reason: "refused by the guard" },
    ...(autonomy === "act" ? {} : { guard }),
  };
  async function guard(tool: string, input: Fields): Promise<{ allow: boolean; reason: string }> {
    const decision = await decide(autonomy, { tool, input, workspace: agent.workspace });
    if (!decision.allow) {
      blocked.push({ type: "blocked", tool, reason: decision.reason });
      await log.add({ agent: agent.id, taskId: turn.id, autonomy, tool, reason: decision.reason });
    }
    return decision;
  }

  let session = context.session;
  for (;;) {
    if (signal.aborted) return;
    const claude = await claim(session);
    const reader = createReader();
    let over = false;
    let well = false;
    let refused = false;
    const interrupt = () => {
      claude.interrupt();
      void sleep(INTERRUPT_MS, undefined, { ref: false }).then(() => (over ? undefined : claude.stop()));
    };
    signal.addEventListener("abort", interrupt, { once: true });
    if (signal.aborted) interrupt();
    try {
      await claude.ready();
      for await (const message of claude.turn(content, answers)) {
        refused = session !== undefined && !signal.aborted && knowsNoSession(message, reader.begun);
        if (refused) break;
        if (isCut(message)) {
          yield* blocked.splice(0);
          yield cutShort(message, signal);
          return;
        }
        over = message.type === "result";
        for (const event of reader.read(message)) {
          if (event.type === "session") claude.session = event.id;
          if (event.type === "done") well = true;
          yield* blocked.splice(0);
          yield event;
          if (event.type === "error") return;
        }
      }
    } catch (error) {
      yield failed(error);
    } finally {
      signal.removeEventListener("abort", interrupt);
      await putAway(claude, over && !signal.aborted, well);
    }
    if (!refused) return;
    ctx.log.info({ agent: agent.id, session }, "the native session is gone; starting a new one");
    session = undefined;
  }

  /** The warm process of the conversation when it fits, else a new one. */
  async function claim(resume: string | undefined): Promise<Claude> {
    const warmed = key === undefined ? undefined : ctx.warm.take<Warmed>(key);
    if (warmed !== undefined) {
      if (warmed.claude.alive && warmed.made === made && resume !== undefined && warmed.claude.session === resume) return warmed.claude;
      // It must be gone before another one goes on with its session: of two at once, one loses what was said.
      await warmed.claude.leave();
    }
    return openClaude(ctx.spawn, program, [...args, ...(resume === undefined ? [] : resuming(resume))], {
      cwd: agent.workspace,
      env,
      taskId: turn.id,
      guarded: autonomy !== "act",
    });
  }

  async function putAway(claude: Claude, over: boolean, well: boolean): Promise<void> {
    if (key !== undefined && over && well && claude.alive) return ctx.warm.keep<Warmed>(key, { claude, made }, () => claude.leave(), claude.ended);
    if (key !== undefined) ctx.warm.drop(key);
    await (over ? claude.leave() : claude.stop());
  }
}

/** The program ended before it took the turn up: the session to go on with is unknown to it. */
const knowsNoSession = (message: Fields | Cut, begun: boolean): boolean =>
  !begun &&
  (isCut(message) ? message.kind === "ended" && /no conversation found/i.test(message.end.stderr) : message.type === "result" && message.is_error === true);

function failed(error: unknown): TierEvent {
  const { code, message } = error as SvcError;
  return { type: "error", kind: code?.startsWith("SVC_BILLING") ? "billing" : code === "SVC_TIER_HANDSHAKE" ? "protocol" : "start", message };
}

/** The program went away, or speaks nonsense, before it told a result: its exit code is no answer. */
function cutShort(cut: Cut, signal: AbortSignal): TierEvent {
  if (signal.aborted) return { type: "error", kind: "cancelled", message: "The run was ended." };
  if (cut.kind === "broken") return { type: "error", kind: "protocol", message: `The program's output cannot be read: ${cut.line}` };
  if (cut.end.reason === "protocol") return { type: "error", kind: "protocol", message: "The program printed a line longer than 8 MB." };
  return { type: "error", kind: "no-result", message: `The program ended without a result (${howItEnded(cut.end)}).${lastWords(cut.end)}` };
}

const howItEnded = ({ code, signal }: ChildEnd): string => (signal === null ? `exit code ${code}` : `signal ${signal}`);
const lastWords = ({ stderr }: ChildEnd): string => (stderr.trim() === "" ? "" : ` It said: ${stderr.trim().slice(-400)}`);
