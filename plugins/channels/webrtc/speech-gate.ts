/** Samples a second of all sound behind the decoder. */
export const RATE = 16_000;
const FRAME = RATE / 50;
const FRAME_MS = 20;
/** Kept before the first loud frame, so that words are not cut at their start. */
const BEFORE = 15;
/** So many quiet frames end a stretch: longer than the pauses within a sentence. */
const HANGOVER = 35;
/** Of the last so many frames, */
const WINDOW = 10;
/** Number of loud frames with which speech begins: a click is shorter. */
const ONSET = 5;
/** Frames of the longest stretch; then it is cut at its quietest frame of the last seconds. */
const LONGEST = 1_250;
const CUT_WITHIN = 150;
/** Root mean square below which nothing is speech: 45 dB under full scale. */
const LEAST = 180;
/** Speech is so much louder than the room. */
const OVER_ROOM = 2.6;

/**
 * Lets speech through and no silence, by the energy of the sound over that of the room: recognisers hear words in silence. A steady
 * noise becomes a part of the room within seconds.
 */
export class SpeechGate {
  readonly #out: (atMs: number, samples: Int16Array) => void;
  /** Sound that is no whole frame yet. */
  #rest = new Int16Array(0);
  /** Frames since the call began. */
  #at = 0;
  #room = LEAST;
  #recent: Int16Array[] = [];
  #loudness: boolean[] = [];
  #stretch: { frame: Int16Array; energy: number }[] | undefined;
  #stretchAt = 0;
  #quiet = 0;

  constructor(out: (atMs: number, samples: Int16Array) => void) {
    this.#out = out;
  }

  /** Milliseconds heard, gaps included. */
  get ms(): number {
    return this.#at * FRAME_MS;
  }

  push(samples: Int16Array): void {
    let all = samples;
    if (this.#rest.length > 0) {
      all = new Int16Array(this.#rest.length + samples.length);
      all.set(this.#rest);
      all.set(samples, this.#rest.length);
    }
    let from = 0;
    for (; from + FRAME <= all.length; from += FRAME) this.#frame(all.slice(from, from + FRAME));
    this.#rest = all.slice(from);
  }

  /** Nothing came for so long: the clock of the call goes on. */
  skip(ms: number): void {
    const frames = Math.round(ms / FRAME_MS);
    if (frames <= 0) return;
    const heard = Math.min(frames, HANGOVER + 1);
    for (let count = 0; count < heard; count += 1) this.#frame(new Int16Array(FRAME), true);
    this.#at += frames - heard;
  }

  /** Delivers the current stretch. */
  flush(): void {
    const stretch = this.#stretch;
    this.#stretch = undefined;
    this.#quiet = 0;
    this.#loudness = [];
    if (stretch !== undefined) this.#give(stretch.map(({ frame }) => frame));
  }

  #frame(frame: Int16Array, gap = false): void {
    const energy = energyOf(frame);
    const isLoud = energy > Math.max(LEAST, this.#room * OVER_ROOM);
    // Down at once, up slowly: words are short, noise stays.
    if (!gap) this.#room = energy < this.#room ? Math.max(1, this.#room * 0.9 + energy * 0.1) : this.#room * (this.#room < LEAST ? 1.02 : 1.004);
    this.#at += 1;
    if (this.#stretch === undefined) this.#listen(frame, isLoud, energy);
    else this.#follow(this.#stretch, frame, isLoud, energy);
  }

  #listen(frame: Int16Array, isLoud: boolean, energy: number): void {
    this.#recent.push(frame);
    if (this.#recent.length > BEFORE + WINDOW) this.#recent.shift();
    this.#loudness.push(isLoud);
    if (this.#loudness.length > WINDOW) this.#loudness.shift();
    if (this.#loudness.filter(Boolean).length < ONSET) return;
    this.#stretch = this.#recent.map((one) => ({ frame: one, energy }));
    this.#stretchAt = this.#at - this.#recent.length;
    this.#recent = [];
    this.#quiet = 0;
  }

  #follow(stretch: { frame: Int16Array; energy: number }[], frame: Int16Array, isLoud: boolean, energy: number): void {
    stretch.push({ frame, energy });
    this.#quiet = isLoud ? 0 : this.#quiet + 1;
    if (this.#quiet >= HANGOVER) this.flush();
    else if (stretch.length >= LONGEST) this.#cut(stretch);
  }

  #cut(stretch: { frame: Int16Array; energy: number }[]): void {
    let cut = stretch.length - 1;
    for (let at = stretch.length - CUT_WITHIN; at < stretch.length; at += 1) if ((stretch[at]?.energy ?? 0) < (stretch[cut]?.energy ?? 0)) cut = at;
    this.#give(stretch.splice(0, cut).map((one) => one.frame));
    this.#stretchAt += cut;
  }

  #give(frames: readonly Int16Array[]): void {
    const samples = new Int16Array(frames.length * FRAME);
    for (const [at, frame] of frames.entries()) samples.set(frame, at * FRAME);
    this.#out(this.#stretchAt * FRAME_MS, samples);
  }
}

function energyOf(frame: Int16Array): number {
  let sum = 0;
  for (const sample of frame) sum += sample * sample;
  return Math.sqrt(sum / frame.length);
}
