/** Sentences of the tab of boards in `/admin`. */
export const BOARD_PART = {
  title: "Columns and their labels",
  noProject: "Name the projects of its source: the labels they have are offered then.",
  reading: (source: string) => `The labels of ${source} are being read...`,
  read: (source: string, count: number) => `${count === 1 ? "1 label" : `${count} labels`} read from ${source}.`,
  none: (source: string) => `${source} has no label in these projects; make them there first.`,
  unread: (source: string, why: string) => `The labels of ${source} could not be read: ${why} Type them as they are there.`,
  again: "Read again",
  kinds: {
    "open-backlog": "open, without a label of the columns",
    "scoped-label": "open, with a scoped label",
    label: "open, with a label",
    closed: "closed",
  },
  noLabel: "no label",
  optional: "none",
  labelOf: (column: string) => `Label of ${column}`,
  missing: "The source does not have it: a card could not be moved here.",
} as const;
