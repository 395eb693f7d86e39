import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, project, type Testbed, type Target } from './testbed';

const folder = join(project, 'bench', 'gateway', 'peers');
const marker = join(folder, 'node_modules', '.installed');

/** Installs what the gateway is compared with into a folder of its own, unless that is there already. */
export async function installPeers(): Promise<void> {
  const lock = readFileSync(join(folder, 'package-lock.json'));
  const wanted = createHash('sha256').update(lock).digest('hex');
  if (existsSync(marker) && readFileSync(marker, 'utf8') === wanted) return;
  const npm = process.env.npm_execpath;
  if (npm === undefined) throw new Error('run it through npm: npm run bench:gateway');
  process.stdout.write(
    'Installing Portkey in bench/gateway/peers, once (--without-peers does without it) …\n',
  );
  // npm tells its scripts where their project is; for another folder that would be wrong.
  const { npm_config_local_prefix: _project, ...environment } = process.env;
  const words = [npm, 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const child = spawn(process.execPath, words, {
    cwd: folder,
    env: environment,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0)
    throw new Error(`Portkey could not be installed (${code}); --without-peers does without it`);
  // Written last, so that an interrupted installation is done again.
  writeFileSync(marker, wanted);
}

export async function startPortkey(testbed: Testbed): Promise<Target> {
  const port = await freePort();
  const file = join(folder, 'node_modules', '@portkey-ai', 'gateway', 'build', 'start-server.js');
  return testbed.add(
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
      'x-portkey-custom-host': `${testbed.supplier.origin}/v1`,
    },
  );
}
