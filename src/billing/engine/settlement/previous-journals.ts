import { Logger } from '@nestjs/common';
import type { MoneyStore } from '../store/money-store';
import { replayJournals, type ReplayReport } from './journal-replay';
import type { QuarantinedJournals } from './quarantined-journals';

const EMPTY_REPORT: ReplayReport = { files: 0, records: 0, torn: [], refused: 0, forgotten: [] };

/** The journals of earlier runs, and of dead nodes that shared this folder. */
export class PreviousJournals {
  private readonly logger = new Logger(PreviousJournals.name);

  constructor(
    private readonly folder: string,
    private readonly store: MoneyStore,
    private readonly quarantined?: QuarantinedJournals,
  ) {}

  /**
   * Settles the journals. During a quarantine nothing is settled: the journals are moved away until an operator
   * decides.
   */
  async settle(): Promise<ReplayReport> {
    if (this.quarantined?.isActive === true) {
      await this.quarantined.moveJournals(this.store);
      return EMPTY_REPORT;
    }
    return this.logReport(await replayJournals(this.folder, this.store));
  }

  async settleQuarantined(): Promise<void> {
    const report = await this.quarantined?.settle(this.store);
    if (report) this.logReport(report);
  }

  private logReport(report: ReplayReport): ReplayReport {
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
