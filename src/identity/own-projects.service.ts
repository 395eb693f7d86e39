import { Injectable } from '@nestjs/common';
import { Database } from '../platform';

export interface ProjectName {
  readonly id: number;
  readonly name: string;
}

const MOST_LISTED = 200;

/** The projects a person may make keys for. */
@Injectable()
export class OwnProjects {
  constructor(private readonly database: Database) {}

  /** By name, without those that are archived. */
  list(userId: number): Promise<ProjectName[]> {
    return this.database.query<ProjectName>(
      `SELECT p.id, p.name FROM project_member m JOIN project p ON p.id = m.project_id
        WHERE m.user_id = $1 AND p.archived_at IS NULL ORDER BY lower(p.name), p.id LIMIT $2`,
      [userId, MOST_LISTED],
    );
  }
}
