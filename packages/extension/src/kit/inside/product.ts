import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';

export function findProduct(option: string | undefined): string {
  const location = option ?? process.env['SWITCHBOARD_PRODUCT'] ?? findInstalled();
  const folder = resolve(location ?? '.');
  if (location !== undefined && existsSync(join(folder, 'dist', 'bundle', 'main.js'))) return folder;
  throw new Error(
    `There is no built service ${location === undefined ? 'named' : `in ${folder}`}: name its folder by the option product, or by SWITCHBOARD_PRODUCT.`,
  );
}

function findInstalled(): string | undefined {
  try {
    return dirname(createRequire(join(process.cwd(), 'kit.js')).resolve('switchboard/package.json'));
  } catch {
    return undefined;
  }
}

/** Returns the Node that the service runs with: its own, if the machine's version is older. */
export function nodeOf(product: string): string {
  const ownNode = join(product, 'node_modules', '.bin', 'node');
  return existsSync(ownNode) ? ownNode : process.execPath;
}
