import type { ProviderCertificate } from '../../catalogue';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../kernel';
import { type Database, firstEndIn, type Row, type Settings } from '../../platform';
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

type CertificateSettings = Pick<Settings, 'baseUrl' | 'egressCa' | 'egressClientCertificate'>;

/**
 * The certificate that callers of BASE_URL are shown, where it is https, and those of the ways to providers. Where
 * BASE_URL cannot be reached from here, the others are told all the same.
 */
export const certificateEnding =
  (settings: CertificateSettings, ofProviders: () => readonly ProviderCertificate[]): Look =>
  async ({ now, parameters }) => {
    const set = parameters(null);
    if (set === null) return [];
    const ends = (host: string, endsAt: Date | null): Condition[] =>
      endsAt === null || endsAt.getTime() - now.getTime() > (set.days ?? 14) * DAY_MS
        ? []
        : [{ owner: null, subject: host, facts: { host, ends_at: endsAt.toISOString() } }];
    const { egressCa, egressClientCertificate } = settings;
    const outgoing = [
      ...ends('EGRESS_CA', egressCa === undefined ? null : firstEndIn(egressCa)),
      ...ends(
        'EGRESS_CLIENT_CERTIFICATE',
        egressClientCertificate === undefined ? null : firstEndIn(egressClientCertificate),
      ),
      ...ofProviders().flatMap(({ provider, what, endsAt }) => ends(`${provider} (${what})`, endsAt)),
    ];
    const address = new URL(settings.baseUrl);
    if (address.protocol !== 'https:') return outgoing;
    try {
      return [...ends(address.host, await certificateEnd(address)), ...outgoing];
    } catch (error) {
      if (outgoing.length === 0) throw error;
      return outgoing;
    }
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
