import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Program, projectFolder } from './program';

const DEADLINE_MS = 5 * 60_000;

/**
 * Installs, once, what a folder of a proof or a bench has in its own lock file. These are no packages of the
 * product, so nothing else downloads them. The text `what` names the packages that come, and how large they
 * are. Answers the whole path of the folder.
 */
export async function installPackages(folder: string, what: string): Promise<string> {
  const path = join(projectFolder, folder);
  const marker = join(path, 'node_modules', '.installed');
  const lock = readFileSync(join(path, 'package-lock.json'));
  const wanted = [createHash('sha256').update(lock).digest('hex'), process.platform, process.arch].join(' ');
  if (existsSync(marker) && readFileSync(marker, 'utf8') === wanted) return path;
  const npm = process.env.npm_execpath;
  if (npm === undefined) throw new Error('run it through npm: npm run dev');
  process.stdout.write(`Installing ${what} in ${folder}, once …\n`);
  // npm tells its scripts where their project is; for another folder that would be wrong.
  const { npm_config_local_prefix: _project, ...environment } = process.env;
  const words = [npm, 'ci', '--ignore-scripts', '--loglevel=error', '--no-fund', '--no-audit'];
  const circumstances = { folder: path, isLeader: true };
  const npmRun = Program.run(process.execPath, words, environment, circumstances);
  const { code, complaint } = await npmRun.finish(DEADLINE_MS);
  if (code !== 0) throw new Error(`${what} could not be installed:\n${complaint}`);
  // Written last, so that an interrupted installation is done again.
  writeFileSync(marker, wanted);
  return path;
}
