import type { Dirent } from 'node:fs';
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
  const [journals, exports, anchors] = await Promise.all([
    namesIn(join(dataFolder, 'journal')),
    namesIn(dataFolder),
    anchorsIn(dataFolder),
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
    ...anchors.map(whole),
    // The only copy of the tables of an extension that was dropped.
    ...exports.filter((name) => /^extension-.*\.sql$/.test(name)).map(whole),
  ];
}

/** Each process of a node has anchors of its own. */
async function anchorsIn(dataFolder: string): Promise<string[]> {
  const processes = await entriesIn(join(dataFolder, 'processes'));
  const folders = ['audit', ...processes.map(({ name }) => `processes/${name}/audit`)];
  const files = folders.map(async (folder) =>
    (await namesIn(join(dataFolder, folder))).map((name) => `${folder}/${name}`),
  );
  return (await Promise.all(files)).flat().filter((path) => path.endsWith('.jsonl'));
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

const namesIn = async (folder: string): Promise<string[]> =>
  (await entriesIn(folder))
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
    .sort();

const entriesIn = (folder: string): Promise<Dirent[]> =>
  readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  });
