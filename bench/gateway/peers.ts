import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, project, type Stage, type Target } from './stage';

const manifests = join(project, 'bench', 'gateway', 'peers');
/** Among the packages, so that no check and no build of the project takes them for its own. */
const folder = join(project, 'node_modules', '.cache', 'bench-peers');
const marker = join(folder, '.installed');

/** Installs what the gateway is compared with, unless that is there already. */
export async function installPeers(): Promise<void> {
  const lock = readFileSync(join(manifests, 'package-lock.json'));
  const wanted = createHash('sha256').update(lock).digest('hex');
  if (existsSync(marker) && readFileSync(marker, 'utf8') === wanted) return;
  process.stdout.write('Installing Portkey beside the project, once (--without-peers does without it) …\n');
  mkdirSync(folder, { recursive: true });
  for (const name of ['package.json', 'package-lock.json'])
    copyFileSync(join(manifests, name), join(folder, name));
  const npm = process.env.npm_execpath;
  const [command, first] = npm === undefined ? ['npm', []] : [process.execPath, [npm]];
  const words = [
    ...first,
    'ci',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
    '--prefix',
    folder,
  ];
  const environment = { ...process.env };
  delete environment.npm_config_local_prefix;
  const child = spawn(command, words, {
    cwd: folder,
    env: environment,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0)
    throw new Error(`Portkey could not be installed (${code}); --without-peers does without it`);
  writeFileSync(marker, wanted);
}

export async function startPortkey(stage: Stage): Promise<Target> {
  const port = await freePort();
  const file = join(folder, 'node_modules', '@portkey-ai', 'gateway', 'build', 'start-server.js');
  return stage.add(
    {
      name: 'portkey',
      words: [file, `--port=${port}`, '--headless'],
      port,
      readyPath: '/',
      environment: { NODE_ENV: 'production' },
    },
    {
      authorization: 'Bearer bench-supplier-key-0001',
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': `${stage.supplier.origin}/v1`,
    },
  );
}
