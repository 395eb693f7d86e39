import { digestOfHead, HASH_BYTES, type SignedHead } from '../block';
import type { StoredBlock } from '../chain.store';
import { isSignedBy } from '../sealing-key';
import { BlockEntries, type MissingEntry, type StrayLine } from '../verify/block-entries';
import { ChainCheck } from '../verify/chain-check';
import { type Finding, Findings } from '../verify/findings';
import { matchStrays } from '../verify/match-strays';

export interface BlocksToCheck {
  readonly chain: number;
  /** The verified block before these; null at the start of the chain. */
  readonly after: SignedHead | null;
  readonly blocks: readonly StoredBlock[];
  readonly lines: ReadonlyMap<number, string>;
  /** Accepted signing keys; null accepts every key. */
  readonly signers: readonly Buffer[] | null;
  /** Number of the last block whose content retention deleted, according to its log entry. */
  readonly forgottenUpTo: number;
}

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
  const strays: StrayLine[] = [];
  const missingEntries: MissingEntry[] = [];
  check.addRetention(forgottenUpTo);
  for (const { head, entries, digests } of blocks) {
    const isTrusted = signers?.some((signer) => signer.equals(head.signer)) ?? true;
    if (isTrusted && isSignedBy(head.signer, digestOfHead(head), head.signature)) check.take(head, 0);
    else {
      findings.add({ kind: 'head', chain, block: head.number });
      check.skip(head);
    }
    if (entries === null || digests === null) check.addEmptied(head.number);
    else {
      const list = { entries, digests: splitDigests(digests) };
      const block = new BlockEntries(head, list);
      for (const entry of entries) {
        const line = lines.get(entry);
        if (line !== undefined) block.add(Buffer.from(line), 0);
      }
      block.check(findings, strays, missingEntries);
    }
  }
  check.finish();
  matchStrays(strays, missingEntries, findings);
  return findings.list;
}

const splitDigests = (digests: Buffer): Buffer[] =>
  Array.from({ length: digests.length / HASH_BYTES }, (_, index) =>
    digests.subarray(index * HASH_BYTES, (index + 1) * HASH_BYTES),
  );
