import { setImmediate as nextTurn } from 'node:timers/promises';
import { Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { Database, Logger, Metrics, RepeatingJob, Settings, type Tx } from '../../../platform';
import { hashOfBlock, type SignedHead } from '../block';
import { allHeads, blocksAfter, headsAt, linesOf, type StoredBlock } from '../chain-store';
import { lineOf } from '../entry-line';
import { SealingKey } from '../sealing-key';
import type { Finding } from '../verify/findings';
import { breakText, ChainBreaks } from './chain-breaks';
import { checkBlocks } from './check-blocks';
import {
  beginAgain,
  type CheckedChain,
  checkedChains,
  type CheckPass,
  forgottenUpTo,
  noteChecked,
  signersOfChecked,
} from './check-store';

/** The bound of one run; the next run does the rest. */
const ENTRIES_A_RUN = 250_000;
const DEADLINE_MS = 300_000;
const BLOCKS_AT_ONCE = 50;
/** The batch size between two turns of the event loop: concurrent requests wait no longer than that. */
const ENTRIES_AT_ONCE = 1_000;
const COUNT_EVERY_MS = 30_000;

interface Work {
  left: number;
  readonly signal: AbortSignal;
  /** The trusted signing keys for blocks that no check has seen; null: every key. */
  readonly signers: readonly Buffer[] | null;
}

export interface ReviewSummary {
  readonly entries: number;
  readonly breaks: number;
  /** The run checked everything that was sealed when it began. */
  readonly isComplete: boolean;
}

/**
 * Checks the chains of the activity log every night. New blocks come first; the rest of the run checks old blocks
 * again. It resumes where it ended, and reports each break once.
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

  async review(signal: AbortSignal, entries = ENTRIES_A_RUN): Promise<ReviewSummary> {
    const work: Work = { left: entries, signal, signers: await this.knownSigners() };
    const heads = await allHeads(this.database);
    const checked = new Map((await checkedChains(this.database)).map((each) => [each.chain, each]));
    let breaks = await this.reviewGone(heads, checked);
    let isComplete = true;
    for (const head of heads) {
      if (isOver(work)) isComplete = false;
      else breaks += await this.reviewNew(head, checked.get(head.chain), work);
    }
    isComplete &&= !isOver(work);
    for (const chain of await checkedChains(this.database))
      if (!isOver(work)) breaks += await this.reviewAgain(chain, work);
    await this.count();
    return { entries: entries - work.left, breaks, isComplete };
  }

  /**
   * The keys derived from the master keys, and those of blocks that passed before. The very first check trusts every
   * key.
   */
  private async knownSigners(): Promise<Buffer[] | null> {
    const signers = await signersOfChecked(this.database);
    if (signers.length === 0) return null;
    return [...signers, ...this.settings.masterKey.split(',').map((key) => SealingKey.of(key).publicKey)];
  }

  /** Chains that existed and are gone. */
  private async reviewGone(
    heads: readonly SignedHead[],
    checked: ReadonlyMap<number, CheckedChain>,
  ): Promise<number> {
    const there = new Set(heads.map(({ chain }) => chain));
    const gone = [...checked.values()].filter(({ chain }) => !there.has(chain));
    const findings = gone.map(({ chain, number }): Finding => ({
      kind: 'cut',
      chain,
      block: 1,
      lastBlock: number,
    }));
    return this.database.transaction((tx) => this.note(tx, findings));
  }

  private async reviewNew(head: SignedHead, known: CheckedChain | undefined, work: Work): Promise<number> {
    if (known !== undefined && head.number <= known.number) return this.reviewEnd(head, known);
    const place = { chain: head.chain, number: known?.number ?? 0, hash: known?.hash ?? null };
    return this.reviewFrom('new', place, head.number, work);
  }

  /** Where the last verified block is gone, checking resumes at the first later block. */
  private async reviewEnd(head: SignedHead, { chain, number, hash }: CheckedChain): Promise<number> {
    if (head.number === number && hashOfBlock(head).equals(hash)) return 0;
    const found: Finding =
      head.number === number
        ? { kind: 'fork', chain, block: number }
        : { kind: 'cut', chain, block: head.number + 1, lastBlock: number };
    return this.database.transaction(async (tx) => {
      await noteChecked(tx, 'new', head);
      return this.note(tx, [found]);
    });
  }

  private async reviewAgain(
    { chain, number, againNumber, againHash }: CheckedChain,
    work: Work,
  ): Promise<number> {
    const found = await this.reviewFrom(
      'again',
      { chain, number: againNumber, hash: againHash },
      number,
      work,
    );
    if (!isOver(work)) await this.database.transaction((tx) => beginAgain(tx, chain));
    return found;
  }

  private async reviewFrom(pass: CheckPass, place: Place, upTo: number, work: Work): Promise<number> {
    let [breaks, from] = [0, place];
    while (from.number < upTo && !isOver(work)) {
      const portion = await this.checkPortion(from, upTo, pass === 'new' ? work.signers : null);
      const { last } = portion;
      breaks += await this.database.transaction(async (tx) => {
        if (last !== null) await noteChecked(tx, pass, last);
        return this.note(tx, portion.findings);
      });
      if (last === null) return breaks;
      from = { chain: place.chain, number: last.number, hash: hashOfBlock(last) };
      work.left -= portion.entries;
      await nextTurn();
    }
    return breaks;
  }

  /** Reads one snapshot of the database, so that a concurrent retention is seen whole or not at all. */
  private checkPortion(from: Place, upTo: number, signers: Work['signers']): Promise<Portion> {
    return this.database.transaction((tx) => readAndCheck(tx, from, { upTo, signers }), {
      isolation: 'REPEATABLE READ',
      withoutActivity: 'only reads',
    });
  }

  /** Returns how many were new. */
  private async note(tx: Tx, findings: readonly Finding[]): Promise<number> {
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
      this.openBreaks = await this.breaks.openCount();
    } catch (error) {
      this.logger.warn('breaks of the audit chain could not be counted', { error });
    }
  }
}

