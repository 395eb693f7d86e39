import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { AddressGuard } from '#product/platform';
import { brokenResponses, truncations } from '../../../test/support/broken-responses';
import { type Findings, inParallel } from '../../../test/system/findings';
import { expectNone } from '../offenders';
import type { EgressTestRoute } from '../ways/egress-test-route';
import { requestText, settings } from './call-outcome';

const GOOD = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';
/** Maximum number of pieces a response is written in. */
const MAX_PIECES = 500;
const CONCURRENCY = 8;

interface BrokenPlay {
  readonly name: string;
  readonly bytes: Buffer;
  readonly pieces: number;
  readonly isCut: boolean;
}

const plays = [...brokenResponses, ...truncations].flatMap(([name, text], at): BrokenPlay[] => {
  const isCut = at >= brokenResponses.length;
  const bytes = Buffer.from(text, 'latin1');
  const counts = new Set([1, 2, bytes.length].map((count) => Math.max(1, Math.min(count, MAX_PIECES))));
  return [...counts].map((pieces) => ({
    name: `${isCut ? 'cut ' : ''}${name}, in ${pieces}`,
    bytes,
    pieces,
    isCut,
  }));
});

export const loopbackGuard = (): AddressGuard =>
  new AddressGuard([{ address: '127.0.0.0', prefix: 8, family: 'ipv4' }]);

/** A broken response is never accepted, however it is split, and the next call gets its own response. */
export async function proveBrokenAnswers(findings: Findings, egressRoute: EgressTestRoute): Promise<void> {
  const server = await startBrokenSupplier();
  const origin = await egressRoute.to((server.address() as AddressInfo).port);
  const transport = egressRoute.transport(settings, loopbackGuard());
  const accepted: string[] = [];
  const mixedUp: string[] = [];
  const lostCalls: string[] = [];
  await inParallel(CONCURRENCY, [...plays.entries()], async ([at, { name, isCut }]) => {
    const { error, text } = await requestText(transport, `${origin}/${at}`);
    const code = isCut ? 'SUPPLIER_CLOSED' : 'SUPPLIER_BROKEN_ANSWER';
    if (error === null) accepted.push(`${name}: ${JSON.stringify(text)}`);
    else if (error.code !== code) mixedUp.push(`${name}: ${error.code} ${error.message}`);
    const nextOutcome = await requestText(transport, `${origin}/good`);
    if (nextOutcome.error !== null || nextOutcome.text !== 'ok')
      lostCalls.push(`behind ${name}: ${nextOutcome.error?.message}`);
  });
  transport.close();
  server.close();
  expectNone(findings, 'broken answers that were taken for whole ones', accepted, plays.length);
  expectNone(findings, 'broken responses that were reported as another error', mixedUp, plays.length);
  expectNone(findings, 'calls behind them that did not get their own answer', lostCalls, plays.length);
}

/** Responds as the path says, and closes the connection after truncated responses. */
async function startBrokenSupplier(): Promise<Server> {
  const server = createServer({ noDelay: true, allowHalfOpen: true }, (socket) => {
    let pending = '';
    socket.on('error', () => undefined).on('end', () => socket.end());
    socket.on('data', (bytes) => {
      pending += bytes.toString('latin1');
      if (!pending.includes('\r\n\r\n')) return;
      const [, path = ''] = pending.split(' ', 2);
      pending = '';
      const play = plays[Number(path.slice(1))];
      if (play === undefined) socket.write(GOOD);
      else void write(socket, play);
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server;
}

async function write(socket: Socket, { bytes, pieces, isCut }: BrokenPlay): Promise<void> {
  const length = Math.ceil(bytes.length / pieces);
  for (let at = 0; at < bytes.length && socket.writable; at += length) {
    socket.write(bytes.subarray(at, at + length));
    await new Promise(setImmediate);
  }
  if (isCut) socket.end();
}
