import { Logger } from '@nestjs/common';
import type { MoneyStore } from '../store/money-store';
import { replayJournals, type ReplayReport } from './journal-replay';
import type { SetAsideJournals } from './set-aside-journals';

const NOTHING: ReplayReport = { files: 0, records: 0, torn: [], refused: 0, forgotten: [] };

/** The journals of earlier runs, and of dead nodes that shared this folder. */
export class EarlierJournals {
  private readonly logger = new Logger(EarlierJournals.name);

  constructor(
    private readonly folder: string,
    private readonly store: MoneyStore,
    private readonly setAside?: SetAsideJournals,
  ) {}

  /** In quarantine nothing is settled: journals are set aside, and wait for an operator. */
  async settle(): Promise<ReplayReport> {
    if (this.setAside?.isOpen === true) {
      await this.setAside.take(this.store);
      return NOTHING;
    }
    return this.told(await replayJournals(this.folder, this.store));
  }

  async settleSetAside(): Promise<void> {
    const report = await this.setAside?.settle(this.store);
    if (report) this.told(report);
  }

  private told(report: ReplayReport): ReplayReport {
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
