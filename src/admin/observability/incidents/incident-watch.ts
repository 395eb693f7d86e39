import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { SealAge } from '../../../audit';
import { MINUTE_MS } from '../../../kernel';
import { Database, Logger, RepeatingJob } from '../../../platform';
import { LaneHealth, type LaneTrouble } from '../../../routing';
import { IncidentLog, type SeenIncident } from './incident-log';

const CHECK_EVERY_MS = 5_000;
/** A node looks three times within this. */
const UNSEEN_MS = 15_000;

const ERROR_WINDOW_MS = 5 * MINUTE_MS;
/** With fewer requests no incident is reported. */
const LEAST_REQUESTS = 20;
const FAILING_PERCENT = 20;
const ERRORS_UNSEEN_MS = 3 * MINUTE_MS;

const REFUSED = `
  SELECT p.name AS provider, c.label AS credential FROM provider_credential c JOIN provider p ON p.id = c.provider_id
   WHERE c.health = 'rejected' AND c.disabled_at IS NULL AND p.removed_at IS NULL LIMIT 1000`;

/** Counts our failures and those of suppliers, not the callers' mistakes. */
const FAILING = `
  SELECT model, count(*)::integer AS requests, count(*) FILTER (WHERE status >= 500)::integer AS failures
    FROM request_record WHERE created_at >= $1 AND model IS NOT NULL
   GROUP BY model HAVING count(*) >= ${LEAST_REQUESTS}
      AND count(*) FILTER (WHERE status >= 500) * 100 >= count(*) * ${FAILING_PERCENT}
   ORDER BY 3 DESC, model LIMIT 100`;

/** Records incidents: open breakers, refused credentials, models whose requests fail, and a log that is not sealed. */
@Injectable()
export class IncidentWatch implements OnApplicationBootstrap, OnApplicationShutdown {
  private timer: NodeJS.Timeout | undefined;
  private looking: Promise<void> = Promise.resolve();
  /** A failed write is repeated with the next check. */
  private unwritten: readonly LaneTrouble[] = [];

  constructor(
    private readonly database: Database,
    private readonly health: LaneHealth,
    private readonly incidents: IncidentLog,
    private readonly seals: SealAge,
    private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    this.timer = setInterval(() => {
      this.looking = this.looking.then(() => this.checkAndLog());
    }, CHECK_EVERY_MS).unref();
  }

  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    await this.looking;
  }

  /** The lanes as this node sees them, and credentials as all nodes marked them. */
  async check(now = new Date()): Promise<void> {
    const troubles = [...this.unwritten, ...this.health.takeTroubles()];
    this.unwritten = troubles.filter(({ closedAt }) => closedAt !== null);
    const refused = await this.database.query<{ provider: string; credential: string }>(REFUSED);
    await this.incidents.seen([
      ...troubles.map((trouble) => ofLane(trouble, now)),
      ...refused.map((names) => ofCredential(names, now)),
      ...ofSeals(this.seals.lateSince, now),
    ]);
    this.unwritten = [];
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
    await this.incidents.seen(
      failing.map(({ model, requests, failures }) => ({
        kind: 'errors',
        model,
        cause: `${Math.round((failures * 100) / requests)} % of ${requests}`,
        startedAt: now,
        seenAt: now,
      })),
    );
    await this.incidents.endUnseen(['errors'], new Date(now.getTime() - ERRORS_UNSEEN_MS));
    await this.incidents.forgetOld(now);
  }

  private async checkAndLog(): Promise<void> {
    try {
      await this.check();
    } catch (error) {
      this.logger.warn('incidents could not be put on record', { error });
    }
  }
}

const ofLane = (trouble: LaneTrouble, now: Date): SeenIncident => ({
  kind: 'lane',
  provider: trouble.supplier,
  model: trouble.model,
  region: trouble.region,
  cause: trouble.code,
  status: trouble.status,
  startedAt: trouble.openedAt,
  seenAt: trouble.closedAt ?? now,
});

const ofSeals = (since: Date | null, now: Date): SeenIncident[] =>
  since === null ? [] : [{ kind: 'seal', cause: 'activity_unsealed', startedAt: since, seenAt: now }];

const ofCredential = (
  { provider, credential }: { provider: string; credential: string },
  now: Date,
): SeenIncident => ({
  kind: 'credential',
  provider,
  credential,
  cause: 'auth_unavailable',
  startedAt: now,
  seenAt: now,
});
