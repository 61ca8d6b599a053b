/** Loaded into a server, it looks at the loop every millisecond and tells its parent how often that came late. */
const EVERY_MS = 1;
const LATE_MS = 5;

let turns = 0;
let over = 0;
let longest = 0;
let before = performance.now();
setInterval(() => {
  const now = performance.now();
  const late = now - before - EVERY_MS;
  before = now;
  turns += 1;
  if (late > LATE_MS) over += 1;
  longest = Math.max(longest, late);
}, EVERY_MS).unref();

process.on("message", (question) => {
  if (question === "reset") turns = over = longest = 0;
  process.send({ turns, over, longest });
});
process.channel?.unref();
