import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { flameGraph } from './flame-graph';
import { Load } from './load';
import { smallPrompt } from './prompts';
import { requestBytes } from './caller';
import { wholeAnswer } from './scripts';
import { freePort, project, type Stage } from './stage';
import { answering } from './supplier';
import { dearest, groups, type Profile, treeOf } from './profile-tree';

const SECONDS = 8;
const SAMPLE_US = 200;

/** Where the CPU time of the small prompt goes: a table and a flame graph, both kept with the documentation. */
export async function profile(stage: Stage, folder: string): Promise<string> {
  const port = await freePort();
  const target = await stage.gateway([`--inspect=127.0.0.1:${port}`]);
  stage.supplier.behaviour = answering(wholeAnswer);
  const load = await Load.open(target.process.port, 32);
  const request = requestBytes({ path: '/v1/chat/completions', headers: target.headers, body: smallPrompt });
  await load.closed(request, 4_000);
  const inspector = await Inspector.connect(port);
  await inspector.ask('Profiler.enable');
  await inspector.ask('Profiler.setSamplingInterval', { interval: SAMPLE_US });
  await inspector.ask('Profiler.start');
  const requests = await load.closed(request, SECONDS * 1_000);
  const { profile: taken } = await inspector.ask<{ profile: Profile }>('Profiler.stop');
  inspector.close();
  load.close();
  await target.process.stop();
  const tree = treeOf(taken, project);
  writeFileSync(join(folder, 'gateway.cpuprofile'), JSON.stringify(taken));
  writeFileSync(join(folder, 'flame-graph.svg'), flameGraph(tree, 'One small request, all of the gateway'));
  const text = [
    '| function | where | self | µs a request |',
    '|---|---|--:|--:|',
    ...dearest(tree, 30).map(
      ({ name, place, self }) =>
        `| ${name} | ${place} | ${((100 * self) / tree.total).toFixed(1)} % | ${(self / requests).toFixed(1)} |`,
    ),
    '',
    '| part | self |  µs a request |',
    '|---|--:|--:|',
    ...groups(tree)
      .slice(0, 20)
      .map(([name, self]) => `| ${name} | ${((100 * self) / tree.total).toFixed(1)} % | ${(self / requests).toFixed(1)} |`),
    '',
  ].join('\n');
  return text;
}

/** The debugging protocol of Node, as much of it as a profile needs. */
class Inspector {
  private next = 0;
  private readonly waiting = new Map<number, (answer: { result?: object; error?: { message: string } }) => void>();

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
