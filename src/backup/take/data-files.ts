import type { Dirent } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { completeFrames } from '../../billing';
import { errorCode } from '../../platform';

/** A file of the data folder that belongs into a backup; docs/backup.md explains the selection. */
interface DataFile {
  readonly path: string;
  /** Null if the file has been deleted since it was listed. */
  read(): Promise<Buffer | null>;
}

/** Passwords of the database, which can be stored outside of the data folder. */
export const PASSWORDS = 'postgres/passwords.json';
export const passwordsIn = (folder: string): DataFile => ({
  path: PASSWORDS,
  read: () => readIfExists(join(folder, 'passwords.json')),
});

/** Lists files to be read before the database, so that they contain nothing that the database lacks. */
export async function dataFiles(dataFolder: string): Promise<DataFile[]> {
  const [journals, exports, anchors] = await Promise.all([
    listNames(join(dataFolder, 'journal')),
    listNames(dataFolder),
    listAnchors(dataFolder),
  ]);
  const completeFile = (path: string): DataFile => ({
    path,
    read: () => readIfExists(join(dataFolder, path)),
  });
  /** The last frame might be incomplete while it is read: it was not acknowledged yet. */
  const frames = (path: string): DataFile => ({
    path,
    async read() {
      const content = await readIfExists(join(dataFolder, path));
      return content === null ? null : completeFrames(content);
    },
  });
  return [
    completeFile('secrets.json'),
    ...journals.map((name) => {
      const path = `journal/${name}`;
      return name.endsWith('.journal') ? frames(path) : completeFile(path);
    }),
    ...anchors.map(completeFile),
    // The only copy of the tables of an extension that was dropped.
    ...exports.filter((name) => /^extension-.*\.sql$/.test(name)).map(completeFile),
  ];
}

/** Each process of a node has anchors of its own. */
async function listAnchors(dataFolder: string): Promise<string[]> {
  const processes = await listEntries(join(dataFolder, 'processes'));
  const folders = ['audit', ...processes.map(({ name }) => `processes/${name}/audit`)];
  const files = folders.map(async (folder) =>
    (await listNames(join(dataFolder, folder))).map((name) => `${folder}/${name}`),
  );
  return (await Promise.all(files)).flat().filter((path) => path.endsWith('.jsonl'));
}

/** A file can be deleted between listing and reading: its content is committed. */
async function readIfExists(path: string): Promise<Buffer | null> {
  try {
    return await readFile(path);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null;
    throw error;
  }
}

const listNames = async (folder: string): Promise<string[]> =>
  (await listEntries(folder))
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
    .sort();

const listEntries = (folder: string): Promise<Dirent[]> =>
  readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  });
