import { BlockList } from "node:net";
import { type Log, reasonOf } from "@svc/sdk";
import { type MdnsSocket, openMdns, type Packet, type Question } from "./mdns-client.ts";
import { legacy, type OwnRecords, SERVICE } from "./mdns-records.ts";
import type { RecordBook } from "./record-book.ts";

/** An address of this machine, and the network that it is in. */
export interface LocalAddress {
  readonly address: string;
  /** `192.0.2.2/24`. */
  readonly cidr: string;
}

/** Dependencies of a link. */
export interface LinkOptions {
  readonly book: RecordBook;
  /** Own records to announce; without them it only listens. */
  readonly own?: OwnRecords;
  readonly log: Log;
  readonly port?: number;
}

type Said = NonNullable<ReturnType<OwnRecords["answer"]>>;
type Sender = { readonly port: number; readonly address: string };

const MDNS_PORT = 5_353;
/** Others may have the same answer: who answers late may find it given (RFC 6762, 6). */
const LEAST_DELAY_MS = 20;
const MORE_DELAY_MS = 100;
/** The same is said once a second at most, however often it is asked. */
const PAUSE_MS = 1_000;
const GOODBYE_MS = 500;
const MOST_QUESTIONS = 50;

/** Multicast DNS on one network: hears what daemons say of themselves there, and says what this one announces. Takes packets of that network alone. */
export class NetworkLink {
  readonly #socket: MdnsSocket;
  readonly #options: LinkOptions;
  readonly #network = new BlockList();
  readonly #port: number;
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #trouble: (error?: Error | null) => void;
  #closed = false;
  #answering: NodeJS.Timeout | undefined;
  #answeredAt = 0;
  #askedAt = 0;

  constructor({ address, cidr }: LocalAddress, options: LinkOptions) {
    this.#options = options;
    this.#port = options.port ?? MDNS_PORT;
    this.#network.addSubnet(address, Number(cidr.split("/")[1]), "ipv4");
    this.#socket = openMdns(address, this.#port);
    let told = false;
    this.#trouble = (error) => {
      // A broken packet of anyone is no news; that it cannot be opened or sent at all is, once.
      if (told || this.#closed || (error as { code?: string } | undefined)?.code === undefined) return;
      told = true;
      options.log.warn({ address, reason: reasonOf(error) }, "multicast DNS does not work on an address of this machine");
    };
    this.#socket
      .on("error", this.#trouble)
      .on("warning", this.#trouble)
      .on("query", (packet, from) => this.#isNear(from.address) && this.#answer(packet, from))
      .on("response", (packet, from) => this.#isNear(from.address) && from.port === this.#port && this.#hear(packet))
      .on("ready", () => this.#begin());
  }

  /** Asks who is there. */
  ask(): void {
    this.#socket.query({ questions: [{ name: SERVICE, type: "PTR" }] }, this.#trouble);
  }

  /** Takes back what was announced. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const timer of this.#timers) clearTimeout(timer);
    clearTimeout(this.#answering);
    const { own } = this.#options;
    if (own !== undefined)
      await new Promise<void>((resolve) => {
        const late = setTimeout(resolve, GOODBYE_MS);
        this.#socket.respond({ answers: own.all(0) }, null, () => {
          clearTimeout(late);
          resolve();
        });
      });
    await new Promise<void>((resolve) => this.#socket.destroy(() => resolve()));
  }

  #isNear(address: string): boolean {
    return this.#network.check(address, "ipv4");
  }

  #begin(): void {
    for (const delay of [0, 1_000]) this.#later(delay, () => this.#announce());
    for (const delay of [20, 1_000, 3_000]) this.#later(delay, () => this.ask());
  }

  #later(delayMs: number, run: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      run();
    }, delayMs);
    this.#timers.add(timer);
  }

  #announce(): void {
    const { own } = this.#options;
    this.#answeredAt = Date.now();
    if (own !== undefined) this.#socket.respond({ answers: own.all() }, null, this.#trouble);
  }

  #answer(packet: Packet, from: Sender): void {
    const { own } = this.#options;
    if (own === undefined) return;
    const questions = packet.questions.slice(0, MOST_QUESTIONS);
    const said = questions.map((question) => own.answer(question)).filter((answer) => answer !== undefined);
    if (said.length === 0) return;
    // A program that asks once hears the answer at its own port alone.
    if (from.port !== this.#port) this.#answerOnce(packet.id, questions, said, from);
    else this.#answerAll(packet, said);
  }

  #answerOnce(id: number, questions: readonly Question[], said: readonly Said[], { port, address }: Sender): void {
    const answers = legacy(said.flatMap((one) => one.answers));
    const additionals = legacy(said.flatMap((one) => one.additionals));
    this.#socket.respond({ id, questions, answers, additionals }, { port, address }, this.#trouble);
  }

  #answerAll(packet: Packet, said: readonly Said[]): void {
    const isKnown = (name: unknown) => packet.answers.some(({ type, data, ttl = 0 }) => type === "PTR" && data === name && ttl >= 60);
    if (said.every(({ answers }) => answers.every(({ type, data }) => type === "PTR" && isKnown(data)))) return;
    // Answer with all records, whatever was asked: they are few, and no further questions follow.
    const wait = Math.max(LEAST_DELAY_MS + Math.random() * MORE_DELAY_MS, this.#answeredAt + PAUSE_MS - Date.now());
    this.#answering ??= setTimeout(() => {
      this.#answering = undefined;
      this.#announce();
    }, wait);
  }

  #hear(packet: Packet): void {
    const { book } = this.#options;
    book.take(packet);
    const questions = book.missing();
    if (questions.length === 0 || Date.now() - this.#askedAt < PAUSE_MS) return;
    this.#askedAt = Date.now();
    this.#socket.query({ questions }, this.#trouble);
  }
}
