/** A packet of sound as it came. */
export interface SoundPacket {
  /** 16 bits. */
  readonly sequence: number;
  /** 32 bits, 48,000 a second. */
  readonly timestamp: number;
  readonly payload: Uint8Array;
}

/** So many packets are waited for one that is missing: 200 ms. */
const PATIENCE = 10;
/** A sender that jumps further has begun anew. */
const LARGEST_JUMP = 1_000;
const TICKS_PER_MS = 48;
/** A pause that says more than this is no pause: the sender's clock was set anew. */
const LONGEST_PAUSE_MS = 3_600_000;

/** Brings packets into their order, drops what came twice or too late, and tells of pauses and losses by the sender's own clock. */
export class SoundOrder {
  readonly #out: (payload: Uint8Array, gapMs: number) => number;
  readonly #waiting = new Map<number, SoundPacket>();
  #next: number | undefined;
  /** Where the next packet's sound begins, by the sender's clock. */
  #clock: number | undefined;

  /** `gapMs`: so much sound is missing before the packet. The answer: milliseconds of sound in it. */
  constructor(out: (payload: Uint8Array, gapMs: number) => number) {
    this.#out = out;
  }

  push(packet: SoundPacket): void {
    this.#next ??= packet.sequence;
    const ahead = (packet.sequence - this.#next) & 0xffff;
    if (ahead > 0x8000 && 0x10000 - ahead < LARGEST_JUMP) return;
    if (ahead > LARGEST_JUMP) {
      this.flush();
      this.#next = packet.sequence;
      this.#clock = undefined;
    }
    this.#waiting.set(packet.sequence, packet);
    this.#release();
    if (this.#waiting.size > PATIENCE) this.flush();
  }

  /** Stops waiting for missing packets. */
  flush(): void {
    while (this.#waiting.size > 0) {
      const next = this.#next ?? 0;
      let nearest = 0x10000;
      for (const sequence of this.#waiting.keys()) nearest = Math.min(nearest, (sequence - next) & 0xffff);
      this.#next = (next + nearest) & 0xffff;
      this.#release();
    }
  }

  #release(): void {
    for (let packet = this.#take(); packet !== undefined; packet = this.#take()) {
      const gap = this.#clock === undefined ? 0 : (packet.timestamp - this.#clock) | 0;
      const gapMs = gap / TICKS_PER_MS;
      const ms = this.#out(packet.payload, gapMs > 0 && gapMs <= LONGEST_PAUSE_MS ? gapMs : 0);
      this.#clock = (packet.timestamp + ms * TICKS_PER_MS) >>> 0;
    }
  }

  #take(): SoundPacket | undefined {
    if (this.#next === undefined) return undefined;
    const packet = this.#waiting.get(this.#next);
    if (packet === undefined) return undefined;
    this.#waiting.delete(this.#next);
    this.#next = (this.#next + 1) & 0xffff;
    return packet;
  }
}
