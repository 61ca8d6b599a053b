/** A pairing code as a picture of half blocks, dark on light as phones want it, whatever the terminal's colours. */
export async function pictureOf(text: string): Promise<string> {
  const { default: qrcode } = await import("qrcode");
  const { modules } = qrcode.create(text, { errorCorrectionLevel: "L" });
  const { size, data } = modules;
  const quiet = 2;
  const dark = (row: number, column: number) => row >= 0 && column >= 0 && row < size && column < size && data[row * size + column] === 1;
  const lines: string[] = [];
  for (let row = -quiet; row < size + quiet; row += 2) {
    let line = "";
    for (let column = -quiet; column < size + quiet; column += 1) {
      const [upper, lower] = [dark(row, column), dark(row + 1, column)];
      line += upper ? (lower ? "█" : "▀") : lower ? "▄" : " ";
    }
    lines.push(`\u001b[30;107m${line}\u001b[0m`);
  }
  return lines.join("\n");
}
