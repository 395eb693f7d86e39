import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Folder with the views, public files and locales; the same for the sources and the build. */
export const projectFolder = findProjectFolder(__dirname);

function findProjectFolder(folder: string): string {
  if (existsSync(join(folder, 'views')) && existsSync(join(folder, 'package.json'))) return folder;
  const parent = dirname(folder);
  if (parent === folder) throw new Error('the folder of views is missing from this installation');
  return findProjectFolder(parent);
}
