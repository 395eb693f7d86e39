/** How backups stand, as the node that makes them knows it. */
export interface BackupState {
  /** A target is set, and this node makes backups. */
  readonly isScheduled: boolean;
  /** The newest whole backup ended then. */
  readonly newestAt: Date | null;
  /** The newest backup that was restored and examined. */
  readonly verifiedAt: Date | null;
  /** Backups are there, and none is of this database: it was restored, and its first backup is still to come. */
  readonly isForeign: boolean;
  /** Any moment from the oldest backup to this can be restored. */
  readonly coveredUntil: Date | null;
  /** Segments of the log that wait to be shipped. */
  readonly waiting: number;
  /** It says what went wrong the last time; null while all goes well. */
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
