import type { DifferenceLine } from "@svc/sdk";
import { classes } from "../../kit/class-names.ts";
import { KIT } from "../../words/kit.ts";

const KINDS = { "+": "added", "-": "removed", " ": "same" } as const;

/** Removed and added lines of a change, with a word beside the sign. */
export function Lines({ lines }: { readonly lines: readonly DifferenceLine[] }) {
  if (lines.length === 0) return <p className="admin-note">{KIT.equal}</p>;
  return (
    <div className="kit-difference admin-lines" tabIndex={0} role="region" aria-label="Difference">
      {lines.map(({ sign, number, text }) => {
        const kind = KINDS[sign];
        return (
          <div key={`${sign}${number}`} className={classes("kit-difference-line", `kit-difference-${kind}`)}>
            <span className="kit-difference-number">{number}</span>
            <span className="kit-difference-sign" aria-hidden="true">
              {sign}
            </span>
            <span className="admin-lines-word">{kind === "same" ? "" : KIT[kind]}</span>
            <span className="kit-difference-text">{text}</span>
          </div>
        );
      })}
    </div>
  );
}
