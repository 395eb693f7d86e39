import { hashOfBlock, isSameHead, NO_BLOCK, type SignedHead } from '../block';
import type { Findings } from './findings';

interface Range {
  from: number;
  to: number;
}

/** The heads of one chain in the order in which they come. */
export class ChainCheck {
  private expected: number;
  private missing: Range[] = [];
  private readonly emptied: Range[] = [];
  private forgottenUpTo = 0;

  constructor(
    private readonly chain: number,
    /** These heads of the chain are known from elsewhere, such as anchors. */
    private readonly known: readonly SignedHead[],
    private readonly findings: Findings,
    /** It is null where the previous block was altered or is unknown. */
    private last: SignedHead | null = null,
  ) {
    this.expected = (last?.number ?? 0) + 1;
  }

  /** A head whose signature holds, or has still to be looked at. */
  take(head: SignedHead, line: number): void {
    const { number: block } = head;
    const found = { chain: this.chain, block, line };
    const other = this.known.find(({ number }) => number === block);
    if (other !== undefined && !isSameHead(head, other))
      this.findings.add({ kind: 'fork', ...found, detail: 'another block was anchored under this number' });
    if (block < this.expected) {
      const gap = this.missing.find(({ from, to }) => from <= block && block <= to);
      this.findings.add({ kind: gap === undefined ? 'block-inserted' : 'block-moved', ...found });
      if (gap !== undefined) this.fill(gap, block);
      return;
    }
    if (block > this.expected) this.missing.push({ from: this.expected, to: block - 1 });
    else if (!this.follows(head)) this.findings.add({ kind: 'fork', ...found });
    this.expected = block + 1;
    this.last = head;
  }

  /** A head with an invalid signature counts as the expected block, if it claims to be that. */
  pass({ number }: SignedHead): void {
    if (number !== this.expected) return;
    this.expected += 1;
    this.last = null;
  }

  /** A block without entries. */
  empty(block: number): void {
    const range = this.emptied.at(-1);
    if (range?.to === block - 1) range.to = block;
    else this.emptied.push({ from: block, to: block });
  }

  /** A sealed entry records that retention emptied the blocks up to this one. */
  forgotten(upTo: number): void {
    this.forgottenUpTo = Math.max(this.forgottenUpTo, upTo);
  }

  get end(): SignedHead | null {
    return this.last;
  }

  finish(): void {
    const { chain } = this;
    for (const { from, to } of this.missing)
      this.findings.add({ kind: 'block-missing', chain, block: from, lastBlock: to });
    const newest = Math.max(0, ...this.known.map(({ number }) => number));
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

  private fill(gap: Range, block: number): void {
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
