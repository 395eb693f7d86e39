import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { AddressGuard, loadSettings } from '#product/platform';
import { SeededRandom } from '../../../test/system/seeded-random';
import { type Findings, inParallel } from '../../../test/system/findings';
import type { EgressTestRoute } from '../ways/egress-test-route';
import { requestText } from './call-outcome';

const CALLS = 20_000;
/** Each call needs its own connection there. */
const CALLS_PER_CONNECTION = 2_000;
const CONCURRENCY = 40;
/** The supplier repeats one in `every` responses, at most `latestMs` after the first one. */
const variants = [
  { every: 1, latestMs: 4 },
  { every: 1, latestMs: 40 },
  { every: 50, latestMs: 4 },
] as const;

/** Echoes the requested path, sometimes twice: the second response belongs to no request. */
async function startRepeatingSupplier(
  every: number,
  latestMs: number,
  chance: SeededRandom,
): Promise<Server> {
  const server = createServer({ noDelay: true }, (socket) => {
    let pending = '';
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      pending += bytes.toString('latin1');
      for (let end = pending.indexOf('\r\n\r\n'); end !== -1; end = pending.indexOf('\r\n\r\n')) {
        const [, path = ''] = pending.split(' ', 2);
        pending = pending.slice(end + 4);
        const answer = `HTTP/1.1 200 OK\r\ncontent-length: ${path.length}\r\n\r\n${path}`;
        socket.write(answer);
        const repeat = (): void => void (socket.writable && socket.write(answer));
        if (chance.integer(1, every) === 1) setTimeout(repeat, chance.next() * latestMs);
      }
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server;
}

/** No repeated response of a supplier reaches another call. */
export async function proveSecondAnswers(
  findings: Findings,
  egressRoute: EgressTestRoute,
  { seed }: { seed: number },
): Promise<void> {
  const { supplier, proxy } = egressRoute.means;
  const calls = supplier === 'plain' && proxy === 'none' ? CALLS : CALLS_PER_CONNECTION;
  for (const { every, latestMs } of variants) {
    const server = await startRepeatingSupplier(every, latestMs, new SeededRandom(seed));
    const origin = await egressRoute.to((server.address() as AddressInfo).port);
    const guard = new AddressGuard([{ address: '127.0.0.0', prefix: 8, family: 'ipv4' }]);
    const transport = egressRoute.transport(loadSettings({ NODE_ENV: 'test' }), guard);
    let [wrong, answered] = [0, 0];
    await inParallel(
      CONCURRENCY,
      Array.from({ length: calls }, (_, call) => `/call-${call}`),
      async (path) => {
        const { error, text } = await requestText(transport, `${origin}${path}`);
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
