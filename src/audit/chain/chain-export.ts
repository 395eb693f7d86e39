import type { Tx } from '../../platform';
import { digestOfLine, HASH_BYTES, hashOfBlock, type SignedHead, serialiseHead } from './block';
import { allHeads, blocksAfter, linesOf, type StoredBlock } from './chain.store';
import { lineOf } from './entry-line';
import type { SealingKey } from './sealing-key';

export const EXPORT_FORMAT = 'switchboard-audit-1';

export const EXPORT_MARK = '{"export":';
export const BLOCK_MARK = '{"block":';

const BLOCKS_PER_READ = 200;
const ENTRIES_PER_READ = 5_000;

export interface ChainExportOptions {
  readonly chain?: number;
  /**
   * Anchored heads of the data folder, including evidence: rows that the database lost or changed later contradict
   * them.
   */
  readonly anchored: readonly SignedHead[];
  readonly key: SealingKey;
  readonly now: Date;
}

/**
 * Exports complete blocks with their lists and entries, chain by chain. The signed first line names the newest heads,
 * so that truncation is detected; the transaction needs a stable snapshot.
 */
export async function* exportedLines(tx: Tx, options: ChainExportOptions): AsyncGenerator<string> {
  const heads = (await allHeads(tx)).filter(
    ({ chain }) => options.chain === undefined || chain === options.chain,
  );
  yield firstLine(heads, options);
  for (const head of heads) {
    for (let after = 0; after < head.number;) {
      const range = { chain: head.chain, after, upTo: head.number, most: BLOCKS_PER_READ };
      const blocks = await blocksAfter(tx, range);
      const last = blocks.at(-1);
      if (last === undefined) break;
      after = last.head.number;
      for (const portion of inPortions(blocks)) yield* linesOfBlocks(tx, portion);
    }
  }
}

/** `{"export":{…},"signature":"…"}`: the signature covers the bytes of the object. */
function firstLine(heads: readonly SignedHead[], { anchored, key, now, chain }: ChainExportOptions): string {
  const requestedAnchors = anchored.filter((head) => chain === undefined || head.chain === chain);
  const namedHeads = new Map(
    [...heads, ...requestedAnchors].map((head) => [hashOfBlock(head).toString('hex'), head]),
  );
  const text = JSON.stringify({
    format: EXPORT_FORMAT,
    made_at: now.toISOString(),
    signer: key.publicKey.toString('base64url'),
    heads: [...namedHeads.values()].map(serialiseHead),
  });
  const signature = key.sign(digestOfLine(Buffer.from(text))).toString('base64url');
  return `${EXPORT_MARK}${text},"signature":"${signature}"}\n`;
}

function inPortions(blocks: readonly StoredBlock[]): StoredBlock[][] {
  const portions: StoredBlock[][] = [];
  let entries = ENTRIES_PER_READ;
  for (const block of blocks) {
    if (entries >= ENTRIES_PER_READ) {
      portions.push([]);
      entries = 0;
    }
    portions.at(-1)?.push(block);
    entries += block.head.count;
  }
  return portions;
}

async function* linesOfBlocks(tx: Tx, blocks: readonly StoredBlock[]): AsyncGenerator<string> {
  const entryIds = blocks.flatMap(({ entries }) => entries ?? []);
  const rows = entryIds.length === 0 ? [] : await linesOf(tx, entryIds);
  const lines = new Map(rows.map((row) => [Number(row.id), lineOf(row)]));
  for (const { head, entries, digests } of blocks) {
    const list = entries === null || digests === null ? {} : { entries, digests: encodeDigests(digests) };
    const block = `${BLOCK_MARK}${JSON.stringify({ ...serialiseHead(head), ...list })}}\n`;
    yield (
      block +
      (entries ?? [])
        .map((id) => lines.get(id))
        .filter((line) => line !== undefined)
        .map((line) => `${line}\n`)
        .join('')
    );
  }
}

const encodeDigests = (digests: Buffer): string[] =>
  Array.from({ length: digests.length / HASH_BYTES }, (_, index) =>
    digests.subarray(index * HASH_BYTES, (index + 1) * HASH_BYTES).toString('base64url'),
  );
