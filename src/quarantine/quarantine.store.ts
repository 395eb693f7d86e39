import { Injectable } from '@nestjs/common';
import { type ActivityActor, ActivityLog, DeadLetters, type TapState } from '../audit';
import { type PaymentDifference, PostgresMoneyStore, type UnreadJournal } from '../billing';
import { fault } from '../kernel';
import { Database, type TableRow } from '../platform';
import type { EndedAccess } from './start-quarantine';
import { type Decisions, type DecisionGroup, findUndecided } from './decisions';

export type ProcessorFinding =
  | { readonly state: 'off' }
  | { readonly state: 'unreached'; readonly error: string }
  | {
      readonly state: 'compared';
      readonly since: string;
      readonly payments: number;
      readonly differences: readonly {
        readonly intentId: string;
        readonly problem: PaymentDifference['problem'];
        readonly oursCents: string;
        readonly theirsCents: string;
      }[];
    };

/** Findings that only a running service can collect: waiting jobs and the payment processor's view. */
export interface QuarantineFindings {
  readonly at: string;
  readonly jobs: Readonly<Record<string, number>>;
  readonly processor: ProcessorFinding;
}

type QuarantineColumns = TableRow<
  'quarantine',
  'id, moment, backup, restored_at, began_at, decided_at, trouble, released_at, ended, findings, decisions'
>;

export interface QuarantineRow extends QuarantineColumns {
  readonly ended: EndedAccess;
  readonly findings: QuarantineFindings | null;
  readonly decisions: Decisions | null;
}

export interface KeyCharge {
  readonly publicId: string | null;
  readonly name: string | null;
  readonly requests: number;
  readonly costNano: string;
  /** Requests that started after the moment; all others are charged in any case. */
  readonly requestsAfter: number;
  readonly costNanoAfter: string;
}

export interface QuarantineDetails {
  readonly row: QuarantineRow;
  readonly keysAlive: number;
  readonly journals: readonly TableRow<'quarantine_journal', 'file, node, records'>[];
  readonly charges: readonly KeyCharge[];
  readonly nodes: readonly UnreadJournal[];
  readonly taps: readonly TapState[];
  readonly needed: readonly DecisionGroup[];
}

export interface QuarantineSummary {
  readonly moment: Date;
  readonly journals: number;
  readonly jobs: number;
}

const COLUMNS =
  'id, moment, backup, restored_at, began_at, decided_at, trouble, released_at, ended, findings, decisions';

export const MAIL_QUEUES = ['mail', 'account-mail'];
export const EVALUATION_QUEUES = ['evaluation'];

/** State of the quarantine and the operator's decisions, in rows that the service and the commands share. */
@Injectable()
export class QuarantineStore {
  constructor(
    private readonly database: Database,
    private readonly activity: ActivityLog,
    private readonly deadLetters: DeadLetters,
  ) {}

  async summarise(): Promise<QuarantineSummary | null> {
    const row = await this.latest();
    if (row === undefined || row.releasedAt !== null) return null;
    const { moment, findings } = row;
    const { journals } = await this.details(row);
    const jobs = Object.values(findings?.jobs ?? {}).reduce((sum, count) => sum + count, 0);
    return { moment, journals: journals.length, jobs };
  }

  async latest(): Promise<QuarantineRow | undefined> {
    const [row] = await this.database.rows<QuarantineRow>(
      `SELECT ${COLUMNS} FROM quarantine ORDER BY id DESC LIMIT 1`,
    );
    return row;
  }

  async details(row: QuarantineRow): Promise<QuarantineDetails> {
    const [activeKeys] = await this.database.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM api_key WHERE kind = 'client' AND status = 'active'
          AND (expires_at IS NULL OR expires_at > now())`,
    );
    const journals = await this.database.rows<TableRow<'quarantine_journal', 'file, node, records'>>(
      'SELECT file, node, records FROM quarantine_journal WHERE quarantine_id = $1 ORDER BY file',
      [row.id],
    );
    const unread = await new PostgresMoneyStore(this.database).unreadJournals();
    const nodesWithJournal = new Set(journals.map(({ node }) => node));
    const details = {
      row,
      keysAlive: activeKeys?.count ?? 0,
      journals,
      charges: await this.charges(row),
      nodes: unread.filter(({ node }) => !nodesWithJournal.has(node)),
      taps: (await this.deadLetters.states()).filter(({ backlog }) => backlog !== '0'),
    };
    return { ...details, needed: findNeededGroups(details) };
  }

  /** Records the decisions; the running service, or the next to start, applies them. */
  async recordDecisions(
    { row, needed }: QuarantineDetails,
    decisions: Decisions,
    actor?: ActivityActor,
  ): Promise<void> {
    const [missing] = findUndecided(needed, decisions);
    if (missing !== undefined)
      throw fault('missing_fields', {
        param: missing,
        message: `Say what becomes of ${missing}.`,
        details: { required: findUndecided(needed, decisions) },
      });
    const neededDecisions = Object.fromEntries(needed.map((group) => [group, decisions[group]!]));
    await this.database.transaction(async (tx) => {
      const updateResult = await tx.query<[unknown[], number]>(
        `UPDATE quarantine SET decisions = $2, decided_at = now(), trouble = NULL
          WHERE id = $1 AND released_at IS NULL RETURNING id`,
        [row.id, JSON.stringify(neededDecisions)],
      );
      if (updateResult[1] === 0)
        throw fault('conflict', { message: 'The quarantine is over.', details: { reason: 'released' } });
      await this.activity.write(tx, {
        action: 'quarantine.decided',
        object: { type: 'quarantine', id: row.id },
        concerns: {},
        changes: Object.fromEntries(
          Object.entries(neededDecisions).map(([group, choice]) => [group, [null, choice]]),
        ),
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

/** Groups that the service has not checked yet always need a decision. */
function findNeededGroups({
  row,
  keysAlive,
  charges,
  nodes,
  taps,
}: Omit<QuarantineDetails, 'needed'>): DecisionGroup[] {
  const { findings } = row;
  const hasWaitingJobs = (queues: readonly string[]): boolean =>
    findings === null || queues.some((queue) => (findings.jobs[queue] ?? 0) > 0);
  const isNeeded: Readonly<Record<DecisionGroup, boolean>> = {
    keys: keysAlive > 0,
    journals: charges.some(({ requestsAfter }) => requestsAfter > 0),
    nodes: nodes.length > 0,
    payments: findings === null || findings.processor.state !== 'off',
    mails: hasWaitingJobs(MAIL_QUEUES),
    evaluations: hasWaitingJobs(EVALUATION_QUEUES),
    taps: taps.length > 0,
  };
  return (Object.keys(isNeeded) as DecisionGroup[]).filter((group) => isNeeded[group]);
}
