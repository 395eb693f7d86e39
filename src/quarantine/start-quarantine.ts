import { DataSource } from 'typeorm';
import { type ActivityActor, ActivityLog, systemActor } from '../audit';
import { applicationUrl, Database, readRows, type TableRow, type Tx } from '../platform';
import { archiveRestoredMark, readRestoredMark, type RestoredMark } from './restored-file';

export interface EndedAccess {
  readonly sessions: number;
  readonly links: number;
  readonly invitations: number;
}

/**
 * Starts a quarantine and ends all sessions, links and invitations immediately, as they could have been ended or used
 * after the moment. Returns false if a quarantine is already open.
 */
export function startQuarantine(
  database: Database,
  activity: ActivityLog,
  { backup, moment, restoredAt }: RestoredMark,
  actor: ActivityActor,
): Promise<boolean> {
  return database.transaction(async (tx) => {
    // Nodes that share a folder by mistake can find the same mark simultaneously.
    await tx.query('LOCK TABLE quarantine IN SHARE ROW EXCLUSIVE MODE');
    const [open] = await readRows<TableRow<'quarantine', 'id'>>(
      tx,
      'SELECT id FROM quarantine WHERE released_at IS NULL',
    );
    if (open !== undefined) return false;
    const endedAccess = await endAllAccess(tx);
    const [quarantine] = await readRows<TableRow<'quarantine', 'id'>>(
      tx,
      'INSERT INTO quarantine (backup, moment, restored_at, ended) VALUES ($1, $2, $3, $4) RETURNING id',
      [backup, moment, restoredAt, JSON.stringify(endedAccess)],
    );
    await activity.write(tx, {
      action: 'quarantine.begun',
      object: { type: 'quarantine', id: quarantine!.id, ...(backup === null ? {} : { label: backup }) },
      concerns: {},
      changes: {
        moment: [null, moment.toISOString()],
        restored_at: [null, restoredAt.toISOString()],
        ended_sessions: [null, endedAccess.sessions],
        ended_links: [null, endedAccess.links],
        ended_invitations: [null, endedAccess.invitations],
      },
      actor,
    });
    return true;
  });
}

async function endAllAccess(tx: Tx): Promise<EndedAccess> {
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

/** Starts the quarantine of a restored folder. Called on start, before anything is read. */
export async function startIfRestored(
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
    const database = new Database(source);
    await startQuarantine(database, new ActivityLog(database), mark, systemActor('restore'));
  } finally {
    await source.destroy();
  }
  archiveRestoredMark(dataFolder);
}
