import { type Inbound, type PluginContext, type Rejection, reasonOf } from "@svc/sdk";
import type { CallRow, Place } from "./call-row.ts";
import { fail } from "./errors.ts";
import type { LiveCall } from "./live-call.ts";
import { bare } from "./transcript.ts";

/** Payload of a button: the call and the answer. */
const CHOICE = /^(c[0-9a-f]{12})\.(answer|decline)$/;

type Context = Pick<PluginContext, "agents" | "log" | "tasks">;

/** Tells of a call in chats, with buttons to answer or decline it. A chat that cannot be reached is passed over; resolves with those that were. */
export async function ring(ctx: Context, row: CallRow, places: readonly Place[], until: number): Promise<CallRow["rings"]> {
  const { id, direction } = row;
  const decline = { id: `${id}.decline`, label: direction === "in" ? "Hang up" : "Decline" };
  const choices = direction === "in" ? [decline] : [{ id: `${id}.answer`, label: "Answer" }, decline];
  const rung = places.map(async (target) => {
    try {
      const { id: delivery, sent } = await ctx.tasks.deliver({
        kind: "notice",
        target,
        text: ringWords(ctx, row),
        title: "Call",
        priority: 5,
        agent: row.agent,
        choices,
        choicesUntil: until,
        key: `calls/${id}/ring/${target.channel}/${target.account ?? ""}/${target.chat}`,
      });
      sent.catch((error) => ctx.log.warn({ call: id, channel: target.channel, reason: reasonOf(error) }, "a ring did not arrive"));
      return [{ ...target, delivery }];
    } catch (error) {
      ctx.log.warn({ call: id, channel: target.channel, reason: reasonOf(error) }, "this chat cannot be rung; see channels.webrtc.ringNotify");
      return [];
    }
  });
  return (await Promise.all(rung)).flat();
}

function ringWords({ agents }: Context, { kind, direction, agent, caller, why, ringUntil, at }: CallRow): string {
  const name = bare(agents.get(agent)?.name ?? agent);
  const seconds = Math.round((ringUntil - at) / 1000);
  if (direction === "in") return `${bare(caller)} calls ${name}.`;
  const asks = kind === "camera" ? `${name} asks to see your camera` : `${name} is calling`;
  return `${asks}${why === undefined ? "" : `: ${bare(why)}`}\n\nAnswer within ${seconds} s.`;
}

/** Dependencies of answering on chat. */
export interface Answering {
  readonly ctx: Context;
  live(id: string): LiveCall | undefined;
  /** The row of a call that was there; undefined where no call has that id. */
  row(id: string): Promise<CallRow | undefined>;
  /** Hands it to the daemon that serves the call. False where no other daemon does. */
  leave(row: CallRow, message: Inbound): Promise<boolean>;
  /** A link that lets one page into the call. */
  link(call: LiveCall): Promise<string>;
}

/**
 * Takes what was pressed below a ring; undefined for choices of others. Who answers gets a link in that chat; who comes too late is told so.
 */
export async function takeChoice(message: Inbound, { ctx, live, row, leave, link }: Answering): Promise<Rejection | undefined> {
  const [, id = "", what = ""] = CHOICE.exec(message.choice?.id ?? "") ?? [];
  if (id === "") return undefined;
  const known = await row(id);
  if (known === undefined) return undefined;
  const { channel, chat, account, thread, platformId, sender } = message;
  const who = sender?.name ?? sender?.handle ?? sender?.id ?? "somebody";
  const target = {
    channel,
    chat,
    ...(account === undefined ? {} : { account }),
    ...(thread === undefined ? {} : { thread }),
    ...(platformId === undefined ? {} : { replyTo: platformId }),
  };
  const say = async (text: string, key?: string) => {
    const { sent } = await ctx.tasks.deliver({ kind: "notice", target, text, ...(key === undefined ? {} : { key }) });
    sent.catch((error) => ctx.log.warn({ call: id, channel, reason: reasonOf(error) }, "who answered a call could not be told"));
  };
  const call = live(id);
  if (call === undefined && (await leave(known, message))) return { reject: `it is for the daemon that serves call ${id}` };
  try {
    if (call === undefined) throw fail("SVC_CALLS_OVER", { id, how: known.end?.reason ?? "the daemon was restarted" });
    if (what === "decline") {
      await call.end({ reason: call.row.state === "running" ? "hung up" : "declined", by: who });
      return { reject: `it declines call ${id}` };
    }
    await call.claim(who, channel);
    for (const { delivery } of call.row.rings) await ctx.tasks.closeChoices(delivery, `Answered by ${bare(who)} on ${channel}.`);
    const url = await link(call);
    await say(`Open this to ${call.row.kind === "camera" ? "show your camera" : "talk"}; it opens once, on one device:\n\n${url}`, `calls/${id}/link`);
  } catch (error) {
    if (typeof (error as { status?: unknown }).status !== "number") throw error;
    await say(reasonOf(error));
  }
  return { reject: `it answers call ${id}` };
}
