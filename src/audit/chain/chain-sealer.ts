import type { Tx } from '../../platform';
import {
  BLOCK_VERSION,
  type BlockHead,
  type BlockList,
  digestOfHead,
  digestOfLine,
  hashOfBlock,
  NO_BLOCK,
  rootOf,
  type SignedHead,
} from './block';
import { addBlock, type LastBlock, lastBlocks, type WaitingEntry, waitingEntries } from './chain.store';
import { lineOf } from './entry-line';
import type { SealingKey } from './sealing-key';

const ENTRIES_PER_BLOCK = 1_000;
const ENTRIES_PER_ROUND = 5_000;

const SEALING_LOCK = "hashtextextended('switchboard.activity-seal', 0)";

export interface SealedRound {
  readonly heads: readonly SignedHead[];
  readonly isFull: boolean;
}

/**
 * Seals waiting entries in the order of their ids, each in the chain of its organisation. Only one node seals at a
 * time; null while another node does.
 */
export async function sealWaiting(tx: Tx, key: SealingKey): Promise<SealedRound | null> {
  const [lock] = await tx.query<{ taken: boolean }[]>(
    `SELECT pg_try_advisory_xact_lock(${SEALING_LOCK}) AS taken`,
  );
  if (lock?.taken !== true) return null;
  const waiting = await waitingEntries(tx, ENTRIES_PER_ROUND);
  const isFull = waiting.length === ENTRIES_PER_ROUND;
  const byChain = Map.groupBy(waiting, ({ chain }) => chain);
  const last = await lastBlocks(tx, [...byChain.keys()]);
  const [clock] = await tx.query<{ now: Date }[]>('SELECT clock_timestamp() AS now');
  const sealedAt = (clock?.now ?? new Date()).toISOString();
  for (const [chain, entries] of byChain) {
    for (let from = 0; from < entries.length; from += ENTRIES_PER_BLOCK) {
      const list = blockListOf(entries.slice(from, from + ENTRIES_PER_BLOCK));
      const head = signHead(key, { ...nextPosition(chain, last.get(chain)), ...summaryOf(list), sealedAt });
      const hash = hashOfBlock(head);
      await addBlock(tx, head, hash, list);
      last.set(chain, { head, hash });
    }
  }
  return { heads: [...last.values()].map(({ head }) => head), isFull };
}

function blockListOf(entries: readonly WaitingEntry[]): BlockList {
  return {
    entries: entries.map(({ id }) => Number(id)),
    digests: entries.map((entry) => digestOfLine(Buffer.from(lineOf(entry)))),
  };
}

const summaryOf = (list: BlockList): Pick<BlockHead, 'count' | 'root'> => ({
  count: list.entries.length,
  root: rootOf(list),
});

/**
 * A head that was altered after sealing is reported by the checks; it must not keep later entries from being sealed.
 */
const nextPosition = (
  chain: number,
  last: LastBlock | undefined,
): Pick<BlockHead, 'chain' | 'number' | 'first' | 'previous'> => ({
  chain,
  number: (last?.head.number ?? 0) + 1,
  first: last === undefined ? 1 : last.head.first + last.head.count,
  previous: last?.hash ?? NO_BLOCK,
});

function signHead(key: SealingKey, draft: Omit<BlockHead, 'version' | 'signer'>): SignedHead {
  const head = { ...draft, version: BLOCK_VERSION, signer: key.publicKey };
  return { ...head, signature: key.sign(digestOfHead(head)) };
}
