import type { Group, Person } from "./accounts.ts";
import type { Device } from "./device.ts";
import type { Library } from "./library.ts";
import { type Hello, NoiseServer } from "./noise-server.ts";
import type { LinkedDevice } from "./phone.ts";
import { answerQuery, keyNodes, Refused } from "./queries.ts";
import type { PhoneServer, Said, Waiting } from "./server.ts";

/** One connection of a client. */
export interface Line {
  readonly isOpen: boolean;
  /** What waited has gone out; what is said from now on follows it. */
  caughtUp: boolean;
  /** The first word of a client that asks for a code. */
  hello: Library | undefined;
  opened: (() => void) | undefined;
  send(node: Library): Promise<void>;
  /** The phone has linked this client. */
  offer(linked: LinkedDevice): Promise<void>;
  fail(code: string, reason: Library): Promise<void>;
  cut(): void;
}

interface LineDeps {
  readonly server: PhoneServer;
  readonly socket: Library;
  /** The device of the number's owner. */
  readonly owner: Device;
  nodeOf(message: { from: Person; group: Group | undefined; message: Library; id: string; at: string }, anew?: boolean): Promise<Library>;
  deliver(entry: Waiting): Promise<void>;
  inOrder<T>(work: () => Promise<T>): Promise<T>;
  historyOf(past: readonly Said[], chat: string, request: string): Promise<void>;
  finishCode(stage: Library, identity: Buffer, noiseKey: Buffer): LinkedDevice | undefined;
}

const receiptName = ({ id, from, participant = "" }: Record<string, string>): string => [id, from, participant].join(" ");

const now = () => String(Math.floor(Date.now() / 1_000));

