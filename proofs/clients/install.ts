import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Program } from '../support/program';

/** Where the clients and the scripts that use them are; this file itself runs from the compiled copy. */
export const clientsFolder = join(__dirname, '..', '..', '..', 'proofs', 'clients');

const DEADLINE_MS = 5 * 60_000;

/** The clients are no part of the product's own packages: they are downloaded only by the proofs that use them. */
export async function installClients(folder = clientsFolder, size = 'about 1 GB'): Promise<void> {
  const marker = join(folder, 'node_modules', '.installed');
  const lock = readFileSync(join(folder, 'package-lock.json'));
  const wanted = [createHash('sha256').update(lock).digest('hex'), process.platform, process.arch].join(' ');
  if (existsSync(marker) && readFileSync(marker, 'utf8') === wanted) return;
  const npm = process.env.npm_execpath;
  if (npm === undefined) throw new Error('run it through npm: npm run prove:…');
  process.stdout.write(`Installing the clients in ${folder} (${size}, once) …\n`);
  const environment = Object.fromEntries(
    // npm tells its scripts where their project is; for another folder that would be wrong.
    Object.entries(process.env).filter(([name]) => name !== 'npm_config_local_prefix'),
  ) as Record<string, string>;
  const words = [npm, 'ci', '--ignore-scripts', '--loglevel=error', '--no-fund', '--no-audit'];
  const { code, complaint } = await Program.run(process.execPath, words, environment, {
    folder,
    isLeader: true,
  }).finish(DEADLINE_MS);
  if (code !== 0) throw new Error(`the clients could not be installed:\n${complaint}`);
  // Written last, so that an interrupted installation is done again.
  writeFileSync(marker, wanted);
}
