import type { ExportVerification } from '../../src/audit';
import type { SeededRandom } from '../../test/system/seeded-random';

/** A changed export, and a check that the findings locate this change and no other. */
export interface TamperedExport {
  readonly kind: string;
  readonly text: string;
  readonly isLocated: (found: ExportVerification) => boolean;
}

interface ExportedEntry {
  readonly line: number;
  readonly id: number;
  readonly chain: number;
  readonly block: number;
}

interface ExportedBlock {
  readonly line: number;
  readonly chain: number;
  readonly number: number;
  readonly entries: ExportedEntry[];
}

/** A parsed export; line numbers start at 0. */
export class ParsedExport {
  readonly lines: readonly string[];
  readonly blocks: readonly ExportedBlock[];
  readonly entries: readonly ExportedEntry[];
  readonly size: number;

  constructor(readonly text: string) {
    this.lines = text.split('\n').slice(0, -1);
    const blocks: ExportedBlock[] = [];
    this.size = text.length;
    for (const [line, content] of this.lines.entries()) {
      if (line === 0) continue;
      const value = JSON.parse(content) as { id?: number; block?: { chain: number; number: number } };
      if (value.block !== undefined) {
        blocks.push({ line, chain: value.block.chain, number: value.block.number, entries: [] });
        continue;
      }
      const block = blocks.at(-1);
      if (block === undefined || value.id === undefined) throw new Error('an entry without a block');
      block.entries.push({ line, id: value.id, chain: block.chain, block: block.number });
    }
    this.blocks = blocks;
    this.entries = blocks.flatMap(({ entries }) => entries);
  }
}

type Tampering = (original: ParsedExport, chance: SeededRandom) => TamperedExport;

const isRetention = (line = ''): boolean => line.includes('"log.forgotten"');

const joinLines = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('');

const entriesOf = ({ findings }: ExportVerification): number[] =>
  findings.flatMap(({ entry }) => (entry === undefined ? [] : [entry]));

/** Tells whether the findings name only these entries; blocks without their retention entry are suspect. */
const namesOnly =
  (ids: readonly number[], mayEmpty = false) =>
  (verification: ExportVerification): boolean =>
    entriesOf(verification).length > 0 &&
    verification.findings.every(
      ({ kind, entry = -1 }) => ids.includes(entry) || (mayEmpty && kind === 'emptied'),
    );

/** Tells whether the findings name exactly these entries. */
const namesAll =
  (ids: readonly number[], mayEmpty = false) =>
  (verification: ExportVerification): boolean =>
    namesOnly(ids, mayEmpty)(verification) && ids.every((id) => entriesOf(verification).includes(id));

/** Replaces one character of the line by another; JSON punctuation counts as well. */
function replaceCharacter(line: string, chance: SeededRandom, from = 0): string {
  const characters = Array.from(line);
  const position = chance.integer(from, characters.length - 1);
  const others = Array.from('abcXYZ0189{}",:é').filter((other) => other !== characters[position]);
  characters[position] = chance.pick(others);
  return characters.join('');
}

const editEntry: Tampering = ({ lines, entries }, chance) => {
  const { line, id } = chance.pick(entries);
  const text = joinLines(
    lines.map((content, index) => (index === line ? replaceCharacter(content, chance) : content)),
  );
  return { kind: 'edit', text, isLocated: namesAll([id], isRetention(lines[line])) };
};

/** Replaces a value such that the line remains a valid entry. */
const editValue: Tampering = ({ lines, entries }, chance) => {
  const { line, id } = chance.pick(entries);
  const entry = JSON.parse(lines[line] ?? '') as Record<string, unknown>;
  const field = chance.pick(Object.keys(entry));
  const other = typeof entry[field] === 'number' ? Number(entry[field]) + 1 : 'another value';
  const editedLine = JSON.stringify({ ...entry, [field]: other });
  const text = joinLines(lines.map((content, index) => (index === line ? editedLine : content)));
  return { kind: 'edit', text, isLocated: namesAll([id], isRetention(lines[line])) };
};

const removeEntries: Tampering = ({ lines, blocks }, chance) => {
  const { entries } = chance.pick(blocks.filter((block) => block.entries.length > 0));
  const from = chance.integer(0, entries.length - 1);
  const removedEntries = entries.slice(from, from + chance.integer(1, 4));
  const text = joinLines(lines.filter((_, index) => !removedEntries.some(({ line }) => line === index)));
  const isSuspect = removedEntries.some(({ line }) => isRetention(lines[line]));
  return {
    kind: 'deletion',
    text,
    isLocated: namesAll(
      removedEntries.map(({ id }) => id),
      isSuspect,
    ),
  };
};

