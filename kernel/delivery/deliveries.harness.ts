import type { Delivery } from "@svc/sdk";
import { afterEach } from "vitest";
import { type FarEnd, openWorld, type World } from "./deliver.harness.ts";

export const open: World[] = [];
export async function world(far: FarEnd, options?: Parameters<typeof openWorld>[1]): Promise<World> {
  const made = await openWorld(far, options);
  open.push(made);
  return made;
}
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

export const proactive = (text: string, chat = "c1"): Omit<Delivery, "id"> => ({ kind: "proactive", target: { channel: "acme", chat }, text });
export const size = ({ store }: World) => store.scope("core").queue("outbox/acme").size();
export const reply = (id: string, text: string, chat = "c1"): Delivery => ({
  id,
  kind: "reply",
  taskId: `task_${id}`,
  target: { channel: "acme", chat },
  text,
});
export const DAY_MS = 86_400_000;
export const connectionCut = () => {
  throw Object.assign(new Error("socket hang up"), { failure: "unknown" });
};
