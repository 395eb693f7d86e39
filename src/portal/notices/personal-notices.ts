import { Injectable } from '@nestjs/common';
import { CatalogueService, isRetired, type ModelView } from '../../catalogue';
import type { NoticeTopic } from '../../identity';
import { DAY_MS, versionOf } from '../../kernel';
import { Database, RepeatingJob } from '../../platform';
import { formatTime, isLocale, type Locale } from '../../views';
import { AccountMails } from '../account/account-mails';

type SentTopic = Extract<NoticeTopic, 'models' | 'suppliers'>;
/** Kind of a notice; a topic can have several kinds. */
export type Occurrence = 'model-gone' | 'model-retires' | 'requests-failing';

export interface SentNotice {
  readonly topic: SentTopic;
  readonly facts: Readonly<Record<string, string>>;
}

interface NoticeRecipient {
  readonly user_id: number;
  readonly email: string;
  readonly name: string;
  readonly language: string;
  readonly occasion: string;
  readonly facts: Readonly<Record<string, string>>;
}

const BATCH_SIZE = 500;
/** Minimum per hour; failures among fewer requests are not significant. */
const MIN_REQUESTS = 20;
/** Notifies when at least one in this number of requests failed upstream. */
const FAILURE_RATIO = 4;

/** Days before a model's retirement at which its users are notified, the last notice first. */
const NOTICE_DAYS = [7, 30] as const;

export const topicPages: Readonly<Record<SentTopic, string>> = {
  models: '/dashboard/models',
  suppliers: '/dashboard/request-log',
};

export const occurrenceOf = ({ topic, facts }: Pick<SentNotice, 'topic' | 'facts'>): Occurrence =>
  topic === 'suppliers'
    ? 'requests-failing'
    : facts['retires_at'] === undefined
      ? 'model-gone'
      : 'model-retires';

/** Selects active users who have not muted the topic; requires `found (user_id, occasion, facts)`. */
const NOT_NOTIFIED = `
  SELECT a.id AS user_id, a.email, a.display_name AS name, a.preferred_language AS language, f.occasion, f.facts
    FROM found f JOIN user_account a ON a.id = f.user_id AND a.status = 'active'
    LEFT JOIN user_setting s ON s.user_id = a.id
   WHERE NOT coalesce($1 = ANY (s.muted_notices), false)
     AND NOT EXISTS (SELECT FROM personal_notice n WHERE n.user_id = a.id AND n.topic = $1 AND n.occasion = f.occasion)
   ORDER BY a.id, f.occasion LIMIT ${BATCH_SIZE}`;

/** Notifies users of removed models and failing requests, on their pages and by email, once each. */
@Injectable()
export class PersonalNotices {
  constructor(
    private readonly database: Database,
    private readonly catalogue: CatalogueService,
    private readonly accountMails: AccountMails,
  ) {}

  @RepeatingJob({ name: 'personal-notices', cron: '7-59/10 * * * *' })
  async notify(signal: AbortSignal): Promise<void> {
    await this.deleteObsolete();
    await this.notifyAll('models', await this.findUsersOfGoneModels(), signal);
    await this.notifyAll('models', await this.findUsersOfRetiringModels(), signal);
    await this.notifyAll('suppliers', await this.findUsersWithFailures(), signal);
  }

  async of(userId: number): Promise<SentNotice[]> {
    const notices = await this.database.query<SentNotice>(
      `SELECT n.topic, n.facts FROM personal_notice n LEFT JOIN user_setting s ON s.user_id = n.user_id
        WHERE n.user_id = $1 AND NOT coalesce(n.topic = ANY (s.muted_notices), false)
          AND CASE WHEN n.facts ? 'retires_at' THEN (n.facts->>'retires_at')::timestamptz > now()
                   WHEN n.topic = 'models' THEN n.told_at > now() - interval '7 days'
                   ELSE n.told_at > now() - interval '1 day' END
        ORDER BY n.told_at DESC, n.occasion LIMIT 10`,
      [userId],
    );
    // Each retirement is announced twice, so duplicates are removed.
    return [...new Map(notices.map((notice) => [JSON.stringify(notice), notice])).values()].slice(0, 5);
  }

  /**
   * Deletes notices of models that are active again and of changed retirement dates, so that a later event is notified
   * again.
   */
  private async deleteObsolete(): Promise<void> {
    const { models } = this.catalogue.snapshot;
    const active = models.filter((model) => !isGone(model)).map(({ name }) => name);
    const dates = models.flatMap(({ name, retiresAt }) =>
      retiresAt === null ? [] : [`${name} ${toIso(retiresAt)}`],
    );
    await this.database.query(
      `DELETE FROM personal_notice WHERE (topic = 'models' AND occasion = ANY ($1::text[]))
          OR (facts ? 'retires_at' AND (facts->>'model') || ' ' || (facts->>'retires_at') <> ALL ($2::text[]))
          OR told_at < now() - interval '400 days'`,
      [active, dates],
    );
  }

