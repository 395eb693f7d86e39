import { Logger } from '@nestjs/common';
import type { MoneyStore } from '../store/money-store';
import { replayJournals, type ReplayReport } from './journal-replay';

/** The journals of earlier runs, and of dead nodes that shared this folder. */
export class EarlierJournals {
  private readonly logger = new Logger(EarlierJournals.name);

  constructor(
    private readonly folder: string,
    private readonly store: MoneyStore,
  ) {}

  async settle(): Promise<ReplayReport> {
    const report = await replayJournals(this.folder, this.store);
    for (const { file, at } of report.torn) {
      this.logger.error(`The journal ${file} is damaged at byte ${at}: everything before it was settled.`);
    }
    for (const file of report.forgotten) {
      this.logger.warn(`The journal ${file} was given up with journal:forget: nothing of it is charged.`);
    }
    if (report.records > 0) this.logger.log(`Settled ${report.records} journalled records of earlier runs.`);
    return report;
  }
}
