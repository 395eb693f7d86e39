import { relative, resolve } from 'node:path';
import type { Settings } from '../../platform';
import { BackupError } from '../backup-error';
import { BackupKey } from '../seal/backup-key';
import type { BackupTarget } from './backup-target';
import { FolderTarget } from './folder-target';

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

function targetAt(place: string, { dataFolder }: Settings): BackupTarget {
  if (/^\w+:\/\//.test(place)) throw new BackupError(`${place} is no folder.`);
  const folder = resolve(place);
  if (!relative(dataFolder, folder).startsWith('..'))
    throw new BackupError(
      `${folder} lies in the data folder ${dataFolder}: a backup has to outlive it. Name a folder on another disk.`,
    );
  return new FolderTarget(folder);
}
