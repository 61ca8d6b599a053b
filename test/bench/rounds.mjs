/** The middle of a list of numbers. */
export function median(values) {
  const sorted = values.toSorted((one, other) => one - other);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

/** The value below which that share of a sorted list lies. */
export const quantile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];

/** How a line is judged: what of floor and ours is compared with the target, and how both are written. */
const judge = (compare, holds, words) => ({ compare, holds, words });
export const ratioAtMost = (most) =>
  judge(
    (floor, ours) => ours / floor,
    (value) => value <= most,
    `<= ${most} times`,
  );
export const ratioAtLeast = (least) =>
  judge(
    (floor, ours) => ours / floor,
    (value) => value >= least,
    `>= ${least} times`,
  );
export const addedAtMost = (most, unit) =>
  judge(
    (floor, ours) => ours - floor,
    (value) => value <= most,
    `<= ${most} ${unit} more`,
  );
export const atMost = (most, unit) =>
  judge(
    (_floor, ours) => ours,
    (value) => value <= most,
    `<= ${most} ${unit}`,
  );
export const atLeast = (least, unit) =>
  judge(
    (_floor, ours) => ours,
    (value) => value >= least,
    `>= ${least} ${unit}`,
  );
export const shareAtMost = (percent) =>
  judge(
    (floor, ours) => (100 * (ours - floor)) / ours,
    (value) => value <= percent,
    `<= ${percent} % of it`,
  );
/** For information: nothing is asked of it. */
export const told = judge(
  (floor, ours) => (floor === undefined ? ours : ours / floor),
  () => undefined,
  "",
);

/**
 * Measures a figure: floor and ours by turns, each round beginning with the other one, so that a machine that slows down slows both.
 * Answers one result a line, with medians over the rounds; the comparison is made within each round.
 */
export async function measure(figure, bench) {
  const open = await figure.open(bench);
  try {
    const rounds = [];
    for (let round = 0; round < (open.rounds ?? bench.rounds); round += 1) {
      const found = {};
      for (const side of round % 2 === 0 ? ["floor", "ours"] : ["ours", "floor"]) found[side] = await open[side]?.();
      rounds.push(found);
    }
    return figure.lines.map(({ what, unit, target }, at) => {
      const pairs = rounds.map(({ floor, ours }) => ({ floor: floor?.[at], ours: ours[at] }));
      const value = median(pairs.map(({ floor, ours }) => target.compare(floor, ours)));
      const met = target.holds(value);
      return {
        id: figure.id,
        what,
        unit,
        against: figure.against,
        ...(pairs[0]?.floor === undefined ? {} : { floor: median(pairs.map(({ floor }) => floor)) }),
        ours: median(pairs.map(({ ours }) => ours)),
        value,
        target: target.words,
        ...(met === undefined ? {} : { met }),
        rounds: pairs,
        ...(open.note === undefined ? {} : { note: open.note() }),
      };
    });
  } finally {
    await open.close?.();
  }
}
