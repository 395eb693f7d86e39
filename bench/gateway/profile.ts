import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { flameGraph } from './flame-graph';
import type { Load } from './load';
import { topBySelfTime, type ProfileFrame, selfTimeByGroup, type CpuProfile, treeOf } from './profile-tree';
import { smallPrompt } from './prompts';
import { withLoad } from './rounds';
import { completeResponse } from './scripts';
import { freePort } from '../../test/system/free-port';
import { projectFolder } from '../../test/system/program';
import type { Testbed } from './testbed';
import { respondWith } from './supplier';

const CONNECTIONS = 32;
const SECONDS = 8;
const SAMPLE_US = 200;
const folder = join(projectFolder, 'docs', 'performance');

/** Profiles the CPU time of the small prompt and writes two tables and a flame graph into the documentation. */
export async function profile(testbed: Testbed): Promise<string> {
  const port = await freePort();
  const target = await testbed.gateway([`--inspect=127.0.0.1:${port}`]);
  testbed.supplier.behaviour = respondWith(completeResponse);
  const warmUp = (load: Load, request: Buffer): Promise<number> => load.runClosedLoop(request, 4_000);
  const { taken: cpuProfile, requests } = await withLoad(
    target,
    CONNECTIONS,
    smallPrompt,
    async (load, request) => {
      const inspector = await Inspector.connect(port);
      await inspector.call('Profiler.enable');
      await inspector.call('Profiler.setSamplingInterval', { interval: SAMPLE_US });
      await inspector.call('Profiler.start');
      const answers = await load.runClosedLoop(request, SECONDS * 1_000);
      const { profile: result } = await inspector.call<{ profile: CpuProfile }>('Profiler.stop');
      inspector.close();
      return { taken: result, requests: answers };
    },
    warmUp,
  );
  const tree = treeOf(cpuProfile, projectFolder);
  const text = tables(tree, requests);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'flame-graph.svg'), flameGraph(tree, 'CPU time of the gateway, small prompt'));
  writeFileSync(join(folder, 'profile.md'), text);
  return text;
}

function tables(tree: ProfileFrame, requests: number): string {
  const times = (self: number): string =>
    `${((100 * self) / tree.total).toFixed(1)} % | ${(self / requests).toFixed(1)} |`;
  return [
    '# Where the time of a small request goes',
    '',
    `Written by \`npm run bench:gateway -- --profile\`: ${SECONDS} s at full load, one sample every ${SAMPLE_US} µs, ` +
      'time of a function without what it calls.',
    '',
    '| function | where | share | µs a request |',
    '|---|---|--:|--:|',
    ...topBySelfTime(tree, 40).map(
      ({ name, location: place, self }) => `| \`${name}\` | ${place} | ${times(self)}`,
    ),
    '',
    '| part | share | µs a request |',
    '|---|--:|--:|',
    ...selfTimeByGroup(tree)
      .slice(0, 40)
      .map(([name, self]) => `| ${name} | ${times(self)}`),
    '',
  ].join('\n');
}

/** The subset of Node's debugging protocol that a profile needs. */
class Inspector {
  private next = 0;
  private readonly pendingCalls = new Map<
    number,
    (answer: { result?: object; error?: { message: string } }) => void
  >();

  private constructor(private readonly socket: WebSocket) {
    socket.addEventListener('message', ({ data }) => {
      const answer = JSON.parse(String(data)) as { id?: number; result?: object };
      if (answer.id === undefined) return;
      this.pendingCalls.get(answer.id)?.(answer);
      this.pendingCalls.delete(answer.id);
    });
  }

  static async connect(port: number): Promise<Inspector> {
    const answer = await fetch(`http://127.0.0.1:${port}/json/list`);
    const [target] = (await answer.json()) as { webSocketDebuggerUrl: string }[];
    const socket = new WebSocket(target?.webSocketDebuggerUrl ?? '');
    await new Promise((resolve, reject) => {
      socket.addEventListener('open', resolve);
      socket.addEventListener('error', () => reject(new Error('the inspector cannot be reached')));
    });
    return new Inspector(socket);
  }

  call<Answer>(method: string, params: object = {}): Promise<Answer> {
    const id = (this.next += 1);
    this.socket.send(JSON.stringify({ id, method, params }));
    return new Promise((resolve, reject) => {
      this.pendingCalls.set(id, ({ result, error }) =>
        error === undefined ? resolve(result as Answer) : reject(new Error(`${method}: ${error.message}`)),
      );
    });
  }

  close(): void {
    this.socket.close();
  }
}
