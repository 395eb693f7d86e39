import { hashOfBlock, isSameHead, NO_BLOCK, type SignedHead } from '../block';
import type { Findings } from './findings';

interface BlockRange {
  from: number;
  to: number;
}

export class ChainCheck {
  private expected: number;
  private missing: BlockRange[] = [];
  private readonly emptied: BlockRange[] = [];
  private forgottenUpTo = 0;

  constructor(
    private readonly chain: number,
    private readonly knownHeads: readonly SignedHead[],
    private readonly findings: Findings,
    /** Null if the previous block was altered or is unknown. */
    private last: SignedHead | null = null,
  ) {
    this.expected = (last?.number ?? 0) + 1;
  }

  take(head: SignedHead, line: number): void {
    const { number: block } = head;
    const location = { chain: this.chain, block, line };
    const other = this.knownHeads.find(({ number }) => number === block);
    if (other !== undefined && !isSameHead(head, other))
      this.findings.add({
        kind: 'fork',
        ...location,
        detail: 'another block was anchored under this number',
      });
    if (block < this.expected) {
      const gap = this.missing.find(({ from, to }) => from <= block && block <= to);
      this.findings.add({ kind: gap === undefined ? 'block-inserted' : 'block-moved', ...location });
      if (gap !== undefined) this.fill(gap, block);
      return;
    }
    if (block > this.expected) this.missing.push({ from: this.expected, to: block - 1 });
    else if (!this.follows(head)) this.findings.add({ kind: 'fork', ...location });
    this.expected = block + 1;
    this.last = head;
  }

  /** Skips a head with an invalid signature, which counts as the expected block if it claims to be that. */
  skip({ number }: SignedHead): void {
    if (number !== this.expected) return;
    this.expected += 1;
    this.last = null;
  }

  addEmptied(block: number): void {
    const range = this.emptied.at(-1);
    if (range?.to === block - 1) range.to = block;
    else this.emptied.push({ from: block, to: block });
  }

  addRetention(upTo: number): void {
    this.forgottenUpTo = Math.max(this.forgottenUpTo, upTo);
  }

  get end(): SignedHead | null {
    return this.last;
  }

  finish(): void {
    const { chain } = this;
    for (const { from, to } of this.missing)
      this.findings.add({ kind: 'block-missing', chain, block: from, lastBlock: to });
    const newest = Math.max(0, ...this.knownHeads.map(({ number }) => number));
    if (newest >= this.expected)
      this.findings.add({ kind: 'cut', chain, block: this.expected, lastBlock: newest });
    for (const { from, to } of this.emptied) {
      const first = Math.max(from, this.forgottenUpTo + 1);
      if (first <= to) this.findings.add({ kind: 'emptied', chain, block: first, lastBlock: to });
    }
  }

  private follows(head: SignedHead): boolean {
    if (this.expected === 1) return head.previous.equals(NO_BLOCK) && head.first === 1;
    const { last } = this;
    if (last === null) return true;
    return head.previous.equals(hashOfBlock(last)) && head.first === last.first + last.count;
  }

  private fill(gap: BlockRange, block: number): void {
    const parts = [
      { from: gap.from, to: block - 1 },
      { from: block + 1, to: gap.to },
    ];
    this.missing = [
      ...this.missing.filter((range) => range !== gap),
      ...parts.filter(({ from, to }) => from <= to),
    ];
  }
}
