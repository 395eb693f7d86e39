import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { parseJsonText } from '../kernel';

/** What a restore says of itself in the data folder that it made. */
export interface RestoredMark {
  readonly backup: string | null;
  readonly moment: Date;
  readonly restoredAt: Date;
}

const fileIn = (dataFolder: string): string => join(dataFolder, 'restored.json');

/** Null where the folder was not restored, or its quarantine has begun. */
export function readRestoredMark(dataFolder: string): RestoredMark | null {
  const file = fileIn(dataFolder);
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
    const given = parseJsonText(readFileSync(file, 'utf8')) as Readonly<Record<string, unknown>>;
    const [moment, restoredAt] = [dateIn(given['moment']), dateIn(given['restoredAt'])];
    if (given['version'] !== 1 || moment === null || restoredAt === null) return null;
    return { backup: typeof given['backup'] === 'string' ? given['backup'] : null, moment, restoredAt };
  } catch {
    return null;
  }
}

const dateIn = (given: unknown): Date | null => {
  const date = typeof given === 'string' ? new Date(given) : null;
  return date === null || Number.isNaN(date.getTime()) ? null : date;
};

/** The mark is kept beside the journals that are set aside: it tells whoever looks where the folder comes from. */
export function putRestoredMarkAway(dataFolder: string): void {
  const folder = join(dataFolder, 'set-aside');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  renameSync(fileIn(dataFolder), join(folder, 'restored.json'));
}
