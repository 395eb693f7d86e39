import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

@Entity('session')
export class Session {
  /** Keyed hash of the cookie's value: a copy of this table gives no access. */
  @PrimaryColumn('bytea', { name: 'token_hash', primaryKeyConstraintName: 'session_pkey' })
  tokenHash: Buffer;

  @Column('uuid', { name: 'public_id' })
  publicId: string;

  @Column('integer', { name: 'user_id' })
  userId: number;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @Column('timestamptz', { name: 'last_seen_at', default: () => 'now()' })
  lastSeenAt: Date;

  @Column('timestamptz', { name: 'expires_at' })
  expiresAt: Date;

  /** The only host on which the session is valid; empty for BASE_URL. Null, from older versions, is valid nowhere. */
  @Column('text', { nullable: true })
  host: string | null;

  @Column('inet', { nullable: true })
  address: string | null;

  @Column('text', { name: 'user_agent', nullable: true })
  userAgent: string | null;

  /** Role with which the admin view was opened; null while it is closed. */
  @Column('text', { name: 'admin_role', nullable: true })
  adminRole: string | null;

  @Column('integer', { name: 'admin_organisation_id', nullable: true })
  adminOrganisationId: number | null;
}
