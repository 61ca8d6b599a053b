import { usePresence } from "../data/presence.ts";
import { KIT } from "../words/kit.ts";

const DARK = "#131412";
const LIGHT = "#ffffff";

/** Of the letters on a ground `#RRGGBB`: whichever of dark and light has more contrast (WCAG). */
export function lettersOn(ground: string): string {
  const part = (at: number) => {
    const value = Number.parseInt(ground.slice(at, at + 2), 16) / 255;
    return value <= 0.040_45 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  const luminance = 0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5);
  return 1.05 / (luminance + 0.05) >= (luminance + 0.05) / 0.0567 ? LIGHT : DARK;
}

/** Colour and letter of an agent that has them, to stand before its name; nothing where no agent has. Its name is said beside it. */
export function AgentMark({ agent, size = 16 }: { readonly agent: string; readonly size?: number }) {
  const shown = usePresence(agent);
  if (shown === undefined) return null;
  const { color, initial, label, mode, note } = shown;
  const tip = [label, mode === undefined ? undefined : KIT.modes[mode], note].filter((part) => part !== undefined).join(" · ");
  return (
    <span className="kit-agent-mark" title={tip}>
      <svg width={size} height={size} viewBox="0 0 16 16" aria-hidden="true">
        <rect width="16" height="16" rx="3" fill={color} />
        <text x="8" y="11.5" textAnchor="middle" fill={lettersOn(color)} fontSize={[...initial].length > 1 ? 8 : 10}>
          {initial}
        </text>
      </svg>
    </span>
  );
}
