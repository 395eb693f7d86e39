import { Injectable } from '@nestjs/common';

/** What alerts want to know of backups: null where none is made by a schedule. */
export interface BackupState {
  /** The newest one that succeeded ended then; null where none ever did. */
  readonly succeededAt: Date | null;
}

/** The port to backups: what makes them by a schedule provides another one. */
@Injectable()
export class BackupAge {
  newest(): Promise<BackupState | null> {
    return Promise.resolve(null);
  }
}
