import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { flameGraph } from './flame-graph';
import type { Load } from './load';
import { dearest, type Frame, groupsOf, type Profile, treeOf } from './profile-tree';
import { smallPrompt } from './prompts';
import { withLoad } from './rounds';
import { wholeAnswer } from './scripts';
import { freePort } from '../../test/system/free-port';
import { projectFolder } from '../../test/system/program';
import type { Testbed } from './testbed';
import { answering } from './supplier';

const CONNECTIONS = 32;
const SECONDS = 8;
const SAMPLE_US = 200;
const folder = join(projectFolder, 'docs', 'performance');

/**
 * The profile shows where the CPU time of the small prompt goes: two tables and a flame graph, kept with the
 * documentation.
 */
export async function profile(testbed: Testbed): Promise<string> {
  const port = await freePort();
  const target = await testbed.gateway([`--inspect=127.0.0.1:${port}`]);
  testbed.supplier.behaviour = answering(wholeAnswer);
  const warmUp = (load: Load, request: Buffer): Promise<number> => load.closed(request, 4_000);
  const { taken, requests } = await withLoad(
    target,
    CONNECTIONS,
    smallPrompt,
    async (load, request) => {
      const inspector = await Inspector.connect(port);
      await inspector.ask('Profiler.enable');
      await inspector.ask('Profiler.setSamplingInterval', { interval: SAMPLE_US });
      await inspector.ask('Profiler.start');
      const answers = await load.closed(request, SECONDS * 1_000);
      const { profile: result } = await inspector.ask<{ profile: Profile }>('Profiler.stop');
      inspector.close();
      return { taken: result, requests: answers };
    },
    warmUp,
  );
  const tree = treeOf(taken, projectFolder);
  const text = tables(tree, requests);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'flame-graph.svg'), flameGraph(tree, 'CPU time of the gateway, small prompt'));
  writeFileSync(join(folder, 'profile.md'), text);
  return text;
}

function tables(tree: Frame, requests: number): string {
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
    ...dearest(tree, 40).map(({ name, place, self }) => `| \`${name}\` | ${place} | ${times(self)}`),
    '',
    '| part | share | µs a request |',
    '|---|--:|--:|',
    ...groupsOf(tree)
      .slice(0, 40)
      .map(([name, self]) => `| ${name} | ${times(self)}`),
    '',
  ].join('\n');
}

/** The debugging protocol of Node, as much of it as a profile needs. */
class Inspector {
  private next = 0;
  private readonly waiting = new Map<
    number,
    (answer: { result?: object; error?: { message: string } }) => void
  >();

  private constructor(private readonly socket: WebSocket) {
    socket.addEventListener('message', ({ data }) => {
      const answer = JSON.parse(String(data)) as { id?: number; result?: object };
      if (answer.id === undefined) return;
      this.waiting.get(answer.id)?.(answer);
      this.waiting.delete(answer.id);
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

  ask<Answer>(method: string, params: object = {}): Promise<Answer> {
    const id = (this.next += 1);
    this.socket.send(JSON.stringify({ id, method, params }));
    return new Promise((resolve, reject) => {
      this.waiting.set(id, ({ result, error }) =>
        error === undefined ? resolve(result as Answer) : reject(new Error(`${method}: ${error.message}`)),
      );
    });
  }

  close(): void {
    this.socket.close();
  }
}
