/** The modules of a QR code, which a library has made of a text. */
export interface QrModules {
  /** How many there are in a row, and rows. */
  readonly size: number;
  readonly isDark: (row: number, column: number) => boolean;
}

/** Light modules around the code, without which no camera finds it. */
const QUIET = 2;

/**
 * A QR code for a terminal, two rows of modules a line. Light modules are drawn, so that it stands dark on light where the terminal is dark;
 * with `colours` it does so on every terminal, by control sequences, which `CliHost.print` does not let through.
 */
export function qrPicture({ size, isDark }: QrModules, { colours = false }: { readonly colours?: boolean } = {}): string {
  const isLight = (row: number, column: number) => row < 0 || column < 0 || row >= size || column >= size || !isDark(row, column);
  const lines: string[] = [];
  for (let row = -QUIET; row < size + QUIET; row += 2) {
    let line = "";
    for (let column = -QUIET; column < size + QUIET; column += 1) {
      const [upper, lower] = [isLight(row, column), isLight(row + 1, column)];
      line += upper ? (lower ? "█" : "▀") : lower ? "▄" : " ";
    }
    // White on black, whatever the terminal's own colours are.
    lines.push(colours ? `\u001b[97;40m${line}\u001b[0m` : line);
  }
  return lines.join("\n");
}
