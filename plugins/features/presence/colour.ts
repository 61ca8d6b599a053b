/** White letters on a colour are readable from this contrast on (WCAG 2.2 AA). */
const CONTRAST = 4.5;
const SATURATION = 0.6;

/** A colour of an id, always the same, on which white letters can be read. */
export function colourOf(id: string): string {
  // FNV-1a: spreads ids that differ in one letter.
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(id)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  const hue = hash % 360;
  let lightness = 0.5;
  let colour = rgbOf(hue, lightness);
  while (1.05 / (luminanceOf(colour) + 0.05) < CONTRAST) {
    lightness -= 0.01;
    colour = rgbOf(hue, lightness);
  }
  return `#${colour.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

function rgbOf(hue: number, lightness: number): readonly number[] {
  const spread = SATURATION * Math.min(lightness, 1 - lightness);
  return [0, 8, 4].map((offset) => {
    const place = (offset + hue / 30) % 12;
    return Math.round(255 * (lightness - spread * Math.max(-1, Math.min(place - 3, 9 - place, 1))));
  });
}

function luminanceOf(colour: readonly number[]): number {
  const [red = 0, green = 0, blue = 0] = colour.map((part) => {
    const share = part / 255;
    return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
