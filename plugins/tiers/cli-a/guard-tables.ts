import { type Line, type Options, options, Refused, readLine } from "./guard-options.ts";
import { requirePrinting } from "./guard-sed.ts";

/*
 * The programs that only read, each with the options that it may be given. What is not here is refused: no option that writes a file,
 * runs a program, or takes a list of names from a file stands in these tables.
 */

/** Judges the words behind a program's name; answers with what may be a file's name. Throws `Refused`. */
export type Rule = (words: readonly string[]) => readonly string[];

const reads =
  (notation: string, check?: (line: Line, given: readonly string[]) => void): Rule =>
  (given) => {
    const line = readLine(table(notation), given);
    check?.(line, given);
    return line.named;
  };

const tables = new Map<string, Options>();
function table(notation: string): Options {
  const known = tables.get(notation) ?? options(notation);
  tables.set(notation, known);
  return known;
}

const atMost =
  (count: number, why: string) =>
  ({ operands }: Line): void => {
    if (operands.length > count) throw new Refused(why);
  };

const SUMS = "bctwz check binary text tag quiet status strict warn zero ignore-missing";
const GREP =
  "EFGPe:ivwxcoqsm:bHhnZA:B:C:arLlTzU# extended-regexp fixed-strings basic-regexp perl-regexp regexp= ignore-case no-ignore-case invert-match word-regexp line-regexp count only-matching quiet silent no-messages max-count= byte-offset with-filename no-filename line-number null after-context= before-context= context= text binary-files= recursive include= exclude= exclude-dir= files-without-match files-with-matches initial-tab color? colour?";

/** `tree` reads clusters in its own way: a letter that takes a value takes the next word, whatever stands behind the letter. */
function apart(_line: Line, given: readonly string[]): void {
  if (given.some((word) => /^-[^-].*[LPI]|^-[LPI]./.test(word) || word === "--")) throw new Refused("write -L, -P and -I apart from other options");
}

/** Words as they are: the program takes each for a text. */
const words: Rule = (given) => given;

/** Programs whose every option only changes what they print: their operands may come from anywhere, also from `xargs`. */
const PRINTERS = {
  cat: "AbeEnstTuv show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting",
  head: "c:n:qvz# bytes= lines= quiet silent verbose zero-terminated",
  tail: "c:n:qvz# bytes= lines= quiet silent verbose zero-terminated",
  wc: "cmlLw bytes chars lines max-line-length words",
  nl: "b:d:f:h:i:l:n:ps:v:w: body-numbering= number-format= number-separator= number-width= starting-line-number= line-increment=",
  ls: "aAbBcCdfFgGhiIkKlLmnNopqQrRsStuUvxXZ1w:I:T: all almost-all author escape block-size= ignore-backups color? directory classify? file-type format= full-time group-directories-first no-group human-readable si hide= indicator-style= inode ignore= kibibytes numeric-uid-gid literal hide-control-chars quote-name quoting-style= reverse recursive size sort= time= time-style= width= zero",
  stat: "Lfc:t dereference file-system format= printf= terse",
  basename: "as:z multiple suffix= zero",
  dirname: "z zero",
  realpath: "emLPqsz canonicalize-existing canonicalize-missing logical physical quiet relative-to= relative-base= strip no-symlinks zero",
  readlink: "femnqsvz canonicalize canonicalize-existing canonicalize-missing no-newline quiet silent verbose zero",
  sha256sum: SUMS,
  sha1sum: SUMS,
  sha512sum: SUMS,
  md5sum: SUMS,
  cksum: "",
  grep: GREP,
  egrep: GREP,
  fgrep: GREP,
} as const;

