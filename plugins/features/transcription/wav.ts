/** Target format of all recordings: 16 kHz, mono, 16 bits. */
export const RATE = 16_000;

const HEAD = 44;

/** Samples as a WAV file. */
export function wavOf(samples: Int16Array): Buffer {
  const file = Buffer.alloc(HEAD + samples.length * 2);
  file.write("RIFF", 0, "latin1");
  file.writeUInt32LE(file.length - 8, 4);
  file.write("WAVEfmt ", 8, "latin1");
  file.writeUInt32LE(16, 16);
  file.writeUInt16LE(1, 20);
  file.writeUInt16LE(1, 22);
  file.writeUInt32LE(RATE, 24);
  file.writeUInt32LE(RATE * 2, 28);
  file.writeUInt16LE(2, 32);
  file.writeUInt16LE(16, 34);
  file.write("data", 36, "latin1");
  file.writeUInt32LE(samples.length * 2, 40);
  for (const [at, sample] of samples.entries()) file.writeInt16LE(sample, HEAD + at * 2);
  return file;
}

/** Milliseconds of a file that is a WAV of exactly that form; undefined for every other file. */
export function wavMs(file: Uint8Array): number | undefined {
  const data = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  if (data.length < HEAD || data.toString("latin1", 0, 4) !== "RIFF" || data.toString("latin1", 8, 16) !== "WAVEfmt ") return undefined;
  const fits = data.readUInt16LE(20) === 1 && data.readUInt16LE(22) === 1 && data.readUInt32LE(24) === RATE && data.readUInt16LE(34) === 16;
  return fits ? ((data.length - HEAD) / 2 / RATE) * 1000 : undefined;
}
