import { createServer, type TLSSocket } from 'node:tls';
import { asking, type Front, frontOf } from '../ways/fronts';

/** RFC 9113, sections 6 and 7. */
const [DATA, HEADERS, RESET, SETTINGS] = [0x0, 0x1, 0x3, 0x4];
const [END_STREAM, END_HEADERS, ACK] = [0x1, 0x4, 0x1];
const PREFACE_BYTES = 24;
const HEAD_BYTES = 9;

export type Field = readonly [name: string, value: string];

/** Writes what it likes on a stream that was asked on with this body. */
type Answering = (stream: number, body: string, socket: TLSSocket) => void;

function frame(type: number, flags: number, stream: number, body: Buffer): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUIntBE(body.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, body]);
}

export const headersFrame = (stream: number, fields: readonly Field[], isLast = false): Buffer =>
  frame(
    HEADERS,
    END_HEADERS | (isLast ? END_STREAM : 0),
    stream,
    Buffer.concat(fields.map(([name, value]) => Buffer.concat([Buffer.from([0]), text(name), text(value)]))),
  );

export const dataFrame = (stream: number, body: string, isLast: boolean): Buffer =>
  frame(DATA, isLast ? END_STREAM : 0, stream, Buffer.from(body, 'latin1'));

export function resetFrame(stream: number, code: number): Buffer {
  const body = Buffer.alloc(4);
  body.writeUInt32BE(code);
  return frame(RESET, 0, stream, body);
}

/** A literal without compression, shorter than one byte can tell (RFC 7541, section 5.2). */
function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1');
  if (bytes.length > 126) throw new Error('too long for one byte');
  return Buffer.concat([Buffer.from([bytes.length]), bytes]);
}

/** A supplier that speaks in frames, whatever they mean. */
export function frameSupplier(answering: Answering): Promise<Front> {
  const server = createServer({ ...asking, ALPNProtocols: ['h2'], noDelay: true }, (socket) => {
    const bodies = new Map<number, string>();
    let come: Buffer = Buffer.alloc(0);
    let isGreeted = false;
    socket.write(frame(SETTINGS, 0, 0, Buffer.alloc(0)));
    socket.on('data', (bytes: Buffer) => {
      come = Buffer.concat([come, bytes]);
      if (!isGreeted && come.length < PREFACE_BYTES) return;
      if (!isGreeted) come = come.subarray(PREFACE_BYTES);
      isGreeted = true;
      while (come.length >= HEAD_BYTES && come.length >= HEAD_BYTES + come.readUIntBE(0, 3)) {
        const [type, flags, stream] = [come[3], come[4]!, come.readUInt32BE(5)];
        const body = come.toString('latin1', HEAD_BYTES, HEAD_BYTES + come.readUIntBE(0, 3));
        come = come.subarray(HEAD_BYTES + body.length);
        if (type === SETTINGS && (flags & ACK) === 0) socket.write(frame(SETTINGS, ACK, 0, Buffer.alloc(0)));
        if (type === DATA) bodies.set(stream, (bodies.get(stream) ?? '') + body);
        if ((type === HEADERS || type === DATA) && (flags & END_STREAM) !== 0)
          answering(stream, bodies.get(stream) ?? '', socket);
      }
    });
  });
  return frontOf(server);
}
