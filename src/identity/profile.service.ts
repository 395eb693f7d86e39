import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { FindOptionsWhere, Repository } from 'typeorm';
import type { Scope } from '../kernel';
import { UserAccount } from './user-account.entity';

@Injectable()
export class ProfileService {
  constructor(@InjectRepository(UserAccount) private readonly accounts: Repository<UserAccount>) {}

  async setLanguage(userId: number, preferredLanguage: string): Promise<void> {
    await this.accounts.update(userId, { preferredLanguage });
  }

  async isWithin(scope: Scope, userId: number): Promise<boolean> {
    const where = accountWithin(scope, userId);
    return where !== null && this.accounts.existsBy({ id: userId, ...where });
  }
}

/** Null if the user is outside the scope in any case. Everyone below an organisation sees their own account. */
function accountWithin(scope: Scope, userId: number): FindOptionsWhere<UserAccount> | null {
  switch (scope.kind) {
    case 'platform':
      return {};
    case 'organisation':
      return { organisationId: scope.organisationId };
    case 'department': {
      const { organisationId, departmentId } = scope;
      return scope.userId === userId ? {} : { organisationId, departmentId };
    }
    case 'user':
      return scope.userId === userId ? {} : null;
  }
}
