const digits = (value) => (value === undefined ? "" : Math.abs(value) >= 1000 ? String(Math.round(value)) : String(Number(value.toPrecision(3))));

/** The results as a table for people. */
export function printTable(results) {
  const rows = [
    ["", "FIGURE", "FLOOR", "OURS", "", "COMPARED", "TARGET", ""],
    ...results.map(({ id, what, floor, ours, unit, value, target, met }) => [
      id,
      what,
      digits(floor),
      digits(ours),
      unit,
      digits(value),
      target,
      met === undefined ? "" : met ? "met" : "MISSED",
    ]),
  ];
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const right = new Set([2, 3, 5]);
  for (const row of rows) {
    const cells = row.map((cell, column) => (right.has(column) ? cell.padStart(widths[column]) : cell.padEnd(widths[column])));
    console.log(cells.join("  ").trimEnd());
  }
}
