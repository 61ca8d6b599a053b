import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Plugin } from "@svc/sdk";
import { type ChannelFault, channelContract, tortureContract } from "@svc/sdk/testing";
import { afterAll, beforeAll, describe, it } from "vitest";
import plugin from "../../plugins/channels/phonemsg/index.ts";
import sample from "../../plugins/channels/phonemsg/sample.json" with { type: "json" };
import { schema } from "../../plugins/channels/phonemsg/settings.ts";
import { lacking } from "../kit/phonemsg/library.ts";
import type { Fault } from "../kit/phonemsg/server.ts";
import { GROUP, type KeptPairing, keepPairing, setStage } from "./phonemsg.harness.ts";

const FAULTS: Record<ChannelFault, Fault> = {
  limited: { error: "429" },
  unavailable: { error: "503" },
  forbidden: { error: "403" },
  markup: { error: "400" },
  cut: "cut",
};

let kept: KeptPairing;

describe.skipIf(lacking)("phonemsg", () => {
  beforeAll(async () => {
    kept = await keepPairing();
  });
  afterAll(() => rmSync(kept.folder, { recursive: true, force: true }));

  channelContract(
    { describe, it: (name, run) => it(name, { timeout: 120_000 }, run) },
    async () => {
      const one = await setStage({ kept });
      const { far: phone, friend, stranger, folder } = one;
      const faults: Fault[] = [];
      let hanging = false;
      phone.fault = () => (hanging ? "hang" : faults.shift());
      const far = {
        target: { channel: "phonemsg", chat: friend.number },
        retryAfterMs: 30_000,
        shown: () => phone.chats.shown.map(({ id, text, file }) => ({ platformId: id, text, ...(file === undefined ? {} : { file }) })),
        fail: (fault: ChannelFault, times: number) => void faults.push(...Array<Fault>(times).fill(FAULTS[fault])),
        hang: () => void (hanging = true),
        writes: () => phone.writes,
        async say({
          text,
          from,
          where,
          mention,
          file,
        }: {
          text: string;
          from: string;
          where: string;
          mention?: boolean;
          file?: { name: string; data: Uint8Array };
        }) {
          const person = from === "stranger" ? stranger : friend;
          if (from === "itself") {
            await phone.echo(friend, text);
            return { platformId: "" };
          }
          const group = where === "group" ? phone.accounts.groups.get(GROUP) : undefined;
          const words = mention ? `@${phone.own.number} ${text}` : text;
          const message =
            file !== undefined
              ? { documentMessage: { ...(await phone.files.put(file.data, "document", "application/octet-stream")), fileName: file.name, caption: words } }
              : mention
                ? { extendedTextMessage: { text: words, contextInfo: { mentionedJid: [`${phone.own.number}@s.whatsapp.net`] } } }
                : { conversation: words };
          const id = await phone.say({ from: person, message, ...(group === undefined ? {} : { group }) });
          return { platformId: group === undefined ? id : `${id}/${person.address}` };
        },
        repeat: () => phone.repeat(),
        async drop(refuse = false) {
          phone.refuse = refuse;
          phone.drop();
        },
        attempts: () => phone.connections,
      };
      return {
        plugin: plugin as never,
        context: one.context as never,
        far,
        async dispose() {
          await phone.close();
          rmSync(folder, { recursive: true, force: true });
        },
      };
    },
    { lacks: ["markup"] },
  );
});

// What is hostile here never connects, and never meets a folder of this machine.
describe("channel-phonemsg", () => {
  const folder = mkdtempSync(join(tmpdir(), "phonemsg-torture-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const { sessionDir: _, ...properties } = schema.properties;
  const fixed = { ...properties, sessionDir: { const: folder } } as typeof properties;
  const subject = { ...plugin, config: { ...plugin.config, schema: { ...schema, properties: fixed } } };
  const config = { ...sample.channels.phonemsg, sessionDir: folder };
  tortureContract({ describe, it: (name, run) => it(name, { timeout: 60_000 }, run) }, { plugin: subject as unknown as Plugin<never>, config });
});
