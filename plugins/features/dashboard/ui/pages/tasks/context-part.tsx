import { useState } from "react";
import { Button } from "../../kit/button.tsx";
import { Code } from "../../kit/code.tsx";
import { Dialog } from "../../kit/dialog.tsx";
import { count } from "../../kit/figures.ts";
import { TASKS } from "../../words/tasks.ts";
import type { StoredContext, StoredLayer } from "./task-types.ts";

const CHARACTERS = 4;
const tokens = (characters: number): number => Math.ceil(characters / CHARACTERS);

/** Context of the agent: each layer with its size, its source and what was trimmed. */
export function ContextPart({ context }: { readonly context: StoredContext | undefined }) {
  const [open, setOpen] = useState(false);
  if (context === undefined)
    return (
      <section className="task-part" aria-label={TASKS.context}>
        <header className="kit-pane-head">
          <h2>{TASKS.context}</h2>
        </header>
        <p className="kit-state">{TASKS.contextGone}</p>
      </section>
    );
  const { layers, system, prompt, history, historyCharacters, session, media } = context;
  const past: StoredLayer[] =
    historyCharacters === 0 ? [] : [{ name: "history", text: history.map(({ role, text }) => `${role}: ${text}`).join("\n"), characters: historyCharacters }];
  const all = [system, ...layers, ...past, prompt].filter(({ characters, whole }) => characters > 0 || whole !== undefined);
  const most = Math.max(1, ...all.map(({ characters }) => characters));
  const used = [...layers, ...past].reduce((sum, { characters }) => sum + characters, 0);
  return (
    <section className="task-part" aria-label={TASKS.context}>
      <header className="kit-pane-head">
        <h2>{TASKS.context}</h2>
        <span className="kit-pane-count" title={TASKS.contextTokens}>
          {TASKS.contextOf(count(tokens(used)))}
        </span>
        <span className="grow" />
        <Button kind="plain" onClick={() => setOpen(true)}>
          {TASKS.wholePrompt}
        </Button>
      </header>
      {(session !== undefined || media > 0) && (
        <p className="task-context-note meta">{[session === undefined ? "" : TASKS.sessionGoesOn, media === 0 ? "" : TASKS.media(media)].join(" ")}</p>
      )}
      <table className="task-context">
        <thead>
          <tr>
            <th scope="col">{TASKS.layer}</th>
            <th scope="col" className="figure">
              {TASKS.layerTokens}
            </th>
            <th scope="col" className="task-context-share">
              {TASKS.share}
            </th>
            <th scope="col">{TASKS.source}</th>
          </tr>
        </thead>
        <tbody>
          {all.map((layer) => (
            <tr key={layer.name}>
              <th scope="row">{nameOf(layer)}</th>
              <td className="figure">{count(tokens(layer.characters))}</td>
              <td className="task-context-share">
                <svg width="100%" height="8" aria-hidden="true">
                  <rect className="task-share-all" width="100%" height="8" />
                  <rect className="task-share" width={`${(layer.characters / most) * 100}%`} height="8" />
                </svg>
              </td>
              <td>
                {TASKS.layers[layer.name] ?? TASKS.ofPlugin}
                {layer.whole !== undefined && (
                  <span className="task-cut">
                    {" "}
                    {layer.characters === 0 ? TASKS.leftOut(count(tokens(layer.whole))) : TASKS.cut(count(tokens(layer.whole)))}
                  </span>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <Dialog title={TASKS.promptTitle} open={open} onClose={() => setOpen(false)} wide>
        {all.map((layer) => (
          <div key={layer.name} className="task-prompt-part">
            <Code label={`${nameOf(layer)}, ${count(tokens(layer.characters))}`} text={layer.text} lines={400} />
            {layer.text.length < layer.characters && layer.name !== "history" && <p className="meta">{TASKS.shortened(count(layer.text.length))}</p>}
            {layer.whole !== undefined && <p className="task-cut">{TASKS.cut(count(tokens(layer.whole)))}</p>}
          </div>
        ))}
      </Dialog>
    </section>
  );
}

const nameOf = ({ name }: StoredLayer): string => TASKS.layerNames[name] ?? name.replace(/^./, (first) => first.toUpperCase());
