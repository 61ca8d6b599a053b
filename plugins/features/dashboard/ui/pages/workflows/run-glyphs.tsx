import { Link } from "../../data/router.tsx";
import { Glyph, type State, stateOf } from "../../kit/glyph.tsx";
import { STATES } from "../../words/states.ts";
import { WORKFLOWS } from "../../words/workflows.ts";
import type { LastRun } from "./workflow-types.ts";

/** The last runs as glyphs, the newest at the right; the newest one leads to itself. */
export function RunGlyphs({ runs }: { readonly runs: readonly LastRun[] }) {
  const [newest] = runs;
  if (newest === undefined) return <span className="meta">{WORKFLOWS.noRuns}</span>;
  const words = runs.map((run) => look(run).label).join(", ");
  return (
    <Link
      to={`/processes?run=${encodeURIComponent(newest.id)}`}
      className="workflows-glyphs"
      tabIndex={-1}
      title={WORKFLOWS.runs(words)}
      aria-label={WORKFLOWS.runs(words)}
    >
      {[...runs].reverse().map((run) => (
        <Glyph key={run.id} {...look(run)} />
      ))}
    </Link>
  );
}

/** A run that only waits for a person is not at work, whatever its status says. */
function look({ status, waitsForPerson }: LastRun): { readonly state: State; readonly label: string } {
  if (waitsForPerson === true) return { state: "waiting", label: WORKFLOWS.waitsForPerson };
  const state = stateOf(status);
  return { state, label: STATES[state] };
}
