import { Injectable } from '@nestjs/common';
import { Database } from '../../platform';

/** This counts by reason the samples of which nothing was learned. */
@Injectable()
export class EndedSamples {
  constructor(private readonly database: Database) {}

  /** It counts those of one organisation or of all; the most frequent reason comes first. */
  since(organisationId: number | null, from: Date): Promise<{ reason: string; count: number }[]> {
    return this.database.query(
      `SELECT closed_by AS reason, count(*)::integer AS count FROM quality_sample
        WHERE state = 'closed' AND closed_by IS NOT NULL AND created_at >= $2
          AND ($1::integer IS NULL OR organisation_id = $1)
        GROUP BY 1 ORDER BY 2 DESC, 1`,
      [organisationId, from],
    );
  }
}
