import type { PluginContext } from "@svc/sdk";
import type { Contact, WAMessage } from "@whiskeysockets/baileys";
import { type Heard, heardOf } from "./heard.ts";
import type { Directory } from "./ingest/directory.ts";
import { type People, partsOf } from "./people.ts";
import { agentFor, refusalOf } from "./routing.ts";
import type { Settings } from "./settings.ts";
import type { Vendor } from "./vendor.ts";

/** Handling of incoming messages. */
export interface Inbound {
  /** Takes a message; a second time it is known. Rejects while it cannot be kept. */
  hear(message: WAMessage): Promise<void>;
}

/** Dependencies of the handling. */
export interface InboundDeps {
  readonly vendor: Vendor;
  readonly people: People;
  readonly directory: Directory;
  /** The linked account; none before a phone is linked. */
  own(): Pick<Contact, "id" | "lid"> | undefined;
}

const RECENT = 1_000;

/** Makes the way of a message from the platform to the kernel: who may write, to whom it goes. */
export function createInbound(ctx: Pick<PluginContext<Settings>, "config" | "events" | "tasks">, { vendor, people, directory, own }: InboundDeps): Inbound {
  const { config } = ctx;
  const recent = new Set<string>();
  const namedGroups = (config.routes ?? []).some((route) => route.group !== undefined);

  /** Resolves with false for a message that addresses no agent. */
  async function take(whole: WAMessage): Promise<boolean> {
    const me = own();
    if (me === undefined) return false;
    const ids = { number: partsOf(me.id).user, ...(me.lid === undefined ? {} : { hidden: partsOf(me.lid).user }) };
    const heard = await heardOf(whole, ids, people, vendor);
    if (heard === undefined) return false;
    await route(heard);
    return true;
  }

  async function route({ message, sender, group }: Heard): Promise<void> {
    const refusal = refusalOf(sender, config.allowFrom);
    if (refusal !== undefined) return drop(message.platformId, refusal);
    const groupName = group === undefined ? undefined : await directory.groupName(group, namedGroups);
    const agent = agentFor(config, { sender, ...(group === undefined ? {} : { group }), ...(groupName === undefined ? {} : { groupName }) });
    if (agent === undefined) return drop(message.platformId, "no route fits and there is no defaultAgent");
    try {
      await ctx.tasks.accept({ ...message, agent, ...(groupName === undefined ? {} : { facts: { chatTitle: groupName } }) });
    } catch (error) {
      const { status = 500, message: reason } = error as { status?: number; message: string };
      // A message that the kernel will never accept must not block later ones.
      if (status < 400 || status >= 500) throw error;
      drop(message.platformId, reason);
    }
  }

  /** CHAN-08: each message that is not handed over is told of once. */
  function drop(platformId: string | undefined, reason: string): void {
    ctx.events.root(() =>
      ctx.events.publish({
        kind: "message",
        type: "message:dropped",
        summary: `phonemsg message dropped: ${reason}`,
        ...(platformId === undefined ? {} : { ref: platformId }),
        data: { channel: "phonemsg", reason },
      }),
    );
  }

  return {
    async hear(message) {
      const { remoteJid, participant, id } = message.key;
      const key = `${remoteJid}/${participant ?? ""}/${id}`;
      if (recent.has(key)) return;
      await directory.saw(message);
      // One message may come in parts, a key for its group before its words: only what was said makes it known.
      if (!(await take(message))) return;
      recent.add(key);
      if (recent.size > RECENT) recent.delete(recent.values().next().value as string);
    },
  };
}
