import { join } from 'node:path';
import { freePort } from '../../test/system/free-port';
import { installPackages } from '../../test/system/packages';
import { projectFolder } from '../../test/system/program';
import type { Testbed, Target } from './testbed';

const folder = 'bench/gateway/peers';

/** Installs the peers of the comparison into a separate folder, unless they are there already. */
export const installPeers = (): Promise<string> =>
  installPackages(folder, 'Portkey (--without-peers does without it)');

export async function startPortkey(testbed: Testbed): Promise<Target> {
  const port = await freePort();
  const file = join(
    projectFolder,
    folder,
    'node_modules',
    '@portkey-ai',
    'gateway',
    'build',
    'start-server.js',
  );
  return testbed.startProcess(
    {
      name: 'portkey',
      args: [file, `--port=${port}`, '--headless'],
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