const insertEntry: Tampering = ({ lines, entries, blocks }, chance) => {
  const model = chance.pick(entries);
  const isCopy = chance.flip();
  const content = lines[model.line] ?? '';
  const id = 5_000_000 + chance.integer(0, 1_000_000);
  const insertedLine = isCopy ? content : content.replace(/^\{"id":\d+/, `{"id":${id}`);
  const full = blocks.filter((block) => block.entries.length > 0);
  const { line } = chance.pick(chance.pick(full).entries);
  const text = joinLines(lines.toSpliced(line + 1, 0, insertedLine));
  return { kind: 'insertion', text, isLocated: namesAll([isCopy ? model.id : id]) };
};

const swapEntries: Tampering = ({ lines, entries }, chance) => {
  const first = chance.pick(entries);
  const other = chance.pick(entries.filter(({ line }) => line !== first.line));
  // If the order of three entries is reversed, the one that stayed cannot be determined.
  const between = entries.filter(
    ({ line }) => Math.abs(first.line - other.line) === 2 && 2 * line === first.line + other.line,
  );
  const swapped = lines.with(first.line, lines[other.line] ?? '').with(other.line, lines[first.line] ?? '');
  return {
    kind: 'reordering',
    text: joinLines(swapped),
    isLocated: namesOnly(
      [first, other, ...between].map(({ id }) => id),
      true,
    ),
  };
};

/** Moves an entry, often to another block; of two swapped neighbours, the moved one cannot be determined. */
const moveEntry: Tampering = ({ lines, entries }, chance) => {
  const first = chance.pick(entries);
  const other = chance.pick(entries.filter(({ line }) => line !== first.line));
  const remainingLines = lines.toSpliced(first.line, 1);
  const movedLines = remainingLines.toSpliced(other.line, 0, lines[first.line] ?? '');
  const isNear = Math.abs(first.line - other.line) === 1;
  const isLocated = namesOnly(isNear ? [first.id, other.id] : [first.id], isRetention(lines[first.line]));
  return { kind: 'reordering', text: joinLines(movedLines), isLocated };
};

const swapBlocks: Tampering = ({ lines, blocks }, chance) => {
  const one = chance.pick(blocks.filter((block) => blocks.some((other) => isOfChain(other, block))));
  const other = chance.pick(blocks.filter((block) => isOfChain(block, one)));
  const [first, second] = one.line < other.line ? [one, other] : [other, one];
  const endLineOf = (block: ExportedBlock): number => block.line + block.entries.length + 1;
  const text = joinLines([
    ...lines.slice(0, first.line),
    ...lines.slice(second.line, endLineOf(second)),
    ...lines.slice(endLineOf(first), second.line),
    ...lines.slice(first.line, endLineOf(first)),
    ...lines.slice(endLineOf(second)),
  ]);
  const isLocated = ({ findings }: ExportVerification): boolean =>
    findings.length > 0 &&
    findings.every(
      ({ kind, chain, block = 0 }) =>
        kind === 'block-moved' && chain === one.chain && block >= first.number && block <= second.number,
    );
  return { kind: 'reordering', text, isLocated };
};

const isOfChain = (one: ExportedBlock, other: ExportedBlock): boolean =>
  one.chain === other.chain && one !== other;

const removeBlock: Tampering = ({ lines, blocks }, chance) => {
  const { line, entries, chain, number } = chance.pick(blocks);
  const text = joinLines(lines.toSpliced(line, entries.length + 1));
  const isLocated = ({ findings }: ExportVerification): boolean =>
    findings.length === 1 &&
    findings.every(
      ({ kind, chain: of, block, lastBlock }) =>
        (kind === 'block-missing' || kind === 'cut') &&
        of === chain &&
        block === number &&
        lastBlock === number,
    );
  return { kind: 'deletion', text, isLocated };
};

/** Changes the line of a block: its header, its list or the punctuation around them. */
const editBlock: Tampering = ({ lines, blocks }, chance) => {
  const { line, chain, number } = chance.pick(blocks);
  const editedLine = replaceCharacter(lines[line] ?? '', chance, '{"block":'.length);
  const text = joinLines(lines.map((content, index) => (index === line ? editedLine : content)));
  const isLocated = ({ findings }: ExportVerification): boolean =>
    findings.some(
      (finding) => finding.line === line + 1 || (finding.chain === chain && finding.block === number),
    );
  return { kind: 'edit', text, isLocated };
};

const editFirst: Tampering = ({ lines }, chance) => ({
  kind: 'edit',
  text: joinLines(lines.with(0, replaceCharacter(lines[0] ?? '', chance))),
  isLocated: ({ findings }) => findings.some(({ kind, line }) => kind === 'export' && line === 1),
});

/**
 * Cuts at any byte: inside a line, inside a block or between two blocks. The findings name each lost entry or its
 * block.
 */
const cutTail: Tampering = (original, chance) => {
  const { text, lines, entries, blocks } = original;
  const start = (lines[0] ?? '').length + 1;
  const cut = text.slice(0, chance.integer(start, text.length - 1));
  const keptLines = cut.split('\n').length - 1;
  const isLocated = ({ findings }: ExportVerification): boolean =>
    entries
      .filter(({ line }) => line >= keptLines)
      .every(({ id, chain, block }) =>
        findings.some(
          (verification) =>
            verification.entry === id ||
            (verification.kind === 'cut' &&
              verification.chain === chain &&
              (verification.block ?? Infinity) <= block &&
              block <= (verification.lastBlock ?? 0)),
        ),
      ) &&
    findings.length > 0 &&
    findings.every(
      ({ entry, kind }) =>
        kind !== 'missing' || entries.some(({ id, line }) => id === entry && line >= keptLines),
    ) &&
    blocks.length > 0;
  return { kind: 'tail cut', text: cut, isLocated };
};

/** Weighted so that edits, deletions, insertions, reorderings and tail cuts are equally frequent. */
export const tampers: readonly Tampering[] = [
  editEntry,
  editValue,
  editBlock,
  editFirst,
  removeEntries,
  removeEntries,
  removeEntries,
  removeBlock,
  insertEntry,
  insertEntry,
  insertEntry,
  insertEntry,
  swapEntries,
  swapEntries,
  moveEntry,
  swapBlocks,
  cutTail,
  cutTail,
  cutTail,
  cutTail,
];
