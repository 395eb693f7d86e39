import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CanonicalEvent, type DialectName, dialects, type StreamEncoder } from '../../../src/protocol';

export type Json = Record<string, unknown>;
export const names: readonly DialectName[] = ['chat', 'messages', 'responses'];

const folder = join(__dirname, '../../fixtures/protocol');

export interface Transcript {
  readonly dialect: DialectName;
  readonly name: string;
  readonly bytes: Buffer;
}

export const transcripts: readonly Transcript[] = names.flatMap((dialect) =>
  readdirSync(join(folder, dialect))
    .sort()
    .map((file) => ({
      dialect,
      name: file.replace('.sse', ''),
      bytes: readFileSync(join(folder, dialect, file)),
    })),
);

export function decode(dialect: DialectName, chunks: Iterable<Uint8Array>): CanonicalEvent[] {
  const events: CanonicalEvent[] = [];
  const decoder = dialects[dialect].streamDecoder({ emit: (event) => events.push(event) });
  for (const chunk of chunks) decoder.push(chunk);
  decoder.end();
  return events;
}

export const options = {
  requestId: '0199-request',
  id: 'answer',
  model: 'the-model',
  createdAt: 1_767_225_600,
  includeUsage: true,
  inputTokens: 9,
};

export function encode(encoder: StreamEncoder, events: Iterable<CanonicalEvent>): string {
  let text = '';
  for (const event of events) text += encoder.encode(event);
  return text;
}

/** Splits the bytes at the given positions. */
export function split(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const ends = [...new Set(cuts.filter((cut) => cut > 0 && cut < bytes.length))].sort((a, b) => a - b);
  return [...ends, bytes.length].map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
}
