import { DataSource } from 'typeorm';
import { type ActivityActor, ActivityLog, systemActor } from '../audit';
import { applicationUrl, Database, readRows, type Row, type Tx } from '../platform';
import { putRestoredMarkAway, readRestoredMark, type RestoredMark } from './restored-file';

export interface Ended {
  readonly sessions: number;
  readonly links: number;
  readonly invitations: number;
}

/**
 * What lets people in ends at once: sessions, links and invitations may have been ended, or used, after the moment. False
 * where a quarantine is open already.
 */
export function beginQuarantine(
  database: Database,
  { backup, moment, restoredAt }: RestoredMark,
  actor: ActivityActor,
): Promise<boolean> {
  const activity = new ActivityLog(database);
  return database.transaction(async (tx) => {
    // Nodes may find the same mark at once, on a folder that they share by mistake.
    await tx.query('LOCK TABLE quarantine IN SHARE ROW EXCLUSIVE MODE');
    const [open] = await readRows<Row<'quarantine', 'id'>>(
      tx,
      'SELECT id FROM quarantine WHERE released_at IS NULL',
    );
    if (open !== undefined) return false;
    const ended = await endAll(tx);
    const [begun] = await readRows<Row<'quarantine', 'id'>>(
      tx,
      'INSERT INTO quarantine (backup, moment, restored_at, ended) VALUES ($1, $2, $3, $4) RETURNING id',
      [backup, moment, restoredAt, JSON.stringify(ended)],
    );
    await activity.write(tx, {
      action: 'quarantine.begun',
      object: { type: 'quarantine', id: begun!.id, ...(backup === null ? {} : { label: backup }) },
      concerns: {},
      changes: {
        moment: [null, moment.toISOString()],
        restored_at: [null, restoredAt.toISOString()],
        ended_sessions: [null, ended.sessions],
        ended_links: [null, ended.links],
        ended_invitations: [null, ended.invitations],
      },
      actor,
    });
    return true;
  });
}

async function endAll(tx: Tx): Promise<Ended> {
  const count = async (change: string): Promise<number> => {
    const [row] = await tx.query<{ count: number }[]>(
      `WITH ended AS (${change} RETURNING 1) SELECT count(*)::int AS count FROM ended`,
    );
    return row?.count ?? 0;
  };
  return {
    sessions: await count('DELETE FROM session'),
    links: await count('DELETE FROM account_token'),
    invitations: await count(
      'UPDATE invite SET revoked_at = now() WHERE accepted_at IS NULL AND revoked_at IS NULL AND expires_at > now()',
    ),
  };
}

/** Called at the start, before anything is read: a folder that a restore made begins its quarantine. */
export async function beginIfRestored(
  dataFolder: string,
  current: Promise<void>,
  url: string,
): Promise<void> {
  const mark = readRestoredMark(dataFolder);
  await current;
  if (mark === null) return;
  const source = new DataSource({ type: 'postgres', url: applicationUrl(url), poolSize: 1 });
  await source.initialize();
  try {
    await beginQuarantine(new Database(source), mark, systemActor('restore'));
  } finally {
    await source.destroy();
  }
  putRestoredMarkAway(dataFolder);
}
