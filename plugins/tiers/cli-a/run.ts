import { setTimeout as sleep } from "node:timers/promises";
import type { Autonomy, PluginContext, ProgramSettings, TierEvent, Turn, TurnContext } from "@svc/sdk";
import {
  type Fields,
  fieldsOf,
  goneFailure,
  type KeyRelays,
  listOf,
  permissionQuestions,
  type RpcGone,
  runFailure,
  type ToolServers,
  textOf,
  unsentLayers,
} from "@svc/sdk/engine";
import { programSettings } from "@svc/sdk/program-tier";
import { argumentsOf, resuming, SNAPSHOT } from "./arguments.ts";
import { type Answers, type Claude, isGone, openClaude } from "./claude.ts";
import { contentOf } from "./content.ts";
import { environmentOf } from "./environment.ts";
import type { Decision } from "./guard.ts";
import type { GuardLog } from "./guard-log.ts";
import { mayUse } from "./permission.ts";
import { findProgram } from "./program.ts";
import { createReader } from "./reader.ts";
import { type Restricted, restrict } from "./restricted.ts";
import type { SandboxLevels } from "./sandbox-level.ts";
import type { Section } from "./settings.ts";
import type { Switches } from "./switches.ts";
import { withoutKey } from "./vendor.ts";

/** From asking the program to break off until its process tree is ended: short, so that a cancelled run is gone within 4 s. */
const INTERRUPT_MS = 400;

/** Dependencies shared by the runs of a daemon. */
export interface Guarding {
  readonly log: GuardLog;
  readonly sandboxes: SandboxLevels;
  readonly servers: ToolServers;
  readonly keys: KeyRelays;
  switchesOf(program: string): Promise<Switches>;
}

interface Warmed {
  readonly claude: Claude;
  /** Arguments with which the process was started. */
  readonly made: string;
}

/**
 * One turn, top to bottom:
 *
 *   settings and key -> restricted: its boundary -> warm process of the conversation, else a new one -> words in, messages out -> `result`
 *        |                                              (an unknown session: once more without it)          |         |
 *        '-> error, nothing started                                        abort: interrupt, then end the tree |
 *                                                                                       kept warm, or ended <---'
 */
export async function* runTurn(
  ctx: PluginContext<Section>,
  guarding: Guarding,
  turn: Turn,
  context: TurnContext,
  signal: AbortSignal,
): AsyncGenerator<TierEvent> {
  if (signal.aborted) return;
  const { sandboxes, switchesOf, keys } = guarding;
  const { agent } = turn;
  const settings = programSettings(agent);
  const autonomy: Autonomy = turn.messages[0].options?.autonomy ?? "act";
  let restricted: Restricted | undefined;
  try {
    const program = findProgram(ctx.config.command ?? "claude", ctx.env("PATH") ?? "");
    const { env: given } = environmentOf(agent.id, settings, ctx.config, (name) => ctx.env(name));
    const env = autonomy === "act" ? await withoutKey(keys, settings, given) : given;
    const knowsSnapshot = context.session === undefined || (await switchesOf(program)).has(SNAPSHOT);
    if (autonomy !== "act") restricted = await restrict(ctx, sandboxes, { agent, settings, autonomy, program, env, switches: await switchesOf(program) });
    const args = argumentsOf(turn, context, settings, restricted?.restriction);
    if (restricted !== undefined) yield boundaryOf(restricted);
    yield* converse(
      ctx,
      guarding,
      { turn, context, settings, autonomy, program, args, env, knowsSnapshot, ...(restricted === undefined ? {} : { restricted }) },
      signal,
    );
  } catch (error) {
    yield runFailure(error, signal);
  } finally {
    await restricted?.end();
  }
}

/** A turn with all that it was prepared with. */
interface Prepared {
  readonly turn: Turn;
  readonly context: TurnContext;
  readonly settings: ProgramSettings;
  readonly autonomy: Autonomy;
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly knowsSnapshot: boolean;
  readonly restricted?: Restricted;
}

/** Returns the event that records the boundary of the run. */
const boundaryOf = ({ level }: Restricted): TierEvent => ({
  type: "guard",
  level: level.kind,
  ...(level.kind === "wall" ? {} : { reason: level.reason }),
});

