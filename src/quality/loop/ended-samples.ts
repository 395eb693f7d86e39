import { Injectable } from '@nestjs/common';
import { Database } from '../../platform';

@Injectable()
export class EndedSamples {
  constructor(private readonly database: Database) {}

  /** Counts samples of one organisation, or of all if null; the most frequent reason comes first. */
  countSince(organisationId: number | null, from: Date): Promise<{ reason: string; count: number }[]> {
    return this.database.query(
      `SELECT closed_by AS reason, count(*)::integer AS count FROM quality_sample
        WHERE state = 'closed' AND closed_by IS NOT NULL AND created_at >= $2
          AND ($1::integer IS NULL OR organisation_id = $1)
        GROUP BY 1 ORDER BY 2 DESC, 1`,
      [organisationId, from],
    );
  }
}
