import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { Journal, type JournalDisk } from '../../../src/billing/engine/settlement/journal';
import { FrameBuffer, readFrames } from '../../../src/billing/engine/settlement/journal-frames';
import { headerOf } from '../../../src/billing/engine/settlement/journal-owner';
import { readRecord, recordFields, withRequestId } from '../../../src/audit';
import { settleSplitting } from '../../../src/billing/engine/settlement/settle-splitting';
import { RefusedByStore } from '../../../src/billing/engine/store/money-store';
import { createRecord, toWrittenRecord } from '../../support/record-fixture';

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'switchboard-journal-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const framesOf = (payloads: readonly string[]): Buffer => {
  const buffer = new FrameBuffer();
  for (const payload of payloads) buffer.add(payload);
  return Buffer.from(buffer.content);
};
const payloads = fc.array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }), { maxLength: 8 });

test('truncated journal returns every frame before the cut and its position', () => {
  fc.assert(
    fc.property(payloads, fc.nat(), (written, cut) => {
      const frames = framesOf(written);
      const keptBytes = cut % (frames.length + 1);
      const { payloads: read, tornAt } = readFrames(frames.subarray(0, keptBytes));
      const end = framesOf(read).length;
      expect(read).toEqual(written.slice(0, read.length));
      expect(tornAt).toBe(end === keptBytes ? null : end);
    }),
  );
});

test('reading stops before the frame with a flipped bit', () => {
  fc.assert(
    fc.property(
      payloads.filter((list) => list.length > 0),
      fc.nat(),
      (written, place) => {
        const bytes = framesOf(written);
        bytes[place % bytes.length]! ^= 1 << (place % 8);
        const { payloads: read, tornAt } = readFrames(bytes);
        expect(read).toEqual(written.slice(0, read.length));
        expect(read.length).toBeLessThan(written.length);
        expect(tornAt).not.toBeNull();
      },
    ),
  );
});

test('zeros left by a crash are damage and not records', () => {
  expect(readFrames(Buffer.concat([framesOf(['a']), Buffer.alloc(64)]))).toEqual({
    payloads: ['a'],
    tornAt: 9,
  });
});

test('every record survives a round trip through the journal', () => {
  const record = createRecord({
    costNano: 9_007_199_254_740_993n,
    attempts: [
      { supplier: 's', region: null, model: 'm', status: 429, milliseconds: 12, outcome: 'limited' },
    ],
  });
  expect(readRecord(toWrittenRecord(record).text)).toEqual(record);
  const renamed = withRequestId(toWrittenRecord(record), '0190b5a0-0000-7000-8000-000000000002');
  expect(readRecord(renamed.text)).toEqual({ ...record, requestId: renamed.requestId });
});

test('journal with other fields is read by its own header', () => {
  const [id, at, cost] = ['0190b5a0-0000-7000-8000-000000000001', 1_763_700_000_000, '5'];
  const parsedRecord = readRecord(JSON.stringify([cost, 'unknown', at, id]), [
    'costNano',
    'goneSince',
    'createdAt',
    'requestId',
  ]);
  expect(parsedRecord).toMatchObject({ requestId: id, createdAt: new Date(at), costNano: 5n, model: null });
  expect(parsedRecord).not.toHaveProperty('goneSince');
});

test('segments are appended in sequence and removed once fully committed', () => {
  const journal = new Journal({ folder, node: 'n', segmentBytes: 600 });
  const segments = () => readdirSync(folder).length;
  for (let writeIndex = 0; writeIndex < 12; writeIndex += 1)
    expect(journal.write(['x'.repeat(200)], 1)).toBe(true);
  const segmentsBefore = segments();
  expect(segmentsBefore).toBeGreaterThan(3);
  journal.release(11);
  expect(segments()).toBeLessThan(segmentsBefore);
  journal.release(1);
  expect(segments()).toBe(1);
  journal.close();
  expect(segments()).toBe(0);
});

test('uncommitted records remain after the journal is closed', () => {
  const journal = new Journal({ folder, node: 'n' });
  journal.write(['one', 'two'], 2);
  journal.release(1);
  journal.close();
  const [file = ''] = readdirSync(folder);
  const {
    payloads: [header, ...rest],
    tornAt,
  } = readFrames(readFileSync(join(folder, file)));
  expect(headerOf(header)).toMatchObject({ node: 'n', pid: process.pid, fields: recordFields });
  expect([rest, tornAt]).toEqual([['one', 'two'], null]);
});

test('disk that fills up mid-record leaves no partial record', () => {
  const path = join(folder, 'disk');
  let freeBytes = 1_000;
  const disk: JournalDisk = {
    open: () => 1,
    write: (_file, bytes) => {
      const writtenBytes = Math.min(bytes.length, freeBytes);
      freeBytes -= writtenBytes;
      writeFileSync(path, bytes.subarray(0, writtenBytes), { flag: 'a' });
      if (writtenBytes === 0) throw new Error('ENOSPC');
      return writtenBytes;
    },
    truncate: (_file, length) => writeFileSync(path, readFileSync(path).subarray(0, length)),
    close: () => undefined,
    remove: () => undefined,
  };
  const journal = new Journal({ folder, node: 'n', disk });
  expect(journal.write(['fits'], 1)).toBe(true);
  expect(journal.write(['y'.repeat(2_000)], 1)).toBe(false);
  expect(journal.writeError).toMatchObject({ code: 'ENOSPC' });
  expect(journal.probe()).toBe(false);
  freeBytes = 10_000;
  expect(journal.probe()).toBe(true);
  expect(journal.writeError).toBeUndefined();
  journal.write(['again'], 1);
  const frames = readFrames(readFileSync(path));
  expect(frames.tornAt).toBeNull();
  expect(frames.payloads.filter((payload) => headerOf(payload) === null)).toEqual(['fits', 'again']);
});

test('one invalid record among many is found and the others are settled in order', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.nat(200), { maxLength: 40 }),
      fc.func(fc.boolean()),
      async (entries, isBad) => {
        const settled: number[] = [];
        const refusedIds: number[] = [];
        await settleSplitting(
          entries,
          (some) => {
            if (some.some((entry) => isBad(entry))) return Promise.reject(new RefusedByStore('bad'));
            settled.push(...some);
            return Promise.resolve();
          },
          (entry) => {
            refusedIds.push(entry);
          },
        );
        expect(settled).toEqual(entries.filter((entry) => !isBad(entry)));
        expect(refusedIds).toEqual(entries.filter((entry) => isBad(entry)));
      },
    ),
  );
});
