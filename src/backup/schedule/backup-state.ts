export interface BackupState {
  /** Whether a target is set and this node makes backups. */
  readonly isScheduled: boolean;
  /** End of the newest complete backup. */
  readonly newestAt: Date | null;
  /** End of the newest backup that was restored and verified. */
  readonly verifiedAt: Date | null;
  /** Whether all backups are of another database: this one was restored, and its first backup is still to come. */
  readonly isForeign: boolean;
  /** Every moment from the oldest backup to this one can be restored. */
  readonly coveredUntil: Date | null;
  readonly waiting: number;
  /** Error of the last run; null after a success. */
  readonly trouble: string | null;
}

export const NO_BACKUPS: BackupState = {
  isScheduled: false,
  newestAt: null,
  verifiedAt: null,
  isForeign: false,
  coveredUntil: null,
  waiting: 0,
  trouble: null,
};
