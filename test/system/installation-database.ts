import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { Pool } from 'pg';
import { SESSION_SECRET } from './node';

/** An account that a proof creates; omitted fields use defaults. */
export interface NewUser {
  readonly email?: string;
  readonly displayName?: string;
  readonly role?: string;
  readonly status?: string;
  readonly organisationId?: number | null;
  readonly departmentId?: number | null;
  readonly billingExempt?: boolean;
}

/** The database of an installation, with the rights of its owner. */
export class InstallationDatabase {
  private readonly pool: Pool;

  constructor(url: string) {
    this.pool = new Pool({ connectionString: url, max: 4 });
    // A server shutdown ends idle connections; the next statement opens another.
    this.pool.on('error', () => undefined);
  }

  async query<Row extends object>(statement: string, values: readonly unknown[] = []): Promise<Row[]> {
    return (await this.pool.query<Row>(statement, [...values])).rows;
  }

  /** Returns the id of the row that a statement created. */
  async add(statement: string, ...values: unknown[]): Promise<number> {
    const [row] = await this.query<{ id: number }>(`${statement} RETURNING id`, values);
    if (row === undefined) throw new Error(`no row was made: ${statement}`);
    return Number(row.id);
  }

  addOrganisation(slug: string, allowedRegions: readonly string[] | null = null): Promise<number> {
    return this.add(
      'INSERT INTO organisation (name, slug, allowed_regions) VALUES ($1, $1, $2)',
      slug,
      allowedRegions,
    );
  }

  async addUser(user: NewUser = {}): Promise<{ readonly id: number; readonly email: string }> {
    const name = randomBytes(6).toString('hex');
    const { email = `${name}@example.com`, displayName = name, role = 'user', status = 'active' } = user;
    const id = await this.add(
      `INSERT INTO user_account (email, display_name, role, status, organisation_id, department_id, billing_exempt)
       VALUES ($1, $2, $3, $4, $5, $6, $7)`,
      ...[email, displayName, role, status],
      ...[user.organisationId ?? null, user.departmentId ?? null, user.billingExempt ?? false],
    );
    return { id, email };
  }

  /** Returns the value of the cookie; only its hash is stored, as for every sign-in. */
  async openSession(userId: number): Promise<string> {
    const token = randomBytes(32).toString('base64url');
    const hash = createHmac('sha256', SESSION_SECRET).update(token).digest();
    await this.query(
      `INSERT INTO session (token_hash, public_id, user_id, expires_at, host)
       VALUES ($1, $2, $3, now() + interval '30 days', '')`,
      [hash, randomUUID(), userId],
    );
    return token;
  }

  async credit(walletId: number, amount: bigint): Promise<void> {
    await this.query("SELECT money_credit($1, $2, 'adjustment', 'topup', $3)", [
      walletId,
      amount,
      randomUUID(),
    ]);
  }

  async limit(kind: string, id: number, amount: bigint, period = 'monthly'): Promise<void> {
    await this.query('SELECT set_spending_limit($1, $2, $3, $4)', [kind, id, period, amount]);
  }

  /** Returns the balance: credits minus spending. */
  async balance(walletId: number): Promise<bigint> {
    const [row] = await this.query<{ balance: string }>(
      "SELECT limit_nano - spent AS balance FROM spending_window WHERE kind = 'wallet' AND owner_id = $1",
      [walletId],
    );
    return BigInt(row?.balance ?? 0);
  }

  close(): Promise<void> {
    return this.pool.end();
  }
}
