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
import { aRecord, written } from '../../support/a-record';

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'switchboard-journal-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const framesOf = (payloads: readonly string[]): Buffer => {
  const buffer = new FrameBuffer();
  for (const payload of payloads) buffer.add(payload);
  return Buffer.from(buffer.content);
};
const payloads = fc.array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }), { maxLength: 8 });

test('what is cut off anywhere reads as everything before the cut, and says where', () => {
  fc.assert(
    fc.property(payloads, fc.nat(), (written, cut) => {
      const whole = framesOf(written);
      const kept = cut % (whole.length + 1);
      const { payloads: read, tornAt } = readFrames(whole.subarray(0, kept));
      const end = framesOf(read).length;
      expect(read).toEqual(written.slice(0, read.length));
      expect(tornAt).toBe(end === kept ? null : end);
    }),
  );
});

test('a flipped bit ends the reading before its frame', () => {
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

test('zeros, as a crash may leave them, are damage and not records', () => {
  expect(readFrames(Buffer.concat([framesOf(['a']), Buffer.alloc(64)]))).toEqual({
    payloads: ['a'],
    tornAt: 9,
  });
});

test('a record survives the journal, whatever is in it', () => {
  const record = aRecord({
    costNano: 9_007_199_254_740_993n,
    attempts: [
      { supplier: 's', region: null, model: 'm', status: 429, milliseconds: 12, outcome: 'limited' },
    ],
  });
  expect(readRecord(written(record).text)).toEqual(record);
  const other = withRequestId(written(record), '0190b5a0-0000-7000-8000-000000000002');
  expect(readRecord(other.text)).toEqual({ ...record, requestId: other.requestId });
});

test('a journal of other fields is read by its own header', () => {
  const [id, at, cost] = ['0190b5a0-0000-7000-8000-000000000001', 1_763_700_000_000, '5'];
  const read = readRecord(JSON.stringify([cost, 'unknown', at, id]), [
    'costNano',
    'goneSince',
    'createdAt',
    'requestId',
  ]);
  expect(read).toMatchObject({ requestId: id, createdAt: new Date(at), costNano: 5n, model: null });
  expect(read).not.toHaveProperty('goneSince');
});

test('segments follow one another and go once everything in them is committed', () => {
  const journal = new Journal({ folder, node: 'n', segmentBytes: 600 });
  const segments = () => readdirSync(folder).length;
  for (let written = 0; written < 12; written += 1) expect(journal.write(['x'.repeat(200)], 1)).toBe(true);
  const most = segments();
  expect(most).toBeGreaterThan(3);
  journal.release(11);
  expect(segments()).toBeLessThan(most);
  journal.release(1);
  expect(segments()).toBe(1);
  journal.close();
  expect(segments()).toBe(0);
});

test('what is not committed is still there after the end', () => {
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

test('a disk that fills up in the middle of a record leaves no half of it behind', () => {
  const path = join(folder, 'disk');
  let room = 1_000;
  const disk: JournalDisk = {
    open: () => 1,
    write: (_file, bytes) => {
      const taken = Math.min(bytes.length, room);
      room -= taken;
      writeFileSync(path, bytes.subarray(0, taken), { flag: 'a' });
      if (taken === 0) throw new Error('ENOSPC');
      return taken;
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
  room = 10_000;
  expect(journal.probe()).toBe(true);
  expect(journal.writeError).toBeUndefined();
  journal.write(['again'], 1);
  const read = readFrames(readFileSync(path));
  expect(read.tornAt).toBeNull();
  expect(read.payloads.filter((payload) => headerOf(payload) === null)).toEqual(['fits', 'again']);
});

test('one bad record among many is found, and all the others are settled, in order', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.nat(200), { maxLength: 40 }),
      fc.func(fc.boolean()),
      async (entries, isBad) => {
        const settled: number[] = [];
        const refused: number[] = [];
        await settleSplitting(
          entries,
          (some) => {
            if (some.some((entry) => isBad(entry))) return Promise.reject(new RefusedByStore('bad'));
            settled.push(...some);
            return Promise.resolve();
          },
          (entry) => {
            refused.push(entry);
          },
        );
        expect(settled).toEqual(entries.filter((entry) => !isBad(entry)));
        expect(refused).toEqual(entries.filter((entry) => isBad(entry)));
      },
    ),
  );
});
