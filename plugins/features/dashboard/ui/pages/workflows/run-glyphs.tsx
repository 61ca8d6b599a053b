import { Link } from "../../data/router.tsx";
import { Glyph, stateOf } from "../../kit/glyph.tsx";
import { STATES } from "../../words/states.ts";
import { WORKFLOWS } from "../../words/workflows.ts";
import type { LastRun } from "./workflow-types.ts";

/** The last runs as glyphs, the newest at the right; the newest one leads to itself. */
export function RunGlyphs({ runs }: { readonly runs: readonly LastRun[] }) {
  const [newest] = runs;
  if (newest === undefined) return <span className="meta">{WORKFLOWS.noRuns}</span>;
  const words = runs.map(({ status }) => STATES[stateOf(status)]).join(", ");
  return (
    <Link
      to={`/processes?run=${encodeURIComponent(newest.id)}`}
      className="workflows-glyphs"
      tabIndex={-1}
      title={WORKFLOWS.runs(words)}
      aria-label={WORKFLOWS.runs(words)}
    >
      {[...runs].reverse().map(({ id, status }) => (
        <Glyph key={id} state={stateOf(status)} />
      ))}
    </Link>
  );
}
