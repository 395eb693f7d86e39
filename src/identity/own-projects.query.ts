import { Injectable } from '@nestjs/common';
import { Database, type TableRow } from '../platform';

export type ProjectName = TableRow<'project', 'id, name'>;

const MAX_LISTED = 200;

/**
 * SQL condition under which a membership of project `p` counts for account `u`. Both have the same organisation, the
 * project has none, or the user has a platform role.
 */
export const PROJECT_OF_USER = `(p.organisation_id IS NULL OR p.organisation_id = u.organisation_id
  OR u.role IN ('platform_admin', 'platform_owner'))`;

@Injectable()
export class OwnProjects {
  constructor(private readonly database: Database) {}

  list(userId: number): Promise<ProjectName[]> {
    return this.database.query<ProjectName>(
      `SELECT p.id, p.name FROM project_member m JOIN project p ON p.id = m.project_id
         JOIN user_account u ON u.id = m.user_id
        WHERE m.user_id = $1 AND p.archived_at IS NULL AND ${PROJECT_OF_USER} ORDER BY lower(p.name), p.id LIMIT $2`,
      [userId, MAX_LISTED],
    );
  }
}
