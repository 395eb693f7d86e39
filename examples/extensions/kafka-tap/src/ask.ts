import { once } from 'node:events';
import { connect as connectPlainly } from 'node:net';
import { addAbortSignal } from 'node:stream';
import { connect as connectEncrypted } from 'node:tls';
import { Reader, Writer } from './wire';

const LARGEST_ANSWER = 1024 * 1024;

export interface Question {
  readonly api: number;
  readonly version: number;
  readonly body: Buffer;
}

/** Asks a broker one thing, on a connection that is opened for it. */
export async function ask(
  broker: string,
  isEncrypted: boolean,
  { api, version, body }: Question,
  signal: AbortSignal,
): Promise<Reader> {
  const [host = '', port = ''] = broker.split(':');
  const options = { host, port: Number(port), servername: host };
  const socket = isEncrypted ? connectEncrypted(options) : connectPlainly(options);
  addAbortSignal(signal, socket);
  try {
    await once(socket, isEncrypted ? 'secureConnect' : 'connect');
    const head = new Writer().int16(api).int16(version).int32(1).text('switchboard');
    socket.write(new Writer().buffer(Buffer.concat([head.bytes, body])).bytes);
    let answer = Buffer.alloc(0);
    for await (const piece of socket) {
      answer = Buffer.concat([answer, piece as Buffer]);
      // Its size and the number of the request stand in front.
      if (answer.length >= 8 && answer.length >= 4 + answer.readInt32BE(0))
        return new Reader(answer.subarray(8));
      if (answer.length > LARGEST_ANSWER) break;
    }
    throw new Error('the broker ended before its answer was whole');
  } finally {
    socket.destroy();
  }
}
