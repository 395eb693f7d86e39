import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { withDeadline } from '../../kernel';
import { Database, Notifications } from '../../platform';
import { emptyState, type RouterState } from '../engine';
import { autoStateChannel } from './auto-learner';
import { catchUp, type LearnedState, readState } from './state-reader';

/** The copy of one organisation; null where nothing was learned yet. */
interface Copy {
  learned: LearnedState | null;
  reading: Promise<void> | null;
  readAgain: boolean;
}

const MOST_ORGANISATIONS = 1_000;
/** All organisations together have at most so many: about a hundred megabytes. */
const MOST_EXAMPLES = 65_536;
const READ_DEADLINE_MS = 500;

/** This node's copies of what was learned, kept up to date by announcements and bounded in number and size. */
@Injectable()
export class AutoStates implements OnModuleInit {
  private readonly copies = new Map<number, Copy>();
  private readonly logger = new Logger(AutoStates.name);
  private readonly nothing = emptyState();

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

  /** The state of an organisation is null where it cannot be had soon enough, and is still being read. */
  async of(organisationId: number): Promise<RouterState | null> {
    const copy = this.copies.get(organisationId) ?? this.begin(organisationId);
    this.touch(organisationId, copy);
    if (copy.learned === null && copy.reading !== null) {
      try {
        await withDeadline(READ_DEADLINE_MS, copy.reading);
      } catch {
        return null;
      }
    }
    return copy.learned?.state ?? this.nothing;
  }

  /** This node keeps so many examples. */
  get examples(): number {
    let sum = 0;
    for (const { learned } of this.copies.values()) sum += learned?.state.memory.examples.length ?? 0;
    return sum;
  }

  private begin(organisationId: number): Copy {
    const copy: Copy = { learned: null, reading: null, readAgain: false };
    this.copies.set(organisationId, copy);
    this.read(organisationId, copy);
    return copy;
  }

  private refresh(organisationId: number): void {
    const copy = this.copies.get(organisationId);
    if (copy === undefined) return;
    copy.readAgain = true;
    if (copy.reading === null) this.read(organisationId, copy);
  }

  /** One read at a time; a change during one is read after it. */
  private read(organisationId: number, copy: Copy): void {
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

  private async readUntilSettled(organisationId: number, copy: Copy): Promise<void> {
    do {
      copy.readAgain = false;
      const newer = copy.learned === null ? null : await catchUp(this.database, organisationId, copy.learned);
      copy.learned = newer ?? (await readState(this.database, organisationId));
    } while (copy.readAgain);
    this.makeRoom(organisationId);
  }

  private touch(organisationId: number, copy: Copy): void {
    this.copies.delete(organisationId);
    this.copies.set(organisationId, copy);
  }

  /** The organisation that asked longest ago goes first; the newest stays, however large. */
  private makeRoom(newest: number): void {
    for (const organisationId of this.copies.keys()) {
      if (this.copies.size <= MOST_ORGANISATIONS && this.examples <= MOST_EXAMPLES) return;
      if (organisationId !== newest) this.copies.delete(organisationId);
    }
  }
}
