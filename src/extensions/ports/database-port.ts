import type { DatabasePort } from '#extension';
import { type Database, type Metrics, RoleDatabase, type Settings } from '../../platform';

/** The pools of extensions, each made when its extension first asks for the port. */
export class DatabasePorts {
  private readonly open: RoleDatabase[] = [];

  constructor(
    private readonly database: Database,
    private readonly settings: Settings,
  ) {}

  readonly portOf = (extension: string): DatabasePort => {
    const own = new RoleDatabase(this.database, extension, this.settings);
    this.open.push(own);
    return {
      query: (sql, values) => own.query(sql, values),
      transaction: (work) => own.transaction(work),
    };
  };

  readonly readInto = (metrics: Metrics): void => {
    for (const own of this.open) own.readInto(metrics);
  };

  async close(): Promise<void> {
    await Promise.all(this.open.map((own) => own.close()));
  }
}
