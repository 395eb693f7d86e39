import { AlertDeliveries, AlertWatch } from '#product/alerts';
import { Outbox, type OutboxMail } from '#product/platform';
import { AlertReceivers, ROUTING_KEY, SIGNING_SECRET } from '../../support/alert-receivers';
import type { TestAppOptions } from '../../support/app';
import { House, type Person } from '../admin/house';

export const PATH = '/dashboard/admin/alerts';
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

export interface AlertRow {
  readonly id: string;
  readonly organisation_id: number | null;
  readonly kind: string;
  readonly subject: string;
  readonly severity: string;
  readonly state: string;
  readonly facts: Record<string, string | number>;
}

/** The service, receivers of alerts, and a clock that tests move. */
export class AlertHouse {
  /** What looks and deliveries take as the time. */
  now = Date.now();

  private constructor(
    readonly house: House,
    readonly receivers: AlertReceivers,
  ) {}

  static async open(options: TestAppOptions = {}): Promise<AlertHouse> {
    const receivers = await AlertReceivers.open();
    const environment = {
      ALERT_ALLOW: '127.0.0.1/32',
      ORGANISATION_ALERT_ALLOW: '127.0.0.1/32',
      ...options.environment,
    };
    return new AlertHouse(await House.open({ ...options, environment }), receivers);
  }

  async close(): Promise<void> {
    await this.house.close();
    await this.receivers.close();
  }

  /** Looks for alerts, and delivers what came of it. */
  async pass(ms = MINUTE): Promise<void> {
    this.now += ms;
    await this.service(AlertWatch).runDetectors(new Date(this.now));
    await this.deliver();
  }

  deliver(ms = 0): Promise<void> {
    this.now += ms;
    return this.service(AlertDeliveries).deliver(new Date(this.now));
  }

  /** A node whose disk is that free, and that goes on telling so. */
  disk(free: number, node = 'far-away'): Promise<unknown> {
    return this.query(
      `INSERT INTO node_state (node, seen_at, disk_free, disk_free_bytes, journal_ms) VALUES ($1, $2, $3, 1073741824, 0)
       ON CONFLICT (node) DO UPDATE SET seen_at = excluded.seen_at, disk_free = excluded.disk_free`,
      [node, new Date(this.now + 30 * DAY), free],
    );
  }

  alerts(kind: string): Promise<AlertRow[]> {
    return this.query<AlertRow>(
      `SELECT id, organisation_id, kind, subject, severity, state, facts FROM alert WHERE kind = $1 ORDER BY id`,
      [kind],
    );
  }

  async channel(person: Person, kind: string, more: object = {}): Promise<number> {
    const key = { webhook: { key: SIGNING_SECRET }, pagerduty: { key: ROUTING_KEY } }[kind] ?? {};
    const url = kind === 'mail' ? {} : { url: this.receivers.url(kind) };
    const { status, body, text } = await this.house.post(person, `${PATH}/channels/create`, {
      ...{ kind, name: `our ${kind}`, least_severity: 'info', ...url, ...key, ...more },
    });
    if (status !== 200) throw new Error(text);
    return body['id'] as number;
  }

  /** Mails to a person, by their subjects. */
  async mailsTo({ email }: Pick<Person, 'email'>): Promise<OutboxMail[]> {
    return (await this.service(Outbox).list()).filter(({ to }) => to === email);
  }

  query<Row>(sql: string, values: unknown[] = []): Promise<Row[]> {
    return this.house.app.database.query<Row>(sql, values);
  }

  service<T>(type: abstract new (...given: never[]) => T): T {
    return this.house.app.application.get<T>(type, { strict: false });
  }
}
