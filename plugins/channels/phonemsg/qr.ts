import { qrPicture } from "@svc/sdk";

async function modulesOf(text: string): Promise<{ readonly size: number; readonly data: Uint8Array }> {
  const { default: qrcode } = await import("qrcode");
  return qrcode.create(text, { errorCorrectionLevel: "L" }).modules;
}

/** A pairing code as a picture for the terminal. */
export async function pictureOf(text: string): Promise<string> {
  const { size, data } = await modulesOf(text);
  return qrPicture({ size, isDark: (row, column) => data[row * size + column] === 1 }, { colours: true });
}

/** A pairing code as the rows of its picture: `1` for a dark module. */
export async function rowsOf(text: string): Promise<readonly string[]> {
  const { size, data } = await modulesOf(text);
  return Array.from({ length: size }, (_, row) => Array.from({ length: size }, (_, column) => (data[row * size + column] === 1 ? "1" : "0")).join(""));
}
