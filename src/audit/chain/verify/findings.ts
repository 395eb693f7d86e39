/**
 * Kinds of findings:
 * `edited`, `missing`, `inserted`, `moved`: an entry.
 * `head`: the head of a block differs from what was signed.
 * `list`: the list of a block's entries differs from what was sealed.
 * `fork`: a signed block in the wrong position.
 * `block-missing`, `block-moved`, `block-inserted`: a complete block.
 * `cut`: blocks at the end are missing, as a newer head proves.
 * `emptied`: entries are gone without a recorded retention.
 * `unreadable`: a line is not part of an export.
 * `export`: the first line differs from what was signed.
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
  readonly lastBlock?: number;
  readonly entry?: number;
  /** Line number in the file, from 1; absent for missing content. */
  readonly line?: number;
  readonly detail?: string;
}

const MAX_STORED = 10_000;

export class Findings {
  private readonly stored: Finding[] = [];
  private total = 0;

  add(finding: Finding): void {
    this.total += 1;
    if (this.stored.length < MAX_STORED) this.stored.push(finding);
  }

  get list(): readonly Finding[] {
    return this.stored;
  }

  get count(): number {
    return this.total;
  }
}
