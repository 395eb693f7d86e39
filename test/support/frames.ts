import { crc32 } from 'node:zlib';

/** Frame of an AWS event stream, with text headers only. */
export function frame(headers: Readonly<Record<string, string>>, payload: string): Buffer {
  const head = Buffer.concat(Object.entries(headers).map(([name, value]) => headerOf(name, 7, sized(value))));
  return assemble(head, Buffer.from(payload));
}

export function assemble(head: Buffer, payload: Buffer): Buffer {
  const bytes = Buffer.alloc(16 + head.length + payload.length);
  bytes.writeUInt32BE(bytes.length, 0);
  bytes.writeUInt32BE(head.length, 4);
  bytes.writeUInt32BE(crc32(bytes.subarray(0, 8)), 8);
  head.copy(bytes, 12);
  payload.copy(bytes, 12 + head.length);
  bytes.writeUInt32BE(crc32(bytes.subarray(0, -4)), bytes.length - 4);
  return bytes;
}

export function headerOf(name: string, type: number, value: Buffer): Buffer {
  return Buffer.concat([Buffer.from([name.length]), Buffer.from(name), Buffer.from([type]), value]);
}

export function sized(value: string): Buffer {
  const bytes = Buffer.from(value);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/** A Messages event, framed as the supplier sends it. */
export const chunkFrame = (event: object): Buffer =>
  frame(
    { ':event-type': 'chunk', ':content-type': 'application/json', ':message-type': 'event' },
    JSON.stringify({ bytes: Buffer.from(JSON.stringify(event)).toString('base64'), p: 'abcd' }),
  );
