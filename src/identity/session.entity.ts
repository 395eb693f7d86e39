import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

@Entity('session')
export class Session {
  /** A keyed hash of the cookie's value: a copy of this table opens nothing. */
  @PrimaryColumn('bytea', { name: 'token_hash', primaryKeyConstraintName: 'session_pkey' })
  tokenHash: Buffer;

  /** Lists and logs call it by this id. */
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

  /** The session is good on this host alone. Empty means at BASE_URL. Null, as older versions left it: nowhere. */
  @Column('text', { nullable: true })
  host: string | null;

  @Column('inet', { nullable: true })
  address: string | null;

  @Column('text', { name: 'user_agent', nullable: true })
  userAgent: string | null;

  /** The role with which the administration's view was opened; null while it is closed. */
  @Column('text', { name: 'admin_role', nullable: true })
  adminRole: string | null;

  /** That view is narrowed to this organisation. */
  @Column('integer', { name: 'admin_organisation_id', nullable: true })
  adminOrganisationId: number | null;
}
