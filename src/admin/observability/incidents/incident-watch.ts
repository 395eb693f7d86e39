import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { SealAge } from '../../../audit';
import { MINUTE_MS } from '../../../kernel';
import { Database, Logger, RepeatingJob } from '../../../platform';
import { LaneHealth, type LaneOutage } from '../../../routing';
import { IncidentLog, type ObservedIncident } from './incident-log';

const CHECK_INTERVAL_MS = 5_000;
/** Three check intervals of a node. */
const UNSEEN_MS = 15_000;

const ERROR_WINDOW_MS = 5 * MINUTE_MS;
const MIN_REQUESTS = 20;
const FAILING_PERCENT = 20;
const ERRORS_UNSEEN_MS = 3 * MINUTE_MS;

const REFUSED = `
  SELECT p.name AS provider, c.label AS credential FROM provider_credential c JOIN provider p ON p.id = c.provider_id
   WHERE c.health = 'rejected' AND c.disabled_at IS NULL AND p.removed_at IS NULL LIMIT 1000`;

/** Counts only status codes from 500, not the callers' mistakes. */
const FAILING = `
  SELECT model, count(*)::integer AS requests, count(*) FILTER (WHERE status >= 500)::integer AS failures
    FROM request_record WHERE created_at >= $1 AND model IS NOT NULL
   GROUP BY model HAVING count(*) >= ${MIN_REQUESTS}
      AND count(*) FILTER (WHERE status >= 500) * 100 >= count(*) * ${FAILING_PERCENT}
   ORDER BY 3 DESC, model LIMIT 100`;

@Injectable()
export class IncidentWatch implements OnApplicationBootstrap, OnApplicationShutdown {
  private timer: NodeJS.Timeout | undefined;
  private pendingCheck: Promise<void> = Promise.resolve();
  private unwrittenTroubles: readonly LaneOutage[] = [];

  constructor(
    private readonly database: Database,
    private readonly health: LaneHealth,
    private readonly incidents: IncidentLog,
    private readonly seals: SealAge,
    private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    this.timer = setInterval(() => {
      this.pendingCheck = this.pendingCheck.then(() => this.checkAndLog());
    }, CHECK_INTERVAL_MS).unref();
  }

  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    await this.pendingCheck;
  }

  async check(now = new Date()): Promise<void> {
    const troubles = [...this.unwrittenTroubles, ...this.health.takeOutages()];
    this.unwrittenTroubles = troubles.filter(({ closedAt }) => closedAt !== null);
    const rejected = await this.database.query<{ provider: string; credential: string }>(REFUSED);
    await this.incidents.record([
      ...troubles.map((trouble) => ofLane(trouble, now)),
      ...rejected.map((names) => ofCredential(names, now)),
      ...ofSeals(this.seals.lateSince, now),
    ]);
    this.unwrittenTroubles = [];
    await this.incidents.endUnseen(['lane', 'credential', 'seal'], new Date(now.getTime() - UNSEEN_MS));
  }

  @RepeatingJob({ name: 'incidents', cron: '* * * * *' })
  async measureErrors(): Promise<void> {
    const now = new Date();
    const since = new Date(now.getTime() - ERROR_WINDOW_MS);
    const failing = await this.database.query<{ model: string; requests: number; failures: number }>(
      FAILING,
      [since],
    );
    await this.incidents.record(
      failing.map(({ model, requests, failures }) => ({
        kind: 'errors',
        model,
        cause: `${Math.round((failures * 100) / requests)} % of ${requests}`,
        startedAt: now,
        seenAt: now,
      })),
    );
    await this.incidents.endUnseen(['errors'], new Date(now.getTime() - ERRORS_UNSEEN_MS));
    await this.incidents.deleteOld(now);
  }

  private async checkAndLog(): Promise<void> {
    try {
      await this.check();
    } catch (error) {
      this.logger.warn('incidents could not be put on record', { error });
    }
  }
}

const ofLane = (trouble: LaneOutage, now: Date): ObservedIncident => ({
  kind: 'lane',
  provider: trouble.supplier,
  model: trouble.model,
  region: trouble.region,
  cause: trouble.code,
  status: trouble.status,
  startedAt: trouble.openedAt,
  seenAt: trouble.closedAt ?? now,
});

const ofSeals = (since: Date | null, now: Date): ObservedIncident[] =>
  since === null ? [] : [{ kind: 'seal', cause: 'activity_unsealed', startedAt: since, seenAt: now }];

const ofCredential = (
  { provider, credential }: { provider: string; credential: string },
  now: Date,
): ObservedIncident => ({
  kind: 'credential',
  provider,
  credential,
  cause: 'auth_unavailable',
  startedAt: now,
  seenAt: now,
});
