import { once } from 'node:events';
import { spawnSimulator } from '../../support/simulator';
import { call } from './client';

const body = { model: 'sim-small', messages: [{ role: 'user', content: 'hello [[tokens=20]] [[pace=5]]' }] };

test('it runs on its own, says where it listens, and finishes its answers on SIGTERM', async () => {
  const simulator = await spawnSimulator(['--name', 'solo', '--region', 'eu', '--lane', 'second:us']);
  expect(simulator.lanes.map(({ name, region }) => [name, region])).toEqual([
    ['solo', 'eu'],
    ['second', 'us'],
  ]);
  const pending = call(`${simulator.url}/v1/chat/completions`, { ...body, stream: true });
  await simulator.waitForRequests(1);
  await simulator.stop();
  const seen = await pending;
  expect([seen.end, seen.bytes.toString().endsWith('[DONE]\n\n')]).toEqual(['complete', true]);
  expect(simulator.process.exitCode).toBe(0);
});

test('it does not outlive the process that started it', async () => {
  const simulator = await spawnSimulator();
  const ended = once(simulator.process, 'exit');
  simulator.process.stdin?.end();
  expect(await ended).toEqual([0, null]);
});

test('a flag that makes no sense ends it before it listens', async () => {
  await expect(spawnSimulator(['--port', 'x'])).rejects.toThrow(
    /ended with 1 before it listened: simulator: --port/,
  );
});
