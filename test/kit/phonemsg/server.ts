import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { deflateSync } from "node:zlib";
import { type Accounts, createAccounts, type Group, type Person } from "./accounts.ts";
import { type Chats, createChats } from "./chats.ts";
import { type Bundle, createDevice } from "./device.ts";
import { createFileStore, type FileStore } from "./files.ts";
import { type Library, library, socketServer } from "./library.ts";
import { type Line, openLine } from "./line.ts";
import { createPhone, type LinkedDevice } from "./phone.ts";

/** How a send of the client fails: refused with a code, taken and then the connection cut, or never answered. */
export type Fault = { readonly error: string } | "cut" | "hang";

/** What somebody says. */
export interface Said {
  readonly from: Person;
  readonly group?: Group;
  readonly text?: string;
  /** In place of a text. */
  readonly message?: Library;
  readonly id?: string;
  /** Seconds since 1970. */
  readonly at?: number;
}

/** A message on its way to the linked device; kept until that says it has it. */
export interface Waiting {
  readonly id: string;
  readonly from: Person;
  readonly group?: Group;
  readonly message: Library;
  node: Library;
  /** It went out anew because the device could not open it. */
  again: boolean;
}

/** The platform, as far as a linked device sees it: strict about its protocol, and as unkind as it is told to be. */
export interface PhoneServer {
  readonly lib: Library;
  readonly url: string;
  readonly mediaUrl: string;
  readonly own: { readonly number: string; readonly hidden: string; readonly device: number };
  readonly accounts: Accounts;
  readonly chats: Chats;
  readonly files: FileStore;
  /** Messages that the device has not acknowledged, in their order. */
  readonly waiting: Waiting[];
  /** Messages that it has refused, each with the code: the platform forgets these. */
  readonly nacks: string[];
  /** What it has asked that the platform does not know. */
  readonly refused: string[];
  /** Messages of the device that nobody could open at first. */
  readonly unopened: string[];
  /** Those that a phone has given up to ask for, each with whose phone. */
  readonly unreadable: string[];
  /** How often each of them was asked for. */
  readonly asked: Map<string, number>;
  /** What people's devices ask for once more, until the device has heard of it. */
  readonly receipts: Map<string, Library>;
  /** It hears of it at its next connection. */
  holdsReceipts: boolean;
  /** Requests for messages of the past, by chat. */
  readonly reads: { readonly chat: string; readonly count: number; readonly at: number }[];
  /** Live reads of groups. */
  readonly groupReads: { readonly group: string; readonly at: number }[];
  connections: number;
  writes: number;
  /** Asked at each message of the device. */
  fault: (() => Fault | undefined) | undefined;
  /** Each message goes out twice. */
  doubles: boolean;
  /** New connections are turned away. */
  refuse: boolean;
  /** What the phone answers when it is asked for messages of the past: undefined for silence. */
  history: ((chat: string, count: number) => readonly Said[] | undefined) | undefined;
  linked: LinkedDevice | undefined;
  bundles: Bundle[];
  readonly line: Line | undefined;
  say(said: Said): Promise<string>;
  /** Hands the newest message out once more. */
  repeat(): Promise<void>;
  /** The linked device's own number writes from the phone. */
  echo(to: Person, text: string): Promise<void>;
  /** Tells of the names of contacts and chats, as the phone does after linking. */
  sync(contacts: readonly { readonly person: Person; readonly name?: string }[], groups?: readonly Group[]): Promise<void>;
  /** The owner's own phone loses its session with the device. */
  forgetOwn(): Promise<void>;
  drop(): void;
  /** The phone unlinks the device. */
  unlink(): void;
  /** Waits for the picture of a pairing, or takes this one, and scans it. */
  scan(picture: string): Promise<void>;
  /** Somebody types the code that the client shows. */
  typeCode(code: string): Promise<void>;
  close(): Promise<void>;
}

const now = () => String(Math.floor(Date.now() / 1_000));

