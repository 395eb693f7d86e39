import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Views, public files and locales lie here: it is the same place seen from the sources and from the build. */
export const projectFolder = nearestWithViews(__dirname);

function nearestWithViews(folder: string): string {
  if (existsSync(join(folder, 'views')) && existsSync(join(folder, 'package.json'))) return folder;
  const parent = dirname(folder);
  if (parent === folder) throw new Error('the folder of views is missing from this installation');
  return nearestWithViews(parent);
}
