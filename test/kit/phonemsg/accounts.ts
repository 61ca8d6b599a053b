import { createDevice, type Device } from "./device.ts";
import type { Library } from "./library.ts";

/** Somebody with a phone: one device, a number, and an id that hides it. */
export interface Person {
  readonly number: string;
  readonly name: string;
  /** `<number>@s.whatsapp.net` */
  readonly address: string;
  /** `<other digits>@lid` */
  readonly hidden: string;
  readonly device: Device;
  /** Under which of the two it writes. */
  hides: boolean;
}

/** A group and who is in it. */
export interface Group {
  readonly id: string;
  readonly subject: string;
  readonly description?: string;
  readonly members: readonly Person[];
}

/** Everybody that the platform knows. */
export interface Accounts {
  readonly people: Map<string, Person>;
  readonly groups: Map<string, Group>;
  add(number: string, name: string): Person;
  group(id: string, subject: string, members: readonly Person[], description?: string): Group;
  /** By either of the two addresses, of any device. */
  find(address: string): Person | undefined;
}

/** Makes an empty world. */
export function createAccounts(lib: Library): Accounts {
  const people = new Map<string, Person>();
  const groups = new Map<string, Group>();
  return {
    people,
    groups,
    add(number, name) {
      const person: Person = {
        number,
        name,
        address: `${number}@s.whatsapp.net`,
        hidden: `${[...number].reverse().join("")}77@lid`,
        device: createDevice(lib),
        hides: false,
      };
      people.set(number, person);
      return person;
    },
    group(id, subject, members, description) {
      const group = { id, subject, members, ...(description === undefined ? {} : { description }) };
      groups.set(id, group);
      return group;
    },
    find(address) {
      const { user, server } = lib.jidDecode(address) ?? {};
      return [...people.values()].find((person) => (server === "lid" ? person.hidden === `${user}@lid` : person.number === user));
    },
  };
}
