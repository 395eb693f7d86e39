import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { AddressGuard, loadSettings, WireTransport } from '#product/platform';
import { Chance } from '../../../test/system/chance';
import { type Findings, inParallel } from '../../../test/system/findings';

const CALLS = 20_000;
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

const ask = (transport: WireTransport, port: number, path: string): Promise<string> =>
  new Promise((resolve) => {
    const pieces: Buffer[] = [];
    transport.dispatch(
      { url: new URL(`http://127.0.0.1:${port}${path}`), method: 'GET', headers: {} },
      {
        onData: (piece) => void pieces.push(piece),
        onEnd: () => resolve(Buffer.concat(pieces).toString()),
        onBroken: () => resolve('broken'),
      },
    );
  });

/** A supplier that sends answers twice: none of them reaches another call. */
export async function proveSecondAnswers(findings: Findings, { seed }: { seed: number }): Promise<void> {
  for (const { every, latestMs } of turns) {
    const server = await startDoubling(every, latestMs, new Chance(seed));
    const { port } = server.address() as AddressInfo;
    const guard = new AddressGuard([{ address: '127.0.0.0', prefix: 8, family: 'ipv4' }]);
    const transport = new WireTransport(loadSettings({ NODE_ENV: 'test' }), guard);
    let [wrong, answered] = [0, 0];
    await inParallel(
      AT_ONCE,
      Array.from({ length: CALLS }, (_, call) => `/call-${call}`),
      async (path) => {
        const answer = await ask(transport, port, path);
        if (answer === path) answered += 1;
        else if (answer !== 'broken') wrong += 1;
      },
    );
    transport.close();
    server.close();
    findings.add(
      `one answer in ${every} sent twice, within ${latestMs} ms: none reaches another call`,
      wrong === 0 && answered > CALLS * 0.99,
      `${wrong} of ${CALLS} wrong, ${answered} answered`,
    );
  }
}
