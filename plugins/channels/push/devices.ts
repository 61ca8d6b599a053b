import { type Doc, put, type Store, svcError } from "@svc/sdk";
import { type Device, digestOf, makeDevice, partsOf, type Subscription } from "./device.ts";

/** Phones of one daemon, at most: each notice to all is a request for each. */
const MOST_DEVICES = 100;

/** Answer to a new device: the only time that its bearer is shown. */
export interface Registration {
  readonly id: string;
  readonly bearer: string;
}

/** The devices that get notices, as rows. */
export class Devices {
  readonly #store: Pick<Store, "collection" | "commit">;
  readonly #key: string;

  /** `key`: the public key that browsers subscribe with now. */
  constructor(store: Pick<Store, "collection" | "commit">, key: string) {
    this.#store = store;
    this.#key = key;
  }

  get #rows() {
    return this.#store.collection<Device & { readonly endpointDigest: string }>("devices", { indexes: ["endpointDigest", "secret"] });
  }

  async list(): Promise<readonly Device[]> {
    return (await this.#rows.list({ limit: MOST_DEVICES })).map(({ value }) => value);
  }

  /** Whether it subscribed with a key that this daemon no longer has: nothing reaches it until its page was opened again. */
  isStale({ key }: Pick<Device, "key">): boolean {
    return key !== this.#key;
  }

  async ofBearer(bearer: string): Promise<Device | undefined> {
    return (await this.#rows.list({ where: { secret: digestOf(bearer) }, limit: 1 }))[0]?.value;
  }

  /** Adds a device. A browser that is here already is the same device with a new bearer. Throws `SVC_PUSH_DEVICES` (409) when there are too many. */
  async add(subscription: Subscription, name: string): Promise<Registration> {
    const { device, bearer } = makeDevice(subscription, name, this.#key, Date.now());
    const [known] = await this.#rows.list({ where: { endpointDigest: digestOf(subscription.endpoint) }, limit: 1 });
    if (known === undefined && (await this.#rows.count()) >= MOST_DEVICES)
      throw svcError("SVC_PUSH_DEVICES", `There are ${MOST_DEVICES} phones already; remove one with: svc push remove <id>.`, { status: 409 });
    const { id } = known?.value ?? device;
    await this.#put({ ...device, id, addedAt: known?.value.addedAt ?? device.addedAt }, known);
    return { id, bearer };
  }

  /** A device's browser has another subscription now. */
  async renew(id: string, subscription: Subscription): Promise<void> {
    const row = await this.#rows.get(id);
    if (row === undefined) throw unknownDevice(id);
    const { lastError: _over, ...device } = row.value;
    await this.#put({ ...device, ...partsOf(subscription), key: this.#key }, row);
  }

  async #put(device: Device, known: Doc<unknown> | undefined): Promise<void> {
    await this.#store.commit([put("devices", device.id, { ...device, endpointDigest: digestOf(device.endpoint) }, known?.version ?? "absent")]);
  }

  /** Notes how the last notice went. A device that was removed meanwhile stays away. */
  async note(id: string, lastError?: string): Promise<void> {
    const row = await this.#rows.get(id);
    if (row === undefined) return;
    const { lastError: _before, ...device } = row.value;
    // A device that changes at this moment has news of its own.
    await this.#rows.put(id, { ...device, lastAt: Date.now(), ...(lastError === undefined ? {} : { lastError }) }, row.version).catch(() => undefined);
  }

  /** False when it was not there. */
  async remove(id: string): Promise<boolean> {
    const known = (await this.#rows.get(id)) !== undefined;
    if (known) await this.#rows.delete(id);
    return known;
  }
}

/** For an id that no device has. */
export const unknownDevice = (id: string) => svcError("SVC_PUSH_DEVICE", `There is no phone '${id}'; see svc push list.`, { status: 404 });
