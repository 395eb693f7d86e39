import { Injectable } from '@nestjs/common';
import { Database } from '../platform';

/** How a person wants pages to be shown. */
@Injectable()
export class ProfileService {
  constructor(private readonly database: Database) {}

  async setLanguage(userId: number, language: string): Promise<void> {
    await this.database.query('UPDATE user_account SET preferred_language = $2 WHERE id = $1', [
      userId,
      language,
    ]);
  }
}