async function* converse(ctx: PluginContext<Section>, { log, servers }: Guarding, prepared: Prepared, signal: AbortSignal): AsyncGenerator<TierEvent> {
  const { turn, context, settings, autonomy, program, args, env, knowsSnapshot, restricted } = prepared;
  const { agent, route } = turn;
  const key = settings.persistentProcess && autonomy === "act" ? route.conversation : undefined;
  const made = JSON.stringify([program, args, env, agent.workspace]);
  const blocked: TierEvent[] = [];
  /** Notes about questions to people, among the program's messages. */
  const notes = new WeakMap<Fields, TierEvent>();
  let speaking: Claude | undefined;
  const askPerson = permissionQuestions({
    services: ctx.services,
    turn,
    signal,
    tell(event) {
      const note: Fields = {};
      notes.set(note, event);
      speaking?.note(note);
    },
  });
  const answers: Answers =
    restricted === undefined
      ? {
          async mayUse(tool, input) {
            const { open, ...answer } = mayUse(settings, tool);
            return open && askPerson !== undefined ? askPerson({ tool, input }) : answer;
          },
        }
      : { mayUse: async () => ({ allow: false, reason: "The guard was not asked about this call." }), guard: (tool, input) => guard(restricted, tool, input) };

  async function guard(held: Restricted, tool: string, input: Fields): Promise<Decision> {
    const decision = await held.decide({ tool, input });
    if (!decision.allow) {
      blocked.push({ type: "blocked", tool, reason: decision.reason });
      await log.add({ agent: agent.id, taskId: turn.id, autonomy, tool, reason: decision.reason, guard: held.level.kind });
    }
    return decision;
  }

  /** A call of a tool that the run does not have reaches no hook: the program refuses it itself. */
  async function noteMissing(held: Restricted, message: Fields): Promise<void> {
    if (message.type !== "assistant") return;
    const calls = listOf(fieldsOf(message.message).content).filter((block) => block.type === "tool_use");
    for (const tool of calls.map((block) => textOf(block.name) ?? "")) if (!held.asksAbout(tool)) await guard(held, tool, {});
  }

  let session = context.session;
  for (;;) {
    if (signal.aborted) return;
    const fresh = await unsentLayers(ctx.store, route.conversation, session, context.layers);
    const content = await contentOf(ctx.media, { ...context, layers: fresh.layers });
    const claude = await claim(session);
    speaking = claude;
    const reader = createReader(servers.of(agent.id));
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
        const note = isGone(message) ? undefined : notes.get(message);
        if (note !== undefined) {
          yield note;
          continue;
        }
        refused = session !== undefined && !signal.aborted && knowsNoSession(message, reader.begun);
        if (refused) break;
        if (isGone(message)) {
          yield* blocked.splice(0);
          yield goneFailure(message, signal);
          return;
        }
        over = message.type === "result";
        if (restricted !== undefined) await noteMissing(restricted, message);
        for (const event of reader.read(message)) {
          if (event.type === "session") claude.session = event.id;
          if (event.type === "done") {
            well = true;
            if (claude.session !== undefined) await fresh.keep(claude.session);
          }
          yield* blocked.splice(0);
          yield event;
          if (event.type === "error") return;
        }
      }
    } catch (error) {
      yield runFailure(error, signal);
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
      // The old process must end before another one resumes its session: of two at once, one loses messages.
      await warmed.claude.leave();
    }
    const whole = [...args, ...(resume === undefined ? [] : resuming(resume, knowsSnapshot))];
    const start = restricted?.start(program, whole) ?? { command: program, args: whole, env };
    return openClaude(ctx.spawn, start.command, start.args, {
      cwd: agent.workspace,
      env: start.env,
      taskId: turn.id,
      guarded: restricted !== undefined,
    });
  }

  async function putAway(claude: Claude, over: boolean, well: boolean): Promise<void> {
    if (key !== undefined && over && well && claude.alive) return ctx.warm.keep<Warmed>(key, { claude, made }, () => claude.leave(), claude.ended);
    if (key !== undefined) ctx.warm.drop(key);
    await (over ? claude.leave() : claude.stop());
  }
}

/** The program ended before it took the turn up: the session to go on with is unknown to it. */
const knowsNoSession = (message: Fields | RpcGone, begun: boolean): boolean =>
  !begun &&
  (isGone(message) ? message.kind === "ended" && /no conversation found/i.test(message.end.stderr) : message.type === "result" && message.is_error === true);
