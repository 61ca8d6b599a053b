import type { PluginContext } from "@svc/sdk";

/** A person or a group as this channel names them. */
export interface Known {
  /** The chat's and the sender's name in messages: a phone number's digits, or the platform's own id where it does not tell the number. Never changes. */
  readonly id: string;
  /** The number's digits, where they are known. */
  readonly number?: string;
}

/** One person has two ids on the platform, a number and one that hides it. Here they stay one, over restarts. */
export interface People {
  /** Identifies an address; `other` is the same person's other address if the platform names it. */
  known(address: string, other?: string): Promise<Known>;
  /** Where to write to a chat: the address that was last heard of. Takes numbers as people write them. */
  addressOf(chat: string): Promise<string>;
}

interface Row {
  readonly id: string;
  readonly number?: string;
  /** Where this person was last heard from. */
  readonly address?: string;
}

const NUMBER_SERVER = "s.whatsapp.net";
const HIDDEN_SERVER = "lid";

/** Makes the record of people in the plugin's store. `numberOf` asks the protocol's own record of the number behind a hidden id. */
export function createPeople(ctx: Pick<PluginContext, "store">, numberOf: (hidden: string) => Promise<string | undefined>): People {
  const rows = () => ctx.store.collection<Row>("people");
  const seen = new Map<string, Row>();
  let order: Promise<unknown> = Promise.resolve();

  const read = async (key: string): Promise<Row | undefined> => {
    const row = seen.get(key) ?? (await rows().get(key))?.value;
    if (row !== undefined) seen.set(key, row);
    return row;
  };
  const write = async (key: string, row: Row): Promise<void> => {
    const before = await read(key);
    if (before !== undefined && before.id === row.id && before.number === row.number && before.address === row.address) return;
    await rows().put(key, row);
    seen.set(key, row);
  };

  async function identify(address: string, other: string | undefined): Promise<Known> {
    const [first, second] = [partsOf(address), other === undefined ? undefined : partsOf(other)];
    const hidden = [first, second].find((parts) => parts?.server === HIDDEN_SERVER)?.user;
    let number = [first, second].find((parts) => parts?.server === NUMBER_SERVER)?.user;
    if (number === undefined && hidden !== undefined) {
      const told = await numberOf(`${hidden}@${HIDDEN_SERVER}`);
      if (told !== undefined) number = partsOf(told).user;
    }
    const keys = [...(hidden === undefined ? [] : [`${hidden}@${HIDDEN_SERVER}`]), ...(number === undefined ? [] : [number])];
    const known = (await Promise.all(keys.map(read))).filter((row) => row !== undefined);
    // The name under which somebody was first seen stays, whatever is learned later: conversations hang on it.
    const id = (known.find((row) => !row.id.includes("@")) ?? known[0])?.id ?? number ?? `${hidden}@${HIDDEN_SERVER}`;
    const found = number ?? known.find((row) => row.number !== undefined)?.number;
    const row: Row = { id, ...(found === undefined ? {} : { number: found }), address: `${first.user}@${first.server}` };
    for (const key of new Set([...keys, id])) await write(key, row);
    return { id, ...(found === undefined ? {} : { number: found }) };
  }

  return {
    known(address, other) {
      const { user, server } = partsOf(address);
      if (server !== NUMBER_SERVER && server !== HIDDEN_SERVER) return Promise.resolve({ id: `${user}@${server}` });
      // One after the other: two messages of somebody new must not make two people.
      const answer = order.then(() => identify(address, other));
      order = answer.catch(() => {});
      return answer;
    },
    async addressOf(chat) {
      const plain = chat.includes("@") ? chat : digitsOf(chat);
      const row = await read(plain);
      if (row?.address !== undefined) return row.address;
      return plain.includes("@") ? plain : `${plain}@${NUMBER_SERVER}`;
    },
  };
}

/** An address without the device: `4917...:12@s.whatsapp.net` is one person. */
export function partsOf(address: string): { readonly user: string; readonly server: string } {
  const [name = "", server = ""] = address.split("@");
  return { user: name.split(":")[0]?.split("_")[0] ?? "", server: server === "c.us" ? NUMBER_SERVER : server };
}

/** The digits of a number as people write it: `+49 (170) 123-4567`. */
export const digitsOf = (number: string): string => number.replace(/[^\d]/g, "");

/** Whether an address is a group's. */
export const isGroup = (address: string): boolean => address.endsWith("@g.us");

/** Whether an address is a person's. */
export const isPerson = (address: string): boolean => [NUMBER_SERVER, HIDDEN_SERVER].includes(partsOf(address).server);
