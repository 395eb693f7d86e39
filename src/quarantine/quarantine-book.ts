import { type ActivityActor, ActivityLog, DeadLetters, type TapState } from '../audit';
import { type Difference, PostgresMoneyStore, type UnreadJournal } from '../billing';
import { fault } from '../kernel';
import { type Database, type Row } from '../platform';
import type { Ended } from './begin';
import { type Decisions, type Group, undecided } from './decisions';

export type ProcessorFinding =
  | { readonly state: 'off' }
  | { readonly state: 'unreached'; readonly error: string }
  | {
      readonly state: 'compared';
      readonly since: string;
      readonly payments: number;
      readonly differences: readonly {
        readonly intentId: string;
        readonly problem: Difference['problem'];
        readonly oursCents: string;
        readonly theirsCents: string;
      }[];
    };

/** What only a running service can find: jobs that wait, and what the payment processor says. */
export interface Findings {
  readonly at: string;
  readonly jobs: Readonly<Record<string, number>>;
  readonly processor: ProcessorFinding;
}

type Kept = Row<
  'quarantine',
  'id, moment, backup, restored_at, began_at, decided_at, trouble, released_at, ended, findings, decisions'
>;

export interface QuarantineRow extends Kept {
  readonly ended: Ended;
  readonly findings: Findings | null;
  readonly decisions: Decisions | null;
}

/** What journals that were set aside would charge to a key. */
export interface KeyCharge {
  readonly publicId: string | null;
  readonly name: string | null;
  readonly requests: number;
  readonly costNano: string;
  /** Of requests that began after the moment; the others are charged in any case. */
  readonly requestsAfter: number;
  readonly costNanoAfter: string;
}

export interface Between {
  readonly row: QuarantineRow;
  readonly keysAlive: number;
  readonly journals: readonly Row<'quarantine_journal', 'file, node, records'>[];
  readonly charges: readonly KeyCharge[];
  readonly nodes: readonly UnreadJournal[];
  readonly taps: readonly TapState[];
  /** These groups have something to decide. */
  readonly needed: readonly Group[];
}

export interface HeldBack {
  readonly moment: Date;
  readonly journals: number;
  /** As they were last looked at. */
  readonly jobs: number;
}

const COLUMNS =
  'id, moment, backup, restored_at, began_at, decided_at, trouble, released_at, ended, findings, decisions';

/** The queues whose jobs are mails. */
export const MAIL_QUEUES = ['mail', 'account-mail'];
export const EVALUATION_QUEUES = ['evaluation'];

/** What is known of the quarantine, and what an operator decides, in rows that the service and commands share. */
export class QuarantineBook {
  constructor(
    private readonly database: Database,
    private readonly activity: ActivityLog,
  ) {}

  /** What an open one holds; null where none is. */
  async held(): Promise<HeldBack | null> {
    const row = await this.latest();
    if (row === undefined || row.releasedAt !== null) return null;
    const { moment, findings } = row;
    const { journals } = await this.between(row);
    const jobs = Object.values(findings?.jobs ?? {}).reduce((sum, count) => sum + count, 0);
    return { moment, journals: journals.length, jobs };
  }

  /** The open one, else the latest. */
  async latest(): Promise<QuarantineRow | undefined> {
    const [row] = await this.database.rows<QuarantineRow>(
      `SELECT ${COLUMNS} FROM quarantine ORDER BY id DESC LIMIT 1`,
    );
    return row;
  }

  async between(row: QuarantineRow): Promise<Between> {
    const letters = new DeadLetters(this.database, this.activity);
    const [alive] = await this.database.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM api_key WHERE kind = 'client' AND status = 'active'
          AND (expires_at IS NULL OR expires_at > now())`,
    );
    const journals = await this.database.rows<Row<'quarantine_journal', 'file, node, records'>>(
      'SELECT file, node, records FROM quarantine_journal WHERE quarantine_id = $1 ORDER BY file',
      [row.id],
    );
    const unread = await new PostgresMoneyStore(this.database).unread();
    const read = new Set(journals.map(({ node }) => node));
    const found = {
      row,
      keysAlive: alive?.count ?? 0,
      journals,
      charges: await this.charges(row),
      nodes: unread.filter(({ node }) => !read.has(node)),
      taps: (await letters.states()).filter(({ backlog }) => backlog !== '0'),
    };
    return { ...found, needed: neededBy(found) };
  }

  /** The service that runs carries it out, or the next one that starts. */
  async decide({ row, needed }: Between, decisions: Decisions, actor?: ActivityActor): Promise<void> {
    const [missing] = undecided(needed, decisions);
    if (missing !== undefined)
      throw fault('missing_fields', {
        param: missing,
        message: `Say what becomes of ${missing}.`,
        details: { required: undecided(needed, decisions) },
      });
    const chosen = Object.fromEntries(needed.map((group) => [group, decisions[group]!]));
    await this.database.transaction(async (tx) => {
      const done = await tx.query<[unknown[], number]>(
        `UPDATE quarantine SET decisions = $2, decided_at = now(), trouble = NULL
          WHERE id = $1 AND released_at IS NULL RETURNING id`,
        [row.id, JSON.stringify(chosen)],
      );
      if (done[1] === 0)
        throw fault('conflict', { message: 'The quarantine is over.', details: { reason: 'released' } });
      await this.activity.write(tx, {
        action: 'quarantine.decided',
        object: { type: 'quarantine', id: row.id },
        concerns: {},
        changes: Object.fromEntries(Object.entries(chosen).map(([group, choice]) => [group, [null, choice]])),
        ...(actor === undefined ? {} : { actor }),
      });
    });
  }

  private charges({ id, moment }: QuarantineRow): Promise<KeyCharge[]> {
    return this.database.rows<KeyCharge>(
      `SELECT k.public_id, k.name, count(*)::int AS requests, sum(c.cost_nano)::text AS cost_nano,
              (count(*) FILTER (WHERE c.created_at > $2))::int AS requests_after,
              coalesce(sum(c.cost_nano) FILTER (WHERE c.created_at > $2), 0)::text AS cost_nano_after
         FROM quarantine_charge c LEFT JOIN api_key k ON k.id = c.key_id
        WHERE c.quarantine_id = $1 GROUP BY k.id ORDER BY sum(c.cost_nano) DESC, k.id`,
      [id, moment],
    );
  }
}

/** Where the service has not looked yet, an operator decides in any case. */
function neededBy({ row, keysAlive, charges, nodes, taps }: Omit<Between, 'needed'>): Group[] {
  const { findings } = row;
  const wait = (queues: readonly string[]): boolean =>
    findings === null || queues.some((queue) => (findings.jobs[queue] ?? 0) > 0);
  const isNeeded: Readonly<Record<Group, boolean>> = {
    keys: keysAlive > 0,
    journals: charges.some(({ requestsAfter }) => requestsAfter > 0),
    nodes: nodes.length > 0,
    payments: findings === null || findings.processor.state !== 'off',
    mails: wait(MAIL_QUEUES),
    evaluations: wait(EVALUATION_QUEUES),
    taps: taps.length > 0,
  };
  return (Object.keys(isNeeded) as Group[]).filter((group) => isNeeded[group]);
}
