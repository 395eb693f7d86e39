import { AlertDeliveries, AlertWatch } from '#product/alerts';
import { Outbox, type OutboxMail } from '#product/platform';
import { AlertReceivers, ROUTING_KEY, SIGNING_SECRET } from '../../support/alert-receivers';
import type { TestAppOptions } from '../../support/app';
import { PortalFixture, type Person } from '../admin/portal-fixture';

export const ALERTS_PATH = '/dashboard/admin/alerts';
export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

export interface AlertRow {
  readonly id: string;
  readonly organisation_id: number | null;
  readonly kind: string;
  readonly subject: string;
  readonly severity: string;
  readonly state: string;
  readonly facts: Record<string, string | number>;
}

/** The service with alert receivers and a clock that tests control. */
export class AlertFixture {
  /** Time used by alert checks and deliveries. */
  now = Date.now();

  private constructor(
    readonly portal: PortalFixture,
    readonly receivers: AlertReceivers,
  ) {}

  static async open(options: TestAppOptions = {}): Promise<AlertFixture> {
    const receivers = await AlertReceivers.open();
    const environment = {
      ALERT_ALLOW: '127.0.0.1/32',
      ORGANISATION_ALERT_ALLOW: '127.0.0.1/32',
      ...options.environment,
    };
    return new AlertFixture(await PortalFixture.open({ ...options, environment }), receivers);
  }

  async close(): Promise<void> {
    await this.portal.close();
    await this.receivers.close();
  }

  /** Moves the clock, runs the alert checks and delivers the results. */
  async poll(ms = MINUTE_MS): Promise<void> {
    this.now += ms;
    await this.getService(AlertWatch).runDetectors(new Date(this.now));
    await this.deliver();
  }

  deliver(ms = 0): Promise<void> {
    this.now += ms;
    return this.getService(AlertDeliveries).deliver(new Date(this.now));
  }

  /** Reports the free disk share of a node, which stays alive. */
  reportDisk(free: number, node = 'far-away'): Promise<unknown> {
    return this.query(
      `INSERT INTO node_state (node, seen_at, disk_free, disk_free_bytes, journal_ms) VALUES ($1, $2, $3, 1073741824, 0)
       ON CONFLICT (node) DO UPDATE SET seen_at = excluded.seen_at, disk_free = excluded.disk_free`,
      [node, new Date(this.now + 30 * DAY_MS), free],
    );
  }

  alerts(kind: string): Promise<AlertRow[]> {
    return this.query<AlertRow>(
      `SELECT id, organisation_id, kind, subject, severity, state, facts FROM alert WHERE kind = $1 ORDER BY id`,
      [kind],
    );
  }

  async createChannel(person: Person, kind: string, more: object = {}): Promise<number> {
    const key = { webhook: { key: SIGNING_SECRET }, pagerduty: { key: ROUTING_KEY } }[kind] ?? {};
    const url = kind === 'mail' ? {} : { url: this.receivers.url(kind) };
    const { status, body, text } = await this.portal.post(person, `${ALERTS_PATH}/channels/create`, {
      ...{ kind, name: `our ${kind}`, least_severity: 'info', ...url, ...key, ...more },
    });
    if (status !== 200) throw new Error(text);
    return body['id'] as number;
  }

  /** Emails to a user. */
  async mailsTo({ email }: Pick<Person, 'email'>): Promise<OutboxMail[]> {
    return (await this.getService(Outbox).list()).filter(({ to }) => to === email);
  }

  query<Row>(sql: string, values: unknown[] = []): Promise<Row[]> {
    return this.portal.app.database.query<Row>(sql, values);
  }

  getService<T>(type: abstract new (...given: never[]) => T): T {
    return this.portal.app.application.get<T>(type, { strict: false });
  }
}