/** Starts it on loopback. */
export async function startPhoneServer(): Promise<PhoneServer> {
  const lib = await library();
  const { WebSocketServer } = socketServer();
  const accounts = createAccounts(lib);
  const phone = createPhone(lib);
  const owner = createDevice(lib);
  const files = createFileStore(lib);
  const own = { number: "491600000001", hidden: "770000000001@lid", device: 7 };
  const address = `${own.number}:${own.device}@s.whatsapp.net`;
  const lines = new Set<Line>();
  let newest: Waiting | undefined;
  let code: Awaited<ReturnType<typeof phone.type>> | undefined;
  let order: Promise<unknown> = Promise.resolve();
  const inOrder = <T>(work: () => Promise<T>): Promise<T> => {
    const done = order.then(work);
    order = done.catch(() => {});
    return done;
  };

  const http = createServer((request, response) => {
    if (!files.serve(request, response)) response.writeHead(404).end();
  });
  const sockets = new WebSocketServer({ server: http });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  const { port } = http.address() as AddressInfo;

  /** What is needed to write to the device for the first time: a single key as long as there are some, none twice. */
  function nextBundle(): Bundle {
    const bundle = server.bundles.shift();
    if (bundle === undefined) throw new Error("the device has never uploaded its keys");
    const { single: _, ...rest } = bundle;
    if (server.bundles.length === 0) server.bundles.push(rest);
    return bundle;
  }

  /** Makes a message of theirs for the linked device, encrypted as their own device does it. */
  async function nodeOf(
    { from, group, message, id, at }: { from: Person; group: Group | undefined; message: Library; id: string; at: string },
    anew = false,
  ): Promise<Library> {
    const { device } = from;
    if (anew) await device.forget(address);
    if (!(await device.knows(address))) await device.meet(address, nextBundle());
    const writer = from.hides ? from.hidden : from.address;
    const other = from.hides
      ? { [group === undefined ? "sender_pn" : "participant_pn"]: from.address }
      : { [group === undefined ? "sender_lid" : "participant_lid"]: from.hidden };
    const attrs = {
      id,
      t: at,
      type: "text",
      notify: from.name,
      ...other,
      from: group?.id ?? writer,
      ...(group === undefined ? {} : { participant: writer, addressing_mode: from.hides ? "lid" : "pn" }),
    };
    if (group === undefined) {
      const { type, ciphertext } = await device.seal(address, message);
      return { tag: "message", attrs, content: [{ tag: "enc", attrs: { v: "2", type }, content: ciphertext }] };
    }
    const sealed = await device.sealGroup(group.id, writer, message);
    const share = { senderKeyDistributionMessage: { groupId: group.id, axolotlSenderKeyDistributionMessage: sealed.key } };
    const { type, ciphertext } = await device.seal(address, lib.proto.Message.fromObject(share));
    return {
      tag: "message",
      attrs,
      content: [
        { tag: "enc", attrs: { v: "2", type }, content: ciphertext },
        { tag: "enc", attrs: { v: "2", type: "skmsg" }, content: sealed.ciphertext },
      ],
    };
  }

  const deliver = async (entry: Waiting) => {
    for (const line of [...lines].filter(({ caughtUp }) => caughtUp)) {
      await line.send(entry.node);
      if (server.doubles) await line.send(entry.node);
    }
  };

  /** What comes from the owner's phone: it is no message of anybody. */
  async function fromPhone(message: Library, category?: string): Promise<void> {
    if (!(await owner.knows(address))) await owner.meet(address, nextBundle());
    const { type, ciphertext } = await owner.seal(address, lib.proto.Message.fromObject(message));
    const attrs = {
      id: randomBytes(8).toString("hex").toUpperCase(),
      t: now(),
      type: "text",
      from: `${own.number}@s.whatsapp.net`,
      ...(category === undefined ? {} : { category }),
    };
    for (const line of lines) await line.send({ tag: "message", attrs, content: [{ tag: "enc", attrs: { v: "2", type }, content: ciphertext }] });
  }

  const historyOf = async (past: readonly Said[], chat: string, request: string) => {
    const messages = past.map(({ from, group, text, message, id, at }) => ({
      message: {
        key: {
          remoteJid: group?.id ?? from.address,
          id: id ?? randomBytes(8).toString("hex"),
          fromMe: false,
          ...(group === undefined ? {} : { participant: from.address }),
        },
        message: message ?? { conversation: text ?? "" },
        messageTimestamp: at ?? Number(now()),
        pushName: from.name,
      },
    }));
    const sync = lib.proto.HistorySync.encode(lib.proto.HistorySync.fromObject({ syncType: 6, conversations: [{ id: chat, messages }] })).finish();
    const notification = { syncType: 6, initialHistBootstrapInlinePayload: deflateSync(sync), peerDataRequestSessionId: request };
    await fromPhone(
      { protocolMessage: { type: lib.proto.Message.ProtocolMessage.Type.HISTORY_SYNC_NOTIFICATION, historySyncNotification: notification } },
      "peer",
    );
  };

  const server: PhoneServer = {
    lib,
    url: `ws://127.0.0.1:${port}/ws/chat`,
    mediaUrl: `http://127.0.0.1:${port}`,
    own,
    accounts,
    chats: createChats(lib),
    files,
    waiting: [],
    nacks: [],
    refused: [],
    unopened: [],
    unreadable: [],
    asked: new Map(),
    receipts: new Map(),
    holdsReceipts: false,
    reads: [],
    groupReads: [],
    connections: 0,
    writes: 0,
    fault: undefined,
    doubles: false,
    refuse: false,
    history: undefined,
    linked: undefined,
    bundles: [],
    get line() {
      return [...lines].at(-1);
    },
    say: ({ from, group, text, message, id = `3A${randomBytes(9).toString("hex").toUpperCase()}`, at }) =>
      inOrder(async () => {
        const whole = lib.proto.Message.fromObject(message ?? { conversation: text ?? "" });
        const entry: Waiting = { id, from, message: whole, again: false, node: undefined, ...(group === undefined ? {} : { group }) };
        entry.node = await nodeOf({ from, group, message: whole, id, at: String(at ?? now()) });
        server.waiting.push(entry);
        newest = entry;
        await deliver(entry);
        return id;
      }),
    repeat: () => inOrder(async () => void (newest && (await deliver(newest)))),
    echo: (to, text) =>
      inOrder(async () => {
        if (!(await owner.knows(address))) await owner.meet(address, nextBundle());
        const message = { deviceSentMessage: { destinationJid: to.address, message: { conversation: text } } };
        const { type, ciphertext } = await owner.seal(address, lib.proto.Message.fromObject(message));
        const attrs = { id: randomBytes(8).toString("hex").toUpperCase(), t: now(), type: "text", from: `${own.number}@s.whatsapp.net`, recipient: to.address };
        for (const line of lines) await line.send({ tag: "message", attrs, content: [{ tag: "enc", attrs: { v: "2", type }, content: ciphertext }] });
      }),
    sync: (contacts, groups = []) =>
      inOrder(async () => {
        const conversations = [
          ...contacts.map(({ person, name }) => ({ id: person.address, ...(name === undefined ? {} : { name, displayName: name }) })),
          ...groups.map(({ id, subject }) => ({ id, name: subject })),
        ];
        const sync = lib.proto.HistorySync.encode(lib.proto.HistorySync.fromObject({ syncType: 3, conversations })).finish();
        const notification = { syncType: 3, initialHistBootstrapInlinePayload: deflateSync(sync) };
        await fromPhone(
          { protocolMessage: { type: lib.proto.Message.ProtocolMessage.Type.HISTORY_SYNC_NOTIFICATION, historySyncNotification: notification } },
          "peer",
        );
      }),
    forgetOwn: () => owner.forget(address),
    drop() {
      for (const line of lines) line.cut();
    },
    unlink() {
      server.linked = undefined;
      for (const line of lines) void line.fail("401", { tag: "conflict", attrs: { type: "device_removed" } });
    },
    async scan(picture) {
      const linked = phone.scan(picture, own);
      for (const line of lines) await line.offer(linked);
    },
    async typeCode(typed) {
      const asking = () => [...lines].find((one) => one.hello !== undefined);
      while (asking() === undefined) await new Promise((resolve) => setTimeout(resolve, 5));
      const line = asking() as Line;
      code = await phone.type(typed, line.hello);
      await line.send(code.notification);
    },
    async close() {
      for (const line of lines) line.cut();
      sockets.close();
      http.closeAllConnections();
      http.close();
      await once(http, "close");
    },
  };

  sockets.on("connection", (socket: Library) => {
    server.connections += 1;
    if (server.refuse) return socket.terminate();
    const line = openLine({
      server,
      socket,
      owner,
      nodeOf,
      deliver,
      inOrder,
      historyOf,
      finishCode: (stage, identity, noiseKey) => code?.finish(stage, identity, noiseKey, own),
    });
    lines.add(line);
    socket.on("close", () => lines.delete(line));
    line.opened = () => {
      for (const other of lines) if (other !== line && other.isOpen) void other.fail("440", { tag: "conflict", attrs: { type: "replaced" } });
    };
  });
  return server;
}
