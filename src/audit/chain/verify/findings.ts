/**
 * An entry is `edited`, `missing`, `inserted` or `moved`. `head`: a block's head is not as it was signed.
 * `list`: a block's list of entries is not as it was sealed. `fork`: a signed block that does not belong
 * where it is. A whole block can be `block-missing`, `block-moved` or `block-inserted`. `cut`: blocks at the
 * end are missing, which a newer head proves. `emptied`: entries are gone without a retention on record. A
 * line is `unreadable` that is no part of an export. `export`: the first line is not as it was signed.
 */
type FindingKind =
  | 'edited'
  | 'missing'
  | 'inserted'
  | 'moved'
  | 'head'
  | 'list'
  | 'fork'
  | 'block-missing'
  | 'block-moved'
  | 'block-inserted'
  | 'cut'
  | 'emptied'
  | 'unreadable'
  | 'export';

export interface Finding {
  readonly kind: FindingKind;
  readonly chain?: number;
  readonly block?: number;
  /** It is the last of several blocks. */
  readonly lastBlock?: number;
  readonly entry?: number;
  /** It counts in the file, from 1; what is missing has none. */
  readonly line?: number;
  readonly detail?: string;
}

const MOST_KEPT = 10_000;

export class Findings {
  private readonly kept: Finding[] = [];
  private all = 0;

  add(finding: Finding): void {
    this.all += 1;
    if (this.kept.length < MOST_KEPT) this.kept.push(finding);
  }

  get list(): readonly Finding[] {
    return this.kept;
  }

  get count(): number {
    return this.all;
  }
}