/** The last block that was found right; its hash is null at the beginning. */
interface Place {
  readonly chain: number;
  readonly number: number;
  readonly hash: Buffer | null;
}

interface Portion {
  readonly findings: readonly Finding[];
  readonly entries: number;
  /** The last block that was read; null where there was none. */
  readonly last: SignedHead | null;
}

const isOver = ({ left, signal }: Work): boolean => left <= 0 || signal.aborted;

async function readAndCheck(
  tx: Tx,
  { chain, number, hash }: Place,
  { upTo, signers }: { readonly upTo: number; readonly signers: Work['signers'] },
): Promise<Portion> {
  const reader = { query: <Row>(sql: string, parameters?: unknown[]) => tx.query<Row[]>(sql, parameters) };
  const before = number === 0 ? null : await headBefore(reader, chain, number);
  const isAsLeft = before === null || hash === null || hashOfBlock(before).equals(hash);
  const changed: Finding[] =
    number > 0 && (before === null || !isAsLeft)
      ? [{ kind: before === null ? 'block-missing' : 'fork', chain, block: number }]
      : [];
  const found = await blocksAfter(reader, { chain, after: number, upTo, most: BLOCKS_AT_ONCE });
  const blocks = firstOf(found);
  const last = blocks.at(-1)?.head ?? null;
  // No block up to the head: the head was removed since, which the next run reports.
  if (last === null) return { findings: changed, entries: 0, last };
  const wanted = blocks.flatMap(({ entries }) => entries ?? []);
  const rows = wanted.length === 0 ? [] : await linesOf(reader, wanted);
  const lines = new Map(rows.map((row) => [Number(row.id), lineOf(row)]));
  const isEmptied = blocks.some(({ entries }) => entries === null);
  const forgotten = isEmptied ? await forgottenUpTo(tx, chain) : 0;
  const findings = checkBlocks({ chain, after: before, blocks, lines, signers, forgottenUpTo: forgotten });
  return { findings: [...changed, ...findings], entries: Math.max(1, wanted.length), last };
}

async function headBefore(
  reader: Parameters<typeof headsAt>[0],
  chain: number,
  number: number,
): Promise<SignedHead | null> {
  const [head] = await headsAt(reader, [{ chain, number }]);
  return head ?? null;
}

/** As many as have the wanted number of entries, and one at least. */
function firstOf(blocks: readonly StoredBlock[]): StoredBlock[] {
  let entries = 0;
  return blocks.filter(({ head }, place) => {
    entries += head.count;
    return place === 0 || entries <= ENTRIES_AT_ONCE;
  });
}
