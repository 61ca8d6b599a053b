import { fail } from "./errors.ts";

/** Markers without a length behind them. */
const BARE = new Set([0x01, 0xd0, 0xd1, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7]);
/** The frame headers of JPEG, which have the size; 0xc4, 0xc8 and 0xcc are tables. */
const isFrameHeader = (marker: number): boolean => marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;

/** The size of a JPEG by its own header; throws `SVC_CALLS_FRAME` for anything else. */
export function sizeOfJpeg(bytes: Uint8Array): { readonly width: number; readonly height: number } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 4 || view.getUint16(0) !== 0xffd8) throw fail("SVC_CALLS_FRAME", { reason: "its bytes are no JPEG" });
  if (view.getUint16(bytes.length - 2) !== 0xffd9) throw fail("SVC_CALLS_FRAME", { reason: "the JPEG is cut off" });
  let at = 2;
  while (at + 4 <= bytes.length) {
    const marker = bytes[at + 1] as number;
    if (bytes[at] !== 0xff) break;
    if (marker === 0xff) at += 1;
    else if (BARE.has(marker)) at += 2;
    else if (isFrameHeader(marker) && at + 9 <= bytes.length) {
      const size = { height: view.getUint16(at + 5), width: view.getUint16(at + 7) };
      if (size.width > 0 && size.height > 0) return size;
      break;
    } else if (marker === 0xda || marker === 0xd9) break;
    else at += 2 + Math.max(2, view.getUint16(at + 2));
  }
  throw fail("SVC_CALLS_FRAME", { reason: "the JPEG does not say how large it is" });
}
