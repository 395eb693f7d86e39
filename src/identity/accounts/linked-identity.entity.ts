import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

@Entity('linked_identity')
export class LinkedIdentity {
  @PrimaryColumn('text', { primaryKeyConstraintName: 'linked_identity_pkey' })
  issuer: string;

  @PrimaryColumn('text', { primaryKeyConstraintName: 'linked_identity_pkey' })
  subject: string;

  @Column('integer', { name: 'user_id' })
  userId: number;

  /** Address at the provider when the identity was linked: shown to users, never used to find an account. */
  @Column('text')
  email: string;

  @CreateDateColumn({ name: 'linked_at', type: 'timestamptz' })
  linkedAt: Date;

  @Column('timestamptz', { name: 'last_used_at', default: () => 'now()' })
  lastUsedAt: Date;
}
