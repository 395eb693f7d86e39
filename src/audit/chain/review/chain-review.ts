import { setImmediate as nextTurn } from 'node:timers/promises';
import { Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { Database, Logger, Metrics, RepeatingJob, Settings, type Tx } from '../../../platform';
import { hashOfBlock, type SignedHead } from '../block';
import { allHeads, blocksAfter, headsAt, linesOf, type StoredBlock } from '../chain.store';
import { lineOf } from '../entry-line';
import { SealingKey } from '../sealing-key';
import type { Finding } from '../verify/findings';
import { breakText, ChainBreaks } from './chain-breaks';
import { checkBlocks } from './check-blocks';
import {
  restartRecheck,
  type CheckedChain,
  listCheckedChains,
  type CheckPass,
  forgottenUpTo,
  saveChecked,
  signersOfChecked,
} from './check.store';

const ENTRIES_PER_RUN = 250_000;
const DEADLINE_MS = 300_000;
const BLOCKS_PER_READ = 50;
/** Batch size between two turns of the event loop, which limits the delay of concurrent requests. */
const ENTRIES_PER_BATCH = 1_000;
const COUNT_EVERY_MS = 30_000;

interface ReviewWork {
  left: number;
  readonly signal: AbortSignal;
  /** Trusted signing keys for blocks that no check has seen; null trusts every key. */
  readonly signers: readonly Buffer[] | null;
}

export interface ReviewSummary {
  readonly entries: number;
  readonly breaks: number;
  readonly isComplete: boolean;
}

/**
 * Checks the chains of the activity log every night: new blocks first, then old blocks again. Each run resumes where
 * the last one ended and reports each break once.
 */
@Injectable()
export class ChainReview implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private timer: NodeJS.Timeout | undefined;
  private openBreaks = 0;

  constructor(
    private readonly database: Database,
    private readonly breaks: ChainBreaks,
    private readonly metrics: Metrics,
    private readonly settings: Settings,
    private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    this.metrics.beforeRead(() => this.metrics.auditChainBreaks.set({}, this.openBreaks));
    this.timer = setInterval(() => void this.count(), COUNT_EVERY_MS).unref();
    void this.count();
  }

  beforeApplicationShutdown(): void {
    clearInterval(this.timer);
  }

  @RepeatingJob({ name: 'verify-audit', cron: '50 3 * * *', deadlineMs: DEADLINE_MS })
  async reviewNightly(signal: AbortSignal): Promise<void> {
    const summary = await this.review(signal);
    this.logger.info('the chain of the activity log was checked', { ...summary });
  }

  async review(signal: AbortSignal, entries = ENTRIES_PER_RUN): Promise<ReviewSummary> {
    const work: ReviewWork = { left: entries, signal, signers: await this.trustedSigners() };
    const heads = await allHeads(this.database);
    const checked = new Map((await listCheckedChains(this.database)).map((each) => [each.chain, each]));
    let breaks = await this.reviewMissingChains(heads, checked);
    let isComplete = true;
    for (const head of heads) {
      if (isOver(work)) isComplete = false;
      else breaks += await this.reviewNew(head, checked.get(head.chain), work);
    }
    isComplete &&= !isOver(work);
    for (const chain of await listCheckedChains(this.database))
      if (!isOver(work)) breaks += await this.recheckChain(chain, work);
    await this.count();
    return { entries: entries - work.left, breaks, isComplete };
  }

  /**
   * Keys derived from the master keys, and those of blocks that passed before. The very first check trusts every key.
   */
  private async trustedSigners(): Promise<Buffer[] | null> {
    const signers = await signersOfChecked(this.database);
    if (signers.length === 0) return null;
    return [...signers, ...this.settings.masterKey.split(',').map((key) => SealingKey.of(key).publicKey)];
  }

  private async reviewMissingChains(
    heads: readonly SignedHead[],
    checked: ReadonlyMap<number, CheckedChain>,
  ): Promise<number> {
    const existingChains = new Set(heads.map(({ chain }) => chain));
    const missingChains = [...checked.values()].filter(({ chain }) => !existingChains.has(chain));
    const findings = missingChains.map(({ chain, number }): Finding => ({
      kind: 'cut',
      chain,
      block: 1,
      lastBlock: number,
    }));
    return this.database.transaction((tx) => this.recordBreaks(tx, findings));
  }

  private async reviewNew(
    head: SignedHead,
    checked: CheckedChain | undefined,
    work: ReviewWork,
  ): Promise<number> {
    if (checked !== undefined && head.number <= checked.number) return this.reviewEnd(head, checked);
    const start = { chain: head.chain, number: checked?.number ?? 0, hash: checked?.hash ?? null };
    return this.reviewFrom('new', start, head.number, work);
  }

  /** If the last verified block is gone, checking resumes at the first later block. */
  private async reviewEnd(head: SignedHead, { chain, number, hash }: CheckedChain): Promise<number> {
    if (head.number === number && hashOfBlock(head).equals(hash)) return 0;
    const finding: Finding =
      head.number === number
        ? { kind: 'fork', chain, block: number }
        : { kind: 'cut', chain, block: head.number + 1, lastBlock: number };
    return this.database.transaction(async (tx) => {
      await saveChecked(tx, 'new', head);
      return this.recordBreaks(tx, [finding]);
    });
  }

  private async recheckChain(
    { chain, number, againNumber, againHash }: CheckedChain,
    work: ReviewWork,
  ): Promise<number> {
    const breaks = await this.reviewFrom(
      'again',
      { chain, number: againNumber, hash: againHash },
      number,
      work,
    );
    if (!isOver(work)) await this.database.transaction((tx) => restartRecheck(tx, chain));
    return breaks;
  }

  private async reviewFrom(
    pass: CheckPass,
    start: ReviewPosition,
    upTo: number,
    work: ReviewWork,
  ): Promise<number> {
    let [breaks, from] = [0, start];
    while (from.number < upTo && !isOver(work)) {
      const portion = await this.checkPortion(from, upTo, pass === 'new' ? work.signers : null);
      const { last } = portion;
      breaks += await this.database.transaction(async (tx) => {
        if (last !== null) await saveChecked(tx, pass, last);
        return this.recordBreaks(tx, portion.findings);
      });
      if (last === null) return breaks;
      from = { chain: start.chain, number: last.number, hash: hashOfBlock(last) };
      work.left -= portion.entries;
      await nextTurn();
    }
    return breaks;
  }

  /** Reads a single snapshot of the database, so that a concurrent retention is visible completely or not at all. */
  private checkPortion(
    from: ReviewPosition,
    upTo: number,
    signers: ReviewWork['signers'],
  ): Promise<ReviewPortion> {
    return this.database.transaction((tx) => readAndCheck(tx, from, { upTo, signers }), {
      isolation: 'REPEATABLE READ',
      withoutActivity: 'only reads',
    });
  }

  private async recordBreaks(tx: Tx, findings: readonly Finding[]): Promise<number> {
    const added = await this.breaks.add(tx, findings);
    if (added.length > 0)
      this.logger.error('the chain of the activity log does not fit: entries were changed or removed', {
        found: added.slice(0, 20).map((each) => `chain ${each.chain}: ${breakText(each)}`),
        count: added.length,
        see: 'docs/audit.md',
      });
    return added.length;
  }

  private async count(): Promise<void> {
    try {
      this.openBreaks = await this.breaks.countOpen();
    } catch (error) {
      this.logger.warn('breaks of the audit chain could not be counted', { error });
    }
  }
}

