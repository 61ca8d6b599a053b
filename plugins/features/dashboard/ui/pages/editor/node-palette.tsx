import { type KeyboardEvent, type Ref, useState } from "react";
import { DRAGGED_KIND } from "../../graph/graph-canvas.tsx";
import { Button } from "../../kit/button.tsx";
import { SearchBox } from "../../kit/field.tsx";
import { Icon } from "../../kit/icon.tsx";
import { EDITOR } from "../../words/editor.ts";

/** All kinds of nodes, by what people look for. */
export const KINDS: readonly { readonly group: keyof typeof EDITOR.groups; readonly kinds: readonly string[] }[] = [
  { group: "Start", kinds: ["trigger", "waitSignal", "timer"] },
  { group: "Do", kinds: ["agent", "action", "set", "subProcess", "emitSignal"] },
  { group: "Decide", kinds: ["branch", "multiChoice", "join", "forEach"] },
  { group: "People", kinds: ["userTask", "approval"] },
  { group: "End", kinds: ["end", "fail", "cancelNodes"] },
];

/** The kinds of nodes, to drag into the graph, or to find by name and add after the selected node. */
export function Palette({
  after,
  onClearAfter,
  onAdd,
  hasTrigger,
  inBody,
  closed,
  ref,
}: {
  /** Names the port that the next node comes after. */
  readonly after?: string | undefined;
  onClearAfter(): void;
  onAdd(kind: string): void;
  /** A workflow has one. */
  readonly hasTrigger: boolean;
  readonly inBody: boolean;
  readonly closed: boolean;
  readonly ref?: Ref<HTMLInputElement>;
}) {
  const [wanted, setWanted] = useState("");
  const word = wanted.trim().toLowerCase();
  const fits = (kind: string) =>
    (kind !== "trigger" || !(hasTrigger || inBody)) && (kind.toLowerCase().includes(word) || EDITOR.kinds[kind]?.includes(word) === true);
  const groups = KINDS.map(({ group, kinds }) => ({ group, kinds: kinds.filter(fits) })).filter(({ kinds }) => kinds.length > 0);
  const flat = groups.flatMap(({ kinds }) => kinds);
  // Prefer a kind that begins with the typed word to one that contains it.
  const first = word === "" ? undefined : (flat.find((kind) => kind.toLowerCase().startsWith(word)) ?? flat[0]);
  const add = (kind: string) => {
    setWanted("");
    onAdd(kind);
  };
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>) => {
    if (event.key !== "Enter" || first === undefined || event.nativeEvent.isComposing) return;
    event.preventDefault();
    event.currentTarget.blur();
    add(first);
  };
  return (
    <div className="editor-palette">
      <div className="editor-palette-find">
        <SearchBox ref={ref} value={wanted} onChange={setWanted} label={EDITOR.find} placeholder={`${EDITOR.find}   n`} onKeyDown={onKeyDown} />
        {after !== undefined && (
          <p className="editor-after">
            <span className="cut grow">{after}</span>
            <Button kind="plain" icon="close" aria-label="Anywhere" onClick={onClearAfter} />
          </p>
        )}
      </div>
      {groups.map(({ group, kinds }) => (
        <section key={group} className="editor-kinds" aria-label={EDITOR.groups[group]}>
          <h2>{EDITOR.groups[group]}</h2>
          <ul>
            {kinds.map((kind) => (
              <li key={kind}>
                <button
                  type="button"
                  className="editor-kind"
                  draggable={!closed}
                  aria-disabled={closed || undefined}
                  data-first={kind === first || undefined}
                  title={EDITOR.kinds[kind]}
                  onDragStart={(event) => {
                    event.dataTransfer.setData(DRAGGED_KIND, kind);
                    event.dataTransfer.effectAllowed = "copy";
                  }}
                  onClick={() => closed || add(kind)}
                >
                  <Icon name="drag" size={14} />
                  <span className="mono">{kind}</span>
                </button>
              </li>
            ))}
          </ul>
        </section>
      ))}
      {groups.length === 0 && <p className="meta editor-none">{EDITOR.noKind}</p>}
    </div>
  );
}
