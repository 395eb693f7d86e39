import { relative, resolve } from 'node:path';
import { type Settings, storagePlace } from '../../platform';
import { BackupError } from '../backup-error';
import { BackupKey } from '../seal/backup-key';
import type { BackupTarget } from './backup-target';
import { FolderTarget } from './folder-target';
import { S3Target } from './s3-target';

export interface OpenedTarget {
  readonly target: BackupTarget;
  readonly key: BackupKey;
}

/** The place that was named, or that of the settings. */
export function openTarget(settings: Settings, named?: string): OpenedTarget {
  const place = named ?? settings.backupTarget;
  if (place === undefined) throw new BackupError('Name a target, or set BACKUP_TARGET.');
  if (settings.backupKey === undefined)
    throw new BackupError(
      'BACKUP_KEY must be set: backups are encrypted. openssl rand -base64 32 makes one, to be kept elsewhere.',
    );
  return { target: targetAt(place, settings), key: new BackupKey(settings.backupKey) };
}

/** The same for as long as the work takes. */
export async function withTarget<T>(
  settings: Settings,
  named: string | undefined,
  work: (opened: OpenedTarget) => Promise<T>,
): Promise<T> {
  const opened = openTarget(settings, named);
  try {
    return await work(opened);
  } finally {
    opened.target.close();
  }
}

/** How a target calls itself. */
export function placeOf(place: string): string {
  const storage = place.startsWith('s3:') ? storagePlace.read(place) : undefined;
  return storage === undefined ? resolve(place) : `s3://${storage.bucket}/${storage.prefix}`;
}

function targetAt(place: string, settings: Settings): BackupTarget {
  if (place.startsWith('s3:')) return storeAt(place, settings);
  const { dataFolder } = settings;
  const folder = resolve(place);
  if (!relative(dataFolder, folder).startsWith('..'))
    throw new BackupError(
      `${folder} lies in the data folder ${dataFolder}: a backup has to outlive it. Name a folder on another disk.`,
    );
  return new FolderTarget(folder);
}

function storeAt(place: string, settings: Settings): BackupTarget {
  const storage = storagePlace.read(place);
  if (storage === undefined) throw new BackupError(`${place} is not ${storagePlace.expects}.`);
  if (settings.backupTargetKey === undefined)
    throw new BackupError('BACKUP_TARGET_KEY must be set for a target that begins with s3://.');
  return new S3Target(storage, settings.backupTargetKey, settings);
}
