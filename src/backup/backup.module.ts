import { Module } from '@nestjs/common';
import { BackupScheduler } from './schedule/backup-scheduler';

/** Backups of the node that owns the embedded database. */
@Module({ providers: [BackupScheduler], exports: [BackupScheduler] })
export class BackupModule {}
