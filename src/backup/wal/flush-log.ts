import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { archiveFolderOf } from '../../platform';
import { BackupError } from '../backup-error';
import { readLsn, segmentAt } from './segments';
import type { WalArchive } from './wal-archive';
import { readMark, WalShipper } from './wal-shipper';

const POLL_MS = 50;
const MAX_WAIT_MS = 60_000;

/** Ships the log up to now, for a command that has started the database itself, so that nothing else ships it. */
export async function flushLog(
  { ownerUrl, folder }: { readonly ownerUrl: string; readonly folder: string },
  archive: WalArchive,
  { timeline, segmentBytes }: { readonly timeline: number; readonly segmentBytes: number },
): Promise<void> {
  const shipper = new WalShipper({ folder: archiveFolderOf(folder), archive, segmentBytes });
  const client = new Client({ connectionString: ownerUrl });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await shipper.mark(
      await readMark(async (sql) => (await client.query<{ at: Date; lsn: string }>(sql)).rows),
    );
    // A segment without a record is not closed.
    await client.query("SELECT pg_create_restore_point('flush')");
    const { rows } = await client.query<{ lsn: string }>('SELECT pg_switch_wal()::text AS lsn');
    // The position is the end of the closed log; at a boundary, the segment before it.
    const last = segmentAt(timeline, readLsn(rows[0]?.lsn ?? '0/0') - 1n, segmentBytes);
    for (let waited = 0; !(await isArchived(client, last)); waited += POLL_MS) {
      if (waited > MAX_WAIT_MS)
        throw new BackupError('The database does not archive its log: look at its postgres.log.');
      await delay(POLL_MS);
    }
  } finally {
    await client.end().catch(() => undefined);
  }
  await shipper.ship();
}

async function isArchived(client: Client, segment: string): Promise<boolean> {
  const { rows } = await client.query<{ done: boolean }>(
    `SELECT coalesce(last_archived_wal >= $1, false) AS done FROM pg_stat_archiver`,
    [segment],
  );
  return rows[0]?.done === true;
}
