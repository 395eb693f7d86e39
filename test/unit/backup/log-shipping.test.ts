import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BackupKey } from '../../../src/backup/seal/backup-key';
import { LogCoverage } from '../../../src/backup/schedule/log-reach';
import { WalArchive } from '../../../src/backup/wal/wal-archive';
import { WalShipper } from '../../../src/backup/wal/wal-shipper';
import { makeScratchFolder } from '../../support/scratch';
import { MemoryTarget } from './memory-target';

/*
 * "A clock that is set back by an hour stops log shipping for an hour; doctor and the coverage metric promise
 * the future, so LogNotArchived cannot fire. A node restarted every 25 s ships nothing." Requirement: "coverage never
 * lies in the future". Finding C3: "coverage counts only segments that a backup leads to".
 */
const key = new BackupKey('a key of the tests, long enough for anybody');
const SEGMENT_BYTES = 16 * 1024 * 1024;
const folder = makeScratchFolder('switchboard-shipping-');
afterAll(() => rmSync(folder, { recursive: true }));

const segmentOf = (number: number): string => `00000001000000000000000${number}`;
const lsnOf = (number: number, offset = 0): bigint => BigInt(number * SEGMENT_BYTES + offset);
const cluster = {
  postgres: '18.4',
  systemIdentifier: '1',
  timeline: 1,
  startLsn: '0/2000028',
  endLsn: '0/2000150',
  segmentBytes: SEGMENT_BYTES,
  migrations: [],
  base: { path: 'base.tar', bytes: 0, parts: [] },
  fileList: { path: 'backup_manifest', bytes: 0, parts: [] },
};
const atTime = (hour: number, minute = 0): Date => new Date(Date.UTC(2026, 10, 1, hour, minute));

let archiveCount = 0;
function openArchive(): { archive: WalArchive; place: string; shipper: () => WalShipper } {
  const path = join(folder, `archive-${(archiveCount += 1)}`);
  mkdirSync(path);
  const archive = new WalArchive(new MemoryTarget(), key);
  return {
    archive,
    place: path,
    shipper: () => new WalShipper({ folder: path, archive, segmentBytes: SEGMENT_BYTES }),
  };
}
const closeSegment = (place: string, number: number): void =>
  writeFileSync(join(place, segmentOf(number)), `segment ${number}`);

test('segment that a previous process left open is covered by its marks when it is shipped', async () => {
  const { archive, place, shipper } = openArchive();
  await shipper().mark({ at: atTime(12), lsn: lsnOf(3, 100) });
  // The process ends here, and its database server closes the segment.
  closeSegment(place, 3);
  const nextShipper = shipper();
  await nextShipper.mark({ at: atTime(12, 1), lsn: lsnOf(4, 100) });
  await nextShipper.ship();
  expect((await archive.coverage(cluster, atTime(11))).until).toEqual(atTime(12));
});

test('unreadable marks provide no coverage', async () => {
  const { archive, place, shipper } = openArchive();
  writeFileSync(`${place}-marks.json`, '[["2026-11-01T12:00');
  closeSegment(place, 3);
  await shipper().ship();
  expect((await archive.coverage(cluster, atTime(11))).until).toEqual(atTime(11));
});

test('end of the log moves back when the clock is set back by an hour', async () => {
  const { archive, place, shipper } = openArchive();
  const activeShipper = shipper();
  await activeShipper.mark({ at: atTime(12), lsn: lsnOf(3, 100) });
  closeSegment(place, 3);
  await activeShipper.ship();
  await activeShipper.mark({ at: atTime(11), lsn: lsnOf(4, 100) });
  closeSegment(place, 4);
  const shipped: (Date | null)[] = [];
  await activeShipper.ship((_segment, coveredUntil) => shipped.push(coveredUntil));
  expect(shipped).toEqual([atTime(11)]);
  // The backup completed at noon by the earlier clock, and the log continues past it.
  expect((await archive.coverage(cluster, atTime(12))).until).toEqual(atTime(11));
});

describe('Reported coverage of a running service', () => {
  beforeEach(() => jest.useFakeTimers({ now: atTime(12, 5), doNotFake: ['nextTick', 'setImmediate'] }));
  afterEach(() => jest.useRealTimers());
  const coverage = { segments: [segmentOf(2), segmentOf(3)], until: atTime(12), gap: null };

  test('is unknown without a backup, regardless of the shipped log', () => {
    const reach = new LogCoverage(SEGMENT_BYTES);
    reach.extend(segmentOf(3), atTime(12, 1));
    expect(reach.until).toBeNull();
    reach.start(cluster, { ...coverage, segments: [] });
    // The backup ended in segment 2, and segment 3 was shipped in the meantime.
    expect(reach.until).toEqual(atTime(12, 1));
    reach.end();
    expect(reach.until).toBeNull();
  });

  test('follows contiguous segments only', () => {
    const reach = new LogCoverage(SEGMENT_BYTES);
    reach.start(cluster, coverage);
    reach.extend(segmentOf(5), atTime(12, 2));
    expect(reach.until).toEqual(atTime(12));
    reach.extend(segmentOf(4), atTime(12, 1));
    expect(reach.until).toEqual(atTime(12, 2));
  });

  test('is never in the future, and ages from the moment the clock was set back', () => {
    const reach = new LogCoverage(SEGMENT_BYTES);
    reach.start(cluster, coverage);
    jest.setSystemTime(atTime(11));
    expect(reach.until).toEqual(atTime(11));
    jest.setSystemTime(atTime(11, 30));
    expect(reach.until).toEqual(atTime(11));
    // The target still reports noon.
    reach.start(cluster, coverage);
    expect(reach.until).toEqual(atTime(11));
  });
});
