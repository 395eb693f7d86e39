import 'reflect-metadata';
import { EgressSettings } from './egress-settings';
import { byteSize, duration, folder, text } from './readers';
import { Setting } from './setting.decorator';
import { credentialIn, type StorageCredential, storageLocation } from './storage-location';

export abstract class BackupSettings extends EgressSettings {
  @Setting({
    name: 'BACKUP_TARGET',
    group: 'Backups',
    describe:
      'Where backups go: a folder on another disk, or an S3-compatible store. With it, the embedded database also archives its log there, so that any moment can be restored (docs/backup.md).',
    as: text(
      `a folder, or ${storageLocation.expects}`,
      (value) => !/^\w+:/.test(value) || storageLocation.read(value) !== undefined,
    ),
    unset: 'backups are made by command only, and no log is archived',
  })
  readonly backupTarget?: string;

  @Setting({
    name: 'BACKUP_TARGET_KEY',
    group: 'Backups',
    describe: 'The access key of an S3-compatible store, and its secret: ID:SECRET.',
    as: { expects: 'ID:SECRET', read: credentialIn },
    unset: 'only folders can be used',
    secret: true,
  })
  readonly backupTargetKey?: StorageCredential;

  @Setting({
    name: 'BACKUP_KEY',
    group: 'Backups',
    describe:
      'Encrypts backups. It is a secret of its own, of at least 32 characters, such as openssl rand -base64 32 makes. Keep it elsewhere: without it no backup can be read.',
    as: text('at least 32 characters', (value) => value.length >= 32),
    unset: 'no backup can be made or read',
    secret: true,
  })
  readonly backupKey?: string;

  @Setting({
    name: 'BACKUP_EVERY',
    group: 'Backups',
    describe: 'How old the newest whole backup may become before the next one is made.',
    as: duration('1h', '744h'),
    default: '24h',
  })
  readonly backupEveryMs: number;

  @Setting({
    name: 'BACKUP_KEEP',
    group: 'Backups',
    describe: 'How far back any moment can be restored; what only older moments need is removed.',
    as: duration('1h', '87600h'),
    default: '336h',
  })
  readonly backupKeepMs: number;

  @Setting({
    name: 'BACKUP_VERIFY_EVERY',
    group: 'Backups',
    describe:
      'How often the newest backup is restored aside and examined, which takes disk and processor time; 0ms for never.',
    as: duration('0ms', '8784h'),
    default: '168h',
  })
  readonly backupVerifyEveryMs: number;

  @Setting({
    name: 'BACKUP_SCRATCH',
    group: 'Backups',
    describe: 'The folder in which a backup is restored to be examined; it takes as much as the database.',
    as: folder,
    unset: 'the folder backup-scratch of DATA_FOLDER',
  })
  readonly backupScratch?: string;

  @Setting({
    name: 'BACKUP_RATE',
    group: 'Backups',
    describe: 'How much of the database is read a second at most, so that requests do not notice a backup.',
    as: byteSize('1MiB', '1GiB'),
    default: '16MiB',
  })
  readonly backupRate: number;
}
