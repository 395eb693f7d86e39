import type { DatabasePort } from '#extension';
import { type Database, type Metrics, RoleDatabase, type Settings } from '../../platform';

/** Connection pools of extensions, created when an extension first uses its port. */
export class DatabasePorts {
  private readonly open: RoleDatabase[] = [];

  constructor(
    private readonly database: Database,
    private readonly settings: Settings,
  ) {}

  readonly portOf = (extension: string): DatabasePort => {
    const roleDatabase = new RoleDatabase(this.database, extension, this.settings);
    this.open.push(roleDatabase);
    return {
      query: (sql, values) => roleDatabase.query(sql, values),
      transaction: (work) => roleDatabase.transaction(work),
    };
  };

  readonly readInto = (metrics: Metrics): void => {
    for (const roleDatabase of this.open) roleDatabase.updateGauges(metrics);
  };

  async close(): Promise<void> {
    await Promise.all(this.open.map((roleDatabase) => roleDatabase.close()));
  }
}
