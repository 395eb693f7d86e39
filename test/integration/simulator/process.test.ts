import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { spawnSimulator } from '../../support/simulator';
import { projectFolder } from '../../system/program';
import { call } from './client';

const body = { model: 'sim-small', messages: [{ role: 'user', content: 'hello [[tokens=20]] [[pace=5]]' }] };

test('the simulator runs as a process, prints its URLs and completes open responses on SIGTERM', async () => {
  const simulator = await spawnSimulator(['--name', 'solo', '--region', 'eu', '--lane', 'second:us']);
  expect(simulator.lanes.map(({ name, region }) => [name, region])).toEqual([
    ['solo', 'eu'],
    ['second', 'us'],
  ]);
  const pending = call(`${simulator.url}/v1/chat/completions`, { ...body, stream: true });
  await simulator.waitForRequests(1);
  await simulator.stop();
  const response = await pending;
  expect([response.end, response.bytes.toString().endsWith('[DONE]\n\n')]).toEqual(['complete', true]);
  expect(await simulator.program.ended).toBe(0);
});

test('the simulator exits with the process that started it', async () => {
  const simulator = await spawnSimulator();
  expect(await simulator.program.finish(10_000)).toMatchObject({ code: 0, late: false });
});

test('the simulator exits when its parent process is killed and leaves no pipe behind', async () => {
  const simulator = await spawnSimulator(['--name', 'outer']);
  const parentProcess = spawn(
    process.execPath,
    [
      '-e',
      `const child = require('node:child_process').spawn(process.execPath, [${JSON.stringify(join(projectFolder, 'dist/simulator/main.js'))}], {
        stdio: ['ignore', 'pipe', 'ignore'] });
       child.stdout.pipe(process.stdout);`,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const [line] = (await once(parentProcess.stdout, 'data')) as [Buffer];
  const { controlUrl } = JSON.parse(line.toString()) as { controlUrl: string };
  const waiting = call(`${controlUrl}/wait?timeout_ms=20000`, undefined, { method: 'GET' });
  parentProcess.kill('SIGKILL');
  expect((await waiting).end).toMatch(/^ECONN/);
  await simulator.stop();
});

test('an invalid flag ends the process before it listens', async () => {
  await expect(spawnSimulator(['--port', 'x'])).rejects.toThrow(/ended with 1: simulator: --port/);
});
