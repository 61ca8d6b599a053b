import type { Envelope, Outgoing } from "@svc/sdk";
import { afterEach } from "vitest";
import { FRIEND } from "./bot-api.harness.ts";
import { render, type Stage, setStage, until } from "./botmsg.harness.ts";

export const stages: Stage[] = [];
export async function stage(options?: Parameters<typeof setStage>[0]): Promise<Stage> {
  const made = await setStage(options);
  stages.push(made);
  await made.start();
  return made;
}
afterEach(async () => {
  for (const one of stages.splice(0)) await one.stop();
});

export const ADA = FRIEND.id;
export const texts = ({ context }: Stage) => context.tasks.accepted.map(({ text }) => text);
export const drops = ({ context }: Stage) => context.events.published.filter(({ type }: Envelope) => type === "message:dropped");
export const reasons = (one: Stage) => drops(one).map(({ data }) => data?.reason);
export const channelOf = ({ context }: Stage) => context.registered.channels[0]!.channel;
let keys = 0;
export const out = (text: string, more: Partial<Outgoing> = {}): Outgoing => ({
  target: { channel: "botmsg", account: "main", chat: String(ADA) },
  text,
  plain: render.to("plain", text),
  key: `k${++keys}`,
  ...more,
});
export const send = (one: Stage, outgoing: Outgoing) => channelOf(one).send(outgoing, new AbortController().signal);
export const heard = (one: Stage, count: number) => until(() => one.context.tasks.accepted.length + drops(one).length >= count);
