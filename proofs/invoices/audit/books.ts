import { Client } from 'pg';

type Cell = string | number | boolean | null;

/** A row of the records as it stands in the database; whole numbers of any size come as text. */
export interface RecordRow {
  readonly request_id: string;
  readonly key_id: Cell;
  readonly user_id: Cell;
  readonly organisation_id: Cell;
  readonly department_id: Cell;
  readonly project_id: Cell;
  readonly wallet_id: Cell;
  readonly model: string;
  readonly supplier: string;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_read_tokens: number;
  readonly cache_write_tokens: number;
  readonly reasoning_tokens: number;
  readonly cost_nano: string;
  readonly stream: boolean;
  readonly failover: boolean;
  readonly usage_source: string;
  readonly settlement_id: string | null;
  readonly gates: readonly { readonly verdict: string }[] | null;
}

export interface Books {
  readonly records: readonly RecordRow[];
  /** Spent by kind and owner, `key 7`, over all windows of it. */
  readonly spent: ReadonlyMap<string, bigint>;
  readonly escrowed: bigint;
  /** Every entry of the ledger. */
  readonly entries: readonly Entry[];
}

export interface Entry {
  readonly transaction_id: string;
  readonly transaction: string;
  readonly account: string;
  readonly owner_id: string;
  readonly amount: string;
}

export async function readBooks(databaseUrl: string): Promise<Books> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const records = await client.query<RecordRow>('SELECT * FROM request_record');
    const windows = await client.query<Record<'kind' | 'owner_id' | 'spent' | 'escrowed', string>>(
      'SELECT kind, owner_id, spent, escrowed FROM spending_window',
    );
    const entries = await client.query<Entry>(
      `SELECT e.transaction_id, t.kind AS transaction, a.kind AS account, a.owner_id, e.amount
         FROM ledger_entry e JOIN ledger_account a ON a.id = e.account_id
         JOIN ledger_transaction t ON t.id = e.transaction_id`,
    );
    const spent = new Map<string, bigint>();
    let escrowed = 0n;
    for (const row of windows.rows) {
      add(spent, `${row.kind} ${row.owner_id}`, BigInt(row.spent));
      escrowed += BigInt(row.escrowed);
    }
    return { records: records.rows, spent, escrowed, entries: entries.rows };
  } finally {
    await client.end();
  }
}

export function add(sums: Map<string, bigint>, name: string, amount: bigint): void {
  sums.set(name, (sums.get(name) ?? 0n) + amount);
}
