import { qrPicture } from "@svc/sdk";

/** A pairing code as a picture for the terminal. */
export async function pictureOf(text: string): Promise<string> {
  const { default: qrcode } = await import("qrcode");
  const { size, data } = qrcode.create(text, { errorCorrectionLevel: "L" }).modules;
  return qrPicture({ size, isDark: (row, column) => data[row * size + column] === 1 }, { colours: true });
}
