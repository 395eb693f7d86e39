import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../kernel';
import type { Database, Row, Settings } from '../../platform';
import type { BackupAge } from '../backup-age';
import { certificateEnd } from './certificate';
import type { Condition, Look } from './look';

const MOST = 500;

/** Taps whose oldest entry waits for longer than it may. */
export const tapsBehind =
  (database: Database): Look =>
  async ({ now, parameters }) => {
    const set = parameters(null);
    if (set === null) return [];
    const rows = await database.rows<{ name: string; oldestAt: Date; lastError: string | null }>(
      `SELECT t.name, o.settled_at AS oldest_at, t.last_error FROM tap t
        CROSS JOIN LATERAL (SELECT settled_at FROM tap_outbox o WHERE (o.xid, o.id) > (t.after_xid, t.after_id)
                             ORDER BY o.xid, o.id LIMIT 1) o
        WHERE o.settled_at < $1 ORDER BY t.name LIMIT ${MOST}`,
      [new Date(now.getTime() - (set.minutes ?? 5) * MINUTE_MS)],
    );
    return rows.map(({ name, oldestAt, lastError }): Condition => ({
      owner: null,
      subject: name,
      facts: { name, from_at: oldestAt.toISOString(), error: lastError ?? '–' },
    }));
  };

type OverdueRow = Row<'repeating_job', 'name, succeed_by, failures'>;

export const jobsOverdue =
  (database: Database): Look =>
  async ({ now, parameters }) => {
    if (parameters(null) === null) return [];
    const rows = await database.rows<OverdueRow>(
      `SELECT name, succeed_by, failures FROM repeating_job WHERE succeed_by < $1 ORDER BY name LIMIT ${MOST}`,
      [now],
    );
    return rows.map(({ name, succeedBy, failures }): Condition => ({
      owner: null,
      subject: name,
      facts: { name, from_at: succeedBy.toISOString(), failures },
    }));
  };

/** The certificate that callers of BASE_URL are shown. Without https there is none. */
export const certificateEnding =
  ({ baseUrl }: Pick<Settings, 'baseUrl'>): Look =>
  async ({ now, parameters }) => {
    const set = parameters(null);
    const address = new URL(baseUrl);
    if (set === null || address.protocol !== 'https:') return [];
    const endsAt = await certificateEnd(address);
    if (endsAt.getTime() - now.getTime() > (set.days ?? 14) * DAY_MS) return [];
    return [
      { owner: null, subject: address.host, facts: { host: address.host, ends_at: endsAt.toISOString() } },
    ];
  };

/** The newest backup that succeeded, where backups are made by a schedule. */
export const backupsOld =
  (backups: Pick<BackupAge, 'newest'>): Look =>
  async ({ now, parameters }) => {
    const set = parameters(null);
    const state = set === null ? null : await backups.newest();
    if (state === null) return [];
    const { succeededAt } = state;
    if (succeededAt !== null && now.getTime() - succeededAt.getTime() <= (set?.hours ?? 26) * HOUR_MS)
      return [];
    return [{ owner: null, subject: 'backup', facts: { last_at: succeededAt?.toISOString() ?? '–' } }];
  };

/** What was committed after this would be lost with the machine. A service that has just begun is still catching up. */
export const logBehind =
  (backups: Pick<BackupAge, 'newest'>, upMs = (): number => process.uptime() * SECOND_MS): Look =>
  async ({ now, parameters }) => {
    const set = parameters(null);
    const coveredAt = set === null ? null : ((await backups.newest())?.coveredAt ?? null);
    const mostMs = (set?.minutes ?? 15) * MINUTE_MS;
    if (coveredAt === null || now.getTime() - coveredAt.getTime() <= mostMs) return [];
    if (upMs() <= mostMs) return [];
    return [{ owner: null, subject: 'log', facts: { last_at: coveredAt.toISOString() } }];
  };
