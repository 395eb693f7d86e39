import type { Database } from './database';
import type { TableRow } from './row';

type OpenQuarantine = TableRow<'quarantine', 'id, moment'>;

/** Whether this installation was restored and waits for an operator; read once, at the start. */
export class QuarantineState {
  private constructor(private state: OpenQuarantine | null) {}

  static async read(database: Database): Promise<QuarantineState> {
    const [row] = await database.rows<OpenQuarantine>(
      'SELECT id, moment FROM quarantine WHERE released_at IS NULL',
    );
    return new QuarantineState(row ?? null);
  }

  /** Null if the installation serves normally. */
  get open(): OpenQuarantine | null {
    return this.state;
  }

  markReleased(): void {
    this.state = null;
  }
}
