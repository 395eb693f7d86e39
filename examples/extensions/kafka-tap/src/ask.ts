import { once } from 'node:events';
import { connect as connectPlainly } from 'node:net';
import { addAbortSignal } from 'node:stream';
import { connect as connectEncrypted } from 'node:tls';
import { Reader, Writer } from './wire';

const MAX_RESPONSE_BYTES = 1024 * 1024;

export interface BrokerRequest {
  readonly api: number;
  readonly version: number;
  readonly body: Buffer;
}

/** Sends one request to a broker, on a connection of its own. */
export async function sendRequest(
  broker: string,
  isEncrypted: boolean,
  { api, version, body }: BrokerRequest,
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
    let response = Buffer.alloc(0);
    for await (const piece of socket) {
      response = Buffer.concat([response, piece as Buffer]);
      // The size and the number of the request come first.
      if (response.length >= 8 && response.length >= 4 + response.readInt32BE(0))
        return new Reader(response.subarray(8));
      if (response.length > MAX_RESPONSE_BYTES) break;
    }
    throw new Error('the broker ended before its answer was whole');
  } finally {
    socket.destroy();
  }
}
