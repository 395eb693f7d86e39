import type { ExportVerification } from '../../src/audit';
import type { Chance } from '../../test/system/chance';

/** A changed export, and whether what is found tells of this change and of nothing else. */
export interface Tampered {
  readonly kind: string;
  readonly text: string;
  readonly isLocated: (found: ExportVerification) => boolean;
}

interface Entry {
  readonly line: number;
  readonly id: number;
  readonly chain: number;
  readonly block: number;
}

interface Block {
  readonly line: number;
  readonly chain: number;
  readonly number: number;
  readonly entries: Entry[];
}

/** An export, taken apart: what its lines are, counted from 0. */
export class Original {
  readonly lines: readonly string[];
  readonly blocks: readonly Block[];
  readonly entries: readonly Entry[];
  readonly size: number;

  constructor(readonly text: string) {
    this.lines = text.split('\n').slice(0, -1);
    const blocks: Block[] = [];
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

type Tampering = (original: Original, chance: Chance) => Tampered;

const isRetention = (line = ''): boolean => line.includes('"log.forgotten"');

const joined = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('');

const entriesOf = ({ findings }: ExportVerification): number[] =>
  findings.flatMap(({ entry }) => (entry === undefined ? [] : [entry]));

/** Findings name some of these entries and no other one; without the entry of a retention its blocks are suspect. */
const namesOnly =
  (ids: readonly number[], mayEmpty = false) =>
  (found: ExportVerification): boolean =>
    entriesOf(found).length > 0 &&
    found.findings.every(({ kind, entry = -1 }) => ids.includes(entry) || (mayEmpty && kind === 'emptied'));

/** Findings name all of these entries and no other one. */
const namesAll =
  (ids: readonly number[], mayEmpty = false) =>
  (found: ExportVerification): boolean =>
    namesOnly(ids, mayEmpty)(found) && ids.every((id) => entriesOf(found).includes(id));

/** Another character in the place of one of the line's; the marks that make it a line of JSON count as well. */
function withOtherCharacter(line: string, chance: Chance, from = 0): string {
  const characters = Array.from(line);
  const place = chance.whole(from, characters.length - 1);
  const others = Array.from('abcXYZ0189{}",:é').filter((other) => other !== characters[place]);
  characters[place] = chance.pick(others);
  return characters.join('');
}

const editEntry: Tampering = ({ lines, entries }, chance) => {
  const { line, id } = chance.pick(entries);
  const text = joined(
    lines.map((content, place) => (place === line ? withOtherCharacter(content, chance) : content)),
  );
  return { kind: 'edit', text, isLocated: namesAll([id], isRetention(lines[line])) };
};

/** Replaces a value by another one that keeps the line a valid entry. */
const editValue: Tampering = ({ lines, entries }, chance) => {
  const { line, id } = chance.pick(entries);
  const entry = JSON.parse(lines[line] ?? '') as Record<string, unknown>;
  const field = chance.pick(Object.keys(entry));
  const other = typeof entry[field] === 'number' ? Number(entry[field]) + 1 : 'another value';
  const edited = JSON.stringify({ ...entry, [field]: other });
  const text = joined(lines.map((content, place) => (place === line ? edited : content)));
  return { kind: 'edit', text, isLocated: namesAll([id], isRetention(lines[line])) };
};

const removeEntries: Tampering = ({ lines, blocks }, chance) => {
  const { entries } = chance.pick(blocks.filter((block) => block.entries.length > 0));
  const from = chance.whole(0, entries.length - 1);
  const gone = entries.slice(from, from + chance.whole(1, 4));
  const text = joined(lines.filter((_, place) => !gone.some(({ line }) => line === place)));
  const isSuspect = gone.some(({ line }) => isRetention(lines[line]));
  return {
    kind: 'deletion',
    text,
    isLocated: namesAll(
      gone.map(({ id }) => id),
      isSuspect,
    ),
  };
};

const insertEntry: Tampering = ({ lines, entries, blocks }, chance) => {
  const model = chance.pick(entries);
  const isCopy = chance.flip();
  const content = lines[model.line] ?? '';
  const id = 5_000_000 + chance.whole(0, 1_000_000);
  const made = isCopy ? content : content.replace(/^\{"id":\d+/, `{"id":${id}`);
  const full = blocks.filter((block) => block.entries.length > 0);
  const { line } = chance.pick(chance.pick(full).entries);
  const text = joined(lines.toSpliced(line + 1, 0, made));
  return { kind: 'insertion', text, isLocated: namesAll([isCopy ? model.id : id]) };
};

const swapEntries: Tampering = ({ lines, entries }, chance) => {
  const one = chance.pick(entries);
  const other = chance.pick(entries.filter(({ line }) => line !== one.line));
  // Of three in reverse order it cannot be said which one stayed.
  const between = entries.filter(
    ({ line }) => Math.abs(one.line - other.line) === 2 && 2 * line === one.line + other.line,
  );
  const swapped = lines.with(one.line, lines[other.line] ?? '').with(other.line, lines[one.line] ?? '');
  return {
    kind: 'reordering',
    text: joined(swapped),
    isLocated: namesOnly(
      [one, other, ...between].map(({ id }) => id),
      true,
    ),
  };
};

/** From one place to another, often in another block; between two neighbours it cannot be said which one moved. */
const moveEntry: Tampering = ({ lines, entries }, chance) => {
  const one = chance.pick(entries);
  const other = chance.pick(entries.filter(({ line }) => line !== one.line));
  const without = lines.toSpliced(one.line, 1);
  const moved = without.toSpliced(other.line, 0, lines[one.line] ?? '');
  const isNear = Math.abs(one.line - other.line) === 1;
  const isLocated = namesOnly(isNear ? [one.id, other.id] : [one.id], isRetention(lines[one.line]));
  return { kind: 'reordering', text: joined(moved), isLocated };
};

const swapBlocks: Tampering = ({ lines, blocks }, chance) => {
  const one = chance.pick(blocks.filter((block) => blocks.some((other) => isOfChain(other, block))));
  const other = chance.pick(blocks.filter((block) => isOfChain(block, one)));
  const [first, second] = one.line < other.line ? [one, other] : [other, one];
  const after = (block: Block): number => block.line + block.entries.length + 1;
  const text = joined([
    ...lines.slice(0, first.line),
    ...lines.slice(second.line, after(second)),
    ...lines.slice(after(first), second.line),
    ...lines.slice(first.line, after(first)),
    ...lines.slice(after(second)),
  ]);
  const isLocated = ({ findings }: ExportVerification): boolean =>
    findings.length > 0 &&
    findings.every(
      ({ kind, chain, block = 0 }) =>
        kind === 'block-moved' && chain === one.chain && block >= first.number && block <= second.number,
    );
  return { kind: 'reordering', text, isLocated };
};

const isOfChain = (one: Block, other: Block): boolean => one.chain === other.chain && one !== other;

const removeBlock: Tampering = ({ lines, blocks }, chance) => {
  const { line, entries, chain, number } = chance.pick(blocks);
  const text = joined(lines.toSpliced(line, entries.length + 1));
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

/** The line of a block: its head, its list, or the marks around them. */
const editBlock: Tampering = ({ lines, blocks }, chance) => {
  const { line, chain, number } = chance.pick(blocks);
  const edited = withOtherCharacter(lines[line] ?? '', chance, '{"block":'.length);
  const text = joined(lines.map((content, place) => (place === line ? edited : content)));
  const isLocated = ({ findings }: ExportVerification): boolean =>
    findings.some((found) => found.line === line + 1 || (found.chain === chain && found.block === number));
  return { kind: 'edit', text, isLocated };
};

const editFirst: Tampering = ({ lines }, chance) => ({
  kind: 'edit',
  text: joined(lines.with(0, withOtherCharacter(lines[0] ?? '', chance))),
  isLocated: ({ findings }) => findings.some(({ kind, line }) => kind === 'export' && line === 1),
});

/** At any byte: inside a line, inside a block, or between two blocks. An entry that is gone is named, or its block. */
const cutTail: Tampering = (original, chance) => {
  const { text, lines, entries, blocks } = original;
  const start = (lines[0] ?? '').length + 1;
  const cut = text.slice(0, chance.whole(start, text.length - 1));
  const left = cut.split('\n').length - 1;
  const isLocated = ({ findings }: ExportVerification): boolean =>
    entries
      .filter(({ line }) => line >= left)
      .every(({ id, chain, block }) =>
        findings.some(
          (found) =>
            found.entry === id ||
            (found.kind === 'cut' &&
              found.chain === chain &&
              (found.block ?? Infinity) <= block &&
              block <= (found.lastBlock ?? 0)),
        ),
      ) &&
    findings.length > 0 &&
    findings.every(
      ({ entry, kind }) => kind !== 'missing' || entries.some(({ id, line }) => id === entry && line >= left),
    ) &&
    blocks.length > 0;
  return { kind: 'tail cut', text: cut, isLocated };
};

/** Each as often as its kind is asked for: edits, deletions, insertions, reorderings and tail cuts alike. */
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
