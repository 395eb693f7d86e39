import { relative, resolve } from 'node:path';
import { type Settings, storageLocation } from '../../platform';
import { BackupError } from '../backup-error';
import { BackupKey } from '../seal/backup-key';
import type { BackupTarget } from './backup-target';
import { FolderTarget } from './folder-target';
import { S3Target } from './s3-target';

export interface OpenedTarget {
  readonly target: BackupTarget;
  readonly key: BackupKey;
}

export function openTarget(settings: Settings, name?: string): OpenedTarget {
  const location = name ?? settings.backupTarget;
  if (location === undefined) throw new BackupError('Name a target, or set BACKUP_TARGET.');
  if (settings.backupKey === undefined)
    throw new BackupError(
      'BACKUP_KEY must be set: backups are encrypted. openssl rand -base64 32 makes one, to be kept elsewhere.',
    );
  return { target: createTarget(location, settings), key: new BackupKey(settings.backupKey) };
}

export async function withTarget<T>(
  settings: Settings,
  name: string | undefined,
  work: (opened: OpenedTarget) => Promise<T>,
): Promise<T> {
  const opened = openTarget(settings, name);
  try {
    return await work(opened);
  } finally {
    opened.target.close();
  }
}

export function locationOf(text: string): string {
  const storage = text.startsWith('s3:') ? storageLocation.read(text) : undefined;
  return storage === undefined ? resolve(text) : `s3://${storage.bucket}/${storage.prefix}`;
}

function createTarget(location: string, settings: Settings): BackupTarget {
  if (location.startsWith('s3:')) return createS3Target(location, settings);
  const { dataFolder } = settings;
  const folder = resolve(location);
  if (!relative(dataFolder, folder).startsWith('..'))
    throw new BackupError(
      `${folder} lies in the data folder ${dataFolder}: a backup has to outlive it. Name a folder on another disk.`,
    );
  return new FolderTarget(folder);
}

function createS3Target(location: string, settings: Settings): BackupTarget {
  const storage = storageLocation.read(location);
  if (storage === undefined) throw new BackupError(`${location} is not ${storageLocation.expects}.`);
  if (settings.backupTargetKey === undefined)
    throw new BackupError('BACKUP_TARGET_KEY must be set for a target that begins with s3://.');
  return new S3Target(storage, settings.backupTargetKey, settings);
}
