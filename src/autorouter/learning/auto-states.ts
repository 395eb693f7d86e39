import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { withDeadline } from '../../kernel';
import { Database, Notifications } from '../../platform';
import { emptyState, type RouterState } from '../engine';
import { autoStateChannel } from './auto-learner';
import { catchUp, type LearnedState, readState } from './state-reader';

/** The copy of one organisation's state; `learned` is null if nothing was learned yet. */
interface StateCopy {
  learned: LearnedState | null;
  reading: Promise<void> | null;
  needsReread: boolean;
}

const MAX_ORGANISATIONS = 1_000;
/** Limit over all organisations: about a hundred megabytes. */
const MAX_EXAMPLES = 65_536;
const READ_DEADLINE_MS = 500;

/** Copies of learned states on this node, kept current by announcements and bounded in number and size. */
@Injectable()
export class AutoStates implements OnModuleInit {
  private readonly copies = new Map<number, StateCopy>();
  private readonly logger = new Logger(AutoStates.name);
  private readonly untrainedState = emptyState();

  constructor(
    private readonly database: Database,
    private readonly notifications: Notifications,
  ) {}

  async onModuleInit(): Promise<void> {
    await this.notifications.on(autoStateChannel, (organisation) => this.refresh(Number(organisation)));
    this.notifications.onGap(() => {
      for (const organisationId of this.copies.keys()) this.refresh(organisationId);
    });
  }

  /** Returns the state of an organisation; null if it cannot be read in time, in which case reading continues. */
  async of(organisationId: number): Promise<RouterState | null> {
    const copy = this.copies.get(organisationId) ?? this.createCopy(organisationId);
    this.markUsed(organisationId, copy);
    if (copy.learned === null && copy.reading !== null) {
      try {
        await withDeadline(READ_DEADLINE_MS, copy.reading);
      } catch {
        return null;
      }
    }
    return copy.learned?.state ?? this.untrainedState;
  }

  get examples(): number {
    let sum = 0;
    for (const { learned } of this.copies.values()) sum += learned?.state.memory.examples.length ?? 0;
    return sum;
  }

  private createCopy(organisationId: number): StateCopy {
    const copy: StateCopy = { learned: null, reading: null, needsReread: false };
    this.copies.set(organisationId, copy);
    this.read(organisationId, copy);
    return copy;
  }

  private refresh(organisationId: number): void {
    const copy = this.copies.get(organisationId);
    if (copy === undefined) return;
    copy.needsReread = true;
    if (copy.reading === null) this.read(organisationId, copy);
  }

  /** Reads are sequential; a change during a read triggers another. */
  private read(organisationId: number, copy: StateCopy): void {
    copy.reading = this.readUntilSettled(organisationId, copy)
      .catch((error: unknown) => {
        this.copies.delete(organisationId);
        this.logger.warn(
          `What was learned for organisation ${organisationId} cannot be read: ${String(error)}`,
        );
        throw error;
      })
      .finally(() => (copy.reading = null));
    copy.reading.catch(() => undefined);
  }

  private async readUntilSettled(organisationId: number, copy: StateCopy): Promise<void> {
    do {
      copy.needsReread = false;
      const updated =
        copy.learned === null ? null : await catchUp(this.database, organisationId, copy.learned);
      copy.learned = updated ?? (await readState(this.database, organisationId));
    } while (copy.needsReread);
    this.evictOld(organisationId);
  }

  private markUsed(organisationId: number, copy: StateCopy): void {
    this.copies.delete(organisationId);
    this.copies.set(organisationId, copy);
  }

  /** Evicts the least recently used organisation first; the newest stays regardless of size. */
  private evictOld(newest: number): void {
    for (const organisationId of this.copies.keys()) {
      if (this.copies.size <= MAX_ORGANISATIONS && this.examples <= MAX_EXAMPLES) return;
      if (organisationId !== newest) this.copies.delete(organisationId);
    }
  }
}
