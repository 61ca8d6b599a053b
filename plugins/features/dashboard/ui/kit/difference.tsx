import { KIT } from "../words/kit.ts";
import { classes } from "./class-names.ts";
import { type DifferenceLine, differenceOf } from "./line-difference.ts";

/** Added and removed lines of a change, with words for screen readers; equal stretches are folded. */
export function Difference({ before, after, label }: { readonly before: string; readonly after: string; readonly label?: string }) {
  const lines = differenceOf(before, after);
  if (lines.every(({ kind }) => kind === "same")) return <p className="kit-state">{KIT.equal}</p>;
  return (
    <div className="kit-difference" tabIndex={0} role="region" aria-label={label ?? "Difference"}>
      {lines.map((line) => (
        <Line key={`${line.before ?? ""} ${line.after ?? ""} ${line.kind}`} line={line} />
      ))}
    </div>
  );
}

const SIGNS = { added: "+", removed: "-", same: " ", fold: "" } as const;

function Line({ line: { kind, text, before, after } }: { readonly line: DifferenceLine }) {
  return (
    <div className={classes("kit-difference-line", `kit-difference-${kind}`)}>
      <span className="kit-difference-number">{kind === "fold" ? "" : (after ?? before)}</span>
      <span className="kit-difference-sign" aria-hidden="true">
        {SIGNS[kind]}
      </span>
      {(kind === "added" || kind === "removed") && <span className="unseen">{kind === "added" ? KIT.added : KIT.removed} </span>}
      <span className="kit-difference-text">{text}</span>
    </div>
  );
}
