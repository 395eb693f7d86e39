import type { Host } from '@switchboard/extension';
import { HOST, Inject, Injectable } from '@switchboard/extension/nest';

export const kinds = ['department', 'project'] as const;
export type Kind = (typeof kinds)[number];

/** A department or project, its cost centre, and its cost in a month. */
export interface Assignment {
  readonly id: number;
  readonly kind: Kind;
  readonly number: number;
  readonly cost_centre: string;
  readonly requests: number;
  readonly cost_usd: string;
}

export interface ReportLine {
  readonly organisation: string;
  readonly cost_centre: string;
  readonly requests: number;
  readonly cost_usd: string;
}

/** A project takes precedence over the department of its key, so that no request is counted twice. */
const assignedRequests = `
  FROM contract.request r
  CROSS JOIN LATERAL (
    SELECT a.id, a.cost_centre FROM assignment a
     WHERE a.organisation_id = r.organisation_id
       AND a.number = CASE a.kind WHEN 'project' THEN r.project_id ELSE r.department_id END
     ORDER BY a.kind DESC LIMIT 1
  ) a
  WHERE r.created_at >= $1::date AND r.created_at < $1::date + interval '1 month'`;

/** Rows of the extension's own tables, joined with the views that the host publishes. */
@Injectable()
export class CostCentres {
  constructor(@Inject(HOST) private readonly host: Host<undefined, 'db'>) {}

  /** `month` is the first day of the month. */
  list(organisationId: number, month: string): Promise<Assignment[]> {
    return this.host.ports.db.query<Assignment>(
      `SELECT s.id, s.kind, s.number, s.cost_centre, coalesce(c.requests, 0)::integer AS requests,
              coalesce(c.cost_usd, 0)::text AS cost_usd
         FROM assignment s
         LEFT JOIN (SELECT a.id, count(*) AS requests, sum(r.cost_usd) AS cost_usd ${assignedRequests}
                       AND r.organisation_id = $2 GROUP BY a.id) c ON c.id = s.id
        WHERE s.organisation_id = $2 ORDER BY s.cost_centre, s.kind, s.number`,
      [month, organisationId],
    );
  }

  /** Returns the previous cost centre; null if there was none. */
  async assign(
    organisationId: number,
    kind: Kind,
    number: number,
    costCentre: string,
  ): Promise<string | null> {
    const [assignment] = await this.host.ports.db.query<{ readonly before: string | null }>(
      `INSERT INTO assignment AS a (organisation_id, kind, number, cost_centre) VALUES ($1, $2, $3, $4)
       ON CONFLICT (organisation_id, kind, number) DO UPDATE SET cost_centre = excluded.cost_centre
       RETURNING (SELECT b.cost_centre FROM assignment b WHERE b.id = a.id) AS before`,
      [organisationId, kind, number, costCentre],
    );
    return assignment?.before ?? null;
  }

  /** Returns the removed assignment; undefined if the organisation has none with this id. */
  async remove(organisationId: number, id: number): Promise<Assignment | undefined> {
    const [removed] = await this.host.ports.db.query<Assignment>(
      'DELETE FROM assignment WHERE organisation_id = $1 AND id = $2 RETURNING *',
      [organisationId, id],
    );
    return removed;
  }

  /** Stores and returns the sums of a month. A month that was reported before stays unchanged. */
  async report(month: string): Promise<ReportLine[]> {
    await this.host.ports.db.query(
      `INSERT INTO report (organisation_id, month, cost_centre, requests, cost_usd)
       SELECT r.organisation_id, $1::date, a.cost_centre, count(*), sum(r.cost_usd) ${assignedRequests}
          AND NOT EXISTS (SELECT FROM report p WHERE p.organisation_id = r.organisation_id AND p.month = $1::date)
        GROUP BY r.organisation_id, a.cost_centre
       ON CONFLICT DO NOTHING`,
      [month],
    );
    return this.host.ports.db.query<ReportLine>(
      `SELECT o.name AS organisation, p.cost_centre, p.requests::integer, p.cost_usd::text
         FROM report p JOIN contract.organisation o ON o.id = p.organisation_id
        WHERE p.month = $1::date ORDER BY o.name, p.cost_centre`,
      [month],
    );
  }
}
