import type { Tx } from '../../platform';
import { digestOfLine, HASH_BYTES, hashOfBlock, type SignedHead, writtenHead } from './block';
import { allHeads, blocksAfter, linesOf, type StoredBlock } from './chain-store';
import { lineOf } from './entry-line';
import type { SealingKey } from './sealing-key';

export const EXPORT_FORMAT = 'switchboard-audit-1';

/** The prefix of lines that are not entries. */
export const EXPORT_MARK = '{"export":';
export const BLOCK_MARK = '{"block":';

const BLOCKS_AT_ONCE = 200;
const ENTRIES_AT_ONCE = 5_000;

export interface ChainExportOptions {
  /** Without it, all chains are exported. */
  readonly chain?: number;
  /**
   * The anchored heads of the data folder, evidence included: rows that the database lost or changed later contradict
   * them.
   */
  readonly anchored: readonly SignedHead[];
  readonly key: SealingKey;
  readonly now: Date;
}

/**
 * Exports whole blocks with their lists and entries, chain by chain, as lines. The first line names the newest heads
 * and is signed, so that truncation is detected. The transaction needs a stable snapshot.
 */
export async function* exportedLines(tx: Tx, wish: ChainExportOptions): AsyncGenerator<string> {
  const heads = (await allHeads(tx)).filter(({ chain }) => wish.chain === undefined || chain === wish.chain);
  yield firstLine(heads, wish);
  for (const head of heads) {
    for (let after = 0; after < head.number;) {
      const place = { chain: head.chain, after, upTo: head.number, most: BLOCKS_AT_ONCE };
      const blocks = await blocksAfter(tx, place);
      const last = blocks.at(-1);
      // The end of a chain is missing here; the head in the first line reveals it.
      if (last === undefined) break;
      after = last.head.number;
      for (const some of inPortions(blocks)) yield* linesOfBlocks(tx, some);
    }
  }
}

/** `{"export":{…},"signature":"…"}`: the signature is over the bytes of the object. */
function firstLine(heads: readonly SignedHead[], { anchored, key, now, chain }: ChainExportOptions): string {
  const ofWish = anchored.filter((head) => chain === undefined || head.chain === chain);
  const named = new Map([...heads, ...ofWish].map((head) => [hashOfBlock(head).toString('hex'), head]));
  const text = JSON.stringify({
    format: EXPORT_FORMAT,
    made_at: now.toISOString(),
    signer: key.publicKey.toString('base64url'),
    heads: [...named.values()].map(writtenHead),
  });
  const signature = key.sign(digestOfLine(Buffer.from(text))).toString('base64url');
  return `${EXPORT_MARK}${text},"signature":"${signature}"}\n`;
}

function inPortions(blocks: readonly StoredBlock[]): StoredBlock[][] {
  const portions: StoredBlock[][] = [];
  let entries = ENTRIES_AT_ONCE;
  for (const block of blocks) {
    if (entries >= ENTRIES_AT_ONCE) {
      portions.push([]);
      entries = 0;
    }
    portions.at(-1)?.push(block);
    entries += block.head.count;
  }
  return portions;
}

async function* linesOfBlocks(tx: Tx, blocks: readonly StoredBlock[]): AsyncGenerator<string> {
  const wanted = blocks.flatMap(({ entries }) => entries ?? []);
  const rows = wanted.length === 0 ? [] : await linesOf(tx, wanted);
  const lines = new Map(rows.map((row) => [Number(row.id), lineOf(row)]));
  for (const { head, entries, digests } of blocks) {
    const list = entries === null || digests === null ? {} : { entries, digests: writtenDigests(digests) };
    const block = `${BLOCK_MARK}${JSON.stringify({ ...writtenHead(head), ...list })}}\n`;
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

const writtenDigests = (digests: Buffer): string[] =>
  Array.from({ length: digests.length / HASH_BYTES }, (_, place) =>
    digests.subarray(place * HASH_BYTES, (place + 1) * HASH_BYTES).toString('base64url'),
  );
