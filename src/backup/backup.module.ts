import { Module } from '@nestjs/common';
import { BackupKeeper } from './schedule/backup-keeper';

/** Backups of the node that owns the embedded database. */
@Module({ providers: [BackupKeeper], exports: [BackupKeeper] })
export class BackupModule {}
