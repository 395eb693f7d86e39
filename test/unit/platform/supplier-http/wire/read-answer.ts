import type { IncomingHttpHeaders } from 'node:http';
import {
  ResponseParser,
  type ResponseSink,
} from '../../../../../src/platform/supplier-http/wire/response-parser';

/** Sink that records every event. */
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

/** Reads as connections do: every read reuses the same memory, which is overwritten right afterwards. */
export class Reader {
  readonly parser = new ResponseParser();
  private readonly memory = Buffer.alloc(64 * 1024, '\r\n\r\n');

  expectResponse(): Recorder {
    const recorder = new Recorder();
    this.parser.expect(recorder);
    return recorder;
  }

  read(bytes: Buffer | string): boolean {
    const count = typeof bytes === 'string' ? this.memory.write(bytes, 'latin1') : bytes.copy(this.memory);
    const isComplete = this.parser.read(this.memory, count);
    // The filler would be taken for the end of a head if the parser read beyond the given count.
    this.memory.fill('\r\n\r\n');
    return isComplete;
  }

  /** Returns true if the response was complete with the last byte and not earlier. */
  readInPieces(bytes: Buffer, ends: readonly number[]): boolean {
    let from = 0;
    for (const end of ends) {
      if (this.read(bytes.subarray(from, end))) return end === bytes.length;
      from = end;
    }
    return false;
  }
}

/** Ends of the pieces when every byte is a piece. */
export const everyByte = (length: number): number[] => Array.from({ length }, (_, at) => at + 1);
