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
import { allHeads, headsAt, headsSince } from './chain-store';
import { ChainBreaks } from './review/chain-breaks';
import { SealWitness } from './seal-witness';
import { SealingKey } from './sealing-key';
import type { Finding } from './verify/findings';

/** Half a second of polling and the time of a round stay well below the promised two seconds. */
const SEAL_EVERY_MS = 500;
/** An export seals in at most so many rounds before it begins. */
const ROUNDS = 50;
/** Heads of other nodes are searched this far back, as a transaction's time is that of its start. */
const OVERLAP_MS = MINUTE_MS;

/**
 * Seals the activity log while the service runs, and anchors the heads in the data folder. Every node tries; the
 * holder of the lock seals. A crash loses nothing: unsealed entries wait in the database.
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
    /** A command has none: it ends before its entries are sealed. */
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

  /** It belongs to the key that signs new blocks. */
  get publicKey(): Buffer {
    return this.key.publicKey;
  }

  /** Seals all waiting entries, unless another node does, and anchors the heads that any node has sealed. */
  async seal(): Promise<void> {
    let isFull = await this.isWaiting();
    while (isFull) {
      const sealed = await this.database.transaction((tx) => sealWaiting(tx, this.key), {
        withoutActivity: 'seals the log',
      });
      isFull = sealed?.isFull === true;
    }
    await this.anchorHeads();
    await this.compareWithWitness();
  }

  /** Hands out an export line by line, of all chains or of one. Waiting entries are sealed first. */
  async export(write: (lines: string) => Promise<void>, chain?: number): Promise<void> {
    await this.sealAll();
    // This is read before the transaction takes its snapshot, so that the snapshot contains every anchored head.
    const anchor = await this.anchorHeads();
    const anchored = [...anchor.heads.values(), ...anchor.evidence()];
    const wish = { anchored, key: this.key, now: new Date(), ...(chain === undefined ? {} : { chain }) };
    await this.database.transaction(
      async (tx) => {
        for await (const lines of exportedLines(tx, wish)) await write(lines);
      },
      { isolation: 'REPEATABLE READ', withoutActivity: 'only reads' },
    );
  }

  /** Waits while another node seals; gives up after a while, as that node continues. */
  private async sealAll(): Promise<void> {
    for (let round = 0; round < ROUNDS; round += 1) {
      await this.seal();
      if (!(await this.isWaiting())) return;
      await delay(SEAL_EVERY_MS / 5);
    }
  }

  private async isWaiting(): Promise<boolean> {
    const [row] = await this.database.query<{ waits: boolean }>(
      'SELECT EXISTS (SELECT FROM activity_unsealed) AS waits',
    );
    return row?.waits === true;
  }

  /** One at a time: two that found the same contradiction would both set the file aside. */
  private anchorHeads(): Promise<AnchorFile> {
    const anchored = this.anchoring.then(() => this.compareAndAnchor());
    this.anchoring = anchored.catch(() => undefined);
    return anchored;
  }

  /** The heads in the data folder of this machine, compared with those of the database. */
  private async compareAndAnchor(): Promise<AnchorFile> {
    const isFirst = this.anchor === undefined;
    const anchor = (this.anchor ??= AnchorFile.open(ownFolder(this.settings.dataFolder)));
    let heads = isFirst ? await allHeads(this.database) : await headsSince(this.database, this.anchoredUpTo);
    // The first run checks all anchored heads, later runs the chains that have grown.
    const contradicted = await this.contradicted(anchor, isFirst ? [...anchor.heads.values()] : heads);
    if (contradicted.length > 0) {
      await this.alarm(anchor, contradicted);
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

  /** The anchored heads of these chains that the database lacks or holds in another form. */
  private async contradicted(anchor: AnchorFile, heads: readonly SignedHead[]): Promise<SignedHead[]> {
    const anchored = heads.flatMap(({ chain }) => anchor.heads.get(chain) ?? []);
    if (anchored.length === 0) return [];
    const found = await headsAt(this.database, anchored);
    return anchored.filter(
      (head) => !found.some((other) => other.chain === head.chain && isSameHead(head, other)),
    );
  }

  private async alarm(anchor: AnchorFile, heads: readonly SignedHead[]): Promise<void> {
    const kept = anchor.setAside(new Date());
    this.logger.error(
      'the chain of the activity log contradicts its anchor: entries were changed or removed',
      {
        chains: heads.slice(0, 20).map(({ chain, number }) => ({ chain, number })),
        evidence: kept,
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

  /** Entries of this node must be sealed as it wrote them. */
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
