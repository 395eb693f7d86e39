import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Program, projectFolder } from './program';

const DEADLINE_MS = 5 * 60_000;

/**
 * Installs once what the lock file of a proof's or benchmark's folder lists; returns the absolute path of the folder.
 * `what` names the packages and their size.
 */
export async function installPackages(folder: string, what: string): Promise<string> {
  const path = join(projectFolder, folder);
  const marker = join(path, 'node_modules', '.installed');
  const lock = readFileSync(join(path, 'package-lock.json'));
  const expectedMarker = [
    createHash('sha256').update(lock).digest('hex'),
    process.platform,
    process.arch,
  ].join(' ');
  if (existsSync(marker) && readFileSync(marker, 'utf8') === expectedMarker) return path;
  const npm = process.env.npm_execpath;
  if (npm === undefined) throw new Error('run it through npm: npm run dev');
  process.stdout.write(`Installing ${what} in ${folder}, once …\n`);
  // npm tells its scripts where their project is, which would be wrong for another folder.
  const { npm_config_local_prefix: _project, ...environment } = process.env;
  const npmArguments = [npm, 'ci', '--ignore-scripts', '--loglevel=error', '--no-fund', '--no-audit'];
  const programOptions = { folder: path, isLeader: true };
  const npmRun = Program.run(process.execPath, npmArguments, environment, programOptions);
  const { code, complaint } = await npmRun.finish(DEADLINE_MS);
  if (code !== 0) throw new Error(`${what} could not be installed:\n${complaint}`);
  // Written last, so that an interrupted installation is repeated.
  writeFileSync(marker, expectedMarker);
  return path;
}