/** Speaks to one client until it goes. */
export function openLine(deps: LineDeps): Line {
  const { server, socket, owner, nodeOf, deliver, inOrder, historyOf } = deps;
  const { lib, own, accounts, asked } = server;
  const noise = new NoiseServer(lib);
  let stage: "hello" | "finish" | "nodes" = "hello";
  let client: Hello | undefined;
  let pending: LinkedDevice | undefined;
  let open = false;
  let incoming: Promise<unknown> = Promise.resolve();

  const send = (node: Library): Promise<void> =>
    new Promise((resolve) => {
      if (socket.readyState !== 1 || stage !== "nodes") return resolve();
      socket.send(noise.write(node), () => resolve());
    });

  async function begin(): Promise<void> {
    const { username, device, devicePairingData } = client?.payload ?? {};
    if (devicePairingData?.eIdent?.length) {
      await send({
        tag: "iq",
        attrs: { from: "s.whatsapp.net", type: "set", id: "pair-device" },
        content: [
          { tag: "pair-device", attrs: {}, content: Array.from({ length: 6 }, (_, n) => ({ tag: "ref", attrs: {}, content: Buffer.from(`2@ref-${n}`) })) },
        ],
      });
      return;
    }
    const { linked } = server;
    const known =
      linked !== undefined && String(username) === own.number && device === own.device && linked.noiseKey.equals(Buffer.from(client?.noiseKey ?? []));
    if (!known) {
      await send({ tag: "failure", attrs: { reason: "401", location: "frc" } });
      socket.close();
      return;
    }
    open = true;
    line.opened?.();
    await send({ tag: "success", attrs: { t: now(), lid: `${own.hidden.split("@")[0]}:${own.device}@lid`, creation: "1700000000" } });
    await inOrder(async () => {
      line.caughtUp = true;
      for (const entry of [...server.waiting]) await send({ ...entry.node, attrs: { ...entry.node.attrs, offline: "1" } });
      for (const receipt of [...server.receipts.values()]) await send({ ...receipt, attrs: { ...receipt.attrs, offline: "1" } });
      await send({ tag: "ib", attrs: { from: "s.whatsapp.net" }, content: [{ tag: "offline", attrs: { count: String(server.waiting.length) } }] });
    });
  }

  async function query(node: Library): Promise<void> {
    const [child] = Array.isArray(node.content) ? node.content : [];
    if (child?.tag === "pair-device-sign") {
      pending?.verify(lib.getBinaryNodeChild(child, "device-identity").content);
      server.linked = pending;
      await line.fail("515", { tag: "restart", attrs: {} });
      return;
    }
    if (node.attrs.type === "result") return;
    if (node.attrs.xmlns === "w:g2") server.groupReads.push({ group: node.attrs.to, at: Date.now() });
    try {
      const answer = answerQuery(node, {
        lib,
        accounts,
        own,
        uploaded: (bundles) => server.bundles.push(...bundles),
        left: () => (server.bundles.length > 0 ? 30 : 0),
        ownerBundle: () => owner.freshBundle(),
        mediaHost: () => server.mediaUrl.replace("http://", ""),
        linkByCode: (asked) => code(asked),
      });
      await send({
        tag: "iq",
        attrs: { from: node.attrs.to ?? "s.whatsapp.net", id: node.attrs.id, type: "result", t: now(), ...answer?.attrs },
        ...(answer?.content === undefined ? {} : { content: answer.content }),
      });
      if (child?.attrs.stage === "companion_finish") {
        const linked = deps.finishCode(child, Buffer.from(client?.payload.devicePairingData.eIdent), client?.noiseKey as Buffer);
        if (linked !== undefined) await line.offer(linked);
      }
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      server.refused.push(error.message);
      await send({
        tag: "iq",
        attrs: { from: node.attrs.to ?? "s.whatsapp.net", id: node.attrs.id, type: "error" },
        content: [{ tag: "error", attrs: { code: "404", text: error.message } }],
      });
    }
  }

  function code(asked: Library): Library | undefined {
    if (asked.attrs.stage === "companion_hello") line.hello = asked;
    return asked.attrs.stage === "companion_hello"
      ? {
          tag: "link_code_companion_reg",
          attrs: { stage: "companion_hello" },
          content: [{ tag: "link_code_pairing_ref", attrs: {}, content: Buffer.from("ref") }],
        }
      : undefined;
  }

  /** The device has a message, or refuses it. */
  async function settled(node: Library): Promise<void> {
    const { id, error, type } = node.attrs;
    const at = server.waiting.findIndex((entry) => entry.id === id);
    const entry = server.waiting[at];
    if (node.tag === "receipt" && type === "retry" && entry !== undefined) {
      entry.again = true;
      const { from, group, message } = entry;
      entry.node = await nodeOf({ from, group, message, id, at: entry.node.attrs.t }, true);
      entry.node.content[0].attrs.count = "1";
      await deliver(entry);
      return;
    }
    if (error !== undefined) {
      // What was acknowledged before is no loss: it is a message that came once more.
      if (entry === undefined || entry.again) return;
      server.nacks.push(`${id}:${error}`);
    }
    if (entry !== undefined) server.waiting.splice(at, 1);
  }

  async function message(node: Library): Promise<void> {
    const { id, to } = node.attrs;
    server.writes += 1;
    const fault = server.fault?.();
    if (typeof fault === "object") return send({ tag: "ack", attrs: { class: "message", id, from: to, t: now(), error: fault.error } });
    if (fault === "hang") return;
    await take(node);
    if (fault === "cut") return line.cut();
    await send({ tag: "ack", attrs: { class: "message", id, from: to, t: now() } });
  }

  async function take(node: Library): Promise<void> {
    const { id, to, category } = node.attrs;
    // Under whichever of the account's two addresses it comes, it is the same device with the same session.
    const sender = `${own.number}:${own.device}@s.whatsapp.net`;
    if (category === "peer") return peer(node, id);
    const group = accounts.groups.get(to);
    const person = group === undefined ? accounts.find(to) : undefined;
    if (group === undefined && person === undefined) throw new Error(`a message to nobody: ${to}`);
    const parts = lib.getBinaryNodeChildren(lib.getBinaryNodeChild(node, "participants"), "to");
    const direct = lib.getBinaryNodeChild(node, "enc");
    const envelopes: [string, Library][] = parts.map((part: Library) => [part.attrs.jid, lib.getBinaryNodeChild(part, "enc")]);
    if (direct !== undefined && direct.attrs.type !== "skmsg") envelopes.push([node.attrs.participant ?? to, direct]);
    for (const [jid, enc] of envelopes) {
      const reader = accounts.find(jid);
      if (reader === undefined) {
        // The owner's own phone: it shows what its other device has written.
        await owner.open(sender, enc.attrs.type, enc.content).catch(() => askAgain(node, jid, undefined, to));
        continue;
      }
      try {
        const opened = await reader.device.open(sender, enc.attrs.type, enc.content);
        if (opened.senderKeyDistributionMessage) await reader.device.learnGroup(sender, opened.senderKeyDistributionMessage);
        await show(group?.id ?? reader.number, id, opened);
      } catch {
        await askAgain(node, jid, group);
      }
    }
    if (direct?.attrs.type === "skmsg" && group !== undefined)
      for (const member of group.members) {
        try {
          await show(group.id, id, await member.device.openGroup(group.id, sender, direct.content));
        } catch {
          await askAgain(node, member.address, group);
        }
      }
  }

  async function show(chat: string, id: string, opened: Library): Promise<void> {
    const content = lib.normalizeMessageContent(opened);
    const described = content?.imageMessage ?? content?.videoMessage ?? content?.audioMessage ?? content?.documentMessage;
    const kind = content?.imageMessage ? "image" : content?.videoMessage ? "video" : content?.audioMessage ? "audio" : "document";
    const bytes = described ? await server.files.open(described, kind) : undefined;
    server.chats.take(chat, id, opened, () => bytes);
  }

  /** A device cannot open a message: it asks for it again, from the second time on with keys for a new session, and gives up after the fifth. */
  const askAgain = async (node: Library, jid: string, group: Group | undefined, recipient?: string): Promise<void> => {
    const { id } = node.attrs;
    server.unopened.push(id);
    const name = `${id} ${jid}`;
    const count = (asked.get(name) ?? 0) + 1;
    asked.set(name, count);
    if (count > 5) return void server.unreadable.push(name);
    const device = recipient === undefined ? accounts.find(jid)?.device : owner;
    if (device === undefined) throw new Error(`nobody is ${jid}`);
    const registration = Buffer.alloc(4);
    registration.writeUInt32BE(device.bundle.registrationId);
    const from = group?.id ?? jid;
    const receipt = {
      tag: "receipt",
      attrs: {
        id,
        from,
        type: "retry",
        t: now(),
        ...(group === undefined ? {} : { participant: jid }),
        ...(recipient === undefined ? {} : { recipient }),
      },
      content: [
        { tag: "retry", attrs: { count: String(count), id, t: now(), v: "1" } },
        { tag: "registration", attrs: {}, content: registration },
        ...(count === 1 ? [] : [{ tag: "keys", attrs: {}, content: keyNodes(device.freshBundle()) }]),
      ],
    };
    // It waits like a message for a device that is away.
    server.receipts.set(receiptName(receipt.attrs), receipt);
    if (!server.holdsReceipts) await send(receipt);
  };

  /** The device asks its owner's phone for something. */
  async function peer(node: Library, id: string): Promise<void> {
    const enc =
      lib.getBinaryNodeChild(node, "enc") ?? lib.getBinaryNodeChild(lib.getBinaryNodeChildren(lib.getBinaryNodeChild(node, "participants"), "to")[0], "enc");
    const opened = await owner.open(`${own.number}:${own.device}@s.whatsapp.net`, enc.attrs.type, enc.content);
    const whole = opened.deviceSentMessage?.message ?? opened;
    const asked = whole.protocolMessage?.peerDataOperationRequestMessage?.historySyncOnDemandRequest;
    if (!asked) return;
    server.reads.push({ chat: asked.chatJid, count: asked.onDemandMsgCount, at: Date.now() });
    const past = server.history?.(asked.chatJid, asked.onDemandMsgCount);
    if (past !== undefined) setImmediate(() => void inOrder(() => historyOf(past, asked.chatJid, id)));
  }

  async function handle(node: Library): Promise<void> {
    if (node.tag === "iq") return query(node);
    if (node.tag === "message") return message(node);
    if (node.tag === "receipt" || (node.tag === "ack" && node.attrs.class === "message")) return settled(node);
    if (node.tag === "ack" && node.attrs.class === "receipt") server.receipts.delete(receiptName({ ...node.attrs, from: node.attrs.to }));
    if (!["ack", "presence", "chatstate", "ib"].includes(node.tag)) server.refused.push(node.tag);
  }

  socket.on("message", (data: Buffer) => {
    incoming = incoming.then(async () => {
      try {
        for (const frame of noise.frames(data)) {
          if (stage === "hello") {
            socket.send(noise.answer(frame));
            stage = "finish";
          } else if (stage === "finish") {
            client = noise.finish(frame);
            stage = "nodes";
            await begin();
          } else await handle(await noise.read(frame));
        }
      } catch (error) {
        server.refused.push(String(error));
        socket.close();
      }
    });
  });
  socket.on("error", () => {});

  const line: Line = {
    get isOpen() {
      return open;
    },
    caughtUp: false,
    hello: undefined,
    opened: undefined,
    send,
    async offer(linked) {
      pending = linked;
      await send(linked.success);
    },
    async fail(why, reason) {
      await send({ tag: "stream:error", attrs: { code: why }, content: [reason] });
      socket.close();
    },
    cut: () => socket.terminate(),
  };
  return line;
}
