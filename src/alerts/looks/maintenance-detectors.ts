import type { ProviderCertificate } from '../../catalogue';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../kernel';
import { type Database, earliestExpiry, type TableRow, type Settings } from '../../platform';
import type { BackupAge } from '../backup-age';
import { certificateEnd } from './certificate';
import type { AlertCondition, AlertDetector } from './detector';

const MAX_ROWS = 500;

export const detectLaggingTaps =
  (database: Database): AlertDetector =>
  async ({ now, parameters }) => {
    const thresholds = parameters(null);
    if (thresholds === null) return [];
    const rows = await database.rows<{ name: string; oldestAt: Date; lastError: string | null }>(
      `SELECT t.name, o.settled_at AS oldest_at, t.last_error FROM tap t
        CROSS JOIN LATERAL (SELECT settled_at FROM tap_outbox o WHERE (o.xid, o.id) > (t.after_xid, t.after_id)
                             ORDER BY o.xid, o.id LIMIT 1) o
        WHERE o.settled_at < $1 ORDER BY t.name LIMIT ${MAX_ROWS}`,
      [new Date(now.getTime() - (thresholds.minutes ?? 5) * MINUTE_MS)],
    );
    return rows.map(({ name, oldestAt, lastError }): AlertCondition => ({
      owner: null,
      subject: name,
      facts: { name, from_at: oldestAt.toISOString(), error: lastError ?? '–' },
    }));
  };

type OverdueJobRow = TableRow<'repeating_job', 'name, succeed_by, failures'>;

export const detectOverdueJobs =
  (database: Database): AlertDetector =>
  async ({ now, parameters }) => {
    if (parameters(null) === null) return [];
    const rows = await database.rows<OverdueJobRow>(
      `SELECT name, succeed_by, failures FROM repeating_job WHERE succeed_by < $1 ORDER BY name LIMIT ${MAX_ROWS}`,
      [now],
    );
    return rows.map(({ name, succeedBy, failures }): AlertCondition => ({
      owner: null,
      subject: name,
      facts: { name, from_at: succeedBy.toISOString(), failures },
    }));
  };

type CertificateSettings = Pick<Settings, 'baseUrl' | 'egressCa' | 'egressClientCertificate'>;

/**
 * Checks the certificate of BASE_URL if it is https, and the certificates for providers. An unreachable BASE_URL does
 * not hide the other certificates.
 */
export const detectExpiringCertificates =
  (
    settings: CertificateSettings,
    loadProviderCertificates: () => readonly ProviderCertificate[],
  ): AlertDetector =>
  async ({ now, parameters }) => {
    const thresholds = parameters(null);
    if (thresholds === null) return [];
    const conditionsFor = (host: string, endsAt: Date | null): AlertCondition[] =>
      endsAt === null || endsAt.getTime() - now.getTime() > (thresholds.days ?? 14) * DAY_MS
        ? []
        : [{ owner: null, subject: host, facts: { host, ends_at: endsAt.toISOString() } }];
    const { egressCa, egressClientCertificate } = settings;
    const outgoing = [
      ...conditionsFor('EGRESS_CA', egressCa === undefined ? null : earliestExpiry(egressCa)),
      ...conditionsFor(
        'EGRESS_CLIENT_CERTIFICATE',
        egressClientCertificate === undefined ? null : earliestExpiry(egressClientCertificate),
      ),
      ...loadProviderCertificates().flatMap(({ provider, what, endsAt }) =>
        conditionsFor(`${provider} (${what})`, endsAt),
      ),
    ];
    const address = new URL(settings.baseUrl);
    if (address.protocol !== 'https:') return outgoing;
    try {
      return [...conditionsFor(address.host, await certificateEnd(address)), ...outgoing];
    } catch (error) {
      if (outgoing.length === 0) throw error;
      return outgoing;
    }
  };

export const detectOldBackups =
  (backups: Pick<BackupAge, 'newest'>): AlertDetector =>
  async ({ now, parameters }) => {
    const thresholds = parameters(null);
    const state = thresholds === null ? null : await backups.newest();
    if (state === null) return [];
    const { succeededAt } = state;
    if (succeededAt !== null && now.getTime() - succeededAt.getTime() <= (thresholds?.hours ?? 26) * HOUR_MS)
      return [];
    return [{ owner: null, subject: 'backup', facts: { last_at: succeededAt?.toISOString() ?? '–' } }];
  };

/**
 * Commits after the covered time would be lost with the machine. A service that has just started is still catching up.
 */
export const detectLogLag =
  (backups: Pick<BackupAge, 'newest'>, upMs = (): number => process.uptime() * SECOND_MS): AlertDetector =>
  async ({ now, parameters }) => {
    const thresholds = parameters(null);
    const coveredAt = thresholds === null ? null : ((await backups.newest())?.coveredAt ?? null);
    const maxLagMs = (thresholds?.minutes ?? 15) * MINUTE_MS;
    if (coveredAt === null || now.getTime() - coveredAt.getTime() <= maxLagMs) return [];
    if (upMs() <= maxLagMs) return [];
    return [{ owner: null, subject: 'log', facts: { last_at: coveredAt.toISOString() } }];
  };
