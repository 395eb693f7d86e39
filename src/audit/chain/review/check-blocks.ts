import { digestOfHead, HASH_BYTES, type SignedHead } from '../block';
import type { StoredBlock } from '../chain-store';
import { isSignedBy } from '../sealing-key';
import { BlockEntries, type Lacking, type Stray } from '../verify/block-entries';
import { ChainCheck } from '../verify/chain-check';
import { type Finding, Findings } from '../verify/findings';
import { matchStrays } from '../verify/match-strays';

export interface BlocksToCheck {
  readonly chain: number;
  /** The block before them, as it was found right; null: they begin the chain. */
  readonly after: SignedHead | null;
  readonly blocks: readonly StoredBlock[];
  /** Each number of an entry has its line. */
  readonly lines: ReadonlyMap<number, string>;
  /** Only signatures of these keys count; null accepts everybody's. */
  readonly signers: readonly Buffer[] | null;
  /** Retention says that it removed entries up to this block. */
  readonly forgottenUpTo: number;
}

/** The same checks as those of an export, on the rows themselves. */
export function checkBlocks({
  chain,
  after,
  blocks,
  lines,
  signers,
  forgottenUpTo,
}: BlocksToCheck): readonly Finding[] {
  const findings = new Findings();
  const check = new ChainCheck(chain, [], findings, after);
  const strays: Stray[] = [];
  const lackings: Lacking[] = [];
  check.forgotten(forgottenUpTo);
  for (const { head, entries, digests } of blocks) {
    const isKnown = signers?.some((signer) => signer.equals(head.signer)) ?? true;
    if (isKnown && isSignedBy(head.signer, digestOfHead(head), head.signature)) check.take(head, 0);
    else {
      findings.add({ kind: 'head', chain, block: head.number });
      check.pass(head);
    }
    if (entries === null || digests === null) check.empty(head.number);
    else {
      const list = { entries, digests: portionsOf(digests) };
      const block = new BlockEntries(head, list);
      for (const entry of entries) {
        const line = lines.get(entry);
        if (line !== undefined) block.add(Buffer.from(line), 0);
      }
      block.check(findings, strays, lackings);
    }
  }
  check.finish();
  matchStrays(strays, lackings, findings);
  return findings.list;
}

const portionsOf = (digests: Buffer): Buffer[] =>
  Array.from({ length: digests.length / HASH_BYTES }, (_, place) =>
    digests.subarray(place * HASH_BYTES, (place + 1) * HASH_BYTES),
  );
