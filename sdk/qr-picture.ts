/** Modules of a QR code, as a library generates them from a text. */
export interface QrModules {
  /** Number of modules per row and column. */
  readonly size: number;
  readonly isDark: (row: number, column: number) => boolean;
}

/** Light modules around the code, without which no camera finds it. */
const QUIET = 2;

/**
 * Draws a QR code for a terminal, two rows of modules a line. Light modules are drawn, so that it is dark on light on a dark terminal; with `colours`
 * on every terminal, by control sequences, which `CliHost.print` removes.
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
