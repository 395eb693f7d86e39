import { setTimeout as delay } from 'node:timers/promises';
import {
  Injectable,
  Optional,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { MINUTE_MS } from '../../kernel';
import { Database, Logger, ownFolder, Settings } from '../../platform';
import { AnchorFile } from './anchor-file';
import { isSameHead, type SignedHead } from './block';
import { exportedLines } from './chain-export';
import { sealWaiting } from './chain-sealer';
import { allHeads, headsAt, headsSince } from './chain.store';
import { ChainBreaks } from './review/chain-breaks';
import { SealWitness } from './seal-witness';
import { SealingKey } from './sealing-key';
import type { Finding } from './verify/findings';

/** Half a second of polling plus a round stay well below the promised two seconds. */
const SEAL_EVERY_MS = 500;
const MAX_ROUNDS = 50;
/** How far back heads of other nodes are searched, because a transaction's time is that of its start. */
const OVERLAP_MS = MINUTE_MS;

/**
 * Seals the activity log while the service runs and anchors the heads in the data folder; of all nodes, the holder of
 * the lock seals. A crash loses nothing, because unsealed entries wait in the database.
 */
@Injectable()
export class AuditChain implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly key: SealingKey;
  private anchor: AnchorFile | undefined;
  private anchoredUpTo = new Date(0);
  private timer: NodeJS.Timeout | undefined;
  private round: Promise<void> | undefined;
  private anchoring: Promise<unknown> = Promise.resolve();
  private failed = false;

  constructor(
    private readonly database: Database,
    private readonly logger: Logger,
    private readonly settings: Settings,
    private readonly breaks: ChainBreaks,
    /** A command has no witness, because it ends before its entries are sealed. */
    @Optional() private readonly witness?: SealWitness,
  ) {
    this.key = SealingKey.of(settings.masterKey);
  }

  onApplicationBootstrap(): void {
    this.timer = setInterval(() => {
      this.round ??= this.sealQuietly().finally(() => {
        this.round = undefined;
      });
    }, SEAL_EVERY_MS).unref();
  }

  async beforeApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    await this.round;
    await this.sealQuietly();
  }

  get publicKey(): Buffer {
    return this.key.publicKey;
  }

  /** Seals all waiting entries, unless another node does, and anchors the heads that any node has sealed. */
  async seal(): Promise<void> {
    let isFull = await this.hasWaitingEntries();
    while (isFull) {
      const sealed = await this.database.transaction((tx) => sealWaiting(tx, this.key), {
        withoutActivity: 'seals the log',
      });
      isFull = sealed?.isFull === true;
    }
    await this.anchorHeads();
    await this.compareWithWitness();
  }

  async export(write: (lines: string) => Promise<void>, chain?: number): Promise<void> {
    await this.sealAll();
    // Read before the transaction takes its snapshot, so that the snapshot contains every anchored head.
    const anchor = await this.anchorHeads();
    const anchored = [...anchor.heads.values(), ...anchor.evidence()];
    const options = { anchored, key: this.key, now: new Date(), ...(chain === undefined ? {} : { chain }) };
    await this.database.transaction(
      async (tx) => {
        for await (const lines of exportedLines(tx, options)) await write(lines);
      },
      { isolation: 'REPEATABLE READ', withoutActivity: 'only reads' },
    );
  }

  private async sealAll(): Promise<void> {
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      await this.seal();
      if (!(await this.hasWaitingEntries())) return;
      await delay(SEAL_EVERY_MS / 5);
    }
  }

  private async hasWaitingEntries(): Promise<boolean> {
    const [row] = await this.database.query<{ waits: boolean }>(
      'SELECT EXISTS (SELECT FROM activity_unsealed) AS waits',
    );
    return row?.waits === true;
  }

  /** Runs one comparison at a time: two that found the same contradiction would both quarantine the file. */
  private anchorHeads(): Promise<AnchorFile> {
    const anchored = this.anchoring.then(() => this.compareAndAnchor());
    this.anchoring = anchored.catch(() => undefined);
    return anchored;
  }

  private async compareAndAnchor(): Promise<AnchorFile> {
    const isFirst = this.anchor === undefined;
    const anchor = (this.anchor ??= AnchorFile.open(ownFolder(this.settings.dataFolder)));
    let heads = isFirst ? await allHeads(this.database) : await headsSince(this.database, this.anchoredUpTo);
    // The first run checks all anchored heads, later runs the chains that have grown.
    const contradictions = await this.findContradictions(
      anchor,
      isFirst ? [...anchor.heads.values()] : heads,
    );
    if (contradictions.length > 0) {
      await this.raiseAlarm(anchor, contradictions);
      heads = await allHeads(this.database);
    }
    anchor.add(heads);
    const newest = Math.max(
      this.anchoredUpTo.getTime(),
      ...heads.map(({ sealedAt }) => Date.parse(sealedAt)),
    );
    this.anchoredUpTo = new Date(Math.max(0, newest - OVERLAP_MS));
    return anchor;
  }

  private async findContradictions(anchor: AnchorFile, heads: readonly SignedHead[]): Promise<SignedHead[]> {
    const anchored = heads.flatMap(({ chain }) => anchor.heads.get(chain) ?? []);
    if (anchored.length === 0) return [];
    const storedHeads = await headsAt(this.database, anchored);
    return anchored.filter(
      (head) => !storedHeads.some((other) => other.chain === head.chain && isSameHead(head, other)),
    );
  }

  private async raiseAlarm(anchor: AnchorFile, heads: readonly SignedHead[]): Promise<void> {
    const evidencePath = anchor.quarantine(new Date());
    this.logger.error(
      'the chain of the activity log contradicts its anchor: entries were changed or removed',
      {
        chains: heads.slice(0, 20).map(({ chain, number }) => ({ chain, number })),
        evidence: evidencePath,
        see: 'docs/audit.md',
      },
    );
    await this.database.transaction((tx) =>
      this.breaks.add(
        tx,
        heads.map(({ chain, number: block }) => ({
          kind: 'fork',
          chain,
          block,
          detail: 'another block was anchored under this number',
        })),
      ),
    );
  }

  private async compareWithWitness(): Promise<void> {
    await this.witness?.check((findings) => this.reportUnsealed(findings));
  }

  private async reportUnsealed(findings: readonly Finding[]): Promise<void> {
    this.logger.error('entries of the activity log were changed or removed before they were sealed', {
      entries: findings.slice(0, 20).map(({ kind, chain, entry }) => ({ kind, chain, entry })),
      see: 'docs/audit.md',
    });
    await this.database.transaction((tx) => this.breaks.add(tx, findings));
  }

  private async sealQuietly(): Promise<void> {
    try {
      await this.seal();
      this.failed = false;
    } catch (error) {
      if (!this.failed) this.logger.error('the activity log could not be sealed', { error });
      this.failed = true;
    }
  }
}
