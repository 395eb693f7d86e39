import { Client } from 'pg';

type DatabaseValue = string | number | boolean | null;

/** A row of the request records as stored in the database; bigints are strings. */
export interface RequestRecordRow {
  readonly request_id: string;
  readonly key_id: DatabaseValue;
  readonly user_id: DatabaseValue;
  readonly organisation_id: DatabaseValue;
  readonly department_id: DatabaseValue;
  readonly project_id: DatabaseValue;
  readonly wallet_id: DatabaseValue;
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

export interface AuditedBooks {
  readonly records: readonly RequestRecordRow[];
  /** Spending per kind and owner, such as `key 7`, over all its windows. */
  readonly spentByOwner: ReadonlyMap<string, bigint>;
  readonly escrowed: bigint;
  readonly entries: readonly LedgerEntry[];
}

export interface LedgerEntry {
  readonly transaction_id: string;
  readonly transaction: string;
  readonly account: string;
  readonly owner_id: string;
  readonly amount: string;
}

export async function readBooks(databaseUrl: string): Promise<AuditedBooks> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const records = await client.query<RequestRecordRow>('SELECT * FROM request_record');
    const windows = await client.query<Record<'kind' | 'owner_id' | 'spent' | 'escrowed', string>>(
      'SELECT kind, owner_id, spent, escrowed FROM spending_window',
    );
    const entries = await client.query<LedgerEntry>(
      `SELECT e.transaction_id, t.kind AS transaction, a.kind AS account, a.owner_id, e.amount
         FROM ledger_entry e JOIN ledger_account a ON a.id = e.account_id
         JOIN ledger_transaction t ON t.id = e.transaction_id`,
    );
    const spentByOwner = new Map<string, bigint>();
    let escrowed = 0n;
    for (const row of windows.rows) {
      add(spentByOwner, `${row.kind} ${row.owner_id}`, BigInt(row.spent));
      escrowed += BigInt(row.escrowed);
    }
    return { records: records.rows, spentByOwner, escrowed, entries: entries.rows };
  } finally {
    await client.end();
  }
}

export function add(sums: Map<string, bigint>, name: string, amount: bigint): void {
  sums.set(name, (sums.get(name) ?? 0n) + amount);
}
