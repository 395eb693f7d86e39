import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { ExtensionRefused } from './extension-refused';

/** Computing a digest of more files would noticeably delay the start. */
const MAX_FILES = 20_000;

export interface ExtensionFiles {
  readonly entry: string;
  readonly folder: string;
}

/** Resolves a path relative to the working folder, and a package name from its node_modules. */
export function resolveExtensionFiles(from: string, workingFolder: string): ExtensionFiles {
  const isPath = from.startsWith('.') || isAbsolute(from);
  const path = isPath ? resolve(workingFolder, from) : from;
  try {
    const entry = realpathSync(createRequire(join(workingFolder, 'start.js')).resolve(path));
    if (!isPath) return { entry, folder: findPackageFolder(entry) };
    return { entry, folder: statSync(path).isDirectory() ? realpathSync(path) : dirname(entry) };
  } catch (cause) {
    const reason = isPath ? `there is no module at ${path}` : 'no package of this name is installed';
    throw new ExtensionRefused(from, reason, { cause });
  }
}

function findPackageFolder(entry: string): string {
  let folder = dirname(entry);
  while (!existsSync(join(folder, 'package.json'))) folder = dirname(folder);
  return folder;
}

/** Computes the SHA-256 of the names and contents of all files in a folder, including node_modules. */
export function computeDigest(folder: string): string {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() || entry.isSymbolicLink())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll(sep, '/'))
    // A symbolic link counts as its target, because the target is what gets loaded.
    .filter((file) => statSync(join(folder, file), { throwIfNoEntry: false })?.isFile() === true)
    .sort();
  if (files.length > MAX_FILES) throw new Error(`${folder} has more than ${MAX_FILES} files`);
  const digest = createHash('sha256');
  for (const file of files) {
    const content = readFileSync(join(folder, file));
    digest.update(`${file}\0${content.length}\0`).update(content);
  }
  return digest.digest('hex');
}
