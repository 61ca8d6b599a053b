import { type KeyboardEvent, useRef } from "react";
import { type FormPath, isFields, pathText, valueAt } from "../../forms/form-path.ts";
import { TextInput } from "../../kit/field.tsx";
import { PARTS } from "../../words/admin-parts.ts";
import type { Draft } from "./draft.ts";

const DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;

/** The working hours that the business chart names, one row each: days by arrows and Space, the hours beside them. */
export function WeekPart({ draft }: { readonly draft: Draft }) {
  const grid = useRef<HTMLTableElement>(null);
  const windows = windowsIn(valueAt(draft.document, ["business"]), ["business"]);
  if (windows.length === 0) return null;
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    const { row, day } = (event.target as HTMLElement).dataset;
    if (step === undefined || row === undefined || day === undefined) return;
    event.preventDefault();
    const next = grid.current?.querySelector<HTMLElement>(`[data-row="${Number(row) + (step[0] ?? 0)}"][data-day="${Number(day) + (step[1] ?? 0)}"]`);
    next?.focus();
  };
  return (
    <div className="admin-part">
      <h3>{PARTS.week}</h3>
      <p className="meta">{PARTS.weekHint}</p>
      <div className="admin-table" role="region" aria-label={PARTS.week} tabIndex={0}>
        <table ref={grid} className="admin-week" role="grid" aria-label={PARTS.week} onKeyDown={move}>
          <thead>
            <tr>
              <th scope="col">{PARTS.tokenName}</th>
              {PARTS.days.map((day) => (
                <th key={day} scope="col">
                  {day}
                </th>
              ))}
              <th scope="col">from</th>
              <th scope="col">to</th>
            </tr>
          </thead>
          <tbody>
            {windows.map(({ path, value }, row) => {
              const days = Array.isArray(value["days"]) ? (value["days"] as readonly unknown[]) : [];
              const who = String(path.at(-2) ?? pathText(path));
              return (
                <tr key={pathText(path)}>
                  <th scope="row" title={pathText(path)}>
                    <bdi>{who}</bdi>
                  </th>
                  {DAYS.map((day, at) => {
                    const on = days.some((one) => isDay(one, at));
                    return (
                      <td key={day}>
                        <button
                          type="button"
                          className="admin-day"
                          data-row={row}
                          data-day={at}
                          tabIndex={row === 0 && at === 0 ? 0 : -1}
                          aria-pressed={on}
                          aria-label={`${who} ${PARTS.days[at]}`}
                          onClick={() =>
                            draft.put(
                              [...path, "days"],
                              on ? days.filter((one) => !isDay(one, at)) : [...days, typeof days[0] === "number" ? (at + 1) % 7 : day],
                            )
                          }
                        />
                      </td>
                    );
                  })}
                  {(["start", "end"] as const).map((edge) => (
                    <td key={edge}>
                      <TextInput
                        type="time"
                        aria-label={`${who} ${edge}`}
                        value={String(value[edge] ?? "")}
                        onChange={(event) => draft.put([...path, edge], event.target.value)}
                      />
                    </td>
                  ))}
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </div>
  );
}

/** Days stand as names or as figures, Sunday 0. */
const isDay = (value: unknown, at: number): boolean =>
  typeof value === "number"
    ? value % 7 === (at + 1) % 7
    : String(value)
        .toLowerCase()
        .startsWith(DAYS[at] as string);

interface Window {
  readonly path: FormPath;
  readonly value: Readonly<Record<string, unknown>>;
}

/** Whatever the chart calls them: fields with a start and an end of a day. */
function windowsIn(value: unknown, path: FormPath): readonly Window[] {
  if (!isFields(value)) return [];
  const isTime = (text: unknown) => typeof text === "string" && /^\d\d:\d\d$/.test(text);
  if (isTime(value["start"]) && isTime(value["end"])) return [{ path, value }];
  return Object.entries(value).flatMap(([key, inner]) => windowsIn(inner, [...path, key]));
}
