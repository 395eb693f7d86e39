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
const at = (hour: number, minute = 0): Date => new Date(Date.UTC(2026, 10, 1, hour, minute));

let places = 0;
function openArchive(): { archive: WalArchive; place: string; shipper: () => WalShipper } {
  const place = join(folder, `archive-${(places += 1)}`);
  mkdirSync(place);
  const archive = new WalArchive(new MemoryTarget(), key);
  return {
    archive,
    place,
    shipper: () => new WalShipper({ folder: place, archive, segmentBytes: SEGMENT_BYTES }),
  };
}
const close = (place: string, number: number): void =>
  writeFileSync(join(place, segmentOf(number)), `segment ${number}`);

test('a segment that a process left open is vouched for by its marks when the next one ships it', async () => {
  const { archive, place, shipper } = openArchive();
  await shipper().mark({ at: at(12), lsn: lsnOf(3, 100) });
  // The process ends here, and its server closes the segment.
  close(place, 3);
  const next = shipper();
  await next.mark({ at: at(12, 1), lsn: lsnOf(4, 100) });
  await next.ship();
  expect((await archive.coverage(cluster, at(11))).until).toEqual(at(12));
});

test('marks that cannot be read vouch for nothing', async () => {
  const { archive, place, shipper } = openArchive();
  writeFileSync(`${place}-marks.json`, '[["2026-11-01T12:00');
  close(place, 3);
  await shipper().ship();
  expect((await archive.coverage(cluster, at(11))).until).toEqual(at(11));
});

test('a clock that is set back by an hour takes the end of the log back with it', async () => {
  const { archive, place, shipper } = openArchive();
  const own = shipper();
  await own.mark({ at: at(12), lsn: lsnOf(3, 100) });
  close(place, 3);
  await own.ship();
  await own.mark({ at: at(11), lsn: lsnOf(4, 100) });
  close(place, 4);
  const shipped: (Date | null)[] = [];
  await own.ship((_segment, coveredUntil) => shipped.push(coveredUntil));
  expect(shipped).toEqual([at(11)]);
  // The backup was complete at noon by the clock of then, and the log leads beyond it.
  expect((await archive.coverage(cluster, at(12))).until).toEqual(at(11));
});

describe('the moment that a running service reports', () => {
  beforeEach(() => jest.useFakeTimers({ now: at(12, 5), doNotFake: ['nextTick', 'setImmediate'] }));
  afterEach(() => jest.useRealTimers());
  const coverage = { segments: [segmentOf(2), segmentOf(3)], until: at(12), gap: null };

  test('is unknown without a backup, however much of the log was shipped', () => {
    const reach = new LogCoverage(SEGMENT_BYTES);
    reach.extend(segmentOf(3), at(12, 1));
    expect(reach.until).toBeNull();
    reach.start(cluster, { ...coverage, segments: [] });
    // The backup ended in segment 2, and segment 3 was shipped meanwhile.
    expect(reach.until).toEqual(at(12, 1));
    reach.end();
    expect(reach.until).toBeNull();
  });

  test('follows segments without a gap only', () => {
    const reach = new LogCoverage(SEGMENT_BYTES);
    reach.start(cluster, coverage);
    reach.extend(segmentOf(5), at(12, 2));
    expect(reach.until).toEqual(at(12));
    reach.extend(segmentOf(4), at(12, 1));
    expect(reach.until).toEqual(at(12, 2));
  });

  test('never lies in the future, and ages from the moment at which the clock was set back', () => {
    const reach = new LogCoverage(SEGMENT_BYTES);
    reach.start(cluster, coverage);
    jest.setSystemTime(at(11));
    expect(reach.until).toEqual(at(11));
    jest.setSystemTime(at(11, 30));
    expect(reach.until).toEqual(at(11));
    // The target still says noon.
    reach.start(cluster, coverage);
    expect(reach.until).toEqual(at(11));
  });
});
