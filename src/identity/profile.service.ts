import { Injectable } from '@nestjs/common';
import type { Scope } from '../kernel';
import { Database } from '../platform';

@Injectable()
export class ProfileService {
  constructor(private readonly database: Database) {}

  async setLanguage(userId: number, language: string): Promise<void> {
    await this.database.query('UPDATE user_account SET preferred_language = $2 WHERE id = $1', [
      userId,
      language,
    ]);
  }

  async isWithin(scope: Scope, userId: number): Promise<boolean> {
    const [condition, ...values] = userCondition(scope);
    const rows = await this.database.query(`SELECT 1 FROM user_account WHERE id = $1 AND ${condition}`, [
      userId,
      ...values,
    ]);
    return rows.length > 0;
  }
}

function userCondition(scope: Scope): [condition: string, ...values: number[]] {
  switch (scope.kind) {
    case 'platform':
      return ['true'];
    case 'organisation':
      return ['organisation_id = $2', scope.organisationId];
    case 'department':
      return [
        '((organisation_id = $2 AND department_id = $3) OR id = $4)',
        scope.organisationId,
        scope.departmentId,
        scope.userId,
      ];
    case 'user':
      return ['id = $2', scope.userId];
  }
}
