import { Injectable } from '@nestjs/common';
import { CatalogueService, isRetired, type ModelView } from '../../catalogue';
import type { NoticeTopic } from '../../identity';
import { DAY_MS, versionOf } from '../../kernel';
import { Database, RepeatingJob } from '../../platform';
import { formatTime, isLocale, type Locale } from '../../views';
import { AccountMails } from '../account/account-mails';

type SentTopic = Extract<NoticeTopic, 'models' | 'suppliers'>;
/** An occurrence has a topic, and a topic may have several kinds. */
export type Occurrence = 'model-gone' | 'model-retires' | 'requests-failing';

export interface SentNotice {
  readonly topic: SentTopic;
  readonly facts: Readonly<Record<string, string>>;
}

/** A person whom an occasion concerns, and who was not told of it yet. */
interface Concerned {
  readonly user_id: number;
  readonly email: string;
  readonly name: string;
  readonly language: string;
  readonly occasion: string;
  readonly facts: Readonly<Record<string, string>>;
}

const MOST_AT_ONCE = 500;
/** Fewer requests an hour are chance. */
const LEAST_REQUESTS = 20;
/** One in so many answers has failed on the other side. */
const FAILING_SHARE = 4;

/** Days before a model retires at which its users are told, the last first. */
const NOTICE_DAYS = [7, 30] as const;

export const pagesOfTopics: Readonly<Record<SentTopic, string>> = {
  models: '/dashboard/models',
  suppliers: '/dashboard/request-log',
};

export const occurrenceOf = ({ topic, facts }: Pick<SentNotice, 'topic' | 'facts'>): Occurrence =>
  topic === 'suppliers'
    ? 'requests-failing'
    : facts['retires_at'] === undefined
      ? 'model-gone'
      : 'model-retires';

/** These are active people who did not switch the topic off, beside `found (user_id, occasion, facts)`. */
const NOT_NOTIFIED = `
  SELECT a.id AS user_id, a.email, a.display_name AS name, a.preferred_language AS language, f.occasion, f.facts
    FROM found f JOIN user_account a ON a.id = f.user_id AND a.status = 'active'
    LEFT JOIN user_setting s ON s.user_id = a.id
   WHERE NOT coalesce($1 = ANY (s.muted_notices), false)
     AND NOT EXISTS (SELECT FROM personal_notice n WHERE n.user_id = a.id AND n.topic = $1 AND n.occasion = f.occasion)
   ORDER BY a.id, f.occasion LIMIT ${MOST_AT_ONCE}`;

/** Tells people of models that are taken away and of requests that fail: on their pages and by mail, once each. */
@Injectable()
export class PersonalNotices {
  constructor(
    private readonly database: Database,
    private readonly catalogue: CatalogueService,
    private readonly accountMails: AccountMails,
  ) {}

  @RepeatingJob({ name: 'personal-notices', cron: '7-59/10 * * * *' })
  async notify(signal: AbortSignal): Promise<void> {
    await this.forgetPast();
    await this.notifyAll('models', await this.withoutTheirModel(), signal);
    await this.notifyAll('models', await this.withRetiringModel(), signal);
    await this.notifyAll('suppliers', await this.withFailingRequests(), signal);
  }

  /** A person's pages show these of the last week, the newest first. */
  async of(userId: number): Promise<SentNotice[]> {
    const told = await this.database.query<SentNotice>(
      `SELECT n.topic, n.facts FROM personal_notice n LEFT JOIN user_setting s ON s.user_id = n.user_id
        WHERE n.user_id = $1 AND NOT coalesce(n.topic = ANY (s.muted_notices), false)
          AND CASE WHEN n.facts ? 'retires_at' THEN (n.facts->>'retires_at')::timestamptz > now()
                   WHEN n.topic = 'models' THEN n.told_at > now() - interval '7 days'
                   ELSE n.told_at > now() - interval '1 day' END
        ORDER BY n.told_at DESC, n.occasion LIMIT 10`,
      [userId],
    );
    // Of one retirement people are told twice.
    return [...new Map(told.map((notice) => [JSON.stringify(notice), notice])).values()].slice(0, 5);
  }

  /** A model that is back may go again, which is another occasion; so is another date of its retirement. */
  private async forgetPast(): Promise<void> {
    const { models } = this.catalogue.snapshot;
    const active = models.filter((model) => !isGone(model)).map(({ name }) => name);
    const dates = models.flatMap(({ name, retiresAt }) =>
      retiresAt === null ? [] : [`${name} ${isoOf(retiresAt)}`],
    );
    await this.database.query(
      `DELETE FROM personal_notice WHERE (topic = 'models' AND occasion = ANY ($1::text[]))
          OR (facts ? 'retires_at' AND (facts->>'model') || ' ' || (facts->>'retires_at') <> ALL ($2::text[]))
          OR told_at < now() - interval '400 days'`,
      [active, dates],
    );
  }

