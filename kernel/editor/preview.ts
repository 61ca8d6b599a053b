import type { DifferenceLine, SettingEdit, SettingsPreview } from "@svc/sdk";
import { diffConfig } from "../base/config-diff.ts";
import { formatPath } from "../base/config-path.ts";
import { fail } from "../base/errors.ts";
import type { SettingsAsker, SettingsDeps } from "../core/boot/settings-port.ts";
import { readText } from "../core/config/document.ts";
import { applyEdits } from "./apply-edits.ts";
import { freshErrors } from "./editor.ts";
import { differingLines } from "./line-difference.ts";
import { maskDocument } from "./mask-document.ts";
import { examined, fileOf, problemsFor, revisionFor, rightsOf, shareOf } from "./share.ts";

/** Lines that stay, shown before and after those that change. */
const CONTEXT = 2;

/** Computes the effect of a change without making it: checks, difference and restarts of the text with these edits. */
export async function preview(
  deps: SettingsDeps,
  asker: SettingsAsker,
  edits: readonly SettingEdit[],
  { expect }: { readonly expect?: string },
): Promise<SettingsPreview> {
  const file = fileOf(deps);
  const share = shareOf(deps, asker);
  const text = readText(file);
  const before = await examined(deps, text);
  const { raw } = before.configuration.document;
  const revision = revisionFor(raw, text, share);
  if (expect !== undefined && expect !== revision) throw fail("SVC_CONFIG_CHANGED", { file });
  const { text: next, paths } = edits.length === 0 ? { text, paths: [] } : applyEdits(text, edits, rightsOf(asker, share));
  const after = await examined(deps, next);
  const errors = new Set(freshErrors(before, after).map(({ path, message }) => `${path} ${message}`));
  const problems = problemsFor(after.configuration, deps, asker, share).map((problem) =>
    errors.has(`${problem.path} ${problem.message}`) ? { ...problem, fresh: true as const } : problem,
  );
  const { restartRequired } = diffConfig(before.configuration.value, after.configuration.value, after.configuration.checked.restartPaths);
  return {
    revision,
    paths: paths.map(formatPath),
    problems,
    restartRequired,
    difference: share.all ? differenceOf(maskDocument(text, before.configuration), maskDocument(next, after.configuration), text, next) : [],
  };
}

/** Returns the differing lines, with their context. A masked line differs if the masked value does. */
function differenceOf(shownBefore: string, shownAfter: string, before: string, after: string): readonly DifferenceLine[] {
  const lines = { "-": shownBefore.split("\n"), "+": shownAfter.split("\n") };
  const changed = differingLines(before, after);
  if (changed.length === 0) return [];
  const removed = new Set(changed.filter(({ sign }) => sign === "-").map(({ number }) => number));
  const added = new Set(changed.filter(({ sign }) => sign === "+").map(({ number }) => number));
  const all: DifferenceLine[] = [];
  for (let old = 1, fresh = 1; old <= lines["-"].length || fresh <= lines["+"].length; ) {
    if (removed.has(old)) all.push({ sign: "-", number: old, text: lines["-"][old++ - 1] ?? "" });
    else if (added.has(fresh)) all.push({ sign: "+", number: fresh, text: lines["+"][fresh++ - 1] ?? "" });
    else {
      all.push({ sign: " ", number: fresh, text: lines["+"][fresh - 1] ?? "" });
      old += 1;
      fresh += 1;
    }
  }
  const near = (at: number) => all.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some(({ sign }) => sign !== " ");
  return all.filter((line, at) => line.sign !== " " || near(at));
}
