import type { IncomingHttpHeaders } from 'node:http';
import { ResponseParser, type ResponseSink } from '../../../../../src/platform/supplier-http/wire/response-parser';

/** Keeps what it is told. */
export class Recorder implements ResponseSink {
  heads = 0;
  status = 0;
  headers: IncomingHttpHeaders = {};
  private readonly pieces: Buffer[] = [];

  onHead(status: number, headers: IncomingHttpHeaders): void {
    this.heads += 1;
    this.status = status;
    this.headers = headers;
  }

  onData(piece: Buffer): void {
    this.pieces.push(piece);
  }

  get answer() {
    const { status, headers, pieces } = this;
    return { status, headers: { ...headers }, body: Buffer.concat(pieces).toString('latin1') };
  }
}

/** Reads as connections do: every read is in the same memory, and something else is there right afterwards. */
export class Reader {
  readonly parser = new ResponseParser();
  private readonly memory = Buffer.alloc(64 * 1024, '\r\n\r\n');

  expect(): Recorder {
    const recorder = new Recorder();
    this.parser.expect(recorder);
    return recorder;
  }

  read(bytes: Buffer | string): boolean {
    const count = typeof bytes === 'string' ? this.memory.write(bytes, 'latin1') : bytes.copy(this.memory);
    const isWhole = this.parser.read(this.memory, count);
    // These bytes could be taken for the end of a head, if anybody looked beyond what was read.
    this.memory.fill('\r\n\r\n');
    return isWhole;
  }

  /** True if the answer was whole with the last byte and no sooner. */
  readInPieces(bytes: Buffer, ends: readonly number[]): boolean {
    let from = 0;
    for (const end of ends) {
      if (this.read(bytes.subarray(from, end))) return end === bytes.length;
      from = end;
    }
    return false;
  }
}

/** The pieces end here when every byte is one. */
export const everyByte = (length: number): number[] => Array.from({ length }, (_, at) => at + 1);