  private async withRetiringModel(): Promise<Concerned[]> {
    const now = Date.now();
    const coming = this.catalogue.snapshot.models.flatMap((model) => {
      const { name, retiresAt, redirectTo } = model;
      if (retiresAt === null || retiresAt <= now || redirectTo !== null || isGone(model)) return [];
      const days = NOTICE_DAYS.find((before) => retiresAt - now <= before * DAY_MS);
      return days === undefined ? [] : [{ model: name, retires_at: isoOf(retiresAt), days }];
    });
    return this.database.query<Concerned>(
      `WITH coming AS (SELECT * FROM jsonb_to_recordset($2::jsonb) AS c (model text, retires_at text, days integer)),
       found AS (
         SELECT DISTINCT u.user_id, c.model || ' retires ' || c.retires_at || ' ' || c.days AS occasion,
                jsonb_build_object('model', c.model, 'retires_at', c.retires_at) AS facts
           FROM coming c JOIN usage_hour u ON u.served_model = c.model
          WHERE u.user_id IS NOT NULL AND u.hour >= now() - interval '30 days')
       ${NOT_NOTIFIED}`,
      ['models', JSON.stringify(coming)],
    );
  }

  private withoutTheirModel(): Promise<Concerned[]> {
    const gone = this.catalogue.snapshot.models.filter(isGone);
    return this.database.query<Concerned>(
      `WITH found AS (
         SELECT DISTINCT u.user_id, u.served_model AS occasion, jsonb_build_object('model', u.served_model) AS facts
           FROM usage_hour u
          WHERE u.served_model = ANY ($2::text[]) AND u.user_id IS NOT NULL AND u.hour >= now() - interval '30 days')
       ${NOT_NOTIFIED}`,
      ['models', gone.map(({ name }) => name)],
    );
  }

  /** Of their own mistakes people hear at once; here count answers of 500 and above. */
  private withFailingRequests(): Promise<Concerned[]> {
    return this.database.query<Concerned>(
      `WITH found AS (
         SELECT r.user_id, $2::text AS occasion,
                jsonb_build_object('failed', count(*) FILTER (WHERE r.status >= 500)::text, 'requests', count(*)::text)
                  AS facts
           FROM request_record r WHERE r.created_at >= now() - interval '1 hour' AND r.user_id IS NOT NULL
          GROUP BY r.user_id
         HAVING count(*) >= ${LEAST_REQUESTS}
            AND count(*) FILTER (WHERE r.status >= 500) * ${FAILING_SHARE} >= count(*))
       ${NOT_NOTIFIED}`,
      ['suppliers', new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS).toISOString().slice(0, 10)],
    );
  }

  private async notifyAll(
    topic: SentTopic,
    people: readonly Concerned[],
    signal: AbortSignal,
  ): Promise<void> {
    for (const person of people) {
      if (signal.aborted) return;
      await this.notifyOnce(topic, person);
    }
  }

  /** The mail is asked for before the notice counts as told; of two with one id only the first is sent. */
  private notifyOnce(
    topic: SentTopic,
    { user_id: userId, email, name, language, occasion, facts }: Concerned,
  ) {
    return this.database.transaction(async (tx) => {
      const told = await tx.query<object[]>(
        `INSERT INTO personal_notice (user_id, topic, occasion, facts) VALUES ($1, $2, $3, $4)
         ON CONFLICT DO NOTHING RETURNING 1`,
        [userId, topic, occasion, facts],
      );
      if (told.length === 0) return;
      const notice = occurrenceOf({ topic, facts });
      const path = pagesOfTopics[topic];
      // Names of models have characters that the name of a job may not have.
      const id = `notice-${userId}-${versionOf({ topic, occasion })}`;
      const values = { name, ...facts, ...dateOf(facts, isLocale(language) ? language : 'en', 'UTC') };
      await this.accountMails.send({ notice, userId, to: email, language, values, path, id });
    });
  }
}

/** It is not served in its own name any more; what leads on to another model is. */
const isGone = (model: ModelView): boolean =>
  model.state !== 'active' || (model.redirectTo === null && isRetired(model, Date.now()));

const isoOf = (at: number): string => new Date(at).toISOString();

/** The day of a retirement, as people of this language write it. */
export const dateOf = (
  { retires_at: at }: SentNotice['facts'],
  locale: Locale,
  timeZone: string,
): { readonly date?: string } =>
  at === undefined ? {} : { date: formatTime(locale, timeZone, new Date(at), 'date') };
