import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { freePort } from './free-port';
import { Program } from './program';

export interface RedisServer {
  url: string;
  /** Suspends a server started here: it keeps its connections and does not respond until resumed. */
  pause?(): void;
  resume?(): void;
  stop(): Promise<void>;
}

const isInstalled = (process.env['PATH'] ?? '')
  .split(delimiter)
  .some((folder) => existsSync(join(folder, 'redis-server')));

/** Redis is optional on a developer's machine and required in CI. */
export const redisAvailable = process.env['REDIS_URL'] !== undefined || isInstalled;
if (process.env['CI'] === 'true' && !redisAvailable) throw new Error('CI needs REDIS_URL or redis-server');

/** Uses the server named by REDIS_URL, or starts one on a free port. */
export async function startRedis(): Promise<RedisServer> {
  const configuredUrl = process.env['REDIS_URL'];
  if (configuredUrl !== undefined) return { url: configuredUrl, stop: () => Promise.resolve() };
  const { program: server, url } = await spawnRedis();
  return {
    url,
    pause: () => server.signal('SIGSTOP'),
    resume: () => server.signal('SIGCONT'),
    stop: async () => {
      server.kill();
      await server.ended;
    },
  };
}

/** Starts a server without persistence. */
export async function spawnRedis(folder = '.'): Promise<{ readonly program: Program; readonly url: string }> {
  const port = await freePort();
  const redisArguments = [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--dir',
    folder,
    '--save',
    '',
    '--appendonly',
    'no',
  ];
  const program = Program.run('redis-server', redisArguments);
  await program.find(/Ready to accept connections/);
  return { program, url: `redis://127.0.0.1:${port}` };
}
