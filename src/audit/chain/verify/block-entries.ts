import { type BlockList, digestOfLine, rootOf, type SignedHead } from '../block';
import type { Findings } from './findings';

export interface StrayLine {
  readonly chain: number;
  readonly block: number;
  readonly line: number;
  /** Null if the line cannot be read. */
  readonly entry: number | null;
  readonly digest: string;
  /** Index in the list of the last entry before the line that is in the right position. */
  readonly after: number;
}

export interface MissingEntry {
  readonly chain: number;
  readonly block: number;
  readonly entry: number;
  readonly digest: string;
  readonly after: number;
}

interface BlockLine {
  readonly number: number;
  readonly text: Buffer;
  readonly digest: Buffer;
}

export class BlockEntries {
  private readonly lines: BlockLine[] = [];

  constructor(
    private readonly head: SignedHead,
    private readonly list: BlockList,
  ) {}

  add(text: Buffer, number: number): void {
    this.lines.push({ text, number, digest: digestOfLine(text) });
  }

  check(findings: Findings, strays: StrayLine[], missingEntries: MissingEntry[]): (line: number) => boolean {
    const { digests } = this.list;
    const isListIntact = digests.length === this.head.count && rootOf(this.list).equals(this.head.root);
    const isIntact =
      this.lines.length === digests.length &&
      this.lines.every(({ digest }, index) => digests[index]?.equals(digest) === true);
    if (isListIntact && isIntact) return () => true;
    const { chain, number: block } = this.head;
    if (!isListIntact) {
      const isSealed = rootOf(this.ownList()).equals(this.head.root);
      const detail = isSealed ? 'its entries are as they were sealed' : 'its entries cannot be told apart';
      findings.add({ kind: 'list', chain, block, detail });
      if (isSealed) return () => true;
    }
    const sealed = this.compare(findings, strays, missingEntries);
    return (line) => isListIntact && sealed.has(line);
  }

  private ownList(): BlockList {
    return {
      entries: this.lines.map(({ text }) => entryIn(text) ?? 0),
      digests: this.lines.map(({ digest }) => digest),
    };
  }

  private compare(
    findings: Findings,
    strays: StrayLine[],
    missingEntries: MissingEntry[],
  ): ReadonlySet<number> {
    const { chain, number: block } = this.head;
    const positions = new Map(this.list.digests.map((digest, place) => [digest.toString('hex'), place]));
    const seen = new Set<number>();
    const located = this.lines.map((line) => {
      const place = positions.get(line.digest.toString('hex'));
      const isCopy = place !== undefined && seen.has(place);
      if (place !== undefined) seen.add(place);
      return { line, place, isCopy };
    });
    const inOrder = longestIncreasing(
      located.flatMap(({ place, isCopy }) => (place === undefined || isCopy ? [] : [place])),
    );
    let after = -1;
    for (const { line, place, isCopy } of located) {
      const location = { chain, block, line: line.number };
      if (place === undefined) {
        strays.push({ ...location, after, entry: entryIn(line.text), digest: line.digest.toString('hex') });
      } else if (isCopy) {
        findings.add({ ...location, kind: 'inserted', entry: this.list.entries[place], detail: 'a copy' });
      } else if (inOrder.has(place)) after = place;
      else findings.add({ ...location, kind: 'moved', entry: this.list.entries[place] });
    }
    after = -1;
    for (const [place, digest] of this.list.digests.entries()) {
      if (inOrder.has(place)) after = place;
      const entry = this.list.entries[place] ?? 0;
      if (!seen.has(place))
        missingEntries.push({ chain, block, after, entry, digest: digest.toString('hex') });
    }
    return new Set(located.flatMap(({ line, place }) => (place === undefined ? [] : [line.number])));
  }
}

function entryIn(text: Buffer): number | null {
  const [, digits] = /^\{"id":(\d{1,15}),/.exec(text.toString('utf8', 0, 32)) ?? [];
  return digits === undefined ? null : Number(digits);
}

function longestIncreasing(numbers: readonly number[]): ReadonlySet<number> {
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
  const increasing = new Set<number>();
  for (let number = ends.at(-1); number !== undefined; number = before.get(number)) increasing.add(number);
  return increasing;
}
