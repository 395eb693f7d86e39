import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

@Entity('account_token')
export class AccountToken {
  /** Keyed hash: a copy of this table gives no access. */
  @PrimaryColumn('bytea', { name: 'token_hash', primaryKeyConstraintName: 'account_token_pkey' })
  tokenHash: Buffer;

  @Column('text')
  purpose: string;

  @Column('integer', { name: 'user_id', nullable: true })
  userId: number | null;

  @Column('jsonb', { default: () => "'{}'" })
  data: object;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @Column('timestamptz', { name: 'expires_at' })
  expiresAt: Date;
}
