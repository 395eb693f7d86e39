import { type BlockList, digestOfLine, rootOf, type SignedHead } from '../block';
import type { Findings } from './findings';

/** A line of a block that its list does not have. */
export interface Stray {
  readonly chain: number;
  readonly block: number;
  readonly line: number;
  /** It is null where the line cannot be read. */
  readonly entry: number | null;
  readonly digest: string;
  /** The index in the list of the last entry before it that is in its right place. */
  readonly after: number;
}

/** An entry of a block's list that no line of the block has. */
export interface Lacking {
  readonly chain: number;
  readonly block: number;
  readonly entry: number;
  readonly digest: string;
  readonly after: number;
}

interface Line {
  readonly number: number;
  readonly text: Buffer;
  readonly digest: Buffer;
}

/** The lines of one block, held against its list. */
export class BlockEntries {
  private readonly lines: Line[] = [];

  constructor(
    private readonly head: SignedHead,
    private readonly list: BlockList,
  ) {}

  add(text: Buffer, number: number): void {
    this.lines.push({ text, number, digest: digestOfLine(text) });
  }

  /** Reports the differences that the block alone reveals. Returns the lines that match. */
  check(findings: Findings, strays: Stray[], lackings: Lacking[]): (line: number) => boolean {
    const { digests } = this.list;
    const isListWhole = digests.length === this.head.count && rootOf(this.list).equals(this.head.root);
    const isWhole =
      this.lines.length === digests.length &&
      this.lines.every(({ digest }, place) => digests[place]?.equals(digest) === true);
    if (isListWhole && isWhole) return () => true;
    const { chain, number: block } = this.head;
    if (!isListWhole) {
      const isSealed = rootOf(this.ownList()).equals(this.head.root);
      const detail = isSealed ? 'its entries are as they were sealed' : 'its entries cannot be told apart';
      findings.add({ kind: 'list', chain, block, detail });
      if (isSealed) return () => true;
    }
    const sealed = this.compare(findings, strays, lackings);
    return (line) => isListWhole && sealed.has(line);
  }

  private ownList(): BlockList {
    return {
      entries: this.lines.map(({ text }) => entryIn(text) ?? 0),
      digests: this.lines.map(({ digest }) => digest),
    };
  }

  private compare(findings: Findings, strays: Stray[], lackings: Lacking[]): ReadonlySet<number> {
    const { chain, number: block } = this.head;
    const places = new Map(this.list.digests.map((digest, place) => [digest.toString('hex'), place]));
    const seen = new Set<number>();
    const known = this.lines.map((line) => {
      const place = places.get(line.digest.toString('hex'));
      const isCopy = place !== undefined && seen.has(place);
      if (place !== undefined) seen.add(place);
      return { line, place, isCopy };
    });
    const inPlace = longestRising(
      known.flatMap(({ place, isCopy }) => (place === undefined || isCopy ? [] : [place])),
    );
    let after = -1;
    for (const { line, place, isCopy } of known) {
      const found = { chain, block, line: line.number };
      if (place === undefined) {
        strays.push({ ...found, after, entry: entryIn(line.text), digest: line.digest.toString('hex') });
      } else if (isCopy) {
        findings.add({ ...found, kind: 'inserted', entry: this.list.entries[place], detail: 'a copy' });
      } else if (inPlace.has(place)) after = place;
      else findings.add({ ...found, kind: 'moved', entry: this.list.entries[place] });
    }
    after = -1;
    for (const [place, digest] of this.list.digests.entries()) {
      if (inPlace.has(place)) after = place;
      const entry = this.list.entries[place] ?? 0;
      if (!seen.has(place)) lackings.push({ chain, block, after, entry, digest: digest.toString('hex') });
    }
    return new Set(known.flatMap(({ line, place }) => (place === undefined ? [] : [line.number])));
  }
}

/** The number that a line gives its entry. */
function entryIn(text: Buffer): number | null {
  const [, digits] = /^\{"id":(\d{1,15}),/.exec(text.toString('utf8', 0, 32)) ?? [];
  return digits === undefined ? null : Number(digits);
}

/** The longest increasing subsequence: entries outside of it were moved. */
function longestRising(numbers: readonly number[]): ReadonlySet<number> {
  const ends: number[] = [];
  const before = new Map<number, number | undefined>();
  for (const number of numbers) {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((ends[middle] ?? 0) < number) low = middle + 1;
      else high = middle;
    }
    before.set(number, ends[low - 1]);
    ends[low] = number;
  }
  const rising = new Set<number>();
  for (let number = ends.at(-1); number !== undefined; number = before.get(number)) rising.add(number);
  return rising;
}
