import type { Database } from './database';
import type { Row } from './row';

type OpenQuarantine = Row<'quarantine', 'id, moment'>;

/** Whether this installation was restored and waits for an operator. It is looked up once, at the start. */
export class QuarantineState {
  private constructor(private state: OpenQuarantine | null) {}

  static async read(database: Database): Promise<QuarantineState> {
    const [row] = await database.rows<OpenQuarantine>(
      'SELECT id, moment FROM quarantine WHERE released_at IS NULL',
    );
    return new QuarantineState(row ?? null);
  }

  /** It is null where the installation serves as ever. */
  get open(): OpenQuarantine | null {
    return this.state;
  }

  released(): void {
    this.state = null;
  }
}
