import { Injectable } from '@nestjs/common';
import { Database, type Row } from '../platform';

export type ProjectName = Row<'project', 'id, name'>;

const MOST_LISTED = 200;

/**
 * A membership of project `p` counts for account `u` under this condition. The person belongs to the
 * project's organisation, the project has none, or the person serves all of them.
 */
export const PROJECT_OF_PERSON = `(p.organisation_id IS NULL OR p.organisation_id = u.organisation_id
  OR u.role IN ('platform_admin', 'platform_owner'))`;

/** The projects a person may make keys for. */
@Injectable()
export class OwnProjects {
  constructor(private readonly database: Database) {}

  /** They are listed by name, without those that are archived. */
  list(userId: number): Promise<ProjectName[]> {
    return this.database.query<ProjectName>(
      `SELECT p.id, p.name FROM project_member m JOIN project p ON p.id = m.project_id
         JOIN user_account u ON u.id = m.user_id
        WHERE m.user_id = $1 AND p.archived_at IS NULL AND ${PROJECT_OF_PERSON} ORDER BY lower(p.name), p.id LIMIT $2`,
      [userId, MOST_LISTED],
    );
  }
}
