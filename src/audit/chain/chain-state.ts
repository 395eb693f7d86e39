import { Injectable } from '@nestjs/common';
import type { Scope } from '../../kernel';
import { Database } from '../../platform';

interface ChainState {
  /** Null while nothing is sealed. */
  readonly sealedAt: Date | null;
  readonly waitingSince: Date | null;
}

const STATE = `
  SELECT (SELECT sealed_at FROM activity_block WHERE $1::integer IS NULL OR chain = $1
           ORDER BY sealed_at DESC LIMIT 1) AS "sealedAt",
         (SELECT min(u.since) FROM activity_unsealed u JOIN activity a ON a.id = u.entry_id
           WHERE $1::integer IS NULL OR a.organisation_id = $1) AS "waitingSince"`;

@Injectable()
export class ChainStates {
  constructor(private readonly database: Database) {}

  async of(scope: Scope): Promise<ChainState> {
    const chain = scope.kind === 'organisation' ? scope.organisationId : null;
    const [state] = await this.database.query<ChainState>(STATE, [chain]);
    return state ?? { sealedAt: null, waitingSince: null };
  }
}