  private async findUsersOfRetiringModels(): Promise<NoticeRecipient[]> {
    const now = Date.now();
    const retirements = this.catalogue.snapshot.models.flatMap((model) => {
      const { name, retiresAt, redirectTo } = model;
      if (retiresAt === null || retiresAt <= now || redirectTo !== null || isGone(model)) return [];
      const days = NOTICE_DAYS.find((daysBefore) => retiresAt - now <= daysBefore * DAY_MS);
      return days === undefined ? [] : [{ model: name, retires_at: toIso(retiresAt), days }];
    });
    return this.database.query<NoticeRecipient>(
      `WITH coming AS (SELECT * FROM jsonb_to_recordset($2::jsonb) AS c (model text, retires_at text, days integer)),
       found AS (
         SELECT DISTINCT u.user_id, c.model || ' retires ' || c.retires_at || ' ' || c.days AS occasion,
                jsonb_build_object('model', c.model, 'retires_at', c.retires_at) AS facts
           FROM coming c JOIN usage_hour u ON u.served_model = c.model
          WHERE u.user_id IS NOT NULL AND u.hour >= now() - interval '30 days')
       ${NOT_NOTIFIED}`,
      ['models', JSON.stringify(retirements)],
    );
  }

  private findUsersOfGoneModels(): Promise<NoticeRecipient[]> {
    const goneModels = this.catalogue.snapshot.models.filter(isGone);
    return this.database.query<NoticeRecipient>(
      `WITH found AS (
         SELECT DISTINCT u.user_id, u.served_model AS occasion, jsonb_build_object('model', u.served_model) AS facts
           FROM usage_hour u
          WHERE u.served_model = ANY ($2::text[]) AND u.user_id IS NOT NULL AND u.hour >= now() - interval '30 days')
       ${NOT_NOTIFIED}`,
      ['models', goneModels.map(({ name }) => name)],
    );
  }

  /** Counts responses of 500 and above; users see their own errors immediately. */
  private findUsersWithFailures(): Promise<NoticeRecipient[]> {
    return this.database.query<NoticeRecipient>(
      `WITH found AS (
         SELECT r.user_id, $2::text AS occasion,
                jsonb_build_object('failed', count(*) FILTER (WHERE r.status >= 500)::text, 'requests', count(*)::text)
                  AS facts
           FROM request_record r WHERE r.created_at >= now() - interval '1 hour' AND r.user_id IS NOT NULL
          GROUP BY r.user_id
         HAVING count(*) >= ${MIN_REQUESTS}
            AND count(*) FILTER (WHERE r.status >= 500) * ${FAILURE_RATIO} >= count(*))
       ${NOT_NOTIFIED}`,
      ['suppliers', new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS).toISOString().slice(0, 10)],
    );
  }

  private async notifyAll(
    topic: SentTopic,
    recipients: readonly NoticeRecipient[],
    signal: AbortSignal,
  ): Promise<void> {
    for (const recipient of recipients) {
      if (signal.aborted) return;
      await this.notifyOnce(topic, recipient);
    }
  }

  /** Queues the email before the notice is committed; its id prevents sending it twice. */
  private notifyOnce(
    topic: SentTopic,
    { user_id: userId, email, name, language, occasion, facts }: NoticeRecipient,
  ) {
    return this.database.transaction(async (tx) => {
      const inserted = await tx.query<object[]>(
        `INSERT INTO personal_notice (user_id, topic, occasion, facts) VALUES ($1, $2, $3, $4)
         ON CONFLICT DO NOTHING RETURNING 1`,
        [userId, topic, occasion, facts],
      );
      if (inserted.length === 0) return;
      const notice = occurrenceOf({ topic, facts });
      const path = topicPages[topic];
      // Model names can contain characters that are not allowed in a job id.
      const id = `notice-${userId}-${versionOf({ topic, occasion })}`;
      const values = { name, ...facts, ...dateOf(facts, isLocale(language) ? language : 'en', 'UTC') };
      await this.accountMails.send({ notice, userId, to: email, language, values, path, id });
    });
  }
}

/** Returns whether a model is no longer served under its own name; a redirected model is. */
const isGone = (model: ModelView): boolean =>
  model.state !== 'active' || (model.redirectTo === null && isRetired(model, Date.now()));

const toIso = (at: number): string => new Date(at).toISOString();

export const dateOf = (
  { retires_at: at }: SentNotice['facts'],
  locale: Locale,
  timeZone: string,
): { readonly date?: string } =>
  at === undefined ? {} : { date: formatTime(locale, timeZone, new Date(at), 'date') };
