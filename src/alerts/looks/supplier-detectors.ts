import { MINUTE_MS } from '../../kernel';
import type { Database } from '../../platform';
import type { AlertCondition, AlertDetector } from './detector';

const MIN_REQUESTS = 20;
const MAX_ROWS = 500;

interface OpenIncidentRow {
  readonly provider: string;
  readonly model: string;
  readonly region: string;
  readonly credential: string;
  readonly cause: string;
  readonly startedAt: Date;
}

const loadOpenIncidents = (database: Database, kind: string, since: Date): Promise<OpenIncidentRow[]> =>
  database.rows<OpenIncidentRow>(
    `SELECT provider, model, region, credential, cause, started_at FROM incident
      WHERE ended_at IS NULL AND kind = $1 AND started_at <= $2 ORDER BY started_at, id LIMIT ${MAX_ROWS}`,
    [kind, since],
  );

export const detectRejectedCredentials =
  (database: Database): AlertDetector =>
  async ({ now, parameters }) => {
    if (parameters(null) === null) return [];
    const rows = await loadOpenIncidents(database, 'credential', now);
    return rows.map(({ provider, credential, startedAt }) => ({
      owner: null,
      subject: `${provider} ${credential}`,
      facts: { provider, credential, from_at: startedAt.toISOString() },
    }));
  };

export const detectOpenLanes =
  (database: Database): AlertDetector =>
  async ({ now, parameters }) => {
    const thresholds = parameters(null);
    if (thresholds === null) return [];
    const rows = await loadOpenIncidents(
      database,
      'lane',
      new Date(now.getTime() - (thresholds.minutes ?? 5) * MINUTE_MS),
    );
    return rows.map(({ provider, model, region, cause, startedAt }) => ({
      owner: null,
      subject: `${provider} ${model} ${region}`,
      facts: { provider, model, region, cause, from_at: startedAt.toISOString() },
    }));
  };

export const detectLateSeals =
  (database: Database): AlertDetector =>
  async ({ now, parameters }) => {
    if (parameters(null) === null) return [];
    const rows = await loadOpenIncidents(database, 'seal', now);
    return rows.map(({ startedAt }) => ({
      owner: null,
      subject: 'seal',
      facts: { from_at: startedAt.toISOString() },
    }));
  };

/** Counts only status codes from 500, not the callers' mistakes. */
export const detectFailingModels =
  (database: Database): AlertDetector =>
  async ({ now, parameters }) => {
    const thresholds = parameters(null);
    if (thresholds === null) return [];
    const { percent = 20, minutes = 5 } = thresholds;
    const rows = await database.query<{ model: string; requests: number; failures: number }>(
      `SELECT model, count(*)::integer AS requests, count(*) FILTER (WHERE status >= 500)::integer AS failures
         FROM request_record WHERE created_at >= $1 AND created_at <= $2 AND model IS NOT NULL
        GROUP BY model HAVING count(*) >= ${MIN_REQUESTS}
           AND count(*) FILTER (WHERE status >= 500) * 100 >= count(*) * $3::integer
        ORDER BY 3 DESC, model LIMIT ${MAX_ROWS}`,
      [new Date(now.getTime() - minutes * MINUTE_MS), now, percent],
    );
    return rows.map(({ model, requests, failures }): AlertCondition => ({
      owner: null,
      subject: model,
      facts: { model, percent: Math.round((failures * 100) / requests), requests, minutes },
    }));
  };

export const detectSlowModels =
  (database: Database): AlertDetector =>
  async ({ now, parameters }) => {
    const thresholds = parameters(null);
    if (thresholds === null) return [];
    const { seconds = 10, minutes = 15 } = thresholds;
    const rows = await database.query<{ model: string; requests: number; slow: number }>(
      `SELECT model, count(*)::integer AS requests,
              percentile_disc(0.95) WITHIN GROUP (ORDER BY first_token_ms)::integer AS slow
         FROM request_record
        WHERE created_at >= $1 AND created_at <= $2 AND model IS NOT NULL AND first_token_ms IS NOT NULL
        GROUP BY model HAVING count(*) >= ${MIN_REQUESTS}
           AND percentile_disc(0.95) WITHIN GROUP (ORDER BY first_token_ms) > $3::integer
        ORDER BY 3 DESC, model LIMIT ${MAX_ROWS}`,
      [new Date(now.getTime() - minutes * MINUTE_MS), now, seconds * 1_000],
    );
    return rows.map(({ model, requests, slow }): AlertCondition => ({
      owner: null,
      subject: model,
      facts: { model, seconds: Math.round(slow / 100) / 10, requests, minutes },
    }));
  };
