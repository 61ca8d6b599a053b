/** What a terminal showed, and when: milliseconds since the command before it was typed. */
export interface Shown {
  readonly at: number;
  readonly text: string;
}

/** One terminal of the picture. */
export interface Pane {
  readonly title: string;
  readonly steps: readonly { readonly command: string; readonly shown: readonly Shown[] }[];
}

const COLUMNS = 96;
const CELL = { width: 8, height: 18 };
const MARGIN = 14;
const TITLE_HEIGHT = 30;
/** Seconds a typed character takes, the longest pause that is shown, and the pause after a command. */
const TYPING = 0.045;
const LONGEST_PAUSE = 0.6;
const AFTER = 0.9;

/** Characters of one line that appear together. */
interface Run {
  readonly row: number;
  readonly column: number;
  readonly text: string;
  readonly look: "prompt" | "typed" | "said";
  readonly at: number;
}

/** Draws terminals below one another as an SVG that plays once: commands are typed, and what they said appears as it did. Its end is a still picture. */
export function drawTerminals(panes: readonly Pane[], alt: string): string {
  const width = COLUMNS * CELL.width + 2 * MARGIN;
  let top = 0;
  let clock = 0.5;
  const parts: string[] = [];
  for (const { title, steps } of panes) {
    const runs: Run[] = [];
    let row = 0;
    for (const { command, shown } of steps) {
      runs.push({ row, column: 0, text: "$", look: "prompt", at: clock - 0.3 }, { row, column: 2, text: command, look: "typed", at: clock });
      clock += command.length * TYPING + 0.3;
      const said = appear(shown, row + 1, clock);
      runs.push(...said.runs);
      row = said.row;
      clock = said.clock + AFTER;
    }
    const height = TITLE_HEIGHT + row * CELL.height + 2 * MARGIN;
    parts.push(frame(title, top, width, height), ...runs.map((run) => draw(run, top + TITLE_HEIGHT + MARGIN)));
    top += height + 10;
  }
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${top - 10}" width="${width}" height="${top - 10}" role="img" aria-label="${escaped(alt)}">`,
    `<title>${escaped(alt)}</title>`,
    `<style>${STYLE}</style>`,
    ...parts,
    "</svg>\n",
  ].join("\n");
}

const STYLE = [
  "text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;white-space:pre}",
  ".window{fill:#16181d;stroke:#3b404b}.title{fill:#9aa3b2;text-anchor:middle}.dot{fill:#3b404b}",
  ".prompt{fill:#7fc98f}.typed{fill:#f2f4f8;animation:type both}.said{fill:#c3cad6}.prompt,.said{animation:appear 1ms both}",
  "@keyframes appear{from{opacity:0}}@keyframes type{from{clip-path:inset(0 100% 0 0)}to{clip-path:inset(0 0 0 0)}}",
  "@media (prefers-reduced-motion:reduce){.prompt,.typed,.said{animation:none}}",
].join("");

/** Lays out what was said from a row on, in the columns of a terminal. */
function appear(shown: readonly Shown[], from: number, begin: number): { runs: Run[]; row: number; clock: number } {
  const runs: Run[] = [];
  let row = from;
  let column = 0;
  let clock = begin;
  let before = 0;
  for (const { at, text } of shown) {
    clock += Math.min(LONGEST_PAUSE, Math.max(0, at - before) / 1_000);
    before = at;
    for (const piece of text.split(/(\n)/)) {
      if (piece === "\n") {
        row += 1;
        column = 0;
      }
      for (let rest = piece === "\n" ? "" : piece; rest !== ""; ) {
        if (column === COLUMNS) {
          row += 1;
          column = 0;
        }
        const fits = rest.slice(0, COLUMNS - column);
        if (fits.trim() !== "") runs.push({ row, column, text: fits, look: "said", at: clock });
        column += fits.length;
        rest = rest.slice(fits.length);
      }
    }
  }
  return { runs, row: column === 0 ? row : row + 1, clock };
}

function draw({ row, column, text, look, at }: Run, top: number): string {
  const x = MARGIN + column * CELL.width;
  const y = top + row * CELL.height + 13;
  const typing = look === "typed" ? `;animation-duration:${(text.length * TYPING).toFixed(2)}s;animation-timing-function:steps(${text.length})` : "";
  // The width is given, so that columns stand below each other whatever font there is.
  return `<text class="${look}" x="${x}" y="${y}" textLength="${text.length * CELL.width}" lengthAdjust="spacingAndGlyphs" style="animation-delay:${at.toFixed(2)}s${typing}">${escaped(text)}</text>`;
}

const frame = (title: string, top: number, width: number, height: number): string =>
  [
    `<rect class="window" x="0.5" y="${top + 0.5}" width="${width - 1}" height="${height - 1}" rx="8"/>`,
    ...[0, 1, 2].map((dot) => `<circle class="dot" cx="${18 + dot * 16}" cy="${top + 16}" r="5"/>`),
    `<text class="title" x="${width / 2}" y="${top + 21}">${escaped(title)}</text>`,
  ].join("\n");

const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
