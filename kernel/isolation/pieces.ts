const PIECE_BYTES = 16_384;

/** Cuts bytes into pieces that fit one frame. */
export function* small(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
}
