import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { ExtensionRefused } from './extension-refused';

/** Digests of more files would make a start wait. */
const MOST_FILES = 20_000;

export interface ExtensionFiles {
  readonly entry: string;
  /** The folder that its own files lie in. */
  readonly folder: string;
}

/** A path is seen from the folder that the service was started in, where packages are looked up as well. */
export function filesOf(from: string, workingFolder: string): ExtensionFiles {
  const isPath = from.startsWith('.') || isAbsolute(from);
  const path = isPath ? resolve(workingFolder, from) : from;
  try {
    const entry = realpathSync(createRequire(join(workingFolder, 'start.js')).resolve(path));
    if (!isPath) return { entry, folder: packageOf(entry) };
    return { entry, folder: statSync(path).isDirectory() ? realpathSync(path) : dirname(entry) };
  } catch (cause) {
    const reason = isPath ? `there is no module at ${path}` : 'no package of this name is installed';
    throw new ExtensionRefused(from, reason, { cause });
  }
}

/** The nearest folder with a package.json. */
function packageOf(entry: string): string {
  let folder = dirname(entry);
  while (!existsSync(join(folder, 'package.json'))) folder = dirname(folder);
  return folder;
}

/** The digest of the names and contents of all files in a folder, those of its packages included. */
export function digestOf(folder: string): string {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() || entry.isSymbolicLink())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll(sep, '/'))
    // A link counts as the file that it leads to, as that is what is loaded.
    .filter((file) => statSync(join(folder, file), { throwIfNoEntry: false })?.isFile() === true)
    .sort();
  if (files.length > MOST_FILES) throw new Error(`${folder} has more than ${MOST_FILES} files`);
  const digest = createHash('sha256');
  for (const file of files) {
    const content = readFileSync(join(folder, file));
    digest.update(`${file}\0${content.length}\0`).update(content);
  }
  return digest.digest('hex');
}
