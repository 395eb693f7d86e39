import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';

export interface RedisServer {
  url: string;
  /** Only a server of our own: it keeps its connections and answers nothing until it is resumed. */
  pause?(): void;
  resume?(): void;
  stop(): Promise<void>;
}

const program = (process.env['PATH'] ?? '')
  .split(delimiter)
  .map((folder) => join(folder, 'redis-server'))
  .find((path) => existsSync(path));

/** Redis is optional on a developer's machine, and demanded where the project is checked. */
export const redisAvailable = process.env['REDIS_URL'] !== undefined || program !== undefined;
if (process.env['CI'] === 'true' && !redisAvailable) throw new Error('CI needs REDIS_URL or redis-server');

/** The server named by REDIS_URL, or one of our own on a free port. */
export async function startRedis(): Promise<RedisServer> {
  const given = process.env['REDIS_URL'];
  if (given !== undefined) return { url: given, stop: () => Promise.resolve() };
  const port = await freePort();
  const settings = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  const child = spawn(program ?? '', settings, { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const deadline = setTimeout(() => child.kill('SIGKILL'), 10_000);
  for await (const line of createInterface(child.stdout)) if (line.includes('Ready to accept')) break;
  clearTimeout(deadline);
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  return {
    url: `redis://127.0.0.1:${port}`,
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    stop,
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (typeof address !== 'object' || address === null) throw new Error('no port');
  return address.port;
}
