import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { parseJsonText } from '../kernel';

export interface RestoredMark {
  readonly backup: string | null;
  readonly moment: Date;
  readonly restoredAt: Date;
}

const markPath = (dataFolder: string): string => join(dataFolder, 'restored.json');

/** Null if the folder was not restored, or its quarantine has started. */
export function readRestoredMark(dataFolder: string): RestoredMark | null {
  const file = markPath(dataFolder);
  if (!existsSync(file)) return null;
  const mark = readMark(file);
  if (mark === null)
    throw new Error(
      `${file} cannot be read, so it is not known when this folder was restored to. Write it as ` +
        '{"version":1,"backup":null,"moment":"2030-01-31T12:00:00Z","restoredAt":"2030-01-31T13:00:00Z"}.',
    );
  return mark;
}

function readMark(file: string): RestoredMark | null {
  try {
    const mark = parseJsonText(readFileSync(file, 'utf8')) as Readonly<Record<string, unknown>>;
    const [moment, restoredAt] = [parseDate(mark['moment']), parseDate(mark['restoredAt'])];
    if (mark['version'] !== 1 || moment === null || restoredAt === null) return null;
    return { backup: typeof mark['backup'] === 'string' ? mark['backup'] : null, moment, restoredAt };
  } catch {
    return null;
  }
}

const parseDate = (value: unknown): Date | null => {
  const date = typeof value === 'string' ? new Date(value) : null;
  return date === null || Number.isNaN(date.getTime()) ? null : date;
};

/** Archives the mark next to the quarantined journals, as a record of the folder's origin. */
export function archiveRestoredMark(dataFolder: string): void {
  const folder = join(dataFolder, 'set-aside');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  renameSync(markPath(dataFolder), join(folder, 'restored.json'));
}
