import { useState } from "react";
import { Dialog } from "../kit/dialog.tsx";
import { type KeyEntry, knownKeys, singleKeys } from "../kit/keys.ts";
import { SHELL } from "../words/shell.ts";

/** The keys that work now, by where they work; single keys can be turned off here. */
export function KeysDialog({ open, onClose }: { readonly open: boolean; onClose(): void }) {
  const [on, setOn] = useState(singleKeys.on);
  if (!open) return null;
  const groups = new Map<string, KeyEntry[]>();
  for (const entry of knownKeys()) {
    const known = groups.get(entry.scope) ?? [];
    if (!known.some(({ key }) => key === entry.key)) groups.set(entry.scope, [...known, entry]);
  }
  return (
    <Dialog open title={SHELL.keysTitle} onClose={onClose} wide>
      <label className="shell-keys-switch">
        <input
          type="checkbox"
          checked={on}
          onChange={({ target: { checked } }) => {
            singleKeys.set(checked);
            setOn(checked);
          }}
        />
        {SHELL.keysSwitch}
      </label>
      <div className="shell-keys">
        {[...groups].map(([scope, entries]) => (
          <section key={scope}>
            <h3>{scope === "everywhere" ? SHELL.everywhere : scope}</h3>
            <dl>
              {entries.map(({ key, title }) => (
                <div key={key}>
                  <dt>{title}</dt>
                  <dd>
                    {key.split(" ").map((part) => (
                      <kbd key={part}>{part}</kbd>
                    ))}
                  </dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
