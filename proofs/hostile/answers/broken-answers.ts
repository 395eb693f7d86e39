import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { AddressGuard } from '#product/platform';
import { brokenAnswers, cuts } from '../../../test/support/broken-answers';
import { type Findings, inParallel } from '../../../test/system/findings';
import { none } from '../none';
import type { WayOut } from '../ways/way';
import { askFor, settings } from './told';

const GOOD = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';
/** It is written in so many pieces at most. */
const MOST_PIECES = 500;
const AT_ONCE = 8;

interface Play {
  readonly name: string;
  readonly bytes: Buffer;
  readonly pieces: number;
  readonly isCut: boolean;
}

const plays = [...brokenAnswers, ...cuts].flatMap(([name, text], at): Play[] => {
  const isCut = at >= brokenAnswers.length;
  const bytes = Buffer.from(text, 'latin1');
  const counts = new Set([1, 2, bytes.length].map((count) => Math.max(1, Math.min(count, MOST_PIECES))));
  return [...counts].map((pieces) => ({
    name: `${isCut ? 'cut ' : ''}${name}, in ${pieces}`,
    bytes,
    pieces,
    isCut,
  }));
});

export const thisMachine = (): AddressGuard =>
  new AddressGuard([{ address: '127.0.0.0', prefix: 8, family: 'ipv4' }]);

/** Each answer is no answer, however its bytes come, and the call behind it gets its own. */
export async function proveBrokenAnswers(findings: Findings, way: WayOut): Promise<void> {
  const server = await startSpoiling();
  const origin = await way.to((server.address() as AddressInfo).port);
  const transport = way.transport(settings, thisMachine());
  const taken: string[] = [];
  const others: string[] = [];
  const lost: string[] = [];
  await inParallel(AT_ONCE, [...plays.entries()], async ([at, { name, isCut }]) => {
    const { error, text } = await askFor(transport, `${origin}/${at}`);
    const code = isCut ? 'SUPPLIER_CLOSED' : 'SUPPLIER_BROKEN_ANSWER';
    if (error === null) taken.push(`${name}: ${JSON.stringify(text)}`);
    else if (error.code !== code) others.push(`${name}: ${error.code} ${error.message}`);
    const next = await askFor(transport, `${origin}/good`);
    if (next.error !== null || next.text !== 'ok') lost.push(`behind ${name}: ${next.error?.message}`);
  });
  transport.close();
  server.close();
  none(findings, 'broken answers that were taken for whole ones', taken, plays.length);
  none(findings, 'broken answers that were told as something else', others, plays.length);
  none(findings, 'calls behind them that did not get their own answer', lost, plays.length);
}

/** It answers as its path says, and closes behind what is cut. */
async function startSpoiling(): Promise<Server> {
  const server = createServer({ noDelay: true, allowHalfOpen: true }, (socket) => {
    let come = '';
    socket.on('error', () => undefined).on('end', () => socket.end());
    socket.on('data', (bytes) => {
      come += bytes.toString('latin1');
      if (!come.includes('\r\n\r\n')) return;
      const [, path = ''] = come.split(' ', 2);
      come = '';
      const play = plays[Number(path.slice(1))];
      if (play === undefined) socket.write(GOOD);
      else void write(socket, play);
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server;
}

async function write(socket: Socket, { bytes, pieces, isCut }: Play): Promise<void> {
  const length = Math.ceil(bytes.length / pieces);
  for (let at = 0; at < bytes.length && socket.writable; at += length) {
    socket.write(bytes.subarray(at, at + length));
    await new Promise(setImmediate);
  }
  if (isCut) socket.end();
}
