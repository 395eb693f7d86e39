import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { wholeFrames } from '../../billing';
import { errorCode } from '../../platform';

/** A file of the data folder that belongs into a backup. docs/backup.md says why, and why the others do not. */
interface DataFile {
  readonly path: string;
  /** Null: it has gone since it was listed. */
  read(): Promise<Buffer | null>;
}

/** The passwords of the database, which may be kept outside of the data folder. */
export const PASSWORDS = 'postgres/passwords.json';
export const passwordsIn = (folder: string): DataFile => ({
  path: PASSWORDS,
  read: () => contentOf(join(folder, 'passwords.json')),
});

/** They are read before the database, so that they hold nothing that is not in it. */
export async function dataFiles(dataFolder: string): Promise<DataFile[]> {
  const [journals, audit, exports] = await Promise.all([
    namesIn(join(dataFolder, 'journal')),
    namesIn(join(dataFolder, 'audit')),
    namesIn(dataFolder),
  ]);
  const whole = (path: string): DataFile => ({ path, read: () => contentOf(join(dataFolder, path)) });
  /** The last frame may be half written while it is read: it was not acknowledged yet. */
  const frames = (path: string): DataFile => ({
    path,
    async read() {
      const content = await contentOf(join(dataFolder, path));
      return content === null ? null : wholeFrames(content);
    },
  });
  return [
    whole('secrets.json'),
    ...journals.map((name) => {
      const path = `journal/${name}`;
      return name.endsWith('.journal') ? frames(path) : whole(path);
    }),
    ...audit.filter((name) => name.endsWith('.jsonl')).map((name) => whole(`audit/${name}`)),
    // The only copy of the tables of an extension that was dropped.
    ...exports.filter((name) => /^extension-.*\.sql$/.test(name)).map(whole),
  ];
}

/** A file may go between the look and the read: what was in it is committed. */
async function contentOf(path: string): Promise<Buffer | null> {
  try {
    return await readFile(path);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null;
    throw error;
  }
}

async function namesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  });
  return entries
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
    .sort();
}
