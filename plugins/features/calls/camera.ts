import { type CallSettings, type Collection, channelError, codeOf, type Media, type PluginContext, reasonOf } from "@svc/sdk";
import { fail } from "./errors.ts";
import { sizeOfJpeg } from "./jpeg.ts";
import type { LiveCall } from "./live-call.ts";

/** A picture that was handed to an agent: its task's copy goes when the task has ended. */
export interface FrameRow {
  readonly task: string;
  readonly call: string;
}

/** Frames of camera sessions (CHAN-09). */
export interface Camera {
  /** Asks the page of a session for a frame; answers its number. */
  ask(call: LiveCall): number;
  /** Takes the frame that was asked for under that number, and hands it to the agent as a picture. */
  take(call: LiveCall, n: number, bytes: Uint8Array): Promise<{ readonly taskId: string }>;
  /** The bytes of a frame, for the turn of its message. */
  fetch(media: Media): { readonly data: Uint8Array; readonly type: string };
  begun(call: LiveCall): void;
  ended(call: string): void;
  /** Removes the copies that tasks of before the start have left. */
  sweep(): Promise<void>;
}

interface Session {
  asked: number;
  /** Frames that were asked for, and until when they are taken. */
  readonly waiting: Map<number, number>;
  /** Frames that an agent has not finished with. */
  working: number;
  readonly stops: (() => void)[];
}

/** A frame that was asked for is sent at once or never. */
const ANSWER_MS = 30_000;
/** Frames of a session that wait for their agent; more would be pictures of long ago. */
const MOST_WORKING = 4;
/** Size limit of a picture that is passed to engines. */
export const FRAME_BYTES = 5 * 1024 * 1024;

type Context = Pick<PluginContext, "files" | "jobs" | "log" | "tasks">;

/** Opens the frames of this daemon's sessions. Their bytes are in memory until the agent's turn has them. */
export function createCamera(ctx: Context, rows: Collection<FrameRow>, rules: () => CallSettings["camera"], now: () => number): Camera {
  const sessions = new Map<string, Session>();
  const held = new Map<string, Uint8Array>();

  const sessionOf = (call: LiveCall): Session => {
    const { id, kind } = call.row;
    if (kind !== "camera") throw fail("SVC_CALLS_CAMERA", { id });
    const session = sessions.get(id);
    if (session === undefined) throw fail("SVC_CALLS_NOT_RUNNING", { id });
    return session;
  };

  function ask(call: LiveCall): number {
    const session = sessionOf(call);
    for (const [n, until] of session.waiting) if (until <= now()) session.waiting.delete(n);
    if (session.waiting.size + session.working >= MOST_WORKING) throw fail("SVC_CALLS_FRAMES", { most: MOST_WORKING });
    session.asked += 1;
    session.waiting.set(session.asked, now() + ANSWER_MS);
    call.stream.tell("frame", { n: session.asked, maxEdge: rules().bot.maxFrameEdge });
    return session.asked;
  }

  async function take(call: LiveCall, n: number, bytes: Uint8Array): Promise<{ readonly taskId: string }> {
    const session = sessionOf(call);
    if ((session.waiting.get(n) ?? 0) <= now()) throw fail("SVC_CALLS_FRAME_UNASKED", { n });
    const { width, height } = sizeOfJpeg(bytes);
    const { maxFrameEdge: edge, keepFrames } = rules().bot;
    if (Math.max(width, height) > edge) throw fail("SVC_CALLS_FRAME_SIZE", { width, height, edge });
    session.waiting.delete(n);
    session.working += 1;
    const { id, agent, person, why } = call.row;
    const handle = `${id}/${n}`;
    const name = `frame-${n}.jpg`;
    const at = new Date(now()).toISOString();
    try {
      held.set(handle, bytes);
      await call.change({ frames: call.row.frames + 1 });
      if (keepFrames) await ctx.files.own.write(`frames/${id}/${String(n).padStart(4, "0")}.jpg`, bytes);
      const { taskId } = await ctx.tasks.accept({
        entry: "channel",
        channel: "calls",
        chat: id,
        agent,
        direct: true,
        sender: { id: person, name: person },
        text: `Picture ${n} of the camera session ${id}${why === undefined ? "" : ` (${why})`}, taken ${at}, ${width} x ${height} pixels. Ask for another one with svc_camera_picture.`,
        dedupKey: `calls/${handle}`,
        media: [{ kind: "image", name, type: "image/jpeg", size: bytes.byteLength, handle }],
      });
      await rows.put(taskId, { task: taskId, call: id });
      void finished(taskId, id, handle, session);
      return { taskId };
    } catch (error) {
      held.delete(handle);
      session.working -= 1;
      throw error;
    }
  }

  async function finished(taskId: string, call: string, handle: string, session: Session): Promise<void> {
    await ctx.tasks.result(taskId).catch(() => undefined);
    held.delete(handle);
    session.working -= 1;
    await clean(taskId, call);
  }

  /** The kernel stores files of messages with their task; a frame belongs to its turn only (CHAN-09). A task that continues later keeps its own. */
  async function clean(taskId: string, call: string): Promise<void> {
    try {
      if (ctx.tasks.running().some(({ id }) => id === taskId) || ctx.tasks.queued().some(({ id }) => id === taskId)) return;
      const folder = `media/${taskId}`;
      const files = await ctx.files.data.list(folder).catch(() => []);
      for (const { name, kind } of files) if (kind === "file") await ctx.files.data.remove(`${folder}/${name}`);
      await rows.delete(taskId);
    } catch (error) {
      ctx.log.warn({ call, task: taskId, reason: reasonOf(error) }, "the copy of a frame was not removed; the next start tries again");
    }
  }

  return {
    ask,
    take,
    fetch({ handle = "" }) {
      const data = held.get(handle);
      if (data === undefined) throw channelError("permanent", "the frame is gone: frames are not kept over a restart");
      return { data, type: "image/jpeg" };
    },
    begun(call) {
      const session: Session = { asked: 0, waiting: new Map(), working: 0, stops: [] };
      sessions.set(call.row.id, session);
      const { frameIntervalSeconds } = rules().bot;
      if (frameIntervalSeconds === 0) return;
      const next = () => {
        // The agent is still at the last one: a picture that waits for it would be old when it is looked at.
        if (session.working + session.waiting.size > 0) for (const [n, until] of session.waiting) if (until <= now()) session.waiting.delete(n);
        if (session.working + session.waiting.size === 0) ask(call);
      };
      session.stops.push(ctx.jobs.every(frameIntervalSeconds * 1000, next));
      next();
    },
    ended(call) {
      for (const stop of sessions.get(call)?.stops ?? []) stop();
      sessions.delete(call);
    },
    async sweep() {
      for (const { value } of await rows.list({ limit: 1000 }))
        void ctx.tasks
          .result(value.task)
          .catch((error) => (codeOf(error) === "SVC_TASK_UNKNOWN" ? undefined : Promise.reject(error)))
          .then(() => clean(value.task, value.call))
          .catch(() => undefined);
    },
  };
}