const READERS = {
  ...PRINTERS,
  pwd: "LP logical physical",
  du: "aB:bcd:DhHkLlmSst:x0 all apparent-size block-size= bytes total max-depth= human-readable si summarize threshold= time? exclude= one-file-system separate-dirs null",
  df: "aB:hHiklPt:Tx: all block-size= human-readable si inodes local portability total type= exclude-type= print-type output?",
  cut: "b:c:d:f:nsz bytes= characters= delimiter= fields= complement only-delimited output-delimiter= zero-terminated",
  tr: "cCdst complement delete squeeze-repeats truncate-set1",
  tac: "brs: before regex separator=",
  rev: "",
  fold: "bsw: bytes spaces width=",
  expand: "it: initial tabs=",
  paste: "d:sz delimiters= serial zero-terminated",
  comm: "123z check-order nocheck-order output-delimiter= total zero-terminated",
  join: "a:e:i1:2:j:o:t:v:z ignore-case check-order nocheck-order header",
  diff: "qscC:uU:enywW:pF:tTabBdEiI:rNx:Z brief report-identical-files context? unified? ed normal side-by-side width= left-column suppress-common-lines show-c-function show-function-line= label= expand-tabs initial-tab tabsize= recursive no-dereference new-file unidirectional-new-file ignore-file-name-case exclude= ignore-case ignore-tab-expansion ignore-trailing-space ignore-space-change ignore-all-space ignore-blank-lines ignore-matching-lines= text strip-trailing-cr minimal speed-large-files color?",
  cmp: "bi:ln:s print-bytes ignore-initial= verbose bytes= quiet silent",
  od: "A:t:j:N:vabcdfilosx address-radix= format= skip-bytes= read-bytes= output-duplicates traditional",
  hexdump: "bcCdovxn:s:e:",
  strings: "ant:n:e: all bytes= radix= encoding=",
  file: "bikhLNr0 brief mime mime-type mime-encoding keep-going dereference no-dereference no-pad raw print0 extension",
  column: "tc:s:o:N:R:n:exJ table output-width= separator= output-separator= table-columns= table-right= json fillrows table-noheadings",
  which: "a",
  id: "unGgrz user name groups group real",
  whoami: "",
  uname: "asnrvmpio all kernel-name nodename kernel-release kernel-version machine processor operating-system",
  uptime: "ps pretty since",
  nproc: "",
  arch: "",
  free: "bkmgh human",
  seq: "f:s:w format= separator= equal-width",
  base64: "dw: decode wrap=",
} as const;

const RG =
  "e:FivwxclonNHIsSg:t:T:A:B:C:m:Uu.Pqr:M:0pad: regexp= fixed-strings ignore-case smart-case case-sensitive invert-match word-regexp line-regexp count count-matches files files-with-matches files-without-match line-number no-line-number with-filename no-filename glob= iglob= type= type-not= type-list after-context= before-context= context= max-count= max-depth= multiline multiline-dotall hidden no-ignore no-ignore-vcs unrestricted pcre2 quiet replace= only-matching color= colors= column heading no-heading json stats sort= sortr= trim vimgrep null passthru text max-columns= no-messages max-filesize= no-config";

const FIND_WORDS = new Set(
  "-a -and -o -or -not ! ( ) , -true -false -empty -executable -readable -writable -nouser -nogroup -depth -d -mount -xdev -daystart -noleaf -print -print0 -ls -prune -quit".split(
    " ",
  ),
);
/** These take one word. */
const FIND_VALUES = new Set(
  "-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -lname -ilname -type -xtype -size -perm -user -group -uid -gid -links -inum -samefile -newer -anewer -cnewer -mtime -atime -ctime -mmin -amin -cmin -used -fstype -maxdepth -mindepth -printf".split(
    " ",
  ),
);

/** `find`: where, then tests. `-exec` runs a printer on what was found, whose names begin with the place that was looked in. */
const find: Rule = (given) => {
  let at = 0;
  while (/^-[HP]$/.test(given[at] ?? "")) at += 1;
  const places: string[] = [];
  while (at < given.length && !/^[-!(),]/.test(given[at] as string)) places.push(given[at++] as string);
  const named = [...places];
  for (; at < given.length; at++) {
    const word = given[at] as string;
    if (FIND_WORDS.has(word) || /^-newer[aBcm][aBcmt]$/.test(word)) {
      if (word.startsWith("-newer")) named.push(given[++at] ?? "");
      continue;
    }
    if (FIND_VALUES.has(word)) {
      const value = given[++at];
      if (value === undefined) throw new Refused(`${word} lacks its value`);
      if (word === "-samefile" || word.endsWith("newer")) named.push(value);
    } else if (word === "-exec") {
      const end = given.findIndex((each, place) => place > at && (each === ";" || (each === "+" && given[place - 1] === "{}")));
      if (end === -1) throw new Refused("-exec has no end");
      named.push(...printer("find -exec", given.slice(at + 1, end)));
      at = end;
    } else throw new Refused(`${word.slice(0, 60)} is not known to only read`);
  }
  return named;
};

/** A program of which no option writes or runs anything, whatever names come behind it. */
function printer(who: string, [name = "", ...rest]: readonly string[]): readonly string[] {
  if (name === "echo") return rest;
  if (!Object.hasOwn(PRINTERS, name)) throw new Refused(`${who} may only run ${Object.keys(PRINTERS).join(", ")}`);
  return readLine(table(PRINTERS[name as keyof typeof PRINTERS]), rest).named;
}

