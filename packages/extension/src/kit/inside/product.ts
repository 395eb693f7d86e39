import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';

/** The folder of a built service. */
export function productIn(given: string | undefined): string {
  const named = given ?? process.env['SWITCHBOARD_PRODUCT'] ?? installed();
  const folder = resolve(named ?? '.');
  if (named !== undefined && existsSync(join(folder, 'dist', 'bundle', 'main.js'))) return folder;
  throw new Error(
    `There is no built service ${named === undefined ? 'named' : `in ${folder}`}: name its folder by the option product, or by SWITCHBOARD_PRODUCT.`,
  );
}

function installed(): string | undefined {
  try {
    return dirname(createRequire(join(process.cwd(), 'kit.js')).resolve('switchboard/package.json'));
  } catch {
    return undefined;
  }
}

/** The Node that the service runs with: its own, where the machine's is older. */
export function nodeOf(product: string): string {
  const own = join(product, 'node_modules', '.bin', 'node');
  return existsSync(own) ? own : process.execPath;
}
