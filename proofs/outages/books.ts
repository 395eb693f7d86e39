import { setTimeout as delay } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { verifyMoney } from '#product/billing';
import { Database } from '#product/platform';

export interface Charge {
  readonly requestId: string;
  readonly status: number;
  readonly code: string | null;
  readonly costNano: bigint;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly atMs: number;
}

interface ChargeRow {
  request_id: string;
  status: number;
  code: string | null;
  cost_nano: string;
  input_tokens: string;
  output_tokens: string;
  at: Date;
}

/** Reads the books as the owner of the database. */
export class Books {
  private constructor(readonly database: Database) {}

  static async open(ownerUrl: string): Promise<Books> {
    const source = new DataSource({ type: 'postgres', url: ownerUrl, poolSize: 3 });
    return new Books(new Database(await source.initialize()));
  }

  async records(ids: readonly string[]): Promise<Charge[]> {
    return this.read('request_id = ANY ($1::uuid[])', [ids]);
  }

  /** Waits until every request has a record, because a settled request is committed moments later. */
  async settledRecords(ids: readonly string[], withinMs = 5_000): Promise<Charge[]> {
    for (let waitedMs = 0; ; waitedMs += 200) {
      const records = await this.records(ids);
      const foundIds = new Set(records.map(({ requestId }) => requestId));
      if (foundIds.size === new Set(ids).size || waitedMs >= withinMs) return records;
      await delay(200);
    }
  }

  async recordsOfKey(publicId: string): Promise<Charge[]> {
    return this.read('key_id = (SELECT id FROM api_key WHERE public_id = $1)', [publicId]);
  }

  /** Number of completely answered requests that never get exactly one charged record. */
  async countLost(ids: readonly string[], withinMs = 20_000): Promise<number> {
    for (let waitedMs = 0; ; waitedMs += 200) {
      const times = new Map<string, number>();
      for (const { requestId, costNano } of await this.records(ids)) {
        if (costNano > 0n) times.set(requestId, (times.get(requestId) ?? 0) + 1);
      }
      const mismatchCount = ids.filter((id) => times.get(id) !== 1).length;
      if (mismatchCount === 0 || waitedMs >= withinMs) return mismatchCount;
      await delay(200);
    }
  }

  /** Number of requests charged more than once. */
  async countChargedTwice(): Promise<number> {
    const rows = await this.database.query(
      'SELECT FROM request_record WHERE cost_nano > 0 GROUP BY request_id HAVING count(*) > 1',
    );
    return rows.length;
  }

  /** Number of invariants of the books that do not hold. */
  async countDrift(): Promise<number> {
    const { checks } = await verifyMoney(this.database);
    return checks.reduce((sum, { wrong }) => sum + wrong.length, 0);
  }

  async close(): Promise<void> {
    await this.database.source.destroy();
  }

  private async read(condition: string, parameters: unknown[]): Promise<Charge[]> {
    const rows = await this.database.query<ChargeRow>(
      `SELECT request_id, status, code, cost_nano, input_tokens, output_tokens, created_at AS at FROM request_record
        WHERE ${condition} ORDER BY created_at`,
      parameters,
    );
    return rows.map((row) => ({
      requestId: row.request_id,
      status: row.status,
      code: row.code,
      costNano: BigInt(row.cost_nano),
      inputTokens: Number(row.input_tokens),
      outputTokens: Number(row.output_tokens),
      atMs: row.at.getTime(),
    }));
  }
}