/** `xargs`: its own options stand before the command's name. */
const xargs: Rule = (given) => {
  const { operands } = readLine(options("0rtn:L:I:P:s:d: null no-run-if-empty max-args= max-lines= replace= max-procs= delimiter=", false), given);
  if (operands.length === 0) return [];
  return printer("xargs", operands);
};

const sed: Rule = (given) => {
  const { options: found, operands } = readLine(table("nErsuze: quiet silent regexp-extended separate unbuffered null-data"), given);
  const scripts = found.flatMap(({ name, value = "" }) => (name === "-e" ? [value] : []));
  const files = scripts.length > 0 ? operands : operands.slice(1);
  for (const script of scripts.length > 0 ? scripts : operands.slice(0, 1)) requirePrinting(script);
  return files;
};

const jq: Rule = (given) => {
  // Two words behind one option: read before the others.
  const rest: string[] = [];
  for (let at = 0; at < given.length; at++) {
    if (given[at] === "--arg" || given[at] === "--argjson") at += 2;
    else rest.push(given[at] as string);
  }
  const { operands } = readLine(
    table(
      "rcnsSejaMCR raw-output compact-output null-input slurp sort-keys exit-status join-output ascii-output monochrome-output color-output raw-input tab indent=",
    ),
    rest,
  );
  if (/\b(include|import|modulemeta)\b/.test(operands[0] ?? "")) throw new Refused("the filter names a module");
  return operands.slice(1);
};

const date: Rule = (given) => {
  const { operands, options: found } = readLine(table("uRI@d:r: utc universal rfc-email iso-8601? rfc-3339= date= reference="), given);
  if (operands.some((operand) => !operand.startsWith("+"))) throw new Refused("it may set the clock");
  return found.flatMap(({ name, value }) => (value !== undefined && (name === "-r" || name === "--reference") ? [value] : []));
};

const sleep: Rule = ([seconds = "", ...more]) => {
  if (more.length > 0 || !/^([0-9]|[1-5][0-9]|60)(\.\d+)?$/.test(seconds)) throw new Refused("it sleeps for at most 60 seconds");
  return [];
};

/** Permitted programs by name. */
export const RULES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ...Object.entries(READERS).map(([name, notation]) => [name, reads(notation)] as const),
  [
    "sort",
    reads(
      "bdfgiMhnRrVcCk:mst:uzS: ignore-leading-blanks dictionary-order ignore-case general-numeric-sort ignore-nonprinting month-sort human-numeric-sort numeric-sort version-sort reverse sort= check? key= merge stable field-separator= unique zero-terminated buffer-size= parallel=",
    ),
  ],
  [
    "uniq",
    reads("cdDuif:s:w:z count repeated unique ignore-case skip-fields= skip-chars= check-chars= zero-terminated", atMost(1, "its second operand is written")),
  ],
  [
    "tree",
    reads(
      "adfilxpsuhgDFqNvtrcUXJL:P:I:CnS dirsfirst noreport charset? filelimit? timefmt? du si prune gitignore matchdirs ignore-case inodes device sort?",
      apart,
    ),
  ],
  ["rg", reads(RG)],
  ["find", find],
  ["xargs", xargs],
  ["sed", sed],
  ["jq", jq],
  ["date", date],
  ["sleep", sleep],
  ["echo", words],
  ["printf", words],
  ["true", words],
  ["false", words],
  ["test", words],
  ["[", words],
]);

/** Programs that a proposal may use beside reading without a wall: they create and move files of the workspace. Return the written paths. */
export const PROPOSING: ReadonlyMap<string, (given: readonly string[]) => { readonly reads: readonly string[]; readonly writes: readonly string[] }> = new Map([
  ["mkdir", (given: readonly string[]) => ({ reads: [], writes: readLine(table("pv parents verbose"), given).operands })],
  ["touch", (given: readonly string[]) => ({ reads: [], writes: readLine(table("acm"), given).operands })],
  ["cp", (given: readonly string[]) => moved(readLine(table("nprRvu no-clobber recursive verbose update"), given))],
  ["mv", (given: readonly string[]) => moved(readLine(table("nvu no-clobber verbose update"), given), true)],
]);

function moved({ operands }: Line, away = false): { readonly reads: readonly string[]; readonly writes: readonly string[] } {
  const [target, ...sources] = [...operands].reverse();
  if (target === undefined || sources.length === 0) throw new Refused("it needs what to take and where to put it");
  // Put into a folder it keeps its name: that place is judged, too.
  const inside = sources.map((source) => `${target}/${source.split("/").findLast((part) => part !== "") ?? ""}`);
  return { reads: sources, writes: [target, ...inside, ...(away ? sources : [])] };
}
