import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { AddressGuard, loadSettings } from '#product/platform';
import { Chance } from '../../../test/system/chance';
import { type Findings, inParallel } from '../../../test/system/findings';
import type { WayOut } from '../ways/way';
import { askFor } from './told';

const CALLS = 20_000;
/** Each of them needs a connection of its own there. */
const CALLS_BY_OTHERS = 2_000;
const AT_ONCE = 40;
/** The supplier sends one of `every` answers twice, at most `latestMs` after the first time. */
const turns = [
  { every: 1, latestMs: 4 },
  { every: 1, latestMs: 40 },
  { every: 50, latestMs: 4 },
] as const;

/** Answers with the path that was asked, and again a moment later: the second answer is nobody's. */
async function startDoubling(every: number, latestMs: number, chance: Chance): Promise<Server> {
  const server = createServer({ noDelay: true }, (socket) => {
    let come = '';
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      come += bytes.toString('latin1');
      for (let end = come.indexOf('\r\n\r\n'); end !== -1; end = come.indexOf('\r\n\r\n')) {
        const [, path = ''] = come.split(' ', 2);
        come = come.slice(end + 4);
        const answer = `HTTP/1.1 200 OK\r\ncontent-length: ${path.length}\r\n\r\n${path}`;
        socket.write(answer);
        const again = (): void => void (socket.writable && socket.write(answer));
        if (chance.whole(1, every) === 1) setTimeout(again, chance.next() * latestMs);
      }
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server;
}

/** A supplier that sends answers twice: none of them reaches another call. */
export async function proveSecondAnswers(
  findings: Findings,
  way: WayOut,
  { seed }: { seed: number },
): Promise<void> {
  const { supplier, proxy } = way.means;
  const calls = supplier === 'plain' && proxy === 'none' ? CALLS : CALLS_BY_OTHERS;
  for (const { every, latestMs } of turns) {
    const server = await startDoubling(every, latestMs, new Chance(seed));
    const origin = await way.to((server.address() as AddressInfo).port);
    const guard = new AddressGuard([{ address: '127.0.0.0', prefix: 8, family: 'ipv4' }]);
    const transport = way.transport(loadSettings({ NODE_ENV: 'test' }), guard);
    let [wrong, answered] = [0, 0];
    await inParallel(
      AT_ONCE,
      Array.from({ length: calls }, (_, call) => `/call-${call}`),
      async (path) => {
        const { error, text } = await askFor(transport, `${origin}${path}`);
        if (error === null && text === path) answered += 1;
        else if (error === null) wrong += 1;
      },
    );
    transport.close();
    server.close();
    findings.add(
      `one answer in ${every} sent twice, within ${latestMs} ms: none reaches another call`,
      wrong === 0 && answered > calls * 0.99,
      `${wrong} of ${calls} wrong, ${answered} answered`,
    );
  }
}