/** Last verified block; its hash is null at the start of the chain. */
interface ReviewPosition {
  readonly chain: number;
  readonly number: number;
  readonly hash: Buffer | null;
}

interface ReviewPortion {
  readonly findings: readonly Finding[];
  readonly entries: number;
  /** Last block that was read; null if there was none. */
  readonly last: SignedHead | null;
}

const isOver = ({ left, signal }: ReviewWork): boolean => left <= 0 || signal.aborted;

async function readAndCheck(
  tx: Tx,
  { chain, number, hash }: ReviewPosition,
  { upTo, signers }: { readonly upTo: number; readonly signers: ReviewWork['signers'] },
): Promise<ReviewPortion> {
  const reader = { query: <Row>(sql: string, parameters?: unknown[]) => tx.query<Row[]>(sql, parameters) };
  const before = number === 0 ? null : await headBefore(reader, chain, number);
  const isUnchanged = before === null || hash === null || hashOfBlock(before).equals(hash);
  const startFindings: Finding[] =
    number > 0 && (before === null || !isUnchanged)
      ? [{ kind: before === null ? 'block-missing' : 'fork', chain, block: number }]
      : [];
  const storedBlocks = await blocksAfter(reader, { chain, after: number, upTo, most: BLOCKS_PER_READ });
  const blocks = firstBatch(storedBlocks);
  const last = blocks.at(-1)?.head ?? null;
  // No block up to the head: it was removed meanwhile, which the next run reports.
  if (last === null) return { findings: startFindings, entries: 0, last };
  const entryIds = blocks.flatMap(({ entries }) => entries ?? []);
  const rows = entryIds.length === 0 ? [] : await linesOf(reader, entryIds);
  const lines = new Map(rows.map((row) => [Number(row.id), lineOf(row)]));
  const isEmptied = blocks.some(({ entries }) => entries === null);
  const emptiedUpTo = isEmptied ? await forgottenUpTo(tx, chain) : 0;
  const findings = checkBlocks({ chain, after: before, blocks, lines, signers, forgottenUpTo: emptiedUpTo });
  return { findings: [...startFindings, ...findings], entries: Math.max(1, entryIds.length), last };
}

async function headBefore(
  reader: Parameters<typeof headsAt>[0],
  chain: number,
  number: number,
): Promise<SignedHead | null> {
  const [head] = await headsAt(reader, [{ chain, number }]);
  return head ?? null;
}

function firstBatch(blocks: readonly StoredBlock[]): StoredBlock[] {
  let entries = 0;
  return blocks.filter(({ head }, index) => {
    entries += head.count;
    return index === 0 || entries <= ENTRIES_PER_BATCH;
  });
}
