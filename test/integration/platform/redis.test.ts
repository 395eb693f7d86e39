import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { Logger } from '#inside/platform/logging/index';
import { createRedisClient } from '#inside/platform/redis/index';
import { redisAvailable, startRedis } from '../../system/redis-server';

function capture() {
  const lines: string[] = [];
  const logger = Logger.create(
    { logLevel: 'info', logFormat: 'json' },
    { write: (line: string) => lines.push(line) },
  );
  return { lines, logger };
}

test('a command fails when no server is reachable, and the failure is logged once', async () => {
  const { lines, logger } = capture();
  const closedServer = createServer().listen(0, '127.0.0.1');
  await once(closedServer, 'listening');
  const address = closedServer.address();
  closedServer.close();
  const client = createRedisClient(
    `redis://:hunter22@127.0.0.1:${typeof address === 'object' ? address?.port : 0}`,
    logger,
  );
  expect(client.status).toBe('wait');
  await expect(client.get('x')).rejects.toThrow();
  await expect(client.get('x')).rejects.toThrow();
  client.disconnect();
  expect(lines.filter((line) => line.includes('cannot be reached'))).toHaveLength(1);
  expect(lines.join('')).not.toContain('hunter22');
});

test('an unresponsive server blocks a command for seconds only', async () => {
  const sockets: Socket[] = [];
  const silentServer = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
  await once(silentServer, 'listening');
  const address = silentServer.address();
  const client = createRedisClient(
    `redis://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`,
    capture().logger,
  );
  await expect(client.get('x')).rejects.toThrow(/timed out|closed|max retries/i);
  client.disconnect();
  for (const socket of sockets) socket.destroy();
  silentServer.close();
}, 40_000);

(redisAvailable ? test : test.skip)('a server that is there is used', async () => {
  const server = await startRedis();
  const { lines, logger } = capture();
  const client = createRedisClient(server.url, logger);
  await client.set('switchboard-test', 'yes', 'EX', 5);
  expect(await client.get('switchboard-test')).toBe('yes');
  await client.quit();
  await server.stop();
  expect(lines).toEqual([]);
});
